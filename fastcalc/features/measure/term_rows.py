"""The terms of a diagnosis, a record each: how surely each is slower, by how much, and what shows.

A row of a Markdown table is a term, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fastcalc.features.measure.diagnosis.diagnose import TermFinding
from fastcalc.features.measure.diagnosis.start import Cause
from fastcalc.features.measure.diagnosis.terms import PARTS, SlowdownTerm
from fastcalc.grid.column import Column
from fastcalc.kit.answer.numbers_as_text import number, whole_percent


def term_name(finding: TermFinding) -> str:
    """Name of a term with the part of it that most likely is slower."""
    return f"{finding.term.name} {PARTS[finding.part][1].name}".strip()


def ends(finding: TermFinding) -> str:
    """The 80 % range of how many times slower it is."""
    return f"{number(finding.low, 2)} to {number(finding.high, 2)}"


@dataclass(frozen=True)
class TermRow:
    """What points find of a term, None without any, and what the log names."""

    term: SlowdownTerm
    finding: TermFinding | None
    causes: Sequence[Cause]

    @property
    def is_named(self) -> bool:
        """Whether points or the log name it."""
        return bool(self.causes or self.by_points)

    @property
    def tested(self) -> TermFinding | None:
        """The finding, None where no point tests it."""
        return self.finding if self.finding and self.finding.is_tested else None

    @property
    def by_points(self) -> TermFinding | None:
        """The finding, None where it is not named."""
        return self.finding if self.finding and self.finding.is_named else None


COLUMNS: tuple[Column[TermRow], ...] = (
    Column(
        "term",
        "text",
        "what may be slower than predicted",
        lambda row: row.term.name,
        heading=("", "term"),
        format=lambda row: term_name(row.by_points) if row.by_points else row.term.name,
    ),
    Column(
        "part",
        "text",
        "what of it most likely is",
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
        "whether it would show in the points",
        lambda row: bool(row.tested),
    ),
    Column(
        "probability",
        "1",
        "that it is slower",
        lambda row: row.tested and row.tested.probability,
        heading=("", "sure"),
        format=lambda row: whole_percent(row.tested.probability) if row.tested else "-",
    ),
    Column(
        "slower",
        "1",
        "how many times, where it is",
        lambda row: row.tested and row.tested.slower,
        heading=("", "slower"),
        format=lambda row: f"{number(row.by_points.slower, 2)}x" if row.by_points else "-",
    ),
    Column(
        "slower_low",
        "1",
        "lower end of 80 % of that",
        lambda row: row.tested and row.tested.low,
        heading=("", "80 %"),
        format=lambda row: ends(row.by_points) if row.by_points else "-",
    ),
    Column(
        "slower_high",
        "1",
        "upper end of 80 % of that",
        lambda row: row.tested and row.tested.high,
    ),
    Column("shows", "text", "where it shows", lambda row: row.term.shows),
    Column("settings", "list", "what is known to change it", lambda row: list(row.term.settings)),
    Column(
        "logged",
        "list",
        "what the log of the start says of it",
        lambda row: [cause.sentence for cause in row.causes],
    ),
)
