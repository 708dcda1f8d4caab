"""Judged claims as a table, as records, and a single claim in full."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.schema.claims import Claims, Input
from fastcalc.features.claims.break_evens import amount, break_even, changes, crossings, spaced
from fastcalc.features.claims.judge import DEPENDS, MEANING, Judged, Tested, find_break_evens
from fastcalc.features.claims.reasons import reason, verdict_sentence
from fastcalc.features.claims.registry import in_words
from fastcalc.features.claims.request import JudgeClaims
from fastcalc.grid.column import TableColumn, key_figure
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.answer import Answer
from fastcalc.kit.answer.console import Note, Part, Screen, TextTable, render, word_list
from fastcalc.kit.answer.numbers_as_text import stated_percent
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.kit.answer.record_tables import numbers, words
from fastcalc.mentions import command, flag, option
from fastcalc.quoting import shell_line
from fastcalc.written import listed, many

_SIGNS = {"equals": "", "at-least": ">= ", "at-most": "<= ", "between": ""}
_WORDS = {"equals": "", "at-least": "at least ", "at-most": "at most ", "between": "between "}
_DEVIATION = {"equals": "±", "between": "±", "at-least": "-", "at-most": "+"}
_FORMS = {
    r"^[0-9].*\.\.": "A..B: between both",
    r"[<>].*\.\.": "<= A..B: plausible thresholds",
    "±": "± N %: tolerance",
    r"^[0-9,.]+$": "a bare number: exact",
}
"""Meanings of the forms of a criterion."""

_COLUMN = len("depends on")
UNREACHABLE = "unreachable"
UNREACHABLE_MEANS = f"{UNREACHABLE}: no batch gives the speeds of both tiers"
_NEGLIGIBLE_S = 1e-6
_RANGE_DIGITS = 3
_FEW, _MORE = 2, 6
"""Most values listed in a table or a full claim; of more, only the range is shown."""

_WIDEST = 100
"""Largest width of a full claim in characters, on any screen."""


class Line(NamedTuple):
    """A row of the table: a claim with its check, or the conclusion that it draws.

    tested : None without a test
    """

    judged: Judged
    tested: Tested | None

    @property
    def is_conclusion(self) -> bool:
        """Whether the row holds the conclusion, below the row of its claim."""
        return self.tested is not None and self.tested is self.judged.conclusion

    def cell(self, text: str) -> str:
        """A cell of the claim; empty in the row of the conclusion."""
        return "" if self.is_conclusion else text

    @property
    def claim(self) -> str:
        """The claim, its condition if any, and in brackets the computed quantity."""
        claim = self.judged.claim
        condition = f" Condition: {claim.condition}." * bool(claim.condition)
        quantity = f" [{self.tested.quantity}]" if self.tested else ""
        return f"{self.cell(f'{claim.claim}{condition}') or 'conclusion'}{quantity}"


COLUMNS = (
    words("id", lambda line: line.cell(line.judged.claim.id)),
    key_figure(words("verdict", lambda line: line.cell(line.judged.verdict))),
    replace(
        numbers("value", lambda line: over_assumptions(line.tested) if line.tested else "-"),
        heading=("", "computed"),
    ),
    replace(
        numbers("expected", lambda line: criterion(line.tested) if line.tested else "-"),
        heading=("", "criterion"),
    ),
    words("claim", lambda line: line.claim),
)


def lines(judged: Iterable[Judged]) -> list[Line]:
    """Rows of some claims: the check of each, then its conclusion if it draws one."""
    return [
        Line(one, tested)
        for one in judged
        for tested in ([one.check, one.conclusion] if one.conclusion else [one.check])
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class ClaimsAnswer(Answer):
    """The verdicts on the claims of a file.

    judged : requested claims, in the order of the file
    book : whole file, with the articles and sources named by claims
    """

    request: JudgeClaims
    judged: Sequence[Judged]
    book: Claims

    def body(self, screen: Screen) -> Iterator[Part]:
        """Counts of verdicts, a table of the first topic, and a table of all other claims."""
        counts = Counter(judged.verdict for judged in self.judged)
        listed = ", ".join(f"{counts[word]} {word}" for word in MEANING if counts[word])
        yield f"{many(len(self.judged), 'claim')}: {listed}."
        groups = self.groups()
        headings = ["Claims about how fast modes work", "All other claims"]
        headings = headings if len(groups) > 1 else [""]
        rows = [[record_tables.row(COLUMNS, line) for line in lines(group)] for group in groups]
        tables = record_tables.tables(COLUMNS, rows, screen.width)
        for heading, table in zip(headings, tables, strict=True):
            yield from ("", heading) if heading else ("",)
            yield table
        yield ""

    def groups(self) -> list[list[Judged]]:
        """Claims of the first topic, then all others; empty groups are omitted."""
        topic = next(iter(self.book.topics.values()), [])
        by_id = {judged.claim.id: judged for judged in self.judged}
        leading = [by_id.pop(id_) for id_ in topic if id_ in by_id]
        return [group for group in (leading, [*by_id.values()]) if group]

    def notes(self) -> Iterator[Note]:
        """Notes on the meaning of verdicts, and on the files that could change the numbers."""
        if any(judged.check for judged in self.judged):
            yield Note(
                f"{option('explain', self._first)} shows the formula and inputs of a verdict, and "
                "its break-even"
            )
        for category, meaning in DEPENDS.items():
            ids = [judged.claim.id for judged in self.judged if judged.depends == category]
            id_text = "" if category == "constants" else f": {' '.join(ids)}"
            if ids:
                verb = "depends" if len(ids) == 1 else "depend"
                yield Note(f"{many(len(ids), 'verdict')} {verb} on {meaning}{id_text}")

    def key(self) -> str:
        """Legend of the verdicts in the table."""
        verdicts = {judged.verdict for judged in self.judged}
        meanings = [f"{word}: {MEANING[word]}" for word in MEANING if word in verdicts]
        return f"key: {'. '.join([*meanings, *self._columns_mean()])}"

    def _columns_mean(self) -> Iterator[str]:
        """Legend of the numeric columns, if there are any."""
        tests = [tested for judged in self.judged for tested in judged.tested]
        if any(tested.check.premises for tested in tests):
            yield "computed: over all plausible assumptions and cases"
        if any(np.isinf(tested.ends[1]) for tested in tests):
            yield UNREACHABLE_MEANS
        if tests:
            criteria = [criterion(tested) for tested in tests]
            signs = [
                means
                for form, means in _FORMS.items()
                if any(re.search(form, text) for text in criteria)
            ]
            meaning = "criterion: what the claim implies for the computed number"
            yield meaning + f" ({', '.join(signs)})" * bool(signs)
            yield "[In brackets]: what was computed"
        if any(judged.conclusion for judged in self.judged):
            yield "conclusion: what the claim infers, tested separately"

    def next_command(self) -> str:
        """Command that explains the first claim with a number."""
        file = [str(self.request.path)] if self.request.path else []
        return command(shell_line(["fastcalc", "claims", *file, flag("explain"), self._first]))

    @property
    def _first(self) -> str:
        """Id of the first claim on the page with a number, or else of the first claim."""
        in_order = [judged for group in self.groups() for judged in group]
        return next((judged for judged in in_order if judged.check), in_order[0]).claim.id

    def records(self) -> list[Record]:
        """One record per claim; a field that does not apply is None.

        ``value`` and ``expected`` are numbers, or lists if a test has several cases; None in such
        a list means a case without a value.
        """
        find_break_evens(self.judged)
        return [self._record(judged) for judged in self.judged]

    def _record(self, judged: Judged) -> Record:
        check, conclusion, claim = judged.check, judged.conclusion, judged.claim
        table = check.finding.rows if check else None
        return {
            "id": claim.id,
            "verdict": judged.verdict,
            **_numbers_of(check),
            "source": self._sources(judged),
            "claim": claim.claim,
            "comparison": check.check.comparison if check else None,
            "tolerance": check.check.tolerance if check else None,
            "worked": check.worked if check else None,
            "parts": {also.label: plain(also.value) for also in check.finding.parts}
            if check
            else {},
            "table": table
            and {"headings": list(table.headings), "rows": [list(row) for row in table.rows]},
            **{f"conclusion_{key}": value for key, value in _numbers_of(conclusion).items()},
            "condition": claim.condition,
            "unpublished": claim.unpublished,
            "reason": reason(judged),
            "articles": [self.book.articles[key].title for key in claim.articles],
            "place": self.places(judged),
            "hedge": [f"{self.title(key)}: {text}" for key, text in claim.hedge.items()],
            "ours": claim.ours,
            # All inputs, and the expected value if it has a range.
            "premises": [
                _premise(tested, name)
                for tested in judged.tested
                for name in dict.fromkeys([*tested.input_texts, *tested.check.premises])
            ],
            "break_even": break_even(judged),
            "crossings": crossings(judged),
            "depends": judged.depends,
            "files": judged.files,
            "verdict_text": verdict_sentence(judged),
            "quantity": check and check.quantity,
            "conclusion_quantity": conclusion and conclusion.quantity,
        }

    def _sources(self, judged: Judged) -> str:
        """Sources of the inputs and the expected value, in one line."""
        articles = [self.book.articles[key].title for key in judged.claim.articles]
        titles = articles or ["our own inference"]
        for tested in judged.tested:
            titles += [origin for origins in tested.origins.values() for origin in origins]
            for premise in (*tested.check.inputs.values(), tested.check.expected):
                if premise.source:
                    titles.append(self.book.sources[premise.source].title)
        return "; ".join(dict.fromkeys(titles))

    def places(self, judged: Judged) -> list[str]:
        """Article, heading and paragraphs of every place where the claim is made."""
        texts = []
        for key, headings in judged.claim.place.items():
            stands = (
                f"{heading}, paragraph {', '.join(map(str, at if isinstance(at, list) else [at]))}"
                for heading, at in headings.items()
            )
            texts.append(f"{self.title(key)}: {'; '.join(stands)}")
        return texts

    def title(self, key: str) -> str:
        """Author of an article, or its title."""
        article = self.book.articles[key]
        return article.author or article.title

    def cells(self, record: Record) -> Record:
        """A record with nested values as text, and without tables."""
        texts = [f"{label}: {value}" for label, value in record["parts"].items()]
        premises = [
            " ".join(str(field) for field in premise.values() if field is not None)
            for premise in record["premises"]
        ]
        cells = {key: field for key, field in record.items() if key not in ("table", "crossings")}
        return cells | {"parts": texts, "premises": premises}

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """All claims as one table."""
        return COLUMNS, lines(self.judged)

    def details(self) -> Record:
        """Meaning of each verdict."""
        return {"verdicts": dict(MEANING)}


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplainedClaim(ClaimsAnswer):
    """One claim in full: its verdict and reason, then numbers, inputs and sources."""

    def body(self, screen: Screen) -> Iterator[Part]:  # noqa: ARG002
        """No page: `text` prints the claim."""
        return iter(())

    def text(self, screen: Screen) -> str:
        """The claim with its verdict and reason, then numbers, inputs, break-even and sources."""
        (judged,) = self.judged
        find_break_evens([judged])
        width = min(screen.width, _WIDEST)
        claim = judged.claim
        lines = textwrap.wrap(f"{claim.id} ({judged.verdict}): {claim.claim}", width)
        labelled = [("verdict", verdict_sentence(judged)), ("reason", reason(judged))]
        labelled += [("unknown", claim.unpublished or "")]
        labelled += [("said by", location) for location in self.places(judged)]
        labelled += [("caveat", f"{self.title(key)} {text}") for key, text in claim.hedge.items()]
        labelled += [("said by", "no article; our own inference")] * claim.ours
        lines += ["", *_words(labelled, width)]
        if judged.check is not None:
            lines.append("")
            lines += _words(self._of_test(judged.check), width)
            cases = judged.check.finding.rows
            if cases is not None:
                table = TextTable([(word,) for word in cases.headings], cases.rows, left=(0,))
                lines += ["", *render([table], width, str).splitlines()]
        if judged.conclusion is not None:
            lines += ["", "  The conclusion that the claim draws, tested separately"]
            lines += _words(self._of_test(judged.conclusion), width)
        lines += ["", *_words(self._sensitivity(judged), width)]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def _sensitivity(self, judged: Judged) -> Iterator[tuple[str, str]]:
        """Yield the files that could change the verdict, and the articles."""
        yield "depends on", DEPENDS[judged.depends] if judged.depends else ""
        for key in judged.claim.articles:
            article = self.book.articles[key]
            facts = (article.author, article.title, article.date, article.url, article.note)
            yield "article", ", ".join(word for word in facts if word)

    def _of_test(self, tested: Tested) -> Iterator[tuple[str, str]]:
        """The computed value of a test and the criterion for it, its formula and its inputs."""
        check = tested.check
        within = f", within {stated_percent(check.tolerance)}" if check.tolerance else ""
        yield "computed", f"{shown(tested, _MORE)} ({tested.quantity})"
        if check.premises:
            ranges = ([_end(value, tested.unit) for value in ends] for ends in tested.ranges)
            texts = [" to ".join(dict.fromkeys(ends)) for ends in ranges]
            yield "range", f"{listed(texts)} over all plausible assumptions"
        expected = f"{expected_text(tested)}{within}"
        enough = "; the claim says 'may', so one case is enough" * check.may
        origin = self._origin(check.expected)
        yield "criterion", f"{expected}{_range(check.expected)}{origin}{enough}"
        for detail in tested.finding.parts:
            yield "detail", f"{detail.label}: {amount([detail.value], detail.unit)}"
        yield "formula", tested.formula
        yield "numbers", tested.worked
        for name, premise in check.inputs.items():
            origin = self._origin(premise, tested.origins.get(name, ())) or " (the article's own)"
            yield "input", f"{in_words(name)} = {tested.input_texts[name]}{_range(premise)}{origin}"
        for line in changes(tested):
            yield "changes at", line

    def _origin(self, premise: Input, origins: Sequence[str] = ()) -> str:
        reported = list(origins)
        if premise.source:
            source = self.book.sources[premise.source]
            reported.append(source.title + (f", {source.url}" if source.url else ""))
        if premise.note:
            reported.append(premise.note)
        if not reported and premise.names:
            reported.append("catalogue")
        return f" ({'; '.join(reported)})" if reported else ""


def _words(pairs: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Lines of a claim in full, each after its label."""
    labelled = ((word, text) for word, text in pairs if text)
    return word_list(labelled, width, column=_COLUMN)


