"""Charts as plain arrays, and their drawing in a terminal or with matplotlib."""
