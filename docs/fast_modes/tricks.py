"""The two tricks: what each reaches, and what it costs."""

from collections import Counter
from typing import NamedTuple

import numpy as np
from book import (
    FAST,
    FASTER,
    LONG,
    PREMIUM,
    RACK,
    SLOW,
    SOLD,
    Book,
    Words,
    counted,
    first,
    price,
    some,
    speed,
    table,
    users,
)

from fastcalc.articles.catalogue_numbers import number_of
from fastcalc.articles.judge import MEANING
from fastcalc.core.best_cut import best_cut
from fastcalc.core.pricing import Pricing
from fastcalc.core.ratios import independent_ratio
from fastcalc.core.scenario import Outcome, solve
from fastcalc.formulas.money import batch_ratio, usd_per_million
from fastcalc.report import curve as report
from fastcalc.report import factors, record_tables
from fastcalc.report.break_evens import digits
from fastcalc.report.chart import plot
from fastcalc.report.charts.drawing import Panel, Series, axes
from fastcalc.report.fastmode import factors_of
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.report.record_tables import heading
from fastcalc.search import Space, cheapest, frontier
from fastcalc.search.space import chip_counts
from fastcalc.search.tricks import Option, fastmode, start_at_speed
from fastcalc.search.tricks.option import TRICKS, best
from fastcalc.search.tricks.smaller_batches import Curve, Study
from fastcalc.search.tricks.smaller_batches import curve as curve_of

SHAPES = ("glm-4.7", "deepseek-r1", "frontier-1t", "frontier-5t")
"""Mixtures of experts that stand in for closed models."""

DENSE, SPREAD = ("dense-20b", "int8"), ("spark-120b", None)
"""GPT-5.3-Codex-Spark as one wafer would hold it, and as several would."""

ALONE = (
    (*DENSE, "a dense 20B at 8 bits, Spark on one wafer"),
    ("codellama-34b", "int8", "a dense 34B at 8 bits, near the 40B of the articles"),
    (*SPREAD, "a 120B mixture, Spark over wafers"),
    ("glm-4.7", "fp8", "GLM-4.7, 353B, at 8 bits"),
    ("deepseek-r1", None, "DeepSeek-R1, 671B"),
    ("frontier-1t", None, "hypothetical 1T"),
)
SMALLER = {"glm-4.7": "GLM-4.7", "spark-120b": "120 billion weights"}
"""Full and small in the second table."""

CHIPS = ("h100-sxm", "b200", "gb200", "wse-3")


def summary(book: Book) -> Words:
    """Return how many claims have which verdict, and what claims say of the two tricks."""
    counts = Counter(one.verdict for one in book.judged)
    own = [c for c in book.claims.claims if set(c.articles) <= {"deepseek"}]
    ratio = book.turn("3", "fewer_users")
    least, largest = (book.alongside("4", f"{end} multiple") for end in ("least", "largest"))
    dense = book.alone(DENSE[0], "wse-3", DENSE[1])
    return {
        "dense_speed": speed(dense),
        "dense_point": number(first(dense)),
        "ridge": number(book.alongside("41", "critical batch of h100-sxm"), 3),
        "opus_ratio": digits(ratio),
        "gpt_ratio": f"{float(batch_ratio(cost_ratio=2, speed_ratio=1.5)):g}",
        "least": number(least),
        "largest": number(largest),
        "never": number(book.alongside("4", "cells out of reach"), 1),
        "cells": number(book.alongside("4", "cells"), 1),
        "claims": str(len(book.judged)),
        "own": str(len(own)),
        **{word: str(counts[word]) for word in MEANING},
    }


def picture(book: Book) -> Words:
    """Return the chart of user speed against price."""
    chips = ("h200-sxm", "gb200", "wse-3")
    points = frontier([book.scenario("deepseek-r1", chip) for chip in chips], max_chips=72)
    series = []
    for place, chip in enumerate(chips):
        own = [one for one in points if one.outcome.scenario.hardware.id == chip]
        speeds, usd = (np.array([getattr(one, key) for one in own]) for key in ("speed", "usd"))
        series.append(Series(chip, speeds, usd, place))
    across = axes(series, "output tokens/s of each user, expected", "$/Mtok output")
    lines = plot(Panel("", *across, series), width=90)
    wafer = Pricing().per_chip_hour(book.catalogue.hardware("wse-3"))
    return {"chart": "\n".join(lines), "wafer_price": dollars(wafer)}


