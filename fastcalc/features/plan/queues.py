"""The replicas needed for a rate, their maximum utilization, and the queueing delay."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from fastcalc.features.plan.service import Service
from fastcalc.formulas.sequences import grouped
from fastcalc.formulas.types import ArrayLike, Floats, Ints, floats
from fastcalc.formulas.waiting import prompt_wait_percentile, slot_wait_percentile

_BUSY = 1.0 - np.geomspace(1.0, 1e-4, 512)
"""Utilizations at which delays are tabulated. Linear interpolation overestimates the delays."""

_FEW = 32  # slots
_SLACK = 1e-9  # of a replica, so that a rate of exactly its throughput does not need two
_LEAST_BUSY = 1e-6  # lowest utilization to plan for, needed if a limit leaves no time to wait
_WAIT_OF_THE_LATE = 0.1


class Slots:
    """Table of queueing delays for a slot, in units of the time that a request occupies its slot.

    The delays depend only on the number of slots and their utilization, so one table serves every
    deployment. Delays are computed on first use. Those for few slots, which take one step per slot,
    are computed together.

    share : The percentile of the queueing delay, as a fraction of requests.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._counts: Floats = np.arange(1.0, _FEW)
        self._order: Ints = np.arange(len(self._counts))
        self._waits = self._computed(self._counts[:, np.newaxis], _BUSY)

    def _computed(self, counts: Floats, busy: Floats) -> Floats:
        return slot_wait_percentile(slots=counts, utilization=busy, service=1.0, share=self._share)

    def kinds(self, counts: Floats) -> Ints:
        """Return the rows of the table for the given numbers of slots."""
        rows = self._rows_of(counts)
        new = np.unique(counts[self._counts[rows] != counts])
        if new.size:
            self._counts = np.concatenate([self._counts, new])
            self._order = np.argsort(self._counts)
            more = np.full((len(new), len(_BUSY)), np.nan)
            self._waits = np.concatenate([self._waits, more])
            rows = self._rows_of(counts)
        return rows

    def _rows_of(self, counts: Floats) -> Ints:
        """Return the rows for given numbers of slots, or for the next larger ones in the table."""
        after = np.searchsorted(self._counts, counts, sorter=self._order)
        return np.asarray(self._order[np.minimum(after, len(self._order) - 1)])

    def waits(self, kind: Ints | int, level: Ints) -> Floats:
        """Return the delays of rows at tabulated utilizations, by index."""
        indices = kind * len(_BUSY) + level
        waits = self._waits.take(indices)
        is_new = np.isnan(waits)
        if is_new.any():
            row, column = np.divmod(np.unique(indices[is_new]), len(_BUSY))
            self._waits[row, column] = self._computed(self._counts[row], _BUSY[column])
            waits = self._waits.take(indices)
        return np.asarray(waits)


@lru_cache(maxsize=4)
def slots_of(share: float) -> Slots:
    """Return the table for a percentile, given as a fraction of requests."""
    return Slots(share)


