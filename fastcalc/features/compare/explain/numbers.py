"""Catalogue numbers as terms that record where they come from."""

from math import inf, isfinite

from fastcalc.catalogue.schema import Engine, Hardware, Quantity
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.core.chip.formats_run import widened_by
from fastcalc.core.chip.tier import Tier
from fastcalc.core.chip.tiers import read_first
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.features.compare.explain.terms import Origin, Term, number, scalar, total
from fastcalc.formulas.types import ArrayLike

_UNITS = {"time": "s", "bandwidth": "B/s", "compute rate": "FLOP/s", "reserve": "B"}
_WEIGHTS = {
    "dense": "dense matrices",
    "small": "norms, biases, routers",
    "head": "output head",
    "experts": "routed experts",
    "expert_biases": "their biases",
}
"""Names of the weight groups."""

_PARTS = {"dense": ("dense",), "head": ("small", "head"), "experts": ("experts", "expert_biases")}
"""Weight groups that are read as one data category."""


class Numbers:
    """Looks up the numbers that a placement takes from its engine, hardware and model."""

    def __init__(self, placement: AnyPlacement) -> None:
        self.work, self.machine = placement.work, placement.machine
        hardware = self.machine.hardware
        self._settings = self.machine.engine.on(*hardware.groups, *self.work.model.groups)

    def setting(self, name: str) -> Term:
        """Return an engine parameter, or its default if the file omits it."""
        unit = _UNITS.get(PARAMETERS[name].reader.dimension, "")
        quantity: Quantity | None = self._settings.given.get(name)
        origin = _origin(name, "engine", self.machine.engine, quantity) if quantity else None
        return number(self.machine.software.value(name), unit, origin)

    def bandwidth(self, tier: Tier | None = None) -> Term:
        """Return a memory's data-sheet bandwidth, by default that of the fastest one. [byte/s]"""
        tier = tier or read_first(self.machine.tiers)
        quantity = tier.entry.bandwidth
        return self._printed(f"bandwidth of {tier.name}", quantity, "B/s", self._owner(tier))

    def capacity(self, tier: Tier) -> Term:
        """Return the data-sheet capacity of a memory, in bytes."""
        quantity = tier.entry.capacity
        return self._printed(f"capacity of {tier.name}", quantity, "B", self._owner(tier))

    def way_to(self, tier: Tier) -> Term:
        """Return the bandwidth of a chip's link to a memory, shared or its own. [byte/s]"""
        link, up = tier.entry.link, self.machine.hardware.links.scale_up
        if link is not None and link.si == tier.link:
            return self._printed(f"link to {tier.name}", link, "B/s", self._owner(tier))
        return self.link(is_inside=up is not None and up.bandwidth.si == tier.link)

    def over_cores(self, name: str) -> Term | None:
        """Multiply a per-core parameter by the number of cores.

        Returns None if the parameter limits nothing.
        """
        cores, per_core = self.machine.hardware.cores, self.setting(name)
        if cores is None or not isfinite(per_core.value):
            return None
        return self._printed("cores", cores, "") * per_core

    def vector(self) -> Term:
        """Return the rate of the vector units, in FLOP/s."""
        rate = self.machine.hardware.vector
        return self._printed("vector rate", rate, "FLOP/s") if rate else number(inf, "FLOP/s")

    def kernel(self, group: str) -> str | None:
        """Return the kernel that multiplies a weight category at the 16-bit rate, or None."""
        kernels = widened_by(self.machine.engine, self.machine.hardware).of(group)
        return kernels.get(self.work.formats.of(group).id)

    def peak(self, rate: ArrayLike, tier: Tier | None = None, *, kernel: str | None = None) -> Term:
        """Return the data-sheet peak with the given value, of the chip or its host, in FLOP/s.

        kernel : The kernel that computes at this rate although the stored format would allow more.
        """
        owner, why = self._owner(tier), f" (the rate of {kernel})" if kernel else ""
        for name, quantity in owner.peak.items():
            if quantity.si == scalar(rate):
                return self._printed(f"dense {name} peak{why}", quantity, "FLOP/s", owner)
        return number(rate, "FLOP/s")

    def link(self, *, is_inside: bool) -> Term:
        """Return the data-sheet one-way bandwidth inside or beyond the link domain. [byte/s]"""
        up, out = self.machine.hardware.links.scale_up, self.machine.hardware.links.scale_out
        link, name = (out, "link beyond") if out and not (up and is_inside) else (up, "link inside")
        if link is None:
            return number(inf, "B/s")
        return self._printed(f"{name} the domain", link.bandwidth, "B/s")

    def hop(self, value: ArrayLike) -> Term:
        """Return the data-sheet latency per hop, if a link has that latency, in seconds."""
        links = self.machine.hardware.links
        for link in (links.scale_out, links.scale_up):
            if link and link.latency and link.latency.si == scalar(value):
                return self._printed("latency of a hop", link.latency, "s")
        return number(value, "s")

    def parameters(self, *components: str) -> Term:
        """Return the number of parameters in the given weight groups."""
        return total(
            self.counted(
                self.work.weights.of(component).parameters, f"parameters: {_WEIGHTS[component]}"
            )
            for component in components
        )

    def stored(self, kind: str) -> Term:
        """Return the bytes of a weight category, from its groups' bytes per parameter."""
        return total(
            self.parameters(component) * number(self.work.weights.of(component).format.bytes, "B")
            for component in _PARTS[kind]
        )

    def counted(self, value: ArrayLike, name: str, unit: str = "") -> Term:
        """Return a term for a number computed from the model's shape."""
        model = self.work.model
        source = model.sources.get(model.shape_source or "")
        title = source.title if source else "its own entry"
        return number(value, unit, Origin(name, f"model {model.id}", "", title))

    def _owner(self, tier: Tier | None) -> Hardware:
        """Return the hardware that a memory belongs to: the chip or its host."""
        host = self.machine.memory.host
        if host is None or tier is None or all(tier.entry is not entry for entry in host.memory):
            return self.machine.hardware
        return host

    def _printed(
        self, name: str, quantity: Quantity, unit: str, owner: Hardware | None = None
    ) -> Term:
        hardware = owner or self.machine.hardware
        return number(quantity.si, unit, _origin(name, "hardware", hardware, quantity))


def _origin(name: str, group: str, entry: Engine | Hardware, quantity: Quantity) -> Origin:
    source = entry.sources.get(quantity.source or "")
    title = source.title if source else "its own entry; no source is given"
    return Origin(name, f"{group} {entry.id}", quantity.text, " ".join(title.split()))
