"""Judge a claim by comparing the number that its test computes with the claimed value."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from fastcalc.catalogue.kinds import SCHEMAS, Kind
from fastcalc.catalogue.reader import Document, inside
from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.schema.claims import EXPECTED, Check, Claim
from fastcalc.catalogue.store import AnyEntry, Catalogue
from fastcalc.errors import InputError, placed
from fastcalc.features.claims.catalogue_numbers import number_of
from fastcalc.features.claims.evaluations import SOLVED
from fastcalc.features.claims.finding import DoesNotFitError, Finding
from fastcalc.features.claims.premises import Explored, Moved, Outcome, explore, outcome_over
from fastcalc.features.claims.registry import COUNTS, TESTS, in_words
from fastcalc.formulas.types import ArrayLike, Bools, Floats

Verdict = Literal["supported", "conditional", "misleading", "refuted", "undetermined", "external"]
MEANING: dict[Verdict, str] = {
    "supported": "true in every plausible case",
    "conditional": "true only under assumptions that the claim leaves out",
    "misleading": "the premise is right, but the conclusion does not follow",
    "refuted": "false in every plausible case",
    "undetermined": "the facts that decide it are not published",
    "external": "not a matter of calculation",
}

Depends = Literal["constants", "catalogue", "engine"]
DEPENDS: dict[Depends, str] = {
    "constants": "the source articles and the claims file only",
    "catalogue": "hardware or model files",
    "engine": "hardware, model and engine files",
}


@dataclass(frozen=True, eq=False)
class Tested:
    """A test of a claim with its numbers, in SI units.

    input_texts : The inputs as shown in the formula.
    origins : The file and source of each input that comes from the catalogue.
    trial : Evaluates the check for any inputs.
    outcome_over_ranges : The outcome over the plausible ranges of the inputs.
    ranges : The smallest and largest number over those ranges, in the unit of the expected value;
        one pair per number if each number has its own criterion.
    files : The catalogue entries read by the test.
    where : Returns the position of a field of the check, for error messages.
    """

    check: Check
    input_texts: dict[str, str]
    origins: dict[str, tuple[str, ...]]
    trial: "_Trial"
    outcome_over_ranges: Outcome
    ranges: tuple[tuple[float, float], ...]
    files: tuple[str, ...]
    where: Callable[..., str]

    @cached_property
    def explored(self) -> Explored:
        """The break-even values over the plausible ranges of the inputs."""
        with placed(self.where):
            return explore(self.trial.answer, self.check.premises, COUNTS, SOLVED.each)

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and largest number over all cases and ranges, in the unit of `ranges`."""
        return min(low for low, _ in self.ranges), max(high for _, high in self.ranges)

    def elsewhere(self, moved: Moved) -> Floats:
        """Compute the numbers for other inputs, in the unit of the expected value."""
        return self.trial.values(moved)

    @property
    def values(self) -> Floats:
        """The numbers for the claimed inputs, in the unit of the expected value.

        There is at least one.
        """
        return self.trial.stated

    @cached_property
    def finding(self) -> Finding:
        """The result for the claimed inputs, with tables and explanatory numbers."""
        with placed(self.where):
            return self.trial.finding({}, is_full=True)

    @property
    def expected(self) -> tuple[float, ...]:
        """The value or values in the claim, in its unit."""
        return tuple(number / self.check.expected.factor for number in self.check.expected.values)

    @property
    def unit(self) -> str:
        """The unit of the computed and expected numbers, or nothing for a plain number."""
        return self.check.expected.unit or self.check.unit

    @property
    def outcome(self) -> Outcome:
        """Whether the claim holds for all, some or none of the numbers over all plausible inputs.

        A claim with 'may' holds if it is true of some numbers.
        """
        outcome = self.outcome_over_ranges
        return "holds" if self.check.may and outcome == "varies" else outcome

    @cached_property
    def met(self) -> Bools:
        """Whether the claim is true of each number, for the claimed inputs."""
        met = meets(self.values, self.check, np.array(self.expected))
        return np.broadcast_to(met, self.values.shape)

    @property
    def outcome_as_stated(self) -> Outcome:
        """Whether the claim holds for the claimed inputs in all, some or none of its cases.

        A claim with several numbers holds only if all of them are right.
        """
        met = self.met
        if met.all():
            return "holds"
        group = 2 if self.check.comparison == "between" else 1
        return "varies" if met.any() and len(self.expected) == group else "fails"

    @property
    def formula(self) -> str:
        """The formula with the names of its inputs, or a description in words."""
        names = {name: in_words(name) for name in self.input_texts}
        test = TESTS[self.check.test]
        return test.in_words or test.formula.format_map(names)

    @property
    def worked(self) -> str:
        """The formula with the values of its inputs filled in."""
        return TESTS[self.check.test].formula.format_map(self.input_texts)

    @property
    def quantity(self) -> str:
        """A description of the number, such as "wafers for each model"."""
        return self.check.quantity or self.check.test.replace("-", " ")


