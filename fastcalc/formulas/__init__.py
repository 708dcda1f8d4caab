"""Pure functions on numbers and numpy arrays, independent of chips, models and files.

Every function takes keyword-only arguments in SI units, broadcasts them, and returns an array of
the resulting shape. Each docstring contains the formula, its symbols with units in brackets, the
source and an example. Products start with a float because multiplying token counts by FLOPs
silently overflows numpy integers.
"""
