"""The two techniques: what each reaches, and what it costs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from book import (
    FAST,
    FASTER,
    LATER,
    LONG,
    PREMIUM,
    RACK,
    SLOW,
    SOLD,
    Book,
    Words,
    first,
    price,
    some,
    speed,
    table,
    users,
)

from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.pricing import Pricing
from fastcalc.features.claims.break_evens import digits
from fastcalc.features.claims.judge import MEANING
from fastcalc.features.fastmode import curve as report
from fastcalc.features.fastmode import factors
from fastcalc.features.fastmode.factors import factors_of
from fastcalc.features.fastmode.lighter_passes import PUBLISHED
from fastcalc.features.fastmode.option import TRICKS, Option, best
from fastcalc.features.fastmode.smaller_batches import Curve
from fastcalc.features.fastmode.smaller_batches import curve as curve_of
from fastcalc.features.fastmode.solve import fastmode, start_at_speed
from fastcalc.features.frontier.answer import name_of, runs_of
from fastcalc.features.frontier.search import FrontierPoint, edge, frontier
from fastcalc.formulas.money import batch_ratio, usd_per_million
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.record_tables import heading
from fastcalc.kit.charts.drawing import Panel, Series, axes
from fastcalc.kit.charts.terminal import plot
from fastcalc.written import listed

OLD = "h100-sxm"

SHAPES = ("glm-4.7", "deepseek-r1", "frontier-1t", "frontier-5t")
"""Mixtures of experts that stand in for closed models."""

GPT = (1.5, 2.0)
"""What GPT-5.4's fast mode is sold as: times the speed, for times the credits. [1]"""


def summary(book: Book) -> Words:
    """How many claims have which verdict, and what claims say of the two techniques."""
    counts = Counter(one.verdict for one in book.judged)
    own = [c for c in book.claims.claims if set(c.articles) <= {"deepseek"}]
    ratio = book.turn("3", "fewer_users")
    return {
        "ridge": number(book.alongside("41", f"critical batch of {OLD}"), 3),
        "opus_ratio": digits(ratio),
        "later": f"{LATER:g}",
        "later_ratio": f"{float(batch_ratio(cost_ratio=LATER, speed_ratio=FASTER)):g}",
        "claims": str(len(book.judged)),
        "own": str(len(own)),
        **{word: str(counts[word]) for word in MEANING},
    }


def picture(book: Book) -> Words:
    """The chart of user speed against price."""
    chips = ("h200-sxm", "gb200", "wse-3")
    points = frontier([book.scenario("deepseek-r1", chip) for chip in chips], max_chips=72)
    series = []
    for color, chip in enumerate(chips):
        own = [one for one in points if one.outcome.scenario.hardware.id == chip]
        if not own:
            continue
        speeds, usd = (np.array([getattr(one, key) for one in own]) for key in ("speed", "usd"))
        series.append(Series(chip, speeds, usd, color))
    across = axes(series, "output tokens/s per user, expected", "$/Mtok output")
    lines = plot(Panel("", *across, series), width=90)
    wafer = Pricing().per_chip_hour(book.catalogue.hardware("wse-3"))
    owned = [replace(book.scenario("deepseek-r1", chip), pricing=Pricing("tco")) for chip in chips]
    return {
        "chart": "\n".join(lines),
        "wafer_price": dollars(wafer),
        "chart_prices": listed(
            [
                f"{chip} ${dollars(Pricing().per_chip_hour(book.catalogue.hardware(chip)))}/h"
                for chip in chips
            ]
        ),
        "cloud_order": cheapest_by_speed(points),
        "owned_order": cheapest_by_speed(frontier(owned, max_chips=RACK)),
    }


def cheapest_by_speed(points: Sequence[FrontierPoint]) -> str:
    """Say up to which speed each chip is the cheapest, as ``fastcalc frontier`` does."""
    runs = runs_of(points)
    ranges = [
        f"{name_of(before)} up to {number(edge(before.points, after.points))} tokens/s"
        for before, after in pairwise(runs)
    ]
    last = f"{name_of(runs[-1])} up to {number(runs[-1].points[-1].speed)} tokens/s"
    return ", ".join([*ranges, last])


