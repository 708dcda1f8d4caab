"""Charts of the compared chips: speed, roofline, and the time of a decode step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fastcalc.core.outcome import Outcome, chips_by_id
from fastcalc.core.undetermined import undetermined_notes
from fastcalc.features.compare import headline_words
from fastcalc.features.compare.headline import headline
from fastcalc.formulas.sequences import grouped
from fastcalc.kit.answer.numbers_as_text import dollars, number, prefixed
from fastcalc.kit.answer.record_tables import UNDETERMINED
from fastcalc.kit.charts.drawing import Chart, ChartAxis, Panel, Series, Style, axes
from fastcalc.kit.charts.highlight import FEW
from fastcalc.kit.charts.outcome_series import (
    BATCH,
    PRICE,
    chips_of,
    drawn_of,
    from_to,
    grounds_of,
    left_out,
    model_names,
    notes_of,
    of_prices,
    of_speeds,
    ranged,
    speeds_of,
    subject,
    title_of,
    unmarked,
)
from fastcalc.written import first_few, listed


def speed(outcomes: Sequence[Outcome]) -> Chart:
    """Plot speed per user against batch, with its range and hardware bound."""
    by_panel: dict[str, list[Series]] = {}
    for title, index, name, outcome in drawn_of(outcomes):
        fits, batch = outcome.estimate.fits, outcome.estimate.batch
        tips = [f"{_counted(outcome, name)}, batch {size:,.0f}" for size in batch[fits]]
        series = ranged(name, index, batch[fits], speeds_of(outcome, fits), tips)
        by_panel.setdefault(title, []).extend(series)
    curves = _joined(by_panel)
    chart = of_speeds(title_of(outcomes, "Speed per user"), curves, BATCH, 2, notes_of(outcomes))
    return replace(chart, finding=_sentence(outcomes, 0), grounds=grounds_of(outcomes))


def _counted(outcome: Outcome, name: str) -> str:
    return f"{outcome.placement.layout.chips:,} x {name}"


def _joined(by_panel: Mapping[str, Sequence[Series]]) -> dict[str, list[Series]]:
    """Merge series of the same name and style, even if chips and layout differ between batches."""
    merged: dict[str, list[Series]] = {title: [] for title in by_panel}
    for title, lines in by_panel.items():
        for alike in grouped(lines, lambda line: (line.name, line.style)).values():
            x, y, low, high = (
                None
                if getattr(alike[0], name) is None
                else np.concatenate([getattr(line, name) for line in alike])
                for name in ("x", "y", "low", "high")
            )
            assert x is not None
            assert y is not None
            tips = [tip for line in alike for tip in line.tips]
            merged[title].append(replace(alike[0], x=x, y=y, low=low, high=high, tips=tips))
    return merged


def _sentence(outcomes: Sequence[Outcome], place: int) -> str:
    """Name the fastest or cheapest chips for each model, abbreviated for several models."""
    models = model_names(outcomes)
    by_model = grouped(outcomes, lambda outcome: models[outcome.scenario.model.checkpoint])
    if len(by_model) == 1:
        stated = headline(outcomes)
        fastest, cheapest = headline_words.speed(stated), headline_words.cost(stated)
        return (cheapest if place else fastest) or fastest
    named = [f"{model} on {headline_words.leaders(of)[place]}" for model, of in by_model.items()]
    shown = first_few(named, FEW, "more models")
    return f"{('Fastest', 'Cheapest')[place]}: {'; '.join(shown)}."


def price(outcomes: Sequence[Outcome]) -> Chart:
    """Plot speed per user against the price per output token, one point per batch."""
    by_panel: dict[str, list[Series]] = {}
    for title, index, name, outcome in drawn_of(outcomes):
        if outcome.usd is None:
            continue
        fits, batch = outcome.estimate.fits, outcome.estimate.batch
        usd = outcome.usd[1][fits]
        tips = [
            f"{_counted(outcome, name)}, batch {size:,.0f}, ${dollars(cost)}/Mtok"
            for size, cost in zip(batch[fits], usd, strict=True)
        ]
        series = ranged(name, index, usd, speeds_of(outcome, fits), tips)
        by_panel.setdefault(title, []).extend(series)
    subject = title_of(outcomes, "Speed and price")
    if not by_panel:
        return Chart(subject, notes=["none of these chips has a price"])
    chips = chips_by_id(outcomes)
    outcomes = [outcome for outcome in outcomes if outcome.usd is not None]
    unpriced = [*chips.keys() - chips_by_id(outcomes).keys()]
    unpriced = [f"not drawn: {listed(sorted(unpriced))}, without a price"] * bool(unpriced)
    notes = [chips_of(outcomes), *left_out(outcomes), *unpriced, *of_prices(outcomes)]
    chart = of_speeds(subject, _joined(by_panel), PRICE, 10, notes)
    return replace(chart, finding=_sentence(outcomes, 1), grounds=grounds_of(outcomes))


class _Roof(NamedTuple):
    """The roofline of a chip: its memory bandwidth and peak compute rate.

    panel, place, name : The title of its panel, palette index, name of the chip.
    bandwidth, peak : The rates used in the hardware bound. [byte/s, FLOP/s]
    """

    panel: str
    place: int
    name: str
    bandwidth: float
    peak: float

    @property
    def ridge(self) -> float:
        """The arithmetic intensity above which the chip is compute-bound. [1/byte]"""
        return self.peak / self.bandwidth

    @property
    def rates(self) -> str:
        """The name of the chip with both rates, which come from its data sheet."""
        bandwidth, peak = prefixed(self.bandwidth, "B/s"), prefixed(self.peak, "FLOP/s")
        return f"{unmarked(self.name)} {bandwidth} and {peak}"

    def line(self, across: ChartAxis) -> Series:
        """Return the roofline in FLOP/s over the whole axis."""
        x = np.unique([across.low, min(max(self.ridge, across.low), across.high), across.high])
        y = np.minimum(self.bandwidth * x, self.peak) / 1e12
        return Series(f"bound of {unmarked(self.name)}", x, y, self.place, "bound")


def roofline(outcomes: Sequence[Outcome]) -> Chart:
    """Plot the rooflines of chips with their decode steps and prefills: FLOP/s by FLOP per byte."""
    by_panel: dict[str, list[Series]] = {}
    for title, index, name, outcome in drawn_of(outcomes):
        by_panel.setdefault(title, []).extend(_passes(index, name, outcome))
    by_panel = _joined(by_panel)
    passes = [line for lines in by_panel.values() for line in lines]
    across = axes(passes, "arithmetic intensity, FLOP per byte read", "")[0]
    by_chip: dict[str, _Roof] = {}  # the same for every layout
    for title, index, name, outcome in drawn_of(outcomes):
        if name not in by_chip:
            work, count = outcome.estimate.bound_pass.work, outcome.placement.layout.chips
            moved, peak = (float(np.max(rate)) / count for rate in (work.bandwidth, work.flop_rate))
            by_chip[name] = _Roof(title, index, name, moved, peak)
    roofs = [*by_chip.values()]
    for roof in roofs:
        by_panel[roof.panel].append(roof.line(across))
    labelled = [line for lines in by_panel.values() for line in lines]
    upward = axes(labelled, "", "TFLOP/s per chip")[1]
    peaks = f": {', '.join(roof.rates for roof in roofs)}" if len(roofs) <= FEW else ""
    steps = np.concatenate([line.x for line in passes if line.style == "line"])
    return Chart(
        title_of(outcomes, "Roofline"),
        [Panel(title, across, upward, lines) for title, lines in by_panel.items()],
        notes=[
            f"dashed lines are the rooflines{peaks}",
            "lines are decode steps, from the smallest batch; single points are prefills",
            *notes_of(outcomes, of_prompts=True),
        ],
        finding=f"Decode does {from_to(steps)} FLOP per byte read; compute would limit "
        f"{subject(roof.name for roof in roofs)} from "
        f"{from_to(np.array([roof.ridge for roof in roofs]))} on.",
        grounds=grounds_of(outcomes),
    )


def _passes(index: int, name: str, outcome: Outcome) -> Iterator[Series]:
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
            f"{label}, batch {batch:,.0f}: {number(reached)} TFLOP/s at {number(ratio)} FLOP/byte"
            for batch, reached, ratio in zip(
                estimate.batch[: is_drawn.size][is_drawn], rate, flops / moved, strict=True
            )
        ]
        style: Style = "line" if phase == "decode" else "points"
        yield Series(label, flops / moved, rate, index, style, tips=tips)
