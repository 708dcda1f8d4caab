"""Writer of fitted values into engine files, line by line so that comments and order are kept."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fastcalc.catalogue.schema import Engine, Quantity
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.catalogue.schema.engines import HalfWidths
from fastcalc.catalogue.schema.own_rows import OwnDeployment
from fastcalc.evidence.calibrate import Calibration
from fastcalc.evidence.own_engine import OwnFit
from fastcalc.evidence.parameters import FIT
from fastcalc.evidence.score import groups_of
from fastcalc.quoting import yaml_text
from fastcalc.written import many

_EVIDENCE = "evidence/measured.csv"
DIGITS = 4  # significant digits of fitted values
COMMAND = "'fastcalc calibrate'"  # source given for a user's own values
_FITTED = ", fitted on "
_KEY = re.compile(r"( *)([\w.-]+):")
_VALUE = re.compile(r"(\{value: )([^,}]+)")


@dataclass(frozen=True)
class Measured:
    """The measurements file behind a user's engine, and its date."""

    file: str
    date: str


def rewritten(text: str, engine: Engine, calibration: Calibration) -> str:
    """Return an engine file with updated fitted values, ranges and data behind the fit."""
    values = {
        (node.group, node.name): (node, float(value))
        for node, value in zip(calibration.family.nodes, calibration.values, strict=True)
        if node.engine == engine.id
    }
    lines: list[str] = []
    path: dict[int, str] = {}
    for line in text.split("\n"):
        key = _KEY.match(line)
        if key:
            depth = len(key[1])
            path = {level: name for level, name in path.items() if level < depth}
            path[depth] = key[2]
            block, *inner = path.values()
            group = inner[0] if block == "architectures" and len(inner) == 2 else ""
            fitted = block in ("parameters", "architectures") and values.get((group, key[2]))
            if fitted:
                node, value = fitted
                written = engine.architectures.get(group, engine.parameters).given[node.name]
                line = _VALUE.sub(rf"\g<1>{in_unit(written, value)}", line, count=1)
        lines.append(line)
    renewed = "\n".join(lines)
    for name, learned in _learned(engine, calibration).items():
        stated = re.search(rf"(?m)^{name}: ([^\r\n]*)", renewed)
        if stated:
            renewed = renewed[: stated.start(1)] + learned + renewed[stated.end(1) :]
    return renewed


def _learned(engine: Engine, calibration: Calibration) -> dict[str, str]:
    """Return the lines of an engine file for the data behind the fit and the ranges, by key."""
    widths, cells = calibration.widths, calibration.cells[engine.id]
    numbers = {
        name: _mapped({side: f"{reach:g}" for side, reach in width})
        for name, width in widths
        if isinstance(width, HalfWidths)
    }
    numbers |= {"unseen": f"{widths.unseen:g}", "basis": yaml_text(widths.basis)}
    family = calibration.family
    is_first = engine.id == family.nodes[0].engine
    parent = family.engines[engine.extends] if engine.extends else None
    rows = [
        prediction
        for prediction in calibration.left_out
        if prediction.engine_used == engine.id
        or (is_first and engine in family.chain(prediction.engine_used))
    ]
    fitted_on = None
    if rows and (parent or is_first):
        own = groups_of(rows)[0]
        points = f"{own.count:,} published measurements from {many(own.sources, 'source')}"
        if parent is None:
            fitted_on = (
                f"{points}, all GPU engines together ({_EVIDENCE}); held-out publishers: median "
                f"error {own.median_factor:.2f}, 90% within {own.p90_factor:.2f}"
            )
        else:
            whose = parent.name if parent.extends else "all GPU engines"
            has_own = any(node.engine == engine.id for node in family.nodes)
            fitted_on = f"{points}, with the values of {whose}{' as prior' * has_own} ({_EVIDENCE})"
    return {
        **({"fitted_on": yaml_text(fitted_on)} if fitted_on else {}),
        "fitted_architectures": f"[{', '.join(calibration.architectures.get(engine.id, ()))}]",
        "publishers": _mapped(
            {
                phase: _mapped({chip: str(count) for chip, count in counts.items()})
                for phase, counts in cells.items()
            }
        ),
        "range_widths": _mapped(numbers),
    }


