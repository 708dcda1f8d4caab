"""Print judged claims: as a table, as records, or one claim in full."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from fastcalc.catalogue.schema.claims import Claims, Input
from fastcalc.features.claims.break_evens import amount, break_even, changes, crossings, spaced
from fastcalc.features.claims.judge import DEPENDS, MEANING, Judged, Tested, find_break_evens
from fastcalc.features.claims.reasons import reason, verdict_sentence
from fastcalc.features.claims.registry import in_words
from fastcalc.features.claims.request import JudgeClaims
from fastcalc.grid.column import TableColumn, key_figure
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.console import render, word_list
from fastcalc.kit.answer.numbers_as_text import stated_percent
from fastcalc.kit.answer.parts import Note, Part, TextTable
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.kit.answer.record_tables import words
from fastcalc.mentions import command, flag, option
from fastcalc.quoting import shell_line
from fastcalc.written import many

_WORDS = {"equals": "", "at-least": "at least ", "at-most": "at most ", "between": ""}

_COLUMN = len("depends on")
_UNREACHABLE = "no batch reaches both speeds"
_NEGLIGIBLE_S = 1e-6
_RANGE_DIGITS = 3
_FEW, _MORE = 2, 6
"""Maximum number of values listed in a table and for a full claim. Longer lists show a range."""

_LONG_UNIT = len("TB/s")
"""Longest unit that a table line repeats."""

_MOST_CLAIMS = 12
"""Maximum number of claims on the first screen, where each takes two or three lines."""

_WIDEST = 100
"""Maximum width of a full claim in characters, regardless of the screen."""


def computed_lines(judged: Judged, *, is_brief: bool = False) -> list[str]:
    """Compare each computed number with the one in the claim or its conclusion.

    is_brief : Whether to show only the test that decides the verdict.
    """
    tests = judged.tested
    if is_brief and judged.conclusion is not None:
        is_first = tests[0].outcome != "holds" or judged.conclusion.outcome == "holds"
        tests = tests[:1] if is_first else tests[1:]
    lines = []
    for tested in tests:
        quantity = f"{tested.quantity[:1].upper()}{tested.quantity[1:]}"
        stated = criterion(tested, is_brief=is_brief)
        if len(tested.unit) > _LONG_UNIT:
            stated = stated.replace(f" {tested.unit}", "")
        lines.append(f"{quantity}: {over_assumptions(tested)} (true if {stated})")
    return lines


def _conditional_claim(judged: Judged) -> str:
    condition = judged.claim.condition
    return judged.claim.claim + f" Condition: {condition}." * bool(condition)


COLUMNS = (
    words("id", lambda judged: judged.claim.id),
    key_figure(words("verdict", lambda judged: judged.verdict)),
    words("claim", _conditional_claim),
    words("computed", lambda judged: " ".join(computed_lines(judged)) or "-"),
)
"""Columns of the Markdown table, which has a row per claim."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ClaimsAnswer(Answer):
    """The result of ``fastcalc claims``: a verdict on each claim of a file.

    judged : The requested claims, in the order of the file.
    book : The whole file, with the articles and sources that the claims cite.
    """

    request: JudgeClaims
    judged: Sequence[Judged]
    book: Claims

    def body(self, screen: Screen) -> Iterator[Part]:
        """Yield the number of claims per verdict, then each claim with its verdict and numbers."""
        counts = Counter(judged.verdict for judged in self.judged)
        verdicts = ", ".join(f"{counts[word]} {word}" for word in MEANING if counts[word])
        yield f"{many(len(self.judged), 'claim')}: {verdicts}."
        groups = self.groups()
        headings = ["Claims about how fast modes work", "All other claims"]
        headings = headings if len(groups) > 1 else [""]
        if not screen.wide:
            groups = [self._first_claims()]
            headings = headings if self.request.only is None else [""]
        for heading, group in zip(headings, groups, strict=False):
            yield from ("", heading) if heading else ("",)
            rows = []
            for one in group:  # the computed numbers are on the lines below each claim
                claim = _conditional_claim(one) if screen.wide else one.claim.claim
                lines = computed_lines(one, is_brief=not screen.wide)
                rows += [[one.claim.id, one.verdict, claim], *(["", "", line] for line in lines)]
            columns = [("id",), ("verdict",), ("claim, and what decides it",)]
            yield TextTable(columns, rows, left=(0, 1, 2), key_figures=(1,))
        yield ""

    def _first_claims(self) -> list[Judged]:
        """Return the claims for the first screen: the first topic, or the requested claims."""
        groups = self.groups()
        chosen = groups[0] if self.request.only is None else [*chain(*groups)]
        return chosen[:_MOST_CLAIMS]

    def groups(self) -> list[list[Judged]]:
        """Group the claims: those of the first topic, then the rest. Empty groups are omitted."""
        topic = next(iter(self.book.topics.values()), [])
        by_id = {judged.claim.id: judged for judged in self.judged}
        leading = [by_id.pop(id_) for id_ in topic if id_ in by_id]
        return [group for group in (leading, [*by_id.values()]) if group]

    def notes(self) -> Iterator[Note]:
        """Yield notes on claims that are not shown, and on files that could change a number."""
        shown, count = len(self._first_claims()), len(self.judged)
        if shown < count:
            text = f"The table has {shown} of {count} claims; {option('wide')} prints all."
            topics = ", ".join(name.split()[0] for name in [*self.book.topics][1:])
            if topics and self.request.only is None:
                text += f" {option('only', 'WORD')} selects others by topic ({topics})."
            yield Note(text, weight=2, is_of_rows=True)
        for category, meaning in DEPENDS.items():
            ids = [judged.claim.id for judged in self.judged if judged.depends == category]
            id_text = "" if category == "constants" else f": {' '.join(ids)}"
            if ids:
                verb = "depends" if len(ids) == 1 else "depend"
                text = f"{many(len(ids), 'verdict')} {verb} on {meaning}{id_text}."
                yield Note(text, weight=0)

    def key(self) -> str:
        """Return the key to the verdicts."""
        verdicts = {judged.verdict for judged in self.judged}
        meanings = [f"{word}: {MEANING[word]}" for word in MEANING if word in verdicts]
        return f"key: {'; '.join(meanings)}"

    def next_command(self) -> str:
        """Suggest the command that explains the first claim with a number."""
        file = [str(self.request.path)] if self.request.path else []
        in_order = [*chain(*self.groups())]
        first = next((judged for judged in in_order if judged.check), in_order[0]).claim.id
        return command(shell_line(["fastcalc", "claims", *file, flag("explain"), first]))

    def records(self) -> list[Record]:
        """Build one record per claim. Fields that do not apply are None.

        ``value`` and ``expected`` are numbers, or lists if a test has several cases. None in a list
        means that the case has no value.
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
        """Format on one line the sources of the inputs and of the expected value."""
        articles = [self.book.articles[key].title for key in judged.claim.articles]
        titles = articles or ["our own inference"]
        for tested in judged.tested:
            titles += [origin for origins in tested.origins.values() for origin in origins]
            for premise in (*tested.check.inputs.values(), tested.check.expected):
                if premise.source:
                    titles.append(self.book.sources[premise.source].title)
        return "; ".join(dict.fromkeys(titles))

    def places(self, judged: Judged) -> list[str]:
        """Return where the claim appears: article, heading and paragraphs."""
        texts = []
        for key, headings in judged.claim.place.items():
            stands = (
                f"{heading}, paragraph {', '.join(map(str, at if isinstance(at, list) else [at]))}"
                for heading, at in headings.items()
            )
            texts.append(f"{self.title(key)}: {'; '.join(stands)}")
        return texts

    def title(self, key: str) -> str:
        """Return the author of an article, or its title if it has none."""
        article = self.book.articles[key]
        return article.author or article.title

    def cells(self, record: Record) -> Record:
        """Convert the nested values of a record to text, and remove its tables."""
        texts = [f"{label}: {value}" for label, value in record["parts"].items()]
        premises = [
            " ".join(str(field) for field in premise.values() if field is not None)
            for premise in record["premises"]
        ]
        cells = {key: field for key, field in record.items() if key not in ("table", "crossings")}
        return cells | {"parts": texts, "premises": premises}

    def table(self) -> tuple[Sequence[TableColumn], Iterable[object]]:
        """Return one table of all claims."""
        return COLUMNS, self.judged

    def details(self) -> Record:
        """Return the meaning of each verdict."""
        return {"verdicts": dict(MEANING)}


class ExplainedClaim(ClaimsAnswer):
    """The result of ``fastcalc claims --explain``: one claim with its full calculation."""

    def body(self, screen: Screen) -> Iterator[Part]:  # noqa: ARG002
        """Yield nothing, because `text` prints the claim."""
        return iter(())

    def text(self, screen: Screen) -> str:
        """Return the claim: verdict and reason, then numbers, inputs, break-evens and sources."""
        (judged,) = self.judged
        find_break_evens([judged])
        width = min(screen.width, _WIDEST)
        claim = judged.claim
        lines = textwrap.wrap(f"{claim.id} ({judged.verdict}): {claim.claim}", width)
        decided = [("verdict", verdict_sentence(judged)), ("reason", reason(judged))]
        decided += [("unknown", claim.unpublished or "")]
        for tested in judged.tested:
            of = "for the conclusion, " * (tested is judged.conclusion)
            decided += [("break-even", f"{of}{line}") for line in changes(tested)]
        lines += ["", *_words(decided, width)]
        if judged.check is not None:
            lines += ["", *_words(self._of_test(judged.check), width)]
            cases = judged.check.finding.rows
            if cases is not None:
                table = TextTable([(word,) for word in cases.headings], cases.rows, left=(0,))
                lines += ["", *render([table], width, str).splitlines()]
        if judged.conclusion is not None:
            lines += ["", "  The conclusion of the claim, tested separately"]
            lines += _words(self._of_test(judged.conclusion), width)
        lines += ["", *_words(self._sources_in_full(judged), width)]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def _sources_in_full(self, judged: Judged) -> Iterator[tuple[str, str]]:
        """Yield the articles with the location and limits of the claim, and the files it needs."""
        claim = judged.claim
        for key, location in zip(claim.place, self.places(judged), strict=True):
            article = self.book.articles[key]
            facts = (article.title * bool(article.author), article.date, article.url, article.note)
            facts_text = ", ".join(filter(None, facts))
            title, _, section = location.rpartition(": ")
            yield "said by", f"{title}: section {section}" + f" ({facts_text})" * bool(facts_text)
        if claim.ours:
            yield "said by", "no article; our own inference"
        for key, text in claim.hedge.items():
            article = self.book.articles[key]
            yield "caveat", f"{article.author or repr(article.title)} {text}"
        yield ("depends on", DEPENDS[judged.depends] if judged.depends else "")

    def _of_test(self, tested: Tested) -> Iterator[tuple[str, str]]:
        """Yield a test's computed value, criterion, formula and inputs."""
        check = tested.check
        yield "computed", f"{tested.quantity}: {shown(tested, _MORE)}"
        if check.premises:
            yield "range", f"{over_assumptions(tested)} over all plausible assumptions"
        enough = "; the claim says 'may', so one case is enough" * check.may
        stated, origin = criterion(tested, is_stated=True), self._origin(check.expected)
        yield "criterion", f"{stated}{_range(check.expected)}{origin}{enough}"
        for detail in tested.finding.parts:
            yield "detail", f"{detail.label}: {amount([detail.value], detail.unit)}"
        yield "formula", tested.formula
        yield "numbers", _in_groups(tested.worked)
        for name, premise in check.inputs.items():
            origin = self._origin(premise, tested.origins.get(name, ())) or " (from the article)"
            stated = _in_groups(f"{tested.input_texts[name]}{_range(premise)}")
            yield "input", f"{in_words(name)} = {stated}{origin}"

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
    labelled = ((word, text) for word, text in pairs if text)
    return word_list(labelled, width, column=_COLUMN)


