"""Causes of a slow server, by measured points and by its start-up log."""
