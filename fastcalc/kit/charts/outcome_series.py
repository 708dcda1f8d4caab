"""Series, names and notes shared by the charts of outcomes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fastcalc.core.outcome import Outcome, chips_by_id
from fastcalc.core.scenario import Scenario
from fastcalc.core.undetermined import batching_notes, is_assumed, undetermined_notes
from fastcalc.formulas.types import Bools, Floats
from fastcalc.kit.answer.numbers_as_text import capital, number
from fastcalc.kit.answer.outcome_lines import no_place, requests_of
from fastcalc.kit.answer.prices import basis_of, prices_of
from fastcalc.kit.answer.record_tables import UNDETERMINED
from fastcalc.kit.charts.drawing import MOST, Chart, Panel, Series, axes
from fastcalc.kit.charts.highlight import DASHED, FEW
from fastcalc.mentions import option
from fastcalc.written import first_few, listed, many

BATCH = "batch (sequences decoded together)"


def grounds_of(outcomes: Sequence[Outcome]) -> str:
    """Describe the prices and engines behind a chart of outcomes."""
    return grounds([outcome.scenario for outcome in outcomes])


def notes_of(outcomes: Sequence[Outcome], *, of_prompts: bool = False) -> list[str]:
    """Return notes on chip counts, omitted series and undetermined numbers."""
    why = dict.fromkeys(unsure(outcomes, of_prompts=of_prompts))
    return [chips_of(outcomes), *left_out(outcomes), *why]


def chips_of(outcomes: Sequence[Outcome]) -> str:
    """Give the number of chips of each line, or the range if there are many lines."""
    counts = dict.fromkeys(
        (outcome.placement.layout.chips, outcome.scenario.hardware.id)
        for outcome in outcomes
        if outcome.estimate.fits.any()
    )
    if len(counts) <= FEW:
        deployments = listed([f"{count:,} {chip}" for count, chip in counts])
        return f"the deployments are {deployments}" if counts else ""
    fewest, largest = min(counts), max(counts)
    if fewest[0] == largest[0]:
        return f"each deployment has {many(fewest[0], 'chip')}"
    return (
        f"the deployments have {fewest[0]:,} ({fewest[1]}) to {largest[0]:,} chips ({largest[1]})"
    )


def speeds_of(outcome: Outcome, positions: Bools | int) -> list[Floats | None]:
    """Return the speed, its bound and the ends of its range (if any) at given batches. [1/s]

    The bound of chips whose layers run in turn is that of the layers, as in tables.
    """
    estimate = outcome.estimate
    bound = estimate.bound if estimate.bound_serial is None else estimate.bound_serial
    all_values = (estimate.speed, bound, estimate.low, estimate.high)
    return [None if rates is None else rates[positions] for rates in all_values]


def ranged(
    name: str, index: int, x: Floats, speeds: Sequence[Floats | None], tips: Sequence[str]
) -> tuple[Series, Series]:
    """Build the series of a chip's hardware bound, and of its speeds with their range."""
    middle, bound, low, high = speeds
    assert middle is not None
    assert bound is not None
    speed_tips = [
        f"{tip}: {number(rate)} tokens/s, bound {number(limit)}"
        for tip, rate, limit in zip(tips, middle, bound, strict=True)
    ]
    return (
        Series(f"bound of {unmarked(name)}", x, bound, index, "bound"),
        Series(name, x, middle, index, "line", low, high, speed_tips),
    )


def of_speeds(
    title: str,
    by_panel: Mapping[str, Sequence[Series]],
    across: str,
    base: int,
    notes: Sequence[str],
) -> Chart:
    """Plot speeds over a logarithmic axis, omitting bounds far above them."""
    by_panel = {
        name: [
            replace(line, x=widened(line.x), y=np.repeat(line.y, 2))
            if line.style == "bound" and line.x.size == 1
            else line
            for line in lines
        ]
        for name, lines in by_panel.items()
    }
    series = [line for lines in by_panel.values() for line in lines]
    top = max(
        float(np.max(edge)) for line in series if line.style == "line" for edge in line.heights
    )
    drawn = [line for line in series if line.style == "line" or line.y.max() < _FAR * top]
    axis, upward = axes(drawn, across, "output tokens/s per user", (base, 10))
    far = [
        f"the {line.name}{where}, {number(float(line.y.max()))} tokens/s, is far above the chart"
        for where, lines in ((f" ({name})" * bool(name), by_panel[name]) for name in by_panel)
        for line in lines
        if line not in drawn
    ]
    key = ["the band is the 80% range"] * any(line.low is not None for line in drawn)
    key += [DASHED] * any(line.style == "bound" for line in drawn)
    all_notes = [
        "; ".join(key),
        *first_few(far, FEW, "more bounds are far above the chart"),
        *notes,
    ]
    panels = [
        Panel(name, axis, upward, [line for line in lines if line in drawn])
        for name, lines in by_panel.items()
    ]
    return Chart(title, panels, (), all_notes)


_FAR = 10.0
"""Largest ratio of a bound to the fastest speed that is drawn. More would flatten the lines."""


def widened(batch: Floats) -> Floats:
    """Widen a single batch in both directions, so that a line can be drawn."""
    return batch if batch.size > 1 else np.array([batch[0] / 1.2, batch[0] * 1.2])


