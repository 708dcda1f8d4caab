"""The split that takes least of any number of memories, as a linear program."""

from collections.abc import Sequence

import numpy as np

from fastcalc.core.split import IN_LAYERS, READ, Costs, Split, summed
from fastcalc.formulas.linear_program import least_of
from fastcalc.formulas.types import Array, ArrayLike, Floats, floats

_AT_ONCE = 2048
"""Points that are solved together: their tables stay near the processor."""

_CUTS = 12
"""Rounds in which the curve of hits is approached by its tangents."""

_LEAST = 1e-40

_TIE = 1e-11
"""What each memory between costs in addition: of those that take the same the nearest is taken."""


def hits(shares: Sequence[Array], costs: Costs, skew: ArrayLike) -> list[Array]:
    r"""Return what of the picked experts is found in each memory.

    Where an expert is picked in proportion to a power of its rank, the most picked share :math:`s`
    of them gets :math:`s^{1 - z}` of the picks; these are where reading them takes least.

    shares : of all experts in each memory [1]
    costs : what a pass takes of each kind in each memory
    skew : the power, :math:`z` [1]
    """
    if not np.any(skew):
        return [*shares[:-1], floats(1.0 - sum(shares[:-1]))]
    before, found = _before([cells[READ.index("experts")] for cells in costs.cells]), []
    for share, others in zip(shares, before, strict=True):
        nearer = sum(is_nearer * one for is_nearer, one in zip(others, shares, strict=True))
        ends = (np.minimum(each, 1.0) ** (1.0 - skew) for each in (nearer + share, nearer))
        found.append(np.subtract(*ends))
    return found


def _before(cells: Sequence[ArrayLike]) -> list[list[Array]]:
    """Return for each memory 1 for those where experts take less, or as much and are nearer."""
    return [
        [np.where(one <= own if at < to else one < own, 1.0, 0.0) for at, one in enumerate(cells)]
        for to, own in enumerate(cells)
    ]


def least_shares(
    sizes: dict[str, Array],
    room: Sequence[Array],
    costs: Costs,
    split: Split,
    skew: ArrayLike,
) -> dict[str, list[Array]]:
    """Return the shares of kinds in each memory with which a pass takes least. [1]

    sizes : of each kind that is placed [byte]
    room : in each memory [byte]
    costs : what a pass takes of each kind in each memory
    split : with the kinds that have a memory of their own
    skew : how unevenly experts are picked [1]
    """
    fixed = [split.shares[kind] for kind in READ if kind not in sizes]
    turns = 0.0 if costs.place is None else 1.0 * (split.in_layers(costs.place) < 1.0)
    given = (
        [list(sizes.values())],
        [room],
        costs.cells,
        fixed,
        [[costs.overlap, costs.turn, costs.layers * turns, skew]],
    )
    numbers = [[floats(each) for each in row] for group in given for row in group]
    shape = np.broadcast_shapes(*(np.shape(each) for row in numbers for each in row))
    flat = [np.stack([np.broadcast_to(one, shape).ravel() for one in row]) for row in numbers]
    parts = []
    for start in range(0, flat[0].shape[1], _AT_ONCE):
        sizes_of, rooms, *rest = (row[:, start : start + _AT_ONCE] for row in flat)
        cells, own, (pace,) = rest[: len(room)], rest[len(room) : -1], rest[-1:]
        program = _Program(list(sizes), sizes_of, rooms, np.stack(cells), costs.place, pace, own)
        parts.append(program.shares())
    found = np.concatenate(parts, axis=-1)
    return {
        kind: [one.reshape(shape) for one in shares]
        for kind, shares in zip(sizes, found, strict=True)
    }


