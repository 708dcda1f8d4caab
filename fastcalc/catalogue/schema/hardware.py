"""Schema of a hardware file."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema.quantities import (
    Area,
    Bandwidth,
    ComputeRate,
    Count,
    Dollars,
    DollarsPerHour,
    Entry,
    Excuses,
    Fraction,
    Identifier,
    Name,
    NamedEntry,
    Quantity,
    Size,
    Source,
    Time,
    Watts,
)


class Memory(Entry):
    """A memory that can store weights and KV caches.

    If layers have their own regions, these are in on-chip memory. Each chip reads host memory and
    disks over a one-way link, and several chips may share them. Drivers report less than the full
    capacity, because some of it is needed for drivers and error correction.
    """

    name: Name
    capacity: Size
    reported: Fraction | None = None
    bandwidth: Bandwidth
    where: Literal["chip", "package", "host", "disk"] | None = None
    link: Bandwidth | None = None
    shared_by: Count | None = None


BRIDGED = "bridged"
"""The name in engine files for groups of chips with a fast link, connected by a host's bus."""

BRIDGED_CHIPS = 2
"""The number of cards that a bridge connects; larger domains have a switch or mesh and end there.
[1]"""


class Link(Entry):
    """A link between chips, per chip and in one direction.

    Collectives reach different speeds by type: ``nvlink`` goes through a switch or a bridge,
    ``xgmi`` and ``thunderbolt`` connect every pair of chips, and ``pcie`` goes through the host.
    """

    kind: Literal["nvlink", "xgmi", "pcie", "ethernet", "thunderbolt"] | None = None
    bandwidth: Bandwidth
    domain: Count | None = None
    latency: Time | None = None


class Links(Entry):
    """The fast link within a domain and the slower link beyond it."""

    scale_up: Link | None = None
    scale_out: Link | None = None

    @property
    def fastest(self) -> Quantity | None:
        """The faster of the two links, which also limits a chip's link to its host."""
        bandwidths = (link.bandwidth for link in (self.scale_up, self.scale_out) if link)
        return max(bandwidths, key=lambda choice: choice.si, default=None)


class Fabric(Entry):
    """The on-chip network, as opposed to memory and links between chips."""

    bandwidth: Bandwidth


class Power(Entry):
    """The maximum power draw of the chip alone and including its share of the site."""

    chip: Watts
    all_in: Watts | None = None


Terms = Literal["on-demand", "reserved", "spot", "marketplace", "survey", "estimate"]
"""The terms of an hourly price: from a cloud (on demand, reserved, or spot, which the cloud may
reclaim), a marketplace of individually owned machines, a survey with mixed terms, or an
estimate."""

DEFAULT_TERMS: tuple[Terms, ...] = ("on-demand", "survey", "estimate", "marketplace")
"""The order in which terms are tried: a chip is priced at the first that its file has."""


class Offer(Entry):
    """An offered price per chip-hour with its provider and terms.

    instance_chips : The chips in the largest instance offered at this price per chip, which limits
        the link domain.
    """

    provider: Name | None = None
    terms: Terms = "on-demand"
    commitment_months: Annotated[int, Field(gt=0, le=120, strict=True)] | None = None
    region: Name | None = None
    instance_chips: Annotated[int, Field(gt=0, le=1024, strict=True)] | None = None
    price: DollarsPerHour

    @property
    def name(self) -> str:
        """The provider, region and terms."""
        return ", ".join(item for item in (self.provider, self.region, self.kind) if item)

    @property
    def kind(self) -> str:
        """The terms, with the length of a commitment if given."""
        months = self.commitment_months
        return f"{self.terms} for {months} months" if months else self.terms

    @model_validator(mode="after")
    def _only_reserved_is_committed(self) -> "Offer":
        if self.commitment_months and self.terms != "reserved":
            raise ValueError("commitment_months belongs to offers with terms: reserved")
        return self


