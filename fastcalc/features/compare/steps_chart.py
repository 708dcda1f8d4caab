"""A chart of the time of a decode step by component: a plot for each chip."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fastcalc.core.scenario import Outcome
from fastcalc.formulas.types import Floats
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.charts.drawing import GREY, Chart, ChartAxis, Panel, Series
from fastcalc.kit.charts.outcome_series import (
    BATCH,
    drawn_of,
    from_to,
    grounds_of,
    notes_of,
    subject,
    title_of,
    widened,
)
from fastcalc.mentions import option

_SMALL = 0.02
"""Share of a step below which a component is drawn with the others."""


def step(outcomes: Sequence[Outcome]) -> Chart:
    """Time of a decode step by component, against batch: a plot for each chip."""
    outcomes = [outcome for outcome in outcomes if outcome.estimate.fits.any()]
    count, outcomes = len(outcomes), outcomes[:_MOST_PLOTS]
    every = [
        (" ".join(filter(None, (title, name))), outcome, _components(outcome))
        for title, _, name, outcome in drawn_of(outcomes)
    ]
    totals = [np.sum(list(parts.values()), axis=0) for *_, parts in every]
    shares: dict[str, float] = {}  # the largest that each takes
    for (*_, parts), total in zip(every, totals, strict=True):
        for part, spent in parts.items():
            shares[part] = max(shares.get(part, 0.0), float(np.max(spent / total)))
    large = [component for component in shares if shares[component] >= _SMALL]
    order = sorted(large, key=lambda component: -shares[component])[:GREY]
    tallest, panels = [float(total.max()) for total in totals], []
    alike = [total for total in totals if float(total.max()) * _ALIKE > max(tallest)]
    across = ChartAxis.over(BATCH, [widened(_batches(outcome)) for _, outcome, _ in every], 2)
    for (name, outcome, parts), total in zip(every, totals, strict=True):
        layout = outcome.placement.layout
        title = " ".join((f"{layout.chips:,} x {name}", str(layout)))
        is_alike = any(total is member for member in alike)
        upward = ChartAxis.over("ms of a decode step", alike if is_alike else [total], 0)
        areas = list(_areas(_batches(outcome), parts, total, order))
        panels.append(Panel(title.rstrip(), across, upward, areas))
    notes = notes_of(outcomes)
    if len(every) < count:
        notes.append(f"drawn: the first {len(every)} of {count}; choose others with {option('on')}")
    if len(alike) < len(totals):
        notes.append("scales differ, because some steps are far shorter")
    return Chart(
        title_of(outcomes, "Time of a decode step"),
        panels,
        notes=notes,
        finding=_largest(every),
        grounds=grounds_of(outcomes),
    )


def _areas(
    batch: Floats, parts: Mapping[str, Floats], total: Floats, order: Sequence[str]
) -> Iterator[Series]:
    """Yield the components of a step on top of each other, in an order, small ones as others.

    batch : sequences [1]
    parts, total : of the step [ms]
    """
    drawn = {
        component: parts[component]
        for component in order
        if component in parts and np.max(parts[component] / total) >= _SMALL
    }
    drawn[_OTHERS] = total - sum(drawn.values())
    wide, below = widened(batch), np.zeros(batch.shape)
    for part, spent in drawn.items():
        if np.max(spent / total) < 1e-9:
            continue
        top = below + spent
        colour = GREY if part == _OTHERS else order.index(part)
        tips = [
            f"{part}, batch {users:,.0f}: {number(milliseconds)} ms"
            for users, milliseconds in zip(batch, spent, strict=True)
        ]
        middle = (below + top) / 2.0
        at, low, high = (np.broadcast_to(edge, wide.shape) for edge in (middle, below, top))
        yield Series(part, wide, at, colour, "area", low, high, tips)
        below = top


def _batches(outcome: Outcome) -> Floats:
    return np.asarray(outcome.estimate.batch[outcome.estimate.fits])


def _largest(every: Sequence[tuple[str, Outcome, Mapping[str, Floats]]]) -> str:
    """Say what takes most of a step of the smallest batch, on which chips and how much."""
    by_part: dict[str, list[tuple[str, float]]] = {}
    for name, _, parts in every:
        first = {part: float(spent[0]) for part, spent in parts.items()}
        part = max(first, key=lambda key: first[key])
        by_part.setdefault(part, []).append((name, first[part] / sum(first.values())))
    shares = [
        f"{part}: {from_to(100.0 * np.array([share for _, share in chips]))} % on "
        f"{subject(name for name, _ in chips)}"
        for part, chips in by_part.items()
    ]
    smallest = min(float(_batches(outcome)[0]) for _, outcome, _ in every)
    return f"At batch {smallest:,.0f} the step time is mostly {'; '.join(shares)}."


_MOST_PLOTS = 12
"""Chips that have a plot each, at most."""


_OTHERS = "all others"
_ALIKE = 8.0
"""Factor within which steps of chips are drawn on one scale. [1]"""


def _components(outcome: Outcome) -> dict[str, Floats]:
    """Time of each component at the batches that fit. [ms]"""
    fits = outcome.estimate.fits
    seconds_by_name: dict[str, Floats] = {}
    for component in outcome.estimate.step.components:
        spent = np.broadcast_to(component.seconds, fits.shape)[fits] * 1e3
        seconds_by_name[component.name] = seconds_by_name.get(component.name, 0.0) + spent
    return seconds_by_name