class _Program:
    """The linear program of some points.

    What lives and happens where is a form: a number for each unknown, and one that stands alone.
    The unknowns are the shares of kinds in all memories but the last; the hits in each memory,
    where experts are picked unevenly; how far the share of the layers with a turn is below 1; how
    far what is read at once is below the most it can be; and what the last memory is spared of
    what is too much for it. So nothing but zeros is always allowed.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        sizes: Floats,
        room: Floats,
        cells: Floats,
        place: int | None,
        pace: Floats,
        own: Sequence[Floats],
    ) -> None:
        self.kinds, self.place, self.cells = kinds, place, cells
        self.overlap, self.turn, self.turns, self.skew = pace
        self.count, points = room.shape
        whole = np.maximum(sizes.sum(axis=0), 1.0)
        self.sizes, self.room = sizes / whole, room / whole
        shares = len(kinds) * (self.count - 1)
        self.is_skewed = bool(np.any(self.skew)) and "experts" in kinds
        self.found = slice(shares, shares + self.count * self.is_skewed)
        self.turned, self.hidden, self.spared, self.alone = (
            self.found.stop + at for at in range(4)
        )
        nothing = np.zeros((self.count, self.alone + 1, points))
        self.held = {}
        for at, kind in enumerate(kinds):
            form = nothing.copy()
            for tier in range(self.count - 1):
                form[tier, at * (self.count - 1) + tier] = 1.0
            form[-1] = -form[:-1].sum(axis=0)
            form[-1, self.alone] = 1.0
            self.held[kind] = form
        for kind, share in zip((one for one in READ if one not in kinds), own, strict=True):
            self.held[kind] = nothing.copy()
            self.held[kind][:, self.alone] = share
        self.before = np.array(_before(list(cells[:, READ.index("experts")])))
        self.reads = np.array([self.held[kind] for kind in READ])
        if self.is_skewed:
            self.reads[READ.index("experts")] = self.hits()

    def shares(self) -> Floats:
        """Return the shares by kind, memory and point. [1]"""
        cost, at_once = self.cost()
        limits = [*self.limits(), *at_once]
        if self.is_skewed:
            for share in np.geomspace(1.0, 1e-8, _CUTS):
                limits += self.tangents(np.full_like(self.room, share))
        for _ in range(_CUTS if self.is_skewed else 1):
            forms = np.stack(limits)
            found = least_of(
                cost=cost[:-1], rows=forms[:, :-1], room=np.maximum(-forms[:, -1], 0.0)
            )
            values = np.concatenate([found, np.ones_like(found[:1])])
            if self.is_skewed:
                limits += self.tangents(summed(self.sums().swapaxes(0, 1), values))
        near = found[: self.found.start].reshape(len(self.kinds), self.count - 1, -1)
        near = np.where(near < _TIE, 0.0, np.minimum(near, 1.0))
        last = 1.0 - near.sum(axis=1, keepdims=True)
        return np.concatenate([near, np.where(last < _TIE, 0.0, last)], axis=1)

    def limits(self) -> list[Floats]:
        """Return forms that may not be above zero: shares, what memories hold, and turns."""
        free = [self.held[kind] for kind in self.kinds]
        stored = summed(free, self.sizes)
        stored[:, self.alone] -= self.room
        spared, turned = np.zeros_like(stored[:2])
        over = np.maximum(stored[-1, self.alone], 0.0)
        stored[-1, self.alone] -= over
        spared[self.alone], turned[self.alone] = -over, -1.0
        stored[-1, self.spared] = spared[self.spared] = turned[self.turned] = 1.0
        met = [*(-form[-1] for form in free), *stored, spared, turned]
        if self.place is not None:
            met += [
                self.held[kind][self.place] + turned for kind in IN_LAYERS if kind in self.kinds
            ]
        return met

    def cost(self) -> tuple[Floats, list[Floats]]:
        """Return what a pass takes, as `Costs.seconds` has it, and forms that limit what hides."""
        times = summed(self.reads, self.cells.swapaxes(0, 1)[:, :, np.newaxis])
        cost, at_once = times.sum(axis=0), []
        spread, most = np.ptp(self.cells, axis=0), self.cells.max(axis=0).sum(axis=0)
        if self.place is not None:
            cost += self.turn * self.held["head"][self.place]
            cost[self.turned] -= self.turn * self.turns
            spread = spread + self.turn * (self.turns + 1.0)
        if np.any(self.overlap):
            reads = self.reads.copy()
            if self.place is not None:
                times[self.place] = reads[:, self.place] = 0.0
            beyond = np.cumsum(reads[:, ::-1], axis=1)[:, ::-1]
            least = np.minimum.accumulate(self.cells[::-1], axis=0)[::-1]
            together = summed(beyond, least.swapaxes(0, 1)[:, :, np.newaxis])
            cost -= self.overlap * times.sum(axis=0)
            cost[self.hidden] -= self.overlap
            cost[self.alone] += self.overlap * most
            at_once = [*times, *together]
            for form in at_once:
                form[self.hidden] += 1.0
                form[self.alone] -= most
        scale = np.maximum(self.cells.min(axis=0).sum(axis=0), 1e-4 * most)
        for at, kind in enumerate(self.kinds):
            cost += _TIE * scale * summed(range(self.count), self.held[kind])
            if kind in READ:
                price = spread[READ.index(kind)] / np.maximum(self.sizes[at], _TIE)
                cost[self.spared] = np.minimum(cost[self.spared], -2.0 * price)
        return cost / np.maximum(scale, _LEAST), at_once

    def hits(self) -> Floats:
        """Return what of the picked experts is read in each memory, as forms."""
        rank = self.before.sum(axis=1)
        is_next = self.before * (rank[:, np.newaxis] - rank == 1.0)
        forms = np.zeros_like(self.held["experts"])
        for at in range(self.count):
            forms[at, self.found.start + at] = 1.0
            forms[at, self.found] -= is_next[at]
        return forms

    def sums(self) -> Floats:
        """Return the share of the experts in each memory and those read before it, as forms."""
        held = self.held["experts"]
        return np.add(held, [summed(each[:, np.newaxis], held) for each in self.before])

    def tangents(self, shares: Floats) -> list[Floats]:
        """Return forms that keep hits below the tangents of their curve at shares of experts."""
        at = np.maximum(shares, 1e-9)
        slope = (1.0 - self.skew) * at**-self.skew
        forms = -slope[:, np.newaxis] * self.sums()
        for place, form in enumerate(forms):
            form[self.found.start + place] += 1.0
            form[self.alone] -= self.skew * at[place] ** (1.0 - self.skew)
        return list(forms)
