"""Formulas that are recorded once: the same numbers as numpy has, and nothing that was not asked."""

import math

import numpy as np
import pytest

from fastcalc.formulas.recorded import Recorded, UnrecordableError, function_of
from fastcalc.formulas.types import floats, where
from tests.helpers import every

NUMBERS = (0.5, 1.0, 3.0, 1e300, float("inf"), float("nan"), -2.0)


def recorded(*names):
    return [Recorded("argument", (name,)) for name in names]


def same(one, other):
    return one == other or (math.isnan(one) and math.isnan(other))


@every(
    "formula",
    [
        lambda x, y: np.maximum(x, y),
        lambda x, y: np.minimum(x, y),
        lambda x, y: np.maximum(x, 2.0) - np.minimum(2.0, y),
        lambda x, y: np.maximum(float("nan"), x) + y,
        lambda x, y: x + y * 2.0 - y / 4.0,
        lambda x, y: 1.0 - x - (y - x),
        lambda x, y: where((x > 1.0) & (y <= 1.0), x, y * 3.0),
        lambda x, y: where((x == y) | ~(x < y), 1.0, 0.0) * x,
        lambda x, y: (x > y) * 2.0 + (x >= 1.0),
        lambda x, y: -x * np.abs(y),
        lambda x, y: np.atleast_1d(floats(x)) * np.squeeze(y),
        lambda x, y: (x * 1.0 + 0.0) / 1.0 - 0.0 + y,
        lambda x, y: np.maximum(2.0, x) + np.minimum(y, 1.5),
        lambda x, y: x**2.0 + y,
    ],
)
def test_a_recorded_formula_has_the_numbers_of_numpy(formula):
    plain = function_of([formula(*recorded("x", "y"))], ["x", "y"])
    for x in NUMBERS:
        for y in NUMBERS:
            with np.errstate(all="ignore"):
                expected = float(np.squeeze(formula(np.float64(x), np.float64(y))))
            (got,) = plain(x, y)
            assert same(float(got), expected), (x, y, got, expected)


@every("name", ["exp", "log", "sqrt", "ceil", "floor", "expm1", "log1p", "log2", "log10"])
def test_functions_are_those_of_floats(name):
    (x,) = recorded("x")
    (got,) = function_of([getattr(np, name)(x)], ["x"])(2.5)
    assert got == pytest.approx(getattr(np, name)(2.5), rel=1e-15)


def test_a_power_and_a_quotient_of_whole_numbers():
    x, y = recorded("x", "y")
    plain = function_of([x**y, x // y, x % y], ["x", "y"])
    assert plain(9.0, 2.0) == (81.0, 4.0, 1.0)


def test_equal_operations_are_done_once_and_unused_ones_never():
    """Of x y, y x and x y again one is left; the logarithm, of which nothing is made, is not."""
    x, y = recorded("x", "y")
    np.log(x - y)
    first, second, third = x * y, y * x, x * y
    plain = function_of([first + 1.0, second + 2.0, third * 1.0], ["x", "y"])
    assert plain(3.0, 2.0) == (7.0, 8.0, 6.0)
    assert plain.__code__.co_nlocals == 3  # x, y and their product
    assert "log" not in plain.__code__.co_names


def test_operations_whose_result_is_known_are_never_done():
    x, y = recorded("x", "y")
    known = [x * 0.0 + y, (x - x) + y, np.maximum(x, x), np.minimum(np.inf, x), x**1.0]
    chosen = np.where(x > 1.0, y, y)  # the same either way
    plain = function_of([*known, chosen], ["x", "y"])
    assert plain(3.0, 2.0) == (2.0, 2.0, 3.0, 3.0, 3.0, 2.0)
    written_out = compile("lambda x, y: (y, y, x, x, x, y)", "", "eval").co_consts[0]
    assert len(plain.__code__.co_code) == len(written_out.co_code)


def test_constants_stay_what_they_are():
    (x,) = recorded("x")
    plain = function_of([2.0, np.array([3]), x + np.float64(1.0), True], ["x"])
    assert plain(1.0) == (2.0, 3.0, 2.0, True)
    assert function_of([np.nan], ["x"])(1.0) != (np.nan,)


def test_a_long_chain_of_operations_is_a_function():
    (x,) = recorded("x")
    total = x
    for _ in range(1000):
        total = (total + 1.0) / 2.0
    assert function_of([total], ["x"])(3.0)[0] == pytest.approx(1.0)


@every(
    "formula,reason",
    [
        (lambda x: 1.0 if x > 1.0 else 2.0, "a choice by the value of an argument"),
        (lambda x: math.ceil(float(x)), "an argument as a constant"),
        (lambda x: int(x), "an argument as a constant"),
        (lambda x: np.add.reduce(x), "add.reduce of an argument"),
        (lambda x: np.median(x), "median of an argument"),
        (lambda x: x + np.array([1.0, 2.0]), "several numbers for one"),
        (lambda x: np.arctan(x), "arctan has no plain form"),
    ],
)
def test_what_plain_floats_cannot_do_again_is_refused(formula, reason):
    with pytest.raises(UnrecordableError, match=reason):
        function_of([formula(*recorded("x"))], ["x"])