def smaller_batch(book: Book) -> Words:
    """Return what 65 to 170 tokens/s cost by batch alone, textbook and as measured."""
    starts = [_sold(book, shape) for shape in SHAPES]
    rows = [_reached(book, shape, at) for shape, at in zip(SHAPES, starts, strict=True)]
    headings = (
        "shape",
        "one user alone, tokens/s",
        f"users at {SLOW:g}",
        "$/Mtok",
        f"users at {FAST:g}",
        f"start at {SOLD:g} $/Mtok",
        f"{FASTER:g} times from there",
    )
    sold = [at for at in starts if at is not None]
    paid = [at.multiple for at in sold if at.multiple]
    band = " to ".join(number(one, 2) for one in ends_of(paid))
    multiples = [f"{band} times as much"] * bool(paid)
    multiples += ["cannot be had"] * (len(paid) < len(sold))
    steps, slots = book.values("6"), book.values("8")
    named = {"wait": "6", "flops": "5", "batch": "47", "hardware": "48", "drafts": "49"}
    return {
        "floor_table": _floors(book),
        "rows": number(book.alongside("4", "cells") / 4.0, 1),
        "measured_table": table(headings, rows),
        "measured_count": str(len(SHAPES)),
        "sold": f"{SOLD:g}",
        "sold_count": some(len(sold), len(SHAPES)),
        "sold_speeds": " to ".join(number(one, 2) for one in ends_of([at.speed for at in sold])),
        "sold_multiples": " or ".join(multiples),
        "half_step": " to ".join(f"{1e3 * one:g}" for one in steps),
        "fast_pace": f"{0.5 / steps[0]:g}",
        "slow_pace": f"{0.5 / steps[-1]:g}",
        "slot_16": f"{slots[0]:.2g}",
        "slot_256": f"{slots[-1]:.2g}",
        "flops_share": number(100.0 * book.values("5")[0], 2),
        **{f"{name}_verdict": book.verdict(claim) for name, claim in named.items()},
    }


def _floors(book: Book) -> str:
    """Return a row for each floor of claim 4: the multiples in reach, and how many are not."""
    found = book.check("4").finding
    assert found.rows is not None, "claim 4 has a table"
    heads = found.rows.headings[1:-1]
    rows = []
    for head, column in zip(heads, found.values.reshape(-1, len(heads)).T, strict=True):
        reached = column[np.isfinite(column)]
        ends = f"{number(min(reached))} to {number(max(reached))}" if len(reached) else "-"
        rows.append((head, ends, f"{len(column) - len(reached)} of {len(column)}"))
    return table(("floor of a layer", "cost multiple of 65 to 170 tokens/s", "out of reach"), rows)


class SoldStart(NamedTuple):
    """The fewest users who pay a price, their speed, and the cost multiple of a faster mode."""

    users: int
    speed: float
    multiple: float | None


def _sold(book: Book, shape: str) -> SoldStart | None:
    """Return the fastest start of a shape on a rack that the price of Opus pays; None for none."""
    rack = book.rack(shape).scenario
    hour = Pricing().per_chip_hour(rack.hardware)
    assert hour is not None, "the chip has a price"

    def paid(starts: np.ndarray) -> tuple[Curve, np.ndarray]:
        found = curve_of(rack, RACK, starts, FASTER)
        assert found is not None, "a rack holds the model"
        usd = usd_per_million(usd_per_hour=hour * RACK, seconds=1 / found.speed, tokens=starts)
        return found, np.flatnonzero(usd <= SOLD)

    octaves = np.unique(np.round(2.0 ** np.arange(0.0, 13.0, 0.25))).astype(np.int64)
    _, places = paid(octaves)
    if not len(places):
        return None
    least, most = octaves[max(places[0] - 1, 0)], octaves[places[0]]
    found, places = paid(np.arange(least, most + 1))
    at = int(places[0])
    multiple = float(found.multiple[at]) if found.batch[at] else None
    return SoldStart(int(found.starts[at]), float(found.speed[at]), multiple)


