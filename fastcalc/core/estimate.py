"""Speed, latency and price of a placed workload, for all batches at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from fastcalc.catalogue.chip_defaults import completed
from fastcalc.catalogue.schema import Hardware
from fastcalc.core import timeline
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.core.ratios import Ranged
from fastcalc.core.speed_range import TO_LOW_END, speed_range
from fastcalc.core.step.bound import Bound
from fastcalc.core.step.component import LIMITERS, Step
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.timeline import Number, Timeline
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas import money
from fastcalc.formulas.types import Array, ArrayLike, Bools, Floats, Ints, floats, where

SITE_FACTOR = 1.3
"""The ratio of site power to machine power (PUE). The assumed value lies between 1.1, at the best
sites, and the mean of about 1.5 that operators report in surveys."""


def site_power(hardware: Hardware) -> float | None:
    """Estimate the power drawn per chip, including host, network and cooling, in watts.

    Use this for energy per token and for the electricity bill of owned chips. The result is None if
    no power is known.

    If the chip's file does not give this power, a default is used. If only the power of a whole box
    or node is published, it is divided by its chips and multiplied by `SITE_FACTOR`.
    """
    node, chips = hardware.node, hardware.node_chips
    if node and node.power and chips:
        return node.power.si / chips * SITE_FACTOR
    power = completed(hardware).power
    if power is None:
        return None
    return power.all_in.si if power.all_in else power.chip.si * SITE_FACTOR


# Values derived from a schedule. Stacks cache each of them by its function.
_LIMITER = attrgetter("decode.limiter")
_FITTED_SHARE = attrgetter("decode.fitted_share")
_BOUND_SECONDS = attrgetter("decode_bound.seconds")
_BOUND_MEMORY_SECONDS = attrgetter("decode_bound.work.memory_time")
_BOUND_COMPUTE_SECONDS = attrgetter("decode_bound.work.compute_time")
_BOUND_LIMITER = attrgetter("decode_bound.limiter")
_IN_TURN_AT_RANDOM = attrgetter("in_turn_at_random")

OF_TRAFFIC = (
    timeline.token,
    timeline.token_in_traffic,
    timeline.first_token,
    timeline.prompts_together,
    timeline.served_run,
    _IN_TURN_AT_RANDOM,
    _FITTED_SHARE,
    _BOUND_SECONDS,
)
"""The functions of steps that plans need: latency and throughput under load, with ranges."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """The predicted speed, latency and price of a model that has been placed on chips.

    Each property is an array with one element per batch size, and is computed when it is first
    accessed. Check `fits` first: where it is False, the other values are meaningless.

    passes : The engine steps of the placement under its traffic.
    slowness : The ratio of assumed to expected latency.
    """

    passes: Schedule
    slowness: ArrayLike = 1.0

    def slowed(self, deviations: float) -> "Estimate":
        """Return the estimate for a server that is slower than expected, to plan with a margin.

        deviations : The number of standard deviations, derived from the lower half of the range, or
            from the upper half if negative.
        """
        if not deviations:
            return self
        end = self.low if deviations > 0.0 else self.high
        if end is None:
            return self
        to_end = self.speed / end if deviations > 0.0 else end / self.speed
        return replace(self, slowness=to_end ** (deviations / TO_LOW_END))

    @property
    def placement(self) -> AnyPlacement:
        """The layout of the model on the chips, and what each memory tier stores."""
        return self.passes.placement

    @property
    def traffic(self) -> Traffic:
        """The prompt and output lengths, prefix-cache hits and speculative decoding settings."""
        return self.passes.traffic

    @property
    def batch(self) -> Floats:
        """The number of sequences that the whole deployment decodes at the same time."""
        return np.atleast_1d(self.passes.batch)

    @property
    def fits(self) -> Bools:
        """Whether the batch fits in memory and within the limits of the engine."""
        return self.batch <= self.placement.edge_max_batch

    @property
    def is_certain(self) -> Bools:
        """Whether the batch fits even if the engine reserves as much memory as it ever does."""
        return self.batch <= self.placement.max_batch

    @property
    def is_at_edge(self) -> Bools:
        """Whether the batch only fits if the engine reserves less memory than its maximum."""
        return self.fits & ~self.is_certain

    @property
    def step(self) -> Step:
        """The time of a decode step, broken down into its components."""
        return self.passes.decode

    def of_passes(self, count: Callable[[Schedule], Number]) -> Array:
        """Evaluate a function of the engine steps for each batch."""
        return np.atleast_1d(timeline.evaluated(count, self.passes))

    def _slowed_seconds(self, time: Callable[[Schedule], Timeline]) -> Floats:
        return floats(self.of_passes(time) * self.slowness)

    @property
    def limiter_index(self) -> Ints:
        """The index in `LIMITERS` of the resource that limits the decode step."""
        return self.of_passes(_LIMITER).astype(np.intp, copy=False)

    @property
    def limiter(self) -> npt.NDArray[np.str_]:
        """The resource that limits decode speed, for example ``memory`` or ``compute``."""
        return np.take(np.array(LIMITERS), self.limiter_index)

    @property
    def bound_pass(self) -> Bound:
        """The decode step on ideal hardware, from which the roofline bound is computed."""
        return self.passes.decode_bound

    @property
    def _kept(self) -> ArrayLike:
        return self.traffic.speculation.tokens_per_pass

    @cached_property
    def bound(self) -> Floats:
        """The roofline limit of decode speed per user, which no software can exceed. [token/s]"""
        return np.atleast_1d(1.0 / (self.of_passes(_BOUND_SECONDS) / self._kept))

    @property
    def bound_memory(self) -> Floats:
        """The roofline limit if only memory bandwidth mattered, in tokens per second."""
        return np.atleast_1d(self._kept / self.of_passes(_BOUND_MEMORY_SECONDS))

    @property
    def bound_compute(self) -> Floats:
        """The roofline limit if only compute mattered, in tokens per second."""
        return np.atleast_1d(self._kept / self.of_passes(_BOUND_COMPUTE_SECONDS))

    @property
    def bound_limiter(self) -> Ints:
        """The index in `LIMITERS` of the resource that sets the roofline limit."""
        return self.of_passes(_BOUND_LIMITER).astype(np.intp, copy=False)

    @property
    def bound_serial(self) -> Floats | None:
        """The bound if layers run in sequence, as on wafers, or None on other chips. [token/s]"""
        seconds = self.passes.serial_bound
        return None if seconds is None else np.atleast_1d(self._kept / seconds)

    @cached_property
    def tpot(self) -> Floats:
        """The time per output token (TPOT) when no prefill interferes, in seconds."""
        return self._slowed_seconds(timeline.token)

    @cached_property
    def tpot_in_traffic(self) -> Floats:
        """The TPOT that a client of a loaded server measures, including prefill, in seconds."""
        return self._slowed_seconds(timeline.token_in_traffic)

    @cached_property
    def ttft(self) -> Floats:
        """The time to first token (TTFT) of a request that does not have to queue, in seconds."""
        return self._slowed_seconds(timeline.first_token)

    @property
    def prompts_together(self) -> Floats:
        """The duration of a step in which each attention replica prefills a prompt, in seconds."""
        return self._slowed_seconds(timeline.prompts_together)

    @property
    def in_turn_at_random(self) -> Floats:
        """The ratio of prefill time with random arrivals to that with synchronized replicas."""
        return self.of_passes(_IN_TURN_AT_RANDOM)

    @property
    def request(self) -> Floats:
        """The end-to-end latency of a request that does not have to queue, in seconds."""
        return self.ttft + (np.asarray(self.traffic.output) - 1.0) * self.tpot

    @property
    def speed(self) -> Floats:
        """The expected decode speed that a single user sees (1 / TPOT), in tokens per second."""
        return 1.0 / self.tpot

    @cached_property
    def _range(self) -> tuple[ArrayLike, ArrayLike] | None:
        near, far = (
            speed_range(
                self.placement,
                fitted_share=self.of_passes(_FITTED_SHARE),
                is_offloaded=is_offloaded,
                streams=self.batch * self.traffic.speculation.verified,
            )
            for is_offloaded in (False, True)
        )
        if near is None or far is None:
            return None
        narrowed = timeline.token(self.passes).narrowed
        near, far = ((below**narrowed, above**narrowed) for below, above in (near, far))
        split = self.passes.split
        reads = np.asarray(False) if split is None else split.reads_host
        return where(reads, far[0], near[0]), where(reads, far[1], near[1])

    @property
    def low(self) -> Floats | None:
        """The lower end of the 80% range of the decode speed, or None if unknown. [token/s]"""
        return self.speed / self._range[0] if self._range else None

    @property
    def high(self) -> Floats | None:
        """The upper end of the 80% range of the decode speed, or None if unknown. [token/s]"""
        return np.minimum(self.speed * self._range[1], self.bound) if self._range else None

    @property
    def ranged_speed(self) -> Ranged:
        """The decode speed per user with its range, whose limits may be NaN. [token/s]"""
        none = np.full_like(self.speed, np.nan)
        low, high = (none if end is None else end for end in (self.low, self.high))
        return Ranged(self.speed, low, high)

    @property
    def total(self) -> Floats:
        """The output throughput of the whole deployment if it only decodes. [token/s]"""
        return self.batch * self.speed

    @cached_property
    def _run(self) -> Floats:
        return self._slowed_seconds(timeline.served_run)

    @cached_property
    def served(self) -> Floats:
        """The output throughput of a loaded server, which also has to prefill. [token/s]"""
        return floats(self.batch * self.traffic.output / self._run)

    @property
    def run(self) -> Floats:
        """The time that a loaded server needs to serve one batch of requests, in seconds."""
        return floats(self.batch * self.traffic.output / self.served)

    @property
    def prompt_seconds(self) -> Floats:
        """The machine time that the prefill of a request takes, which sets the input price. [s]"""
        return floats((self._run - self.traffic.output * self.tpot) / self.batch)

    @property
    def output_seconds(self) -> Floats:
        """The machine time that the decode of a request takes, which sets the output price. [s]"""
        return floats(self.traffic.output * self.tpot / self.batch)

    @property
    def joules(self) -> Floats:
        """The energy per output token of a loaded server, or NaN if the power is unknown. [J]"""
        watts = site_power(self.placement.machine.hardware)
        return floats(
            money.joules_per_token(
                power=np.nan if watts is None else self.placement.layout.chips * watts,
                site_factor=1.0,
                tokens_per_s=self.served,
            )
        )

    def usd_of_output(self, usd_per_hour: ArrayLike) -> Floats:
        """Compute the price per million output tokens, without prefill, in USD.

        usd_per_hour : The price of the whole deployment per hour of use, in USD per hour.
        """
        seconds = self.output_seconds
        return money.usd_per_million(
            usd_per_hour=usd_per_hour, seconds=seconds, tokens=self.traffic.output
        )

    def usd(self, usd_per_hour: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Compute the price per million input, output and total tokens, in USD.

        usd_per_hour : The price of the whole deployment per hour of use, in USD per hour.
        """
        traffic, prompt, output = self.traffic, self.prompt_seconds, self.output_seconds
        return (
            money.usd_per_million(usd_per_hour=usd_per_hour, seconds=prompt, tokens=traffic.prompt),
            self.usd_of_output(usd_per_hour),
            money.usd_per_million(
                usd_per_hour=usd_per_hour,
                seconds=prompt + output,
                tokens=traffic.prompt + traffic.output,
            ),
        )


def evaluate(placement: AnyPlacement, *, batch: ArrayLike, traffic: Traffic) -> Estimate:
    """Predict the speed, latency and price of a placed model for each batch size.

    batch : The number of sequences decoded concurrently by the whole deployment, in any shape.

    Returns
    -------
    Estimate
        Arrays of the shape of ``batch``, with at least one element.
    """
    return Estimate(Schedule(placement, traffic, floats(batch)))
