"""The text output of a fit."""

from math import expm1

from fastcalc.evidence.calibrate import Calibration
from fastcalc.evidence.own_engine import FEWEST_RUNS, OwnFit
from fastcalc.evidence.own_rows import OwnRows
from fastcalc.evidence.score import Group
from fastcalc.evidence.validate import Validation
from fastcalc.features.measure import validation
from fastcalc.grid.column import key_figure
from fastcalc.kit.answer import own_rows, record_tables
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.parts import Notes, Part, sentence
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.mentions import flag
from fastcalc.written import many

_VALUES = (
    words("value", lambda fitted: fitted[0].name),
    words("engine", lambda fitted: fitted[0].engine),
    words("on", lambda fitted: fitted[0].group or "all"),
    numbers("was", lambda fitted: _si(fitted[0].value)),
    key_figure(numbers("is", lambda fitted: _si(fitted[1]))),
)


def shipped_parts(calibration: Calibration, left_out: Validation, width: int) -> list[Part]:
    """Return fitted values next to those in the files, and the error on held-out sources."""
    values = zip(calibration.family.nodes, map(float, calibration.values), strict=True)
    table = record_tables.table(_VALUES, values, width)
    scores = validation.scores(left_out, width)
    heading = "Held-out sources (cross-validation)"
    return ["Fitted values, SI units", "", table, "", heading, "", *scores]


def values_page(calibration: Calibration) -> str:
    """Build the page of all fitted values: band, uncertainty, and how much the data decide."""
    count, single = len(calibration.family.nodes), list(calibration.publishers).count(1)
    lines = [
        "# Fitted values",
        "",
        f"The {count} fitted values of the engines in SI units, written by `fastcalc calibrate",
        f"{flag('out')} .`. ± is one standard deviation (the larger side). *Data* is the",
        "fraction of the prior uncertainty that measurements removed. At 0%, only the band or the",
        "overridden value determines a value. *Publishers* is the number of publishers whose",
        "measurements change by at least 5% of the value's change. For",
        f"{single} values it is 1.",
        "[The method](method.md#engines-and-how-they-are-fitted) explains the fit.",
        "",
        "| parameter | engine | on | value | ± | band | data | publishers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    fitted = zip(
        calibration.family.nodes,
        calibration.values.tolist(),
        calibration.uncertainty.tolist(),
        calibration.publishers,
        strict=True,
    )
    for node, value, spread, publishers in fitted:
        ends = node.band
        band = f"{_si(ends[0])} to {_si(ends[1])}" if ends else "inherited"
        explained = max(1.0 - (spread / node.spread) ** 2, 0.0)
        lines.append(
            f"| `{node.name}` | {node.engine} | {node.group or 'all'} | {_si(value)} | "
            f"{expm1(spread):.0%} | {band} | {explained:.0%} | {publishers} |"
        )
    return "\n".join(lines) + "\n"


def own_parts(
    rows: OwnRows, fit: OwnFit | None, name: str, next_command: str | None, width: int
) -> list[Part]:
    """Return what a user's measurements changed: engine values, and corrections of deployments."""
    deployments = rows.engine.own_deployments
    engine = f"the fitted {rows.engine.id}" if fit and fit.nodes else rows.engine.id
    page = [*own_rows.parts(deployments, engine, width), ""]
    lines = [
        f"skipped {many(count, 'measurement')}: {reason}"
        for reason, count in rows.left_aside.items()
    ]
    if fit is None:
        lines.append(
            "the engine's values are unchanged; fitting them needs "
            f"{FEWEST_RUNS} or more measurements"
        )
    else:
        tested = "all measurements are from one source, so the fit could not be tested on another"
        if fit.left_out is not None:
            tested = f"held-out sources: {_scored(fit.left_out)}"
        scores = f"{_scored(fit.before)}; after the fit: {_scored(fit.after)}"
        lines += [f"predictions for {name} by {fit.base.id}: {scores}", tested]
        if not fit.nodes:
            lines.append(f"these runs change no value of {fit.base.id}, only the deployments above")
        for node, value in zip(fit.nodes, map(float, fit.values), strict=True):
            of = f"{node.name}{f' on {node.group}' if node.group else ''}"
            lines.append(f"{of}: {_si(node.value)} -> {_si(value)}")
    return [*page, Notes([*map(sentence, lines)], next_command)]


def _scored(group: Group) -> str:
    return f"median error {group.median_factor:.2f}x, 90th percentile {group.p90_factor:.2f}x"


def _si(value: float) -> str:
    return number(value, 4) if 1e-3 <= value < 1e6 else f"{value:.4g}"
