"""Causes of a slow server, inferred from measurements and its start-up log."""
