"""Options and a workload file of one class are the same question, and have the same answer."""

import json
from functools import partial

import pytest

import fastcalc as fc
from tests.helpers import every, run_once, thorough

ASKED = [
    # Chips, options, limits of a request, and how many arrive.
    ("llama-3.1-8b", "l40s", 4000, 500, "2s", "25ms", 2.0, ()),
    ("llama-3.1-8b", "l40s", 500, 200, None, "40ms", 7.0, ("--by", "chip")),
    ("llama-3.1-70b", "h100-sxm,mi355x", 1000, 1000, "1s", "25ms", 20.0, ()),
    ("llama-3.1-70b", "h100-sxm", 8000, 300, "3s", None, 3.0, ("--load", "0.7")),
    ("llama-3.1-70b", "h200-sxm", 8000, 1000, "3s", "40ms", 5.0, ("--prompts-on", "h100-sxm")),
    ("llama-3.1-8b", "h100-sxm,l40s", 2000, 400, "1s", "30ms", 9.0, ("--confidence", "90")),
    ("gpt-oss-20b", "h100-sxm", 1000, 500, "500ms", "10ms", 30.0, ("--objective", "chips")),
    ("llama-3.1-8b", "l40s", 1000, 500, "1s", "30ms", 40.0, ("--own", "l40s=4")),
    ("llama-3.1-8b", "l40s", 1000, 500, "1s", "30ms", None, ("--own", "l40s=4")),
    ("llama-3.1-8b", "l40s", 1000, 500, "1s", "30ms", None, ("--budget", "5000/month")),
    ("llama-3.1-8b", "l40s", 1000, 500, "1s", "30ms", None, ("--users", "300", "--think", "20s")),
    (
        "llama-3.1-8b",
        "l40s",
        1000,
        500,
        "1s",
        "30ms",
        None,
        ("--max-chips", "3", "--percentile", "99"),
    ),
    ("llama-3.1-8b", "l40s", 1000, 500, "1ms", "30ms", 5.0, ()),
]


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return partial(run_once, capsys=capsys, monkeypatch=monkeypatch)


@pytest.mark.parametrize("asked", [*map(thorough, ASKED[:-2]), *ASKED[-2:]])
def test_options_and_a_file_of_one_class_have_one_plan(asked, fastcalc, tmp_path, without_regret):
    model, chips, prompt, output, ttft, tpot, rate, more = asked
    limits = {name: limit for name, limit in (("ttft", ttft), ("tpot", tpot)) if limit}
    shape = {"input_distribution": prompt, "output_distribution": output}
    one = {"id": "only", "rate_fraction": 1.0, **shape, **limits}
    if not limits:
        one["slo_class"] = "batch"
    rates = {"aggregate_rate": rate} if rate else {}
    file = tmp_path / "one.yaml"
    file.write_text(json.dumps({"version": "2", **rates, "clients": [one]}), encoding="utf-8")
    command = ("plan", model, "--on", chips, *more, "--format", "json")
    by_file = fastcalc(*command, "--traffic", str(file))
    flags = [word for name, limit in limits.items() for word in (f"--{name}", limit)]
    flags += ["--rate", f"{rate}/s"] if rate else []
    by_flags = fastcalc(*command, "--prompt", prompt, "--output", output, *flags)
    assert by_file.code == by_flags.code
    found, expected = json.loads(by_file.out), json.loads(by_flags.out)
    for record in (*found["records"], *expected["records"]):
        record.pop("classes")
    assert found["records"] == expected["records"]
    assert len(found["records"]) > 0 or by_file.code == 1
    keys = (
        "candidates",
        "lost",
        "requests_per_s",
        "best_of_each_chip",
        "turns",
        "closest_of_other_chips",
    )
    assert [found.get(key) == expected.get(key) for key in keys] == [True] * len(keys)


