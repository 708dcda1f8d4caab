"""What comes to a deployment: requests and their classes, waits, and prompts that begin alike."""
