"""Numbers of claims by another path: what the library's commands answer at the same points."""

import re

import pytest

import fastcalc
from fastcalc.catalogue.store import Catalogue
from fastcalc.features.claims.break_evens import break_even
from fastcalc.features.claims.judge import judge
from fastcalc.features.claims.run import read_claims
from tests.helpers import judge_once, run_once

LONG, CHAT = 65_536, 1500
CUT, WIDE_CUT = 0.05, 0.15
"""Claims cut chips as decodes fastest, `compare` as serves most: alike, and less on many chips."""


NAMED = {"4", "5", "6", "7", "11", "14", "17", "20", "24", "25", "26", "27", "36", "42", "44"}
NAMED |= {"47", "48"}


@pytest.fixture(scope="module")
def judged():
    book, document = read_claims(None)
    claims = [one for one in book.claims if one.id in NAMED]
    return {one.claim.id: one for one in judge_once(Catalogue(), claims, document)}


def row(model, on, **asked):
    """Return the only row of ``fastcalc compare``."""
    (found,) = fastcalc.compare(model, on=on, **asked)
    assert found["fits"]
    return found


def speed(*args, **asked):
    return row(*args, **asked)["tokens_per_s_per_user"]


def gain(model, weights, context, batch, chips, on="wse-3", on_chips=None):
    """Return a user's speed on one kind of chip over that on so many H100."""
    asked = {"weights": weights, "context": context, "batch": batch}
    fast = speed(model, on, **asked, **({"chips": on_chips} if on_chips else {}))
    return fast / speed(model, "h100-sxm", **asked, **({"chips": chips} if chips else {}))


SHAPES = [("glm-4.7", "int8"), ("dense-20b", None), ("dense-20b", "int8"), ("spark-120b", None)]


# The fewest chips that hold 32 users of 65,536 tokens are 24 H100 for GLM-4.7; eight hold the others.
@pytest.mark.parametrize(
    ("moved", "context", "batch", "chips"),
    [
        ({"context": 65536.0}, LONG, 32, (24, 8, 8, 8)),
        ({}, CHAT, 32, (8, 8, 8, 8)),
        ({"batch": 1.0, "context": 65536.0}, LONG, 1, (8, 8, 8, 8)),
        (
            {"batch": 1.0, "against_chips": 1.0, "context": 65536.0},
            LONG,
            1,
            (None, None, None, None),
        ),
    ],
)
def test_what_the_machine_gains(judged, moved, context, batch, chips):
    """Claim 20 at an agent's context and a chat's, with many users and one, on many H100 or few."""
    gains = [
        gain(*shape, context, batch, count) for shape, count in zip(SHAPES, chips, strict=True)
    ]
    found = judged["20"].conclusion.elsewhere(moved)
    assert found == pytest.approx(gains, rel=CUT)


def test_what_another_chip_gains_a_dense_model(judged):
    """Claim 44: at long context a wafer gains over twelve times, and at a chat's length less."""
    shapes = [("glm-4.7", "int8", 24), ("dense-20b", "int8", 8), ("spark-120b", None, 8)]
    shapes.append(("llama-3.1-70b", None, 16))
    gains = [gain(model, form, LONG, 32, chips) for model, form, chips in shapes]
    assert judged["44"].check.values == pytest.approx(gains, rel=CUT)
    assert min(gains) > 12
    short = [gain(model, form, CHAT, 32, 8) for model, form, _ in shapes]
    assert judged["44"].check.elsewhere({"context": 1500.0}) == pytest.approx(short, rel=CUT)
    assert all(less < more for less, more in zip(short, gains, strict=True))
    assert judged["44"].verdict == "conditional"


def test_what_new_chips_gain_at_long_context(judged):
    """Claims 36 and 48: as many of both as hold 32 users of llama-3.1-70b, and 64 of 405B."""
    for name, model, batch in (("36", "llama-3.1-70b", 32), ("48", "llama-3.1-405b", 64)):
        fewest = row(model, "h100-sxm", context=LONG, batch=batch)["chips"]
        found = gain(model, None, LONG, batch, fewest, on="gb200", on_chips=fewest)
        assert judged[name].conclusion.values[0] == pytest.approx(found, rel=WIDE_CUT)


def test_spark_at_an_agents_context(judged):
    """Claim 17: the cache asks for more wafers, and hops of a token with them."""
    shapes = SHAPES[1:]
    found = [speed(model, "wse-3", weights=form, context=LONG, batch=32) for model, form in shapes]
    assert judged["17"].check.values == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize(
    ("few", "many", "on", "model"),
    [(8, 256, "h200-sxm", "deepseek-r1"), (1, 8, "h200-sxm", "gpt-oss-120b")],
)
def test_a_first_token_may_gain_more_than_the_others(judged, few, many, on, model):
    """Claim 14, other way round from 8 users of gpt-oss-120b to one, which is cut otherwise."""
    small, large = (row(model, on, chips=8, batch=batch) for batch in (few, many))
    first, others = (large[key] / small[key] for key in ("ttft_ms", "tpot_ms"))
    moved = {"few": float(few), "many": float(many), "on": on, "model": model}
    assert judged["14"].check.elsewhere(moved) == pytest.approx([first / others], rel=1e-6)
    assert (first < others) == (model == "deepseek-r1")


