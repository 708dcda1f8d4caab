"""Percentiles in closed form are those of a simulation of the scheduler, where they are said."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.queueing import LOADS, TRAFFIC, Kind, pass_seconds, ratios, simulate
from fastcalc.core.load import MOST_BUSY, Percentiles, RandomLoad, Spread
from fastcalc.core.traffic.waits import Waits, mixture_quantile
from fastcalc.features.plan.random_load import in_words
from tests import made_up
from tests.helpers import every

MEAN, SLOWEST = 0.10, 0.25


@pytest.mark.thorough
@every("name", TRAFFIC)
def test_closed_form_is_the_simulation(name):
    """Means within 10%, the 99th percentile within 25%, at up to 85% of what is carried."""
    kinds, slots = TRAFFIC[name]
    capacity = made_up.random_load(kinds, slots, 1.0).capacity
    loads = [made_up.random_load(kinds, slots, share * capacity) for share in LOADS]
    for load in loads:
        if load.is_known:
            times = simulate(kinds, slots, load.rate, 8000)
            for time, (mean, *_, slowest) in ratios(load.percentiles(), times):
                assert mean == pytest.approx(1.0, abs=MEAN), (time, load.rate)
                assert slowest == pytest.approx(1.0, abs=SLOWEST), (time, load.rate)
    assert loads[0].is_known


def test_beyond_that_it_says_that_it_cannot():
    kinds, slots = TRAFFIC["few slots"]
    capacity = made_up.random_load(kinds, slots, 1.0).capacity
    for share in (MOST_BUSY + 0.01, 0.99, 1.5):
        assert not made_up.random_load(kinds, slots, share * capacity).is_known


def test_a_request_alone_takes_its_own_passes():
    """5 ms, a pass of 20 + 0.01 x 1,000 ms, and 199 passes of 10.01 ms."""
    (kinds, slots), rate = TRAFFIC["alike"], 1e-4
    times = made_up.random_load(kinds, slots, rate).percentiles()
    step, prompt_seconds = pass_seconds(1, 0), 5e-3 + pass_seconds(0, 1000)
    assert times.ttft.mean == pytest.approx(prompt_seconds, rel=1e-2)
    assert times.tpot.mean == pytest.approx(step, rel=1e-3)
    assert times.request.mean == pytest.approx(prompt_seconds + 199 * step, rel=1e-2)
    simulated = simulate(kinds, slots, rate, 20)
    assert simulated.tpot == pytest.approx(pass_seconds(1, 0), rel=1e-3)


def test_hardly_any_short_prompts_wait_for_hardly_anything():
    """Their own pass."""
    load = made_up.random_load([Kind(1, 5, 2)], 16, 1e-12)
    seconds = 5e-3 + pass_seconds(0, 5)
    assert load.percentiles().ttft.mean == pytest.approx(seconds, rel=1e-2)


def test_as_many_are_in_flight_as_arrive_while_one_is_served():
    """Little's law, which the chances of numbers in flight were not made of."""
    kinds, slots = TRAFFIC["alike"]
    load = made_up.random_load(kinds, slots, 15.0)
    in_flight = load.in_flight - 1.0
    assert in_flight == pytest.approx(15.0 * load.percentiles().request.mean, rel=0.1)


def test_classes_share_what_they_wait_for():
    """Not their own prompts: of two classes each waits as long, and the mean is of both."""
    kinds = [Kind(0.5, 500, 200), Kind(0.5, 4000, 200)]
    load = made_up.random_load(kinds, 100, 4.0)
    short, long, overall = (load.percentiles(place) for place in (0, 1, None))
    prompt_seconds = [
        5e-3 + pass_seconds(load.in_flight - 1, 500),
        5e-3 + 4 * pass_seconds(load.in_flight - 1, 1000),
    ]
    assert long.ttft.mean - short.ttft.mean == pytest.approx(
        prompt_seconds[1] - prompt_seconds[0], rel=0.02
    )
    assert overall.ttft.mean == pytest.approx((short.ttft.mean + long.ttft.mean) / 2)
    for spread in (short.ttft, short.tpot, short.request):
        assert list(spread.percentiles) == sorted(spread.percentiles)


def test_a_wait_that_half_of_the_requests_have_is_in_all_percentiles():
    """1 s, then one time in two 2 s on average: the median is that of nobody's wait."""
    first = Waits.of(np.array([1.0]), np.ones(1), (0.5, 2.0))
    assert first.mean == pytest.approx(1.0 + 0.5 * 2.0)
    assert first.quantile(0.4) == pytest.approx(1.0, rel=0.01)
    # 0.5 e^(-t / 2) is 0.05 at 2 ln 10 s.
    assert first.quantile(0.95) == pytest.approx(1.0 + 2.0 * math.log(10.0), rel=0.01)


def test_a_mixture_has_the_quantiles_of_its_parts():
    """Of an exponential with mean 2 a share of 0.9 is below 2 ln 10; two alike are as one."""
    alone = mixture_quantile(0.9, np.ones(1), np.array([2.0]), np.array([4.0]))
    pair = mixture_quantile(0.9, np.ones(2), np.full(2, 2.0), np.full(2, 4.0))
    assert alone == pytest.approx(2 * math.log(10), rel=0.012)
    assert pair == pytest.approx(alone)
    assert math.isnan(mixture_quantile(0.9, np.zeros(1), np.ones(1), np.ones(1)))


def test_a_note_says_each_time_of_the_slowest():
    spread = Spread(0.1, (0.1, 0.2, 0.3, 0.4))
    load = SimpleNamespace(is_known=True, percentiles=lambda: Percentiles(spread, spread, spread))
    assert ": TTFT 400 ms, TPOT 400 ms, end-to-end latency 0.400 s" in in_words(load, "a10")


@every(
    "queued,prompts,utilization,is_known",
    [
        (0.0, 0.0, 0.0, True),
        # Each of the three limits by itself, as the guide states them: 0.5%, 80% and 85%.
        (0.005, 0.8, 0.85, True),
        (0.0051, 0.0, 0.0, False),
        (0.0, 0.801, 0.0, False),
        (0.0, 0.0, 0.851, False),
    ],
)
def test_percentiles_are_said_up_to_each_limit(queued, prompts, utilization, is_known):
    load = SimpleNamespace(
        queued=queued, prompt_share=prompts, utilization=utilization, most_prompts=0.8
    )
    assert RandomLoad.is_known.fget(load) is is_known
