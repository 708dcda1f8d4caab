"""What a plan says of itself: prices, ranges, formats, runners-up, and the command for it."""

import csv
import io
import json
import re
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.load import Percentiles, Spread
from fastcalc.core.own_formats import own_formats
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import engine_for
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.features.plan import chart, latency_notes
from fastcalc.features.plan import records as report
from fastcalc.features.plan.allocation import Allocation, Fleet
from fastcalc.features.plan.answer import PlanAnswer
from fastcalc.features.plan.candidates import candidates, deployments
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.class_table import ServedClass, class_record
from fastcalc.features.plan.cost_notes import one_chip_type
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.latency_notes import unlimited_ttft
from fastcalc.features.plan.notes import decision_notes
from fastcalc.features.plan.page_tables import legend, with_formats
from fastcalc.features.plan.ranked_plan import tpot_range
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.service_asked import phrase
from fastcalc.features.plan.sharing import ReplicaPool, Sharing
from fastcalc.grid.columns import pick
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.commands import Typed, compare_command
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.parts import TextTable, sentence
from fastcalc.mentions import as_flags
from tests.helpers import every, outcome, run_once, thorough, words

CATALOGUE = Catalogue()
SERVICE = Service(prompt=4000.0, output=1000.0, ttft=1.0, tpot=0.025, rate=20.0)
FLAGS = ("--prompt", 4000, "--output", 1000, "--ttft", "1s", "--tpot", "25ms", "--rate", "20/s")
FLAGS += ("--load", 1)
R1 = ("deepseek-r1", "--on", "mi355x,b200", *FLAGS)
MIX = Path(__file__).parents[3] / "docs" / "examples" / "my-mix.yaml"
PAIRS = (("bf16", "bf16"), ("bf16", "fp8"))
SMALL = ("llama-3.1-8b", "--on", "h100-sxm")


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def ran(*args, columns=100):
        monkeypatch.setenv("COLUMNS", str(columns))
        return run_once(*args, capsys=capsys, monkeypatch=monkeypatch)

    return ran


@pytest.fixture
def planned(fastcalc, without_regret):
    """The JSON of a plan."""

    def document(*args):
        ran = fastcalc("plan", *args, "--format", "json")
        assert ran.code in (0, 1), ran.err
        return json.loads(ran.out)

    return document


@pytest.fixture
def page(fastcalc):
    """The table of a plan and its notes, lines joined."""

    def text(*args, columns=100):
        ran = fastcalc("plan", *args, "--wide", columns=columns)
        assert ran.code == 0, ran.err
        return words(ran.out)

    return text


@pytest.fixture(scope="module")
def found():
    chips = [CATALOGUE.hardware(name) for name in ("mi355x", "b200")]
    scenarios = deployments(
        CATALOGUE.model("deepseek-r1"),
        [(chip, *engine_for(CATALOGUE, chip)) for chip in chips],
        pricing=Pricing(),
    )
    return decide((candidates(one, prompt=4000.0, output=1000.0) for one in scenarios), SERVICE)


def lines(found, name):
    notes = decision_notes(found, found.plans[:1], found.plans[:1])
    return [note.text for note in notes if note.text.startswith(name) and not note.is_hint]


# Prices.


@pytest.mark.thorough
def test_each_chip_shown_has_its_price_its_date_and_its_confidence(page):
    text = page(*R1)
    assert "mi355x $2.59 (Vultr, 2026-09-26)" in text
    surveyed = page(*R1, "--offer", "survey", "--notes")
    why = "mi355x $2.95? (2026-05-25, low confidence: terms not stated)"
    assert f"Uncertain price per chip-hour: {why}" in surveyed
    assert "l4 $3.25 (given)" in page("llama-3.1-8b", "--on", "l4", "--price", "l4=3.25")
    assert "h100-sxm $2.95 (Nebius, 2026)" in page(*SMALL)


def test_chips_without_a_price_stand_in_no_list_of_prices(page):
    asked = ("llama-3.1-8b", "--objective", "chips", "--on")
    assert "price per chip-hour" not in page(*asked, "h20")
    assert "h20 $" not in page(*asked, "h20,h100-sxm")


@pytest.mark.thorough
def test_assumptions_are_an_object_with_what_compare_says(planned, fastcalc):
    assumed = planned(*R1, "--load", "0.9")["assumptions"]
    ran = fastcalc("compare", "deepseek-r1", "--on", "mi355x,b200", "--format", "json")
    compared = json.loads(ran.out)["assumptions"]
    for key in ("prices", "engines", "ownership", "range"):
        assert assumed[key] == compared[key]
    assert assumed["prices"]["mi355x"]["terms"] == "on-demand"
    assert assumed["utilization"] == 0.9
    kinds = ("prompt_tokens", "output_tokens", "context_tokens", "requests_per_s")
    assert [assumed[key] for key in kinds] == [4000, 1000, 4500, 20]
    loaded = map(as_flags, latency_notes.service_notes(replace(SERVICE, utilization=0.9)))
    assert all(note in words(" ".join(assumed["notes"])) for note in loaded)


def test_one_output_token_is_reported_in_the_assumptions(planned):
    assumed = planned(*SMALL, "--output", 1)["assumptions"]
    assert "a single output token" in assumed["notes"][0]


def test_a_plan_that_finds_nothing_still_says_what_it_rests_on(planned):
    assert planned(*SMALL, "--ttft", "1ms")["assumptions"]["prices"].keys() == {"h100-sxm"}
    nothing = planned("deepseek-r1", "--on", "h800", "--rate", "1/s", "--max-chips", "1")
    assert nothing["assumptions"]["requests_per_s"] == 1
    assert "prices" not in nothing["assumptions"]


