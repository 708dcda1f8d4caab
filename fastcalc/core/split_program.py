"""The split over any number of memories with which a pass takes least, as a linear program."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from fastcalc.core.split import IN_LAYERS, READ, Costs, Split, summed
from fastcalc.formulas.linear_program import least_of
from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats, floats

_AT_ONCE = 2048
"""Points that are solved together, so that their tables need little memory."""

_CUTS = 12
"""Tangents to the curve of hits to begin with, and rounds in which others are added."""

_TIE = 1e-11
"""What a memory farther away costs besides: of those that take the same the nearest is taken."""

_EXPERTS = READ.index("experts")


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
    numbers = np.broadcast_arrays(*shares, *(cells[_EXPERTS] for cells in costs.cells))
    held, cells = np.split(np.stack(numbers), 2)
    order = cells.argsort(axis=0, kind="stable")
    until = np.cumsum(np.take_along_axis(held, order, axis=0), axis=0)
    found = np.diff(np.minimum(until, 1.0) ** (1.0 - skew), axis=0, prepend=0.0)
    return list(np.take_along_axis(found, order.argsort(axis=0), axis=0))


def least_shares(
    sizes: dict[str, Array],
    room: Sequence[Array],
    costs: Costs,
    split: Split,
    skew: ArrayLike,
    is_known: Bools,
    known: dict[str, list[Array]],
) -> dict[str, list[Array]]:
    """Return the shares of kinds in each memory with which a pass takes least. [1]

    sizes : of each kind that is placed [byte]
    room : in each memory [byte]
    costs : what a pass takes of each kind in each memory
    split : with the kinds that have a memory of their own
    skew : how unevenly experts are picked [1]
    is_known, known : where they are known, and those [1]
    """
    turned = 1.0 if costs.place is None else split.in_layers(costs.place)
    pace = (costs.overlap, costs.turn, costs.layers * (turned < 1.0), skew)
    own = chain(*(split.shares[kind] for kind in READ if kind not in sizes))
    numbers = [*sizes.values(), *room, *chain(*costs.cells), *pace, *own]
    every = np.broadcast_arrays(*map(floats, numbers), is_known, *chain(*known.values()))
    wide, shape = np.stack(every[: len(numbers)]), (len(sizes), len(room), every[0].size)
    found = np.stack(every[len(numbers) + 1 :]).reshape(shape)
    flat, points = wide.reshape(len(wide), -1), np.flatnonzero(~every[len(numbers)])
    for start in range(0, points.size, _AT_ONCE):
        some = points[start : start + _AT_ONCE]
        found[:, :, some] = _Program(list(sizes), len(room), costs.place, flat[:, some]).shares()
    found = found.reshape(*shape[:2], *wide.shape[1:])
    return {kind: list(shares) for kind, shares in zip(sizes, found, strict=True)}


class _Program:
    """The linear program of some points.

    What lives and happens where is a form: a number for each unknown, and one that stands alone.
    The unknowns are the shares of kinds in all memories but the last; the hits in each memory,
    where experts are picked unevenly; how far the share of the layers with a turn is below 1; how
    far what is read at once is below the most it can be; and what the last memory is spared of
    what is too much for it. So nothing but zeros is always allowed.
    """

    def __init__(self, kinds: list[str], count: int, place: int | None, numbers: Floats) -> None:
        ends = np.cumsum([len(kinds), count, count * len(READ), 4])
        sizes, room, cells, pace, own = np.split(numbers, ends)
        whole = np.maximum(sizes.sum(axis=0), 1.0)
        self.kinds, self.place, self.sizes, self.room = kinds, place, sizes / whole, room / whole
        self.cells = cells.reshape(count, len(READ), -1)
        self.overlap, self.turn, self.turns, self.skew = pace
        near, is_skewed = len(kinds) * (count - 1), "experts" in kinds and bool(np.any(self.skew))
        self.found = range(near, near + count * is_skewed)
        self.turned, self.hidden, self.spared, self.alone = (
            self.found.stop + at for at in range(4)
        )
        shape = count, self.alone + 1, numbers.shape[1]
        self.held = {kind: np.zeros(shape) for kind in (*READ, *kinds)}
        for at, kind in enumerate(kind for kind in READ if kind not in kinds):
            self.held[kind][:, self.alone] = own[at * count : (at + 1) * count]
        for at, kind in enumerate(kinds):
            form = self.held[kind]
            for tier in range(count - 1):
                form[tier, at * (count - 1) + tier] = 1.0
            form[-1] = -form[:-1].sum(axis=0)
            form[-1, self.alone] = 1.0
        self.reads = np.array([self.held[kind] for kind in READ])
        if is_skewed:
            order = self.cells[:, _EXPERTS].argsort(axis=0, kind="stable")[:, np.newaxis]
            held = np.take_along_axis(self.held["experts"], order, axis=0)
            self.until, read = held.cumsum(axis=0), np.zeros_like(held)
            for at, unknown in enumerate(self.found):
                read[at, unknown] = 1.0
                read[at + 1 :, unknown][:1] = -1.0
            self.reads[_EXPERTS] = np.take_along_axis(read, order.argsort(axis=0), axis=0)

    def shares(self) -> Floats:
        """Return the shares by kind, memory and point. [1]"""
        cost, at_once = self.cost()
        limits = [*self.limits(), *at_once]
        for share in np.geomspace(1.0, 1e-8, _CUTS):
            limits += self.tangents(np.full_like(self.room, share))
        for _ in range(_CUTS if self.found else 1):
            forms = np.stack(limits)
            room = np.maximum(-forms[:, -1], 0.0)
            found = least_of(cost=cost[:-1], rows=forms[:, :-1], room=room)
            if self.found:
                near = summed(found, self.until[:, : self.alone].swapaxes(0, 1))
                limits += self.tangents(near + self.until[:, self.alone])
        near = found[: self.found.start].reshape(len(self.kinds), len(self.room) - 1, -1)
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
            in_layers = (self.held[kind] for kind in IN_LAYERS if kind in self.kinds)
            met += [form[self.place] + turned for form in in_layers]
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
            cost -= self.overlap * times.sum(axis=0)
            cost[self.hidden] -= self.overlap
            cost[self.alone] += self.overlap * most
            at_once = [*times, *summed(beyond, least.swapaxes(0, 1)[:, :, np.newaxis])]
            for form in at_once:
                form[self.hidden] += 1.0
                form[self.alone] -= most
        scale = np.maximum(self.cells.min(axis=0).sum(axis=0), 1e-4 * most + 1e-40)
        for size, kind in zip(self.sizes, self.kinds, strict=True):
            cost += _TIE * scale * summed(range(len(self.room)), self.held[kind])
            if kind in READ:
                price = spread[READ.index(kind)] / np.maximum(size, _TIE)
                cost[self.spared] = np.minimum(cost[self.spared], -2.0 * price)
        return cost / scale, at_once

    def tangents(self, shares: Floats) -> list[Floats]:
        """Return forms that keep hits below the tangents of their curve at shares of experts."""
        forms = []
        for at, unknown in enumerate(self.found):
            share = np.maximum(shares[at], 1e-9)
            form = -(1.0 - self.skew) * share**-self.skew * self.until[at]
            form[unknown] += 1.0
            form[self.alone] -= self.skew * share ** (1.0 - self.skew)
            forms.append(form)
        return forms
