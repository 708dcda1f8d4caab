"""`check`: a linter for hardware, model and engine files, with its `rules`."""
