"""The answer of `claims --explain`: one claim with its full calculation."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from fastcalc.catalogue.schema.claims import Input
from fastcalc.features.claims.answer import ClaimsAnswer, criterion, over_assumptions, shown
from fastcalc.features.claims.break_evens import amount, changes
from fastcalc.features.claims.judge import DEPENDS, Judged, Tested, find_break_evens
from fastcalc.features.claims.reasons import reason, verdict_sentence
from fastcalc.features.claims.registry import in_words
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.console import render, word_list
from fastcalc.kit.answer.parts import Part, TextTable

_COLUMN = len("depends on")
_MORE = 6
"""Maximum number of values listed for a claim. Longer lists show a range."""

_WIDEST = 100
"""Maximum width of a claim in characters, regardless of the screen."""


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
