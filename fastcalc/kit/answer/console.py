"""Lay out sections and notes at a given width, with bold and dim text on terminals.

Lines are laid out as plain text first, so piped output differs from terminal output only in
emphasis. rich is loaded only to add it. No colours are used because no standard colour is readable
on both dark and light backgrounds.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from unicodedata import east_asian_width

from fastcalc.kit.answer.parts import Listing, Notes, Part, Remark, TextTable, Title
from fastcalc.mentions import as_flags
from fastcalc.written import Clean
from fastcalc.written import line as one_line

THINNEST = 20
"""Minimum width of a text column. Narrower columns are printed below their row."""

_SET_IN = " " * 4

BOLD, DIM, PLAIN = "bold", "dim", ""
"""Text styles on a terminal."""

_FIRST_CLAUSE = re.compile(r".*?[;.](?= )|.*", re.DOTALL)
"""The bold part of a heading or headline: its first clause."""

_DOES_NOT_FIT = re.compile(r" *(needs|fits on|too large|does not fit|does not start)\b")
"""Matches cells that explain why the row has no key figure."""

_BEFORE_UNIT = re.compile(r"(?<=[0-9?]) (?=(?!x )[A-Za-z])")
"""The space between a number and its unit, where a line must not break."""

_BEFORE_SIGN = re.compile(r" (?=\*)")
"""The space before the mark of changed answers, where a line must not break."""

Wording = Callable[[str], str]

Line = list[tuple[str, str]]
"""The segments of a line: text and rich style."""


def height(blocks: Iterable[Part], width: int) -> int:
    """Count the lines of a rendered page."""
    return sum(1 for block in blocks for _ in _lines(worded(block, as_flags), width))


def output_width() -> int:
    """Return the line width: from the terminal or COLUMNS, or 100 if neither is known."""
    return max(shutil.get_terminal_size((100, 24)).columns, 20)


def is_terminal() -> bool:
    """Check whether standard output is an open terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def wants_colour() -> bool:
    """Check whether to use bold and dim text on standard output.

    NO_COLOR turns it off; otherwise FORCE_COLOR turns it on, for example in CI logs. If neither is
    set, it is on for terminals that are not dumb.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal() and os.environ.get("TERM") != "dumb"


def render(
    blocks: Iterable[Part], width: int, wording: Wording = as_flags, *, colour: bool = False
) -> str:
    """Render headings, tables and notes. A str is a heading, and an empty str is a blank line.

    wording : Rewrites references to options and commands in sentences.
    """
    lines = [line for block in blocks for line in _lines(worded(block, wording), width)]
    if not colour:
        return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)
    from rich.console import Console
    from rich.text import Text

    console = Console(color_system="standard", force_terminal=True, highlight=False, width=10_000)
    with console.capture() as capture:
        for line in lines:
            console.print(Text.assemble(*line), soft_wrap=True)
    return Clean(capture.get())


def worded(block: Part, wording: Wording) -> Part:
    """Rewrite references to options and commands in the sentences of a page element."""
    if isinstance(block, Title):
        return replace(block, sentence=wording(block.sentence), answer=wording(block.answer))
    if isinstance(block, TextTable):
        return replace(block, rows=[[wording(cell) for cell in row] for row in block.rows])
    if isinstance(block, Notes):
        next_command = block.next_command and wording(block.next_command)
        return Notes([wording(line) for line in block.lines], next_command)
    if isinstance(block, Listing):
        return Listing([wording(line) for line in block.lines])
    return type(block)(wording(block))


def _lines(block: Part, width: int) -> Iterator[Line]:
    if isinstance(block, Title):
        name = one_line(block.name)
        yield from _led_by(f"{name}: {block.answer}", f"{name}: {block.sentence}", width)
    elif isinstance(block, TextTable):
        headings = [tuple(map(one_line, heading)) for heading in block.headings]
        rows = [[one_line(cell) for cell in row] for row in block.rows]
        yield from _table(replace(block, headings=headings, rows=rows), width)
    elif isinstance(block, Notes):
        for note in block.lines:
            yield from ([(line, DIM)] for line in _wrap(_bound(note), width, bullet="- "))
        if block.next_command:
            yield [("next: ", PLAIN), (one_line(block.next_command), BOLD)]
    elif isinstance(block, Listing):
        for entry in block.lines:
            lines = _wrap(_bound(entry), width, bullet="  ", hang=4)
            yield from ([(line, PLAIN)] for line in lines)
    elif isinstance(block, Remark):
        yield from ([(line, PLAIN)] for line in _wrap(_bound(block), width) or [""])
    else:
        clause = _FIRST_CLAUSE.match(block)
        yield from _led_by(clause[0] if clause else "", block, width)


def _led_by(lead: str, text: str, width: int) -> Iterator[Line]:
    left = sum(not sign.isspace() for sign in one_line(lead))
    for line in _wrap(_bound(text), width) or [""]:
        end = 0
        while left and end < len(line):
            left -= not line[end].isspace()
            end += 1
        yield [(line[:end], BOLD), (line[end:], PLAIN)]


def word_list(
    pairs: Iterable[tuple[str, str]], width: int, *, breaks_words: bool = False, column: int = 9
) -> list[str]:
    """Format terms with their explanations in a second column. URLs are never broken."""
    return [
        line
        for word, text in pairs
        for line in textwrap.wrap(
            f"{word:{column}} {text}",
            width - sum(east_asian_width(sign) in "WF" for sign in text),
            initial_indent="  ",
            subsequent_indent=" " * (column + 3),
            break_on_hyphens=False,
            break_long_words=breaks_words,
        )
    ]


def _bound(text: str) -> str:
    """Keep each number on the same line as its unit."""
    return _BEFORE_UNIT.sub("\xa0", text)


def _wrap(text: str, width: int, bullet: str = "", hang: int = 0) -> list[str]:
    lines = textwrap.wrap(
        _BEFORE_SIGN.sub("\xa0", one_line(text)),
        width,
        initial_indent=bullet,
        subsequent_indent=" " * (len(bullet) + hang),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace("\xa0", " ") for line in lines]


def _table(table: TextTable, width: int) -> Iterator[Line]:
    """Yield the lines of a table, fitted to a width.

    It tries in turn to narrow the gaps, wrap text, print the last text column below each row, and
    split the columns into several tables.
    """
    columns = zip(*_heads(table), *table.rows, strict=True)
    natural, last = [max(map(len, column)) for column in columns], len(table.headings) - 1
    ending = [last] if last in table.left else []
    for gap, wrapped in ((table.gap, ending), (1, ending), (1, table.left)):
        widths = _narrowed(table, wrapped, natural, width - gap * last)
        if widths is not None:
            yield from _aligned(table, widths, gap)
            return
    if (ending or last == 1) and sum(natural[:last]) + last - 1 <= width:
        # The last column's cells are indented below their rows.
        narrower = _columns(table, range(last))
        count = len(_heads(narrower))
        lines = list(_table(narrower, width))
        yield from lines[:count]
        for text in _wrap(" ".join(table.headings[last]).strip(), width, bullet=_SET_IN):
            yield [(text, DIM)]
        for row, line in zip(table.rows, lines[count:], strict=True):
            yield line
            words = "" if row[last] == "-" else row[last]
            yield from ([(text, PLAIN)] for text in _wrap(words, width, bullet=_SET_IN))
        return
    # Columns that fit side by side; each group repeats the first column, which names the rows.
    bands: list[list[int]] = [[0]]
    for index in range(1, len(natural)):
        band = bands[-1]
        band_width = sum(natural[column] + 1 for column in band)
        if len(band) > 1 and band_width + natural[index] > width:
            bands.append([0, index])
        else:
            band.append(index)
    for number, band in enumerate(bands):
        yield from [[("", "")]] if number else []
        block = _columns(table, band)
        yield from _table(block, width) if len(bands) > 1 else _aligned(block, natural, block.gap)


def _heads(table: TextTable) -> list[tuple[str, ...]]:
    return list(zip(*table.headings, strict=True))


def _narrowed(
    table: TextTable, wrapped: Sequence[int], natural: Sequence[int], room: int
) -> list[int] | None:
    """Fit column widths, wrapping a text column if needed, or None if it would be too narrow."""
    over = sum(natural) - room
    if over <= 0:
        return list(natural)
    for index in sorted(wrapped, key=lambda column: -natural[column]):
        texts = [*table.headings[index], *(row[index] for row in table.rows)]
        longest = max((len(word) for text in texts for word in text.split()), default=0)
        if natural[index] - over >= max(THINNEST, longest):
            return [*natural[:index], natural[index] - over, *natural[index + 1 :]]
    return None


def _columns(table: TextTable, columns: Sequence[int]) -> TextTable:
    """Select columns of a table, dropping heading lines that become empty."""
    lines = [line for line in _heads(table) if any(line[column] for column in columns)]
    return TextTable(
        [tuple(line[column] for line in lines) for column in columns],
        [[row[column] for column in columns] for row in table.rows],
        [number for number, column in enumerate(columns) if column in table.left],
        table.gap,
        [number for number, column in enumerate(columns) if column in table.key_figures],
    )


def _aligned(table: TextTable, widths: Sequence[int], gap: int) -> Iterator[Line]:
    """Yield the lines of a table with aligned columns, dim headings and wrapped text."""
    between = " " * gap

    def aligned(row: Sequence[str]) -> list[str]:
        return [
            cell.ljust(space) if index in table.left else cell.rjust(space)
            for index, (cell, space) in enumerate(zip(row, widths, strict=True))
        ]

    for head in _heads(table):
        yield [(between.join(aligned(head)).rstrip(), DIM)]
    for row in table.rows:
        cells = [
            _wrap(cell, space) if len(cell) > space else [cell]
            for cell, space in zip(row, widths, strict=True)
        ]
        first, *further_lines = (aligned(block) for block in zip_longest(*cells, fillvalue=""))
        line: Line = []
        for index, cell in enumerate(first):
            line += [(between, PLAIN)] if index else []
            is_read_first = index in table.key_figures or _DOES_NOT_FIT.match(cell)
            line.append((cell, BOLD if is_read_first else PLAIN))
        yield line
        yield from ([(between.join(block), PLAIN)] for block in further_lines)
