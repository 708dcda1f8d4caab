"""What lives where: the share of each kind of bytes in each memory of a chip.

A byte is worth what it is read: where the times of memories add, and the slower ones are filled
last, the least time puts the bytes that a pass reads most often first (a fractional knapsack).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fastcalc.core.placement import AnyPlacement, stored_weights
from fastcalc.core.tier import KINDS, Tier
from fastcalc.formulas.types import Array, ArrayLike, Bools, Ints, floats


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

    def used(self, tier: int) -> Bools:
        """Return whether anything lives in a memory, by its position."""
        held = (self.shares[kind][tier] * self.sizes[kind] > 0.0 for kind in KINDS)
        return np.asarray(np.any(np.broadcast_arrays(*held), axis=0))

    def reads(self) -> dict[str, list[Array]]:
        """Return the shares of what a pass reads, by kind of bytes."""
        return self.shares | {"experts": self.read}


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


def fastest(splits: Sequence[Split], seconds: Sequence[Array]) -> Split:
    """Return at each batch the one of several splits that takes least.

    splits : of the same bytes
    seconds : what a pass takes with each [s]
    """
    best = np.argmin(np.stack(np.broadcast_arrays(*seconds)), axis=0)

    def chosen(tiers: Sequence[list[Array]]) -> list[Array]:
        each = zip(*tiers, strict=True)
        return [np.choose(best, np.broadcast_arrays(best, *one)[1:]) for one in each]

    shares = {kind: chosen([one.shares[kind] for one in splits]) for kind in KINDS}
    return replace(splits[0], shares=shares, read=chosen([one.read for one in splits]))


def split(
    placement: AnyPlacement, batch: ArrayLike, cache_read: ArrayLike, experts_read: ArrayLike
) -> Split:
    """Place each kind of bytes where it is worth most, or where it is asked to live.

    placement : a workload on a layout
    batch : sequences of the whole deployment [1]
    cache_read, experts_read : what a pass reads of the cache that is reserved, and of the experts
        [1]

    Returns
    -------
    Split
        Of arrays that broadcast with the batch. What does not fit is in the slowest memory.
    """
    machine, layout = placement.machine, placement.layout
    dense, head, experts, table = stored_weights(machine, placement.work, layout)
    cache = placement.sequences(batch) * placement.cache_per_chip
    sizes = dict(zip(KINDS, (dense, head, experts, cache, table), strict=True))
    worth = dict(zip(KINDS, (1.0, 1.0, experts_read, cache_read, 0.0), strict=True))
    room = [floats(one) for one in machine.usable(layout.chips)]
    shares = {}
    for kind, own in machine.place.items():
        shares[kind] = [floats(own == place) for place in range(len(machine.tiers))]
        room = [
            np.maximum(free - sizes[kind] * share, 0.0)
            for free, share in zip(room, shares[kind], strict=True)
        ]
    free = [kind for kind in KINDS if kind not in machine.place]
    edges = np.cumsum(np.broadcast_arrays(*room), axis=0)[:-1]
    for kind in free:
        first = _before(kind, free, sizes, worth)
        shares[kind] = _cut(first, sizes[kind], edges)
    skew = machine.software.expert_skew
    return Split(machine.tiers, layout.chips, sizes, shares, _hits(shares["experts"], skew))


def _before(
    kind: str, others: Sequence[str], sizes: dict[str, Array], worth: dict[str, ArrayLike]
) -> Array:
    """Return the bytes of kinds that are placed before one: those worth more, or listed first."""
    place, total = others.index(kind), floats(0.0)
    for index, other in enumerate(others):
        if index != place:
            ahead = worth[other] > worth[kind] if index > place else worth[other] >= worth[kind]
            total = total + ahead * sizes[other]
    return total


def _cut(first: Array, size: Array, edges: Array) -> list[Array]:
    """Return how much of an interval lies between edges, as shares of it; nothing is near."""
    whole = np.maximum(size, 1.0)
    ends = [np.where(size > 0.0, np.clip((edge - first) / whole, 0.0, 1.0), 1.0) for edge in edges]
    bounds = [floats(0.0), *ends, floats(1.0)]
    return [after - before for before, after in pairwise(bounds)]


def _hits(shares: Sequence[Array], skew: ArrayLike) -> list[Array]:
    r"""Return what of the picked experts is found in each memory, the most picked held nearest.

    Where an expert is picked in proportion to a power of its rank, the most picked share :math:`s`
    of them gets :math:`s^{1 - z}` of the picks.
    """
    held = np.cumsum(np.broadcast_arrays(*shares), axis=0)
    nearest = (np.minimum(one, 1.0) ** (1.0 - skew) for one in held[:-1])
    found = [floats(0.0), *nearest, floats(1.0)]
    return [after - before for before, after in pairwise(found)]
