"""80 % ranges learned from sources that no engine was fitted on."""

from collections.abc import Collection, Mapping, Sequence
from math import exp, log
from typing import get_args

import numpy as np

from fastcalc.catalogue.schema.engines import Phase, RangeWidths
from fastcalc.evidence.score import Prediction
from fastcalc.formulas.ranges import half_width
from fastcalc.formulas.types import Array, Bools, Floats

INSIDE = 0.8  # share of measurements that a range should hold

LEARNED_AT = 0.84
"""Share of points by which widths are learned: a little more than ranges should hold. Each of three
sets that was scored before anything was learned from it lay in its ranges less often than promised,
and on halves of the sources the interval score is the same from 0.80 to 0.84."""

_DECIMALS = 3  # of widths

FittedKinds = Mapping[str, Mapping[Phase, Collection[str]]]
"""Kinds of chip that engines were fitted on, by engine and phase."""


def is_unseen(prediction: Prediction, kinds: FittedKinds) -> bool:
    """Whether a point's engine was fitted on nothing of its phase and kind of chip."""
    return prediction.machine not in kinds.get(prediction.engine_used, {}).get(prediction.phase, ())


def ranged(prediction: Prediction, widths: RangeWidths, *, unseen: bool) -> Prediction:
    """A prediction in the range that widths give it."""
    least = widths.of(prediction.phase) * (widths.unseen if unseen else 1.0)
    least *= widths.new if prediction.is_young else 1.0
    reach = exp(half_width(least=least, fitted_share=prediction.fitted_share))
    return prediction.within(reach, reach)


def learned(predictions: Sequence[Prediction], kinds: FittedKinds) -> RangeWidths:
    """Widths of ranges that hold 80 % of points of sources like these.

    Each phase has its width from kinds of chip that engines were fitted on and from models that are
    not new; how many times as wide ranges are on others, all phases say together.
    """
    sources = np.array([prediction.point.source_key for prediction in predictions])
    phases = np.array([prediction.phase for prediction in predictions])
    unseen = np.array([is_unseen(prediction, kinds) for prediction in predictions], dtype=bool)
    young = np.array([prediction.is_young for prediction in predictions], dtype=bool)
    needed = np.array([_needed(prediction) for prediction in predictions])
    widths: dict[Phase, float] = {}
    multiples = np.zeros(len(predictions))
    for phase in get_args(Phase):
        chosen = (phases == phase) & ~unseen & ~young
        widths[phase] = round(_quantile(needed[chosen], sources[chosen]), _DECIMALS)
        multiples[phases == phase] = needed[phases == phase] / widths[phase]
    unseen_times = _multiple(multiples, sources, unseen & ~young)
    multiples[unseen] /= unseen_times
    new_times = _multiple(multiples, sources, young)
    return RangeWidths(
        decode=widths["decode"],
        prefill=widths["prefill"],
        served=widths["served"],
        unseen=round(unseen_times, _DECIMALS),
        new=round(new_times, _DECIMALS),
        basis=f"{len(predictions)} points of {len(np.unique(sources))} sources that no engine was "
        "fitted on",
    )


def _multiple(multiples: Floats, sources: Array, chosen: Bools) -> float:
    """Return how many times as wide ranges of some points are, 1 at least."""
    return max(_quantile(multiples[chosen], sources[chosen]), 1.0) if chosen.any() else 1.0


def _needed(prediction: Prediction) -> float:
    """Width without fitted time of the narrowest range that holds a point. [1]"""
    too_fast, typical = log(prediction.bias), log(prediction.typical)
    needed = max(too_fast - max(-typical, 0.0), -too_fast - max(typical, 0.0), 0.0)
    return needed / float(half_width(least=1.0, fitted_share=prediction.fitted_share))


def _quantile(numbers: Floats, sources: Array) -> float:
    """Return what the share `LEARNED_AT` lies below, a source weighing as the root of its own."""
    _, inverse, counts = np.unique(sources, return_inverse=True, return_counts=True)
    weights = 1.0 / np.sqrt(counts[inverse])
    order = np.argsort(numbers)
    reached = np.cumsum(weights[order]) - weights[order] / 2.0
    return float(np.interp(LEARNED_AT * weights.sum(), reached, numbers[order]))
