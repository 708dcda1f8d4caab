"""The answer of `claims`: judged claims as a table and as records."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from fastcalc.catalogue.schema.claims import Claims
from fastcalc.features.claims.break_evens import amount, break_even, crossings, spaced
from fastcalc.features.claims.judge import DEPENDS, MEANING, Judged, Tested, find_break_evens
from fastcalc.features.claims.reasons import reason, verdict_sentence
from fastcalc.features.claims.request import JudgeClaims
from fastcalc.grid.column import TableColumn, key_figure
from fastcalc.kit.answer.answer import Answer, Screen
from fastcalc.kit.answer.numbers_as_text import stated_percent
from fastcalc.kit.answer.parts import Note, Part, TextTable
from fastcalc.kit.answer.point_records import Record, plain
from fastcalc.kit.answer.record_tables import words
from fastcalc.mentions import command, flag, option
from fastcalc.quoting import shell_line
from fastcalc.written import many

_WORDS = {"equals": "", "at-least": "at least ", "at-most": "at most ", "between": ""}

_UNREACHABLE = "no batch reaches both speeds"
_NEGLIGIBLE_S = 1e-6
_RANGE_DIGITS = 3
_FEW = 2
"""Maximum number of values listed in a table. Longer lists show a range."""

_LONG_UNIT = len("TB/s")
"""Longest unit that a table line repeats."""

_MARKS = {"*": "true only in some cases, which is enough because the claim says 'may'"}

_MOST_CLAIMS = 12
"""Maximum number of claims on the first screen, where each takes two or three lines."""


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
    marks = _MARKS

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
                verdict = one.verdict + " *" * one.is_only_possible
                rows += [[one.claim.id, verdict, claim], *(["", "", line] for line in lines)]
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
