"""``fastcalc plan``: the deployments that meet a service, the cheapest first."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from statistics import NormalDist
from typing import cast

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema import Hardware, Model
from fastcalc.catalogue.selection import selected
from fastcalc.commands import loading, next_commands
from fastcalc.commands.answer import Answer, CommandAnswer, later
from fastcalc.commands.like import like
from fastcalc.commands.people import people_of, solve_closed_loop
from fastcalc.core.chip.formats_run import four_bits
from fastcalc.core.load import ROOM_FOR_CHANCE
from fastcalc.core.scenario import Scenario, check_context
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.report import commands, plan_table
from fastcalc.report import plan as report
from fastcalc.report.numbers_as_text import number, stated_percent
from fastcalc.report.servers.script import ENGINES, runs_on, script
from fastcalc.requests import means, readers
from fastcalc.requests.evaluation import Compare
from fastcalc.requests.fields import settings
from fastcalc.requests.readers import as_text
from fastcalc.requests.search import FindPlans
from fastcalc.requests.speculate import speculations
from fastcalc.search.plan.candidates import candidates, deployments
from fastcalc.search.plan.cheapest_plans import decide_surely
from fastcalc.search.plan.decision import Decision, Plan
from fastcalc.search.plan.pools import can_be_apart
from fastcalc.search.plan.service import Objective, Service
from fastcalc.search.plan.tariff import Tariff
from fastcalc.search.plan.verdict import Verdict
from fastcalc.search.sweep.grid import Grid
from fastcalc.written import many, shown

DEFAULT_PERCENTILE = 99.0
"""Percent of the requests that are to meet their limits, where nothing else is asked."""


def run(request: FindPlans) -> Answer:
    """Return the cheapest deployments that meet a service; the answer is no if none does."""
    readers.number(request.top, option("top"), LIMITS["sequences"], 5)
    _refuse_together(request)
    if request.traffic is not None:
        from fastcalc.commands import plan_classes

        return plan_classes.run(request)
    if is_of_fleet(request):
        from fastcalc.commands import plan_fleet

        return plan_fleet.run(request)
    notes: list[str] = []
    service = service_of(request, notes)
    grids, people = grids_of(request, service, notes), people_of(request)
    taking = _taking_in(request, service, notes)

    def decide_at(rate: float | None) -> Decision:
        at_rate = replace(service, rate=rate)
        return decide_surely(grids, at_rate, shown=request.top, taking=taking)

    decision = (
        solve_closed_loop(people, decide_at, _first_seconds) if people else decide_at(service.rate)
    )
    service, typed = decision.service, typed_of(request)
    verdict = Verdict(
        decision, () if taking else grids, as_text(request.model), request.sensitivity
    )
    if not decision.plans:
        from fastcalc.commands import plan_infeasible

        return plan_infeasible.refused(request, grids, decision, notes)
    _refuse_without_range(decision)
    plans = decision.plans[: request.top]
    if request.emit is not None:
        return started(request, [(decision.plans[0], service)], notes)

    return CommandAnswer(
        lambda screen: plan_table.parts(
            verdict, request.top, phrase(request, service), typed, screen
        ),
        lambda: report.plan_records(plans, service, typed),
        lambda: (plan_table.columns(service), report.unrounded(plans, service, commands.Typed())),
        lambda: report.details(verdict, typed),
        reading=notes,
        drawn={"plan": later("charts.of_choices.plans", decision, request.top)},
    )


def _refuse_without_range(decision: Decision) -> None:
    chosen = decision.plans[0]
    if decision.service.deviations and chosen.replica.estimate.low is None:
        raise InputError(
            f"{option('confidence')} rests on ranges, and {chosen.scenario.engine.id} has none; "
            "leave it out"
        )


def started(request: FindPlans, plans: Sequence[tuple[Plan, Service]], notes: list[str]) -> Answer:
    """Return the script that starts the servers of some plans, which is the answer as text."""
    typed, name, program = typed_of(request), as_text(request.model), request.emit
    assert program is not None
    text = "\n".join(
        script(program, plan, service, name, report.commands_of(plan, typed))
        for plan, service in plans
    )
    return CommandAnswer(
        None,
        lambda: [
            record for pair in plans for record in report.plan_records([pair[0]], pair[1], typed)
        ],
        lambda: (
            plan_table.columns(plans[0][1]),
            [
                row
                for plan, service in plans
                for row in report.unrounded([plan], service, commands.Typed())
            ],
        ),
        lambda: {"servers": text},
        reading=notes,
        text=lambda _: text,
    )


def _refuse_together(request: FindPlans) -> None:
    """Refuse what is of requests that are alike for classes of a file."""
    if request.prompts_on is not None and (request.traffic or is_of_fleet(request)):
        raise InputError(
            f"{option('prompts_on')} is of requests that are alike, at a rate: give "
            f"{option('rate', '20/s')}, and leave out {option('traffic')} and {option('own')}"
        )
    for name in ("confidence", "sensitivity"):
        if request.traffic is not None and getattr(request, name):
            raise InputError(
                f"{option(name)} is of requests that are alike, and {option('traffic')} has "
                f"classes: leave one out, or give {option('prompt')} and {option('output')}"
            )
    if request.sensitivity and is_of_fleet(request):
        raise InputError(
            f"{option('sensitivity')} compares chips that are rented for a rate: leave out "
            f"{option('own')}, and give {option('rate', '20/s')}"
        )


def is_of_fleet(request: FindPlans) -> bool:
    """Return whether chips are owned, or a budget or a power is to carry what it can."""
    has_means = request.budget is not None or request.power is not None
    return request.own is not None or (request.rate is None and has_means)


def service_of(request: FindPlans, notes: list[str]) -> Service:
    """Return what a deployment is asked, for requests that are all alike."""
    tpot, is_speed = _seconds(request.tpot, option("tpot")), False
    if request.min_speed is not None:
        readers.number(request.min_speed, option("min_speed"), LIMITS["speed"], 50)
        is_speed, tpot = 1.0 / request.min_speed < tpot, min(tpot, 1.0 / request.min_speed)
    chips = readers.ranks(request.max_chips, option("max_chips"))
    share, load, flag = _share_in_time(request), request.load, option("load")
    if request.utilization is not None:
        load, flag = request.utilization, option("utilization")
        notes.append(
            f"plan {option('utilization')} is now {option('load')}, and goes in the next minor "
            "version"
        )
    if load is None:
        load = 1.0 if share is None else ROOM_FOR_CHANCE
    objective = readers.choice(request.objective, option("objective"), ("usd", "watts", "chips"))
    return Service(
        prompt=float(request.prompt),
        output=float(request.output),
        ttft=_seconds(request.ttft, option("ttft")),
        tpot=tpot,
        rate=readers.rate(request.rate),
        share=share,
        max_chips=inf if chips is None else chips,
        utilization=readers.share(load, flag),
        is_speed=is_speed,
        objective=cast(Objective, objective),
        prefix_hit=readers.share(request.prefix_hit, option("prefix_hit"), zero=True),
        any_weights=request.weights is not None,
        any_cache=request.kv is not None,
        in_nodes=readers.choice(request.by, option("by"), ("node", "chip")) == "node",
        budget=means.usd_a_month(request.budget) or inf,
        power=means.watts(request.power) or inf,
        tariff=Tariff(means.api_prices(request.api), means.grid_grams(request.grid)),
        deviations=NormalDist().inv_cdf(_percent(request.confidence, "confidence", 99, 90) / 100.0),
    )


def _share_in_time(request: FindPlans) -> float | None:
    """Return the share of requests that are to have their first token in time. [1]"""
    askers = (request.rate, request.people, request.traffic)
    arrives = any(asked is not None for asked in askers) or is_of_fleet(request)
    if request.percentile is None:
        is_even = request.load is not None or request.utilization is not None
        return DEFAULT_PERCENTILE / 100.0 if arrives and not is_even else None
    if request.ttft is None and not arrives:
        raise InputError(
            f"{option('percentile')} is of requests that meet {option('ttft')}, or that come at a "
            f"rate; give {option('ttft', '1s')} or {option('rate', '20/s')}"
        )
    return _percent(request.percentile, "percentile", 99.99, 99) / 100.0


def _percent(value: float | None, name: str, limit: float, example: int) -> float:
    """Return a percentage from 50, which it is where left out, to a most."""
    if value is not None and not 50 <= value <= limit:
        raise InputError(
            f"{option(name)} {value:g} is not from 50 to {limit:g}; write for example {example}"
        )
    return 50.0 if value is None else value


def _taking_in(request: FindPlans, service: Service, notes: list[str]) -> list[Grid]:
    """Return deployments of the other chips that may take in the prompts."""
    if request.prompts_on is None:
        return []
    flag = option("prompts_on")
    if service.rate is None and request.people is None:
        raise InputError(
            f"{flag} is for a rate, which says how many chips take in its prompts; add "
            f"{option('rate', '20/s')}"
        )
    of_prompts = replace(request, on=request.prompts_on, prompts_on=request.on, speculate=None)
    more_notes: list[str] = []
    grids = grids_of(of_prompts, service, more_notes)
    notes += [note for note in more_notes if note not in notes]
    if not any(can_be_apart(grid, replace(service, rate=service.rate or 1.0)) for grid in grids):
        raise InputError(
            f"{flag}: none of them can send caches of prompts: those that pipeline whole layers, "
            "and those whose link beyond their domain is unknown, take in their own alone"
        )
    return grids


def grids_of(request: FindPlans, service: Service, notes: list[str]) -> list[Grid]:
    """Return every deployment that the request leaves open."""
    entries = loading.catalogue(request)
    (model, *_) = loading.models_of(entries, [request.model], notes)
    tokens = service.prompt + service.output
    check_context(model, tokens, f"prompt + output = {tokens:,.0f} tokens")
    loading.check_longest(request, tokens)
    grids = (
        candidates(scenario, prompt=service.prompt, output=service.output)
        for scenario in scenarios_of(request, model, service.prefix_hit, notes)
    )
    return [grid for grid in grids if grid is not None]


def scenarios_of(
    request: FindPlans, model: Model, prefix_hit: float, notes: list[str]
) -> list[Scenario]:
    """Return a scenario for each chip, its formats and ways to draft ahead."""
    entries = loading.catalogue(request)
    memory = loading.memory_of(entries, request)
    prompts_on, flag = request.prompts_on, option("prompts_on")
    taking = [] if prompts_on is None else selected(entries, readers.names(prompts_on, flag))
    chips = loading.chips_of(entries, request.on, memory, notes, taking)
    pricing = loading.pricing_of([*chips, *taking], request, utilization=1.0)
    if request.objective == "usd":
        chips = loading.without_marketplaces(entries, request.on, chips, pricing, notes)
    if request.emit is not None:
        chips = _run_by(request, request.emit, chips, notes)
    engine = request.engine or (request.emit and ENGINES[request.emit])
    engines = loading.engines_of(entries, chips, engine)
    entries.refuse_idle_changes("engines", [engine for engine, _ in engines])
    choices = _formats(request, chips, notes)
    speculated = speculations(request.speculate)
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
            prefix_hit=prefix_hit,
        )
    ]
    if own is not None:
        notes += own.notes(scenarios)
    return scenarios


def _run_by(
    request: FindPlans, program: str, chips: list[Hardware], notes: list[str]
) -> list[Hardware]:
    """Return the chips that the program runs on whose command is to be written."""
    readers.choice(program, option("emit"), tuple(ENGINES))
    supported = [chip for chip in chips if runs_on(program, chip)]
    if not supported:
        raise InputError(
            f"{option('emit', program)} starts no server on {shown(as_text(request.on))}; name "
            f"chips that it runs on with {option('on', 'h100-sxm')}"
        )
    if len(supported) < len(chips):
        left_out = len(chips) - len(supported)
        notes.append(f"{program} does not run on {left_out} of {len(chips)} chips: left out")
    return supported


def _formats(
    request: FindPlans, chips: list[Hardware], notes: list[str]
) -> dict[str, dict[str, list[str] | None]]:
    """Return the weight and cache formats asked of each chip that has units for one of each."""
    weights = readers.names_if_any(request.weights, option("weights"))
    kv = readers.names_if_any(request.kv, option("kv"))
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
            f"fp4: {left_out} of {len(choices)} chips have no units for it, and are left out"
        )
    return runnable


def typed_of(request: FindPlans) -> commands.Typed:
    """Return what a command must repeat: files by the paths typed, and folders."""
    entries = loading.catalogue(request)
    names = {entries.model(request.model).id: as_text(request.model)}
    names |= loading.names_typed(entries, request.on)
    if request.prompts_on is not None:
        names |= loading.names_typed(entries, request.prompts_on)
    if engine := request.engine or (request.emit and ENGINES[request.emit]):
        names[entries.engine(engine).id] = as_text(engine)
    words = next_commands.repeated(request, Compare, commands.OF_A_POINT)
    return commands.Typed(names, words)


def _first_seconds(decision: Decision) -> float | None:
    """Return the time of a request on the first plan, None where there is none. [s]"""
    first = next(iter(decision.plans), None)
    return None if first is None else first.request_seconds(decision.service.output)


def phrase(request: FindPlans, service: Service) -> str:
    """Return what is asked, in words."""
    tokens = many(request.output, "token")
    cached = f" ({stated_percent(request.prefix_hit)} cached)" if request.prefix_hit else ""
    words = [
        f"{as_text(request.model)}, prompts of {request.prompt:,}{cached} and outputs of {tokens}"
    ]
    shown = ("prefix_hit", "price")  # above, and in the line of prices
    said = {each.name: each.phrase for each in settings(request) if each.name not in shown}
    if service.share and request.ttft:
        said["ttft"] = f"p{service.share * 100:g} {said['ttft']}"
    if request.people is not None:
        said["people"] = f"{said['people']} ({number(service.rate or 0.0)} requests/s)"
    return ", ".join([*words, *filter(None, said.values())])


def _in_full(formats: list[str] | None, chip: Hardware, *, cache: bool = False) -> list[str] | None:
    """Return formats with ``fp4`` as what the chip multiplies, left out where it cannot be."""
    if formats is None:
        return None
    four = four_bits(chip)
    if four is not None and cache and number_format(four).cache_bits is None:
        four = None
    names = (four if name == "fp4" else name for name in formats)
    return list(dict.fromkeys(name for name in names if name is not None))


def _seconds(text: str | None, flag: str) -> float:
    if text is None:
        return inf
    return readers.quantity(text, flag, "time", LIMITS["duration"], "25ms or 1s")
