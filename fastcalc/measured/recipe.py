"""Measured quantities as sums of passes: what a prediction and a fit have in common.

Every time that people publish is a sum of a few passes and a constant per request: a decode
step is one pass, a prefill as many as it has chunks, a served run some that decode and some
with prompts in them. Passes are counted once; an engine's parameters then price all of them
together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fastcalc.formulas.memory import largest_batch
from fastcalc.formulas.types import Array, Floats
from fastcalc.load import Load
from fastcalc.passes import Passes
from fastcalc.placement import Placement
from fastcalc.traffic import Speculation, Traffic

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
    parts : sequence of (Load, ndarray)
        Passes, and how many of each a point takes. [1]
    fronts : float
        Requests whose own overhead is inside. [1]
    tokens : ndarray
        Tokens of the whole group in that time; its share is 1 for a time. [1]
    batch : ndarray
        Sequences that decode together, of the whole group. [1]
    light : ndarray
        The time at the speed of light. [s]
    """

    parts: Sequence[tuple[Load, Floats]]
    fronts: float
    tokens: Floats
    batch: Floats
    light: Floats


class Maker(Protocol):
    """Makes the recipe of points of one kind on one placement."""

    def __call__(self, placement: Placement, columns: Columns) -> Recipe:
        """Return the recipe."""


def decode_step(placement: Placement, columns: Columns) -> Recipe:
    """Return one decode step at a known batch; its tokens are one of each sequence."""
    passes = _passes(placement, columns, columns.concurrency)
    batch = columns.concurrency
    parts = _decoding(passes, 1.0 / columns.kept)
    return Recipe(parts, 0.0, batch, batch, passes.light().seconds / columns.kept)


def prefill(placement: Placement, columns: Columns) -> Recipe:
    """Return prompts taken in at once, decoding nothing."""
    passes = _passes(placement, columns, columns.concurrency)
    load, pieces = _together(passes, columns)
    tokens = columns.concurrency * columns.prompt
    light = passes.light(tokens, decode=0.0 * columns.concurrency).seconds
    return Recipe([(load, pieces)], 0.0, tokens, columns.concurrency, light)


def static_batch(placement: Placement, columns: Columns) -> Recipe:
    """Return one batch, all prompts first, run to its end."""
    passes = _passes(placement, columns, columns.concurrency)
    load, pieces = _together(passes, columns)
    steps = (columns.output - 1.0) / columns.kept
    parts = [(load, pieces), *_decoding(passes, steps)]
    tokens = columns.concurrency * columns.output
    return Recipe(parts, 0.0, tokens, columns.concurrency, _light_run(passes, columns))


def closed_loop(placement: Placement, columns: Columns) -> Recipe:
    """Return requests replaced as they end; those that memory does not hold wait."""
    batch = np.minimum(columns.concurrency, _room(placement, columns))
    passes = _passes(placement, columns, batch)
    tokens, users = batch * columns.output, columns.concurrency
    return Recipe(_run(passes, columns), 0.0, tokens, users, _light_run(passes, columns))


def saturated(placement: Placement, columns: Columns) -> Recipe:
    """Return as many requests as memory and the engine's limit of sequences hold."""
    least = np.minimum(columns.concurrency, _room(placement, columns))
    made = closed_loop(placement, replace(columns, concurrency=least))
    roomy = replace(columns, concurrency=_most_by_light(placement, columns))
    passes = _passes(placement, roomy, roomy.concurrency)
    light = _light_run(passes, roomy) * least / roomy.concurrency
    return Recipe(made.parts, 0.0, made.tokens, least, light)


def latency_limited(placement: Placement, columns: Columns) -> Recipe:
    """Return the same under limits on the 99th percentile."""
    made = saturated(placement, columns)
    tokens = made.tokens * LATENCY_LIMITED_SHARE
    return Recipe(made.parts, 0.0, tokens, made.batch, made.light * LATENCY_LIMITED_SHARE)


