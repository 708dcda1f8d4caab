"""Expressions that have both a value and a written form with numbers.

A `Term` is a template with a placeholder for each number. Factors of one and summands of zero are
omitted, so that the printed formula can be typed into a calculator.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fastcalc.formulas.roofline import achieved_bandwidth
from fastcalc.formulas.types import ArrayLike

_SUM, _PRODUCT, _POWER, _ATOM = range(4)


@dataclass(frozen=True)
class Origin:
    """The source of a number: a name, its entry, its text, and a document."""

    name: str
    owner: str
    text: str
    source: str


@dataclass(frozen=True)
class Number:
    """A number in SI units, such as bytes, FLOPs, seconds, their rates, or a count."""

    value: float
    unit: str = ""
    origin: Origin | None = None

    @property
    def is_one(self) -> bool:
        """Whether the number is a factor of one, which can be omitted."""
        return self.value == 1.0 and not self.unit and self.origin is None


@dataclass(frozen=True)
class Term:
    """An expression with its SI value and a template with a ``{}`` for each number.

    Operator precedence tells whether it is a sum, a product, a power or a single number.
    """

    value: float
    template: str
    numbers: tuple[Number, ...]
    binds: int = _ATOM

    __array_ufunc__ = None  # makes numpy arrays defer to the term

    @property
    def is_one(self) -> bool:
        """Whether the term is a factor of one."""
        return self.template == "{}" and self.numbers[0].is_one

    def inside(self, binds: int) -> str:
        """Return the template as an operand of an operator with the given precedence."""
        return self.template if self.binds >= binds else f"({self.template})"

    def __mul__(self, factor: "Term | ArrayLike") -> "Term":
        right = _term(factor)
        if self.is_one or right.is_one:
            return right if self.is_one else self
        return _joined(self.value * right.value, " x ", self, right, _PRODUCT, _PRODUCT)

    def __rmul__(self, factor: ArrayLike) -> "Term":
        return number(factor) * self

    def __truediv__(self, divisor: "Term | ArrayLike") -> "Term":
        below = _term(divisor)
        if below.is_one:
            return self
        return _joined(self.value / below.value, " / ", self, below, _PRODUCT, _POWER)

    def __rtruediv__(self, dividend: ArrayLike) -> "Term":
        return number(dividend) / self

    def __add__(self, summand: "Term | ArrayLike") -> "Term":
        right = _term(summand)
        if not self.value or not right.value:
            return self if self.value else right if right.value else number(0.0)
        return _joined(self.value + right.value, " + ", self, right, _SUM, _SUM)

    def __sub__(self, subtrahend: "Term | ArrayLike") -> "Term":
        right = _term(subtrahend)
        if not right.value:
            return self
        return _joined(self.value - right.value, " - ", self, right, _SUM, _PRODUCT)

    def __rsub__(self, minuend: ArrayLike) -> "Term":
        return number(minuend) - self

    def __pow__(self, power: "Term | ArrayLike") -> "Term":
        exponent = _term(power)
        if exponent.is_one:
            return self
        # A number with a unit goes in parentheses.
        is_plain = self.template == "{}" and not self.numbers[0].unit
        left = self.template if is_plain else f"({self.template})"
        template = f"{left}^{exponent.inside(_ATOM)}"
        value = self.value**exponent.value
        return Term(value, template, self.numbers + exponent.numbers, _POWER)


@dataclass(frozen=True)
class Equation:
    """A named result with its expression."""

    name: str
    result: Number
    term: Term

    @property
    def answer(self) -> Term:
        """The result as a term for later equations."""
        return Term(self.result.value, "{}", (self.result,))

    @property
    def is_bare(self) -> bool:
        """Whether the expression is just the result."""
        return self.term.template == "{}" and self.term.numbers[0].value == self.result.value


def origins_of(equations: Iterable[Equation]) -> list[Origin]:
    """Return the catalogue numbers that the equations use, without duplicates."""
    numbers = (number for written in equations for number in written.term.numbers)
    return list(dict.fromkeys(number.origin for number in numbers if number.origin))


def scalar(value: ArrayLike) -> float:
    """Convert a number, or the first element of an array, to a float."""
    return float(np.ravel(np.asarray(value, dtype=float))[0])


def number(value: ArrayLike, unit: str = "", origin: Origin | None = None) -> Term:
    """Convert a number to a term."""
    plain = Number(scalar(value), unit, origin)
    return Term(plain.value, "{}", (plain,))


def equation(name: str, result: ArrayLike, unit: str, term: Term) -> Equation:
    """Build an equation from a result and its expression."""
    return Equation(name, Number(scalar(result), unit), term)


def named(name: str, unit: str, term: Term) -> Equation:
    """Build an equation whose result is the value of its expression."""
    return Equation(name, Number(term.value, unit), term)


def _term(value: Term | ArrayLike) -> Term:
    return value if isinstance(value, Term) else number(value)


def _joined(value: float, sign: str, left: Term, right: Term, binds: int, right_binds: int) -> Term:
    template = f"{left.inside(binds)}{sign}{right.inside(right_binds)}"
    return Term(value, template, left.numbers + right.numbers, binds)


def total(terms: Iterable[Term]) -> Term:
    """Add terms."""
    return sum(terms, number(0.0))


def _called(name: str, value: float, terms: tuple[Term, ...]) -> Term:
    inside = ", ".join(term.template for term in terms)
    return Term(value, f"{name}({inside})", tuple(n for t in terms for n in t.numbers))


def largest(*terms: Term) -> Term:
    """Return the largest of the terms."""
    return terms[0] if len(terms) == 1 else _called("max", max(t.value for t in terms), terms)


def rounded_least(fraction: Term, cap: Term) -> Term:
    """Return the smooth minimum of two rates, with a rounded corner: ``min8(a, b)``."""
    value = achieved_bandwidth(peak=fraction.value, fraction=1.0, cores=1.0, per_core=cap.value)
    return _called("min8", scalar(value), (fraction, cap))


def overlap(memory: Term, compute: Term, norm: float) -> Term:
    """Return the time of work that reads memory and computes at the same time."""
    if not memory.value or not compute.value:
        return memory + compute
    if norm == np.inf:
        return largest(memory, compute)
    powers = memory**norm + compute**norm
    return powers ** (number(1.0) / norm) if norm != 1.0 else powers
