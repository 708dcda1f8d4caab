"""``fastcalc plan --traffic``: classes of requests on replicas of their own, or shared."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor
from pathlib import Path

from fastcalc.catalogue.schema import Model
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, check_context
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.core.traffic.reuse import Reuse
from fastcalc.errors import InputError
from fastcalc.features.plan.answer_classes import (
    KEYS,
    ClassPlanAnswer,
    refusals,
    served_classes,
)
from fastcalc.features.plan.candidates import candidates
from fastcalc.features.plan.class_fleet import ClassFleet, ClassShare, OwnedForClasses, class_fleet
from fastcalc.features.plan.class_groups import Classes
from fastcalc.features.plan.class_search import ClassSearch
from fastcalc.features.plan.deployments_asked import scenarios_of
from fastcalc.features.plan.people import people_of, solve_closed_loop
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.run_fleet import (
    chip_prices,
    owned_as_typed,
    owned_counts,
    refuse_people,
)
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import is_of_fleet, service_of
from fastcalc.features.plan.sharing import Sharing
from fastcalc.features.plan.table_columns import columns
from fastcalc.formulas.solving import solve_fixed_point
from fastcalc.grid.grid import Grid
from fastcalc.grid.prefix_caches import CachedDeployment
from fastcalc.importers.workloads import AskedTraffic, read_workload
from fastcalc.kit.answer.answer import Answer, NoAnswer
from fastcalc.kit.request import loading
from fastcalc.mentions import option


def run(request: FindPlans) -> Answer:
    """Return what carries classes of requests: the cheapest pools, or the most that means allow."""
    notes: list[str] = []
    service, people = service_of(request), people_of(request)
    counts = owned_counts(request)
    prices = chip_prices(request, counts)
    price = {chip: usd for chip, usd in prices.items() if chip not in counts}

    def carried_by(traffic: AskedTraffic) -> ClassFleet:
        deployments = _Deployments(replace(request, price=price), service, notes, traffic)
        if people is not None:
            refuse_people(request)
            sharing = solve_closed_loop(
                people, lambda rate: deployments.search.carried(service, rate), _request_seconds
            )
            return ClassFleet(service, (), (ClassShare(sharing),))
        owned = [deployments.owned(chip, count, prices.get(chip)) for chip, count in counts.items()]
        at_rate = replace(service, rate=deployments.rate)
        return class_fleet(owned, deployments.search, at_rate)

    assert request.traffic is not None
    recorded = read_workload(Path(request.traffic), ttft=service.ttft, tpot=service.tpot)
    traffic, fleet = _with_caches(recorded, carried_by)
    notes[:] = [*traffic.reading, *dict.fromkeys(notes), *_caches_note(traffic)]
    of_classes = service.of_classes(traffic.classes, fleet.requests)
    if not fleet.requests:
        return NoAnswer(
            request=request,
            reading=notes,
            reasons=refusals(fleet),
            asked_keys=KEYS,
            columns=columns(of_classes),
        )
    answer = ClassPlanAnswer(
        request=request,
        reading=notes,
        reasons=refusals(fleet),
        fleet=fleet,
        service=of_classes,
    )
    return answer if request.emit is None else replace(answer, servers=answer.script(request.emit))


def _with_caches(
    recorded: AskedTraffic, carried_by: Callable[[AskedTraffic], ClassFleet]
) -> tuple[AskedTraffic, ClassFleet]:
    """Traffic with the prefix hit rate that the caches of its plan reach, and that plan.

    A plan for a hit rate leaves memory that finds some share of the trace. From what a plan
    without hits leaves it goes down, until a plan finds no less than it was made for.
    """

    def planned_for(share: float) -> tuple[AskedTraffic, ClassFleet]:
        traffic = recorded.with_found(share)
        return traffic, carried_by(traffic)

    without_hits = recorded, carried_by(recorded)
    if not isinstance(recorded.reuse, Reuse):
        return without_hits
    return solve_fixed_point(
        planned_for, lambda planned: _found_by(planned[1], recorded), without_hits
    )


def _found_by(fleet: ClassFleet, traffic: AskedTraffic) -> float:
    """Return the share of prompt tokens that the memory of all replicas together finds. [1]"""
    assert traffic.reuse is not None
    lengths, tokens = traffic.classes[0].lengths, 0.0
    for share in fleet.shares:
        for pool in share.sharing.pools:
            plan = pool.plan
            replica = CachedDeployment(plan.replica, plan.scenario, lengths, traffic.reuse)
            tokens += plan.replicas * replica.own_size / replica.bytes_per_token
    # Rounded down to what a record shows again.
    return floor(float(traffic.reuse.hit(tokens)) * 1e4) / 1e4


def _caches_note(traffic: AskedTraffic) -> Iterator[str]:
    """Say what share of the prompts of a trace is found."""
    share = traffic.classes[0].prefix_hit
    if isinstance(traffic.reuse, Reuse):
        yield (
            f"{share:.2%} of the prompt tokens of this trace are found in the memory that these "
            "replicas leave, where prompts that begin alike come to the same one"
        )


def _request_seconds(sharing: Sharing) -> float | None:
    """Return the mean time of a request over all classes, None where not all are served. [s]"""
    if not sharing.pools:
        return None
    times = (
        served.kind.share * (served.ttft + (served.kind.output - 1.0) * served.tpot)
        for served in served_classes(sharing.pools)
    )
    return sum(times)


@dataclass(frozen=True, eq=False)
class _Deployments:
    """The deployments that there are for the classes of a file.

    service : what is asked but for the requests themselves
    notes : takes what to know of how chips and models came about
    traffic : the classes of the file
    pricing : of all chips, where it is not that of the request
    """

    request: FindPlans
    service: Service
    notes: list[str]
    traffic: AskedTraffic
    pricing: Pricing | None = None

    @cached_property
    def search(self) -> ClassSearch:
        """What finds pools among them."""
        return ClassSearch(self.traffic.classes, self._grids_for, self._may_share)

    def owned(self, chip: str, count: int, usd: float | None) -> OwnedForClasses:
        """Return chips that are owned, at their cost of ownership or at a price of an hour."""
        alone = replace(self.request, on=(owned_as_typed(self.request, chip),), price=None)
        of_chip = {} if usd is None else {chip: usd}
        terms = loading.basis_of(self.request)
        pricing = replace(terms, basis="tco", offer=None, user_prices=of_chip)
        hardware = loading.catalogue(self.request).hardware(chip)
        search = _Deployments(alone, self.service, self.notes, self.traffic, pricing).search
        return OwnedForClasses(hardware, count, pricing.per_chip_hour(hardware), search)

    @cached_property
    def rate(self) -> float | None:
        """Requests that arrive a second; None for the most that some means carry. [1/s]"""
        rate = self.service.rate or self.traffic.rate
        has_means = is_of_fleet(self.request) or self.request.max_chips is not None
        if rate is None and not has_means:
            raise InputError(
                f"{self.request.traffic}: says no rate; write aggregate_rate: 20, or give "
                f"{option('rate', '20/s')} or {option('people', '500')}"
            )
        return rate

    @cached_property
    def _scenarios(self) -> dict[str, list[Scenario]]:
        """Scenarios by the model's name."""
        entries = loading.catalogue(self.request)
        names = {self._model_name(kind) for kind in self.traffic.classes}
        scenarios = {}
        for name in sorted(names):
            (model, *_) = loading.models_of(entries, [name or self.request.model], self.notes)
            self._check(model, name)
            scenarios[name] = list(scenarios_of(self.request, model, 0.0, self.notes))
        return scenarios

    def _model_name(self, kind: RequestClass) -> str:
        return self.traffic.models.get(kind.name, "")

    def _check(self, model: Model, name: str) -> None:
        for kind in self.traffic.classes:
            if self._model_name(kind) == name:
                longest = float((kind.lengths.prompt + kind.lengths.output).max())
                check_context(
                    model, longest, f"prompt + output of '{kind.name}' = {longest:,.0f} tokens"
                )
                loading.check_longest(self.request, longest)

    def _may_share(self, classes: tuple[RequestClass, ...]) -> bool:
        """Return whether classes are of one model."""
        return len({self._model_name(kind) for kind in classes}) == 1

    def _grids_for(
        self, classes: Classes, service: Service, chips: frozenset[str] | None
    ) -> list[Grid]:
        """Return the deployments for the classes of a service, on some chips."""
        grids = (
            self._grid(scenario, service)
            for scenario in self._scenarios[self._model_name(classes[0])]
            if chips is None or scenario.hardware.id in chips
        )
        return [grid for grid in grids if grid is not None]

    def _grid(self, scenario: Scenario, service: Service) -> Grid | None:
        traffic = replace(scenario.traffic, prefix_hit=service.prefix_hit)
        return candidates(
            replace(scenario, traffic=traffic, pricing=self.pricing or scenario.pricing),
            prompt=service.prompt,
            output=service.output,
            classes=service.classes,
        )
