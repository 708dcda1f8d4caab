"""Why a deployment is slower: a verdict, the terms, measured against predicted, settings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastcalc.evidence.diagnosis.diagnose import Diagnosis, Finding
from fastcalc.evidence.diagnosis.next_point import NextPoint
from fastcalc.evidence.diagnosis.terms import PARTS
from fastcalc.evidence.score import Prediction
from fastcalc.formulas.types import Floats
from fastcalc.records.columns import Column, values
from fastcalc.report import record_tables
from fastcalc.report.charts.drawing import Chart
from fastcalc.report.charts.of_measurements import before_and_after
from fastcalc.report.console import Listing, Notes, Part
from fastcalc.report.numbers_as_text import number
from fastcalc.report.record_tables import numbers, words
from fastcalc.report.records import Record

COLUMNS: tuple[Column[Finding], ...] = (
    Column("term", "text", "what may be slower than predicted", lambda f: f.term.name),
    Column("part", "text", "what of it most likely is", lambda f: PARTS[f.part][1].name),
    Column("named", "yes or no", "whether it is named as a cause", lambda f: f.is_named),
    Column("tested", "yes or no", "whether it would show in the points", lambda f: f.is_tested),
    Column("probability", "1", "that it is slower", lambda f: _tested(f, f.probability)),
    Column("slower", "1", "how many times, where it is", lambda f: _tested(f, f.slower)),
    Column("slower_low", "1", "lower end of 80 % of that", lambda f: _tested(f, f.low)),
    Column("slower_high", "1", "upper end of 80 % of that", lambda f: _tested(f, f.high)),
    Column("shows", "text", "where it shows", lambda f: f.term.shows),
    Column("settings", "list", "what is known to change it", lambda f: list(f.term.settings)),
)
KEYS = tuple(column.key for column in COLUMNS)

TERM_TABLE = (
    words("term", lambda f: _name(f) if f.is_named else f.term.name),
    numbers("sure", lambda f: f"{100 * f.probability:.0f} %" if f.is_tested else "-"),
    numbers("slower", lambda f: f"{number(f.slower, 2)}x" if f.is_named else "-"),
    numbers("80 %", lambda f: f"{_ends(f)}" if f.is_named else "-"),
    words("", lambda f: "named" if f.is_named else ("" if f.is_tested else "not tested")),
)

_SURELY = ((0.95, "almost certainly"), (0.8, "very likely"), (0.5, "likely"), (0.0, "perhaps"))
_FASTER = 0.9  # median of measured over predicted time below which that is said
_MOST_LINES = 12  # points that are drawn
_WIDTH = 25  # characters of the picture
_FURTHEST = 8.0  # times slower that it reaches


def _tested(finding: Finding, value: float) -> float | None:
    return value if finding.is_tested else None


def _name(finding: Finding) -> str:
    return f"{finding.term.name} {PARTS[finding.part][1].name}".strip()


def _ends(finding: Finding) -> str:
    return f"{number(finding.low, 2)} to {number(finding.high, 2)}"


def records(diagnosis: Diagnosis) -> list[Record]:
    """Return a record for each term."""
    return [values(COLUMNS, finding) for finding in diagnosis.findings]


def premises(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return what stands alongside the records: the verdict, the points, what to measure next."""
    after = _after(diagnosis)
    points = [
        {
            "id": prediction.point.id,
            "metric": prediction.point.metric,
            "measured": prediction.point.value,
            "expected": prediction.expected,
            "expected_as_named": expected,
        }
        for prediction, expected in zip(diagnosis.predictions, after.tolist(), strict=True)
    ]
    further = diagnosis.further and _request(diagnosis.further)
    return {
        "verdict": diagnosis.verdict,
        "sentence": verdict(diagnosis),
        "nothing_probability": diagnosis.belief.nothing,
        "points": points,
        "next_point": further,
        "set_aside": list(diagnosis.set_aside),
    }


def parts(
    diagnosis: Diagnosis, file: str, notes: Sequence[str], next_command: str, width: int
) -> list[Part]:
    """Return the page: what was given, what differs, before and after, what to do about it."""
    first = diagnosis.predictions[0]
    chips = sorted({p.point.chips or p.point.tp or 1 for p in diagnosis.predictions})
    count = len(diagnosis.predictions)
    setting = (
        f"{file}: {count} point{'s' * (count > 1)} of {first.point.model} on "
        f"{' and '.join(map(str, chips))} {first.point.hardware}, engine {first.engine_used}"
    )
    page: list[Part] = [setting, "", verdict(diagnosis), ""]
    page += [record_tables.table(TERM_TABLE, diagnosis.findings, width), ""]
    page += ["Measured time over predicted: o before, * with what is named", ""]
    page += [*_picture(diagnosis, width), ""]
    settings = [text for f in diagnosis.findings if f.is_named for text in f.term.settings]
    if settings:
        page += ["Settings known to change it", "", Listing(list(dict.fromkeys(settings))), ""]
    further = [_measure_next(diagnosis.further)] if diagnosis.further else []
    return [*page, Notes([*further, *notes], next_command)]


