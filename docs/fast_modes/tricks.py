"""The two tricks: what each reaches, and what it costs."""

from collections import Counter
from dataclasses import replace

import numpy as np
from book import Book, Words, counted, first, price, share, some, speed, table

from fastcalc.articles.judge import MEANING
from fastcalc.core.best_cut import best_cut
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Outcome, solve
from fastcalc.formulas.money import batch_ratio
from fastcalc.report import curve as report
from fastcalc.report import factors, record_tables
from fastcalc.report.break_evens import digits
from fastcalc.report.chart import plot
from fastcalc.report.charts import of_searches
from fastcalc.report.fastmode import factors_of
from fastcalc.report.frontier import by_chip
from fastcalc.report.numbers_as_text import dollars, number
from fastcalc.report.record_tables import heading
from fastcalc.search import Reach, Space, cheapest, frontier
from fastcalc.search.space import chip_counts
from fastcalc.search.tricks import Option, fastmode, start_at_speed
from fastcalc.search.tricks.lighter_passes import narrowest
from fastcalc.search.tricks.option import TRICKS, best
from fastcalc.search.tricks.smaller_batches import engines_of, study

SLOW, FAST = 65.0, 170.0
"""What the articles report of Claude Opus 4.6, standard and fast. [tokens/s]"""

FASTER, PREMIUM = 2.5, 6.0
"""What the first fast mode was sold as: times the speed, for times the price. [1]"""

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
CHIPS = ("h100-sxm", "b200", "gb200", "wse-3")

_PASSING = ("neither reading passes", "one of the readings passes", "both readings pass")

RACK = 72
"""Chips of GB200 that one link domain holds. [1]"""

LONG = 65_536
"""Tokens of context of a coding agent, assumed. [1]"""


def summary(book: Book) -> Words:
    """Return the numbers of the three answers at the head."""
    least, largest = (book.alongside("4", f"{end} multiple") for end in ("least", "largest"))
    counts = Counter(one.verdict for one in book.judged.values())
    dense, spread = book.alone(DENSE[0], "wse-3", DENSE[1]), book.alone(SPREAD[0], "wse-3")
    return {
        "opus_ratio": digits(book.turn("3", "fewer_users")),
        "opus_share": share(round(book.turn("3", "fewer_users"), 3)),
        "gpt_share": share(float(batch_ratio(cost_ratio=2, speed_ratio=1.5))),
        "opus_verdict": book.verdict("4"),
        "least": number(least),
        "largest": number(largest),
        "never": number(book.alongside("4", "cells out of reach"), 1),
        "cells": number(book.alongside("4", "cells"), 1),
        "six_inside": "inside" if least <= 6.0 <= largest else "outside",
        "spark_size_verdict": book.verdict("22"),
        "dense_words": f"a dense 20B on {counted(dense.placement.layout.chips)}",
        "spread_words": f"a 120B mixture over {counted(spread.placement.layout.chips)}",
        "dense_speed": speed(dense),
        "spread_speed": speed(spread),
        "passing": _PASSING[sum(first(one) > 1000.0 for one in (dense, spread))],
        "claims": str(len(book.judged)),
        **{word: str(counts[word]) for word in MEANING},
    }


def picture(book: Book) -> Words:
    """Return the chart of user speed against price."""
    chips = ("h200-sxm", "gb200", "wse-3")
    points = frontier([book.scenario("deepseek-r1", chip) for chip in chips], max_chips=72)
    (panel,) = of_searches.frontier(by_chip(points)).panels
    lines = plot(panel, width=90)
    wafer = Pricing().per_chip_hour(book.catalogue.hardware("wse-3"))
    return {"chart": "\n".join(lines), "wafer_price": dollars(wafer)}


def smaller_batch(book: Book) -> Words:
    """Return what 65 to 170 tokens/s cost by batch alone, textbook and as measured."""
    found = [_reached(Space(book.scenario(shape, "gb200", context=LONG))) for shape in SHAPES]
    headings = ("shape", "one user alone, tokens/s", "users at 65", "users at 170", "cost multiple")
    return {
        "floor_table": _floors(book),
        "rows": number(book.alongside("4", "cells") / 4.0, 1),
        "measured_table": table(headings, [row for row, _ in found]),
        "measured_reached": some(sum(is_reached for _, is_reached in found), len(SHAPES)),
        "slow_price": _slow_price(book),
        "measured_count": str(len(SHAPES)),
        "half_step": " to ".join(f"{1e3 * one:g}" for one in book.values("6")),
        "static_wait": number(
            book.alongside("6", "until a batch of 64 is full at 6.4 requests/s"), 2
        ),
        **dict(zip(("slot_16", "slot_64", "slot_256"), _rounded(book, "8"), strict=True)),
        "flops_share": number(100.0 * book.values("5")[0], 2),
        "wait_verdict": book.verdict("6"),
        "flops_verdict": book.verdict("5"),
    }


def _rounded(book: Book, claim: str) -> list[str]:
    return [f"{one:.2g}" for one in book.values(claim)]


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


def _reached(space: Space) -> tuple[list[str], bool]:
    """Return the row of a shape on 72 chips, and whether it reaches the fast speed."""
    layouts = space.layouts(RACK)
    slow, fast = (cheapest(space, layouts, goal) for goal in (SLOW, FAST))
    quickest = max((space.at(layout, 1) for layout in layouts), key=first)
    cost = price(fast.outcome) / price(slow.outcome) if fast.outcome and slow.outcome else None
    shown = f"{number(cost)}x" if cost else "-"
    row = [space.scenario.model.id, speed(quickest), users(slow), users(fast), shown]
    return row, fast.outcome is not None


