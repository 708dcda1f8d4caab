"""Judged claims as a table, as records, and one of them in full."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

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
from fastcalc.written import many

_SIGNS = {"equals": "", "at-least": ">= ", "at-most": "<= ", "between": ""}
_WORDS = {"equals": "", "at-least": "at least ", "at-most": "at most ", "between": "between "}
_COLUMN = len("depends on")
_FEW, _MORE = 2, 6
"""Most values that a table and a claim in full list; of more, only the ends are shown."""

_WIDEST = 100
"""Most characters in a line of a claim in full, on any screen."""


COLUMNS = (
    words("id", lambda judged: judged.claim.id),
    key_figure(words("verdict", lambda judged: judged.verdict)),
    replace(
        numbers("value", lambda judged: shown(judged.check) if judged.check else "-"),
        heading=("", "computed"),
    ),
    replace(
        numbers("expected", lambda judged: expected_text(judged.check) if judged.check else "-"),
        heading=("", "criterion"),
    ),
    words("claim", lambda judged: with_quantity(judged)),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClaimsAnswer(Answer):
    """The verdicts on the claims of a file.

    judged : claims that were asked for, in the order of the file
    book : whole file, with the articles and sources that claims name
    """

    request: JudgeClaims
    judged: Sequence[Judged]
    book: Claims

    def body(self, screen: Screen) -> Iterator[Part]:
        """Counts of the verdicts, a table of the first topic, and one of all other claims."""
        counts = Counter(judged.verdict for judged in self.judged)
        listed = ", ".join(f"{counts[word]} {word}" for word in MEANING if counts[word])
        yield f"{many(len(self.judged), 'claim')}: {listed}."
        groups = self.groups()
        headings = ["Claims about how fast modes work", "All other claims"]
        headings = headings if len(groups) > 1 else [""]
        rows = [[record_tables.row(COLUMNS, judged) for judged in group] for group in groups]
        tables = record_tables.tables(COLUMNS, rows, screen.width)
        for heading, table in zip(headings, tables, strict=True):
            yield from ("", heading) if heading else ("",)
            yield table
        yield ""

    def groups(self) -> list[list[Judged]]:
        """Claims of the first topic, then all others; a group without claims is omitted."""
        topic = next(iter(self.book.topics.values()), [])
        by_id = {judged.claim.id: judged for judged in self.judged}
        leading = [by_id.pop(id_) for id_ in topic if id_ in by_id]
        return [group for group in (leading, [*by_id.values()]) if group]

    def notes(self) -> Iterator[Note]:
        """What the verdicts mean, and which files could change the numbers."""
        if any(judged.check for judged in self.judged):
            yield Note(
                f"{option('explain', self._first)} shows the formula and inputs of a verdict, and "
                "where it changes"
            )
        for category, meaning in DEPENDS.items():
            ids = [judged.claim.id for judged in self.judged if judged.depends == category]
            id_text = "" if category == "constants" else f": {' '.join(ids)}"
            if ids:
                verb = "depends" if len(ids) == 1 else "depend"
                yield Note(f"{many(len(ids), 'verdict')} {verb} on {meaning}{id_text}")

    def key(self) -> str:
        """What the verdicts of the table mean."""
        verdicts = {judged.verdict for judged in self.judged}
        meanings = [f"{word}: {MEANING[word]}" for word in MEANING if word in verdicts]
        return (
            f"key: {'. '.join(meanings)}. criterion: what the claim implies for the computed "
            "number. [In brackets]: what was computed"
        )

    def next_command(self) -> str:
        """The command that explains the first claim with a number."""
        file = [str(self.request.path)] if self.request.path else []
        return command(shell_line(["fastcalc", "claims", *file, flag("explain"), self._first]))

    @property
    def _first(self) -> str:
        """Id of the first claim of the page with a number, or of the first one."""
        in_order = [judged for group in self.groups() for judged in group]
        return next((judged for judged in in_order if judged.check), in_order[0]).claim.id

    def records(self) -> list[Record]:
        """One record per claim; a field that does not apply is None.

        ``value`` and ``expected`` are numbers, or lists if a test has several; None in such a
        list is a case without a value.
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
        """Article, heading and paragraphs of everyone who makes the claim."""
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
        return COLUMNS, self.judged

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
            lines += ["", "  The conclusion that the claim draws, tested by itself"]
            lines += _words(self._of_test(judged.conclusion), width)
        lines += ["", *_words(self._sensitivity(judged), width)]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def _sensitivity(self, judged: Judged) -> Iterator[tuple[str, str]]:
        """Which files could change the verdict, and the articles."""
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
            low, high = (_end(value, tested.unit) for value in tested.ends)
            ends = high if low == high else f"{low} to {high}"
            yield "range", f"{ends} over all plausible assumptions"
        expected = f"{expected_text(tested, _WORDS)}{within}"
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
    return text + " or unreachable" * (len(reached) < len(values))


def expected_text(tested: Tested, signs: dict[str, str] = _SIGNS) -> str:
    """Value that a claim states; in a table in the unit of the computed one, beside which it is."""
    comparison, expected = tested.check.comparison, tested.expected
    is_brief = signs is _SIGNS
    unit = "" if is_brief and tested.unit != "share" else tested.unit
    if comparison == "between" and len(expected) == 2:
        text = amount(expected, unit, ".." if is_brief else " and ")
    elif comparison == "between":
        pairs = zip(expected[::2], expected[1::2], strict=True)
        text = ", ".join(amount(pair, unit, "..") for pair in pairs)
    else:
        text = amount(expected, unit)
    return signs[comparison] + text


def with_quantity(judged: Judged) -> str:
    """A claim, and in brackets what was computed to test it."""
    quantity = f" [{judged.check.quantity}]" if judged.check else ""
    return f"{judged.claim.claim}{quantity}"


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
    """End of a range as text; a negligible time is named instead of printed."""
    if not np.isfinite(value):
        return "unreachable"
    return "under a microsecond" if unit == "s" and value < 1e-6 else amount([value], unit)


def _range(premise: Input) -> str:
    if premise.others:
        return f"; also tried: {', '.join(premise.others)}"
    return f"; tried from {' to '.join(premise.range_texts)}" if premise.ends else ""
