"""A file of claims to claims, every name in it known."""

from collections.abc import Iterator
from pathlib import Path

from fastcalc.catalogue.faults import Fault, in_order, refuse
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.reader import Document, Path_, read
from fastcalc.catalogue.schema.claims import Check, Claims, Input
from fastcalc.catalogue.validation import validate
from fastcalc.features.claims.registry import TESTS
from fastcalc.written import did_you_mean, shown

SHIPPED = "claims.yaml"


def read_claims(path: Path | None = None) -> tuple[Claims, Document]:
    """Read a file of claims or the shipped one, and where each stands; faults are refused."""
    document = read(path or shipped_folder("evidence") / SHIPPED)
    book, faults = validate(document, Claims)
    if book is None:
        raise refuse(faults)
    unknown = in_order(_unknown_names(document, book))
    if unknown:
        raise refuse(unknown)
    return book, document


def _unknown_names(document: Document, book: Claims) -> Iterator[Fault]:
    """Yield a fault for every article, source, test, input or claim that nothing knows."""
    ids: set[str] = set()
    for place, claim in enumerate(book.claims):
        path: Path_ = ("claims", place)
        if claim.id in ids:
            yield _fault(document, (*path, "id"), f"two claims are called '{claim.id}'")
        ids.add(claim.id)
        for number, article in enumerate(claim.articles):
            if article not in book.articles:
                why = _not_known(article, "article", list(book.articles))
                placed = article in claim.place
                stands: Path_ = ("place", article) if placed else ("articles", number)
                yield _fault(document, (*path, *stands), why, key=placed)
        for key, check in claim.checks.items():
            yield from _of_check(document, (*path, key), check, book)
    for topic, listed in book.topics.items():
        for place, id_ in enumerate(listed):
            if id_ not in ids:
                why = _not_known(id_, "claim", sorted(ids))
                yield _fault(document, ("topics", topic, place), why)


def _of_check(document: Document, path: Path_, check: Check, book: Claims) -> Iterator[Fault]:
    test = TESTS.get(check.test)
    if test is None:
        yield _fault(document, (*path, "test"), _not_known(check.test, "test", list(TESTS)))
        return
    missing = sorted(test.inputs - set(check.inputs))
    if missing:
        why = f"{check.test} needs {', '.join(missing)}"
        yield _fault(document, (*path, "inputs") if check.inputs else path, why)
    for name, argument in check.inputs.items():
        if name not in test.inputs:
            why = _not_known(name, f"input of {check.test}", sorted(test.inputs))
            yield _fault(document, (*path, "inputs", name), why, key=True)
        else:
            kind = test.wants(name)
            is_list = kind.startswith("a list")
            either = kind == "a number or a list of numbers" or argument.is_list == is_list
            if bool(argument.names) != kind.endswith(("name", "names")) or not either:
                why = f"{name} of {check.test} is {kind}"
                yield _fault(document, (*path, "inputs", name), why)
            elif argument.ends and kind == "a list of numbers":
                why = f"{name} of {check.test} is a list, which holds its cases itself: no range"
                yield _fault(document, (*path, "inputs", name), why)
        yield from _of_source(document, (*path, "inputs", name), argument, book)
    yield from _of_source(document, (*path, "expected"), check.expected, book)


def _of_source(document: Document, path: Path_, argument: Input, book: Claims) -> Iterator[Fault]:
    if argument.source is not None and argument.source not in book.sources:
        why = _not_known(argument.source, "source", list(book.sources))
        yield _fault(document, (*path, "source"), why)


def _fault(document: Document, path: Path_, why: str, *, key: bool = False) -> Fault:
    line, column = document.mark(path, key=key)
    return Fault("ST018", document.file, line, column, why)


def _not_known(name: str, kind: str, names: list[str]) -> str:
    hint = did_you_mean(name, names, f"known: {', '.join(names)}")
    return f"no {kind} is called '{shown(name)}'; {hint}"
