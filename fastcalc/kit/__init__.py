"""What features share: how a request is stated, and how an answer is written and drawn."""