def chart(diagnosis: Diagnosis) -> Chart:
    """Return speeds predicted over measured, before and with what is named."""
    points = [prediction.point for prediction in diagnosis.predictions]
    phases = [prediction.phase for prediction in diagnosis.predictions]
    batches = diagnosis.belief.slowdowns.batches
    lengths = np.array([point.prompt or np.nan for point in points])
    before = np.exp(diagnosis.belief.slowdowns.residuals)
    high, after, low = (before / slower for slower in diagnosis.slower)
    return before_and_after(
        f"Before and after a diagnosis: {points[0].model} on {points[0].hardware}",
        phases,
        np.where(np.array(phases) == "prefill", lengths, batches),
        before,
        after,
        (low, high),
        [verdict(diagnosis)],
    )


def verdict(diagnosis: Diagnosis) -> str:
    """Return what differs and how surely, that nothing does, or that the points are too few."""
    slowdown = float(np.median(np.exp(diagnosis.belief.slowdowns.residuals)))
    if diagnosis.verdict == "differs":
        first, *further = (finding for finding in diagnosis.findings if finding.is_named)
        sentence = f"{_surely(first.probability).capitalize()}, {_slower(first)}"
        return sentence + "".join(
            f"; {_surely(finding.probability)}, {_slower(finding)}" for finding in further
        )
    count = len(diagnosis.predictions)
    amount = f"measured times are {number(slowdown, 3)} of those predicted in the median"
    if diagnosis.verdict == "nothing":
        tail = ", so it is faster than most" if slowdown < _FASTER else ""
        return f"Nothing differs from what is normal: {amount}{tail}"
    subject = "One point is" if count == 1 else f"{count} points are"
    return f"{subject} too few to tell what differs: {amount}"


def _slower(finding: Finding) -> str:
    amount = f"{number(finding.slower, 2)} times {finding.term.worse} ({_ends(finding)})"
    return f"{_name(finding)} {amount}"


def _surely(probability: float) -> str:
    return next(word for threshold, word in _SURELY if probability >= threshold)


def _after(diagnosis: Diagnosis) -> Floats:
    """Return what is expected of each point with what is named, in the unit of its metric."""
    expected = np.array([prediction.expected for prediction in diagnosis.predictions])
    is_time = np.array([prediction.point.is_time for prediction in diagnosis.predictions])
    slower: Floats = diagnosis.slower[1]
    return np.where(is_time, expected * slower, expected / slower)


def _request(further: NextPoint) -> dict[str, Any]:
    point = further.point
    return {
        "metric": point.metric,
        "concurrency": point.concurrency,
        "prompt": point.prompt,
        "output": point.output,
        "tp": point.tp,
        "slower_by_cause": further.slower,
    }


_METRICS = {"ttft_s": "the time to the first token", "tokens_per_s_total": "tokens/s"}


def _measure_next(further: NextPoint) -> str:
    point = further.point
    causes = ", ".join(f"{number(slower, 2)}x by {name}" for name, slower in further.slower.items())
    return (
        f"one more point would tell most: {_METRICS[point.metric]} at concurrency "
        f"{point.concurrency}, prompt {point.prompt:,.0f}, output {point.output:,.0f}, tp "
        f"{point.tp or 1} (slower {causes})"
    )


def _picture(diagnosis: Diagnosis, width: int) -> list[Part]:
    """Return a line for each point: measured, predicted, and where it stands before and after.

    Of many points, those that are furthest off.
    """
    residuals = diagnosis.belief.slowdowns.residuals
    furthest = set(np.argsort(-np.abs(residuals))[:_MOST_LINES].tolist())
    before = np.exp(residuals)
    lines = zip(diagnosis.predictions, before, before / diagnosis.slower[1], strict=True)
    rows = [line for place, line in enumerate(lines) if place in furthest]
    columns = (
        words("point", lambda row: _about(row[0])),
        numbers("measured", lambda row: number(row[0].point.value)),
        numbers("predicted", lambda row: number(row[0].expected)),
        numbers("o", lambda row: f"{number(row[1], 2)}x"),
        numbers("*", lambda row: f"{number(row[2], 2)}x"),
        words(f"0.5x     1x{'8x':>{_WIDTH - 11}}", lambda row: _line(row[1], row[2])),
    )
    hidden = len(residuals) - len(rows)
    remainder = [f"and {hidden:,} points that are less far off"] if hidden else []
    return [record_tables.table(columns, rows, width), *remainder]


_SHORT = {"tokens_per_s_total": "tok/s", "tokens_per_s_per_user": "tok/s a user"}


def _about(prediction: Prediction) -> str:
    point = prediction.point
    name = _SHORT.get(point.metric, point.metric.removesuffix("_s").replace("_", " "))
    return f"{name} at {point.concurrency or 'all'}"


def _line(before: float, after: float) -> str:
    """Return where a point stands, on a logarithmic axis from half to eight times as predicted."""
    signs = [" "] * _WIDTH
    for times, sign in ((1.0, "|"), (before, "o"), (after, "*")):
        share = np.log(np.clip(times, 0.5, _FURTHEST) / 0.5) / np.log(_FURTHEST / 0.5)
        signs[round(float(share) * (_WIDTH - 1))] = sign
    return "".join(signs).rstrip()