def _reached(book: Book, shape: str, sold: SoldStart | None) -> list[str]:
    """Return the row of a shape on 72 chips: at both speeds, and from what a price allows."""
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
    """Return every trick that keeps the model, from a rack at the slow speed to the fast one."""
    rack = book.scenario("deepseek-r1", "gb200", chips=RACK, context=LONG)
    today = start_at_speed(rack, SLOW) or best_cut(rack)
    now = solve(today)
    answer = fastmode(today, FAST, book.catalogue, [])
    kinds = {kind: [one for one in answer.options if one.trick == kind] for kind in TRICKS}
    rows = [_trick(kind, best(some) or some[0], now) for kind, some in kinds.items() if some]
    heads = ("trick", "how", "users", "chips", "tokens/s of each", "cost multiple")
    return {
        "base_batch": f"{today.batches[0]:,}",
        "base_speed": speed(now),
        "trick_table": table(heads, rows),
        "cheapest_words": _cheapest(answer.reached, now),
    }


def _cheapest(reached: list[Option], today: Outcome) -> str:
    """Say which way is the cheapest, and how many cost less than today."""
    priced = [one for one in reached if one.usd is not None]
    cheap = best(priced)
    if cheap is None:
        return "No way has a price."
    below = sum(one.usd is not None and one.usd < price(today) for one in priced)
    return (
        f"Of the {len(priced)} ways with a price {some(below, len(priced))} cost less than today's "
        f"point, number formats aside; the cheapest is {TRICKS[cheap.trick]} ({cheap.change}) at "
        f"{_multiple(cheap, today)}."
    )


def _multiple(option: Option, today: Outcome) -> str:
    return f"{dollars(option.usd / price(today))}x" if option.usd else "no price"


def _trick(kind: str, option: Option, today: Outcome) -> list[str]:
    if option.outcome is None:
        return [TRICKS[kind], f"cannot: {option.why_not}", "-", "-", "-", "-"]
    scenario, layout = option.outcome.scenario, option.outcome.placement.layout
    how, batch = option.change or "as it is cut today", scenario.batches[0]
    point = (f"{batch:,}", f"{layout.chips:,}", speed(option.outcome), _multiple(option, today))
    return [TRICKS[kind], how, *point]


def curve(book: Book) -> Words:
    """Return what 2.5 times the speed costs from every starting batch, and at which floors."""
    found = book.smaller_batches
    heads = report.table(found, PREMIUM)
    cells = ([column.format(at) for column in heads] for at in report.rows(found))
    where = report.notes(found, PREMIUM)[: len(found.engines)]
    native: dict[str, Curve] = {}
    for one in found.engines:
        native.setdefault(one.space.scenario.engine.id, one)
    return {
        "curve_table": table([heading(one) for one in heads], cells),
        "curve_chart": "\n".join(report.chart(found, PREMIUM, 90, is_ascii=False)),
        "curve_where": "\n".join(f"- {line}." for line in where),
        "rack": str(RACK),
        **_short(found, native),
    }


def _short(found: Study, shown: dict[str, Curve]) -> Words:
    """Return the table without its engineers' columns, and from where six times is enough."""
    name, start = next(iter(shown.items()))
    heads = ["no floor" if one == "ideal" else f"measured: {one}" for one in shown]
    rows = [
        [
            f"{start.starts[at]:,}",
            number(float(start.speed[at])),
            *(
                f"{number(one.multiple[at])} times" if one.batch[at] else "never"
                for one in shown.values()
            ),
        ]
        for at in report.rows(found)[::2]
        if start.speed[at] > 0.0
    ]
    paid = start.ends(PREMIUM)
    least = f"{paid[0]:,}" if paid else "any number of"
    where = "no start gets there for so little"
    if paid:
        pace = number(float(np.interp(paid[0], start.starts, start.speed)))
        where = (
            f"that is enough if {least} users or more share the machine at the start, at "
            f"{pace} tokens/s each or less"
        )
    return {
        "short_table": table(("users at the start", f"tokens/s of each ({name})", *heads), rows),
        "default_engine": name,
        "six_where": where,
        "six_start": least,
    }


def fifteen(book: Book) -> Words:
    """Return what fifteen times the speed of one served model is the product of."""
    today = best_cut(book.scenario("glm-4.7", "h100-sxm", batch=16))
    answer = fastmode(today, 15.0 * first(solve(today)), book.catalogue)
    found = factors_of(answer)
    heads = [one for one in factors.COLUMNS if one.heading != ("", "")]
    rows = [record_tables.row(heads, one).values() for one in factors.factor_records(found)]
    return {"waterfall_table": table([heading(one) for one in heads], rows)}


