"""How a user's measurements correct an engine: errors before and after correction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log, log2
from statistics import fmean, median

import numpy as np

from fastcalc.catalogue.schema.own_rows import OwnDeployment, OwnRow
from fastcalc.core.own_rows import interpolated
from fastcalc.formulas.sequences import evenly
from fastcalc.grid.column import key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.parts import Notes, Part
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.charts.of_measurements import before_and_after
from fastcalc.written import many

_SHOWN = 6
"""Maximum number of rows in a table. Longer lists are sampled evenly."""

_DEPLOYMENTS = 4
"""Maximum number of deployments shown. The rest are only counted."""

_AS_MUCH = 1.02  # ratio up to which two errors count as equal

_STRIP = 17
"""Width of a strip from 0.5 to 2 times the measured value, in characters."""

_AXIS = "0.5x     1x      2x"
"""Labels of the strip, including its brackets."""

KINDS = ("decode", "served", "prefill")

_METRICS = {
    "tpot_s": "TPOT",
    "ttft_s": "TTFT",
    "tokens_per_s_total": "tok/s",
    "tokens_per_s_per_chip": "tok/s per chip",
    "tokens_per_s_per_user": "tok/s per user",
    "prefill_tokens_per_s": "tok/s",
}


@dataclass(frozen=True)
class RowScore:
    """A measurement and its predicted speeds, relative to the measured speed.

    before, now : The prediction by the engine, and after correction by the deployment's other rows
        (None if there is only one row).
    """

    row: OwnRow
    before: float
    now: float | None

    @property
    def kind(self) -> str:
        """The phase that was measured, one of `KINDS`."""
        decode_share = self.row.decode_share
        return KINDS[0] if decode_share > 0.999 else KINDS[2] if decode_share < 0.001 else KINDS[1]

    @property
    def strip(self) -> str:
        """A strip from 0.5x to 2x that marks the measurement and both predictions."""
        characters = [" "] * _STRIP
        characters[_STRIP // 2] = "|"
        for mark, ratio in (("o", self.before), ("x", self.now)):
            if ratio is not None:
                at = round((_STRIP - 1) * (log2(ratio) + 1.0) / 2.0)
                at = min(max(at, 0), _STRIP - 1)
                characters[at] = "*" if characters[at] == "o" else mark
        return f"[{''.join(characters)}]"


@dataclass(frozen=True)
class RowBelief:
    """Stores the correction for all measurements of one phase in a deployment.

    scores : The scores of these rows.
    slower, width : For each row, corrected over uncorrected time, and the same ratio for the.
    half-width of the range [1]
    """

    kind: str
    deployment: OwnDeployment
    scores: Sequence[RowScore]
    slower: Sequence[float]
    width: Sequence[float]

    @property
    def error_before(self) -> str:
        """The median error of the uncorrected engine."""
        return f"{_error([score.before for score in self.scores]):.2f}"

    @property
    def error_now(self) -> str:
        """The median error if each row is predicted from the others. "-" for a single row."""
        ratios = [score.now for score in self.scores]
        return "-" if None in ratios else f"{_error(ratios):.2f}"

    @property
    def speed(self) -> str:
        """The corrected speed relative to the engine's own."""
        ends = dict.fromkeys(f"{1.0 / end:.2f}" for end in (max(self.slower), min(self.slower)))
        return " to ".join(ends)

    @property
    def range(self) -> str:
        """The corrected width of the ranges relative to the engine's own."""
        return f"{exp(fmean(log(max(width, 1e-9)) for width in self.width)):.2f}"


_ROWS = (
    words("row", lambda score: score.row.point),
    words(
        "measurement", lambda score: f"{score.kind} {_METRICS.get(score.row.metric, '')}".rstrip()
    ),
    numbers("batch", lambda score: f"{score.row.batch:,.0f}"),
    numbers("context", lambda score: f"{score.row.context:,.0f}"),
    numbers("engine|o", lambda score: f"{score.before:.2f}"),
    key_figure(
        numbers("corrected|x", lambda score: "-" if score.now is None else f"{score.now:.2f}")
    ),
    words(f"predicted / measured|{_AXIS}", lambda score: score.strip),
)
_BELIEFS = (
    words("", lambda belief: belief.kind),
    numbers("measure-|ments", lambda belief: str(len(belief.scores))),
    numbers("median error|engine", lambda belief: belief.error_before),
    key_figure(numbers("median error|corrected", lambda belief: belief.error_now)),
    numbers("speed|factor", lambda belief: belief.speed),
    numbers("range|factor", lambda belief: belief.range),
)