def of_prices(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the unpublished assumptions behind the drawn prices, without duplicates."""
    priced = [outcome for outcome in outcomes if outcome.usd is not None]
    batched = [outcome for outcome in priced if max(outcome.scenario.batches) > 1]
    batching = (note for outcome in batched for note in batching_notes(outcome.placement.machine))
    yield from dict.fromkeys([*unsure(priced), *batching])


PRICE = "$/Mtok output, at the expected speed"


def from_to(values: Floats) -> str:
    """Format the smallest and largest of the values."""
    return " to ".join(dict.fromkeys(number(float(end), 2) for end in (values.min(), values.max())))


def subject(chips: Iterable[str]) -> str:
    """List chip names for a sentence, or their number if there are many."""
    names = list(dict.fromkeys(chips))
    return listed(names) if len(names) <= FEW else f"these {len(names)} chips"


def model_names(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], str]:
    """Name each checkpoint: by its model, and by its weights if the model has several."""
    checkpoints = dict.fromkeys(outcome.scenario.model.checkpoint for outcome in outcomes)
    counts = Counter(model for model, _ in checkpoints)
    return {each: " ".join(each) if counts[each[0]] > 1 else each[0] for each in checkpoints}


def drawn_of(outcomes: Sequence[Outcome]) -> list[tuple[str, int, str, Outcome]]:
    """Return the plot title, palette index, name and outcome of everything that is drawn.

    Several models on one chip share a plot. With several chips, each model has its own.
    """
    fitting = [outcome for outcome in outcomes if outcome.estimate.fits.any()]
    models = model_names(fitting)
    chips = chips_by_id(fitting)
    drawn: list[tuple[str, int, str, Outcome]] = []
    positions: dict[str, int] = {}
    for outcome in fitting:
        model = models[outcome.scenario.model.checkpoint]
        is_alone = len(models) > 1 and len(chips) == 1
        name = marked_name(outcome, model if is_alone else outcome.scenario.hardware.id)
        if positions.setdefault(name, len(positions)) < MOST:
            title = model if len(models) > 1 and len(chips) > 1 else ""
            drawn.append((title, positions[name], name, outcome))
    return drawn


def marked_name(outcome: Outcome, name: str = "") -> str:
    """Mark a name (by default the chip's) if no publication supports its speed."""
    name = name or outcome.scenario.hardware.id
    return f"{name} {UNDETERMINED}" if is_assumed(outcome.scenario.engine) else name


def unmarked(name: str) -> str:
    """Return the name of a chip without the mark, since its bound comes from the data sheet."""
    return name.removesuffix(f" {UNDETERMINED}")


def unsure(outcomes: Sequence[Outcome], *, of_prompts: bool = False) -> Iterator[str]:
    """Yield why drawn numbers are undetermined, for speeds or also for prompts."""
    for outcome in outcomes:
        if of_prompts or is_assumed(outcome.scenario.engine):
            yield from undetermined_notes(outcome.placement.machine)


def left_out(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield notes on chips, models and batches that are not drawn, with the reasons."""
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
        largest_batches = [f"{batch:,} on {count:,} {chip}" for batch, count, chip in ends]
        reason = (", " if len(largest) <= FEW else " to ").join(largest_batches)
        yield f"largest batches: {reason}; {option('chips')} makes room for more"
    if is_cut:
        count = f"the chart shows the first {MOST} of {len(chips)} chips"
        yield f"{count}; {option('on')} selects others"


def title_of(outcomes: Sequence[Outcome], group: str) -> str:
    """Build the title of a chart: its name, models, formats and requests."""
    models = list(dict.fromkeys(outcome.scenario.model.heading for outcome in outcomes))
    chips = {outcome.scenario.hardware.id for outcome in outcomes}
    formats = dict.fromkeys(outcome.placement.work.short_format for outcome in outcomes)
    where = f" on {chips.pop()}" if len(chips) == 1 < len(models) else ""
    requests = requests_of(outcomes[0])
    return f"{group}: {', '.join(models)}{where}, {listed([*formats])}; {requests}"


def grounds(scenarios: Sequence[Scenario], *, is_priced: bool = True) -> str:
    """Describe the chip-hour prices and the engines of scenarios, abbreviated if there are many."""
    pricing = scenarios[0].pricing
    chips = list({scenario.hardware.id: scenario.hardware for scenario in scenarios}.values())
    chips = [chip for chip in chips if pricing.per_chip_hour(chip) is not None]
    engines = {scenario.engine.id: scenario.engine for scenario in scenarios}
    named = [f"{engine.name} ({engine.date or 'undated'})" for engine in engines.values()]
    rests_on = [f"Engine{'s' * (len(named) > 1)}: {listed(named)}."]
    if not is_priced:
        return rests_on[0]
    if 0 < len(chips) <= FEW:
        rests_on.insert(0, f"{capital(prices_of(pricing, chips, in_short=True))}.")
    elif chips:
        quotes = [pricing.quote(chip) for chip in chips]
        dates = sorted(quote.date for quote in quotes if quote.date) or ["undated"]
        when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
        low = sum(quote.confidence == "low" for quote in quotes)
        unsure = f", {low} of {len(chips)} of low confidence" if low else ""
        rests_on.insert(0, f"Prices: {basis_of(pricing)}, {when}{unsure}.")
    return " ".join(rests_on)