@pytest.mark.thorough
@pytest.mark.parametrize("prices", [(), ("--price", "mi355x=0.01", "--price", "b200=0.0207")])
def test_the_runner_up_wins_above_the_price_named_and_not_below(prices, planned, page):
    asked = (*R1, *prices)
    document = planned(*asked)
    price = document["runner_up_wins_above_usd_per_chip_hour"]
    names = [document["records"][0]["hardware"], document["runner_up"]["hardware"]]
    for factor, winner in ((0.999, names[0]), (1.001, names[1])):
        given = f"{names[0]}={price * factor!r}"
        assert planned(*asked, "--price", given)["records"][0]["hardware"] == winner
    below = document["runner_up_wins_below_usd_per_chip_hour"]
    for factor, winner in ((0.999, names[1]), (1.001, names[0])):
        given = f"{names[1]}={below * factor!r}"
        assert planned(*asked, "--price", given)["records"][0]["hardware"] == winner
    first, last = " would win at a price below $", f" or with {names[0]} above $"
    own, _, above = page(*asked).partition(first)[2].partition(last)
    said, own = float(above.split(" ")[0].removesuffix(".")), float(own.split(" (now ")[0])
    assert price <= said < price * 1.011
    assert below * 0.989 < own <= below


@pytest.mark.parametrize("objective", [thorough("watts"), "chips"])
def test_where_dollars_do_not_count_no_price_is_named(objective, page, planned):
    asked = (*R1, "--objective", objective)
    assert planned(*asked)["runner_up_wins_above_usd_per_chip_hour"] is None
    assert "costs more than" not in page(*asked)


@pytest.mark.thorough
def test_the_runner_up_is_another_chip_and_takes_as_many_times_as_it_costs(planned, page):
    document = planned(*R1)
    best, *_ = document["records"]
    other = document["runner_up"]
    assert other["hardware"] != best["hardware"]
    ratio = other["usd_per_month"] / best["usd_per_month"]
    assert ratio > 1
    second = f"Second-best chip: {other['hardware']}, {ratio:#.3g} times the cost: "
    assert f"{second}{other['chips_total']} chips" in page(*R1)


# The model's own formats.


@pytest.mark.thorough
def test_published_formats_lead_and_fewer_bits_stand_apart(planned, page):
    """Fewer bits change the answers: they lead only where they are named."""
    document = planned(*R1)
    best, fewer = document["records"][0], document["best_in_fewer_bits"][0]
    assert {(one["weight_format"], one["kv_format"]) for one in document["records"]} == {
        ("fp8", "bf16")
    }
    own = planned(*R1, "--weights", "fp8", "--kv", "bf16")["records"][0]
    named = ("--weights", fewer["weight_format"], "--kv", fewer["kv_format"])
    asked = planned(*R1, *named)["records"][0]
    for first, second in ((best, own), (fewer, asked)):
        numbers = first.keys() - {"rank", "command"}
        assert {key: first[key] for key in numbers} == {key: second[key] for key in numbers}
    assert fewer["cost"] < best["cost"]
    assert "quantized * " in page(*R1)
    assert "In the model's own formats (fp8, cache bf16), " in page(
        *R1, "--weights", f"fp8,{named[1]}", "--kv", "bf16,fp8"
    )


def test_where_only_fewer_bits_hold_the_model_the_first_line_says_so(page):
    """70 billion 16-bit weights are 141 GB, and two such cards have 48."""
    asked = ("llama-3.1-70b", "--on", "rtx-4090", "--max-chips", "2")
    assert "quantized further than published (bf16, cache bf16)" in page(*asked)


@pytest.mark.parametrize(
    ("flags", "is_shown"),
    [
        (("--on", "a100-sxm-80gb"), False),
        (("--on", "h100-sxm", "--weights", "bf16", "--kv", "bf16"), False),
        (("--on", "h100-sxm", "--weights", "bf16", "--kv", "fp8,bf16"), True),
        (("--on", "h100-sxm", "--weights", "fp8,bf16", "--kv", "bf16"), True),
    ],
)
def test_own_formats_are_shown_where_the_best_is_narrower(flags, is_shown, planned, page):
    own = planned("llama-3.1-8b", *flags)["best_in_own_formats"]
    assert (own["weight_format"], own["kv_format"]) == ("bf16", "bf16")
    assert ("n the model's own formats" in page("llama-3.1-8b", *flags)) == is_shown


def test_where_no_plan_is_in_the_models_own_formats_it_says_so(planned, page):
    asked = (*SMALL, "--weights", "fp8")
    assert planned(*asked)["best_in_own_formats"] is None
    said = "No plan uses the model's own formats (bf16, KV cache bf16)"
    assert f"{said}; use --weights bf16 --kv bf16 to request one" in page(*asked)


def test_wider_formats_need_no_word_on_the_models_own(planned, page):
    """DeepSeek R1 is published in fp8."""
    asked = ("deepseek-r1", "--on", "mi355x", "--weights", "bf16", "--kv", "bf16")
    assert planned(*asked)["best_in_own_formats"] is None
    assert "own formats" not in page(*asked)


