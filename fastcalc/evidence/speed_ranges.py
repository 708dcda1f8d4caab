"""80% ranges, calibrated on predictions by fits that held out the publisher."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from math import inf, log
from operator import attrgetter

import numpy as np

from fastcalc.catalogue.schema.engines import ENOUGH, RangeWidths, width_name
from fastcalc.core.speed_range import reach
from fastcalc.evidence.point import Point
from fastcalc.evidence.score import SRAM, Prediction
from fastcalc.formulas.ranges import half_width
from fastcalc.formulas.types import Array, Bools, Floats

INSIDE = 0.8  # fraction of measurements that a range should contain

_DECIMALS = 3  # decimals of widths
_LEAST = 0.01  # minimum width if all measurements lie on one side
_BLIND_COUNTS = 4.0  # weight of a measurement that was not used in model selection
_FEWEST = 3  # minimum number of sources for a width; with fewer, all sources are pooled
_MOST_TIMES = 3.0  # maximum widening for classes with few sources


def publishers_behind(
    predictions: Sequence[Prediction],
    publisher: Callable[[Point], str],
    among: Sequence[Prediction] | None = None,
) -> list[int]:
    """Count the other publishers that measured the same chip, engine and phase.

    publisher : The function that returns the publisher of a measurement.
    among : The predictions of the measurements to count, or None for the same ones.
    """
    cell = attrgetter("point.hardware", "engine_used", "phase")
    behind = defaultdict[tuple[str, str, str], set[str]](set)
    for prediction in predictions if among is None else among:
        behind[cell(prediction)].add(publisher(prediction.point))
    return [
        len(behind[cell(prediction)] - {publisher(prediction.point)}) for prediction in predictions
    ]


def by_novelty(
    predictions: Sequence[Prediction], behind: Sequence[int]
) -> dict[str, list[Prediction]]:
    """Group predictions by the number of other publishers: none, few, or enough.

    behind : The result of `publishers_behind`.
    """
    ends = (("none", 0, 0), ("one or two", 1, ENOUGH - 1), ("three or more", ENOUGH, inf))
    counted = list(zip(predictions, behind, strict=True))
    groups = {
        name: [prediction for prediction, count in counted if first <= count <= last]
        for name, first, last in ends
    }
    return {name: group for name, group in groups.items() if group}


def ranged(prediction: Prediction, widths: RangeWidths, *, behind: int) -> Prediction:
    """Add a range with the given widths to a prediction.

    behind : The number of publishers that measured the same chip, engine and phase.
    """
    below, above = reach(
        widths,
        prediction.phase,
        has_experts=prediction.has_experts,
        machine=prediction.machine,
        publishers=behind,
        fitted_share=prediction.fitted_share,
    )
    return prediction.within(float(below), float(above))


def learned(
    predictions: Sequence[Prediction], blind: Collection[str], behind: Sequence[int]
) -> RangeWidths:
    """Calibrate the range widths so that they contain 80% of measurements from similar sources.

    Every category of prediction has one width below and one above, each exceeded by a tenth of the
    measurements of a new source. Most measurements were used in model selection, so their errors
    are smaller than those of future ones. Measurements that were not used in model selection
    therefore count several times.

    predictions : The predictions by fits without the publisher.
    blind : The ids of measurements that were not used in model selection.
    behind : The number of other publishers that measured the same chip, engine and phase, for each
        prediction.
    """
    # The engines of all other measurements have explicit ranges.
    rows = zip(predictions, behind, strict=True)
    fitted_rows = [row for row in rows if row[0].part != SRAM]
    names = np.array([_name(prediction, count) for prediction, count in fitted_rows])
    sides = np.array([_needed(prediction) for prediction, _ in fitted_rows])
    is_unseen = np.array([count == 0 for _, count in fitted_rows], dtype=bool)
    is_blind = np.array([prediction.point.id in blind for prediction, _ in fitted_rows], dtype=bool)
    sources = np.array([prediction.point.source_key for prediction, *_ in fitted_rows])
    counts = np.where(is_blind, _BLIND_COUNTS, 1.0)
    widths: dict[str, tuple[float, float]] = {}
    for name in _NAMES:
        sample = ~is_unseen & (names == name)
        if len(np.unique(sources[sample])) < _FEWEST:
            sample = ~is_unseen
        beyond = _of_next((1.0 + INSIDE) / 2.0, len(np.unique(sources[sample])))
        below, above = (
            _quantile(side, sources[sample], counts[sample], beyond) for side in sides[sample].T
        )
        widths[name] = max(round(below, _DECIMALS), _LEAST), max(round(above, _DECIMALS), _LEAST)
    needed = (sides / np.array([widths[name] for name in names])).max(axis=1)
    blind_sources = len(np.unique(sources[is_blind]))
    basis = (
        f"{len(fitted_rows):,} measurements from {len(np.unique(sources))} sources, each predicted "
        f"by a fit without its publisher. {np.count_nonzero(is_blind):,} of them, from "
        f"{blind_sources} sources, were not used to select the model and count "
        f"{_BLIND_COUNTS:g} times"
    )
    return RangeWidths.model_validate(
        {
            **{name: {"below": below, "above": above} for name, (below, above) in widths.items()},
            "unseen": round(_times_as_wide(needed, sources, counts, is_unseen), _DECIMALS),
            "basis": basis,
        }
    )


_NAMES = (
    "decode",
    "decode_datacenter",
    "decode_unified",
    "prefill",
    "prefill_measured",
    "served",
    "served_experts",
)


def _of_next(fraction: float, sources: int) -> float:
    """Return the quantile of the known sources that contains a fraction of the next one's errors.

    Of n + 1 exchangeable errors, the last one has every rank with equal probability, so that the
    quantile rises by a factor of 1 + 1/n. We take half of the increase, because measurements of
    one source differ, too. The half is our choice, not the source's.

    Source: G. Shafer and V. Vovk, "A Tutorial on Conformal Prediction," Journal of Machine Learning
    Research 9, 2008, pp. 371-421.
    """
    return min(fraction * (1.0 + 0.5 / sources), 1.0) if sources else fraction


def _name(prediction: Prediction, behind: int) -> str:
    """Return the name of the `RangeWidths` width that applies to a prediction.

    behind : The number of publishers that measured the same chip, engine and phase.
    """
    return width_name(
        prediction.phase,
        has_experts=prediction.has_experts,
        machine=prediction.machine,
        publishers=behind,
    )


def _times_as_wide(needed: Floats, sources: Array, counts: Floats, chosen: Bools) -> float:
    """Compute the range width of selected measurements over that of the others, 1 to 3."""
    if not chosen.any() or chosen.all():
        return 1.0
    wide, usual = (
        _quantile(needed[of], sources[of], counts[of], INSIDE) for of in (chosen, ~chosen)
    )
    return min(max(wide / usual, 1.0), _MOST_TIMES)


def _needed(prediction: Prediction) -> tuple[float, float]:
    """Compute the widths below and above that contain a measurement if no time is fitted."""
    too_fast, typical = log(prediction.bias), log(prediction.typical)
    times = float(half_width(least=1.0, fitted_share=prediction.fitted_share))
    return (too_fast - max(-typical, 0.0)) / times, (-too_fast - max(typical, 0.0)) / times


def _quantile(numbers: Floats, sources: Array, counts: Floats, fraction: float) -> float:
    """Compute a quantile in which each source has the square root of its row count as weight.

    counts : How many times each measurement counts.
    """
    _, inverse, points = np.unique(sources, return_inverse=True, return_counts=True)
    weights = counts / np.sqrt(points[inverse])
    order = np.argsort(numbers)
    reached = np.cumsum(weights[order]) - weights[order] / 2.0
    return float(np.interp(fraction * weights.sum(), reached, numbers[order]))
