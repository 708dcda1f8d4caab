"""What a hardware file may hold."""

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
    Quantity,
    Size,
    Source,
    Time,
    Watts,
)


class Memory(Entry):
    """A place where weights and cache can live.

    Where layers have regions of their own, those are in the memory on the chip. Memory of the host
    or on a disk is read over a link, one way, of each chip, and may be shared by several. A driver
    reports less than the whole: what it keeps, and what error correction takes.
    """

    name: Name
    capacity: Size
    reported: Fraction | None = None
    bandwidth: Bandwidth
    where: Literal["chip", "package", "host", "disk"] | None = None
    link: Bandwidth | None = None
    shared_by: Count | None = None


BRIDGED = "bridged"
"""What engines call chips that a fast link joins in groups, and the bus of a host beyond them."""


BRIDGED_CHIPS = 2
"""Cards that a bridge joins; larger domains are switched or meshed, and end there. [1]"""


class Link(Entry):
    """A way between chips: one direction, one chip.

    Collectives reach more of some kinds: ``nvlink`` goes through a switch or a bridge, ``xgmi`` and
    ``thunderbolt`` join every two chips, ``pcie`` goes through the host.
    """

    kind: Literal["nvlink", "xgmi", "pcie", "ethernet", "thunderbolt"] | None = None
    bandwidth: Bandwidth
    domain: Count | None = None
    latency: Time | None = None


class Links(Entry):
    """The fast link inside a domain, and the slower one beyond it."""

    scale_up: Link | None = None
    scale_out: Link | None = None

    @property
    def fastest(self) -> Quantity | None:
        """The faster of both; a chip is taken to have no faster way to its host either."""
        bandwidths = (link.bandwidth for link in (self.scale_up, self.scale_out) if link)
        return max(bandwidths, key=lambda choice: choice.si, default=None)


class Fabric(Entry):
    """The network on the chip itself: not memory, and not between chips."""

    bandwidth: Bandwidth


class Power(Entry):
    """What the chip draws at most, as the vendor prints it, and with its share of the site."""

    chip: Watts
    all_in: Watts | None = None


Terms = Literal["on-demand", "reserved", "spot", "marketplace", "survey", "estimate"]
"""What a price of an hour is. A cloud's: by the hour, for a commitment, or until it wants the chip
back; a marketplace's, of single owners; a survey's, whose terms are mixed; an analyst's estimate.
"""

DEFAULT_TERMS: tuple[Terms, ...] = ("on-demand", "survey", "estimate", "marketplace")
"""The terms of which a chip is priced where none are named: the first that its file has."""


class Offer(Entry):
    """The price of an hour of one chip, from whom and on which terms.

    instance_chips : of the largest instance at this price per chip: no fast link joins more [1]
    """

    provider: Name | None = None
    terms: Terms = "on-demand"
    commitment_months: Annotated[int, Field(gt=0, le=120, strict=True)] | None = None
    region: Name | None = None
    instance_chips: Annotated[int, Field(gt=0, le=1024, strict=True)] | None = None
    price: DollarsPerHour

    @property
    def name(self) -> str:
        """Who asks it, where and on which terms."""
        return ", ".join(item for item in (self.provider, self.region, self.kind) if item)

    @property
    def kind(self) -> str:
        """Its terms, with the length of a commitment where that is stated."""
        months = self.commitment_months
        return f"{self.terms} for {months} months" if months else self.terms

    @model_validator(mode="after")
    def _only_reserved_is_committed(self) -> "Offer":
        if self.commitment_months and self.terms != "reserved":
            raise ValueError("commitment_months belongs to offers with terms: reserved")
        return self


class Price(Entry):
    """Prices of an hour on different terms, and the price of buying the chip.

    ``cloud`` is a rent whose terms the file does not state: it goes before all offers, but never
    counts as one on terms that are asked for.
    """

    cloud: DollarsPerHour | None = None
    offers: list[Offer] = []
    purchase: Dollars | None = None

    @property
    def offer(self) -> Offer | None:
        """The offer that prices the chip where no terms are named and no ``cloud`` is stated."""
        if self.cloud:
            return None
        return next(filter(None, map(self.offered, DEFAULT_TERMS)), None)

    def offered(self, terms: Terms) -> Offer | None:
        """Offer in the middle on some terms, of two the cheaper."""
        offers = [offer for offer in self.offers if offer.terms == terms]
        offers.sort(key=lambda offer: offer.price.si)
        return offers[(len(offers) - 1) // 2] if offers else None

    @property
    def rent(self) -> Quantity | None:
        """Price of an hour where no terms are named."""
        return self.cloud or (self.offer.price if self.offer else None)

    def divided(self, chips: int) -> "Price":
        """Share of each of some chips."""

        def share(price: Quantity | None) -> Quantity | None:
            return price and price.model_copy(update={"si": price.si / chips})

        offers = [offer.model_copy(update={"price": share(offer.price)}) for offer in self.offers]
        pieces = {"cloud": share(self.cloud), "offers": offers, "purchase": share(self.purchase)}
        return self.model_copy(update=pieces)


class Node(Entry):
    """The machine in which chips are sold: how many are in one, what it draws and costs.

    Without a number of chips it is a whole domain of the fast link. Its network is the link beyond
    the domain, with each chip's share, and its host a memory.
    """

    name: Name | None = None
    chips: Count | None = None
    power: Watts | None = None
    price: Price = Field(default_factory=Price)


def _usual_execution(fields: dict[str, Any]) -> Literal["sequential", "spatial"]:
    """Return how chips of a kind run."""
    return "spatial" if fields.get("kind") in ("wafer", "lpu") else "sequential"


RateFormat = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4", "int4"]


class Hardware(Entry):
    """One accelerator as its vendor prints it: nothing fitted, nothing guessed."""

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
        """Dense peak of a number format, or None where the chip has none."""
        return next(
            (peak for number_format, peak in self.peak.items() if number_format == name), None
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """What engines may have values of their own for, the narrowest last."""
        up = self.links.scale_up
        names = self.kind, up and up.kind, BRIDGED if self.is_bridged else None, self.architecture
        return tuple(name for name in names if name)

    @property
    def is_bridged(self) -> bool:
        """Whether the bus of a host joins what the fast link does not."""
        up, out = self.links.scale_up, self.links.scale_out
        is_pair = up is None or (up.domain is not None and up.domain.si <= BRIDGED_CHIPS)
        return out is not None and out.kind == "pcie" and is_pair

    @property
    def node_chips(self) -> int | None:
        """Chips of the node in which it is sold; None where that is not stated. [1]"""
        if self.node is None:
            return None
        up = self.links.scale_up
        chips = self.node.chips or (up and up.domain)
        return int(chips.si) if chips else None

    @once
    def joined(self, chips: int | None) -> "Hardware":
        """The same chip where no more than some are joined by the fast link; None for no limit."""
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
        """Price of one chip: its share of what the node costs, or what its file has of itself."""
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
