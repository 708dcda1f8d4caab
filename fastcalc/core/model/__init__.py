"""A model, counted: what it holds and what a token costs, from its shape alone."""
