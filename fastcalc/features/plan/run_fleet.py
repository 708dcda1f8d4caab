"""``fastcalc plan`` of chips that are owned, of a budget or of a power: what these carry."""

from dataclasses import replace
from functools import cache, partial

from fastcalc.catalogue.selection import selected
from fastcalc.errors import InputError
from fastcalc.features.plan import means
from fastcalc.features.plan.answer_fleet import FleetPlanAnswer, refusals, relaxed_options
from fastcalc.features.plan.columns import KEYS
from fastcalc.features.plan.deployments_asked import grids_of
from fastcalc.features.plan.fleet_plan import FleetPlan, Grids, Owned, fleet_plan
from fastcalc.features.plan.people import people_of, solve_closed_loop
from fastcalc.features.plan.relax_fleet import (
    carried_on_top,
    fewest_owned,
    least_relaxed_of_fleet,
    of_chips_in,
)
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers_script import started
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import is_of_fleet, service_of
from fastcalc.features.plan.table_columns import columns
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.kit.request import loading, readers
from fastcalc.mentions import option


def run(request: FindPlans) -> Answer:
    """Return what a fleet carries, and what is rented on top; the answer is no if not enough."""
    notes: list[str] = []
    service, people = service_of(request), people_of(request)
    counts = owned_counts(request)
    selected(loading.catalogue(request), readers.names(request.on, option("on")))  # all are known
    prices = chip_prices(request, counts)
    owned = [_owned(request, service, chip, count, prices, notes) for chip, count in counts.items()]
    rented = cache(partial(_rented, request, service, counts, prices, notes))

    def fleet_at(rate: float | None) -> FleetPlan:
        return fleet_plan(owned, rented, replace(service, rate=rate), shown=request.top)

    fleet = (
        solve_closed_loop(people, fleet_at, _request_seconds) if people else fleet_at(service.rate)
    )
    answer = FleetPlanAnswer(
        request=request,
        reading=notes,
        service=replace(fleet.service, is_fleet=True),
        fleet=fleet,
    )
    if not fleet.is_enough:
        return _refused(answer, rented())
    if request.emit is not None:
        taken = [(share.plan, share.decision.service) for share in fleet.shares if share.plan]
        return started(request, taken, notes)
    return answer


def _refused(answer: FleetPlanAnswer, rented: Grids) -> Answer:
    """Return what the fleet carries, and what each limit alone would have to be."""
    request, fleet = answer.request, answer.fleet
    relaxed, most = least_relaxed_of_fleet(fleet, rented), fleet.requests
    on_top = carried_on_top(fleet, rented)
    if on_top is not None:
        most += max(plan.requests for plan in on_top.in_order)
        rented = of_chips_in(on_top, rented)
    if fleet.service.rate is not None and most and request.people is None:
        relaxed["rate"] = most
    options = relaxed_options(relaxed, fewest_owned(fleet, rented), fleet.service)
    return NoAnswer(
        request=request,
        reading=answer.reading,
        reasons=refusals(fleet, most, options),
        asked_keys=KEYS,
        columns=columns(answer.service),
        beside={**answer.details(), "relax": options},
    )


def _request_seconds(fleet: FleetPlan) -> float | None:
    """Return the mean time of a request on what carries any, None where nothing does. [s]"""
    if not fleet.requests:
        return None
    seconds = (
        share.requests * share.plan.request_seconds(fleet.service.output)
        for share in fleet.shares
        if share.plan
    )
    return sum(seconds) / fleet.requests


def refuse_people(request: FindPlans) -> None:
    """Refuse people who ask for classes of requests of a fleet."""
    if request.people is not None and is_of_fleet(request):
        raise InputError(
            f"{option('people')} with {option('traffic')} is planned on rented chips at any "
            f"cost: leave out {option('own')}, {option('budget')} and {option('power')}, or give "
            f"{option('rate', '20/s')} instead of {option('people')}"
        )


def chip_prices(request: FindPlans, counts: dict[str, int]) -> dict[str, float]:
    """Return the dollars of an hour by the id of each chip; 0 is for owned ones alone."""
    catalogue = loading.catalogue(request)
    priced = readers.prices(request.price, zero=True)
    prices = {catalogue.hardware(name).id: usd for name, usd in priced}
    for chip, usd in prices.items():
        if usd == 0.0 and chip not in counts:
            raise InputError(
                f"{option('price', f'{chip}=0')}: a price of 0 is one of chips that are owned; "
                f"write {option('own', f'{chip}=N')}, too"
            )
    return prices


def owned_counts(request: FindPlans) -> dict[str, int]:
    """Return how many there are of each chip that is owned, by id."""
    catalogue, counts = loading.catalogue(request), dict[str, int]()
    for name, count in means.owned_chips(request.own):
        chip = catalogue.hardware(name)
        if chip.id in counts:
            raise InputError(f"{option('own')} names {chip.id} twice; give the sum of both")
        counts[chip.id] = count
    return counts


def owned_as_typed(request: FindPlans, chip: str) -> str:
    """Return the name or the file of an owned chip, as it was given."""
    return next(
        name
        for name, _ in means.owned_chips(request.own)
        if loading.catalogue(request).hardware(name).id == chip
    )


def _owned(
    request: FindPlans,
    service: Service,
    chip: str,
    count: int,
    prices: dict[str, float],
    notes: list[str],
) -> Owned:
    """Return owned chips and their deployments, at their cost of ownership."""
    typed = owned_as_typed(request, chip)
    alone = replace(request, on=(typed,), price=None)
    grids = grids_of(alone, service, notes)
    of_chip = {chip: prices[chip]} if chip in prices else {}
    pricing = replace(loading.basis_of(request), basis="tco", offer=None, user_prices=of_chip)
    priced = [grid.part(scenario=replace(grid.scenario, pricing=pricing)) for grid in grids]
    hardware = loading.catalogue(request).hardware(typed)
    return Owned(hardware, count, pricing.per_chip_hour(hardware), priced)


def _rented(
    request: FindPlans,
    service: Service,
    counts: dict[str, int],
    prices: dict[str, float],
    notes: list[str],
) -> list[Grid]:
    """Return the deployments of chips that may be rented, at the prices that are not of owned."""
    price = {chip: usd for chip, usd in prices.items() if chip not in counts}
    return grids_of(replace(request, price=price), service, notes)
