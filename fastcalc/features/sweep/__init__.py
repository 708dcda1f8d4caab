"""`sweep`: every combination of chips, formats, layouts and batches, block by block to a file."""
