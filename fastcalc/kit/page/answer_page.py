"""The HTML page for any command: its terminal output, charts and assumptions."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain

from fastcalc.kit.answer.parts import Listing, Notes, Part, TextTable, Title
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.charts.drawing import Chart
from fastcalc.kit.page.filled_page import FILTER, Page, all_of, as_html, drawn, filled, listed

_MANY = 8
"""Total number of table rows above which the page has a filter."""


def document(
    title: str,
    blocks: Sequence[Part],
    charts: Iterable[Chart],
    notes: Iterable[str],
    assumptions: Record,
    command: str,
) -> str:
    """Build the HTML page of an answer.

    blocks : page laid out for a wide terminal; sentences before the first table are the verdict
    notes : notes on the request, shown with the premises
    assumptions : inputs behind the records, in the same form as in the JSON output
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
    """Build the HTML page of an answer that is only text."""
    return filled(Page(title, [], "", {"In full": f"<pre>{escape(text)}</pre>"}, command))
