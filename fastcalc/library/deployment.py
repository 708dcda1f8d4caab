"""A model placed on chips, for repeated estimates."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.estimate import Estimate
from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.placement.placement import Placement
from fastcalc.core.step.pass_work import AttentionWork, attention_of
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.formulas.types import ArrayLike, floats
from fastcalc.kit.request.scenarios import scenarios
from fastcalc.library.compiled import (
    CompiledDeployment,
    CompiledPoint,
    compile_deployment,
    numbers_of,
)
from fastcalc.library.functions import request

_MOST = LIMITS["sequences"].maximum


class PlacedModel:
    """A model on a fixed number of chips, from which many predictions can be computed.

    The model is placed only once, so each estimate is fast. ``deployment.at(batch=8)`` returns an
    `Estimate` with one array element per batch: ``speed`` with ``low``, ``high`` and ``bound``
    [token/s per user], ``tpot`` and ``ttft`` [s], ``limiter`` and more, each computed when read.

    outcome : The result of `compare` at the first batch.
    """

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._cached_count = lru_cache(maxsize=256)(self._count)

    def __repr__(self) -> str:
        scenario, layout = self.outcome.scenario, self.outcome.placement.layout
        chips = f"{scenario.model.id} on {layout.chips} x {scenario.hardware.id}"
        return f"PlacedModel({', '.join(filter(None, [chips, str(layout)]))})"

    @property
    def chips(self) -> int:
        """The number of chips that the deployment uses."""
        return self.outcome.placement.layout.chips

    @property
    def max_batch(self) -> int:
        """The largest batch that fits if every sequence uses its full prompt and output."""
        return int(self.outcome.placement.max_batch)

    def at(
        self,
        batch: ArrayLike,
        *,
        prompt: float | None = None,
        output: float | None = None,
        context: float | None = None,
    ) -> Estimate:
        """Predict the speed, latency and price of the deployment at one or more batch sizes.

        Omitted lengths default to those of the deployment. Beyond `max_batch`, ``fits`` is False
        and the other values are meaningless.

        batch : The number of sequences that the whole deployment decodes together.
        prompt, output : Tokens per request.
        context : The mean context in decode; default: prompt + output / 2.

        Raises InputError if a batch or a length is out of range or not a number.
        """
        try:
            streams = floats(batch)
            lengths = [
                None if number is None else float(number) for number in (prompt, output, context)
            ]
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"batches and lengths are numbers: {error}") from error
        if not ((streams >= 1.0) & (streams <= _MOST)).all():
            raise InputError(f"a batch is a number of sequences {LIMITS['sequences']}")
        if not all(length is None or length in LIMITS["length"] for length in lengths):
            raise InputError(f"prompt, output and context are numbers of tokens {LIMITS['length']}")
        placed, traffic, attention = self._cached_count(*lengths)
        return Estimate(Schedule(placed, traffic, streams, attention))

    def compiled(self) -> CompiledDeployment:
        """Compile the deployment into a function of plain floats, for use in a loop.

        It is about 100 times as fast as `at` for single points, as simulators and optimizers need:
        ``fast = deployment.compiled()``, then ``fast(8, prompt=1000, output=300).tpot``. If it
        cannot be compiled, ``fast.refusal`` says why and every call computes as `at` does.
        """
        return compile_deployment(self.outcome, self._point, self._usd_per_hour)

    @property
    def _usd_per_hour(self) -> float | None:
        """The price per hour of use of the whole deployment, or None if it is unknown. [USD/h]"""
        price = self.outcome.usd_per_hour
        return None if price is None else price / self.outcome.scenario.pricing.utilization

    def _point(
        self,
        batch: float,
        prompt: float | None = None,
        output: float | None = None,
        context: float | None = None,
    ) -> CompiledPoint:
        estimate = self.at(batch, prompt=prompt, output=output, context=context)
        with np.errstate(divide="ignore", invalid="ignore"):  # an empty prompt has no price
            numbers = numbers_of(estimate, self._usd_per_hour)
        return CompiledPoint._make(np.ravel(number).item() for number in numbers)

    def _count(
        self, prompt: float | None, output: float | None, context: float | None
    ) -> tuple[Placement, Traffic, AttentionWork]:
        placed, traffic = self.outcome.placement, self.outcome.scenario.traffic
        if (prompt, output, context) != (None, None, None):
            prompt_tokens = traffic.prompt if prompt is None else prompt
            output_tokens = traffic.output if output is None else output
            mean = prompt_tokens + output_tokens / 2 if context is None else context
            traffic = replace(traffic, prompt=prompt_tokens, output=output_tokens, context=mean)
            placed = replace(placed, reserved_tokens=float(traffic.reserved_each))
        return placed, traffic, attention_of(placed, traffic)


def deployment(model: Any, *, on: Any, **flags: Any) -> PlacedModel:
    """Place a model on chips once, in order to compute many predictions quickly.

    It accepts the arguments of `compare`, and uses the fewest chips on which the batch fits
    (default: one sequence) unless ``chips`` or ranks are given.

    Raises InputError if the request is invalid or names several models or chips, or the batch does
    not fit; TypeError for an unknown argument.
    """
    try:
        stated = {name: flag for name, flag in flags.items() if flag is not None}
        compare_flags = request("compare", model, on=on, **{"batch": 1, **stated})
    except TypeError as error:
        raise TypeError(f"deployment() takes the arguments of compare(): {error}") from error
    requested = scenarios(compare_flags, [])
    if len(requested) != 1 or len(requested[0].batches) != 1:
        raise InputError("a deployment has one model, one chip type and one batch")
    outcome = solve(requested[0])
    if not outcome.fits:
        raise InputError(f"no layout of {requested[0].hardware.id} holds {requested[0].model.id}")
    return PlacedModel(outcome)
