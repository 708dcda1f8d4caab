"""How engines travel: points predicted by fits without their source, chip, time or value.

``python -m benchmarks.left_out`` fits the shipped engines again and again (some minutes): without
each chip, and before each half year, whose points the fit then foretells. ``--values`` prints what
each fitted value gains on publishers that choose terms, against the value that it overrides, by
fits of the others alone. ``-o FILE`` keeps what was expected, for ``python -m benchmarks.gain``.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import log
from pathlib import Path

import numpy as np

from benchmarks.gain import Pair, gain_of
from benchmarks.table import markdown, spread
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence import left_out
from fastcalc.evidence.calibrate import fit_of
from fastcalc.evidence.parameters import FittedValue, ParameterFamily, family_of
from fastcalc.evidence.regression import Fit
from fastcalc.evidence.score import Prediction, predictions_of
from fastcalc.evidence.shipped import shipped
from fastcalc.formulas.types import Bools, Floats

CUTS = ("2024-07", "2025-01", "2025-07", "2026-01", "2026-07", "9999-01")
"""Months before which a fit knows everything, and nothing from then on."""

PINNED = 1e-3
"""Spread of a value that stays where it is drawn to, in logarithms."""

MONTH = len("2026-01")


def by_source(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Return points as fits without their source predicted them when engines were fitted last."""
    return left_out.applied(predictions)


def by_chip(fit: Fit) -> Floats:
    """Return the residual of every point by a fit that has not seen its chip."""
    chips = np.array([point.hardware for point in fit.rows.points])
    return fit.left_out(np.ones(len(chips), dtype=bool), chips)


def in_time(fit: Fit, cuts: Sequence[str] = CUTS) -> Floats:
    """Return the residual of every point by a fit of what was published before its half year.

    NaN of points from before the first cut. A date without a month counts as the end of its year.
    """
    months = np.array([f"{point.date}-12"[:MONTH] for point in fit.rows.points])
    residuals = np.full(len(months), np.nan)
    for start, end in pairwise(cuts):
        later: Bools = (months >= start) & (months < end)
        residuals[later] = fit.residuals(fit.solve(months < start))[later]
    return residuals


def without(family: ParameterFamily, position: int) -> ParameterFamily | None:
    """Return engines with one value held where it would be without it; None if it overrides none.

    family : engines and their fitted values
    position : of the value
    """
    node, nodes = family.nodes[position], list(family.nodes)
    for ancestor in list(family.chain(node.engine))[0 if node.group else 1 :]:
        quantity = getattr(ancestor.parameters, node.name)
        if quantity is None:
            continue
        parent = family.positions.get((ancestor.id, "", node.name))
        center = None if parent is not None else quantity.si
        nodes[position] = replace(node, center=center, spread=PINNED, parent=parent)
        return replace(family, nodes=tuple(nodes))
    neutral = PARAMETERS[node.name].neutral
    if not 0.0 < neutral < np.inf:
        return None
    nodes[position] = replace(node, center=neutral, spread=PINNED, parent=None)
    return replace(family, nodes=tuple(nodes))


def gains_of_values(
    family: ParameterFamily, fit: Fit, is_fitted: Bools, is_choosing: Bools
) -> Iterator[tuple[FittedValue, str]]:
    """Yield each value that overrides another, and what it gains on points that choose terms."""
    logs = fit.solve(is_fitted)
    now = fit.residuals(logs)
    for position, node in enumerate(family.nodes):
        lesser = without(family, position)
        if lesser is None:
            continue
        start, held = logs.copy(), lesser.nodes[position]
        start[position] = logs[held.parent] if held.parent is not None else log(held.center or 1.0)
        before = fit.residuals(replace(fit, family=lesser).solve(is_fitted, start))
        pairs = [
            Pair("", point.source_key, *np.exp((float(was), float(then))))
            for point, was, then, chooses in zip(
                fit.rows.points, before, now, is_choosing, strict=True
            )
            if chooses and abs(was - then) > PINNED
        ]
        if not pairs:
            yield node, "no point moves"
            continue
        gain = gain_of(pairs)
        yield (
            node,
            f"{gain.gain:.3f} ({gain.low:.3f} to {gain.high:.3f}), {len(pairs)} points of "
            f"{len({pair.source for pair in pairs})} sources",
        )


def table(columns: Sequence[tuple[str, Sequence[Prediction]]]) -> str:
    """Return median and 90% of each way to leave out, by class."""
    parts = sorted({prediction.part for _, predictions in columns for prediction in predictions})
    lines = []
    for part in ("all", *parts):
        cells = []
        for _, predictions in columns:
            factors = [p.factor for p in predictions if part in ("all", p.part)]
            cells.append(
                "{:.3f} / {:.2f} ({})".format(*spread(factors), len(factors)) if factors else ""
            )
        lines.append([part, *cells])
    return markdown(("class", *(name for name, _ in columns)), lines)


def predicted(fit: Fit, residuals: Floats) -> list[Prediction]:
    """Return the points that have a residual, predicted with it."""
    known = np.isfinite(residuals)
    seconds = fit.rows.measured * np.exp(np.where(known, residuals, 0.0))
    return [
        p for p, is_known in zip(predictions_of(fit.rows, seconds), known, strict=True) if is_known
    ]


def main() -> None:
    """Print how far fits are off that have not seen a chip, or what came later."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.left_out", description=__doc__)
    parser.add_argument("--values", action="store_true", help="what each fitted value gains")
    parser.add_argument(
        "-o", type=Path, metavar="FILE", help="keep what was expected, chips left out"
    )
    request = parser.parse_args()
    evidence, catalogue = shipped(), Catalogue()
    fit = fit_of(evidence, catalogue)
    if request.values:
        family = family_of(catalogue.engine_files())
        is_fitted, is_choosing = (
            np.array([evidence.role(point) == role for point in fit.rows.points], dtype=bool)
            for role in ("fit", "choose")
        )
        lines = [
            [f"`{node.name}`", node.engine, node.group or "all", gain]
            for node, gain in gains_of_values(family, fit, is_fitted, is_choosing)
        ]
        sys.stdout.write(markdown(("value", "engine", "on", "gain on choose"), lines) + "\n")
        return
    chips = predicted(fit, by_chip(fit))
    columns = [
        ("publisher left out", by_source(predictions_of(fit.rows))),
        ("chip left out", chips),
        ("later half years", predicted(fit, in_time(fit))),
    ]
    if request.o:
        request.o.write_text(left_out.to_csv(chips), encoding="utf-8")
    sys.stdout.write(table(columns) + "\n")


if __name__ == "__main__":
    main()
