"""Build the scenarios that a request compares: texts validated once, files loaded once."""

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import with_gpu_layers
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.outcome import by_layout
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.kit.request import readers
from fastcalc.kit.request.draft_models import draft_model
from fastcalc.kit.request.evaluation import Evaluated
from fastcalc.kit.request.groups import EngineLimits, ParallelRanks
from fastcalc.kit.request.like import like
from fastcalc.kit.request.number_lists import numbers
from fastcalc.kit.request.speculate import speculation
from fastcalc.mentions import option

if TYPE_CHECKING:
    pass
from fastcalc.kit.request.chips import chips_of, count_of_names
from fastcalc.kit.request.engines import engines_of, implied_engine
from fastcalc.kit.request.loading import catalogue, memory_of, models_of
from fastcalc.kit.request.pricing import pricing_of

MOST_POINTS = 30_000
"""Maximum number of records in memory. Each needs about 11 kB, and 0.1 ms to write."""


def scenarios(request: Evaluated, notes: list[str]) -> list[Scenario]:
    """Build a scenario for each model on each chip, in the order typed.

    notes : The list that receives notes on the scenarios.
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
    """Apply the user's memory settings to an engine.

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
        return memory
    if engine.program != "llama-cpp":
        flag = option("n_cpu_moe" if memory.gpu_layers is None else "n_gpu_layers")
        raise InputError(
            f"{flag} is a setting of llama.cpp, and {chip.id} runs {engine.id}: add "
            f"{option('engine', 'llama-cpp')}, or leave it out"
        )
    return with_gpu_layers(entries, chip, model, memory)


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


def check_longest(request: EngineLimits, tokens: float) -> None:
    """Reject requests longer than the engine's sequence length.

    tokens : The final length of a sequence.
    """
    if request.max_model_len is not None and tokens > request.max_model_len:
        raise InputError(
            f"{option('max_model_len')} {request.max_model_len:,} is less than the {tokens:,.0f} "
            f"tokens of a request; raise it, or lower {option('prompt')} or "
            f"{option('output')}"
        )


def _check_slots(memory: MemoryChoice, tokens: float) -> None:
    """Reject requests longer than the context that llama.cpp gives each slot.

    tokens : The final length of a sequence.
    """
    if memory.longest and memory.slots > 1.0 and tokens > memory.longest / memory.slots:
        raise InputError(
            f"{option('max_model_len')} {memory.longest:,.0f} (-c) gives each of "
            f"{memory.slots:,.0f} slots of llama.cpp {memory.longest // memory.slots:,.0f} tokens, "
            f"and a request has {tokens:,.0f}; raise it, or leave out {option('max_num_seqs')} "
            "(-np): slots then share it"
        )
