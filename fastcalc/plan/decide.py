"""The deployments of all chips ranked: the best, why the others lose, and what would help."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from math import floor, inf, log10
from typing import Any

import numpy as np

from fastcalc.formulas.money import HOURS_PER_YEAR
from fastcalc.formulas.types import Array
from fastcalc.placement import Layout, Site
from fastcalc.plan.service import Service
from fastcalc.plan.weigh import LIMITS, Weighed, has_cost, weigh
from fastcalc.scenario import Location, Scenario, warnings_of
from fastcalc.sweep.grid import Grid
from fastcalc.sweep.run import in_order, keep_freed_memory

NEAR = 2.0
"""A miss by less than this is near."""

REASONS = {
    "unfit": "do not fit the chips' memory",
    "ttft": "take too long to the first token",
    "tpot": "take too long between tokens",
    "chips": "need too many chips",
    "several": "miss several of these",
    "unknown": "have no known price or power",
    "beaten": "meet all of it, but not at the least",
}


@dataclass(frozen=True)
class Plan:
    """One deployment for a service.

    Attributes
    ----------
    site : Site
        Chip and model, in their formats.
    scenario : Scenario
        What was asked of them, traffic apart.
    layout, batch : Layout and float
        Of each replica that decodes, and the sequences it decodes together at most. [1]
    replicas, busy : float
        Of those, and the share of its capacity that each does. [1]
    prefill_layout, prefill_replicas : Layout or None, and float
        Replicas that only take in prompts, where they are apart. [1]
    values : dict of str to float
        Seconds to the first token, seconds between tokens, chips in all.
    misses : dict of str to float
        Each of them over its limit: at most 1 where it is met.
    cost : float
        What is to be least.
    numbers : dict of str to float
        The record of one replica that decodes.
    """

    site: Site
    scenario: Scenario
    layout: Layout
    batch: float
    replicas: float
    busy: float
    prefill_layout: Layout | None
    prefill_replicas: float
    values: dict[str, float]
    misses: dict[str, float]
    cost: float
    numbers: dict[str, float]

    @property
    def order(self) -> tuple[float, float, float]:
        """Key to sort by: the least cost, then the fewest chips, then the smallest batch."""
        return self.cost, self.values["chips"], self.batch

    @property
    def warnings(self) -> list[str]:
        """What a reader must know of it, in sentences."""
        asked = replace(self.scenario, batches=(int(self.batch),))
        place = self.site.place(self.layout)
        return warnings_of(Location(asked, self.site, place, is_default_layout=False))

    @property
    def usd_per_hour(self) -> float | None:
        """Price of all chips for an hour. [USD/h]"""
        price = self.scenario.pricing.per_chip_hour(self.scenario.hardware)
        return None if price is None else price * self.values["chips"]

    @property
    def usd_per_month(self) -> float | None:
        """Price of all chips for a month of 730 hours. [USD]"""
        price = self.usd_per_hour
        return None if price is None else price * HOURS_PER_YEAR / 12.0


@dataclass
class Decision:
    """What was found.

    Attributes
    ----------
    service : Service
        What was asked.
    candidates : int
        Deployments that were evaluated. [1]
    reasons : Counter of str
        How many lost for which of `REASONS`. [1]
    plans : list of Plan
        Those that meet it, the best of each chip, formats and kind, in order.
    near : Plan or None
        The least of those that miss nearly.
    closest : dict of str to Plan
        By chip without a plan, the deployment that misses least.
    relaxed : dict of str to float
        By limit, what it would have to be for a plan, the other limits as they are.
    unknown : Counter of str
        By chip without a known price or power, the deployments that lost for that. [1]
    """

    service: Service
    candidates: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    plans: list[Plan] = field(default_factory=list)
    near: Plan | None = None
    closest: dict[str, Plan] = field(default_factory=dict)
    relaxed: dict[str, float] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)

    @property
    def of_each_chip(self) -> list[Plan]:
        """The best plan of each chip, in order."""
        best: dict[str, Plan] = {}
        for plan in self.plans:
            best.setdefault(plan.scenario.hardware.id, plan)
        return list(best.values())

    @property
    def runner_up(self) -> Plan | None:
        """The best plan on another chip than the winner's."""
        return next(iter(self.of_each_chip[1:]), None)

    @property
    def nearest(self) -> Plan | None:
        """Of all that miss, the one that misses least."""
        return min(self.closest.values(), key=lambda one: max(one.misses.values()), default=None)


def decide(grids: Iterable[Grid], service: Service) -> Decision:
    """Return the best deployments for a service, and why the others lose.

    Parameters
    ----------
    grids : iterable of Grid
        Candidates, as `fastcalc.plan.candidates.candidates` makes them.
    service : Service
        What is asked.
    """
    keep_freed_memory()
    summaries = in_order(lambda grid: _summaries(grid, service), grids)
    found = reduce(_add, (one for group in summaries for one in group), Decision(service))
    found.plans.sort(key=lambda plan: plan.order)
    if found.plans:
        found.reasons["beaten"] -= 1
    met = {plan.scenario.hardware.id for plan in found.plans}
    found.closest = {chip: plan for chip, plan in found.closest.items() if chip not in met}
    return found


