"""A claim to its verdict: the number of its test, held against what the claim says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from fastcalc.catalogue.kinds import SCHEMAS, Kind
from fastcalc.catalogue.reader import Document, inside
from fastcalc.catalogue.schema.claims import EXPECTED, Check, Claim, Input
from fastcalc.catalogue.store import AnyEntry, Catalogue
from fastcalc.errors import InputError, placed
from fastcalc.features.claims.catalogue_numbers import number_of
from fastcalc.features.claims.finding import DoesNotFitError, Finding
from fastcalc.features.claims.premises import Explored, Moved, Outcome, explore
from fastcalc.features.claims.registry import COUNTS, TESTS
from fastcalc.formulas.types import ArrayLike, Bools, Floats

Verdict = Literal["supported", "conditional", "misleading", "refuted", "undetermined", "external"]
MEANING: dict[Verdict, str] = {
    "supported": "the number is what the claim says, over all of what is not known; over some of "
    "it where the claim says may",
    "conditional": "it is so with some inputs, or by a premise, that the claim does not state",
    "misleading": "the number is right, and what is concluded from it is not",
    "refuted": "the number is another one, over all of what is not known",
    "undetermined": "what would decide it is not public: the number fits, or fits in part",
    "external": "no formula reaches it",
}

Depends = Literal["constants", "catalogue", "engine"]
DEPENDS: dict[Depends, str] = {
    "constants": "numbers of the articles and of the claims' file",
    "catalogue": "files of hardware or models",
    "engine": "files of hardware, models and engines",
}


@dataclass(frozen=True, eq=False)
class Tested:
    """A check that was run, with what it found. [SI]

    The input texts are what the formula shows; origins are files and sources of those that the
    catalogue holds; files are all entries that were read for it; explored is what it says over
    the ranges of its premises, and the ends are the least and largest number there; elsewhere
    gives the numbers with some premises moved, in the unit of what is expected.
    """

    check: Check
    finding: Finding
    input_texts: dict[str, str]
    origins: dict[str, tuple[str, ...]]
    explored: Explored
    ends: tuple[float, float]
    files: tuple[str, ...]
    elsewhere: Callable[[Moved], Floats]

    @cached_property
    def values(self) -> Floats:
        """Numbers in the unit of what is expected, at least one."""
        return in_unit(self.finding, self.check)

    @property
    def expected(self) -> tuple[float, ...]:
        """What the claim says, in its unit."""
        return tuple(number / self.check.expected.factor for number in self.check.expected.values)

    @property
    def unit(self) -> str:
        """Unit of both; empty for a plain number."""
        return self.check.expected.unit or self.check.unit

    @property
    def outcome(self) -> Outcome:
        """Whether all numbers are as expected over all ranges, some, or none.

        Of what a claim says may be so, some are enough.
        """
        outcome = self.explored.outcome
        return "holds" if self.check.may and outcome == "varies" else outcome

    @cached_property
    def met(self) -> Bools:
        """Whether each number is as expected, every premise taken at its value."""
        met = meets(self.values, self.check, np.array(self.expected))
        return np.broadcast_to(met, self.values.shape)

    @property
    def formula(self) -> str:
        """How the number comes about, in names."""
        names = {name: name.replace("_", " ") for name in self.input_texts}
        return TESTS[self.check.test].formula.format_map(names)

    @property
    def worked(self) -> str:
        """The same with its numbers."""
        return TESTS[self.check.test].formula.format_map(self.input_texts)


Read = dict[tuple[str, str], Any]
"""Entries of the catalogue that were read, by kind and name."""


def in_unit(finding: Finding, check: Check) -> Floats:
    """Return the numbers of a finding in the unit of what is expected, at least one."""
    return np.atleast_1d(np.asarray(finding.values, float)) / check.expected.factor


def meets(values: Floats, check: Check, expected: ArrayLike) -> Bools:
    """Return for each number whether it is as expected, within the tolerance."""
    target: Floats = np.asarray(expected, float)
    # A last digit of rounding in the computation itself is no difference.
    slack: Floats = np.abs(target) * (check.tolerance + 1e-12)
    if check.comparison == "between":
        low, high = (target - slack)[::2], (target + slack)[1::2]
        inside: Bools = (values >= low) & (values <= high)
        return inside
    if check.comparison == "at-least":
        return values >= target - slack
    if check.comparison == "at-most":
        return values <= target + slack
    return np.abs(values - target) <= slack


@dataclass(frozen=True, eq=False)
class Judged:
    """A claim with its tests run.

    claim : what is claimed
    check, conclusion : None where there is none, or what it speaks of does not fit
    place : says where a part of it stands in its file
    unfit : what does not fit, so that nothing is known; empty where all does
    """

    claim: Claim
    check: Tested | None
    conclusion: Tested | None
    place: Callable[..., str]
    unfit: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the numbers say of the claim."""
        if self.check is None:
            return "undetermined" if self.unfit else "external"
        if self.check.outcome == "fails":
            return "refuted"
        if self.unfit:
            return "undetermined"
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

    @property
    def tested(self) -> list[Tested]:
        """The check and the conclusion, as far as there are any."""
        return [test for test in (self.check, self.conclusion) if test is not None]

    @property
    def files(self) -> list[str]:
        """Entries of the catalogue that its numbers were computed from."""
        return sorted({name for test in self.tested for name in test.files})

    @property
    def depends(self) -> Depends | None:
        """What could change its numbers; None where there are none."""
        if self.check is None:
            return None
        kinds = {name.partition("/")[0] for name in self.files}
        return "engine" if "engines" in kinds else "catalogue" if kinds else "constants"


