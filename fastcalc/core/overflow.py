"""Batches that overflow into host memory and have lower throughput than a smaller batch."""

import numpy as np

from fastcalc.core.estimate import Estimate, evaluate
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.formulas.memory import largest_batch
from fastcalc.formulas.types import Array, Bools, floats


def batch_without_host(placement: AnyPlacement) -> Array:
    """Compute the largest batch that fits in chip memory, or 0 if the weights do not.

    The result is infinity without a host, or if the user places bytes explicitly.
    """
    machine, layout = placement.machine, placement.layout
    if machine.place or all(tier.is_near for tier in machine.tiers):
        return floats(np.inf)
    pairs = zip(machine.tiers, placement.usable_beside(machine.reserve.above), strict=True)
    per_replica = largest_batch(
        usable=floats(sum(usable for tier, usable in pairs if tier.is_near)),
        weights=placement.weights_per_chip,
        cache_per_sequence=placement.reserved_per_chip / machine.software.cache_fraction,
    )
    return per_replica * layout.dp


def overflows(estimate: Estimate) -> Bools:
    """Return where batches have lower throughput than the largest batch without host memory."""
    batch, near = estimate.batch, batch_without_host(estimate.placement)
    is_beyond = np.asarray((near >= 1.0) & (batch > near) & estimate.fits)
    if not is_beyond.any():
        return is_beyond
    alone = np.where((near >= 1.0) & np.isfinite(near), near, 1.0)  # one per layout
    queued = evaluate(estimate.placement, batch=alone, traffic=estimate.traffic)
    return np.asarray(is_beyond & (estimate.served < queued.served))


def overflow_note(host: str, near: float) -> str:
    """Return a note on a batch that loses throughput by overflowing into host memory.

    near : The largest batch that fits without host memory.
    """
    return (
        f"batches above {near:,.0f} need {host} and have a lower throughput than a batch of "
        f"{near:,.0f}, so a server would queue instead"
    )
