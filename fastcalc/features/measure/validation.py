"""The answer of `validate`: records and a table of prediction errors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from operator import attrgetter

from fastcalc.evidence.earlier import ChipChange
from fastcalc.evidence.points import Skipped
from fastcalc.evidence.score import SRAM, Group, Prediction
from fastcalc.evidence.validate import Shipped, Validation
from fastcalc.features import request_of
from fastcalc.features.measure.request import Validate
from fastcalc.grid.column import TableColumn, key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer, Charts, Screen
from fastcalc.kit.answer.envelope import envelope
from fastcalc.kit.answer.next_commands import follow_up
from fastcalc.kit.answer.numbers_as_text import number, whole_percent
from fastcalc.kit.answer.parts import Note, Part, Remark
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.mentions import flag, option
from fastcalc.written import first_few, listed, many, to_json

WORST = 5
_factor = attrgetter("factor")

FEW_SOURCES = 4
"""Number of independent sources below which a score is not representative."""

MOST_BEATEN = 20
"""Maximum number of measurements above their bound in a table. Scores count all of them."""

SCORES = (
    words("", lambda group: group.name.removeprefix("part:")),
    numbers("measure-|ments", lambda group: f"{group.count:,}"),
    numbers("sources", lambda group: str(group.sources)),
    key_figure(numbers("median|error", lambda group: f"{group.median_factor:.2f}")),
    numbers("p90|error", lambda group: f"{group.p90_factor:.2f}"),
    numbers("bias", lambda group: f"{group.bias:.2f}"),
    numbers("in 80%|range", lambda group: whole_percent(group.coverage)),
    numbers("above|bound", lambda group: str(group.bound_beaten)),
)

_WORST = (
    words("measurement", lambda prediction: prediction.point.id),
    words(
        "measured on", lambda prediction: f"{prediction.point.model} on {prediction.point.hardware}"
    ),
    words("metric", lambda prediction: prediction.point.metric),
    numbers("measured", lambda prediction: number(prediction.point.value)),
    numbers("expected", lambda prediction: number(prediction.expected)),
    key_figure(
        numbers(
            "error", lambda worst: f"{worst.factor:.2f}{' above its bound' * worst.beats_bound}"
        )
    ),
)

_KEY = (
    "key: error: expected / measured or its inverse, whichever is above 1; bias: median of "
    "expected / measured speed (above 1: predicted too fast)"
)


def point_record(prediction: Prediction) -> Record:
    """Convert a predicted measurement to a record, in the unit of its metric."""
    point = prediction.point
    return plainly(
        {
            "id": point.id,
            "hardware": point.hardware,
            "model": point.model,
            "engine": point.engine or None,
            "metric": point.metric,
            "measured": point.value,
            "expected": prediction.expected,
            "low": prediction.low,
            "high": prediction.high,
            "bound": prediction.bound,
            "factor": prediction.factor,
            "engine_used": prediction.engine_used,
            "bound_beaten": prediction.beats_bound,
            "assumed": prediction.assumed,
        }
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ValidationAnswer(Answer):
    """Answer of ``validate``, with the errors of predictions and weak classes.

    aside : The groups of the shipped evidence, if no file was given.
    changes : The changes of chips since the baseline, or None without a baseline.
    """

    request: Validate
    validation: Validation
    aside: Shipped | None
    changes: Sequence[ChipChange] | None

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield the median error and scores and, with all columns, the worst predictions."""
        aside = self.aside
        total = next(group for group in self.validation.groups if group.name == "all")
        points, sources = many(total.count, "measurement"), many(total.sources, "source")
        file = "" if self.request.path is None else f" in {self.request.path.name}"
        yield (
            f"Median error {total.median_factor:.2f}x and 90th percentile {total.p90_factor:.2f}x "
            f"over {points} from {sources}{file}. The 80% ranges contain "
            f"{whole_percent(total.coverage)} of them; {total.bound_beaten or 'none'} "
            f"{'exceed' if total.bound_beaten > 1 else 'exceeds'} the hardware bound."
        )
        if self.request.path is None:
            of_sram = [one.count for one in self.validation.groups if one.name == f"part:{SRAM}"]
            exception = f", except {sum(of_sram)} of {SRAM}," if of_sram else ""
            yield Remark(
                f"Cross-validated: each measurement{exception} is predicted by a fit without its "
                "publisher's data."
            )
        yield ""
        if not screen.wide:
            yield record_tables.table(*self.table(), screen.width)
            return
        yield from scores(aside.fitted if aside else self.validation, screen.width)
        if aside is not None:
            yield from ("", "Publishers that no engine was fitted on", "")
            yield from scores(aside.held_out, screen.width)

    def key(self) -> str:
        """Return the key to the error factor and the bias."""
        return _KEY

    def notes(self) -> Iterator[Note]:
        """Yield notes on changes, assumptions, and held-out and unpredicted measurements."""
        skipped = len(self.validation.skipped)
        if weak := _weak(self.validation, FEW_SOURCES if self.aside else 0):
            yield Note(weak, 4)
        if self.aside is None:
            outlier = max(self.validation.predictions, key=_factor)
            point = outlier.point
            yield Note(
                f"largest error: {point.id}, {point.model} on {point.hardware}: {point.metric} "
                f"measured {number(point.value)}, expected {number(outlier.expected)}, an error of "
                f"{outlier.factor:.2f}x",
                3,
                is_hint=True,
            )
        elif skipped:
            why = (
                f"{skipped:,} further measurements cannot be predicted; {option('notes')} says why"
            )
            yield Note(why, is_hint=True)
        changes = _changes(self.changes, is_whole=self.request.wide)
        sentences = [*changes, *_notes(self.validation, self.aside)]
        for index, sentence in enumerate(sentences):
            yield Note(sentence, 2 if index < _LEADING else 0)

    def next_command(self) -> str | None:
        """Suggest a chart, unless the request names a model, which charts do not accept."""
        request = self.request
        if request.model:
            return None
        words = ["validate", *map(str, filter(None, [request.path]))]
        words += [flag("on"), request.hardware] if request.hardware else []
        return follow_up(request, request_of("plot"), *words)

    def document(self) -> Iterator[str]:
        """Yield the documented JSON document, with one line per measurement."""
        yield to_json(envelope("fastcalc-validate/1")).removesuffix("}")
        for name, records in {"points": self.records(), **self.details()}.items():
            between = f',\n"{name}": [\n'
            for record in records:
                yield between + to_json(record)
                between = ",\n"
            yield "\n]" if between == ",\n" else between + "\n]"
        yield f',\n"assumptions": {to_json(self.assumptions())}\n}}\n'

    def records(self) -> Iterator[Record]:
        """Build one record per predicted measurement."""
        return map(point_record, self.validation.predictions)

    def table(self) -> tuple[Sequence[TableColumn], Sequence[Group]]:
        """Return a table of scores by machine class, and in total."""
        return SCORES, shown(self.validation.groups)

    def details(self) -> Record:
        """Return the measurements that are not predicted, and the scores by group."""
        return {
            "skipped": [
                {"id": point.id, "reason": point.reason} for point in self.validation.skipped
            ],
            "groups": [
                plainly(
                    {
                        "group": group.name,
                        "n": group.count,
                        "median_factor": group.median_factor,
                        "p90_factor": group.p90_factor,
                        "bias": group.bias,
                        "coverage": group.coverage,
                        "bound_beaten": group.bound_beaten,
                        "sources": group.sources,
                    }
                )
                for group in self.validation.groups
            ],
        }

    @property
    def charts(self) -> Charts:
        """A chart of predicted against measured, by whether the fits used the measurements."""
        from fastcalc.features.measure.accuracy_chart import accuracy

        drawn = {"": self.validation.predictions}
        if self.aside is not None:
            fitted, aside = self.aside.fitted.predictions, self.aside.held_out.predictions
            drawn = {
                "publisher not in the fit": [row for row in fitted if row.part != SRAM],
                "publisher held out": [row for row in aside if not row.point.is_offloaded],
                "with a host": [row for row in aside if row.point.is_offloaded],
                "engine set from these few": [row for row in fitted if row.part == SRAM],
            }
        return {"validate": partial(accuracy, drawn)}


