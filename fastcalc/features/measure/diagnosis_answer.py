"""Why a deployment is slower: a verdict, the terms, measured against predicted, settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from fastcalc.evidence.point import Point
from fastcalc.features.measure.diagnosis.diagnose import Diagnosis, TermFinding
from fastcalc.features.measure.diagnosis.next_point import NextPoint
from fastcalc.features.measure.diagnosis.start import DIFFERS, MOST_CAUSES, Cause, Start
from fastcalc.features.measure.diagnosis.terms import EAGER, PARTS, TERMS, SlowdownTerm
from fastcalc.formulas.types import Floats
from fastcalc.grid.columns import Column, values
from fastcalc.kit.answer.numbers_as_text import number, whole_percent
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.record_tables import numbers, words


@dataclass(frozen=True)
class DiagnosisAnswer:
    """What points say of a deployment, what the log of its start says, or both.

    file, log_file : what they are called
    """

    diagnosis: Diagnosis | None = None
    start: Start | None = None
    file: str = ""
    log_file: str = ""

    @property
    def logged(self) -> Sequence[Cause]:
        """What the log names as causes."""
        return self.start.causes[:MOST_CAUSES] if self.start else []

    @property
    def terms(self) -> list["TermAnswer"]:
        """What is said of each term, those that are named first."""
        by_term = {finding.term: finding for finding in self._findings}
        terms = [
            TermAnswer(
                term, by_term.get(term), [cause for cause in self.logged if cause.term is term]
            )
            for term in by_term or TERMS
        ]
        return sorted(terms, key=lambda answer: not answer.is_named)

    @property
    def settings(self) -> list[str]:
        """What is known to change what is named: by the log, and of what it does not exclude."""
        excluded = set[str]()
        if self.start and self.start.log.settings and not self.start.log.is_on("eager"):
            excluded.add(EAGER)
        known = [cause.setting for cause in self.logged]
        named = (f.term.settings for f in self._findings if f.is_named)
        known += [text for row in zip_longest(*named) for text in row if text]  # most telling first
        return [text for text in dict.fromkeys(known) if text not in excluded]

    @property
    def _findings(self) -> list[TermFinding]:
        return self.diagnosis.findings if self.diagnosis else []


@dataclass(frozen=True)
class TermAnswer:
    """What points find of a term, None without any, and what the log names."""

    term: SlowdownTerm
    finding: TermFinding | None
    causes: Sequence[Cause]

    @property
    def is_named(self) -> bool:
        """Whether points or the log name it."""
        return bool(self.causes) or bool(self.finding and self.finding.is_named)

    def tested(self, value: Callable[[TermFinding], Any]) -> Any:
        """Return something of the finding, None where no point tests it."""
        return value(self.finding) if self.finding and self.finding.is_tested else None


COLUMNS: tuple[Column[TermAnswer], ...] = (
    Column("term", "text", "what may be slower than predicted", "term.name"),
    Column(
        "part",
        "text",
        "what of it most likely is",
        lambda t: t.finding and PARTS[t.finding.part][1].name,
    ),
    Column("named", "yes or no", "whether it is named as a cause", "is_named"),
    Column(
        "tested",
        "yes or no",
        "whether it would show in the points",
        lambda t: bool(t.finding and t.finding.is_tested),
    ),
    Column("probability", "1", "that it is slower", lambda t: t.tested(lambda f: f.probability)),
    Column("slower", "1", "how many times, where it is", lambda t: t.tested(lambda f: f.slower)),
    Column("slower_low", "1", "lower end of 80 % of that", lambda t: t.tested(lambda f: f.low)),
    Column("slower_high", "1", "upper end of 80 % of that", lambda t: t.tested(lambda f: f.high)),
    Column("shows", "text", "where it shows", "term.shows"),
    Column("settings", "list", "what is known to change it", lambda t: list(t.term.settings)),
    Column(
        "logged",
        "list",
        "what the log of the start says of it",
        lambda t: [cause.sentence for cause in t.causes],
    ),
)
KEYS = tuple(column.key for column in COLUMNS)

TERM_TABLE = (
    words("term", lambda t: _name(t.finding) if _by_points(t) else t.term.name),
    numbers("sure", lambda t: t.tested(lambda f: whole_percent(f.probability)) or "-"),
    numbers("slower", lambda t: f"{number(t.finding.slower, 2)}x" if _by_points(t) else "-"),
    numbers("80 %", lambda t: f"{_ends(t.finding)}" if _by_points(t) else "-"),
    words("", lambda t: "named" if t.is_named else ("" if t.tested(bool) else "not tested")),
)

_SURELY = ((0.95, "almost certainly"), (0.8, "very likely"), (0.5, "likely"), (0.0, "perhaps"))
_FASTER = 0.9  # median of measured over predicted time below which that is said


def _by_points(answer: TermAnswer) -> bool:
    return bool(answer.finding and answer.finding.is_named)


def _name(finding: TermFinding) -> str:
    return f"{finding.term.name} {PARTS[finding.part][1].name}".strip()


def _ends(finding: TermFinding) -> str:
    return f"{number(finding.low, 2)} to {number(finding.high, 2)}"


def records(answer: DiagnosisAnswer) -> list[Record]:
    """Return a record for each term."""
    return [values(COLUMNS, term) for term in answer.terms]


def premises(answer: DiagnosisAnswer) -> dict[str, Any]:
    """Return what stands alongside the records: verdict, points, what to measure next, the log."""
    diagnosis, start = answer.diagnosis, answer.start
    by_points = diagnosis.verdict if diagnosis else "nothing"
    document: dict[str, Any] = {
        "verdict": "differs" if answer.logged else by_points,
        "sentence": sentence(answer),
        "settings": answer.settings,
    }
    if diagnosis:
        document |= _of_points(diagnosis)
    return document | ({"start": _of_start(start)} if start else {})


def _of_points(diagnosis: Diagnosis) -> dict[str, Any]:
    points = [
        {
            "id": prediction.point.id,
            "metric": prediction.point.metric,
            "measured": prediction.point.value,
            "expected_by_default": by_default(prediction.point, times),
            "expected": prediction.expected,
            "expected_as_named": expected,
        }
        for prediction, times, expected in zip(
            diagnosis.predictions,
            diagnosis.before.tolist(),
            _after(diagnosis).tolist(),
            strict=True,
        )
    ]
    return {
        "points_verdict": diagnosis.verdict,
        "nothing_probability": diagnosis.belief.nothing,
        "points": points,
        "next_point": diagnosis.further and _request(diagnosis.further),
        "set_aside": list(diagnosis.set_aside),
    }


def _of_start(start: Start) -> dict[str, Any]:
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


def sentence(answer: DiagnosisAnswer) -> str:
    """Return what the log names, and what the points do."""
    diagnosis, start = answer.diagnosis, answer.start
    by_points = verdict(diagnosis) if diagnosis else ""
    if not start:
        return by_points
    named = "; ".join(cause.sentence for cause in answer.logged)
    by_log = f"By the log, {named}" if named else "Nothing in the log is slower than by default"
    if start.tokens and start.log.tokens and start.log.tokens > DIFFERS * start.tokens[2]:
        more = start.log.tokens / start.tokens[1]
        by_log += f"; the cache holds {more:.1f} times more tokens than expected"
    if not by_points:
        return by_log
    return f"{by_log}. With its settings, {by_points[0].lower()}{by_points[1:]}"


def verdict(diagnosis: Diagnosis) -> str:
    """Return what differs and how surely, that nothing does, or that the points are too few."""
    slowdown = float(np.median(np.exp(diagnosis.belief.slowdowns.residuals)))
    if diagnosis.verdict == "differs":
        named = (finding for finding in diagnosis.findings if finding.is_named)
        text = "; ".join(f"{_surely(f.probability)}, {_slower(f)}" for f in named)
        return text[0].upper() + text[1:]
    count = len(diagnosis.predictions)
    amount = f"measured times are {number(slowdown, 3)} of those predicted in the median"
    if diagnosis.verdict == "nothing":
        tail = ", so it is faster than most" if slowdown < _FASTER else ""
        return f"Nothing differs from what is normal: {amount}{tail}"
    if count == 1:
        amount = f"its measured time is {number(slowdown, 3)} of that predicted"
        return f"One point is too few to tell what differs: {amount}"
    return f"{count} points are too few to tell what differs: {amount}"


def _slower(finding: TermFinding) -> str:
    amount = f"{number(finding.slower, 2)} times {finding.term.worse} ({_ends(finding)})"
    return f"{_name(finding)} {amount}"


def _surely(probability: float) -> str:
    word = next(word for threshold, word in _SURELY if probability >= threshold)
    return f"{word} ({whole_percent(probability)})"


def _after(diagnosis: Diagnosis) -> Floats:
    """Return what is expected of each point with what is named, in the unit of its metric."""
    expected = np.array([prediction.expected for prediction in diagnosis.predictions])
    is_time = np.array([prediction.point.is_time for prediction in diagnosis.predictions])
    slower: Floats = diagnosis.slower[1]
    return np.where(is_time, expected * slower, expected / slower)


def by_default(point: Point, times: float) -> float:
    """Return what the engine alone predicts of a point that takes so many times longer."""
    return point.value / times if point.is_time else point.value * times


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
