"""Which timeline a kind of measurement states, for how many tokens, and its bound.

Passes are counted once; an engine's parameters then price those of all points together.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.core import timeline
from fastcalc.core.placement import Placement
from fastcalc.core.schedule import Schedule
from fastcalc.core.timeline import Timeline
from fastcalc.core.traffic import Speculation, Traffic
from fastcalc.formulas.memory import largest_batch
from fastcalc.formulas.types import Array, Floats

LATENCY_LIMITED_SHARE = 0.93
"""Throughput under p99 limits over saturated throughput: median of 24 audited pairs on the same
machine, 0.82 to 1.00 (MLPerf Inference v4.1, https://github.com/mlcommons/inference_results_v4.1)."""


@dataclass(frozen=True)
class Columns:
    """What some points of one deployment state, one element each.

    Attributes
    ----------
    concurrency : ndarray
        Sequences or requests at a time of the whole group; infinity for unlimited. [1]
    prompt, output, context : ndarray
        Tokens in, out, and attended to on average. [1]
    kept, drafted : ndarray
        Tokens that a pass yields, and that are drafted before it. [1]
    """

    concurrency: Floats
    prompt: Floats
    output: Floats
    context: Floats
    kept: Floats
    drafted: Floats


@dataclass(frozen=True)
class Recipe:
    """Times of some points as sums of passes.

    Attributes
    ----------
    timeline : Timeline
        The passes that a point takes.
    tokens : ndarray
        Tokens of the whole group in that time; its share is 1 for a time. [1]
    batch : ndarray
        Sequences that decode together, of the whole group. [1]
    light : ndarray
        The time at the bound. [s]
    """

    timeline: Timeline
    tokens: Floats
    batch: Floats
    light: Floats


def decode_step(placement: Placement, columns: Columns) -> Recipe:
    """Return one decode step at a known batch; its tokens are one of each sequence."""
    batch = columns.concurrency
    passes = _passes(placement, columns, batch)
    return Recipe(timeline.token(passes), batch, batch, _light_token(passes))


def prefill(placement: Placement, columns: Columns) -> Recipe:
    """Return prompts taken in at once, decoding nothing."""
    batch = columns.concurrency
    passes, tokens = _passes(placement, columns, batch), batch * columns.prompt
    light = passes.bound(tokens, decode=0.0 * batch).seconds
    return Recipe(timeline.prefill(passes), tokens, batch, light)


def static_batch(placement: Placement, columns: Columns) -> Recipe:
    """Return one batch, all prompts first, run to its end."""
    batch = columns.concurrency
    passes, tokens = _passes(placement, columns, batch), batch * columns.output
    return Recipe(timeline.static_run(passes), tokens, batch, _light_run(passes))


def closed_loop(placement: Placement, columns: Columns) -> Recipe:
    """Return requests replaced as they end; those that memory does not hold wait."""
    batch = np.minimum(columns.concurrency, _room(placement, columns))
    passes, tokens = _passes(placement, columns, batch), batch * columns.output
    run = timeline.served_run(passes)
    return Recipe(run, tokens, columns.concurrency, _light_run(passes))


def saturated(placement: Placement, columns: Columns) -> Recipe:
    """Return as many requests as memory and the engine's limit of sequences hold."""
    least = np.minimum(columns.concurrency, _room(placement, columns))
    made = closed_loop(placement, replace(columns, concurrency=least))
    roomy = _most_by_light(placement, columns)
    light = _light_run(_passes(placement, columns, roomy)) * least / roomy
    return replace(made, batch=least, light=light)


def latency_limited(placement: Placement, columns: Columns) -> Recipe:
    """Return the same under limits on the 99th percentile."""
    made, share = saturated(placement, columns), LATENCY_LIMITED_SHARE
    return replace(made, tokens=made.tokens * share, light=made.light * share)


def first_token(placement: Placement, columns: Columns) -> Recipe:
    """Return the time to the first token of a request that joins the others.

    Requests beyond what memory holds wait for a place: so many runs of the others.
    """
    batch = np.minimum(columns.concurrency, _room(placement, columns))
    passes = _passes(placement, columns, batch)
    made = timeline.first_token(passes, runs=columns.concurrency / batch - 1.0)
    light = passes.bound(columns.prompt, decode=0.0 * batch).seconds
    return Recipe(made, columns.prompt, batch, light)


def token_in_traffic(placement: Placement, columns: Columns) -> Recipe:
    """Return the mean time between tokens while the others' prompts come between."""
    batch = np.minimum(columns.concurrency, _room(placement, columns))
    passes = _passes(placement, columns, batch)
    return Recipe(timeline.token_in_traffic(passes), batch, batch, _light_token(passes))


RATES: dict[str, Callable[[Placement, Columns], Recipe]] = {
    "decode": decode_step,
    "decode_batch1": decode_step,
    "prefill": prefill,
    "static": static_batch,
    "e2e_concurrency": closed_loop,
    "e2e_saturated": saturated,
    "e2e_slo": latency_limited,
    "ttft": first_token,
    "tpot": token_in_traffic,
}
"""How to predict each kind of measurement."""


def _passes(placement: Placement, columns: Columns, batch: Floats) -> Schedule:
    drafts = Speculation(columns.kept, columns.drafted)
    traffic = Traffic(columns.prompt, columns.output, columns.context, speculation=drafts)
    return Schedule(placement, traffic, batch)


def _light_token(passes: Schedule) -> Array:
    """Return the least time per output token. [s]"""
    return passes.bound().seconds / passes.traffic.speculation.tokens_per_pass


def _light_run(passes: Schedule) -> Array:
    """Return the least time to serve a batch: each resource busy with its share of all work."""
    decode, batch = passes.bound().work, passes.batch
    prompts = passes.bound(batch * passes.traffic.computed_prompt, decode=0.0 * batch).work
    return np.maximum(
        passes.steps * decode.memory_time,
        np.maximum(
            passes.steps * decode.compute_time + prompts.compute_time,
            passes.steps * decode.link_time + prompts.link_time,
        ),
    )


def _room(placement: Placement, columns: Columns) -> Floats:
    """Return the sequences that memory and engine hold, output reserved; at least one."""
    layout = placement.layout
    tokens = columns.prompt + columns.output
    cache = placement.work.cache_bytes(tokens, ranks=layout.tp) * placement.stage_share
    per_replica = largest_batch(
        usable=sum(placement.machine.usable(layout.chips)),
        weights=placement.weights_per_chip,
        cache_per_sequence=cache,
    )
    most = np.minimum(per_replica, placement.machine.software.max_sequences)
    return np.asarray(np.maximum(most * layout.dp, 1.0), dtype=float)


def _most_by_light(placement: Placement, columns: Columns) -> Floats:
    """Return the sequences that all memory holds with nothing reserved that is not yet used."""
    work, chips = placement.work, placement.layout.chips
    capacity = chips * sum(tier.capacity.si for tier in placement.machine.hardware.memory)
    cache = work.cache_bytes(columns.context)
    most = (capacity - work.weight_bytes) / np.maximum(cache, 1e-9)
    return np.asarray(np.maximum(most, 1.0), dtype=float)
