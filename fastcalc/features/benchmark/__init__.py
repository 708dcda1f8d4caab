"""Benchmark runs of the user's own server: which to make, with what, and making them."""
