"""``fastcalc plan``: the deployments that meet a service, the cheapest first."""

from dataclasses import replace

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.features.plan.answer_alike import AlikePlansAnswer
from fastcalc.features.plan.cheapest_plans import decide_surely
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.deployments_asked import grids_of
from fastcalc.features.plan.people import people_of, solve_closed_loop
from fastcalc.features.plan.pools import can_be_apart
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers_script import started
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import is_of_fleet, service_of
from fastcalc.features.plan.verdict import Verdict
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.request import readers
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option


def run(request: FindPlans) -> Answer:
    """Return the cheapest deployments that meet a service; the answer is no if none does."""
    if request.utilization is not None:
        renamed = replace(request, load=request.utilization, utilization=None)
        note = f"plan {option('utilization')} is now {option('load')}, and goes in 0.3"
        answer = run(renamed)
        return replace(answer, reading=[note, *answer.reading])
    readers.number(request.top, option("top"), LIMITS["sequences"], 5)
    _refuse_together(request)
    if request.traffic is not None:
        from fastcalc.features.plan import run_classes as plan_classes

        return plan_classes.run(request)
    if is_of_fleet(request):
        from fastcalc.features.plan import run_fleet as plan_fleet

        return plan_fleet.run(request)
    notes: list[str] = []
    service = service_of(request)
    grids, people = grids_of(request, service, notes), people_of(request)
    taking = _taking_in(request, service, notes)

    def decide_at(rate: float | None) -> Decision:
        at_rate = replace(service, rate=rate)
        return decide_surely(grids, at_rate, shown=request.top, taking=taking)

    decision = (
        solve_closed_loop(people, decide_at, _first_seconds) if people else decide_at(service.rate)
    )
    if not decision.plans:
        from fastcalc.features.plan import run_infeasible as plan_infeasible

        return plan_infeasible.refused(request, grids, decision, notes)
    _refuse_without_range(decision)
    if request.emit is not None:
        return started(request, [(decision.plans[0], decision.service)], notes)
    verdict = Verdict(
        decision, () if taking else grids, as_text(request.model), request.sensitivity
    )
    return AlikePlansAnswer(
        request=request, reading=notes, service=decision.service, verdict=verdict
    )


def _refuse_without_range(decision: Decision) -> None:
    chosen = decision.plans[0]
    if decision.service.deviations and chosen.replica.estimate.low is None:
        raise InputError(
            f"{option('confidence')} rests on ranges, and {chosen.scenario.engine.id} has none; "
            "leave it out"
        )


def _refuse_together(request: FindPlans) -> None:
    """Refuse what is of requests that are alike for classes of a file."""
    if request.prompts_on is not None and (request.traffic or is_of_fleet(request)):
        raise InputError(
            f"{option('prompts_on')} is of requests that are alike, at a rate: give "
            f"{option('rate', '20/s')}, and leave out {option('traffic')} and {option('own')}"
        )
    for name in ("confidence", "sensitivity"):
        if request.traffic is not None and getattr(request, name):
            raise InputError(
                f"{option(name)} is of requests that are alike, and {option('traffic')} has "
                f"classes: leave one out, or give {option('prompt')} and {option('output')}"
            )
    if request.sensitivity and is_of_fleet(request):
        raise InputError(
            f"{option('sensitivity')} compares chips that are rented for a rate: leave out "
            f"{option('own')}, and give {option('rate', '20/s')}"
        )


def _taking_in(request: FindPlans, service: Service, notes: list[str]) -> list[Grid]:
    """Return deployments of the other chips that may take in the prompts."""
    if request.prompts_on is None:
        return []
    flag = option("prompts_on")
    if service.rate is None and request.people is None:
        raise InputError(
            f"{flag} is for a rate, which says how many chips take in its prompts; add "
            f"{option('rate', '20/s')}"
        )
    of_prompts = replace(request, on=request.prompts_on, prompts_on=request.on, speculate=None)
    more_notes: list[str] = []
    grids = grids_of(of_prompts, service, more_notes)
    notes += [note for note in more_notes if note not in notes]
    if not any(can_be_apart(grid, replace(service, rate=service.rate or 1.0)) for grid in grids):
        raise InputError(
            f"{flag}: none of them can send caches of prompts: those that pipeline whole layers, "
            "and those whose link beyond their domain is unknown, take in their own alone"
        )
    return grids


def _first_seconds(decision: Decision) -> float | None:
    """Return the time of a request on the first plan, None where there is none. [s]"""
    first = next(iter(decision.plans), None)
    return None if first is None else first.request_seconds(decision.service.output)
