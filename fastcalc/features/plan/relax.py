"""Find the smallest relaxation of each single limit that would allow a deployment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from math import inf

import numpy as np

from fastcalc.core.placement.layout import Layouts
from fastcalc.core.scenario import Scenario
from fastcalc.features.plan.candidates import candidates
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.packing import bills, chips_within
from fastcalc.features.plan.pools import (
    PrefillPool,
    pools_of_each_layout,
    stages_in_nodes,
    undominated_pools,
)
from fastcalc.features.plan.refine import Gaps, with_largest
from fastcalc.features.plan.score import has_cost, score
from fastcalc.features.plan.scored import Scored
from fastcalc.features.plan.service import Service
from fastcalc.formulas.solving import bisect
from fastcalc.formulas.types import ArrayLike
from fastcalc.grid.grid import Grid

_LESS = 1.0 - 1e-9  # of a value already found: closer ones do not count as less
_CLOSE = 0.01  # of a prompt, to which it is searched

_MORE, _HALVINGS = 0.01, 5
"""Fraction by which a limit is first raised until a plan meets it, and bisection steps."""


def least_relaxed(grids: Sequence[Grid], service: Service) -> dict[str, float]:
    """Find the value that each limit would need with the others unchanged, if that helps.

    Assumes that no value between two tried batches is lower than at both.
    """
    limited = [name for name, limit in service.limits.items() if limit < inf]
    lowest = dict.fromkeys(limited, inf)
    gaps: dict[str, list[Gaps]] = {name: [] for name in limited}
    for grid in grids:  # all their deployments at once need more than a gigabyte
        for group in _scored(grid, service, lowest):
            for name in limited:
                lowest[name] = min(lowest[name], _least_met(group, service, name))
                gaps[name] += _gaps(group, service, name, lowest[name])
    relaxed = {name: _least(gaps[name], service, name, lowest[name]) for name in limited}
    return {name: value for name, value in relaxed.items() if value < inf}


def enough(grids: Sequence[Grid], service: Service, name: str, least_value: float) -> float | None:
    """Find the value of one limit at which a plan meets all limits, from a lower bound.

    Exact percentiles may need a slightly higher value than the search estimates. None if no value
    up to several times the lower bound works.
    """

    def is_enough(value: ArrayLike) -> bool:
        return bool(decide(grids, service.limited({name: float(value)}), shown=0).plans)

    larger_values = (least_value * (1.0 + _MORE * step) for step in (0, 1, 3, 7, 15, 31, 63, 127))
    too_little = least_value
    for value in larger_values:
        if is_enough(value):
            if value > least_value:
                return float(bisect(is_enough, value, too_little, halvings=_HALVINGS)[0])
            return value
        too_little = value
    return None


def _scored(grid: Grid, service: Service, lowest: Mapping[str, float]) -> list[Scored]:
    """Score a grid's deployments, without layouts that cannot lower any relaxation further.

    lowest : value that each limit would need, among the deployments tried so far
    """
    if not has_cost(grid.scenario, service):
        return []
    chips = np.array([layout.chips for layout in grid.layouts], dtype=float)
    per_replica = {"chips": chips, **bills(grid.scenario, service, chips)}
    may_be = np.all(
        [
            amounts <= max(service.limits[name], lowest.get(name, 0.0))
            for name, amounts in per_replica.items()
        ],
        axis=0,
    )
    if not may_be.any():
        return []
    useful = with_largest(grid.part(layouts=tuple(compress(grid.layouts, may_be))))
    return score(useful, service, [None, *_prefill_pools(grid, service)])


def _prefill_pools(grid: Grid, service: Service) -> list[PrefillPool]:
    """Return disaggregated prefill pools that may need the smallest relaxation of a limit."""
    if not (pools := pools_of_each_layout(grid, service)):
        return []
    layouts = Layouts.of([pool.layout for pool in pools])
    node_chips = service.node_chips(grid.scenario.hardware)
    stages, widths = stages_in_nodes(node_chips, layouts.chips, layouts.pp)
    chips = stages * widths * [pool.replicas for pool in pools]
    names = ("seconds", "waits", "kv_transfer_s")
    times = ([getattr(pool, name) for pool in pools] for name in names)
    # Stages of different widths fill nodes differently, so they are not compared.
    return undominated_pools(pools, chips, *times, widths, -widths)


def _least(gaps: list[Gaps], service: Service, name: str, lowest: float) -> float:
    """Find the lowest value of one limit over all batches that meet the other limits."""
    while gaps:
        below, wider = lowest, gaps
        gaps = []
        promising = (gap.below(below * _LESS) for gap in wider)
        for gap in filter(len, promising):
            for group in score(gap.between(), service, gap.pools):
                lowest = min(lowest, _least_met(group, service, name))
                gaps += _gaps(group, service, name, lowest)
    return lowest


def _least_met(group: Scored, service: Service, name: str) -> float:
    """Find the lowest value of one limit over the deployments that meet the other limits."""
    are_met = [group.values[key] <= limit for key, limit in service.limits.items() if key != name]
    return float(np.min(group.values[name][np.all(are_met, axis=0)], initial=inf))


def _gaps(group: Scored, service: Service, name: str, below: float) -> list[Gaps]:
    """Return gaps between deployments of a group in which a value may be below a limit."""
    after = group.next(np.arange(len(group.layout)))
    lowest = {key: np.minimum(values, values[after]) for key, values in group.values.items()}
    may_be = lowest[name] < below * _LESS
    for key, limit in service.limits.items():
        may_be &= (key == name) | (lowest[key] <= limit)
    return [
        Gaps(
            group.grid,
            [pool],
            lowest[name][low],
            group.layout[low],
            group.batch[low],
            group.batch[after[low]],
            np.full(len(low), pool is not None),
        )
        for pool, low in group.by_pool(np.flatnonzero(may_be))
    ]


def may_meet(grid: Grid, service: Service) -> bool:
    """Return whether a replica on the fewest chips is within limits on chips, budget and power."""
    fewest = min((layout.chips for layout in grid.layouts), default=inf)
    return fewest <= chips_within(service, grid.scenario)


def longest_prompt(scenarios: Sequence[Scenario], service: Service) -> int | None:
    """Find the longest prompt with which some deployment meets a service, to 1%.

    Assumes that a deployment that meets the limits with a prompt meets them with shorter ones.
    """
    low, high, middle = 0, int(service.prompt), 1
    while high - low > max(low * _CLOSE, 1.0):
        grids = (
            candidates(scenario, prompt=float(middle), output=service.output)
            for scenario in scenarios
        )
        shorter = replace(service, prompt=float(middle))
        shown = min(middle - 1, 1)  # one token is enough to know whether there is any
        promising_grids = [grid for grid in grids if grid is not None and may_meet(grid, shorter)]
        decision = decide(promising_grids, shorter, shown=shown)
        if decision.plans:
            chips = {plan.scenario.hardware.id for plan in decision.of_each_chip}
            if shown:
                scenarios = [scenario for scenario in scenarios if scenario.hardware.id in chips]
            low = middle
        elif middle == 1:
            return None
        else:
            high = middle
        middle = (low + high) // 2
    return low
