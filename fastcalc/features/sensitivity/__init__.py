"""`sensitivity`: how much each parameter of a chip, its engine and a model matters."""
