"""Rank the deployments on all chips, refining the batch sizes between those tried first."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf

import numpy as np

from fastcalc.core.placement.layout import Layouts
from fastcalc.features.plan.decision import FEWER_BITS, Decision, Variant, variant_of
from fastcalc.features.plan.packing import Packing
from fastcalc.features.plan.percentile_checks import hold_limits
from fastcalc.features.plan.pools import (
    PrefillPool,
    can_decode_alone,
    pools_of_each_layout,
    undominated_pools,
)
from fastcalc.features.plan.refine import Gaps, gaps_of, with_own_batches
from fastcalc.features.plan.score import AskedGrid, has_cost, score_in_stacks
from fastcalc.features.plan.scored import Scored
from fastcalc.features.plan.service import Service
from fastcalc.formulas.types import Floats
from fastcalc.grid.blocks import keep_freed_memory
from fastcalc.grid.grid import Grid


def unlike_pools(grid: Grid, service: Service) -> list[PrefillPool]:
    """Return the Pareto-optimal prefill pools on the chips of a grid, for decode on other chips.

    The time to receive a KV cache depends on the decode chips, so any pool that is smaller, faster
    or sends faster may be the best. The pools use separate nodes.
    """
    pools = [] if service.rate is None else pools_of_each_layout(grid, service)
    if not pools:
        return []
    layouts = Layouts.of([pool.layout for pool in pools])
    packing = Packing.of(service.node_chips(grid.scenario.hardware), layouts)
    chips = packing.chips(np.array([pool.replicas for pool in pools]), 0.0).tolist()
    pools = [
        replace(pool, chips=count, scenario=grid.scenario)
        for pool, count in zip(pools, chips, strict=True)
    ]
    names = ("chips", "seconds", "kv_transfer_s")
    return undominated_pools(pools, *([getattr(pool, name) for pool in pools] for name in names))


def can_prefill_for(pools: Sequence[PrefillPool], grid: Grid, service: Service) -> bool:
    """Check whether prefill pools can serve the decode chips of a grid.

    They can if they use other chips, with weights and KV cache in the same formats.
    """
    taking, decoding = pools[0].scenario, grid.scenario
    assert taking is not None
    formats = {
        (scenario.work.weight_format, scenario.work.kv_format) for scenario in (taking, decoding)
    }
    is_other = taking.hardware.id != decoding.hardware.id
    return is_other and len(formats) == 1 and can_decode_alone(grid, service)


def decide_surely(
    grids: Sequence[Grid], service: Service, *, shown: int, taking: Sequence[Grid] = ()
) -> Decision:
    """Choose plans with `decide`, and also at expected speeds if a confidence is requested.

    In this case, every reported plan has a counterpart at expected speeds.
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
    enough: float | None = None,
) -> Decision:
    """Find the best deployments for a service, and why the others lose.

    First tries the batches of the grids, then those in between that may be better.

    shown : The number of leading plans for which all batches are tried, as for the best plan on
        each chip and the best in the model's own formats; 0 for the best plan alone.
    variants : Additional variants for which all batches are tried.
    prompt_pools : The disaggregated prefill pools, None to search for them, or empty for none.
    taking : The grids of other chip types that may be used for prefill.
    is_held : Whether exact percentiles of the best plan, not estimates, must meet the limits.
    enough : The cost at which the search ends with the first plan found, if not with the best.
    """
    search = _Search.of(grids, service, shown, variants, prompt_pools, taking)
    search.is_held, search.enough = is_held, enough
    (decision,) = _decided([search])
    return decision


def decide_each(asked: Iterable[tuple[Iterable[Grid], Service]]) -> list[Decision]:
    """Find the best deployment for each of several services of the same requests, by estimates."""
    return _decided([_Search.of(*each) for each in asked])


def _decided(searches: "Sequence[_Search]") -> list[Decision]:
    """Run several searches, scoring their rounds together."""
    keep_freed_memory()
    while waiting := [each for search in searches for each in search.waiting]:
        scored = score_in_stacks(waiting)
        for search in searches:
            search.next_round(islice(scored, len(search.waiting)))
    for search in searches:
        search.end()
    return [search.decision for search in searches]


