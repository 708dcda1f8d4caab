"""`plot`: charts of any answer, in a file or in the terminal, and charts over YAML parameters."""
