"""The answer of `plan`: its page, records, chart and server scripts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING

from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan import records as plan_records
from fastcalc.features.plan.allocation import Allocation, Fleet, allocate, with_next_node
from fastcalc.features.plan.class_table import ServedClass, class_record, served_classes
from fastcalc.features.plan.columns import KEYS
from fastcalc.features.plan.cost_notes import break_even
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.demand import typed_of
from fastcalc.features.plan.headline import headline
from fastcalc.features.plan.notes import notes_of
from fastcalc.features.plan.odds import CONFIDENT
from fastcalc.features.plan.page_tables import columns, legend, rows_of, tables_of
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import phrase
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.features.plan.verdict import Verdict
from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer.answer import Answer, Charts, Screen
from fastcalc.kit.answer.commands import Typed, compare_command
from fastcalc.kit.answer.parts import HeadlineCase, Part
from fastcalc.kit.answer.point_records import Record, plain, plainly
from fastcalc.kit.answer.prices import price_line
from fastcalc.kit.request.readers import as_text
from fastcalc.written import listed

if TYPE_CHECKING:
    from fastcalc.kit.charts.drawing import Chart


def _charge_all_owned(
    planned: "PlanAnswer", row: Record, allocation: Allocation, pool: ReplicaPool
) -> None:
    """Return the rate at which an API costs as much as all owned chips of a type, used or idle."""
    used = row["chips_total"] if planned.is_of_one_class else allocation.used("chips")
    row["api_break_even_tokens_per_month"] *= allocation.chips / used
    if len(planned.fleet.owned) == 1:
        service = pool.decision.service
        share = sum(kind.share for kind in pool.classes)
        tokens = (service.prompt + service.output) * SECONDS_PER_MONTH
        rate = row["api_break_even_tokens_per_month"] / tokens
        row["api_break_even_utilization"] = rate / (share * planned.owned_capacity)


def _share(planned: "PlanAnswer", allocation: Allocation) -> Record:
    """Build the record of an allocation, with its decision unless that appears elsewhere."""
    of_plans = {}
    if planned.is_of_one_class and planned.is_of_fleet:
        is_last = allocation is planned.fleet.allocations[-1]
        verdict = planned.verdict if is_last else Verdict(allocation.decision)
        of_plans = {
            "assumptions": plan_records.assumptions(allocation.decision),
            **plan_records.details(verdict, planned.typed),
        }
    return {
        "owned_chips": allocation.chips if allocation.is_owned else None,
        "requests_per_s": plain(allocation.requests),
        "chips_left": plain(allocation.chips_left),
        **of_plans,
        "sharing": plan_records.sharings(allocation.sharing),
    }


def _nearest_limit(pool: ReplicaPool) -> float | None:
    """Return the TTFT of the class closest to its limit, if any class has one, in seconds."""
    times = zip(pool.plan.class_ttft, pool.classes, strict=False)
    limited = [(ttft / kind.ttft, ttft) for ttft, kind in times if kind.ttft < inf]
    return max(limited)[1] if limited else None


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanAnswer(Answer):
    """The result of ``fastcalc plan``: the cheapest deployment that meets the latency limits.

    classes : The request classes.
    search : The search that found the rented pools.
    servers : The scripts that start all servers, if requested.
    """

    request: FindPlans
    fleet: Fleet
    classes: tuple[RequestClass, ...]
    search: PoolSearch | None = None
    servers: str | None = None
    asked_keys = KEYS

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
        """The request rate and the latency limits that all chips meet together."""
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

    @property
    def in_own_formats(self) -> Plan | None:
        """The best plan in the published formats if the cheapest plan is quantized further."""
        is_plain = self.is_of_one_class and not self.is_of_fleet
        return (
            self.decision.in_own_formats
            if is_plain and self.decision.plans[0].is_narrowed
            else None
        )

    @cached_property
    def pools(self) -> list[tuple[Allocation, ReplicaPool]]:
        """The groups of replicas that serve the same request classes, owned chips first."""
        return [
            (allocation, pool) for allocation in self.fleet.allocations for pool in allocation.pools
        ]

    @property
    def scenarios(self) -> Sequence[Scenario]:
        """The scenarios of the plans in the headline."""
        return [scenario for _, pool in self.pools for scenario in pool.plan.scenarios]

    @cached_property
    def owned_capacity(self) -> float:
        """The highest request rate that the owned chips can sustain, per second."""
        alone = replace(self.fleet.service, rate=None, budget=inf, max_chips=inf)
        return allocate(self.fleet.owned, None, alone).requests if self.fleet.owned else 0.0

    @cached_property
    def grown(self) -> dict[str, float]:
        """The throughput with one more node of each owned chip type, if all owned chips serve."""
        return with_next_node(self.fleet) if self.fleet.service.rate is None else {}

    @cached_property
    def served(self) -> list[ServedClass]:
        """The latencies of each class in its pool."""
        fractions = [allocation.requests / self.fleet.requests for allocation, _ in self.pools]
        return served_classes(tuple(pool for _, pool in self.pools), fractions)

    def model_name(self, pool: ReplicaPool) -> str:
        """Return the model that a pool serves, as typed."""
        model = pool.plan.scenario.model.id
        return self.typed.names.get(model, model)

    @cached_property
    def models(self) -> list[str]:
        """The models that the pools serve, as typed."""
        return [*dict.fromkeys(self.model_name(pool) for _, pool in self.pools)]

    # Records

    @property
    def columns(self) -> Sequence[TableColumn]:
        """The columns of the table of records."""
        return columns(self.service)

    @cached_property
    def unrounded(self) -> list[Record]:
        """The unrounded record of each plan.

        The first record of each pool is its chosen plan.
        """
        count = self.request.top if self.is_of_one_class and self.servers is None else 1
        rows: list[Record] = []
        for allocation, pool in self.pools:
            owned = allocation.chips if allocation.is_owned else None
            names = tuple(kind.name for kind in pool.classes if kind.name)
            for rank, plan in enumerate(pool.decision.plans[:count], 1):
                row = plan_records.record_of(
                    plan,
                    pool.decision.service,
                    self.typed,
                    rank=rank if self.is_of_one_class else len(rows) + 1,
                    owned=owned,
                    classes=names,
                )
                if (nearest := _nearest_limit(pool)) is not None:
                    row["service_ttft_ms"] = nearest * 1e3
                if allocation.is_owned and row["api_break_even_tokens_per_month"]:
                    _charge_all_owned(self, row, allocation, pool)
                rows.append(row)
        return rows

    def records(self) -> list[Record]:
        """Build one record per plan."""
        return [plainly(record) for record in self.unrounded]

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Return a table of the records with the columns of the first screen."""
        return self.columns, self.unrounded

    def premises(self) -> Record:
        """Return the traffic, prices, engines and the definition of the latencies."""
        decision = self.decision if self.is_of_one_class else self.pools[0][1].decision
        shared = plan_records.assumptions(decision)
        if self.is_of_fleet or not self.is_of_one_class:
            shared["requests_per_s"] = plain(self.fleet.requests)
        if not self.is_of_one_class:
            lengths = ("prompt_tokens", "output_tokens", "context_tokens", "prefix_hit")
            shared = {key: value for key, value in shared.items() if key not in lengths}
        return shared | ({"traffic": str(self.request.traffic)} if self.request.traffic else {})

    def details(self) -> Record:
        """Return why others lost, what would help, class latencies and allocations."""
        if self.servers is not None:
            return {"servers": self.servers}
        of_plans: Record = {}
        if self.is_of_one_class and not self.is_of_fleet:
            of_plans = plan_records.details(self.verdict, self.typed)
        return {
            **of_plans,
            "classes": [class_record(served) for served in self.served],
            "sharing": plan_records.sharings(self.fleet.allocations[-1].sharing),
            "requests_per_s": plain(self.fleet.requests),
            "rate": plain(self.fleet.service.rate),
            "requests_per_s_with_next_node": {
                chip: plain(sustained) for chip, sustained in self.grown.items()
            },
            "shares": [*map(partial(_share, self), self.fleet.allocations)],
        }

    @property
    def charts(self) -> Charts:
        """A chart of TPOT against price."""
        return {"plan": self.chart} if self.is_of_one_class and self.pools else {}

    def chart(self) -> "Chart":
        """Plot TPOT against price for the first plans and the best plan on each chip."""
        from fastcalc.features.plan.chart import plans

        return plans(self.decision, self.request.top)

    # Page

    def text(self, screen: Screen) -> str | None:  # noqa: ARG002
        """Return the server scripts, if requested."""
        return self.servers

    def page(self, screen: Screen) -> Sequence[Part]:
        """Yield the headline, prices and tables, then a legend and notes on the listed plans."""
        if self.servers is not None:
            return ()
        rows = rows_of(self, wide=screen.wide)
        tables = tables_of(self, rows, screen)
        body = [*self._above_tables()]
        for table in tables:
            body += "", table
        key, command = legend(self, rows, tables), compare_command(self.scenarios[0], self.typed)
        notes = [*notes_of(self, rows)]
        return screen.with_notes(body, key, notes, command, fills_one_screen=True)

    def _above_tables(self) -> Iterator[Part]:
        """Yield the headline and the prices per chip-hour."""
        yield headline(self)
        models = None if self.is_of_one_class else listed(self.models)
        yield HeadlineCase(phrase(self.request, self.fleet.service, models))
        is_ranked = self.is_of_one_class and not self.is_of_fleet
        prices = break_even(self.decision) if is_ranked else ""
        rented = [
            scenario
            for allocation, pool in self.pools
            if not (self.is_of_one_class or allocation.is_owned)
            for scenario in pool.plan.scenarios
        ]
        yield from price_line(rented or self.scenarios, prices)
