"""Where the tricks begin: a serving point, the speed that is wanted, and what there is to take."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.layout import Layout
from fastcalc.core.machine_class import class_of
from fastcalc.core.scenario import Outcome, Scenario, Sharding, engine_for
from fastcalc.errors import InputError
from fastcalc.search import Reach, Space, cheapest
from fastcalc.search.space import chip_counts
from fastcalc.search.tricks.option import Option, option_of

SRAM_KINDS = ("wafer", "lpu", "rdu")
"""Kinds of chips that are sold for the speed of memory on the chip."""

DATACENTER = ("datacenter", "tpu", "npu")
"""Classes of chips that may take the place of today's."""


Entry = TypeVar("Entry")


@dataclass(frozen=True, eq=False)
class Base:
    """A serving point of one batch, and the speed that every user is to get. [1/s]"""

    today: Outcome
    speed: float
    catalogue: Catalogue

    @property
    def layout(self) -> Layout:
        """Where it lives today."""
        return self.today.placement.layout

    @property
    def batch(self) -> int:
        """Its batch today. [1]"""
        return self.today.scenario.batches[0]

    @cached_property
    def space(self) -> Space:
        """The same model, formats and chip, laid out in any way."""
        return Space(self.scenario)

    @cached_property
    def scenario(self) -> Scenario:
        """What is served today, its formats by name, its chips left open."""
        work = self.today.placement.work
        scenario = replace(self.today.scenario, sharding=Sharding(), kv=work.kv_format)
        return replace(scenario, batches=(1,))

    @cached_property
    def chips(self) -> list[Hardware]:
        """Chips with a price or memory on the chip, by id; a file that is no chip is left out."""
        pricing = self.scenario.pricing
        words = {"cloud": ("cloud:", "offers:"), "tco": ("purchase:",)}
        marks = [*words[pricing.basis], *(f"kind: {kind}" for kind in SRAM_KINDS)]
        names = {*self.catalogue.mentioning("hardware", marks), *pricing.given}
        return list(readable(self.catalogue.hardware, sorted(names)))

    @cached_property
    def rivals(self) -> list[Hardware]:
        """Datacenter chips with a price that run layer after layer, today's left out."""
        pricing, today = self.scenario.pricing, self.scenario.hardware.id
        return [
            chip
            for chip in self.chips
            if chip.id != today
            and class_of(chip) in DATACENTER
            and pricing.per_chip_hour(chip) is not None
        ]

    def on(self, hardware: Hardware) -> Scenario:
        """Return the same service on another chip, under the engine that chip has.

        An engine that the user chose stays on chips of the same class; the bound's, on all.
        """
        scenario, engine = self.scenario, self.scenario.engine
        borrowed = False
        if class_of(hardware) != class_of(scenario.hardware) and not engine.is_bound:
            engine, borrowed = engine_for(self.catalogue, hardware)
        return replace(scenario, hardware=hardware, engine=engine, engine_is_borrowed=borrowed)

    def search(self, space: Space, layouts: list[Layout]) -> Reach:
        """Return the cheapest point of some layouts that reaches the speed."""
        return cheapest(space, layouts, self.speed)

    def option(
        self,
        trick: str,
        change: str,
        scenario: Scenario,
        layouts: Callable[["Base", Space], list[Layout]],
    ) -> Option:
        """Return what a trick comes to on some layouts of another scenario, or why it cannot be."""
        try:
            space = Space(scenario)
            found = self.search(space, layouts(self, space))
        except InputError as error:
            return Option(trick, change, why_not=str(error))
        return option_of(trick, change, found, self.speed)

    def deployments(self, space: Space) -> list[Layout]:
        """Return layouts of another machine: of as many chips as today, and of the fewest."""
        fewest = space.fewest_chips
        if fewest is None:
            return []
        return space.layouts(*sorted({fewest, max(self.layout.chips, fewest)}))

    def up_to_today(self) -> list[Layout]:
        """Return the other layouts of today's chips, and of fewer of them."""
        fewest = self.space.fewest_chips or self.layout.chips
        counts = chip_counts(min(fewest, self.layout.chips), self.layout.chips)
        return [layout for layout in self.space.layouts(*counts) if layout != self.layout]


def readable(load: Callable[[str], Entry], names: list[str]) -> Iterator[Entry]:
    """Yield what some names mean; files at fault are left out."""
    for name in names:
        try:
            yield load(name)
        except InputError:
            continue
