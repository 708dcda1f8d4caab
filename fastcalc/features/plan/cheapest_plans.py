"""Ranks the deployments of all chips, refining the batch sizes between those tried first."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from math import inf, isnan

import numpy as np

from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.features.plan.decision import FEWER_BITS, Decision, Plan, Variant, variant_of
from fastcalc.features.plan.pools import PrefillPool, transfer_seconds
from fastcalc.features.plan.random_load import HeldLimits, held_limits
from fastcalc.features.plan.refine import Gaps, gaps_of, with_largest
from fastcalc.features.plan.score import AskedGrid, has_cost, resized, score, score_in_stacks
from fastcalc.features.plan.scored import Scored, misses_of
from fastcalc.features.plan.service import NEAR, Service
from fastcalc.features.plan.unlike import can_prefill_for, unlike_pools
from fastcalc.formulas.solving import bisect_integers
from fastcalc.formulas.types import Bools, Floats
from fastcalc.grid.blocks import keep_freed_memory
from fastcalc.grid.grid import Grid

_CHECKED = 12
"""Maximum number of layouts of a variant whose percentiles are checked."""

_SAME_COST = 1e-9
"""Relative difference between costs that differ only by rounding. [1]"""


def decide_surely(
    grids: Sequence[Grid], service: Service, *, shown: int = 5, taking: Sequence[Grid] = ()
) -> Decision:
    """Like `decide`, and adds the decision at expected speeds if limits must hold at slower ones.

    Every reported plan then has its counterpart at expected speeds.
    """
    decision = decide(grids, service, shown=shown, taking=taking)
    if service.deviations:
        variants = {plan.variant for plan in decision.reported(shown)}
        even = replace(service, deviations=0.0)
        expected = decide(grids, even, shown=shown, variants=variants, taking=taking)
        for variant in variants:
            plan = decision.best_by_variant[variant]
            decision.best_by_variant[variant] = replace(
                plan, expected=expected.best_by_variant.get(variant)
            )
        decision.expected = expected
    return decision


def decide(
    grids: Iterable[Grid],
    service: Service,
    *,
    shown: int = 5,
    variants: Collection[Variant] = (),
    prompt_pools: Sequence[PrefillPool] | None = None,
    taking: Sequence[Grid] = (),
    is_held: bool = True,
) -> Decision:
    """Find the best deployments for a service, and why the others lose.

    Tries the batches of the grids first, then those between them that may be better.

    shown : first plans, of which each is to be the best of its variant. Else it is the best of each
        chip, and the best in the model's own formats, that all batches are tried for; of 0 it is
        the best of all alone [1]
    variants : others that all batches are tried for
    prompt_pools : disaggregated prefill pools; None to search them, empty for none
    taking : grids of other chip types that may prefill
    is_held : whether exact percentiles of the best must meet the limits, not the search's estimates
    """
    search = _Search.of(grids, service, shown, variants, prompt_pools, taking)
    (decision,) = _decided([search], is_held=is_held)
    return decision


def decide_each(asked: Iterable[tuple[Iterable[Grid], Service]]) -> list[Decision]:
    """Best deployment for each of several services of the same requests, by estimates."""
    return _decided([_Search.of(*each) for each in asked], is_held=False)


def _decided(searches: "Sequence[_Search]", *, is_held: bool) -> list[Decision]:
    """Decisions of several searches, whose rounds are scored together."""
    keep_freed_memory()
    while waiting := [each for search in searches for each in search.waiting]:
        scored = score_in_stacks(waiting)
        for search in searches:
            search.next_round(islice(scored, len(search.waiting)))
    for search in searches:
        search.end(is_held=is_held)
    return [search.decision for search in searches]


@dataclass
class _Search:
    """A search that proceeds in rounds.

    waiting, left : grids of the next round, and gaps that may be searched after it
    """

    decision: Decision
    shown: int
    variants: Collection[Variant]
    waiting: list[AskedGrid]
    left: list[Gaps] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        grids: Iterable[Grid],
        service: Service,
        shown: int = 0,
        variants: Collection[Variant] = (),
        prompt_pools: Sequence[PrefillPool] | None = None,
        taking: Sequence[Grid] = (),
    ) -> "_Search":
        """Create a search before its first round."""
        search = cls(Decision(service), shown, variants, [])
        unlike = list(filter(None, (unlike_pools(grid, service) for grid in taking)))
        offered = None if prompt_pools is None else [None, *prompt_pools]
        for grid in map(with_largest, _of_known_cost(grids, search.decision)):
            search.waiting.append((grid, service, offered))
            search.waiting += [
                (grid, service, taken_in)
                for taken_in in unlike
                if can_prefill_for(taken_in, grid, service)
            ]
        return search

    def next_round(self, scored_grids: Iterable[list[Scored]]) -> None:
        """Add the deployments of the waiting grids, and queue gaps that may hold better ones."""
        decision = self.decision
        for scored in scored_grids:
            self.left.append(gaps_of(scored))
            for deployments in scored:
                decision.add(_summary(deployments))
        parts = [
            gaps.split() for gaps in _worth_trying(self.left, decision, self.shown, self.variants)
        ]
        self.waiting = [(first.between(), decision.service, first.pools) for first, _ in parts]
        self.left = [remaining for _, remaining in parts]

    def end(self, *, is_held: bool) -> None:
        """Check percentiles against the limits if requested, and count the skipped deployments."""
        decision = self.decision
        if is_held:
            hold_limits(decision, self.shown)
        if decision.plans:
            decision.reasons["beaten"] -= 1
        met = {plan.scenario.hardware.id for plan in decision.best_by_variant.values()}
        closest = decision.closest.items()
        decision.closest = {chip: plan for chip, plan in closest if chip not in met}


def _of_known_cost(grids: Iterable[Grid], decision: Decision) -> Iterator[Grid]:
    """Yield the grids of chips whose price and power are known, if these are needed."""
    for grid in grids:
        if has_cost(grid.scenario, decision.service):
            yield grid
            continue
        decision.candidates += grid.size
        decision.reasons["unknown"] += grid.size
        decision.unknown[grid.scenario.hardware.id] += grid.size
        decision.terms = grid.scenario.pricing.offer or ""


def hold_limits(decision: Decision, shown: int) -> None:
    """Size the reported plans so that their percentiles are within the limits.

    The search adds up the queueing delays at a percentile. Exact percentiles of the sum and of TPOT
    are computed only for the leading plans. A plan that misses a limit gets more replicas, until no
    plan that may lead is left unchecked.

    shown : first plans that are reported; of 0 it is the best of all alone, and nothing of those
        that miss the limits [1]
    """
    if decision.service.share is None:
        return
    late: list[_Late] = []
    while True:
        plans = decision.reported(shown) if shown else decision.plans[:1]
        unchecked = dict.fromkeys(plan.variant for plan in plans if not plan.is_checked)
        if not unchecked:
            break
        for variant in unchecked:
            _hold_variant(decision, variant, late)
    if not shown:
        return
    met = {plan.scenario.hardware.id for plan in decision.best_by_variant.values()}
    for plan, limits in late:
        if plan.scenario.hardware.id not in met:
            _missed_by(with_percentiles(plan, decision.service, limits), decision)


_Late = tuple[Plan, HeldLimits]
"""A plan whose percentiles are not within the limits."""


@dataclass
class _Checks:
    """Results of the percentile checks of one variant.

    late : plans over the limits
    options : all deployments of the variant
    most : cost above which a plan is of no interest
    held : results by layout, batch and pool, as several grids have the same
    """

    late: list[_Late]
    options: Sequence[Scored] = ()
    most: float = inf
    held: dict[tuple[object, ...], Plan | None] = field(default_factory=dict)


def _hold_variant(decision: Decision, variant: Variant, late: list[_Late]) -> None:
    """Replace the best plan of a variant with the best whose percentiles are within the limits.

    Tries the best plan of each layout in order, until the next costs no less even unchecked.
    """
    cheapest: Plan | None = None
    checks, layouts = _Checks(late, decision.options[variant]), set[object]()
    options = sorted(
        (scored.order(index), number, index)
        for number, scored in enumerate(checks.options)
        for index in scored.best_of_layouts
    )
    for order, number, index in options:
        scored = checks.options[number]
        layout = _row_of(scored, index)
        if layout in layouts:  # of which all batches were tried
            continue
        if len(layouts) == _CHECKED or (cheapest is not None and cheapest.order <= order):
            break
        layouts.add(layout)
        plan = _held_of_layout(scored, index, checks)
        if plan is not None and (cheapest is None or plan.order < cheapest.order):
            cheapest = plan
            checks.most = plan.cost
    decision.best_by_variant.pop(variant)
    if cheapest is not None:
        decision.best_by_variant[variant] = cheapest


def _row_of(scored: Scored, index: int) -> tuple[object, ...]:
    """Key for a deployment's layout and prefill pool, which several grids may share."""
    return scored.grid.layouts[int(scored.layout[index])], id(scored.pool(index))


