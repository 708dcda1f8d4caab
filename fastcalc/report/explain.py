"""Rows taken apart, as text that a pocket calculator can follow and as records."""

import math
from collections.abc import Callable, Iterable, Sequence

from fastcalc.core.scenario import Outcome
from fastcalc.explain import explain
from fastcalc.explain.explained import MEANINGS, Explained, ExplainedPart, Explanation
from fastcalc.explain.terms import Equation, Number, Origin
from fastcalc.formulas.types import ArrayLike
from fastcalc.report import console
from fastcalc.report.numbers_as_text import number, prefixed
from fastcalc.report.records import Record, plain

_DIGITS = 4
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
    """Return every row of some outcomes taken apart, as parts of a page."""
    parts: list[console.Part] = [console.Notes([f"how to read what follows: {_HOW_TO_READ}"]), ""]
    for outcome in outcomes:
        origins: dict[Origin, None] = {}
        for row in explain(outcome):
            for each in (row.decode, row.first):
                parts += [*_pass_parts(row, each), ""]
                origins |= dict.fromkeys(each.origins)
        parts += _sources(outcome, list(origins))
    return parts


def _pass_parts(row: Explanation, each: Explained) -> Iterable[console.Part]:
    scenario = row.outcome.scenario
    what = (
        f"{scenario.model.id} on {scenario.hardware.id}, {scenario.engine.id}, batch {row.batch:,}"
    )
    yield f"{what}: {each.name} of {_rows(each)}"
    whole = ["together", "", "", "", "", _seconds(each.seconds), "100 %"]
    rows = [*(_table_row(each, part) for part in each.parts), whole]
    yield console.Table(_HEADINGS, rows, left=(0,))
    if each.idle:
        yield console.Notes([f"no time in: {', '.join(each.idle)}"])
    if each.rates:
        yield "rates reached"
        yield console.Listing([_line(one) for one in each.rates])
    for part in each.parts:
        yield f"{part.component.name}: {MEANINGS[part.component.name]}"
        yield console.Listing([_line(one) for one in part.equations])
    yield f"together, and the {_ANSWERS[each.answer.name]}"
    yield console.Listing([_line(each.total), _line(each.answer, _as_compared)])


def _rows(each: Explained) -> str:
    """Say what is in a pass."""
    words = []
    if each.sequences:
        words.append(f"{_quantity(Number(each.sequences))} x {_plural(each.verified, 'token')}")
    if each.prompt:
        words.append(_plural(each.prompt, "prompt token"))
    return " and ".join(words)


def _plural(value: float, noun: str) -> str:
    return f"{_quantity(Number(value))} {noun}{'' if value == 1 else 's'}"


def _table_row(each: Explained, part: ExplainedPart) -> list[str]:
    work = part.component
    numbers = ((work.flops, "FLOP"), (work.bytes, "B"), (work.sent, "B"))
    amounts = [Number(float(value), unit) for value, unit in numbers]
    share = "hidden" if part.is_hidden else f"{100.0 * each.share(part):.1f} %"
    return [
        work.name,
        *("-" if one.value == 0.0 else prefixed(one.value, one.unit) for one in amounts),
        "-" if work.count == 0.0 else number(float(work.count)),
        _quantity(Number(float(work.seconds), "s")),
        share,
    ]


def _line(equation: Equation, written: Callable[[Number], str] | None = None) -> str:
    """Return ``name = expression = result`` with four digits in every number."""
    result = (written or _quantity)(equation.result)
    if equation.is_bare:
        return f"{equation.name} = {result}"
    return f"{equation.name} = {_expression(equation)} = {result}"


def _expression(equation: Equation) -> str:
    return equation.term.template.format(*(_quantity(one) for one in equation.term.numbers))


def _quantity(one: Number) -> str:
    """Return a number with its unit, as one would key it in.

    Examples
    --------
    >>> _quantity(Number(3.35e12, "B/s")), _quantity(Number(0.00245, "s")), _quantity(Number(64.0))
    ('3.35 TB/s', '2.45 ms', '64')
    """
    if one.unit == "s":
        return _seconds(one.value)
    if one.unit:
        return prefixed(one.value, one.unit, _DIGITS)
    return _count(one.value)


def _seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(value) >= factor * 0.9999:
            return f"{value / factor:.{_DIGITS}g} {unit}"
    return f"{value / 1e-9:.{_DIGITS}g} ns"


def _count(value: float) -> str:
    """Return a plain number: digits up to a million, then powers of a thousand."""
    if value == 0.0 or (value.is_integer() and abs(value) < 1e6):
        return f"{value:.0f}"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.{_DIGITS}g}"
    thousands = math.floor(math.log10(abs(value)) / 3.0)
    return f"{value / 1000.0**thousands:.{_DIGITS}g}e{3 * thousands}"


def _as_compared(one: Number) -> str:
    """Return a time in milliseconds with the digits that the comparison prints."""
    return f"{number(one.value * 1e3)} ms"


def _sources(outcome: Outcome, origins: Sequence[Origin]) -> list[console.Part]:
    """Return the numbers of the catalogue that an outcome rests on, each with its source."""
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
        "rates": [_equation_record(one) for one in each.rates],
        "components": [_component_record(each, part) for part in each.parts],
        "components_without_time": list(each.idle),
        "sum": _equation_record(each.total),
        "result": _equation_record(each.answer),
        "sources": [
            {
                "number": one.name,
                "of": one.owner,
                "value": one.text or None,
                "source": one.source,
            }
            for one in each.origins
        ],
    }


def _component_record(each: Explained, part: ExplainedPart) -> Record:
    work = part.component

    def known(value: ArrayLike) -> float | None:
        """Return a value, or None where there is nothing of it."""
        return None if value == 0.0 else plain(float(value))

    return {
        "component": work.name,
        "meaning": MEANINGS[work.name],
        "flops": known(work.flops),
        "flop_per_s": known(work.flop_rate),
        "bytes": known(work.bytes),
        "bytes_per_s": known(work.bandwidth),
        "bytes_sent": known(work.sent),
        "link_bytes_per_s": known(work.link),
        "count": known(work.count),
        "seconds_each": known(work.each),
        "seconds": plain(float(work.seconds)),
        "share": plain(each.share(part)),
        "is_hidden": part.is_hidden,
        "formulas": [_equation_record(one) for one in part.equations],
    }


def _equation_record(one: Equation) -> Record:
    return {
        "name": one.name,
        "value": plain(one.result.value),
        "unit": one.result.unit or None,
        "formula": _expression(one),
    }
