"""What a user's own rows say of an engine: what was off, by how much, and how it is with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log2
from statistics import fmean, median

from fastcalc.catalogue.schema.own_rows import OwnDeployment, OwnRow
from fastcalc.core.own_rows import interpolated
from fastcalc.report import record_tables
from fastcalc.report.console import Notes, Part
from fastcalc.report.numbers_as_text import many, number
from fastcalc.report.record_tables import numbers, words

_SHOWN = 10
"""Rows of a table; of more, as many evenly from the first to the last."""

_AS_MUCH = 1.02  # times as far off is no difference

_STRIP = 25
"""Characters of a picture from half of what was measured to twice."""

KINDS = ("decode", "served", "prompts")


@dataclass(frozen=True)
class RowScore:
    """A row alongside what is predicted of it, as speeds over what was measured. [1]

    before, now : by the engine, and by the other rows of the deployment; None of a row alone
    narrowed : half-width of its range by the other rows, over that of the engine
    """

    row: OwnRow
    before: float
    now: float | None
    narrowed: float

    @property
    def kind(self) -> str:
        """What its passes do, one of `KINDS`."""
        share = self.row.decode_share
        return KINDS[0] if share > 0.999 else KINDS[2] if share < 0.001 else KINDS[1]

    @property
    def strip(self) -> str:
        """A line from half to twice, with the measurement, and predictions before and now."""
        characters = [" "] * _STRIP
        characters[_STRIP // 2] = "|"
        for mark, ratio in (("o", self.before), ("x", self.now)):
            if ratio is not None:
                at = round((_STRIP - 1) * (log2(ratio) + 1.0) / 2.0)
                at = min(max(at, 0), _STRIP - 1)
                characters[at] = "*" if characters[at] == "o" else mark
        return f"[{''.join(characters)}]"


_ROWS = (
    words("times of", lambda score: score.kind),
    numbers("batch", lambda score: f"{score.row.batch:,.0f}"),
    numbers("context", lambda score: number(score.row.context, 4)),
    numbers("before", lambda score: f"{score.before:.2f}"),
    numbers("now", lambda score: "-" if score.now is None else f"{score.now:.2f}"),
    words("[half     measured    twice]", lambda score: score.strip),
)


def scores_of(deployment: OwnDeployment) -> list[RowScore]:
    """Return every row of a deployment alongside what the engine and the other rows predict."""
    _, alone = interpolated(deployment)
    is_alone = len(deployment.rows) == 1
    return [
        RowScore(row, row.slower, None if is_alone else row.slower / slower, narrowed)
        for row, (slower, narrowed) in zip(deployment.rows, alone, strict=True)
    ]


def parts(deployment: OwnDeployment, engine: str, width: int) -> list[Part]:
    """Return a table and a picture of its rows, and what is believed now of each kind."""
    scores = scores_of(deployment)
    work = f"{deployment.model} ({deployment.weights}, cache {deployment.kv})"
    heading = (
        f"{deployment.file}: {many(len(scores), 'row')} of {work} on {deployment.hardware}, "
        f"{deployment.layout}, under {engine}"
    )
    rows = [record_tables.row(_ROWS, score) for score in _evenly(scores)]
    (table,) = record_tables.tables(_ROWS, [rows], width)
    lines = [_believed(kind, deployment, scores) for kind in KINDS]
    return [heading, "", table, Notes([_KEY, *filter(None, lines), *_tested(scores)])]


_KEY = (
    "key: speed predicted over measured: before (o) by the engine, now (x) by the other rows of "
    "the deployment; above 1 is too fast"
)


def _evenly(scores: Sequence[RowScore]) -> list[RowScore]:
    ordered = sorted(scores, key=lambda score: (-score.row.decode_share, score.row.batch))
    count = min(len(ordered), _SHOWN)
    places = (round(place * (len(ordered) - 1) / max(count - 1, 1)) for place in range(count))
    return [ordered[place] for place in places]


def _believed(kind: str, deployment: OwnDeployment, scores: Sequence[RowScore]) -> str | None:
    """Return what is believed of a kind of row, where there are some."""
    by_all, _ = interpolated(deployment)
    effects = [effect for effect, score in zip(by_all, scores, strict=True) if score.kind == kind]
    if not effects:
        return None
    times = [slower for slower, _ in effects]
    ends = sorted({f"{1.0 / slower:.2f}" for slower in (min(times), max(times))})
    width = exp(fmean(log(max(narrowed, 1e-9)) for _, narrowed in effects))
    return (
        f"{kind}: {' to '.join(ends)} times as fast as the engine says, where rows are; ranges "
        f"there are {width:.2f} times as wide"
    )


def _tested(scores: Sequence[RowScore]) -> list[str]:
    """Return how far off rows are before, and each predicted from the others."""
    before = exp(median(abs(log(score.before)) for score in scores))
    if len(scores) == 1:
        return [f"the row was off by {before:.2f}; a second one would test what it says"]
    now = exp(median(abs(log(score.now or 1.0)) for score in scores))
    verdict = f"the rows were off by {before:.2f} in the median; each by the others: {now:.2f}"
    if now > _AS_MUCH * before:
        verdict += ", no nearer, so more rows are needed before what is between them is trusted"
    hidden = f"; {len(scores) - _SHOWN} more rows are not shown" * (len(scores) > _SHOWN)
    return [verdict + hidden]
