"""`plot`: draw the charts of any command to a file or terminal, or vary YAML parameters."""
