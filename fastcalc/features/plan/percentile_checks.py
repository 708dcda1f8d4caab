"""Check the percentiles of leading plans, and find sizes and batches that meet the limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import inf, isnan

import numpy as np

from fastcalc.features.plan.decision import Decision, Plan, Variant, plan_of
from fastcalc.features.plan.random_load import HeldLimits, held_limits
from fastcalc.features.plan.score import resized, score
from fastcalc.features.plan.scored import Scored, misses_of
from fastcalc.features.plan.service import Service
from fastcalc.formulas.solving import bisect_integers
from fastcalc.grid.grid import Grid

_CHECKED = 12
"""Maximum number of layouts per variant whose percentiles are checked."""

_SAME_COST = 1e-9
"""Relative difference up to which costs differ only by rounding."""


def hold_limits(decision: Decision, shown: int) -> None:
    """Size the reported plans so that their percentiles are within the limits.

    The search adds up the queueing delays at a percentile. Exact percentiles of the sum and of TPOT
    are computed only for leading plans. A plan that misses a limit gets more replicas, until every
    plan that may lead is checked.

    shown : The number of leading plans that are reported; 0 for the best plan alone, without plans
        that miss the limits.
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
        if plan.scenario.hardware.id not in met and _may_be_closer(plan, limits, decision):
            decision.add_late(with_percentiles(plan, decision.service, limits))


_Late = tuple[Plan, HeldLimits]
"""A plan whose percentiles exceed the limits."""


@dataclass
class _Checks:
    """The results of the percentile checks for a variant.

    late : The plans that exceed the limits.
    options : All deployments of the variant.
    most : The cost above which a plan is of no interest.
    """

    late: list[_Late]
    options: Sequence[Scored] = ()
    most: float = inf


def _hold_variant(decision: Decision, variant: Variant, late: list[_Late]) -> None:
    """Replace the best plan of a variant with the best one whose percentiles meet the limits.

    Tries the best plan of each layout in order, until the next one costs no less even unchecked, or
    costs more if the best one so far has only upper bounds.
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
        if layout in layouts:  # all of its batches were tried
            continue
        if len(layouts) == _CHECKED or (
            cheapest is not None and _rank(cheapest) <= (*order[:1], False, order)
        ):
            break
        layouts.add(layout)
        plan = _held_of_layout(scored, index, checks)
        if plan is not None and (cheapest is None or _rank(plan) < _rank(cheapest)):
            cheapest = plan
    decision.best_by_variant.pop(variant)
    if cheapest is not None:
        limits = held_limits(cheapest, decision.service)
        if limits is not None:
            cheapest = with_percentiles(cheapest, decision.service, limits)
        decision.best_by_variant[variant] = cheapest


def _rank(plan: Plan) -> tuple[float, bool, tuple[float, ...]]:
    """Return a plan's place: by cost, then with exact percentiles, then as without percentiles."""
    return plan.order[0], not _is_exact(plan), plan.order


def _is_exact(plan: Plan) -> bool:
    """Check whether the percentiles of a plan are exact, or can only be upper bounds."""
    return plan.has_percentiles or plan.prefill_layout is not None


def _row_of(scored: Scored, index: int) -> tuple[object, ...]:
    """Return the key of a deployment's layout and prefill pool, which grids may share."""
    return scored.grid.layouts[int(scored.layout[index])], id(scored.pool(index))


def _held_of_layout(scored: Scored, index: int, checks: _Checks) -> Plan | None:
    """Find the best deployment of a layout whose percentiles are within the limits.

    If the search's batch costs more than estimated, never meets the limits or has no exact
    percentiles, the smallest batch among those on the fewest replicas is used.

    index : The index of the search's best batch.
    """
    service, order = scored.service, scored.order(index)
    places, max_cost = _batches(scored, index, checks), inf if service.rate is None else order[0]
    is_least = _costs_no_less(places, order[0])
    is_open = not is_least or _may_be_exact(_Batch(scored, index), order[0])
    chosen = _sized_to_limits(scored, index, checks, max_cost=max_cost) if is_open else None
    if chosen is not None and _is_exact(chosen) and chosen.order <= order:
        return chosen
    if is_least:  # so no other batch is better than one with exact percentiles at this cost
        exact = _smallest_on_fewest(places, checks, None, scored.replicas[index], (True,))
        if exact is not None and exact.has_percentiles and exact.replicas >= _fewest(places):
            return exact
    if not is_open:
        chosen = _sized_to_limits(scored, index, checks, max_cost=max_cost)
    last, at = places[-1]
    is_largest, largest = last.batch[at] == scored.batch[index], None
    if chosen is None or not is_largest:
        largest = _sized_to_limits(last, at, checks, chosen)
    if service.rate is None or held_limits(plan_of(scored, index), service) is None:
        return _best_held(chosen, largest)
    if chosen is None and not is_largest:
        chosen = _sized_to_limits(scored, index, checks)
    best = _best_held(chosen, largest)
    return _smallest_on_fewest(places, checks, best, _most_replicas(scored, index, checks.most))


