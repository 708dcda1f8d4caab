"""Parallel layouts: tensor-, pipeline-, data- and expert-parallel ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from fastcalc.catalogue.schema.engines import Rank
from fastcalc.errors import InputError
from fastcalc.formulas.types import Ints

HOST_CHIPS = 8
"""The number of chips per host; larger link domains span several hosts."""


class LayoutError(InputError):
    """Raised for a layout that the chip or the model does not support.

    rule : The violated rule, in the same words for all chips and models so that it can be counted.
    """

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


@dataclass(frozen=True, order=True)
class Layout:
    """A parallel layout with ``tp * pp * dp`` ranks, overlaid by ``ep`` expert ranks.

    per_chip : The ranks per chip: its cores if each is exposed as a device, otherwise 1.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1
    per_chip: int = 1

    @property
    def ranks(self) -> int:
        """The number of ranks in all stages and replicas."""
        return self.tp * self.pp * self.dp

    @property
    def chips(self) -> int:
        """The number of chips used."""
        return -(-self.ranks // self.per_chip)

    @property
    def several(self) -> tuple[Rank, ...]:
        """The types of parallelism with more than one rank."""
        return tuple(name for name, ranks in self._axes if ranks > 1)

    @property
    def _axes(self) -> tuple[tuple[Rank, int], ...]:
        return (("tp", self.tp), ("pp", self.pp), ("dp", self.dp), ("ep", self.ep))

    @property
    def expert_shards(self) -> int:
        """The number of ranks over which one copy of the experts is spread."""
        return max(self.tp, self.ep)

    @property
    def expert_slices(self) -> int:
        """The number of ranks that divide the columns of an expert."""
        return self.expert_shards // self.ep

    @property
    def sharing_replicas(self) -> int:
        """The number of attention replicas that share one copy of the experts, or 0."""
        return self.expert_shards // self.tp * (self.expert_shards > self.tp)

    @property
    def unstaged(self) -> "Layout":
        """The same replicas without pipeline stages, each with its own copy of the weights."""
        return Layout(self.tp, dp=self.dp, per_chip=self.per_chip)

    @property
    def width(self) -> int:
        """The number of ranks in one pipeline stage."""
        return self.tp * self.dp

    def __str__(self) -> str:
        return " ".join(f"{name} {ranks}" for name, ranks in self._axes if ranks > 1)


@dataclass(frozen=True, eq=False)
class Layouts:
    """Several layouts as arrays, which broadcast with each other and other quantities."""

    tp: Ints
    pp: Ints
    ep: Ints
    dp: Ints
    per_chip: int

    @classmethod
    def of(cls, layouts: Sequence[Layout], *, axes: int = 0) -> "Layouts":
        """Convert layouts into arrays with additional trailing axes of length one.

        layouts : One or more layouts; equal arguments return the same object.
        axes : The number of axes along which other quantities vary.
        """
        return _stacked(tuple(layouts), axes)

    def at(self, places: Ints) -> "Layouts":
        """Select layouts by index, in the shape of the indices."""
        tp, pp, ep, dp = (axis[places] for axis in (self.tp, self.pp, self.ep, self.dp))
        return Layouts(tp, pp, ep, dp, self.per_chip)

    @property
    def ranks(self) -> Ints:
        """The number of ranks in all stages and replicas."""
        return self.tp * self.pp * self.dp

    @property
    def chips(self) -> Ints:
        """The number of chips used."""
        return -(-self.ranks // self.per_chip)

    @property
    def expert_shards(self) -> Ints:
        """The number of ranks over which one copy of the experts is spread."""
        return np.maximum(self.tp, self.ep)

    @property
    def expert_slices(self) -> Ints:
        """The number of ranks that divide the columns of an expert."""
        return self.expert_shards // self.ep

    @property
    def sharing_replicas(self) -> Ints:
        """The number of attention replicas that share one copy of the experts, or 0."""
        return self.expert_shards // self.tp * (self.expert_shards > self.tp)

    @property
    def unstaged(self) -> "Layouts":
        """The same replicas without pipeline stages, each with its own copy of the weights."""
        one = np.ones_like(self.tp)
        return Layouts(self.tp, one, one, self.dp, self.per_chip)

    @property
    def width(self) -> Ints:
        """The number of ranks in one pipeline stage."""
        return self.tp * self.dp


@lru_cache(maxsize=256)
def _stacked(layouts: tuple[Layout, ...], axes: int) -> Layouts:
    ranks = np.array([(layout.tp, layout.pp, layout.ep, layout.dp) for layout in layouts])
    tp, pp, ep, dp = ranks.T.reshape(4, len(layouts), *(1,) * axes)
    return Layouts(tp, pp, ep, dp, layouts[0].per_chip)


AnyLayout: TypeAlias = Layout | Layouts
"""One or several layouts: `Layouts` has the same attributes as `Layout`, but as arrays."""
