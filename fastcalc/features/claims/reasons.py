"""Sentences on the verdict of a claim and the reason for it, with the computed numbers."""

import re
from collections.abc import Mapping, Sequence
from math import isinf
from typing import TypeAlias

from fastcalc.errors import InputError
from fastcalc.features.claims.break_evens import digits
from fastcalc.features.claims.finding import DoesNotFitError
from fastcalc.features.claims.judge import MEANING, Judged, Tested
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
        try:
            numbers_named = _numbers_of(tested, name, re.findall(r"\[([^\]]*)\]", keys))
        except DoesNotFitError:
            return "none that fits"
        except InputError as error:
            raise no(f"'{shown(field[0])}': {error.sentence}") from error
        except (LookupError, ValueError) as error:
            raise no(f"there is no '{shown(field[0])}'") from error
        texts = []
        for cell in numbers_named:
            text = _UNREACHED if isinstance(cell, float) and isinf(cell) else str(cell)
            if text != _UNREACHED and not isinstance(cell, str):
                value = 100.0 * cell if percent else cell
                text = trimmed(number(value, int(digits or _DIGITS))) + (percent or "")
            texts.append(text)
        return listed(texts if set(texts) != {_UNREACHED} else [_UNREACHED])

    return FIELD.sub(filled, judged.claim.reason)


def verdict_sentence(judged: Judged) -> str:
    """Return the verdict as a sentence, decisive word first: "false as stated; ..."."""
    if judged.verdict == "supported" and not any(test.check.premises for test in judged.tested):
        return "true"
    if judged.is_only_possible:
        return "true in some plausible cases, which is enough because the claim says 'may'"
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
        return f"undetermined: {as_stated}, but unpublished facts may change this"
    if judged.claim.condition:
        return f"{as_stated}, but only if {judged.claim.condition}"
    if is_of_conclusion:
        return f"the number is right; the conclusion is {as_stated} and {otherwise}"
    return f"{as_stated}; {otherwise}"


def _numbers_of(tested: Tested, name: str, keys: Sequence[str]) -> Listed:
    """Look up numbers of a test, or inputs as written in the file, by name and keys."""
    plain: Mapping[str, Listed] = {
        "value": tested.values.tolist(),
        "expected": tested.expected,
        "low": tested.ends[:1],
        "high": tested.ends[1:],
    }
    if name in plain:
        listed, indices = plain[name], keys
    else:
        listed, indices = _keyed(tested, name, keys[0]), keys[1:]
    return [listed[int(index)] for index in indices] if indices else listed


def _keyed(tested: Tested, name: str, key: str) -> Listed:
    """Look up a part, the break-evens of an input, numbers elsewhere, an input or its range."""
    if name == "part":
        return [{also.label: also.value for also in tested.finding.parts}[key]]
    if name == "turn":
        if turns := [flip.at for flip in tested.explored.flips if flip.premise == key]:
            return turns
        raise LookupError(key)
    inputs = tested.check.inputs
    if name == "at":
        moved: dict[str, object] = {}
        for assignment in key.split(", "):
            moved_name, _, text = assignment.partition("=")
            premise = inputs[moved_name]
            moved[moved_name] = text if premise.names else float(text) * premise.factor
        return [float(number) for number in tested.elsewhere(moved)]
    premise = {"input": inputs, "range": inputs}[name][key]
    if name == "range":
        is_plain = premise.ends and not premise.unit
        return [digits(end) for end in premise.ends] if is_plain else premise.range_texts
    if not premise.values or premise.unit:
        return premise.texts or [tested.input_texts[key]]
    return [parameters(value) if value >= 1e9 else digits(value) for value in premise.values]
