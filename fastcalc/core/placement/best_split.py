"""Search for the split of bytes over memories that minimizes step time.

The search tries every order of categories, and fills memories in turn with one category after
another. Free memory counts as a category that no step reads, so a memory may stay empty. The
categories of a layer may also be spread in equal fractions, which makes the host's cores work in
fewer layers. The search computes the step time for each split and keeps the fastest. With more than
two memories, it then refines each pair.

With two memories, the candidate splits do not depend on memory speed, except that splits that
cannot save time are skipped. A faster memory therefore never makes the best split slower.
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
"""The relative speed-up that a split needs to replace an earlier one."""

_IDLE = "idle"
"""Memory that no step reads: either free, or occupied by the embedding table."""

_AT_ONCE = 20_000
"""The number of splits times batches computed at once."""


def best_split(
    split: Split,
    assigned: Collection[str],
    rooms: Sequence[ArrayLike],
    seconds: Callable[[Split], Array],
    passes: Sequence[Sequence[Costs]],
) -> Split:
    """Place all categories of bytes without an explicit memory so that step time is minimal.

    split : The split with assigned categories in their memories and all others in the first one.
    assigned : The categories that are assigned to a memory.
    rooms : The capacity of each memory; bytes that fit nowhere are in the last one, in bytes.
    seconds : The function that computes the total step time for a split, in seconds.
    passes : The costs of each step, for each way to run it, or None if other effects matter.

    Returns ------- Split Arrays that broadcast with the batch.
    """
    sizes, room = split.sizes, []
    for at, usable in enumerate(rooms):
        placed_bytes = floats(sum(sizes[group] * split.shares[group][at] for group in assigned))
        room.append(np.maximum(usable - placed_bytes, 0.0))
    free = [group for group in READ if group not in assigned and np.any(sizes[group])]
    fastest, gaining = floats(np.inf), set(combinations(range(len(room)), 2))
    has_turns = any(costs.turning_memory is not None for options in passes for costs in options)
    if passes:
        # The farther memory may be faster for a category, depending on how a step is run.
        gaining = {
            (near, far)
            for near, far in gaining
            for options in passes
            for costs in options
            for pair in zip(costs.by_memory[near], costs.by_memory[far], strict=True)
            if np.any(extra_beyond_rounding(*pair) < 0.0)
        }
    for memories in _turns(len(room), gaining) if free else ():
        is_in_order = list(memories) == sorted(memories)
        may_be_empty = not is_in_order or not gaining.isdisjoint(combinations(memories, 2))
        for fills in _fills(split, free, memories, room, (has_turns, may_be_empty)):
            split, fastest = _best(split, fastest, fills, seconds(fills))
    return split if "embedding" in assigned else _with_table(split, room)


def _turns(count: int, gaining: set[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Yield groups of memories to fill, in order: first all memories, then each pair.

    The farther memory is filled first if it may be faster. A pair is tried in one order only, since
    the reverse equals a different order of categories.
    """
    for memories in permutations(range(count)) if count > 2 else [tuple(range(count))]:
        if gaining.issuperset((near, far) for far, near in combinations(memories, 2) if near < far):
            yield memories
    if count > 2:
        yield from combinations(range(count), 2)


def _best(before: Split, seconds_before: Array, fills: Split, spent: Array) -> tuple[Split, Array]:
    """Choose the best of several splits and the previous split for each batch, in seconds.

    before, seconds_before : The previous split, and the step time with it, in seconds.
    fills, spent : The candidate splits along the first axis, and the step time with each, in
        seconds.
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
    """Yield new splits of the bytes in the given memories, along a first axis.

    groups : The categories that may move.
    memories : The indices of the memories, in filling order.
    room : The free space in each memory; bytes that do not fit go into the last one, in bytes.
    order_options : Whether to also spread categories equally, and whether to also leave room free.
    """
    totals = {group: sum(split.shares[group][at] for at in memories) for group in groups}
    kind_bytes = {group: split.sizes[group] * total for group, total in totals.items()}
    all_bytes = floats(sum(kind_bytes.values()))
    # Avoid adding large and small numbers.
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
    """Compute the fraction of bytes in each memory if memories are filled in order.

    start, width : The bytes placed earlier, and the size of this category, in bytes.
    usable : The usable size of each memory, in bytes.
    """
    fractions, end, before = [], floats(0.0), floats(0.0)
    stop, divisor = start + width, np.maximum(width, 1.0)
    for room in usable[:-1]:
        end = end + room
        beyond = stop - end
        filled = np.maximum(1.0 - np.maximum(beyond, 0.0) / divisor, 0.0)
        filled[beyond <= _TIE * end] = 1.0  # rounding errors
        fractions.append(filled - before)
        before = filled
    return [*fractions, np.broadcast_to(1.0 - before, start.shape)]


@lru_cache
def _orders(groups: tuple[str, ...], has_turns: bool, may_be_empty: bool) -> Ints:
    """List every order of the categories as ranks; equally spread categories share a rank.

    groups : The categories in order of preference for ties; free memory comes last.
    has_turns : Whether equal spreading reduces the switching between chip and host.
    may_be_empty : Whether free memory may precede other categories.
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
    """Put the embedding table into the remaining memory, since steps read only a few rows."""
    size = split.sizes["embedding"]
    table_shares, left = [], floats(1.0)
    for at, usable in enumerate(room[:-1]):
        free = usable - sum(split.sizes[group] * split.shares[group][at] for group in READ)
        fits = np.where(free > _TIE * usable, free / np.maximum(size, 1.0), 0.0)
        table_shares.append(np.minimum(fits, left))
        left = left - table_shares[-1]
    return replace(split, shares=split.shares | {"embedding": [*table_shares, left]})