def smaller_batch(book: Book) -> Words:
    """What 65 to 170 tokens/s cost by batch alone, textbook and as measured."""
    starts = [_sold(book, shape) for shape in SHAPES]
    rows = [_reached(book, shape, at) for shape, at in zip(SHAPES, starts, strict=True)]
    headings = (
        "shape",
        "single user, tokens/s",
        f"users at {SLOW:g}",
        "$/Mtok",
        f"users at {FAST:g}",
        f"start at {SOLD:g} $/Mtok",
        f"{FASTER:g} times from there",
    )
    steps, slots = book.values("6"), book.values("8")
    named = {
        "wait": ("6", "the step time"),
        "flops": ("5", "the context length"),
    }
    return {
        "floor_table": _floors(book),
        "rows": number(book.alongside("4", "combinations tried") / 4.0, 1),
        "measured_table": table(headings, rows),
        "sold": f"{SOLD:g}",
        **{
            name: dollars(Pricing(basis).per_chip_hour(book.catalogue.hardware("gb200")))
            for name, basis in (("rack_rent", "cloud"), ("rack_owned", "tco"))
        },
        "half_step": " to ".join(f"{1e3 * one:g}" for one in steps),
        "fast_pace": f"{0.5 / steps[0]:g}",
        "slow_pace": f"{0.5 / steps[-1]:g}",
        "slot_16": f"{slots[0]:.2g}",
        "slot_256": f"{slots[-1]:.2g}",
        **{f"{name}_verdict": book.plain(*claim) for name, claim in named.items()},
    }


def _floors(book: Book) -> str:
    """A row for each floor of claim 4: the multiples in reach, and how many are not."""
    found = book.check("4").finding
    assert found.rows is not None, "the claim has a table"
    heads = found.rows.headings[1:-1]
    rows = []
    for head, column in zip(heads, found.values.reshape(-1, len(heads)).T, strict=True):
        reached = column[np.isfinite(column)]
        ends = f"{number(min(reached))} to {number(max(reached))}" if len(reached) else "-"
        rows.append((head, ends, f"{len(column) - len(reached)} of {len(column)}"))
    speeds = f"cost multiple, {SLOW:g} to {FAST:g} tokens/s"
    return table(("latency floor per layer", speeds, "out of reach"), rows)


class SoldStart(NamedTuple):
    """The fewest users who pay a price, their speed, and the cost multiple of a faster mode."""

    users: int
    speed: float
    multiple: float | None


def _sold(book: Book, shape: str) -> SoldStart | None:
    """The fastest start of a shape on a rack that the price of Opus pays; None for none."""
    rack = book.rack(shape).scenario
    hour = Pricing().per_chip_hour(rack.hardware)
    assert hour is not None, "the chip has a price"

    def paid(starts: np.ndarray) -> tuple[Curve, np.ndarray]:
        found = curve_of(rack, RACK, starts, FASTER)
        assert found is not None, "a rack holds the model"
        usd = usd_per_million(usd_per_hour=hour * RACK, seconds=1 / found.speed, tokens=starts)
        return found, np.flatnonzero(usd <= SOLD)

    octaves = np.unique(np.round(2.0 ** np.arange(0.0, 13.0, 0.25))).astype(np.int64)
    _, paying = paid(octaves)
    if not len(paying):
        return None
    low, high = octaves[max(paying[0] - 1, 0)], octaves[paying[0]]
    found, paying = paid(np.arange(low, high + 1))
    at = int(paying[0])
    multiple = float(found.multiple[at]) if found.batch[at] else None
    return SoldStart(int(found.starts[at]), float(found.speed[at]), multiple)


def _reached(book: Book, shape: str, sold: SoldStart | None) -> list[str]:
    """The row of a shape on 72 chips: at both speeds, and from what a price allows."""
    slow, fast = (book.reach(shape, goal) for goal in (SLOW, FAST))
    space = book.rack(shape)
    quickest = max((space.at(layout, 1) for layout in space.layouts(RACK)), key=first)
    usd = dollars(price(slow.outcome)) if slow.outcome else "-"
    cells = [shape, speed(quickest), users(slow), usd, users(fast)]
    if sold is None:
        return [*cells, "none", "-"]
    cost = f"{number(sold.multiple)}x" if sold.multiple else "never"
    return [*cells, f"{sold.users:,} users at {number(sold.speed)} tokens/s", cost]


