"""The chance that limits hold, what more confidence costs, and what a first sentence must not hide."""

import json
import math
import re
from functools import partial
from statistics import NormalDist

import pytest

from tests.helpers import run_once, thorough, words

PLAN = ("plan", "llama-3.1-70b", "--on", "h100-sxm,mi355x", "--rate", "20/s", "--by", "chip")
LIMITS = ("--ttft", "1s", "--tpot", "25ms")


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return partial(run_once, capsys=capsys, monkeypatch=monkeypatch)


@pytest.fixture
def planned(fastcalc):
    return lambda *words: json.loads(fastcalc(*words, "--format", "json").out)


@pytest.mark.thorough
def test_a_plan_of_more_confidence_is_the_one_that_is_named(planned, without_regret):
    named = planned(*PLAN, *LIMITS)["plan_at_90_percent_confidence"]
    asked = planned(*PLAN, *LIMITS, "--confidence", 90)["records"][0]
    for key in ("hardware", "chips_total", "usd_per_month"):
        assert named[key] == asked[key]


@pytest.mark.thorough
def test_a_plan_costs_as_much_with_a_little_less_confidence_than_its_chance(
    planned, without_regret
):
    """Up to the speeds at which its chips hold the limits, a replica more keeps the headroom."""
    found = planned(*PLAN, *LIMITS)
    chance = found["limits_hold_percent"]
    assert 50.0 <= chance < 99.0
    surely = planned(*PLAN, *LIMITS, "--confidence", max(chance - 0.5, 50.0))["records"][0]
    best = found["records"][0]
    cost = surely["usd_per_month"] / best["usd_per_month"]
    assert 1.0 - 1e-9 <= cost <= 1.0 + 1.0 / best["replicas"]


@pytest.mark.thorough
def test_a_first_screen_says_the_chance_and_the_price_of_more(fastcalc):
    found = json.loads(fastcalc(*PLAN, *LIMITS, "--format", "json").out)
    text = words(fastcalc(*PLAN, *LIMITS).out)
    plan = found["plan_at_90_percent_confidence"]
    assert f"{found['limits_hold_percent']:.0f}% chance of meeting the latency limits" in text
    bill = f"{plan['chips_total']} chips, ${plan['usd_per_month']:,.0f} per month"
    assert plan["hardware"] == found["records"][0]["hardware"]  # so the note leaves it out
    assert f"A 90% chance of meeting the limits (--confidence 90) needs {bill}" in text


@pytest.mark.thorough
def test_more_load_on_the_same_chips_never_raises_the_chance(planned, without_regret):
    """Nor does headroom count: at 20/s a simulation held both limits on chips 17% slower."""
    plan = ("plan", "llama-3.1-8b", "--on", "h200-sxm", "--by", "chip", "--ttft", "1s")
    found = [planned(*plan, "--tpot", "30ms", "--rate", f"{rate}/s") for rate in (15, 18, 19.7)]
    assert {document["records"][0]["chips_total"] for document in found} == {3}
    chances = [document["limits_hold_percent"] for document in found]
    assert chances == sorted(chances, reverse=True)
    record = found[-1]["records"][0]  # of a range whose slow end is exceeded by 90%
    deviations = math.log(1.17) / math.log(
        record["service_tpot_ms_high"] / record["service_tpot_ms"]
    )
    simulated = 100 * NormalDist().cdf(deviations * NormalDist().inv_cdf(0.9))
    assert chances[-1] == pytest.approx(simulated, abs=6.0)


@pytest.mark.thorough
def test_limits_at_the_edge_of_a_chip_are_relaxed_and_not_bought(fastcalc, planned, without_regret):
    """At the slow end of its range a replica takes hardly any batch: far more chips."""
    plan = ("plan", "qwen3-32b", "--on", "rtx-5090", "--rate", "1/s", "--ttft", "500ms")
    plan += ("--weights", "fp8", "--tpot")
    found = planned(*plan, "20ms")
    usd = found["records"][0]["usd_per_month"]
    assert found["plan_at_90_percent_confidence"]["usd_per_month"] > 10.0 * usd
    text = words(fastcalc(*plan, "20ms").out)
    enough = re.search(r"With --tpot (\S+), it costs at most 3 times as much", text)[1]
    assert planned(*plan, enough, "--confidence", 90)["records"][0]["usd_per_month"] <= 3.001 * usd
    barely = f"{float(enough.removesuffix('ms')) - 0.7:g}ms"
    assert planned(*plan, barely, "--confidence", 90)["records"][0]["usd_per_month"] > 3.0 * usd
    # Whoever asks for that confidence is told the same.
    asked = words(fastcalc(*plan, "20ms", "--confidence", 90).out)
    chips = found["records"][0]["chips_total"]
    assert f"Sized for expected speeds instead, rtx-5090 needs only {chips} chips" in asked
    assert f"With --tpot {enough}, the requested chance costs at most 3 times as much" in asked