def _mapped(texts: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}: {text}' for key, text in texts.items())}}}"


def in_unit(written: Quantity, value: float) -> str:
    """Convert a value to the unit in which another quantity is written. [that unit]"""
    number, _, unit = written.text.partition(" ")
    scaled = value / written.si * float(number)
    return f"{scaled:.{DIGITS}g} {unit}".rstrip()


def own_engine(engine: Engine, fit: OwnFit | None, *, name: str, measured: Measured) -> str:
    """Return the text of a user's engine file.

    engine : The engine that it extends, including the measured deployments.
    fit : The fit of its values, if there are enough measurements.
    """
    rows = sum(len(deployment.rows) for deployment in engine.own_deployments)
    scores = f"{many(rows, 'row')} of its own deployments"
    if fit is not None:
        after, before = fit.after, fit.before
        scores = (
            f"{after.count} points from {many(after.sources, 'source')}: "
            f"median error {after.median_factor:.2f}x, 90% within {after.p90_factor:.2f}x "
            f"(before: {before.median_factor:.2f}x and {before.p90_factor:.2f}x)"
        )
    data = f"{', ' if _FITTED in engine.name else _FITTED}{measured.file}"
    heading = [
        f"id: {name}",
        f"name: {yaml_text(engine.name + data)}",
        f"date: {yaml_text(measured.date)}",
        f"extends: {engine.id}",
        f"fitted_on: {yaml_text(f'{measured.file}, {scores}')}",
        "",
    ]
    deployments = _own_deployments(engine.own_deployments)
    return "\n".join([*heading, *(_fitted(fit, measured) if fit else []), *deployments]) + "\n"


def _own_deployments(deployments: Iterable[OwnDeployment]) -> Iterator[str]:
    yield "own_deployments:"
    for deployment in deployments:
        stated = deployment.model_dump(exclude={"rows"}, exclude_none=True)
        texts = {
            key: yaml_text(value) if isinstance(value, str) else str(value)
            for key, value in stated.items()
        }
        for index, (key, text) in enumerate(texts.items()):
            yield f"{'    ' if index else '  - '}{key}: {text}"
        yield "    rows:"
        for row in deployment.rows:
            stated = row.model_dump(exclude_defaults=True)
            cells = {
                key: yaml_text(value) if isinstance(value, str) else f"{value:g}"
                for key, value in stated.items()
            }
            yield f"      - {_mapped(cells)}"


def _fitted(fit: OwnFit, measured: Measured) -> list[str]:
    if not fit.nodes:
        return []
    title = yaml_text(f"Fit of {measured.file} by {COMMAND}")
    sources = ["sources:", f"  {FIT}:", f"    title: {title}", ""]
    values: dict[str, list[str]] = {}
    for node, value in sorted(
        zip(fit.nodes, fit.values.tolist(), strict=True), key=lambda pair: bool(pair[0].group)
    ):
        indent, block = ("    ", f"  {node.group}:") if node.group else ("  ", "parameters:")
        written = fit.base.on(node.group).given[node.name]
        low, high = node.band or (value, value)
        limit = PARAMETERS[node.name].reader.limit.maximum
        low, high = min(low, value / 1.01), max(high, value * 1.01)  # the limits are rounded
        number = f"value: {in_unit(written, value)}, band: [{low:.3g}, {min(high, limit):.3g}]"
        text = f"{indent}{node.name}: {{{number}, source: {FIT}}}"
        values.setdefault(block, []).append(text)
    lines = []
    for block, texts in values.items():
        if block != "parameters:" and "architectures:" not in lines:
            lines.append("architectures:")
        lines += [block, *texts]
    return [*sources, *lines, ""]
