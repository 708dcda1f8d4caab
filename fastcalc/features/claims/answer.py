"""Judged claims as records, as a table, and one of them in full."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fastcalc.catalogue.schema.claims import Claims, Input
from fastcalc.features.claims.break_evens import break_even, crossings, digits, spaced
from fastcalc.features.claims.judge import DEPENDS, MEANING, Judged, Tested
from fastcalc.features.claims.reasons import reason
from fastcalc.grid.columns import key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.console import Notes, Part, TextTable, render, word_list
from fastcalc.kit.answer.numbers_as_text import stated_percent
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.mentions import command, flag
from fastcalc.quoting import shell_line
from fastcalc.written import many

_SIGNS = {"equals": "", "at-least": ">= ", "at-most": "<= ", "between": ""}
_WORDS = {"equals": "", "at-least": "at least ", "at-most": "at most ", "between": "between "}
_COLUMN = len("break-even")
_FEW, _MORE = 2, 6
"""Values that a table lists, and a claim in full; of more, the ends are shown."""


COLUMNS = (
    words("id", lambda judged: judged.claim.id),
    key_figure(words("verdict", lambda judged: judged.verdict)),
    numbers("value", lambda judged: shown(judged.check) if judged.check else "-"),
    numbers("expected", lambda judged: expected_text(judged.check) if judged.check else "-"),
    words("claim", lambda judged: judged.claim.claim),
)


def claim_record(judged: Judged, book: Claims) -> Record:
    """Return the record of a claim; what does not apply is None.

    ``value`` and ``expected`` are numbers, or lists where a test has several; None in such a list
    is a case that has no value.
    """
    check, conclusion, claim = judged.check, judged.conclusion, judged.claim
    table = check.finding.rows if check else None
    return {
        "id": claim.id,
        "verdict": judged.verdict,
        **_numbers_of(check),
        "source": sources(judged, book),
        "claim": claim.claim,
        "comparison": check.check.comparison if check else None,
        "tolerance": check.check.tolerance if check else None,
        "worked": check.worked if check else None,
        "parts": {part.label: plain(part.value) for part in check.finding.parts} if check else {},
        "table": table
        and {"headings": list(table.headings), "rows": [list(row) for row in table.rows]},
        **{f"conclusion_{key}": value for key, value in _numbers_of(conclusion).items()},
        "condition": claim.condition,
        "unpublished": claim.unpublished,
        "reason": reason(judged),
        "articles": [book.articles[key].title for key in claim.articles],
        "place": places(judged, book),
        "hedge": [f"{_title(key, book)}: {text}" for key, text in claim.hedge.items()],
        "ours": claim.ours,
        # All inputs, and what is expected where it has a range itself.
        "premises": [
            _premise(tested, name)
            for tested in judged.tested
            for name in dict.fromkeys([*tested.input_texts, *tested.check.premises])
        ],
        "break_even": break_even(judged),
        "crossings": crossings(judged),
        "depends": judged.depends,
        "files": judged.files,
    }


def flat(record: Record) -> Record:
    """Return a record for a spreadsheet: numbers within it as text, no table in a cell."""
    texts = [f"{label}: {value}" for label, value in record["parts"].items()]
    premises = [
        " ".join(str(part) for part in premise.values() if part is not None)
        for premise in record["premises"]
    ]
    cells = {key: field for key, field in record.items() if key not in ("table", "crossings")}
    return cells | {"parts": texts, "premises": premises}


def places(judged: Judged, book: Claims) -> list[str]:
    """Return the article, heading and paragraphs of everybody who says it."""
    texts = []
    for key, headings in judged.claim.place.items():
        stands = (
            f"{heading}, paragraph {', '.join(map(str, at if isinstance(at, list) else [at]))}"
            for heading, at in headings.items()
        )
        texts.append(f"{_title(key, book)}: {'; '.join(stands)}")
    return texts


def _title(key: str, book: Claims) -> str:
    article = book.articles[key]
    return article.author or article.title


def _premise(tested: Tested, name: str) -> Record:
    premise = tested.check.inputs.get(name, tested.check.expected)
    return {
        "name": spaced(name),
        "value": tested.input_texts.get(name) or ", ".join(premise.texts),
        "range": list(premise.range_texts) or None,
        "source": premise.source,
        "note": premise.note,
    }


def _numbers_of(tested: Tested | None) -> Record:
    if tested is None:
        return dict.fromkeys(("value", "expected", "unit", "formula"))
    numbers = [
        [plain(float(number)) for number in values] for values in (tested.values, tested.expected)
    ]
    value, expected = (series[0] if len(series) == 1 else series for series in numbers)
    unit, formula = tested.unit, tested.formula
    return {"value": value, "expected": expected, "unit": unit, "formula": formula}


def sources(judged: Judged, book: Claims) -> str:
    """Return where the inputs and the expected value come from, in a line."""
    titles: dict[str, None] = {}
    for check in (judged.check, judged.conclusion):
        if check is None:
            continue
        for origins in check.origins.values():
            titles.update(dict.fromkeys(origins))
        for premise in (*check.check.inputs.values(), check.check.expected):
            if premise.source:
                titles[book.sources[premise.source].title] = None
    stated = [book.articles[key].title for key in judged.claim.articles] or ["our own inference"]
    return "; ".join(dict.fromkeys([*stated, *titles]))


def shown(tested: Tested, max_listed: int = _FEW) -> str:
    """Return a test's value with its unit, the ends where it has many."""
    values = tested.values
    if len(values) <= max_listed:
        text = ", ".join(digits(float(value)) for value in values)
    else:
        reached = values[np.isfinite(values)]
        text = f"{digits(float(np.min(reached)))}..{digits(float(np.max(reached)))}"
        text += " or never" if len(reached) < len(values) else ""
    return f"{text} {tested.unit}".strip()


