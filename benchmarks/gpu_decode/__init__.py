"""Time the decode step of a language model on one chip, as rows of measured points."""
