"""A prefix cache in another memory: when loading it beats computing it again."""

from dataclasses import dataclass, replace

import numpy as np

from fastcalc.core import timeline
from fastcalc.core.placement.placement import Placement
from fastcalc.core.scenario import Outcome
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic import Traffic
from fastcalc.formulas.types import ArrayLike, Floats

_TRIED = 512  # lengths tried at once


@dataclass(frozen=True)
class PrefixCache:
    """What the cached part of a prompt costs.

    loading, computing : time that either adds to the first token of a request that is alone [s]
    breaks_even : shortest prompt of which the same share is loaded sooner than computed, if any [1]
    """

    loading: float
    computing: float
    breaks_even: int | None


def prefix_cache(outcome: Outcome) -> PrefixCache:
    """Return what the cached part of a prompt costs, loaded from its memory and computed."""
    traffic, placement = outcome.scenario.traffic, outcome.placement
    loading, computing = (float(seconds[0]) for seconds in _costs(placement, traffic, 1.0))
    low, high = 2, outcome.scenario.model.max_context or 2**20
    while high - low > 1:
        lengths = np.unique(np.round(np.geomspace(low, high, _TRIED)))
        load, compute = _costs(placement, traffic, lengths / traffic.prompt)
        wins = load < compute
        if not wins.any():
            return PrefixCache(loading, computing, None)
        first = int(wins.argmax())
        high = int(lengths[first])
        low = int(lengths[first - 1]) if first else high
    return PrefixCache(loading, computing, high)


def _costs(placement: Placement, traffic: Traffic, scale: ArrayLike) -> tuple[Floats, Floats]:
    """Return the time to load and to compute what is cached of prompts so much longer. [s]"""
    prompt = np.atleast_1d(np.asarray(traffic.prompt * scale, dtype=float))
    longer = replace(traffic, prompt=prompt, context=prompt + np.asarray(traffic.output) / 2.0)
    batch = np.ones_like(prompt)
    cached = Schedule(placement, longer, batch)
    computed = Schedule(placement, replace(longer, prefix_hit=0.0), batch)
    uncached = timeline.first_token(cached).seconds - cached.loading
    return np.broadcast_to(cached.loading, prompt.shape), timeline.first_token(
        computed
    ).seconds - uncached