Read = dict[tuple[str, str], Any]
"""Catalogue entries read so far, by category and name."""


def in_unit(finding: Finding, check: Check) -> Floats:
    """Convert a test result to the unit of the expected value."""
    return np.atleast_1d(np.asarray(finding.values, float)) / check.expected.factor


def meets(values: Floats, check: Check, expected: ArrayLike) -> Bools:
    """Check whether the claim is true of each number, within its tolerance."""
    target: Floats = np.asarray(expected, float)
    # Rounding errors in the last digit do not count as a difference.
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
    """A claim with the results of its tests.

    check, conclusion : None if there is no test, or if a model in it does not fit its chips.
    place : Returns the position of a field of the claim in its file, for error messages.
    unfit : The sentence on the model that does not fit, or empty.
    """

    claim: Claim
    check: Tested | None
    conclusion: Tested | None
    place: Callable[..., str]
    unfit: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from the numbers."""
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
    def is_only_possible(self) -> bool:
        """Whether a claim that says 'may' is supported by some plausible cases, but not by all."""
        ranges = [test.outcome_over_ranges for test in self.tested]
        return self.verdict == "supported" and "varies" in ranges

    @property
    def tested(self) -> list[Tested]:
        """The tests that were run: check and conclusion."""
        return [test for test in (self.check, self.conclusion) if test is not None]

    @property
    def files(self) -> list[str]:
        """The catalogue entries that the numbers depend on."""
        return sorted({name for test in self.tested for name in test.files})

    @property
    def depends(self) -> Depends | None:
        """The type of files that could change the numbers, or None if there are no numbers."""
        if self.check is None:
            return None
        categories = {name.partition("/")[0] for name in self.files}
        return "engine" if "engines" in categories else "catalogue" if categories else "constants"


def judge(
    catalogue: Catalogue, claims: Iterable[Claim], document: Document | None = None
) -> list[Judged]:
    """Run the tests of all claims and derive the verdicts."""
    read: Read = {}
    judged = SOLVED.in_step(
        [partial(_judged, catalogue, claim, document, read, {}) for claim in claims]
    )
    SOLVED.known.clear()
    for entry_type in SCHEMAS:
        entries = [entry for (read_kind, _), entry in read.items() if read_kind == entry_type]
        catalogue.refuse_idle_changes(entry_type, entries)
    return judged


def find_break_evens(judged: Iterable[Judged]) -> None:
    """Search for the break-evens of all claims in parallel, in vectorized evaluations."""
    all_tested = [tested for claim in judged for tested in claim.tested]
    SOLVED.in_step([partial(_in_full, tested) for tested in all_tested])
    SOLVED.known.clear()


def _in_full(tested: Tested) -> tuple[Finding, Explored]:
    return tested.finding, tested.explored


def _judged(
    catalogue: Catalogue,
    claim: Claim,
    document: Document | None,
    read: Read,
    trials: "dict[str, _Trial]",
) -> Judged:
    """Run the tests of a claim.

    trials : Existing trials of its tests, whose numbers are reused.
    """
    ran: dict[str, Tested | None] = {"check": None, "conclusion": None}
    unfit = ""
    for key, check in claim.checks.items():
        where = partial(_place, document, claim.id, key)
        try:
            if key not in trials:
                trials[key] = _trial(catalogue, check, where, read)
            ran[key] = _tested(trials[key], where)
        except InputError as error:
            if not isinstance(error.__cause__, DoesNotFitError):
                raise
            unfit = error.__cause__.sentence
            break
    return Judged(claim, **ran, place=partial(_place, document, claim.id), unfit=unfit)


def _place(document: Document | None, claim: str, *steps: str | int) -> str:
    """Return where a field of a claim is in its file or, without a file, the claim's id."""
    if document is None:
        return claim
    ids = [inside(record, "id") for record in document.items("claims")]
    return document.place("claims", ids.index(claim), *steps)


def run(
    catalogue: Catalogue, check: Check, place: Callable[..., str], read: Read | None = None
) -> Tested:
    """Evaluate a check for the claimed inputs and over their plausible ranges."""
    return _tested(_trial(catalogue, check, place, {} if read is None else read), place)


