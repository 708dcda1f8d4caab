"""Placement and evaluation of scenarios, one at a time or many at once, with notes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import compress, groupby
from operator import itemgetter
from typing import TypeVar

import numpy as np

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.chip.host import WRITTEN
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.chosen_layouts import (
    Chosen,
    LayoutQuestion,
    choose_all,
    fewest_chips,
    open_layouts,
)
from fastcalc.core.defaults_used import default_notes
from fastcalc.core.entry_notes import (
    engine_notes,
    inherited_notes,
    instance_notes,
    limit_notes,
    model_notes,
    no_price_note,
    unpacking_notes,
)
from fastcalc.core.estimate import Estimate
from fastcalc.core.model.workload import published_base
from fastcalc.core.overflow import batch_without_host, overflow_note, overflows
from fastcalc.core.own_row_notes import own_notes
from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.placement.legal import domain_notes
from fastcalc.core.placement.placement import Placement, Site
from fastcalc.core.placement.practice import practice_notes
from fastcalc.core.placement.split import Split, memories_used
from fastcalc.core.scenario import Scenario, Sharding, check_traffic
from fastcalc.core.stacked import Evaluation, evaluate_all
from fastcalc.core.start_checks import start_notes
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.undetermined import batching_notes, undetermined_notes
from fastcalc.core.verdict import VERDICTS, edge_notes, verdicts
from fastcalc.errors import InputError
from fastcalc.formulas.types import ArrayLike, Floats
from fastcalc.mentions import option

Solved = TypeVar("Solved")


@dataclass(frozen=True, eq=False)
class Location:
    """A scenario with the number of chips and the layout that were chosen for it.

    scenario : The scenario as requested.
    site, placement : The possible layouts, and the placement on the chosen layout.
    is_default_layout : Whether the number of chips was chosen automatically.
    """

    scenario: Scenario
    site: Site
    placement: Placement
    is_default_layout: bool

    @property
    def on_its_layout(self) -> Scenario:
        """The scenario with its layout made explicit, so that its chips never change."""
        return replace(self.scenario, sharding=Sharding.of(self.placement.layout))

    @property
    def refused(self) -> str | None:
        """The reason why the engine cannot run these formats on this chip, if there is one."""
        return self.placement.refused

    @cached_property
    def split(self) -> Split | None:
        """The distribution of bytes over memories, or None if there is only one."""
        batches = np.array(self.scenario.batches, dtype=np.float64)
        return Schedule(self.placement, self.scenario.traffic, batches).split

    @property
    def where(self) -> str:
        """A phrase that names the memories that hold the model."""
        return self.placement.where(self.memories)

    @property
    def memories(self) -> str:
        """The memories used by at least one batch."""
        codes, names = memories_used(self.split, self.site.machine.tiers)
        return names[np.bitwise_or.reduce(np.atleast_1d(codes))]

    @property
    def fits(self) -> bool:
        """Whether the smallest batch size fits, even if only tightly."""
        return bool(self.placement.edge_max_batch >= min(self.scenario.batches))

    @property
    def is_stopped(self) -> bool:
        """Whether memory holds the smallest batch, but the engine does not start with it."""
        placement = self.placement
        held = placement.held_beside(1.0 / placement.machine.reserve.below)
        most = min(held, placement.engine_batch)
        return bool(self.refused or (not self.fits and most >= min(self.scenario.batches)))

    @property
    def verdict(self) -> str:
        """Whether the smallest batch size fits, fits tightly or does not fit (see `VERDICTS`)."""
        return VERDICTS[int(verdicts(self.placement, min(self.scenario.batches)))]

    @cached_property
    def min_chips(self) -> tuple[int | None, ...]:
        """The smallest number of chips that can hold each batch, or None if there is none.

        The search covers the usual layouts and the chosen layout.
        """
        batches = np.array(self.scenario.batches, dtype=float)
        fewest, here = fewest_chips(self.site, batches), self.placement.layout.chips
        if not (fewest <= here).all():
            holds = self.placement.max_batch >= batches
            fewest = np.fmin(fewest, np.where(holds, here, np.nan))
        return tuple(None if np.isnan(chips) else int(chips) for chips in fewest.tolist())

    @cached_property
    def roomiest(self) -> Placement:
        """The layout with the largest capacity on these chips, unless the user sets ranks."""
        if self.scenario.sharding.names_ranks or not self.placement.edge_batch:
            return self.placement
        layouts = open_layouts(self.site, self.placement.layout.chips)
        largest = np.broadcast_to(self.site.place_all(layouts).max_batch, (len(layouts),))
        if largest.max() <= self.placement.max_batch:
            return self.placement
        return self.site.place(layouts[int(largest.argmax())])

    @property
    def max_batch(self) -> int:
        """The largest batch that is sure to fit on these chips in their roomiest layout."""
        return int(self.roomiest.max_batch)

    @property
    def usd_per_hour(self) -> float | None:
        """The price of all rented chips per hour, including idle ones, in USD per hour."""
        chip = self.scenario.pricing.per_chip_hour(self.scenario.hardware)
        return None if chip is None else chip * self.placement.layout.chips


@dataclass(frozen=True, eq=False)
class Outcome(Location):
    """A scenario together with its predicted speed and price for every batch size."""

    estimate: Estimate

    @cached_property
    def usd(self) -> tuple[Floats, Floats, Floats] | None:
        """The price per million input, output and total tokens in USD, or None if unknown."""
        price = self.usd_per_hour
        if price is None:
            return None
        return self.estimate.usd(price / self.scenario.pricing.utilization)

    @cached_property
    def warnings(self) -> list[str]:
        """The notes that a user should read with this result, as sentences."""
        return self.row_warnings[-1]

    @property
    def row_warnings(self) -> tuple[list[str], ...]:
        """The notes for each batch size, for example that it only fits tightly."""
        host, over = self.scenario.memory.host, list[str]()
        if host is not None and overflows(self.estimate).any():
            over = [overflow_note(host.id, float(batch_without_host(self.placement)))]
        edge = edge_notes(self.site.machine) if self.estimate.is_at_edge.any() else []
        of_layout = layout_notes(self.site, self.placement.layout, self.scenario.sharding)
        all_notes = [*warnings_of(self), *of_layout]
        return all_notes, [*over, *all_notes], [*edge, *all_notes], [*edge, *over, *all_notes]


def site_of(scenario: Scenario, reserved_tokens: ArrayLike) -> Site:
    """Build the site of a scenario: a model on a chip type with all memory available to it.

    reserved_tokens : The number of tokens for which a sequence's cache is reserved.
    """
    work = scenario.work
    site_machine = machine(scenario.hardware, scenario.engine, work, scenario.memory)
    if isinstance(reserved_tokens, float):
        return _site(site_machine, work, reserved_tokens)
    return Site(site_machine, work, reserved_tokens)


_site = lru_cache(maxsize=256)(Site)  # caches its values for each layout and all batches


def locate(scenario: Scenario) -> Location:
    """Choose the number of chips and the layout for a scenario."""
    return _or_raise(locate_all([scenario]))[0]


def locate_each(scenarios: Iterable[Scenario]) -> list[Location]:
    """Place every batch of several scenarios separately, like `locate`."""
    alone = (
        replace(scenario, batches=(batch,)) for scenario in scenarios for batch in scenario.batches
    )
    return _or_raise(locate_all(alone))


def locate_all(scenarios: Iterable[Scenario]) -> list[Location | InputError]:
    """Place many scenarios like `locate`, returning an error for each one without a layout.

    All candidates for layouts that were not specified are evaluated together.
    """
    sites = [(scenario, _site_and_layout(scenario)) for scenario in scenarios]
    layouts = (site[1] for _, site in sites if not isinstance(site, InputError))
    chosen = iter(choose_all(layout for layout in layouts if isinstance(layout, LayoutQuestion)))
    located: list[Location | InputError] = []
    for scenario, site_or_error in sites:
        if isinstance(site_or_error, InputError):
            located.append(site_or_error)
            continue
        site, layout = site_or_error
        choice = next(chosen) if isinstance(layout, LayoutQuestion) else layout
        if isinstance(choice, LayoutError):
            located.append(choice)
            continue
        placement = site.place(choice.first if isinstance(choice, Chosen) else choice)
        is_default = scenario.sharding == Sharding()
        located.append(Location(scenario, site, placement, is_default))
    return located


def _site_and_layout(scenario: Scenario) -> tuple[Site, Layout | LayoutQuestion] | InputError:
    """Build the site of a scenario, with its layout or a question for the best layout.

    The layout is chosen for the smallest batch.
    """
    sharding, traffic = scenario.sharding, scenario.traffic
    try:
        site = site_of(scenario, traffic.reserved)
        check_traffic(scenario)
        if sharding.names_ranks:
            return site, sharding.layout(site)
    except InputError as error:
        return error
    smallest = np.array([float(min(scenario.batches))])
    return site, LayoutQuestion(site, sharding.chips, smallest, traffic)


def _or_raise(results: Sequence[Solved | InputError]) -> list[Solved]:
    for result in results:
        if isinstance(result, InputError):
            raise result
    return [result for result in results if not isinstance(result, InputError)]


def by_layout(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Split a scenario into runs of consecutive batches with the same layout.

    Each batch keeps the chips and layout that it would get alone. A scenario with explicit ranks is
    not split.
    """
    scenarios = list(scenarios)
    is_open = [
        len(scenario.batches) > 1 and not scenario.sharding.names_ranks for scenario in scenarios
    ]
    questions = (
        LayoutQuestion(
            site_of(scenario, scenario.traffic.reserved),
            scenario.sharding.chips,
            np.array(scenario.batches, dtype=float),
            scenario.traffic,
        )
        for scenario in compress(scenarios, is_open)
    )
    chosen = iter(choose_all(questions))
    split: list[Scenario] = []
    for scenario, has_choice in zip(scenarios, is_open, strict=True):
        if not has_choice:
            split.append(scenario)
            continue
        (layouts,) = _or_raise([next(chosen)])
        pairs = zip(scenario.batches, layouts.positions.tolist(), strict=True)
        runs = (list(run) for _, run in groupby(pairs, key=itemgetter(1)))
        split += [replace(scenario, batches=tuple(batch for batch, _ in run)) for run in runs]
    return split


