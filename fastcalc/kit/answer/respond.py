"""Write an answer in the requested format."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from fastcalc.catalogue.kinds import SCHEMAS
from fastcalc.kit.answer import console, output, record_tables
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.console import Wording
from fastcalc.kit.answer.envelope import envelope
from fastcalc.kit.answer.parts import Part
from fastcalc.kit.answer.point_records import SCHEMA
from fastcalc.kit.request.fields import Request, declared, phrases
from fastcalc.kit.request.groups import Output, OutputFile, OwnFolders
from fastcalc.kit.request.loading import catalogue
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import as_flags, written
from fastcalc.written import ReadingNote, json_text, to_csv


def page(
    request: OutputFile, parts: Callable[[Screen], Iterable[Part]], wording: Wording = as_flags
) -> None:
    """Write a page, laid out for its screen."""
    laid_out, colour = screen(request), request.out is None and console.wants_colour()
    text = console.render(parts(laid_out), laid_out.width, wording, colour=colour)
    output.write(text, request.out)


def screen(request: Request) -> Screen:
    """Return the screen to lay out for. It shows all notes if the command has no flag for them."""
    wide, notes = request.values.get("wide", False), request.values.get("notes", True)
    ids: set[str] = set()  # ids an answer may name: those in the folders and in single files
    if isinstance(request, OwnFolders):
        stated = (request.values.get(name) for name in ("models", "model", "on", "engine"))
        names = ",".join(as_text(value) for value in stated if value is not None)
        folders = catalogue(request)
        ids = {name for kind in SCHEMAS for name in folders.names(kind)}
        ids |= set(re.findall(r"([a-z]+)(?:\.ya?ml)?(?=,|=|$)", names))
    return Screen(console.output_width(), wide, notes, ids=frozenset(ids))


def respond(request: Output, answer: Answer) -> int:
    """Write an answer and its notes on the command line, and return the exit code."""
    shown = write(request, answer)
    warnings = answer.warnings() if request.written_as not in ("table", "html") else ()
    reading = [text for text in answer.reading if text not in shown]
    output.warn([*reading, *warnings, *answer.reasons])
    return answer.code


def write(request: Output, answer: Answer, wording: Wording = as_flags) -> Sequence[str]:
    """Write an answer in the requested format, and return the reading notes that its page shows.

    wording : Rewrites references to options and commands in sentences.
    """
    form = request.written_as
    if form == "table":
        first, laid_out = _first_notes(answer), screen(request)
        laid_out = replace(laid_out, lines=laid_out.lines - console.height(first, laid_out.width))
        if text := answer.text(laid_out):
            lines, is_script = _SHELL * request.is_script + wording(text), request.is_script
            output.write(lines, request.out, executable=is_script)
        elif blocks := answer.page(laid_out):
            page(request, lambda _: [*first, *blocks], wording)
            return first
        return ()
    if form in ("markdown", "html", "json", "csv"):
        out: str | Iterable[str]
        if form == "markdown":
            out = record_tables.markdown(*answer.table())
        elif form == "html":
            out = answer.html(request.out) or _html(request, answer)
        elif form == "csv":
            out = to_csv(map(answer.cells, answer.records()), answer.keys)
        else:
            pieces = answer.document()
            if pieces is None:
                document = {
                    **envelope(SCHEMA),
                    "records": list(answer.records()),
                    **answer.alongside(),
                }
                pieces = json_text(document)
            out = [pieces] if isinstance(pieces, str) else pieces
        output.write(wording(out) if isinstance(out, str) else map(wording, out), request.out)
    elif request.out is not None:
        from fastcalc.kit.answer import sheets

        records = [written(answer.cells(record), wording) for record in answer.records()]
        keys = records[0] if records else answer.keys
        to_bytes = {"xlsx": sheets.to_xlsx, "parquet": sheets.to_parquet}[request.written_as]
        output.write_data(
            to_bytes(records, keys, written(answer.alongside(), wording)), request.out
        )
    return ()


def _first_notes(answer: Answer) -> list[str]:
    return [text for text in dict.fromkeys(answer.reading) if isinstance(text, ReadingNote)]


_SHELL = "#!/usr/bin/env bash\n"

_PAGE_WIDTH = 1000
"""Width of an HTML page in characters, wide enough for every column."""


def _html(request: Output, answer: Answer) -> str:
    from fastcalc.kit.answer import next_commands
    from fastcalc.kit.page import filled_page

    name = request.command()
    command = next_commands.again(request)
    fields = ("model", "models", "names", "entries", "left", "right", "path")
    stated = [named for named in map(request.values.get, fields) if named]
    # Files appear without their folders, which readers of a page do not have.
    names = (named.name if isinstance(named, Path) else as_text(named) for named in stated)
    about = ", ".join(name.replace(",", ", ") for name in names)
    on = request.values.get("on")
    field = declared(type(request)).get("on")
    if about and on is not None and not (field and on == field.default):
        about += f" on {as_text(on).replace(',', ', ')}"
    title = _TITLES.get(name, name) + (f": {about}" * bool(about))
    laid_out = replace(screen(request), width=_PAGE_WIDTH, notes=True)
    if text := answer.text(laid_out):
        return filled_page.preformatted(title, text, command)
    blocks = answer.page(laid_out)
    stated = phrases(answer.settings)
    charts = (make().stating(stated) for make in answer.charts.values())
    first = _first_notes(answer) if blocks else []
    notes = [text for text in answer.reading if text not in first]
    notes += answer.reasons if blocks else ()
    return filled_page.document(
        title,
        [*first, *blocks] or list(answer.reasons),
        charts,
        notes,
        answer.assumptions(),
        command,
    )


_TITLES = {
    "caches": "Savings from a prefix cache",
    "plan": "Cheapest deployment",
    "fit": "What fits in memory",
    "fastmode": "Cost of a faster service",
    "sensitivity": "Sensitivity to each number",
    "decide": "Which service to choose",
    "infer": "Techniques that explain speeds and prices",
    "frontier": "Price against speed",
    "diagnose": "Why the server is slower than predicted",
    "list": "In the catalogue",
    "diff": "What differs",
    "validate": "Predicted against measured",
    "claims": "Claims of articles, checked",
}
"""Page titles by command. The default is the name of the command."""