def expected_text(tested: Tested, signs: dict[str, str] = _SIGNS) -> str:
    """Return what a claim says its value is."""
    comparison = tested.check.comparison
    texts = [digits(value) for value in tested.expected]
    if comparison == "between":
        joined = ".." if signs is _SIGNS else " and "
        texts = [joined.join(pair) for pair in zip(texts[::2], texts[1::2], strict=True)]
    return signs[comparison] + ", ".join(texts)


def parts(judgements: Sequence[Judged], book: Claims, width: int, file: Path | None) -> list[Part]:
    """Return how many claims hold, those of the first topic, all others, and what it means."""
    counts = Counter(judged.verdict for judged in judgements)
    listed = ", ".join(f"{counts[word]} {word}" for word in MEANING if counts[word])
    reported = [f"{word}: {MEANING[word]}" for word in MEANING if counts[word]]
    reported.append("the number of a claim is computed, and its verdict follows from it")
    for kind, meaning in DEPENDS.items():
        ids = [judged.claim.id for judged in judgements if judged.depends == kind]
        id_text = "" if kind == "constants" else f": {' '.join(ids)}"
        reported += [f"resting on {meaning} ({len(ids)}){id_text}"] if ids else []
    topic = next(iter(book.topics.values()), [])
    by_id = {judged.claim.id: judged for judged in judgements}
    leading = [by_id.pop(id_) for id_ in topic if id_ in by_id]
    groups = [group for group in (leading, [*by_id.values()]) if group]
    headings = ["What the labs are said to do", "All else"] if len(groups) > 1 else [""]
    rows = [[record_tables.row(COLUMNS, judged) for judged in group] for group in groups]
    page: list[Part] = [f"{many(len(judgements), 'claim')}: {listed}."]
    for heading, table in zip(headings, record_tables.tables(COLUMNS, rows, width), strict=True):
        page += ["", *[heading] * bool(heading), table]
    in_order = [judged for group in groups for judged in group]
    first = next((judged for judged in in_order if judged.check), in_order[0]).claim.id
    line = ["fastcalc", "claims", *([str(file)] if file else []), flag("explain"), first]
    return [*page, "", Notes(reported, command(shell_line(line)))]


