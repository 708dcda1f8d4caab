"""Fitted values back into engine files, line by line, so that comments and order stay."""

import re
from collections.abc import Iterable, Mapping

from fastcalc.catalogue.schema import Engine, Quantity
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.evidence.calibrate import Calibration
from fastcalc.evidence.own_engine import OwnFit
from fastcalc.evidence.parameters import FIT, Node
from fastcalc.written import to_json

DIGITS = 4  # of fitted values
COMMAND = "'fastcalc calibrate'"  # how values of one's own came about
_KEY = re.compile(r"^( *)([\w.-]+):(.*)$")
_VALUE = re.compile(r"(\{value: )([^,}]+)")


def rewritten(text: str, engine: Engine, calibration: Calibration) -> str:
    """Return an engine file with its fitted values, its ranges and what it was fitted on."""
    values = {
        (node.group, node.name): (node, float(value))
        for node, value in zip(calibration.family.nodes, calibration.values, strict=True)
        if node.engine == engine.id
    }
    lines: list[str] = []
    path: dict[int, str] = {}
    for line in text.splitlines():
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
                written = getattr(engine.architectures.get(group, engine.parameters), node.name)
                line = _VALUE.sub(rf"\g<1>{in_unit(written, value)}", line, count=1)
        lines.append(line)
    renewed = "\n".join(lines) + "\n"
    for name, learned in _learned(engine, calibration).items():
        renewed = re.sub(rf"(?m)^{name}: .*$", f"{name}: {learned}", renewed)
    return renewed


def _learned(engine: Engine, calibration: Calibration) -> dict[str, str]:
    """Return what an engine was fitted on and its ranges, as its file has them."""
    widths, kinds = calibration.widths, calibration.kinds[engine.id]
    numbers = {name: f"{number:g}" for name, number in widths if name != "basis"}
    return {
        "fitted_architectures": _listed(calibration.architectures.get(engine.id, ())),
        "fitted_kinds": _mapped({phase: _listed(names) for phase, names in kinds.items()}),
        "range_widths": _mapped(numbers | {"basis": _quoted(widths.basis)}),
    }


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"


def _mapped(texts: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}: {text}' for key, text in texts.items())}}}"


def in_unit(written: Quantity, value: float) -> str:
    """Return a value in the unit in which another is written. [that unit]"""
    number, _, unit = written.text.partition(" ")
    scaled = value / written.si * float(number)
    return f"{scaled:.{DIGITS}g} {unit}".rstrip()


def own_engine(fit: OwnFit, *, name: str, measured: str, measured_on: str) -> str:
    """Return the file of an engine fitted on the user's runs."""
    after, before = fit.after, fit.before
    scores = (
        f"median factor {after.median_factor:.2f}, 90 % within {after.p90_factor:.2f} "
        f"(before: {before.median_factor:.2f} and {before.p90_factor:.2f})"
    )
    heading = [
        f"id: {name}",
        f"name: {_quoted(f'{fit.base.name}, fitted on {measured}')}",
        f"date: {_quoted(measured_on)}",
        f"extends: {fit.base.id}",
        "fitted_on: >-",
        f"  {measured}, {after.count} points of {after.sources} "
        f"source{'s' if after.sources > 1 else ''}: {scores}",
        "",
    ]
    title = _quoted(f"Fit of {measured} by {COMMAND}")
    sources = ["sources:", f"  {FIT}:", f"    title: {title}", ""]
    values: dict[str, list[str]] = {}
    for node, value in sorted(
        zip(fit.nodes, fit.values.tolist(), strict=True), key=lambda pair: bool(pair[0].group)
    ):
        indent, block = ("    ", f"  {node.group}:") if node.group else ("  ", "parameters:")
        written = getattr(fit.base.on(node.group), node.name)
        number = f"value: {in_unit(written, value)}, band: {_band(node, value)}"
        text = f"{indent}{node.name}: {{{number}, source: {FIT}}}"
        values.setdefault(block, []).append(text)
    lines = []
    for block, texts in values.items():
        if block != "parameters:" and "architectures:" not in lines:
            lines.append("architectures:")
        lines += [block, *texts]
    return "\n".join([*heading, *(sources if fit.nodes else []), *lines]).rstrip() + "\n"


def _band(node: Node, value: float) -> str:
    """Return where runs of one's own may move a value to, as a file has it. [SI]"""
    low, high = node.band or (value, value)
    limit = PARAMETERS[node.name].reader.limit.maximum
    low, high = min(low, value / 1.01), max(high, value * 1.01)  # the ends are rounded
    return f"[{low:.3g}, {min(high, limit):.3g}]"


def _quoted(text: str) -> str:
    return to_json(text)
