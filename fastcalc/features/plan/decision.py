"""The result of a deployment search: plans, why the others lose, and what would help."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from operator import is_

import numpy as np

from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.own_formats import is_narrowed, narrows_cache, narrows_weights, own_formats
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.features.plan.pools import PrefillPool, transfer_seconds
from fastcalc.features.plan.scored import Scored
from fastcalc.features.plan.service import NEAR, Service
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.formulas.types import Floats
from fastcalc.grid.grid import Grid

REASONS = {
    "unfit": "do not fit the chips' memory",
    "ttft": "take too long to the first token",
    "tpot": "take too long between tokens",
    "chips": "need too many chips",
    "budget": "cost too much per month",
    "power": "draw too much power",
    "several": "miss several of these",
    "unknown": "have no known price or power",
    "beaten": "meet all of it, but not at the least",
}
"""Record keys for the numbers of deployments that lose, by reason."""

FEWER_BITS = 2
"""Number of more strongly quantized plans that are reported without being requested."""

Variant = tuple[object, ...]


def variant_of(
    scenario: Scenario, *, is_disaggregated: bool, taking: Scenario | None = None
) -> Variant:
    """Return the key that identifies a variant: chip, formats, speculation, disaggregation.

    taking : The scenario of the prefill chips, if of another chip type.
    """
    drafts = scenario.traffic.speculation
    formats = (scenario.weights, scenario.kv, drafts.tokens_per_pass, drafts.drafted)
    return (scenario.hardware.id, *formats, is_disaggregated, taking and taking.hardware.id)


@dataclass(frozen=True)
class Plan:
    """A deployment for a service.

    scenario : One decode replica as passed to ``compare``, with colocated prefill.
    layout, batch, replicas, busy : For the decode replicas, where ``busy`` is their utilization.
    prefill_layout, prefill_replicas, prefill_busy : For the prefill pool, if disaggregated.
    prefill_scenario, prefill_chips : A prefill replica and all prefill chips, if of another type.
    kv_transfer_s : KV-cache transfer time of a prompt from prefill to decode chips, in seconds.
    values, misses : TTFT, TPOT, chips and maybe dollars and watts, and each divided by its limit.
    requests : The throughput of all replicas at their maximum utilization. [1/s]
    cost, last_resort : The objective, and the tie-breaker between plans of equal cost and chips.
    class_ttft, class_tpot : TTFT and TPOT of each request class, if there are several, in seconds.
    slowness : The latency at the requested confidence relative to the expected latency.
    expected : The best plan of the variant at expected speeds, if this plan assumes slower ones.
    node_chips : The chips per node.
    is_checked : Whether latencies are percentiles for random arrivals, if these have a closed form.
    has_percentiles : Whether these have a closed form.
    """

    scenario: Scenario
    layout: Layout
    batch: float
    replicas: float
    busy: float
    prefill_layout: Layout | None
    prefill_replicas: float
    prefill_busy: float
    values: dict[str, float]
    misses: dict[str, float]
    requests: float
    cost: float
    last_resort: float
    class_ttft: tuple[float, ...] = ()
    class_tpot: tuple[float, ...] = ()
    is_checked: bool = False
    has_percentiles: bool = False
    slowness: float = 1.0
    expected: "Plan | None" = None
    node_chips: int = 1
    prefill_scenario: Scenario | None = None
    prefill_chips: float = 0.0
    kv_transfer_s: float = 0.0

    @cached_property
    def replica(self) -> Outcome:
        """The estimate for one decode replica, with colocated prefill."""
        return solve(self.scenario)

    @property
    def first_seconds(self) -> float:
        """The TTFT without queueing delay, in seconds."""
        return min(self.values["ttft"], float(self.replica.estimate.ttft[0]) * self.slowness)

    def request_seconds(self, output: float) -> float:
        """Return the end-to-end latency of a request without queueing delay, in seconds."""
        return self.first_seconds + (output - 1.0) * self.values["tpot"]

    @property
    def is_narrowed(self) -> bool:
        """Whether weights or KV cache are quantized below the published format or the default."""
        return is_narrowed(self.scenario)

    @property
    def order(self) -> tuple[float, float, float]:
        """The sort key: lowest cost, then fewest chips, then the tie-breaker."""
        return self.cost, self.values["chips"], self.last_resort

    @property
    def variant(self) -> Variant:
        """The variant of the plan."""
        is_disaggregated = self.prefill_layout is not None
        return variant_of(
            self.scenario, is_disaggregated=is_disaggregated, taking=self.prefill_scenario
        )

    @property
    def is_in_own_formats(self) -> bool:
        """Whether weights and KV cache are in the model's published formats."""
        weights, cache = own_formats(self.scenario.model)
        scenario = self.scenario
        published = (None, weights, *scenario.model.also_published)
        return scenario.weights in published and scenario.work.kv_format == cache

    @property
    def idle_chips(self) -> float:
        """The idle chips in the plan's nodes."""
        running = self.replicas * self.layout.chips
        if self.prefill_layout is not None:
            running += self.prefill_replicas * self.prefill_layout.chips
        return self.values["chips"] - running

    @property
    def scenarios(self) -> list[Scenario]:
        """The scenario for decode, and that for prefill if it runs on other chips."""
        return [self.scenario, *([self.prefill_scenario] if self.prefill_scenario else [])]

    @property
    def usd_per_hour(self) -> float | None:
        """The hourly price of all chips, in USD per hour."""
        return self.of_all_chips(lambda scenario: scenario.pricing.per_chip_hour(scenario.hardware))

    def of_all_chips(self, per_chip: Callable[[Scenario], float | None]) -> float | None:
        """Sum an amount over all chips. Returns None if it is unknown for any of them."""
        chips_of = [(self.scenario, self.values["chips"] - self.prefill_chips)]
        if self.prefill_scenario is not None:
            chips_of.append((self.prefill_scenario, self.prefill_chips))
        amounts = [(per_chip(scenario), chips) for scenario, chips in chips_of]
        return sum_if_known(amount and amount * chips for amount, chips in amounts)

    @property
    def usd_per_month(self) -> float | None:
        """The price of all chips for a month of 730 hours, in USD."""
        price = self.usd_per_hour
        return None if price is None else price * HOURS_PER_MONTH