def _summaries(grid: Grid, service: Service) -> list[Decision]:
    if not has_cost(grid.scenario, service):
        unknown = Counter({grid.scenario.hardware.id: grid.size})
        return [Decision(service, grid.size, Counter(unknown=grid.size), unknown=unknown)]
    return [_summary(one, service) for one in weigh(grid, service)]


def _add(total: Decision, one: Decision) -> Decision:
    """Return a decision with the deployments of another beside its own."""
    total.candidates += one.candidates
    total.reasons += one.reasons
    total.unknown += one.unknown
    total.plans += one.plans
    near = [plan for plan in (total.near, one.near) if plan is not None]
    total.near = min(near, key=lambda plan: plan.order, default=None)
    for chip, plan in one.closest.items():
        best = total.closest.setdefault(chip, plan)
        if max(plan.misses.values()) < max(best.misses.values()):
            total.closest[chip] = plan
    for name, value in one.relaxed.items():
        total.relaxed[name] = min(value, total.relaxed.get(name, inf))
    return total


def _summary(weighed: Weighed, service: Service) -> Decision:
    """Return the decision among the deployments of one grid."""
    misses = weighed.misses(service)
    table = np.stack([misses[name] for name in LIMITS])
    is_missed = table > 1.0
    missed, worst = is_missed.sum(axis=0), np.max(table, axis=0)
    near = _least(weighed, (missed > 0) & (worst < NEAR))
    best, closest = _least(weighed, missed == 0), _argmin(worst, missed > 0)
    chip = weighed.grid.scenario.hardware.id
    relaxed = {}
    for name, wrong in zip(LIMITS, is_missed, strict=True):
        place = _argmin(weighed.values[name], (missed == 1) & wrong)
        if place is not None:
            relaxed[name] = float(weighed.values[name][place])
    return Decision(
        service,
        candidates=weighed.unfit + len(weighed.cost),
        reasons=_reasons(weighed, is_missed, missed),
        plans=[] if best is None else [_plan(weighed, misses, best)],
        near=None if near is None else _plan(weighed, misses, near),
        closest={} if closest is None else {chip: _plan(weighed, misses, closest)},
        relaxed=relaxed,
    )


def _reasons(weighed: Weighed, is_missed: Array, missed: Array) -> Counter[str]:
    counts = Counter(unfit=weighed.unfit, several=int((missed > 1).sum()))
    for name, wrong in zip(LIMITS, is_missed, strict=True):
        counts[name] = int((wrong & (missed == 1)).sum())
    counts["beaten"] = int((missed == 0).sum())
    return counts


def _least(weighed: Weighed, among: Array) -> int | None:
    """Return the place of the best of some deployments, in the order of `Plan.order`."""
    (places,) = np.nonzero(among)
    if not places.size:
        return None
    batch = weighed.grid.batches[weighed.place[places]]
    keys = (batch, weighed.values["chips"][places], weighed.cost[places])
    return int(places[np.lexsort(keys)[0]])


def _argmin(values: Array, among: Array) -> int | None:
    found = np.where(among, values, inf)
    place = int(np.argmin(found)) if found.size else 0
    return place if found.size and found[place] < inf else None


def _plan(weighed: Weighed, misses: dict[str, Any], place: int) -> Plan:
    grid, row, column = weighed.grid, int(weighed.layout[place]), int(weighed.place[place])

    def at(values: Any) -> float:
        array = np.asarray(values)
        axes = (0, row, column)[
            3 - array.ndim :
        ]  # of those it lacks, and of length one, it has one
        return float(array[tuple(map(min, axes, (length - 1 for length in array.shape)))])

    return Plan(
        site=grid.sites[0],
        scenario=grid.scenario,
        layout=grid.layouts[row],
        batch=float(grid.batches[column]),
        replicas=float(weighed.replicas[place]),
        busy=float(weighed.busy[place]),
        prefill_layout=grid.layouts[weighed.prefill_layout] if weighed.is_apart else None,
        prefill_replicas=weighed.prefill_replicas,
        values={name: float(weighed.values[name][place]) for name in LIMITS},
        misses={name: float(misses[name][place]) for name in LIMITS},
        cost=float(weighed.cost[place]),
        numbers={
            key: at(values)
            for key, values in weighed.columns.items()
            if values is not None and not isinstance(values, str)
        },
    )


def rounded_up(value: float, digits: int = 3) -> float:
    """Return a value with few digits that is not below it.

    Parameters
    ----------
    value : float
        Above 0.
    digits : int
        Significant ones.

    Examples
    --------
    >>> rounded_up(0.0253171)
    0.0254
    """
    step = 10.0 ** (floor(log10(value)) - digits + 1)
    up = float(f"{np.ceil(value / step - 1e-9) * step:.{digits}g}")
    return up if up >= value else float(f"{up + step:.{digits}g}")


def rounded_down(value: float, digits: int = 3) -> float:
    """Return a value with few digits that is not above it.

    Parameters
    ----------
    value : float
        Above 0.
    digits : int
        Significant ones.

    Examples
    --------
    >>> rounded_down(95.2380952)
    95.2
    """
    step = 10.0 ** (floor(log10(value)) - digits + 1)
    near = float(f"{np.floor(value / step) * step:.{digits}g}")
    return near if near <= value else float(f"{near - step:.{digits}g}")
