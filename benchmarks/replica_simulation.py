"""Continuous batching on one replica of a plan, pass by pass: an oracle for percentiles and rates.

The scheduler is vLLM's: a pass decodes what is in flight and takes in prompt tokens up to the
engine's budget, first come, first served, in chunks. Passes take what the step model says of so
many sequences and so many prompt tokens of each kind; queues, slots and who shares a pass with whom
are simulated and owe nothing to the closed forms.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from math import ceil
from typing import NamedTuple

import numpy as np

from fastcalc.core.load import RandomLoad, _EachPrompt
from fastcalc.core.step.schedule import DECODE, Schedule
from fastcalc.formulas.types import Floats, Ints

_SEQUENCES, _TOKENS = 12, 14  # of the table of passes, between which times are straight lines


@dataclass(frozen=True, eq=False)
class PassTimes:
    """Times of passes by sequences in flight and prompt tokens of each kind.

    lanes : attention replicas, whose passes are as long as the longest [1]
    sequences : of one lane, less than one where only some micro-batches have any [1]
    decode : time of a pass without prompts, at those [s]
    tokens : prompt tokens of a pass, of each kind (kinds, tokens) [1]
    added : what they add: on one lane alone, and on all (2, sequences, kinds, tokens) [s]
    """

    lanes: int
    chunk: int
    sequences: Floats
    decode: Floats
    tokens: Floats
    added: Floats
    cache: dict[tuple[int, ...], float] = field(default_factory=dict)

    @classmethod
    def of(cls, load: RandomLoad) -> "PassTimes":
        """Return the times of a plan's replica."""
        passes, kinds = load.passes, load.mix.kinds
        layout, chunk = passes.placement.layout, int(passes.machine.software.prompt_chunk)
        lanes = int(layout.dp)
        group = lanes * int(layout.pp)
        most = max(int(passes.batch[-1]) / group, 1.0)
        few = np.arange(1.0, int(layout.pp)) / int(layout.pp)
        sequences = np.unique([*few, *np.geomspace(1.0, most, _SEQUENCES)])
        stated = {part.name: getattr(load.mix, part.name) for part in fields(load.mix)}
        batches = np.minimum(sequences * group, passes.batch[-1])  # fewer than micro-batches
        each = Schedule(passes.placement, _EachPrompt(**stated), batches[:, np.newaxis])
        plain = Schedule(passes.placement, load.mix, batches)
        decode = np.ravel(plain.seconds(DECODE)) * np.ones(len(sequences))
        tokens = np.tile(np.geomspace(1.0, chunk, _TOKENS), (len(kinds.computed), 1))
        added = np.zeros((2, len(sequences), len(tokens), _TOKENS))
        for at in range(_TOKENS):
            for where, on in enumerate((1.0, float(lanes))):
                rows = each._rows(each.streams, each.expert_sequences, tokens[:, at], on)
                seconds = each.expected(each._count(rows)).seconds
                added[where, :, :, at] = np.maximum(seconds - decode[:, np.newaxis], 0.0)
        return cls(lanes, chunk, sequences, decode, tokens, added)

    def decoding(self, count: float) -> float:
        """Return the time of a pass that decodes so many sequences on its fullest lane. [s]"""
        return float(np.interp(count, self.sequences, self.decode))

    def seconds(self, count: float, taken: Sequence[tuple[int, int]], lanes: float) -> float:
        """Return the time of a pass with prompt tokens of kinds, as (kind, tokens), on some lanes.

        lanes : the prompt tokens of all lanes over those of the fullest [1]

        What several kinds add is what so many tokens of each alone would, by their shares.
        """
        total = sum(tokens for _, tokens in taken)
        where = 0.0 if self.lanes == 1 else (lanes - 1) / (self.lanes - 1)
        result = self.decoding(count)
        for kind, tokens in taken:
            one, every = (
                float(
                    np.interp(
                        total,
                        self.tokens[kind],
                        [
                            np.interp(count, self.sequences, self.added[on, :, kind, at])
                            for at in range(_TOKENS)
                        ],
                    )
                )
                for on in (0, 1)
            )
            result += tokens / total * (one + (every - one) * where)
        return result


