"""`claims`: claims of articles about fast inference, each tested by a calculation."""
