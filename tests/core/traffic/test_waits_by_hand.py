"""Distributions of waits with numbers for mental arithmetic."""

from math import exp, isnan, log

import numpy as np
import pytest

from fastcalc.core.traffic.waits import Waits, binned, mixture_quantile, mixture_share
from tests.helpers import every

ONCE, NEVER = np.array([1.0]), (0.0, 0.0)


def test_a_wait_of_one_or_of_two_lengths():
    """Half wait 1 s, half 3 s."""
    waits = Waits.of(np.array([1.0, 3.0]), np.array([0.5, 0.5]), NEVER)
    assert waits.mean == pytest.approx(2.0)
    for value, share in ((0.5, 0.0), (2.0, 0.5), (3.1, 1.0), (1e9, 1.0), (-1.0, 0.0)):
        assert waits.share(value) == pytest.approx(share, abs=1e-6)
    assert waits.quantile(0.25) == pytest.approx(1.0, rel=2e-3)
    assert waits.quantile(0.75) == pytest.approx(3.0, rel=2e-3)


def test_negative_times_are_none():
    waits = Waits.of(np.array([-5.0, 4.0]), np.array([0.5, 0.5]), NEVER)
    assert waits.mean == pytest.approx(2.0)
    assert waits.share(0.0) == pytest.approx(0.5)


@every("queued", [0.25, 1.0])
def test_the_wait_for_a_slot_comes_on_top(queued):
    """Of 1 s, and with some chance 10 s on average more: beyond 1 s it is exponential."""
    waits = Waits.of(np.array([1.0]), ONCE, (queued, 10.0))
    assert waits.mean == pytest.approx(1.0 + 10.0 * queued)
    assert waits.share(0.9) == pytest.approx(0.0, abs=1e-6)
    for value in (2.0, 11.0, 41.0):
        expected = 1.0 - queued * exp(-(value - 1.0) / 10.0)
        assert waits.share(value) == pytest.approx(expected, rel=5e-3)
    # Half of those who wait for a slot wait 10 log 2 s more.
    part = 1.0 - queued / 2.0
    assert waits.quantile(part) == pytest.approx(1.0 + 10.0 * log(2.0), rel=5e-3)


def test_a_chance_of_next_to_nothing_is_none():
    waits = Waits.of(np.array([1.0]), ONCE, (1e-10, 1e9))
    assert waits.share(1.1) == pytest.approx(1.0)


def test_chances_are_divided_between_neighbours_so_that_the_mean_stays():
    """On 0, 1 and 2 s: half of 0.5 s each side, and a quarter of 1.75 s at 1 s."""
    times, chances = binned(np.array([0.0, 0.5, 1.75, 2.0]), np.full(4, 0.25), 3)
    np.testing.assert_allclose(times, [0.0, 1.0, 2.0], atol=1e-8)
    expected = [0.25 + 0.125, 0.125 + 0.0625, 0.1875 + 0.25]
    np.testing.assert_allclose(chances, expected, atol=1e-8)
    assert times @ chances == pytest.approx((0.5 + 1.75 + 2.0) / 4)


def test_an_axis_begins_where_it_is_told_or_at_the_smallest_time():
    times, chances = binned(np.array([2.0, 4.0]), np.array([0.5, 0.5]), 3, start=0.0)
    np.testing.assert_allclose(times, [0.0, 2.0, 4.0], atol=1e-7)
    np.testing.assert_allclose(chances, [0.0, 0.5, 0.5], atol=1e-7)
    times, _ = binned(np.array([2.0, 4.0]), np.array([0.5, 0.5]), 3)
    np.testing.assert_allclose(times, [2.0, 3.0, 4.0], atol=1e-7)
    # Of one time there is one point; what is next to impossible is dropped, and the rest is whole.
    times, chances = binned(np.array([2.0, 1e6]), np.array([0.5, 1e-12]), 3)
    assert (times[0], chances[0]) == (2.0, 1.0)


@every("weights", [[1.0, 1.0], [5.0, 5.0], [1.0, 1.0, 0.0]])
def test_a_mixture_of_gammas_in_any_scale(weights):
    """Exponentials of means 1 and 2, each half, within a hundredth; one of weight 0 is none."""
    means = np.array([1.0, 2.0, 99.0])[: len(weights)]
    asked = np.array(weights), means, means**2
    halves = np.array([0.5, 0.5]), means[:2], means[:2] ** 2
    for value in (0.5, 3.0):
        expected = 1.0 - (exp(-value) + exp(-value / 2.0)) / 2.0
        share = mixture_share(value, *asked)
        assert share == pytest.approx(expected, abs=0.01)
        assert share == pytest.approx(mixture_share(value, *halves))
        assert mixture_quantile(share, *asked) == pytest.approx(value, rel=1e-3)


def test_an_empty_mixture_is_within_any_value():
    none = (np.zeros(2), np.ones(2), np.ones(2))
    assert mixture_share(0.0, *none) == 1.0
    assert isnan(mixture_quantile(0.5, *none))