def _smallest_on_fewest(
    places: Sequence[tuple[Scored, int]],
    checks: _Checks,
    plan: Plan | None,
    max_replicas: float,
    exactness: Sequence[bool] = (True, False),
) -> Plan | None:
    """Find the smallest batch of a layout on the fewest replicas, if it is better than a plan.

    max_replicas : The maximum number of replicas to try if there is no plan.
    exactness : Whether percentiles must be exact, for each attempt.
    """
    batches, fewest = [_Batch(*place) for place in places], _fewest(places)
    max_replicas = plan.replicas if plan else min(max_replicas, 2.0 * fewest)
    rate = places[0][0].service.rate or 0.0
    for is_known in exactness:
        end = int(max_replicas) + 1 if is_known or not plan else int(plan.replicas)
        for batch, replicas in _on_fewest(batches, rate, range(fewest, end), is_known=is_known):
            at = batch.scored, batch.index
            plan = _best_held(plan, _sized_to_limits(*at, checks, plan, guess=replicas))
    return plan


def _fewest(places: Sequence[tuple[Scored, int]]) -> int:
    """Return the fewest replicas that any batch needs according to the search."""
    return int(min(scored.replicas[index] for scored, index in places))


def _costs_no_less(places: Sequence[tuple[Scored, int]], cost: float) -> bool:
    """Check whether batches have a closed form and cost no less, even without waiting."""
    (scored, index), rate = places[-1], places[-1][0].service.rate
    if not rate or held_limits(plan_of(scored, index), scored.service) is None:
        return False
    for scored, index in places:
        busiest = rate * scored.seconds[index] / scored.service.utilization
        replicas = np.maximum(np.ceil([busiest - _SAME_COST]), 1.0)
        chips = scored.packing.at(np.array([index])).chips(replicas, 0.0)
        if scored.cost[index] / scored.values["chips"][index] * chips < cost * (1.0 - _SAME_COST):
            return False
    return True


def _may_be_exact(batch: "_Batch", cost: float) -> bool:
    """Check whether percentiles are exact on the most replicas that a cost allows."""
    replicas = _most_replicas(batch.scored, batch.index, cost)
    return batch.limits.at((batch.scored.service.rate or 0.0) / replicas).load.is_known


def _batches(scored: Scored, index: int, checks: _Checks) -> list[tuple[Scored, int]]:
    """Return the batches of a layout and pool, in all grids, that meet all limits."""
    layout, pool = scored.grid.layouts[int(scored.layout[index])], scored.pool(index)
    places = {
        float(other.batch[place]): (other, place)
        for other in checks.options
        for place in other.in_row_of(layout, pool).tolist()
        if other.is_met[place]
    }
    return [places[size] for size in sorted(places)]


def _best_held(first: Plan | None, second: Plan | None) -> Plan | None:
    """Return the cheaper of two plans. Among equals, prefer percentiles, then fewer slots."""
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
        return plan_of(self.scored, self.index)

    @cached_property
    def limits(self) -> HeldLimits:
        """The percentiles of this batch, compared with the limits."""
        limits = held_limits(self._plan, self.scored.service)
        assert limits is not None
        return limits

    @property
    def max_rate(self) -> float:
        """The highest rate per replica according to the search, per second."""
        return self.limits.load.rate / self._plan.busy * self.scored.service.utilization

    def can_sustain(self, rate: float, *, is_known: bool) -> bool:
        """Check whether a rate per replica is possible, ignoring latencies, per second.

        is_known : Whether percentiles must be exact.
        """
        is_within = rate <= self.max_rate * (1.0 + _SAME_COST)
        return is_within and not (is_known and not self.limits.at(rate).load.is_known)

    def is_too_small(self, rate: float) -> bool:
        """Check whether only larger batches can meet the limits at a rate per replica, per second.

        With more concurrent sequences, requests wait less for a slot, but TPOT is higher.
        """
        at_rate = self.limits.at(rate)
        return at_rate.is_tpot_met and not at_rate.are_met


def _on_fewest(
    batches: Sequence[_Batch], rate: float, counts: range, *, is_known: bool
) -> Iterator[tuple[_Batch, int]]:
    """Yield the smallest batch that meets the limits on the fewest replicas, if there is one."""

    @cache
    def in_time(replicas: int) -> _Batch | None:
        each, last = rate / replicas, len(batches) - 1

        def is_able(index: int) -> bool:
            return batches[index].can_sustain(each, is_known=is_known)

        def is_enough(index: int) -> bool:
            return not batches[index].is_too_small(each)

        if not is_able(last):
            return None
        smallest, _ = bisect_integers(is_able, last, -1)
        if not is_enough(smallest):
            if not is_enough(last):
                return None
            smallest, _ = bisect_integers(is_enough, last, smallest)
        return batches[smallest] if batches[smallest].limits.at(each).are_met else None

    if not counts or in_time(counts[-1]) is None:
        return
    enough, step = counts[-1], 1  # rarely many more than the fewest
    while enough - step >= counts[0] and in_time(enough - step):
        enough, step = enough - step, 2 * step
    too_few = max(enough - step, counts[0] - 1)
    fewest, _ = bisect_integers(lambda count: in_time(count) is not None, enough, too_few)
    if (batch := in_time(fewest)) is not None:
        yield batch, fewest


