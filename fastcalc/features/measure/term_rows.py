"""Table rows of a diagnosis: the probability and size of each slowdown, and its symptoms.

Each row is also a row of the Markdown table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastcalc.features.measure.diagnosis.diagnose import TermFinding
from fastcalc.features.measure.diagnosis.start import Cause
from fastcalc.features.measure.diagnosis.terms import PARTS, SlowdownTerm
from fastcalc.grid.columns import columns_from
from fastcalc.kit.answer.numbers_as_text import number, whole_percent


def term_name(finding: TermFinding) -> str:
    """Name a term with its most likely slow part."""
    return f"{finding.term.name} {PARTS[finding.part][1].name}".strip()


def ends(finding: TermFinding) -> str:
    """Format the 80% range of a slowdown factor."""
    return f"{number(finding.low, 2)} to {number(finding.high, 2)}"


@dataclass(frozen=True)
class TermRow:
    """A term with its finding from measurements, if any, and its causes from the log."""

    term: SlowdownTerm
    finding: TermFinding | None
    causes: Sequence[Cause]

    @property
    def is_named(self) -> bool:
        """Whether measurements or the log name the term as a cause."""
        return bool(self.causes or self.by_points)

    @property
    def tested(self) -> TermFinding | None:
        """The finding, or None if no measurement tests the term."""
        return self.finding if self.finding and self.finding.is_tested else None

    @property
    def by_points(self) -> TermFinding | None:
        """The finding, or None if the term is not named."""
        return self.finding if self.finding and self.finding.is_named else None


_VALUES: dict[str, Callable[[Any], Any]] = {
    "part": lambda row: row.finding and PARTS[row.finding.part][1].name,
    "tested": lambda row: bool(row.tested),
    "probability": lambda row: row.tested and row.tested.probability,
    "slower": lambda row: row.tested and row.tested.slower,
    "slower_low": lambda row: row.tested and row.tested.low,
    "slower_high": lambda row: row.tested and row.tested.high,
    "settings": lambda row: list(row.term.settings),
    "logged": lambda row: [cause.sentence for cause in row.causes],
}
"""Values that are not an attribute, by key."""

_FORMATS: dict[str, Callable[[Any], Any]] = {
    "term": lambda row: term_name(row.by_points) if row.by_points else row.term.name,
    "named": lambda row: "named" if row.is_named else "" if row.tested else "not tested",
    "probability": lambda row: whole_percent(row.tested.probability) if row.tested else "-",
    "slower": lambda row: f"{number(row.by_points.slower, 2)}x" if row.by_points else "-",
    "slower_low": lambda row: ends(row.by_points) if row.by_points else "-",
}
"""Cells with a format of their own, by key."""

COLUMNS = columns_from(__file__, _VALUES, _FORMATS)
