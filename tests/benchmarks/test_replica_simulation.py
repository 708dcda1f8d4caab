"""The simulation that closed forms are held against: when its users begin."""

import numpy as np
import pytest

from benchmarks.plan_limits import held
from benchmarks.replica_simulation import Arrivals, simulate


def drawn(**of):
    arrivals = Arrivals(2000, np.random.default_rng(1), **of)
    return np.array([arrivals.take() for _ in range(2000)])


def test_users_of_a_closed_loop_begin_over_a_whole_cycle():
    """Ten seconds: a mean of 5 and a deviation of 10 / sqrt(12), whatever they think."""
    times = drawn(users=2000, think=0.1, cycle=10.0)
    assert times.mean() == pytest.approx(5.0, rel=0.03)
    assert times.std() == pytest.approx(10.0 / np.sqrt(12.0), rel=0.03)
    assert list(times) == sorted(times)


def test_poisson_arrivals_have_their_rate():
    assert drawn(rate=4.0)[-1] == pytest.approx(2000 / 4.0, rel=0.05)


@pytest.mark.thorough
def test_users_whose_answers_differ_in_length_make_the_rate_that_a_plan_says():
    """Twenty who think for a second; answers of one length would end, and be asked for, together."""
    asked = {"on": "l40s", "prompt": 2000, "output": 100, "ttft": "5s", "by": "chip"}
    plan = {"model": "llama-3.1-8b", **asked, "users": 20, "think": "1s"}
    (limits,) = held(plan)
    load, dice = limits.load, np.random.default_rng(1)
    cycle = 1.0 + load.times().request_mean
    users = round(load.rate * cycle)
    arrivals = Arrivals(3000, dice, users=users, think=1.0, cycle=cycle)
    assert simulate(load, arrivals, dice, spread=0.5).rate == pytest.approx(load.rate, rel=0.05)
