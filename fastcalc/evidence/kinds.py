"""Schedule, token count and bound for each type of measurement."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from fastcalc.core import timeline
from fastcalc.core.chip.tier import PlaceFor
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.timeline import Timeline
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.formulas.serving import run_over_steady
from fastcalc.formulas.types import Array, ArrayLike, Floats, Ints, floats

LATENCY_LIMITED_SHARE = 0.93
"""Throughput under p99 limits relative to saturated throughput: the median over 24 audited pairs on
the same machine, which range from 0.82 to 1.00 (MLPerf Inference v4.1,
https://github.com/mlcommons/inference_results_v4.1)."""


@dataclass(frozen=True)
class Columns:
    """The inputs of several measurements of one deployment, with one element each.

    concurrency : The concurrent sequences or requests on all chips, or infinity for unlimited.
    accepted, drafted : The tokens per step, and the draft tokens per step.
    requests : The requests in the whole run, or infinity if unknown.
    """

    concurrency: Floats
    prompt: Floats
    output: Floats
    context: Floats
    accepted: Floats
    drafted: Floats
    requests: Floats

    def at(self, places: Ints) -> "Columns":
        """Select the inputs for the measurements at the given indices."""
        return Columns(*(getattr(self, column.name)[places] for column in fields(self)))


@dataclass(frozen=True)
class Recipe:
    """Computes the time of a measurement as a sum of steps, with a lower bound, in seconds.

    tokens, batch : The tokens of all chips in that time, and the sequences decoded together.
    bound_of, bound_passes : The function that computes the bound from steps, and these steps.
    scaled : Converts that bound into the bound of the measurement.
    at_once : The sequences of a static batch that fit in memory at once; the others wait for the
        next wave.
    """

    timeline: Timeline
    tokens: Floats
    batch: Floats
    bound_of: Callable[[Schedule], Array]
    bound_passes: Schedule
    scaled: Callable[[Array], Array] = floats
    at_once: ArrayLike = np.inf

    @property
    def bound(self) -> Array:
        """The lower bound on the time of each measurement. [s]"""
        return self.scaled(self.bound_of(self.bound_passes))

    @property
    def is_bound_of_same_steps(self) -> bool:
        """Whether the bound is that of the steps in the timeline."""
        return self.bound_passes is self.timeline.passes

    @property
    def kind(self) -> tuple[object, ...]:
        """The types of steps in the sum, with the function of the bound and its steps."""
        names = (name for name, _ in self.timeline.counts)
        return *names, self.bound_of, self.is_bound_of_same_steps

    @cached_property
    def seconds(self) -> Array:
        """The expected times with the parameters in engine files, used to choose a layout. [s]"""
        passes = self.timeline.passes
        terms = (times * passes.expected(work).seconds for work, times in self.timeline.works())
        return self.timeline.overhead + sum(terms)


def decode_step(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe a decode step at a known batch, with one token per sequence."""
    batch = columns.concurrency
    passes = _passes(placement, columns, batch, "decode")
    return Recipe(timeline.token(passes), batch, batch, _bound_token, passes)


def prefill(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe prefill of concurrent prompts, without decode."""
    batch = columns.concurrency
    passes, tokens = _passes(placement, columns, batch), batch * columns.prompt
    return Recipe(timeline.prefill(passes), tokens, batch, _bound_prompts, passes)


def burst(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe the mean TTFT of requests that arrive at the same time."""
    batch = columns.concurrency
    passes = _passes(placement, columns, batch)
    first = timeline.first_token_of_burst(passes)
    return Recipe(first, columns.prompt, batch, _bound_prompt, passes)


def static_batch(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe a batch run to completion, all prompts first, in equal waves that fit in memory.

    A reported batch evidently ran, so it runs in a single wave if it fits in the full memory,
    regardless of the engine's reserve.
    """
    batch, software = columns.concurrency, placement.machine.software
    everything = replace(software, memory_fraction=1.0, cache_fraction=1.0)
    roomy = replace(placement, machine=replace(placement.machine, software=everything))
    at_once = np.where(
        batch <= _sequences_held(roomy, columns), batch, _sequences_held(placement, columns)
    )
    waves = np.ceil(batch / np.maximum(at_once, 1.0))
    run = timeline.static_run(_passes(placement, columns, batch / waves))
    counts = tuple((name, count * waves) for name, count in run.counts)
    run, tokens = replace(run, counts=counts), batch * columns.output
    together = _passes(placement, columns, batch)
    return Recipe(run, tokens, batch, _bound_run, together, at_once=at_once)


def closed_loop(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe a closed loop, in which requests that do not fit in memory have to wait."""
    batch = np.minimum(columns.concurrency, room(placement, columns))
    passes, tokens = _passes(placement, columns, batch), batch * columns.output
    run = timeline.served_run(passes)
    longer = run_over_steady(concurrency=batch, requests=columns.requests)
    counts = tuple((name, count * longer) for name, count in run.counts)
    run = replace(run, counts=counts)
    return Recipe(run, tokens, columns.concurrency, _bound_run, passes)


def saturated(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe a saturated load, with as many requests as memory and engine permit."""
    batch = np.minimum(columns.concurrency, room(placement, columns))
    endless = replace(columns, concurrency=batch, requests=np.full(batch.shape, np.inf))
    recipe = closed_loop(placement, endless)
    work, chips = placement.work, placement.layout.chips
    capacity = sum(chips * tier.capacity * tier.share(chips) for tier in placement.machine.tiers)
    cache = np.maximum(work.cache_bytes(columns.context), 1e-9)
    batch_limit = floats(np.maximum((capacity - work.weight_bytes) / cache, 1.0))
    return replace(
        recipe,
        batch=batch,
        bound_passes=_passes(placement, columns, batch_limit),
        scaled=lambda seconds: seconds * batch / batch_limit,
    )


def latency_limited(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe a saturated load with limits on 99th-percentile latency."""
    recipe, fraction = saturated(placement, columns), LATENCY_LIMITED_SHARE
    return replace(
        recipe,
        tokens=recipe.tokens * fraction,
        scaled=lambda seconds: recipe.scaled(seconds) * fraction,
    )


def first_token(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe the TTFT of requests that may have to wait for a slot."""
    batch = np.minimum(columns.concurrency, room(placement, columns))
    passes = _passes(placement, columns, batch)
    until_first = timeline.first_token(passes, runs=columns.concurrency / batch - 1.0)
    return Recipe(until_first, columns.prompt, batch, _bound_prompt, passes)


def token_in_traffic(placement: AnyPlacement, columns: Columns) -> Recipe:
    """Describe the mean TPOT if prefill of other requests comes between tokens."""
    batch = np.minimum(columns.concurrency, room(placement, columns))
    passes = _passes(placement, columns, batch)
    return Recipe(timeline.token_in_traffic(passes), batch, batch, _bound_token, passes)


RATES: dict[str, Callable[[AnyPlacement, Columns], Recipe]] = {
    "decode": decode_step,
    "decode_batch1": decode_step,
    "prefill": prefill,
    "burst": burst,
    "static": static_batch,
    "e2e_concurrency": closed_loop,
    "e2e_saturated": saturated,
    "e2e_slo": latency_limited,
    "ttft": first_token,
    "tpot": token_in_traffic,
}


def _passes(
    placement: AnyPlacement, columns: Columns, batch: Floats, place_for: PlaceFor = "served"
) -> Schedule:
    drafts = Speculation(columns.accepted, columns.drafted)
    traffic = Traffic(columns.prompt, columns.output, columns.context, speculation=drafts)
    return Schedule(placement, traffic, batch, place_for=place_for)


def _bound_token(passes: Schedule) -> Array:
    return passes.bound().seconds / passes.traffic.speculation.tokens_per_pass


def _bound_prompts(passes: Schedule) -> Array:
    return passes.bound(passes.batch * passes.traffic.prompt, decode=0.0 * passes.batch).seconds


def _bound_prompt(passes: Schedule) -> Array:
    return passes.bound(passes.traffic.prompt, decode=0.0 * passes.batch).seconds


def _bound_run(passes: Schedule) -> Array:
    """Compute a lower bound on the time to serve a batch, with every resource fully utilized."""
    decode, batch = passes.bound().work, passes.batch
    prompts = passes.bound(batch * passes.traffic.computed_prompt, decode=0.0 * batch).work
    compute = passes.steps * decode.compute_time + prompts.compute_time
    link = passes.steps * decode.link_time + prompts.link_time
    return np.maximum(passes.steps * decode.memory_time, np.maximum(compute, link))


def room(placement: AnyPlacement, columns: Columns) -> Floats:
    """Count the sequences that fit within memory and engine limits, at least one."""
    engine_limit = placement.machine.max_sequences * placement.layout.dp
    return floats(np.maximum(np.minimum(_sequences_held(placement, columns), engine_limit), 1.0))


def _sequences_held(placement: AnyPlacement, columns: Columns) -> Floats:
    """Count the sequences that fit in memory together with their output.

    It is assumed that the measured server was configured so that the engine reserved little.
    """
    tokens = columns.prompt + columns.output
    return floats(replace(placement, reserved_tokens=tokens).held_beside(0.0))
