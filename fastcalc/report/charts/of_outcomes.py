"""Charts of compared chips: speed, roofline, and the time of a decode step."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastcalc.core.scenario import Outcome
from fastcalc.core.undetermined import batching_notes, is_assumed, undetermined_notes
from fastcalc.formulas.types import Floats
from fastcalc.mentions import option
from fastcalc.report.charts.drawing import MOST, Chart, ChartAxis, Panel, Series, Style, axes
from fastcalc.report.compare import no_place
from fastcalc.report.numbers_as_text import dollars, number, prefixed
from fastcalc.report.record_tables import UNDETERMINED

_SMALL = 0.02
"""Share of a step below which a component is drawn with the others."""


def speed(outcomes: Sequence[Outcome]) -> Chart:
    """Return the speed of each user against batch, with its range and its bound."""
    series: list[Series] = []
    for place, (name, outcome) in _drawn(outcomes):
        fits, batch = outcome.estimate.fits, outcome.estimate.batch
        tips = [f"{name}, batch {size:,.0f}" for size in batch[fits]]
        series += ranged(name, place, batch[fits], speeds_of(outcome, fits), tips)
    title = _of(outcomes, "Speed of each user")
    across = "batch (sequences decoded together)"
    return of_speeds(title, series, across, 2, [*_left_out(outcomes), *unsure(outcomes)])


def speeds_of(outcome: Outcome, places: Any) -> tuple[Any, Any, Any, Any]:
    """Return speed, bound, and both ends of the range where it has one, of some batches. [1/s]"""
    estimate = outcome.estimate
    every = (estimate.speed, estimate.bound, estimate.low, estimate.high)
    speed, bound, low, high = (None if rates is None else rates[places] for rates in every)
    return speed, bound, low, high


def ranged(
    name: str, place: int, x: Floats, speeds: Sequence[Floats | None], tips: Sequence[str]
) -> tuple[Series, Series]:
    """Return the bound of a chip's speeds, and the speeds, as of `speeds_of`, with their range."""
    middle, bound, low, high = speeds
    assert middle is not None
    assert bound is not None
    speed_tips = [
        f"{tip}: {number(rate)} tokens/s, bound {number(limit)}"
        for tip, rate, limit in zip(tips, middle, bound, strict=True)
    ]
    wide = _wide(x)
    line = np.broadcast_to(bound, wide.shape)
    return (
        Series(f"bound of {unmarked(name)}", wide, line, place, "bound"),
        Series(name, x, middle, place, "line", low, high, speed_tips),
    )


def of_speeds(
    title: str, series: Sequence[Series], across: str, base: int, notes: Sequence[str]
) -> Chart:
    """Return a chart of speeds over what has a logarithm to a base, with bounds not far above."""
    top = max(
        float(np.max(edge)) for line in series if line.style == "line" for edge in line.heights
    )
    drawn = [line for line in series if line.style == "line" or line.y.max() < _FAR * top]
    axis, upward = axes(drawn, across, "output tokens/s of each user", (base, 10))
    far = [
        f"{line.name}: {number(float(line.y.max()))} tokens/s, far above"
        for line in series
        if line not in drawn
    ]
    all_notes = ["band: 80 % range; dashed: the bound, which no software exceeds", *far, *notes]
    return Chart(title, [Panel("", axis, upward, drawn)], (), all_notes)


_FAR = 30.0
"""How many times the fastest a bound may be and be drawn: beyond it, all else would be flat. [1]"""


def _wide(batch: Floats) -> Floats:
    """Return batches, and a little on both sides of a single one, to draw a line or a column."""
    return batch if batch.size > 1 else np.array([batch[0] / 1.2, batch[0] * 1.2])


def price(outcomes: Sequence[Outcome]) -> Chart:
    """Return speed of each user against the price of a token, batch by batch."""
    series: list[Series] = []
    for place, (name, outcome) in _drawn(outcomes):
        if outcome.usd is None:
            continue
        fits, batch = outcome.estimate.fits, outcome.estimate.batch
        usd = outcome.usd[1][fits]
        tips = [
            f"{name}, batch {size:,.0f}, ${dollars(cost)}/Mtok"
            for size, cost in zip(batch[fits], usd, strict=True)
        ]
        series += ranged(name, place, usd, speeds_of(outcome, fits), tips)
    title = _of(outcomes, "Speed and price")
    if not series:
        return Chart(title, notes=["no chip here has a price"])
    return of_speeds(title, series, PRICE, 10, [*_left_out(outcomes), *of_prices(outcomes)])


