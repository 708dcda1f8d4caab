"""What a search for deployments finds: plans, why the others lose, and what would help."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from fastcalc.core.own_formats import is_narrowed, narrows_cache, narrows_weights, own_formats
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Outcome, Scenario, solve
from fastcalc.features.plan.scored import Scored
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known
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
"""Keys under which records count why deployments lose."""

FEWER_BITS = 2
"""Plans quantized further that are reported where nobody asked for them. [1]"""


Variant = tuple[object, ...]


def variant_of(
    scenario: Scenario, *, is_disaggregated: bool, taking: Scenario | None = None
) -> Variant:
    """Variant of which one plan is listed: chip, formats, speculation, disaggregated or not.

    taking : scenario of the prefill chips, where they are another chip type
    """
    drafts = scenario.traffic.speculation
    formats = (scenario.weights, scenario.kv, drafts.tokens_per_pass, drafts.drafted)
    return (scenario.hardware.id, *formats, is_disaggregated, taking and taking.hardware.id)


@dataclass(frozen=True)
class Plan:
    """One deployment for a service.

    scenario : one replica that decodes as ``compare`` is asked for it, prompts inside
    layout, batch, replicas, busy : of those that decode, the share of its capacity each does [1]
    prefill_layout, prefill_replicas, prefill_busy : of the prefill pool, if disaggregated [1]
    prefill_scenario, prefill_chips : a prefill replica and the chips of all, of another chip type
    kv_transfer_s : time in which the cache of a prompt crosses to those that decode [s]
    values, misses : seconds to the first token, between tokens, chips; and each over its limit
    requests : throughput of all replicas at their highest utilization [1/s]
    cost, last_resort : the objective, and the tie-breaker between plans of equal cost and chips
    class_ttft, class_tpot : TTFT and TPOT of each class of requests, where there are several [s]
    slowness : times as long as expected that all of this is taken to last [1]
    expected : the best of its variant by expected speeds, where all of this is slower
    node_chips : chips that come together [1]
    is_checked : whether times are percentiles of random arrivals, where a closed form has those
    has_percentiles : whether it has
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
        """Estimate of one decode replica, with colocated prefill."""
        return solve(self.scenario)

    @property
    def first_seconds(self) -> float:
        """Time to the first token, without what it waits for others. [s]"""
        return min(self.values["ttft"], float(self.replica.estimate.ttft[0]) * self.slowness)

    def request_seconds(self, output: float) -> float:
        """The time of a whole request, without what it waits for others. [s]"""
        return self.first_seconds + (output - 1.0) * self.values["tpot"]

    @property
    def is_narrowed(self) -> bool:
        """Whether weights or cache are quantized further than published, or than by default."""
        return is_narrowed(self.scenario)

    @property
    def order(self) -> tuple[float, float, float]:
        """Key to sort by: the least cost, then the fewest chips, then the last resort."""
        return self.cost, self.values["chips"], self.last_resort

    @property
    def variant(self) -> Variant:
        """What it is the best of."""
        is_disaggregated = self.prefill_layout is not None
        return variant_of(
            self.scenario, is_disaggregated=is_disaggregated, taking=self.prefill_scenario
        )

    @property
    def is_in_own_formats(self) -> bool:
        """True where weights and cache are as the model is published."""
        weights, cache = own_formats(self.scenario.model)
        scenario = self.scenario
        published = (None, weights, *scenario.model.also_published)
        return scenario.weights in published and scenario.work.kv_format == cache

    @property
    def idle_chips(self) -> float:
        """Chips of its nodes on which nothing runs. [1]"""
        running = self.replicas * self.layout.chips
        if self.prefill_layout is not None:
            running += self.prefill_replicas * self.prefill_layout.chips
        return self.values["chips"] - running

    @property
    def scenarios(self) -> list[Scenario]:
        """The scenario of decode, and that of prefill where it runs on other chips."""
        return [self.scenario, *([self.prefill_scenario] if self.prefill_scenario else [])]

    @property
    def usd_per_hour(self) -> float | None:
        """Price of all chips for an hour. [USD/h]"""
        return self.of_all_chips(lambda scenario: scenario.pricing.per_chip_hour(scenario.hardware))

    def of_all_chips(self, per_chip: Callable[[Scenario], float | None]) -> float | None:
        """The sum over all chips of what each has; None where one of them has none."""
        chips_of = [(self.scenario, self.values["chips"] - self.prefill_chips)]
        if self.prefill_scenario is not None:
            chips_of.append((self.prefill_scenario, self.prefill_chips))
        amounts = [(per_chip(scenario), chips) for scenario, chips in chips_of]
        return sum_if_known(amount and amount * chips for amount, chips in amounts)

    @property
    def usd_per_month(self) -> float | None:
        """Price of all chips for a month of 730 hours. [USD]"""
        price = self.usd_per_hour
        return None if price is None else price * HOURS_PER_MONTH


