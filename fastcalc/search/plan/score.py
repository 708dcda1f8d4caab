"""Every layout and batch of one deployment against a service: what it takes, what it misses."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf
from typing import Any

import numpy as np

from fastcalc.core.estimate import site_power
from fastcalc.core.overflow import overflows
from fastcalc.core.scenario import Scenario
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.types import ArrayLike, Bools, Floats, Ints
from fastcalc.records.evaluated_points import EvaluatedPoints
from fastcalc.search.plan.first_tokens import ClassFirstTokens, class_first_tokens
from fastcalc.search.plan.fleet import Crew, Packing, bills, chips_within, crew_within
from fastcalc.search.plan.pools import KEPT, Pool, Pools, added, pools_of, transfer_seconds
from fastcalc.search.plan.queues import Queues, needed, slots_of
from fastcalc.search.plan.service import Objective, Service
from fastcalc.search.sweep.grid import Grid, solved

_points = lru_cache(maxsize=KEPT)(solved)
_ROUNDING = 1e-12  # of a limit: replicas as busy as it allows meet it
_LEAST = 1e-9  # of a limit, where nothing is left of it
_OF_ESTIMATE = (
    "batch",
    "total",
    "served",
    "tpot",
    "tpot_in_traffic",
    "ttft",
    "prompts_together",
    "run",
    "slowness",
)


@dataclass(frozen=True, eq=False)
class Replica:
    """One full replica, which takes in its prompts, too: an element for each that fits.

    layout : its position in the grid's [1]
    batch : sequences that it decodes together [1]
    chips, pp, dp : of its layout [1]

    The others are values of its `fastcalc.core.estimate.Estimate`, as slow as the service says.
    """

    layout: Ints
    batch: Floats
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
    slowness: Floats

    @classmethod
    def of(cls, points: EvaluatedPoints, fits: Bools) -> "Replica":
        """Return those of the deployments that fit, layouts x batches, of one kind of request."""

        def those(values: ArrayLike) -> Any:
            return np.broadcast_to(values, (1, *fits.shape))[0][fits]

        return cls(
            **{name: those(getattr(points.estimate, name)) for name in _OF_ESTIMATE},
            layout=np.nonzero(fits)[0],
            chips=those(points.layout.chips),
            pp=those(points.layout.pp),
            dp=those(points.layout.dp),
        )


@dataclass(frozen=True, eq=False)
class Scored:
    """Deployments of a grid that fit: each replica with each pool that takes in prompts, if any.

    service : what they are held against
    replica, pools : of which each deployment is one of the first, and of the second if there are
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
    service: Service
    replica: Replica
    pools: Sequence[Pool]
    values: dict[str, Floats]
    seconds: Floats
    carried: Floats
    crew: Crew
    packing: Packing
    busy: Floats
    cost: Floats
    class_ttft: Floats
    more: Floats
    unfit: int = 0

    def of_each(self, values: Floats | Ints) -> Any:
        """Return for each deployment what its replica has."""
        return np.tile(values, max(len(self.pools), 1))

    @cached_property
    def layout(self) -> Ints:
        """Position of the layout in the grid's. [1]"""
        return np.asarray(self.of_each(self.replica.layout))

    @cached_property
    def batch(self) -> Floats:
        """Sequences that each decodes together. [1]"""
        return np.asarray(self.of_each(self.replica.batch))

    @cached_property
    def row(self) -> Ints:
        """A number for each layout with each pool. [1]"""
        pools = np.repeat(np.arange(max(len(self.pools), 1)), len(self.replica.batch))
        return self.layout + len(self.grid.layouts) * pools

    def pool(self, place: int) -> Pool | None:
        """Return what takes in the prompts of a deployment, where that is apart."""
        return self.pools[place // len(self.replica.batch)] if self.pools else None

    def by_pool(self) -> Iterator[tuple[Pool | None, Bools]]:
        """Yield each pool, and which deployments are its."""
        for at, pool in enumerate(self.pools or [None]):
            yield pool, self.row // len(self.grid.layouts) == at

    @property
    def replicas(self) -> Floats:
        """Replicas that decode. [1]"""
        return self.crew.replicas

    def next(self, places: Ints, step: int = 1) -> Ints:
        """Return where the next batches of the same layouts are, or the places themselves."""
        near = np.clip(places + step, 0, len(self.row) - 1)
        return np.where(self.row[near] == self.row[places], near, places)

    @cached_property
    def misses(self) -> dict[str, Floats]:
        """Each value over its limit: at most 1 where it is met."""
        return {
            name: self.values[name] / max(limit, _LEAST)
            for name, limit in self.service.limits.items()
        }

    @cached_property
    def is_in_time(self) -> Bools:
        """Whether both times to tokens are within their limits."""
        limits = self.service.limits
        first, between = (self.values[name] <= limits[name] for name in ("ttft", "tpot"))
        return first & between

    def best_of_rows(self, priority: Floats) -> Ints:
        """Return the place of the least priority of each row that has any in time.

        Places of a row are one after another; of equals it is the first.
        """
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        priority = np.where(self.is_in_time, priority, inf)
        least = np.minimum.reduceat(priority, starts) if starts.size else priority
        counts = np.diff(starts, append=len(priority))
        places = np.flatnonzero((priority == np.repeat(least, counts)) & self.is_in_time)
        return places[np.diff(self.row[places], prepend=-1) > 0]

    @cached_property
    def cheapest(self) -> Ints:
        """Places of those that miss nothing at the least cost, and on the fewest chips of these."""
        return self._least(np.all([miss <= 1.0 for miss in self.misses.values()], axis=0))

    def _least(self, among: Bools) -> Ints:
        (places,) = np.nonzero(among)
        for key in (self.cost, self.values["chips"]):
            if places.size:
                places = places[key[places] == key[places].min()]
        return places

    @property
    def best(self) -> int | None:
        """The place of the best that misses nothing."""
        return self._first(self.cheapest)

    def first_of(self, among: Bools) -> int | None:
        """Return the place of the first of some deployments, in the order of plans."""
        return self._first(self._least(among))

    def first_of_pools(self, places: Ints) -> Ints:
        """Return of places of one cost and as many chips the first of each pool."""
        places = places[np.argsort(self.last_resort[places], kind="stable")]
        _, first = np.unique(places // len(self.replica.batch), return_index=True)
        return places[first]

    def _first(self, places: Ints) -> int | None:
        return int(places[np.argmin(self.last_resort[places])]) if places.size else None

    @cached_property
    def last_resort(self) -> Floats:
        """What decides between those of one cost and as many chips.

        With a rate the smallest batch is the fastest, but that where requests at random may wait
        as long as it takes: then the shortest wait. Without a rate the least time does the most.
        """
        service = self.service
        if service.rate is None:
            return self.seconds
        is_patient = service.share is not None and service.ttft == inf
        return self.values["ttft"] if is_patient else self.batch


def score(
    grid: Grid, service: Service, prompt_pools: Sequence[Pool | None] | None = None
) -> list[Scored]:
    """Return the deployments of a grid of one kind of request: with prompts inside, and apart.

    What takes in prompts is found among the grid's layouts unless given; None is what decodes.
    """
    points = _points(grid)
    points = replace(points, estimate=points.estimate.slowed(service.deviations))
    is_new = np.diff(np.broadcast_to(grid.batches, grid.shape[1:]), prepend=0.0) > 0.0
    fits = is_new & _fits(grid, points)
    replica = Replica.of(points, fits)
    if prompt_pools is None:  # prompts apart take two chips at least
        has_two = chips_within(service, grid.scenario) >= 2.0
        prompt_pools = [None, *(pools_of(grid, service, points) if has_two else ())]
    arrivals = replica.batch / replica.run
    mixed = class_first_tokens(points, service.classes, fits=fits, arrivals=arrivals, dp=replica.dp)
    deployments: list[Scored] = []
    if None in prompt_pools:
        unfit = int(is_new.sum() - fits.sum())
        deployments.append(_sized(grid, service, replica, mixed, unfit=unfit))
    if apart := list(filter(None, prompt_pools)):
        deployments.append(_sized(grid, service, replica, mixed, apart))
    return deployments


def _sized(
    grid: Grid,
    service: Service,
    replica: Replica,
    mixed: ClassFirstTokens,
    apart: Sequence[Pool] = (),
    unfit: int = 0,
) -> Scored:
    """Return the replicas, as many as it takes of each, with each pool."""
    scenario, pools, share, queues = grid.scenario, Pools.of(apart), service.share, None
    if pools is None:
        seconds, ttft, queued = _together(service, replica, mixed)
    else:
        receiving = transfer_seconds(grid, service.prompt)[replica.layout]
        seconds, ttft, queued = _apart(service, replica, pools, receiving)
    if share is not None:
        slots = slots_of(share)
        queues = Queues(share, **queued, slots=slots, kind=slots.kinds(replica.batch))
    replicas, busy, waits, busiest = needed(service, seconds, ttft, queues)
    carried = busiest / seconds
    crew = Crew.of(replicas, carried, pools)
    packing = Packing.of(service.node_chips(scenario.hardware), replica.chips, replica.pp, pools)
    if service.is_fleet:
        crew = crew_within(chips_within(service, scenario), packing, carried, pools)
        busy = np.minimum(crew.requests * seconds / crew.replicas, busiest)
    chips = packing.chips(crew.replicas, crew.prompt_replicas)
    latest = mixed.over_limits(service, waits, ttft)
    values = {
        "ttft": _held_against_limit(service, latest, ttft, waits, pools),
        "tpot": replica.tpot_in_traffic if pools is None else replica.tpot,
        "chips": chips,
        **bills(scenario, service, chips, pools),
    }
    more = added(scenario, pools, UNITS[service.objective])
    cost = crew.cost if service.is_fleet else _cost(grid, service, replica, chips, seconds / busy)

    def flat(values: ArrayLike) -> Floats:
        return np.broadcast_to(values, ttft.shape).ravel()

    return Scored(
        grid,
        service,
        replica,
        apart,
        values={name: flat(column) for name, column in values.items()},
        seconds=flat(seconds),
        carried=flat(carried),
        crew=Crew(*map(flat, crew)),
        packing=Packing(packing.node_chips, *map(flat, packing[1:])),
        busy=flat(busy),
        cost=flat(cost + more),
        class_ttft=(mixed.seconds[:, np.newaxis] + waits).reshape(len(mixed.seconds), ttft.size),
        more=flat(more),
        unfit=unfit,
    )


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
    service: Service, first: Floats, ttft: Floats, waits: Floats, pools: Pools | None
) -> Floats:
    """Return times to the first token as they are held against their limit. [s]"""
    if service.ttft < inf:
        is_limit = np.abs(first - service.ttft) <= _ROUNDING * service.ttft
        first = np.where(is_limit, service.ttft, first)
    if pools is None:
        return first
    # Of what is late it is the limit that would do, half of which is for each queue.
    enough = ttft - pools.waits + 2.0 * np.maximum(waits, pools.waits)
    return np.where(first > service.ttft, enough, first)


_Load = tuple[Floats, Floats, dict[str, Any]]
"""Time of a replica that a request takes, for each replica; time to the first token without
waiting, pools x replicas; and queues."""


def _together(service: Service, replica: Replica, mixed: ClassFirstTokens) -> _Load:
    run, alone, batch = replica.run, replica.ttft, replica.batch
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
    first = mixed.latest(service, ttft)[np.newaxis]
    queued = {"prompt": before, "prompt_busy": prompts / run, "holds": run}
    return service.output / replica.served, first, queued


def _apart(service: Service, replica: Replica, pools: Pools, receiving: Floats) -> _Load:
    """Return what replicas that only decode are asked; caches come in over links of their own."""
    decoding = service.output / replica.total
    seconds = np.maximum(decoding, receiving / replica.dp)
    ttft = pools.seconds + np.maximum(pools.sending, receiving)
    queued = {"prompt": 0.0, "prompt_busy": 0.0, "holds": decoding * replica.batch}
    return seconds, ttft, queued


def has_cost(scenario: Scenario, service: Service) -> bool:
    """Return whether the price and the power that count are known of a chip."""
    objective = "" if service.is_fleet else service.objective
    needs_power = objective == "watts" or "power" in service.limits
    needs_price = objective == "usd" or "budget" in service.limits
    has_power = scenario.hardware.power is not None
    has_price = scenario.pricing.per_chip_hour(scenario.hardware) is not None
    return (has_power or not needs_power) and (has_price or not needs_price)


def _cost(
    grid: Grid, service: Service, replica: Replica, chips: Floats, seconds_busy: Floats
) -> Floats:
    """Return what is to be least: of all chips, or without a rate of a token of one replica.

    seconds_busy : time of a replica that a request takes, and what it is idle besides [s]
    """
    per_chip = UNITS[service.objective](grid.scenario)
    assert per_chip is not None
    if service.objective == "chips" or service.rate is not None:
        return np.asarray(per_chip * chips)
    if service.objective == "watts":
        return np.asarray(per_chip * replica.chips * seconds_busy / service.output)
    return usd_per_million(
        usd_per_hour=per_chip * replica.chips / grid.scenario.pricing.utilization,
        seconds=seconds_busy,
        tokens=service.prompt + service.output,
    )