def test_formats_of_experts_are_the_models_own():
    model = CATALOGUE.model("gpt-oss-120b")
    assert own_formats(model) == ("mxfp4", "bf16")
    chip = CATALOGUE.hardware("h100-sxm")
    service = Service(1000.0, 1000.0)

    def best(weights, kv):
        (scenario,) = deployments(
            model,
            [(chip, *engine_for(CATALOGUE, chip))],
            weights=[weights],
            kv=[kv],
            pricing=Pricing(),
        )
        return decide([candidates(scenario, prompt=1000.0, output=1000.0)], service)

    assert not best("mxfp4", "bf16").plans[0].is_narrowed
    assert not best("bf16", "bf16").plans[0].is_narrowed
    assert best("mxfp4", "fp8").plans[0].is_narrowed
    assert best("fp8", "bf16").plans[0].is_narrowed  # but for the experts
    assert best("mxfp4", "bf16").in_own_formats is not None
    assert best("bf16", "bf16").in_own_formats is None


# Ranges.


@pytest.mark.thorough
def test_the_range_scales_as_the_speed_that_compare_shows(planned, fastcalc):
    document = planned(*R1, "--top", 12)
    for plan in document["records"]:
        ran = fastcalc(*shlex.split(plan["command"])[1:], "--format", "json")
        (record,) = json.loads(ran.out)["records"]
        speed, tpot = record["tokens_per_s_per_user"], plan["service_tpot_ms"]
        fast, slow = (record[f"tokens_per_s_per_user_{end}"] for end in ("high", "low"))
        assert plan["service_tpot_ms_low"] == pytest.approx(tpot * speed / fast)
        assert plan["service_tpot_ms_high"] == pytest.approx(tpot * speed / slow)
        assert plan["service_tpot_ms_low"] <= tpot <= plan["service_tpot_ms_high"]
    ran = fastcalc("plan", *R1, "--format", "markdown")
    header, _, first, *_ = (
        [cell.strip() for cell in row.split("|")] for row in ran.out.split("\n")
    )
    best = document["records"][0]
    shown = dict(zip(header, first, strict=True))
    low, high = (float(end) for end in shown["80% range"].split(".."))
    assert low == pytest.approx(best["service_tpot_ms_low"], rel=0.05)
    assert high == pytest.approx(best["service_tpot_ms_high"], rel=0.05)
    slowed = best["tokens_per_s_per_user"] / best["tokens_per_s_per_user_bound"]
    assert float(shown["bound ms"]) == pytest.approx(best["service_tpot_ms"] * slowed, rel=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [80, 100, 140])
def test_the_range_is_there_at_any_width(columns, page):
    text = page(*R1, columns=columns)
    assert " 80% " in text.split("- Second-best chip")[0]
    assert "weight" in text.split("- Second-best chip")[0]


def test_the_bound_has_no_range(planned, page):
    asked = (*SMALL, "--engine", "ideal")
    assert planned(*asked)["records"][0]["service_tpot_ms_high"] is None
    assert "80%" not in page(*asked).partition("- key")[0]


def test_a_slow_end_beyond_the_limit_is_reported(planned, page):
    best = planned(*R1)["records"][0]
    slow = best["service_tpot_ms_high"]
    assert slow > 25
    said = page(*R1).partition("at the slow end of the 80% range, TPOT is ")[2]
    assert said.split(" ")[1:4] == ["ms,", "above", "25"]
    assert slow <= float(said.split(" ")[0]) <= slow * 1.01


def test_a_slow_end_below_the_speed_asked_is_reported(planned, page):
    asked = (*SMALL, "--min-speed", 150)
    best = planned(*asked)["records"][0]
    speed = 1e3 / best["service_tpot_ms_high"]
    assert speed < 150
    said = page(*asked).partition("at the slow end of the 80% range, a user gets ")[2]
    assert said.split(" ")[1:4] == ["tokens/s,", "below", "150."]
    assert speed * 0.99 <= float(said.split(" ")[0]) <= speed


def test_a_slow_end_within_the_limit_is_not_reported(found):
    best = found.plans[0]
    _, slow = tpot_range(best)
    for limit, count in ((slow * 1.01, 0), (slow * 0.99, 1)):
        texts = [*latency_notes.slow_end(best, replace(SERVICE, tpot=limit), "h")]
        assert len(texts) == count


# How busy replicas are.


@pytest.mark.thorough
def test_a_rate_shows_how_busy_replicas_are(planned, page):
    asked = (*SMALL, "--rate", "20/s")
    best = planned(*asked)["records"][0]
    assert " util. " in page(*asked)
    assert f" {best['utilization'] * 100:.1f} " in page(*asked)
    assert " util. " not in page(*SMALL).split("- ")[0]


@pytest.mark.parametrize(("busy", "is_told"), [(0.9, False), (0.91, True)])
def test_busy_replicas_without_a_percentile_are_reported(busy, is_told, found):
    best = found.plans[0]
    changed = replace(best, busy=busy, prefill_busy=busy / 2)
    name = f"{best.scenario.hardware.id}: at {busy * 100:.1f}% utilization, "
    for service in (SERVICE, replace(SERVICE, ttft=float("inf"))):
        said = [as_flags(text) for text in latency_notes.busy(changed, service)]
        assert bool(said) == is_told
        assert not is_told or said[0].startswith(name)
        assert not is_told or "would queue; use --percentile 99 to plan for them" in said[0]
    assert not [*latency_notes.busy(changed, replace(SERVICE, share=0.99))]
    assert not [*latency_notes.busy(changed, replace(SERVICE, rate=None))]


# What just misses.


def missing(found, **changes):
    """A decision whose near miss is half the price, with some of its fields changed."""
    apart = next(plan for plan in found.plans if plan.prefill_layout is not None)
    near = replace(apart, cost=found.plans[0].cost / 2, **changes)
    return replace(found, near=near), near


