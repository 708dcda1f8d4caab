"""``fastcalc claims``: check the claims of articles against computed numbers."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastcalc.catalogue.faults import Fault, in_order, refuse
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.names import nearest
from fastcalc.catalogue.reader import Document, Path_, read
from fastcalc.catalogue.schema.claims import Check, Claim, Claims, Input
from fastcalc.catalogue.validation import validate
from fastcalc.errors import InputError
from fastcalc.features.claims.answer import ClaimsAnswer
from fastcalc.features.claims.explained import ExplainedClaim
from fastcalc.features.claims.judge import MEANING, judge
from fastcalc.features.claims.registry import TESTS
from fastcalc.features.claims.request import JudgeClaims
from fastcalc.kit.request import loading, readers
from fastcalc.mentions import option
from fastcalc.written import did_you_mean, instead_of, shown

SHIPPED = "claims.yaml"


def read_claims(path: Path | None = None) -> tuple[Claims, Document]:
    """Read a claims file (default: the shipped one) with positions. Raises InputError on errors."""
    document = read(path or shipped_folder("evidence") / SHIPPED)
    book, faults = validate(document, Claims)
    if book is None:
        raise refuse(faults)
    unknown = in_order(_unknown_names(document, book))
    if unknown:
        raise refuse(unknown)
    return book, document


def _unknown_names(document: Document, book: Claims) -> Iterator[Fault]:
    """Yield an error for every undefined article, source, test, input or claim."""
    ids: set[str] = set()
    for index, claim in enumerate(book.claims):
        path: Path_ = ("claims", index)
        if claim.id in ids:
            yield _fault(document, (*path, "id"), f"two claims are called '{claim.id}'")
        ids.add(claim.id)
        for number, article in enumerate(claim.articles):
            if article not in book.articles:
                why = _unknown(article, "article", list(book.articles))
                placed = article in claim.place
                stands: Path_ = ("place", article) if placed else ("articles", number)
                yield _fault(document, (*path, *stands), why, key=placed)
        for key, check in claim.checks.items():
            yield from _of_check(document, (*path, key), check, book)
    for topic, listed in book.topics.items():
        for index, id_ in enumerate(listed):
            if id_ not in ids:
                why = _unknown(id_, "claim", sorted(ids))
                yield _fault(document, ("topics", topic, index), why)


def _of_check(document: Document, path: Path_, check: Check, book: Claims) -> Iterator[Fault]:
    test = TESTS.get(check.test)
    if test is None:
        yield _fault(document, (*path, "test"), _unknown(check.test, "test", list(TESTS)))
        return
    missing = sorted(test.inputs - set(check.inputs))
    if missing:
        why = f"{check.test} needs {', '.join(missing)}"
        yield _fault(document, (*path, "inputs") if check.inputs else path, why)
    for name, argument in check.inputs.items():
        if name not in test.inputs:
            why = _unknown(name, f"input of {check.test}", sorted(test.inputs))
            yield _fault(document, (*path, "inputs", name), why, key=True)
        else:
            wanted = test.wants(name)
            is_list = wanted.startswith("a list")
            either = wanted == "a number or a list of numbers" or argument.is_list == is_list
            if bool(argument.names) != wanted.endswith(("name", "names")) or not either:
                why = f"{name} of {check.test} must be {wanted}"
                yield _fault(document, (*path, "inputs", name), why)
            elif argument.ends and wanted == "a list of numbers":
                why = f"{name} of {check.test} is a list of cases and cannot have a range"
                yield _fault(document, (*path, "inputs", name), why)
        yield from _of_source(document, (*path, "inputs", name), argument, book)
    yield from _of_source(document, (*path, "expected"), check.expected, book)


def _of_source(document: Document, path: Path_, argument: Input, book: Claims) -> Iterator[Fault]:
    if argument.source is not None and argument.source not in book.sources:
        why = _unknown(argument.source, "source", list(book.sources))
        yield _fault(document, (*path, "source"), why)


def _fault(document: Document, path: Path_, why: str, *, key: bool = False) -> Fault:
    line, column = document.mark(path, key=key)
    return Fault("ST018", document.file, line, column, why)


def _unknown(name: str, noun: str, names: list[str]) -> str:
    hint = did_you_mean(name, names, f"known: {', '.join(names)}")
    return f"no {noun} is called '{shown(name)}'; {hint}"


def run(request: JudgeClaims) -> ClaimsAnswer:
    """Judge the claims in a file, or explain one claim in full."""
    only = [] if request.only is None else readers.names(request.only, option("only"))
    if request.path is not None and not request.path.exists():
        id_ = str(request.path)
        if id_ in {claim.id for claim in read_claims()[0].claims}:
            hint = f"explain it with {option('explain', id_)}"
            raise InputError(f"'{id_}' is a claim, not a file; {hint}")
    book, document = read_claims(request.path)
    claims = book.claims
    if request.explain is not None:
        by_id = {claim.id: claim for claim in claims}
        id_ = readers.as_text(request.explain)
        if id_ not in by_id:
            hint = instead_of(nearest(id_, by_id), "'fastcalc claims' lists them")
            raise InputError(f"no claim is called '{shown(id_)}'; {hint}")
        claims = [by_id[id_]]
    verdicts = {word for word in map(str.casefold, only) if word in MEANING}
    chosen = _chosen(claims, [word for word in only if word.casefold() not in verdicts], book)
    all_judged = judge(loading.catalogue(request), chosen, document)
    judged = [claim for claim in all_judged if not verdicts or claim.verdict in verdicts]
    if not judged:
        raise InputError(f"no claim matches all of: {shown(', '.join(only))}")
    answer = ClaimsAnswer if request.explain is None else ExplainedClaim
    return answer(request=request, judged=judged, book=book)


def _chosen(claims: Sequence[Claim], words: Sequence[str], book: Claims) -> list[Claim]:
    """Select claims by article, by topic, or by a word in the claim.

    Words of the same type (authors, topics, words) are alternatives, and different types are
    combined with 'and'.
    """
    chosen: dict[int, set[str]] = {}
    topics = {word: ids for name, ids in book.topics.items() for word in name.split()}
    for word in map(str.casefold, words):
        starts = re.compile(rf"(?<!\w){re.escape(word)}")
        authors = {
            key
            for key, article in book.articles.items()
            if word in (key.casefold(), *(article.author or "").casefold().split())
        }
        groups = (
            {claim.id for claim in claims if authors.intersection(claim.articles)},
            set(topics.get(word, ())),
            {claim.id for claim in claims if starts.search(claim.claim.casefold())},
        )
        group = next((number for number, ids in enumerate(groups) if ids), None)
        if group is None:
            near = nearest(word, [*MEANING, *book.articles, *topics])
            hint = instead_of(near, "and no claim contains it")
            if word in {claim.id for claim in claims}:
                hint = f"{option('explain', word)} prints that claim"
            raise InputError(
                f"{option('only')} '{shown(word)}' is not a verdict, article or topic; {hint}"
            )
        chosen.setdefault(group, set()).update(groups[group])
    return [claim for claim in claims if all(claim.id in ids for ids in chosen.values())]
