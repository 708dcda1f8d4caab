"""Speculation: what is drafted, what verifying it costs, and what is left of it at large batch."""

import json

import numpy as np
import pytest

import fastcalc as fc
from fastcalc.core.scenario import Sharding
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Speculation, Traffic
from tests.helpers import outcome, run, words

THREE_OF_FOUR = Speculation.accepting(0.8, 3.0)


def at(step, name):
    return next(part for part in step.components if part.name == name)


def passes(speculation, *, model="gpt-oss-120b", batch=8.0):
    ranks = Sharding(tp=2)
    found = outcome(model, "h100-sxm", batch=(int(batch),), engine="vllm", sharding=ranks)
    traffic = Traffic(1000.0, 1000.0, 1500.0, speculation=speculation)
    return Schedule(found.placement, traffic, np.array([batch]))


def test_verified_tokens_cost_arithmetic_experts_links_and_attention():
    """Eight sequences with three drafted tokens are 32 rows; their caches are read once."""
    plain, drafted = (passes(one).expected for one in (Speculation(), THREE_OF_FOUR))
    alone = plain(passes(Speculation(), batch=64.0).decode_work())
    verified = drafted(passes(THREE_OF_FOUR, batch=16.0).decode_work())
    for name in ("dense weights", "routed experts", "all-reduce"):
        np.testing.assert_allclose(at(verified, name).seconds, at(alone, name).seconds)
    one = at(plain(passes(Speculation()).decode_work()), "attention")
    four = at(drafted(passes(THREE_OF_FOUR).decode_work()), "attention")
    assert four.bytes == one.bytes
    assert four.flops == 4 * one.flops


def test_drafting_costs_a_layer_of_the_slowest_kind_a_token():
    step = passes(THREE_OF_FOUR).decode
    drafting = at(step, "drafting")
    plain = passes(Speculation()).expected(passes(Speculation()).decode_work())
    # Half of the 36 layers attend to a window of 128 tokens: the slowest kind takes a little more
    # than their mean, which neither the head nor the host's work for sequences is part of.
    mean = plain.seconds - sum(at(plain, name).seconds for name in ("head and norms", "sequences"))
    assert mean < drafting.seconds / 3 * 36 < 1.05 * mean


def test_the_gain_of_a_mixture_of_experts_falls_with_batch():
    """More tokens pick more experts; and once products limit, rejected tokens are waste."""
    batches = (1, 16, 4096)
    speeds = [
        outcome("gpt-oss-120b", "h100-sxm", batch=batches, speculation=one).estimate.speed
        for one in (Speculation(), THREE_OF_FOUR)
    ]
    gain = speeds[1] / speeds[0]
    assert np.all(np.diff(gain) < 0)
    assert 1.8 < gain[0] < THREE_OF_FOUR.tokens_per_pass
    assert gain[2] < 0.6 * gain[0]


def test_a_dense_model_that_is_limited_by_compute_loses():
    """Four tokens are verified for 2.95 kept: 0.74 of the speed, were there nothing but products."""
    speeds = [
        outcome(
            "llama-3.1-70b",
            "h100-sxm",
            batch=(8192,),
            speculation=one,
            context=1,
            sharding=Sharding(tp=8),
        ).estimate
        for one in (Speculation(), THREE_OF_FOUR)
    ]
    assert speeds[1].speed[0] < 0.9 * speeds[0].speed[0]


@pytest.mark.parametrize(
    ("kept", "drafted", "measured"), [(1.92, 1, 198), (2.58, 2, 250), (2.82, 3, 253)]
)
def test_deepseek_r1_on_eight_b200_gains_what_was_measured(kept, drafted, measured):
    """TensorRT-LLM at batch 1, 111 tokens/s without: 198, 250, 253 with 1, 2 and 3 drafted."""
    speeds = [
        outcome(
            "deepseek-r1", "b200", weights="nvfp4", sharding=Sharding(tp=8), speculation=one
        ).estimate.speed
        for one in (Speculation(), Speculation(kept, float(drafted)))
    ]
    gain, wanted = float(speeds[1][0] / speeds[0][0]), measured / 111
    assert max(gain / wanted, wanted / gain) < 1.2


def test_a_draft_that_is_not_stated_is_the_likeliest():
    """With an acceptance of 0.86: 1.86, 2.60, 3.24 tokens of one, two and three drafted."""
    assert Speculation.keeping(1.8) == Speculation(1.8, 1.0)
    assert Speculation.keeping(2.58) == Speculation(2.58, 2.0)
    assert Speculation.keeping(2.82) == Speculation(2.82, 3.0)
    assert Speculation.keeping(1.0) == Speculation()
    assert Speculation.keeping(50.0) == Speculation(50.0, 100.0)
    assert Speculation.keeping(2.6).acceptance <= 0.86
    assert THREE_OF_FOUR.acceptance == pytest.approx(0.8)
    assert Speculation().acceptance == 0.0