def smaller_model(book: Book) -> Words:
    """Return speeds of one user by model and chip, and what machine and model add to them."""
    solved = {
        (model, chip): book.alone(model, chip, form) for model, form, _ in ALONE for chip in CHIPS
    }
    both = {name: [solved[name, chip] for chip in ("h100-sxm", "wse-3")] for name in SMALLER}
    (full, full_wafer), (small, small_wafer) = both.values()
    rows = [
        [SMALLER[name], *(_cell(one) for one in pair), _gain(*pair)] for name, pair in both.items()
    ]
    rows.append(["gain by the model", _gain(full, small), _gain(full_wafer, small_wafer), ""])
    floor = book.catalogue.engine("cerebras").parameters.decode_layer_floor
    assert floor is not None, "the wafers' engine has a floor of a layer"
    assert floor.band is not None, "and its band"
    return {
        "machine_table": table(("", "H100", "wafers", "gain by the machine"), rows),
        "speed_table": table(
            ("model", *CHIPS),
            [[shown, *(_cell(solved[model, chip]) for chip in CHIPS)] for model, _, shown in ALONE],
        ),
        "machine_gain": _gain(full, full_wafer),
        "machine_gain_served": " to ".join(number(one, 2) for one in ends_of(book.concluded("20"))),
        "served_batch": book.concluding("20", "batch"),
        "model_gain": _gain(full, small),
        "both_gain": _gain(full, small_wafer),
        "layer_low": f"{1e6 * floor.band[0]:.0f}",
        "layer_high": f"{1e6 * floor.band[1]:.0f}",
        "glm_wafers": str(full_wafer.placement.layout.chips),
        "glm_speed": speed(full_wafer),
        "dense_price": _at_thousand(book, *DENSE, "the dense 20B"),
        "spread_price": _at_thousand(book, *SPREAD, "the 120B mixture"),
    }


def _gain(before: Outcome, after: Outcome) -> str:
    """Return a ratio of two speeds, with its range."""
    speeds = (one.estimate.ranged_speed for one in (after, before))
    ratio, low, high = (
        number(float(end[0]), 2) for end in independent_ratio(over=next(speeds), under=next(speeds))
    )
    return f"{ratio} times ({low}..{high})"


def ends_of(values: list[float]) -> list[float]:
    """Return the least and the largest of some numbers, each once."""
    return sorted({min(values), max(values)}) if values else []


def _at_thousand(book: Book, model: str, weights: str | None, name: str) -> str:
    """Say what 1,000 tokens/s of a model cost on wafers, at the cheapest point."""
    space = Space(book.scenario(model, "wse-3", weights=weights))
    fewest = space.fewest_chips or 1
    layouts = [one for chips in chip_counts(fewest, 32 * fewest) for one in space.layouts(chips)]
    found = cheapest(space, layouts, 1000.0).outcome
    if found is None:
        return f"{name} is not expected to reach 1,000 tokens/s"
    wafers = counted(found.placement.layout.chips)
    shown = f"{name} costs {dollars(price(found))} $/Mtok of output at 1,000 tokens/s"
    return f"{shown} ({wafers}, {found.scenario.batches[0]:,} users)"


def _cell(outcome: Outcome) -> str:
    chips = outcome.placement.layout.chips
    return f"{speed(outcome)} [{chips}]" if outcome.fits else "no place"


def wafer(book: Book) -> Words:
    """Return what memory, arithmetic and layers each allow on a wafer."""

    def memory(chip: str, what: str) -> str:
        return f"{1e-12 * number_of(book.catalogue, f'hardware/{chip}', f'memory.{what}').si:,g}"

    wafers = book.values("25")
    gains = book.concluded("20")[1:]
    served = [1000.0 * one for one in book.concluded("24")]
    return {
        "h100_bandwidth": memory("h100-sxm", "bandwidth"),
        "wafer_bandwidth": memory("wse-3", "bandwidth"),
        "wafer_memory": book.said("31"),
        "spark_gains": f"{number(min(gains), 2)} to {number(max(gains), 2)}",
        "area_ratio": number(book.values("32")[0], 2),
        "naive": book.said("naive-wafer"),
        "wafer_bound": number(book.alongside("naive-wafer", "the bound, the smaller")),
        "wafer_expected": speed(book.alone("dense-20b", "wse-3")),
        "fifteen_65": number(book.values("18")[0]),
        "fifteen_60": number(book.values("18")[1]),
        "wafers_355b": number(wafers[0], 1),
        "wafers_1t": number(wafers[1], 1),
        "served_low": number(min(served)),
        "served_high": number(max(served)),
        "sram_verdict": book.verdict("20"),
        "distil_verdict": book.verdict("24"),
        "glm_drafted": book.said("glm-speed"),
    }
