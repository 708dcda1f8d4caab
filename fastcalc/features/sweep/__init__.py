"""`sweep`: evaluate all combinations of chips, formats, layouts and batches, block by block."""