def scores_of(deployment: OwnDeployment) -> list[RowScore]:
    """Score each row of a deployment against the engine and against its other rows."""
    _, by_others = interpolated(deployment)
    is_alone = len(deployment.rows) == 1
    return [
        RowScore(row, row.slower, None if is_alone else row.slower / slower)
        for row, (slower, _) in zip(deployment.rows, by_others, strict=True)
    ]


def parts(deployments: Sequence[OwnDeployment], engine: str, width: int) -> list[Part]:
    """Build tables of all rows and of the prediction errors before and after correction."""
    page: list[Part] = []
    for deployment in deployments[:_DEPLOYMENTS]:
        scores = scores_of(deployment)
        work = f"{deployment.model} ({deployment.weights}, cache {deployment.kv})"
        page += [
            f"{deployment.file}: {many(len(scores), 'measurement')} of {work} on "
            f"{deployment.hardware}, {deployment.layout}",
            "",
        ]
        if len(deployments) == 1:
            ordered = sorted(scores, key=lambda score: (-score.row.decode_share, score.row.batch))
            shown = [record_tables.row(_ROWS, score) for score in evenly(ordered, _SHOWN)]
            page += [*record_tables.tables(_ROWS, [shown], width), ""]
        beliefs = _beliefs(deployment, scores)
        page += [record_tables.table(_BELIEFS, beliefs, width), Notes(_notes(scores)), ""]
    further = len(deployments) - _DEPLOYMENTS
    if further > 0:
        page += [f"{many(further, 'more deployment')} in the file", ""]
    key = (
        f"key: o: predicted for {engine}, without your measurements; x: corrected by your other "
        "measurements; above 1x: predicted too fast; speed factor: corrected / uncorrected speed; "
        "range factor: corrected / uncorrected width of the 80% range"
    )
    return [*page[:-1], Notes([key])]


def chart(deployments: Sequence[OwnDeployment], engine: str) -> Chart:
    """Plot predicted over measured speed of each row, before and after correction by the others."""
    scores = [score for deployment in deployments for score in scores_of(deployment)]
    first, *further = deployments
    subject = first.file if further else f"{first.model} on {first.hardware}, {first.layout}"
    phases = [score.kind for score in scores]
    drawn = before_and_after(
        f"Measured against predicted: {subject}",
        phases,
        np.array([s.row.prompt if s.kind == KINDS[2] else s.row.batch for s in scores]),
        np.array([score.before for score in scores]),
        np.array([np.nan if score.now is None else score.now for score in scores]),
    )
    before = f"before is uncorrected {engine}, after is corrected by the other measurements"
    finding = ""
    if len(scores) > 1:
        first_error, error = _errors(scores)
        finding = (
            f"Half of {many(len(scores), 'row')} are within a factor of {first_error:.2f} before, "
            f"{error:.2f} after."
        )
    return replace(
        drawn,
        notes=[*drawn.notes, before, *_notes(scores)],
        finding=finding,
        grounds=f"Engine: {engine}.",
    )


def _beliefs(deployment: OwnDeployment, scores: Sequence[RowScore]) -> list[RowBelief]:
    by_all, _ = interpolated(deployment)
    beliefs = []
    for phase in KINDS:
        indices = [index for index, score in enumerate(scores) if score.kind == phase]
        if indices:
            slower, width = zip(*(by_all[index] for index in indices), strict=True)
            rows = [scores[index] for index in indices]
            beliefs.append(RowBelief(phase, deployment, rows, slower, width))
    return beliefs


def _error(ratios: Sequence[float | None]) -> float:
    """Compute the median error as a factor of at least 1, ignoring None values."""
    return median(max(ratio, 1.0 / ratio) for ratio in ratios if ratio is not None)


def _errors(scores: Sequence[RowScore]) -> tuple[float, float]:
    """Compute the median errors before and after correction by the other rows."""
    return _error([score.before for score in scores]), _error([score.now for score in scores])


def _notes(scores: Sequence[RowScore]) -> list[str]:
    if len(scores) == 1:
        return ["A second row would test this correction."]
    before, now = _errors(scores)
    if now > _AS_MUCH * before:
        return [
            f"The median error is {before:.2f}x, and {now:.2f}x with each row predicted from the "
            "others, which is no better; measure more rows before you trust the correction."
        ]
    return []
