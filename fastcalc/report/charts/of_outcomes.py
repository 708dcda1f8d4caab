"""Charts of compared chips: speed, roofline, and the time of a decode step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastcalc.core.scenario import Outcome, chips_by_id
from fastcalc.core.undetermined import batching_notes, is_assumed, undetermined_notes
from fastcalc.formulas.sequences import grouped
from fastcalc.formulas.types import Floats
from fastcalc.mentions import option
from fastcalc.report import headline_words
from fastcalc.report.charts.drawing import MOST, Chart, Panel, Series, Style, axes
from fastcalc.report.charts.grounds import grounds
from fastcalc.report.charts.highlight import DASHED, FEW
from fastcalc.report.compare import no_place
from fastcalc.report.headline import headline
from fastcalc.report.numbers_as_text import dollars, number, prefixed
from fastcalc.report.overview import requests_of
from fastcalc.report.record_tables import UNDETERMINED
from fastcalc.written import first_few, listed


def speed(outcomes: Sequence[Outcome]) -> Chart:
    """Return the speed of each user against batch, with its range and its bound."""
    by_panel: dict[str, list[Series]] = {}
    for title, place, name, outcome in drawn_of(outcomes):
        fits, batch = outcome.estimate.fits, outcome.estimate.batch
        tips = [f"{_counted(outcome, name)}, batch {size:,.0f}" for size in batch[fits]]
        series = ranged(name, place, batch[fits], speeds_of(outcome, fits), tips)
        by_panel.setdefault(title, []).extend(series)
    curves = _joined(by_panel)
    chart = of_speeds(
        title_of(outcomes, "Speed of each user"), curves, BATCH, 2, notes_of(outcomes)
    )
    return replace(chart, finding=_sentence(outcomes, 0), grounds=grounds_of(outcomes))


BATCH = "batch (sequences decoded together)"


def _counted(outcome: Outcome, name: str) -> str:
    return f"{outcome.placement.layout.chips:,} x {name}"


def _joined(by_panel: Mapping[str, Sequence[Series]]) -> dict[str, list[Series]]:
    """Curves with one series of each name and style, whatever chips and layout each batch takes."""
    return {title: list(_of_one_name(lines)) for title, lines in by_panel.items()}


def _of_one_name(lines: Sequence[Series]) -> Iterator[Series]:
    for every in grouped(lines, lambda line: (line.name, line.style)).values():
        tips = [tip for line in every for tip in line.tips]
        x, y = (np.concatenate([getattr(line, name) for line in every]) for name in ("x", "y"))
        ends = [
            None if end is None else np.concatenate([getattr(line, name) for line in every])
            for name, end in (("low", every[0].low), ("high", every[0].high))
        ]
        yield replace(every[0], x=x, y=y, low=ends[0], high=ends[1], tips=tips)


def _sentence(outcomes: Sequence[Outcome], place: int) -> str:
    """Return who is fastest, or who is cheapest, of each model: in short of several."""
    by_model = grouped(outcomes, lambda outcome: outcome.scenario.model.id)
    if len(by_model) == 1:
        stated = headline(outcomes)
        fastest, cheapest = headline_words.speed(stated), headline_words.cost(stated)
        return (cheapest if place else fastest) or fastest
    named = [f"{model} on {headline_words.leaders(of)[place]}" for model, of in by_model.items()]
    shown = first_few(named, FEW, "more models")
    return f"{('Fastest', 'Cheapest')[place]}: {'; '.join(shown)}."


def grounds_of(outcomes: Sequence[Outcome]) -> str:
    """Return what a chart of outcomes rests on."""
    return grounds([outcome.scenario for outcome in outcomes])


def notes_of(outcomes: Sequence[Outcome], *, of_prompts: bool = False) -> list[str]:
    """Return on how many chips, what is not drawn, and why numbers are undetermined."""
    why = dict.fromkeys(unsure(outcomes, of_prompts=of_prompts))
    return [_chips_of(outcomes), *_left_out(outcomes), *why]


def _chips_of(outcomes: Sequence[Outcome]) -> str:
    """Return on how many chips lines are; of many only the ends."""
    counts = dict.fromkeys(
        (outcome.placement.layout.chips, outcome.scenario.hardware.id)
        for outcome in outcomes
        if outcome.estimate.fits.any()
    )
    if len(counts) <= FEW:
        return f"on {', '.join(f'{count:,} {chip}' for count, chip in counts)}" if counts else ""
    least, most = min(counts), max(counts)
    if least[0] == most[0]:
        return f"on {least[0]:,} of each chip"
    return f"on {least[0]:,} ({least[1]}) to {most[0]:,} chips ({most[1]})"


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
    return (
        Series(f"bound of {unmarked(name)}", x, bound, place, "bound"),
        Series(name, x, middle, place, "line", low, high, speed_tips),
    )


def of_speeds(
    title: str,
    by_panel: Mapping[str, Sequence[Series]],
    across: str,
    base: int,
    notes: Sequence[str],
) -> Chart:
    """Return a chart of speeds over what has a logarithm to a base, with bounds not far above."""
    by_panel = {name: list(map(_as_drawn, lines)) for name, lines in by_panel.items()}
    series = [line for lines in by_panel.values() for line in lines]
    top = max(
        float(np.max(edge)) for line in series if line.style == "line" for edge in line.heights
    )
    drawn = [line for line in series if line.style == "line" or line.y.max() < _FAR * top]
    axis, upward = axes(drawn, across, "output tokens/s of each user", (base, 10))
    far = [
        f"{line.name}{where}: {number(float(line.y.max()))} tokens/s, far above"
        for where, lines in ((f" ({name})" * bool(name), by_panel[name]) for name in by_panel)
        for line in lines
        if line not in drawn
    ]
    key = ["band: 80 % range"] * any(line.low is not None for line in drawn)
    key += [DASHED] * any(line.style == "bound" for line in drawn)
    all_notes = ["; ".join(key), *first_few(far, FEW, "more bounds far above"), *notes]
    panels = [
        Panel(name, axis, upward, [line for line in lines if line in drawn])
        for name, lines in by_panel.items()
    ]
    return Chart(title, panels, (), all_notes)


_FAR = 10.0
"""How many times the fastest a bound may be and be drawn: beyond it, all else would be flat. [1]"""


def _as_drawn(line: Series) -> Series:
    """Return a series, the bound of a single point as a short line."""
    if line.style != "bound" or line.x.size > 1:
        return line
    x = widened(line.x)
    return replace(line, x=x, y=np.broadcast_to(line.y, x.shape))


def widened(batch: Floats) -> Floats:
    """Return batches, and a little on both sides of a single one, to draw a line or a column."""
    return batch if batch.size > 1 else np.array([batch[0] / 1.2, batch[0] * 1.2])


def price(outcomes: Sequence[Outcome]) -> Chart:
    """Return speed of each user against the price of a token, batch by batch."""
    by_panel: dict[str, list[Series]] = {}
    for title, place, name, outcome in drawn_of(outcomes):
        if outcome.usd is None:
            continue
        fits, batch = outcome.estimate.fits, outcome.estimate.batch
        usd = outcome.usd[1][fits]
        tips = [
            f"{_counted(outcome, name)}, batch {size:,.0f}, ${dollars(cost)}/Mtok"
            for size, cost in zip(batch[fits], usd, strict=True)
        ]
        series = ranged(name, place, usd, speeds_of(outcome, fits), tips)
        by_panel.setdefault(title, []).extend(series)
    subject = title_of(outcomes, "Speed and price")
    if not by_panel:
        return Chart(subject, notes=["no chip here has a price"])
    chips = chips_by_id(outcomes)
    outcomes = [outcome for outcome in outcomes if outcome.usd is not None]
    unpriced = [*chips.keys() - chips_by_id(outcomes).keys()]
    unpriced = [f"not drawn: {listed(sorted(unpriced))}, without a price"] * bool(unpriced)
    notes = [_chips_of(outcomes), *_left_out(outcomes), *unpriced, *of_prices(outcomes)]
    chart = of_speeds(subject, _joined(by_panel), PRICE, 10, notes)
    return replace(chart, finding=_sentence(outcomes, 1), grounds=grounds_of(outcomes))


def of_prices(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield what drawn prices rest on that nothing published determines, each once."""
    priced = [outcome for outcome in outcomes if outcome.usd is not None]
    batched = [outcome for outcome in priced if max(outcome.scenario.batches) > 1]
    batching = (note for outcome in batched for note in batching_notes(outcome.placement.machine))
    yield from dict.fromkeys([*unsure(priced), *batching])


