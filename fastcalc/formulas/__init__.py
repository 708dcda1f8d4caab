"""Pure functions on numbers and numpy arrays, independent of chips, models and files.

Every function takes keyword-only arguments in SI units that broadcast together, and returns an
array of their broadcast shape. Each docstring contains the formula, its symbols with units in
brackets, the source and an example. Products start from a float, because numpy integers overflow
silently when token counts are multiplied with FLOPs.
"""
