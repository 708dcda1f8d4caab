"""Placement of a model on chips: layouts, capacity, and memory tiers for weights and cache."""
