"""Estimates taken apart: every component of a step with its work, its rates and their sources."""

from fastcalc.explain.memory import memory_equations
from fastcalc.explain.passes import explain, fitting

__all__ = ["explain", "fitting", "memory_equations"]
