"""Answer of `plan`: headline, prices, tables of plans and of request classes, notes and records."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from fastcalc.core.defaults_used import power_notes
from fastcalc.core.own_formats import own_formats
from fastcalc.core.scenario import Scenario, each_warning
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.features.plan import notes as plan_notes
from fastcalc.features.plan import records as plan_records
from fastcalc.features.plan.allocation import Allocation, Fleet, allocate, with_next_node
from fastcalc.features.plan.answer_regret import chance_of_limits, odds_notes, regret_notes
from fastcalc.features.plan.answer_tipping_points import tipping_point_notes
from fastcalc.features.plan.api import api_notes, cheaper_api
from fastcalc.features.plan.class_table import (
    CLASS_COLUMNS,
    OVER,
    ServedClass,
    class_record,
    with_percentiles,
)
from fastcalc.features.plan.columns import KEYS, WEAK
from fastcalc.features.plan.decision import FEWER_BITS, Decision, Plan
from fastcalc.features.plan.deployments_asked import typed_of
from fastcalc.features.plan.fleet_notes import (
    idle_chips,
    in_all,
    next_nodes,
    owning_each,
    sustain_verb,
)
from fastcalc.features.plan.notes import Weight, weighted
from fastcalc.features.plan.percentiles import in_words
from fastcalc.features.plan.pool_search import PoolSearch
from fastcalc.features.plan.random_load import random_load
from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH, tpot_range
from fastcalc.features.plan.refusal import chips_of, refusal_of
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.servers.script import script
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import phrase
from fastcalc.features.plan.sharing import ReplicaPool
from fastcalc.features.plan.sharing_notes import (
    bill_of,
    one_chip_type,
    other_sharings,
    over_limits,
    shared_nodes,
)
from fastcalc.features.plan.single_chips import single_chip_notes
from fastcalc.features.plan.table_columns import columns, columns_but, with_formats
from fastcalc.features.plan.verdict import Verdict
from fastcalc.grid.column import TableColumn
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Charts
from fastcalc.kit.answer.commands import Typed, compare_command
from fastcalc.kit.answer.console import HeadlineCase, Note, Part, Screen, TextTable, Title
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.point_records import Record, plain, plainly
from fastcalc.kit.answer.prices import price_line
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option
from fastcalc.written import listed

if TYPE_CHECKING:
    from fastcalc.kit.charts.drawing import Chart

STAR = " *"
"""Mark of plans that are quantized further than requested."""

_CHANGED = (
    "; *: quantized below the published precision, ranked first only with "
    f"{option('weights')} or {option('kv')}"
)
_MARKS = {WEAK: "wider range: few or no measurements resemble this deployment"}
_IN_NODES = f"; chips: in whole nodes ({option('by', 'chip')}: single chips)"
_MORE = 1.001
"""Lowest throughput ratio at which quantizing further is worth a note. [1]"""

_FIRST, _OTHERS = 2, 2
"""Number of plans, and of other chips, on a first screen."""

_REPLICAS = (
    "key: replicas: for decode; util.: load / capacity; prefill: shared with decode (colocated), "
    "or on separate replicas"
)
_COLUMNS_IN_KEY = {
    "util.": "util.",
    "prefill": "prefill",
    "80 % range": "80 %",
    "req/s": "req/s",
    "in flight": "in",
}
"""Terms of the legend whose column a narrow table may drop, with the heading of each."""

_AT_LOAD = "TTFT, TPOT: at this load, in ms"
_FULL = "TTFT: without queueing; TPOT: at full batch, prefill stalls included"
_OF_RANGE = "80 % range: of the TPOT at expected speeds, in ms"
_OF_SLOW_CHIPS = "; chips and times: at slow speeds; chips expected: at expected speeds"
_OF_FLEET = "req/s: served within the limits; in flight: mean concurrent requests at this load"
_KEY_OF_MIX = (
    "key: pool: replicas that serve the classes with its number in the second table; TPOT of a "
    "pool: that of the class closest to its limit; all times: at this load, with Poisson arrivals"
)
_LABEL = TableColumn("label", heading=("", "plan"))
_POOL, _OWNED = TableColumn("pool", heading=("", "pool")), TableColumn("owned")
_LEFT_OUT = ("speculation_tokens_per_pass", "service_tpot_ms_low", "bound")
_TTFT = ("service_ttft_ms",)
"""Of a pool, where the table of classes has none of theirs."""


@dataclass(frozen=True, eq=False)
class PlanRow:
    """A plan as listed on a page.

    label : label of the plan in the table
    decision : the decision that the plan belongs to
    is_owned : whether its chips are owned
    is_shown : whether it is shown in the table of the page
    """

    label: str
    plan: Plan
    decision: Decision
    is_owned: bool = False
    is_shown: bool = True

    @property
    def is_marked(self) -> bool:
        """Whether the plan is quantized further than requested, so that it may not lead."""
        return not self.decision.may_lead(self.plan)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanAnswer(Answer):
    """Answer of `plan`: owned chips that serve the load, and the cheapest to rent in addition.

    classes : the request classes
    search : the search that found the rented pools
    servers : the scripts that start all servers, if requested
    """

    request: FindPlans
    fleet: Fleet
    classes: tuple[RequestClass, ...]
    search: PoolSearch | None = None
    servers: str | None = None
    fills_one_screen = True
    marks = _MARKS

    @cached_property
    def typed(self) -> Typed:
        """Arguments that commands repeat as typed."""
        return typed_of(self.request)

    @property
    def is_of_one_class(self) -> bool:
        """Whether there is one request class, so that plans are ranked."""
        return len(self.classes) == 1

    @property
    def is_of_fleet(self) -> bool:
        """Whether it reports the highest load of given resources, not a plan for one rate."""
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
        """Decision on the rented chips, or on the owned chips if none are rented."""
        return self.fleet.allocations[-1].decision

    @cached_property
    def verdict(self) -> Verdict:
        """Decision with its confidence and its tipping points, if chips are rented."""
        is_rented = self.is_of_one_class and not self.fleet.allocations[-1].is_owned
        can_search = is_rented and self.search and not self.search.prefill_grids
        grids = self.search.grids if self.search and can_search else ()
        asks_turns = self.request.sensitivity
        return Verdict(self.decision, grids, as_text(self.request.model), asks_turns)

    @cached_property
    def pools(self) -> list[tuple[Allocation, ReplicaPool]]:
        """Pools of all allocations, owned chips first."""
        return [
            (allocation, pool) for allocation in self.fleet.allocations for pool in allocation.pools
        ]

    @property
    def scenarios(self) -> Sequence[Scenario]:
        """Scenarios of the plans in the headline."""
        return [scenario for _, pool in self.pools for scenario in pool.plan.scenarios]

    # Records

    asked_keys = KEYS

    @property
    def columns(self) -> Sequence[TableColumn]:
        """Columns of the table of records."""
        return columns(self.service)

    @cached_property
    def unrounded(self) -> list[Record]:
        """Unrounded record of each plan; the first record of each pool is the chosen plan."""
        is_ranked = self.is_of_one_class and self.servers is None
        count = self.request.top if is_ranked else 1
        rows: list[Record] = []
        for allocation, pool in self.pools:
            owned = allocation.chips if allocation.is_owned else None
            names = tuple(kind.name for kind in pool.classes if kind.name)
            for row in plan_records.unrounded(
                pool.decision.plans[:count], pool.decision.service, self.typed, owned, names
            ):
                if not self.is_of_one_class:
                    row["rank"] = len(rows) + 1
                if (nearest := _nearest_limit(pool)) is not None:
                    row["service_ttft_ms"] = nearest * 1e3
                if allocation.is_owned and row["api_break_even_tokens_per_month"]:
                    self._charge_all_owned(row, allocation, pool)
                rows.append(row)
        return rows

    def _charge_all_owned(self, row: Record, allocation: Allocation, pool: ReplicaPool) -> None:
        """Set the rate at which an API costs as much as all owned chips of a type, used or idle."""
        used = row["chips_total"] if self.is_of_one_class else allocation.used("chips")
        row["api_break_even_tokens_per_month"] *= allocation.chips / used
        if len(self.fleet.owned) == 1:
            service = pool.decision.service
            share = sum(kind.share for kind in pool.classes)
            tokens = (service.prompt + service.output) * SECONDS_PER_MONTH
            rate = row["api_break_even_tokens_per_month"] / tokens
            row["api_break_even_utilization"] = rate / (share * self._owned_capacity)

    @cached_property
    def _owned_capacity(self) -> float:
        """Highest throughput of all owned chips. [1/s]"""
        alone = replace(self.fleet.service, rate=None, budget=inf, max_chips=inf)
        return allocate(self.fleet.owned, None, alone).requests if self.fleet.owned else 0.0

    def records(self) -> list[Record]:
        """One record for each plan."""
        return [plainly(record) for record in self.unrounded]

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Table of the records, with the columns of the first screen."""
        return self.columns, self.unrounded

    def premises(self) -> Record:
        """Assumptions: traffic, prices, engines and the definition of the latencies."""
        decision = self.decision if self.is_of_one_class else self.pools[0][1].decision
        shared = plan_records.assumptions(decision)
        if self.is_of_fleet or not self.is_of_one_class:
            shared["requests_per_s"] = plain(self.fleet.requests)
        if not self.is_of_one_class:
            lengths = ("prompt_tokens", "output_tokens", "context_tokens", "prefix_hit")
            shared = {key: value for key, value in shared.items() if key not in lengths}
        return shared | ({"traffic": str(self.request.traffic)} if self.request.traffic else {})

    def details(self) -> Record:
        """Details: why others lost, what would help, class latencies and allocations."""
        if self.servers is not None:
            return {"servers": self.servers}
        of_plans: Record = {}
        if self.is_of_one_class and not self.is_of_fleet:
            of_plans = plan_records.details(self.verdict, self.typed)
        return {
            **of_plans,
            "classes": [class_record(served) for served in self._served],
            "sharing": plan_records.sharings(self.fleet.allocations[-1].sharing),
            "requests_per_s": plain(self.fleet.requests),
            "rate": plain(self.fleet.service.rate),
            "requests_per_s_with_next_node": {
                chip: plain(sustained) for chip, sustained in self._grown.items()
            },
            "shares": [*map(self._share, self.fleet.allocations)],
        }

    def _share(self, allocation: Allocation) -> Record:
        """Record of an allocation, with its decision unless that is listed elsewhere."""
        of_plans = {}
        if self.is_of_one_class and self.is_of_fleet:
            is_last = allocation is self.fleet.allocations[-1]
            verdict = self.verdict if is_last else Verdict(allocation.decision)
            of_plans = {
                "assumptions": plan_records.assumptions(allocation.decision),
                **plan_records.details(verdict, self.typed),
            }
        return {
            "owned_chips": allocation.chips if allocation.is_owned else None,
            "requests_per_s": plain(allocation.requests),
            "chips_left": plain(allocation.chips_left),
            **of_plans,
            "sharing": plan_records.sharings(allocation.sharing),
        }

    @cached_property
    def _grown(self) -> dict[str, float]:
        """Throughput with one more node of one owned chip type, if all of them serve."""
        return with_next_node(self.fleet) if self.fleet.service.rate is None else {}

    @cached_property
    def _served(self) -> list[ServedClass]:
        return with_percentiles(tuple(pool for _, pool in self.pools))

    @property
    def charts(self) -> Charts:
        """Charts of TPOT against price."""
        return {"plan": self.chart} if self.is_of_one_class and self.pools else {}

    def chart(self) -> "Chart":
        """Chart of TPOT against price for the first plans and the best plan of each chip."""
        from fastcalc.features.plan.chart import plans

        return plans(self.decision, self.request.top)

    # Servers

    def script(self, program: str) -> str:
        """The scripts that start the servers of all pools."""
        return "\n".join(
            script(
                program,
                pool.plan,
                pool.decision.service,
                self._name(pool),
                plan_records.commands_of(pool.plan, self.typed),
                None if self.is_of_one_class else self._first_tokens(index),
            )
            for index, (_, pool) in enumerate(self.pools, 1)
        )

    def _first_tokens(self, index: int) -> str | None:
        """TTFT of each class of a pool, as shown in its table."""
        served = [served for served in self._served if served.pool == index]
        times = [(part.request_class.name, part.percentiles) for part in served if part.percentiles]
        if len(times) < len(served):
            return None
        words = [f"{name} {number(spread.ttft.percentiles[-1] * 1e3)} ms" for name, spread in times]
        return f" of 99 % within: {', '.join(words)}"

    def _name(self, pool: ReplicaPool) -> str:
        model = pool.plan.scenario.model.id
        return self.typed.names.get(model, model)

    @cached_property
    def _models(self) -> list[str]:
        """Models that the pools serve, as typed."""
        return [*dict.fromkeys(self._name(pool) for _, pool in self.pools)]

    def text(self, screen: Screen) -> str | None:  # noqa: ARG002
        """Text of the server scripts, if requested."""
        return self.servers

    # Page

    def page(self, screen: Screen) -> Sequence[Part]:
        """Page: the body, followed by a legend and notes on the listed plans."""
        if self.servers is not None:
            return ()
        rows, body = self.rows(wide=screen.wide), [*self.body(screen)]
        shown = [row for row in rows if row.is_shown]
        key = self.key()
        if self.is_of_one_class:
            key += _IN_NODES * any(row.plan.node_chips > 1 for row in shown)
        key += _CHANGED * any(row.is_marked for row in shown)
        tables = [part for part in body if isinstance(part, TextTable)]
        key = record_tables.with_mark(_of_shown(key, tables), *tables, marks=self.marks)
        notes, command = [*self.notes_of(rows)], self.next_command()
        return screen.with_notes(body, key, notes, command, fills_one_screen=self.fills_one_screen)

    def body(self, screen: Screen) -> Iterator[Part]:
        """Body: a headline, prices per chip-hour, and the tables."""
        yield self.title()
        yield HeadlineCase(self._asked())
        break_even = ""
        if self.is_of_one_class and not self.is_of_fleet:
            break_even = plan_notes.break_even(self.decision)
        yield from price_line(self.scenarios, break_even)
        for table in self.tables(screen):
            yield from ("", table)

    def next_command(self) -> str:
        """Command that prints one replica of the first plan."""
        return compare_command(self.scenarios[0], self.typed)

    def title(self) -> Title:
        """Headline: the chips to rent, or the load of owned chips and what to rent in addition."""
        fleet, remarks = self.fleet, self._remarks()
        rented = [pool for allocation, pool in self.pools if not allocation.is_owned]
        chips = " + ".join(dict.fromkeys(pool.plan.scenario.hardware.id for pool in rented))
        bill = bill_of(rented)
        if not fleet.owned:
            is_sized = fleet.serves_all and not fleet.service.is_fleet
            answer = bill if is_sized else f"{bill}, sustain {self._load()}"
            return Title(chips, f"{answer}{remarks}", answer)
        load = self._load()
        if rented:
            alone = number(
                sum(allocation.requests for allocation in fleet.allocations if allocation.is_owned)
            )
            load = f"{alone} of {number(fleet.requests)} requests/s; rent for the rest: "
            load += f"{chips}, {bill}{in_all(fleet)}"
        answer = f"{sustain_verb(fleet)} {load}"
        return Title(self._owned_chips(), f"{answer}{remarks}", answer)

    def _remarks(self) -> str:
        """Clauses on whether the limits hold, and whether the next chip or an API is as good."""
        fleet = self.fleet
        remarks = plan_notes.in_fewer_bits((pool.decision, pool.plan) for _, pool in self.pools)
        if self.is_of_one_class:
            decisions = [pool.decision for _, pool in self.pools]
            remarks += "" if self.is_of_fleet else chance_of_limits(self.verdict)
            remarks += "".join(map(plan_notes.level_runner_up, decisions))
        remarks += self._unlimited_ttft()
        remarks += "".join(map(_kind_of_market, self._chips_rented))
        if fleet.service.rate is not None or self.is_of_fleet:
            remarks += cheaper_api(fleet.service, fleet.requests, fleet.usd_per_month)
        return remarks + (self._expected() if self.is_of_one_class else "")

    def _asked(self) -> str:
        """Phrase for the load that is served."""
        fleet = self.fleet
        if self.is_of_one_class:
            return phrase(self.request, fleet.service)
        is_asked = fleet.serves_all and not fleet.service.is_fleet
        return listed(self._models) + f": {self._load()}" * is_asked

    @property
    def _chips_rented(self) -> list[Scenario]:
        """Scenario of each rented chip type."""
        scenarios = [
            scenario
            for allocation, pool in self.pools
            for scenario in pool.plan.scenarios
            if not allocation.is_owned
        ]
        return list({scenario.hardware.id: scenario for scenario in scenarios}.values())

    def _unlimited_ttft(self) -> str:
        """TTFT with random arrivals, if no TTFT limit is set."""
        service, share = self.fleet.service, self.fleet.service.claimed_share
        if not self.is_of_one_class or service.ttft < inf or share is None:
            return ""
        seconds = max(pool.plan.values["ttft"] for _, pool in self.pools)
        time = f"{number(seconds)} s" if seconds >= 1.0 else f"{number(seconds * 1e3)} ms"
        return f"; p{share * 100:g} TTFT {time} (no limit set; {option('ttft')} sets one)"

    def _expected(self) -> str:
        """Plan chosen at expected speeds, if slower speeds lead to a different choice."""
        expected, service = self.decision.expected, self.decision.service
        if expected is None or self.is_of_fleet:
            return ""
        chosen, cheapest = self.decision.plans[0], expected.plans[0]
        expected_bill, bill = (
            (plan.scenario.hardware.id, plan_notes.chips_and_price(plan, service))
            for plan in (cheapest, chosen)
        )
        return f"; at expected speeds {', '.join(expected_bill)}" * (expected_bill != bill)

    def _load(self) -> str:
        """Phrase for the offered load."""
        requests, rate = self.fleet.requests, self.fleet.service.rate
        if not self.is_of_one_class:
            of_file = f"requests/s of {self.request.traffic}"
            if rate is not None and not self.fleet.serves_all:
                percent = number(requests / rate * 100.0)
                return f"{number(requests)} of {number(rate)} requests/s ({percent} %) of " + (
                    f"{self.request.traffic}"
                )
            return f"{number(requests)} {of_file}"
        tokens = number(requests * self.service.output)
        return f"{number(requests)} requests/s, {tokens} output tokens/s"

    def _owned_chips(self) -> str:
        """Allocated owned chips, grouped by chip type."""
        counts = Counter[str]()
        for allocation in self.fleet.allocations:
            if allocation.owned is not None:
                counts[allocation.owned.hardware.id] += allocation.chips
        return listed([f"{count:,} {chip}" for chip, count in counts.items()])

    def key(self) -> str:
        """Legend for replicas, requests and latencies."""
        if not self.is_of_one_class:
            return _KEY_OF_MIX + f"; {OVER}: over its limit" * any(over_limits(self._served))
        of_fleet = [_OF_FLEET] * self.is_of_fleet
        times = _FULL if self.service.share is None else _AT_LOAD
        key = "; ".join([_REPLICAS, *of_fleet, times, _OF_RANGE])
        return key + _OF_SLOW_CHIPS * (self.decision.expected is not None and not of_fleet)

    # Tables

    def rows(self, *, wide: bool) -> list[PlanRow]:
        """Plans on a page: the chosen plan of each pool, and alternatives if plans are ranked.

        wide : whether the page lists all of them
        """
        if not self.is_of_one_class:
            return [
                PlanRow(f"{index}", pool.plan, pool.decision, allocation.is_owned)
                for index, (allocation, pool) in enumerate(self.pools, 1)
            ]
        return [row for allocation, _ in self.pools for row in self._ranked(allocation, wide=wide)]

    def _ranked(self, allocation: Allocation, *, wide: bool) -> Iterator[PlanRow]:
        """Yield the plans of an allocation, further quantized plans, and other chips to rent."""
        decision, is_owned = allocation.decision, allocation.is_owned
        is_alone, top = len(self.fleet.allocations) == 1, self.request.top
        plans = decision.plans[: (top if wide else min(top, _FIRST)) if is_alone else 1]
        label = ("owned" if is_owned else "rented") * self.is_of_fleet
        for index, plan in enumerate(plans, 1):
            numbered = f"{label} {index}".strip() if is_alone else label
            yield PlanRow(numbered, plan, decision, is_owned)
        if not is_alone and not wide:
            return
        for plan in decision.in_fewer_bits[:FEWER_BITS]:
            yield PlanRow("quantized", plan, decision, is_owned)
        for plan in self._in_own_formats:
            yield PlanRow("own formats", plan, decision, is_owned)
        if is_owned:
            return
        chips = {plan.scenario.hardware.id for plan in plans}
        further = [plan for plan in decision.of_each_chip if plan.scenario.hardware.id not in chips]
        unlike = decision.on_unlike_chips
        if unlike is not None and unlike not in plans:
            further = [unlike, *(plan for plan in further if plan is not unlike)]
        for index, plan in enumerate(further):
            is_shown = wide or index < _OTHERS
            if is_shown or not self.is_of_fleet:
                yield PlanRow("other chip", plan, decision, is_shown=is_shown)

    @property
    def _in_own_formats(self) -> list[Plan]:
        """Best plan in the published formats, if the cheapest plan is quantized further."""
        is_plain = self.is_of_one_class and not self.is_of_fleet
        plan = self.decision.in_own_formats if is_plain else None
        return [plan] if plan and self.decision.plans[0].is_narrowed else []

    def tables(self, screen: Screen) -> list[TextTable]:
        """Tables of labeled plans or, for several classes, of pools and class latencies."""
        if not self.is_of_one_class:
            return [
                self._pool_table(screen),
                record_tables.table(CLASS_COLUMNS, self._served, screen.width),
            ]
        rows = [row for row in self.rows(wide=screen.wide) if row.is_shown]
        records = [
            {_LABEL.key: row.label + STAR * row.is_marked, **record}
            for row in rows
            for record in plan_records.unrounded([row.plan], row.decision.service, self.typed)
        ]
        shown = columns_but(self.service, self.hidden(rows, wide=screen.wide), wide=screen.wide)
        has_fewer_bits = any(row.is_marked for row in rows)
        fitting = with_formats(shown, records, has_fewer_bits=has_fewer_bits)
        return [record_tables.table([_LABEL, *fitting], records, screen.width)]

    def hidden(self, rows: Sequence[PlanRow], *, wide: bool) -> Collection[str]:
        """Keys of columns that carry no information for the plans in a table."""
        service, hidden = self.service, set[str]()
        if service.rate is None and service.share is None and not service.is_fleet:
            hidden.add("utilization")
        if all(tpot_range(row.plan) is None for row in rows):
            hidden.add("service_tpot_ms_low")
        plans = [row.plan for row in rows] if self.is_of_fleet else self.decision.plans
        if not any(plan.scenario.traffic.speculation.drafted for plan in plans):
            hidden.add("speculation_tokens_per_pass")
        chips = {row.plan.scenario.hardware.id for row in rows}
        if self.is_of_fleet and not wide and len(chips) == 1:
            hidden.add("hardware")
        return hidden

    def _pool_table(self, screen: Screen) -> TextTable:
        """Table of the pools, without the TTFT columns of the class table."""
        marks = [STAR * row.is_marked for row in self.rows(wide=screen.wide)]
        in_class_table = {served.pool for served in self._served if served.percentiles}
        hidden = {*_LEFT_OUT, *(_TTFT if len(in_class_table) == len(marks) else ())}
        shown = columns_but(self.service, hidden, wide=screen.wide)
        table_columns = [_POOL]
        if self.fleet.owned:
            table_columns.append(_OWNED)
        if len(self._models) > 1:
            table_columns += pick("model")
        table_columns += with_formats(shown, self.unrounded, has_fewer_bits=any(marks))
        records = [
            {
                **record,
                **(dict.fromkeys(_TTFT) if record["rank"] in in_class_table else {}),
                _POOL.key: f"{record['rank']}{mark}",
                _OWNED.key: "rented" if record["owned_chips"] is None else "owned",
            }
            for record, mark in zip(self.unrounded, marks, strict=True)
        ]
        return record_tables.table(table_columns, records, screen.width)

    # Notes

    def notes_of(self, rows: Sequence[PlanRow]) -> Iterator[Note]:
        """Notes on the plans of a page, their costs, and better alternatives."""
        yield from plan_notes.bursts(self.classes)
        if not self.is_of_one_class:
            yield from self._notes_of_mix()
        elif self.is_of_fleet:
            yield from self._notes_of_fleet(rows)
        else:
            yield from self._notes_of_ranked(rows)

    def _notes_of_ranked(self, rows: Sequence[PlanRow]) -> Iterator[Note]:
        """Notes on ranked plans: basis, runner-up, why others lost, and tipping points."""
        decision, unlike = self.decision, self.decision.on_unlike_chips
        if self.request.think is not None and len(rows) > 1:
            rate = f"{number(self.service.rate or 0.0)} requests/s"
            text = f"all rows use plan 1's {rate}; on a faster plan the same users would send more"
            yield Note(text, Weight.QUEUE)
        if unlike is not None:
            command = plan_records.prompts_command(unlike, self.typed)
            yield Note(plan_notes.crossing_note(unlike, command), Weight.KV_TRANSFER)
        yield from weighted(0, map(self._own_formats_note, self._in_own_formats))
        plans = [row.plan for row in rows]
        shown = [row.plan for row in rows if row.is_shown]
        yield from plan_notes.decision_notes(decision, plans, shown)
        yield from weighted(Weight.TIPPING_POINT, tipping_point_notes(self.verdict))
        yield from regret_notes(self.verdict)
        yield from odds_notes(self.verdict)
        yield from single_chip_notes(decision, self.verdict.grids)
        yield from weighted(0, plan_records.service_notes(self.service))
        warnings = decision.plans[0].replica.warnings
        for warning in each_warning(plan.replica for plan in plans):
            yield Note(warning, Weight.WARNING if warning in warnings else 0)

    def _own_formats_note(self, plan: Plan) -> str:
        weights, cache = own_formats(plan.scenario.model)
        cost = plan_notes.times_the_cost(self.decision, plan)
        bill = plan_notes.chips_and_price(plan, self.service)
        return f"in the model's own formats ({weights}, cache {cache}), {cost}: {bill}"

    def _notes_of_fleet(self, rows: Sequence[PlanRow]) -> Iterator[Note]:
        """Notes on a fleet: an API, more chips and all owned chips, then each allocation."""
        rented = [row.plan for row in rows if not row.is_owned]
        yield from weighted(1, self._against_api())
        yield from weighted(1, next_nodes(self.fleet, self._grown))
        yield from weighted(1, owning_each(self.fleet, self.service))
        for allocation in self.fleet.allocations:
            yield from weighted(1, _notes_of_allocation(allocation))
        if chance := chance_of_limits(self.verdict).removeprefix("; "):
            yield Note(f"rented chips: {chance}", 1)
        for note in (*odds_notes(self.verdict), *regret_notes(self.verdict)):
            yield replace(note, text=f"rented chips: {note.text}", weight=min(note.weight, 1))
        for text in tipping_point_notes(self.verdict):
            yield Note(f"rented chips: {text}", 2)  # which was asked for
        yield from weighted(1, plan_notes.other_prices_of_plans(rented))
        yield from weighted(0, plan_records.service_notes(self.fleet.service))
        for _, pool in self.pools:
            for note in plan_notes.decision_notes(pool.decision, [pool.plan], [pool.plan]):
                if not note.is_hint:
                    yield replace(note, weight=0)
        yield from weighted(0, each_warning(row.plan.replica for row in rows))

    def _notes_of_mix(self) -> Iterator[Note]:
        """Notes on a mix: missed limits, costs, other groupings, pools without percentiles."""
        yield from weighted(1, over_limits(self._served))
        yield from weighted(1, one_chip_type(self.fleet))
        yield from weighted(1, self._against_api())
        yield from weighted(1, next_nodes(self.fleet, self._grown))
        yield from weighted(1, shared_nodes(self.fleet))
        for allocation, pool in self.pools:
            yield from weighted(1, () if allocation.is_owned else plan_notes.idle(pool.plan))
        yield from weighted(1, idle_chips(self.fleet))
        yield from weighted(1, owning_each(self.fleet, self.service))
        yield from weighted(1, other_sharings(self.fleet, self._models))
        yield from weighted(1, self._busy())
        yield from weighted(0, plan_records.service_notes(self.service))

    def _against_api(self) -> Iterator[str]:
        """Note the API's charge for the same load; the cost includes owned chips, used or idle."""
        fleet = self.fleet
        if fleet.service.tariff.api is None:
            return
        rented = (allocation for allocation in fleet.allocations if not allocation.is_owned)
        capacity = self._owned_capacity + sum(allocation.most_requests for allocation in rented)
        yield from api_notes(fleet.service, fleet.requests, capacity, fleet.usd_per_month)

    def _busy(self) -> Iterator[str]:
        """Note which pools have no percentiles, and why."""
        for index, (_, pool) in enumerate(self.pools, 1):
            service = pool.decision.service
            load = random_load(pool.plan, service) if service.is_random else None
            if load and not load.is_known:
                yield in_words(load, f"pool {index}")


