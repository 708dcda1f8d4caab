"""``fastcalc plan`` where nothing meets the service: which limit to relax to what."""

from dataclasses import replace
from math import inf

from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.columns import KEYS
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.deployments_asked import scenarios_of, typed_of
from fastcalc.features.plan.fleet_plan import carried_by
from fastcalc.features.plan.records import assumptions, details
from fastcalc.features.plan.refusal import most_carried, refusal
from fastcalc.features.plan.relax import least_relaxed, longest_prompt, may_meet
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.table_columns import columns
from fastcalc.features.plan.verdict import Verdict
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.kit.request import loading


def refused(request: FindPlans, grids: list[Grid], decision: Decision, notes: list[str]) -> Answer:
    """Return why no deployment meets it, and what each limit alone would have to be."""
    # What takes in prompts on other chips is as it was searched.
    sentences = _relaxed(request, grids, decision) if request.prompts_on is None else []
    return NoAnswer(
        request=request,
        reading=notes,
        reasons=[refusal(decision), *sentences],
        asked_keys=KEYS,
        columns=columns(decision.service),
        beside=details(Verdict(decision), typed_of(request)),
        resting_on=assumptions(decision),
    )


def _relaxed(request: FindPlans, grids: list[Grid], decision: Decision) -> list[str]:
    """Relax each limit alone, and say what the limits carry of the rate."""
    service = decision.service
    decision.relaxed = least_relaxed(grids, service)
    sentences = []
    is_limited = min(service.max_chips, service.budget, service.power) < inf
    if service.rate is not None and is_limited:
        grids = [grid for grid in grids if may_meet(grid, service)]
        carried = carried_by(grids, service, service.max_chips, shown=1)
        rate = max((plan.requests for plan in carried.in_order), default=0.0)
        if 0.0 < rate < service.rate:  # chips without a price carry more, and are no plan
            sentences.append(most_carried(carried, service))
            decision.relaxed |= {} if request.people else {"rate": rate}
        by_chip = replace(service, in_nodes=False)
        if service.in_nodes and decide(grids, by_chip, shown=0).plans:
            decision.relaxed["by"] = 1.0
    (model, *_) = loading.models_of(loading.catalogue(request), [request.model], [])
    scenarios = scenarios_of(request, model, service.prefix_hit, [])
    if prompt := longest_prompt(scenarios, service):
        decision.relaxed["prompt"] = prompt
    return sentences