def solve(scenario: Scenario) -> Outcome:
    """Predict the speed and price of a scenario."""
    return solve_all([scenario])[0]


def solve_all(scenarios: Iterable[Scenario]) -> list[Outcome]:
    """Predict many scenarios at once, which is faster than calling `solve` for each."""
    return _or_raise(solve_each(scenarios))


def solve_each(scenarios: Iterable[Scenario]) -> list[Outcome | InputError]:
    """Solve many scenarios, returning an error for each one without a layout."""
    located = locate_all(scenarios)
    outcomes = iter(
        evaluate_located(location for location in located if isinstance(location, Location))
    )
    return [
        location if isinstance(location, InputError) else next(outcomes) for location in located
    ]


def evaluate_located(locations: Iterable[Location]) -> list[Outcome]:
    """Evaluate scenarios that are already placed."""
    placed = list(locations)
    estimates = evaluate_all(
        Evaluation(
            location.placement,
            np.array(location.scenario.batches, dtype=np.float64),
            location.scenario.traffic,
        )
        for location in placed
    )
    return [
        Outcome(
            location.scenario,
            location.site,
            location.placement,
            location.is_default_layout,
            estimate,
        )
        for location, estimate in zip(placed, estimates, strict=True)
    ]


def layout_notes(site: Site, layout: Layout, sharding: Sharding) -> list[str]:
    """Return notes on a requested or chosen layout."""
    is_taken = sharding.chips is not None and not sharding.names_ranks
    practice = practice_notes(site, layout) if is_taken else []
    own = own_notes(site.machine, site.work, layout)
    ranks = [*site.mode_notes(layout), *site.rank_notes(layout)]
    refused = site.place(layout).refused
    starts = [refused] if refused else start_notes(site, layout)
    return [*ranks, *practice, *own, *starts]


