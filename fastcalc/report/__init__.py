"""Results to text: the only place with digits, prefixes and columns."""
