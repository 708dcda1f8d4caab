"""Stack of the steps of many measurements, so that all can be evaluated in one call."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastcalc.core.chip.machine import Chip, EngineParameters
from fastcalc.core.stacked import column_of, joined, joined_steps
from fastcalc.core.step.component import Step
from fastcalc.core.step.pass_work import PassWork
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.step.spatial import spatial_pass
from fastcalc.core.step.step import expected_step
from fastcalc.core.timeline import Timeline
from fastcalc.evidence.deployments import Deployment
from fastcalc.evidence.kinds import Recipe
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import Batch
from fastcalc.formulas.types import ArrayLike, Floats, Ints


@dataclass(frozen=True)
class Pile:
    """The steps on chips with the same execution model, one element each.

    point, times : The index of the measurement to which a step belongs, and its repetitions.
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
    """Measurements as numbers, with the batch of each.

    piles : The steps of chips that run layers in sequence, and of chips with a region per layer.
    measured, bound, overhead : The measured time, its lower bound, and the time for request
        overhead, in seconds.
    tokens : The number of tokens that, divided by the time, gives the rate; 1 for a time.
    typical : The median speed over possible layouts, relative to that of the chosen layout.
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
    stacks = list(_joined_by(batches, lambda recipe: recipe.timeline.passes, range(len(batches))))
    return StackedPoints(
        points=points,
        batches=[batch for batch in batches for _ in batch.points],
        piles=_piles(batches, stacks),
        measured=np.where(is_time, values, tokens / values),
        bound=_bounds(batches, stacks),
        tokens=tokens,
        overhead=stacked(lambda batch: batch.recipe.timeline.overhead),
        typical=stacked(lambda batch: batch.typical),
    )


_JoinedBatches: TypeAlias = tuple[list[int], Ints, Schedule]
"""The indices of batches, the indices of their measurements, and their joined steps."""


def _piles(batches: Sequence[Batch], stacks: Sequence[_JoinedBatches]) -> list[Pile]:
    """Stack steps by execution model, joining those with a single memory and type of layer."""
    timelines = [batch.recipe.timeline for batch in batches]
    alone: list[Pile] = []
    joinable: dict[bool, list[Pile]] = {False: [], True: []}
    for members, point, passes in stacks:
        timeline, machine = timelines[members[0]], passes.machine
        if len(members) > 1:
            sums = [(timelines[index].counts, timelines[index].per) for index in members]
            counts, per = joined(sums, [len(batches[index].points) for index in members], axes=1)
            timeline = Timeline(passes, counts, per=per)
        for work, often in timeline.works():
            times = np.broadcast_to(often, passes.batch.shape).ravel()
            pile = Pile(work, machine.chip, machine.software, point, times, machine.is_spatial)
            if work.split is None and work.layer_passes is None:
                joinable[machine.is_spatial].append(pile)
            else:
                alone.append(_one_pile([pile]) if len(members) > 1 else pile)
    return [*alone, *(_one_pile(piles) for piles in joinable.values() if piles)]


def _one_pile(piles: Sequence[Pile]) -> Pile:
    """Join the steps of several piles, with one element each."""
    counts = [pile.point.size for pile in piles]
    return Pile(
        work=joined([pile.work for pile in piles], counts),
        chip=joined([pile.chip for pile in piles], counts),
        software=joined([pile.software for pile in piles], counts),
        point=np.concatenate([pile.point for pile in piles]),
        times=np.concatenate([pile.times for pile in piles]),
        is_spatial=piles[0].is_spatial,
    )


def _bounds(batches: Sequence[Batch], stacks: Sequence[_JoinedBatches]) -> Floats:
    """Compute the lower bound on the time of each measurement, in seconds."""
    recipes, first = [batch.recipe for batch in batches], 0
    bounds = np.empty(sum(len(batch.points) for batch in batches))
    shared = [stack for stack in stacks if recipes[stack[0][0]].is_bound_of_same_steps]
    others = sorted({*range(len(batches))}.difference(*(members for members, *_ in shared)))
    apart = _joined_by(batches, lambda recipe: recipe.bound_passes, others)
    for members, point, passes in chain(shared, apart):
        seconds = recipes[members[0]].bound_of(passes)
        bounds[point] = np.broadcast_to(seconds, passes.batch.shape).ravel()
    for batch in batches:
        after = first + len(batch.points)
        bounds[first:after] = batch.recipe.scaled(bounds[first:after])
        first = after
    return bounds


def _joined_by(
    batches: Sequence[Batch], steps_of: Callable[[Recipe], Schedule], indices: Iterable[int]
) -> Iterator[_JoinedBatches]:
    """Yield the joined steps of batches of the same kind."""
    starts = np.cumsum([0, *(len(batch.points) for batch in batches)])
    alike: dict[Hashable, list[int]] = {}
    for index in indices:
        alike.setdefault(batches[index].recipe.kind, []).append(index)
    for group in alike.values():
        for members, joint in joined_steps([steps_of(batches[index].recipe) for index in group]):
            chosen = [group[member] for member in members]
            points = [np.arange(starts[index], starts[index + 1]) for index in chosen]
            yield chosen, np.concatenate(points), joint
