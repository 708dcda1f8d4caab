"""The price of a smaller batch: every start, every cut, as brute force has it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fastcalc.core.estimate import evaluate
from fastcalc.core.outcome import solve
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.smaller_batch import speeds
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.fastmode.smaller_batches import curve, study, textbook
from fastcalc.grid.space import Space
from tests import made_up
from tests.helpers import run

CHIPS = 4


def scenario(**parameters):
    """Some thousand sequences of a tenth of a megabyte on four chips of 64 MB."""
    memory = [{"name": "M", "capacity": "0.064 GB", "bandwidth": "0.05 TB/s"}]
    model = made_up.minimal(
        total_parameters=8_000_000, layers=8, kv_bytes_per_token=1000, hidden_size=64
    )
    return Scenario(
        made_up.chip(memory=memory), model, made_up.engine(**parameters), (1,),
        Traffic(200.0, 200.0, 300.0),
    )  # fmt: skip


def every_cut(space):
    """Return the cuts that people run of four chips of a linked eight: of no stages."""
    for tp in (1, 2, 4):
        yield space.site.place(space.site.check(Layout(tp, dp=CHIPS // tp)))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"decode_layer_floor": "10 us"},
        {"decode_layer_floor": "200 us", "sequence_overhead": "20 us"},
        {"collective_latency": "30 us", "link_fraction": 0.3},
    ],
)
@pytest.mark.parametrize("speedup", [2.5, 0.3])
def test_both_ends_are_the_best_of_every_cut(parameters, speedup):
    """Where users may get slower, too: then the end is the largest batch that a cut holds."""
    one = scenario(**parameters)
    space = Space(one)
    ways = []
    for placed in every_cut(space):
        batch = np.arange(1.0, placed.max_batch + 1.0)
        ways.append((batch, speeds(placed, one.traffic, batch)))
    starts = np.array([1, 7, 64, 300, 10_000])
    found = curve(one, CHIPS, starts, speedup)
    for place, start in enumerate(starts):
        now = max((each[start - 1] for batch, each in ways if len(batch) >= start), default=None)
        if now is None:
            assert np.isnan(found.speed[place])
            assert np.isnan(found.multiple[place])
            assert (found.batch[place], np.isnan(found.faster[place])) == (0, True)
            continue
        assert found.speed[place] == pytest.approx(now, rel=1e-12)
        totals = [
            np.where(each >= speedup * now * (1 - 1e-12), batch * each, 0).max()
            for batch, each in ways
        ]
        if not max(totals):
            assert found.batch[place] == 0
            assert np.isnan(found.multiple[place])
        else:
            assert found.multiple[place] == pytest.approx(start * now / max(totals), rel=1e-9)


@pytest.mark.parametrize("cost", [np.inf, 1.3, 2.0, 6.0])
@pytest.mark.parametrize("floor", ["10 us", "50 us", "200 us"])
def test_ends_are_whole_numbers_as_every_start_has_them(floor, cost):
    """A coarse grid of starts, and each start between two of it that differ, one after another."""
    one = scenario(decode_layer_floor=floor)
    grid = np.array([1, 5, 40, 200, 700, 1500])
    found = curve(one, CHIPS, grid, 2.5)
    paid = np.flatnonzero(found.multiple <= cost)
    if not len(paid):
        assert found.ends(cost) is None
        return
    first, last = int(paid[0]), int(paid[-1])
    every = np.arange(1, 1501)
    cheap = curve(one, CHIPS, every, 2.5).multiple <= cost
    least, most = found.ends(cost)
    assert cheap[least - 1]
    assert cheap[most - 1]
    assert grid[max(first - 1, 0)] <= least <= grid[first]
    assert least == 1 or not cheap[least - 2]
    assert most == 1500 or not cheap[most]
    assert grid[last] <= most


def test_the_layout_taken_has_the_highest_throughput_of_all():
    """With prompts included, of those that hold the batch."""
    one = scenario(decode_layer_floor="10 us")
    for batch in (1, 16, 200):
        asked = replace(one, batches=(batch,), sharding=Sharding(chips=CHIPS))
        best = max(
            float(evaluate(placed, batch=float(batch), traffic=one.traffic).served[0])
            for placed in every_cut(Space(one))
            if placed.max_batch >= batch
        )
        assert float(solve(asked).estimate.served[0]) == pytest.approx(best, rel=1e-12)


def test_a_floor_is_paid_once_a_step():
    """On one cut a step of one sequence takes as much longer as the floor, and nothing else."""
    one = scenario()
    slow, fast = (curve(textbook(one, floor), 1, np.array([1]), 2.0) for floor in (3e-3, 1e-9))
    assert 1.0 / slow.alone - 1.0 / fast.alone == pytest.approx(3e-3, rel=1e-4)
    assert slow.floor == pytest.approx(3e-3, rel=1e-9)


def test_the_floor_is_of_a_step_of_one_sequence():
    """Eight layers of 1 ms and 2 ms for the sequence, on one chip."""
    one = scenario(decode_layer_floor="1 ms", sequence_overhead="2 ms")
    assert curve(one, 1, np.array([1, 2]), 2.0).floor == pytest.approx(10e-3, rel=1e-9)


def test_more_floor_never_makes_it_cheaper_on_one_cut():
    found = study([scenario()], 1, 2.5)
    multiples = np.array([one.multiple for one in found.floors])
    known = np.nan_to_num(multiples, nan=np.inf)
    assert np.all(known[1:] >= known[:-1] * (1 - 0.05))


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def call(*args, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        return run(*args, capsys=capsys, monkeypatch=monkeypatch)

    return call


ASKED = ("fastmode", "llama-3.1-70b", "--on", "h100-sxm", "--chips", "8", "--context", "8192")


@pytest.mark.thorough
def test_the_curve_is_a_page_and_records(fastcalc):
    page = fastcalc(*ASKED, "--curve")
    assert page.code == 0
    assert all(len(line) <= 80 for line in page.out.splitlines())
    for word in (
        "vllm",
        "tensorrt-llm",
        "ideal",
        "narrow",
        "latency floor",
        "2.5x for 6x or less",
    ):
        assert word in page.out
    rows = json.loads(fastcalc(*ASKED, "--curve", "--format", "json").out)["records"]
    for row in rows:
        if row["cost_multiple"] is not None:
            ratio = row["end_usd_per_mtok_output"] / row["usd_per_mtok_output"]
            assert row["cost_multiple"] == pytest.approx(ratio, rel=1e-9)
            reached = row["end_tokens_per_s_per_user"] / row["tokens_per_s_per_user"]
            assert reached >= 2.5 * (1 - 1e-9)
            identity = row["batch"] / row["end_batch"]
            assert row["cost_multiple"] * reached == pytest.approx(identity, rel=1e-9)


@pytest.mark.parametrize("flag", [("--batch", "4"), ("--tp", "8"), ("--from-speed", "65")])
def test_a_curve_has_no_start_and_no_cut(fastcalc, flag):
    ran = fastcalc(*ASKED, "--curve", *flag)
    assert ran.code == 2
    assert f"remove {flag[0]}" in ran.err


def test_chips_that_hold_nothing_have_no_curve(fastcalc):
    ran = fastcalc("fastmode", "deepseek-r1", "--chips", "1", "--curve", "--format", "json")
    assert ran.code == 1
    assert json.loads(ran.out)["records"] == []
