"""Judged claims as records, as a table, and one of them in full."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from fastcalc.articles.finding import FindingRows
from fastcalc.articles.judge import MEANING, Judged, Tested
from fastcalc.catalogue.schema.claims import Article, Claims, Input
from fastcalc.report.console import Notes, Part, Table, render
from fastcalc.report.numbers_as_text import number
from fastcalc.report.records import Record, plain

_SIGNS = {"equals": "", "at-least": ">= ", "at-most": "<= ", "between": ""}
_WORDS = {
    "equals": "",
    "at-least": "at least ",
    "at-most": "at most ",
    "between": "between ",
}
_FEW, _MORE = 2, 6
"""Values that a table lists, and a claim in full; of more, the ends are shown."""


def claim_records(judged: Sequence[Judged], book: Claims) -> list[Record]:
    """Return a record for each claim; what does not apply is None.

    ``value`` and ``expected`` are numbers, or lists where a test has several; None in such a list
    is a case that has no value.
    """
    return [_record(one, book) for one in judged]


def digits(value: float) -> str:
    """Return a number with four digits and no zeros that say nothing.

    Examples
    --------
    >>> digits(6.0), digits(26.75), digits(525000.0), digits(0.348678)
    ('6', '26.75', '525,000', '0.3487')
    """
    text = number(value, 4)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _record(one: Judged, book: Claims) -> Record:
    check, then, claim = one.check, one.conclusion, one.claim
    return {
        "id": claim.id,
        "verdict": one.verdict,
        "value": _listed(check.values) if check else None,
        "expected": _listed(np.array(check.expected)) if check else None,
        "unit": check.unit if check else None,
        "formula": check.formula if check else None,
        "source": sources(one, book),
        "claim": claim.claim,
        "comparison": check.check.comparison if check else None,
        "tolerance": check.check.tolerance if check else None,
        "worked": check.worked if check else None,
        "parts": {part.label: plain(part.value) for part in check.finding.parts} if check else {},
        "table": _table_of(check),
        "conclusion_value": _listed(then.values) if then else None,
        "conclusion_expected": _listed(np.array(then.expected)) if then else None,
        "conclusion_unit": then.unit if then else None,
        "conclusion_formula": then.formula if then else None,
        "condition": claim.condition,
        "unpublished": claim.unpublished,
        "reason": claim.reason,
        "articles": [book.articles[key].title for key in claim.articles],
    }


def flat(record: Record) -> Record:
    """Return a record for a spreadsheet: the other numbers as text, no table in a cell."""
    parts = [f"{label}: {value}" for label, value in record["parts"].items()]
    return {key: one for key, one in record.items() if key != "table"} | {"parts": parts}


def _table_of(tested: Tested | None) -> Record | None:
    rows = tested.finding.rows if tested else None
    return (
        {"headings": list(rows.headings), "rows": [list(row) for row in rows.rows]}
        if rows
        else None
    )


def _listed(values: np.ndarray) -> object:
    numbers = [plain(float(value)) for value in values]
    return numbers[0] if len(numbers) == 1 else numbers


def sources(one: Judged, book: Claims) -> str:
    """Return where the inputs and the expected value come from, in a line."""
    found: dict[str, None] = {}
    for check in (one.check, one.conclusion):
        if check is None:
            continue
        for origins in check.origins.values():
            found.update(dict.fromkeys(origins))
        for put in (*check.check.inputs.values(), check.check.expected):
            if put.source:
                found[book.sources[put.source].title] = None
    stated = [book.articles[key].title for key in one.claim.articles]
    return "; ".join(dict.fromkeys([*stated, *found]))


def rows(judged: Sequence[Judged]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table of claims."""
    header = ["id", "verdict", "value", "expected", "claim"]
    return header, [
        [
            one.claim.id,
            one.verdict,
            shown(one.check) if one.check else "-",
            wanted(one.check) if one.check else "-",
            one.claim.claim,
        ]
        for one in judged
    ]


def shown(tested: Tested, few: int = _FEW) -> str:
    """Return a test's value with its unit, the ends where it has many."""
    values = tested.values
    if len(values) <= few:
        text = ", ".join(digits(float(value)) for value in values)
    else:
        reached = values[np.isfinite(values)]
        text = f"{digits(float(np.min(reached)))}..{digits(float(np.max(reached)))}"
        text += " or never" if len(reached) < len(values) else ""
    return f"{text} {tested.unit}".strip()


