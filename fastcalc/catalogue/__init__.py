"""Catalogue of chips, models and engines: file schemas, a strict reader, and lookup by name."""
