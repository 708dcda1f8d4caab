"""Whether a batch fits: safely, tightly (with a smaller engine reserve), or not.

Sequences beyond the engine's limit do not fit, because they would have to wait.
"""

import numpy as np

from fastcalc.core.chip.machine import Machine
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.placement.start_room import free_share
from fastcalc.formulas.types import ArrayLike, Ints

VERDICTS = ("fits", "edge", "no")
"""The batch fits, fits only if the engine's reserve is in the lower part of its range, or does not
fit."""


def verdicts(placement: AnyPlacement, batch: ArrayLike) -> Ints:
    """Compute the verdict on each batch, as an index into `VERDICTS`."""
    limits = (placement.max_batch, placement.edge_max_batch)
    above = (np.asarray(batch > np.asarray(limit)) for limit in limits)
    return np.asarray(np.add(*above, dtype=np.int8))


def edge_notes(machine: Machine) -> list[str]:
    """Return a note on a batch with a tight fit, unless the note on starts says why it is tight."""
    if float(machine.software.memory_fraction) > free_share(machine, -1):
        return []
    return [
        f"tight fit: works only if {machine.engine.id} reserves less memory than its maximum; plan "
        "only uses layouts that fit at the maximum"
    ]
