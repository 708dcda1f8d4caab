"""Textbook model of a step: reads overlap with compute, and all other times are added.

It equals the step function (`step.py`) for an engine with a few efficiencies and one floor, except
that all categories of bytes are read together instead of one after another.
"""

from typing import NamedTuple

import numpy as np

from fastcalc.core.chip.machine import Chip, EngineParameters
from fastcalc.core.step.component import total_of
from fastcalc.core.step.pass_work import PassWork
from fastcalc.core.step.step import KnownParts, messages
from fastcalc.formulas.types import Array, ArrayLike


class TextbookStep(NamedTuple):
    """The time per step for reading weights and caches, computing, sending and waiting. [s]"""

    weights: ArrayLike
    caches: ArrayLike
    computing: ArrayLike
    sending: ArrayLike
    waiting: ArrayLike

    @property
    def beyond_reading(self) -> Array:
        """The compute time not hidden by reads, in seconds."""
        return np.maximum(self.computing - (self.weights + self.caches), 0.0)

    @property
    def seconds(self) -> Array:
        """The total time of the step, in seconds."""
        busy = np.maximum(self.weights + self.caches, self.computing)
        return np.asarray(busy + self.sending + self.waiting)


def textbook_step(work: PassWork, chip: Chip, software: EngineParameters) -> TextbookStep:
    """Compute a decode step from the components of `expected_step`.

    chip, software : The published rates of the chip, and the efficiencies and floors of an engine
        that unpacks no weights.
    """
    known_parts = KnownParts.of(work, chip, software)
    *weights, cache = known_parts.parts.kinds
    return TextbookStep(
        weights=total_of(group.memory_time for group in weights),
        caches=cache.memory_time,
        computing=total_of(group.compute_time for group in known_parts.parts.kinds),
        sending=total_of(overhead.link_time for overhead in known_parts.overheads),
        waiting=total_of(overhead.latency for overhead in known_parts.overheads),
    )


def sending_seconds(work: PassWork, chip: Chip, software: EngineParameters) -> ArrayLike:
    """Compute the time that the chips of a layout spend on communication alone, in seconds.

    work, chip, software : As for `textbook_step`.
    """
    return total_of(message.link_time for message in messages(work, chip, software))
