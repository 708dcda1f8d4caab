"""Requests: groups of fields, parsing of their values, and loading of scenarios."""
