"""Chips, models and engines as files: schemas, a strict reader, and where names are looked up."""