@pytest.mark.thorough
def test_chips_that_keep_utilization_low_at_slow_speeds_are_no_matter_of_latency(fastcalc):
    """Three hold the limits with more than 90%, and four are no busier than 80% if slow."""
    plan = ("plan", "llama-3.1-8b", "--on", "h200-sxm", "--by", "chip", "--ttft", "1s")
    plan += ("--tpot", "30ms", "--rate", "15/s", "--confidence", 90, "--notes")
    text = words(fastcalc(*plan).out)
    assert text.startswith("Cheapest plan in bf16: 4 h200-sxm, ")
    chance = re.search(
        r"Sized for expected speeds instead, h200-sxm needs only 3 chips, .* chance of (\d+)%",
        text,
    )[1]
    assert int(chance) > 90
    assert "More chips keep utilization within 80% at slow speeds as well" in text


@pytest.mark.thorough
def test_no_chance_is_said_of_what_has_no_limit(planned, without_regret):
    assert planned(*PLAN)["limits_hold_percent"] is None
    assert planned(*PLAN, *LIMITS, "--confidence", 80)["limits_hold_percent"] is None


@pytest.mark.parametrize(
    ("limit", "is_said"),
    [((), True), thorough(("--ttft", "1s"), False), (("--load", "0.9"), False)],
)
def test_a_ttft_without_a_limit_is_in_a_note(fastcalc, limit, is_said, without_regret):
    """Requests at random wait; without a limit the sentence says how long the slowest do."""
    command = ("plan", "llama-3.1-8b", "--on", "l40s", "--rate", "5/s", "--tpot", "40ms", *limit)
    record = json.loads(fastcalc(*command, "--format", "json").out)["records"][0]
    text = words(fastcalc(*command, "--notes").out)
    said = (
        f"No TTFT limit is set (--ttft). The plan's p99 TTFT is {record['service_ttft_ms']:.0f} ms"
    )
    assert (said in text) is is_said


@pytest.mark.thorough
def test_consumer_cards_and_marketplaces_are_named_in_the_headline(fastcalc, without_regret):
    plan = ("plan", "llama-3.1-8b", "--rate", "2/s", "--tpot", "40ms", "--ttft", "1s")
    headline = words(fastcalc(*plan, "--on", "rtx-4090").out).partition("rice per")[0]
    assert "rtx-4090 is a consumer card, rented only on marketplaces" in headline
    priced = ("--on", "rtx-4090", "--price", "rtx-4090=1")
    headline = words(fastcalc(*plan, *priced).out).partition("rice per")[0]
    assert "rtx-4090 is a consumer card" in headline
    assert "marketplaces" not in headline
    assert "consumer" not in fastcalc(*plan, "--on", "l40s").out


@pytest.mark.thorough
def test_owned_chips_say_what_fewer_bits_would_serve(fastcalc):
    """Two cards hold 8-bit weights twice as often as 16-bit ones, which lead where they fit."""
    plan = ("plan", "llama-3.1-70b", "--own", "h100-sxm=16", *LIMITS)
    document = json.loads(fastcalc(*plan, "--format", "json").out)
    (share,) = document["shares"]
    most = max(record["service_requests_per_s"] for record in share["best_of_each_chip"])
    text = words(fastcalc(*plan, "--notes").out)
    assert "uantized further (" in text
    asked = json.loads(fastcalc(*plan, "--weights", "fp8", "--kv", "fp8", "--format", "json").out)
    assert asked["requests_per_s"] > most
    assert f"These chips would serve {asked['requests_per_s']:.1f} requests/s" in text
