"""A claim to its verdict: the number of its test, held against what the claim says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from fastcalc.articles.catalogue_numbers import number_of
from fastcalc.articles.finding import Finding
from fastcalc.articles.registry import TESTS
from fastcalc.catalogue.reader import Document
from fastcalc.catalogue.schema.claims import Check, Claim, Input
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError, placed
from fastcalc.formulas.types import Bools, Floats

Verdict = Literal["supported", "conditional", "misleading", "refuted", "undetermined", "external"]
MEANING: dict[Verdict, str] = {
    "supported": "the number is what the claim says",
    "conditional": "it is so with some inputs, or by a premise, that the claim does not state",
    "misleading": "the number is right, and what is concluded from it is not",
    "refuted": "the number is another one",
    "undetermined": "what would decide it is not public: the number fits, or fits in part",
    "external": "no formula reaches it",
}
"""What each verdict means."""

Outcome = Literal["holds", "varies", "fails"]


@dataclass(frozen=True, eq=False)
class Tested:
    """A check that was run, with what it found. [SI]

    The inputs are given as text for the formula; origins are files and sources of those that the
    catalogue holds.
    """

    check: Check
    finding: Finding
    given: dict[str, str]
    origins: dict[str, tuple[str, ...]]

    @cached_property
    def values(self) -> Floats:
        """Numbers in the unit of what is expected, at least one."""
        return np.atleast_1d(np.asarray(self.finding.values, float)) / self.check.expected.factor

    @property
    def expected(self) -> tuple[float, ...]:
        """What the claim says, in its unit."""
        return tuple(one / self.check.expected.factor for one in self.check.expected.values)

    @property
    def unit(self) -> str:
        """Unit of both; empty for a plain number."""
        return self.check.expected.unit or self.check.unit

    @cached_property
    def outcome(self) -> Outcome:
        """Whether all numbers are as expected, some, or none."""
        met = np.broadcast_to(meets(self.values, self.check, self.expected), self.values.shape)
        return "holds" if bool(np.all(met)) else "varies" if bool(np.any(met)) else "fails"

    @property
    def formula(self) -> str:
        """How the number comes about, in names."""
        names = {name: name.replace("_", " ") for name in self.given}
        return TESTS[self.check.test].formula.format_map(names)

    @property
    def worked(self) -> str:
        """The same with its numbers."""
        return TESTS[self.check.test].formula.format_map(self.given)


def meets(values: Floats, check: Check, expected: tuple[float, ...]) -> Bools:
    """Return for each number whether it is as expected, within the tolerance."""
    wanted: Floats = np.array(expected)
    # A last digit of rounding in the computation itself is no difference.
    slack: Floats = np.abs(wanted) * (check.tolerance + 1e-12)
    if check.comparison == "between":
        inside: Bools = (values >= wanted[0] - slack[0]) & (values <= wanted[1] + slack[1])
        return inside
    if check.comparison == "at-least":
        return values >= wanted - slack
    if check.comparison == "at-most":
        return values <= wanted + slack
    return np.abs(values - wanted) <= slack


@dataclass(frozen=True, eq=False)
class Judged:
    """A claim with its tests run."""

    claim: Claim
    check: Tested | None
    conclusion: Tested | None

    @property
    def verdict(self) -> Verdict:
        """What the numbers say of the claim."""
        if self.check is None:
            return "external"
        if self.check.outcome == "fails":
            return "refuted"
        outcomes = {self.check.outcome}
        if self.conclusion is not None:
            if self.conclusion.outcome == "fails":
                return "misleading"
            outcomes.add(self.conclusion.outcome)
        if self.claim.unpublished:
            return "undetermined"
        if self.claim.condition or "varies" in outcomes:
            return "conditional"
        return "supported"


def judge(
    catalogue: Catalogue, claims: Iterable[Claim], document: Document | None = None
) -> list[Judged]:
    """Return every claim with its tests run.

    Raises
    ------
    InputError
        If an entry or a field that a claim names does not exist.
    """

    def place(claim: str, *steps: str | int) -> str:
        """Return where a part of a claim stands in its file, or the claim where there is none."""
        if document is None:
            return claim
        ids = [one["id"] for one in document.data["claims"]]
        return document.place("claims", ids.index(claim), *steps)

    judged = []
    for claim in claims:
        ran: dict[str, Tested | None] = {}
        for key in ("check", "conclusion"):
            check = getattr(claim, key)
            ran[key] = run(catalogue, check, partial(place, claim.id, key)) if check else None
        judged.append(Judged(claim, **ran))
    return judged


def run(catalogue: Catalogue, check: Check, place: Callable[..., str]) -> Tested:
    """Return a check with its numbers."""
    test = TESTS[check.test]
    given = {}
    for name, one in check.inputs.items():
        with placed(place, "inputs", name):
            given[name] = _resolved(catalogue, one)
    arguments: dict[str, Any] = {name: one.argument for name, one in given.items()}
    if "catalogue" in test.parameters:
        arguments["catalogue"] = catalogue
    with placed(place):
        try:
            with np.errstate(all="ignore"):
                found = test.function(**arguments)
        except (ArithmeticError, IndexError, ValueError) as error:
            raise InputError(f"{check.test} cannot compute with its inputs: {error}") from error
        finding = found if isinstance(found, Finding) else Finding(found)
        if np.any(np.isnan(np.asarray(finding.values, float))):
            raise InputError(f"{check.test} gives no number with its inputs")
    return Tested(
        check,
        finding,
        {name: one.text for name, one in given.items()},
        {name: one.origins for name, one in given.items() if one.origins},
    )


class _Resolved(NamedTuple):
    """An input as its test takes it, as people write it, and where the catalogue has it from."""

    argument: Any
    text: str
    origins: tuple[str, ...] = ()


def _resolved(catalogue: Catalogue, given: Input) -> _Resolved:
    if given.names:
        names = list(given.names)
        return _Resolved(names if given.is_list else names[0], ", ".join(names))
    values, texts, origins = list(given.values), list(given.texts), []
    for entry in given.entry:
        number = number_of(catalogue, entry, str(given.field))
        values.append(number.si)
        texts.append(number.text)
        file = f"{entry}.yaml, {given.field}"
        origins.append(f"{file}: {number.source}" if number.source else file)
    text = ", ".join(texts)
    if not given.is_list:
        return _Resolved(values[0], text, tuple(origins))
    return _Resolved(np.array(values), f"({text})", tuple(origins))