@dataclass
class _Search:
    """A search that proceeds in rounds.

    waiting, left : The grids of the next round, and gaps that may be searched afterwards.
    is_held, enough : As in `decide`.
    """

    decision: Decision
    shown: int
    variants: Collection[Variant]
    waiting: list[AskedGrid]
    left: list[Gaps] = field(default_factory=list)
    is_held: bool = False
    enough: float | None = None

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
        """Set up a search before its first round."""
        decision = Decision(service)
        search = cls(decision, shown, variants, [])
        unlike = list(filter(None, (unlike_pools(grid, service) for grid in taking)))
        offered = None if prompt_pools is None else [None, *prompt_pools]
        for grid in grids:
            if not (grid.layouts and has_cost(grid.scenario, service)):
                decision.candidates += grid.size
                decision.reasons["unknown"] += grid.size
                decision.unknown[grid.scenario.hardware.id] += grid.size
                decision.terms = grid.scenario.pricing.offer or ""
                continue
            grid = with_own_batches(grid)
            search.waiting.append((grid, service, offered))
            search.waiting += [
                (grid, service, taken_in)
                for taken_in in unlike
                if can_prefill_for(taken_in, grid, service)
            ]
        return search

    def next_round(self, scored_grids: Iterable[list[Scored]]) -> None:
        """Add the deployments of the waiting grids, and queue gaps that may contain better ones."""
        decision = self.decision
        add = decision.add if self.is_held else decision.add_best
        for scored in scored_grids:
            self.left.append(gaps_of(scored))
            for deployments in scored:
                add(deployments)
        if self.enough is not None:
            is_found = decision.plans and decision.plans[0].cost <= self.enough
            self.left = [] if is_found else [gaps.below(self.enough) for gaps in self.left]
        limit_of = _limit_of_costs(decision, self.shown, self.variants)
        better = (gaps.below(limit_of(gaps)) for gaps in self.left)
        parts = [gaps.split() for gaps in better if len(gaps)]
        self.waiting = [(first.between(), decision.service, first.pools) for first, _ in parts]
        self.left = [remaining for _, remaining in parts]

    def end(self) -> None:
        """Check percentiles against the limits if requested, and count the skipped deployments."""
        decision = self.decision
        if self.is_held:
            hold_limits(decision, self.shown)
        if decision.plans:
            decision.reasons["beaten"] -= 1
        met = {plan.scenario.hardware.id for plan in decision.best_by_variant.values()}
        closest = decision.closest.items()
        decision.closest = {chip: plan for chip, plan in closest if chip not in met}


def _limit_of_costs(
    decision: Decision, shown: int, variants: Collection[Variant]
) -> Callable[[Gaps], Floats]:
    """Return the cost that each gap must beat: that of its variant, or of the best on its chip.

    If only the first plan is shown, this is its cost.
    """
    best = decision.plans[:1]
    fewer = decision.in_fewer_bits[:FEWER_BITS] if shown else []
    also = map(decision.best_by_variant.get, variants)
    plans = [*decision.reported(shown), *filter(None, also)] if shown else best
    costs = {plan.variant: plan.cost for plan in plans}
    of_chip = {plan.scenario.hardware.id: plan for plan in (decision.of_each_chip if shown else ())}
    leaders = fewer[-1:] if len(fewer) == FEWER_BITS else best
    first = leaders[0].cost if leaders else inf

    def limit_of(gaps: Gaps) -> Floats:
        scenario = gaps.grid.scenario
        cheapest = of_chip.get(scenario.hardware.id) if shown else next(iter(best), None)
        limit, may_lead = inf, decision.may_lead_in(scenario)
        if cheapest and (decision.may_lead(cheapest) or not may_lead):
            limit = first if decision.may_lead(cheapest) and not may_lead else cheapest.cost
        unlike = next((pool.scenario for pool in gaps.pools if pool and pool.scenario), None)
        if unlike is not None and shown:  # the best of these is shown as well, whatever it costs
            best_unlike = decision.on_unlike_chips
            limit = max(limit, best_unlike.cost if best_unlike else inf)
        colocated, disaggregated = (
            costs.get(
                variant_of(scenario, is_disaggregated=is_disaggregated, taking=unlike),
                limit * (1.0 - 1e-9),  # the same cost is no gain
            )
            for is_disaggregated in (False, True)
        )
        return np.where(gaps.is_disaggregated, disaggregated, colocated)

    return limit_of
