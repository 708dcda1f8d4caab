"""Scores of predictions against measurements: records of the contract, and a table."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from fastcalc.evidence.points import Skipped
from fastcalc.evidence.score import Group, Prediction
from fastcalc.evidence.validate import Shipped, Validation
from fastcalc.report.console import Notes, Part, Table, render
from fastcalc.report.numbers_as_text import number
from fastcalc.report.records import Record, plain

WORST = 5
"""Points that a table names."""

MOST_BEATEN = 20
"""Points above their bound that a table names alongside those; the scores count all."""

_HEADS = [
    ("", ""),
    ("", "points"),
    ("", "sources"),
    ("median", "factor"),
    ("90 %", "within"),
    ("", "bias"),
    ("in 80 %", "range"),
    ("above", "bound"),
]


def point_record(one: Prediction) -> Record:
    """Return one predicted point, in the unit of its metric."""
    return {
        "id": one.point.id,
        "hardware": one.point.hardware,
        "model": one.point.model,
        "engine": one.point.engine or None,
        "metric": one.point.metric,
        "measured": plain(one.point.value),
        "expected": plain(one.expected),
        "low": None if one.low is None else plain(one.low),
        "high": None if one.high is None else plain(one.high),
        "bound": plain(one.bound),
        "factor": plain(one.factor),
        "engine_used": one.engine_used,
        "bound_beaten": one.beats_bound,
        "assumed": one.assumed,
    }


def group_record(one: Group) -> Record:
    """Return the scores of one group."""
    return {
        "group": one.name,
        "n": one.count,
        "median_factor": plain(one.median_factor),
        "p90_factor": plain(one.p90_factor),
        "bias": plain(one.bias),
        "coverage": plain(one.coverage),
        "bound_beaten": one.bound_beaten,
        "sources": one.sources,
    }


def json_text(found: Validation) -> str:
    """Return a validation in the shape of the contract, a line for each point."""
    parts = {
        "points": [point_record(one) for one in found.predictions],
        "skipped": [{"id": one.id, "reason": one.reason} for one in found.skipped],
        "groups": [group_record(one) for one in found.groups],
    }
    lists = [
        f'"{name}": [\n' + ",\n".join(json.dumps(one) for one in records) + "\n]"
        for name, records in parts.items()
    ]
    return '{"schema": "fastcalc-validate/1",\n' + ",\n".join(lists) + "}\n"


def table(found: Validation, name: str, width: int, *, colour: bool) -> str:
    """Return the scores of a file by class of machine, its worst points and what was left out."""
    parts: list[Part] = [f"{name}: {_counted(found)}", ""]
    parts += [_scores(found.groups), *_worst(found.predictions)]
    notes = [*_meanings(), *_left_out(found.skipped)]
    return render([*parts, "", Notes(notes)], width, colour=colour)


def shipped_table(found: Shipped, width: int, *, colour: bool) -> str:
    """Return the scores of the shipped evidence in its parts."""
    parts: list[Part] = [
        "Fitted sources, each left out in turn: engines and ranges are those of the others",
        "",
        _scores(found.fitted.groups),
        *_worst(found.fitted.predictions),
        "",
        "Sources set aside: no engine was fitted on them",
        "",
        _scores(found.set_aside.groups),
        *_worst(found.set_aside.predictions),
    ]
    notes = [
        *_meanings(),
        "SRAM machines: their engines are set from these few speeds, not fitted, so none is left "
        "out there and the factor flatters",
        "machines without an engine of their own (npu): their range is set from the same points "
        "and its coverage flatters",
        f"{len(found.suspect.predictions)} points are not believed and not counted; their reasons "
        "are in evidence/sources.yaml",
        *_left_out([*found.fitted.skipped, *found.set_aside.skipped]),
    ]
    return render([*parts, "", Notes(notes)], width, colour=colour)


def rows(groups: Sequence[Group]) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of the scores, for a document."""
    heads = [" ".join(text for text in lines if text) for lines in _HEADS]
    return heads, [_cells(one) for one in groups if _is_shown(one)]


def _is_shown(group: Group) -> bool:
    return group.name == "all" or group.name.startswith("part:")


def _counted(found: Validation) -> str:
    left = f", {len(found.skipped):,} not predicted" if found.skipped else ""
    count = len(found.predictions)
    return f"{count:,} point{'' if count == 1 else 's'} predicted{left}"


def _scores(groups: Sequence[Group]) -> Table:
    return Table(_HEADS, [_cells(one) for one in groups if _is_shown(one)], left=(0,))


def _cells(one: Group) -> list[str]:
    return [
        one.name.removeprefix("part:"),
        f"{one.count:,}",
        str(one.sources),
        f"{one.median_factor:.2f}",
        f"{one.p90_factor:.2f}",
        f"{one.bias:.2f}",
        f"{100 * one.coverage:.0f} %",
        str(one.bound_beaten),
    ]


def _worst(predictions: Sequence[Prediction]) -> Iterator[Part]:
    """Return the points that are furthest off, and those above their bound."""
    order = sorted(predictions, key=lambda one: -one.factor)
    worst = order[:WORST]
    beaten = [one for one in order[WORST:] if one.beats_bound][:MOST_BEATEN]
    if not predictions:
        return
    heads = [("point",), ("measured on",), ("metric",), ("measured",), ("expected",), ("factor",)]
    cells = [
        (
            one.point.id,
            f"{one.point.model} on {one.point.hardware}",
            one.point.metric,
            number(one.point.value),
            number(one.expected),
            f"{one.factor:.2f}" + (" above its bound" if one.beats_bound else ""),
        )
        for one in [*worst, *beaten]
    ]
    yield ""
    yield Table(heads, cells, left=(0, 1, 2))


def _meanings() -> list[str]:
    return [
        "factor: expected over measured or the other way round, whichever is above 1; "
        "bias: median of expected over measured rates, above 1 is too fast"
    ]


def _left_out(skipped: Sequence[Skipped]) -> Iterator[str]:
    for reason, count in Counter(one.reason for one in skipped).most_common(8):
        yield f"not predicted, {count}: {reason}"
