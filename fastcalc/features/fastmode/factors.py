"""The factors of a speed-up as records, and as a table with their product."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from fastcalc.features.fastmode.option import Option
from fastcalc.features.fastmode.solve import SpeedupOptions
from fastcalc.features.fastmode.waterfall import Factor, waterfall
from fastcalc.grid.column import values
from fastcalc.grid.columns import columns_from
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.parts import Notes, Part, Title
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.written import many


def cost_multiple_cell(record: Record) -> str:
    """Format a cost multiple as a table cell."""
    times = record["cost_multiple"]
    return "-" if times is None else f"{dollars(times)}x"


_VALUES: dict[str, Callable[[Any], Any]] = {
    "batch": lambda factor: factor.after.scenario.batches[0],
    "tokens_per_s_per_user": lambda factor: float(factor.after.estimate.speed[0]),
    "usd_per_mtok_output": lambda factor: factor.after.usd and float(factor.after.usd[1][0]),
}
"""Values that are not an attribute, by key."""

_FORMATS: dict[str, Callable[[Any], Any]] = {
    "speedup": lambda record: f"{number(record['speedup'])}x",
    "cost_multiple": cost_multiple_cell,
}
"""Cells with a format of their own, by key."""

COLUMNS = columns_from(__file__, _VALUES, _FORMATS)
_IN_WORDS = {"drafts": "draft tokens", "bits": "quantization"}
"""Names of techniques in sentences, where they differ from those in records."""

_TABLE = [column for column in COLUMNS if column.key != "source"]


def factors_of(solution: SpeedupOptions, choice: Option | None) -> list[Factor]:
    """Split an option's speed-up into factors, or nothing if the option misses the target."""
    return waterfall(solution.today, choice.outcome) if choice and choice.outcome else []


def factor_records(factors: Sequence[Factor]) -> list[Record]:
    """Build one record per factor, in the order of application."""
    return [plainly(values(COLUMNS, factor)) for factor in factors]


def product(factors: Sequence[Factor]) -> str:
    """Write the product of the factors as a phrase."""
    speedup = prod(factor.speedup for factor in factors)
    costs = [factor.cost_multiple for factor in factors]
    known_costs = [cost for cost in costs if cost is not None]
    law = " x ".join(f"{number(factor.speedup)} ({_in_words(factor)})" for factor in factors)
    cost = f"; cost {dollars(prod(known_costs))}x" if len(known_costs) == len(costs) else ""
    return f"{number(speedup)}x = {law}{cost}"


def _in_words(factor: Factor) -> str:
    """Name the techniques of a factor, with any change in the number of chips and the batch."""
    words = [_IN_WORDS.get(trick, trick) for trick in factor.trick.split(" + ")]
    points = factor.after, factor.before
    chips, chips_before = (point.placement.layout.chips for point in points)
    batch, batch_before = (point.scenario.batches[0] for point in points)
    if "layout" in words and chips != chips_before:
        words[words.index("layout")] = f"{many(chips, 'chip')} instead of {chips_before:,}"
    if "batch" in words and batch != batch_before:
        words[words.index("batch")] = f"batch {batch:,} instead of {batch_before:,}"
    return " + ".join(words)


def parts(factors: Sequence[Factor], width: int) -> list[Part]:
    """Return the product of the factors, a table of them, and the evidence for each."""
    sources = dict.fromkeys(f"{factor.evidence}: {factor.source}" for factor in factors)
    return [
        Title("Factors of the cheapest option", product(factors)),
        record_tables.table(_TABLE, factor_records(factors), width, {"change": 0}),
        "",
        Notes([*sources]),
    ]
