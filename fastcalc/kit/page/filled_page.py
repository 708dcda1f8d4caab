"""Build a self-contained HTML file with the verdict, tables, charts and premises."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from html import escape
from itertools import chain, groupby
from pathlib import Path
from string import Template

from fastcalc import __version__
from fastcalc.kit.answer.console import worded
from fastcalc.kit.answer.envelope import today
from fastcalc.kit.answer.numbers_as_text import number
from fastcalc.kit.answer.parts import Listing, Notes, Part, TextTable, Title
from fastcalc.kit.answer.point_records import Record
from fastcalc.kit.answer.sheets import leaves
from fastcalc.kit.charts.drawing import COLOURS, DARK, Chart
from fastcalc.kit.charts.highlight import highlighted
from fastcalc.kit.page.inline_svg import MARKS, figures
from fastcalc.mentions import as_prose
from fastcalc.written import visible

_FOLDER = Path(__file__).parent
_ADDRESS = re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:)]")
_LEADING_NUMBER = re.compile(r"[<>=~$ ]*([+-]?[0-9][0-9,]*(?:\.[0-9]+)?)")
_LONG_CELL = 30
"""Number of characters above which a cell wraps."""
RANGE = "80% range"
"""Heading of a column with the ranges of the numbers in the preceding column."""
_PICTURE = 6
"""Number of consecutive lines above which text counts as a plot."""
_DRAWN, _LETTERS = 8, re.compile(r"[A-Z.|+*o -]*")
"""Minimum width of a column that is drawn with letters, and these letters."""

FILTER = (
    "<p class='controls'><label>Filter <input id='filter' type='search' "
    "placeholder='text in a row'></label><span id='count' role='status' class='quiet'></span>"
    "<span class='hint quiet'>Click a heading to sort.</span></p>"
)
"""The filter above a long table."""

_POINTING = (
    "<p class='quiet hint'>Point at a marker, or press Tab and the arrow keys, to read it.</p>"
)


@dataclass(frozen=True)
class Page:
    """The content of a page for readers without a command line. The command is at the end.

    verdict : Sentences that answer the request.
    about : The subject of the page, in a line.
    sections : HTML by heading; empty sections are omitted.
    """

    title: str
    verdict: Sequence[str]
    about: str
    sections: Mapping[str, str]
    command: str


def filled(page: Page) -> str:
    """Build the HTML file of a page."""
    sections = "".join(
        f'<section class="of-{heading.lower().replace(" ", "-")}">'
        f"<h2>{heading}</h2>{html}</section>"
        for heading, html in page.sections.items()
        if html
    )
    rules = [
        "".join(f"--c{index}:{colour};" for index, colour in enumerate(palette))
        for palette in (COLOURS, DARK)
    ]
    classes = "".join(f".c{index}{{--c:var(--c{index})}}" for index in range(len(COLOURS)))
    # The policy forbids style attributes, so each bar width is a class.
    widths = sorted(set(re.findall(r'class="c\d+ w(\d+)"', sections)), key=int)
    classes += "".join(f".w{width}{{width:{int(width) / 100:.2f}%}}" for width in widths)
    fields = {
        "title": escape(page.title),
        "style": f":root{{{rules[0]}}}@media screen and (prefers-color-scheme:dark)"
        f"{{:root{{{rules[1]}}}}}{classes}\n{_text('report.css')}",
        "script": _text("report.js"),
        "marks": MARKS,
        "verdict": "".join(
            f"<p>{escape(prose)}</p>" for prose in map(as_prose, page.verdict) if prose
        ),
        "about": escape(page.about),
        "command": escape(page.command),
        "sections": sections,
        "version": __version__,
        "date": today().isoformat(),
    }
    shown = {key: visible(text) for key, text in fields.items()}
    # The content security policy allows only these two, and nothing that a name injects. Source:
    # CSP level 3, 2.3.1.
    for key in ("style", "script"):
        digest = b64encode(sha256(shown[key].encode()).digest())
        shown[f"{key}_hash"] = f"sha256-{digest.decode()}"
    return Template(_text("report.html")).substitute(shown)


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def drawn(charts: Iterable[Chart], verdict: Sequence[str]) -> str:
    """Draw charts as HTML figures without repeating notes, or nothing if there are no charts.

    verdict : Sentences the page already shows.
    """
    html, notes_shown = "", list[str]()
    for chart in charts:
        prose = highlighted(chart.worded(as_prose))
        new_notes = [note for note in prose.notes if note and note not in notes_shown]
        finding = "" if prose.finding in as_prose(" ".join(verdict)) else prose.finding
        html += "".join(figures(replace(prose, notes=new_notes, finding=finding)))
        notes_shown += new_notes
    pointing = _POINTING if "<title>" in html else ""
    return f'{pointing}<div class="charts">{html}</div>' if html else ""


def as_html(blocks: Iterable[Part]) -> Iterator[str]:
    """Yield the elements of a page as HTML: sortable tables, titles, lists and headings."""
    groups = [[*group] for _, group in groupby(blocks, lambda block: isinstance(block, str))]
    for index, group in enumerate(groups, 1):
        is_text = isinstance(group[0], str)
        members = [worded(block, as_prose) for block in group]
        if is_text and len(members) >= _PICTURE:
            yield f"<pre>{escape(chr(10).join(map(str, members)))}</pre>"
            continue
        for block in members:
            if isinstance(block, TextTable):
                yield table(block)
            elif isinstance(block, Title):
                yield f"<h3>{escape(block.name)}</h3><p>{escape(block.sentence)}</p>"
            elif isinstance(block, (Notes, Listing)):
                yield listed(block.lines)
            elif block:
                name = "h3" if index < len(groups) else "p"  # the last group is not a heading
                yield f"<{name}>{escape(block)}</{name}>"


def table(block: TextTable) -> str:
    """Format an HTML table whose prices or texts stay visible on narrow screens."""
    columns = [*zip(*block.rows, strict=True)] or [()] * len(block.headings)
    headings = [" ".join(lines).strip().replace("- ", "") for lines in block.headings]
    css_classes = ["" if index in block.left else "n" for index in range(len(headings))]
    prices = [index for index, heading in enumerate(headings) if "$" in heading]
    prices.sort(key=lambda index: "$/Mtok" not in headings[index])
    for index in prices[:1]:
        css_classes[index] += " price"
    for index, cells in enumerate(columns):
        if max(map(len, cells), default=0) >= _DRAWN and all(map(_LETTERS.fullmatch, cells)):
            css_classes[index], headings[index] = "drawn", block.headings[index][-1]
    for index in block.key_figures:
        css_classes[index] += " key-figure"
    ranged = {index - 1 for index, heading in enumerate(headings) if heading == RANGE}
    for index in ranged:
        css_classes[index + 1] += " range"
    order = [*range(len(headings))]
    if len(order) > 2 and sum(len(cell) > _LONG_CELL for cell in columns[-1]) > len(block.rows) / 2:
        order.insert(1, order.pop())  # words come before numbers
    heads = "".join(
        f'<th scope="col" class="{css_classes[index]}"{under(RANGE * (index in ranged))}>'
        f"<button>{escape(headings[index])}</button></th>"
        for index in order
    )
    rows = "".join(
        "<tr>"
        + "".join(
            _cell(row[index], css_classes[index], row[index + 1] if index in ranged else "")
            for index in order
        )
        + "</tr>"
        for row in block.rows
    )
    return (
        "<div class='wide' tabindex='0' role='region' aria-label='Table'><table class='rows'>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def under(text: str) -> str:
    """Return the attribute with the text shown below a cell on narrow screens."""
    return f' data-under="{escape(text.strip(), quote=True)}"' if text.strip(" -") else ""


def _cell(text: str, css_class: str, ends: str) -> str:
    """Format a table cell, sorted by the number at its start if it has one.

    ends : Its range, shown below it on narrow screens.
    """
    text = text if css_class == "drawn" else text.strip()
    number = _LEADING_NUMBER.match(text)
    value = number[1].replace(",", "") if number else text.strip(" -")
    long = " long" if len(text) > _LONG_CELL and css_class != "drawn" else ""
    values = f'data-v="{escape(value, quote=True)}"{under(ends)}'
    return f'<td class="{css_class}{long}" {values}>{escape(text)}</td>'


def listed(lines: Iterable[str]) -> str:
    """Format an HTML list whose URLs are links, which the page never loads by itself."""
    texts = [
        _ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', escape(prose))
        for line in lines
        if (prose := as_prose(line))
    ]
    return f"<ul>{''.join(f'<li>{text}</li>' for text in texts)}</ul>" if texts else ""


def all_of(assumptions: Record) -> str:
    """Format a collapsed list of all assumptions by name."""
    rows = []
    for key, _, value in leaves(assumptions, ()):
        items = [
            item for item in (value if isinstance(value, list) else [value]) if item is not None
        ]
        texts = (("no", "yes")[item] if isinstance(item, bool) else str(item) for item in items)
        words = [*filter(None, map(as_prose, texts))]
        if key and words:
            text = number(value) if isinstance(value, float) else "; ".join(words)
            rows.append((key.replace("_", " "), text))
    shown = table(TextTable([("assumption",), ("value",)], rows, left=(0, 1))) if rows else ""
    return f"<details><summary>All assumptions</summary>{shown}</details>" if rows else ""


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

    blocks : The page laid out for a wide terminal; sentences before the first table are the
        verdict.
    notes : The notes on the request, shown with the premises.
    assumptions : The inputs behind the records, in the same form as in the JSON output.
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
