"""Sentences on the verdict of a claim and the reason for it, with the computed numbers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import TypeAlias

from fastcalc.errors import InputError
from fastcalc.features.claims.break_evens import digits
from fastcalc.features.claims.finding import DoesNotFitError
from fastcalc.features.claims.judge import MEANING, Judged, Tested
from fastcalc.features.claims.premises import Moved
from fastcalc.kit.answer.numbers_as_text import number, parameters, trimmed
from fastcalc.written import listed, shown

FIELD = re.compile(r"\{(then\.)?([a-z]+)((?:\[[^\[\]{}]*\])*)(?::([1-9]?)(%?))?\}")
"""Placeholder for a number of the check or conclusion: name, keys, digits and percent."""

_DIGITS = 3
Listed: TypeAlias = Sequence[float | str]


_UNREACHED = "out of reach"
"""The text in place of a number that no batch reaches."""


def reason(judged: Judged) -> str:
    """Return the reason for a verdict, with its numbers.

    In a claim's text, ``{value}`` stands for the numbers of its check, ``{expected}`` for the
    claimed value, ``{low}`` and ``{high}`` for the range over all assumptions, ``{part[LABEL]}``
    for another number of the test, ``{input[NAME]}`` and ``{range[NAME]}`` for an input and its
    range, ``{turn[NAME]}`` for the value of an input at which the verdict changes, and
    ``{at[NAME=VALUE]}`` for the numbers at another input. ``[0]`` selects one of several, ``:2``
    prints two digits, ``:%`` prints a percentage, and ``then.`` before the name refers to the
    conclusion.
    """
    if judged.unfit:
        return f"{judged.unfit}, so the claim cannot be tested"

    def no(what: str) -> InputError:
        return InputError(f"{judged.place('reason')}: reason of claim {judged.claim.id}: {what}")

    def filled(field: re.Match[str]) -> str:
        is_conclusion, name, keys, digits, percent = field.groups()
        tested = judged.conclusion if is_conclusion else judged.check
        if tested is None:
            raise no(f"{field[0]} has no test")
        numbers = _TestedNumbers(tested)
        try:
            numbers_named = numbers.of(name, re.findall(r"\[([^\]]*)\]", keys))
        except DoesNotFitError:
            return "none that fits"
        except InputError as error:
            raise no(f"'{shown(field[0])}': {error.sentence}") from error
        except (LookupError, ValueError) as error:
            raise no(f"there is no '{shown(field[0])}'") from error
        texts = [
            cell if isinstance(cell, str) else _text(cell, int(digits or _DIGITS), bool(percent))
            for cell in numbers_named
        ]
        return listed(texts if set(texts) != {_UNREACHED} else [_UNREACHED])

    return FIELD.sub(filled, judged.claim.reason)


def verdict_sentence(judged: Judged) -> str:
    """Return the verdict as a sentence, decisive word first: "false as stated; ..."."""
    if judged.verdict == "supported" and not any(test.check.premises for test in judged.tested):
        return "true"
    if judged.verdict not in ("conditional", "undetermined") or judged.check is None:
        return MEANING[judged.verdict]
    outcomes = {tested.outcome_as_stated for tested in judged.tested}
    is_of_conclusion = judged.conclusion is not None and judged.check.outcome == "holds"
    if "fails" in outcomes:
        as_stated, otherwise = "false as stated", "true under other plausible assumptions"
    elif outcomes == {"holds"}:
        as_stated, otherwise = "true as stated", "false under other plausible assumptions"
    else:
        as_stated, otherwise = "true in some cases", "false in others"
    if judged.verdict == "undetermined":
        return f"undetermined: {as_stated}, but it depends on unpublished facts"
    if judged.claim.condition:
        return f"{as_stated}, but only if {judged.claim.condition}"
    if is_of_conclusion:
        return f"the number is right; the conclusion is {as_stated} and {otherwise}"
    return f"{as_stated}; {otherwise}"


def _text(value: float, digits: int, is_percent: bool) -> str:
    if isinf(value):
        return _UNREACHED
    text = trimmed(number(100.0 * value if is_percent else value, digits))
    return f"{text}%" if is_percent else text


@dataclass(frozen=True, eq=False)
class _TestedNumbers:
    """The numbers of a test that a sentence can use."""

    tested: Tested

    def of(self, name: str, keys: list[str]) -> Listed:
        """Look up numbers, or inputs as written in the file, by name and keys."""
        plain: Mapping[str, Listed] = {
            "value": self.tested.values.tolist(),
            "expected": self.tested.expected,
            "low": self.tested.ends[:1],
            "high": self.tested.ends[1:],
        }
        if name in plain:
            listed, indices = plain[name], keys
        else:
            keyed = {
                "part": self._part,
                "input": self._input,
                "range": self._range,
                "turn": self._turn,
                "at": self._at,
            }
            listed, indices = keyed[name](keys[0]), keys[1:]
        return [listed[int(index)] for index in indices] if indices else listed

    def _part(self, label: str) -> Listed:
        return [{also.label: also.value for also in self.tested.finding.parts}[label]]

    def _input(self, name: str) -> Listed:
        premise = self.tested.check.inputs[name]
        if premise.values and not premise.unit:
            return [
                parameters(number) if number >= 1e9 else digits(number) for number in premise.values
            ]
        return premise.texts or [self.tested.input_texts[name]]

    def _range(self, name: str) -> Listed:
        premise = self.tested.check.inputs[name]
        if premise.ends and not premise.unit:
            return [digits(end) for end in premise.ends]
        return premise.range_texts

    def _turn(self, name: str) -> Listed:
        turning_points = [flip.at for flip in self.tested.explored.flips if flip.premise == name]
        if not turning_points:
            raise LookupError(name)
        return turning_points

    def _at(self, where: str) -> Listed:
        moved: dict[str, object] = {}
        for assignment in where.split(", "):
            name, _, text = assignment.partition("=")
            premise = self.tested.check.inputs[name]
            moved[name] = text if premise.names else float(text) * premise.factor
        premises: Moved = moved
        return [float(number) for number in self.tested.elsewhere(premises)]