@dataclass
class Decision:
    """The result of a search.

    candidates, reasons : The evaluated deployments, and how many lose for each of `REASONS`.
    best_by_variant : The best plan of each variant among those that meet the limits.
    options : By variant, all deployments from which its best plan was chosen.
    near : The cheapest near miss.
    closest : By chip without a plan, the deployment that misses its limits by the least.
    relaxed : By limit, the value that would allow a plan if the other limits stay the same.
    unknown : By chip without a known price or power, how many deployments lose for that reason.
    terms : The rental terms, empty if not specified.
    expected : The decision at expected speeds, if these plans must meet the limits at slower ones.
    """

    service: Service
    candidates: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    best_by_variant: dict[tuple[object, ...], Plan] = field(default_factory=dict)
    options: dict[Variant, list[Scored]] = field(default_factory=dict)
    near: Plan | None = None
    closest: dict[str, Plan] = field(default_factory=dict)
    relaxed: dict[str, float] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    terms: str = ""
    expected: "Decision | None" = None
    _ordered: tuple[list[Plan], list[Plan], list[Plan]] = field(
        default=([], [], []), init=False, repr=False, compare=False
    )

    def add(self, scored: Scored) -> None:
        """Add the deployments of a grid: the best, the near misses, and why the others lose."""
        if (key := self.add_best(scored)) is not None:
            self.options.setdefault(key, []).append(scored)
        table = np.stack([*scored.misses.values()])
        is_missed = table > 1.0
        missed, largest_miss = is_missed.sum(axis=0), np.max(table, axis=0)
        counts = {"unfit": scored.unfit, "several": int((missed > 1).sum())}
        for name, wrong in zip(scored.misses, is_missed, strict=True):
            values = scored.values[name][wrong & (missed == 1)]
            counts[name] = len(values)
            self._relax(name, float(values.min(initial=inf)))
        self.reasons += Counter(counts | {"beaten": int((missed == 0).sum())})
        self.candidates += scored.unfit + len(scored.cost)
        self._add_misses(scored, np.where(missed > 0, largest_miss, inf))

    def add_best(self, scored: Scored) -> Variant | None:
        """Add only the best deployment of a grid, and return its variant if there is one."""
        if (best := scored.best) is None:
            return None
        pool, scenario = scored.pool(best), scored.grid.scenario
        taking = pool.scenario if pool else None
        key = variant_of(scenario, is_disaggregated=pool is not None, taking=taking)
        previous = self.best_by_variant.get(key)
        if previous is None or scored.order(best) < previous.order:
            self.best_by_variant[key] = plan_of(scored, best)
        return key

    def _add_misses(self, scored: Scored, largest_miss: Floats) -> None:
        """Keep the cheapest near miss, and the deployment closest to its limits.

        largest_miss : The largest ratio of a value to its limit, or infinity if all are met.
        """
        scenario, least = scored.grid.scenario, float(largest_miss.min(initial=inf))
        near = scored.first_of(largest_miss < NEAR)
        if near is not None and (
            self.near is None
            or self.may_lead_in(scenario) > self.may_lead(self.near)
            or scored.cost[near] <= self.near.cost
        ):
            near_misses = filter(None, (self.near, plan_of(scored, near)))
            self.near = min(near_misses, key=self._order)
        if least < self._least_miss(scenario.hardware.id):
            index = int(np.argmin(largest_miss))
            self.closest[scenario.hardware.id] = plan_of(scored, index)

    def add_late(self, plan: Plan) -> None:
        """Add a deployment whose percentiles may exceed the limits."""
        over = [name for name, miss in plan.misses.items() if miss > 1.0]
        chip = plan.scenario.hardware.id
        if over and max(plan.misses.values()) < self._least_miss(chip):
            self.closest[chip] = plan
        if len(over) == 1:
            self._relax(over[0], plan.values[over[0]])

    def _least_miss(self, chip: str) -> float:
        closest = self.closest.get(chip)
        return inf if closest is None else max(closest.misses.values())

    def _relax(self, name: str, value: float) -> None:
        """Note a value of one limit at which a deployment would meet all of them."""
        if value < self.relaxed.get(name, inf):
            self.relaxed[name] = value

    def may_lead(self, plan: Plan) -> bool:
        """Check whether a plan may lead: in published formats, or quantized as requested."""
        return self.may_lead_in(plan.scenario)

    def may_lead_in(self, scenario: Scenario) -> bool:
        """Check whether the formats are as published, or quantized as requested."""
        weights, cache = self.service.any_weights, self.service.any_cache
        return (weights or not narrows_weights(scenario)) and (cache or not narrows_cache(scenario))

    def grids_to_lead(self, grids: Sequence[Grid], chip: str) -> list[Grid]:
        """Return a chip's grids in formats that may lead, or in all formats if no plan may lead."""
        leads = self.may_lead(self.plans[0])
        of_chip = (grid for grid in grids if grid.scenario.hardware.id == chip)
        return [grid for grid in of_chip if not leads or self.may_lead_in(grid.scenario)]

    def _order(self, plan: Plan) -> tuple[bool, float, float, float, bool, float, str]:
        """Return the sort key. Among equals, cheaper plans and those with percentiles come first.

        Chip and formats decide last, so that variants have the same order in every run.
        """
        (cost, chips, last_resort), name = plan.order, repr(plan.variant)
        usd = 0.0 if self.service.objective == "usd" else plan.usd_per_hour
        leads = not self.may_lead(plan), cost, chips, inf if usd is None else usd
        return *leads, not plan.has_percentiles, last_resort, name

    @property
    def in_order(self) -> list[Plan]:
        """The best plan of each variant, in order. Plans that may not lead come last."""
        plans = list(self.best_by_variant.values())
        if len(plans) != len(self._ordered[0]) or not all(map(is_, plans, self._ordered[0])):
            ordered = sorted(plans, key=self._order)
            self._ordered = plans, ordered, [*filter(self.may_lead, ordered)] or ordered
        return self._ordered[1]

    @property
    def plans(self) -> list[Plan]:
        """The plans that may lead, in order, or all plans if none may."""
        return self._ordered[2] if self.in_order else []

    @property
    def in_fewer_bits(self) -> list[Plan]:
        """The plans cheaper than the first but quantized below the request, in order."""
        first = self.plans[:1]
        narrowed = (plan for plan in self.in_order if not self.may_lead(plan))
        return [plan for plan in narrowed if plan.cost < first[0].cost]

    @property
    def in_own_formats(self) -> Plan | None:
        """The best plan with weights and KV cache in their published formats."""
        return next((plan for plan in self.in_order if plan.is_in_own_formats), None)

    @property
    def on_unlike_chips(self) -> Plan | None:
        """The best plan with heterogeneous prefill, on another chip type than decode."""
        unlike = (plan for plan in self.plans if plan.prefill_scenario is not None)
        return next(unlike, None)

    def reported(self, count: int) -> list[Plan]:
        """Return the first plans, and all others shown with them."""
        further = [plan for plan in (self.in_own_formats, self.on_unlike_chips) if plan]
        fewer = self.in_fewer_bits[:FEWER_BITS]
        return [*self.plans[:count], *self.of_each_chip, *fewer, *further]

    @property
    def of_each_chip(self) -> list[Plan]:
        """The best plan on each chip, in order."""
        by_chip: dict[str, Plan] = {}
        for plan in self.in_order:
            by_chip.setdefault(plan.scenario.hardware.id, plan)
        return list(by_chip.values())

    @property
    def runner_up(self) -> Plan | None:
        """The best plan on a chip other than the winner's."""
        return next(iter(self.of_each_chip[1:]), None)

    @property
    def nearest(self) -> Plan | None:
        """The deployment that misses its limits by the least, among those that miss them."""
        return min(self.closest.values(), key=lambda plan: max(plan.misses.values()), default=None)


