"""All deployments that the options of ``fastcalc plan`` leave open: chips, formats, engines."""

from collections.abc import Sequence
from dataclasses import replace

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.schema import Hardware, Model
from fastcalc.catalogue.selection import selected
from fastcalc.core.chip.formats_run import four_bits
from fastcalc.core.scenario import Scenario
from fastcalc.errors import InputError
from fastcalc.features.plan.candidates import deployments
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers.programs import PROGRAMS
from fastcalc.kit.answer import commands, next_commands
from fastcalc.kit.request import loading, readers
from fastcalc.kit.request.draft_models import draft_model
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.like import like
from fastcalc.kit.request.readers import as_text
from fastcalc.kit.request.speculate import speculations
from fastcalc.mentions import option
from fastcalc.written import shown


def scenarios_of(request: FindPlans, model: Model, notes: list[str]) -> list[Scenario]:
    """Build a scenario for each chip, its formats and its speculative decoding."""
    entries = loading.catalogue(request)
    draft = draft_model(entries, request.draft_model, model, notes)
    memory = replace(loading.memory_of(entries, request), draft=draft)
    prompts_on, flag = request.prompts_on, option("prompts_on")
    taking = [] if prompts_on is None else selected(entries, readers.names(prompts_on, flag))
    chips = loading.chips_of(entries, request.on, memory, notes, taking)
    pricing = loading.pricing_of([*chips, *taking], request, utilization=1.0)
    if request.objective == "usd":
        chips = loading.without_marketplaces(entries, request.on, chips, pricing, notes)
    if request.emit is not None:
        chips = _run_by(request, request.emit, chips, notes)
    engine = request.engine or (request.emit and PROGRAMS[request.emit].engine)
    implied = loading.implied_engine(request, request.weights, [model])
    engines = loading.engines_of(entries, chips, engine, implied=implied)
    entries.refuse_idle_changes("engines", [engine for engine, _ in engines])
    choices, ranks = _formats(request, chips, notes), loading.ranks_of(request)
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
    names |= loading.names_typed(entries, request.on)
    if request.prompts_on is not None:
        names |= loading.names_typed(entries, request.prompts_on)
    if engine := request.engine or (request.emit and PROGRAMS[request.emit].engine):
        names[entries.engine(engine).id] = as_text(engine)
    words = next_commands.repeated(request, Evaluated, commands.OF_A_POINT)
    return commands.Typed(names, words)