class Simulated(NamedTuple):
    """Kind and times of each request, without the first tenth. [1], [s]"""

    kind: Ints
    ttft: Floats
    tpot: Floats
    request: Floats
    rate: float


@dataclass
class _Request:
    kind: int
    arrival: float
    left: int
    steps: int
    first: float = 0.0
    has_slot: bool = False


class Arrivals:
    """Poisson arrivals, or those of closed-loop users who think after each answer.

    users, think : of a closed loop; 0 users where arrivals are Poisson [1], [s]
    cycle : mean time from one request of a user to the next, over which first requests are spread:
        users that all begin at once stay together for hundreds of requests where they think for
        less time than answers take [s]
    rate : Poisson arrivals of the group [1/s]
    """

    def __init__(
        self,
        count: int,
        dice: np.random.Generator,
        *,
        rate: float = 0.0,
        users: int = 0,
        think: float = 0.0,
        cycle: float = 0.0,
    ) -> None:
        self._dice, self._think, self.left = dice, think, count
        if users:
            times = dice.uniform(0.0, cycle, users)
        else:
            times = np.cumsum(dice.exponential(1.0 / rate, count))
        self._heap = sorted(times.tolist())
        self._is_closed = bool(users)

    @property
    def next(self) -> float:
        """When the next request arrives; infinity for none. [s]"""
        return self._heap[0] if self._heap and self.left else np.inf

    def take(self) -> float:
        """Return when the next arrived."""
        self.left -= 1
        return heapq.heappop(self._heap)

    def answered(self, now: float) -> None:
        """Note that a user has an answer."""
        if self._is_closed:
            heapq.heappush(self._heap, now + self._dice.exponential(self._think))


def simulate(
    load: RandomLoad, arrivals: Arrivals, dice: np.random.Generator, *, spread: float = 0.0
) -> Simulated:
    """Simulate a replica: attention replicas run in step, micro-batches of a pipeline in turn.

    A request goes to the lane that has the fewest. Slots are of each attention replica, whatever
    the micro-batch, as many as a start script gives it.

    spread : of outputs, up to which they are shorter or longer than their kind's, evenly [1]
    """
    times, kinds = PassTimes.of(load), load.mix.kinds
    layout = load.passes.placement.layout
    slots = [ceil(float(load.passes.batch[-1]) / int(layout.dp))] * int(layout.dp)
    tokens_per_pass = float(load.mix.speculation.tokens_per_pass)
    steps = np.maximum(np.ceil((kinds.output - 1.0) / tokens_per_pass), 0.0).astype(int)
    prompts = np.maximum(np.rint(kinds.computed), 1).astype(int)
    groups = [_Group(times, slots) for _ in range(int(layout.pp))]
    lanes = [lane for group in groups for lane in group.lanes]
    share = kinds.share / kinds.share.sum()
    done: list[tuple[float, ...]] = []
    while arrivals.left or any(lane.is_busy for lane in lanes):
        group = min(groups, key=lambda each: each.now if each.is_busy else np.inf)
        if not group.is_busy or arrivals.next <= group.now:
            kind, at = int(dice.choice(len(share), p=share)), arrivals.take()
            lane = min(lanes, key=lambda each: each.load)
            longer = dice.uniform(1.0 - spread, 1.0 + spread) if spread else 1.0
            lane.queue.append(
                _Request(kind, at, int(prompts[kind]), ceil(steps[kind] * longer - 0.5))
            )
            for other in groups:
                other.now = other.now if other.was_busy else max(other.now, at)
                other.was_busy = other.is_busy
            continue
        busy = sum(each.is_busy for each in groups) / len(groups)
        for request in group.run(arrivals.next, busy):
            done.append((request.kind, request.arrival, request.first, group.now))
            arrivals.answered(group.now)
        group.was_busy = group.is_busy
    overhead = float(load.passes.machine.software.request_overhead)
    return _measured(np.array(done), kinds.output, overhead)


