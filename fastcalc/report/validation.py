"""Scores of predictions against measurements: records of the contract, and a table."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from fastcalc.evidence.points import Skipped
from fastcalc.evidence.score import Group, Prediction
from fastcalc.evidence.validate import Shipped, Validation
from fastcalc.report import record_tables
from fastcalc.report.console import Notes, Part
from fastcalc.report.numbers_as_text import number
from fastcalc.report.record_tables import numbers, words
from fastcalc.report.records import Record, plainly

WORST = 5
"""Points that a table names."""

FEW_SOURCES = 4
"""Independent sources below which a score says little of the next one."""

FAR_OFF = 1.7
"""Factor of the 90 % mark beyond which a class is called weak."""

MOST_BEATEN = 20
"""Points above their bound that a table names alongside those; the scores count all."""

SCORES = (
    words("", lambda one: one.name.removeprefix("part:")),
    numbers("points", lambda one: f"{one.count:,}"),
    numbers("sources", lambda one: str(one.sources)),
    numbers("median|factor", lambda one: f"{one.median_factor:.2f}"),
    numbers("90 %|within", lambda one: f"{one.p90_factor:.2f}"),
    numbers("bias", lambda one: f"{one.bias:.2f}"),
    numbers("in 80 %|range", lambda one: f"{100 * one.coverage:.0f} %"),
    numbers("above|bound", lambda one: str(one.bound_beaten)),
)
"""Of a table of groups."""

_WORST = (
    words("point", lambda one: one.point.id),
    words("measured on", lambda one: f"{one.point.model} on {one.point.hardware}"),
    words("metric", lambda one: one.point.metric),
    numbers("measured", lambda one: number(one.point.value)),
    numbers("expected", lambda one: number(one.expected)),
    numbers("factor", lambda one: f"{one.factor:.2f}{' above its bound' * one.beats_bound}"),
)


_MEANING = (
    "factor: expected over measured or the other way round, whichever is above 1; "
    "bias: median of expected over measured rates, above 1 is too fast"
)


def point_record(one: Prediction) -> Record:
    """Return one predicted point, in the unit of its metric."""
    point = one.point
    return plainly(
        {
            "id": point.id,
            "hardware": point.hardware,
            "model": point.model,
            "engine": point.engine or None,
            "metric": point.metric,
            "measured": point.value,
            "expected": one.expected,
            "low": one.low,
            "high": one.high,
            "bound": one.bound,
            "factor": one.factor,
            "engine_used": one.engine_used,
            "bound_beaten": one.beats_bound,
            "assumed": one.assumed,
        }
    )


def premises(found: Validation) -> Record:
    """Return what goes with the points: those not predicted, and scores by group."""
    return {
        "skipped": [{"id": one.id, "reason": one.reason} for one in found.skipped],
        "groups": [
            plainly(
                {
                    "group": one.name,
                    "n": one.count,
                    "median_factor": one.median_factor,
                    "p90_factor": one.p90_factor,
                    "bias": one.bias,
                    "coverage": one.coverage,
                    "bound_beaten": one.bound_beaten,
                    "sources": one.sources,
                }
            )
            for one in found.groups
        ],
    }


def json_text(found: Validation) -> str:
    """Return a validation in the shape of the contract, a line for each point."""
    parts = {"points": [point_record(one) for one in found.predictions], **premises(found)}
    lists = [
        f'"{name}": [\n' + ",\n".join(json.dumps(one) for one in records) + "\n]"
        for name, records in parts.items()
    ]
    return '{"schema": "fastcalc-validate/1",\n' + ",\n".join(lists) + "}\n"


def parts(found: Validation, name: str, width: int) -> list[Part]:
    """Return the scores of a file by class of machine, its worst points and what was left out."""
    count, left = len(found.predictions), len(found.skipped)
    counted = f"{count:,} point{'' if count == 1 else 's'} predicted"
    return [
        f"{name}: {counted}{f', {left:,} not predicted' if left else ''}",
        "",
        *_scores(found, width),
        "",
        Notes([_MEANING, *_left_out(found.skipped)]),
    ]


def shipped_parts(found: Shipped, width: int) -> list[Part]:
    """Return the scores of the shipped evidence in its parts."""
    notes = [
        _MEANING,
        "SRAM machines: their engines are set from these few speeds, not fitted, so none is left "
        "out there and the factor flatters",
        *_weak(found.fitted),
        f"{len(found.suspect.predictions)} points are not believed and not counted; their reasons "
        "are in evidence/sources.yaml",
        *_left_out([*found.fitted.skipped, *found.set_aside.skipped]),
    ]
    return [
        "Fitted sources, each left out in turn: engines and ranges are those of the others",
        "",
        *_scores(found.fitted, width),
        "",
        "Sources set aside: no engine was fitted on them",
        "",
        *_scores(found.set_aside, width),
        "",
        Notes(notes),
    ]


def _weak(found: Validation) -> Iterator[str]:
    """Say of which classes little is known, and which are far off, with the sources behind each."""
    classes = [one for one in found.groups if one.name.startswith("part:")]
    few = [one for one in classes if one.sources < FEW_SOURCES]
    far = [one for one in classes if one.sources >= FEW_SOURCES and one.p90_factor > FAR_OFF]
    for groups, why in (
        (few, f"fewer than {FEW_SOURCES} sources, so the figures may be luck"),
        (far, f"a tenth of the points are off by more than {FAR_OFF:g}, so read the range"),
    ):
        if groups:
            named = "; ".join(
                f"{one.name.removeprefix('part:')} ({one.sources} "
                f"source{'s' if one.sources > 1 else ''})"
                for one in groups
            )
            yield f"weak: {named}: {why}"


def shown(groups: Sequence[Group]) -> list[Group]:
    """Return the groups that a table shows: classes of machines, and all together."""
    return [one for one in groups if one.name == "all" or one.name.startswith("part:")]


def _scores(found: Validation, width: int) -> Iterator[Part]:
    """Yield the scores, the points that are furthest off, and those above their bound."""
    yield record_tables.table(SCORES, shown(found.groups), width)
    order = sorted(found.predictions, key=lambda one: -one.factor)
    beaten = [one for one in order[WORST:] if one.beats_bound][:MOST_BEATEN]
    if order:
        yield ""
        yield record_tables.table(_WORST, [*order[:WORST], *beaten], width)


def _left_out(skipped: Sequence[Skipped]) -> Iterator[str]:
    for reason, count in Counter(one.reason for one in skipped).most_common(8):
        yield f"not predicted, {count}: {reason}"
