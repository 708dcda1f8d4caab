"""Rows taken apart, as text that a pocket calculator can follow and as records."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from fastcalc.core.scenario import Outcome
from fastcalc.core.undetermined import undetermined_keys
from fastcalc.explain import explain, fitting
from fastcalc.explain.explained import MEANINGS, Explained, ExplainedPart, Explanation
from fastcalc.explain.terms import Equation, Number, Origin
from fastcalc.report import console
from fastcalc.report.numbers_as_text import number, prefixed
from fastcalc.report.record_tables import marked
from fastcalc.report.records import Record, plain

_DIGITS = 4
_MOST = 8
"""Batches of a chip that a page explains: each takes a screen or two."""

_HEADINGS = [
    ("", "component"),
    ("", "FLOPs"),
    ("bytes", "read"),
    ("bytes", "sent"),
    ("launches,", "messages"),
    ("", "time"),
    ("", "share"),
]
_ANSWERS = {"TPOT": "time per output token", "TTFT": "time to the first token"}
_HOW_TO_READ = (
    "bytes and FLOPs are of one chip, for sweeps of regions and for a bound of all chips together; "
    "tokens attended to are means over a request; "
    "min8(a, b) is a / (1 + (a / b)^8)^(1 / 8), a minimum with a rounded corner"
)


def explanation_parts(outcomes: Sequence[Outcome]) -> list[console.Part]:
    """Return rows of some outcomes taken apart, `_MOST` of each at most, as parts of a page."""
    parts: list[console.Part] = [console.Notes([f"how to read what follows: {_HOW_TO_READ}"]), ""]
    for outcome in outcomes:
        origins: dict[Origin, None] = {}
        batches = fitting(outcome)
        shown = spread(batches)
        if len(shown) < len(batches):
            parts += [
                f"{outcome.scenario.hardware.id}: {len(shown)} of the {len(batches):,} batches "
                "that fit are explained; --batch names others, and --format json has all",
                "",
            ]
        for row in explain(outcome, shown):
            for each in (row.decode, row.first):
                parts += [*_pass_parts(row, each), ""]
                origins |= dict.fromkeys(each.origins)
        parts += _sources(outcome, list(origins))
    return parts


def spread(batches: Sequence[int]) -> list[int]:
    """Return the batches to explain: all where they are few, else some from the least to the most.

    >>> spread(range(1, 129))
    [1, 2, 4, 8, 16, 32, 64, 128]
    """
    if len(batches) <= _MOST:
        return list(batches)
    steps = np.geomspace(min(batches), max(batches), _MOST)
    nearest = (min(batches, key=lambda batch: abs(batch - step)) for step in steps)
    return list(dict.fromkeys(nearest))


def _pass_parts(row: Explanation, each: Explained) -> Iterable[console.Part]:
    scenario = row.outcome.scenario
    what = (
        f"{scenario.model.id} on {scenario.hardware.id}, {scenario.engine.id}, batch {row.batch:,}"
    )
    held = []
    if each.sequences:
        held.append(f"{_quantity(Number(each.sequences))} x {_plural(each.verified, 'token')}")
    if each.prompt:
        held.append(_plural(each.prompt, "prompt token"))
    yield f"{what}: {each.name} of {' and '.join(held)}"
    whole = ["together", "", "", "", "", _seconds(each.seconds), "100 %"]
    rows = [*(_table_row(each, part) for part in each.parts), whole]
    yield console.TextTable(_HEADINGS, rows, left=(0,))
    if each.idle:
        yield console.Notes([f"no time in: {', '.join(each.idle)}"])
    if each.rates:
        yield "rates reached"
        yield console.Listing([_line(one) for one in each.rates])
    for part in each.parts:
        yield f"{part.component.name}: {MEANINGS[part.component.name]}"
        yield console.Listing([_line(one) for one in part.equations])
    yield f"together, and the {_ANSWERS[each.answer.name]}"
    # In milliseconds, with the digits that the comparison prints.
    is_unsure = each.answer.name.lower() + "_ms" in undetermined_keys(row.outcome.placement.machine)
    compared = marked(number(each.answer.result.value * 1e3), is_unsure=is_unsure) + " ms"
    yield console.Listing([_line(each.total), _line(each.answer, compared)])


def _plural(value: float, noun: str) -> str:
    return f"{_quantity(Number(value))} {noun}{'' if value == 1 else 's'}"


def _table_row(each: Explained, part: ExplainedPart) -> list[str]:
    work = part.component
    amounts = ((float(work.flops), "FLOP"), (float(work.bytes), "B"), (float(work.sent), "B"))
    return [
        work.name,
        *(prefixed(value, unit) if value else "-" for value, unit in amounts),
        number(float(work.count)) if work.count else "-",
        _seconds(float(work.seconds)),
        "hidden" if part.is_hidden else f"{100.0 * each.share(part):.1f} %",
    ]


def _line(equation: Equation, result: str = "") -> str:
    """Return ``name = expression = result`` with four digits in every number."""
    found = result or _quantity(equation.result)
    if equation.is_bare:
        return f"{equation.name} = {found}"
    return f"{equation.name} = {_expression(equation)} = {found}"


def _expression(equation: Equation) -> str:
    return equation.term.template.format(*(_quantity(one) for one in equation.term.numbers))


def _quantity(one: Number) -> str:
    """Return a number with its unit, as one would key it in; large counts in powers of 1,000.

    >>> _quantity(Number(3.35e12, "B/s")), _quantity(Number(0.00245, "s")), _quantity(Number(64.0))
    ('3.35 TB/s', '2.45 ms', '64')
    """
    if one.unit == "s":
        return _seconds(one.value)
    if one.unit:
        return prefixed(one.value, one.unit, _DIGITS)
    value = one.value
    if value == 0.0 or (value.is_integer() and abs(value) < 1e6):
        return f"{value:.0f}"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.{_DIGITS}g}"
    thousands = math.floor(math.log10(abs(value)) / 3.0)
    return f"{value / 1000.0**thousands:.{_DIGITS}g}e{3 * thousands}"


def _seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(value) >= factor * 0.9999:
            return f"{value / factor:.{_DIGITS}g} {unit}"
    return f"{value / 1e-9:.{_DIGITS}g} ns"


def _sources(outcome: Outcome, origins: Sequence[Origin]) -> list[console.Part]:
    if not origins:
        return []
    scenario = outcome.scenario
    lines = []
    for owner in dict.fromkeys(one.owner for one in origins):
        held = [one for one in origins if one.owner == owner]
        for source in dict.fromkeys(one.source for one in held):
            written = [one for one in held if one.source == source and one.text]
            named = list(dict.fromkeys(f"{one.name} {one.text}" for one in written))
            if len(written) < len([one for one in held if one.source == source]):
                named.append("parameters, layers, caches and FLOPs counted from its shape")
            lines.append(f"{owner}: {', '.join(named)}: {source}")
    title = f"sources of the numbers of {scenario.model.id} on {scenario.hardware.id}"
    return [title, console.Notes(lines), ""]


# -- records ----------------------------------------------------------------------------


_WORK = {
    "flops": "flops",
    "flop_per_s": "flop_rate",
    "bytes": "bytes",
    "bytes_per_s": "bandwidth",
    "bytes_sent": "sent",
    "link_bytes_per_s": "link",
    "count": "count",
    "seconds_each": "each",
}
"""Numbers of a component by their keys."""


def explanation_records(outcomes: Sequence[Outcome]) -> list[Record]:
    """Return one record for each pass of each row that fits, in SI units."""
    return [
        _record(row, each)
        for outcome in outcomes
        for row in explain(outcome)
        for each in (row.decode, row.first)
    ]


def _record(row: Explanation, each: Explained) -> Record:
    scenario = row.outcome.scenario
    return {
        "hardware": scenario.hardware.id,
        "model": scenario.model.id,
        "engine": scenario.engine.id,
        "batch": row.batch,
        "pass": each.name,
        "sequences": plain(each.sequences),
        "tokens_of_each": plain(each.verified),
        "prompt_tokens": plain(each.prompt),
        "seconds": plain(each.seconds),
        "rates": list(map(_equation_record, each.rates)),
        "components": [
            {
                "component": part.component.name,
                "meaning": MEANINGS[part.component.name],
                # Nothing of a kind is null.
                **{k: plain(float(getattr(part.component, v))) or None for k, v in _WORK.items()},
                "seconds": plain(float(part.component.seconds)),
                "share": plain(each.share(part)),
                "is_hidden": part.is_hidden,
                "formulas": list(map(_equation_record, part.equations)),
            }
            for part in each.parts
        ],
        "components_without_time": list(each.idle),
        "sum": _equation_record(each.total),
        "result": _equation_record(each.answer),
        "sources": [
            {"number": one.name, "of": one.owner, "value": one.text or None, "source": one.source}
            for one in each.origins
        ],
    }


def _equation_record(one: Equation) -> Record:
    return {
        "name": one.name,
        "value": plain(one.result.value),
        "unit": one.result.unit or None,
        "formula": _expression(one),
    }
