"""All passes of many measured points in one stack, so that one call prices them all."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.core.machine import Chip, EngineParameters
from fastcalc.core.pass_work import PassWork
from fastcalc.core.spatial import spatial_pass
from fastcalc.core.step import expected_step
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import Batch
from fastcalc.formulas.types import Floats, Ints

AnyNumbers = TypeVar("AnyNumbers", PassWork, Chip, EngineParameters)


@dataclass(frozen=True)
class Pile:
    """Passes of chips that execute alike, one element each.

    Attributes
    ----------
    load, chip, software : PassWork, Chip, EngineParameters
        The pass, what its chip prints, and what the engine of its file makes of it.
    point, times : ndarray
        The point it belongs to, by position, and how many of it that point takes. [1]
    is_spatial : bool
        Whether layers have regions of their own.
    """

    load: PassWork
    chip: Chip
    software: EngineParameters
    point: Ints
    times: Floats
    is_spatial: bool

    def seconds(self, software: EngineParameters) -> Floats:
        """Return the time of each pass, all its repetitions together. [s]"""
        one_pass = spatial_pass if self.is_spatial else expected_step
        seconds = one_pass(self.load, self.chip, software).seconds
        return np.asarray(seconds * self.times, dtype=float)


@dataclass(frozen=True)
class StackedPoints:
    """Measured points as numbers.

    Attributes
    ----------
    points : sequence of Point
        In the order of all arrays.
    batches : sequence of Batch
        The batch of each point.
    piles : sequence of Pile
        Passes of chips that run layer after layer, and of those whose layers have regions.
    measured, light : ndarray
        Each point as a time: measured, and at the bound. [s]
    tokens : ndarray
        A rate is this over the time; 1 for a time. [1]
    fronts : ndarray
        Request overheads inside. [1]
    """

    points: Sequence[Point]
    batches: Sequence[Batch]
    piles: Sequence[Pile]
    measured: Floats
    light: Floats
    tokens: Floats
    fronts: Floats

    @cached_property
    def sources(self) -> npt.NDArray[np.str_]:
        """The source of each point."""
        return np.array([point.source_key for point in self.points])

    @cached_property
    def overhead(self) -> Floats:
        """Request overhead of each point's engine. [s]"""
        machines = [batch.placement.machine for batch in self.batches]
        return np.array([float(machine.software.request_overhead) for machine in machines])

    def engine(self, index: int) -> Engine:
        """Return the engine that a point is predicted with."""
        return self.batches[index].deployment.engine

    def hardware(self, index: int) -> Hardware:
        """Return the chip of a point."""
        return self.batches[index].deployment.hardware

    def seconds(self, software: Sequence[EngineParameters] | None = None) -> Floats:
        """Return the expected time of each point, by other parameters of each pile if given. [s]"""
        total = self.fronts * self.overhead
        for pile, own in zip(self.piles, software or [p.software for p in self.piles], strict=True):
            spent = pile.seconds(own)
            total = total + np.bincount(pile.point, spent, minlength=len(self.points))
        return total


def rows_of(batches: Sequence[Batch]) -> StackedPoints:
    """Return batches of points as one stack of numbers."""
    points = [point for batch in batches for point in batch.points]
    tokens = np.concatenate([batch.tokens for batch in batches]) if batches else np.zeros(0)
    is_time = np.array([point.is_time for point in points], dtype=bool)
    values = np.array([point.value for point in points], dtype=float)
    light = [np.broadcast_to(one.recipe.light, (len(one.points),)) for one in batches]
    fronts = [one.recipe.timeline.requests for one in batches for _ in one.points]
    return StackedPoints(
        points=points,
        batches=[batch for batch in batches for _ in batch.points],
        piles=[pile for spatial in (False, True) for pile in _pile(batches, spatial)],
        measured=np.where(is_time, values, tokens / values),
        light=np.concatenate(light) if light else np.zeros(0),
        tokens=tokens,
        fronts=np.array(fronts, dtype=float),
    )


def _pile(batches: Sequence[Batch], is_spatial: bool) -> list[Pile]:
    loads, chips, softwares, points, times = [], [], [], [], []
    first = 0
    apart = []
    for batch in batches:
        machine, count = batch.placement.machine, len(batch.points)
        if machine.is_spatial == is_spatial:
            for load, often in batch.recipe.timeline.works():
                if load.split is not None:  # whose arrays are not to be joined
                    index = np.arange(first, first + count)
                    times_of = np.broadcast_to(often, (count,))
                    apart.append(
                        Pile(load, machine.chip, machine.software, index, times_of, is_spatial)
                    )
                    continue
                loads.append(_flat(load, count))
                chips.append(_flat(machine.chip, count))
                softwares.append(_flat(machine.software, count))
                points.append(np.arange(first, first + count))
                times.append(np.broadcast_to(often, (count,)))
        first += count
    if not loads:
        return apart
    return [
        *apart,
        Pile(
            _joined(loads),
            _joined(chips),
            _joined(softwares),
            np.concatenate(points),
            np.concatenate(times),
            is_spatial,
        ),
    ]


def _numeric(numbers: PassWork | Chip | EngineParameters) -> list[str]:
    """Return the names of the fields that are numbers."""
    return [one.name for one in fields(numbers) if one.name != "split"]


def _flat(numbers: AnyNumbers, count: int) -> AnyNumbers:
    """Return numbers with every field an array of so many elements."""
    values: dict[str, Any] = {}
    for field in _numeric(numbers):
        value = np.asarray(getattr(numbers, field), dtype=float)
        values[field] = value if value.shape == (count,) else np.full(count, value)
    return replace(numbers, **values)


def _joined(numbers: Sequence[AnyNumbers]) -> AnyNumbers:
    """Return several numbers as one, field by field one after another."""
    values: dict[str, Any] = {
        field: np.concatenate([getattr(one, field) for one in numbers])
        for field in _numeric(numbers[0])
    }
    return replace(numbers[0], **values)
