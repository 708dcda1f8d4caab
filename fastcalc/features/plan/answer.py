"""Answer of `plan`: page, records, chart and server scripts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fastcalc.features.plan import notes as plan_notes
from fastcalc.features.plan.columns import KEYS
from fastcalc.features.plan.table_columns import columns
from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer.answer import Charts
from fastcalc.kit.answer.commands import compare_command
from fastcalc.kit.answer.console import HeadlineCase, Part, Screen
from fastcalc.kit.answer.point_records import Record, plainly
from fastcalc.kit.answer.prices import price_line

if TYPE_CHECKING:
    from fastcalc.kit.charts.drawing import Chart


from fastcalc.features.plan import fleet_records
from fastcalc.features.plan.headline import headline, load_line
from fastcalc.features.plan.legend import legend
from fastcalc.features.plan.page_notes import notes_of
from fastcalc.features.plan.page_tables import rows_of, tables_of
from fastcalc.features.plan.planned_fleet import PlannedFleet


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanAnswer(PlannedFleet):
    """Answer of `plan`: owned chips that serve the load, and the cheapest to rent in addition.

    servers : the scripts that start all servers, if requested
    """

    servers: str | None = None
    asked_keys = KEYS

    # Records

    @property
    def columns(self) -> Sequence[TableColumn]:
        """Columns of the table of records."""
        return columns(self.service)

    @cached_property
    def unrounded(self) -> list[Record]:
        """Unrounded record of each plan; the first record of each pool is the chosen plan."""
        is_ranked = self.is_of_one_class and self.servers is None
        return fleet_records.unrounded(self, self.request.top if is_ranked else 1)

    def records(self) -> list[Record]:
        """One record for each plan."""
        return [plainly(record) for record in self.unrounded]

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Table of the records, with the columns of the first screen."""
        return self.columns, self.unrounded

    def premises(self) -> Record:
        """Assumptions: traffic, prices, engines and the definition of the latencies."""
        return fleet_records.assumptions(self)

    def details(self) -> Record:
        """Details: why others lost, what would help, class latencies and allocations."""
        return fleet_records.details(self) if self.servers is None else {"servers": self.servers}

    @property
    def charts(self) -> Charts:
        """Charts of TPOT against price."""
        return {"plan": self.chart} if self.is_of_one_class and self.pools else {}

    def chart(self) -> "Chart":
        """Chart of TPOT against price for the first plans and the best plan of each chip."""
        from fastcalc.features.plan.chart import plans

        return plans(self.decision, self.request.top)

    # Page

    def text(self, screen: Screen) -> str | None:  # noqa: ARG002
        """Text of the server scripts, if requested."""
        return self.servers

    def page(self, screen: Screen) -> Sequence[Part]:
        """Page: headline, prices and tables, followed by a legend and notes on the listed plans."""
        if self.servers is not None:
            return ()
        rows = rows_of(self, wide=screen.wide)
        tables = tables_of(self, rows, self.unrounded, screen)
        body = [*self._above_tables()]
        for table in tables:
            body += "", table
        key, command = legend(self, rows, tables), compare_command(self.scenarios[0], self.typed)
        notes = [*notes_of(self, rows)]
        return screen.with_notes(body, key, notes, command, fills_one_screen=True)

    def _above_tables(self) -> Iterator[Part]:
        """Headline, and prices per chip-hour."""
        yield headline(self)
        yield HeadlineCase(load_line(self))
        break_even = ""
        if self.is_of_one_class and not self.is_of_fleet:
            break_even = plan_notes.break_even(self.decision)
        yield from price_line(self.scenarios, break_even)
