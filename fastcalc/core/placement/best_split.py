"""Each kind of bytes in the memory where the passes of a row take least.

Memories are filled one after another with one kind of bytes after another, in every order of kinds.
Room that no pass reads is one more kind, so that a memory may stay empty. Kinds of a layer may go
side by side, in equal shares: the cores of a host then take turns in fewer layers. What the passes
take with each fill is computed as it is everywhere else, and the fill with which they take least
counts. Of more than two memories, each two are then filled anew.

How fast a part is has no say in which fills of two memories there are, but for those that can take
no less: with a faster one the best takes no longer.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, permutations

import numpy as np

from fastcalc.core.model.kinds import IN_LAYERS, READ
from fastcalc.core.placement.split import Costs, Split, extra_beyond_rounding
from fastcalc.formulas.types import Array, ArrayLike, Ints, floats

_TIE = 1e-12
"""Share by which a fill must be better than those before it."""

_IDLE = "idle"
"""Room that no pass reads: free, or taken by the table of embeddings."""

_AT_ONCE = 20_000
"""Fills times batches that are computed at once."""


def best_split(
    split: Split,
    assigned: Collection[str],
    rooms: Sequence[ArrayLike],
    seconds: Callable[[Split], Array],
    passes: Sequence[Sequence[Costs]],
) -> Split:
    """Place each kind of bytes that is left open so that some passes take least.

    split : with the kinds that are asked to be placed in one memory, others in the first
    assigned : the kinds that are asked to be placed in one memory
    rooms : what each memory holds; what does not fit at all is in the last [byte]
    seconds : gives what the passes take together, with bytes split over the memories [s]
    passes : what each takes of each kind, in each of its ways; none where more than that counts

    Returns
    -------
    Split
        Of arrays that broadcast with the batch.
    """
    sizes, room = split.sizes, []
    for at, usable in enumerate(rooms):
        placed_bytes = floats(sum(sizes[group] * split.shares[group][at] for group in assigned))
        room.append(np.maximum(usable - placed_bytes, 0.0))
    free = [group for group in READ if group not in assigned and np.any(sizes[group])]
    fastest, gaining = floats(np.inf), _gaining(len(room), passes)
    has_turns = any(costs.turning_memory is not None for options in passes for costs in options)
    for memories in _turns(len(room), gaining) if free else ():
        is_in_order = list(memories) == sorted(memories)
        may_be_empty = not is_in_order or not gaining.isdisjoint(combinations(memories, 2))
        for fills in _fills(split, free, memories, room, (has_turns, may_be_empty)):
            split, fastest = _best(split, fastest, fills, seconds(fills))
    return split if "embedding" in assigned else _with_table(split, room)


def _gaining(count: int, passes: Sequence[Sequence[Costs]]) -> set[tuple[int, int]]:
    """Pairs of memories of which the farther may take less for any kind.

    Nothing is omitted where bytes can move nearer in each way of each pass and none takes longer.
    """
    pairs = set(combinations(range(count), 2))
    if not passes:
        return pairs
    return {
        (near, far)
        for near, far in pairs
        for options in passes
        for costs in options
        for near_seconds, far_seconds in zip(
            costs.by_memory[near], costs.by_memory[far], strict=True
        )
        if np.any(extra_beyond_rounding(near_seconds, far_seconds) < 0.0)
    }


def _turns(count: int, gaining: set[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Yield the memories that are filled together, in order: all of them, then two at a time.

    A farther one comes before a nearer one where it may take less. Two have one order: backwards
    is another order of kinds.
    """
    for memories in permutations(range(count)) if count > 2 else [tuple(range(count))]:
        if gaining.issuperset((near, far) for far, near in combinations(memories, 2) if near < far):
            yield memories
    if count > 2:
        yield from combinations(range(count), 2)


def _best(before: Split, seconds_before: Array, fills: Split, spent: Array) -> tuple[Split, Array]:
    """At each batch the best of some fills and what there was before, and its time. [s]

    before, seconds_before : what there was, and what passes take with it [s]
    fills, spent : several, along a first dimension, and what passes take with each [s]
    """
    lowest = np.min(spent, axis=0)
    is_better = lowest < seconds_before * (1.0 - _TIE)
    if not is_better.any():
        return before, np.minimum(lowest, seconds_before)
    first = np.argmax(spent <= lowest * (1.0 + _TIE), axis=0)[np.newaxis]

    def chosen(fraction: Array, old: Array) -> Array:
        if fraction is old:
            return old
        new = np.take_along_axis(np.broadcast_to(fraction, spent.shape), first, 0)[0]
        return floats(np.where(is_better, new, old))

    fractions = {
        group: [*map(chosen, fills.shares[group], old)] for group, old in before.shares.items()
    }
    return replace(before, shares=fractions), np.minimum(lowest, seconds_before)


