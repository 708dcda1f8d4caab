"""Requests: fields in groups, readers of what is typed, and what makes scenarios of it."""
