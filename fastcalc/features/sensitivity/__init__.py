"""`sensitivity`: effect of each parameter of a chip, its engine and a model on the results."""
