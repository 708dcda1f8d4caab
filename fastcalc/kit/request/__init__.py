"""Requests: shared groups of fields, parsing of values, and loading of scenarios."""