def judge(
    catalogue: Catalogue, claims: Iterable[Claim], document: Document | None = None
) -> list[Judged]:
    """Return every claim with its tests run."""
    judged = []
    read: Read = {}
    for claim in claims:
        ran: dict[str, Tested | None] = {"check": None, "conclusion": None}
        unfit = ""
        for key, check in claim.checks.items():
            where = partial(_place, document, claim.id, key)
            try:
                ran[key] = run(catalogue, check, where, read)
            except InputError as error:
                if not isinstance(error.__cause__, DoesNotFitError):
                    raise
                unfit = error.__cause__.sentence
                break
        judged.append(Judged(claim, **ran, place=partial(_place, document, claim.id), unfit=unfit))
    for kind in SCHEMAS:
        entries = [entry for (read_kind, _), entry in read.items() if read_kind == kind]
        catalogue.refuse_idle_changes(kind, entries)
    return judged


def _place(document: Document | None, claim: str, *steps: str | int) -> str:
    """Return where a part of a claim stands in its file, or the claim where there is none."""
    if document is None:
        return claim
    ids = [inside(record, "id") for record in document.items("claims")]
    return document.place("claims", ids.index(claim), *steps)


def run(
    catalogue: Catalogue, check: Check, place: Callable[..., str], read: Read | None = None
) -> Tested:
    """Return a check with its numbers, and what it says over the ranges of its premises."""
    cache = {} if read is None else read
    reading = _Reading(catalogue.user_folders, catalogue.changes, catalogue.limits, cache=cache)
    inputs = {}
    for name, argument in check.inputs.items():
        with placed(place, "inputs", name):
            inputs[name] = _resolved(reading, argument)
    trial = _Trial(check, reading, {name: resolved.argument for name, resolved in inputs.items()})
    with placed(place):
        finding = trial.finding({}, is_full=True)
        explored = explore(trial.answer, check.premises, COUNTS)
    return Tested(
        check,
        finding,
        {name: resolved.text for name, resolved in inputs.items()},
        {name: resolved.origins for name, resolved in inputs.items() if resolved.origins},
        explored,
        trial.ends,
        tuple(sorted(reading.entries)),
        trial.values,
    )


