"""The expected cost of speed uncertainty, and the measurement that reduces it most."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, exp, inf, log

import numpy as np

from fastcalc.core.own_rows import after_one_row
from fastcalc.core.speed_range import TO_LOW_END
from fastcalc.features.plan.cheapest_plans import decide_each
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.regret import expected_regret, regret_after
from fastcalc.formulas.types import Floats
from fastcalc.grid.grid import Grid

COMPARED = 3
"""Number of chips whose best plans are compared. Others are rarely the best."""

_DEVIATIONS = np.linspace(-2.4, 2.4, 9)
"""Standard deviations of a chip's speed at which the best plan is searched. Costs are steps between
them: regret is within a fifth of that with 49 of them."""

_WEIGHTS_A_SECOND = 0.75e9
"""Rate at which a server reads weights: 67 billion at 16 bits in three minutes, from a drive that
works properly (https://github.com/vllm-project/vllm/issues/2233). [B/s]"""

_START = 160.0
"""Time until a server answers, apart from reading weights: the rest of five minutes
(https://route179.dev/2026/06/30, "Optimizing vLLM cold start"). [s]"""

BATCHES = 4
"""Batches of requests per measurement: one to reach steady state, and three that count."""

_MINUTES = 5
"""Multiple to which the rental time of a chip is rounded up. [min]"""


@dataclass(frozen=True)
class Measurement:
    """A benchmark of one replica of a plan at its batch.

    chips, minutes, usd : The number of chips to rent for the benchmark, for how long and at what
        price.
    error : The remaining error of the speed, as a factor above 1.
    regret : The expected monthly regret of the plan chosen afterwards, in USD.
    """

    plan: Plan
    chips: int
    minutes: int
    usd: float
    error: float
    regret: float


@dataclass(frozen=True)
class Regret:
    """The expected monthly cost of speed uncertainty.

    plans : The best plan on each chip compared, the chosen plan first.
    expected : The expected regret of each plan, in USD.
    measurements : One for each unmeasured chip, ordered by how much it reduces the regret.
    """

    plans: Sequence[Plan]
    expected: Sequence[float]
    measurements: Sequence[Measurement]


def regret_of(decision: Decision, grids: Sequence[Grid]) -> Regret | None:
    """Compute the regret of the best plans over the ranges of their speeds.

    Returns None without a rate, dollars or a range. Also None if there is a single chip type that
    misses the limits at slow speeds in any number, or if prefill runs on other chips.
    """
    service = decision.service
    plans = [plan for plan in decision.of_each_chip if decision.may_lead(plan)][:COMPARED]
    if not (plans and grids and service.rate) or service.objective != "usd" or service.is_fleet:
        return None
    if any(plan.replica.estimate.low is None or plan.prefill_scenario for plan in plans):
        return None
    at = np.union1d(_DEVIATIONS, [service.deviations])
    costs = _costs(plans, decision, grids, at) * HOURS_PER_MONTH
    bought = np.array([plan.cost for plan in plans]) * HOURS_PER_MONTH
    for index, row in enumerate(costs):
        # If slow chips cannot serve the load, or only at a higher cost, another chip is added.
        row[:] = np.minimum(row, bought[index] + np.delete(bought, index).min(initial=inf))
    if np.isinf(costs).any():
        return None
    after = partial(regret_after, costs=costs, at=at, held=service.deviations)
    measurements = [
        _measured(plan, partial(after, measured=index))
        for index, plan in enumerate(plans)
        if not plan.replica.estimate.passes.own
    ]
    measurements.sort(key=lambda measured: measured.regret + measured.usd)
    before = expected_regret(costs=costs, at=at, held=service.deviations)
    return Regret(plans, before.tolist(), measurements)


def _costs(plans: Sequence[Plan], decision: Decision, grids: Sequence[Grid], at: Floats) -> Floats:
    """Return the cost of the best plan on each chip at each speed, or infinity. [USD/h]"""
    service = decision.service
    of_chips = (decision.grids_to_lead(grids, plan.scenario.hardware.id) for plan in plans)
    decisions = decide_each(
        (of_chip, replace(service, deviations=speed))
        for of_chip in of_chips
        for speed in at.tolist()
    )
    costs = [decided.plans[0].cost if decided.plans else inf for decided in decisions]
    table = np.reshape(costs, (len(plans), len(at)))
    # Percentiles are checked for the plan alone; they raise its cost equally at any speed.
    raised = [[plan.cost] for plan in plans] / table[:, at == service.deviations]
    return np.asarray(raised * table)


def _measured(plan: Plan, regret: Callable[..., float]) -> Measurement:
    estimate, scenario = plan.replica.estimate, plan.scenario
    assert estimate.low is not None
    reading = plan.scenario.work.weight_bytes / _WEIGHTS_A_SECOND
    serving = BATCHES * estimate.run.item() * plan.slowness
    minutes = _MINUTES * ceil((_START + reading + serving) / 60.0 / _MINUTES)
    price = scenario.pricing.per_chip_hour(scenario.hardware) or 0.0
    chips = ceil(plan.layout.chips / plan.node_chips) * int(plan.node_chips)
    spread = log((estimate.speed / estimate.low).item()) / TO_LOW_END
    left = after_one_row(spread)  # of a row with average error
    return Measurement(
        plan=plan,
        chips=chips,
        minutes=minutes,
        usd=price * chips * minutes / 60.0,
        error=exp(spread * left),
        regret=regret(error=left),
    )