def rivals(book: Book) -> Words:
    """Every technique that keeps the model, from a rack at the slow speed to the fast one."""
    rack = book.scenario("deepseek-r1", "gb200", chips=RACK, context=LONG)
    today = start_at_speed(rack, SLOW) or rack
    now = solve(today)
    answer = fastmode(today, FAST, book.catalogue, [])
    options = {
        technique: [one for one in answer.options if one.trick == technique] for technique in TRICKS
    }
    tried = {technique: best(some) or some[0] for technique, some in options.items() if some}
    rows = [
        _trick(technique, option, option.outcome, now)
        for technique, option in tried.items()
        if option.outcome
    ]
    failed = [
        f"{TRICKS[technique]} ({option.why_not})"
        for technique, option in tried.items()
        if option.outcome is None
    ]
    heads = (
        "technique",
        "how",
        "users",
        "chips",
        "tokens/s of each",
        "cost multiple",
        "by ownership",
    )
    return {
        "base_batch": f"{today.batches[0]:,}",
        "base_speed": speed(now),
        "trick_table": table(heads, rows),
        "not_possible": listed(failed),
        "default_engine": rack.engine.name,
        "acceptance_lengths": f"{listed([f'{kept:g}' for kept in PUBLISHED.values()])} "
        f"for {min(PUBLISHED)} to {max(PUBLISHED)} draft tokens",
        "cheapest_words": _cheapest(answer.reached, now),
    }


def _cheapest(reached: list[Option], today: Outcome) -> str:
    """The sentence on the cheapest technique, and on how many cost less than today."""
    priced = [one for one in reached if one.usd is not None]
    cheap = best(priced)
    if cheap is None:
        return "No technique has a price."
    below = sum(one.usd is not None and one.usd < price(today) for one in priced)
    return (
        f"Of the {len(priced)} priced variants without quantization, {some(below, len(priced))} "
        f"cost less than today's deployment; the cheapest is {TRICKS[cheap.trick]} "
        f"({cheap.change}) at {_multiple(cheap, today)}."
    )


def _multiple(option: Option, today: Outcome) -> str:
    return f"{dollars(option.usd / price(today))}x" if option.usd else "no price"


def _trick(technique: str, option: Option, outcome: Outcome, today: Outcome) -> list[str]:
    scenario, layout = outcome.scenario, outcome.placement.layout
    how, batch = option.change or "today's layout", scenario.batches[0]
    owned, now = (solve(replace(one.scenario, pricing=Pricing("tco"))) for one in (outcome, today))
    both = (_multiple(option, today), f"{number(price(owned) / price(now), 2)}x")
    return [TRICKS[technique], how, f"{batch:,}", f"{layout.chips:,}", speed(outcome), *both]


def curve(book: Book) -> Words:
    """What 2.5 times the speed costs from every starting batch, and at which floors."""
    found = book.smaller_batches
    heads = report.columns(found, PREMIUM)
    cells = ([column.format(at) for column in heads] for at in report.rows(found))
    return {
        "curve_table": table([heading(one) for one in heads], cells),
        "rack": str(RACK),
        "context": f"{LONG:,}",
    }


def fifteen(book: Book) -> Words:
    """What fifteen times the speed of one served model is the product of."""
    today = book.scenario("glm-4.7", "h100-sxm", batch=16)
    speedup = float(book.filled("20", "expected"))
    answer = fastmode(today, speedup * first(solve(today)), book.catalogue)
    found = factors_of(answer, answer.cheapest)
    heads = [one for one in factors.COLUMNS if one.heading != ("", "")]
    rows = [record_tables.row(heads, one).values() for one in factors.factor_records(found)]
    return {"waterfall_table": table([heading(one) for one in heads], rows)}
