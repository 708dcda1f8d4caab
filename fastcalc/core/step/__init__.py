"""What a pass over a model takes: its work, its components, its time and its bound."""
