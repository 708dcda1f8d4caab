"""Formulas with their numbers in them: terms that know their value and how they are written.

A `Term` is a template with a place for each number; digits and prefixes are put in by whoever
prints it. Factors of one and summands of nothing are left out, so that what is printed is what
a person would key in.
"""

from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.roofline import achieved_bandwidth
from fastcalc.formulas.types import ArrayLike

_SUM, _PRODUCT, _POWER, _ATOM = range(4)


@dataclass(frozen=True)
class Origin:
    """Where a number comes from.

    Attributes
    ----------
    name, owner : str
        What it is, and the entry of the catalogue that holds it.
    text : str
        The value as the file writes it; empty where it was counted from the entry's shape.
    source : str
        Title of the document.
    """

    name: str
    owner: str
    text: str
    source: str


@dataclass(frozen=True)
class Number:
    """A number in SI units: bytes, FLOPs, seconds, their rates, or a plain count."""

    value: float
    unit: str = ""
    origin: Origin | None = None

    @property
    def is_one(self) -> bool:
        """True for a plain factor of one, which changes nothing."""
        return self.value == 1.0 and not self.unit and self.origin is None


@dataclass(frozen=True)
class Term:
    """An expression: a template with ``{}`` for each number, and its value.

    Attributes
    ----------
    value : float
        What it comes to. [SI]
    template : str
        How it is written.
    numbers : tuple of Number
        In the order of their places.
    binds : int
        How tightly: a sum, a product, a power, a single number.
    """

    value: float
    template: str
    numbers: tuple[Number, ...]
    binds: int = _ATOM

    @property
    def is_one(self) -> bool:
        """True where it changes nothing as a factor."""
        return self.template == "{}" and self.numbers[0].is_one

    def inside(self, binds: int) -> str:
        """Return the template as an operand of something that binds so tightly."""
        return self.template if self.binds >= binds else f"({self.template})"


@dataclass(frozen=True)
class Equation:
    """A named result and the expression it comes from."""

    name: str
    result: Number
    term: Term

    @property
    def is_bare(self) -> bool:
        """True where the expression is the result and nothing more."""
        return self.term.template == "{}" and self.term.numbers[0].value == self.result.value


def one(value: ArrayLike) -> float:
    """Return the first element of a number or an array."""
    return float(np.ravel(np.asarray(value, dtype=float))[0])


def number(value: ArrayLike, unit: str = "", origin: Origin | None = None) -> Term:
    """Return a number as a term."""
    known = Number(one(value), unit, origin)
    return Term(known.value, "{}", (known,))


def equation(name: str, result: ArrayLike, unit: str, term: Term) -> Equation:
    """Return a result with the expression it comes from."""
    return Equation(name, Number(one(result), unit), term)


def _joined(value: float, sign: str, terms: list[Term], binds: int, right: int) -> Term:
    first, *others = terms
    words = [first.inside(binds), *(other.inside(right) for other in others)]
    return Term(value, sign.join(words), tuple(n for t in terms for n in t.numbers), binds)


def times(*terms: Term) -> Term:
    """Return a product."""
    value = float(np.prod([term.value for term in terms]))
    kept = [term for term in terms if not term.is_one] or [number(1.0)]
    return kept[0] if len(kept) == 1 else _joined(value, " x ", kept, _PRODUCT, _PRODUCT)


def over(above: Term, below: Term) -> Term:
    """Return a quotient."""
    if below.is_one:
        return above
    return _joined(above.value / below.value, " / ", [above, below], _PRODUCT, _POWER)


def plus(*terms: Term) -> Term:
    """Return a sum."""
    kept = [term for term in terms if term.value != 0.0] or [number(0.0)]
    value = sum(term.value for term in kept)
    return kept[0] if len(kept) == 1 else _joined(value, " + ", kept, _SUM, _SUM)


def minus(left: Term, right: Term) -> Term:
    """Return a difference."""
    if right.value == 0.0:
        return left
    return _joined(left.value - right.value, " - ", [left, right], _SUM, _PRODUCT)


def raised(base: Term, exponent: Term) -> Term:
    """Return a power; a number with a unit is put in brackets."""
    if exponent.is_one:
        return base
    is_plain = base.template == "{}" and not base.numbers[0].unit
    left = base.template if is_plain else f"({base.template})"
    template = f"{left}^{exponent.inside(_ATOM)}"
    value = base.value**exponent.value
    return Term(value, template, base.numbers + exponent.numbers, _POWER)


def _called(name: str, value: float, terms: tuple[Term, ...]) -> Term:
    inside = ", ".join(term.template for term in terms)
    return Term(value, f"{name}({inside})", tuple(n for t in terms for n in t.numbers))


def largest(*terms: Term) -> Term:
    """Return the largest of some terms."""
    return terms[0] if len(terms) == 1 else _called("max", max(t.value for t in terms), terms)


def rounded_least(share: Term, cap: Term) -> Term:
    """Return the smaller of two rates with a rounded corner: ``min8(a, b)``."""
    value = achieved_bandwidth(peak=share.value, fraction=1.0, cores=1.0, per_core=cap.value)
    return _called("min8", one(value), (share, cap))


def overlap(memory: Term, compute: Term, norm: float) -> Term:
    """Return the time of work that reads and multiplies at once."""
    if not memory.value or not compute.value:
        return plus(memory, compute)
    power = number(norm)
    powers = plus(raised(memory, power), raised(compute, power))
    return raised(powers, over(number(1.0), power)) if norm != 1.0 else powers
