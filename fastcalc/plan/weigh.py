"""Every layout and batch of one deployment against a service: what it takes, what it misses."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from fastcalc.columns import Columns
from fastcalc.evaluate import SITE_FACTOR
from fastcalc.formulas.types import Array, Floats
from fastcalc.placement import Layouts, Placement
from fastcalc.plan.queues import Queues
from fastcalc.plan.service import Service
from fastcalc.scenario import Scenario
from fastcalc.sweep.grid import Grid, solve_grid

_SLACK = 1e-9
"""Of a replica, so that a rate which one carries exactly is not given two."""

_LEAST_BUSY = 1e-6
"""Utilization below which nothing is planned: a limit that leaves no time to wait needs it."""

_NEEDED = (
    "chips",
    "tpot_ms",
    "ttft_ms",
    "tokens_per_s_total",
    "served_tokens_per_s_total",
    "served_request_s",
    "usd_per_mtok_total",
    "joules_per_token",
)

LIMITS = ("ttft", "tpot", "chips")
"""What a deployment that fits may miss."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """Deployments that fit, an element for each.

    Attributes
    ----------
    grid, columns : Grid, Columns
        What they are of, and all numbers of each.
    is_apart : bool
        True where prompts are taken in by replicas of their own.
    layout, place : ndarray
        Positions of layout and batch in the grid's. [1]
    values : dict of str to ndarray
        What is limited, by name: seconds to the first token, seconds between tokens, chips.
    replicas, busy : ndarray
        Replicas for the rate, of those that decode, and the share of its capacity that each of
        them does. [1]
    cost : ndarray
        What is to be least.
    prefill_layout, prefill_replicas : int and float
        Where prompts are taken in apart; the same for all.
    unfit : int
        Deployments that do not fit, beside these. [1]
    """

    grid: Grid
    columns: Columns
    is_apart: bool
    layout: Array
    place: Array
    values: dict[str, Floats]
    replicas: Floats
    busy: Floats
    cost: Floats
    prefill_layout: int = 0
    prefill_replicas: float = 0.0
    unfit: int = 0

    def misses(self, service: Service) -> dict[str, Floats]:
        """Return each value over its limit: at most 1 where it is met."""
        limits = {"ttft": service.ttft, "tpot": service.tpot, "chips": service.max_chips}
        return {name: self.values[name] / limits[name] for name in LIMITS}


def weigh(grid: Grid, service: Service) -> list[Weighed]:
    """Return the deployments of a grid: one pool for all, and prompts apart where that can be.

    Parameters
    ----------
    grid : Grid
        Of one kind of request.
    service : Service
        What is asked.
    """
    columns = solve_grid(grid, words=False)
    limit = float(grid.sites[0].machine.software.max_sequences)
    dp = np.array([layout.dp for layout in grid.layouts])[:, np.newaxis]
    fits = np.broadcast_to(columns["fits"], grid.shape)[0] & (grid.batches <= limit * dp)
    layout, place = np.nonzero(fits)
    numbers = {
        key: np.broadcast_to(columns[key], grid.shape)[0][fits]
        for key in _NEEDED
        if columns[key] is not None
    }
    unfit = int(fits.size - fits.sum())
    common: dict[str, Any] = {"grid": grid, "columns": columns, "layout": layout, "place": place}
    together = _together(grid, service, numbers, place)
    found = [Weighed(**common, **together, is_apart=False, unfit=unfit)]
    pool = _prefill_pool(grid, service, columns)
    if pool is not None:
        found.append(
            Weighed(**common, **_apart(grid, service, numbers, place, pool), is_apart=True)
        )
    return found


def between_tokens(columns: Columns, batch: Floats, output: float) -> Floats:
    """Return the mean time between two tokens while others' prompts are taken in beside. [s]

    Of the time that prompts add to a run, a request's own share is before its first token. One
    output token has nothing after it: what is left is the step that decodes at that batch.

    Parameters
    ----------
    columns : Columns
        With ``tpot_ms`` and ``served_request_s``.
    batch : ndarray
        Sequences decoded together. [1]
    output : float
        Output tokens of a request. [1]
    """
    alone = columns["tpot_ms"] / 1e3
    if output <= 1.0:
        return np.asarray(alone)
    return np.asarray(alone + (1.0 - 1.0 / batch) * (columns["served_request_s"] / output - alone))


def _together(grid: Grid, service: Service, numbers: Columns, place: Array) -> dict[str, Any]:
    """Return what replicas that take in prompts and decode need for the rate."""
    batch = grid.batches[place]
    run = numbers["served_request_s"]
    prompts = run - service.output * numbers["tpot_ms"] / 1e3
    ttft = numbers["ttft_ms"] / 1e3
    queues = _queues(
        service,
        prompt=prompts / batch * (1.0 - 1.0 / batch),  # nobody's prompt is before that of one alone
        prompt_busy=prompts / run,
        slots=grid.batches,
        kind=place,
        holds=run,
    )
    capacity = numbers["served_tokens_per_s_total"] / service.output
    replicas, busy = _replicas(service, 1.0 / capacity, ttft, queues)
    chips = replicas * numbers["chips"]
    return {
        "values": {
            "ttft": ttft + _wait(queues, busy),
            "tpot": between_tokens(numbers, batch, service.output),
            "chips": chips,
        },
        "replicas": replicas,
        "busy": busy,
        "cost": _cost(grid, service, numbers, chips, busy),
    }


def _queues(service: Service, **given: Any) -> Queues | None:
    """Return the queues before some deployments; None where requests arrive evenly."""
    return None if service.share is None else Queues(service.share, **given)


def _wait(queues: Queues | None, busy: Floats) -> Floats:
    """Return how long a request waits before it is taken in. [s]"""
    return np.zeros(np.shape(busy)) if queues is None else queues.wait(busy)


def _replicas(
    service: Service, seconds: Floats, ttft: Floats, queues: Queues | None
) -> tuple[Floats, Floats]:
    """Return replicas that each take so long for a request, and how busy each is. [1]

    One replica where no rate is asked. What takes longer to the first token than is allowed
    without waiting is given a tenth of its time for that, so that it may be said what it does.
    """
    most: Floats = np.full(np.shape(seconds), service.utilization)
    if queues is not None:
        late = ttft >= service.ttft
        most = np.minimum(most, queues.most(np.where(late, 0.1 * ttft, service.ttft - ttft)))
        most = np.maximum(most, _LEAST_BUSY)
    if service.rate is None:
        return np.ones(np.shape(seconds)), most
    replicas = np.maximum(np.ceil(np.asarray(service.rate * seconds / most) - _SLACK), 1.0)
    return replicas, np.minimum(service.rate * seconds / replicas, most)


def has_cost(scenario: Scenario, service: Service) -> bool:
    """Return whether what is to be least is known of a chip.

    Parameters
    ----------
    scenario : Scenario
        With the chip and its prices.
    service : Service
        With the objective.
    """
    if service.objective == "watts":
        return scenario.hardware.power is not None
    known = scenario.pricing.per_chip_hour(scenario.hardware) is not None
    return known or service.objective == "chips"


def _cost(grid: Grid, service: Service, numbers: Columns, chips: Floats, busy: Floats) -> Floats:
    """Return what is to be least."""
    hardware, pricing = grid.scenario.hardware, grid.scenario.pricing
    if service.objective == "chips":
        return chips
    if service.rate is None:
        key = "usd_per_mtok_total" if service.objective == "usd" else "joules_per_token"
        return np.asarray(numbers[key] / busy)
    if service.objective == "usd":
        return np.asarray((pricing.per_chip_hour(hardware) or 0.0) * chips)
    assert hardware.power is not None
    return np.asarray(hardware.power.chip.si * SITE_FACTOR * chips)


@dataclass(frozen=True)
class _Pool:
    """Replicas that take in prompts: layout, count, chips in all, and time to a first token."""

    layout: int
    replicas: float
    chips: float
    ttft: float


def _prefill_pool(grid: Grid, service: Service, columns: Columns) -> _Pool | None:
    """Return the fewest chips that take in all prompts one by one; the soonest if none is in time.

    A prompt alone on a replica takes as long as the first token at batch 1; its cache then
    crosses the link beyond the domain before decoding starts.
    """
    hardware = grid.scenario.hardware
    if service.rate is None or hardware.links.scale_out is None or grid.batches[0] != 1:
        return None
    site, engine = grid.sites[0], grid.scenario.engine
    if site.machine.is_spatial or engine.is_bound or len(grid.sites) > 1:
        return None
    layouts = Layouts.of(grid.layouts)
    fits = np.broadcast_to(columns["fits"], grid.shape)[0, :, 0]
    alone = np.broadcast_to(columns["ttft_ms"], grid.shape)[0, :, 0] / 1e3
    cache = Placement(site.machine, site.work, layouts, service.prompt).cache_per_chip
    link = hardware.links.scale_out.bandwidth.si * site.machine.software.link_fraction
    ttft = alone + np.broadcast_to(cache, alone.shape) / link
    queues = _queues(service, prompt=alone, prompt_busy=1.0)
    # Half of the time that is left is for this queue; the other half is for that of a slot.
    replicas, busy = _replicas(service, alone, (ttft + service.ttft) / 2.0, queues)
    chips = replicas * layouts.chips
    in_time = fits & (ttft <= service.ttft)
    rank = np.where(in_time, chips, np.inf) if in_time.any() else np.where(fits, ttft, np.inf)
    best = int(np.argmin(rank))
    if rank[best] == inf:
        return None
    first = float((ttft + _wait(queues, busy))[best])
    return _Pool(best, float(replicas[best]), float(chips[best]), first)


def _apart(
    grid: Grid, service: Service, numbers: Columns, place: Array, pool: _Pool
) -> dict[str, Any]:
    """Return what replicas that only decode need for the rate, and the pool beside them."""
    seconds = service.output / numbers["tokens_per_s_total"]
    queues = _queues(
        service,
        prompt=np.zeros(place.shape),
        prompt_busy=0.0,
        slots=grid.batches,
        kind=place,
        holds=seconds * grid.batches[place],
    )
    ttft: Floats = np.full(place.shape, pool.ttft)
    replicas, busy = _replicas(service, seconds, ttft, queues)
    chips = replicas * numbers["chips"] + pool.chips
    return {
        "values": {
            "ttft": ttft + _wait(queues, busy),
            "tpot": numbers["tpot_ms"] / 1e3,
            "chips": chips,
        },
        "replicas": replicas,
        "busy": busy,
        "cost": _cost(grid, service, numbers, chips, busy),
        "prefill_layout": pool.layout,
        "prefill_replicas": pool.replicas,
    }
