"""Estimates taken apart: every component of a step with its work, its rates and their sources."""

from fastcalc.explain.passes import explain, fitting

__all__ = ["explain", "fitting"]
