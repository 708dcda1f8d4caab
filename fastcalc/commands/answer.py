"""Answers in the format that was asked for: a page, a Markdown table, or records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcalc import __version__
from fastcalc.commands import output
from fastcalc.report import console, record_tables
from fastcalc.report.headings import TableColumn
from fastcalc.report.records import SCHEMA, Record
from fastcalc.requests.groups import Output, OutputFile
from fastcalc.written import json_text, to_csv

if TYPE_CHECKING:
    from fastcalc.report.charts.drawing import Chart


HEAD = {"schema": SCHEMA, "version": __version__}
"""What a JSON document of records begins with."""

Page = Callable[[console.Screen], Iterable[console.Part]]


def page(request: OutputFile, parts: Page) -> None:
    """Write the parts of a page, which depend on its screen."""
    laid_out, colour = screen(request), request.out is None and console.wants_colour()
    output.write(console.render(parts(laid_out), laid_out.width, colour=colour), request.out)


def screen(request: object) -> console.Screen:
    """Return what a page is laid out for: flags that say so are those of `Reading`."""
    wide, notes = (getattr(request, name, False) for name in ("wide", "notes"))
    return console.Screen(console.output_width(), wide, notes)


@dataclass(frozen=True)
class CommandAnswer:
    """The answer of a command in every form; each is made only where it is asked for.

    parts : returns the page of a screen, notes and all
    records : returns the records
    rows : returns the columns and rows of a Markdown table
    extra : returns what stands alongside the records in JSON
    warnings : go to standard error where no page has notes
    reasons : why the answer is no; they go to standard error in any case
    keys : of records where there is none
    cells : returns a record as a table of cells holds it
    as_json : returns a JSON document of another form than that of records
    code : exit code: 0 done, 1 the answer is no
    charts : return what is drawn, by kind of chart; the first is drawn where none is named
    as_html : returns a report as one HTML page that goes to a file, where the command has one
    """

    parts: Page | None
    records: Callable[[], Iterable[Record]]
    rows: Callable[[], tuple[Sequence[TableColumn], Iterable[object]]] = lambda: ((), ())
    extra: Callable[[], Record] = dict
    warnings: Iterable[str] = ()
    reasons: Sequence[str] = ()
    keys: Iterable[str] = ()
    cells: Callable[[Record], Record] = dict
    as_json: Callable[[], str | Iterable[str]] | None = None
    code: int = 0
    charts: Mapping[str, Callable[[], "Chart"]] = field(default_factory=dict)
    as_html: Callable[[Path | None], str] = str


def later(name: str, *arguments: Any) -> Callable[[], Any]:
    """Return what calls a function of a module of the report, which is loaded when it is called."""

    def make() -> Any:
        module, _, function = name.rpartition(".")
        return getattr(import_module(f"fastcalc.report.{module}"), function)(*arguments)

    return make


def no_answer(
    reasons: Sequence[str],
    keys: Iterable[str],
    columns: Sequence[TableColumn],
    extra: Callable[[], Record] = dict,
) -> CommandAnswer:
    """Return that there is no answer, and why; of records there are the keys, or the columns."""
    return CommandAnswer(
        None,
        list,
        rows=lambda: (columns, ()),
        extra=lambda: {"reason": "; ".join(reasons), **extra()},
        reasons=reasons,
        keys=keys,
        code=1,
    )


def write(request: Output, answer: CommandAnswer) -> int:
    """Write an answer in the format asked for, and return the exit code."""
    kind = request.written_as
    if kind == "table" and answer.parts is not None:
        page(request, answer.parts)
    elif kind == "markdown":
        output.write(record_tables.markdown(*answer.rows()), request.out)
    elif kind == "html":
        output.write(answer.as_html(request.out), request.out)
    elif kind == "json" and answer.as_json is not None:
        output.write(answer.as_json(), request.out)
    elif kind == "json":
        document = {**HEAD, "records": list(answer.records()), **answer.extra()}
        output.write(json_text(document), request.out)
    elif kind == "csv":
        output.write(to_csv(map(answer.cells, answer.records()), answer.keys), request.out)
    elif kind != "table":
        records = [answer.cells(record) for record in answer.records()]
        keys = records[0] if records else answer.keys
        if request.out is not None:
            to_bytes = getattr(import_module("fastcalc.report.sheets"), f"to_{kind}")
            content = to_bytes(records, keys, answer.extra())
            with output.whole(request.out) as draft:
                draft.write(content)
    output.warn([*(answer.warnings if kind != "table" else ()), *answer.reasons])
    return answer.code
