"""Break-even values of inputs, at which the verdict on a claim changes, as text and records."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf

from fastcalc.catalogue.schema.claims import EXPECTED
from fastcalc.features.claims.judge import Judged, Tested
from fastcalc.features.claims.premises import Flip, Outcome
from fastcalc.features.claims.registry import in_words
from fastcalc.formulas.sequences import grouped
from fastcalc.formulas.types import Bools
from fastcalc.kit.answer.numbers_as_text import number, trimmed
from fastcalc.kit.answer.point_records import Record

NONE = "none"
_NONE_WITHIN = "no assumption changes the verdict within its range"
_WORDS: dict[Outcome, str] = {
    "holds": "supported",
    "fails": "refuted",
    "varies": "supported in some cases",
}


def digits(value: float, count: int = 4) -> str:
    """Format a number with this many significant digits, without trailing zeros.

    >>> digits(6.0), digits(26.75), digits(525000.0), digits(0.348678), digits(4e12)
    ('6', '26.75', '525,000', '0.3487', '4e12')

    Very large and very small numbers are written with an exponent.

    >>> digits(1.3081e-25), digits(0.0001308)
    ('1.308e-25', '0.0001308')
    """
    if 1e9 <= abs(value) < inf or 0.0 < abs(value) < 1e-4:
        return f"{value:.{count}g}".replace("e+", "e")
    return trimmed(number(value, count))


def break_even(judged: Judged) -> str:
    """Format the break-even values of each input, or ``none``."""
    texts = [
        f"{'conclusion, ' if tested is judged.conclusion else ''}{text}"
        for tested in judged.tested
        for text in break_even_lines(tested)
    ]
    within = any(tested.check.premises for tested in judged.tested)
    return "; ".join(texts) or (_NONE_WITHIN if within else NONE)


def break_even_lines(tested: Tested) -> list[str]:
    """Format the break-even values of a test, one line per input."""
    return [text for text in (*_of(tested), tested.finding.break_even) if text]


def changes(tested: Tested) -> list[str]:
    """Return the break-even lines, or say that no input changes the verdict."""
    return break_even_lines(tested) or [_NONE_WITHIN] * bool(tested.check.premises)


def crossings(judged: Judged) -> list[Record]:
    """Build a record for each break-even, with the text from `break_even`."""
    return [
        {
            "premise": flip.premise,
            "at": flip.at,
            "unit": flip.unit or None,
            "below": _WORDS[flip.below],
            "above": _WORDS[flip.above],
            "of": "conclusion" if tested is judged.conclusion else "check",
        }
        for tested in judged.tested
        for flip in tested.explored.flips
    ]


def _of(tested: Tested) -> Iterator[str]:
    """Yield a text for each input that changes the outcome, then for names and for cases."""
    explored = tested.explored
    stated_unit = {EXPECTED: tested.unit}
    in_units = [
        replace(flip, unit=stated_unit.get(flip.premise, flip.unit)) for flip in explored.flips
    ]
    for name, flips in grouped(in_units, lambda flip: flip.premise).items():
        yield f"{in_words(name)}: {', '.join(_along(flips))}"
    turned = [
        (name, stated, outcome)
        for name, stated, outcome in explored.alternatives
        if outcome != _stands(tested)
    ]
    for name, stated, outcome in turned:
        yield f"{in_words(name)}: {_WORDS[outcome]} at {stated}, {_WORDS[_stands(tested)]} as given"
    if explored.jointly:
        ends = {
            name: " to ".join(tested.check.premises[name].range_texts) for name in explored.jointly
        }
        moved = " and ".join(f"{in_words(name)} ({texts})" for name, texts in ends.items())
        yield f"the verdict only changes if {moved} are all at an end of their ranges"
    if _stands(tested) == "varies":
        yield from _cases(tested)


_NARROW = 1.05
"""Ratio of two break-evens below which a different outcome between equal ones is noise."""


def _along(all_flips: Sequence[Flip]) -> Iterator[str]:
    """Yield the outcomes along an input's range. Counts show the integers on both sides."""
    kept = list[Flip]()
    for flip in all_flips:
        is_noise = kept and kept[-1].below == flip.above and flip.at < _NARROW * kept[-1].at
        kept = kept[:-1] if is_noise else [*kept, flip]
    flips = kept or all_flips
    first, last = flips[0], flips[-1]
    below = "up to" if first.is_count else "below"
    yield f"{_WORDS[first.below]} {below} {_last(first)}"
    yield from (f"{_WORDS[low.above]} up to {_last(high)}" for low, high in pairwise(flips))
    yield f"{_WORDS[last.above]} {f'from {_at(last)} on' if last.is_count else 'above'}"


def _last(flip: Flip) -> str:
    """Format the last value before the outcome changes."""
    return _at(replace(flip, at=flip.at - 1.0) if flip.is_count else flip)


def _cases(tested: Tested) -> Iterator[str]:
    """Yield the supported and refuted cases, named by the inputs that differ."""
    met = tested.met
    listed = {
        name: stated.texts
        for name, stated in tested.check.inputs.items()
        if stated.is_list and len(stated.texts) == len(met) and len(set(stated.texts)) > 1
    }
    if not listed:
        return
    name = ", ".join(map(in_words, listed))
    cases = [" ".join(texts) for texts in zip(*listed.values(), strict=True)]
    for key, texts in listed.items():
        ambiguous = _held(texts, met, True).keys() & _held(texts, met, False).keys()
        if not ambiguous and not tested.check.inputs[key].names:
            name, cases = in_words(key), list(texts)
            break
    sides = (", ".join(_held(cases, met, is_met)) for is_met in (True, False))
    yield "{}: supported at {}, refuted at {}".format(name, *sides)


def _held(cases: Sequence[str], met: Bools, is_met: bool) -> dict[str, None]:
    """Return the cases in which the claim holds (or does not), without duplicates."""
    return {case: None for case, meets in zip(cases, met, strict=True) if bool(meets) == is_met}


def _stands(tested: Tested) -> Outcome:
    met = tested.met
    return "holds" if met.all() else "varies" if met.any() else "fails"


def _at(flip: Flip) -> str:
    return amount([flip.at], flip.unit)


def amount(values: Sequence[float], unit: str, between: str = ", ", count: int = 4) -> str:
    """Format numbers with their unit, and shares in percent. A range with equal ends is one number.

    >>> amount([0.2434], "share"), amount([2.0, 4.0], "x", " to "), amount([1.0], "wafers")
    ('24.34%', '2x to 4x', '1 wafer')
    >>> amount([1.5, 1.51], "s", " to ", 2)
    '1.5 s'
    """
    factor, shown_unit = (100.0, "%") if unit == "share" else (1.0, unit)
    texts = [digits(factor * value, count) + "x" * (unit == "x") for value in values]
    distinct = dict.fromkeys(texts) if between == " to " else texts
    if shown_unit == "x":
        return between.join(distinct)
    if list(distinct) == ["1"] and shown_unit.isalpha() and len(shown_unit) > len("ms"):
        shown_unit = shown_unit.removesuffix("s")
    space = "" if shown_unit == "%" else " "
    return f"{between.join(distinct)}{space}{shown_unit}".strip()


def spaced(name: str) -> str:
    """Return the name of an input in words."""
    return name.replace("_", " ")
