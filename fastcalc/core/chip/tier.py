"""Memory tiers that a chip can use: its own memories and those of a host."""

from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Hardware, Memory, Model
from fastcalc.core.model.kinds import Kinds
from fastcalc.formulas.types import ArrayLike

HostUse = Literal["stream", "compute"]
"""Whether weights on the host are streamed to the chip, or multiplied on the host."""

PlaceFor = Literal["served", "decode"]
"""What the placement optimizes: serving whole requests, or decode alone."""


@dataclass(frozen=True)
class MemoryChoice:
    """The memory options of the user: additional memory, and where weights and caches are placed.

    host : The host whose memory the chips may use, and whose cores may compute.
    use : How weights on the host are used, or None to choose the faster way in each step.
    place : The memory for each category of bytes; all other categories are placed for speed.
    prefix_tier : The memory from which cached prefixes are loaded, or None for the chip's own.
    place_for : What the placement of the other categories optimizes.
    note : A note to the user on how the options were interpreted.
    longest : The sequence length that must fit, or 0 for that of the requests.
    slots : The number of llama.cpp slots that divide ``longest`` equally, or 1 if they share it.
    lowers_sequence_limit : Whether the server may start with fewer sequences per step than the
        engine's default, so that the states of all sequences fit.
    language_model_only : Whether to skip loading image and audio encoders.
    drafted : The number of draft tokens per step.
    draft : The draft model, or None to use the model's own draft layers or a one-layer head.
    gpu_layers : The number of layers in chip memory, counted from the last and including the output
        layer; earlier layers, their caches and the embedding table are on the host. None if not
        specified.
    cpu_moe_layers : The number of layers, counted from the first, whose routed experts are on the
        host, or None if not specified.
    """

    host: Hardware | None = None
    use: HostUse | None = None
    place: tuple[tuple[str, str], ...] = ()
    prefix_tier: str | None = None
    place_for: PlaceFor = "served"
    note: str | None = None
    longest: float = 0.0
    slots: float = 1.0
    lowers_sequence_limit: bool = False
    language_model_only: bool = False
    drafted: float = 0.0
    draft: Model | None = None
    gpu_layers: int | None = None
    cpu_moe_layers: int | None = None

    def drafting(self, tokens: ArrayLike) -> "MemoryChoice":
        """Drop the draft model if no tokens are drafted.

        tokens : The number of draft tokens per step.
        """
        drafted = float(np.max(tokens))
        return replace(self, drafted=drafted, draft=self.draft if drafted else None)

    @property
    def shares_layers(self) -> bool:
        """Whether the user specifies how many layers, or layers' experts, are on the card."""
        return self.gpu_layers is not None or self.cpu_moe_layers is not None


OWN_MEMORY = MemoryChoice()
"""The default memory options: only the chip's own memory, with the default placement."""


@dataclass(frozen=True, eq=False)
class Tier:
    """A memory tier as plain numbers.

    entry : The memory's entry in the hardware file.
    where : ``chip``, ``package``, ``host`` or ``disk``.
    capacity, bandwidth : The values for the entire memory. [byte], [byte/s]
    link : The one-way rate at which a chip reads the memory over its link, or infinity without a
        link, in bytes per second.
    shared_by : The number of chips that share the memory.
    flop_rates : The rates of the cores attached to the memory, for each category of bytes, or None
        if they may not compute, in FLOP/s.
    streams : Whether chips may read the memory over the link.
    reported : The fraction of the capacity that the driver reports, or None if unknown.
    """

    entry: Memory
    where: str
    capacity: float
    bandwidth: float
    link: float
    shared_by: float
    flop_rates: Kinds[ArrayLike] | None = None
    streams: bool = True
    reported: float | None = None

    @property
    def name(self) -> str:
        """The name of the memory in the hardware file."""
        return self.entry.name

    @property
    def is_near(self) -> bool:
        """Whether a chip can read the memory at full bandwidth."""
        return self.where in ("chip", "package")

    def share(self, chips: ArrayLike) -> ArrayLike:
        """Compute the fraction of the memory available to one chip."""
        if self.shared_by == 1.0:
            return 1.0
        return np.ceil(np.asarray(chips) / self.shared_by) / chips

    @property
    def rate(self) -> float:
        """The highest rate at which a single chip can read the memory, in bytes per second."""
        return self.bandwidth if self.flop_rates else min(self.bandwidth, self.link)

    def order(self, regions: float = 1.0) -> tuple[bool, float]:
        """Return a sort key for filling order: the chip's own memories first, then faster ones.

        A token reads on-chip memory one region at a time.
        """
        rate = self.rate / regions if self.where == "chip" else self.rate
        return not self.is_near, -rate


@once
def own_tiers(hardware: Hardware) -> tuple[Tier, ...]:
    """List the memories of a chip in filling order."""
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