def _trial(catalogue: Catalogue, check: Check, locate: Callable[..., str], read: Read) -> "_Trial":
    """Resolve the inputs of a check."""
    reading = _Reading(catalogue.user_folders, catalogue.changes, catalogue.limits, cache=read)
    inputs = {}
    for name, argument in check.inputs.items():
        with placed(locate, "inputs", name):
            if argument.names:
                names = list(argument.names)
                text = ", ".join(names if len(set(names)) > 1 else names[:1])
                inputs[name] = _Resolved(names if argument.is_list else names[0], text)
            else:
                values, texts, origins = list(argument.values), list(argument.texts), []
                for entry in argument.entry:
                    number = number_of(reading, entry, str(argument.field))
                    values.append(number.si)
                    texts.append(number.text)
                    file = f"{entry}.yaml, {argument.field}"
                    origins.append(f"{file}: {number.source}" if number.source else file)
                text = ", ".join(texts)
                if not argument.is_list:
                    inputs[name] = _Resolved(values[0], text, tuple(origins))
                else:
                    inputs[name] = _Resolved(np.array(values), f"({text})", tuple(origins))
    return _Trial(check, reading, inputs)


def _tested(trial: "_Trial", locate: Callable[..., str]) -> Tested:
    """Evaluate a check for the claimed inputs and over their plausible ranges."""
    check, inputs = trial.check, trial.inputs
    is_cheap = "catalogue" not in TESTS[check.test].groups
    with placed(locate):
        outcome = outcome_over(
            trial.answer, check.premises, COUNTS, SOLVED.each, is_thorough=is_cheap
        )
    return Tested(
        check,
        {name: resolved.text for name, resolved in inputs.items()},
        {name: resolved.origins for name, resolved in inputs.items() if resolved.origins},
        trial,
        outcome,
        trial.ranges,
        tuple(sorted(trial.catalogue.entries)),
        locate,
    )


@dataclass(frozen=True)
class _Reading(Catalogue):
    """A catalogue that opens each entry once and records which entries it opened."""

    entries: dict[str, Any] = field(default_factory=dict)
    cache: Read = field(default_factory=dict)

    def model(self, name: str | Path | Model) -> Model:
        """Load a model, checking only once whether its name is a configuration file."""
        is_read = ("models", str(name)) in self.cache
        return self._load(str(name), "models", Model) if is_read else super().model(name)

    def _load(self, name: str, kind: Kind, schema: type[AnyEntry]) -> AnyEntry:
        if (kind, name) not in self.cache:
            entry: AnyEntry = super()._load(name, kind, schema)
            self.cache[kind, name] = entry
        opened = cast(AnyEntry, self.cache[kind, name])
        self.entries[f"{kind}/{opened.id}"] = opened
        return opened


@dataclass(frozen=True, eq=False)
class _Trial:
    """A check evaluated for varied inputs, with the numbers computed so far. [unit]"""

    check: Check
    catalogue: _Reading
    inputs: "dict[str, _Resolved]"
    computed: dict[tuple[tuple[str, Any], ...], Floats] = field(default_factory=dict)
    answered: dict[tuple[tuple[str, Any], ...], Outcome] = field(default_factory=dict)

    @property
    def stated(self) -> Floats:
        """The result for the claimed inputs, in the unit of the expected value. [unit]"""
        return self._computed({})

    def finding(self, moved: Moved, *, is_full: bool = False) -> Finding:
        """Run the test with some inputs changed."""
        check, test = self.check, TESTS[self.check.test]
        arguments = {name: moved.get(name, each.argument) for name, each in self.inputs.items()}
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
        """Return the numbers with some inputs changed, in the unit of the expected value. [unit]"""
        return in_unit(self.finding(moved), self.check)

    def answer(self, moved: Moved) -> Outcome:
        """Check whether all, some or none of the numbers meet the claim, with inputs changed."""
        key = tuple(moved.items())
        if key not in self.answered:
            values = self._computed(moved)
            expected: Floats = np.atleast_1d(moved.get(EXPECTED, self.check.expected.values))
            count = self._criteria(expected)
            if count not in (1, values.size):
                raise InputError(
                    f"{count:,} numbers are expected, and {self.check.test} gives {values.size:,} "
                    "with its inputs: write one, or one for each"
                )
            met = meets(values, self.check, expected / self.check.expected.factor)
            met = np.broadcast_to(met, values.shape)
            self.answered[key] = "holds" if met.all() else "varies" if met.any() else "fails"
        return self.answered[key]

    def _criteria(self, expected: Floats) -> int:
        """Return how many criteria the expected values form."""
        return expected.size // (2 if self.check.comparison == "between" else 1)

    def _computed(self, moved: Moved) -> Floats:
        key = tuple((name, setting) for name, setting in moved.items() if name != EXPECTED)
        if key not in self.computed:
            self.computed[key] = self.values(dict(key))
        return self.computed[key]

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """The smallest and largest number over all inputs tried, by criterion. [unit]"""
        computed = [*self.computed.values()]
        is_of_each = self._criteria(np.asarray(self.check.expected.values)) > 1
        cases = np.stack(computed, axis=1) if is_of_each else [np.concatenate(computed)]
        return tuple((float(np.min(case)), float(np.max(case))) for case in cases)


class _Resolved(NamedTuple):
    """An input: its value for the test, its text in the file, and its sources."""

    argument: Any
    text: str
    origins: tuple[str, ...] = ()
