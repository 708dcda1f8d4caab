"""Charts as arrays of data, and code to draw them in a terminal or with matplotlib."""
