"""Requests in flight: the machine-repairman model and the open queue that it tends to."""

import numpy as np
import pytest

from fastcalc.formulas.in_flight import (
    closed_loop_arrivals,
    clustered_spread,
    found_by_arrivals,
)
from tests.helpers import every


@every("users,think,rate", [(1, 1.0, 0.5), (3, 1.0, 15 / 16), (5, 1.0, 325 / 326)])
def test_a_repairman(users, think, rate):
    """One server of 1/s: X = (1 - p0), p0 = 1 / sum of N!/(N-k)! Z^-k (Palm 1947)."""
    served = np.ones(users)
    arrivals = closed_loop_arrivals(users=users, rate=rate, served=served)
    idle = np.arange(users, -1.0, -1.0)
    assert arrivals == pytest.approx(idle / think, rel=1e-6)


def test_users_who_think_for_long_arrive_at_random():
    """Of very many users one more or less in flight changes nothing: M/M/1, 1 - rho rho^k."""
    served = np.ones(200)
    arrivals = closed_loop_arrivals(users=1e6, rate=0.6, served=served)
    found = found_by_arrivals(arrivals=arrivals, served=served)
    assert found[:20] == pytest.approx(0.4 * 0.6 ** np.arange(20), rel=1e-3)


@every("users", [1.0, 2.0, 7.0])
def test_an_arrival_finds_what_one_user_less_leaves(users):
    """The arrival theorem (Lavenberg and Reiser 1980): N users are found as N - 1 at any time."""
    served = np.ones(8)
    each = 0.4
    arrivals = np.maximum(users - np.arange(9.0), 0.0) * each
    fewer = np.maximum(users - 1.0 - np.arange(9.0), 0.0) * each
    weights = np.concatenate([[1.0], np.cumprod(fewer[:-1] / served)])
    assert found_by_arrivals(arrivals=arrivals, served=served) == pytest.approx(
        weights / weights.sum()
    )


def test_users_too_few_for_a_rate():
    """Two users of one server that answers once a second make less than one request a second."""
    assert closed_loop_arrivals(users=2.0, rate=1.0, served=np.ones(2)) is None


@every("prompts", [0.2, 0.5, 0.7])
def test_arrivals_of_passes_that_prompts_lengthen(prompts):
    """Counts of a pass depend on those of the one before: their variance summed term by term.

    A count x has the mean a + p x' where x' was that of the pass before, and varies as a Poisson's.
    Of the mean, the variance of one is 1 / (1 - p^2), and its covariances fall by p a pass.
    """
    passes = 20_000
    apart = np.arange(1, passes)
    total = passes + 2.0 * ((passes - apart) * prompts**apart).sum()
    of_sum = total / passes / (1.0 - prompts**2)
    of_birth_death = 1.0 / (1.0 - prompts)
    spread = clustered_spread(prompts=prompts, overlap=1.0)
    assert float(spread) == pytest.approx(of_sum / of_birth_death, rel=1e-3)


@every("spread", [1.0, 1.5, 2.0])
@every("slots", [10, 40, 399])
def test_as_many_leave_as_arrive_however_their_number_varies(slots, spread):
    """Where slots are many the variance over that of one server's time is what was asked for."""
    numbers = np.arange(1.0, 400.0)
    served = np.minimum(numbers, slots) / (1.0 + 0.05 * np.minimum(numbers, slots))
    arrivals = np.full(400, 0.7 * served[-1] if slots < 399 else 10.0)
    found = found_by_arrivals(arrivals=arrivals, served=served, slots=slots, spread=spread)
    assert found[1:] @ served == pytest.approx(arrivals[0], rel=1e-6)
    if (
        slots == 399
    ):  # 21 in flight; prompts are half of the time, and so the variance is 2 times 21
        mean = found @ np.arange(400)
        variance = found @ (np.arange(400) - mean) ** 2
        assert mean == pytest.approx(21.0, rel=0.08)
        assert variance == pytest.approx(42.0 * spread, rel=0.08)
