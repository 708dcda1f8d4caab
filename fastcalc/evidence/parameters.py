"""Fitted values in engine files, and which value applies to a chip with an engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, sqrt

from fastcalc.catalogue.schema import Engine, Hardware, Quantity

FIT = "fit"  # source of fitted values
SHRINK = 0.25  # standard deviation of a value from the one that it overrides, in logarithms
BAND = 6.0  # the number of standard deviations in a plausible range


@dataclass(frozen=True)
class FittedValue:
    """A fitted engine parameter, for all chips or for a group of chips.

    group : An architecture or a chip class, or empty for all chips.
    value, center : The value in the file, and the middle of its plausible range; None to use the
        parent's value. [SI]
    spread : The standard deviation of the prior around the center, in logarithms.
    parent : The position of the node that this one overrides.
    """

    engine: str
    group: str
    name: str
    value: float
    center: float | None
    spread: float
    parent: int | None = None

    @property
    def band(self) -> tuple[float, float] | None:
        """The plausible range: three standard deviations in each direction, or None. [SI]"""
        if self.center is None:
            return None
        reach = exp(BAND / 2.0 * self.spread)
        return self.center / reach, self.center * reach

    def __str__(self) -> str:
        where = f"{self.engine}, {self.group}" if self.group else self.engine
        return f"{self.name} ({where})"


@dataclass(frozen=True)
class ParameterFamily:
    """Engines in files that extend each other, with their fitted values."""

    engines: dict[str, Engine]
    nodes: tuple[FittedValue, ...]

    def chain(self, engine: str) -> Iterator[Engine]:
        """Yield an engine and the engines that it extends."""
        ancestor = self.engines.get(engine)
        while ancestor is not None:
            yield ancestor
            ancestor = self.engines.get(ancestor.extends) if ancestor.extends else None

    @cached_property
    def positions(self) -> dict[tuple[str, str, str], int]:
        """The position of each node, by engine, group and name."""
        return {(node.engine, node.group, node.name): i for i, node in enumerate(self.nodes)}

    def node_for(self, engine: str, hardware: Hardware, name: str) -> int | None:
        """Return the position of the node that determines a value for a chip with an engine."""
        for ancestor in self.chain(engine):
            for group in (*reversed(hardware.groups), ""):
                parameters = ancestor.architectures.get(group) if group else ancestor.parameters
                if parameters is not None and name in parameters.given:
                    return self.positions.get((ancestor.id, group, name))
        return None


def family_of(engines: Sequence[Engine]) -> ParameterFamily:
    """Collect the fitted values of engines from their files."""
    family = ParameterFamily({engine.id: engine for engine in engines}, ())
    for engine in sorted(
        engines, key=lambda engine: (len(list(family.chain(engine.id))), engine.id)
    ):
        for group, parameters in (("", engine.parameters), *engine.architectures.items()):
            inherited = list(family.chain(engine.id))[0 if group else 1 :]
            for name, quantity in parameters:
                if not (isinstance(quantity, Quantity) and quantity.source == FIT):
                    continue
                over = (family.positions.get((ancestor.id, "", name)) for ancestor in inherited)
                parent = next((node for node in over if node is not None), None)
                center, spread = None if parent is not None else quantity.si, SHRINK
                if quantity.band:
                    low, high = quantity.band
                    center, spread, parent = sqrt(low * high), log(high / low) / BAND, None
                node = FittedValue(engine.id, group, name, quantity.si, center, spread, parent)
                family = replace(family, nodes=(*family.nodes, node))
    return family
