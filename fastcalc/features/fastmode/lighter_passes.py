"""Techniques that reduce the work per token: lower precision and speculative decoding."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fastcalc.core.chip.formats_run import formats_run, narrower_caches
from fastcalc.core.model.workload import Workload, workload
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.features.fastmode.option import Option, in_order
from fastcalc.features.fastmode.start import Base
from fastcalc.formulas.speculation import acceptance_needed
from fastcalc.formulas.types import Floats
from fastcalc.grid.largest_batch import tokens_needed_per_pass
from fastcalc.written import many

PUBLISHED = {1: 1.92, 2: 2.58, 3: 2.82, 4: 2.99, 5: 3.01}
"""Tokens per step by number of draft tokens, for DeepSeek-R1 with its own multi-token-prediction
layer on eight B200, batch 1. Other models, draft models and texts differ."""

DRAFTED_BY = "deepseek-r1"
"""The model measured in this publication."""

PUBLISHED_BY = (
    'TensorRT-LLM, "Pushing Latency Boundaries: Optimizing DeepSeek-R1 Performance on NVIDIA B200 '
    'GPUs"'
)
"""The publication of these numbers."""

MOST_DRAFTS = 8  # largest number for which the required acceptance rate is reported


def fewer_bits(base: Base) -> list[Option]:
    """Try each narrower format of weights, KV cache or both on today's chip type."""
    options = base.options(
        ("fewer-bits", words, scenario) for words, scenario in narrower(base.scenario)
    )
    if options:
        return options
    return [Option("fewer-bits", "weights and cache", why_not="no narrower format runs here")]


def narrower(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    """Yield the names and scenarios of all narrower formats that chip and engine support."""
    engine, hardware = scenario.engine, scenario.hardware
    listed, today = formats_run(engine, hardware).weights, _workload(scenario).weight_bytes
    sizes = {name: _workload(replace(scenario, weights=name)).weight_bytes for name in listed}
    weights = [name for name, size in sizes.items() if size < today]
    caches = narrower_caches(engine, hardware, scenario.work.kv_format)
    for kv in caches:
        yield f"kv {kv}", replace(scenario, kv=kv)
    for name in weights:
        yield name, replace(scenario, weights=name)
        for kv in caches:
            yield f"{name}, kv {kv}", replace(scenario, weights=name, kv=kv)


def narrowest(scenario: Scenario) -> list[tuple[str, Scenario]]:
    """Change a scenario to the narrowest formats that chip and engine support, if narrower."""

    def size(named_scenario: tuple[str, Scenario]) -> tuple[float, float]:
        work = _workload(named_scenario[1])
        return work.weight_bytes, work.cache_bytes_per_token

    return sorted(narrower(scenario), key=size)[:1]


def _workload(scenario: Scenario) -> Workload:
    return workload(scenario.model, scenario.weights, scenario.kv)


def drafting(scenario: Scenario, drafts: int) -> tuple[str, Scenario]:
    """Add draft tokens to a scenario, with the tokens per step that were published."""
    speculation = Speculation(PUBLISHED[drafts], float(drafts))
    traffic = replace(scenario.traffic, speculation=speculation)
    drafted = replace(scenario, traffic=traffic, memory=scenario.memory.drafting(drafts))
    return many(drafts, "draft token"), drafted


def speculation(base: Base) -> Option:
    """Try speculative decoding with the published tokens per step, on today's chip type."""
    drafted = (drafting(base.scenario, drafts) for drafts in PUBLISHED)
    options = base.options(("speculation", words, scenario) for words, scenario in drafted)
    return in_order(options)[0]


def needed_drafts(base: Base) -> tuple[Floats, Floats, Floats]:
    """Compute the tokens per step and acceptance rate required for each number of draft tokens."""
    drafts = np.arange(1.0, MOST_DRAFTS + 1.0)
    tokens = tokens_needed_per_pass(base.today, drafts, base.speed)
    return drafts, tokens, acceptance_needed(yielded=tokens, drafted=drafts)
