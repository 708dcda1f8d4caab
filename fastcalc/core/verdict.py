"""Whether chips hold a batch: safely, with a tight fit of what an engine reserves, or not.

What an engine does not take at once they do not hold: it would wait.
"""

import numpy as np

from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.formulas.types import ArrayLike, Ints

VERDICTS = ("fits", "edge", "no")
"""It fits, it does if the engine's reserve is at the lower part of its range, or it does not."""


def verdicts(placement: AnyPlacement, batch: ArrayLike) -> Ints:
    """Verdict on each batch, as a position of `VERDICTS`."""
    limits = (placement.max_batch, placement.edge_max_batch)
    above = (np.asarray(batch > np.asarray(limit)) for limit in limits)
    return np.asarray(np.add(*above, dtype=np.int8))


def edge_note(engine: str) -> str:
    """Return what a reader must know of a batch with a tight fit."""
    return (
        f"tight fit: works only if {engine} reserves less memory than its maximum; plan uses "
        "layouts that fit at the maximum"
    )
