"""80 % ranges learned from points that nobody had looked at when terms were chosen."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf, log

import numpy as np

from fastcalc.catalogue.schema.engines import (
    Phase,
    RangeWidths,
    width_name,
)
from fastcalc.core.speed_range import reach
from fastcalc.evidence.point import Point
from fastcalc.evidence.score import SRAM, Prediction
from fastcalc.formulas.ranges import half_width
from fastcalc.formulas.types import Array, Bools, Floats

INSIDE = 0.8  # share of measurements that a range should hold
ENOUGH = 3  # publishers behind a chip, engine and phase, from where another one rarely surprises

_DECIMALS = 3  # of widths
_FEWEST = 3  # sources that a number is learned from; else those of everything
_MOST_TIMES = 3.0  # as wide: few sources stand behind it

FittedKinds = Mapping[str, Mapping[Phase, Collection[str]]]
"""Kinds of chip that engines were fitted on, by engine and phase."""


def is_unseen(prediction: Prediction, fitted_kinds: FittedKinds) -> bool:
    """Whether a point's engine was fitted on nothing of its phase and kind of chip."""
    return prediction.machine not in fitted_kinds.get(prediction.engine_used, {}).get(
        prediction.phase, ()
    )


def publishers_behind(
    predictions: Sequence[Prediction],
    publisher: Callable[[Point], str],
    among: Sequence[Prediction] | None = None,
) -> list[int]:
    """How many other publishers measured the chip, engine and phase of each point. [1]

    publisher : who measured a point
    among : predictions of the points that count; None for these
    """
    behind = defaultdict[tuple[str, str, str], set[str]](set)
    for prediction in predictions if among is None else among:
        behind[_cell(prediction)].add(publisher(prediction.point))
    return [len(behind[_cell(one)] - {publisher(one.point)}) for one in predictions]


def by_novelty(
    predictions: Sequence[Prediction], behind: Sequence[int]
) -> dict[str, list[Prediction]]:
    """Predictions with no publisher behind them, with few, and with enough.

    behind : as of `publishers_behind`
    """
    ends = (("none", 0, 0), ("one or two", 1, ENOUGH - 1), ("three or more", ENOUGH, inf))
    counted = list(zip(predictions, behind, strict=True))
    groups = {
        name: [one for one, count in counted if least <= count <= most]
        for name, least, most in ends
    }
    return {name: group for name, group in groups.items() if group}


def _cell(prediction: Prediction) -> tuple[str, str, str]:
    return prediction.point.hardware, prediction.engine_used, prediction.phase


def ranged(
    prediction: Prediction, widths: RangeWidths, *, unseen: bool, behind: int = 0
) -> Prediction:
    """The prediction in the range that widths give it.

    unseen : whether its engine was fitted on no such kind of chip
    behind : publishers that measured its chip, engine and phase [1]
    """
    below, above = reach(
        widths,
        prediction.phase,
        has_experts=prediction.has_experts,
        machine=prediction.machine,
        is_unseen=unseen,
        is_measured=behind >= ENOUGH,
        fitted_share=prediction.fitted_share,
    )
    return prediction.within(float(below), float(above))


def learned(
    predictions: Sequence[Prediction],
    blind: Collection[str],
    fitted_kinds: FittedKinds,
    behind: Sequence[int],
) -> RangeWidths:
    """Widths of ranges that hold 80 % of points of sources like these.

    Every category of prediction has a width of its own. Measurements lie below what is expected
    more often than above, for servers can be set up worse than those that engines were fitted on,
    and hardly better: all together say how much further a range reaches down than up, with a tenth
    of the points beyond each end. All of these, and how many times as wide ranges of unseen chips
    are, come from points that nobody had looked at when terms were chosen.

    predictions : each by a fit that has not seen its publisher
    blind : ids of those that nobody had looked at
    behind : other publishers that measured the same chip, engine and phase, for each [1]
    """
    # Engines of the others state their ranges.
    kept = [
        (one, count)
        for one, count in zip(predictions, behind, strict=True)
        if one.part != SRAM and one.point.id in blind
    ]
    sources = np.array([one.point.source_key for one, _ in kept])
    names = np.array([_name(one, count) for one, count in kept])
    sides = np.array([_needed(one) for one, _ in kept])
    unseen = np.array([is_unseen(one, fitted_kinds) for one, _ in kept], dtype=bool)
    usual, widths = ~unseen, dict.fromkeys(_NAMES, 0.0)
    for name in _NAMES:
        of_name = names == name
        sample = of_name & usual
        if len(np.unique(sources[sample])) < _FEWEST:
            sample = usual
        width = _quantile(sides.max(axis=1)[sample], sources[sample], INSIDE)
        widths[name] = round(width, _DECIMALS)
    sides /= np.array([widths[name] for name in names])[:, np.newaxis]
    beyond = (1.0 + INSIDE) / 2.0
    below, above = (_quantile(side, sources[usual], beyond) for side in sides[usual].T)
    multiples = (sides / (below, above)).max(axis=1)
    basis = (
        f"{len(kept)} points of {len(np.unique(sources))} sources that nobody had looked at when "
        "terms were chosen, each predicted without its publisher"
    )
    learned_numbers = {
        **widths,
        "below": round(below, _DECIMALS),
        "above": round(above, _DECIMALS),
        "unseen": round(_times_as_wide(multiples, sources, unseen), _DECIMALS),
    }
    return RangeWidths.model_validate({**learned_numbers, "basis": basis})


_NAMES = (
    "decode",
    "decode_datacenter",
    "prefill",
    "prefill_measured",
    "served",
    "served_experts",
)


def _name(prediction: Prediction, behind: int) -> str:
    """Which width of `RangeWidths` a prediction has.

    behind : publishers that measured its chip, engine and phase [1]
    """
    return width_name(
        prediction.phase,
        has_experts=prediction.has_experts,
        machine=prediction.machine,
        is_measured=behind >= ENOUGH,
    )


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