def test_a_near_miss_names_its_prefill_chips_and_all_chips(found):
    decision, near = missing(found, replicas=3.0, prefill_replicas=7.0, misses={"tpot": 1.5})
    (line,) = lines(decision, "Near miss (less than 2 times each limit) at 50% of the cost: ")
    size = str(near.prefill_layout).replace(" ", "")
    assert f"prefill on 7 x {size}, {near.values['chips']:.0f} chips in total; TPOT is 1.50" in line
    assert f"{near.scenario.hardware.id}, 3 x " in line


@pytest.mark.parametrize(
    ("over", "said"),
    [(1.9999, "just under 2"), (1.99, "1.99"), (1.0001, "just over 1"), (1.01, "1.01")],
)
def test_a_near_miss_is_never_said_to_be_none_or_not_near(over, said, found):
    decision, _ = missing(found, misses={"tpot": over})
    (line,) = lines(decision, "Near miss (less than 2 times each limit) at 50% of the cost: ")
    assert f"; TPOT is {said} times its limit" in line


def test_a_near_miss_that_costs_more_is_not_shown(found):
    best = found.plans[0]
    dear = replace(best, cost=best.cost * 1.5, misses={"tpot": 1.5})
    assert not lines(replace(found, near=dear), "cheaper, and misses")


# The command to see a replica.


@pytest.mark.parametrize(
    "flags", [("--load", "0.5"), thorough(("--ttft", "100ms", "--percentile", 99))]
)
def test_without_a_rate_the_next_command_costs_what_the_plan_does(flags, planned, fastcalc, page):
    plan = planned(*SMALL, *flags)["records"][0]
    assert plan["utilization"] < 1
    ran = fastcalc(*shlex.split(plan["command"])[1:], "--format", "json")
    (record,) = json.loads(ran.out)["records"]
    assert record["usd_per_mtok_total"] == pytest.approx(plan["cost"], rel=1e-9)
    assert page(*SMALL, *flags).endswith(f"next: {plan['command']} ")
    assert "--utilization" not in planned(*SMALL, *flags, "--rate", "9/s")["records"][0]["command"]


def test_an_engine_of_ones_own_is_repeated_by_its_path(tmp_path, planned, fastcalc):
    (shipped,) = (one / "ideal.yaml" for one in CATALOGUE.folders("engines")[-1:])
    path = tmp_path / "mine.yaml"
    path.write_text(shipped.read_text().replace("id: ideal", "id: mine", 1))
    plan = planned(*SMALL, "--engine", path)["records"][0]
    ran = fastcalc(*shlex.split(plan["command"])[1:], "--format", "json")
    assert ran.code == 0, ran.err
    (record,) = json.loads(ran.out)["records"]
    assert record["tokens_per_s_per_user"] == plan["tokens_per_s_per_user"]
    assert record["engine"] == "mine"


def test_a_borrowed_engine_is_not_asked_for_by_name():
    """It would no longer be said to be borrowed."""
    one = outcome("llama-3.1-8b", "tpu-v6e").scenario
    for is_borrowed in (True, False):
        command = compare_command(
            replace(one, engine_is_borrowed=is_borrowed), Typed({one.engine.id: "mine.yaml"})
        )
        assert ("--engine mine.yaml" in command) != is_borrowed
        assert "--engine" not in compare_command(one, Typed())


@every(
    "options,limits",
    [
        ({}, "TTFT up to 2,000 ms, TPOT up to 50.0 ms, 20.0 requests/s of w.yaml"),
        ({"ttft": "2s"}, "TPOT up to 50.0 ms, 20.0 requests/s of w.yaml, TTFT up to 2s"),
        ({"tpot": "50ms"}, "TTFT up to 2,000 ms, 20.0 requests/s of w.yaml, TPOT up to 50ms"),
        (
            {"min_speed": 20.0},
            "TTFT up to 2,000 ms, 20.0 requests/s of w.yaml, at least 20 tokens/s per user",
        ),
    ],
)
def test_limits_of_a_file_are_said_where_no_option_says_them(options, limits):
    service = Service(prompt=1000.0, output=300.0, ttft=2.0, tpot=0.05, rate=20.0)
    request = FindPlans(model="llama-3.1-8b", traffic="w.yaml", **options)
    assert phrase(request, service) == f"llama-3.1-8b: prompt 1,000, output 300 tokens, {limits}"


def test_a_class_is_recorded_in_the_units_of_records():
    """Limits and times in ms, and a speed of 50 tokens/s for 20 ms each; no limit is null."""
    lengths = Lengths.fixed(1000.0, 300.0)
    spreads = [Spread(mean, (mean, 2 * mean, 3 * mean, 4 * mean)) for mean in (0.25, 0.02, 6.0)]
    chat = RequestClass("chat", 0.5, lengths, 0.0, 1.0, 0.05)
    record = class_record(ServedClass(chat, 2, 0.25, 0.02, 0.99, Percentiles(*spreads)))
    percentiles = record.pop("percentiles")
    assert record == {
        "class": "chat",
        "share": 0.5,
        "prompt_tokens": 1000,
        "output_tokens": 300,
        "pool": 2,
        "ttft_ms": 250,
        "ttft_limit_ms": 1000,
        "tpot_ms": 20,
        "tpot_limit_ms": 50,
        "tokens_per_s_per_user": 50,
    }
    assert percentiles == {
        "ttft_ms": {"mean": 250, "p50": 250, "p90": 500, "p95": 750, "p99": 1000},
        "tpot_ms": {"mean": 20, "p50": 20, "p90": 40, "p95": 60, "p99": 80},
        "request_ms": {"mean": 6000, "p50": 6000, "p90": 12_000, "p95": 18_000, "p99": 24_000},
    }
    record = class_record(ServedClass(RequestClass("any", 0.5, lengths), 1, 0.25, 0.02, None))
    quarter = ServedClass(RequestClass("any", 0.5, lengths), 1, 0.25, 0.02, None, of_class=0.25)
    assert (record["share"], class_record(quarter)["share"]) == (0.5, 0.125)
    assert record["ttft_limit_ms"] is record["tpot_limit_ms"] is record["percentiles"] is None


