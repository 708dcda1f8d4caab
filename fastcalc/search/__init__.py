"""Many points of one scenario: its layouts, the batch at a speed, and what no other point beats."""

from fastcalc.search.frontier import FrontierPoint, edge, frontier, placeable, undominated
from fastcalc.search.largest_batch import Reach, cheapest
from fastcalc.search.space import Space

__all__ = [
    "FrontierPoint",
    "Reach",
    "Space",
    "cheapest",
    "edge",
    "frontier",
    "placeable",
    "undominated",
]
