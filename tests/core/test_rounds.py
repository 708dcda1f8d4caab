"""Searches in step find what each finds alone, and ask together."""

from functools import partial

import pytest

from fastcalc.core.rounds import Answered


def halved(answered, low, high):
    """The least integer whose square reaches 1,000 between two ends, by halving."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if answered.ask(middle) else (middle, high)
    return high


def reaches(asked, numbers):
    asked.append(list(numbers))
    return [number * number >= 1000 for number in numbers]


def test_searches_of_a_round_are_answered_together():
    asked = []
    answered = Answered(partial(reaches, asked))
    ends = [(0, 64), (16, 48), (31, 33), (0, 1024)]
    assert answered.in_step([partial(halved, answered, *each) for each in ends]) == [32] * 4
    # Of 0 to 64 the middle is 32, which the next two ask as well; of 0 to 1,024 it is 512.
    assert asked == [[32, 512], [16, 24, 256], [28, 128], [30, 64], [31]]


def test_outside_a_round_a_question_is_answered_at_once():
    asked = []
    answered = Answered(partial(reaches, asked))
    assert halved(answered, 0, 64) == 32
    assert all(len(round_) == 1 for round_ in asked)


def test_an_error_of_a_search_ends_the_round():
    answered = Answered(lambda numbers: numbers)

    def fails():
        answered.ask(1)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        answered.in_step([fails, lambda: answered.ask(2)])
    assert answered.ask(3) == 3
