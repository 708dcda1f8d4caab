"""Answers in the format that was asked for: a page, a Markdown table, or records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcalc.commands import output
from fastcalc.mentions import as_flags, written
from fastcalc.records.columns import TableColumn
from fastcalc.report import console, record_tables
from fastcalc.report.console import Wording
from fastcalc.report.envelope import envelope
from fastcalc.report.records import SCHEMA, Record
from fastcalc.requests.fields import Setting, by_premise, phrases
from fastcalc.requests.groups import Output, OutputFile
from fastcalc.requests.readers import as_text
from fastcalc.written import json_text, to_csv

if TYPE_CHECKING:
    from fastcalc.report.charts.drawing import Chart


Page = Callable[[console.Screen], Iterable[console.Part]]


def page(request: OutputFile, parts: Page, wording: Wording = as_flags) -> None:
    """Write the parts of a page, which depend on its screen."""
    laid_out, colour = screen(request), request.out is None and console.wants_colour()
    text = console.render(parts(laid_out), laid_out.width, wording, colour=colour)
    output.write(text, request.out)


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
    notes : of the request: how files were read, what was left out; they go there, too
    keys : of records where there is none
    column : returns the values of one key, where that takes less than all records
    cells : returns a record as a table of cells holds it
    as_text : returns the page of a screen where it is no parts
    as_json : returns a JSON document of another form than that of records
    code : exit code: 0 done, 1 the answer is no
    charts : return what is drawn, by kind of chart; the first is drawn where none is named
    as_html : returns another HTML page than that of the parts and charts
    settings : what the request sets
    """

    parts: Page | None
    records: Callable[[], Iterable[Record]]
    rows: Callable[[], tuple[Sequence[TableColumn], Iterable[object]]] = lambda: ((), ())
    extra: Callable[[], Record] = dict
    warnings: Iterable[str] = ()
    reasons: Sequence[str] = ()
    notes: Sequence[str] = ()
    keys: Iterable[str] = ()
    column: Callable[[str], list[Any]] | None = None
    cells: Callable[[Record], Record] = dict
    as_text: Callable[[console.Screen], str] | None = None
    as_json: Callable[[], str | Iterable[str]] | None = None
    code: int = 0
    charts: Mapping[str, Callable[[], "Chart"]] = field(default_factory=dict)
    as_html: Callable[[Path | None], str] | None = None
    settings: Sequence[Setting] = ()

    def alongside(self) -> Record:
        """What stands alongside the records: what they rest on, and what the command adds."""
        extra, stated = self.extra(), by_premise(self.settings)
        return extra | {"assumptions": {**extra.get("assumptions", {}), "settings": stated}}


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
    notes: Sequence[str] = (),
) -> CommandAnswer:
    """Return that there is no answer, and why; of records there are the keys, or the columns."""
    return CommandAnswer(
        None,
        list,
        rows=lambda: (columns, ()),
        extra=lambda: {"reason": "; ".join(reasons), **extra()},
        reasons=reasons,
        notes=notes,
        keys=keys,
        code=1,
    )


def respond(request: Output, answer: CommandAnswer) -> int:
    """Write an answer as the command line does, with notes, and return the exit code."""
    write(request, answer)
    warnings = answer.warnings if request.written_as not in ("table", "html") else ()
    output.warn([*answer.notes, *warnings, *answer.reasons])
    return answer.code


def write(request: Output, answer: CommandAnswer, wording: Wording = as_flags) -> None:
    """Write an answer in the format asked for.

    wording : writes out what sentences mention of options and commands
    """
    kind = request.written_as
    if kind == "table" and answer.parts is not None:
        page(request, answer.parts, wording)
    elif kind == "table" and answer.as_text is not None:
        is_script = getattr(request, "is_script", False)
        page_text = _SHELL * is_script + wording(answer.as_text(screen(request)))
        output.write(page_text, request.out, executable=is_script)
    elif kind == "markdown":
        output.write(wording(record_tables.markdown(*answer.rows())), request.out)
    elif kind == "html":
        to_html = answer.as_html or partial(_html, request, answer)
        output.write(wording(to_html(request.out)), request.out)
    elif kind == "json" and answer.as_json is not None:
        text = answer.as_json()
        pieces = [text] if isinstance(text, str) else text
        output.write(map(wording, pieces), request.out)
    elif kind == "json":
        document = {**envelope(SCHEMA), "records": list(answer.records()), **answer.alongside()}
        output.write(wording(json_text(document)), request.out)
    elif kind == "csv":
        lines = to_csv(map(answer.cells, answer.records()), answer.keys)
        output.write(map(wording, lines), request.out)
    elif kind != "table":
        records = [written(answer.cells(record), wording) for record in answer.records()]
        keys = records[0] if records else answer.keys
        if request.out is not None:
            to_bytes = getattr(import_module("fastcalc.report.sheets"), f"to_{kind}")
            content = to_bytes(records, keys, written(answer.alongside(), wording))
            output.write_data(content, request.out)


_SHELL = "#!/usr/bin/env bash\n"

_PAGE_WIDTH = 1000
"""Characters of a page, which has room for every column. [1]"""


def _html(request: Output, answer: CommandAnswer, file: Path | None) -> str:
    """Return an answer as one HTML page."""
    from fastcalc.commands import COMMANDS, next_commands

    kind = type(request).__name__
    name = next(name for name, (of, _) in COMMANDS.items() if of.endswith(f".{kind}"))
    command = next_commands.again(replace(request, out=file), name)
    fields = ("model", "models", "names", "entries", "left", "right", "path")
    names = (getattr(request, name, None) for name in fields)
    about = ", ".join(_named(named).replace(",", ", ") for named in names if named)
    on = getattr(request, "on", None)
    if about and on not in (None, getattr(type(request), "on", None)):
        about += f" on {as_text(on).replace(',', ', ')}"
    title = _TITLES.get(name, name) + f": {about}" * bool(about)
    laid_out = replace(screen(request), width=_PAGE_WIDTH, notes=True)
    if answer.as_text is not None:
        return str(
            later("page.answer_page.preformatted", title, answer.as_text(laid_out), command)()
        )
    parts = list(answer.parts(laid_out)) if answer.parts else list(answer.reasons)
    stated = phrases(answer.settings)
    charts = (make().stating(stated) for make in answer.charts.values())
    notes = [*answer.notes, *(answer.reasons if answer.parts else ())]
    assumptions = answer.alongside()["assumptions"]
    page_of = later("page.answer_page.document", title, parts, charts, notes, assumptions, command)
    return str(page_of())


def _named(named: object) -> str:
    """Return names as text; of a file its name alone, for who reads a page has no folders."""
    return named.name if isinstance(named, Path) else as_text(named)


_TITLES = {
    "caches": "What a cache of prompts saves",
    "plan": "What serves it cheapest",
    "fit": "What memory holds",
    "fastmode": "What a faster service costs",
    "sensitivity": "What each number buys",
    "decide": "Which service to take",
    "infer": "What speeds and prices leave open",
    "frontier": "Price against speed",
    "diagnose": "Why the server is slower than predicted",
    "list": "In the catalogue",
    "diff": "What differs",
    "validate": "Predicted against measured",
    "claims": "What articles claim, and what the numbers say",
}
"""Of pages, by command; of others the name."""
