"""Compile a deployment to a function of floats, for simulators, optimizers and loops."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan
from typing import Any, NamedTuple

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.estimate import Estimate
from fastcalc.core.outcome import Outcome
from fastcalc.core.step.component import LIMITERS
from fastcalc.core.step.pass_work import attention_of
from fastcalc.core.step.schedule import Schedule
from fastcalc.formulas.recorded import Plain, Recorded, UnrecordableError, function_of

_ARGUMENTS = ("batch", "prompt", "output", "context")
_SAME = 1e-12
_MOST = LIMITS["sequences"].maximum
_LENGTHS = LIMITS["length"]


class CompiledPoint(NamedTuple):
    """The prediction for one batch size, as plain floats.

    speed, low, high, bound : The decode speed per user: expected, bounds of its 80% range, hardware
        bound; the range is nan if the engine states none [token/s] tpot, tpot_in_traffic : time per
        output token in decode only, and with prefill of other requests in between. [s]
    ttft : The time to first token of a request that joins a running batch, without queueing, in
        seconds.
    total, served : The output throughput of the deployment, in decode only and with prefill, in
        tokens per second.
    usd_input, usd_output, usd_total : The price per million tokens, or NaN without a price, in USD.
    joules : The energy per output token, or NaN if the power is unknown, in joules.
    limiter_index, bound_limiter_index : The indices in `LIMITERS`.
    fits : Whether memory and engine limits allow the batch.
    """

    speed: float
    low: float
    high: float
    bound: float
    tpot: float
    ttft: float
    tpot_in_traffic: float
    total: float
    served: float
    usd_input: float
    usd_output: float
    usd_total: float
    joules: float
    limiter_index: float
    bound_limiter_index: float
    fits: bool

    @property
    def limiter(self) -> str:
        """The resource that limits decode speed, for example ``memory`` or ``compute``."""
        return LIMITERS[int(self.limiter_index)]

    @property
    def bound_limiter(self) -> str:
        """The resource that sets the roofline limit."""
        return LIMITERS[int(self.bound_limiter_index)]


def numbers_of(estimate: Estimate, usd_per_hour: float | None) -> list[Any]:
    """Return the values of a `CompiledPoint` for an estimate of one batch, computed or recorded."""
    low, high = (nan if end is None else end for end in (estimate.low, estimate.high))
    usd = (nan, nan, nan) if usd_per_hour is None else estimate.usd(usd_per_hour)
    return [
        estimate.speed, low, high, estimate.bound, estimate.tpot, estimate.ttft,
        estimate.tpot_in_traffic, estimate.total, estimate.served, *usd, estimate.joules,
        estimate.limiter_index, estimate.bound_limiter, estimate.fits,
    ]  # fmt: skip


def record(outcome: Outcome, usd_per_hour: float | None, *, has_lengths: bool) -> Plain:
    """Record how a placement is evaluated, as a function of batch, prompt, output and context.

    has_lengths : Whether the three lengths are arguments; if not, they are fixed.

    Raises UnrecordableError if a formula branches on an argument.
    """
    batch, *lengths = (Recorded("argument", (name,)) for name in _ARGUMENTS)
    placed, traffic = outcome.placement, outcome.scenario.traffic
    if has_lengths:
        prompt, output, context = lengths
        stated: Any = {"prompt": prompt, "output": output, "context": context}
        traffic = replace(traffic, **stated)
        placed = replace(placed, reserved_tokens=traffic.reserved_each)
    streams: Any = batch
    estimate = Estimate(Schedule(placed, traffic, streams, attention_of(placed, traffic)))
    return function_of(numbers_of(estimate, usd_per_hour), _ARGUMENTS)


@dataclass(frozen=True, eq=False)
class CompiledDeployment:
    """A fast function of plain floats that predicts one deployment, for use in a loop.

    ``compiled(8, prompt=1000, output=300).ttft`` equals the value from ``deployment.at(...)`` to
    1e-12. Omitted lengths default to those of the deployment.

    refusal : Why calls fall back to the slower ``at``, or None if the deployment is compiled.
    """

    by_arrays: Callable[..., CompiledPoint]
    defaults: tuple[float, float]
    fixed: Plain | None
    free: Plain | None
    refusal: str | None

    def __call__(
        self,
        batch: float,
        prompt: float | None = None,
        output: float | None = None,
        context: float | None = None,
    ) -> CompiledPoint:
        """Estimate one batch. Raises InputError if an argument is out of range."""
        if self.free is None or self.fixed is None:
            return self.by_arrays(batch, prompt, output, context)
        try:
            if prompt is None and output is None and context is None:
                if 1.0 <= batch <= _MOST:
                    return CompiledPoint._make(self.fixed(float(batch), 0.0, 0.0, 0.0))
                return self.by_arrays(batch)
            prompt_tokens = self.defaults[0] if prompt is None else float(prompt)
            output_tokens = self.defaults[1] if output is None else float(output)
            mean = prompt_tokens + output_tokens / 2.0 if context is None else float(context)
            if (
                1.0 <= batch <= _MOST
                and prompt_tokens in _LENGTHS
                and output_tokens in _LENGTHS
                and mean in _LENGTHS
            ):
                return CompiledPoint._make(
                    self.free(float(batch), prompt_tokens, output_tokens, mean)
                )
        except (ArithmeticError, ValueError, TypeError):
            pass  # a division by zero or an overflow, which numpy handles
        return self.by_arrays(batch, prompt, output, context)


def compile_deployment(
    outcome: Outcome, by_arrays: Callable[..., CompiledPoint], usd_per_hour: float | None
) -> CompiledDeployment:
    """Compile a deployment to a function of plain floats, or record why it cannot be compiled.

    by_arrays : Evaluates a point with arrays, to check the compiled function against.
    """
    traffic = outcome.scenario.traffic
    defaults = (float(traffic.prompt), float(traffic.output))
    if outcome.estimate.passes.split is not None:
        refusal = f"{_subject(outcome)}: it uses several memories, and the placement is chosen"
        refusal += " anew at each point: it is computed by arrays, not compiled"
        return CompiledDeployment(by_arrays, defaults, None, None, refusal)
    try:
        fixed, free = (record(outcome, usd_per_hour, has_lengths=has) for has in (False, True))
    except (UnrecordableError, TypeError, ValueError, AttributeError) as error:
        refusal = f"{_subject(outcome)} takes {error}: it is computed by arrays, not compiled"
        return CompiledDeployment(by_arrays, defaults, None, None, refusal)
    compiled = CompiledDeployment(by_arrays, defaults, fixed, free, None)
    # One stream, a full batch, and short and long lengths.
    samples = [(1.0,), (64.0,), (1.0, *defaults), (7.0, 1.0, 1.0), (300.0, 30_000.0, 2_000.0)]
    pairs = ((compiled(*point), by_arrays(*point)) for point in samples)
    if all(np.allclose(*pair, rtol=_SAME, atol=0.0, equal_nan=True) for pair in pairs):
        return compiled
    refusal = f"{_subject(outcome)}: its record differs: it is computed by arrays, not compiled"
    return CompiledDeployment(by_arrays, defaults, None, None, refusal)


def _subject(outcome: Outcome) -> str:
    return f"{outcome.scenario.model.id} on {outcome.scenario.hardware.id}"