def first_token(placement: Placement, columns: Columns) -> Recipe:
    """Return the time to the first token of a request that joins the others.

    Requests beyond what memory holds wait for a place: so many runs of the others.
    """
    batch = np.minimum(columns.concurrency, _room(placement, columns))
    passes = _passes(placement, columns, batch)
    wait = np.where(batch > 1.0, 0.5, 0.0)
    turns = columns.concurrency / batch - 1.0
    queue = [(load, times * turns) for load, times in _run(passes, columns)]
    parts = [*_decoding(passes, wait), (passes.first_load(), passes.chunks), *queue]
    light = passes.light(columns.prompt, decode=0.0 * batch).seconds
    return Recipe(parts, 1.0, columns.prompt, batch, light)


def token_in_traffic(placement: Placement, columns: Columns) -> Recipe:
    """Return the mean time between tokens while the others' prompts come between."""
    batch = np.minimum(columns.concurrency, _room(placement, columns))
    passes = _passes(placement, columns, batch)
    lumps = _lumps(passes, columns) * (passes.streams - 1.0) / passes.streams
    parts = [(load, times / columns.output) for load, times in _mixing(passes, columns, lumps)]
    return Recipe(parts, 0.0, batch, batch, passes.light().seconds / columns.kept)


RATES: dict[str, Maker] = {
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


def _passes(placement: Placement, columns: Columns, batch: Floats) -> Passes:
    drafts = Speculation(columns.kept, columns.drafted)
    traffic = Traffic(columns.prompt, columns.output, columns.context, speculation=drafts)
    return Passes(placement, traffic, batch)


def _together(passes: Passes, columns: Columns) -> tuple[Load, Floats]:
    """Return a chunk of all prompts taken in at once, and how many there are."""
    replicas = passes.placement.layout.dp
    tokens = np.maximum(columns.concurrency / replicas, 1.0) * columns.prompt
    pieces = np.ceil(tokens / np.minimum(passes.machine.software.prompt_chunk, tokens))
    return passes.prefill_load(tokens / pieces), pieces


def _run(passes: Passes, columns: Columns) -> list[tuple[Load, Floats]]:
    """Return the passes in which a batch of requests is served, prompts inside."""
    return _mixing(passes, columns, _lumps(passes, columns))


def _lumps(passes: Passes, columns: Columns) -> Floats:
    """Return the passes with prompts in them while a batch of requests is served. [1]"""
    return np.asarray(passes.streams * columns.prompt / passes.lump, dtype=float)


def _mixing(passes: Passes, columns: Columns, lumps: Floats) -> list[tuple[Load, Floats]]:
    """Return the passes of one answer's length, some of them with prompts."""
    steps = columns.output / columns.kept
    (decode, _), *drafting = _decoding(passes, steps)
    return [(decode, steps - lumps), *drafting, (passes.mixed_load(), lumps)]


def _decoding(passes: Passes, steps: Floats) -> list[tuple[Load, Floats]]:
    """Return decode passes and what is drafted for them, a layer for each drafted token."""
    parts = [(passes.decode_load(), steps)]
    drafted = np.asarray(passes.traffic.speculation.drafted)
    if np.any(drafted):
        drafting = steps * drafted / passes.placement.work.depth
        parts.append((passes.decode_load(verified=1.0), drafting))
    return parts


def _light_run(passes: Passes, columns: Columns) -> Array:
    """Return the least time to serve a batch: each resource busy with its share of all work."""
    steps = columns.output / columns.kept
    decode = passes.light().work
    prompts = passes.light(passes.batch * columns.prompt, decode=0.0 * passes.batch).work
    return np.maximum(
        steps * decode.memory_time,
        np.maximum(
            steps * decode.compute_time + prompts.compute_time,
            steps * decode.link_time + prompts.link_time,
        ),
    )


def _room(placement: Placement, columns: Columns) -> Floats:
    """Return the sequences that memory and engine hold, output reserved; at least one."""
    layout = placement.layout
    tokens = columns.prompt + columns.output
    cache = placement.work.cache_bytes(tokens, ranks=layout.tp) * placement.stage_share
    per_replica = largest_batch(
        usable=placement.machine.usable_bytes,
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
