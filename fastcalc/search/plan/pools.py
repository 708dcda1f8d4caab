"""Replicas that only take in prompts, for deployments whose prompts are apart."""

from dataclasses import dataclass

import numpy as np

from fastcalc.core.placement.layout import Layout, Layouts
from fastcalc.core.placement.placement import Placements
from fastcalc.formulas.types import Floats
from fastcalc.records.evaluated_points import EvaluatedPoints
from fastcalc.search.frontier import undominated
from fastcalc.search.plan.queues import Queues, needed
from fastcalc.search.plan.service import NEAR, Service
from fastcalc.search.sweep.grid import Grid


@dataclass(frozen=True)
class Pool:
    """Replicas of one layout that take in prompts one by one, and their chips.

    busy : share of its capacity that each does [1]
    seconds, waits : from arrival until the prompt is taken in, and the wait that is in it [s]
    sending : from there until the cache is sent [s]
    """

    layout: Layout
    replicas: float
    chips: float
    busy: float
    seconds: float
    waits: float
    sending: float


def transfer_seconds(grid: Grid, prompt: float) -> Floats:
    """Return the time in which each layout's chips send or receive the cache of a prompt. [s]"""
    site, beyond = grid.site, grid.scenario.hardware.links.scale_out
    assert beyond is not None
    place = Placements(site.machine, site.work, Layouts.of(grid.layouts), prompt)
    link = beyond.bandwidth.si * site.machine.software.link_fraction
    return np.broadcast_to(place.cache_per_chip / link, (len(grid.layouts),))


def can_be_apart(grid: Grid, service: Service) -> bool:
    """Return whether prompts may be taken in by replicas of their own.

    It takes a rate, a link, tokens to decode, and batch 1, which says how long a prompt takes;
    and requests that are all alike.
    """
    if service.classes:
        return False
    scenario, has_rate = grid.scenario, service.rate is not None and service.output > 1.0
    has_link = scenario.hardware.links.scale_out is not None
    is_whole = grid.site.machine.is_spatial or scenario.engine.is_bound
    return has_rate and has_link and not is_whole and bool(np.all(grid.batches[..., 0] == 1))


def pools(grid: Grid, service: Service, points: EvaluatedPoints) -> list[Pool]:
    """Return pools that take in all prompts, and that none beats both in chips and in time.

    A prompt alone takes as long as the first token at batch 1. Of those in time, the one of the
    fewest chips and the soonest are taken; of those too late, which say what would do, the one of
    the fewest chips, the first that is near, and the soonest.
    """
    (where,) = np.nonzero(np.broadcast_to(points.estimate.is_certain, grid.shape)[0, :, 0])
    alone = np.broadcast_to(points.estimate.ttft, grid.shape)[0, where, 0]
    layouts = [grid.layouts[place] for place in where]
    sending = transfer_seconds(grid, service.prompt)[where]
    queues = None if service.share is None else Queues(service.share, alone, 1.0)
    # Half of the time that is left is for this queue; the other half is for that of a slot.
    each_takes = np.maximum(alone, sending)
    replicas, busy, waits = needed(service, each_takes, alone + sending, queues, part=0.5)
    chips, seconds = replicas * [float(layout.chips) for layout in layouts], alone + waits
    first = seconds + sending
    front = np.flatnonzero(undominated(gain=-first, cost=chips))
    front = front[np.argsort(chips[front])]  # and so from late to soon
    late, far = (int(np.sum(first[front] > limit * service.ttft)) for limit in (1.0, NEAR))
    chosen = np.clip([0, far, late - 1, late, len(front)], 0, max(len(front) - 1, 0))
    columns_of = (replicas, chips, busy, seconds, waits, sending)
    return [
        Pool(layouts[at], *(float(values[at]) for values in columns_of))
        for at in front[np.unique(chosen)[: len(front)]].tolist()
    ]
