"""Placement of a model on chips: layouts, capacity, and the memory tier of weights and cache."""
