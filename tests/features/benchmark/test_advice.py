"""Which benchmark runs are advised: by a formula worked out by hand, and by limits."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from benchmarks.advice import advised, outcome, spread
from benchmarks.own_rows import Measured
from fastcalc.catalogue.schema.own_rows import OwnRow
from fastcalc.core import own_rows
from fastcalc.core.own_rows import Places, expected_width
from fastcalc.features.benchmark.advice import advise
from fastcalc.features.benchmark.runs import BenchmarkRun


def places(*batches, context=1500.0, share=1.0):
    count = len(batches)
    return Places.of(
        np.array(batches, float),
        np.full(count, context),
        np.full(count, 1000.0),
        np.full(count, share),
    )


def a_run(batch, seconds=10.0):
    return BenchmarkRun(batch, 1000, 1000, 4 * batch, seconds, places(batch))


def by_hand(covariance):
    """Width that one row leaves of a range, by the variance of two correlated normal errors."""
    chance = {noise: 0.5**place for place, noise in enumerate(own_rows.ROWS)}
    total, left, before = sum(chance.values()) * len(own_rows.DEPLOYMENTS), 0.0, 0.0
    for spread_ in own_rows.DEPLOYMENTS:
        for noise, weight in chance.items():
            v, n = spread_**2, noise**2
            left += weight / total * (v + n - (v * covariance) ** 2 / (v + n))
            before += weight / total * (v + n)
    return own_rows.LEFT + (1.0 - own_rows.LEFT) * left / before


def test_one_row_at_the_place_itself_leaves_what_two_normal_errors_leave():
    assert expected_width(places(64), places(64)) == pytest.approx(by_hand(1.0))


def test_far_away_what_is_shared_everywhere_is_left():
    """A million times the batch: the errors share `EVERYWHERE` of their variance."""
    assert expected_width(places(1e6), places(1)) == pytest.approx(
        by_hand(own_rows.EVERYWHERE), rel=1e-3
    )


def test_a_row_of_prompts_says_nothing_of_decoding():
    assert expected_width(places(8, share=0.0), places(8)) == pytest.approx(1.0)


def test_the_run_is_where_the_user_stands():
    runs = [a_run(batch) for batch in (1, 2, 4, 8, 16, 32, 64, 128)]
    (best,) = advise(runs, places(16), 1).runs
    assert best.concurrency == 16


def test_of_equal_runs_the_shorter_one_is_taken():
    runs = [a_run(16, seconds=100.0), a_run(16, seconds=10.0)]
    assert advise(runs, places(16), 1).runs == [runs[1]]


def test_each_run_narrows_further_and_one_that_would_not_is_left_out():
    runs = [a_run(batch) for batch in (1, 8, 64)]
    widths = advise(runs, places(1, 8, 64), 3).widths
    assert widths[0] == pytest.approx(1.0)
    assert all(later < earlier for earlier, later in pairwise(widths))
    # Forty rows at the place itself: two more say nothing that anybody would notice.
    row = OwnRow(batch=16, context=1500, prompt=1000, decode_share=1.0, slower=1.1)
    assert len(advise([a_run(16), a_run(17)], places(16), 2, [row] * 40).runs) == 1


def test_no_other_pair_is_expected_to_narrow_more():
    runs = [a_run(batch) for batch in (1, 4, 16, 64, 256)]
    targets = places(2, 8, 100)

    def width(pair):
        return np.mean(np.log(expected_width(pair[0].places.followed_by(pair[1].places), targets)))

    best = advise(runs, targets, 2).runs
    assert width(best) <= min(map(width, combinations(runs, 2))) + np.log(1.02)


def test_measured_rows_count_as_known():
    """Where one end is measured, the other end is advised."""
    row = OwnRow(batch=1, context=1500, prompt=1000, decode_share=1.0, slower=1.0)
    (best,) = advise([a_run(1), a_run(256)], places(1, 256), 1, [row]).runs
    assert best.concurrency == 256


def test_the_benchmark_takes_neighbours_for_a_target_and_ends_for_extremes():
    rows = [
        Measured(
            OwnRow(batch=batch, context=1500, prompt=1000, decode_share=1.0, slower=1.1),
            "decode",
            0.3,
            0.3,
            False,
        )
        for batch in (1, 8, 16, 32, 512)
    ]
    target = rows.pop(2)
    assert sorted(one.row.batch for one in advised(rows, [target])) == [8, 32]
    assert sorted(one.row.batch for one in spread(rows)) == [1, 512]
    near, far = outcome(advised(rows, [target]), [target]), outcome(spread(rows), [target])
    assert near.width < far.width
    assert near.inside == far.inside == 1.0
