"""The screen of a diagnosis: what was given, what differs, before and after, and what to do."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fastcalc.evidence.point import Point
from fastcalc.evidence.score import Prediction
from fastcalc.features.measure.diagnosis.diagnose import Diagnosis
from fastcalc.features.measure.diagnosis.next_point import NextPoint
from fastcalc.features.measure.diagnosis.start import GIB, MOST_CAUSES, Start
from fastcalc.features.measure.diagnosis.terms import RUNNING, TERMS
from fastcalc.features.measure.diagnosis_answer import (
    DiagnosisAnswer,
    by_default,
    sentence,
    verdict,
)
from fastcalc.grid.columns import key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Listing, Notes, Part, Remark, Screen, on_one_screen
from fastcalc.kit.answer.numbers_as_text import number, whole_percent
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.charts.of_measurements import before_and_after
from fastcalc.mentions import option
from fastcalc.written import listed, many

_MOST_LINES = 6  # points that are drawn, so that all fits one screen
_WIDTH = 25  # characters of the picture
_NUMBERS = 53  # and of the columns before it
_FURTHEST = 8.0  # times slower that it reaches


def parts(
    answer: DiagnosisAnswer, notes: Sequence[str], next_command: str, screen: Screen
) -> list[Part]:
    """Return the page: what was given, what differs, before and after, what to do about it."""
    return on_one_screen(partial(_page, answer, notes, next_command, screen), screen)


def _page(
    answer: DiagnosisAnswer, notes: Sequence[str], next_command: str, screen: Screen, count: int
) -> list[Part]:
    """Return the page with so many settings and one."""
    diagnosis, start, settings = answer.diagnosis, answer.start, answer.settings
    shown = settings if screen.notes or screen.wide else settings[: count + 1]
    page: list[Part] = [*_given(answer), "", sentence(answer), ""]
    more: list[str] = []
    if diagnosis:
        page += [*_picture(diagnosis, screen.width), ""]
        more = [_unnamed(diagnosis)]
    if shown:
        page += ["Settings known to change it", Listing(shown)]
    if hidden := len(settings) - len(shown):
        count_hidden = f"{many(hidden, 'more setting')} with {option('notes')}"
        more = ["; ".join([*more, count_hidden])]
    if diagnosis and diagnosis.further:
        more += [_measure_next(diagnosis.further)]
    if start:
        more += [cause.sentence for cause in start.causes[MOST_CAUSES:]]
    return [*page, Notes([*more, *notes], next_command)]


def _given(answer: DiagnosisAnswer) -> Iterator[Remark]:
    """Yield a line on the points, and on the log."""
    if answer.diagnosis:
        predictions = answer.diagnosis.predictions
        first, count = predictions[0], len(predictions)
        chips = sorted({p.point.chips or p.point.tp or 1 for p in predictions})
        yield Remark(
            f"{answer.file}: {many(count, 'point')} of {first.point.model} on "
            f"{listed([*map(str, chips)])} {first.point.hardware}, engine {first.engine_used}"
        )
    if answer.start:
        yield Remark(f"{answer.log_file}: {_logged(answer.start)}")


def _logged(start: Start) -> str:
    """Return what was started, and how much its caches hold."""
    log, scenario = start.log, start.scenario
    name = f"{log.program} {log.version}".strip()
    layout = f"{scenario.model.id} on {start.placement.layout.chips} {scenario.hardware.id}"
    phrase = f"{name}, {layout}, cache {scenario.work.kv_format}"
    if log.tokens and start.tokens:
        logged, expected, unit = (
            f"{log.tokens:,}",
            [f"{round(n):,}" for n in start.tokens],
            "tokens",
        )
    elif log.available:
        logged, expected, unit = (
            f"{log.available / GIB:.1f}",
            [f"{memory / GIB:.1f}" for memory in start.room],
            "GiB a chip",
        )
    else:
        tokens = f" of {log.tokens:,} tokens" if log.tokens else ""
        return f"{phrase}{tokens}; it does not say how much memory that has"
    low, middle, high = expected
    within = f" ({low} to {high})" * (low != high)
    return f"{phrase} of {logged} {unit}, {middle} expected{within} with its settings"


def _unnamed(diagnosis: Diagnosis) -> str:
    """Return how likely each term is that is not named, and which no point tests."""
    unseen = dict.fromkeys(TERMS, "not tested")
    if diagnosis.has_room:
        unseen[RUNNING] = "as logged"
    within = diagnosis.terms_within_named
    terms = [
        f"{f.term.name}{' alone' * (f.term in within)} "
        f"{whole_percent(f.probability) if f.is_tested else unseen[f.term]}"
        for f in diagnosis.findings
        if not f.is_named
    ]
    return f"not named: {', '.join(terms)}"


_METRICS = {"ttft_s": "TTFT", "tokens_per_s_total": "tokens/s"}


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
    after = np.exp(diagnosis.belief.slowdowns.residuals) / diagnosis.slower[1]
    furthest = set(np.argsort(-np.abs(np.log(diagnosis.before)))[:_MOST_LINES].tolist())
    lines = zip(diagnosis.predictions, diagnosis.before, after, strict=True)
    rows = [line for place, line in enumerate(lines) if place in furthest]
    columns = (
        words("point", lambda row: _about(row[0])),
        numbers("measured", lambda row: number(_SCALE[row[0].point.is_time] * row[0].point.value)),
        numbers("predicted", lambda row: number(_predicted(row[0].point, row[1]))),
        key_figure(numbers("before|o", lambda row: f"{number(row[1], 2)}x")),
        numbers("after|*", lambda row: f"{number(row[2], 2)}x"),
        words(
            f"measured time over predicted|0.5x     1x{'8x':>{_WIDTH - 11}}",
            lambda row: _line(row[1], row[2]),
        ),
    )
    hidden = diagnosis.before.size - len(rows)
    remainder = [f"and {hidden:,} points that are less far off"] if hidden else []
    is_drawn = width >= _WIDTH + _NUMBERS
    return [record_tables.table(columns[: None if is_drawn else -1], rows, width), *remainder]


_SCALE = {True: 1e3, False: 1.0}
"""What times are multiplied with, which are shown in ms, and rates. [1]"""
_SHORT = {
    "tokens_per_s_total": "tok/s",
    "tokens_per_s_per_user": "tok/s per user",
    "tokens_per_s_per_chip": "tok/s per chip",
    "prefill_tokens_per_s": "prefill tok/s",
    "ttft_s": "TTFT ms",
    "tpot_s": "TPOT ms",
}


def _predicted(point: Point, times: float) -> float:
    return _SCALE[point.is_time] * by_default(point, times)


def _about(prediction: Prediction) -> str:
    point = prediction.point
    return f"{_SHORT[point.metric]} at {point.concurrency or 'all'}"


def _line(before: float, after: float) -> str:
    """Return where a point stands, on a logarithmic axis from half to eight times as predicted."""
    signs = [" "] * _WIDTH
    for times, sign in ((1.0, "|"), (before, "o"), (after, "*")):
        share = np.log(np.clip(times, 0.5, _FURTHEST) / 0.5) / np.log(_FURTHEST / 0.5)
        signs[round(float(share) * (_WIDTH - 1))] = sign
    return "".join(signs).rstrip()


def chart(diagnosis: Diagnosis) -> Chart:
    """Return speeds predicted over measured, before and with what is named."""
    points = [prediction.point for prediction in diagnosis.predictions]
    phases = [prediction.phase for prediction in diagnosis.predictions]
    batches = diagnosis.belief.slowdowns.batches
    lengths = np.array([point.prompt or np.nan for point in points])
    now = np.exp(diagnosis.belief.slowdowns.residuals)
    high, after, low = (now / slower for slower in diagnosis.slower)
    drawn = before_and_after(
        f"Before and after a diagnosis: {points[0].model} on {points[0].hardware}",
        phases,
        np.where(np.array(phases) == "prefill", lengths, batches),
        diagnosis.before,
        after,
        (low, high),
    )
    engines = listed(sorted({p.engine_used for p in diagnosis.predictions}))
    return replace(drawn, finding=f"{verdict(diagnosis)}.", grounds=f"Engines: {engines}.")
