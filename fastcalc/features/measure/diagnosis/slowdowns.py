"""Effect on measured points if one part of a step were slower by a given factor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.evidence.kinds import RATES, room
from fastcalc.evidence.predict import Batch, columns_of
from fastcalc.evidence.stacked import StackedPoints, rows_of
from fastcalc.features.measure.diagnosis.terms import PARTS, ROOM, Part
from fastcalc.formulas.types import Floats

PRICED = np.linspace(0.0, 5.0, 21)
"""Logarithms of how many times slower a term is priced at: up to 150 times."""

_WAITING = frozenset(("e2e_concurrency", "e2e_saturated", "e2e_slo", "ttft", "tpot"))
"""Rules of points whose requests wait where there is no room for all."""

_FIRST_TOKENS = 0.45
"""What the first token of one of several requests is off by on its own, as a logarithm.

Of 95 measured so, four in five took 0.68 to 2.2 times what a fit without their source expects."""


@dataclass(frozen=True)
class Slowdowns:
    """Points of one deployment as times, and what each part would make of them.

    rows : the points, as predicted
    residuals : logarithms of measured over predicted time of each [1]
    spreads : by how much each is off on its own, more than others [1]
    logs : logarithms of the time with a part slower over the time predicted: parts by `PRICED` by
        points [1]
    """

    rows: StackedPoints
    residuals: Floats
    spreads: Floats
    logs: Floats

    @property
    def batches(self) -> Floats:
        """Sequences at once of each point. [1]"""
        return np.concatenate(
            [
                np.broadcast_to(batch.recipe.timeline.passes.batch, (len(batch.points),))
                for batch in dict.fromkeys(self.rows.batches)
            ]
        )

    def at(self, component: int, slower: Floats) -> Floats:
        """Return the logarithms of one part between those priced: places of a grid by points.

        component, slower : its position, and logarithms of how many times slower it is [1]
        """
        columns = [np.interp(slower, PRICED, column) for column in self.logs[component].T]
        return np.stack(columns, axis=-1)


def slowdowns_of(batches: Sequence[Batch], *, has_room: bool = False) -> Slowdowns:
    """Return what each part would make of the points of some batches.

    has_room : whether it is known that there is as much room for requests as predicted
    """
    rows = rows_of(batches)
    predicted = _seconds_per_token(rows)
    measured = rows.measured / rows.tokens
    logs = np.zeros((len(PARTS), len(PRICED), len(rows.points)))
    for item_index, (_, component) in enumerate(PARTS):
        if has_room and component is ROOM:
            continue
        for index, slower in enumerate(PRICED[1:], 1):
            times = float(np.exp(slower))
            is_room = component is ROOM
            seconds = _less_room(batches, times) if is_room else _slower(rows, component, times)
            logs[item_index, index] = np.log(seconds / predicted)
    are_several = [p.metric == "ttft_s" and (p.concurrency or 1) > 1 for p in rows.points]
    spreads = _FIRST_TOKENS * np.array(are_several, dtype=float)
    return Slowdowns(rows, np.log(measured / predicted), spreads, logs)


def _slower(rows: StackedPoints, component: Part, times: float) -> Floats:
    """Time of each point with one part slower by a factor. [s]"""
    software = (component.slower(pile.software, times) for pile in rows.piles)
    piles = [
        replace(pile, software=slower) for pile, slower in zip(rows.piles, software, strict=True)
    ]
    return _seconds_per_token(replace(rows, piles=piles))


def _less_room(batches: Sequence[Batch], times: float) -> Floats:
    """Time of each point with room for fewer requests, by a factor. [s]"""
    capped = [_capped(batch, times) if batch.rule in _WAITING else batch for batch in batches]
    return _seconds_per_token(rows_of(capped))


def _capped(batch: Batch, times: float) -> Batch:
    placement, columns = batch.placement, columns_of(batch.points)
    limit = room(placement, columns) / times / placement.layout.dp
    software = replace(placement.machine.software, max_sequences=limit)
    fewer = replace(placement, machine=replace(placement.machine, software=software))
    return replace(batch, recipe=RATES[batch.rule](fewer, columns))


def _seconds_per_token(rows: StackedPoints) -> Floats:
    return np.asarray(np.maximum(rows.seconds(), rows.bound) / rows.tokens, dtype=float)