@dataclass
class Decision:
    """What was found.

    candidates, reasons : deployments evaluated, and how many lost for which of `REASONS` [1]
    best_by_variant : of those that meet the limits the best of each variant
    options : of each variant, the deployments that it is the best of
    near : the least of those that miss nearly
    closest : by chip without a plan, the deployment that misses least
    relaxed : by limit, what it would have to be for a plan, the other limits as they are
    unknown : by chip without a known price or power, the deployments that lost for that [1]
    terms : on which clouds are to rent them; empty for no terms in particular
    expected : what is found by expected speeds, where these plans are to hold at slower ones
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

    def add(self, decision: "Decision") -> None:
        """Take in the deployments of another."""
        self.candidates += decision.candidates
        self.reasons += decision.reasons
        for key, plan in decision.best_by_variant.items():
            self.best_by_variant[key] = min(
                self.best_by_variant.get(key, plan), plan, key=lambda candidate: candidate.order
            )
        for key, scored in decision.options.items():
            self.options.setdefault(key, []).extend(scored)
        near = [plan for plan in (self.near, decision.near) if plan is not None]
        self.near = min(near, key=self._order, default=None)
        for chip, plan in decision.closest.items():
            closest = self.closest.setdefault(chip, plan)
            if max(plan.misses.values()) < max(closest.misses.values()):
                self.closest[chip] = plan
        for name, value in decision.relaxed.items():
            self.relaxed[name] = min(value, self.relaxed.get(name, value))

    def may_lead(self, plan: Plan) -> bool:
        """Whether a plan has bits as published, or as few as were asked for."""
        return self.may_lead_in(plan.scenario)

    def may_lead_in(self, scenario: Scenario) -> bool:
        """Whether formats have bits as published, or as few as were asked for."""
        weights, cache = self.service.any_weights, self.service.any_cache
        return (weights or not narrows_weights(scenario)) and (cache or not narrows_cache(scenario))

    def grids_to_lead(self, grids: Sequence[Grid], chip: str) -> list[Grid]:
        """Grids of a chip in formats that may lead; in all formats where no plan may lead."""
        leads = self.may_lead(self.plans[0])
        of_chip = (grid for grid in grids if grid.scenario.hardware.id == chip)
        return [grid for grid in of_chip if not leads or self.may_lead_in(grid.scenario)]

    def _order(self, plan: Plan) -> tuple[bool, float, float, float, bool, float, str]:
        """Key to sort by; of equals the cheaper, and those whose percentiles a closed form has.

        Chip and formats decide last, so that no two variants are in another order in another run.
        """
        (cost, chips, last_resort), name = plan.order, repr(plan.variant)
        usd = 0.0 if self.service.objective == "usd" else plan.usd_per_hour
        leads = not self.may_lead(plan), cost, chips, inf if usd is None else usd
        return *leads, not plan.has_percentiles, last_resort, name

    @property
    def in_order(self) -> list[Plan]:
        """The best of each variant, in order, those that may not lead at the end."""
        return sorted(self.best_by_variant.values(), key=self._order)

    @property
    def plans(self) -> list[Plan]:
        """Those that may lead, in order; where none may, all."""
        ordered = self.in_order
        return [plan for plan in ordered if self.may_lead(plan)] or ordered

    @property
    def in_fewer_bits(self) -> list[Plan]:
        """Plans that cost less than the first, quantized further than asked for, in order."""
        first = self.plans[:1]
        narrowed = (plan for plan in self.in_order if not self.may_lead(plan))
        return [plan for plan in narrowed if plan.cost < first[0].cost]

    @property
    def in_own_formats(self) -> Plan | None:
        """The best plan with weights and cache as the model is published."""
        return next((plan for plan in self.in_order if plan.is_in_own_formats), None)

    @property
    def on_unlike_chips(self) -> Plan | None:
        """The best plan with heterogeneous prefill, on another chip type than decode."""
        unlike = (plan for plan in self.plans if plan.prefill_scenario is not None)
        return next(unlike, None)

    def reported(self, count: int) -> list[Plan]:
        """The first plans, and all others that are shown with them."""
        further = [plan for plan in (self.in_own_formats, self.on_unlike_chips) if plan]
        fewer = self.in_fewer_bits[:FEWER_BITS]
        return [*self.plans[:count], *self.of_each_chip, *fewer, *further]

    @property
    def of_each_chip(self) -> list[Plan]:
        """The best plan of each chip, in order."""
        by_chip: dict[str, Plan] = {}
        for plan in self.in_order:
            by_chip.setdefault(plan.scenario.hardware.id, plan)
        return list(by_chip.values())

    @property
    def runner_up(self) -> Plan | None:
        """The best plan on another chip than the winner's."""
        return next(iter(self.of_each_chip[1:]), None)

    @property
    def nearest(self) -> Plan | None:
        """Of all that miss, the one that misses least."""
        return min(self.closest.values(), key=lambda plan: max(plan.misses.values()), default=None)
