"""A fleet for some request classes, with the results that its page and records share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan.allocation import Allocation, Fleet, allocate, with_next_node
from fastcalc.features.plan.class_table import ServedClass, with_percentiles
from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.deployments_asked import typed_of
from fastcalc.features.plan.odds import CONFIDENT, Odds, odds_of
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.regret import Regret, regret_of
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.features.plan.tipping_points import TippingPoint, turns
from fastcalc.grid.grid import Grid
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.commands import Typed
from fastcalc.kit.request.readers import as_text


@dataclass(frozen=True)
class Verdict:
    """A decision, and the deployments from which it was made.

    grids : all deployments, empty if another search would answer a different question
    model : name of the model, as the user typed it
    asks_turns : whether tipping points were requested, which takes some seconds
    """

    decision: Decision
    grids: Sequence[Grid] = ()
    model: str = ""
    asks_turns: bool = False

    @cached_property
    def regret(self) -> Regret | None:
        """The expected cost of uncertainty about chip speeds."""
        return regret_of(self.decision, self.grids)

    @cached_property
    def odds(self) -> Odds | None:
        """The probability that the best plan meets its limits, and a more confident plan."""
        return odds_of(self.decision, self.grids) if self.decision.plans else None

    @cached_property
    def turns(self) -> list[TippingPoint] | None:
        """The tipping points between the best two chips and an API. None if not requested."""
        return turns(self.decision, self.grids) if self.asks_turns else None


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedFleet(Answer):
    """The owned chips that serve the load, and the cheapest chips to rent in addition.

    classes : the request classes
    search : search that found the rented pools
    """

    request: FindPlans
    fleet: Fleet
    classes: tuple[RequestClass, ...]
    search: PoolSearch | None = None

    @cached_property
    def typed(self) -> Typed:
        """What commands repeat as typed."""
        return typed_of(self.request)

    @property
    def is_of_one_class(self) -> bool:
        """Whether there is one request class, so that plans are ranked."""
        return len(self.classes) == 1

    @property
    def is_of_fleet(self) -> bool:
        """Whether it reports the highest load of given resources, not a plan for a given rate."""
        return bool(self.fleet.owned) or self.fleet.service.is_fleet

    @property
    def service(self) -> Service:
        """The service that all chips provide together."""
        service = self.fleet.service
        if not self.is_of_one_class:
            return replace(service, rate=self.fleet.requests, is_fleet=False)
        return replace(service, is_fleet=self.is_of_fleet)

    @property
    def decision(self) -> Decision:
        """The decision about rented chips, or about owned chips if none are rented."""
        return self.fleet.allocations[-1].decision

    @cached_property
    def verdict(self) -> Verdict:
        """The decision with its confidence and tipping points, if chips are rented."""
        is_rented = self.is_of_one_class and not self.fleet.allocations[-1].is_owned
        can_search = is_rented and self.search and not self.search.prefill_grids
        grids = self.search.grids if self.search and can_search else ()
        asks_turns = self.request.sensitivity
        return Verdict(self.decision, grids, as_text(self.request.model), asks_turns)

    @property
    def is_sure(self) -> bool:
        """Whether the best plan meets its limits at the slow end of its 80% range as well."""
        odds = self.verdict.odds
        return odds is not None and odds.chance >= CONFIDENT / 100.0

    @cached_property
    def pools(self) -> list[tuple[Allocation, ReplicaPool]]:
        """The pools of all allocations, owned chips first."""
        return [
            (allocation, pool) for allocation in self.fleet.allocations for pool in allocation.pools
        ]

    @property
    def scenarios(self) -> Sequence[Scenario]:
        """The scenarios of the plans in the headline."""
        return [scenario for _, pool in self.pools for scenario in pool.plan.scenarios]

    @cached_property
    def owned_capacity(self) -> float:
        """The highest throughput of all owned chips. [1/s]"""
        alone = replace(self.fleet.service, rate=None, budget=inf, max_chips=inf)
        return allocate(self.fleet.owned, None, alone).requests if self.fleet.owned else 0.0

    @cached_property
    def grown(self) -> dict[str, float]:
        """The throughput with one more node of each owned chip type, if all owned chips serve."""
        return with_next_node(self.fleet) if self.fleet.service.rate is None else {}

    @cached_property
    def served(self) -> list[ServedClass]:
        """The latencies of each class in its pool."""
        return with_percentiles(tuple(pool for _, pool in self.pools))

    def model_name(self, pool: ReplicaPool) -> str:
        """Return the model that a pool serves, as typed."""
        model = pool.plan.scenario.model.id
        return self.typed.names.get(model, model)

    @cached_property
    def models(self) -> list[str]:
        """The models that the pools serve, as typed."""
        return [*dict.fromkeys(self.model_name(pool) for _, pool in self.pools)]