def each_warning(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield the warnings of several outcomes without duplicates."""
    yield from dict.fromkeys(line for outcome in outcomes for line in outcome.warnings)


def chips_by_id(outcomes: Iterable[Outcome]) -> dict[str, Hardware]:
    """Collect the chip types of the outcomes by id, in order."""
    chips = (outcome.scenario.hardware for outcome in outcomes)
    return {chip.id: chip for chip in chips}


def warnings_of(outcome: Location) -> Iterator[str]:
    """Yield notes on a placed scenario that are independent of its layout, as sentences."""
    scenario = outcome.scenario
    hardware, engine, model = scenario.hardware, scenario.engine, scenario.model
    for entry in (hardware, model, engine):
        yield from entry.what_if.values()
    yield from inherited_notes(hardware, scenario.pricing)
    yield from instance_notes(hardware, scenario.pricing)
    yield from domain_notes(hardware)
    yield from _host_notes(hardware, scenario.memory)
    yield from engine_notes(hardware, engine, is_borrowed=scenario.engine_is_borrowed)
    if outcome.usd_per_hour is None:
        yield no_price_note(hardware, scenario.pricing)
    if scenario.ignores_ranks:
        yield (
            f"{hardware.id} pipelines whole layers: {option('tp')}, {option('ep')} and "
            f"{option('dp')} do not apply to it"
        )
    if engine.is_bound:
        yield f"{engine.id} overlaps prefill with decode where it can, so input may be free"
    if scenario.weights is not None and scenario.weights == published_base(model):
        yield (
            f"{scenario.weights} means the published formats of {model.id}, "
            f"{model.own_formats.text}; no checkpoint has all matrices in {scenario.weights}"
        )
    yield from default_notes(hardware, scenario.memory.host, outcome.placement, scenario.pricing)
    yield from undetermined_notes(outcome.placement.machine)
    if max(scenario.batches) > 1:
        yield from batching_notes(outcome.placement.machine)
    yield from (f"{entry.id} is hypothetical" for entry in (hardware, model) if entry.hypothetical)
    yield from model_notes(outcome.placement)
    yield from unpacking_notes(outcome.placement)
    yield from limit_notes(outcome.placement, max(scenario.batches))


def _host_notes(hardware: Hardware, memory: MemoryChoice) -> Iterator[str]:
    """Yield notes on assumptions about a host, and on a chip whose link limits the host's link."""
    host, chip_link = memory.host, hardware.links.fastest
    if host is None:
        return
    yield from host.what_if.values()
    yield from [memory.note] if memory.note else []
    tiers = host.memory if host.id == WRITTEN else ()
    if chip_link and any(tier.link and tier.link.si > chip_link.si for tier in tiers):
        yield f"the link to the host is limited to the {chip_link.text} of {hardware.id}'s own"
