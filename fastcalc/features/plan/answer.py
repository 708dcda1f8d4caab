"""What a plan answers, whatever it is asked for: a headline, prices, tables of plans and notes."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fastcalc.core.scenario import Scenario
from fastcalc.features.plan.columns import WEAK
from fastcalc.features.plan.decision import Decision, Plan
from fastcalc.features.plan.deployments_asked import typed_of
from fastcalc.features.plan.ranked_plan import tpot_range
from fastcalc.features.plan.records import unrounded
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.table_columns import columns, columns_but, with_formats
from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.commands import Typed, compare_command
from fastcalc.kit.answer.console import Note, Part, Screen, TextTable, Title
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.answer.prices import price_line
from fastcalc.mentions import option

STAR = " *"
"""Mark of plans in fewer bits than were asked for."""

CHANGED = (
    f"; fewer bits change answers, so * leads only if {option('weights')} or {option('kv')} asks"
)
_MARKS = {WEAK: "wider, for few or no measurements are like it"}
_IN_NODES = f"; in whole nodes ({option('by', 'chip')}: singly)"

_LABEL = TableColumn("label", heading=("", "plan"))


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanAnswer(Answer):
    """The deployments that serve what is asked.

    service : what they do together
    """

    request: FindPlans
    service: Service
    fills_one_screen = True
    marks = _MARKS

    @cached_property
    def typed(self) -> Typed:
        """What commands repeat as typed."""
        return typed_of(self.request)

    @property
    @abstractmethod
    def scenarios(self) -> Sequence[Scenario]:
        """Those of the plans that the headline names."""

    @property
    def break_even(self) -> str:
        """At which price another chip wins, in a phrase under the headline."""
        return ""

    @property
    @abstractmethod
    def unrounded(self) -> list[Record]:
        """A record for each plan with all digits, for a table to round once."""

    @abstractmethod
    def title(self) -> Title:
        """The answer in a sentence."""

    @abstractmethod
    def tables(self, screen: Screen) -> list[TextTable]:
        """The plans, and what they serve."""

    def records(self) -> list[Record]:
        """A record for each plan."""
        return [plainly(record) for record in self.unrounded]

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """The records, in the columns of a first screen."""
        return columns(self.service), self.unrounded

    def body(self, screen: Screen) -> Iterator[Part]:
        """The answer in a sentence, prices of chip-hours, and the tables."""
        yield self.title()
        yield from price_line(self.scenarios, self.break_even)
        for table in self.tables(screen):
            yield from ("", table)

    def next_command(self) -> str:
        """The command that prints a replica of the first plan."""
        return compare_command(self.scenarios[0], self.typed)


@dataclass(frozen=True, eq=False)
class PlanRow:
    """A plan as a page lists it.

    label : what it stands there for
    decision : that it is of
    is_owned : whether its chips are
    is_shown : whether the page has room for it in its table
    """

    label: str
    plan: Plan
    decision: Decision
    is_owned: bool = False
    is_shown: bool = True

    @property
    def is_marked(self) -> bool:
        """Whether it has fewer bits than asked for, and may not lead."""
        return not self.decision.may_lead(self.plan)


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedPlansAnswer(PlanAnswer):
    """Plans for requests that are alike, the best of each kind in one table."""

    @abstractmethod
    def rows(self, *, wide: bool) -> list[PlanRow]:
        """Plans that a page lists, those of its table first.

        wide : whether there is room for all
        """

    @abstractmethod
    def notes_of(self, rows: Sequence[PlanRow]) -> Iterable[Note]:
        """What to know of the plans that a page lists."""

    def page(self, screen: Screen) -> Sequence[Part]:
        """The body, and under it a key and notes of the plans that it lists."""
        rows, body = self.rows(wide=screen.wide), [*self.body(screen)]
        shown = [row for row in rows if row.is_shown]
        key = self.key() + _IN_NODES * any(row.plan.node_chips > 1 for row in shown)
        key += CHANGED * any(row.is_marked for row in shown)
        tables = [part for part in body if isinstance(part, TextTable)]
        key = record_tables.with_mark(key, *tables, marks=self.marks)
        notes, command = [*self.notes_of(rows)], self.next_command()
        return screen.with_notes(body, key, notes, command, fills_one_screen=self.fills_one_screen)

    def tables(self, screen: Screen) -> list[TextTable]:
        """The plans, each with its label."""
        rows = [row for row in self.rows(wide=screen.wide) if row.is_shown]
        records = [
            {_LABEL.key: row.label + STAR * row.is_marked, **record}
            for row in rows
            for record in unrounded([row.plan], row.decision.service, self.typed)
        ]
        shown = columns_but(self.service, self.hidden(rows, wide=screen.wide), wide=screen.wide)
        has_fewer_bits = any(row.is_marked for row in rows)
        fitting = with_formats(shown, records, has_fewer_bits=has_fewer_bits)
        return [record_tables.table([_LABEL, *fitting], records, screen.width)]

    def hidden(self, rows: Sequence[PlanRow], *, wide: bool) -> Collection[str]:  # noqa: ARG002
        """Keys of columns that say nothing of the plans of a table."""
        service = self.service
        hidden = set()
        if service.rate is None and service.share is None and not service.is_fleet:
            hidden.add("utilization")
        if all(tpot_range(row.plan) is None for row in rows):
            hidden.add("service_tpot_ms_low")
        return hidden
