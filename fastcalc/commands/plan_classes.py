"""``fastcalc plan --traffic``: classes of requests on replicas of their own, or shared."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from fastcalc.catalogue.schema import Model
from fastcalc.commands import loading
from fastcalc.commands.answer import CommandAnswer, no_answer
from fastcalc.commands.people import people_of, settled
from fastcalc.commands.plan import scenarios_of, service_of, typed_of
from fastcalc.core.request_class import RequestClass
from fastcalc.core.scenario import Scenario, check_context
from fastcalc.errors import InputError
from fastcalc.importers.workloads import AskedTraffic, read_workload
from fastcalc.mentions import option
from fastcalc.report import plan_classes as class_report
from fastcalc.report import plan_table
from fastcalc.report.plan_refusal import refusal
from fastcalc.requests.search import FindPlans
from fastcalc.search.plan.candidates import candidates
from fastcalc.search.plan.cheapest_plans import decide
from fastcalc.search.plan.decision import Decision
from fastcalc.search.plan.service import Service
from fastcalc.search.plan.sharing import Sharing, cheapest_sharing
from fastcalc.search.sweep.grid import Grid


def run(request: FindPlans) -> CommandAnswer:
    """Return the cheapest deployments for classes of requests; the answer is no if none does."""
    notes: list[str] = []
    search, people = _ClassSearch(request, service_of(request, notes), notes), people_of(request)
    if people is None:
        sharing = search.sharing_at(search.rate)
    else:
        sharing = settled(people, search.sharing_at, _request_seconds)
    typed = typed_of(request)
    if not sharing.pools:
        return no_answer(
            _reasons(sharing), class_report.KEYS, plan_table.columns(search.service), notes=notes
        )
    answer = class_report.Answer(sharing, request.model, str(request.traffic), typed)
    servers = None if request.emit is None else answer.servers(request.emit)
    return CommandAnswer(
        answer.parts if servers is None else None,
        answer.records,
        lambda: (plan_table.columns(search.service), answer.unrounded),
        answer.details,
        notes=notes,
        as_text=None if servers is None else lambda _: servers,
    )


def _request_seconds(sharing: Sharing) -> float | None:
    """Return the mean time of a request over all classes, None where not all are served. [s]"""
    if not sharing.pools:
        return None
    times = (
        served.kind.share * (served.ttft + (served.kind.output - 1.0) * served.tpot)
        for served in class_report.served_classes(sharing.pools)
    )
    return sum(times)


def _reasons(sharing: Sharing) -> list[str]:
    unserved = [f"'{pool.classes[0].name}': {refusal(pool.decision)}" for pool in sharing.unserved]
    if unserved:
        return unserved
    return [f"the classes need more chips in all than {option('max_chips')} allows"]


@dataclass(frozen=True, eq=False)
class _ClassSearch:
    """What is searched for the classes of a file.

    service : what is asked but for the requests themselves
    notes : takes what to know of how chips and models came about
    """

    request: FindPlans
    service: Service
    notes: list[str]

    @cached_property
    def traffic(self) -> AskedTraffic:
        """The classes of the file."""
        assert self.request.traffic is not None
        return read_workload(
            Path(self.request.traffic), ttft=self.service.ttft, tpot=self.service.tpot
        )

    @cached_property
    def rate(self) -> float:
        """Requests that arrive a second. [1/s]"""
        rate = self.service.rate or self.traffic.rate
        if rate is None:
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

    def may_share(self, classes: tuple[RequestClass, ...]) -> bool:
        """Return whether classes are of one model."""
        return len({self._model_name(kind) for kind in classes}) == 1

    def sharing_at(self, rate: float) -> Sharing:
        """Return the cheapest pools for so many requests a second of all classes."""
        return cheapest_sharing(
            self.traffic.classes,
            partial(self._decide_for, rate),
            may_share=self.may_share,
            max_chips=self.service.max_chips,
        )

    def _decide_for(
        self, rate: float, classes: tuple[RequestClass, ...], chips: frozenset[str] | None
    ) -> Decision:
        """Return the deployments for classes that share replicas, on some chips."""
        share = sum(kind.share for kind in classes)
        service = self.service.of_classes(classes, rate * share)
        grids = [
            self._grid(scenario, service)
            for scenario in self._scenarios[self._model_name(classes[0])]
            if chips is None or scenario.hardware.id in chips
        ]
        return decide([grid for grid in grids if grid is not None], service, shown=1)

    def _grid(self, scenario: Scenario, service: Service) -> Grid | None:
        traffic = replace(scenario.traffic, prefix_hit=service.prefix_hit)
        return candidates(
            replace(scenario, traffic=traffic),
            prompt=service.prompt,
            output=service.output,
            classes=service.classes,
        )