def explain(judged: Judged, book: Claims, width: int) -> str:
    """Return a claim with its place, formula, numbers, premises, break-even and reason."""
    lines = [
        *textwrap.wrap(f"{judged.claim.id} ({judged.verdict}): {judged.claim.claim}", width),
        "",
    ]
    attributions = [("place", text) for text in places(judged, book)]
    attributions += [
        ("hedge", f"{_title(key, book)} {text}") for key, text in judged.claim.hedge.items()
    ]
    if judged.claim.ours:
        attributions.append(("place", "none: our own inference, no article says it"))
    lines += word_list(attributions, width, column=_COLUMN) if attributions else []
    if judged.check is not None:
        lines += word_list(_of_test(judged.check, book), width, column=_COLUMN)
        cases = judged.check.finding.rows
        if cases is not None:
            table = TextTable([(word,) for word in cases.headings], cases.rows, left=(0,))
            lines += ["", *render([table], width, str).splitlines()]
    if judged.conclusion is not None:
        lines += ["", "  what is concluded from it"]
        lines += word_list(_of_test(judged.conclusion, book), width, column=_COLUMN)
    reported = [
        ("premise", judged.claim.condition),
        ("unknown", judged.claim.unpublished),
        ("break-even", break_even(judged)),
        ("rests on", DEPENDS[judged.depends] if judged.depends else ""),
        ("reason", reason(judged)),
        ("verdict", f"{judged.verdict}: {MEANING[judged.verdict]}"),
    ]
    for key in judged.claim.articles:
        article = book.articles[key]
        facts = (article.author, article.title, article.date, article.url, article.note)
        reported.append(("article", ", ".join(word for word in facts if word)))
    lines += [
        "",
        *word_list([(word, text) for word, text in reported if text], width, column=_COLUMN),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _of_test(tested: Tested, book: Claims) -> Iterator[tuple[str, str]]:
    within = f", within {stated_percent(tested.check.tolerance)}" if tested.check.tolerance else ""
    yield "formula", tested.formula
    yield "numbers", tested.worked
    yield "value", shown(tested, _MORE)
    if tested.check.premises:
        low, high = (_end(value, tested.unit) for value in tested.ends)
        unit = tested.unit if np.isfinite(tested.ends[1]) else ""
        yield "over all", f"{low} to {f'{high} {unit}'.strip()} over the ranges of the premises"
    expected = f"{expected_text(tested, _WORDS)} {tested.unit}".strip()
    expectation = tested.check.expected
    enough = "; the claim says may, so that one case is enough" * tested.check.may
    yield "expected", f"{expected}{within}{_range(expectation)}{_origin(expectation, book)}{enough}"
    for part in tested.finding.parts:
        yield "alongside", f"{part.label}: {digits(part.value)} {part.unit}".strip()
    for name, premise in tested.check.inputs.items():
        origin = _origin(premise, book, tested.origins.get(name, ())) or ", of the article"
        yield "input", f"{spaced(name)} = {tested.input_texts[name]}{_range(premise)}{origin}"


def _end(value: float, unit: str) -> str:
    """Return an end of what was seen; a time that nobody could tell from none as such."""
    if not np.isfinite(value):
        return "never"
    return "under a microsecond" if unit == "s" and value < 1e-6 else digits(value)


def _range(premise: Input) -> str:
    if premise.others:
        return f", or {', '.join(premise.others)}"
    return f", {' to '.join(premise.range_texts)}" if premise.ends else ""


def _origin(premise: Input, book: Claims, origins: Sequence[str] = ()) -> str:
    reported = list(origins)
    if premise.source:
        source = book.sources[premise.source]
        reported.append(source.title + (f", {source.url}" if source.url else ""))
    if premise.note:
        reported.append(premise.note)
    if not reported and premise.names:
        reported.append("of the catalogue")
    return f" ({'; '.join(reported)})" if reported else ""