PRICE = "$/Mtok output, at the speed expected"


def roofline(outcomes: Sequence[Outcome]) -> Chart:
    """Return the rooflines of chips, and the passes under them: FLOP/s against FLOP a byte."""
    by_panel: dict[str, list[Series]] = {}
    for title, place, name, outcome in drawn_of(outcomes):
        by_panel.setdefault(title, []).extend(_passes(place, name, outcome))
    by_panel = _joined(by_panel)
    passes = [line for lines in by_panel.values() for line in lines]
    across = axes(passes, "arithmetic intensity, FLOP for each byte read", "")[0]
    chips: dict[str, str] = {}
    ridges: list[float] = []
    for title, place, name, outcome in drawn_of(outcomes):
        if name in chips:  # on other chips or in another layout, each with the same bound
            continue
        work, count = outcome.estimate.bound_pass.work, outcome.placement.layout.chips
        moved, peak = (float(np.max(rate)) / count for rate in (work.bandwidth, work.flop_rate))
        chips[name] = f"{unmarked(name)} {prefixed(moved, 'B/s')} and {prefixed(peak, 'FLOP/s')}"
        ridges.append(peak / moved)
        ridge = min(max(peak / moved, across.low), across.high)
        x = np.unique([across.low, ridge, across.high])
        y = np.minimum(moved * x, peak) / 1e12
        by_panel[title].append(Series(f"bound of {unmarked(name)}", x, y, place, "bound"))
    every = [line for lines in by_panel.values() for line in lines]
    upward = axes(every, "", "TFLOP/s of each chip")[1]
    peaks = f": {', '.join(chips.values())}" if len(chips) <= FEW else ""
    notes = [
        f"dashed: what memory and arithmetic of a chip allow{peaks}",
        "on a line: decode steps, the smallest batch first; a single point: the prefill of one "
        "prompt",
        *notes_of(outcomes, of_prompts=True),
    ]
    steps = np.concatenate([line.x for line in passes if line.style == "line"])
    finding = (
        f"Decode does {from_to(steps)} FLOP for each byte read; arithmetic would limit "
        f"{subject(chips)} from {from_to(np.array(ridges))} on."
    )
    return Chart(
        title_of(outcomes, "Roofline"),
        [Panel(title, across, upward, lines) for title, lines in by_panel.items()],
        notes=notes,
        finding=finding,
        grounds=grounds_of(outcomes),
    )


