"""What each number of a chip, an engine and a model buys, and what it would have to be."""
