"""A chart of decode step time by component, with a plot for each chip."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fastcalc.core.outcome import Outcome
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
"""Fraction of a step below which a component is drawn as part of "others"."""


def step(outcomes: Sequence[Outcome]) -> Chart:
    """Plot decode step time by component against the batch, with a plot for each chip."""
    outcomes = [outcome for outcome in outcomes if outcome.estimate.fits.any()]
    count, outcomes = len(outcomes), outcomes[:_MOST_PLOTS]
    labelled = [
        (" ".join(filter(None, (title, name))), outcome, _components(outcome))
        for title, _, name, outcome in drawn_of(outcomes)
    ]
    totals = [np.sum(list(components.values()), axis=0) for *_, components in labelled]
    fractions: dict[str, float] = {}  # largest fraction of each component
    for (*_, components), total in zip(labelled, totals, strict=True):
        for term, spent in components.items():
            fractions[term] = max(fractions.get(term, 0.0), float(np.max(spent / total)))
    large = [component for component in fractions if fractions[component] >= _SMALL]
    order = sorted(large, key=lambda component: -fractions[component])[:GREY]
    tallest, panels = [float(total.max()) for total in totals], []
    alike = [total for total in totals if float(total.max()) * _ALIKE > max(tallest)]
    across = ChartAxis.over(BATCH, [widened(_batches(outcome)) for _, outcome, _ in labelled], 2)
    for (name, outcome, components), total in zip(labelled, totals, strict=True):
        layout = outcome.placement.layout
        title = " ".join((f"{layout.chips:,} x {name}", str(layout)))
        is_alike = any(total is member for member in alike)
        upward = ChartAxis.over("ms of a decode step", alike if is_alike else [total], 0)
        areas = list(_areas(_batches(outcome), components, total, order))
        panels.append(Panel(title.rstrip(), across, upward, areas))
    notes = notes_of(outcomes)
    if len(labelled) < count:
        notes.append(
            f"the chart shows {len(labelled)} of {count}; choose others with {option('on')}"
        )
    if len(alike) < len(totals):
        notes.append("scales differ, because some steps are far shorter")
    return Chart(
        title_of(outcomes, "Time of a decode step"),
        panels,
        notes=notes,
        finding=_largest(labelled),
        grounds=grounds_of(outcomes),
    )


def _areas(
    batch: Floats, components: Mapping[str, Floats], total: Floats, order: Sequence[str]
) -> Iterator[Series]:
    """Yield the stacked components of a step in the given order, with small ones as "others".

    batch : The number of sequences.
    components, total : The times of the components and of the step, in milliseconds.
    """
    drawn = {
        component: components[component]
        for component in order
        if component in components and np.max(components[component] / total) >= _SMALL
    }
    drawn[_OTHERS] = total - sum(drawn.values())
    wide, below = widened(batch), np.zeros(batch.shape)
    for term, spent in drawn.items():
        if np.max(spent / total) < 1e-9:
            continue
        top = below + spent
        colour = GREY if term == _OTHERS else order.index(term)
        tips = [
            f"{term}, batch {users:,.0f}: {number(milliseconds)} ms"
            for users, milliseconds in zip(batch, spent, strict=True)
        ]
        middle = (below + top) / 2.0
        at, low, high = (np.broadcast_to(edge, wide.shape) for edge in (middle, below, top))
        yield Series(term, wide, at, colour, "area", low, high, tips)
        below = top


def _batches(outcome: Outcome) -> Floats:
    return np.asarray(outcome.estimate.batch[outcome.estimate.fits])


def _largest(labelled: Sequence[tuple[str, Outcome, Mapping[str, Floats]]]) -> str:
    """Name the component that takes up most of a step at the smallest batch, for each chip."""
    by_part: dict[str, list[tuple[str, float]]] = {}
    for name, _, components in labelled:
        first = {component: float(spent[0]) for component, spent in components.items()}
        component = max(first, key=lambda key: first[key])
        by_part.setdefault(component, []).append((name, first[component] / sum(first.values())))
    fractions = [
        f"{component}: {from_to(100.0 * np.array([fraction for _, fraction in chips]))}% on "
        f"{subject(name for name, _ in chips)}"
        for component, chips in by_part.items()
    ]
    smallest = min(float(_batches(outcome)[0]) for _, outcome, _ in labelled)
    return f"At batch {smallest:,.0f} the step time is mostly {'; '.join(fractions)}."


_MOST_PLOTS = 12
"""Maximum number of chips with a plot."""

_OTHERS = "all others"
_ALIKE = 8.0
"""Ratio of step times up to which chips share one scale."""


def _components(outcome: Outcome) -> dict[str, Floats]:
    """Return the time of each component at the batches that fit, in milliseconds."""
    fits = outcome.estimate.fits
    seconds_by_name: dict[str, Floats] = {}
    for component in outcome.estimate.step.components:
        spent = np.broadcast_to(component.seconds, fits.shape)[fits] * 1e3
        seconds_by_name[component.name] = seconds_by_name.get(component.name, 0.0) + spent
    return seconds_by_name