def test_a_chart_has_as_many_plans_as_are_shown_and_as_many_chips(found):
    """The best of each of two chips once, and as many of all plans as of chips."""
    assert {plan.scenario.hardware.id for plan in found.of_each_chip} == {"mi355x", "b200"}
    for shown in (1, 2):
        plans = {*map(id, found.plans[:shown]), *map(id, found.of_each_chip[:shown])}
        (panel,) = chart.plans(found, shown).panels
        assert sum(len(series.x) for series in panel.series if series.style != "bound") == len(
            plans
        )


@pytest.mark.thorough
def test_an_odd_output_keeps_its_mean_context(fastcalc):
    """Half a token of the mean context is no whole number that a flag could repeat."""
    asked = (*SMALL, "--batch", 8, "--output", 1001, "--smaller", "none")
    ran = fastcalc("fastmode", *asked, "--format", "json")
    rows = [row for row in json.loads(ran.out)["records"] if row["compare"] is not None]
    for row in rows[:3]:
        again = fastcalc(*shlex.split(row["compare"])[1:], "--format", "json")
        (record,) = json.loads(again.out)["records"]
        assert record["context_tokens"] == row["context_tokens"] == 1500.5
        assert record["tpot_ms"] == row["tpot_ms"]


# Chips without a price or power.


@pytest.mark.thorough
def test_chips_without_a_price_are_named(page, planned):
    asked = ("llama-3.1-8b", "--on", "h100-sxm,h20,h800")
    assert planned(*asked)["unpriced"] == ["h20", "h800"]
    assert planned(*asked)["unpowered"] == []
    text = page(*asked)
    named = text.partition("No price is known for ")[2].partition(":")[0]
    assert sorted(named.split(" and ")) == ["h20", "h800"]
    assert planned(*asked, "--objective", "chips")["unpriced"] == []
    assert "no price" not in page(*asked, "--objective", "chips")
    assert planned(*asked, "--price", "h20=2")["unpriced"] == ["h800"]


def test_chips_without_a_power_are_named(page, planned):
    asked = ("llama-3.1-8b", "--on", "h100-sxm,tpu-v6e", "--objective", "watts")
    assert CATALOGUE.hardware("tpu-v6e").power is None
    assert planned(*asked)["unpowered"] == ["tpu-v6e"]
    assert planned(*asked)["unpriced"] == []
    assert "No power is known for tpu-v6e: use --objective usd or chips" in page(*asked)


def test_a_refusal_says_that_an_unpriced_chip_might_meet_it(fastcalc):
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm,h20", "--min-speed", "100000")
    ran = fastcalc(*asked)
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    said = "No price is known for h20, which might meet them: set one with --price h20=USD"
    assert f". {said}, or use --objective chips" in ran.err
    assert "h20" not in fastcalc(*asked, "--objective", "chips").err


def test_many_chips_without_a_price_are_named_in_part(found):
    many = Counter({f"chip-{place}": place for place in range(1, 15)})
    *names, last = (f"chip-{place}" for place in range(14, 2, -1))
    (line,) = lines(replace(found, unknown=many), "No price is known for")
    assert line.startswith(f"No price is known for {', '.join(names)}, {last} and 2 more: set")
    assert as_flags(line).endswith("; --format json names all.")
    few = Counter({f"chip-{place}": place for place in range(3, 15)})
    (line,) = lines(replace(found, unknown=few), "No price is known for")
    assert line.startswith(f"No price is known for {', '.join(names)} and {last}: set one")
    assert "json" not in line


# What is asked.


@pytest.mark.thorough
def test_four_bits_are_each_chips_own(planned, fastcalc):
    asked = ("llama-3.1-8b", "--on", "h100-sxm,b200,mi355x", "--rate", "9/s", "--top", 40)
    for formats, expected in (
        ("fp4", {("b200", "nvfp4"), ("mi355x", "mxfp4")}),
        (
            "fp8,fp4,nvfp4",
            {
                *((chip, "fp8") for chip in ("h100-sxm", "b200", "mi355x")),
                *((chip, "nvfp4") for chip in ("h100-sxm", "b200", "mi355x")),
                ("mi355x", "mxfp4"),
            },
        ),
    ):
        plans = planned(*asked, "--weights", formats)["records"]
        assert {(one["hardware"], one["weight_format"]) for one in plans} == expected
    short = planned(*asked[:2], "b200", "--weights", "fp4", "--kv", "fp4")["records"]
    assert short == planned(*asked[:2], "b200", "--weights", "nvfp4", "--kv", "nvfp4")["records"]
    ran = fastcalc("plan", *asked, "--weights", "fp4")
    assert "fp4: 1 of 3 chips have no units for it" in ran.err


