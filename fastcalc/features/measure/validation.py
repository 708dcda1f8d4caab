"""Scores of predictions against measurements: records of the contract, and a table."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from operator import attrgetter

from fastcalc.evidence.earlier import ChipChange
from fastcalc.evidence.points import Skipped
from fastcalc.evidence.score import Group, Prediction
from fastcalc.evidence.validate import Shipped, Validation
from fastcalc.grid.columns import key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Part, Remark, Screen
from fastcalc.kit.answer.envelope import envelope
from fastcalc.kit.answer.numbers_as_text import number, whole_percent
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.mentions import option
from fastcalc.written import first_few, listed, many, to_json

WORST = 5
_factor = attrgetter("factor")

FEW_SOURCES = 4
"""Independent sources below which a score says little of the next one."""

FAR_OFF = 1.7
"""Factor of the 90 % mark beyond which a class is called weak."""

MOST_BEATEN = 20
"""Points above their bound that a table names alongside those; the scores count all."""

SCORES = (
    words("", lambda group: group.name.removeprefix("part:")),
    numbers("points", lambda group: f"{group.count:,}"),
    numbers("sources", lambda group: str(group.sources)),
    key_figure(numbers("median|factor", lambda group: f"{group.median_factor:.2f}")),
    numbers("90 %|within", lambda group: f"{group.p90_factor:.2f}"),
    numbers("bias", lambda group: f"{group.bias:.2f}"),
    numbers("in 80 %|range", lambda group: whole_percent(group.coverage)),
    numbers("above|bound", lambda group: str(group.bound_beaten)),
)

_WORST = (
    words("point", lambda prediction: prediction.point.id),
    words(
        "measured on", lambda prediction: f"{prediction.point.model} on {prediction.point.hardware}"
    ),
    words("metric", lambda prediction: prediction.point.metric),
    numbers("measured", lambda prediction: number(prediction.point.value)),
    numbers("expected", lambda prediction: number(prediction.expected)),
    key_figure(
        numbers(
            "factor",
            lambda worst: f"{worst.factor:.2f}{' above its bound' * worst.beats_bound}",
        )
    ),
)


_KEY = (
    "key: factor: expected over measured or the other way round, whichever is above 1; "
    "bias: median of expected over measured rates, above 1 is too fast"
)


def point_record(prediction: Prediction) -> Record:
    """Return one predicted point, in the unit of its metric."""
    point = prediction.point
    return plainly(
        {
            **{key: getattr(point, key) for key in ("id", "hardware", "model")},
            "engine": point.engine or None,
            "metric": point.metric,
            "measured": point.value,
            "expected": prediction.expected,
            **{
                key: getattr(prediction, key)
                for key in ("low", "high", "bound", "factor", "engine_used")
            },
            "bound_beaten": prediction.beats_bound,
            "assumed": prediction.assumed,
        }
    )


_OF_GROUPS = ("median_factor", "p90_factor", "bias", "coverage", "bound_beaten", "sources")


def premises(validation: Validation) -> Record:
    """Return what goes with the points: those not predicted, and scores by group."""
    return {
        "skipped": [{"id": skipped.id, "reason": skipped.reason} for skipped in validation.skipped],
        "groups": [
            plainly(
                {"group": group.name, "n": group.count} | {k: getattr(group, k) for k in _OF_GROUPS}
            )
            for group in validation.groups
        ],
    }


def json_text(validation: Validation, assumptions: Record) -> Iterator[str]:
    """Yield a validation in the shape of the contract, a line for each point."""
    parts = {"points": map(point_record, validation.predictions), **premises(validation)}
    yield to_json(envelope("fastcalc-validate/1")).removesuffix("}")
    for name, records in parts.items():
        between = f',\n"{name}": [\n'
        for record in records:
            yield between + to_json(record)
            between = ",\n"
        yield "\n]" if between == ",\n" else between + "\n]"
    yield f',\n"assumptions": {to_json(assumptions)}\n}}\n'


def parts(
    validation: Validation,
    name: str,
    aside: Shipped | None,
    changes: Sequence[ChipChange] | None,
    next_command: str | None,
    screen: Screen,
) -> list[Part]:
    """Return how far off predictions are and where they are weak, their scores, and notes."""
    all_notes = [*_changes(changes, screen), *_notes(validation, aside)]
    (total,) = [group for group in validation.groups if group.name == "all"]
    scope = f"of {name}"
    if aside:
        sram_points = sum(
            group.count for group in validation.groups if group.name == "part:SRAM machines"
        )
        scope = "that their fits have not seen"
        scope += f", {sram_points} of SRAM machines excepted" if sram_points else ""
    points, sources = many(total.count, "point"), many(total.sources, "source")
    page: list[Part] = [
        f"{points} of {sources} {scope}: off by a factor of "
        f"{total.median_factor:.2f} in the median, 90 % within {total.p90_factor:.2f}, "
        f"{whole_percent(total.coverage)} inside their 80 % range, "
        f"{total.bound_beaten} above the bound."
    ]
    weak = _weak(validation, FEW_SOURCES if aside else 0)
    page += [Remark(f"Weak: {weak}.")] if weak else []
    shown_notes = all_notes if aside is None else all_notes[:3]
    if aside is None:
        shown_notes = [_furthest(validation), *shown_notes]
    elif validation.skipped:
        shown_notes += [
            f"{len(validation.skipped)} points are not predicted; {option('notes')} says why"
        ]
    page += [""]
    if not screen.wide:
        page += [record_tables.table(SCORES, shown(validation.groups), screen.width)]
    else:
        page += scores(aside.fitted if aside else validation, screen.width)
        if aside is not None:
            page += ["", "Sources set aside: no engine was fitted on them", ""]
            page += scores(aside.set_aside, screen.width)
    return [*page, screen.under_table(_KEY, shown_notes, all_notes, next_command)]


_CHANGES_SHOWN = 3
"""Chips that have become better or worse, named on a first screen."""
_SAME = 0.005


def _changes(changes: Sequence[ChipChange] | None, screen: Screen) -> list[str]:
    """Say which chips are further off than before, and which nearer."""
    if changes is None:
        return []
    worse = [changed(change) for change in changes if change.worse > _SAME]
    better = [changed(change) for change in reversed(changes) if change.worse < -_SAME]
    limit = None if screen.wide else _CHANGES_SHOWN
    sentences = [*worse[:limit], *better[:limit]]
    unnamed = len(worse) + len(better) - len(sentences)
    sentences += [f"{many(unnamed, 'other chip')} with {option('wide')}"] if unnamed else []
    return [f"since the baseline: {'; '.join(sentences) or 'no chip is further off, none nearer'}"]


def changed(change: ChipChange) -> str:
    """Say how much worse or better a chip's points are predicted than before."""
    word = "worse" if change.worse > 0 else "better"
    factors = f"median factor {change.before:.2f} to {change.after:.2f}"
    return (
        f"{change.hardware} {abs(change.worse):.0%} {word} ({factors}, "
        f"{many(change.count, 'point')})"
    )


