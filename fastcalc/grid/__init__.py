"""Many operating points at once.

Grids of batches and layouts, the columns of their records, the largest batch, and prefix caches
of every size.
"""