@dataclass(frozen=True, eq=False)
class Queues:
    """The queues of deployments: for prefill, and for a slot.

    share : The percentile of the queueing delay, as a fraction of requests.
    prompt, prompt_busy : The time for which a prompt delays others [s], and its maximum utilization
        [1]; 0 if prompts do not delay others.
    slots, kind : The table of delays for a slot, if requests wait for one, and each deployment's
        row.
    holds : The time that a request occupies its slot, in seconds.
    step : The time of the current step, half of which counts in the TTFT, in seconds.
    alone : The time that a single request occupies its slot, relative to that with all slots full.

    A request that waits long in one queue seldom waits long in another, so percentiles of
    independent delays add up by their squares, as standard deviations do. Deployments are ranked by
    this sum, and exact percentiles are computed for those that lead (`fastcalc.core.load`).
    """

    share: float
    prompt: ArrayLike
    prompt_busy: ArrayLike
    slots: Slots | None = None
    kind: Ints | int = 0
    holds: ArrayLike = 0.0
    step: ArrayLike = 0.0
    alone: ArrayLike = 1.0

    @classmethod
    def joined(
        cls, queues: "Sequence[Queues]", join: Callable[[Iterable[ArrayLike]], ArrayLike]
    ) -> "Queues":
        """Combine the queues of several deployments that share a percentile and a table of slots.

        join : Joins the columns of all sets into one.
        """
        names = "prompt", "prompt_busy", "kind", "holds", "step", "alone"
        columns = zip(*(attrgetter(*names)(each) for each in queues), strict=True)
        prompt, busy, rows, holds, step, alone = map(join, columns)
        kind = np.asarray(rows, dtype=int)
        return cls(queues[0].share, prompt, busy, queues[0].slots, kind, holds, step, alone)

    def wait(self, utilization: Floats) -> Floats:
        """Return an upper bound on both delays in sequence. Infinite at full utilization. [s]"""
        after = np.clip(np.searchsorted(_BUSY, utilization, side="right"), 1, len(_BUSY) - 1)
        low, high = _BUSY[after - 1], _BUSY[after]
        part = np.minimum((utilization - low) / (high - low), 1.0)
        waits = self._at(after - 1) * (1.0 - part) + self._at(after) * part
        return np.asarray(np.where(utilization <= _BUSY[-1], waits, np.inf))

    def most(self, slack: Floats, utilization: float = 1.0) -> Floats:
        """Return the highest utilization, up to a limit, at which delays are within a time."""
        level = int(np.searchsorted(_BUSY, utilization))
        if level == len(_BUSY):
            return np.minimum(self._most(slack, level - 1), utilization)
        is_longer = self._at(np.full(slack.shape, level)) > slack
        most = np.full(slack.shape, utilization)
        if is_longer.any():

            def those(columns: Iterable[ArrayLike]) -> ArrayLike:
                (values,) = columns
                if isinstance(values, (float, int)):
                    return values
                return np.broadcast_to(floats(values), is_longer.shape)[is_longer]

            longer = self.joined([self], those)._most(slack[is_longer], level)
            most[is_longer] = np.minimum(longer, utilization)
        return most

    def _most(self, slack: Floats, last: int) -> Floats:
        low = np.zeros(np.shape(slack), dtype=int)  # where the wait is within the time
        for power in reversed(range(last.bit_length())):
            low += 2**power * (self._at(low + 2**power) <= slack)
        after = np.minimum(low + 1, len(_BUSY) - 1)
        low_wait, next_wait = self._at(low), self._at(after)
        is_longer = next_wait > low_wait
        longer = np.where(is_longer, next_wait - low_wait, 1.0)
        part = np.where(is_longer, (slack - low_wait) / longer, 0.0)
        return np.asarray(_BUSY[low] + part * (_BUSY[after] - _BUSY[low]))

    def _at(self, level: Ints) -> Floats:
        """Return the delays at tabulated utilizations, by index, in seconds."""
        under_way = max(self.share - 0.5, 0.0) * self.step
        squares: Floats = np.broadcast_to(np.square(under_way), level.shape)
        if np.any(self.prompt_busy):
            prompts = prompt_wait_percentile(
                utilization=_BUSY[level] * self.prompt_busy, service=self.prompt, share=self.share
            )
            squares = squares + np.square(prompts)
        if self.slots is not None:
            squares = squares + np.square(self._slot_waits(level))
        return np.sqrt(squares)

    def _slot_waits(self, level: Ints) -> Floats:
        r"""Return the delays for a slot at tabulated utilizations, by index, in seconds.

        .. math:: x = \frac{u h}{1 - u (1 - h)}

        With fewer requests in flight each finishes sooner, so the share x of occupied slots is
        below the utilization u: n = u c H(n) / H(c), where H(n) grows linearly from h H(c) alone.
        """
        assert self.slots is not None
        if isinstance(self.alone, float) and self.alone == 1.0:
            return np.asarray(self.slots.waits(self.kind, level) * self.holds)
        used = _BUSY[level]
        taken = used * self.alone / (1.0 - used * (1.0 - np.asarray(self.alone)))
        after = np.minimum(np.searchsorted(_BUSY, taken), len(_BUSY) - 1)
        longer = (1.0 - _BUSY[after]) / np.maximum(1.0 - used, 1e-12)
        return np.asarray(self.slots.waits(self.kind, after) * self.holds * longer)


