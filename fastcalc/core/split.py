"""What lives where: the share of each kind of bytes in each memory of a chip.

A byte is worth what a pass saves that finds it nearer. Where the time of each kind is in proportion
to its shares, the least time leaves in the farthest memory what saves least for each byte held (a
fractional knapsack), then in the one before it, and so on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, pairwise

import numpy as np

from fastcalc.core.placement import AnyPlacement, stored_weights
from fastcalc.core.tier import KINDS, Tier
from fastcalc.formulas.types import Array, ArrayLike, Bools, Ints, floats

READ = KINDS[:4]
"""Kinds of bytes that a pass reads."""

IN_LAYERS = ("dense", "experts", "kv")
"""Those of every layer, for which a chip and the cores of a host take turns."""


def summed(shares: Sequence[ArrayLike], amounts: Sequence[ArrayLike]) -> Array:
    """Return the sum of shares of some amounts."""
    return floats(sum(share * each for share, each in zip(shares, amounts, strict=True)))


@dataclass(frozen=True, eq=False)
class Split:
    """The shares of each kind of bytes in each memory.

    tiers : the memories, the fastest first
    chips : chips of the deployment, which share some of them [1]
    sizes : bytes of each kind on the fullest chip [byte]
    shares : by kind of bytes, what of it is in each memory [1]
    read : of the experts that a pass picks, what is read from each memory [1]
    """

    tiers: tuple[Tier, ...]
    chips: ArrayLike
    sizes: dict[str, Array]
    shares: dict[str, list[Array]]
    read: list[Array]

    def in_layers(self, tier: int) -> Array:
        """Return the share of the layers that have anything in a memory, by its position. [1]"""
        return floats(reduce(np.maximum, (self.shares[kind][tier] for kind in IN_LAYERS)))

    def turns(self, tier: int, layers: ArrayLike) -> Array:
        """Return how often a pass turns to the cores of a memory: in layers, and for the head. [1]

        tier : its position
        layers : layers one after another [1]
        """
        return floats(self.in_layers(tier) * layers + self.shares["head"][tier])

    def used(self, tier: int) -> Bools:
        """Return whether anything lives in a memory, by its position."""
        held = (self.shares[kind][tier] * self.sizes[kind] > 0.0 for kind in KINDS)
        return np.asarray(np.any(np.broadcast_arrays(*held), axis=0))

    def reads(self) -> dict[str, list[Array]]:
        """Return the shares of what a pass reads, by kind of bytes."""
        return self.shares | {"experts": self.read}


@dataclass(frozen=True, eq=False)
class Costs:
    """What a pass takes for each kind of `READ`, if all of it is in one memory.

    cells : by memory and kind [s]
    overlap : share of the shorter times that hides where a chip reads several memories [1]
    place : position of the memory whose cores multiply what is there, while chips wait
    turn : what a turn of chip and those cores takes [s]
    layers : layers in which they may take turns [1]
    """

    cells: Sequence[Sequence[ArrayLike]]
    overlap: ArrayLike = 0.0
    place: int | None = None
    turn: ArrayLike = 0.0
    layers: ArrayLike = 0.0

    def seconds(self, split: Split) -> Array:
        """Return what it takes with bytes split over the memories. [s]"""
        reads = split.reads()
        shares = [[reads[kind][at] for kind in READ] for at in range(len(self.cells))]
        if self.place is None:
            return self.reading(shares)
        there = summed(shares[self.place], self.cells[self.place])
        shares[self.place] = [floats(0.0)] * len(READ)
        return self.reading(shares) + there + self.turn * split.turns(self.place, self.layers)

    def reading(self, shares: Sequence[Sequence[Array]]) -> Array:
        r"""Return what the chip takes for shares by memory and kind. [s]

        The times of the memories add, but for the part that hides under the longest. Nothing is won
        by what lies farther away: read at once, no memory and all beyond it take less than if all
        of that were in the fastest of them.
        """
        times = [summed(*both) for both in zip(shares, self.cells, strict=True)]
        spent = floats(sum(times))
        if not np.any(self.overlap):
            return spent
        at_once = reduce(np.maximum, times)
        beyond, least = [floats(0.0)] * len(READ), self.cells[-1]
        for there, cells in zip(reversed(shares), reversed(self.cells), strict=True):
            beyond = [both[0] + both[1] for both in zip(beyond, there, strict=True)]
            least = [np.minimum(*both) for both in zip(least, cells, strict=True)]
            at_once = np.maximum(at_once, summed(beyond, least))
        return spent - self.overlap * (spent - at_once)


def near(split: Split | None, kind: str) -> ArrayLike:
    """Return the share of a kind of bytes that lives in the fastest memory. [1]

    split : what lives where; None where all is in the one memory there is
    kind : one of `KINDS`
    """
    if split is None:
        return 1.0
    share = split.shares[kind][0]
    return share.item() if share.size == 1 else share


def memories_used(split: Split | None, tiers: Sequence[Tier]) -> tuple[Ints, tuple[str, ...]]:
    """Return which memories are used, as positions in a list of their names joined.

    split : what lives where; None where all is in the one memory there is
    tiers : the memories
    """
    if split is None:
        return np.asarray(0), (tiers[0].name,)
    codes = sum(split.used(place) * 2**place for place in range(len(tiers)))
    names = tuple(
        " + ".join(tier.name for place, tier in enumerate(tiers) if code >> place & 1)
        for code in range(2 ** len(tiers))
    )
    return np.asarray(codes), names


def split(placement: AnyPlacement, batch: ArrayLike) -> Split:
    """Return the kinds of bytes of a batch, each in the memory that is asked for or in the first.

    placement : a workload on a layout
    batch : sequences of the whole deployment [1]
    """
    machine, layout = placement.machine, placement.layout
    dense, head, experts, table = stored_weights(machine, placement.work, layout)
    cache = placement.sequences(batch) * placement.cache_per_chip
    sizes = dict(zip(KINDS, (dense, head, experts, cache, table), strict=True))
    shares = {}
    for kind, size in sizes.items():
        own = machine.place.get(kind, 0) * (size > 0.0)  # nothing is near
        shares[kind] = [floats(own == at) for at in range(len(machine.tiers))]
    return Split(machine.tiers, layout.chips, sizes, shares, shares["experts"])


def placed(split: Split, placement: AnyPlacement, ways: Sequence[Costs]) -> Split:
    """Place each kind of bytes that is left open so that a pass takes least.

    The nearer memories are full before any byte is in a farther one; what does not fit is in the
    last.

    split : with the kinds that are asked to live in one memory
    placement : a workload on a layout
    ways : what a pass may take; the one that takes least counts

    Returns
    -------
    Split
        Of arrays that broadcast with the batch.
    """
    place, sizes = placement.machine.place, split.sizes
    room = [floats(one) for one in placement.machine.usable(split.chips)]
    for kind in place:
        held = [sizes[kind] * share for share in split.shares[kind]]
        room = [np.maximum(left - taken, 0.0) for left, taken in zip(room, held, strict=True)]
    free = {kind: sizes[kind] for kind in KINDS if kind not in place and np.any(sizes[kind])}
    tried = []
    for costs in ways:
        for hidden in (0.0, costs.overlap) if np.any(costs.overlap) else (0.0,):
            shares = split.shares | _filled(free, room, costs, split, hidden)
            read = _hits(shares["experts"], placement.machine.software.expert_skew)
            one = replace(split, shares=shares, read=read)
            tried.append((one, costs.seconds(one)))
    (best, least), *others = tried
    for other, seconds in others:
        best, least = _faster(best, other, seconds < least), np.minimum(seconds, least)
    return best


def _filled(
    sizes: dict[str, Array],
    room: Sequence[Array],
    costs: Costs,
    split: Split,
    hidden: ArrayLike,
) -> dict[str, list[Array]]:
    """Return the shares of kinds in each memory, of which what saves least is farthest. [1]

    sizes : of each kind that is placed [byte]
    room : in each memory [byte]
    costs : what a pass takes of each kind in each memory
    split : with the kinds that have a memory of their own
    hidden : share of what nearer memories take that hides under what the farther do [1]
    """
    left, found = sizes, {kind: [floats(1.0)] for kind in sizes}
    for tier in range(len(room) - 1, 0, -1):
        both, turns = zip(costs.cells[tier], costs.cells[tier - 1], strict=True), floats(0.0)
        reads = (floats(far - near * (1.0 - hidden)) for far, near in both)
        lost = dict(zip(KINDS, [*reads, floats(0.0)], strict=True))
        if tier == costs.place:
            lost["head"] = lost["head"] + costs.turn
            turns = floats(costs.turn * costs.layers * (split.in_layers(tier) < 1.0))
        beyond = np.maximum(sum(left.values()) - sum(room[:tier]), 0.0)
        taken = _least(left, lost, beyond, turns)
        left = {kind: left[kind] - taken[kind] for kind in left}
        for kind, shares in found.items():
            share = taken[kind] / np.maximum(sizes[kind], 1.0)
            found[kind] = [np.maximum(shares[0] - share, 0.0), share, *shares[1:]]
    return found


def _least(
    sizes: dict[str, Array], lost: dict[str, Array], needed: Array, turns: Array
) -> dict[str, Array]:
    """Return how much of each kind is taken farther, so many bytes in all, to lose least. [byte]

    What loses least for each byte is taken first. But turns are paid for the largest share that is
    taken of a kind of a layer: that share is raised, so that more is taken of what loses little
    instead of what comes next, as long as this saves more than the turns cost. With the kinds in
    order this saves ever less, so that sums over those before each say where it ends.

    sizes : of each kind [byte]
    lost : by taking all of each [s]
    needed : bytes in all [byte]
    turns : what they cost where all of a kind of a layer is taken [s]
    """
    # Of kinds that lose the same the last listed goes first, whatever rounding says.
    price = {
        kind: lost[kind] / np.maximum(size, 1.0) * (1.0 - 1e-12 * at)
        for at, (kind, size) in enumerate(sizes.items())
    }
    is_before = {}
    for first, second in combinations(sizes, 2):
        is_before[first, second] = price[first] < price[second]
        is_before[second, first] = ~is_before[first, second]
    most = dict(sizes)
    if np.any(turns):
        in_layers = [kind for kind in IN_LAYERS if kind in sizes]
        alone, together = floats(0.0), floats(0.0)
        for kind, size in sizes.items():
            ahead = [is_before[one, kind] * sizes[one] for one in in_layers if one != kind]
            paid = [price[one] for one in in_layers if one != kind]
            saved = price[kind] * sum(ahead) - summed(ahead, paid)
            if kind in in_layers:
                together = together + (saved <= turns) * size
            else:
                alone = alone + (saved <= turns) * size
        share = np.clip((needed - alone) / np.maximum(together, 1.0), 0.0, 1.0)
        most |= {kind: sizes[kind] * share for kind in in_layers}
    return {
        kind: np.clip(
            needed - sum(is_before[one, kind] * most[one] for one in most if one != kind),
            0.0,
            most[kind],
        )
        for kind in most
    }


def _faster(one: Split, other: Split, is_other: Bools) -> Split:
    """Return at each batch one of two splits of the same bytes."""
    if not is_other.any():
        return one
    if is_other.all():
        return other

    def chosen(first: Sequence[Array], second: Sequence[Array]) -> list[Array]:
        return [np.where(is_other, *each[::-1]) for each in zip(first, second, strict=True)]

    shares = {kind: chosen(one.shares[kind], other.shares[kind]) for kind in KINDS}
    return replace(one, shares=shares, read=chosen(one.read, other.read))


def _hits(shares: Sequence[Array], skew: ArrayLike) -> list[Array]:
    r"""Return what of the picked experts is found in each memory, the most picked held nearest.

    Where an expert is picked in proportion to a power of its rank, the most picked share :math:`s`
    of them gets :math:`s^{1 - z}` of the picks.
    """
    held = np.cumsum(np.broadcast_arrays(*shares), axis=0)
    nearest = (np.minimum(one, 1.0) ** (1.0 - skew) for one in held[:-1])
    found = [floats(0.0), *nearest, floats(1.0)]
    return [after - before for before, after in pairwise(found)]
