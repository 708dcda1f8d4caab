"""Chips, models and engines as files: schemas, a strict reader, and lookup by name."""