Asked = tuple[Service, Floats, Floats, Queues | None]
"""A service; replica time per request and TTFT without queueing, for deployments or for
pools x deployments [s]; and their queues if arrivals are random."""


class Sizing(NamedTuple):
    """The number of replicas, their utilization and its maximum, and the queueing delay."""

    replicas: Floats
    busy: Floats
    waits: Floats
    busiest: Floats


def needed(
    service: Service, seconds: Floats, ttft: Floats, queues: Queues | None, *, part: float = 1.0
) -> Sizing:
    """Compute how many replicas the requests need, and their utilization.

    Returns one replica if there is no rate. A deployment that misses its limit even without
    queueing gets a tenth of its time for queueing, so that its latency can be reported.

    seconds, ttft : The replica time per request, and TTFT without queueing, for deployments or for
        pools x deployments, in seconds.
    queues, part : The queues if arrivals are random, and their share of the time left for queueing.
    """
    busiest: Floats = np.full(ttft.shape, service.utilization)
    if queues is not None:
        late = ttft >= service.ttft
        slack = part * np.where(late, _WAIT_OF_THE_LATE * ttft, service.ttft - ttft)
        busy_at_most = queues.most(slack, service.utilization)
        busiest = np.minimum(busiest, np.maximum(busy_at_most, _LEAST_BUSY))
    replicas, busy = np.ones(ttft.shape), busiest
    if service.rate is not None:
        replicas = np.maximum(np.ceil(np.asarray(service.rate * seconds / busiest) - _SLACK), 1.0)
        busy = np.minimum(service.rate * seconds / replicas, busiest)
    waits = np.zeros(busy.shape) if queues is None else queues.wait(busy)
    return Sizing(replicas, busy, waits, busiest)


def needed_of_all(asked: Sequence[Asked]) -> list[Sizing]:
    """Compute `needed` for many sets of deployments, with one row per rate and limit.

    Sets with and without queued prompts are computed separately, because the latter are faster.
    """
    sizings: dict[int, Sizing] = {}
    for indices in grouped(range(len(asked)), lambda index: _common(asked[index])).values():
        sizings |= zip(indices, _needed_together([asked[index] for index in indices]), strict=True)
    return [sizings[index] for index in range(len(asked))]


def _common(asked: Asked) -> tuple[float | bool | None, ...]:
    """Return the key shared by sets of deployments that are sized together."""
    service, _, _, queues = asked
    has_prompts = queues is not None and bool(np.any(queues.prompt_busy))
    return service.rate, service.utilization, service.ttft, has_prompts


def _needed_together(asked: Sequence[Asked]) -> list[Sizing]:
    if len(asked) <= 1:
        return [needed(*each) for each in asked]
    services, every_seconds, times, queues_of = zip(*asked, strict=True)
    shapes = [ttft.shape for ttft in times]
    ends = np.cumsum([ttft.size for ttft in times])[:-1]

    def joined(columns: Iterable[ArrayLike]) -> ArrayLike:
        several = list(columns)
        first = several[0]
        if all(isinstance(values, (float, int)) and values == first for values in several):
            return first
        rows = zip(several, shapes, strict=True)
        return np.concatenate([np.broadcast_to(values, shape).ravel() for values, shape in rows])

    all_queues = [queues for queues in queues_of if queues is not None]
    queues = Queues.joined(all_queues, joined) if all_queues else None
    columns_of = floats(joined(every_seconds)), floats(joined(times))
    sizing = needed(services[0], *columns_of, queues)
    columns = [np.split(column, ends) for column in sizing]
    return [
        Sizing(*(column.reshape(shape) for column in of_one))
        for shape, *of_one in zip(shapes, *columns, strict=True)
    ]
