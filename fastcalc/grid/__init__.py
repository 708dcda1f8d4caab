"""Evaluation of many operating points at once.

This package contains grids of batches and layouts, the columns of their records, the search for the
largest batch that meets a speed target, and the simulation of prefix caches.
"""