@pytest.mark.parametrize(
    ("chip", "flag"), [("h100-sxm", "--weights"), ("h100-sxm", "--kv"), ("mi355x", "--kv")]
)
def test_four_bits_on_a_chip_without_such_units_are_refused(chip, flag, fastcalc):
    """MXFP4 is no format of a cache."""
    ran = fastcalc("plan", "llama-3.1-8b", "--on", chip, flag, "fp4")
    assert ran.code == 2
    assert ran.err.startswith(f"fastcalc: {flag} fp4: no chip of --on has units for that")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("rate", "a_second", "said"),
    [
        ("1/s", 1, "1 request/s"),
        thorough("1.0/h", 1 / 3600, "1.0 request/h"),
        thorough("300/min", 5, "300 requests/min"),
        thorough("7.2e3/h", 2, "7.2e3 requests/h"),
        thorough("0.5/s", 0.5, "0.5 requests/s"),
    ],
)
def test_a_rate_is_of_its_unit_and_said_as_typed(rate, a_second, said, planned, page):
    asked = (*SMALL, "--rate", rate)
    assert planned(*asked)["assumptions"]["requests_per_s"] == pytest.approx(a_second)
    title = page(*asked).split(" On-demand price per")[0]
    assert title.endswith(f", {said}")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("tpot", "speed", "limit"), [("10ms", 50, 10), ("40ms", 100, 10), ("10ms", 100, 10)]
)
def test_the_stricter_of_both_limits_between_tokens_counts(tpot, speed, limit, planned):
    plans = planned(*SMALL, "--tpot", tpot, "--min-speed", speed, "--top", 40)["records"]
    assert plans
    assert all(plan["service_tpot_ms"] <= limit for plan in plans)
    alone = planned(*SMALL, "--tpot", f"{limit}ms", "--top", 40)["records"]
    assert [plan["cost"] for plan in plans] == [plan["cost"] for plan in alone]


@pytest.mark.parametrize(
    ("flags", "flag"),
    [
        (("--tpot", "1us", "--min-speed", 50), "--tpot"),
        (("--tpot", "40ms", "--min-speed", 1e6), "--min-speed"),
        (("--min-speed", 1e6), "--min-speed"),
    ],
)
def test_the_stricter_limit_is_the_one_to_relax(flags, flag, fastcalc):
    ran = fastcalc("plan", *SMALL, *flags)
    assert ran.code == 1
    assert f"one would meet them with {flag} " in ran.err


@pytest.mark.thorough
@pytest.mark.parametrize("top", [1, 3])
def test_top_counts_in_every_format(top, planned, fastcalc):
    asked = (*SMALL, "--rate", "20/s", "--weights", "bf16,fp8", "--kv", "bf16,fp8")
    assert len(planned(*asked)["records"]) > 3
    assert len(planned(*asked, "--top", top)["records"]) == top
    rows = csv.DictReader(
        io.StringIO(fastcalc("plan", *asked, "--top", top, "--format", "csv").out)
    )
    assert [row["rank"] for row in rows] == [str(rank + 1) for rank in range(top)]
    ran = fastcalc("plan", *asked, "--top", top, "--format", "markdown")
    assert len(ran.out.splitlines()) == 2 + top


# The numbers of the whole service.


@pytest.mark.thorough
def test_numbers_of_the_service_are_of_all_chips_and_the_tokens_of_the_rate(planned):
    """At 20 requests a second, 20 x 5,000 tokens go in and out and 20 x 1,000 come out."""
    share_of_site = 2.17  # median of GPUs that state both
    document = planned(*R1, "--top", 40)
    assert {plan["prefill"] for plan in document["records"]} == {"together", "apart"}
    for plan in document["records"]:
        chip = CATALOGUE.hardware(plan["hardware"])
        usd = chip.price.rent.si * plan["chips_total"]
        each = chip.power.all_in.si if chip.power.all_in else chip.power.chip.si * share_of_site
        watts = each * plan["chips_total"]
        assert plan["watts"] == pytest.approx(watts)
        assert plan["cost"] == pytest.approx(usd)
        assert plan["service_usd_per_mtok_total"] == pytest.approx(usd / (3600 * 0.1))
        assert plan["service_joules_per_token"] == pytest.approx(watts / 20_000)
    least = planned(*R1, "--objective", "watts")["records"][0]
    assert least["cost"] == least["watts"]


def test_a_full_replica_costs_by_the_token_what_compare_says(planned):
    """At just the rate that one replica carries, the service is that replica."""
    plan = planned(*SMALL, "--by", "chip", "--rate", "1/s", "--tpot", "20ms")["records"][0]
    assert (plan["replicas"], plan["prefill"]) == (1, "together")
    busy = plan["utilization"]
    full = plan["service_usd_per_mtok_total"] * busy, plan["service_joules_per_token"] * busy
    assert full == pytest.approx((plan["usd_per_mtok_total"], plan["joules_per_token"]))


def test_without_a_rate_the_service_has_no_tokens(planned):
    plan = planned(*SMALL)["records"][0]
    assert plan["service_usd_per_mtok_total"] is None
    assert plan["service_joules_per_token"] is None
    assert plan["cost"] == plan["usd_per_mtok_total"]


