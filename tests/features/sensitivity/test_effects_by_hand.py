"""Steps and slopes of parameters, of a made-up figure."""

from dataclasses import dataclass
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.catalogue.limits import Limit
from fastcalc.features.sensitivity import effects
from fastcalc.features.sensitivity.figures import FIGURES, Answers
from tests.helpers import every


def answers(value):
    return Answers(*(np.array([value]) for _ in FIGURES))


class Root:
    """Each figure is the square root of the parameter; some values are impossible."""

    def __init__(self, impossible=()):
        self.impossible = impossible
        self.scenario = SimpleNamespace(batches=(1,))
        self.answered = SimpleNamespace(each=lambda asked: [one() for one in asked])

    def answers(self, _, value):
        is_impossible = any(low <= value <= high for low, high in self.impossible)
        return None if is_impossible else answers(value**0.5)

    def at(self, _, changes):
        (value,) = changes.values()
        return np.array([nan if value > 100.0 else value**0.5])


@dataclass(frozen=True, eq=False)
class Lever:
    """A parameter, told apart by what it is rather than by its numbers."""

    number: SimpleNamespace
    file: str


def lever(value, low=1.0, high=1000.0, *, is_whole=False, file="hardware", zero=False):
    number = SimpleNamespace(value=value, limit=Limit(low, high, is_whole=is_whole, zero=zero))
    return Lever(number, file)


@every(
    "of,factor,moved",
    [
        (lever(100.0), 1.1, 110.0),
        (lever(110.0), 1 / 1.1, 100.0),
        (lever(100.0, high=105.0), 1.1, 105.0),
        (lever(100.0, low=95.0), 1 / 1.1, 95.0),
        (lever(100.0, high=100.0), 1.1, None),
        # Whole numbers move by one at least: of an engine to the next, of a model to a valid one.
        (lever(8, is_whole=True), 1.1, 9.0),
        (lever(2, is_whole=True), 1.1, 3.0),
        (lever(100, is_whole=True), 1.1, 110.0),
        (lever(8, is_whole=True), 1 / 1.1, 7.0),
        (lever(2, is_whole=True), 1 / 1.1, 1.0),
        (lever(1, is_whole=True), 1 / 1.1, None),
        (lever(100, is_whole=True), 1 / 1.1, 91.0),
        (lever(1000, is_whole=True), 1.1, None),
    ],
)
def test_the_next_value_is_a_tenth_away_within_its_limits(of, factor, moved):
    found = effects._step(Root(), answers(of.number.value**0.5), of, factor)
    assert found.value == pytest.approx(moved)
    expected = nan if moved is None else (moved / of.number.value) ** 0.5
    np.testing.assert_allclose(found.change.speed, [expected])


@every(
    "impossible,file,factor,moved",
    [
        ([(9, 11)], "model", 1.1, 12.0),
        ([(9, 15)], "model", 1.1, 16.0),
        ([(9, 16)], "model", 1.1, None),
        ([(5, 7)], "model", 1 / 1.1, 4.0),
        ([(4, 7)], "model", 1 / 1.1, None),
        ([(9, 9)], "engine", 1.1, None),
    ],
)
def test_numbers_of_a_model_move_to_twice_or_half_at_most(impossible, file, factor, moved):
    of = lever(8, is_whole=True, file=file)
    assert effects._step(Root(impossible), answers(8**0.5), of, factor).value == moved


@every(
    "of,impossible",
    [
        (lever(100.0), []),
        # At a limit, or where one side is impossible, the slope is that of the other side.
        (lever(100.0, high=100.0), []),
        (lever(100.0, low=100.0), []),
        (lever(100.0), [(100.0001, inf)]),
        (lever(100.0), [(-inf, 99.9999)]),
        (lever(100.0, low=200.0), []),
    ],
)
def test_a_square_root_has_a_slope_of_a_half(of, impossible):
    found = effects._local_slope(Root(impossible), answers(10.0), of)
    np.testing.assert_allclose(found.speed, [0.5], rtol=1e-6)


def test_a_parameter_of_one_value_has_no_slope():
    found = effects._local_slope(Root(), answers(10.0), lever(100.0, low=100.0, high=100.0))
    assert np.isnan(found.speed).all()


@every("ratio,slope", [(1.01, np.log(1.01) / 0.1), (1.0 + 0.9e-9, 0.0), (1.0 + 1.1e-9, 1.1e-8)])
def test_a_difference_of_rounding_has_no_slope(ratio, slope):
    found = effects._slope(answers(ratio), 0.1)
    np.testing.assert_allclose(found.ttft, [slope], rtol=1e-3)


def test_ends_of_a_parameter():
    assert effects.ends_of(lever(5.0, low=2.0, high=9.0)) == (2.0, 9.0)
    assert effects.ends_of(lever(5.0, low=2.0, high=9.0, zero=True)) == (0.0, 9.0)
    low, high = effects._ends(Root(), lever(5.0, low=4.0, high=101.0))
    assert (low.tolist(), high.tolist()) == ([2.0], [0.0])


@every("value,left", [(16.0, 0.0), (64.0, 0.5), (4.0, -1.0), (101.0, -inf)])
def test_time_that_is_left_over(value, left):
    """A square root of 4 is asked for: 8 leaves half of the time, and 2 takes twice."""
    assert effects._surplus(Root(), lever(1.0), 0, 4.0, value) == left
