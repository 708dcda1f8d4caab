"""The probability that a plan meets its limits given the speed ranges, and a surer plan."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import NormalDist

import numpy as np

from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.decision import Decision, Plan, variant_of
from fastcalc.features.plan.random_load import HeldLimits, held_limits
from fastcalc.features.plan.relax import enough, least_relaxed
from fastcalc.features.plan.service import Service
from fastcalc.formulas.solving import bisect
from fastcalc.grid.grid import Grid

CONFIDENT = 90.0
"""Confidence, in percent, whose price is reported by default."""

CONFIDENT_DEVIATIONS = NormalDist().inv_cdf(CONFIDENT / 100.0)
"""The same confidence in standard deviations below the expected speed. [1]"""

DEAR = 3.0 + 1e-9
"""Ratio to a plan's cost above which more confidence is too expensive. [1]"""

_SLOTS = (1, 2, 4)
"""Multiples of a plan's slots to try for slower chips. [1]"""

_MOST, _HALVINGS = 2.4, 5
"""Standard deviations up to which a plan is tried, and halvings: to 0.08 of one, or 3%."""


@dataclass(frozen=True)
class Odds:
    """The probability that a plan meets its limits.

    chance : The probability that its chips meet the latency limits, at the best batch for the
        speed.
    confident : The cheapest plan that meets them with probability `CONFIDENT`: the plan itself, or
        one with headroom for slow speeds; None if there is none.
    relaxed : If that plan does not exist or costs more than `DEAR` times as much, the value of each
        latency limit at which a plan on the same chip would not. [s]
    """

    chance: float
    confident: Plan | None
    relaxed: Mapping[str, float] = field(default_factory=dict)


def odds_of(decision: Decision, grids: Sequence[Grid]) -> Odds | None:
    """Compute the odds of the best plan, or None without a rate, a latency target or a speed range.

    Also None if requests do not arrive at random. If a confidence is requested, these are the odds
    of the best plan at expected speeds, and the best plan is the more confident one.
    """
    service, expected = decision.service, decision.expected or decision
    if not (grids and service.rate and expected.plans) or service.is_fleet:
        return None
    chosen = expected.plans[0]
    if not has_odds(chosen, service):
        return None
    chance = _chance(chosen, expected, grids)
    if decision.expected is None and chance >= CONFIDENT / 100.0:
        return Odds(chance, chosen)
    confident = decision.plans[0] if decision.expected else _confident_plan(decision, grids)
    is_dear = confident is None or confident.cost >= DEAR * chosen.cost
    return Odds(chance, confident, _relaxed(chosen, decision, grids) if is_dear else {})


def has_odds(chosen: Plan, service: Service) -> bool:
    """Whether a plan has latency limits, random arrivals, and a speed range on one chip type."""
    has_limits = min(service.ttft, service.tpot) < inf and service.is_random
    has_range = chosen.replica.estimate.low is not None and chosen.prefill_scenario is None
    return has_limits and has_range


def _relaxed(chosen: Plan, decision: Decision, grids: Sequence[Grid]) -> dict[str, float]:
    """Find latency limits that the plan's chips meet confidently for at most `DEAR` times the cost.

    Returns nothing if plans are not ranked by price.
    """
    usd, service = chosen.usd_per_month, decision.service
    if usd is None or service.objective != "usd":
        return {}
    budget = min(service.budget, DEAR * usd * (1.0 + 1e-9))
    deviations = service.deviations or CONFIDENT_DEVIATIONS
    surely = replace(service, deviations=deviations, budget=budget)
    of_chip = decision.grids_to_lead(grids, chosen.scenario.hardware.id)
    return {
        name: value
        for name, least_value in least_relaxed(of_chip, surely, ("ttft", "tpot")).items()
        if (value := enough(of_chip, surely, name, least_value)) is not None
    }


