"""What a command found, whatever the form it is shown in: a page, records, a table, charts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer import console, record_tables
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.request.fields import Request, Setting, by_premise, settings

if TYPE_CHECKING:
    from fastcalc.kit.charts.drawing import Chart

Charts = Mapping[str, Callable[[], "Chart"]]
"""What makes each kind of chart."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """What a command found. Each form of it is made only where it is asked for.

    A command says what it has by overriding methods: what stands on its page (`body`, `key`,
    `notes`, `next_command`), its `records`, the rows of its Markdown `table`, what the records
    depend on and the `details` beside them, its `charts`. One renderer, `respond.write`, makes
    text, Markdown, JSON, CSV, HTML and sheets of them, for the command line and Python.

    Of what takes an argument the default has no use for it.

    request : what was asked
    reading : how files were read and what was omitted, in sentences; they go to standard error
    reasons : why the answer is no; they go there, too
    """

    request: Request
    reading: Sequence[str] = ()
    reasons: Sequence[str] = ()

    fills_one_screen = False
    """Whether notes are limited to fit one screen; otherwise at most four."""

    marks: ClassVar[Mapping[str, str]] = {}
    """What marks at the end of a cell mean; the key says it of those that the page has."""

    @property
    def code(self) -> int:
        """Exit code: 0 done, 1 the answer is no."""
        return 1 if self.reasons else 0

    @property
    def settings(self) -> Sequence[Setting]:
        """What the request sets on which numbers rest."""
        return settings(self.request)

    def body(self, screen: console.Screen) -> Iterable[console.Part]:  # noqa: ARG002
        """Headlines, headings and tables of the page; none where there is no page."""
        return ()

    def key(self) -> str:
        """What the columns of the page's tables mean; `page` adds what a mark in them means."""
        return ""

    def notes(self) -> Iterable[console.Note]:
        """What to know of the page, with the weight of each note."""
        return ()

    def next_command(self) -> str | None:
        """What to type next."""
        return None

    def page(self, screen: console.Screen) -> Sequence[console.Part]:
        """The body, and under it the key, few notes or all of them, and what to type next."""
        body = [*self.body(screen)]
        if not body:
            return []
        tables = [block for block in body if isinstance(block, console.TextTable)]
        key = record_tables.with_mark(self.key(), *tables, marks=self.marks)
        notes, command = [*self.notes()], self.next_command()
        return screen.with_notes(body, key, notes, command, fills_one_screen=self.fills_one_screen)

    def text(self, screen: console.Screen) -> str | None:  # noqa: ARG002
        """The page where it is no parts but a text, as a script is."""
        return None

    def html(self, file: Path | None) -> str | None:  # noqa: ARG002
        """An HTML page of the answer's own, in place of that of its page and charts."""
        return None

    def document(self) -> Iterable[str] | None:
        """JSON of another form than that of records, in pieces."""
        return None

    def records(self) -> Iterable[Record]:
        """The records, in the order of the contract."""
        return ()

    @property
    def keys(self) -> Iterable[str]:
        """Keys of the records, where there may be none of these."""
        return ()

    def column(self, key: str) -> list[Any] | None:  # noqa: ARG002
        """The values of one key, where that takes less than all records."""
        return None

    def cells(self, record: Record) -> Record:
        """A record as CSV and sheets hold it."""
        return record

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Columns and rows of a Markdown table."""
        return (), ()

    def premises(self) -> Record:
        """What the records depend on in addition to the settings: traffic, prices, engines."""
        return {}

    def details(self) -> Record:
        """What else stands beside the records."""
        return {}

    def assumptions(self) -> Record:
        """What the records depend on: premises and settings."""
        return {**self.premises(), "settings": by_premise(self.settings)}

    def alongside(self) -> Record:
        """What stands beside the records in JSON: assumptions and details."""
        return {"assumptions": self.assumptions(), **self.details()}

    def warnings(self) -> Iterable[str]:
        """Sentences for standard error where the form has no notes."""
        return ()

    @property
    def charts(self) -> Charts:
        """What makes each kind of chart; the first is drawn where none is named."""
        return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class NoAnswer(Answer):
    """That there is no answer, and why.

    asked_keys : of the records that there would be
    columns : of their Markdown table
    beside : what stands beside the records
    resting_on : what they would depend on
    """

    asked_keys: Iterable[str]
    columns: Sequence[TableColumn]
    beside: Record = field(default_factory=dict)
    resting_on: Record = field(default_factory=dict)
    code = 1

    @property
    def keys(self) -> Iterable[str]:
        """Keys of the requested columns."""
        return self.asked_keys

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Columns without a row."""
        return self.columns, ()

    def premises(self) -> Record:
        """What records would depend on."""
        return self.resting_on

    def details(self) -> Record:
        """The reason, and what else there is to say."""
        return {"reason": "; ".join(self.reasons), **self.beside}