def _of_shown(key: str, tables: Iterable[TextTable]) -> str:
    """Legend without the terms of columns that the tables leave out."""
    headings = {line for table in tables for heading in table.headings for line in heading}
    hidden = {term for term, heading in _COLUMNS_IN_KEY.items() if heading not in headings}
    return "; ".join(part for part in key.split("; ") if part.partition(":")[0] not in hidden)


def _more_in_fewer_bits(allocation: Allocation) -> Iterator[str]:
    """Note the throughput of owned chips with quantized weights, if published formats lead."""
    decision = allocation.decision
    if allocation.plan is None or not decision.may_lead(allocation.plan):
        return
    narrowed = [plan for plan in decision.in_order if not decision.may_lead(plan)]
    requests = max((plan.requests for plan in narrowed), default=0.0)
    if decision.service.rate is None and requests > allocation.plan.requests * _MORE:
        plan = max(narrowed, key=lambda plan: plan.requests)
        weights, cache = plan.scenario.work.weight_format, plan.scenario.work.kv_format
        formats = f"{weights}, cache {cache}"
        yield (
            f"quantized further ({formats}), these chips would serve {number(requests)} "
            f"requests/s: {option('weights', weights)} {option('kv', cache)}"
        )


def _kind_of_market(scenario: Scenario) -> str:
    """Say in a phrase that a chip is a consumer card, or that only marketplaces rent it."""
    chip, is_consumer = scenario.hardware.id, scenario.hardware.market == "consumer"
    if scenario.quote.is_marketplace:
        card = " a consumer card," * is_consumer
        return f"; {chip} is{card} rented only on marketplaces"
    return f"; {chip} is a consumer card" * is_consumer


def _notes_of_allocation(allocation: Allocation) -> Iterator[str]:
    """Notes on owned chips: which ones stay idle, and how the others serve the load."""
    chosen, owned = allocation.plan, allocation.owned
    if chosen is None:
        yield f"{chips_of(allocation)} have no throughput: {refusal_of(allocation)}"
        return
    service = allocation.decision.service
    if owned is None:
        if service.power < inf:
            yield from power_notes(chosen.scenario.hardware)
        return
    if allocation.chips_left:
        yield f"idle: {allocation.chips_left:,.0f} of {allocation.chips:,} {owned.hardware.id}"
    yield from _more_in_fewer_bits(allocation)
    yield from (note.text for note in plan_notes.queue_notes(chosen, service) if note.weight)
    yield from plan_notes.slow_end(chosen, service)


def _nearest_limit(pool: ReplicaPool) -> float | None:
    """TTFT of the class nearest to its limit, if any class has one. [s]"""
    times = zip(pool.plan.class_ttft, pool.classes, strict=False)
    limited = [(ttft / kind.ttft, ttft) for ttft, kind in times if kind.ttft < inf]
    return max(limited)[1] if limited else None
