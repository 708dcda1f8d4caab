"""`sensitivity`: what each number of a chip, its engine and a model buys."""