def users(found: Reach) -> str:
    """Return the batch of a point, or that there is none."""
    return f"{found.outcome.scenario.batches[0]:,}" if found.outcome else "never"


def _slow_price(book: Book) -> str:
    """Return what output costs at the slow speed of the smaller hypothetical shape."""
    space = Space(book.scenario("frontier-1t", "gb200", context=LONG))
    found = cheapest(space, space.layouts(RACK), SLOW)
    return f"cost {dollars(price(found.outcome))} $/Mtok" if found.outcome else "are out of reach"


def rivals(book: Book) -> Words:
    """Return every trick from what a rack serves at the slow speed to the fast one."""
    rack = book.scenario("deepseek-r1", "gb200", chips=RACK, context=LONG)
    today = start_at_speed(rack, SLOW) or best_cut(rack)
    now = solve(today)
    answer = fastmode(today, FAST, book.catalogue)
    keeping = fastmode(today, FAST, book.catalogue, [])
    kinds = {kind: [one for one in answer.options if one.trick == kind] for kind in TRICKS}
    rows = [_trick(kind, best(some) or some[0], now) for kind, some in kinds.items() if some]
    heads = ("trick", "how", "users", "chips", "tokens/s of each", "cost multiple")
    return {
        "base_batch": f"{today.batches[0]:,}",
        "base_speed": speed(now),
        "trick_table": table(heads, rows),
        **_cheapest(keeping.reached, now),
        "smaller_batch": _smaller(kinds["smaller-batch"][0], now),
        "batch_verdict": book.verdict("47"),
        "hardware_verdict": book.verdict("48"),
        "drafts_verdict": book.verdict("49"),
    }


def _cheapest(reached: list[Option], today: Outcome) -> Words:
    """Return the cheapest way that keeps the model, and how many cost less than today."""
    kept = [one for one in reached if one.usd is not None]
    cheap = best(kept)
    below = sum(one.usd is not None and one.usd < price(today) for one in kept)
    return {
        "cheapest_trick": f"{TRICKS[cheap.trick]} ({cheap.change})" if cheap else "none",
        "cheapest_cost": _multiple(cheap, today) if cheap else "-",
        "below_one": f"Of {len(kept)} such ways {some(below, len(kept))} cost less than today's "
        "point; a standard tier may have taken those already.",
    }


def _smaller(option: Option, today: Outcome) -> str:
    """Say what a smaller batch costs."""
    return f"costs {_multiple(option, today)}" if option.outcome else "does not get there"


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
    rack = book.scenario("deepseek-r1", "gb200", chips=RACK, context=LONG)
    engines = [*engines_of(book.catalogue, rack.hardware), book.catalogue.engine("ideal")]
    scenarios = [
        one
        for engine in engines
        for native in [replace(rack, engine=engine)]
        for one in (native, *(narrow for _, narrow in narrowest(native)))
    ]
    found = study(scenarios, RACK, FASTER)
    assert found is not None, "a rack holds the model"
    heads = report.table(found, PREMIUM)
    cells = ([column.format(at) for column in heads] for at in report.rows(found))
    where = report.notes(found, PREMIUM)[: len(found.engines)]
    return {
        "curve_table": table([heading(one) for one in heads], cells),
        "curve_chart": "\n".join(report.chart(found, PREMIUM, 90, is_ascii=False)),
        "curve_where": "\n".join(f"- {line}." for line in where),
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
    glm, small = (solved[name, "h100-sxm"] for name in ("glm-4.7", "spark-120b"))
    big_wafer, small_wafer = (solved[name, "wse-3"] for name in ("glm-4.7", "spark-120b"))
    floor = book.catalogue.engine("cerebras").parameters.decode_layer_floor
    assert floor is not None, "the wafers' engine has a floor of a layer"
    assert floor.band is not None, "and its band"
    return {
        "speed_table": table(
            ("model", *CHIPS),
            [[shown, *(_cell(solved[model, chip]) for chip in CHIPS)] for model, _, shown in ALONE],
        ),
        "machine_gain": number(first(big_wafer) / first(glm), 2),
        "model_gain": number(first(small) / first(glm), 2),
        "both_gain": number(first(small_wafer) / first(glm), 2),
        "glm_chips": str(glm.placement.layout.chips),
        "layer_low": f"{1e6 * floor.band[0]:.0f}",
        "layer_high": f"{1e6 * floor.band[1]:.0f}",
        "glm_wafers": str(big_wafer.placement.layout.chips),
        "glm_speed": speed(big_wafer),
        "glm_drafted": book.said("glm-speed"),
        "dense_price": _at_thousand(book, *DENSE, "the dense 20B"),
        "spread_price": _at_thousand(book, *SPREAD, "the 120B mixture"),
    }


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


def worth(book: Book) -> Words:
    """Return what a faster and less accurate answer is worth to a task."""
    full, kind, harsh = (
        book.alongside("61", label)
        for label in ("accurate option at 0.9", "fast option at 0.75", "fast option at 0.68")
    )
    sooner = [f"{name} a step" for name, runs in (("0.68", harsh), ("0.75", kind)) if runs < full]
    shown = " and ".join(sooner) if sooner else "neither"
    wafers = book.values("25")
    gains = book.concluded("20")[1:]
    served = [1000.0 * one for one in book.concluded("24")]
    return {
        "runs_full": number(full),
        "runs_kind": number(kind),
        "runs_harsh": number(harsh),
        "rerun_words": shown,
        "rerun_tools": number(book.turn("61", "tool"), 2),
        "spark_gains": f"{number(min(gains), 2)} to {number(max(gains), 2)}",
        "amdahl": number(book.values("64")[0], 2),
        "fixing": number(book.alongside("63", "break-even time of fixing"), 2),
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
    }
