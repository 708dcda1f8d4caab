"""Load the scenarios of requests. Texts are validated once, and files are loaded once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from fastcalc.catalogue.difference import changes
from fastcalc.catalogue.formats import is_read_by_llama_cpp
from fastcalc.catalogue.kinds import SCHEMAS, Kind
from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware, Model, Parameters
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS, STARTED_WITH
from fastcalc.catalogue.schema.hardware import Terms
from fastcalc.catalogue.selection import named, selected, single_names
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice, with_gpu_layers, with_usual_cores
from fastcalc.core.chip.machine import tier_position
from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.chip.tier import MemoryChoice, PlaceFor, own_tiers
from fastcalc.core.outcome import by_layout
from fastcalc.core.pricing import USD_PER_KWH, YEARS, PriceBasis, Pricing
from fastcalc.core.scenario import Scenario
from fastcalc.core.sharding import Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.importers.instances import printed_chip, stated_count
from fastcalc.kit.request import readers
from fastcalc.kit.request.draft_models import draft_model
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.fields import Request
from fastcalc.kit.request.groups import (
    EngineLimits,
    FormatsToTry,
    HostMemory,
    OwnFolders,
    ParallelRanks,
    Plugins,
    PrefixHits,
    PriceBasisOnly,
    Prices,
)
from fastcalc.kit.request.like import like
from fastcalc.kit.request.number_lists import numbers
from fastcalc.kit.request.readers import as_text
from fastcalc.kit.request.repositories import repository_model
from fastcalc.kit.request.speculate import speculation
from fastcalc.mentions import option
from fastcalc.written import ReadingNote, shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import ChipsGiven, EngineGiven, ModelGiven, WordsGiven

MOST_POINTS = 30_000
"""Maximum number of records in memory. Each needs about 11 kB, and 0.1 ms to write. [1]"""

DEFAULT_MODELS = ("llama-3.1-70b",)


def scenarios(request: Evaluated, notes: list[str]) -> list[Scenario]:
    """Build a scenario for each model on each chip, in the order typed.

    notes : list that receives notes on the scenarios
    """
    batches = numbers(request.batch, option("batch"), LIMITS["sequences"])
    traffic, entries = _traffic(request), catalogue(request)
    memory = replace(
        memory_of(entries, request), drafted=float(np.max(traffic.speculation.drafted))
    )
    models = models_of(entries, request.models, notes)
    drafts = [draft_model(entries, request.draft_model, model, notes) for model in models]
    chips = chips_of(entries, request.on, memory, notes)
    _check_points(len(models) * len(chips) * len(batches))
    pricing = pricing_of(chips, request, utilization=request.utilization)
    implied = (implied_engine(request, request.weights, [model]) for model in models)
    by_model = [engines_of(entries, chips, request.engine, implied=name) for name in implied]
    engines = list(chain.from_iterable(by_model))
    entries.refuse_idle_changes("engines", [engine for engine, _ in engines])
    check_longest(request, traffic.longest)
    if any(engine.program == "llama-cpp" for engine, _ in engines):
        _check_slots(memory, traffic.longest)
    sharding = _sharding(request)
    is_alone = all(chip.execution == "spatial" for chip in chips)
    compared = [
        Scenario(
            hardware=chip,
            model=model,
            engine=engine,
            batches=batches,
            traffic=traffic,
            weights=request.weights,
            kv=request.kv,
            sharding=(placed := sharding.on(chip, is_alone=is_alone)),
            ignores_ranks=sharding.cuts_layers and not placed.cuts_layers,
            pricing=pricing,
            engine_is_borrowed=is_borrowed,
            memory=_memory_under(engine, chip, model, replace(memory, draft=draft), entries),
        )
        for model, draft, of_chips in zip(models, drafts, by_model, strict=True)
        for chip, (engine, is_borrowed) in zip(chips, of_chips, strict=True)
    ]
    if request.like is not None:
        compared = like(request, request.like, entries, engines).applied(compared, notes)
    return by_layout(compared)


def _memory_under(
    engine: Engine, chip: Hardware, model: Model, memory: MemoryChoice, entries: Catalogue
) -> MemoryChoice:
    """Apply the user's memory settings to an engine. llama.cpp computes on the host.

    Raises InputError if the sequence length exceeds the model's, as vLLM and SGLang do by default.
    """
    longest = model.max_context
    if longest and memory.longest > longest and engine.program in ("vllm", "sglang"):
        raise InputError(
            f"{option('max_model_len')} {memory.longest:,.0f} exceeds the {longest:,} tokens that "
            f"{model.id} supports, and {engine.id} does not start with it; lower it, or raise "
            "max_context in a copy of the model's file, as rope scaling does"
        )
    if not memory.shares_layers:
        return with_usual_cores(memory, engine)
    if engine.program != "llama-cpp":
        flag = option("n_cpu_moe" if memory.gpu_layers is None else "n_gpu_layers")
        raise InputError(
            f"{flag} is a setting of llama.cpp, and {chip.id} runs {engine.id}: add "
            f"{option('engine', 'llama-cpp')}, or leave it out"
        )
    return with_usual_cores(with_gpu_layers(entries, chip, model, memory), engine)


def _check_points(points: int) -> None:
    if points > MOST_POINTS:
        raise InputError(
            f"{points:,} points (models x chips x batches) exceed {MOST_POINTS:,}; name "
            "fewer, or write them with 'fastcalc sweep', which keeps few of them in memory"
        )


def _sharding(request: Evaluated) -> Sharding:
    sharding = replace(ranks_of(request), chips=readers.ranks(request.chips, option("chips")))
    if sharding != Sharding():
        return sharding
    # The cards that the user owns, not as many as would fit the whole model.
    is_one = request.n_gpu_layers is not None or request.n_cpu_moe is not None
    return Sharding(chips=count_of_names(request) or (1 if is_one else None))


def ranks_of(request: ParallelRanks) -> Sharding:
    """Read the parallel ranks of a request. They determine the number of chips."""
    ranks_asked = {"tp": request.tp, "pp": request.pp, "ep": request.ep, "dp": request.dp}
    return Sharding(
        **{name: readers.ranks(ranks, option(name)) for name, ranks in ranks_asked.items()}
    )


def _traffic(request: Evaluated) -> Traffic:
    context = request.prompt + request.output / 2 if request.context is None else request.context
    hit = readers.share(request.prefix_hit, option("prefix_hit"), zero=True)
    drafts = speculation(request.speculate)
    return Traffic(float(request.prompt), float(request.output), float(context), hit, drafts)


def prices(request: Prices, entries: Catalogue) -> dict[str, float]:
    """Return the user's own prices by chip id, for any chip in the catalogue, in USD per hour."""
    pairs = readers.prices(request.price)
    return {entries.hardware(name).id: value for name, value in pairs}


