"""Pure functions on numbers and numpy arrays; they know no chip, no model and no file.

Every function takes keyword arguments only, in SI units, that broadcast together, and
returns their broadcast. Its page has the formula, its symbols with their units in brackets,
the source and an example. Products start from a float, because numpy's whole numbers wrap
around silently where token counts meet FLOPs.
"""
