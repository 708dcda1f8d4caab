"""`claims`: claims in articles about fast inference, each tested by a calculation."""
