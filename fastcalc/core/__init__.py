"""Predicted speed of a model on chips: workload counts, placement, step time and hardware bound."""
