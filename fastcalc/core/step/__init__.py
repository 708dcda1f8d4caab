"""Step function: work, components, expected time and hardware bound of a forward pass."""