def wanted(tested: Tested, signs: dict[str, str] = _SIGNS) -> str:
    """Return what a claim says its value is."""
    comparison = tested.check.comparison
    texts = [digits(value) for value in tested.expected]
    joined = (".." if signs is _SIGNS else " and ") if comparison == "between" else ", "
    return signs[comparison] + joined.join(texts)


def table(judged: Sequence[Judged], width: int, *, colour: bool) -> str:
    """Return claims as a table with what the verdicts mean."""
    header, lines = rows(judged)
    counts = Counter(one.verdict for one in judged)
    reported = [f"{word} ({counts[word]}): {MEANING[word]}" for word in MEANING if counts[word]]
    reported.append("the number of a claim is computed, and its verdict follows from it")
    first = next((one.claim.id for one in judged if one.check), judged[0].claim.id)
    parts: list[Part] = [
        Table([(word,) for word in header], lines, left=(0, 1, 4)),
        "",
        Notes(reported, f"fastcalc claims --explain {first}"),
    ]
    return render(parts, width, colour=colour)


def explain(one: Judged, book: Claims, width: int) -> str:
    """Return a claim with its formula, its numbers, its sources and the reason."""
    lines = [*textwrap.wrap(f"{one.claim.id} ({one.verdict}): {one.claim.claim}", width), ""]
    if one.check is not None:
        lines += _lines(_of_test(one.check, book), width)
        if one.check.finding.rows is not None:
            lines += ["", *_grid(one.check.finding.rows, width)]
    if one.conclusion is not None:
        lines += ["", "  what is concluded from it", *_lines(_of_test(one.conclusion, book), width)]
    reported = [
        ("premise", one.claim.condition),
        ("unknown", one.claim.unpublished),
        ("reason", one.claim.reason),
        ("verdict", f"{one.verdict}: {MEANING[one.verdict]}"),
        *(("article", _article(book.articles[key])) for key in one.claim.articles),
    ]
    lines += ["", *_lines([(word, text) for word, text in reported if text], width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _of_test(tested: Tested, book: Claims) -> Iterator[tuple[str, str]]:
    within = f", within {tested.check.tolerance * 100:g} %" if tested.check.tolerance else ""
    yield "formula", tested.formula
    yield "numbers", tested.worked
    yield "value", shown(tested, _MORE)
    expected = f"{wanted(tested, _WORDS)} {tested.unit}".strip()
    yield "expected", f"{expected}{within}{_origin(tested.check.expected, book)}"
    for part in tested.finding.parts:
        yield "alongside", f"{part.label}: {digits(part.value)} {part.unit}".strip()
    for name, given in tested.check.inputs.items():
        origin = _origin(given, book, tested.origins.get(name, ())) or ", of the article"
        yield "input", f"{name.replace('_', ' ')} = {tested.given[name]}{origin}"


def _origin(given: Input, book: Claims, origins: Sequence[str] = ()) -> str:
    """Return where an input comes from, in brackets; nothing for an article's own number."""
    reported = list(origins)
    if given.source:
        source = book.sources[given.source]
        reported.append(source.title + (f", {source.url}" if source.url else ""))
    if given.note:
        reported.append(given.note)
    if not reported and given.names:
        reported.append("of the catalogue")
    return f" ({'; '.join(reported)})" if reported else ""


def _article(article: Article) -> str:
    words = (article.author, article.title, article.date, article.url, article.note)
    return ", ".join(word for word in words if word)


def _lines(
    reported: Sequence[tuple[str, str]] | Iterator[tuple[str, str]], width: int
) -> list[str]:
    return [
        line
        for word, text in reported
        for line in textwrap.wrap(
            f"{word:9} {text}",
            width,
            initial_indent="  ",
            subsequent_indent=" " * 12,
            break_on_hyphens=False,
            break_long_words=False,
        )
    ]


def _grid(found: FindingRows, width: int) -> list[str]:
    part = Table([(word,) for word in found.headings], found.rows, left=(0,))
    return render([part], width, colour=False).splitlines()