def test_time_to_the_first_token_stays_that_of_a_prompt():
    plain, drafted = (
        outcome("llama-3.1-70b", "h100-sxm", speculation=one).estimate
        for one in (Speculation(), THREE_OF_FOUR)
    )
    assert drafted.ttft[0] == plain.ttft[0]
    assert drafted.prompt_seconds[0] == pytest.approx(plain.prompt_seconds[0], rel=0.05)
    assert drafted.output_seconds[0] < 0.5 * plain.output_seconds[0]
    assert plain.served[0] < drafted.served[0] < drafted.total[0]


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


def test_records_and_assumptions_say_it(fastcalc):
    args = ("compare", "deepseek-r1", "qwen3-32b", "--on", "h200-sxm", "--format", "json")
    document = json.loads(fastcalc(*args, "--speculate", "0.8x3").out)
    assert {one["speculation_tokens_per_pass"] for one in document["records"]} == {2.952}
    said = document["assumptions"]["speculation"]
    assert said["drafted_tokens"] == 3
    assert said["acceptance"] == pytest.approx(0.8)
    assert "its own multi-token-prediction module" in said["drafters"]["deepseek-r1"]
    assert "assumed" in said["drafters"]["qwen3-32b"]
    without = json.loads(fastcalc(*args).out)
    assert {one["speculation_tokens_per_pass"] for one in without["records"]} == {1}
    assert without["assumptions"]["speculation"] is None
    cheaper, dearer = (one["records"][0]["usd_per_mtok_output"] for one in (document, without))
    assert cheaper < 0.7 * dearer


def test_the_table_says_what_is_drafted_and_by_whom(fastcalc):
    text = words(fastcalc("compare", "deepseek-r1", "--on", "h200-sxm", "--speculate", "2.58").out)
    assert "a step generates 2.58 tokens" in text
    assert "deepseek-r1 drafts with its own multi-token-prediction module" in text
    assert "--speculate 2.58" in text.split("next:")[1]


def test_drafts_take_no_time_under_the_hardware_bound():
    asked = {"models": "llama-3.1-70b", "on": "h100-sxm", "tp": 8, "batch": 1, "engine": "ideal"}
    answers = [
        fc.compare(**asked, speculate="0.8x3", draft_model=draft) for draft in (None, "x/foo-8b")
    ]
    plain, drafting = (answer.records[0]["tokens_per_s_per_user"] for answer in answers)
    assert plain == drafting
    (phrase,) = answers[1].assumptions["speculation"]["drafters"].values()
    assert phrase.startswith("drafts with x/foo-8b; each draft token takes no time with ideal")


def test_fit_keeps_room_for_what_is_drafted(fastcalc):
    args = ("fit", "llama-3.1-70b", "--on", "h100-sxm", "--format", "json")
    plain, drafted = (
        json.loads(fastcalc(*args, *more).out)["records"][0]
        for more in ((), ("--speculate", "2.5/4"))
    )
    assert plain["speculation_tokens_per_pass"] == 1
    assert drafted["speculation_tokens_per_pass"] == 2.5
    room = drafted["kv_gb_per_sequence"] - plain["kv_gb_per_sequence"]
    assert room * 1e9 == pytest.approx(4 * 327_680, rel=1e-6)


@pytest.mark.thorough
def test_a_row_of_fast_modes_is_repeated_from_its_record(capsys, monkeypatch):
    flags = ("--on", "gb200", "--kv", "bf16", "--format", "json")
    asked = ("fastmode", "qwen3-0.6b", *flags[:2], "--batch", "64", "--smaller", "none", *flags[4:])
    found = json.loads(run(*asked, capsys=capsys, monkeypatch=monkeypatch).out)["records"]
    row = next(one for one in found if one["trick"] == "speculation")
    kept, drafted = row["speculation_tokens_per_pass"], row["speculation_drafted_tokens"]
    again = ("--batch", str(row["batch"]), "--speculate", f"{kept}/{drafted}")
    shown = run("compare", "qwen3-0.6b", *flags, *again, capsys=capsys, monkeypatch=monkeypatch)
    (one,) = json.loads(shown.out)["records"]
    assert one["tokens_per_s_per_user"] == row["tokens_per_s_per_user"]
    assert one["speculation_drafted_tokens"] == drafted > 0
