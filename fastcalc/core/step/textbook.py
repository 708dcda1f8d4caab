"""The step of textbooks: all reading hides all computing, or is hidden by it, and the rest adds up.

It is core's step (`step.py`) for software of a few shares and one floor, with its kinds of bytes
taken at once instead of one after another.
"""

from typing import NamedTuple

import numpy as np

from fastcalc.core.chip.machine import Chip, EngineParameters
from fastcalc.core.step.component import total_of
from fastcalc.core.step.pass_work import PassWork
from fastcalc.core.step.step import KnownParts, messages
from fastcalc.formulas.types import Array, ArrayLike


class TextbookStep(NamedTuple):
    """What a step takes to read weights and caches, to compute, to send, and to wait for. [s]"""

    weights: ArrayLike
    caches: ArrayLike
    computing: ArrayLike
    sending: ArrayLike
    waiting: ArrayLike

    @property
    def beyond_reading(self) -> Array:
        """The part of computing that reading does not hide. [s]"""
        return np.maximum(self.computing - (self.weights + self.caches), 0.0)

    @property
    def seconds(self) -> Array:
        """The whole step. [s]"""
        busy = np.maximum(self.weights + self.caches, self.computing)
        return np.asarray(busy + self.sending + self.waiting)


def textbook_step(work: PassWork, chip: Chip, software: EngineParameters) -> TextbookStep:
    """Step of a pass that decodes, its components those of `expected_step`.

    chip, software : what a chip prints, and the shares and floors of software that unpacks nothing
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
    """Return what the chips of a layout take to send each other, whatever else a pass does. [s]

    work, chip, software : as `textbook_step` has them
    """
    return total_of(message.link_time for message in messages(work, chip, software))
