"""Numbers of the catalogue as terms that know their source."""

from math import inf, isfinite

from fastcalc.catalogue.schema import Engine, Hardware, Memory, Quantity
from fastcalc.core.placement import Placement
from fastcalc.core.workload import Weights
from fastcalc.explain.terms import Origin, Term, number, one, times
from fastcalc.formulas.types import ArrayLike

_UNITS = {
    "bandwidth_per_core": "B/s",
    "compute_per_core": "FLOP/s",
    "collective_latency": "s",
    "decode_layer_floor": "s",
    "prefill_layer_floor": "s",
    "sequence_overhead": "s",
    "request_overhead": "s",
}


class Numbers:
    """What a placement takes from its engine, its hardware and its model.

    Parameters
    ----------
    placement : Placement
        A workload on a layout.
    """

    def __init__(self, placement: Placement) -> None:
        self.placement, self.machine = placement, placement.machine
        hardware = self.machine.hardware
        self._settings = self.machine.engine.on(hardware.kind, hardware.architecture)

    def setting(self, name: str) -> Term:
        """Return a parameter of the engine; its default where the file leaves it out."""
        value, unit = getattr(self.machine.software, name), _UNITS.get(name, "")
        quantity: Quantity | None = getattr(self._settings, name)
        engine = self.machine.engine
        origin = _origin(name, "engine", engine, quantity) if quantity else None
        return number(value, unit, origin)

    def bandwidth(self, tier: Memory | None = None) -> Term:
        """Return the printed bandwidth of a memory tier: that of the weights. [byte/s]"""
        tier = tier or self.machine.tier
        return self._printed(f"bandwidth of {tier.name}", tier.bandwidth, "B/s")

    def capacity(self, tier: Memory) -> Term:
        """Return the printed capacity of a memory tier. [byte]"""
        return self._printed(f"capacity of {tier.name}", tier.capacity, "B")

    def cores(self) -> Term | None:
        """Return the cores of a chip, or None where they are not known. [1]"""
        cores = self.machine.hardware.cores
        return self._printed("cores", cores, "") if cores else None

    def vector(self) -> Term:
        """Return the rate of the vector units. [FLOP/s]"""
        rate = self.machine.hardware.vector
        return self._printed("vector rate", rate, "FLOP/s") if rate else number(inf, "FLOP/s")

    def peak(self, rate: ArrayLike) -> Term:
        """Return the printed dense peak of a value. [FLOP/s]"""
        for name, quantity in self.machine.hardware.peak.items():
            if quantity.si == one(rate):
                return self._printed(f"dense {name} peak", quantity, "FLOP/s")
        return number(rate, "FLOP/s")

    def link(self, *, is_inside: bool) -> Term:
        """Return the printed one-way bandwidth inside or beyond the link domain. [byte/s]"""
        up, out = self.machine.hardware.links.scale_up, self.machine.hardware.links.scale_out
        link, name = (up, "link inside") if is_inside or out is None else (out, "link beyond")
        if link is None:
            return number(inf, "B/s")
        return self._printed(f"{name} the domain", link.bandwidth, "B/s")

    def hop(self, value: ArrayLike) -> Term:
        """Return the printed latency of a hop, if a link has this one. [s]"""
        links = self.machine.hardware.links
        for link in (links.scale_out, links.scale_up):
            if link and link.latency and link.latency.si == one(value):
                return self._printed("latency of a hop", link.latency, "s")
        return number(value, "s")

    def parameters(self, weights: Weights, name: str) -> Term:
        """Return how many parameters of a kind the model has. [1]"""
        return self.counted(weights.parameters, f"parameters: {name}")

    def stored(self, weights: Weights, name: str) -> Term:
        """Return the bytes of weights: how many, times what each takes. [byte]"""
        return times(self.parameters(weights, name), number(weights.format.bytes, "B"))

    def counted(self, value: ArrayLike, name: str, unit: str = "") -> Term:
        """Return a number that was counted from the model's shape."""
        model = self.placement.work.model
        source = model.sources.get(model.shape_source or "")
        title = source.title if source else "its own entry"
        return number(value, unit, Origin(name, f"model {model.id}", "", title))

    def _printed(self, name: str, quantity: Quantity, unit: str) -> Term:
        hardware = self.machine.hardware
        return number(quantity.si, unit, _origin(name, "hardware", hardware, quantity))


def is_finite(term: Term | None) -> bool:
    """Return whether there is such a number, and a limit in it."""
    return term is not None and isfinite(term.value)


def _origin(name: str, kind: str, entry: Engine | Hardware, quantity: Quantity) -> Origin:
    source = entry.sources.get(quantity.source or "")
    title = source.title if source else "its own entry; no source is given"
    return Origin(name, f"{kind} {entry.id}", quantity.text, " ".join(title.split()))