_LEADING = 3
"""Maximum number of notes on the first screen, apart from the hint."""

_CHANGES_SHOWN = 3
"""Maximum number of chips with changed errors on the first screen."""
_SAME = 0.005


def _changes(changes: Sequence[ChipChange] | None, *, is_whole: bool) -> list[str]:
    """Describe the chips whose error has changed since the baseline."""
    if changes is None:
        return []
    worse = [changed(change) for change in changes if change.worse > _SAME]
    better = [changed(change) for change in reversed(changes) if change.worse < -_SAME]
    limit = None if is_whole else _CHANGES_SHOWN
    sentences = [*worse[:limit], *better[:limit]]
    unnamed = len(worse) + len(better) - len(sentences)
    sentences += [f"{many(unnamed, 'other chip')} with {option('wide')}"] if unnamed else []
    return [f"since the baseline: {'; '.join(sentences) or 'no chip is worse or better'}"]


def changed(change: ChipChange) -> str:
    """Say how much the error of a chip has changed."""
    word = "worse" if change.worse > 0 else "better"
    factors = f"median error {change.before:.2f}x to {change.after:.2f}x"
    return (
        f"{change.hardware} {abs(change.worse):.0%} {word} ({factors}, "
        f"{many(change.count, 'measurement')})"
    )


