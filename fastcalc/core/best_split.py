"""Each kind of bytes in the memory where the passes of a row take least.

A byte farther away costs a pass some time, or saves some where a host's cores multiply faster than
the chip. Memories are filled one after another, the farther one with what loses least for each
byte (a fractional knapsack): once for each way in which the passes may use a host, and the fill
with which all of them together take least counts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, permutations, product

import numpy as np

from fastcalc.core.placement import AnyPlacement
from fastcalc.core.split import IN_LAYERS, READ, Costs, Split, lost, summed
from fastcalc.core.tier import KINDS
from fastcalc.formulas.types import Array, ArrayLike, Bools, floats

_TIE = 1e-12
"""Share by which a fill must be better than those before it."""


@dataclass(frozen=True, eq=False)
class CountedPass:
    """A pass that bytes are placed for.

    count : how many of it there are [1]
    ways : what it may take of each kind in each memory
    """

    count: ArrayLike
    ways: Sequence[Costs]


def placed(
    split: Split,
    placement: AnyPlacement,
    passes: Sequence[CountedPass],
    seconds: Callable[[Split], Array],
) -> Split:
    """Place each kind of bytes that is left open so that some passes take least.

    split : with the kinds that are asked to live in one memory
    placement : a workload on a layout; what does not fit at all is in the last memory
    passes : what bytes are placed for
    seconds : gives what all of these take together, with bytes split over the memories [s]

    Returns
    -------
    Split
        Of arrays that broadcast with the batch.
    """
    place, sizes = placement.machine.place, split.sizes
    room = [floats(usable) for usable in placement.machine.usable(split.chips)]
    for kind in place:
        taken = [sizes[kind] * share for share in split.shares[kind]]
        room = [np.maximum(left - own, 0.0) for left, own in zip(room, taken, strict=True)]
    free = {kind: sizes[kind] for kind in KINDS if kind not in place and np.any(sizes[kind])}
    best, *others = (
        replace(split, shares=split.shares | shares)
        for ways in product(*(each.ways for each in passes))
        for shares in _fills(free, room, _together(passes, ways), split)
    )
    if others:
        least = seconds(best)
        for fill in others:
            spent = seconds(fill)
            best = _better(best, fill, np.asarray(spent < least * (1.0 - _TIE)))
            least = np.minimum(spent, least)
    return best


def _better(best: Split, fill: Split, is_better: Bools) -> Split:
    """Return the better of two fills at each of the batches."""
    if is_better.all():
        return fill
    if not is_better.any():
        return best
    shares = {
        kind: [np.where(is_better, *both) for both in zip(fill.shares[kind], old, strict=True)]
        for kind, old in best.shares.items()
    }
    return replace(best, shares=shares)


def _together(passes: Sequence[CountedPass], ways: Sequence[Costs]) -> Costs:
    """Return what all passes take, each in one of its ways."""
    if len(passes) == 1:
        return ways[0]
    counts = [each.count for each in passes]
    cells = [
        [summed(counts, times) for times in zip(*tiers, strict=True)]
        for tiers in zip(*(costs.cells for costs in ways), strict=True)
    ]
    turning = [
        (each.count, costs)
        for each, costs in zip(passes, ways, strict=True)
        if costs.place is not None
    ]
    if not turning:
        return Costs(cells)
    turn = floats(sum(count * costs.turn for count, costs in turning))
    _, first = turning[0]
    return Costs(cells, first.place, turn, first.layers)


def _fills(
    sizes: dict[str, Array], room: Sequence[Array], costs: Costs, split: Split
) -> Iterator[dict[str, list[Array]]]:
    """Yield the shares of kinds in each memory, for each order of memories that may be best. [1]

    Two memories have one. Of more, one is filled after another, from either end.

    sizes : of each kind that is placed [byte]
    room : in each memory [byte]
    costs : what passes take of each kind in each memory
    split : with the kinds that have a memory of their own
    """
    count = len(room)
    for order in permutations(range(count)) if count > 2 else [range(count)]:
        swapped = [(near, far) for far, near in combinations(order, 2) if near < far]
        if all(_may_gain(costs, *pair) for pair in swapped):
            for is_far_first in (True, False)[: 1 + (count > 2)]:
                yield _filled(sizes, room, costs, split, list(order), is_far_first)


def _may_gain(costs: Costs, near: int, far: int) -> bool:
    """Return whether any kind may take less in the farther of two memories, by their positions."""
    turn = costs.turn if costs.place == near else 0.0
    turns = [turn * (1.0 if kind == "head" else costs.layers) for kind in READ]
    pairs = zip(costs.cells[near], turns, costs.cells[far], strict=True)
    return any(np.any(here + turned > beyond) for here, turned, beyond in pairs)


def _filled(
    sizes: dict[str, Array],
    room: Sequence[Array],
    costs: Costs,
    split: Split,
    order: list[int],
    is_far_first: bool,
) -> dict[str, list[Array]]:
    """Return the shares of kinds in each memory, filled in some order, from either end. [1]"""
    shares = {kind: [floats(0.0)] * len(room) for kind in sizes}
    left = {kind: floats(1.0) for kind in sizes}
    while len(order) > 1:
        cut = len(order) - 1 if is_far_first else 1
        near, far = order[:cut], order[cut:]
        held = {kind: sizes[kind] * share for kind, share in left.items()}
        loss, turns = _losses(costs, split, near, far)
        price = {kind: loss[kind] / np.maximum(size, 1.0) for kind, size in sizes.items()}
        rooms = [floats(sum(room[at] for at in part)) for part in (near, far)]
        taken = _beyond(held, price, turns, *rooms)
        filled = order.pop(-1 if is_far_first else 0)
        for kind, size in sizes.items():
            beyond = np.minimum(taken[kind] / np.maximum(size, 1.0), left[kind])
            nearer = left[kind] - beyond
            shares[kind][filled], left[kind] = (
                (beyond, nearer) if is_far_first else (nearer, beyond)
            )
    for kind in sizes:
        shares[kind][order[0]] = left[kind]
    return shares


def _losses(
    costs: Costs, split: Split, near: Sequence[int], far: Sequence[int]
) -> tuple[dict[str, Array], Array]:
    """Return what each kind loses in some memories over others, and what turns cost there. [s]"""
    least = (
        [reduce(np.minimum, times) for times in zip(*(costs.cells[at] for at in part), strict=True)]
        for part in (near, far)
    )
    loss = dict(zip(READ, map(lost, *least), strict=True)) | {"embedding": floats(0.0)}
    if costs.place != far[0]:
        return loss, floats(0.0)
    loss["head"] = loss["head"] + costs.turn
    return loss, floats(costs.turn * costs.layers * (split.in_layers(far[0]) < 1.0))


def _beyond(
    sizes: dict[str, Array], price: dict[str, Array], turns: Array, near: Array, far: Array
) -> dict[str, Array]:
    """Return how much of each kind is taken farther than a memory. [byte]

    As much as has to be, and more where that gains.

    sizes : of each kind [byte]
    price : what a byte loses by being farther, below zero where it gains [s/byte]
    turns : what turns cost where all of a kind of a layer is taken [s]
    near, far : room in the memory and in the next [byte]
    """
    needed = np.maximum(sum(sizes.values()) - near, 0.0)
    if any(np.any(price[kind] < 0.0) for kind in sizes):
        gains = {kind: np.minimum(price[kind], 0.0) * size for kind, size in sizes.items()}
        saved = sum(gains[kind] for kind in IN_LAYERS if kind in sizes)
        wins = dict.fromkeys(IN_LAYERS, saved + turns < 0.0)
        wanted = sum(
            (gains[kind] < 0.0) * wins.get(kind, True) * size for kind, size in sizes.items()
        )
        needed = np.maximum(needed, np.minimum(wanted, far))
    return _least(sizes, price, needed, turns)


def _least(
    sizes: dict[str, Array], price: dict[str, Array], needed: Array, turns: Array
) -> dict[str, Array]:
    """Return how much of each kind is taken farther, so many bytes in all, to lose least. [byte]

    What loses least for each byte is taken first. But turns are paid for the largest share that is
    taken of a kind of a layer: that share is raised, so that more is taken of what loses little
    instead of what comes next, as long as this saves more than the turns cost. With the kinds in
    order this saves ever less, so that sums over those before each say where it ends.

    sizes : of each kind [byte]
    price : lost by taking a byte of each [s/byte]
    needed : bytes in all [byte]
    turns : what they cost where all of a kind of a layer is taken [s]
    """
    # Of kinds that lose the same the last listed goes first, whatever rounding says.
    price = {kind: price[kind] * (1.0 - 1e-12 * at) for at, kind in enumerate(sizes)}
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
