"""`claims`: what articles say about fast inference, each tested by its numbers."""