def _chance(chosen: Plan, decision: Decision, grids: Sequence[Grid]) -> float:
    """Return the probability that a plan's chips are fast enough for its latency limits.

    Utilization may then exceed `Service.utilization`, which leaves headroom, but not 1.
    """
    chance = chance_by_percentiles(chosen, decision.service)
    return _chance_that(_holds_by_search(chosen, decision, grids)) if chance is None else chance


def chance_by_percentiles(chosen: Plan, service: Service) -> float | None:
    """Return the probability that a plan meets its limits, or None without percentiles.

    The plan may use more slots if its chips are slower than expected.
    """
    by_batch = [*_of_larger_batches(chosen, service)]

    def holds(deviations: float) -> bool:
        slower = (
            limits.slowed(float(np.ravel(plan.replica.estimate.slowed(deviations).slowness)[0]))
            for plan, limits in by_batch
        )
        return any(limits.load.utilization < 1.0 and limits.are_met for limits in slower)

    return _chance_that(holds) if by_batch else None


def _chance_that(holds: Callable[[float], bool]) -> float:
    """Return the probability of the slowest speed at which limits hold, in steps of 3%."""
    if holds(_MOST):
        return NormalDist().cdf(_MOST)
    deviations, _ = bisect(
        lambda deviations: holds(float(deviations)), 0.0, _MOST, halvings=_HALVINGS
    )
    return NormalDist().cdf(float(deviations))


def _of_larger_batches(chosen: Plan, service: Service) -> Iterator[tuple[Plan, HeldLimits]]:
    """Yield the plan, then copies with more slots, if percentiles have a closed form."""
    max_batch = float(np.ravel(chosen.replica.placement.max_batch)[0])
    for batch in dict.fromkeys(
        min(chosen.batch * times, max(max_batch, chosen.batch)) for times in _SLOTS
    ):
        scenario = replace(chosen.scenario, batches=(int(batch),))
        plan = replace(chosen, scenario=scenario, batch=float(int(batch)))
        limits = held_limits(plan, service)
        if chosen.is_checked and limits is not None:
            yield plan, limits


def _holds_by_search(
    chosen: Plan, decision: Decision, grids: Sequence[Grid]
) -> Callable[[float], bool]:
    """Check whether a plan without percentiles needs no additional chips at slower speeds."""
    is_disaggregated = chosen.prefill_layout is not None
    grid = next(
        grid
        for grid in grids
        if variant_of(grid.scenario, is_disaggregated=is_disaggregated) == chosen.variant
    )
    if not is_disaggregated:
        grid = grid.part(layouts=(chosen.layout,), batches=np.array([chosen.batch]))

    def holds(deviations: float) -> bool:
        slower = replace(decision.service, deviations=deviations, utilization=1.0)
        pools, enough = None if is_disaggregated else (), chosen.cost * (1.0 + 1e-9)
        plans = decide(
            [grid], slower, shown=0, prompt_pools=pools, is_held=False, enough=enough
        ).plans
        return bool(plans) and plans[0].cost <= enough

    return holds


def _confident_plan(decision: Decision, grids: Sequence[Grid]) -> Plan | None:
    """Find the cheapest plan at slow speeds.

    Slow speeds never lower the cost on a chip, so chips are searched only if they cost less at
    expected speeds than the best plan's chip does at slow ones.
    """
    surely = replace(decision.service, deviations=CONFIDENT_DEVIATIONS)
    plans = [plan for plan in decision.of_each_chip if decision.may_lead(plan)]
    plans = plans or decision.of_each_chip
    best: Plan | None = None
    for several in (plans[:1], plans[1:]):
        chips = [plan.scenario.hardware.id for plan in several if not best or plan.cost < best.cost]
        of_chips = [grid for chip in chips for grid in decision.grids_to_lead(grids, chip)]
        found = [*filter(None, [best]), *decide(of_chips, surely, shown=0).plans[:1]]
        best = min(found, key=lambda plan: plan.cost, default=None)
    return best