def plan_of(scored: Scored, index: int) -> Plan:
    """Build a plan from a deployment of a grid, with the estimates of the search."""
    service, grid, row = scored.service, scored.grid, int(scored.layout[index])
    batch, pool, busy = float(scored.batch[index]), scored.pool(index), float(scored.busy[index])
    base = grid.scenario
    replicas, prompt_replicas, requests = (float(values[index]) for values in scored.counts)
    prompt_busy = 0.0
    if pool is not None:
        taken_in = (service.rate or requests) * pool.taking / prompt_replicas
        prompt_busy = min(taken_in, pool.busiest)
    # Without a rate, nothing else says how idle a replica is, and its tokens must pay for that.
    paid = busy if service.rate is None and not service.is_fleet else 1.0
    scenario = replace(
        base,
        batches=(int(batch),),
        traffic=service.traffic(base.traffic),
        sharding=Sharding.of(grid.layouts[row]),
        pricing=replace(base.pricing, utilization=paid),
    )
    plan = Plan(
        scenario=scenario,
        layout=grid.layouts[row],
        batch=batch,
        replicas=replicas,
        busy=busy,
        prefill_layout=pool.layout if pool else None,
        prefill_replicas=prompt_replicas,
        prefill_busy=prompt_busy,
        values={name: float(scored.values[name][index]) for name in service.limits},
        misses={name: float(scored.misses[name][index]) for name in service.limits},
        requests=requests,
        cost=float(scored.cost[index]),
        last_resort=float(scored.last_resort[index]),
        class_ttft=tuple(scored.class_ttft[:, index].tolist()),
        slowness=float(scored.replica.slowness[index % len(scored.replica.batch)]),
        node_chips=scored.packing.node_chips,
    )
    if pool is None or pool.scenario is None:
        return plan
    return _with_prompts_on(
        pool, pool.scenario, plan, service, transfer_seconds(grid, service.prompt)[row]
    )


def _with_prompts_on(
    pool: PrefillPool, scenario: Scenario, plan: Plan, service: Service, seconds: float
) -> Plan:
    """Build a plan with heterogeneous prefill, including the KV-cache transfer time."""
    traffic, ranks = service.traffic(scenario.traffic), Sharding.of(pool.layout)
    return replace(
        plan,
        prefill_scenario=replace(scenario, traffic=traffic, sharding=ranks),
        prefill_chips=pool.chips,
        kv_transfer_s=max(pool.kv_transfer_s, float(seconds)),
    )