@dataclass(frozen=True)
class _Reading(Catalogue):
    """A catalogue that opens each entry once and knows which it opened."""

    entries: dict[str, Any] = field(default_factory=dict)
    cache: Read = field(default_factory=dict)

    def _load(self, name: str, kind: Kind, schema: type[AnyEntry]) -> AnyEntry:
        if (kind, name) not in self.cache:
            entry: AnyEntry = super()._load(name, kind, schema)
            self.cache[kind, name] = entry
        opened = cast(AnyEntry, self.cache[kind, name])
        self.entries[f"{kind}/{opened.id}"] = opened
        return opened


@dataclass(frozen=True, eq=False)
class _Trial:
    """A check whose premises may be moved, and the numbers computed so far. [unit]"""

    check: Check
    catalogue: Catalogue
    arguments: dict[str, Any]
    computed: dict[tuple[tuple[str, Any], ...], Floats] = field(default_factory=dict)

    def finding(self, moved: Moved, *, is_full: bool = False) -> Finding:
        """Return what the test finds with some premises moved."""
        check, test = self.check, TESTS[self.check.test]
        arguments = {name: moved.get(name, argument) for name, argument in self.arguments.items()}
        if "catalogue" in test.groups:
            arguments["catalogue"] = self.catalogue
        try:
            with np.errstate(all="ignore"):
                finding = test.compute(arguments, is_full=is_full)
        except (ArithmeticError, IndexError, ValueError) as error:
            raise InputError(f"{check.test} cannot compute with its inputs: {error}") from error
        if np.any(np.isnan(np.asarray(finding.values, float))):
            raise InputError(f"{check.test} gives no number with its inputs")
        return finding

    def values(self, moved: Moved) -> Floats:
        """Return the numbers of the test with some premises moved. [unit]"""
        return in_unit(self.finding(moved), self.check)

    def answer(self, moved: Moved) -> Outcome:
        """Return whether all numbers are as expected with some premises moved, some, or none."""
        key = tuple((name, setting) for name, setting in moved.items() if name != EXPECTED)
        if key not in self.computed:
            self.computed[key] = self.values(dict(key))
        values = self.computed[key]
        expected: Floats = np.atleast_1d(moved.get(EXPECTED, self.check.expected.values))
        count = expected.size // (2 if self.check.comparison == "between" else 1)
        if count not in (1, values.size):
            raise InputError(
                f"{count:,} numbers are expected, and {self.check.test} gives {values.size:,} with "
                "its inputs: write one, or one for each"
            )
        met = meets(values, self.check, expected / self.check.expected.factor)
        met = np.broadcast_to(met, values.shape)
        return "holds" if bool(np.all(met)) else "varies" if bool(np.any(met)) else "fails"

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest number computed. [unit]"""
        numbers = np.concatenate(list(self.computed.values()))
        return float(np.min(numbers)), float(np.max(numbers))


class _Resolved(NamedTuple):
    """An input as its test takes it, as people write it, and where the catalogue has it from."""

    argument: Any
    text: str
    origins: tuple[str, ...] = ()


def _resolved(catalogue: Catalogue, argument: Input) -> _Resolved:
    if argument.names:
        names = list(argument.names)
        return _Resolved(names if argument.is_list else names[0], ", ".join(names))
    values, texts, origins = list(argument.values), list(argument.texts), []
    for entry in argument.entry:
        number = number_of(catalogue, entry, str(argument.field))
        values.append(number.si)
        texts.append(number.text)
        file = f"{entry}.yaml, {argument.field}"
        origins.append(f"{file}: {number.source}" if number.source else file)
    text = ", ".join(texts)
    if not argument.is_list:
        return _Resolved(values[0], text, tuple(origins))
    return _Resolved(np.array(values), f"({text})", tuple(origins))