def _held_of_layout(scored: Scored, index: int, checks: _Checks) -> Plan | None:
    """Best deployment of a layout whose percentiles are within the limits.

    If the batch of the search needs more replicas than estimated, never meets the limits or has no
    exact percentiles, use the smallest batch among those on the fewest replicas.

    index : index of the best batch in the search
    """
    chosen, service = _held(scored, index, checks), scored.service
    is_exact = chosen is not None and (chosen.has_percentiles or chosen.prefill_layout is not None)
    if chosen is not None and is_exact and chosen.order <= scored.order(index):
        return chosen
    tried = _batches(scored, index, checks)
    best = _best_held(chosen, _held(*tried[-1], checks))
    if service.rate is None or held_limits(_plan(scored, index), service) is None:
        return best
    batches = [_Batch(*place) for place in tried]
    fewest = int(min(each.scored.replicas[each.index] for each in batches))
    most = best.replicas if best else min(_most_replicas(scored, index, checks.most), 2.0 * fewest)
    for is_known in (True, False):
        counts = range(fewest, int(most) + 1 if is_known or not best else int(best.replicas))
        found = _on_fewest(batches, service.rate, counts, is_known=is_known)
        if found is not None:
            best = _best_held(best, _held(found.scored, found.index, checks))
    return best


