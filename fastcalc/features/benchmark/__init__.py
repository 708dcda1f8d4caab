"""`measure`: recommend benchmarks of the user's server, print their commands, or run them."""
