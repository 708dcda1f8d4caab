"""Heterogeneous prefill: pools on another chip type than decode, and their additional cost."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fastcalc.features.plan.packing import Packing
from fastcalc.features.plan.pools import (
    PrefillPool,
    can_decode_alone,
    can_disaggregate,
    every_pool,
    undominated_pools,
)
from fastcalc.features.plan.service import Service
from fastcalc.grid.grid import Grid, solved


def unlike_pools(grid: Grid, service: Service) -> list[PrefillPool]:
    """Pareto-optimal prefill pools on the chips of a grid, for decode on other chips.

    The time to receive a cache depends on the decode chips, so any pool that is smaller, faster or
    sends faster may be the best. The pools use separate nodes.
    """
    alone = grid.part(batches=np.ones(1))
    if service.rate is None or not can_disaggregate(alone, service):
        return []
    points = solved(alone)
    points = replace(points, estimate=points.estimate.slowed(service.deviations))
    pools: list[PrefillPool] = []
    for pool in every_pool(alone, service, points):
        sizes = np.array([float(pool.layout.chips)]), np.array([float(pool.layout.pp)])
        packing = Packing.of(service.node_chips(grid.scenario.hardware), *sizes, None)
        (chips,) = packing.chips(np.array([pool.replicas]), 0.0).tolist()
        pools.append(replace(pool, chips=chips, scenario=grid.scenario))
    names = ("chips", "seconds", "kv_transfer_s")
    return undominated_pools(pools, *([getattr(pool, name) for pool in pools] for name in names))


def can_prefill_for(pools: Sequence[PrefillPool], grid: Grid, service: Service) -> bool:
    """Whether prefill pools may serve the decode chips of a grid.

    They use other chips, with weights and caches in the same formats.
    """
    taking, decoding = pools[0].scenario, grid.scenario
    assert taking is not None
    formats = {
        (scenario.work.weight_format, scenario.work.kv_format) for scenario in (taking, decoding)
    }
    is_other = taking.hardware.id != decoding.hardware.id
    return is_other and len(formats) == 1 and can_decode_alone(grid, service)
