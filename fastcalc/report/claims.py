"""Judged claims as records, as a table, and one of them in full."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from fastcalc.articles.judge import DEPENDS, MEANING, Judged, Tested
from fastcalc.catalogue.schema.claims import Claims, Input
from fastcalc.report import record_tables
from fastcalc.report.break_evens import break_even, crossings, digits, spaced
from fastcalc.report.console import Notes, Part, TextTable, render, word_list
from fastcalc.report.reasons import reason
from fastcalc.report.record_tables import numbers, words
from fastcalc.report.records import Record, plain

_SIGNS = {"equals": "", "at-least": ">= ", "at-most": "<= ", "between": ""}
_WORDS = {"equals": "", "at-least": "at least ", "at-most": "at most ", "between": "between "}
_COLUMN = len("break-even")
_FEW, _MORE = 2, 6
"""Values that a table lists, and a claim in full; of more, the ends are shown."""


COLUMNS = (
    words("id", lambda one: one.claim.id),
    words("verdict", lambda one: one.verdict),
    numbers("value", lambda one: shown(one.check) if one.check else "-"),
    numbers("expected", lambda one: wanted(one.check) if one.check else "-"),
    words("claim", lambda one: one.claim.claim),
)


def claim_record(one: Judged, book: Claims) -> Record:
    """Return the record of a claim; what does not apply is None.

    ``value`` and ``expected`` are numbers, or lists where a test has several; None in such a list
    is a case that has no value.
    """
    check, then, claim = one.check, one.conclusion, one.claim
    table = check.finding.rows if check else None
    return {
        "id": claim.id,
        "verdict": one.verdict,
        **_numbers_of(check),
        "source": sources(one, book),
        "claim": claim.claim,
        "comparison": check.check.comparison if check else None,
        "tolerance": check.check.tolerance if check else None,
        "worked": check.worked if check else None,
        "parts": {part.label: plain(part.value) for part in check.finding.parts} if check else {},
        "table": table
        and {"headings": list(table.headings), "rows": [list(row) for row in table.rows]},
        **{f"conclusion_{key}": value for key, value in _numbers_of(then).items()},
        "condition": claim.condition,
        "unpublished": claim.unpublished,
        "reason": reason(one),
        "articles": [book.articles[key].title for key in claim.articles],
        "place": places(one, book),
        "hedge": [f"{_title(key, book)}: {text}" for key, text in claim.hedge.items()],
        "ours": claim.ours,
        # All inputs, and what is expected where it has a range itself.
        "premises": [
            _premise(tested, name)
            for tested in one.tested
            for name in dict.fromkeys([*tested.given, *tested.check.premises])
        ],
        "break_even": break_even(one),
        "crossings": crossings(one),
        "depends": one.depends,
        "files": one.files,
    }


def flat(record: Record) -> Record:
    """Return a record for a spreadsheet: numbers within it as text, no table in a cell."""
    texts = [f"{label}: {value}" for label, value in record["parts"].items()]
    premises = [
        " ".join(str(part) for part in one.values() if part is not None)
        for one in record["premises"]
    ]
    kept = {key: one for key, one in record.items() if key not in ("table", "crossings")}
    return kept | {"parts": texts, "premises": premises}


def places(one: Judged, book: Claims) -> list[str]:
    """Return the article, heading and paragraphs of everybody who says it."""
    found = []
    for key, headings in one.claim.place.items():
        stands = (
            f"{heading}, paragraph {', '.join(map(str, at if isinstance(at, list) else [at]))}"
            for heading, at in headings.items()
        )
        found.append(f"{_title(key, book)}: {'; '.join(stands)}")
    return found


def _title(key: str, book: Claims) -> str:
    article = book.articles[key]
    return article.author or article.title


def _premise(tested: Tested, name: str) -> Record:
    given = tested.check.inputs.get(name, tested.check.expected)
    return {
        "name": spaced(name),
        "value": tested.given.get(name) or ", ".join(given.texts),
        "range": list(given.range_texts) or None,
        "source": given.source,
        "note": given.note,
    }


def _numbers_of(tested: Tested | None) -> Record:
    if tested is None:
        return dict.fromkeys(("value", "expected", "unit", "formula"))
    numbers = [[plain(float(one)) for one in values] for values in (tested.values, tested.expected)]
    value, expected = (found[0] if len(found) == 1 else found for found in numbers)
    unit, formula = tested.unit, tested.formula
    return {"value": value, "expected": expected, "unit": unit, "formula": formula}


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
    stated = [book.articles[key].title for key in one.claim.articles] or ["our own inference"]
    return "; ".join(dict.fromkeys([*stated, *found]))


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
    if comparison == "between":
        joined = ".." if signs is _SIGNS else " and "
        texts = [joined.join(pair) for pair in zip(texts[::2], texts[1::2], strict=True)]
    return signs[comparison] + ", ".join(texts)


def parts(judged: Sequence[Judged], width: int) -> list[Part]:
    """Return claims as a table with what the verdicts mean."""
    counts = Counter(one.verdict for one in judged)
    reported = [f"{word} ({counts[word]}): {MEANING[word]}" for word in MEANING if counts[word]]
    reported.append("the number of a claim is computed, and its verdict follows from it")
    for kind, meaning in DEPENDS.items():
        ids = [one.claim.id for one in judged if one.depends == kind]
        named = "" if kind == "constants" else f": {' '.join(ids)}"
        reported += [f"resting on {meaning} ({len(ids)}){named}"] if ids else []
    first = next((one.claim.id for one in judged if one.check), judged[0].claim.id)
    table = record_tables.table(COLUMNS, judged, width)
    return [table, "", Notes(reported, f"fastcalc claims --explain {first}")]


def explain(one: Judged, book: Claims, width: int) -> str:
    """Return a claim with its place, formula, numbers, premises, break-even and reason."""
    lines = [*textwrap.wrap(f"{one.claim.id} ({one.verdict}): {one.claim.claim}", width), ""]
    said = [("place", text) for text in places(one, book)]
    said += [("hedge", f"{_title(key, book)} {text}") for key, text in one.claim.hedge.items()]
    if one.claim.ours:
        said.append(("place", "none: our own inference, no article says it"))
    lines += word_list(said, width, column=_COLUMN) if said else []
    if one.check is not None:
        lines += word_list(_of_test(one.check, book), width, column=_COLUMN)
        found = one.check.finding.rows
        if found is not None:
            table = TextTable([(word,) for word in found.headings], found.rows, left=(0,))
            lines += ["", *render([table], width, colour=False).splitlines()]
    if one.conclusion is not None:
        lines += ["", "  what is concluded from it"]
        lines += word_list(_of_test(one.conclusion, book), width, column=_COLUMN)
    reported = [
        ("premise", one.claim.condition),
        ("unknown", one.claim.unpublished),
        ("break-even", break_even(one)),
        ("rests on", DEPENDS[one.depends] if one.depends else ""),
        ("reason", reason(one)),
        ("verdict", f"{one.verdict}: {MEANING[one.verdict]}"),
    ]
    for key in one.claim.articles:
        article = book.articles[key]
        facts = (article.author, article.title, article.date, article.url, article.note)
        reported.append(("article", ", ".join(word for word in facts if word)))
    lines += [
        "",
        *word_list([(word, text) for word, text in reported if text], width, column=_COLUMN),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _of_test(tested: Tested, book: Claims) -> Iterator[tuple[str, str]]:
    within = f", within {tested.check.tolerance * 100:g} %" if tested.check.tolerance else ""
    yield "formula", tested.formula
    yield "numbers", tested.worked
    yield "value", shown(tested, _MORE)
    if tested.check.premises:
        low, high = (_end(value, tested.unit) for value in tested.ends)
        unit = tested.unit if np.isfinite(tested.ends[1]) else ""
        yield "over all", f"{low} to {f'{high} {unit}'.strip()} over the ranges of the premises"
    expected = f"{wanted(tested, _WORDS)} {tested.unit}".strip()
    said = tested.check.expected
    enough = "; the claim says may, so that one case is enough" * tested.check.may
    yield "expected", f"{expected}{within}{_range(said)}{_origin(said, book)}{enough}"
    for part in tested.finding.parts:
        yield "alongside", f"{part.label}: {digits(part.value)} {part.unit}".strip()
    for name, given in tested.check.inputs.items():
        origin = _origin(given, book, tested.origins.get(name, ())) or ", of the article"
        yield "input", f"{spaced(name)} = {tested.given[name]}{_range(given)}{origin}"


def _end(value: float, unit: str) -> str:
    """Return an end of what was seen; a time that nobody could tell from none as such."""
    if not np.isfinite(value):
        return "never"
    return "under a microsecond" if unit == "s" and value < 1e-6 else digits(value)


def _range(given: Input) -> str:
    if given.others:
        return f", or {', '.join(given.others)}"
    return f", {' to '.join(given.range_texts)}" if given.ends else ""


def _origin(given: Input, book: Claims, origins: Sequence[str] = ()) -> str:
    reported = list(origins)
    if given.source:
        source = book.sources[given.source]
        reported.append(source.title + (f", {source.url}" if source.url else ""))
    if given.note:
        reported.append(given.note)
    if not reported and given.names:
        reported.append("of the catalogue")
    return f" ({'; '.join(reported)})" if reported else ""