@pytest.mark.thorough
def test_every_plan_has_one_json(fastcalc, tmp_path, without_regret):
    """What stands beside the records has the same keys, whatever is asked."""
    plan = ("plan", "llama-3.1-8b", "--on", "l40s", "--format", "json")
    asked = [("--rate", "2/s"), ("--own", "l40s=2"), ("--budget", "5000/month")]
    keys = [set(json.loads(fastcalc(*plan, *each).out)) for each in asked]
    assert {"classes", "sharing", "shares", "requests_per_s", "rate"} <= set.intersection(*keys)


MIX = """version: "2"
aggregate_rate: 10
clients:
  - {id: chat, rate_fraction: 0.7, input_distribution: 1000, output_distribution: 300, ttft: 1s}
  - {id: code, rate_fraction: 0.3, input_distribution: 6000, output_distribution: 500, ttft: 2s}
"""


@pytest.mark.thorough
def test_a_mix_on_several_kinds_of_chip_stands_beside_one_kind(fastcalc, tmp_path):
    """What one kind takes is what a plan on that kind alone finds, and no less than the cheapest."""
    file = tmp_path / "mix.yaml"
    file.write_text(MIX, encoding="utf-8")
    plan = ("plan", "llama-3.1-70b", "--traffic", str(file), "--tpot", "40ms")
    found = json.loads(fastcalc(*plan, "--on", "h100-sxm,h200-sxm,b200", "--format", "json").out)
    chips = {record["hardware"] for record in found["records"]}
    one = found["sharing"].get("on_one_chip")
    assert (one is None) is (len(chips) == 1)
    alone = [
        json.loads(fastcalc(*plan, "--on", chip, "--format", "json").out)["sharing"]["cheapest"]
        for chip in ("h100-sxm", "h200-sxm", "b200")
    ]
    cheapest = min(bill["usd_per_month"] for bill in alone)
    on_one = found["sharing"]["cheapest"] if one is None else one
    assert on_one["usd_per_month"] == pytest.approx(cheapest)
    assert found["sharing"]["cheapest"]["usd_per_month"] <= cheapest * (1 + 1e-9)


@pytest.mark.thorough
def test_a_pool_of_a_mix_has_the_smallest_batch_that_needs_no_more_replicas(fastcalc, tmp_path):
    file = tmp_path / "mix.yaml"
    file.write_text(MIX.replace("aggregate_rate: 10", "aggregate_rate: 0.2"), encoding="utf-8")
    plan = ("plan", "llama-3.1-8b", "--traffic", str(file), "--tpot", "40ms", "--by", "chip")
    plan += ("--on", "h100-sxm")
    few = json.loads(fastcalc(*plan, "--format", "json").out)["records"]
    many = json.loads(fastcalc(*plan, "--rate", "40/s", "--format", "json").out)["records"]
    assert {record["replicas"] for record in few} == {1}
    assert few[0]["batch"] < many[0]["batch"] / 4


