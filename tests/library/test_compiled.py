"""A deployment as a function of plain floats: what `at` has, at every point, or a refusal."""

import math
import re
from random import Random

import numpy as np
import pytest

import fastcalc as fc
from benchmarks.compiled import compared, difference, random_points
from fastcalc.errors import InputError
from tests.helpers import ROOT, every


@pytest.fixture(scope="module")
def placed():
    return fc.deployment("llama-3.1-8b", on="h100-sxm", batch=64, price={"h100-sxm": 3.0})


@pytest.fixture(scope="module")
def compiled(placed):
    return placed.compiled()


@pytest.mark.thorough
def test_random_deployments_have_the_numbers_of_arrays(catalogue):
    dice = Random(7)
    for _ in range(12):
        each = compared(dice, catalogue, points=6)
        assert each.furthest <= 1e-12, each.name


@pytest.mark.thorough
@every("model,chip", [("gpt-oss-120b", "h100-sxm"), ("deepseek-r1", "h200-sxm"),
                      ("qwen3-next-80b-a3b", "h100-sxm"), ("llama-3.1-8b", "wse-3")])  # fmt: skip
def test_windows_states_experts_and_wafers_compile(model, chip):
    compiled = fc.deployment(model, on=chip).compiled()
    assert compiled.refusal is None
    for point in [(3, 3000.0, 700.0), (64,)]:
        assert difference(compiled(*point), compiled.by_arrays(*point)) <= 1e-12
    points = [(3.0, 3000.0, 700.0, 3350.0), (64.0, 1000.0, 1000.0, 1500.0)]
    assert all(compiled.free(*point) for point in points), "the arrays answered instead"


def test_a_point_is_what_the_estimate_has(placed, compiled):
    assert compiled.refusal is None
    point = compiled(8, prompt=3000, output=700, context=3200)
    estimate = placed.at(8, prompt=3000, output=700, context=3200)
    for name in ("speed", "low", "high", "bound", "tpot", "ttft", "tpot_in_traffic", "total",
                 "served", "joules"):  # fmt: skip
        assert getattr(point, name) == pytest.approx(float(getattr(estimate, name)[0]), rel=1e-12)
    assert point.limiter == estimate.limiter[0]
    assert (point.usd_input, point.usd_output, point.usd_total) == pytest.approx(
        [float(usd[0]) for usd in estimate.usd(3.0)], rel=1e-12
    )
    assert point.fits is True
    assert compiled(placed.max_batch * 50, prompt=3000, output=700).fits is False


def test_lengths_that_are_left_out_are_those_of_the_deployment(placed, compiled):
    assert compiled(8) == pytest.approx(compiled(8, prompt=1000), rel=1e-12)
    assert compiled(8, output=500) == pytest.approx(compiled(8, 1000, 500, 1250), rel=1e-12)
    assert compiled(8).tpot == pytest.approx(float(placed.at(8).tpot[0]), rel=1e-12)


def test_numbers_of_numpy_are_taken_and_give_floats(compiled):
    point = compiled(np.int64(8), np.float64(1000.0), np.float32(500.0))
    assert point == compiled(8.0, 1000.0, 500.0)
    assert {type(number) for number in point[:-3]} == {float}


@every("point", [(0.5,), (float("nan"),), (1e30,), (8, -5, 10), (8, 10, math.inf), ("x",)])
def test_what_is_out_of_range_is_refused(point, compiled):
    with pytest.raises(InputError):
        compiled(*point)


def test_several_memories_are_computed_by_arrays():
    placed = fc.deployment("llama-3.1-70b", on="rtx-4090", host="epyc", weights="q4_k_m")
    compiled = placed.compiled()
    assert compiled.refusal is not None
    assert "llama-3.1-70b on rtx-4090: it uses several memories" in compiled.refusal
    assert compiled(2, 500, 100).tpot == float(placed.at(2, prompt=500, output=100).tpot[0])


