"""`fit`: whether memory holds a model, on how many chips, and the largest batch or context."""
