"""`decide`: which of several services is fastest or cheapest, and what would change that."""
