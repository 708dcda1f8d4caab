"""Every layout and batch of one deployment against a service: what it takes, what it misses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf
from typing import Any

import numpy as np

from fastcalc.core.estimate import site_power
from fastcalc.core.overflow import overflows
from fastcalc.core.scenario import Scenario
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints
from fastcalc.records.evaluated_points import EvaluatedPoints
from fastcalc.search.plan.first_tokens import ClassFirstTokens, class_first_tokens
from fastcalc.search.plan.fleet import Crew, Packing, bills, chips_within, crew_within
from fastcalc.search.plan.pools import Pool, added, pools, transfer_seconds
from fastcalc.search.plan.queues import Queues, needed, slots_of
from fastcalc.search.plan.service import Objective, Service
from fastcalc.search.sweep.grid import Grid, solved

KEPT = 32
"""Grids whose evaluation is kept: those of a chip are searched again at other speeds and rates."""

_points = lru_cache(maxsize=KEPT)(solved)
_ROUNDING = 1e-12  # of a limit: replicas as busy as it allows meet it
_OF_ESTIMATE = (
    "total",
    "served",
    "tpot",
    "tpot_in_traffic",
    "ttft",
    "prompts_together",
    "run",
    "joules",
    "slowness",
)


@dataclass(frozen=True, eq=False)
class Replica:
    """One full replica, which takes in its prompts, too: an element for each deployment.

    chips, pp, dp : of its layout [1]
    usd : a million tokens of input and output [USD]

    The others are values of its `fastcalc.core.estimate.Estimate`, as slow as the service says.
    """

    chips: Floats
    pp: Floats
    dp: Ints
    total: Floats
    served: Floats
    tpot: Floats
    tpot_in_traffic: Floats
    ttft: Floats
    prompts_together: Floats
    run: Floats
    usd: Floats | None
    joules: Floats
    slowness: Floats

    @classmethod
    def of(cls, points: EvaluatedPoints, fits: Bools) -> "Replica":
        """Return those of the deployments that fit, layouts x batches, of one kind of request."""

        def those(values: ArrayLike) -> Any:
            return np.broadcast_to(values, (1, *fits.shape))[0][fits]

        usd = points.usd[2]
        return cls(
            **{name: those(getattr(points.estimate, name)) for name in _OF_ESTIMATE},
            chips=those(points.layout.chips),
            pp=those(points.layout.pp),
            dp=those(points.layout.dp),
            usd=None if usd is None else those(usd),
        )


@dataclass(frozen=True, eq=False)
class Scored:
    """Deployments of a grid that fit, an element for each.

    pool : replicas that take in the prompts of all, where those are apart
    layout, place : positions of layout and batch in the grid's [1]
    values : what is limited, by name: seconds to the first token, seconds between tokens, chips,
        and dollars a month and watts where those are
    seconds : time of a replica that a request takes [s]
    carried : requests that each replica carries, as busy as it may be [1/s]
    crew, packing : how many replicas, and how they fill nodes
    busy : the share of its capacity that each that decodes does [1]
    cost, unfit : what is to be least, and deployments that do not fit, alongside these [1]
    class_ttft : time to the first token of each class, a row each, if there are several [s]
    more : what the pool costs more than as many of the chips that decode
    """

    grid: Grid
    replica: Replica
    pool: Pool | None
    layout: Ints
    place: Ints
    values: dict[str, Floats]
    seconds: Floats
    carried: Floats
    crew: Crew
    packing: Packing
    busy: Floats
    cost: Floats
    class_ttft: Floats
    unfit: int = 0
    more: float = 0.0

    @cached_property
    def batch(self) -> Floats:
        """Sequences that each decodes together. [1]"""
        rows = np.broadcast_to(self.grid.batches, self.grid.shape[1:])
        return np.asarray(rows[self.layout, self.place])

    @property
    def replicas(self) -> Floats:
        """Replicas that decode. [1]"""
        return self.crew.replicas

    def next(self, places: Ints, step: int = 1) -> Ints:
        """Return where the next batches of the same layouts are, or the places themselves."""
        near = np.clip(places + step, 0, len(self.layout) - 1)
        return np.where(self.layout[near] == self.layout[places], near, places)

    def misses(self, service: Service) -> dict[str, Floats]:
        """Return each value over its limit: at most 1 where it is met."""
        return {name: self.values[name] / limit for name, limit in service.limits.items()}

    def best(self, service: Service) -> int | None:
        """Return the place of the best that misses nothing."""
        misses = np.stack(list(self.misses(service).values()))
        return self.first_of(np.all(misses <= 1.0, axis=0), service)

    def first_of(self, among: Bools, service: Service) -> int | None:
        """Return the place of the first of some deployments, in the order of plans."""
        (places,) = np.nonzero(among)
        for key in (self.cost, self.values["chips"], self.last_resort(service)):
            if places.size:
                places = places[key[places] == key[places].min()]
        return int(places[0]) if places.size else None

    def last_resort(self, service: Service) -> Floats:
        """Return what decides between those of one cost and as many chips.

        With a rate the smallest batch is the fastest, but that where requests at random may wait
        as long as it takes: then the shortest wait. Without a rate the least time does the most.
        """
        if service.rate is None:
            return self.seconds
        is_patient = service.share is not None and service.ttft == inf
        return self.values["ttft"] if is_patient else self.batch


def score(
    grid: Grid, service: Service, prompt_pools: Sequence[Pool | None] | None = None
) -> list[Scored]:
    """Return the deployments of a grid of one kind of request: one pool for all, and prompts apart.

    What takes in prompts is found among the grid's layouts unless given; None is what decodes.
    """
    points = _points(grid)
    points = replace(points, estimate=points.estimate.slowed(service.deviations))
    is_new = np.diff(np.broadcast_to(grid.batches, grid.shape[1:]), prepend=0.0) > 0.0
    fits = is_new & _fits(grid, points)
    (layout, place), replica = np.nonzero(fits), Replica.of(points, fits)
    within = chips_within(service, grid.scenario)
    if prompt_pools is None:  # prompts apart take two chips at least
        prompt_pools = [None, *(pools(grid, service, points) if within >= 2.0 else ())]
    batch = np.broadcast_to(grid.batches, fits.shape)[fits]
    deployments: list[Scored] = []
    slots = None if service.share is None else slots_of(service.share)
    share, kind = service.share, 0 if slots is None else slots.kinds(batch)
    arrivals, node_chips = batch / replica.run, service.node_chips(grid.scenario.hardware)
    mixed = class_first_tokens(points, service.classes, fits=fits, arrivals=arrivals, dp=replica.dp)
    for pool in prompt_pools:
        if pool is None:
            seconds, ttft, queued = _together(service, replica, batch, mixed)
        else:
            receiving = transfer_seconds(grid, service.prompt)[layout]
            seconds, ttft, queued = _apart(service, replica, batch, pool, receiving)
        queues = None if share is None else Queues(share, **queued, slots=slots, kind=kind)
        replicas, busy, waits, busiest = needed(service, seconds, ttft, queues)
        carried = busiest / seconds
        crew = Crew.of(replicas, carried, pool)
        packing = Packing.of(node_chips, replica.chips, replica.pp, pool)
        if service.is_fleet:
            crew = crew_within(within, packing, carried, pool)
            busy = np.minimum(crew.requests * seconds / crew.replicas, busiest)
        chips = packing.chips(crew.replicas, crew.prompt_replicas)
        latest = mixed.over_limits(service, waits, ttft)
        first = _held_against_limit(service, latest, ttft, waits, pool)
        tpot = replica.tpot_in_traffic if pool is None else replica.tpot
        values = {"ttft": first, "tpot": tpot, "chips": chips}
        values |= bills(grid.scenario, service, chips, pool)
        cost = crew.cost if service.is_fleet else _cost(grid, service, replica, chips, busy)
        more = added(grid.scenario, pool, UNITS[service.objective])
        unfit = 0 if pool else int(is_new.sum() - fits.sum())
        of = (grid, replica, pool, layout, place, values, seconds, carried, crew, packing, busy)
        deployments.append(Scored(*of, cost + more, mixed.seconds + waits, unfit, more))
    return deployments


def _fits(grid: Grid, points: EvaluatedPoints) -> Bools:
    """Return which layouts hold which batches, that their engine decodes at once."""
    limit = float(grid.site.machine.software.max_sequences)
    dp = np.array([layout.dp for layout in grid.layouts])[:, np.newaxis]
    is_held = np.broadcast_to(points.estimate.is_certain, grid.shape)[0]
    # A server queues before it serves less for a host's memory.
    is_over = np.broadcast_to(overflows(points.estimate), grid.shape)[0]
    return np.asarray(is_held & (grid.batches <= limit * dp) & ~is_over)


UNITS: dict[Objective, Callable[[Scenario], float | None]] = {
    "usd": lambda scenario: scenario.pricing.per_chip_hour(scenario.hardware),
    "watts": lambda scenario: site_power(scenario.hardware),
    "chips": lambda _: 1.0,
}
"""What is to be least, of a chip."""


def _held_against_limit(
    service: Service, first: Floats, ttft: Floats, waits: Floats, pool: Pool | None
) -> Floats:
    """Return times to the first token as they are held against their limit. [s]"""
    is_limit = np.isclose(first, service.ttft, rtol=_ROUNDING, atol=0.0)
    first = np.where(is_limit, service.ttft, first)
    if pool is None:
        return first
    # Of what is late it is the limit that would do, half of which is for each queue.
    enough = ttft - pool.waits + 2.0 * np.maximum(waits, pool.waits)
    return np.where(first > service.ttft, enough, first)


_Load = tuple[Floats, Floats, dict[str, Any]]
"""Time of a replica that a request takes, time to the first token without waiting, and queues."""


def _together(service: Service, replica: Replica, batch: Floats, mixed: ClassFirstTokens) -> _Load:
    run, alone = replica.run, replica.ttft
    # Where prompts cost next to nothing, rounding may leave less than nothing.
    prompts = np.maximum(run - service.output * replica.tpot, 0.0)
    # Attention replicas run in step. If requests come faster than their prompts are taken in one by
    # one, several take in prompts in the same pass, which is then as long as that of all.
    meets = np.minimum(alone * batch / replica.run, 1.0) * (1.0 - 1.0 / replica.dp)
    ttft = alone + meets * np.maximum(replica.prompts_together - alone, 0.0)
    # Nobody's prompt is before that of one alone. Each attention replica, and each micro-batch of
    # a pipeline, takes in prompts of its own, so many times as long.
    before = (
        prompts / batch * (1.0 - 1.0 / batch) * service.prompt_variation * replica.pp * replica.dp
    )
    seconds, first = service.output / replica.served, mixed.latest(service, ttft)
    return seconds, first, {"prompt": before, "prompt_busy": prompts / run, "holds": run}


def _apart(
    service: Service, replica: Replica, batch: Floats, pool: Pool, receiving: Floats
) -> _Load:
    """Return what replicas that only decode are asked; caches come in over links of their own."""
    decoding = service.output / replica.total
    ttft = pool.seconds + np.maximum(pool.sending, receiving)
    seconds = np.maximum(decoding, receiving / replica.dp)
    queued = {"prompt": np.zeros(batch.shape), "prompt_busy": 0.0, "holds": decoding * batch}
    return seconds, ttft, queued


def has_cost(scenario: Scenario, service: Service) -> bool:
    """Return whether the price and the power that count are known of a chip."""
    objective = "" if service.is_fleet else service.objective
    needs_power = objective == "watts" or "power" in service.limits
    needs_price = objective == "usd" or "budget" in service.limits
    has_power = scenario.hardware.power is not None
    has_price = scenario.pricing.per_chip_hour(scenario.hardware) is not None
    return (has_power or not needs_power) and (has_price or not needs_price)


def _cost(grid: Grid, service: Service, replica: Replica, chips: Floats, busy: Floats) -> Floats:
    hardware, pricing = grid.scenario.hardware, grid.scenario.pricing
    if service.objective == "chips":
        return chips
    if service.rate is None:
        per_token = replica.usd if service.objective == "usd" else replica.joules
        assert per_token is not None
        return np.asarray(per_token / busy)
    if service.objective == "usd":
        return np.asarray((pricing.per_chip_hour(hardware) or 0.0) * chips)
    watts = site_power(hardware)
    assert watts is not None
    return np.asarray(watts * chips)