def _batches(scored: Scored, index: int, checks: _Checks) -> list[tuple[Scored, int]]:
    """Batches of a deployment's layout and pool in all grids that meet all limits, in order."""
    layout, pool = scored.grid.layouts[int(scored.layout[index])], scored.pool(index)
    places = {
        float(other.batch[place]): (other, place)
        for other in checks.options
        for place in other.in_row_of(layout, pool).tolist()
        if other.is_met[place]
    }
    return [places[size] for size in sorted(places)]


def _best_held(first: Plan | None, second: Plan | None) -> Plan | None:
    """Cheaper of two plans of a layout; of equals the one with percentiles or fewer slots."""
    plans = filter(None, (first, second))
    return min(
        plans, key=lambda plan: (plan.cost, not plan.has_percentiles, plan.batch), default=None
    )


@dataclass(frozen=True, eq=False)
class _Batch:
    """A batch of a layout with colocated prefill, by its index among the deployments of a grid."""

    scored: Scored
    index: int

    @cached_property
    def _plan(self) -> Plan:
        return _plan(self.scored, self.index)

    @cached_property
    def limits(self) -> HeldLimits:
        """Percentiles of this batch against the limits."""
        limits = held_limits(self._plan, self.scored.service)
        assert limits is not None
        return limits

    @property
    def max_rate(self) -> float:
        """Highest rate per replica by the search. [1/s]"""
        return self.limits.load.rate / self._plan.busy * self.scored.service.utilization

    def is_too_small(self, rate: float, *, is_known: bool) -> bool:
        """Whether only larger batches can meet the limits at a rate per replica. [1/s]

        With more concurrent sequences, requests wait less for a slot, but TPOT is higher.

        is_known : whether percentiles must be exact
        """
        at_rate = self.limits.at(rate)
        if rate > self.max_rate * (1.0 + _SAME_COST) or (is_known and not at_rate.load.is_known):
            return True
        return at_rate.is_tpot_met and not at_rate.are_met


def _on_fewest(
    batches: Sequence[_Batch], rate: float, counts: range, *, is_known: bool
) -> _Batch | None:
    """Smallest batch among those that meet the limits on the fewest replicas; None if none do."""

    def in_time(replicas: int) -> _Batch | None:
        each = rate / replicas

        def is_enough(index: int) -> bool:
            return not batches[index].is_too_small(each, is_known=is_known)

        last = len(batches) - 1
        if not is_enough(last):
            return None
        smallest = batches[bisect_integers(is_enough, last, -1)[0]]
        return smallest if smallest.limits.at(each).are_met else None

    if not counts or in_time(counts[-1]) is None:
        return None
    fewest, _ = bisect_integers(lambda count: in_time(count) is not None, counts[-1], counts[0] - 1)
    return in_time(fewest)


def _held(scored: Scored, index: int, checks: _Checks) -> Plan | None:
    """Cached result of `_sized_to_limits`."""
    key = (*_row_of(scored, index), float(scored.batch[index]))
    if key not in checks.held:
        checks.held[key] = _sized_to_limits(scored, index, checks)
    return checks.held[key]