@pytest.mark.thorough
def test_chips_are_those_of_both_pools(planned, fastcalc):
    plans = [plan for plan in planned(*R1, "--top", 40)["records"] if plan["prefill"] == "apart"]
    assert any(plan["prefill_replicas"] != plan["replicas"] for plan in plans)
    for plan in plans:
        each = plan["prefill_tp"] * plan["prefill_pp"] * plan["prefill_dp"]
        chips = plan["replicas"] * plan["chips_per_replica"] + plan["prefill_replicas"] * each
        assert plan["chips_total"] == chips
    ran = fastcalc("plan", *R1, "--top", 40, "--format", "markdown")
    header, _, *rows = ([cell.strip() for cell in row.split("|")] for row in ran.out.splitlines())
    shown = [row[header.index("prefill")].split(" x ")[0] for row in rows]
    for plan in plans:
        assert shown[plan["rank"] - 1] == str(plan["prefill_replicas"])


# What tables show.


@pytest.mark.parametrize(
    "means",
    [
        "--own h100-sxm=8",
        thorough("--budget 20000/month"),
        thorough(f"--traffic {MIX} --on h200"),
    ],
)
def test_a_markdown_table_has_replicas_of_all_that_has_a_load(fastcalc, means):
    """What is least of a fleet or of classes is no price of a token."""
    name = "deepseek-r1" if "traffic" in means else "llama-3.1-8b"
    header = fastcalc("plan", name, *means.split(), "--format", "markdown").out.splitlines()[0]
    heads = [cell.strip() for cell in header.split("|")]
    assert "replicas" in heads
    assert "$/Mtok in+out" not in heads


def test_a_table_of_formats_that_differ_leaves_other_tables_as_they_are():
    kept = pick("kv_format")
    alike, differing = (
        [{"weight_format": "fp8", "kv_format": kv} for kv in pair] for pair in PAIRS
    )
    before = with_formats(kept, alike, has_fewer_bits=True)
    with_formats(kept, differing, has_fewer_bits=True)
    assert with_formats(kept, alike, has_fewer_bits=True) == before


@pytest.mark.thorough
@every("columns", [80, 100, 160])
def test_chips_beyond_those_of_the_replicas_are_explained(capsys, monkeypatch, columns):
    """Two replicas of 16 chips and two of 4 for prefill are 40 chips, not 32."""
    monkeypatch.setenv("COLUMNS", f"{columns}")
    asked = "plan deepseek-r1 --on mi355x --rate 5/s --tpot 40ms --confidence 90".split()
    text = words(run_once(*asked, capsys=capsys, monkeypatch=monkeypatch).out)
    is_shown = " 2 x tp4 " in text
    assert ("chips include separate prefill replicas (--wide shows them)" in text) is not is_shown


@every("is_over", [False, True])
def test_a_mark_of_times_over_their_limit_is_explained_where_one_stands(is_over):
    mix = SimpleNamespace(is_of_one_class=False, pools=())
    table = TextTable([("", "p99")], [["750" + "^" * is_over]])
    assert ("^: over its limit" in legend(mix, [], [table])) is is_over


def test_prefill_is_disaggregated_only_where_pools_are_searched_or_given():
    """A first token of a second and 25 ms after it: B200 do it both ways, without pools in one."""
    b200, *_ = deployments(
        CATALOGUE.model("llama-3.1-70b"),
        [(CATALOGUE.hardware("b200"), *engine_for(CATALOGUE, CATALOGUE.hardware("b200")))],
        pricing=Pricing(),
    )
    grid = candidates(b200, prompt=1000.0, output=1000.0)
    service = Service(1000.0, 1000.0, ttft=1.0, tpot=0.025, rate=20.0)
    apart = [plan.prefill_layout is not None for plan in decide([grid], service).plans]
    assert any(apart)
    (pool,) = {plan.prefill_layout for plan in decide([grid], service, prompt_pools=()).plans}
    assert pool is None


@pytest.mark.parametrize(("prefill", "idle"), [(None, 2.0), (SimpleNamespace(chips=1), 0.0)])
def test_chips_of_whole_nodes_that_run_nothing_are_idle(prefill, idle):
    """Of eight chips three replicas take two each, and two for prefill one each."""
    plan = SimpleNamespace(
        replicas=3,
        layout=SimpleNamespace(chips=2),
        prefill_replicas=2,
        prefill_layout=prefill,
        values={"chips": 8.0},
    )
    assert Plan.idle_chips.fget(plan) == idle


def test_formats_stay_in_a_narrow_table_where_rows_differ_in_them():
    """Those of weights before those of caches where rows are quantized further than asked for."""
    kept = pick("weight_format kv_format")
    assert all(column.drop_priority > 1 for column in kept)
    rows = [{"weight_format": "fp8", "kv_format": kv} for kv in ("fp8", "bf16")]

    def priorities(records, has_fewer_bits):
        columns = with_formats(kept, records, has_fewer_bits=has_fewer_bits)
        return [column.drop_priority for column in columns]

    usual = [column.drop_priority for column in kept]
    assert priorities(rows[:1], False) == usual
    assert priorities(rows[:1], True) == [0, 1]
    assert priorities(rows, False) == [usual[0], 0]
    assert priorities(rows, True) == [0, 0]


def test_chips_of_one_kind_are_next_to_a_mix_that_costs_less(found):
    """The same at half of the price: as much again, which is 100% more."""
    classes = (RequestClass("", 1.0, Lengths.fixed(4000.0, 1000.0)),)
    pools = (ReplicaPool(classes, found),)
    usd = found.plans[0].usd_per_month / 2
    mix, alone = (
        SimpleNamespace(sharing=SimpleNamespace(on_one_chip=one), usd_per_month=usd)
        for one in (pools, None)
    )
    (text,) = one_chip_type(SimpleNamespace(allocations=[alone, mix]))
    chip = found.plans[0].scenario.hardware.id
    assert text.startswith(f"with one chip type, {chip}: ")
    assert text.endswith(f", ${dollars(usd)} (100%) more")


