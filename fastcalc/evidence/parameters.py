"""The values of engine files that a fit owns, and which of them a chip under an engine takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, sqrt

from fastcalc.catalogue.schema import Engine, Hardware, Quantity

FIT = "fit"  # the source of values that a fit owns
SHRINK = 0.25  # how far a value may lie from what it overrides, in logarithms
BAND = 6.0  # standard deviations that a plausible band spans


@dataclass(frozen=True)
class FittedValue:
    """One fitted value: a parameter of an engine, everywhere or on one group of chips.

    group : an architecture or a kind of chip, empty for all
    value, center : what the file says, and the middle of its band; None for that of the parent [SI]
    spread : how strongly it is drawn there: a standard deviation in logarithms
    parent : position of the node that it overrides
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
        """What is plausible, three standard deviations to each side; None without. [SI]"""
        if self.center is None:
            return None
        reach = exp(BAND / 2.0 * self.spread)
        return self.center / reach, self.center * reach

    def __str__(self) -> str:
        where = f"{self.engine}, {self.group}" if self.group else self.engine
        return f"{self.name} ({where})"


@dataclass(frozen=True)
class ParameterFamily:
    """Engines as their files have them, and the values that a fit owns, parents first."""

    engines: dict[str, Engine]
    nodes: tuple[FittedValue, ...]

    def chain(self, engine: str) -> Iterator[Engine]:
        """Yield an engine and those it extends."""
        ancestor = self.engines.get(engine)
        while ancestor is not None:
            yield ancestor
            ancestor = self.engines.get(ancestor.extends) if ancestor.extends else None

    @cached_property
    def positions(self) -> dict[tuple[str, str, str], int]:
        """Where each node is, by engine, group and name."""
        return {(node.engine, node.group, node.name): i for i, node in enumerate(self.nodes)}

    def node_for(self, engine: str, hardware: Hardware, name: str) -> int | None:
        """Position of the node that a chip under an engine takes a value from."""
        for ancestor in self.chain(engine):
            for group in (*reversed(hardware.groups), ""):
                parameters = ancestor.architectures.get(group) if group else ancestor.parameters
                if parameters is not None and name in parameters.given:
                    return self.positions.get((ancestor.id, group, name))
        return None


def family_of(engines: Sequence[Engine]) -> ParameterFamily:
    """Fitted values of engines, as their files write them."""
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
