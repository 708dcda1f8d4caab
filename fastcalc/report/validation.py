"""Scores of predictions against measurements: records of the contract, and a table."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from operator import attrgetter

from fastcalc.evidence.points import Skipped
from fastcalc.evidence.score import Group, Prediction
from fastcalc.evidence.validate import Shipped, Validation
from fastcalc.report import record_tables
from fastcalc.report.console import Part, Screen
from fastcalc.report.numbers_as_text import listed, many, number
from fastcalc.report.record_tables import numbers, words
from fastcalc.report.records import Record, plainly
from fastcalc.written import to_json

WORST = 5
_factor = attrgetter("factor")

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

_WORST = (
    words("point", lambda one: one.point.id),
    words("measured on", lambda one: f"{one.point.model} on {one.point.hardware}"),
    words("metric", lambda one: one.point.metric),
    numbers("measured", lambda one: number(one.point.value)),
    numbers("expected", lambda one: number(one.expected)),
    numbers("factor", lambda one: f"{one.factor:.2f}{' above its bound' * one.beats_bound}"),
)


_KEY = (
    "key: factor: expected over measured or the other way round, whichever is above 1; "
    "bias: median of expected over measured rates, above 1 is too fast"
)


def point_record(one: Prediction) -> Record:
    """Return one predicted point, in the unit of its metric."""
    point = one.point
    return plainly(
        {
            **{key: getattr(point, key) for key in ("id", "hardware", "model")},
            "engine": point.engine or None,
            "metric": point.metric,
            "measured": point.value,
            "expected": one.expected,
            **{key: getattr(one, key) for key in ("low", "high", "bound", "factor", "engine_used")},
            "bound_beaten": one.beats_bound,
            "assumed": one.assumed,
        }
    )


_OF_GROUPS = ("median_factor", "p90_factor", "bias", "coverage", "bound_beaten", "sources")


def premises(found: Validation) -> Record:
    """Return what goes with the points: those not predicted, and scores by group."""
    return {
        "skipped": [{"id": one.id, "reason": one.reason} for one in found.skipped],
        "groups": [
            plainly({"group": one.name, "n": one.count} | {k: getattr(one, k) for k in _OF_GROUPS})
            for one in found.groups
        ],
    }


def json_text(found: Validation) -> Iterator[str]:
    """Yield a validation in the shape of the contract, a line for each point."""
    parts = {"points": map(point_record, found.predictions), **premises(found)}
    yield '{"schema": "fastcalc-validate/1"'
    for name, records in parts.items():
        between = f',\n"{name}": [\n'
        for record in records:
            yield between + to_json(record)
            between = ",\n"
        yield "\n]" if between == ",\n" else between + "\n]"
    yield "}\n"


def parts(
    found: Validation, name: str, aside: Shipped | None, then: str | None, screen: Screen
) -> list[Part]:
    """Return how far off predictions are and where they are weak, their scores, and notes."""
    every = _notes(found, aside)
    (whole,) = [one for one in found.groups if one.name == "all"]
    known = f"of {name}"
    if aside:
        seen = sum(one.count for one in found.groups if one.name == "part:SRAM machines")
        known = "that their fits have not seen"
        known += f", {seen} of SRAM machines excepted" if seen else ""
    points, sources = many(whole.count, "point"), many(whole.sources, "source")
    page: list[Part] = [
        f"{points} of {sources} {known}: off by a factor of "
        f"{whole.median_factor:.2f} in the median, 90 % within {whole.p90_factor:.2f}, "
        f"{100 * whole.coverage:.0f} % inside their 80 % range, "
        f"{whole.bound_beaten} above the bound."
    ]
    weak = _weak(found, FEW_SOURCES if aside else 0)
    page += [f"Weak: {weak}."] if weak else []
    few = every if aside is None else every[:3]
    if aside is None:
        worst = max(found.predictions, key=_factor)
        point = worst.point
        furthest = (
            f"furthest off: {point.id}, {point.model} on {point.hardware}, {point.metric} "
            f"{number(point.value)} measured, {number(worst.expected)} expected, a factor of "
            f"{worst.factor:.2f}"
        )
        few = [furthest, *few]
    elif found.skipped:
        few += [f"{len(found.skipped)} points are not predicted; --notes says why"]
    page += [""]
    if not screen.wide:
        page += [record_tables.table(SCORES, shown(found.groups), screen.width)]
    else:
        page += scores(aside.fitted if aside else found, screen.width)
        if aside is not None:
            page += ["", "Sources set aside: no engine was fitted on them", ""]
            page += scores(aside.set_aside, screen.width)
    return [*page, screen.under_table(_KEY, few, every, then)]


def _notes(found: Validation, aside: Shipped | None) -> list[str]:
    if aside is None:
        return [*_assumed(found.predictions), *_left_out(found.skipped)]
    (whole,) = [one for one in aside.set_aside.groups if one.name == "all"]
    skipped = [*aside.fitted.skipped, *aside.set_aside.skipped]
    return [
        f"set aside, as no engine was fitted on them: {whole.count:,} points of {whole.sources} "
        f"sources, median {whole.median_factor:.2f}, 90 % within {whole.p90_factor:.2f}, "
        f"{100 * whole.coverage:.0f} % in range; --wide has their classes and the worst points",
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
        named = [f"{text} ({many(count, 'point')})" for text, count in counts.most_common()]
        rest = len(named) - _MOST_ASSUMED
        more = [f"{rest} more with --format json"] if rest > 0 else []
        yield f"assumed: {'; '.join([*named[:_MOST_ASSUMED], *more])}"


def _weak(found: Validation, least: int) -> str:
    """Say which classes have fewer sources than they need, and which are far off."""
    classes = [one for one in found.groups if one.name.startswith("part:")]
    few = [one for one in classes if one.sources < least]
    far = [one for one in classes if one not in few and one.p90_factor > FAR_OFF]
    said = []
    for groups, what, so in (
        (few, "few sources stand behind", ", so their figures may be luck"),
        (far, f"a tenth of the points are off by more than {FAR_OFF:g} in", ""),
    ):
        named = [
            f'"{one.name.removeprefix("part:")}" ({many(one.sources, "source")})' for one in groups
        ]
        said += [f"{what} {listed(named)}{so}"] if named else []
    return "; ".join(said)


def shown(groups: Sequence[Group]) -> list[Group]:
    """Return the groups that a table shows: classes of machines, and all together."""
    return [one for one in groups if one.name == "all" or one.name.startswith("part:")]


def scores(found: Validation, width: int) -> Iterator[Part]:
    """Yield scores, the points that are furthest off, and those above their bound."""
    yield record_tables.table(SCORES, shown(found.groups), width)
    worst = nlargest(WORST, found.predictions, key=_factor)
    beating = (one for one in found.predictions if one.beats_bound)
    named = {one.point.id for one in worst}
    beaten = [
        one
        for one in nlargest(WORST + MOST_BEATEN, beating, key=_factor)
        if one.point.id not in named
    ]
    if worst:
        yield ""
        yield record_tables.table(_WORST, [*worst, *beaten[:MOST_BEATEN]], width)


def _left_out(skipped: Sequence[Skipped]) -> Iterator[str]:
    for reason, count in Counter(one.reason for one in skipped).most_common(8):
        yield f"not predicted, {count}: {reason}"