class Price(Entry):
    """The hourly prices on different terms, and the purchase price of the chip.

    ``cloud`` is a rental price whose terms the file does not give. It takes precedence over all
    offers, but never counts as a price on terms that the user requests.
    """

    cloud: DollarsPerHour | None = None
    offers: list[Offer] = []
    purchase: Dollars | None = None

    @property
    def offer(self) -> Offer | None:
        """The offer that sets the default price of the chip, ignoring ``cloud``."""
        if self.cloud:
            return None
        return next(filter(None, map(self.offered, DEFAULT_TERMS)), None)

    def offered(self, terms: Terms) -> Offer | None:
        """Return the median offer on the given terms, or the cheaper of two middle ones."""
        offers = [offer for offer in self.offers if offer.terms == terms]
        offers.sort(key=lambda offer: offer.price.si)
        return offers[(len(offers) - 1) // 2] if offers else None

    @property
    def rent(self) -> Quantity | None:
        """The default price per hour."""
        return self.cloud or (self.offer.price if self.offer else None)

    def divided(self, chips: int) -> "Price":
        """Divide the price among a number of chips."""

        def share(price: Quantity | None) -> Quantity | None:
            return price and price.model_copy(update={"si": price.si / chips})

        offers = [offer.model_copy(update={"price": share(offer.price)}) for offer in self.offers]
        pieces = {"cloud": share(self.cloud), "offers": offers, "purchase": share(self.purchase)}
        return self.model_copy(update=pieces)


class Node(Entry):
    """The machine in which chips are sold, with its power draw and price.

    If the number of chips is not given, the node is an entire domain of the fast link. Its network
    is the link beyond the domain, per chip, and its host is a memory.
    """

    name: Name | None = None
    chips: Count | None = None
    power: Watts | None = None
    price: Price = Field(default_factory=Price)


def _usual_execution(fields: dict[str, Any]) -> Literal["sequential", "spatial"]:
    return "spatial" if fields.get("kind") in ("wafer", "lpu") else "sequential"


RateFormat = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4", "int4"]


class Hardware(NamedEntry):
    """An accelerator as published by its vendor, without fitted or guessed values."""

    id: Identifier
    name: Name
    vendor: Name
    kind: Literal["gpu", "wafer", "lpu", "rdu", "tpu", "npu", "apple", "soc", "cpu", "host"]
    market: Literal["datacenter", "workstation", "consumer"] = "datacenter"
    scope: str
    execution: Literal["sequential", "spatial"] = Field(default_factory=_usual_execution)
    architecture: Identifier | None = None
    released: Name | None = None
    hypothetical: bool = False
    aliases: list[Identifier] = []
    extends: Identifier | None = None
    sources: dict[str, Source] = {}
    cores: Count | None = None
    ranks: Count | None = None
    memory: Annotated[list[Memory], Field(min_length=1)]
    peak: Annotated[dict[RateFormat, ComputeRate], Field(min_length=1)]
    vector: ComputeRate | None = None
    fabric: Fabric | None = None
    links: Links = Field(default_factory=Links)
    power: Power | None = None
    price: Price = Field(default_factory=Price)
    node: Node | None = None
    area: Area | None = None
    transistors: Count | None = None
    notes: list[str] = []
    excused: Excuses = {}

    def rate(self, name: str) -> Quantity | None:
        """Return the dense peak in a number format, or None if the chip has none."""
        return next(
            (peak for number_format, peak in self.peak.items() if number_format == name), None
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups for which engines may have separate values, the most specific last."""
        up = self.links.scale_up
        names = self.kind, up and up.kind, BRIDGED if self.is_bridged else None, self.architecture
        return tuple(name for name in names if name)

    @property
    def is_bridged(self) -> bool:
        """Whether a host's bus connects chips that the fast link does not."""
        up, out = self.links.scale_up, self.links.scale_out
        is_pair = up is None or (up.domain is not None and up.domain.si <= BRIDGED_CHIPS)
        return out is not None and out.kind == "pcie" and is_pair

    @property
    def node_chips(self) -> int | None:
        """The number of chips in the node in which the chip is sold, or None if not given."""
        if self.node is None:
            return None
        up = self.links.scale_up
        chips = self.node.chips or (up and up.domain)
        return int(chips.si) if chips else None

    @once
    def joined(self, chips: int | None) -> "Hardware":
        """Limit the number of chips connected by the fast link, unless the limit is None."""
        up = self.links.scale_up
        if chips is None or up is None or up.domain is None or up.domain.si <= chips:
            return self
        domain = up.domain.model_copy(update={"si": float(chips), "text": str(chips)})
        up = up.model_copy(update={"domain": domain})
        links = self.links.model_copy(update={"scale_up": up})
        return self.model_copy(update={"links": links})

    @property
    @once
    def chip_price(self) -> Price:
        """The price of one chip: its share of the node's price, or the price in its own file."""
        if self.node is None or self.node_chips is None:
            return self.price
        node_share = self.node.price.divided(self.node_chips)
        rent = node_share if node_share.cloud or node_share.offers else self.price
        purchase = node_share.purchase or self.price.purchase
        return rent.model_copy(update={"purchase": purchase})

    @model_validator(mode="after")
    def _node_of_some_chips(self) -> "Hardware":
        if self.node is not None and self.node_chips is None:
            raise ValueError("node needs its number of chips, as chips: 8, or a link domain")
        return self

    @model_validator(mode="after")
    def _sixteen_bit_peak(self) -> "Hardware":
        if not {"bf16", "fp16"} & set(self.peak):
            raise ValueError("peak needs the dense bf16 or fp16 rate; every model has 16-bit parts")
        return self