def test_without_a_price_there_are_no_dollars():
    chip = fc.hardware(
        {
            "id": "unpriced", "name": "Unpriced", "vendor": "me", "kind": "gpu", "scope": "one card",
            "memory": [{"name": "HBM4", "capacity": "144 GB", "bandwidth": "8 TB/s"}],
            "peak": {"bf16": "2 PFLOP/s"},
        }
    )  # fmt: skip
    compiled = fc.deployment("llama-3.1-8b", on=chip).compiled()
    assert compiled.refusal is None
    assert math.isnan(compiled(4).usd_output)
    assert compiled(4).speed > 0.0


def test_without_a_prompt_its_tokens_have_no_price(compiled):
    point = compiled(8, prompt=0)
    assert math.isnan(point.usd_input) or math.isinf(point.usd_input)
    assert point.tpot > 0.0


def test_a_division_by_zero_is_that_of_numpy(placed, compiled):
    """A function of floats that fails where numpy goes on is computed by numpy."""

    def failing(*_):
        raise ZeroDivisionError

    broken = type(compiled)(compiled.by_arrays, compiled.defaults, failing, failing, None)
    assert broken(8, 100, 10).tpot == pytest.approx(
        float(placed.at(8, prompt=100, output=10).tpot[0])
    )


def test_a_call_with_lengths_in_range_computes_no_arrays(compiled):
    """What makes it fast: the function of plain floats answers alone."""

    def unused(*_):
        raise AssertionError

    alone = type(compiled)(unused, compiled.defaults, compiled.fixed, compiled.free, None)
    points = random_points(Random(3))
    for point in (next(points) for _ in range(40)):
        assert difference(alone(*point), compiled.by_arrays(*point)) <= 1e-12
    assert difference(alone(8), compiled.by_arrays(8)) <= 1e-12


def _examples():
    """The programs of the page on Python, by the function that each defines."""
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return {
        name: program for program in programs for name in re.findall(r"^def (\w+)", program, re.M)
    }


def test_the_simulation_of_the_page_runs():
    """At 0.1 requests/s a request is alone: TTFT and speed are those of one sequence."""
    names = {}
    exec(_examples()["simulate"], names)
    alone, tail, speed = names["simulate"](0.1, requests=60)
    one = names["step"](1, 1100, 225)
    assert alone == pytest.approx(one.ttft, rel=0.25)
    assert alone <= tail
    assert speed == pytest.approx(one.speed, rel=0.1)
    crowded = names["simulate"](8.0, requests=300)
    assert crowded[0] > alone
    assert crowded[2] < speed


@pytest.mark.thorough
def test_the_optimizer_of_the_page_finds_a_minimum():
    pytest.importorskip("scipy")
    names = {}
    exec(_examples()["usd_per_mtok"], names)
    best, cost = names["best"], names["usd_per_mtok"]
    assert best.fun <= min(cost(2.0), cost(8.0))


def test_the_notebook_of_the_page_has_the_numbers_of_compare():
    pytest.importorskip("pandas")
    names = {}
    exec(_examples()["rows"], names)
    compared = fc.compare("qwen3-8b", on="h100-sxm", batch=[1, 8], prompt=4000, output=300, chips=1)
    frame = names["table"](4000, 300)
    for record in compared:
        row = frame.loc[record["batch"]]
        assert row["tok/s"] == pytest.approx(record["tokens_per_s_per_user"])
        assert row["TTFT ms"] == pytest.approx(record["ttft_ms"])
        assert row["$/Mtok"] == pytest.approx(record["usd_per_mtok_output"])
    assert 100_000 not in [row["batch"] for row in names["rows"](batches=(1, 100_000))]


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["my-results.json", "my-runs.csv"])
def test_a_deployment_with_own_rows_compiles(file):
    """Rows move speed and range at every batch and length, the same as by arrays."""
    rows = ROOT / "docs" / "examples" / file
    fast = fc.deployment("qwen3-8b", on="h100-sxm", like=rows).compiled()
    assert fast.refusal is None
    plain = fc.deployment("qwen3-8b", on="h100-sxm").compiled()
    for point in ((1, 100, 10), (8, 4000, 500), (300, 20_000, 2000)):
        assert difference(fast(*point), fast.by_arrays(*point)) <= 1e-12
        assert fast(*point).low != plain(*point).low