def shown(tested: Tested, max_listed: int = _FEW) -> str:
    """Computed value of a test with its unit; only the ends if there are many."""
    values = tested.values
    if len(values) <= max_listed:
        return amount([float(value) for value in values], tested.unit)
    reached = values[np.isfinite(values)]
    text = amount([float(np.min(reached)), float(np.max(reached))], tested.unit, "..")
    return text + f" or {UNREACHABLE}" * (len(reached) < len(values))


def over_assumptions(tested: Tested) -> str:
    """Computed value as a cell: its range over all plausible assumptions, if it has any."""
    if not tested.check.premises:
        return shown(tested)
    return ", ".join(_range_cell(ends, tested.unit) for ends in tested.ranges)


def _range_cell(ends: tuple[float, float], unit: str) -> str:
    """Range as a table cell; a negligible time is 0."""
    reached = [
        0.0 if unit == "s" and end < _NEGLIGIBLE_S else end for end in ends if np.isfinite(end)
    ]
    texts = [amount(reached, unit, "..", _RANGE_DIGITS)] * bool(reached)
    return "..".join(texts + [UNREACHABLE] * (len(reached) < len(ends)))


def criterion(tested: Tested) -> str:
    """Value that a claim states, as a table cell, with the deviation it allows.

    If the value has a plausible range, the range is given instead.
    """
    check, unit = tested.check, tested.unit if tested.unit == "share" else ""
    ends = [end / check.expected.factor for end in check.expected.ends]
    text = amount(ends, unit, "..") if ends else _between(tested, unit, "..")
    within = f" {_DEVIATION[check.comparison]} {stated_percent(check.tolerance)}"
    return f"{_SIGNS[check.comparison]}{text}{within * bool(check.tolerance)}"


def expected_text(tested: Tested) -> str:
    """Value that a claim states, in words."""
    return _WORDS[tested.check.comparison] + _between(tested, tested.unit, " and ")


def _between(tested: Tested, unit: str, between: str) -> str:
    """Values that a claim states, or ranges as pairs of values."""
    expected = tested.expected
    if tested.check.comparison != "between":
        return amount(expected, unit)
    pairs = list(zip(expected[::2], expected[1::2], strict=True))
    return ", ".join(amount(pair, unit, ".." if len(pairs) > 1 else between) for pair in pairs)


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


def _end(value: float, unit: str) -> str:
    """Bound of a range as text; a negligible time is described instead of printed."""
    if not np.isfinite(value):
        return UNREACHABLE
    is_negligible = unit == "s" and value < _NEGLIGIBLE_S
    return "under a microsecond" if is_negligible else amount([value], unit, count=_RANGE_DIGITS)


def _range(premise: Input) -> str:
    if premise.others:
        return f"; also tried: {', '.join(premise.others)}"
    return f"; tried from {' to '.join(premise.range_texts)}" if premise.ends else ""
