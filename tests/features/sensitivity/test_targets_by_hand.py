"""Values that reach a target, from made-up figures."""

from types import SimpleNamespace

import pytest

from fastcalc.catalogue.limits import Limit
from fastcalc.features.sensitivity.targets import Target, _alone, _better, _chosen, _smaller


def lever(now, *, low=0.1, high=1e6, is_whole=False, is_choice=True):
    limit = Limit(low, high, is_whole=is_whole)
    return SimpleNamespace(number=SimpleNamespace(value=now, limit=limit), is_choice=is_choice)


def at_least(least):
    return Target("speed", least)


def known(**answers):
    """A figure of some values, the others of which are asked for by mistake."""
    values = {
        float(key.removeprefix("at").replace("_", ".")): answer for key, answer in answers.items()
    }
    return lambda value: values[value]


DOWN = {"at0_5": 9, "at0_25": 8, "at0_125": 7}


def test_doubling_ends_after_three_falls_in_a_row():
    """Two falls, a rise, and two falls do not end it: 64 reaches 20, which 32 does not."""
    rises = {"at2": 9, "at4": 8, "at8": 9, "at16": 8, "at32": 7, "at64": 20}
    found = _chosen(
        lever(1.0, is_whole=False, low=1.0), at_least(20), lambda value: step(rises, value)
    )
    assert 32.0 < found.value <= 64.0
    assert (found.extreme, found.today) == (20, 10)
    falls = {"at2": 9, "at4": 8, "at8": 7, **DOWN}
    found = _chosen(lever(1.0), at_least(20), known(at1=10, **falls))  # 16 is not asked for
    assert (found.value, found.extreme) == (None, 10)


def step(answers, value):
    """The answer of the last power of two."""
    powers = [
        float(key.removeprefix("at")) for key in answers if float(key.removeprefix("at")) <= value
    ]
    return answers[f"at{max(powers):.0f}"] if powers else 10


def test_values_stay_within_their_limits_and_the_nearest_of_both_directions_wins():
    found = _chosen(
        lever(4.0, low=1.0, high=16.0), at_least(20), known(at4=10, at8=11, at16=12, at2=13, at1=14)
    )
    assert (found.value, found.extreme) == (None, 14)
    # 3 halves it in one step, 12 doubles and more.
    found = _chosen(
        lever(4.0, low=1.0, high=64.0), at_least(20), lambda v: 20 if v <= 3 or v >= 12 else 10
    )
    assert found.value == pytest.approx(3.0, rel=1e-5)


def test_of_few_integers_the_first_that_reaches_it_is_taken():
    found = _chosen(
        lever(8.0, low=1, high=64, is_whole=True),
        at_least(20),
        lambda v: 20 if v in (11, 13, 16) else 10,
    )
    assert found.value == 11.0


def test_a_target_that_today_reaches_needs_no_change():
    found = _alone(known(at8=20), lever(8.0), at_least(20))
    assert (found.value, found.extreme, found.today) == (8.0, 20, 20)


@pytest.mark.parametrize(
    ("now", "end", "factor", "moved"),
    [(4.0, 100.0, 2.0, 8.0), (4.0, 6.0, 2.0, 6.0), (4.0, 1.0, 2.0, 2.0), (4.0, 3.0, 2.0, 3.0)],
)
def test_a_value_moves_towards_its_better_end_and_no_further(now, end, factor, moved):
    assert _better(lever(now), end, factor) == moved


def pairs(groups):
    return {
        frozenset((one, other))
        for first, second in groups
        for one in first
        for other in second
        if one != other
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ab", "ab"),
        ("abc", "abc"),
        ("abcd", "xy"),
        ("ab", "wxyz"),
        ("ab", "xy"),
        ("abc", "x"),
        ("a", "xyz"),
    ],
)
def test_smaller_groups_have_the_same_pairs(first, second):
    one = list(first)
    other = one if first == second else list(second)
    parted = _smaller(one, other)
    assert pairs(parted) == pairs([(one, other)])
    assert all(len(a) + len(b) < len(one) + len(other) for a, b in parted)
    # The strongest parameters, which come first, are searched last of all in a list that is popped.
    assert parted[-1][0][0] == one[0]
