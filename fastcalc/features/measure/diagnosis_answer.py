"""The answer of `diagnose`: verdict, terms, measured against predicted times, and settings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import zip_longest

import numpy as np

from fastcalc.evidence.point import Point
from fastcalc.features import request_of
from fastcalc.features.measure.diagnosis.diagnose import Diagnosis, TermFinding
from fastcalc.features.measure.diagnosis.start import MOST_CAUSES, Cause, Start, stated_settings
from fastcalc.features.measure.diagnosis.terms import EAGER, NEWER_RELEASE, OLD_RELEASE, TERMS
from fastcalc.features.measure.diagnosis_words import (
    logged,
    measure_next,
    unnamed,
    verdict,
    verdict_by_log,
)
from fastcalc.features.measure.request import Diagnose
from fastcalc.features.measure.stopped_answer import typed_setting
from fastcalc.features.measure.term_rows import COLUMNS, TermRow
from fastcalc.grid.column import TableColumn, key_figure, values
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Charts, Screen, on_one_screen
from fastcalc.kit.answer.next_commands import follow_up
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.parts import Listing, Notes, Part, Remark, sentence
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import flag, option
from fastcalc.written import listed, many

_MOST_LINES = 6  # most measurements in the plot, so that all fits on one screen
_AXIS = "0.5x 1x   2x   4x   8x"  # five characters per factor of two
_WIDTH = 21  # width of the plot in characters, up to the last axis mark
_NUMBERS = 37  # width of the columns before it, without names
_FURTHEST = 8.0  # largest slowdown on the axis


@dataclass(frozen=True, eq=False, kw_only=True)
class DiagnosisAnswer(Answer):
    """Answer of ``diagnose``, from measurements, a start-up log, or both.

    left_aside : Sentences on measurements that are not used.
    ranks : The ranks of the deployment, if only the log contains them.
    """

    request: Diagnose
    diagnosis: Diagnosis | None = None
    start: Start | None = None
    left_aside: Sequence[str] = ()
    ranks: Mapping[str, str] = field(default_factory=dict)

    @property
    def causes(self) -> Sequence[Cause]:
        """The causes found in the log."""
        return self.start.causes[:MOST_CAUSES] if self.start else []

    @property
    def _findings(self) -> list[TermFinding]:
        return self.diagnosis.findings if self.diagnosis else []

    @cached_property
    def terms(self) -> list[TermRow]:
        """The rows of all terms, named ones first."""
        by_term = {finding.term: finding for finding in self._findings}
        terms = [
            TermRow(term, by_term.get(term), [cause for cause in self.causes if cause.term is term])
            for term in by_term or TERMS
        ]
        return sorted(terms, key=lambda row: not row.is_named)

    @property
    def changes(self) -> list[str]:
        """The changes recommended by the log."""
        return list(dict.fromkeys(cause.setting for cause in self.causes))

    @cached_property
    def suspects(self) -> list[str]:
        """The known causes of the terms that measurements name, except those the log rules out."""
        excluded = set[str]()
        if self.start and self.start.log.settings:
            excluded.add(EAGER)
        if NEWER_RELEASE in self.changes:
            excluded.add(OLD_RELEASE)
        settings_of_terms = (
            finding.term.settings for finding in self._findings if finding.is_named
        )
        suspects = [
            text for row in zip_longest(*settings_of_terms) for text in row if text
        ]  # most informative first
        return [text for text in dict.fromkeys(suspects) if text not in excluded]

    @property
    def advice(self) -> list[str]:
        """The changes from the log, then possible causes to check."""
        return [*self.changes, *self.suspects]

    @property
    def verdicts(self) -> list[str]:
        """The verdict from the log, and the verdict from the measurements."""
        by_points = verdict(self.diagnosis) if self.diagnosis else ""
        if not self.start:
            return [by_points]
        logged_settings = f"With the logged settings, {by_points[:1].lower()}{by_points[1:]}"
        return [verdict_by_log(self.start, self.causes), *[logged_settings] * bool(by_points)]

    def page(self, screen: Screen) -> Sequence[Part]:
        """Build the page: inputs, verdict, times before and after, and as much advice as fits."""
        return on_one_screen(partial(self._laid_out, screen), screen)

    def _laid_out(self, screen: Screen, count: int) -> list[Part]:
        """Build the page with one setting more than ``count``."""
        diagnosis, advice = self.diagnosis, self.advice
        shown = advice if screen.notes or screen.wide else advice[: count + 1]
        page: list[Part] = [*self._given(), "", *map(sentence, self.verdicts), ""]
        notes: list[str] = []
        if diagnosis:
            page += [*_picture(diagnosis, screen.width, ("logged" if self.start else "causes")), ""]
            notes = [self._key(), unnamed(diagnosis)]
        if changes := shown[: len(self.changes)]:
            page += ["What to change", Listing(changes)]
        if suspects := shown[len(self.changes) :]:
            page += ["Settings to check", Listing(suspects)]
        if hidden := len(advice) - len(shown):
            notes += [f"{option('notes')} prints {many(hidden, 'more setting')}"]
        if diagnosis and diagnosis.further:
            notes += [measure_next(diagnosis.further)]
        if self.start:
            notes += [cause.sentence for cause in self.start.causes[MOST_CAUSES:]]
        lines = [line if line.startswith("key: ") else sentence(line) for line in notes if line]
        return [*page, Notes([*lines, *self.left_aside], self.next_command())]

    def _key(self) -> str:
        """Return the key to the times and marks in the plot."""
        named = ["the causes named above"] * any(finding.is_named for finding in self._findings)
        explained = ["the logged settings"] * bool(self.start) + named
        meaning = f"with {listed(explained)}" if explained else "the same, as no cause is named"
        return f"key: 2x: half as fast as predicted; o: with default settings; *: {meaning}"

    def _given(self) -> Iterator[Remark]:
        """Yield lines on the given measurements and on the log."""
        if self.diagnosis and self.request.path:
            predictions = self.diagnosis.predictions
            first, count = predictions[0], len(predictions)
            chips = sorted({p.point.chips or p.point.tp or 1 for p in predictions})
            yield Remark(
                f"{self.request.path.name}: {many(count, 'measurement')} of {first.point.model} on "
                f"{listed([*map(str, chips)])} {first.point.hardware}, engine {first.engine_used}"
            )
        if self.start and self.request.log:
            yield Remark(f"{self.request.log.name}: {logged(self.start)}")

    def next_command(self) -> str:
        """Suggest a comparison that uses the file, or what to measure if there is only a log."""
        request = self.request
        if self.diagnosis:
            point = self.diagnosis.predictions[0].point
            ranks = [word for name, rank in self.ranks.items() for word in (flag(name), rank)]
            begun = [point.model, flag("on"), point.hardware, flag("like"), as_text(request.path)]
            return follow_up(request, request_of("compare"), *begun, *ranks)
        assert self.start
        log, scenario = self.start.log, self.start.scenario
        stated = stated_settings(log, scenario)
        settings = [word for name, value in stated.items() for word in typed_setting(name, value)]
        begun = [request.model or scenario.model.asked_name, flag("on"), scenario.hardware.id]
        return follow_up(request, request_of("measure"), *begun, *settings)

    def warnings(self) -> Sequence[str]:
        """Return the skipped points and lines."""
        return self.left_aside

    def records(self) -> list[Record]:
        """Build one record per term."""
        return [values(COLUMNS, term) for term in self.terms]

    def table(self) -> tuple[Sequence[TableColumn], Sequence[object]]:
        """Return a table of terms with the probability and size of their slowdown."""
        return pick("term probability slower slower_low named", COLUMNS), self.terms

    def details(self) -> Record:
        """Return the verdict, measurements, next measurement, and log."""
        diagnosis, start = self.diagnosis, self.start
        by_points = diagnosis.verdict if diagnosis else "nothing"
        return {
            "verdict": "differs" if self.causes else by_points,
            "sentence": ". ".join(self.verdicts),
            "settings": self.advice,
            **(_of_points(diagnosis) if diagnosis else {}),
            **({"start": _of_start(start)} if start else {}),
        }

    @property
    def charts(self) -> Charts:
        """A chart of the measurements before and after the diagnosis."""
        from fastcalc.features.measure.diagnosis_chart import slowdowns

        return {"diagnose": partial(slowdowns, self.diagnosis)} if self.diagnosis else {}


def _of_points(diagnosis: Diagnosis) -> Record:
    further, slower = diagnosis.further, diagnosis.slower[1].tolist()
    points = [
        {
            "id": prediction.point.id,
            "metric": prediction.point.metric,
            "measured": prediction.point.value,
            "expected_by_default": _by_default(prediction.point, times),
            "expected": prediction.expected,
            "expected_as_named": prediction.expected * times_slower
            if prediction.point.is_time
            else prediction.expected / times_slower,
        }
        for prediction, times, times_slower in zip(
            diagnosis.predictions, diagnosis.before.tolist(), slower, strict=True
        )
    ]
    return {
        "points_verdict": diagnosis.verdict,
        "nothing_probability": diagnosis.belief.nothing,
        "points": points,
        "next_point": further
        and {
            "metric": further.point.metric,
            "concurrency": further.point.concurrency,
            "prompt": further.point.prompt,
            "output": further.point.output,
            "tp": further.point.tp,
            "slower_by_cause": further.slower,
        },
        "set_aside": list(diagnosis.set_aside),
    }


def _of_start(start: Start) -> Record:
    log, (low, tokens, high) = start.log, start.tokens or (None, None, None)
    return {
        "program": log.program,
        "version": log.version or None,
        "settings": log.settings,
        "kv_format": start.scenario.work.kv_format,
        "weights_gb_per_chip": log.weights and log.weights / 1e9,
        "expected_weights_gb_per_chip": float(start.placement.weights_per_chip) / 1e9,
        "available_kv_gb_per_chip": log.available and log.available / 1e9,
        "kv_cache_tokens": log.tokens,
        "expected_kv_cache_tokens": tokens,
        "expected_kv_cache_tokens_low": low,
        "expected_kv_cache_tokens_high": high,
        "max_concurrency": log.at_once,
        "cuda_graphs_gb_per_chip": log.graphs and log.graphs / 1e9,
        "attention_backend": log.backend or None,
        "causes": [
            {
                "term": cause.term.name,
                "sentence": cause.sentence,
                "setting": cause.setting,
                "times": cause.times,
            }
            for cause in start.causes
        ],
    }


def _picture(diagnosis: Diagnosis, width: int, explained: str) -> list[Part]:
    """Draw a line per measurement: measured, predicted, and their ratio before and after.

    If there are many measurements, those with the largest errors are shown.
    """
    after = np.exp(diagnosis.belief.slowdowns.residuals) / diagnosis.slower[1]
    furthest = set(np.argsort(-np.abs(np.log(diagnosis.before)))[:_MOST_LINES].tolist())
    rows = []
    points = [prediction.point for prediction in diagnosis.predictions]
    names = [f"{_SHORT[point.metric]} at {point.concurrency or 'all'}" for point in points]
    names = [
        f"{name}, {point.prompt:,.0f} in" if point.prompt and names.count(name) > 1 else name
        for name, point in zip(names, points, strict=True)
    ]
    for index, prediction in enumerate(diagnosis.predictions):
        if index in furthest:
            point, before = prediction.point, diagnosis.before[index]
            scale = 1e3 if point.is_time else 1.0  # times are shown in ms
            values = scale * point.value, scale * _by_default(point, before)
            rows.append((names[index], *values, before, after[index]))
    columns = (
        words("measurement|at concurrency", lambda row: row[0]),
        numbers("measured", lambda row: number(row[1])),
        numbers("predicted", lambda row: number(row[2])),
        key_figure(numbers("default|o", lambda row: f"{number(row[3], 2)}x")),
        numbers(f"{explained}|*", lambda row: f"{number(row[4], 2)}x"),
        words(f"slower than predicted|{_AXIS}", lambda row: _line(row[3], row[4])),
    )
    hidden = diagnosis.before.size - len(rows)
    remainder = [f"and {hidden:,} more measurements with smaller errors"] if hidden else []
    is_drawn = width >= _WIDTH + _NUMBERS + max(len(row[0]) for row in rows)
    shown = columns[: None if is_drawn else -1]
    return [record_tables.table(shown, rows, width), *remainder]


_SHORT = {
    "tokens_per_s_total": "tok/s",
    "tokens_per_s_per_user": "tok/s per user",
    "tokens_per_s_per_chip": "tok/s per chip",
    "prefill_tokens_per_s": "prefill tok/s",
    "ttft_s": "TTFT ms",
    "tpot_s": "TPOT ms",
}


def _line(before: float, after: float) -> str:
    """Draw the marks of a measurement on a logarithmic axis from 0.5x to 8x the prediction."""
    signs = [" "] * _WIDTH
    for times, sign in ((1.0, "|"), (before, "o"), (after, "*")):
        fraction = np.log(np.clip(times, 0.5, _FURTHEST) / 0.5) / np.log(_FURTHEST / 0.5)
        signs[round(float(fraction) * (_WIDTH - 1))] = sign
    return "".join(signs).rstrip()


def _by_default(point: Point, times: float) -> float:
    """Predict with engine defaults a measurement that takes longer by a factor."""
    return point.value / times if point.is_time else point.value * times
