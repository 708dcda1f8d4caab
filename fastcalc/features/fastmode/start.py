"""The start of the search: today's serving point, the target speed, and chips to try."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine_class import SRAM_CLASSES, class_of, engine_of_class
from fastcalc.core.model.workload import workload
from fastcalc.core.outcome import Outcome
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.legal import link_domain
from fastcalc.core.placement.placement import Site
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.errors import InputError
from fastcalc.features.fastmode.option import Option, in_order, option_of
from fastcalc.grid.largest_batch import cheapest_of_each
from fastcalc.grid.space import Space

DATACENTER = ("datacenter", "tpu", "npu")  # classes that may replace today's chips
MORE = 8  # largest multiple of today's number of chips to try
WAFERS = 64  # largest multiple of the smallest number of SRAM chips that fits
Entry = TypeVar("Entry")


@dataclass(frozen=True, eq=False)
class Base:
    """Today's serving point with one batch, and the target speed per user, per second.

    The model may be replaced by the named models, or by default by smaller ones of its family.
    """

    today: Outcome
    speed: float
    catalogue: Catalogue
    models: Sequence[str] | None = None
    _engines: dict[str, Engine] = field(default_factory=dict)
    _deployments: dict[Site, list[Layout]] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        """The layout in use today."""
        return self.today.placement.layout

    @property
    def keeps_model(self) -> bool:
        """Whether the request excludes other models."""
        return self.models is not None and not self.models

    def may_take(self, model: Model) -> bool:
        """Check whether a model is today's or a named alternative."""
        return model is self.scenario.model or bool(self.models)

    def keeps_answers(self, option: Option) -> bool:
        """Check whether an option has today's formats, and today's model or a named one.

        Weights may be in another format published by the model's maker.
        """
        if option.outcome is None:
            return False
        scenario, today = option.outcome.scenario, self.scenario
        own_formats = (today.weights, today.kv) if scenario.model is today.model else (None, None)
        weights = (own_formats[0], *scenario.model.also_published)
        return (
            self.may_take(scenario.model)
            and scenario.weights in weights
            and scenario.kv == own_formats[1]
        )

    @property
    def batch(self) -> int:
        """The batch in use today."""
        return self.today.scenario.batches[0]

    @cached_property
    def space(self) -> Space:
        """The layout space of today's model, formats and chip."""
        return Space(self.scenario)

    @cached_property
    def scenario(self) -> Scenario:
        """Today's scenario with explicit formats and an open number of chips."""
        work = self.today.placement.work
        scenario = replace(self.today.scenario, sharding=Sharding(), kv=work.kv_format)
        return replace(scenario, batches=(1,))

    @cached_property
    def chips(self) -> list[Hardware]:
        """The chips with a price or on-chip memory, by id. Invalid files are skipped."""
        pricing = self.scenario.pricing
        words = {"cloud": ("cloud:", "offers:"), "tco": ("purchase:",)}
        marks = [*words[pricing.basis], *(f"kind: {chip_type}" for chip_type in SRAM_CLASSES)]
        names = {*self.catalogue.mentioning("hardware", marks), *pricing.user_prices}
        return list(readable(self.catalogue.hardware, sorted(names)))

    @cached_property
    def rivals(self) -> list[Hardware]:
        """The other rentable datacenter chips that run layers in sequence."""
        today = self.scenario.hardware.id
        quotes = ((chip, self.scenario.pricing.quote(chip)) for chip in self.chips)
        priced = (
            chip
            for chip, quote in quotes
            if quote.usd_per_hour is not None and not quote.is_marketplace
        )
        return [chip for chip in priced if chip.id != today and class_of(chip) in DATACENTER]

    def on(self, hardware: Hardware) -> Scenario:
        """Move the service to another chip, keeping the chosen engine if it supports the chip."""
        scenario, engine, borrowed = self.scenario, self.scenario.engine, False
        if class_of(hardware) != class_of(scenario.hardware) and not engine.is_bound:
            name, borrowed = engine_of_class(hardware)
            engine = self._engines.get(name) or self.catalogue.engine(name)
            self._engines[name] = engine
        return replace(scenario, hardware=hardware, engine=engine, engine_is_borrowed=borrowed)

    def options(self, changes: Iterable[tuple[str, str, Scenario]]) -> list[Option]:
        """Build options for other machines or models, each with the reason if it is impossible.

        changes : The technique, description of the change, and scenario for each option.
        """
        options: list[Option | None] = []
        searches: list[tuple[str, str, Space, list[Layout]]] = []
        for trick, change, scenario in changes:
            space = Space(scenario)
            try:
                searches.append((trick, change, space, self.deployments(space)))
                options.append(None)
            except InputError as error:
                options.append(Option(trick, change, why_not=error.sentence))
        reaches = cheapest_of_each((search[2:] for search in searches), self.speed)
        found = iter(
            option_of(trick, change, reach, self.speed)
            for (trick, change, *_), reach in zip(searches, reaches, strict=True)
        )
        return [option or next(found) for option in options]

    @cached_property
    def sram_machines(self) -> list[Hardware]:
        """The machines designed for fast on-chip memory, apart from today's."""
        today = self.scenario.hardware.id
        return [chip for chip in self.chips if chip.kind in SRAM_CLASSES and chip.id != today]

    @cached_property
    def smaller(self) -> list[Model]:
        """The models with fewer active parameters that may replace today's, the largest first.

        Models of the same family must be at least as new and have no more total parameters. Named
        models are not restricted.
        """
        model, work = self.scenario.model, self.today.placement.work
        if self.models is None:
            names = self.catalogue.names("models")
            family = [
                name
                for name in names
                if family_of(name) == family_of(model.id) and name != model.id
            ]
            models = (
                candidate
                for candidate in readable(self.catalogue.model, family)
                if (candidate.released or "") >= (model.released or "")
                and workload(candidate).total_parameters <= work.total_parameters
            )
        else:
            models = (self.catalogue.model(name) for name in self.models)
        sizes = [(workload(candidate).active_parameters, candidate) for candidate in models]
        smaller = sorted(
            (pair for pair in sizes if pair[0] < work.active_parameters), key=lambda pair: -pair[0]
        )
        return [candidate for _, candidate in smaller]

    def deployments(self, space: Space) -> list[Layout]:
        """Return the layouts for a machine, model and formats, up to a reasonable number of chips.

        On today's chip type they include today's layout, if the model supports it, and layouts
        with more chips.
        """
        site = space.site
        if site not in self._deployments:
            self._deployments[site] = self._layouts_of(space)
        return self._deployments[site]

    def _layouts_of(self, space: Space) -> list[Layout]:
        """Return the layouts for a machine, model and formats, which several searches use."""
        fewest = space.fewest_chips
        if fewest is None:
            return []
        max_chips = max(fewest, self.layout.chips, space.site.chips_joined)
        if space.site.machine.is_spatial:
            max_chips = fewest * WAFERS
        layouts = space.up_to(max_chips)
        if space.scenario.hardware is self.scenario.hardware:
            today = [self.layout] if space.site.allows(self.layout) else []
            copies = space.cuts(self.layout.chips)
            beyond = self.beyond_today(space)
            layouts = list(dict.fromkeys([*today, *layouts, *copies, *beyond]))
        return layouts

    def up_to_today(self) -> list[Layout]:
        """Return other layouts on today's chips, including replicas, and layouts on fewer chips."""
        chips = self.layout.chips
        layouts = dict.fromkeys([*self.space.up_to(chips), *self.space.cuts(chips)])
        return [layout for layout in layouts if layout != self.layout]

    def beyond_today(self, space: Space) -> list[Layout]:
        """Return the layouts on more chips than today: up to eight times, or a link domain."""
        today = self.layout.chips
        max_chips = most_chips(self.today)
        return [layout for layout in space.up_to(max_chips) if layout.chips > today]

    def on_todays_chips(self) -> list[Option]:
        """Build the options on today's chip type: smaller batch, other layout, more chips."""
        options, other_layouts = [], self.up_to_today()
        layouts_of = {
            "smaller-batch": [self.layout],
            "other-layout": other_layouts,
            "more-chips": self.beyond_today(self.space),
        }
        searches = ((self.space, layouts) for layouts in layouts_of.values())
        reaches = cheapest_of_each(searches, self.speed)
        for trick, reach in zip(layouts_of, reaches, strict=True):
            cut = reach.outcome.placement.layout if reach.outcome else None
            change = "" if cut is None or cut == self.layout else str(cut) or "one chip"
            options.append(option_of(trick, change, reach, self.speed))
        if not other_layouts:
            options[1] = Option("other-layout", "", why_not="no other layout exists")
        return options

    def on_other_machines(self) -> list[Option]:
        """Build the options on other datacenter chips and SRAM machines, cheapest point each."""
        today = (self.scenario.hardware.released or "")[:4]
        chips = [("sram-machine", chip) for chip in self.sram_machines]
        for chip in self.rivals:
            is_newer = (chip.released or "")[:4] > today
            chips.append(("newer-hardware" if is_newer else "other-hardware", chip))
        return in_order(self.options((trick, chip.id, self.on(chip)) for trick, chip in chips))


def most_chips(today: Outcome) -> int:
    """Return the largest number of today's chips to try."""
    return max(MORE * today.placement.layout.chips, link_domain(today.scenario.hardware))


def with_model(scenario: Scenario, model: Model) -> Scenario:
    """Replace the model of a scenario, using the new model's own formats."""
    return replace(scenario, model=model, weights=None, kv=None)


def family_of(name: str) -> str:
    """Return the leading letters that the names of a model family share.

    >>> family_of("glm-4.7"), family_of("qwen3-235b-a22b"), family_of("deepseek-r1")
    ('glm', 'qwen', 'deepseek')
    """
    letters = re.match(r"[a-z]+", name.lower())
    return letters[0] if letters else name


def readable(load: Callable[[str], Entry], names: list[str]) -> Iterator[Entry]:
    """Yield the entries with the given names, skipping invalid files."""
    for name in names:
        try:
            yield load(name)
        except InputError:
            continue