def _sized_to_limits(scored: Scored, index: int, checks: _Checks) -> Plan | None:
    """Deployment with the fewest replicas that meet the limits; None if no number does.

    Also None if it costs more than the given maximum.
    """
    plan, service = _plan(scored, index), scored.service
    limits = held_limits(plan, service)
    if limits is None:
        return replace(plan, is_checked=True)
    if not limits.are_limited:
        return with_percentiles(plan, service, limits)
    if not limits.are_met:
        checks.late.append((plan, limits))
    rate = limits.load.rate
    max_rate = rate / plan.busy * service.utilization
    if service.rate is None:
        rate = limits.highest_rate(max_rate)
    else:
        affordable = _most_replicas(scored, index, checks.most)
        replicas = limits.fewest_replicas(service.rate, plan.replicas, max_rate, affordable)
        rate = service.rate / replicas if replicas else 0.0
    if not rate:
        return None
    if rate != limits.load.rate:  # as busy as percentiles allow, whatever the search adds up
        capped = replace(service, utilization=plan.busy * rate / limits.load.rate, share=None)
        plan = _plan(resized(scored, index, capped), 0)
        limits = limits.at((service.rate or plan.requests) / plan.replicas)
    plan = with_percentiles(plan, service, limits)
    if max(plan.misses.values()) <= 1.0:
        return plan
    checks.late.append((plan, limits))
    return None


def _most_replicas(scored: Scored, index: int, cost: float) -> float:
    """Largest number of replicas of a deployment for a rate within a cost limit. [1]"""
    if cost == inf or scored.service.is_fleet:
        return inf
    packing = scored.packing.at(np.array([index]))
    chips = cost / scored.cost[index] * scored.values["chips"][index] * (1.0 + _SAME_COST)

    def is_within(replicas: int) -> bool:
        return bool(float(packing.chips(np.array([float(replicas)]), 0.0)[0]) <= chips)

    return bisect_integers(is_within, 0, int(chips) + 1)[0]  # of a chip each at least


def held_throughput(grid: Grid, service: Service, max_rate: float) -> float:
    """Highest rate per replica at which percentiles are within the limits of a service. [1/s]

    A smaller batch has shorter steps, so it may sustain more within the limits than the largest.

    grid : grid of one layout, with the batches to try in ascending order
    service : service of one replica, without limits on chips, cost and power
    max_rate : throughput of the largest batch by the search, returned if there is no closed form
    """
    (scored,) = score(grid, replace(service, rate=max_rate), [None])
    highest = 0.0
    for index in np.argsort(-scored.batch).tolist():
        is_largest = scored.batch[index] == scored.batch.max()
        rate = max_rate if is_largest else min(max_rate, float(scored.throughput[index]))
        if rate <= highest:
            continue
        limits = held_limits(replace(_plan(scored, index), replicas=1.0), scored.service)
        if limits is not None and limits.are_limited:
            rate = limits.highest_rate(rate)
        highest = max(highest, rate)
    return highest


def with_percentiles(plan: Plan, service: Service, limits: HeldLimits) -> Plan:
    """Plan with exact latency percentiles in place of the search's estimates."""
    latencies = {name: limits.held_against(name, service.limits[name]) for name in ("ttft", "tpot")}
    values = plan.values | {
        name: seconds for name, seconds in latencies.items() if not isnan(seconds)
    }
    return replace(
        plan,
        values=values,
        misses=misses_of(values, service),
        class_ttft=limits.percentiles("ttft") if service.classes else (),
        class_tpot=limits.percentiles("tpot") if service.classes else (),
        is_checked=True,
        has_percentiles=limits.load.is_known,
    )


def _missed_by(plan: Plan, decision: Decision) -> None:
    """Record which limits a deployment misses when its percentiles exceed them."""
    missed = Decision(decision.service, closest={plan.scenario.hardware.id: plan})
    over = [name for name, miss in plan.misses.items() if miss > 1.0]
    if len(over) == 1:
        missed.relaxed = {over[0]: plan.values[over[0]]}
    if over:
        decision.add(missed)


def _worth_trying(
    left: Sequence[Gaps], decision: Decision, shown: int, variants: Collection[Variant]
) -> list[Gaps]:
    """Gaps that may hold a better deployment than the shown plans, or than the first plan."""
    limit_of = _limit_of_shown(decision, shown, variants) if shown else _limit_of_first(decision)
    better = (gaps.below(limit_of(gaps, False), limit_of(gaps, True)) for gaps in left)
    return [gaps for gaps in better if len(gaps)]


_LimitOf = Callable[[Gaps, bool], float]
"""The cost that a plan in some gaps must beat, with or without disaggregated prefill."""


def _limit_of_first(decision: Decision) -> _LimitOf:
    """Cost of the best plan."""
    best = decision.plans[0] if decision.best_by_variant else None

    def limit_of(gaps: Gaps, _: bool) -> float:
        return _below(best, gaps.grid.scenario, decision) * (1.0 - 1e-9)

    return limit_of


