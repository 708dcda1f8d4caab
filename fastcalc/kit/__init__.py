"""Code shared by all commands: request fields, and how answers are written and drawn."""
