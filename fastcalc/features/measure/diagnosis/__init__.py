"""Infer why a server is slow, from measurements and its start-up log."""
