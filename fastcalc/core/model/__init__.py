"""Parameters, bytes and FLOPs per token of a model, counted from its shape alone."""