def shown(tested: Tested, max_listed: int = _FEW) -> str:
    """Format the computed value of a test with its unit. Long lists show only their range."""
    values = [float(value) for value in tested.values]
    reached = [value for value in values if np.isfinite(value)]
    if not reached:
        return _UNREACHABLE
    if len(values) > max_listed:
        text = amount([min(reached), max(reached)], tested.unit, " to ")
    else:
        text = amount(reached, tested.unit, " and " if len(reached) == _FEW else ", ")
    return text if len(reached) == len(values) else f"{text} (in other cases, {_UNREACHABLE})"


def over_assumptions(tested: Tested) -> str:
    """Format the range of a test's value over all plausible assumptions, if it has any."""
    if not tested.check.premises:
        return shown(tested)
    texts = []
    for ends in tested.ranges:
        reached = [end for end in ends if np.isfinite(end)]
        if tested.unit == "s":  # a negligible time is 0
            reached = [0.0 if end < _NEGLIGIBLE_S else end for end in reached]
        text = amount(reached, tested.unit, " to ", _RANGE_DIGITS) if reached else _UNREACHABLE
        texts.append(f"{text} or more" if 0 < len(reached) < len(ends) else text)
    return " and ".join(texts)


def criterion(tested: Tested, *, is_stated: bool = False, is_brief: bool = False) -> str:
    """Describe the value in a claim, its tolerance, and the values tried.

    is_stated : Whether to omit the values tried.
    is_brief : Whether to omit the values tried and the deviation.
    """
    check = tested.check
    ends = [end / check.expected.factor for end in check.expected.ends]
    expected = list(tested.expected)
    if check.comparison == "between":
        pairs = zip(expected[::2], expected[1::2], strict=True)
        text = " and ".join(amount(pair, tested.unit, " to ") for pair in pairs)
    else:
        text = amount(expected, tested.unit, " and ")
    within = f" ± {stated_percent(check.tolerance)}" if check.tolerance else ""
    if ends and not is_stated:
        within = f" ({amount(ends, tested.unit, ' to ')} tried)"
    within *= not is_brief
    return f"{_WORDS[check.comparison]}{text}{within}"


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


def _in_groups(text: str) -> str:
    """Write the billions of a text in words, and separate the thousands of long integers."""

    def readable(digits: re.Match[str]) -> str:
        value = int(digits[0])
        return f"{value / 1e9:,.10g} billion" if value % 10**9 == 0 else f"{value:,}"

    return re.sub(r"(?<![\d.])\d{5,}(?![\d.])", readable, text)


def _range(premise: Input) -> str:
    if premise.others:
        return f"; also tried: {', '.join(premise.others)}"
    return f"; tried from {' to '.join(premise.range_texts)}" if premise.ends else ""