def _furthest(validation: Validation) -> str:
    """Say which prediction is furthest off, and by how much."""
    prediction = max(validation.predictions, key=_factor)
    point = prediction.point
    return (
        f"furthest off: {point.id}, {point.model} on {point.hardware}, {point.metric} "
        f"{number(point.value)} measured, {number(prediction.expected)} expected, a factor of "
        f"{prediction.factor:.2f}"
    )


def _notes(validation: Validation, aside: Shipped | None) -> list[str]:
    if aside is None:
        return [*_assumed(validation.predictions), *_left_out(validation.skipped)]
    (total,) = [group for group in aside.set_aside.groups if group.name == "all"]
    skipped = [*aside.fitted.skipped, *aside.set_aside.skipped]
    return [
        f"set aside, as no engine was fitted on them: {total.count:,} points of {total.sources} "
        f"sources, median {total.median_factor:.2f}, 90 % within {total.p90_factor:.2f}, "
        f"{whole_percent(total.coverage)} in the ranges learned from them; {option('wide')} has "
        "their classes and the worst points",
        "SRAM machines: their engines are set from these few speeds, not fitted, so none is left "
        "out there and the factor flatters",
        f"{len(aside.suspect.predictions)} points are not believed and not counted; their reasons "
        "are in evidence/sources.yaml",
        *_left_out(skipped),
    ]


_MOST_ASSUMED = 3
"""Assumptions that a note names."""


def _assumed(predictions: Iterable[Prediction]) -> Iterator[str]:
    """Yield what was assumed of points: layouts that were not stated, waves that memory holds."""
    counts = Counter(prediction.assumed for prediction in predictions if prediction.assumed)
    if counts:
        assumptions = [f"{text} ({many(count, 'point')})" for text, count in counts.most_common()]
        rest = f"more with {option('format', 'json')}"
        yield f"assumed: {'; '.join(first_few(assumptions, _MOST_ASSUMED, rest))}"


def _weak(validation: Validation, fewest_sources: int) -> str:
    """Say which classes have fewer sources than they need, and which are far off."""
    classes = [group for group in validation.groups if group.name.startswith("part:")]
    poorly_sourced = [group for group in classes if group.sources < fewest_sources]
    far = [group for group in classes if group not in poorly_sourced and group.p90_factor > FAR_OFF]
    sentences = []
    for groups, complaint, caveat in (
        (poorly_sourced, "few sources stand behind", ", so their figures may be luck"),
        (far, f"a tenth of the points are off by more than {FAR_OFF:g} in", ""),
    ):
        class_names = [
            f'"{group.name.removeprefix("part:")}" ({many(group.sources, "source")})'
            for group in groups
        ]
        sentences += [f"{complaint} {listed(class_names)}{caveat}"] if class_names else []
    return "; ".join(sentences)


def shown(groups: Sequence[Group]) -> list[Group]:
    """Return the groups that a table shows: classes of machines, and all together."""
    return [group for group in groups if group.name == "all" or group.name.startswith("part:")]


def scores(validation: Validation, width: int) -> Iterator[Part]:
    """Yield scores, the points that are furthest off, and those above their bound."""
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
        yield f"not predicted, {count}: {reason}"