def models_of(
    entries: Catalogue, names: Sequence["ModelGiven"] | None, notes: list[str]
) -> list[Model]:
    """Load the models that the user named, or the default one."""
    models: list[Model] = []
    given_names: list[list[str]] = []
    for name in names or DEFAULT_MODELS:
        named = repository_model(entries, name, notes)
        model = named or entries.model(name)
        if model not in models:
            models.append(model)
            given_names.append([])
        given_names[models.index(model)].append(as_text(name))
        notes += [] if named else reading_of(entries, name)
    entries.refuse_idle_changes("models", models)
    return [
        _asked_as(model, tuple(given)) for model, given in zip(models, given_names, strict=True)
    ]


def reading_of(entries: Catalogue, name: "ModelGiven | None") -> list[str]:
    """Describe how a model's configuration was read. Warnings appear on the first screen."""
    if name is None or not entries.is_configuration(name):
        return []
    model = entries.model(name)
    return [
        ReadingNote(f"{model.id}: {note}")
        if note.startswith("Warning: ")
        else f"{model.id}: {note}"
        for note in model.notes
    ]


_asked_as = once(Model.asked_as)


def _selected(entries: Catalogue, names: Sequence[Any], notes: list[str]) -> list[Hardware]:
    """Select chips by catalogue names, or by names used by drivers and clouds."""
    try:
        return selected(entries, names)
    except InputError:
        meant = [
            printed_chip(name, entries) or name if isinstance(name, str) else name for name in names
        ]
        if meant == list(names):
            raise
        for name, chip in zip(names, meant, strict=True):
            count = None if name == chip else stated_count(name)
            notes += [f"{name} means {f'{count:,} x ' if count else ''}{chip}"] * (name != chip)
        return selected(entries, meant)


def count_of_names(request: Request) -> int | None:
    """Return the chip count in the chip names, if all counts in them agree."""
    names = readers.names(request.values.get("on"), option("on"))
    counts = {stated_count(name) for name in names if isinstance(name, str)} - {None}
    return counts.pop() if len(counts) == 1 else None


