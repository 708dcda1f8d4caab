"""Many points of one scenario: its layouts, the batch at a speed, and what no other point beats."""

from fastcalc.search.frontier import Point, frontier, placeable, undominated
from fastcalc.search.reach import Reach, cheapest, cost_multiples, largest_batches
from fastcalc.search.space import Space

__all__ = [
    "Point",
    "Reach",
    "Space",
    "cheapest",
    "cost_multiples",
    "frontier",
    "largest_batches",
    "placeable",
    "undominated",
]