def _sized_to_limits(
    scored: Scored,
    index: int,
    checks: _Checks,
    best: Plan | None = None,
    *,
    max_cost: float = inf,
    guess: int = 0,
) -> Plan | None:
    """Find the fewest replicas with which a deployment meets the limits, or None if there are none.

    Also returns None if it costs more than the given maximum, or is no better than a given plan.

    guess : The likely number of replicas, or 0 to start with the search's number.
    """
    plan, service = plan_of(scored, index), scored.service
    limits = held_limits(plan, service)
    if limits is None:
        return replace(plan, is_checked=True)
    if not limits.are_limited:
        return replace(plan, is_checked=True, has_percentiles=limits.load.is_known)
    if checks.most == inf and not limits.are_met:
        checks.late.append((plan, limits))
    rate = limits.load.rate
    max_rate = rate / plan.busy * service.utilization
    if service.rate is None:
        rate = limits.highest_rate(max_rate)
    else:
        affordable = _most_replicas(scored, index, min(max_cost, checks.most))
        guessed = guess or plan.replicas
        replicas = limits.fewest_replicas(service.rate, guessed, max_rate, affordable)
        rate = service.rate / replicas if replicas else 0.0
    if not rate:
        return None
    if rate != limits.load.rate:  # as busy as percentiles allow, whatever the search adds up
        capped = replace(service, utilization=plan.busy * rate / limits.load.rate, share=None)
        plan = plan_of(resized(scored, index, capped), 0)
        limits = limits.at((service.rate or plan.requests) / plan.replicas)
    plan = replace(plan, is_checked=True, has_percentiles=limits.load.is_known)
    if best is not None and _best_held(best, plan) is best:
        return None
    if all(plan.misses[name] <= 1.0 for name in service.means):
        checks.most = min(checks.most, plan.cost)
        return plan
    checks.late.append((plan, limits))
    return None


def _most_replicas(scored: Scored, index: int, cost: float) -> float:
    """Return the maximum number of replicas that a cost limit allows for a rate."""
    if cost == inf or scored.service.is_fleet:
        return inf
    packing = scored.packing.at(np.array([index]))
    chips = cost / scored.cost[index] * scored.values["chips"][index] * (1.0 + _SAME_COST)

    def is_within(replicas: int) -> bool:
        return bool(float(packing.chips(np.array([float(replicas)]), 0.0)[0]) <= chips)

    return bisect_integers(is_within, 0, int(chips) + 1)[0]  # at least a chip for each


def held_throughput(grid: Grid, service: Service, max_rate: float, above: float) -> float:
    """Find the highest rate per replica at which percentiles are within the limits, per second.

    A smaller batch has shorter steps, so it may sustain more within the limits than the largest.

    grid : The grid of one layout, with the batches to try in ascending order.
    service : The service of one replica, without limits on chips, cost and power.
    max_rate : The throughput of the largest batch by the search, returned if there is no closed
        form.
    above : The rate to return if no rate above it is within the limits. [1/s]
    """
    (scored,) = score(grid, replace(service, rate=max_rate), [None])
    highest = above
    for index in np.argsort(-scored.batch).tolist():
        is_largest = scored.batch[index] == scored.batch.max()
        rate = max_rate if is_largest else min(max_rate, float(scored.throughput[index]))
        if rate <= highest:
            continue
        limits = held_limits(replace(plan_of(scored, index), replicas=1.0), scored.service)
        if limits is not None and limits.are_limited:
            rate = limits.highest_rate(rate, highest)
        highest = max(highest, rate)
    return highest


def with_percentiles(plan: Plan, service: Service, limits: HeldLimits) -> Plan:
    """Replace the search's estimates for a plan with exact latency percentiles."""
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


def _may_be_closer(plan: Plan, limits: HeldLimits, decision: Decision) -> bool:
    """Check whether a plan above the limits may miss them by less, or need a lower limit."""
    misses = plan.misses | limits.least_misses
    closest = decision.closest.get(plan.scenario.hardware.id)
    if closest is None or max(misses.values()) < max(closest.misses.values()):
        return True
    over = [name for name, miss in misses.items() if miss > 1.0]
    if len(over) != 1:
        return not over
    (name,) = over
    return misses[name] * decision.service.limits[name] < decision.relaxed.get(name, inf)
