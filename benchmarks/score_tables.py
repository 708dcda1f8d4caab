"""How good calculators are on published points, next to fastcalc on the same ones: tables."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.table import factor, markdown, spread
from fastcalc import __version__
from fastcalc.evidence.predict import Batch
from fastcalc.evidence.score import Prediction

FEW = 5
"""Points of a class that a line is worth, and reasons that are listed of a calculator."""

SIDE_BY_SIDE = ("points", "of all", "median factor", "90% within", "bias")
OURS = ("fastcalc on them", "90% within", "bias")


@dataclass(frozen=True)
class Row:
    """A published point as fastcalc predicts it, and what others are asked about it.

    Attributes
    ----------
    ours : Prediction
        By engines that have not seen its source.
    is_apart : bool
        Whether no engine was fitted on its source.
    batch : Batch
        Where it ran, with unstated ranks completed, for fastcalc and for others alike.
    """

    ours: Prediction
    is_apart: bool
    batch: Batch

    def speed(self, predicted: float) -> float:
        """Return predicted over measured, both as rates: above 1 is too fast. [1]"""
        ratio = predicted / self.ours.point.value
        return 1.0 / ratio if self.ours.point.is_time else ratio


@dataclass(frozen=True)
class Calculator:
    """What came of asking a calculator about every row.

    Attributes
    ----------
    name : str
        With its version.
    absent : str
        Why it could not be installed or asked; empty where it could.
    speeds : dict of str to float
        Predicted over measured rates by the id of the point. [1]
    refused : Counter
        Why it has no answer for others.
    installed_s, answered_s : float
        How long it took. [s]
    """

    name: str
    absent: str = ""
    speeds: dict[str, float] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    installed_s: float = 0.0
    answered_s: float = 0.0


def scores(speeds: Iterable[float]) -> list[str]:
    """Return the median factor, that of nine in ten, and the bias of predicted over measured."""
    ratios = list(speeds)
    if not ratios:
        return ["", "", ""]
    middle, high = spread([factor(ratio, 1.0) for ratio in ratios])
    return [f"{middle:.3f}", f"{high:.2f}", f"{median(ratios):.2f}"]


def overall(rows: Sequence[Row], calculators: Sequence[Calculator]) -> str:
    """Return a line for each calculator: how much it expresses, and how well, next to ours."""
    lines = [
        [f"fastcalc {__version__}", f"{len(rows):,}", "100%", *scores(_ours(rows)), "", "", ""]
    ]
    for calculator in calculators:
        if calculator.absent:
            lines.append([calculator.name, calculator.absent, *[""] * 7])
            continue
        expressed = [row for row in rows if row.ours.point.id in calculator.speeds]
        share = f"{100 * len(expressed) / len(rows):.0f}%"
        lines.append([calculator.name, str(len(expressed)), share, *_pair(expressed, calculator)])
    return markdown(("calculator", *SIDE_BY_SIDE, *OURS), lines)


def _ours(rows: Iterable[Row]) -> list[float]:
    return [row.ours.bias for row in rows]


def _pair(rows: Sequence[Row], calculator: Calculator) -> list[str]:
    peer_speeds = [calculator.speeds[row.ours.point.id] for row in rows]
    return [*scores(peer_speeds), *scores(_ours(rows))]


def by_class(rows: Sequence[Row], calculators: Sequence[Calculator]) -> str:
    """Return a line for each class of points and calculator that has some answers in it."""
    lines = []
    for part in sorted({row.ours.part for row in rows}):
        members = [row for row in rows if row.ours.part == part]
        ours = [str(len(members)), "100%", *scores(_ours(members)), "", "", ""]
        lines.append([part, "fastcalc", *ours])
        for calculator in calculators:
            expressed = [row for row in members if row.ours.point.id in calculator.speeds]
            if len(expressed) >= FEW:
                share = f"{100 * len(expressed) / len(members):.0f}%"
                name = calculator.name.partition(" ")[0]
                counts = ["", name, str(len(expressed)), share]
                lines.append([*counts, *_pair(expressed, calculator)])
    return markdown(("class", "calculator", *SIDE_BY_SIDE, *OURS), lines, left=2)


def side_by_side(rows: Sequence[Row], calculator: Calculator) -> str:
    """Return dense models and experts alongside one calculator, by whether sources were fitted."""
    expressed = [row for row in rows if row.ours.point.id in calculator.speeds]
    lines = []
    groups = {
        "all sources": (True, False),
        "held out in turn": (False,),
        "not used for fitting": (True,),
    }
    for name, sides in groups.items():
        for kind, has_experts in (("dense", False), ("experts", True)):
            members = [
                row
                for row in expressed
                if row.is_apart in sides and row.ours.has_experts == has_experts
            ]
            sources = len({row.ours.point.source_key for row in members})
            counts = [f"{kind}, {name}", str(len(members)), str(sources)]
            lines.append([*counts, *_pair(members, calculator)])
    name = calculator.name.partition(" ")[0]
    return markdown(("models, sources", "points", "sources", name, *OURS[1:], *OURS), lines)


def refusals(calculators: Sequence[Calculator]) -> str:
    """The three most frequent reasons for no answer of each calculator, with their points."""
    lines = [
        [
            calculator.name.partition(" ")[0],
            ", ".join(
                f"{reason.replace('|', '/')[:110]} ({count})"
                for reason, count in calculator.refused.most_common(3)
            ),
        ]
        for calculator in calculators
        if calculator.refused
    ]
    return markdown(("calculator", "unsupported (points)"), lines, left=2)
