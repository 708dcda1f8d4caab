"""Distribution of each category of bytes over a chip's memories, and the time to read them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from fastcalc.core.chip.machine import Machine
from fastcalc.core.chip.tier import Tier
from fastcalc.core.model.kinds import IN_LAYERS, KINDS, READ, Kinds
from fastcalc.core.placement.fullest_chip import stored_weights
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.formulas.types import Array, ArrayLike, Bools, Ints, floats


def extra_beyond_rounding(near: ArrayLike, far: ArrayLike) -> Array:
    """Compute the extra time in the farther memory, ignoring rounding errors, in seconds.

    The result is negative only if the saving exceeds rounding errors.

    near, far : The time in each memory, in seconds.
    """
    extra = floats(far - near)
    if np.all(extra >= 0.0):
        return extra
    return np.where(extra < -1e-9 * near, extra, np.maximum(extra, 0.0))


def summed(fractions: Iterable[ArrayLike], amounts: Iterable[ArrayLike]) -> Array:
    """Sum amounts weighted by fractions."""
    return floats(
        sum(fraction * amount for fraction, amount in zip(fractions, amounts, strict=True))
    )


@dataclass(frozen=True, eq=False)
class Split:
    """Stores how each category of bytes is distributed over the memories.

    tiers : The memories, fastest first.
    chips : The number of chips in the deployment, since some memories are shared.
    sizes : The size of each category on the fullest chip, in bytes.
    shares : The fraction of each category in each memory.
    has_whole_layers : Whether each layer is in a single memory except for its experts, and the
        layers in each memory are consecutive.
    """

    tiers: tuple[Tier, ...]
    chips: ArrayLike
    sizes: dict[str, Array]
    shares: dict[str, list[Array]]
    has_whole_layers: bool = False

    def in_layers(self, tier: int) -> Array:
        """Compute the fraction of layers with any bytes in the memory at an index."""
        return floats(reduce(np.maximum, (self.shares[group][tier] for group in IN_LAYERS)))

    def turns(self, tier: int, layers: ArrayLike) -> Array:
        """Count a step's switches to the cores of a memory, for layers and for the head.

        tier : The index of the memory.
        layers : The number of sequential layers.
        """
        return floats(self.turns_in_layers(tier, layers) + self.shares["head"][tier])

    def turns_in_layers(self, tier: int, layers: ArrayLike) -> Array:
        """Count the switches for layers; layers entirely in this memory share one switch."""
        turns = self.in_layers(tier) * layers
        if not self.has_whole_layers:
            return floats(turns)
        whole = self.shares["dense"][tier] * layers
        return floats(turns - whole + np.minimum(whole, 1.0))

    def read_from(self, tier: int) -> Kinds[Array]:
        """Return the fraction of each category of bytes read per step that is in a memory."""
        return Kinds(*(self.shares[group][tier] for group in READ))

    def used(self, tier: int, groups: Sequence[str] = KINDS) -> Bools:
        """Return where any bytes of the given categories are in a memory."""
        is_there = (self.shares[group][tier] * self.sizes[group] > 0.0 for group in groups)
        return np.asarray(np.any(np.broadcast_arrays(*is_there), axis=0))

    @property
    def reads_host(self) -> Bools:
        """Whether a step reads anything from host memory or beyond."""
        read = (self.used(at, READ) for at, tier in enumerate(self.tiers) if not tier.is_near)
        return np.asarray(np.any(np.broadcast_arrays(False, *read), axis=0))


@dataclass(frozen=True, eq=False)
class Costs:
    """The time that a step needs for each category if all its bytes are in one memory.

    by_memory : The time for each category, nearest memory first, in seconds.
    turning_memory : The index of the memory whose attached cores compute while the chips wait.
    turn_seconds : The time of one switch between the chip and these cores, in seconds.
    layers : The number of layers in which the two may alternate.
    """

    by_memory: Sequence[Kinds[ArrayLike]]
    turning_memory: int | None = None
    turn_seconds: ArrayLike = 0.0
    layers: ArrayLike = 0.0

    @cached_property
    def extra_seconds(self) -> Sequence[Kinds[Array]]:
        """The extra time of each category in each memory after the first, in seconds."""
        nearest, *farther = self.by_memory
        return [Kinds(*map(np.subtract, seconds, nearest)) for seconds in farther]

    def seconds(self, split: Split, kinds: Sequence[str] = READ) -> Array:
        """Compute the step time for a split, as a sum over memories, in seconds.

        kinds : The categories to include.
        """
        spent = floats(0.0)
        for group, nearest, *longer in zip(
            READ, self.by_memory[0], *self.extra_seconds, strict=True
        ):
            if group in kinds:
                spent = spent + nearest + summed(split.shares[group][1:], longer)
        if self.turning_memory is None:
            return spent
        if "head" in kinds:
            spent = spent + self.turn_seconds * split.shares["head"][self.turning_memory]
        if IN_LAYERS[0] in kinds:
            turns = split.turns_in_layers(self.turning_memory, self.layers)
            spent = spent + self.turn_seconds * turns
        return spent


def least_extra(
    options: Sequence[Costs], sizes: Mapping[str, ArrayLike], rooms: Sequence[ArrayLike]
) -> Array:
    """Compute a lower bound on the extra time for bytes outside the first memory of a step. [s]

    Bytes that do not fit in a memory or any before it go at least one memory farther. Assigning
    each such move to the bytes with the least extra time bounds its cost from below. Source: G. B.
    Dantzig, "Discrete-variable extremum problems," Operations Research 5, 1957 (the fractional
    knapsack). Switches to a host's cores are omitted.

    options : The costs of the step, for each way to run it.
    sizes : The size of each category on the fullest chip, in bytes.
    rooms : The capacity of each memory, in bytes.
    """
    kind_bytes, least = [sizes[group] for group in READ], floats(np.inf)
    for costs in options:
        farthest, *nearer = reversed(costs.by_memory[1:])
        from_here_on = [farthest]
        for seconds in nearer:
            from_here_on.append(Kinds(*map(np.minimum, seconds, from_here_on[-1])))
        extra, before, beyond = floats(0.0), costs.by_memory[0], sum(kind_bytes)
        for seconds, room in zip(reversed(from_here_on), rooms, strict=False):
            beyond = beyond - room
            extra = extra + _lightest([*map(np.subtract, seconds, before)], kind_bytes, beyond)
            before = seconds
        least = np.minimum(least, extra)
    return least


def _lightest(
    seconds: Sequence[ArrayLike], kind_bytes: Sequence[ArrayLike], moved: ArrayLike
) -> Array:
    """Compute the least time for moving a number of bytes, in seconds.

    seconds, kind_bytes : The extra time of each category if all of it is moved [s], and its size.
        [byte]
    moved : The number of bytes to move, in bytes.
    """
    columns = np.broadcast_arrays(moved, *seconds, *kind_bytes)
    all_seconds, all_bytes = np.split(np.stack(columns[1:]), 2)
    order = np.argsort(all_seconds / np.maximum(all_bytes, 1.0), axis=0)
    all_seconds, all_bytes = (
        np.take_along_axis(column, order, 0) for column in (all_seconds, all_bytes)
    )
    ahead = np.cumsum(all_bytes, axis=0) - all_bytes
    fractions = np.clip((columns[0] - ahead) / np.maximum(all_bytes, 1.0), 0.0, 1.0)
    return floats(np.sum(np.where(all_seconds < 0.0, 1.0, fractions) * all_seconds, axis=0))


def near_share(machine: Machine, split: Split | None, group: str) -> ArrayLike:
    """Compute the fraction of a category that is in the chip's fastest memory.

    split : The distribution of the bytes, or None if there is only one memory.
    group : One of `KINDS`.
    """
    if machine.fastest not in machine.tiers:  # if nothing is placed in it
        return 0.0
    if split is None:
        return 1.0
    fraction = split.shares[group][machine.tiers.index(machine.fastest)]
    return fraction.item() if fraction.size == 1 else fraction


def memories_used(split: Split | None, tiers: Sequence[Tier]) -> tuple[Ints, tuple[str, ...]]:
    """Return the combination of memories used at each point, as indices and names.

    split : The distribution of the bytes, or None if there is only one memory.
    """
    if split is None:
        return np.asarray(0), (tiers[0].name,)
    codes = sum(split.used(index) * 2**index for index in range(len(tiers)))
    names = tuple(
        " + ".join(tier.name for index, tier in enumerate(tiers) if code >> index & 1)
        for code in range(2 ** len(tiers))
    )
    return np.asarray(codes), names


def asked_split(placement: AnyPlacement, batch: ArrayLike) -> Split:
    """Split the bytes of a batch, placing each category in its assigned memory or in the first."""
    machine, layout = placement.machine, placement.layout
    sizes = stored_weights(machine, placement.work, layout) | {
        "kv": placement.sequences(batch) * placement.cache_per_chip
    }
    return split_as_asked(machine, layout.chips, sizes)


def split_as_asked(machine: Machine, chips: ArrayLike, sizes: dict[str, Array]) -> Split:
    """Split the given sizes, placing each category in its assigned memory or in the first.

    chips, sizes : As for `Split`.
    """
    fractions = {}
    for group, size in sizes.items():
        in_first = (1.0, *[0.0] * (len(machine.tiers) - 1))  # even if the category is empty
        placed = zip(machine.place.get(group, in_first), in_first, strict=True)
        fractions[group] = [floats(np.where(size > 0.0, *pair)) for pair in placed]
    return Split(machine.tiers, chips, sizes, fractions, machine.memory.shares_layers)