class _Group:
    """Lanes whose passes run in step, and their clock."""

    def __init__(self, times: PassTimes, slots: list[int]) -> None:
        self.lanes = [_Lane(rank, slots) for rank in range(times.lanes)]
        self.times, self.now, self.passes, self.was_busy = times, 0.0, 0, False

    @property
    def is_busy(self) -> bool:
        """Whether any of its lanes has a request."""
        return any(lane.is_busy for lane in self.lanes)

    def run(self, arrival: float, busy: float) -> list[_Request]:
        """Run a pass, or several where nothing happens before an arrival; return what is done.

        busy : the part of the micro-batches that have requests, without which a pass of a single
            sequence is not as long as all of the slowest stages [1]
        """
        lanes, times = self.lanes, self.times
        taken = [lane.take_in(times.chunk) for lane in lanes]
        count = max(float(len(lane.decoding)) for lane in lanes)
        count = busy if count <= 1.0 else count
        longest = max(taken, key=lambda tokens: sum(size for _, size in tokens))
        if longest:
            total = sum(size for tokens in taken for _, size in tokens)
            until, step = 1, times.seconds(count, longest, total / sum(s for _, s in longest))
        else:
            step = times.decoding(count)
            firsts = [lane.decoding[0][0] for lane in lanes if lane.decoding]
            until = min(firsts) - self.passes if firsts else 1
            if arrival < np.inf:
                until = min(until, max(int(np.ceil((arrival - self.now) / step)), 1))
            if any(lane.queue for lane in lanes):  # for a slot that another group may free
                until = 1
        self.now, self.passes = self.now + until * step, self.passes + until
        return [request for lane in lanes for request in lane.ended(self.passes, self.now)]


def _measured(done: Floats, output: Floats, overhead: float) -> Simulated:
    done = done[np.argsort(done[:, 1])]
    begun, ended = len(done) // 10, len(done) - len(done) // 20
    steady = done[begun:ended]
    kind = steady[:, 0].astype(int)
    further = np.maximum(output[kind] - 1.0, 1.0)
    arrival, first, last = steady[:, 1], steady[:, 2], steady[:, 3]
    return Simulated(
        kind,
        first - arrival + overhead,
        (last - first) / further,
        last - arrival + overhead,
        len(steady) / (arrival[-1] - arrival[0]),
    )


class _Lane:
    """One attention replica's micro-batch: its queue, what it takes in, and what it decodes."""

    def __init__(self, rank: int, slots: list[int]) -> None:
        self.queue: deque[_Request] = deque()
        self.decoding: list[tuple[int, int, _Request]] = []  # by the pass after which each is done
        self._begun: list[_Request] = []
        self._rank, self._slots = rank, slots

    @property
    def is_busy(self) -> bool:
        """Whether it has any request."""
        return bool(self.queue or self.decoding)

    @property
    def load(self) -> int:
        """Requests that it has. [1]"""
        return len(self.queue) + len(self.decoding)

    def take_in(self, chunk: int) -> list[tuple[int, int]]:
        """Return the prompt tokens of a pass, as (kind, tokens)."""
        taken, room = [], chunk
        while self.queue and room:
            request = self.queue[0]
            if not request.has_slot:
                if not self._slots[self._rank]:
                    break
                request.has_slot = True
                self._slots[self._rank] -= 1
            tokens = min(request.left, room)
            request.left, room = request.left - tokens, room - tokens
            taken.append((request.kind, tokens))
            if not request.left:
                self._begun.append(self.queue.popleft())
        return taken

    def ended(self, passes: int, now: float) -> list[_Request]:
        """Return what is done after a pass, and begin to decode what had its first token in it."""
        done = []
        while self.decoding and self.decoding[0][0] <= passes:
            done.append(heapq.heappop(self.decoding)[2])
        for request in self._begun:
            request.first = now
            if request.steps:
                heapq.heappush(self.decoding, (passes + request.steps, id(request), request))
            else:
                done.append(request)
        self._begun = []
        self._slots[self._rank] += len(done)
        return done
