"""Write ``docs/fast-modes.md`` and its page of details: prose from templates, numbers computed.

Run ``python docs/fast_modes/refresh.py`` after a change to a formula, a catalogue file or a claim;
a test says when it is due.
"""

import io
import os
import re
import shlex
import sys
import textwrap
from contextlib import redirect_stdout
from pathlib import Path

from answer import answer
from book import Book, Words
from choice import choice, questions
from machines import machines
from racks import at_speed, drafts_alone
from sources import sources
from systems import newer, systems, verdicts
from techniques import curve, fifteen, picture, rivals, smaller_batch, summary
from wafers import budget, smaller_model, story, wafer

from fastcalc.catalogue.store import Catalogue
from fastcalc.cli.app import program

HERE = Path(__file__).resolve().parent
PAGES = {"fast-modes.md": "template.md", "fast-modes-in-detail.md": "detail.md"}
"""Pages of docs by their templates."""

FIELD = re.compile(r"\{([\w-]+)(?: ([^{}\n]+))?\}")
"""A word of the page, or of a claim by its number: what ``reason`` of a claim could name."""

BLOCK = re.compile(r"(?ms)^```.*?^```\n|(?:^[^\n]+\n)+")
"""A fenced block, or lines up to a blank one."""

COMMAND = re.compile(r"(?m)^\$ fastcalc (.+)$")
"""A command in a block: what it prints follows on the page."""

SECTIONS = (
    *(answer, summary, picture, smaller_batch, at_speed, drafts_alone, curve, rivals),
    *(smaller_model, machines, fifteen, wafer, story, budget),
    *(choice, questions, newer, systems, verdicts, sources),
)


def pages(book: Book) -> dict[str, str]:
    """The text of each page by its name."""
    words: Words = {}
    for section in SECTIONS:
        words |= section(book)

    def filled(found: re.Match[str]) -> str:
        name, of_claim = found.groups()
        return book.filled(name, of_claim) if of_claim else words[name]

    texts = {
        name: FIELD.sub(filled, (HERE / template).read_text(encoding="utf-8"))
        for name, template in PAGES.items()
    }
    return {
        name: "\n".join(wrapped(COMMAND.sub(printed, block)) for block in BLOCK.findall(text))
        for name, text in texts.items()
    }


def printed(shown: re.Match[str]) -> str:
    """A command of the page with what it prints at 100 columns."""
    out = io.StringIO()
    before, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "100"
    try:
        with redirect_stdout(out):
            words = shlex.split(shown[1])
            program(words[0])(words, standalone_mode=False)
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    lines = (line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))
    return "\n".join([shown[0], *lines])


def wrapped(block: str) -> str:
    """A paragraph in lines of at most 100 characters; a table or a chart as it is."""
    if block.startswith(("|", "#", "```")):
        return block
    items = re.split(r"\n(?=- )", block.rstrip("\n"))
    lines = (
        textwrap.fill(
            " ".join(item.split()),
            100,
            subsequent_indent="  " if item.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for page, text in pages(Book(Catalogue())).items():
        if page in sys.argv[1:] or not sys.argv[1:]:
            (HERE.parent / page).write_text(text, encoding="utf-8")
