"""Memory tiers that a chip can use: its own and a host's, and how the host's are used."""

from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Hardware, Memory, Model
from fastcalc.core.model.kinds import Kinds
from fastcalc.formulas.types import ArrayLike

HostUse = Literal["stream", "compute"]
"""Weights are read over the link and multiplied on the chip, or multiplied on the host."""

PlaceFor = Literal["served", "decode"]
"""Objectives of the placement: requests including their prompts, or decode alone."""


@dataclass(frozen=True)
class MemoryChoice:
    """Memory that a user adds to chips, and the placement of weights and caches.

    host : the host whose memory chips may use, and whose cores may compute
    use : how weights on the host are used; None for the faster way in each pass
    place : memory for each category of bytes; others are placed for the highest speed
    prefix_tier : memory from which the cached part of prompts is loaded; None for its own memory
    place_for : objective of the placement of other categories
    note : note to the reader about how the options were understood
    longest : length of a sequence that must fit, whatever the requests; 0 for the requests' own [1]
    slots : sequences that each have an equal part of ``longest`` under llama.cpp; 1 if all
        share it [1]
    language_model_only : True if the encoders of images and sound are not loaded
    drafted : draft tokens per pass [1]
    draft : model that drafts them; None for the model's own draft layers, or a head of one layer
    gpu_layers : layers in the chip's memory, counted from the last, with the output layer as one
        more; earlier layers, their caches and the table of embeddings are on the host. None if
        not stated [1]
    cpu_moe_layers : layers, counted from the first, whose routed experts are on the host; None
        if not stated [1]
    """

    host: Hardware | None = None
    use: HostUse | None = None
    place: tuple[tuple[str, str], ...] = ()
    prefix_tier: str | None = None
    place_for: PlaceFor = "served"
    note: str | None = None
    longest: float = 0.0
    slots: float = 1.0
    language_model_only: bool = False
    drafted: float = 0.0
    draft: Model | None = None
    gpu_layers: int | None = None
    cpu_moe_layers: int | None = None

    def drafting(self, tokens: ArrayLike) -> "MemoryChoice":
        """The same memory, with the draft model only if it drafts.

        tokens : draft tokens per pass [1]
        """
        drafted = float(np.max(tokens))
        return replace(self, drafted=drafted, draft=self.draft if drafted else None)

    @property
    def shares_layers(self) -> bool:
        """Whether the user states how many layers, or experts of layers, are on the card."""
        return self.gpu_layers is not None or self.cpu_moe_layers is not None


OWN_MEMORY = MemoryChoice()
"""The chip's own memory only, with the default placement."""


@dataclass(frozen=True, eq=False)
class Tier:
    """A memory as numbers.

    entry : its entry in the file
    where : ``chip``, ``package``, ``host`` or ``disk``
    capacity, bandwidth : of the whole memory. [byte], [byte/s]
    link : rate at which one chip reads it over its link, one way; infinity without a link [byte/s]
    shared_by : chips that share one such memory [1]
    flop_rates : of the cores at this memory, for each category of bytes; none if they may not
        compute [FLOP/s]
    streams : True if chips may read it over the link
    reported : share of the capacity that a driver reports; None if not stated [1]
    """

    entry: Memory
    where: str
    capacity: float
    bandwidth: float
    link: float = inf
    shared_by: float = 1.0
    flop_rates: Kinds[ArrayLike] | None = None
    streams: bool = True
    reported: float | None = None

    @property
    def name(self) -> str:
        """Name of the memory in its file."""
        return self.entry.name

    @property
    def is_near(self) -> bool:
        """Whether a chip reads it at the memory's own rate."""
        return self.where in ("chip", "package")

    def share(self, chips: ArrayLike) -> ArrayLike:
        """Fraction of such a memory that one chip gets, for each number of chips. [1]"""
        if self.shared_by == 1.0:
            return 1.0
        return np.ceil(np.asarray(chips) / self.shared_by) / chips

    @property
    def rate(self) -> float:
        """Highest rate at which one chip alone can read it. [byte/s]"""
        return self.bandwidth if self.flop_rates else min(self.bandwidth, self.link)

    def order(self, regions: float = 1.0) -> tuple[bool, float]:
        """Sort memories in filling order: the chip's own first, then the fastest.

        A token reads only one of the regions into which on-chip memory is divided at a time.
        """
        rate = self.rate / regions if self.where == "chip" else self.rate
        return not self.is_near, -rate


@once
def own_tiers(hardware: Hardware) -> tuple[Tier, ...]:
    """Memories of a chip in the order in which they are filled."""
    fastest = max(hardware.memory, key=lambda memory: memory.bandwidth.si)
    regions = "chip" if hardware.execution == "spatial" else "package"
    tiers = [
        Tier(
            entry=memory,
            where=memory.where or (regions if memory is fastest else "package"),
            capacity=memory.capacity.si,
            reported=memory.reported.si if memory.reported else None,
            bandwidth=memory.bandwidth.si,
            link=memory.link.si if memory.link else inf,
            shared_by=memory.shared_by.si if memory.shared_by else 1.0,
        )
        for memory in hardware.memory
    ]
    return tuple(sorted(tiers, key=Tier.order))
