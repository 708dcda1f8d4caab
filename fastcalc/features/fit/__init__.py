"""`fit`: whether a model fits in memory, on how many chips, and the largest batch or context."""