def _fills(
    split: Split,
    groups: Sequence[str],
    memories: Sequence[int],
    room: Sequence[Array],
    order_options: tuple[bool, bool],
) -> Iterator[Split]:
    """Yield what is in some memories shared out anew among them, along a first dimension.

    groups : those that may move
    memories : positions of the memories, in the order in which they are filled
    room : in each memory [byte]; what does not fit goes into the last that is filled
    order_options : whether kinds go side by side, too, and whether room may be left ahead of others
    """
    totals = {group: sum(split.shares[group][at] for at in memories) for group in groups}
    kind_bytes = {group: split.sizes[group] * total for group, total in totals.items()}
    all_bytes = floats(sum(kind_bytes.values()))
    # No sums of large and small numbers.
    usable = [np.minimum(room[at], all_bytes) for at in memories]
    kind_bytes[_IDLE] = np.maximum(sum(usable) - all_bytes, 0.0)
    stacked = np.stack(np.broadcast_arrays(*kind_bytes.values()))
    orders = _orders(tuple(kind_bytes), *order_options)
    step = max(_AT_ONCE // stacked[0].size, 1)
    for at in range(0, len(orders), step):
        assignments = orders[at : at + step, np.newaxis]
        its = np.swapaxes(assignments, 1, 2)
        starts = np.moveaxis(np.tensordot(assignments < its, stacked, 1), 1, 0)
        widths = np.moveaxis(np.tensordot(assignments == its, stacked, 1), 1, 0)
        fractions = dict(split.shares)
        spread = _spread(starts[: len(groups)], widths[: len(groups)], usable)
        for index, group in enumerate(groups):
            fractions[group] = list(split.shares[group])
            for memory, fraction in zip(memories, spread, strict=True):
                fractions[group][memory] = totals[group] * fraction[index]
        yield replace(split, shares=fractions)


def _spread(start: Array, width: Array, usable: Sequence[Array]) -> list[Array]:
    """Shares of some bytes in memories that are filled one after another. [1]

    start, width : bytes before them, and they themselves [byte]
    usable : of each memory [byte]
    """
    fractions, end, before = [], floats(0.0), floats(0.0)
    stop, divisor = start + width, np.maximum(width, 1.0)
    for room in usable[:-1]:
        end = end + room
        beyond = stop - end
        filled = np.maximum(1.0 - np.maximum(beyond, 0.0) / divisor, 0.0)
        filled[beyond <= _TIE * end] = 1.0  # rounding
        fractions.append(filled - before)
        before = filled
    return [*fractions, np.broadcast_to(1.0 - before, start.shape)]


@lru_cache
def _orders(groups: tuple[str, ...], has_turns: bool, may_be_empty: bool) -> Ints:
    """Place of each kind in each order of them; of kinds side by side, the same.

    groups : the first come first where orders are as good as another, idle room last
    has_turns : whether kinds side by side save turns
    may_be_empty : whether idle room may come before others
    """
    in_layers = [kind for kind in groups if kind in IN_LAYERS]
    counts = (0, 2, 3) if has_turns else (0,)
    assignments = []
    for side_by_side in (group for count in counts for group in combinations(in_layers, count)):
        for order in permutations(kind for kind in groups if kind not in side_by_side[1:]):
            if may_be_empty or order[-1] == _IDLE:
                firsts = (side_by_side[0] if kind in side_by_side else kind for kind in groups)
                assignments.append([order.index(first) for first in firsts])
    return np.array(assignments)


def _with_table(split: Split, room: Sequence[Array]) -> Split:
    """A split with the table of embeddings in the room that is left: no pass reads it."""
    size = split.sizes["embedding"]
    table_shares, left = [], floats(1.0)
    for at, usable in enumerate(room[:-1]):
        free = usable - sum(split.sizes[group] * split.shares[group][at] for group in READ)
        fits = np.where(free > _TIE * usable, free / np.maximum(size, 1.0), 0.0)
        table_shares.append(np.minimum(fits, left))
        left = left - table_shares[-1]
    return replace(split, shares=split.shares | {"embedding": [*table_shares, left]})