def of_prices(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield what drawn prices rest on that nothing published determines, each once."""
    priced = [outcome for outcome in outcomes if outcome.usd is not None]
    batched = [outcome for outcome in priced if max(outcome.scenario.batches) > 1]
    batching = (note for outcome in batched for note in batching_notes(outcome.placement.machine))
    yield from dict.fromkeys([*unsure(priced), *batching])


PRICE = "$/Mtok output, at the speed expected"


def roofline(outcomes: Sequence[Outcome]) -> Chart:
    """Return the rooflines of chips, and the passes under them: FLOP/s against FLOP a byte."""
    series = [line for place, drawn in _drawn(outcomes) for line in _passes(place, *drawn)]
    across = axes(series, "arithmetic intensity, FLOP for each byte read", "")[0]
    chips: dict[str, str] = {}
    for place, (name, outcome) in _drawn(outcomes):
        work, count = outcome.estimate.bound_pass.work, outcome.placement.layout.chips
        moved, peak = (float(np.max(rate)) / count for rate in (work.bandwidth, work.flop_rate))
        chips[name] = f"{unmarked(name)} {prefixed(moved, 'B/s')} and {prefixed(peak, 'FLOP/s')}"
        ridge = min(max(peak / moved, across.low), across.high)
        x = np.unique([across.low, ridge, across.high])
        y = np.minimum(moved * x, peak) / 1e12
        series.append(Series(f"bound of {unmarked(name)}", x, y, place, "bound"))
    upward = axes(series, "", "TFLOP/s of each chip")[1]
    notes = [
        f"dashed: what memory and arithmetic of a chip allow: {', '.join(chips.values())}",
        "points: decode steps, the smallest batch first, and the prefill of one prompt",
        *_left_out(outcomes),
        *dict.fromkeys(unsure(outcomes, of_prompts=True)),
    ]
    return Chart(_of(outcomes, "Roofline"), [Panel("", across, upward, series)], (), notes)


def _passes(place: int, name: str, outcome: Outcome) -> Iterator[Series]:
    estimate, chips = outcome.estimate, outcome.placement.layout.chips
    fits, work = estimate.fits, estimate.bound_pass.work
    passes = [(f"{name}", "decode", estimate.step.seconds, work)]
    if outcome.scenario.batches[0] == 1:
        prompt = estimate.passes.bound(outcome.scenario.traffic.computed_prompt, decode=0.0)
        mark = f" {UNDETERMINED}" * any(undetermined_notes(outcome.placement.machine))
        label = f"{unmarked(name)}, prefill{mark}"
        passes.append((label, "prefill", estimate.ttft[:1], prompt.work))
    for label, phase, seconds, bound in passes:
        is_drawn = fits if phase == "decode" else fits[:1]
        flops, moved = (
            np.broadcast_to(amounts, is_drawn.shape)[is_drawn]
            for amounts in (bound.flops, bound.bytes)
        )
        rate = flops / np.broadcast_to(seconds, is_drawn.shape)[is_drawn] / chips / 1e12
        tips = [
            f"{label}, batch {batch:,.0f}: {number(reached)} TFLOP/s at {number(ratio)} FLOP a byte"
            for batch, reached, ratio in zip(
                estimate.batch[: is_drawn.size][is_drawn], rate, flops / moved, strict=True
            )
        ]
        style: Style = "line" if phase == "decode" else "points"
        yield Series(label, flops / moved, rate, place, style, tips=tips)


def step(outcomes: Sequence[Outcome]) -> Chart:
    """Return the time of a decode step by component, against batch: a plot for each chip."""
    every = [(name, outcome, _components(outcome)) for _, (name, outcome) in _drawn(outcomes)]
    totals = [np.sum(list(parts.values()), axis=0) for *_, parts in every]
    shares: dict[str, float] = {}  # the largest that each takes
    for (*_, parts), total in zip(every, totals, strict=True):
        for part, spent in parts.items():
            shares[part] = max(shares.get(part, 0.0), float(np.max(spent / total)))
    large = [component for component in shares if shares[component] >= _SMALL]
    order = sorted(large, key=lambda component: -shares[component])[: MOST - 1]
    tallest, panels = [float(total.max()) for total in totals], []
    shared = max(tallest) < _ALIKE * min(tallest)
    for (name, outcome, parts), total in zip(every, totals, strict=True):
        batch = outcome.estimate.batch[outcome.estimate.fits]
        series, below = [], np.zeros(batch.shape)
        wide = _wide(batch)
        drawn = {
            component: parts[component]
            for component in order
            if component in parts and np.max(parts[component] / total) >= _SMALL
        }
        drawn[_OTHERS] = total - sum(drawn.values())
        for part, spent in drawn.items():
            if np.max(spent / total) < 1e-9:
                continue
            top = below + spent
            colour = MOST - 1 if part == _OTHERS else order.index(part)
            tips = _tips(part, batch, spent)
            middle = (below + top) / 2.0
            at, low, high = (np.broadcast_to(edge, wide.shape) for edge in (middle, below, top))
            series.append(Series(part, wide, at, colour, "area", low, high, tips))
            below = top
        layout = outcome.placement.layout
        title = " ".join((f"{layout.chips:,} x {name}", str(layout)))
        upward = ChartAxis.over("ms of a decode step", totals if shared else [total], 0)
        across, _ = axes(series, "batch (sequences decoded together)", "", (2, 0))
        panels.append(Panel(title.rstrip(), across, upward, series))
    notes = [*_left_out(outcomes), *unsure(outcomes)]
    return Chart(_of(outcomes, "Time of a decode step"), panels, (), notes)


def _tips(part: str, batch: Floats, milliseconds: Floats) -> list[str]:
    pairs = zip(batch, milliseconds, strict=True)
    return [f"{part}, batch {users:,.0f}: {number(spent)} ms" for users, spent in pairs]


_OTHERS = "all others"
_ALIKE = 8.0
"""Factor within which steps of chips are drawn on one scale. [1]"""


def _components(outcome: Outcome) -> dict[str, Floats]:
    """Return the time of each component at the batches that fit. [ms]"""
    fits = outcome.estimate.fits
    seconds_by_name: dict[str, Floats] = {}
    for component in outcome.estimate.step.components:
        spent = np.broadcast_to(component.seconds, fits.shape)[fits] * 1e3
        seconds_by_name[component.name] = seconds_by_name.get(component.name, 0.0) + spent
    return seconds_by_name


def _drawn(outcomes: Sequence[Outcome]) -> list[tuple[int, tuple[str, Outcome]]]:
    models = {outcome.scenario.model.id for outcome in outcomes}
    fitting = [outcome for outcome in outcomes if outcome.estimate.fits.any()][:MOST]
    names = [
        marked_name(outcome, f"{outcome.scenario.model.id} on " * (len(models) > 1))
        for outcome in fitting
    ]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return [(places[name], (name, outcome)) for name, outcome in zip(names, fitting, strict=True)]


def marked_name(outcome: Outcome, start: str = "") -> str:
    """Return what a chip is called, with a mark where nothing published determines its speed."""
    name = f"{start}{outcome.scenario.hardware.id}"
    return f"{name} {UNDETERMINED}" if is_assumed(outcome.scenario.engine) else name


def unmarked(name: str) -> str:
    """Return the name of a chip without a mark: its bound is as sure as its data sheet."""
    return name.removesuffix(f" {UNDETERMINED}")


def unsure(outcomes: Sequence[Outcome], *, of_prompts: bool = False) -> Iterator[str]:
    """Yield why numbers that are drawn are undetermined; of speeds, or of prompts, too."""
    for outcome in outcomes:
        if of_prompts or is_assumed(outcome.scenario.engine):
            yield from undetermined_notes(outcome.placement.machine)


def _left_out(outcomes: Sequence[Outcome]) -> Iterator[str]:
    drawable = [outcome for outcome in outcomes if outcome.estimate.fits.any()]
    is_cut = len(drawable) > MOST
    largest = {
        f"{outcome.placement.layout.chips:,} {outcome.scenario.hardware.id}": (
            outcome.placement.max_batch
        )
        for outcome in (drawable[:MOST] if is_cut else outcomes)
        if not outcome.estimate.fits.all() and no_place(outcome) is None
    }
    yield from (f"not drawn: {note}" for note in map(no_place, outcomes) if note is not None)
    if largest:
        reason = ", ".join(f"{batch:,} on {chips}" for chips, batch in largest.items())
        yield f"largest batches: {reason}; {option('chips')} makes room for more"
    if is_cut:
        count = f"the first {MOST} of {len(drawable)} are drawn"
        yield f"{count}; {option('on')} names the chips to draw"


def _of(outcomes: Sequence[Outcome], subject: str) -> str:
    traffic = outcomes[0].scenario.traffic
    models = ", ".join(dict.fromkeys(outcome.scenario.model.name for outcome in outcomes))
    return f"{subject}: {models}, prompt {traffic.prompt:,.0f}, output {traffic.output:,.0f} tokens"
