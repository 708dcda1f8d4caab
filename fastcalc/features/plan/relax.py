"""The least relaxation of each limit alone with which some deployment would meet a service."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from fastcalc.core.placement.layout import Layouts
from fastcalc.core.scenario import Scenario
from fastcalc.features.plan.candidates import candidates
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.pools import (
    Pool,
    can_be_apart,
    every_pool,
    stages_in_nodes,
    undominated_pools,
)
from fastcalc.features.plan.refine import between, with_largest
from fastcalc.features.plan.score import has_cost, score
from fastcalc.features.plan.scored import Scored
from fastcalc.features.plan.service import Service
from fastcalc.grid.grid import Grid, solved

_CLOSE = 0.01  # of a prompt, which is searched for no closer


def least_relaxed(grids: Sequence[Grid], service: Service) -> dict[str, float]:
    """Return what each limit would have to be, the others as they are, where that helps.

    Between two batches that were tried, no value is taken to be less than at both.
    """
    scored = []
    for grid in map(with_largest, grids):
        if has_cost(grid.scenario, service):
            scored += score(grid, service, [None, *_prefill_pools(grid, service)])
    limited = [name for name, limit in service.limits.items() if limit < inf]
    relaxed = {name: _least(scored, service, name) for name in limited}
    return {name: value for name, value in relaxed.items() if value < inf}


def _prefill_pools(grid: Grid, service: Service) -> list[Pool]:
    """Prefill pools for disaggregated prefill that may relax a limit the least."""
    if not can_be_apart(grid, service):
        return []
    points = solved(grid)
    points = replace(points, estimate=points.estimate.slowed(service.deviations))
    if not (pools := every_pool(grid, service, points)):
        return []
    layouts = Layouts.of([pool.layout for pool in pools])
    node_chips = service.node_chips(grid.scenario.hardware)
    stages, widths = stages_in_nodes(node_chips, layouts.chips, layouts.pp)
    chips = stages * widths * [pool.replicas for pool in pools]
    names = ("seconds", "waits", "sending")
    times = ([getattr(pool, name) for pool in pools] for name in names)
    # Stages of unlike widths fill nodes differently: those are not compared.
    return undominated_pools(pools, chips, *times, widths, -widths)


def _least(scored: Sequence[Scored], service: Service, name: str) -> float:
    """Return the least value of one limit, of all batches at which the others are met."""
    other_limits, lowest = [key for key in service.limits if key != name], inf
    while scored:
        for group in scored:
            are_met = [group.values[key] <= service.limits[key] for key in other_limits]
            values = group.values[name][np.all(are_met, axis=0)]
            lowest = min(lowest, float(np.min(values, initial=inf)))
        scored = [part for group in scored for part in _narrowed(group, service, name, lowest)]
    return lowest


def _narrowed(group: Scored, service: Service, name: str, below: float) -> list[Scored]:
    """Return deployments between those of a group that may have less of one value than so much."""
    places = np.arange(len(group.layout))
    after = group.next(places)
    lowest = {key: np.minimum(values, values[after]) for key, values in group.values.items()}
    may_be = (group.batch[after] - group.batch > 1.0) & (lowest[name] < below * (1.0 - 1e-9))
    for key, limit in service.limits.items():
        may_be &= (key == name) | (lowest[key] <= limit)
    narrowed: list[Scored] = []
    for pool, low in group.by_pool(np.flatnonzero(may_be)):
        sides = group.batch[low], group.batch[after[low]]
        narrowed += score(between(group.grid, group.layout[low], *sides), service, [pool])
    return narrowed


def longest_prompt(scenarios: Sequence[Scenario], service: Service) -> int | None:
    """Return the longest prompt, to a hundredth, with which something meets a service.

    What meets it with a long prompt is taken to meet it with any that is shorter.
    """
    low, high, middle = 0, int(service.prompt), 1
    while high - low > max(low * _CLOSE, 1.0):
        grids = (
            candidates(scenario, prompt=float(middle), output=service.output)
            for scenario in scenarios
        )
        shorter = replace(service, prompt=float(middle))
        shown = min(middle - 1, 1)  # of a token it is enough to know whether there is any
        decision = decide([grid for grid in grids if grid is not None], shorter, shown=shown)
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
