"""Reader of claims files; unknown names are refused."""

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
    """Claims of a file, or the shipped ones, with their positions; raises InputError on faults."""
    document = read(path or shipped_folder("evidence") / SHIPPED)
    book, faults = validate(document, Claims)
    if book is None:
        raise refuse(faults)
    unknown = in_order(_unknown_names(document, book))
    if unknown:
        raise refuse(unknown)
    return book, document


def _unknown_names(document: Document, book: Claims) -> Iterator[Fault]:
    """Yield a fault for every undefined article, source, test, input or claim."""
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