@pytest.mark.thorough
def test_ranks_that_are_given_are_those_of_every_replica(fastcalc):
    """The only layout is planned for: as cheap as an open search where that finds the same one."""

    def plans(*words):
        ran = fastcalc("plan", "llama-3.1-70b", *words, "--ttft", "1s", "--format", "json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)["records"]

    words = ("--on", "h100-sxm,gh200-96gb", "--rate", "5/s", "--by", "chip")
    best = plans(*words)[0]
    ranks = [word for name in ("tp", "pp", "dp") for word in (f"--{name}", str(best[name]))]
    again = plans(*words, *ranks)
    assert again[0]["cost"] == best["cost"]
    of_four = plans(*words, "--tp", "4")
    assert {(plan["tp"], plan["pp"], plan["dp"]) for plan in of_four} == {(4, 1, 1)}
    assert {plan["hardware"] for plan in of_four} == {"h100-sxm"}
    assert of_four[0]["cost"] >= best["cost"]


def test_ranks_that_no_chip_has_are_refused_and_of_some_chips_noted(fastcalc):
    words = ("plan", "llama-3.1-70b", "--rate", "5/s")
    refused = fastcalc(*words, "--on", "h100-sxm", "--tp", "3")
    assert (refused.code, refused.err) == (
        2,
        "fastcalc: --tp 3 does not divide the attention heads of llama-3.1-70b\n",
    )
    # groq-lpu has no price, so nothing of it could lead: the other chip's reason is what helps.
    beside = fastcalc(*words, "--on", "groq-lpu,h100-sxm", "--tp", "3")
    assert (beside.code, beside.err) == (2, refused.err)
    noted = fastcalc(*words, "--on", "h100-sxm,gh200-96gb", "--tp", "4")
    assert noted.code == 0
    assert "skipped gh200-96gb: tp beyond the link domain" in noted.err


def test_a_wafer_has_no_ranks_of_a_layer(fastcalc):
    """A plan that was asked for with tensor parallelism is not answered by wafers without."""
    words = ("plan", "llama-3.1-70b", "--rate", "1/s", "--tp", "2", "--on", "h200-sxm,wse-3")
    ran = fastcalc(*words, "--format", "csv", "--wide")
    assert ran.code == 0
    assert "wse-3" not in ran.out
    assert "skipped wse-3: tp, ep or dp on chips that pipeline whole layers" in ran.err


def test_ranks_that_hold_no_request_are_named(fastcalc):
    """141 GB of Llama 3.1 70B on one H100."""
    ran = fastcalc("plan", "llama-3.1-70b", "--rate", "5/s", "--on", "h100-sxm", "--tp", "1")
    said = " ".join((ran.out + ran.err).split())
    assert ran.code == 1
    assert "no available layout fits a single request of this model" in said
    assert "only one layout was asked for: leave out --tp, --pp, --ep, --dp to try others" in said


@pytest.mark.thorough
@every(
    "chip,asked",
    [
        ("h100-sxm", {"rate": 38.9, "output": 500, "tpot": "30ms"}),
        ("h200-sxm", {"rate": 20.0, "ttft": "1s", "tpot": "30ms"}),
        ("h200-sxm", {"rate": 15.0, "ttft": "1s", "tpot": "30ms"}),
        ("l40s", {"rate": 3.0, "prompt": 4000, "ttft": "2s", "tpot": "60ms"}),
    ],
)
def test_what_a_plan_sustains_costs_no_more(chip, asked):
    """Nor do looser limits, more load, or fewer requests."""

    def planned(**changes):
        flags = {**asked, **changes, "on": chip, "by": "chip", "weights": "bf16", "kv": "bf16"}
        return fc.plan("llama-3.1-8b", **{**flags, "rate": f"{flags['rate']}/s"})

    plan = planned()
    usd, most = plan["usd_per_month"][0], plan["service_requests_per_s_most"][0]
    looser = [{"rate": most * 0.999}, {"rate": asked["rate"] * 0.9}, {"tpot": "66ms"}]
    looser += [{"ttft": "3s"}, *({"load": load, "percentile": 99} for load in (0.81, 0.9, 1))]
    for changes in looser:
        assert planned(**changes)["usd_per_month"][0] <= usd * (1.0 + 1e-9), changes


@pytest.mark.thorough
def test_fewer_requests_wait_no_longer_on_the_same_chips():
    """Nor on the smallest batch that is enough, whose percentiles are exact where others' are."""
    asked = {"on": "h200-sxm", "by": "chip", "ttft": "1s", "tpot": "30ms"}
    plans = [fc.plan("llama-3.1-8b", rate=f"{rate}/s", **asked) for rate in (14.5, 15, 16, 18)]
    assert {plan["chips_total"][0] for plan in plans} == {3}
    waits = [plan["service_ttft_ms"][0] for plan in plans]
    assert waits == sorted(waits)


@pytest.mark.thorough
def test_of_as_few_chips_the_cheaper():
    """Two chips of either: 2 x 5.50 x 730 USD against 2 x 10.50 x 730."""
    plans = fc.plan(
        "llama-3.1-8b", on="b200,gb200", rate="20/s", tpot="30ms", by="chip", objective="chips"
    )
    assert (plans["chips_total"][0], plans["usd_per_month"][0]) == (2, 8030)
    assert plans["hardware"][0] == "b200"
