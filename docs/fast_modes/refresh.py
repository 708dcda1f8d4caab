"""Write ``docs/fast-modes.md``: prose from the template next to this file, numbers computed.

Run ``python docs/fast_modes/refresh.py`` after a change to a formula, a catalogue file or a claim;
a test says when it is due.
"""

import re
import textwrap
from pathlib import Path

from book import Book, Words
from systems import newer, systems, verdicts
from tricks import curve, fifteen, picture, rivals, smaller_batch, smaller_model, summary, worth

from fastcalc.catalogue.store import Catalogue

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "fast-modes.md"

BLOCK = re.compile(r"(?ms)^```.*?^```\n|(?:^[^\n]+\n)+")
"""A fenced block, or lines up to a blank one."""

SECTIONS = (
    *(summary, picture, smaller_batch, curve, rivals, smaller_model, fifteen, worth),
    *(newer, systems, verdicts),
)


def page(catalogue: Catalogue) -> str:
    """Return the text of the page for a catalogue."""
    book = Book(catalogue)
    words: Words = {}
    for section in SECTIONS:
        words |= section(book)
    text = (HERE / "template.md").read_text(encoding="utf-8").format_map(words)
    return "\n".join(wrapped(block) for block in BLOCK.findall(text))


def wrapped(block: str) -> str:
    """Return a paragraph in lines of at most 100 characters; a table or a chart as it is."""
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
    PAGE.write_text(page(Catalogue()), encoding="utf-8")