def _below(best: Plan | None, scenario: Scenario, decision: Decision) -> float:
    """Cost of a plan; infinity if it may not lead and the formats of the scenario may."""
    if best is None or (decision.may_lead_in(scenario) and not decision.may_lead(best)):
        return inf
    return best.cost


def _limit_of_shown(decision: Decision, shown: int, variants: Collection[Variant]) -> _LimitOf:
    """Cost of each shown plan: of each requested variant, or the best of each chip."""
    chip_plans, fewer = decision.of_each_chip, decision.in_fewer_bits[:FEWER_BITS]
    alone = {plan.variant: plan.cost for plan in decision.reported(shown)}
    alone |= {
        variant: plan.cost
        for variant in variants
        if (plan := decision.best_by_variant.get(variant))
    }
    of_chip = {plan.scenario.hardware.id: plan for plan in chip_plans}
    if len(fewer) == FEWER_BITS:
        first = fewer[-1].cost
    else:
        first = decision.plans[0].cost if chip_plans else inf

    def limit_of(gaps: Gaps, is_disaggregated: bool) -> float:
        scenario = gaps.grid.scenario
        on_chip = of_chip.get(scenario.hardware.id)
        limit = _below(on_chip, scenario, decision)
        if on_chip and decision.may_lead(on_chip) and not decision.may_lead_in(scenario):
            limit = first
        unlike = next((pool.scenario for pool in gaps.pools if pool and pool.scenario), None)
        if unlike is not None:  # the best of these is shown, too, however much it costs
            best_unlike = decision.on_unlike_chips
            limit = max(limit, best_unlike.cost if best_unlike else inf)
        variant = variant_of(scenario, is_disaggregated=is_disaggregated, taking=unlike)
        return alone.get(variant, limit * (1.0 - 1e-9))  # equal cost is no gain

    return limit_of


def _summary(scored: Scored) -> Decision:
    service, misses = scored.service, scored.misses
    table = np.stack([misses[name] for name in service.limits])
    is_missed = table > 1.0
    missed, largest_miss = is_missed.sum(axis=0), np.max(table, axis=0)
    reasons = Counter(unfit=scored.unfit, several=int((missed > 1).sum()))
    near = scored.first_of((missed > 0) & (largest_miss < NEAR))
    cheapest, closest = scored.best, _argmin(largest_miss, missed > 0)
    plan = None if cheapest is None else _plan(scored, cheapest)
    chip = scored.grid.scenario.hardware.id
    relaxed = {}
    for name, wrong in zip(service.limits, is_missed, strict=True):
        reasons[name] = int((wrong & (missed == 1)).sum())
        index = _argmin(scored.values[name], (missed == 1) & wrong)
        if index is not None:
            relaxed[name] = float(scored.values[name][index])
    reasons["beaten"] = int((missed == 0).sum())
    return Decision(
        service,
        candidates=scored.unfit + len(scored.cost),
        reasons=reasons,
        best_by_variant={} if plan is None else {plan.variant: plan},
        options={} if plan is None else {plan.variant: [scored]},
        near=None if near is None else _plan(scored, near),
        closest={} if closest is None else {chip: _plan(scored, closest)},
        relaxed=relaxed,
    )


def _argmin(values: Floats, among: Bools) -> int | None:
    candidates = np.where(among, values, inf)
    index = int(np.argmin(candidates)) if candidates.size else 0
    return index if candidates.size and candidates[index] < inf else None


def _plan(scored: Scored, index: int) -> Plan:
    service, grid, row = scored.service, scored.grid, int(scored.layout[index])
    batch, pool, busy = float(scored.batch[index]), scored.pool(index), float(scored.busy[index])
    base = grid.scenario
    replicas, prompt_replicas, requests = (float(values[index]) for values in scored.counts)
    prompt_busy = 0.0
    if pool is not None:
        taken_in = (service.rate or requests) * pool.taking / prompt_replicas
        prompt_busy = min(taken_in, pool.busiest)
    # Without a rate, nothing else tells how idle a replica is, and its tokens must pay for that.
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
    """Plan with heterogeneous prefill, including the KV-cache transfer time."""
    traffic, ranks = service.traffic(scenario.traffic), Sharding.of(pool.layout)
    return replace(
        plan,
        prefill_scenario=replace(scenario, traffic=traffic, sharding=ranks),
        prefill_chips=pool.chips,
        kv_transfer_s=max(pool.kv_transfer_s, float(seconds)),
    )
