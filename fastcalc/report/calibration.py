"""What a fit found, in lines."""

from collections.abc import Sequence

from fastcalc.evidence.calibrate import Calibration
from fastcalc.evidence.own_engine import OwnFit
from fastcalc.evidence.parameters import Node
from fastcalc.evidence.score import Group
from fastcalc.evidence.validate import Validation
from fastcalc.report import validation
from fastcalc.report.console import Part, Table, render
from fastcalc.report.numbers_as_text import number
from fastcalc.written import Clean


def shipped_text(found: Calibration, left_out: Validation, width: int, *, colour: bool) -> str:
    """Return the fitted values alongside those in the files, and what is left of unseen sources."""
    heads = [("value",), ("engine",), ("on",), ("was",), ("is",)]
    cells = [
        (node.name, node.engine, node.group or "all", _si(node.value), _si(float(value)))
        for node, value in zip(found.family.nodes, found.values, strict=True)
    ]
    parts: list[Part] = ["Fitted values, SI units", "", Table(heads, cells, left=(0, 1, 2))]
    scores = validation.table(left_out, "sources left out in turn", width, colour=colour)
    return Clean(render(parts, width, colour=colour) + "\n" + scores)


def own_lines(fit: OwnFit, name: str) -> list[str]:
    """Return what one's own fit found, in sentences."""
    lines = [f"{fit.base.id} on {name}: {_scored(fit.before)}; fitted: {_scored(fit.after)}"]
    if fit.left_out is None:
        lines.append(
            "one source: nothing is left to test the fit on, so trust the fitted figure less"
        )
    else:
        lines.append(f"sources left out in turn: {_scored(fit.left_out)}")
    if not fit.nodes:
        lines.append(f"these runs move no value of {fit.base.id}: use it as it is")
    return [*lines, *_moved(fit.nodes, [float(value) for value in fit.values])]


def _moved(nodes: Sequence[Node], values: Sequence[float]) -> list[str]:
    return [
        f"{node.name}{f' on {node.group}' if node.group else ''}: {_si(node.value)} -> {_si(value)}"
        for node, value in zip(nodes, values, strict=True)
    ]


def _scored(group: Group) -> str:
    return (
        f"median factor {group.median_factor:.2f}, 90 % within {group.p90_factor:.2f} "
        f"({group.count} points)"
    )


def _si(value: float) -> str:
    return number(value, 4) if 1e-3 <= value < 1e6 else f"{value:.4g}"
