"""Stack of the steps of many measurements, so that all can be evaluated in one call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fastcalc.core.chip.machine import Chip, EngineParameters
from fastcalc.core.stacked import column_of, joined
from fastcalc.core.step.component import Step
from fastcalc.core.step.pass_work import PassWork
from fastcalc.core.step.spatial import spatial_pass
from fastcalc.core.step.step import expected_step
from fastcalc.evidence.deployments import Deployment
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import Batch
from fastcalc.formulas.types import ArrayLike, Floats, Ints


@dataclass(frozen=True)
class Pile:
    """Stores the steps on chips with the same execution model, one element each.

    point, times : the index of the measurement to which a step belongs, and its repetitions
    """

    work: PassWork
    chip: Chip
    software: EngineParameters
    point: Ints
    times: Floats
    is_spatial: bool

    def seconds(self, software: EngineParameters) -> Floats:
        """Compute the time of each step, including repetitions, in seconds."""
        return np.asarray(self.step(software).seconds * self.times, dtype=float)

    def step(self, software: EngineParameters) -> Step:
        """Compute each step once."""
        one_pass = spatial_pass if self.is_spatial else expected_step
        return one_pass(self.work, self.chip, software)


@dataclass(frozen=True)
class StackedPoints:
    """Stores measurements as numbers, with the batch of each.

    piles : the steps of chips that run layers in sequence, and of chips with a region per layer
    measured, bound, overhead : the measured time, its lower bound, and the time for request
        overhead [s]
    tokens : the number of tokens that, divided by the time, gives the rate; 1 for a time
    typical : the median speed over possible layouts, relative to that of the chosen layout
    """

    points: Sequence[Point]
    batches: Sequence[Batch]
    piles: Sequence[Pile]
    measured: Floats
    bound: Floats
    tokens: Floats
    overhead: Floats
    typical: Floats

    @cached_property
    def sources(self) -> npt.NDArray[np.str_]:
        """The source of each measurement."""
        return np.array([point.source_key for point in self.points])

    @property
    def deployments(self) -> list[Deployment]:
        """The deployment of each measurement."""
        return [batch.deployment for batch in self.batches]

    def seconds(self, software: Sequence[EngineParameters] | None = None) -> Floats:
        """Compute the expected time of each measurement, optionally with other parameters. [s]"""
        total = self.overhead
        for pile, parameters in zip(
            self.piles, software or [p.software for p in self.piles], strict=True
        ):
            spent = pile.seconds(parameters)
            total = total + np.bincount(pile.point, spent, minlength=len(self.points))
        return total

    @property
    def fitted_share(self) -> Floats:
        """The fitted fraction of each measurement's time in layers and request overhead."""
        printed, fitted = np.zeros(len(self.points)), self.overhead
        for pile in self.piles:
            spent = [
                np.broadcast_to(seconds * pile.times, pile.point.shape)
                for seconds in pile.step(pile.software).by_basis
            ]
            printed = printed + np.bincount(pile.point, spent[0], minlength=len(self.points))
            fitted = fitted + np.bincount(pile.point, spent[1], minlength=len(self.points))
        return fitted / (printed + fitted)


def rows_of(batches: Sequence[Batch]) -> StackedPoints:
    """Stack batches of measurements into arrays."""
    points = [point for batch in batches for point in batch.points]
    is_time = np.array([point.is_time for point in points], dtype=bool)
    values = np.array([point.value for point in points], dtype=float)

    counts = [len(batch.points) for batch in batches]

    def stacked(numbers: Callable[[Batch], ArrayLike]) -> Floats:
        return column_of([numbers(batch) for batch in batches], counts)

    tokens = stacked(lambda batch: batch.tokens)
    return StackedPoints(
        points=points,
        batches=[batch for batch in batches for _ in batch.points],
        piles=[pile for spatial in (False, True) for pile in _piles(batches, spatial)],
        measured=np.where(is_time, values, tokens / values),
        bound=stacked(lambda batch: batch.recipe.bound),
        tokens=tokens,
        overhead=stacked(lambda batch: batch.recipe.timeline.overhead),
        typical=stacked(lambda batch: batch.typical),
    )


def _piles(batches: Sequence[Batch], is_spatial: bool) -> list[Pile]:
    """Stack steps by execution model, joining those with a single memory."""
    alone: list[Pile] = []
    joinable: list[Pile] = []
    first = 0
    for batch in batches:
        machine, count = batch.placement.machine, len(batch.points)
        index = np.arange(first, first + count)
        first += count
        if machine.is_spatial != is_spatial:
            continue
        for work, often in batch.recipe.timeline.works():
            times = np.broadcast_to(often, (count,))
            pile = Pile(work, machine.chip, machine.software, index, times, is_spatial)
            is_plain = work.split is None and work.layer_passes is None
            (joinable if is_plain else alone).append(pile)
    if not joinable:
        return alone
    counts = [pile.point.size for pile in joinable]
    work = joined([pile.work for pile in joinable], counts)
    chip = joined([pile.chip for pile in joinable], counts)
    software = joined([pile.software for pile in joinable], counts)
    point = np.concatenate([pile.point for pile in joinable])
    times = np.concatenate([pile.times for pile in joinable])
    return [*alone, Pile(work, chip, software, point, times, is_spatial)]
