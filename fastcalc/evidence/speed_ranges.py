"""80 % ranges learned from points that nobody had looked at when terms were chosen."""

from collections.abc import Collection, Mapping, Sequence
from math import log

import numpy as np

from fastcalc.catalogue.schema.engines import Phase, RangeWidths, width_name
from fastcalc.core.speed_range import reach
from fastcalc.evidence.score import SRAM, Prediction
from fastcalc.formulas.ranges import half_width
from fastcalc.formulas.types import Array, Bools, Floats

INSIDE = 0.8  # share of measurements that a range should hold

_DECIMALS = 3  # of widths
_MOST_TIMES = 3.0  # as wide: few sources stand behind it

FittedKinds = Mapping[str, Mapping[Phase, Collection[str]]]
"""Kinds of chip that engines were fitted on, by engine and phase."""


def is_unseen(prediction: Prediction, fitted_kinds: FittedKinds) -> bool:
    """Whether a point's engine was fitted on nothing of its phase and kind of chip."""
    return prediction.machine not in fitted_kinds.get(prediction.engine_used, {}).get(
        prediction.phase, ()
    )


def ranged(prediction: Prediction, widths: RangeWidths, *, unseen: bool) -> Prediction:
    """The prediction in the range that widths give it.

    unseen : whether its engine was fitted on no such kind of chip
    """
    below, above = reach(
        widths,
        prediction.phase,
        has_experts=prediction.has_experts,
        machine=prediction.machine,
        is_unseen=unseen,
        is_young=prediction.is_young,
        fitted_share=prediction.fitted_share,
    )
    return prediction.within(float(below), float(above))


def learned(
    predictions: Sequence[Prediction], blind: Collection[str], fitted_kinds: FittedKinds
) -> RangeWidths:
    """Widths of ranges that hold 80 % of points of sources like these.

    Every kind of prediction has a width of its own. Measurements lie below what is expected more
    often than above, for servers can be set up worse than those that engines were fitted on, and
    hardly better: all together say how much further a range reaches down than up, with a tenth of
    the points beyond each end. Both come from points that nobody had looked at when terms were
    chosen; all points say how many times as wide ranges of new models and unseen chips are.

    predictions : each by a fit that has not seen its publisher
    blind : ids of those that nobody had looked at
    """
    # Engines of the others state their ranges.
    predictions = [prediction for prediction in predictions if prediction.part != SRAM]
    sources = np.array([prediction.point.source_key for prediction in predictions])
    is_blind = np.array([prediction.point.id in blind for prediction in predictions], dtype=bool)
    unseen = np.array(
        [is_unseen(prediction, fitted_kinds) for prediction in predictions], dtype=bool
    )
    young = np.array([prediction.is_young for prediction in predictions], dtype=bool)
    usual = is_blind & ~unseen & ~young
    sides = np.array([_needed(prediction) for prediction in predictions])
    names = np.array([_name(prediction) for prediction in predictions])
    widths, at_all = dict.fromkeys(_NAMES, 0.0), sides.max(axis=1)
    for name in _NAMES:
        of_name = names == name
        sample = of_name & usual if (of_name & usual).any() else usual
        widths[name] = round(_quantile(at_all[sample], sources[sample], INSIDE), _DECIMALS)
        sides[of_name] /= widths[name]
    below, above = (
        round(_quantile(side, sources[usual], (1.0 + INSIDE) / 2.0), _DECIMALS)
        for side in sides[usual].T
    )
    multiples = (sides / (below, above)).max(axis=1)
    unseen_times = _times_as_wide(multiples, sources, unseen)
    multiples[unseen] /= unseen_times
    return RangeWidths(
        decode=widths["decode"],
        prefill=widths["prefill"],
        served=widths["served"],
        served_experts=widths["served_experts"],
        decode_datacenter=widths["decode_datacenter"],
        below=below,
        above=above,
        unseen=round(unseen_times, _DECIMALS),
        new=round(_times_as_wide(multiples, sources, young), _DECIMALS),
        basis=f"{is_blind.sum()} points of {len(np.unique(sources[is_blind]))} sources that nobody "
        "had looked at when terms were chosen, each predicted without its publisher",
    )


_NAMES = ("decode", "decode_datacenter", "prefill", "served", "served_experts")


def _name(prediction: Prediction) -> str:
    """Which width of `RangeWidths` a prediction has."""
    phase, machine = prediction.phase, prediction.machine
    return width_name(phase, has_experts=prediction.has_experts, machine=machine)


def _times_as_wide(multiples: Floats, sources: Array, chosen: Bools) -> float:
    """How many times as wide ranges of some points are as those of the others, 1 to 3."""
    if not chosen.any() or chosen.all():
        return 1.0
    wide, usual = (_quantile(multiples[of], sources[of], INSIDE) for of in (chosen, ~chosen))
    return min(max(wide / usual, 1.0), _MOST_TIMES)


def _needed(prediction: Prediction) -> tuple[float, float]:
    """How far a range reaches down, or up, to hold a point, where no time is fitted. [1]"""
    too_fast, typical = log(prediction.bias), log(prediction.typical)
    times = float(half_width(least=1.0, fitted_share=prediction.fitted_share))
    return (too_fast - max(-typical, 0.0)) / times, (-too_fast - max(typical, 0.0)) / times


def _quantile(numbers: Floats, sources: Array, fraction: float) -> float:
    """What a share of points lies below, a source weighing as the root of its points."""
    _, inverse, counts = np.unique(sources, return_inverse=True, return_counts=True)
    weights = 1.0 / np.sqrt(counts[inverse])
    order = np.argsort(numbers)
    reached = np.cumsum(weights[order]) - weights[order] / 2.0
    return float(np.interp(fraction * weights.sum(), reached, numbers[order]))
