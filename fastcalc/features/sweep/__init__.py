"""`sweep`: all combinations of chips, formats, layouts and batches, written block by block."""
