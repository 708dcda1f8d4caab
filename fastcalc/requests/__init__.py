"""What may be asked: a typed request for each command, and how texts of its fields are read."""
