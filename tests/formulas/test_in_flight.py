"""Requests in flight: the machine-repairman model and the open queue that it tends to."""

import numpy as np
import pytest

from fastcalc.formulas.in_flight import closed_loop_arrivals, found_by_arrivals
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
