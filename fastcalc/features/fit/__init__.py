"""`fit`: whether a model fits in memory, on how many chips, and its largest batch or context."""
