"""`sensitivity`: the effect of each parameter of a chip, its engine and a model."""