def from_to(values: Floats) -> str:
    """Return the least and the largest of some values."""
    return " to ".join(dict.fromkeys(number(float(end), 2) for end in (values.min(), values.max())))


def subject(chips: Iterable[str]) -> str:
    """Return chips as a sentence names them, many by their number."""
    names = list(chips)
    return listed(names) if len(names) <= FEW else f"these {len(names)} chips"


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


def drawn_of(outcomes: Sequence[Outcome]) -> list[tuple[str, int, str, Outcome]]:
    """Return title of the plot, place in the palette and name of each that is drawn.

    Several models on one chip are lines of one plot; on several chips each model has a plot.
    """
    fitting = [outcome for outcome in outcomes if outcome.estimate.fits.any()]
    models = {outcome.scenario.model.id for outcome in fitting}
    chips = chips_by_id(fitting)
    drawn: list[tuple[str, int, str, Outcome]] = []
    places: dict[str, int] = {}
    for outcome in fitting:
        model = outcome.scenario.model.id
        is_alone = len(models) > 1 and len(chips) == 1
        name = marked_name(outcome, model if is_alone else outcome.scenario.hardware.id)
        if places.setdefault(name, len(places)) < MOST:
            title = model if len(models) > 1 and len(chips) > 1 else ""
            drawn.append((title, places[name], name, outcome))
    return drawn


def marked_name(outcome: Outcome, name: str = "") -> str:
    """Return a name, or the chip's, with a mark where nothing published determines its speed."""
    name = name or outcome.scenario.hardware.id
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
    chips = chips_by_id(outcome for outcome in outcomes if outcome.estimate.fits.any())
    is_cut = len(chips) > MOST
    drawn = [*chips][:MOST] if is_cut else [outcome.scenario.hardware.id for outcome in outcomes]
    largest = sorted(
        (outcome.placement.max_batch, outcome.placement.layout.chips, outcome.scenario.hardware.id)
        for outcome in outcomes
        if outcome.scenario.hardware.id in drawn
        and not outcome.estimate.fits.all()
        and no_place(outcome) is None
    )
    yield from (f"not drawn: {note}" for note in map(no_place, outcomes) if note is not None)
    if largest:
        ends = largest if len(largest) <= FEW else [largest[0], largest[-1]]
        held = [f"{batch:,} on {count:,} {chip}" for batch, count, chip in ends]
        reason = (", " if len(largest) <= FEW else " to ").join(held)
        yield f"largest batches: {reason}; {option('chips')} makes room for more"
    if is_cut:
        count = f"the first {MOST} of {len(chips)} are drawn"
        yield f"{count}; {option('on')} names the chips to draw"


def title_of(outcomes: Sequence[Outcome], kind: str) -> str:
    """Return a kind of chart, and of which models, formats and requests it is."""
    models = list(dict.fromkeys(outcome.scenario.model.heading for outcome in outcomes))
    chips = {outcome.scenario.hardware.id for outcome in outcomes}
    formats = dict.fromkeys(outcome.placement.work.weight_format for outcome in outcomes)
    where = f" on {chips.pop()}" if len(chips) == 1 < len(models) else ""
    requests = requests_of(outcomes[0])
    return f"{kind}: {', '.join(models)}{where}, {listed([*formats])}; {requests}"