def chips_of(
    entries: Catalogue,
    on: "ChipsGiven",
    memory: MemoryChoice,
    notes: list[str],
    also_changed: Sequence[Hardware] = (),
) -> list[Hardware]:
    """Select chips by name, pattern, vendor, ``all`` or ``rentable``.

    Chips without the memory named in ``--place`` are skipped with a note, if others have it.

    also_changed : additional chips to which a what-if may apply

    Raises InputError if a host is named, because a host is not a chip (chips may use its memory).
    """
    names = readers.names(on, option("on"))
    chips = _selected(entries, names, notes)
    for chip in chips:
        if chip.kind == "host":
            text = shown(as_text(single_names(entries, names)[chip.id]))
            raise InputError(
                f"{option('on')} {text}: this is a host; name a chip, and the host with "
                f"{option('host', text)}"
            )
    hosts = [memory.host] if memory.host else []
    entries.refuse_idle_changes("hardware", [*chips, *also_changed, *hosts])
    missing: dict[str, str] = {}
    for chip in chips:
        tiers = (*own_tiers(chip), *(own_tiers(memory.host) if memory.host else ()))
        try:
            for _, name in memory.place:
                tier_position(chip, tiers, name)
        except InputError as error:
            missing[chip.id] = error.sentence
    if len(missing) == len(chips):
        raise InputError(next(iter(missing.values())))
    notes += [f"{text}; it is skipped" for text in missing.values()]
    return [chip for chip in chips if chip.id not in missing]


def format_pairs(request: FormatsToTry) -> Iterator[tuple[str | None, str | None]]:
    """Yield each pair of weight and cache formats to try. None means the model's own format."""
    weights = readers.weights_if_any(request.weights) or (None,)
    caches = readers.caches_if_any(request.kv) or (None,)
    yield from product(weights, caches)


def names_typed(entries: Catalogue, on: "ChipsGiven") -> dict[str, str]:
    """Map the id of each individually selected chip to the text that the user typed."""
    names = single_names(entries, readers.names(on, option("on")))
    return {chip: as_text(name) for chip, name in names.items()}


def implied_engine(
    request: EngineLimits, weights: "WordsGiven | None", models: Sequence[Model]
) -> str | None:
    """Return the engine for a request that llama.cpp, the default, cannot run, or None otherwise.

    It is vLLM if limits with its names are set, or if no GGUF file exists in one of the formats.

    weights : requested formats, by default those of the models' checkpoints
    """
    limits = (*STARTED_WITH, "max_model_len", "language_model_only")
    if any(request.values[name] not in (None, False) for name in limits):
        return "vllm"
    asked = readers.weights_if_any(weights)
    formats = asked or [model.own_formats.text for model in models]
    is_read = partial(is_read_by_llama_cpp, as_published=not asked)
    if all(map(is_read, formats)):
        return None
    of_engine = (("exllama", "exl"), ("mlx", "mlx-"))
    alone = (
        engine for engine, start in of_engine if all(name.startswith(start) for name in formats)
    )
    return next(alone, "vllm")


def engines_of(
    entries: Catalogue,
    chips: list[Hardware],
    name: "EngineGiven | None",
    *,
    implied: str | None = None,
) -> list[tuple[Engine, bool]]:
    """Return the engine of each chip, with whether it is borrowed.

    implied : the engine from `implied_engine`, which GPUs or Macs run instead of llama.cpp
    """
    if name is not None:
        return [(entries.engine(name), False)] * len(chips)
    kinds = ("apple",) if implied == "mlx" else ("gpu", "soc")
    names = [
        (implied, False)
        if implied and usual == "llama-cpp" and chip.kind in kinds
        else (usual, is_borrowed)
        for chip, (usual, is_borrowed) in zip(chips, map(engine_of_class, chips), strict=True)
    ]
    engines = {engine: entries.engine(engine) for engine in dict(names)}
    return [(engines[engine], is_borrowed) for engine, is_borrowed in names]


def basis_of(request: PriceBasisOnly) -> Pricing:
    """Read the price basis: cloud prices and their terms, or ownership cost over several years."""
    basis = readers.choice(request.price_basis, option("price_basis"), get_args(PriceBasis))
    if request.offer is not None:
        readers.choice(request.offer, option("offer"), get_args(Terms))
        if basis == "tco":
            raise InputError(
                f"{option('offer', request.offer)} is for cloud prices, and "
                f"{option('price_basis', 'tco')} for ownership cost; remove one"
            )
    numbers = {"years": ("years", YEARS), "electricity": ("energy price", USD_PER_KWH)}
    for name, (dimension, usual) in numbers.items():
        if (value := request.values[name]) is not None:
            readers.number(value, option(name), LIMITS[dimension], usual)
            if basis == "cloud" and request.values.get("own") is None:
                raise InputError(
                    f"{option(name)} applies to owned chips; add {option('price_basis', 'tco')}"
                )
    return Pricing(
        cast(PriceBasis, basis),
        offer=cast(Terms | None, request.offer),
        years=YEARS if request.years is None else request.years,
        usd_per_kwh=USD_PER_KWH if request.electricity is None else request.electricity,
    )