def _notes(validation: Validation, aside: Shipped | None) -> list[str]:
    if aside is None:
        return [
            *_speculated(validation.predictions),
            *_assumed(validation.predictions),
            *_left_out(validation.skipped),
        ]
    (total,) = [group for group in aside.held_out.groups if group.name == "all"]
    skipped = [*aside.fitted.skipped, *aside.held_out.skipped]
    return [
        f"for {total.count:,} more measurements from {total.sources} sources that no engine was "
        f"fitted on, the median error is {total.median_factor:.2f}x and the 90th percentile "
        f"{total.p90_factor:.2f}x. {whole_percent(total.coverage)} are in the 80% range, whose "
        f"width was partly fitted to them ({option('wide')} lists them)",
        "SRAM machines: their engines are fitted to these very speeds, so expect larger errors on "
        "others",
        f"{len(aside.suspect.predictions)} measurements are excluded as implausible; "
        "evidence/sources.yaml has the reasons",
        *_left_out(skipped),
    ]


_MOST_ASSUMED = 3
"""Maximum number of assumptions that a note names."""


def _assumed(predictions: Iterable[Prediction]) -> Iterator[str]:
    """Yield assumptions about measurements: layouts not given, and waves of requests in memory."""
    counts = Counter(prediction.assumed for prediction in predictions if prediction.assumed)
    if counts:
        assumptions = [
            f"{text} ({many(count, 'measurement')})" for text, count in counts.most_common()
        ]
        rest = f"more with {option('format', 'json')}"
        yield f"Assumed: {'; '.join(first_few(assumptions, _MOST_ASSUMED, rest))}"


def _speculated(predictions: Iterable[Prediction]) -> Iterator[str]:
    """Yield a note on measurements whose acceptance rate was inferred from their chunks."""
    points = [prediction.point for prediction in predictions]
    points = [point for point in points if point.is_speculation_inferred]
    tokens = [point.tokens_per_pass for point in points if point.tokens_per_pass]
    if tokens:
        low, high = f"{min(tokens):.3g}", f"{max(tokens):.3g}"
        yield (
            f"{many(len(points), 'measurement')} used speculative decoding: {low} "
            f"{f'to {high} ' * (low != high)}tokens per chunk (inter-chunk over per-token time), "
            f"predicted as such; calibrate and {option('like')} do not use them"
        )


def _weak(validation: Validation, fewest_sources: int) -> str:
    """Describe the classes with too few sources."""
    poorly_sourced = [
        f'"{group.name.removeprefix("part:")}" ({many(group.sources, "source")})'
        for group in validation.groups
        if group.name.startswith("part:") and group.sources < fewest_sources
    ]
    complaint = "Too few sources for reliable figures: "
    return f"{complaint}{listed(poorly_sourced)}." if poorly_sourced else ""


def shown(groups: Sequence[Group]) -> list[Group]:
    """Return the groups for a table: machine classes, and the total."""
    return [group for group in groups if group.name == "all" or group.name.startswith("part:")]


def scores(validation: Validation, width: int) -> Iterator[Part]:
    """Yield the scores, the largest errors, and measurements above their bound."""
    yield record_tables.table(SCORES, shown(validation.groups), width)
    furthest_off = nlargest(WORST, validation.predictions, key=_factor)
    beating = (prediction for prediction in validation.predictions if prediction.beats_bound)
    listed_ids = {prediction.point.id for prediction in furthest_off}
    beaten = [
        prediction
        for prediction in nlargest(WORST + MOST_BEATEN, beating, key=_factor)
        if prediction.point.id not in listed_ids
    ]
    if furthest_off:
        yield ""
        yield record_tables.table(_WORST, [*furthest_off, *beaten[:MOST_BEATEN]], width)


def _left_out(skipped: Sequence[Skipped]) -> Iterator[str]:
    for reason, count in Counter(point.reason for point in skipped).most_common(8):
        yield f"{many(count, 'measurement')} not predicted: {reason}"
