"""The answer of a command, independent of its output form: page, records, table or charts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.parts import Note, Part, TextTable
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.screen import Screen
from fastcalc.kit.request.fields import Request, Setting, by_premise, settings

if TYPE_CHECKING:
    from fastcalc.kit.charts.drawing import Chart

Charts = Mapping[str, Callable[[], "Chart"]]
"""Functions that draw each kind of chart, by name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """The answer of a command. Each output form is made only if it is requested.

    A command provides its content by overriding methods: the contents of its page (`body`, `key`,
    `notes`, `next_command`), its `records`, the rows of its Markdown `table`, the inputs of the
    records and their `details`, and its `charts`. One renderer, `respond.write`, turns these into
    text, Markdown, JSON, CSV, HTML and sheets, for the command line and Python.

    The default methods ignore their arguments.

    request : the request that this answers
    reading : sentences on how files were read and what was omitted, for standard error
    reasons : sentences on why the answer is no, for standard error
    """

    request: Request
    reading: Sequence[str] = ()
    reasons: Sequence[str] = ()

    fills_one_screen = False
    """Whether the notes are limited so that the page fits one screen. Otherwise there are four."""

    marks: ClassVar[Mapping[str, str]] = {}
    """The meaning of each mark at the end of a cell. The key explains the marks on the page."""

    @property
    def code(self) -> int:
        """The exit code: 0 done, 1 the answer is no."""
        return 1 if self.reasons else 0

    @property
    def settings(self) -> Sequence[Setting]:
        """The settings of the request that affect the numbers."""
        return settings(self.request)

    def body(self, screen: Screen) -> Iterable[Part]:  # noqa: ARG002
        """Return the page's headlines, headings and tables. Empty if there is no page."""
        return ()

    def key(self) -> str:
        """Explain the columns of the page's tables. `page` adds the meaning of marks."""
        return ""

    def notes(self) -> Iterable[Note]:
        """Return the notes under the page, each with its weight."""
        return ()

    def next_command(self) -> str | None:
        """Suggest the next command."""
        return None

    def page(self, screen: Screen) -> Sequence[Part]:
        """Build the page: body, key, notes (a few, or all if requested) and the next command."""
        body = [*self.body(screen)]
        if not body:
            return []
        tables = [block for block in body if isinstance(block, TextTable)]
        key = record_tables.with_mark(self.key(), *tables, marks=self.marks)
        notes, command = [*self.notes()], self.next_command()
        return screen.with_notes(body, key, notes, command, fills_one_screen=self.fills_one_screen)

    def text(self, screen: Screen) -> str | None:  # noqa: ARG002
        """Return an answer that is plain text, such as a script. None if the page has parts."""
        return None

    def html(self, file: Path | None) -> str | None:  # noqa: ARG002
        """Return an HTML page that replaces the default one made from the page and the charts."""
        return None

    def document(self) -> Iterable[str] | None:
        """Return the JSON document in pieces, if the answer has another JSON form than records."""
        return None

    def records(self) -> Iterable[Record]:
        """Return the records, with keys in the order of the contract."""
        return ()

    @property
    def keys(self) -> Iterable[str]:
        """The keys of the records, for an answer that may have no records."""
        return ()

    def column(self, key: str) -> list[Any] | None:  # noqa: ARG002
        """List the values of one key, if they can be computed without making all records."""
        return None

    def cells(self, record: Record) -> Record:
        """Convert a record to the form written to CSV and sheets."""
        return record

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Return the columns and rows of a Markdown table."""
        return (), ()

    def premises(self) -> Record:
        """Return the inputs of the records besides the settings: traffic, prices and engines."""
        return {}

    def details(self) -> Record:
        """Return further content of the JSON document, next to the records."""
        return {}

    def assumptions(self) -> Record:
        """Return the inputs of the records: premises and settings."""
        return {**self.premises(), "settings": by_premise(self.settings)}

    def alongside(self) -> Record:
        """Return what the JSON document has next to the records: assumptions and details."""
        return {"assumptions": self.assumptions(), **self.details()}

    def warnings(self) -> Iterable[str]:
        """Return sentences for standard error if the output format has no notes."""
        return ()

    @property
    def charts(self) -> Charts:
        """The functions that draw each kind of chart. The first is the default."""
        return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class NoAnswer(Answer):
    """An answer without records, with the reason.

    asked_keys : keys that the records would have
    columns : columns of the Markdown table
    beside : further content of the JSON document
    resting_on : inputs that the records would depend on
    """

    asked_keys: Iterable[str]
    columns: Sequence[TableColumn]
    beside: Record = field(default_factory=dict)
    resting_on: Record = field(default_factory=dict)
    code = 1

    @property
    def keys(self) -> Iterable[str]:
        """The keys of the requested columns."""
        return self.asked_keys

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Return the columns, without rows."""
        return self.columns, ()

    def premises(self) -> Record:
        """Return the inputs that the records would depend on."""
        return self.resting_on

    def details(self) -> Record:
        """Return the reasons, and further content of the JSON document."""
        return {"reason": "; ".join(self.reasons), **self.beside}