@every("seconds,said", [(0.25, "250 ms"), (0.9994, "999 ms"), (1.0, "1.00 s"), (2.5, "2.50 s")])
def test_a_first_token_without_a_limit_is_in_ms_below_a_second(seconds, said):
    pool = SimpleNamespace(plan=SimpleNamespace(values={"ttft": seconds}))
    service = Service(1000.0, 300.0, share=0.99)
    answer = SimpleNamespace(
        fleet=SimpleNamespace(service=service), is_of_one_class=True, pools=[(None, pool)]
    )
    (note,) = unlimited_ttft(answer)
    assert note.endswith(f". The plan's p99 TTFT is {said}")


# What stands below.


def test_the_page_holds_every_note_and_warning(found):
    request = FindPlans(model="deepseek-r1", top=2)
    classes = (RequestClass("", 1.0, Lengths.fixed(4000.0, 1000.0)),)
    pools = (ReplicaPool(classes, found),)
    allocation = Allocation(Sharing(pools, pools, pools, ()), 20.0)
    answer = PlanAnswer(request=request, fleet=Fleet(SERVICE, (), (allocation,)), classes=classes)
    lines = answer.page(Screen(100, wide=True))[-1].lines
    shown = [*found.plans[:2], found.runner_up, found.in_own_formats]
    warnings = {line for plan in shown for line in plan.replica.warnings}
    decided = {note.text for note in decision_notes(found, shown, shown) if not note.is_hint}
    others = {sentence(text) for text in (*latency_notes.service_notes(SERVICE), *warnings)}
    assert decided | others <= set(lines)
    assert len(lines) == len(set(lines))
    record = report.plan_records(found.plans, SERVICE, Typed())[0]
    assert record["warnings"] == found.plans[0].replica.warnings


@pytest.mark.thorough
def test_the_first_screen_of_a_plan(fastcalc):
    chips = "h100-sxm,h200-sxm,b200,mi300x"
    asked = ("llama-3.1-70b", "--on", chips, "--ttft", "1s", "--rate", "20/s")
    lines = fastcalc("plan", *asked).out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines[:-1])) <= 100
    assert lines[-1].startswith("next: fastcalc compare llama-3.1-70b")
    for label in ("1 ", "2 ", "quantized * ", "other chip "):
        assert any(line.startswith(label) for line in lines)
    every = list(fastcalc("plan", *asked, "--notes").out.splitlines())
    promised = next(line for line in lines if "--notes prints" in line).split()[3]
    assert sum(line.startswith("- ") for line in every) - 1 == int(promised)  # and the key


@pytest.mark.parametrize(
    "asked",
    [
        thorough("glm-4.7 --on rtx-pro-6000-server,mi325x,h100-sxm --budget 20000/month"),
        "llama-3.1-8b --on h100-sxm,l40s --kv bf16,fp8 --rate 20/s",
    ],
)
@pytest.mark.parametrize("columns", [80, 100])
def test_a_format_in_which_rows_differ_stays_in_a_narrow_table(fastcalc, asked, columns):
    """Rows of the same chips, weights and layout are otherwise alike but for what they carry."""
    text = fastcalc("plan", *asked.split(), columns=columns).out
    table = text.split("\n\n")[1].split("\n- key")[0].splitlines()
    assert table[0].split().count("KV") == 1
    cache = table[1].index("cache")
    shown = [row[cache:].split()[0] for row in table[2:]]
    assert set(shown) == {"bf16", "fp8"}


@pytest.mark.thorough
def test_a_mix_on_owned_and_rented_chips_fits_a_screen(fastcalc):
    """Five pools of three classes: a line per pool, and one per class in its slowest pools."""
    asked = ("plan", "llama-3.1-70b", "--traffic", str(MIX), "--own", "h100-sxm=16")
    asked += ("--rate", "60/s", "--on", "mi355x")
    served = json.loads(fastcalc(*asked, "--format", "json").out)["classes"]
    lines = fastcalc(*asked, columns=100).out.splitlines()
    assert len(lines) <= 24
    shares = []
    for name in ("chat", "code", "documents"):
        of_class = [row for row in served if row["class"] == name]
        (line,) = (line for line in lines if line.startswith(name))
        cells = re.split("  +", line)
        shares.append(float(cells[1]))
        assert cells[4] == ", ".join(str(row["pool"]) for row in of_class)
        if all(row["percentiles"] for row in of_class):
            for cell, key in ((cells[5], "ttft_ms"), (cells[7], "tpot_ms")):
                assert cell == number(max(row["percentiles"][key]["p99"] for row in of_class))
    assert sum(shares) == pytest.approx(100.0)
    wide = fastcalc(*asked, "--wide", columns=200).out.splitlines()
    rows = [line.split() for line in wide if line.startswith(("chat", "code", "documents"))]
    assert len(rows) == len(served)
    assert sum(float(row[1]) for row in rows) == pytest.approx(100.0, abs=0.2)


@pytest.mark.thorough
def test_pools_of_a_mix_share_a_node(fastcalc):
    """Two of two chips and one of four are a node of eight b200, whole or by the chip."""
    asked = ("plan", "llama-3.1-70b", "--traffic", str(MIX), "--on", "b200", "--rate", "2.5/s")
    whole, single = fastcalc(*asked).out, fastcalc(*asked, "--by", "chip").out
    for printed in (whole, single):
        assert "Cheapest plan: 8 b200, $32,120 per month" in printed  # 8 x 5.50 x 730