def pricing_of(chips: list[Hardware], request: Prices, *, utilization: float) -> Pricing:
    """Build the chip-hour prices for the given chips."""
    fraction = readers.share(utilization, option("utilization"))
    usd_per_hour: dict[str, float] = {}
    for name, value in readers.prices(request.price):
        ids = [chip.id for chip in chips if name in (chip.id, *chip.aliases)]
        if not ids:
            compared = ", ".join(chip.id for chip in chips)
            raise InputError(
                f"{option('price')} names '{shown(name)}', which is not compared here; "
                f"{option('on')} has {compared}"
            )
        usd_per_hour[ids[0]] = value
    return replace(basis_of(request), utilization=fraction, user_prices=usd_per_hour)


def without_marketplaces(
    entries: Catalogue, on: "ChipsGiven", chips: list[Hardware], pricing: Pricing, notes: list[str]
) -> list[Hardware]:
    """Remove chips that are rented only on marketplaces, unless they were named, with a note."""
    chosen = named(entries, readers.names(on, option("on")))
    left_out = [
        chip.id for chip in chips if chip.id not in chosen and pricing.quote(chip).is_marketplace
    ]
    if not left_out or len(left_out) == len(chips):
        return chips
    notes.append(
        f"chips rented only on marketplaces are skipped: {', '.join(left_out)}; name them "
        f"with {option('on')}, or add {option('offer', 'marketplace')}"
    )
    return [chip for chip in chips if chip.id not in left_out]


def catalogue(request: OwnFolders) -> Catalogue:
    """Load the catalogue. The user's own folders take precedence over the shipped files."""
    limits: dict[str, float] = {}  # without those that have their defaults
    for field, names in STARTED_WITH.items() if isinstance(request, EngineLimits) else ():
        if (text := request.values[field]) is not None:
            limit = PARAMETERS[names[0]].reader.limit
            value = readers.number(text, option(field), limit, 256 if limit.is_whole else 0.9)
            limits |= dict.fromkeys(names, value)
    parameters = Parameters.model_validate(limits) if limits else None
    return Catalogue(folders_of(request), tuple(changes(request.set)), parameters)


def folders_of(request: Plugins) -> dict[Kind, tuple[Path, ...]]:
    """Return the additional folders of each type: the user's own, then those of plugins."""
    folders: dict[Kind, tuple[Path, ...]] = {
        dimension: tuple(request.values.get(f"{dimension}_dir") or ()) for dimension in SCHEMAS
    }
    if request.plugins is not None:
        from fastcalc.catalogue.plugins import plugin_folders

        brought = plugin_folders(tuple(readers.names(request.plugins, option("plugins"))))
        folders = {dimension: (*folders[dimension], *brought[dimension]) for dimension in folders}
    return folders


def check_longest(request: EngineLimits, tokens: float) -> None:
    """Reject requests longer than the engine's sequence length.

    tokens : final length of a sequence
    """
    if request.max_model_len is not None and tokens > request.max_model_len:
        raise InputError(
            f"{option('max_model_len')} {request.max_model_len:,} is less than the {tokens:,.0f} "
            f"tokens of a request; raise it, or lower {option('prompt')} or "
            f"{option('output')}"
        )


def _check_slots(memory: MemoryChoice, tokens: float) -> None:
    """Reject requests longer than the context that llama.cpp gives each slot.

    tokens : final length of a sequence
    """
    if memory.longest and memory.slots > 1.0 and tokens > memory.longest / memory.slots:
        raise InputError(
            f"{option('max_model_len')} {memory.longest:,.0f} (-c) gives each of "
            f"{memory.slots:,.0f} slots of llama.cpp {memory.longest // memory.slots:,.0f} tokens, "
            f"and a request has {tokens:,.0f}; raise it, or leave out {option('max_num_seqs')} "
            "(-np): slots then share it"
        )


def memory_of(entries: Catalogue, request: HostMemory) -> MemoryChoice:
    """Read the memory settings of a request."""
    goal = readers.choice(request.place_for, option("place_for"), get_args(PlaceFor))
    limits = request if isinstance(request, EngineLimits) else None
    tier = request.prefix_tier if isinstance(request, PrefixHits) else None
    memory = memory_choice(entries, request.host, request.host_use, request.place, tier)
    layers = {name: request.values.get(name) for name in ("n_gpu_layers", "n_cpu_moe")}
    for name, count in layers.items():
        if count is not None:
            readers.number(count, option(name), LIMITS["layers"], 20, zero=True)
    return replace(
        memory,
        place_for=cast(PlaceFor, goal),
        gpu_layers=layers["n_gpu_layers"],
        cpu_moe_layers=layers["n_cpu_moe"],
        longest=float(limits.max_model_len or 0.0) if limits else 0.0,
        slots=float(limits.max_num_seqs or 1) if limits else 1.0,
        language_model_only=limits is not None and limits.language_model_only,
    )
