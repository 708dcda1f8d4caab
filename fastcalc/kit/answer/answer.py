"""The base class of answers, which fill a page, records, a table or charts; and the screen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fastcalc.grid.column import TableColumn
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.parts import Note, Part, TextTable
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.request.fields import Request, Setting, by_premise, settings

if TYPE_CHECKING:
    from fastcalc.kit.charts.drawing import Chart
from collections.abc import Collection

from fastcalc.kit.answer.console import height
from fastcalc.kit.answer.parts import Notes, sentence
from fastcalc.mentions import option

_MOST_NOTES = 4
"""Maximum number of notes on a first screen."""

_SCREEN_LINES = 24
"""Lines on a first screen: the default height of a terminal."""


@dataclass(frozen=True)
class Screen:
    """The screen a page is laid out for.

    width, lines : The characters per line, and lines on a first screen.
    wide, notes : Whether to print all columns, and all notes.
    ids : Ids of entries, which are not capitalized at the start of a note.
    """

    width: int
    wide: bool = False
    notes: bool = False
    lines: int = _SCREEN_LINES
    ids: Collection[str] = ()

    def sentences(self, notes: Iterable[Note]) -> list[str]:
        """Return the distinct texts of notes as sentences."""
        return list(dict.fromkeys(sentence(note.written, self.ids) for note in notes))

    def with_notes(
        self,
        body: Sequence["Part"],
        key: str,
        notes: Sequence[Note],
        next_command: str | None,
        *,
        fills_one_screen: bool,
    ) -> list["Part"]:
        """Build a page with its key, its main notes (or all) and the suggested next command.

        fills_one_screen : Whether to print only the notes that fit on one screen, at least one.
        """
        first = sorted((note for note in notes if note.weight), key=lambda note: -note.weight)
        short_notes = self.sentences(first)
        lasting = (note for note in notes if not (note.is_hint or (note.is_of_rows and self.wide)))
        all_notes = self.sentences(lasting)

        def page(count: int) -> list[Part]:
            return [*body, self.under_table(key, short_notes[:count], all_notes, next_command)]

        return on_one_screen(page, self) if fills_one_screen else page(_MOST_NOTES)

    def under_table(
        self,
        key: str,
        short_notes: Sequence[str],
        all_notes: Sequence[str],
        next_command: str | None,
    ) -> Notes:
        """Build the notes below a table: key, short notes (or all) and the next command."""
        if self.wide or self.notes:
            return Notes([*filter(None, [key]), *all_notes], next_command)
        shown = short_notes[:_MOST_NOTES]
        noun = "note" if len(all_notes) == 1 else "notes"
        count = f"{option('notes')} prints {len(all_notes)} {noun}; " * (
            not set(all_notes) <= set(shown)
        )
        hidden = f"{count}{option('wide')} prints all columns and rows."
        return Notes([key, *shown, hidden], next_command)


def on_one_screen(page: Callable[[int], list[Part]], screen: Screen) -> list[Part]:
    """Build a page with as many short notes as fit on one screen, or one if it is too long.

    page : Builds the page with the given number of short notes.
    """
    for count in range(_MOST_NOTES, -1, -1):
        laid_out = page(count)
        if screen.wide or screen.notes or height(laid_out, screen.width) <= screen.lines:
            return laid_out
    return page(1)


Charts = Mapping[str, Callable[[], "Chart"]]
"""The function that draws each chart, by the chart's name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """Base class for the results of all commands. Output is only produced when requested.

    A command provides its content by overriding methods: the contents of its page (`body`, `key`,
    `notes`, `next_command`), its `records`, the rows of its Markdown `table`, the assumptions
    behind the records, their `details`, and its `charts`. `respond.write` renders these as text,
    Markdown, JSON, CSV, HTML and sheets, for the command line and Python.

    The default methods ignore their arguments.

    request : The request being answered.
    reading : The notes for standard error on how files were read and what was skipped.
    reasons : Sentences for standard error on why the answer is no.
    """

    request: Request
    reading: Sequence[str] = ()
    reasons: Sequence[str] = ()

    fills_one_screen = False
    """Whether to cut notes so that the page fits on one screen. Otherwise up to four print."""

    marks: ClassVar[Mapping[str, str]] = {}
    """The meaning of each mark at the end of a cell. The key explains those that the page uses."""

    @property
    def code(self) -> int:
        """The exit code of the command: 0 for success, or 1 if there is no result."""
        return 1 if self.reasons else 0

    @property
    def undrawn(self) -> Sequence[str]:
        """Sentences on why there is no chart of a requested kind."""
        return ()

    @property
    def settings(self) -> Sequence[Setting]:
        """The settings of the request, without those that do not affect the result."""
        return settings(self.request)

    def body(self, screen: Screen) -> Iterable[Part]:  # noqa: ARG002
        """Return the headlines, headings and tables of the page, or nothing if there is no page."""
        return ()

    def key(self) -> str:
        """Return the key to the table columns. `page` adds the meaning of marks."""
        return ""

    def notes(self) -> Iterable[Note]:
        """Return the notes below the tables, each with its weight."""
        return ()

    def next_command(self) -> str | None:
        """Return the suggested next command."""
        return None

    def page(self, screen: Screen) -> Sequence[Part]:
        """Assemble the page: body, key, notes (a few, or all on request) and the next command."""
        body = [*self.body(screen)]
        if not body:
            return []
        tables = [block for block in body if isinstance(block, TextTable)]
        key = record_tables.with_mark(self.key(), *tables, marks=self.marks)
        notes, command = [*self.notes()], self.next_command()
        return screen.with_notes(body, key, notes, command, fills_one_screen=self.fills_one_screen)

    def text(self, screen: Screen) -> str | None:  # noqa: ARG002
        """Return the answer if it is plain text, such as a script, or None if it has a page."""
        return None

    def html(self, file: Path | None) -> str | None:  # noqa: ARG002
        """Return an HTML page to use instead of the default one with the page and the charts."""
        return None

    def document(self) -> Iterable[str] | None:
        """Yield the JSON document in pieces if the JSON output is not a list of records."""
        return None

    def records(self) -> Iterable[Record]:
        """Return the rows of the result as dictionaries, with their keys in order."""
        return ()

    @property
    def keys(self) -> Iterable[str]:
        """The keys of the records, needed if an answer may have no records."""
        return ()

    def column(self, key: str) -> list[Any] | None:  # noqa: ARG002
        """Return the values of one key if they can be computed without building all records."""
        return None

    def cells(self, record: Record) -> Record:
        """Convert a record for CSV and spreadsheet output."""
        return record

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Return the columns and rows of the Markdown table."""
        return (), ()

    def premises(self) -> Record:
        """Return the inputs other than the settings: traffic, prices and engines."""
        return {}

    def details(self) -> Record:
        """Return additional content of the JSON document."""
        return {}

    def assumptions(self) -> Record:
        """Return everything that the numbers depend on, for the JSON output."""
        return {**self.premises(), "settings": by_premise(self.settings)}

    def alongside(self) -> Record:
        """Return everything in the JSON document except the records: assumptions and details."""
        return {"assumptions": self.assumptions(), **self.details()}

    def warnings(self) -> Iterable[str]:
        """Yield warnings for standard error, for output formats without notes."""
        return ()

    @property
    def charts(self) -> Charts:
        """The function that draws each chart, by its name. The first is the default."""
        return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class NoAnswer(Answer):
    """Answer without records that gives the reason.

    asked_keys : The keys the records would have had.
    columns : Columns of the Markdown table.
    beside : Additional content of the JSON document.
    resting_on : The inputs the records would have depended on.
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
        """Return the inputs the records would have depended on."""
        return self.resting_on

    def details(self) -> Record:
        """Return the reasons and the additional content of the JSON document."""
        return {"reason": "; ".join(self.reasons), **self.beside}
