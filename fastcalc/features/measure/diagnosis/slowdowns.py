"""How measurements change if one part of a step slows down by a given factor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.evidence.kinds import RATES, room
from fastcalc.evidence.predict import Batch, columns_of
from fastcalc.evidence.stacked import StackedPoints, rows_of
from fastcalc.features.measure.diagnosis.terms import PARTS, ROOM
from fastcalc.formulas.types import Floats

PRICED = np.linspace(0.0, 5.0, 21)
"""Slowdowns, as logarithms, for which the effect is computed: up to 150 times."""

_WAITING = frozenset(("e2e_concurrency", "e2e_saturated", "e2e_slo", "ttft", "tpot"))
"""Types of measurements in which requests wait if memory does not fit them all."""

_FIRST_TOKENS = 0.45
"""Spread of the TTFT of one of several requests, as a logarithm.

Of 95 such measurements, four in five took 0.68 to 2.2 times as long as a fit without their source
predicted."""


@dataclass(frozen=True)
class Slowdowns:
    """Stores measured times and the contribution of each component to them.

    rows : The predicted measurements.
    residuals : The logarithm of measured / predicted time for each.
    spreads : Additional error of each measurement.
    logs : The logarithm of slowed / predicted time, by part, slowdown in `PRICED` and measurement.
    """

    rows: StackedPoints
    residuals: Floats
    spreads: Floats
    logs: Floats

    @property
    def batches(self) -> Floats:
        """The concurrent sequences of each measurement."""
        return np.concatenate(
            [
                np.broadcast_to(batch.recipe.timeline.passes.batch, (len(batch.points),))
                for batch in dict.fromkeys(self.rows.batches)
            ]
        )

    def at(self, component: int, slower: Floats) -> Floats:
        """Interpolate the logarithms for one part: grid points by measurements.

        component, slower : The index of the part, and logarithms of its slowdown.
        """
        columns = [np.interp(slower, PRICED, column) for column in self.logs[component].T]
        return np.stack(columns, axis=-1)


def slowdowns_of(batches: Sequence[Batch], *, has_room: bool = False) -> Slowdowns:
    """Compute how each part of a step slows down the measurements.

    has_room : Whether memory for requests is known to be as large as predicted.
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
            if component is ROOM:  # memory for fewer requests
                capped = [
                    _capped(batch, times) if batch.rule in _WAITING else batch for batch in batches
                ]
                seconds = _seconds_per_token(rows_of(capped))
            else:
                piles = [
                    replace(pile, software=component.slower(pile.software, times))
                    for pile in rows.piles
                ]
                seconds = _seconds_per_token(replace(rows, piles=piles))
            logs[item_index, index] = np.log(seconds / predicted)
    are_several = [p.metric == "ttft_s" and (p.concurrency or 1) > 1 for p in rows.points]
    spreads = _FIRST_TOKENS * np.array(are_several, dtype=float)
    return Slowdowns(rows, np.log(measured / predicted), spreads, logs)


def _capped(batch: Batch, times: float) -> Batch:
    placement, columns = batch.placement, columns_of(batch.points)
    limit = room(placement, columns) / times / placement.layout.dp
    software = replace(placement.machine.software, max_sequences=limit)
    fewer = replace(placement, machine=replace(placement.machine, software=software))
    return replace(batch, recipe=RATES[batch.rule](fewer, columns))


def _seconds_per_token(rows: StackedPoints) -> Floats:
    return np.asarray(np.maximum(rows.seconds(), rows.bound) / rows.tokens, dtype=float)
