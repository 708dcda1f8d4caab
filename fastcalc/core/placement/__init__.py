"""Placement of a model on chips: layouts, capacity, and memory tiers of weights and cache."""
