"""Answers in the format that was asked for: a page, a Markdown table, or records."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fastcalc.cli import output
from fastcalc.cli.flags import Output
from fastcalc.core.columns import Column
from fastcalc.report import console, record_tables
from fastcalc.report.records import SCHEMA, Record
from fastcalc.written import json_text, to_csv


def page(file: Path | None, parts: Callable[[int], Iterable[console.Part]]) -> None:
    """Write the parts of a page, which depend on its width."""
    width, colour = console.output_width(), file is None and console.wants_colour()
    output.write(console.render(parts(width), width, colour=colour), file)


def answer(
    asked: Output,
    parts: Callable[[int], Iterable[console.Part]],
    records: Callable[[], list[Record]],
    rows: Callable[[], tuple[Sequence[Column], Iterable[object]]] = lambda: ((), ()),
    extra: Callable[[], Record] = dict,
    warnings: Iterable[str] = (),
) -> None:
    """Write an answer in the format asked for, of which nothing else is made.

    It is the page of a width, the columns and rows of a Markdown table, or records, in JSON with
    something extra alongside. Warnings go to standard error where no page has notes.
    """
    if asked.written_as == "table":
        page(asked.out, parts)
        return
    if asked.written_as == "markdown":
        output.write(record_tables.markdown(*rows()), asked.out)
    else:
        found = records()
        _write(asked, found, found[0] if found else (), extra)
    output.warn([*warnings])


def _write(
    asked: Output, records: list[Record], keys: Iterable[str], extra: Callable[[], Record]
) -> None:
    """Write records of some keys, with something extra where the format has a place for it."""
    if asked.written_as == "csv":
        output.write(to_csv(records, keys), asked.out)
    elif asked.written_as == "json":
        document = {"schema": SCHEMA, "records": records, **extra()}
        output.write(json_text(document), asked.out)
    elif asked.out is not None:
        from fastcalc.report import sheets

        content = getattr(sheets, f"to_{asked.written_as}")(records, keys, extra())
        with output.whole(asked.out) as draft:
            draft.write(content)


def no_answer(
    asked: Output,
    reasons: list[str],
    keys: Iterable[str],
    columns: Sequence[Column],
    extra: Callable[[], Record] = dict,
) -> int:
    """Write that there is no answer and why, and return the exit code.

    What there is of records or of a Markdown table is the header: their keys or its columns.
    """
    if asked.written_as == "markdown":
        output.write(record_tables.markdown(columns, []), asked.out)
    elif asked.written_as != "table":
        _write(asked, [], keys, lambda: {"reason": "; ".join(reasons), **extra()})
    output.warn(reasons)
    return 1
