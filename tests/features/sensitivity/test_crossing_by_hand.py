"""Where a figure reaches a target, against zeros that are known, and how often it is evaluated."""

import pytest

from fastcalc.features.sensitivity.crossing import _chord, nearest
from tests.helpers import every


def rate(value):
    """A time of 7 over a rate, of which 1 is allowed."""
    return 1.0 - 7.0 / value


def latency(value):
    """A latency, of which 7 is allowed."""
    return 7.0 - value


def cube(value):
    return (value / 50.0) ** 3 - 1.0


def step(value):
    return 1.0 if value >= 33.0 else -1.0


# Halving 4.6 or 6.9, the logarithms of 100 and 1,000, to a millionth takes 23 evaluations.
@every(
    "surplus,good,bad,zero,most",
    [
        (rate, 100.0, 1.0, 7.0, 4), (latency, 1.0, 100.0, 7.0, 4),
        (cube, 1000.0, 1.0, 50.0, 26), (step, 100.0, 1.0, 33.0, 33),
    ],
)  # fmt: skip
def test_the_nearest_value_that_reaches_a_target(surplus, good, bad, zero, most):
    tried = []

    def counted(value):
        tried.append(value)
        return surplus(value)

    found = nearest(counted, good, bad)
    assert found == pytest.approx(zero, rel=2e-6)
    assert surplus(found) >= 0.0
    assert len(tried) <= most
    assert all(min(good, bad) * 0.999 <= value <= max(good, bad) * 1.001 for value in tried)


@every(
    "surplus,good,bad,value",
    [
        (rate, 100.0, 1.0, 7.0),
        (lambda value: 1.0 - 7.2 / value, 100.0, 1.0, 8.0),
        (lambda value: 1.0 - 6.9999999 / value, 100.0, 1.0, 7.0),
        (latency, 1.0, 100.0, 7.0),
        (lambda value: 6.8 - value, 1.0, 100.0, 6.0),
        (lambda value: 7.0000001 - value, 1.0, 100.0, 7.0),
    ],
)
def test_a_whole_value_is_the_last_that_reaches_it(surplus, good, bad, value):
    assert nearest(surplus, good, bad, is_whole=True) == value


def test_a_value_of_zero_may_reach_a_target():
    assert nearest(lambda value: -value, 0.0, 5.0) == 0.0
    assert nearest(lambda value: 1.0 - value, 0.0, 5.0) == pytest.approx(1.0, rel=2e-6)


@every(
    "low,high,below,above,zero",
    [
        # Between values of 1 and e: a rate over 1 / value, a latency over the value.
        (0.0, 1.0, -1.0, 1.0, 0.3799), (1.0, 0.0, -1.0, 1.0, 0.6201),
        # Without a fall the middle of both, and never quite a bound.
        (0.0, 1.0, 1.0, 1.0, 0.3799), (0.0, 1.0, 0.0, 1.0, 0.9e-6), (0.0, 1.0, -1.0, 0.0, 1.0 - 0.9e-6),
    ],
)  # fmt: skip
def test_the_zero_of_a_chord(low, high, below, above, zero):
    """1 / value = (1 + 1/e) / 2 at e^0.3799, and value = (1 + e) / 2 at e^0.6201."""
    assert _chord(low, high, below, above) == pytest.approx(zero, abs=5e-5 if zero > 1e-3 else 1e-9)


def test_where_next_to_nothing_just_reaches_a_target_more_may_as_well():
    """Nothing is left up to 3, and too little beyond; a target that only 0 reaches gives 0."""
    found = nearest(lambda value: 0.0 if value <= 3.0 else -1.0, 0.0, 100.0)
    assert found == pytest.approx(3.0, rel=2e-6)
    assert nearest(lambda value: -1.0 if value else 0.0, 0.0, 100.0) == 0.0
