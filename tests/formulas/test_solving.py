"""Searches for numbers: against square roots, geometric series and trying every value."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.formulas.solving import (
    bisect,
    bisect_integers,
    first_changed,
    first_not_negative,
    geometric_mean,
    largest_reaching,
    last_positive,
    solve_fixed_point,
)


def test_bisection_of_an_array_finds_each_root():
    goals = np.array([2.0, 3.0, 49.0])
    low, high = bisect(lambda x: x * x < goals, np.zeros(3), np.full(3, 64.0))
    np.testing.assert_allclose(low, np.sqrt(goals), rtol=1e-14)
    np.testing.assert_allclose(high, np.sqrt(goals), rtol=1e-14)


def test_bisection_in_equal_ratios_halves_the_logarithm():
    """From 1 to 16, three halvings around 3: 4, 2, 2.83 in turn."""
    low, high = bisect(lambda x: x < 3.0, 1.0, 16.0, halvings=3, middle=geometric_mean)
    np.testing.assert_allclose([low, high], [8.0**0.5, 4.0], rtol=1e-14)


@given(st.integers(1, 10**6), st.integers(2, 700))
def test_integers_downwards_and_at_many_values_at_once_agree(turn, points):
    """The last below a value and the first from it, whichever end is the larger."""
    assert bisect_integers(lambda count: count < turn, 0, 10**6) == (turn - 1, turn)
    assert bisect_integers(lambda count: count >= turn, 10**6, 0) == (turn, turn - 1)
    ends = first_changed(lambda values: values >= turn, 0.0, 1e6, points=points + 1)
    assert ends == (turn - 1, turn)
    ends = first_changed(lambda values: values < turn, 1e6, 0.0, points=points + 1)
    assert ends == (turn, turn - 1)


def test_a_condition_that_holds_nowhere_or_at_once_changes_nowhere():
    assert first_changed(lambda values: values > 9.0, 1.0, 9.0, points=5) is None
    assert first_changed(lambda values: values > 0.0, 1.0, 9.0, points=5) == (1.0, 1.0)


@given(st.lists(st.floats(0.5, 3000.0), min_size=1, max_size=5))
def test_the_largest_integer_that_reaches_a_goal_is_that_of_trying_all(goals):
    found = largest_reaching(lambda count: 1000.0 / count, np.array(goals), 0, 4000)
    tried = 1000.0 / np.arange(1, 4000)
    assert found.tolist() == [int(np.sum(tried >= goal)) for goal in goals]


def test_a_plan_without_effect_is_kept():
    assert solve_fixed_point(lambda _: "other", lambda _: 0.0, "cautious") == "cautious"
    assert solve_fixed_point(lambda _: "other", lambda _: None, "cautious") == "cautious"


@pytest.mark.parametrize("power", [0.5, 2.0])
@pytest.mark.parametrize("root", [700.3, 30_000.5, 99_000.2])
def test_a_bent_line_is_followed_in_fewer_steps_than_halving_takes(power, root):
    """To within 0.5 of 100,000 there are 18 halvings."""
    tried = []

    def values_at(number):
        tried.append(number)
        return root**power - number**power

    assert 0.0 <= root - last_positive(values_at, 0.0, 100_000.0, near=0.5) <= 0.5
    assert len(tried) <= 15


@pytest.mark.parametrize("root", [2.3, 700.0, 71_234.6, 99_998.5])
def test_a_straight_line_is_followed_to_its_root(root):
    """Both ends, the integer next to the root, and those around it."""
    tried = []

    def values_at(number):
        tried.append(number)
        return number - root

    assert first_not_negative(values_at, 0, 100_000) == math.ceil(root)
    assert len(tried) <= 5


@pytest.mark.parametrize("root", [0.5, 1.0, 2.3, 700.0, 99_999.5])
@pytest.mark.parametrize("steepness", [1e-3, 1.0, 50.0])
def test_first_integer_that_is_not_negative(root, steepness):
    """Functions that are flat at both ends: the integer at or above the root."""
    tried = []

    def values_at(number):
        tried.append(number)
        return math.atan(steepness * (number - root))

    assert first_not_negative(values_at, 0, 100_000) == math.ceil(root)
    # Two ends and, for each of 17 halvings, three steps at most.
    assert len(tried) <= 2 + 3 * 17
