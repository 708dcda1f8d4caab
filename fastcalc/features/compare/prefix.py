"""A prefix cache in a slower memory: from which prompt length loading beats recomputing."""

from dataclasses import dataclass, replace

import numpy as np

from fastcalc.core import timeline
from fastcalc.core.outcome import Outcome
from fastcalc.core.placement.placement import Placement
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.solving import first_changed
from fastcalc.formulas.types import ArrayLike, Bools, Floats

_TRIED = 512  # lengths tried at once


@dataclass(frozen=True)
class PrefixCache:
    """Compares the costs of loading and of recomputing the cached part of a prompt.

    loading, computing : TTFT that each adds, for a request on its own, in seconds.
    breaks_even : The shortest prompt with this cached fraction for which loading is faster.
    """

    loading: float
    computing: float
    breaks_even: int | None


def prefix_cache(outcome: Outcome) -> PrefixCache:
    """Compare the time to load the cached part of a prompt with the time to recompute it."""
    traffic, placement = outcome.scenario.traffic, outcome.placement
    loading, computing = (float(seconds[0]) for seconds in _costs(placement, traffic, 1.0))

    def wins(lengths: Floats) -> Bools:
        load, compute = _costs(placement, traffic, lengths / traffic.prompt)
        return load < compute

    longest = outcome.scenario.model.max_context or 2**20
    ends = first_changed(wins, 2, longest, points=_TRIED, spaced=np.geomspace)
    return PrefixCache(loading, computing, int(ends[1]) if ends else None)


def _costs(placement: Placement, traffic: Traffic, scale: ArrayLike) -> tuple[Floats, Floats]:
    """Return the times to load and to recompute the cached part of longer prompts, in seconds."""
    prompt = np.atleast_1d(np.asarray(traffic.prompt * scale, dtype=float))
    longer = replace(traffic, prompt=prompt, context=prompt + np.asarray(traffic.output) / 2.0)
    batch = np.ones_like(prompt)
    cached = Schedule(placement, longer, batch)
    computed = Schedule(placement, replace(longer, prefix_hit=0.0), batch)
    uncached = timeline.first_token(cached).seconds - cached.loading
    return np.broadcast_to(cached.loading, prompt.shape), timeline.first_token(
        computed
    ).seconds - uncached
