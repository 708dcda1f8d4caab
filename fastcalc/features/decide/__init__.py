"""`decide`: the fastest or cheapest of several services, and what would flip the verdict."""
