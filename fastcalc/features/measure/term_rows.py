"""Table rows of a diagnosis: the probability and size of each slowdown, and its symptoms.

Each row is also a row of the Markdown table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fastcalc.features.measure.diagnosis.diagnose import TermFinding
from fastcalc.features.measure.diagnosis.start import Cause
from fastcalc.features.measure.diagnosis.terms import PARTS, SlowdownTerm
from fastcalc.grid.column import Column
from fastcalc.kit.answer.numbers_as_text import number, whole_percent


def term_name(finding: TermFinding) -> str:
    """Name a term with its most likely slow part."""
    return f"{finding.term.name} {PARTS[finding.part][1].name}".strip()


def ends(finding: TermFinding) -> str:
    """Format the 80% range of a slowdown factor."""
    return f"{number(finding.low, 2)} to {number(finding.high, 2)}"


@dataclass(frozen=True)
class TermRow:
    """Stores a term with its finding from measurements, if any, and its causes from the log."""

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


COLUMNS: tuple[Column[TermRow], ...] = (
    Column(
        "term",
        "text",
        "term that may be slower than predicted",
        lambda row: row.term.name,
        heading=("", "term"),
        format=lambda row: term_name(row.by_points) if row.by_points else row.term.name,
    ),
    Column(
        "part",
        "text",
        "its most likely slow part",
        lambda row: row.finding and PARTS[row.finding.part][1].name,
    ),
    Column(
        "named",
        "yes or no",
        "whether it is named as a cause",
        lambda row: row.is_named,
        format=lambda row: "named" if row.is_named else "" if row.tested else "not tested",
    ),
    Column(
        "tested",
        "yes or no",
        "whether a slowdown would be visible in the measurements",
        lambda row: bool(row.tested),
    ),
    Column(
        "probability",
        "1",
        "probability that it is slower",
        lambda row: row.tested and row.tested.probability,
        heading=("", "sure"),
        format=lambda row: whole_percent(row.tested.probability) if row.tested else "-",
    ),
    Column(
        "slower",
        "1",
        "slowdown factor if it is slower",
        lambda row: row.tested and row.tested.slower,
        heading=("", "slower"),
        format=lambda row: f"{number(row.by_points.slower, 2)}x" if row.by_points else "-",
    ),
    Column(
        "slower_low",
        "1",
        "lower bound of its 80% range",
        lambda row: row.tested and row.tested.low,
        heading=("", "80%"),
        format=lambda row: ends(row.by_points) if row.by_points else "-",
    ),
    Column(
        "slower_high",
        "1",
        "upper bound of its 80% range",
        lambda row: row.tested and row.tested.high,
    ),
    Column("shows", "text", "measurements that it affects", lambda row: row.term.shows),
    Column("settings", "list", "settings known to change it", lambda row: list(row.term.settings)),
    Column(
        "logged",
        "list",
        "causes found in the start-up log",
        lambda row: [cause.sentence for cause in row.causes],
    ),
)
