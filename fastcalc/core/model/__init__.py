"""Parameters, bytes and FLOPs per token of a model, derived from its architecture alone."""