def test_deepseek_at_an_agents_context(judged):
    """Claim 11: alone on eight H200, and 256 users on as many as hold them."""
    alone = row("deepseek-r1", "h200-sxm", chips=8, batch=1, context=LONG)
    chips = row("deepseek-r1", "h200-sxm", batch=256, context=LONG)["chips"]
    many = row("deepseek-r1", "h200-sxm", chips=chips, batch=256, context=LONG)
    ratio = alone["usd_per_mtok_output"] / many["usd_per_mtok_output"]
    assert judged["11"].check.elsewhere({"context": 65536.0}) == pytest.approx(
        [ratio], rel=WIDE_CUT
    )
    assert 2 < ratio < 30, "within the premises of the claim"


def test_many_users_of_long_prompts_leave_memory_the_limit(judged):
    """Claim 42: 1,024 users with prompts of 1,000 tokens compute, with longer ones they read."""
    limiters = ((1000, {"compute"}), (8000, {"memory", "latency"}), (32000, {"memory", "latency"}))
    for prompt, expected in limiters:
        asked = {"weights": "fp8", "kv": "fp8", "batch": 1024, "prompt": prompt}
        chips = max(row("llama-3.1-70b", "h100-sxm", **asked)["chips"], 8)
        found = row("llama-3.1-70b", "h100-sxm", chips=chips, **asked)
        assert found["limiter"] in expected
        ratio = judged["42"].check.elsewhere({"batch": 1024.0, "prompt": float(prompt)})[0]
        assert (ratio > 1) == ("memory" in expected)


def test_the_longest_step_of_a_served_point(judged):
    """Claims 6 and 7: between two tokens of one user, at the cheapest point with prompts in it."""
    cheapest = min(
        fastcalc.frontier("deepseek-r1", on="h200-sxm"), key=lambda one: one["usd_per_mtok_output"]
    )
    for name in ("6", "7"):
        step = judged[name].check.check.inputs["step"]
        assert 2e3 * 0.1 < cheapest["tpot_in_traffic_ms"] <= 1e3 * step.ends[1]
        assert f"{cheapest['tpot_in_traffic_ms']:.0f} ms" in step.note
        assert judged[name].verdict == "conditional"


def test_textbook_premises_hold_what_is_fitted(judged, capsys, monkeypatch):
    """What `compare --explain` says of floors and of products of attention on a rack."""
    asked = (
        "deepseek-r1",
        "--on",
        "gb200",
        "--chips",
        "72",
        "--batch",
        "941",
        "--context",
        "65536",
    )
    text = run_once("compare", *asked, "--explain", capsys=capsys, monkeypatch=monkeypatch).out
    floor = float(re.search(r"layer floors .* ([\d.]+) ms ", text)[1]) / 61
    attention = text[text.index("\nattention:") :]
    (rate,) = re.findall(r"rate = .* = ([\d.]+) TFLOP/s", attention)[:1]
    low, high = judged["47"].check.check.inputs["floors"].ends
    assert 110e-6 < 1e-3 * floor <= high
    for name in ("4", "5", "47"):
        given = judged[name].check.check.inputs["compute_shares"]
        low, high = given.ends
        assert low <= float(rate) / 2500 <= high, "of 2.5 PFLOP/s at 16 bits"
        assert given.values[-1] == pytest.approx(float(rate) / 2500, rel=0.1)


def test_a_wait_that_nobody_notices_is_said_so(capsys, monkeypatch):
    ran = run_once("claims", "--explain", "8", capsys=capsys, monkeypatch=monkeypatch)
    assert "0 to 596 s over all plausible" in ran.out
    assert "e-25" not in ran.out
    ran = run_once("claims", "--explain", "47", capsys=capsys, monkeypatch=monkeypatch)
    assert "1x or more over all plausible" in ran.out


def test_wafers_by_bytes_alone_and_in_whole_layers(judged):
    """Claims 24 to 26 count bytes, `fit` whole layers with a cache: one wafer more for GLM-4.7."""
    (fit,) = fastcalc.fit("glm-4.7", on="wse-3", weights="int8")
    assert judged["27"].check.values[1] == fit["chips"] == 10
    assert judged["26"].conclusion.values[0] == judged["25"].check.values[0] == 9
    for name in ("24", "25", "26"):
        assert "counting bytes alone" in judged[name].claim.reason.lower()


def test_a_static_batch_is_a_premise(judged):
    """Claim 6 names no server: one that waits for a full batch makes users wait."""
    assert "scheduling: supported at static, refuted as given" in break_even(judged["6"])
    # 63 more requests at 6.4 a second, half of it on average.
    waits = judged["6"].check.elsewhere({"scheduling": "static"})
    assert waits == pytest.approx([63 / 6.4 / 2] * 2)


def test_scheduling_is_continuous_or_static(judged):
    book, document = read_claims(None)
    claim = next(one for one in book.claims if one.id == "6")
    inputs = {
        **claim.check.inputs,
        "scheduling": claim.check.inputs["scheduling"].model_copy(update={"names": ("random",)}),
    }
    wrong = claim.model_copy(update={"check": claim.check.model_copy(update={"inputs": inputs})})
    with pytest.raises(fastcalc.InputError, match="continuous or static, not 'random'"):
        judge(Catalogue(), [wrong], document)
