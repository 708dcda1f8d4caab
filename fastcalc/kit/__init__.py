"""Shared by all features: requests, and how answers are written and drawn."""
