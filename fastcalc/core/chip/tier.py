"""The memory tiers that a chip can use: its own, a host's, and how the host's are used."""

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Hardware, Memory
from fastcalc.core.model.kinds import Kinds
from fastcalc.formulas.types import ArrayLike

HostUse = Literal["stream", "compute"]
"""Read over the link and multiplied on the chip, or multiplied where they are."""

PlaceFor = Literal["served", "decode"]
"""What bytes are placed to make fastest: requests with their prompts, or decode alone."""


@dataclass(frozen=True)
class MemoryChoice:
    """The memory that a user adds to chips, and where things are to live.

    host : the host whose memory chips may use, and whose cores may compute
    use : how weights on the host are used; None for whichever is faster, pass by pass
    place : kinds of bytes and the memory that each is to be placed in; others go where they are
        worth
        most
    prefix_tier : the memory that the cached part of prompts is loaded from; None where it lies in
        place
    place_for : what bytes that are left open are placed for
    note : what a reader must know of how it was read
    longest : tokens of a sequence of which one is to fit, whatever the requests; 0 for these [1]
    slots : sequences that have an equal part of ``longest`` each under llama.cpp; 1 where all
        share it [1]
    language_model_only : True where what encodes images and sound is not loaded
    drafted : draft tokens of a pass, whose layers are loaded as well [1]
    gpu_layers : layers in the chip's memory, counted from the last, with the output layer as one
        more; layers before them, caches of these and the table of embeddings are on the host. None
        where nobody says [1]
    cpu_moe_layers : layers, counted from the first, whose routed experts are on the host; None
        where nobody says [1]
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
    gpu_layers: int | None = None
    cpu_moe_layers: int | None = None

    @property
    def shares_layers(self) -> bool:
        """Whether the user says how many layers, or experts of layers, are on the card."""
        return self.gpu_layers is not None or self.cpu_moe_layers is not None


OWN_MEMORY = MemoryChoice()
"""Only what the chip has, used as is best."""


@dataclass(frozen=True, eq=False)
class Tier:
    """A memory as numbers.

    entry : what the file says of it
    where : ``chip``, ``package``, ``host`` or ``disk``
    capacity, bandwidth : of the whole memory. [byte], [byte/s]
    link : what one chip reads of it over its link, one way; infinity without one [byte/s]
    shared_by : chips that one such memory serves [1]
    flop_rates : of the cores that multiply each kind where its bytes are; none where they may not
        [FLOP/s]
    streams : True where chips may read it over the link
    reported : share of the capacity that a driver reports; None where nobody says [1]
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
        """What the file calls it."""
        return self.entry.name

    @property
    def is_near(self) -> bool:
        """True where a chip reads it at its own rate."""
        return self.where in ("chip", "package")

    def share(self, chips: ArrayLike) -> ArrayLike:
        """Part of such a memory that each of some chips has. [1]"""
        if self.shared_by == 1.0:
            return 1.0
        return np.ceil(np.asarray(chips) / self.shared_by) / chips

    @property
    def rate(self) -> float:
        """The most that one chip alone can make of it. [byte/s]"""
        return self.bandwidth if self.flop_rates else min(self.bandwidth, self.link)

    def order(self, regions: float = 1.0) -> tuple[bool, float]:
        """Return what memories are filled in the order of: the chip's own first, then the fastest.

        A token reads one at a time of the regions that memory on the chip is divided into.
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
