"""Many points at once.

Grids of batches and layouts, the columns of what is evaluated, the largest batch, and prefix caches
of every size.
"""
