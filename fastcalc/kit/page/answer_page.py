"""An answer of any command as a page: what a terminal prints, its charts and its assumptions."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain

from fastcalc.kit.answer.console import Listing, Notes, Part, TextTable, Title
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.page.filled_page import FILTER, Page, all_of, as_html, drawn, filled, listed

_MANY = 8
"""Rows of all tables from which a filter helps."""


def document(
    title: str,
    blocks: Sequence[Part],
    charts: Iterable[Chart],
    notes: Iterable[str],
    assumptions: Record,
    command: str,
) -> str:
    """Page of an answer.

    blocks : of a terminal that is wide enough; sentences before the first table are the verdict
    notes : on the request, which belong to the premises
    assumptions : what the records depend on, as JSON has it
    """
    verdict, body, premises = list[str](), list[Part](), list[str]()
    for block, following in zip(blocks, [*blocks[1:], ""], strict=True):
        if isinstance(block, Notes):
            premises += block.lines
        elif isinstance(block, Title) and not body:
            verdict.append(f"{block.name}: {block.sentence}")
        elif isinstance(block, str) and not (body or isinstance(following, (TextTable, Listing))):
            verdict += [block] if block else []
        else:
            body.append(block)
    tables = [block for block in body if isinstance(block, TextTable)]
    has_filter = sum(len(block.rows) for block in tables) >= _MANY
    sections = {
        "Table" if tables else "In full": FILTER * has_filter + "".join(as_html(body)),
        "Charts": drawn(charts, verdict),
        "Premises": listed(dict.fromkeys(chain(premises, notes))) + all_of(assumptions),
    }
    return filled(Page(title, verdict, "", sections, command))


def preformatted(title: str, text: str, command: str) -> str:
    """Page of an answer that a terminal prints as text alone."""
    return filled(Page(title, [], "", {"In full": f"<pre>{escape(text)}</pre>"}, command))
