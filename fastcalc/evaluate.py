"""A placed workload and its traffic to an estimate, for every batch at once."""

from dataclasses import dataclass

import numpy as np

from fastcalc.catalogue.schema import SpeedRange
from fastcalc.formulas import money, serving
from fastcalc.formulas.pipeline import pipelined_step
from fastcalc.formulas.types import Array, ArrayLike, Floats
from fastcalc.light import bound_step, overlapped
from fastcalc.machine import cost
from fastcalc.placement import Placement
from fastcalc.step import (
    LIMITERS,
    Component,
    Rows,
    expected_step,
    largest,
    stage_hops,
)

SITE_FACTOR = 1.3
"""Power of a site over power of its machines (PUE): assumed, between 1.1 at the best sites and the
mean of about 1.5 that operators report to surveys."""


@dataclass(frozen=True)
class Traffic:
    """What requests look like.

    Attributes
    ----------
    prompt, output : float
        Tokens in and out of a request. [1]
    context : float
        Mean tokens a decoded token attends to. [1]
    prefix_hit : float
        Share of the prompt whose cache is already there. [1]
    """

    prompt: float
    output: float
    context: float
    prefix_hit: float = 0.0

    @property
    def computed_prompt(self) -> float:
        """Prompt tokens that must be computed; the last one always. [1]"""
        return max(self.prompt * (1.0 - self.prefix_hit), 1.0)

    @property
    def prompt_context(self) -> float:
        """Tokens that a computed prompt token attends to on average (causal). [1]"""
        return (2.0 * self.prompt - self.computed_prompt) / 2.0

    @property
    def spread(self) -> float:
        """How far the context goes below and above its mean while a request decodes. [1]"""
        return min(self.output / 2.0, self.context)

    @property
    def prompt_spread(self) -> float:
        """How far a computed prompt token's context goes below and above its mean. [1]"""
        return self.computed_prompt / 2.0

    @property
    def reserved(self) -> float:
        """Tokens for which a sequence's cache is reserved. [1]"""
        return max(self.prompt + self.output, self.context)


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a placement does, one element for each batch; rates are valid where ``fits``.

    Attributes
    ----------
    batch, fits : ndarray
        Sequences decoded together by the whole deployment, and whether memory holds them.
    speed, low, high, bound : ndarray
        Tokens a second for each user: expected, 80 % range, speed of light. [1/s]
    bound_memory, bound_compute : ndarray
        The bound by one term alone. [1/s]
    total, served : ndarray
        Output tokens a second of the deployment, decode alone and with prompts inside. [1/s]
    tpot, ttft, request : ndarray
        Time per output token, to the first token, and of a whole request. [s]
    limiter, bound_limiter : ndarray of str
        What takes most of the expected step, and which term is the bound.
    prompt_seconds, output_seconds : ndarray
        Machine time of a request's prompt and of its output in served traffic. [s]
    joules : ndarray
        Energy of an output token in served traffic; nan where no power is known. [J]
    """

    placement: Placement
    traffic: Traffic
    batch: Floats
    fits: Array
    speed: Floats
    low: Floats | None
    high: Floats | None
    bound: Floats
    bound_memory: Floats
    bound_compute: Floats
    total: Floats
    served: Floats
    tpot: Floats
    ttft: Floats
    request: Floats
    limiter: Array
    bound_limiter: Array
    prompt_seconds: Floats
    output_seconds: Floats
    joules: Floats

    def usd(self, usd_per_hour: float) -> tuple[Floats, Floats, Floats]:
        """Return dollars a million tokens of input, of output, and of both. [USD]

        Parameters
        ----------
        usd_per_hour : float
            Price of the whole deployment for an hour of use. [USD/h]
        """
        traffic = self.traffic
        return (
            money.usd_per_million(
                usd_per_hour=usd_per_hour, seconds=self.prompt_seconds, tokens=traffic.prompt
            ),
            money.usd_per_million(
                usd_per_hour=usd_per_hour, seconds=self.output_seconds, tokens=traffic.output
            ),
            money.usd_per_million(
                usd_per_hour=usd_per_hour,
                seconds=self.prompt_seconds + self.output_seconds,
                tokens=traffic.prompt + traffic.output,
            ),
        )


def evaluate(placement: Placement, *, batch: ArrayLike, traffic: Traffic) -> Estimate:
    """Return the estimate of a placement for every batch.

    Parameters
    ----------
    placement : Placement
        A workload on a layout.
    batch : array_like
        Sequences decoded together by the whole deployment, any shape. [1]
    traffic : Traffic
        What requests look like.

    Returns
    -------
    Estimate
        Arrays of the shape of ``batch``, at least one element.
    """
    batches = np.atleast_1d(np.asarray(batch, dtype=np.float64))
    clock = _Clock(placement, traffic, batches)
    bound = clock.bound(0.0)
    bound_tpot = overlapped(bound)
    expected, limiter = clock.tpot()
    # The bound is a bound: rounding, or an engine of all ones, must not step over it.
    tpot = np.maximum(expected, bound_tpot)
    ttft = clock.ttft(tpot)
    lump, mixed = clock.mixed()
    run = serving.run_time(
        batch=clock.streams,
        prompt=traffic.computed_prompt,
        output=traffic.output,
        lump=lump,
        decode_step=tpot,
        mixed_step=np.maximum(mixed, tpot),
    )
    speed, served = 1.0 / tpot, batches * traffic.output / run
    speed_range = _range(placement)
    power = placement.machine.hardware.power
    return Estimate(
        placement=placement,
        traffic=traffic,
        batch=batches,
        fits=batches <= placement.max_batch,
        speed=speed,
        low=speed / speed_range.below if speed_range else None,
        high=np.minimum(speed * speed_range.above, 1.0 / bound_tpot) if speed_range else None,
        bound=1.0 / bound_tpot,
        bound_memory=1.0 / np.asarray(bound.memory),
        bound_compute=1.0 / np.asarray(bound.compute),
        total=batches * speed,
        served=served,
        tpot=tpot,
        ttft=ttft,
        request=ttft + (traffic.output - 1.0) * tpot,
        limiter=np.take(np.array(LIMITERS), limiter),
        bound_limiter=np.take(np.array(LIMITERS), _argmax(bound)),
        prompt_seconds=(run - traffic.output * tpot) / batches,
        output_seconds=traffic.output * tpot / batches,
        joules=money.joules_per_token(
            power=placement.layout.chips * power.chip.si if power else np.nan,
            site_factor=SITE_FACTOR,
            tokens_per_s=served,
        ),
    )


def _argmax(bound: Component) -> Array:
    parts = np.broadcast_arrays(bound.memory, bound.compute, bound.link)
    return np.argmax(np.stack(parts), axis=0)


def _range(placement: Placement) -> SpeedRange | None:
    """Return the speed range for this class of chip and model, or None for the bound itself."""
    engine, hardware = placement.machine.engine, placement.machine.hardware
    if engine.ranges is None:
        return None
    if hardware.architecture not in engine.fitted_architectures:
        return engine.ranges.unseen
    fitted = engine.ranges.moe if placement.work.experts else engine.ranges.dense
    return fitted or engine.ranges.unseen


class _Clock:
    """Times of steps for every batch: an engine's, or the bound's where the engine is ideal."""

    def __init__(self, placement: Placement, traffic: Traffic, batch: Floats) -> None:
        self.placement, self.traffic, self.batch = placement, traffic, batch
        layout = placement.layout
        self.is_bound = placement.machine.engine.is_bound
        self.is_staged = not (self.is_bound or placement.machine.is_spatial)
        # Sequences that one pass decodes: one micro-batch of one replica; regions take them all.
        shared = layout.dp * layout.pp if self.is_staged else 1
        self.streams = np.maximum(batch / shared, 1.0)
        # Sequences of all replicas that meet in one copy of the experts, in one pass.
        copies = layout.pp * layout.width / layout.expert_shards
        self.together = np.maximum(batch / (copies if self.is_staged else 1), 1.0)

    def bound(self, prompt: ArrayLike, *, decode: ArrayLike | None = None) -> Component:
        """Return the speed of light of a step with some prompt tokens."""
        everyone = self.batch if decode is None else decode
        rows = Rows(
            decode=everyone,
            together=everyone,
            context=self.traffic.context,
            spread=self.traffic.spread,
            prompt=prompt,
            prompt_context=self.traffic.prompt_context,
            prompt_spread=self.traffic.prompt_spread,
        )
        place = self.placement
        return bound_step(place.machine, place.work, place.layout, rows)

    def tpot(self) -> tuple[Array, Array]:
        """Return the time between two tokens of a stream, and the index of its limiter."""
        if self.is_bound:
            bound = self.bound(0.0)
            return overlapped(bound), _argmax(bound)
        rows = Rows(self.streams, self.together, self.traffic.context, self.traffic.spread)
        place = self.placement
        step = expected_step(place.machine, place.work, place.layout, rows)
        hops = self._hops(self.streams)
        return self._through(step.seconds, self.streams), largest([*step.components, hops])

    def mixed(self) -> tuple[Array, Array]:
        """Return the prompt tokens of a step that has any, and the time of such a step."""
        traffic, chunk = self.traffic, self._chunk
        lump = serving.prompt_lump(
            batch=self.streams,
            prompt=traffic.computed_prompt,
            output=traffic.output,
            chunk=chunk,
        )
        replicas = self.placement.layout.dp
        return lump, self._step(self.streams, self.together, lump, replicas=replicas)

    def ttft(self, tpot: Array) -> Array:
        """Return the time to the first token of a request that joins the others."""
        traffic = self.traffic
        chunks = np.ceil(traffic.computed_prompt / self._chunk)
        others = np.maximum(self.streams - 1.0, 0.0)
        together = np.maximum(self.together - 1.0, 0.0)
        if self.is_bound:
            return overlapped(self.bound(traffic.computed_prompt, decode=0.0 * others))
        front = cost(self.placement.machine.parameters.request_overhead)
        wait = np.where(self.batch > 1.0, tpot / 2.0, 0.0)
        return (
            front + wait + chunks * self._step(others, together, traffic.computed_prompt / chunks)
        )

    @property
    def _chunk(self) -> float:
        chunk = self.placement.machine.parameters.prompt_chunk
        return chunk.si if chunk else self.traffic.computed_prompt

    def _step(
        self, decode: Array, together: Array, prompt: ArrayLike, replicas: float = 1.0
    ) -> Array:
        """Return the time of a step with prompt tokens in it."""
        if self.is_bound:
            return overlapped(self.bound(prompt, decode=decode))
        rows = Rows(
            decode=decode,
            together=together,
            context=self.traffic.context,
            spread=self.traffic.spread,
            prompt=prompt,
            prompt_context=self.traffic.prompt_context,
            prompt_spread=self.traffic.prompt_spread,
            prompt_replicas=replicas,
        )
        place = self.placement
        step = expected_step(place.machine, place.work, place.layout, rows)
        return self._through(step.seconds, decode + prompt)

    def _hops(self, tokens: Array) -> Component:
        """Return the hops between pipeline stages; a spatial step counts its own."""
        if not self.is_staged:
            return Component("stage hops")
        place = self.placement
        return stage_hops(place.machine, place.work, place.layout, tokens)

    def _through(self, pass_time: Array, tokens: Array) -> Array:
        """Return a pass through all stages, with the wait for other micro-batches."""
        if not self.is_staged:
            return pass_time
        layout = self.placement.layout
        return pipelined_step(
            pass_time=pass_time,
            hops=self._hops(tokens).seconds,
            stages=layout.pp,
            slowest=self.placement.stage_share,
            streams=np.maximum(self.batch / layout.dp, 1.0),
        )
