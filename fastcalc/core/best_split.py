"""Each kind of bytes in the memory where a pass takes least.

A byte farther away costs a pass some time, or saves some where a host's cores multiply faster than
the chip. Of two memories whose times add, the farther holds what costs least for each byte (a
fractional knapsack); for all else there is a linear program.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from fastcalc.core.placement import AnyPlacement
from fastcalc.core.split import IN_LAYERS, READ, Costs, Split, lost, summed
from fastcalc.core.split_program import hits, least_shares
from fastcalc.core.tier import KINDS
from fastcalc.formulas.types import Array, Bools, floats


def placed(split: Split, placement: AnyPlacement, ways: Sequence[Costs]) -> Split:
    """Place each kind of bytes that is left open so that a pass takes least.

    split : with the kinds that are asked to live in one memory
    placement : a workload on a layout; what does not fit at all is in the last memory
    ways : what a pass may take; the one that takes least counts

    Returns
    -------
    Split
        Of arrays that broadcast with the batch.
    """
    machine, sizes = placement.machine, split.sizes
    place, skew = machine.place, machine.software.expert_skew
    room = [floats(one) for one in machine.usable(split.chips)]
    for kind in place:
        held = [sizes[kind] * share for share in split.shares[kind]]
        room = [np.maximum(left - taken, 0.0) for left, taken in zip(room, held, strict=True)]
    free = {kind: sizes[kind] for kind in KINDS if kind not in place and np.any(sizes[kind])}
    tried = []
    for costs in ways:
        is_plain = not (np.any(costs.overlap) or (np.any(skew) and "experts" in free))
        suffice = _two_suffice(free, room, costs) if is_plain or not free else np.array(False)
        none = [floats(0.0)] * (len(room) - 2)
        shares = {
            kind: [*near, *none] for kind, near in _knapsack(free, room, costs, split).items()
        }
        if not suffice.all():
            shares = least_shares(free, room, costs, split, skew, suffice, shares)
        every = split.shares | shares
        one = replace(split, shares=every, read=hits(every["experts"], costs, skew))
        tried.append((one, costs.seconds(one)))
    (best, least), *others = tried
    for other, seconds in others:
        is_other, least = np.asarray(seconds < least), np.minimum(seconds, least)
        if is_other.all():
            best = other
        elif is_other.any():  # at some of the batches
            old, new = (each.shares | {"read": each.read} for each in (best, other))
            mixed = {
                name: [np.where(is_other, *both) for both in zip(new[name], old[name], strict=True)]
                for name in old
            }
            best = replace(best, read=mixed.pop("read"), shares=mixed)
    return best


def _two_suffice(sizes: dict[str, Array], room: Sequence[Array], costs: Costs) -> Bools:
    """Return where two memories hold all, and nothing farther is faster to use, turns and all."""
    suffice = np.asarray(len(room) <= 2 or sum(sizes.values()) <= room[0] + room[1])
    turn = costs.turn if costs.place == 1 else 0.0
    for cells in costs.cells[2:]:
        for kind, first, second, far in zip(READ, *costs.cells[:2], cells, strict=True):
            turns = turn * (1.0 if kind == "head" else costs.layers)
            suffice = suffice & (first <= far) & (second + turns <= far)
    return suffice


def _knapsack(
    sizes: dict[str, Array], room: Sequence[Array], costs: Costs, split: Split
) -> dict[str, list[Array]]:
    """Return the shares of kinds in the first memory or two, whose times add. [1]

    sizes : of each kind that is placed [byte]
    room : in each memory [byte]
    costs : what a pass takes of each kind in each memory
    split : with the kinds that have a memory of their own
    """
    if len(room) == 1 or not sizes:
        return {kind: [floats(1.0)] for kind in sizes}
    loss = dict(zip(READ, map(lost, *costs.cells[:2]), strict=True)) | {"embedding": floats(0.0)}
    turns = floats(0.0)
    if costs.place == 1:
        loss["head"] = loss["head"] + costs.turn
        turns = floats(costs.turn * costs.layers * (split.in_layers(1) < 1.0))
    needed = np.maximum(sum(sizes.values()) - room[0], 0.0)
    if any(np.any(loss[kind] < 0.0) for kind in sizes):
        saved = sum(np.minimum(loss[kind], 0.0) for kind in IN_LAYERS if kind in sizes)
        wins = dict.fromkeys(IN_LAYERS, saved + turns < 0.0)
        wanted = sum(
            (loss[kind] < 0.0) * wins.get(kind, True) * size for kind, size in sizes.items()
        )
        needed = np.maximum(needed, np.minimum(wanted, room[1]))
    shares = {}
    for kind, taken in _least(sizes, loss, needed, turns).items():
        share = taken / np.maximum(sizes[kind], 1.0)
        shares[kind] = [np.maximum(1.0 - share, 0.0), share]
    return shares


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
