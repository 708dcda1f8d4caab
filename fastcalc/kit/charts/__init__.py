"""Charts: what is drawn as plain arrays, and what draws it in a terminal or with matplotlib."""
