"""The demand in a request: request classes, candidate deployments, and owned chips."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.schema import Hardware, Model
from fastcalc.catalogue.selection import selected
from fastcalc.core.chip.formats_run import four_bits
from fastcalc.core.placement.layout import LayoutError
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, check_context
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.errors import InputError
from fastcalc.features.plan import service_asked
from fastcalc.features.plan.allocation import OwnedChips
from fastcalc.features.plan.candidates import candidates, deployments
from fastcalc.features.plan.class_groups import Classes
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.pools import can_disaggregate
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.score import has_cost
from fastcalc.features.plan.servers.programs import PROGRAMS
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import is_of_fleet
from fastcalc.formulas.sequences import grouped
from fastcalc.grid.grid import Grid
from fastcalc.importers.instances import printed_chip
from fastcalc.importers.workloads import AskedTraffic, read_workload
from fastcalc.kit.answer import commands, next_commands
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.chips import chips_of, names_typed
from fastcalc.kit.request.draft_models import draft_model
from fastcalc.kit.request.engines import engines_of, implied_engine
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import differing
from fastcalc.kit.request.like import like
from fastcalc.kit.request.pricing import basis_of, pricing_of, without_marketplaces
from fastcalc.kit.request.readers import as_text
from fastcalc.kit.request.scenarios import check_longest, ranks_of
from fastcalc.kit.request.speculate import speculations
from fastcalc.mentions import option
from fastcalc.written import first_few, listed, shown

_NAMED = 6
"""Maximum number of chips that a note names. Above it, the note gives only their number."""


def traffic_of(request: FindPlans, service: Service) -> AskedTraffic:
    """Read the request classes in a workload file, or the single class that options describe."""
    if request.traffic is not None:
        for setting in differing(request):
            if setting.name in ("prompt", "output", "prefix_hit"):
                raise InputError(
                    f"{option('traffic')} and {option(setting.name)} both say what requests are; "
                    "give one"
                )
        traffic = read_workload(Path(request.traffic), ttft=service.ttft, tpot=service.tpot)
        for name in ("ttft", "tpot", "min_speed"):
            latency = "ttft" if name == "ttft" else "tpot"
            stated = [getattr(request_class, latency) for request_class in traffic.classes]
            if request.values[name] is not None and getattr(service, latency) not in stated:
                raise InputError(
                    f"{option(name)} is for classes without a limit, and all classes of "
                    f"{request.traffic} have one; leave it out"
                )
        return traffic
    lengths = Lengths.fixed(service.prompt, service.output)
    limits = {"ttft": service.ttft, "tpot": service.tpot}
    only = RequestClass("", 1.0, lengths, prefix_hit=service.prefix_hit, **limits)
    return AskedTraffic((only,), None, {})


def owned_counts(request: FindPlans) -> dict[str, int]:
    """Return the number of owned chips by id."""
    catalogue, counts = loading.catalogue(request), dict[str, int]()
    for name, count in _owned_chips(request):
        chip = catalogue.hardware(name)
        counts[chip.id] = counts.get(chip.id, 0) + count
    return counts


def _owned_chips(request: FindPlans) -> list[tuple[str, int]]:
    """Return the owned chips by catalogue name or file, with their number."""
    entries = loading.catalogue(request)
    owned = service_asked.owned_chips(request.own)
    return [(printed_chip(name, entries) or name, count) for name, count in owned]


def chip_prices(request: FindPlans, counts: dict[str, int]) -> dict[str, float]:
    """Read hourly prices by chip id. Only owned chips may cost 0, in USD per hour."""
    catalogue = loading.catalogue(request)
    priced = readers.prices(request.price, zero=True)
    prices = {catalogue.hardware(name).id: usd for name, usd in priced}
    for chip, usd in prices.items():
        if usd == 0.0 and chip not in counts:
            raise InputError(
                f"{option('price', f'{chip}=0')}: a price of 0 is one of chips that are owned; "
                f"write {option('own', f'{chip}=N')}, too"
            )
    return prices


@dataclass(frozen=True, eq=False)
class Deployments:
    """The deployments that a request leaves open for its request classes.

    service : The service level of the deployments, independent of the request class.
    notes : The list that receives notes on how chips and models were loaded.
    pricing : The pricing for all chips, if it differs from that of the request.
    """

    request: FindPlans
    service: Service
    notes: list[str]
    traffic: AskedTraffic
    pricing: Pricing | None = None
    _grids: dict[tuple[int, Classes], Grid | None] = field(default_factory=dict, repr=False)

    @cached_property
    def search(self) -> PoolSearch:
        """The search for pools among the deployments."""
        return PoolSearch(
            self.traffic.classes,
            self._grids_for,
            may_share=lambda classes: len({*map(self._model_name, classes)}) == 1,
            prefill_grids=self._prefill_grids(),
            shown=self.request.top,
        )

    def owned(self, chip: str, count: int, usd: float | None) -> OwnedChips:
        """Build owned chips, priced at their ownership cost or per hour."""
        entries = loading.catalogue(self.request)
        names = (name for name, _ in _owned_chips(self.request))
        typed = next(name for name in names if entries.hardware(name).id == chip)
        hardware = entries.hardware(typed)
        alone = replace(self.request, on=(typed,), price=None, prompts_on=None)
        of_chip = {} if usd is None else {chip: usd}
        terms = basis_of(self.request)
        pricing = replace(terms, basis="tco", offer=None, user_prices=of_chip)
        search = Deployments(alone, self.service, self.notes, self.traffic, pricing).search
        return OwnedChips(hardware, count, pricing.per_chip_hour(hardware), search)

    @cached_property
    def _scenarios(self) -> dict[str, list[Scenario]]:
        """The scenarios by model name."""
        entries = loading.catalogue(self.request)
        names = {self._model_name(request_class) for request_class in self.traffic.classes}
        scenarios = {}
        for name in sorted(names):
            (model, *_) = loading.models_of(entries, [name or self.request.model], self.notes)
            self._check(model, name)
            scenarios[name] = [
                replace(
                    scenario,
                    hardware=(self.pricing or scenario.pricing).as_rented(scenario.hardware),
                )
                for scenario in scenarios_of(self.request, model, self.notes)
            ]
        return scenarios

    def _model_name(self, request_class: RequestClass) -> str:
        return self.traffic.models.get(request_class.name, "")

    def _check(self, model: Model, name: str) -> None:
        for request_class in self.traffic.classes:
            if self._model_name(request_class) == name:
                longest = float((request_class.lengths.prompt + request_class.lengths.output).max())
                of_class = f" of '{request_class.name}'" if request_class.name else ""
                check_context(model, longest, f"prompt + output{of_class} = {longest:,.0f} tokens")
                check_longest(self.request, longest)

    def _grids_for(
        self, classes: Classes, service: Service, chips: frozenset[str] | None
    ) -> list[Grid]:
        """Build the grids of deployments for the classes of a service, on the given chips."""
        grids: list[Grid | None] = []
        refused: dict[str, LayoutError] = {}
        for scenario in self._scenarios[self._model_name(classes[0])]:
            if chips is None or scenario.hardware.id in chips:
                try:
                    grids.append(self._grid(scenario, classes, service))
                except LayoutError as error:
                    refused[scenario.hardware.id] = error
        if refused and not any(grid is None or grid.layouts for grid in grids):
            raise next(iter(refused.values()))
        held = [grid for grid in grids if grid is not None]
        in_other_formats = {grid.scenario.hardware.id for grid in held}
        skipped = [chip for chip in refused if chip not in in_other_formats]
        for rule, chips_skipped in grouped(skipped, lambda chip: refused[chip].rule).items():
            self.notes.append(f"skipped {listed(first_few(chips_skipped, _NAMED))}: {rule}")
        if not held and ranks_of(self.request).names_ranks:
            ranks = ", ".join(option(name) for name in ("tp", "pp", "ep", "dp"))
            self.notes.append(f"only one layout was asked for: leave out {ranks} to try others")
        return held

    @property
    def _may_fill_means(self) -> bool:
        """Whether chips are owned or resources limited, so that chips need no price to be used."""
        service, rate = self.service, self.service.rate or self.traffic.rate or self.request.users
        return (
            service.has_means
            or self.pricing is not None
            or (not rate and is_of_fleet(self.request))
        )

    def _grid(self, scenario: Scenario, classes: Classes, service: Service) -> Grid | None:
        key = (id(scenario), classes)
        if key not in self._grids:
            traffic = replace(scenario.traffic, prefix_hit=service.prefix_hit)
            priced = replace(scenario, traffic=traffic, pricing=self.pricing or scenario.pricing)
            # A chip with unknown cost never leads: it is listed by name, without layouts.
            is_laid_out = self._may_fill_means or has_cost(priced, self.service)
            self._grids[key] = candidates(
                priced,
                prompt=service.prompt,
                output=service.output,
                classes=service.classes,
                is_laid_out=is_laid_out,
            )
        return self._grids[key]

    def _prefill_grids(self) -> list[Grid]:
        """Build the grids of deployments on other chips for heterogeneous prefill."""
        request = self.request
        if request.prompts_on is None:
            return []
        swapped = replace(request, on=request.prompts_on, prompts_on=request.on, speculate=None)
        swapped = replace(swapped, tp=None, pp=None, ep=None, dp=None)  # of those that decode
        more_notes: list[str] = []
        prefill = Deployments(swapped, self.service, more_notes, self.traffic)
        classes, flag = self.traffic.classes, option("prompts_on")
        service = Service(1.0, 1.0).of_classes(classes, 1.0)
        grids = prefill._grids_for(classes, service, None)
        self.notes.extend(note for note in more_notes if note not in self.notes)
        if not any(can_disaggregate(grid, service) for grid in grids):
            raise InputError(
                f"{flag}: none of them can send caches of prompts: those that pipeline whole "
                "layers, and those whose link beyond their domain is unknown, prefill their own "
                "alone"
            )
        return grids


def scenarios_of(request: FindPlans, model: Model, notes: list[str]) -> list[Scenario]:
    """Build a scenario for each chip, its formats and its speculative decoding."""
    entries = loading.catalogue(request)
    draft = draft_model(entries, request.draft_model, model, notes)
    memory = replace(loading.memory_of(entries, request), draft=draft)
    prompts_on, flag = request.prompts_on, option("prompts_on")
    taking = [] if prompts_on is None else selected(entries, readers.names(prompts_on, flag))
    chips = chips_of(entries, request.on, memory, notes, taking)
    pricing = pricing_of([*chips, *taking], request, utilization=1.0)
    if request.objective == "usd":
        chips = without_marketplaces(entries, request.on, chips, pricing, notes)
    if request.emit is not None:
        chips = _run_by(request, request.emit, chips, notes)
    engine = request.engine or (request.emit and PROGRAMS[request.emit].engine)
    implied = implied_engine(request, request.weights, [model])
    engines = engines_of(entries, chips, engine, implied=implied)
    entries.refuse_idle_changes("engines", [engine for engine, _ in engines])
    choices, ranks = _formats(request, chips, notes), ranks_of(request)
    speculated = speculations(request.speculate, request.draft_model)
    own = like(request, request.like, entries, engines) if request.like is not None else None
    if own is not None:
        engines = [(own.engine(engine), is_borrowed) for engine, is_borrowed in engines]
    scenarios = [
        scenario
        for chip, engine in zip(chips, engines, strict=True)
        if chip.id in choices
        for scenario in deployments(
            model,
            [(chip, *engine)],
            **choices[chip.id],
            speculations=speculated,
            pricing=pricing,
            memory=memory,
            ranks=ranks.on(chip, is_alone=True),
        )
    ]
    if own is not None:
        notes += own.notes(scenarios)
    return scenarios


def _run_by(
    request: FindPlans, program: str, chips: list[Hardware], notes: list[str]
) -> list[Hardware]:
    """Select the chips supported by the engine whose start command is requested."""
    readers.choice(program, option("emit"), tuple(PROGRAMS))
    supported = [chip for chip in chips if PROGRAMS[program].runs_on(chip)]
    if not supported:
        raise InputError(
            f"{option('emit', program)} starts no server on {shown(as_text(request.on))}; name "
            f"chips that it runs on with {option('on', 'h100-sxm')}"
        )
    if len(supported) < len(chips):
        left_out = len(chips) - len(supported)
        notes.append(f"{program} does not run on {left_out} of {len(chips)} chips: skipped")
    return supported


def _formats(
    request: FindPlans, chips: list[Hardware], notes: list[str]
) -> dict[str, dict[str, list[str] | None]]:
    """Return the requested weight and cache formats for each chip that supports both."""
    weights = readers.weights_if_any(request.weights)
    kv = readers.caches_if_any(request.kv)
    choices = {
        chip.id: {"weights": _in_full(weights, chip), "kv": _in_full(kv, chip, cache=True)}
        for chip in chips
    }
    runnable = {chip: choice for chip, choice in choices.items() if [] not in choice.values()}
    if not runnable:
        has_weights = any(choice["weights"] != [] for choice in choices.values())
        flag = option("kv") if has_weights else option("weights")
        raise InputError(
            f"{flag} fp4: no chip of {option('on')} has units for that; name one that does, such "
            "as b200"
        )
    if len(runnable) < len(choices):
        left_out = len(choices) - len(runnable)
        notes.append(
            f"fp4: {left_out} of {len(choices)} chips have no units for it, and are skipped"
        )
    return runnable


def _in_full(
    formats: Sequence[str | None] | None, chip: Hardware, *, cache: bool = False
) -> list[str] | None:
    """Replace ``fp4`` with the chip's 4-bit format, or skip it if there is none."""
    if formats is None or None in formats:
        return None
    four = four_bits(chip)
    if four is not None and cache and number_format(four).cache_bits is None:
        four = None
    names = (four if name == "fp4" else name for name in formats)
    return list(dict.fromkeys(name for name in names if name is not None))


def typed_of(request: FindPlans) -> commands.Typed:
    """Collect the arguments that a command must repeat: files by the paths typed, and folders."""
    entries = loading.catalogue(request)
    (model,) = loading.models_of(entries, [request.model], [])
    names = {model.id: as_text(request.model)}
    names |= names_typed(entries, request.on)
    if request.prompts_on is not None:
        names |= names_typed(entries, request.prompts_on)
    if engine := request.engine or (request.emit and PROGRAMS[request.emit].engine):
        names[entries.engine(engine).id] = as_text(engine)
    words = next_commands.repeated(request, Evaluated, commands.OF_A_POINT)
    return commands.Typed(names, words)
