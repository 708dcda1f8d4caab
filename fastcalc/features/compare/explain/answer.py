"""Explain rows of a comparison, as formulas to check with a calculator and as records."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from fastcalc.core.outcome import Outcome
from fastcalc.features.compare.explain.explained import Explained, Explanation
from fastcalc.features.compare.explain.memory import memory_equations
from fastcalc.features.compare.explain.passes import explain, fitting
from fastcalc.features.compare.explain.terms import Equation, Number, Origin, origins_of
from fastcalc.grid.columns import undetermined_keys
from fastcalc.kit.answer.memories import kept_note
from fastcalc.kit.answer.numbers_as_text import number, prefixed
from fastcalc.kit.answer.parts import Listing, Notes, Part, TextTable
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.kit.answer.record_tables import marked
from fastcalc.mentions import option
from fastcalc.written import listed

_DIGITS = 4
_MOST = 8
"""Maximum number of batches explained per chip on a page. Each takes a screen or two."""

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
    "bytes and FLOPs are per chip, except in layer sweeps and bounds, which count all chips. "
    "Context lengths are means over a request. "
    "min8(a, b) is a smooth minimum, a / (1 + (a / b)^8)^(1 / 8)"
)


def explanation_parts(outcomes: Sequence[Outcome]) -> list[Part]:
    """Build the elements of a page that explain at most `_MOST` rows of each outcome."""
    blocks: list[Part] = [Notes([f"in the following formulas, {_HOW_TO_READ}"]), ""]
    for outcome in outcomes:
        memory = memory_equations(outcome.placement)
        origins = dict.fromkeys(origins_of(memory))
        scenario, layout = outcome.scenario, outcome.placement.layout
        names = f"{scenario.model.id} on {scenario.hardware.id}, {scenario.engine.id}"
        chips = "its chip" if layout.chips == 1 else f"each of {layout.chips:,} chips ({layout})"
        lines = Listing([_line(equation) for equation in memory])
        blocks += [f"{names}: memory of {chips}", lines, Notes([kept_note(outcome)]), ""]
        batches = fitting(outcome)
        shown = spread(batches)
        if len(shown) < len(batches):
            blocks += [
                f"{scenario.hardware.id}: {len(shown)} of the {len(batches):,} batches "
                f"that fit are explained; choose others with {option('batch')}; "
                f"{option('format', 'json')} has all",
                "",
            ]
        for row in explain(outcome, shown):
            for forward_pass in (row.decode, row.first):
                blocks += [*_pass_parts(row, forward_pass), ""]
                origins |= dict.fromkeys(forward_pass.origins)
        blocks += _sources(outcome, list(origins))
    return blocks


def spread(batches: Sequence[int]) -> list[int]:
    """Return the batches to explain, or a sample of them if there are too many.

    >>> spread(range(1, 129))
    [1, 2, 4, 8, 16, 32, 64, 128]
    """
    if len(batches) <= _MOST:
        return list(batches)
    steps = np.geomspace(min(batches), max(batches), _MOST)
    nearest = (min(batches, key=lambda batch: abs(batch - step)) for step in steps)
    return list(dict.fromkeys(nearest))


def _pass_parts(row: Explanation, forward_pass: Explained) -> Iterable[Part]:
    scenario = row.outcome.scenario
    setup = (
        f"{scenario.model.id} on {scenario.hardware.id}, {scenario.engine.id}, batch {row.batch:,}"
    )
    contents = []
    if forward_pass.sequences:
        sequences, tokens = _quantity(Number(forward_pass.sequences)), forward_pass.verified
        noun = "decode token" if forward_pass.prompt else "sequence"
        decoded = _plural(forward_pass.sequences, noun)
        contents.append(decoded if tokens == 1 else f"{sequences} x {_plural(tokens, 'token')}")
    if forward_pass.prompt:
        contents.append(_plural(forward_pass.prompt, "prompt token"))
    yield f"{setup}: {forward_pass.name} of {listed(contents)}"
    rows = []
    for component in forward_pass.parts:
        work, share = component.component, f"{100.0 * forward_pass.share(component):.1f}%"
        amounts = ((work.flops, "FLOP"), (work.bytes, "B"), (work.sent, "B"))
        cells = [prefixed(float(value), unit) if value else "-" for value, unit in amounts]
        cells += [number(float(work.count)) if work.count else "-", _seconds(float(work.seconds))]
        rows.append([work.name, *cells, "hidden" if component.is_hidden else share])
    rows.append(["total", "", "", "", "", _seconds(forward_pass.seconds), "100%"])
    yield TextTable(_HEADINGS, rows, left=(0,), key_figures=(5,))
    if forward_pass.idle:
        yield Notes([f"components that take no time here: {', '.join(forward_pass.idle)}"])
    if forward_pass.rates:
        yield "rates reached"
        yield Listing([_line(equation) for equation in forward_pass.rates])
    for component in forward_pass.parts:
        yield f"{component.component.name}: {component.meaning}"
        yield Listing([_line(equation) for equation in component.equations])
    yield f"total, and {_ANSWERS[forward_pass.answer.name]}"
    # In milliseconds, with as many digits as in the comparison.
    answer, machine = forward_pass.answer, row.outcome.placement.machine
    is_unsure = answer.name.lower() + "_ms" in undetermined_keys(machine)
    compared = marked(number(answer.result.value * 1e3), is_unsure=is_unsure) + " ms"
    yield Listing([_line(forward_pass.total), _line(answer, compared)])


def _plural(value: float, noun: str) -> str:
    return f"{_quantity(Number(value))} {noun}{'' if value == 1 else 's'}"


def _line(equation: Equation, result: str = "") -> str:
    """Format ``name = expression = result`` with four digits per number."""
    result_text = result or _quantity(equation.result)
    if equation.is_bare:
        return f"{equation.name} = {result_text}"
    return f"{equation.name} = {_expression(equation)} = {result_text}"


def _expression(equation: Equation) -> str:
    return equation.term.template.format(*(_quantity(operand) for operand in equation.term.numbers))


def _quantity(quantity: Number) -> str:
    """Format a number and its unit for a calculator. Large counts use powers of 1,000.

    >>> _quantity(Number(3.35e12, "B/s")), _quantity(Number(0.00245, "s")), _quantity(Number(64.0))
    ('3.35 TB/s', '2.45 ms', '64')
    """
    if quantity.unit == "s":
        return _seconds(quantity.value)
    if quantity.unit:
        return prefixed(quantity.value, quantity.unit, _DIGITS)
    value = quantity.value
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


def _sources(outcome: Outcome, origins: Sequence[Origin]) -> list[Part]:
    if not origins:
        return []
    scenario = outcome.scenario
    lines = []
    for owner in dict.fromkeys(origin.owner for origin in origins):
        owned = [origin for origin in origins if origin.owner == owner]
        for source in dict.fromkeys(origin.source for origin in owned):
            written = [origin for origin in owned if origin.source == source and origin.text]
            figures = list(dict.fromkeys(f"{origin.name} {origin.text}" for origin in written))
            if len(written) < len([origin for origin in owned if origin.source == source]):
                figures.append("parameters, layers, caches and FLOPs counted from its shape")
            lines.append(f"{owner}: {', '.join(figures)}: {source}")
    title = f"sources of the numbers for {scenario.model.id} on {scenario.hardware.id}"
    return [title, Notes(lines), ""]


# -- records ----------------------------------------------------------------------------


_WORK = {
    "flops": "flops",
    "flop_per_s": "flop_rate",
    "bytes": "bytes",
    "bytes_per_s": "bandwidth",
    "bytes_sent": "sent",
    "link_bytes_per_s": "link",
    "count": "count",
    "seconds_each": "seconds_each",
}
"""Record keys for the numbers of a component."""


def explanation_records(outcomes: Sequence[Outcome]) -> list[Record]:
    """Build one record per forward pass of each row that fits, in SI units."""
    return [
        {
            "hardware": scenario.hardware.id,
            "model": scenario.model.id,
            "engine": scenario.engine.id,
            "batch": row.batch,
            "pass": forward_pass.name,
            "sequences": plain(forward_pass.sequences),
            "tokens_of_each": plain(forward_pass.verified),
            "prompt_tokens": plain(forward_pass.prompt),
            "seconds": plain(forward_pass.seconds),
            "rates": list(map(_equation_record, forward_pass.rates)),
            "components": [
                {
                    "component": component.component.name,
                    "meaning": component.meaning,
                    # A category without bytes is null.
                    **{
                        k: plain(float(getattr(component.component, v))) or None
                        for k, v in _WORK.items()
                    },
                    "seconds": plain(float(component.component.seconds)),
                    "share": plain(forward_pass.share(component)),
                    "is_hidden": component.is_hidden,
                    "formulas": list(map(_equation_record, component.equations)),
                }
                for component in forward_pass.parts
            ],
            "components_without_time": list(forward_pass.idle),
            "sum": _equation_record(forward_pass.total),
            "result": _equation_record(forward_pass.answer),
            "sources": list(map(_origin_record, forward_pass.origins)),
        }
        for outcome in outcomes
        for scenario in [outcome.scenario]
        for row in explain(outcome)
        for forward_pass in (row.decode, row.first)
    ]


def memory_records(outcomes: Sequence[Outcome]) -> list[Record]:
    """Build one record per outcome with the chip memory left for KV caches, in bytes."""
    return [
        {
            "hardware": outcome.scenario.hardware.id,
            "model": outcome.scenario.model.id,
            "engine": outcome.scenario.engine.id,
            "chips": outcome.placement.layout.chips,
            "formulas": list(map(_equation_record, memory)),
            "basis": kept_note(outcome),
            "sources": list(map(_origin_record, origins_of(memory))),
        }
        for outcome in outcomes
        for memory in [memory_equations(outcome.placement)]
    ]


def _origin_record(origin: Origin) -> Record:
    return {
        "number": origin.name,
        "of": origin.owner,
        "value": origin.text or None,
        "source": origin.source,
    }


def _equation_record(equation: Equation) -> Record:
    return {
        "name": equation.name,
        "value": plain(equation.result.value),
        "unit": equation.result.unit or None,
        "formula": _expression(equation),
    }
