"""The inverse on services whose truth is known, by hand, in limits, and as a command."""

import json
import math
import os
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fastcalc.features.infer import inverse
from fastcalc.features.infer.answer import InferAnswer
from fastcalc.features.infer.inverse import COMBINATIONS, Region, invert
from fastcalc.features.infer.request import Infer
from fastcalc.features.infer.two_tiers import (
    BOX,
    SIDES,
    TECHNIQUES,
    ChipArrays,
    SoldTiers,
    fast_tier,
    slow_tier,
)
from tests.helpers import run, words

CHIPS = ChipArrays(
    ("old", "newer", "new"),
    bandwidth=np.array([3e12, 5e12, 8e12]),
    memory=np.array([80e9, 150e9, 200e9]),
    rate=np.array([2e15, 2e15, 5e15]),
    usd=np.array([2.0, 3.0, 6.0]),
)
TOLERANCE = 0.15
NOISE = 0.05
"""Standard deviation of what is published from what is true: a third of the tolerance."""

SERVICES = 100 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 20
POINTS = (1 << 20) if SERVICES == 100 else (1 << 17)


def holds(found, values):
    """Whether a service lies in the region: its numbers are within the tolerance."""
    point = {name: np.atleast_1d(value) for name, value in values.items()}
    slow, fast = slow_tier(point, found.chip_kinds), fast_tier(point, found.chip_kinds)
    prices = (slow.cost * point["markup"], fast.cost * point["markup"] * point["markup_ratio"])
    reported = (*found.published.speeds, *found.published.prices)
    off = np.log(np.array([slow.speed, fast.speed, *prices])[:, 0] / reported)
    return bool(np.all(np.abs(off) <= np.log1p(found.tolerance)))


def drafted(kept):
    """Drafts of 0.86 each: 1 + 0.86 + ... + 0.86^d is at least what is kept; at most twice it."""
    if kept == 1.0:
        return 0
    tokens, count = 1.0, 0
    while tokens < kept - 1e-12 and count < math.ceil(2 * kept):
        count += 1
        tokens += 0.86**count
    return count


def tier(true, batch, kept, chips, chip):
    """Return speed, cost and fit of a tier, written out a second time."""
    tokens = batch * (1 + drafted(kept))
    all_over_active = true["sparsity"]
    touched = max(1.0, all_over_active * (1 - (1 - 1 / all_over_active) ** tokens))
    read = true["active"] * touched + batch * true["cache"]
    reading = read / (chips * CHIPS.bandwidth[chip] * true["reach"])
    computing = 2 * true["active"] * tokens / (chips * CHIPS.rate[chip] * 0.7)
    seconds = max(reading, computing) + true["floor"]
    cost = chips * CHIPS.usd[chip] / 3600 * seconds / (batch * kept) * 1e6
    held = true["active"] * all_over_active + batch * true["cache"]
    return kept / seconds, cost, held <= 0.9 * chips * CHIPS.memory[chip]


def both(true):
    slow = tier(true, true["batch"], true["kept"], true["chips"], true["chip"])
    fast = tier(
        true,
        true["batch"] / true["batch_ratio"],
        true["kept"] * true["kept_ratio"],
        true["chips"] * true["chips_ratio"],
        true["fast_chip"],
    )
    return slow, fast


def made_up(luck):
    """Return a service of the box that sells two tiers of one combination of tricks."""
    while True:
        tricks = luck.choice(COMBINATIONS)
        own = [name for trick in tricks for name in TECHNIQUES[trick]]
        true = {}
        for side in BOX:
            share = luck.random()
            even = side.low + share * (side.high - side.low)
            value = even if side.is_even else side.low * (side.high / side.low) ** share
            true[side.name] = value if side.name in own or "_ratio" not in side.name else 1.0
        true["chip"] = luck.randrange(3)
        true["fast_chip"] = luck.randrange(3) if "fast_chip" in own else true["chip"]
        (slow, cost, fits), (fast, fast_cost, fast_fits) = both(true)
        is_sold = fits and fast_fits and true["batch"] >= true["batch_ratio"]
        if is_sold and fast >= 1.2 * slow:
            markup = true["markup"]
            return (
                tricks,
                true,
                (slow, fast, cost * markup, fast_cost * markup * true["markup_ratio"]),
            )


@pytest.mark.thorough
def test_the_truth_of_made_up_services_lies_in_the_region():
    """Of what is published, each number is off by 5%; the box is `BOX`, fixed.

    The region is the set of services within the tolerance: its size is its share of the box by
    volume. Inside are the combination of tricks, and the numbers themselves.
    """
    luck = random.Random(15)
    inside, between, shares, sufficed = 0, 0, [], 0
    for _ in range(SERVICES):
        tricks, true, numbers = made_up(luck)
        reported = [number * math.exp(luck.gauss(0, NOISE)) for number in numbers]
        found = invert(
            SoldTiers((reported[0], reported[1]), (reported[2], reported[3])),
            CHIPS,
            tolerance=TOLERANCE,
            points=POINTS,
        )
        region = found.regions[COMBINATIONS.index(tricks)]
        sufficed += region.is_found
        inside += region.is_found and holds(found, {key: float(one) for key, one in true.items()})
        between += region.is_found and all(
            region.ends(name)[0] * 0.8 <= true[name] <= region.ends(name)[1] * 1.25
            for name in SIDES
        )
        shares += [one.share for one in found.regions]
    assert inside >= 0.95 * SERVICES
    assert sufficed >= 0.95 * SERVICES, "the combination itself is among those that suffice"
    assert between >= 0.85 * SERVICES, "what is printed as its ends is a sample's"
    assert max(shares) <= 1 / 3


def test_both_tiers_are_those_of_a_hand():
    """80 GB read at 1.6 TB/s, 5 ms of floor: 55 ms, 18.2 tokens/s; a million for $40.4."""
    true = (
        {"active": 20e9, "sparsity": 2.0, "cache": 1e9, "floor": 5e-3, "reach": 0.5}
        | {"chips": 1.0, "batch": 40.0, "kept": 1.0, "markup": 1.0}
        | {"batch_ratio": 40.0, "kept_ratio": 2.0, "chips_ratio": 2.0, "markup_ratio": 3.0}
        | {"chip": 0.0, "fast_chip": 2.0}
    )
    values = {name: np.array([value]) for name, value in true.items()}
    known = ChipArrays(
        ("a", "b", "c"),
        np.array([3.2e12, 1e12, 8e12]),
        np.array([100e9, 1e9, 200e9]),
        np.array([1e15, 1e15, 5e15]),
        np.array([3.2, 1.0, 6.0]),
    )
    slow, fast = slow_tier(values, known), fast_tier(values, known)
    step = 80e9 / 1.6e12 + 5e-3
    assert slow.speed[0] == pytest.approx(1 / step)
    assert slow.cost[0] == pytest.approx(3.2 / 3600 * step / 40 * 1e6)
    assert slow.fits[0]  # 80 of 90 GB
    # One user, two tokens a pass of two drafts: three tokens touch 2 (1 - 1/8) of the active.
    step = (20e9 * 1.75 + 1e9) / (2 * 8e12 * 0.5) + 5e-3
    assert fast.speed[0] == pytest.approx(2 / step)
    assert fast.cost[0] == pytest.approx(12 / 3600 * step / 2 * 1e6)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "published", [((65.0, 170.0), (25.0, 150.0)), ((50.0, 75.0), (10.0, 20.0))]
)
def test_a_smaller_batch_alone_has_the_batch_of_the_identity(published):
    """On one machine the batches are as kappa times sigma, within all four tolerances."""
    found = invert(SoldTiers(*published), CHIPS, tolerance=0.1, points=1 << 18)
    region = found.regions[COMBINATIONS.index(("smaller batch",))]
    (slow, fast), (low, high) = published
    identity = (fast / slow) * (high / low)
    assert region.is_found
    least, most = region.ends("batch_ratio")
    assert identity / 1.1**4 <= least <= most <= identity * 1.1**4
    assert least <= identity <= most


def test_what_no_trick_can_do_is_not_found():
    found = invert(SoldTiers((65.0, 170.0), (25.0, 150.0)), CHIPS, tolerance=0.1, points=1 << 17)
    by_tricks = {one.tricks: one for one in found.regions}
    assert not by_tricks["higher markup",].is_found, "a price makes nothing faster"
    assert not by_tricks["speculation",].is_found, "drafts do not cost six times as much"
    assert all(set(one.tricks) != {"higher markup"} for one in found.minimal)
    cheap = invert(SoldTiers((65.0, 170.0), (25.0, 1.0)), CHIPS, tolerance=0.1, points=1 << 17)
    assert not cheap.minimal, "25 times cheaper and faster is nothing of the box"
    assert not cheap.whole.is_found


def test_the_same_seed_gives_the_same_region_and_points_are_consistent():
    asked = SoldTiers((65.0, 170.0), (25.0, 150.0))
    first, second = (invert(asked, CHIPS, tolerance=TOLERANCE, points=1 << 16) for _ in range(2))
    assert first.whole.share == second.whole.share
    whole = first.whole
    for place in range(0, len(whole.weights), 97):
        point = {name: float(each[place]) for name, each in whole.values.items()}
        assert holds(first, point)
        (slow, cost, _), (fast, fast_cost, _) = both(
            {**point, "chip": int(point["chip"]), "fast_chip": int(point["fast_chip"])}
        )
        price = cost * point["markup"]
        fast_price = fast_cost * point["markup"] * point["markup_ratio"]
        for value, reported in zip(
            (slow, fast, price, fast_price), (65, 170, 25, 150), strict=True
        ):
            assert abs(math.log(value / reported)) <= math.log(1 + TOLERANCE) + 1e-9


@pytest.mark.thorough
def test_the_share_of_a_box_is_that_of_a_count():
    """Markups are drawn where the prices allow: the volume is that of drawing them blindly."""
    asked, points = SoldTiers((65.0, 90.0), (25.0, 40.0)), 1 << 20
    found = invert(asked, CHIPS, tolerance=0.6, points=points).whole
    draws = np.random.default_rng(5).random((len(BOX) + 2, points))
    values = {side.name: side.at(draw) for side, draw in zip(BOX, draws, strict=False)}
    values |= {"chip": np.floor(draws[-2] * 3), "fast_chip": np.floor(draws[-1] * 3)}
    slow, fast = slow_tier(values, CHIPS), fast_tier(values, CHIPS)
    price = slow.cost * values["markup"]
    fast_price = fast.cost * values["markup"] * values["markup_ratio"]
    inside = slow.fits & fast.fits
    for value, reported in zip(
        (slow.speed, fast.speed, price, fast_price), (65, 90, 25, 40), strict=True
    ):
        inside &= np.abs(np.log(value / reported)) <= math.log(1.6)
    assert np.sum(inside) > 200
    assert found.share == pytest.approx(np.mean(inside), rel=0.2)


@pytest.mark.thorough
def test_what_tells_combinations_apart_by_hand():
    """Three tiers, each its own trick: a ratio that only one has names it, and halves are left.

    Of three, one third is right by luck; whoever knows one ratio is right in one of three for sure
    and in half of the others.
    """
    found = invert(SoldTiers((65.0, 170.0), (25.0, 150.0)), CHIPS, tolerance=0.15, points=1 << 19)
    assert [one.tricks for one in found.minimal] == [
        ("smaller batch",),
        ("other hardware",),
        ("speculation", "higher markup"),
    ]
    chances = {name: chance for name, chance, _ in found.decided_by()}
    for name in ("batch_ratio", "kept_ratio", "chips_ratio", "markup_ratio"):
        assert chances[name] == pytest.approx((1 + 0.5 * 2) / 3, abs=0.01)
    assert all(one >= 1 / 3 - 1e-9 for one in chances.values())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_printed_is_stable_over_seeds(monkeypatch, seed):
    """What to publish word for word, and ends of bands of large regions within two of their steps."""
    asked = {"tolerance": 0.15, "points": 1 << 19}
    published = SoldTiers((65.0, 170.0), (25.0, 150.0))
    first = invert(published, CHIPS, **asked)
    monkeypatch.setattr(inverse, "SEED", seed)
    other = invert(published, CHIPS, **asked)
    first_notes, other_notes = (
        [*InferAnswer(request=Infer(), inverse=found).deciding()] for found in (first, other)
    )
    assert first_notes == other_notes
    for one, two in zip(first.regions, other.regions, strict=True):
        if len(one.weights) < 100:
            continue
        share_error = np.linalg.norm([*one.weights, *two.weights])  # of sampling
        assert abs(one.share - two.share) < 4.0 * share_error
        for name in ("batch_ratio", "batch", "active", "floor"):
            ends = zip(
                one.band(name),
                two.band(name),
                one.band_error(name),
                two.band_error(name),
                strict=True,
            )
            for left, right, *errors in ends:
                assert abs(left - right) <= 6.0 * math.hypot(*errors) + 0.05 * left, name


@pytest.fixture
def infer(capsys, monkeypatch):
    def call(*args):
        monkeypatch.setenv("COLUMNS", "100")
        return run("infer", "--points", "65536", *args, capsys=capsys, monkeypatch=monkeypatch)

    return call


@pytest.mark.thorough
def test_the_command_prints_the_box_the_region_and_what_would_decide(infer):
    text = words(infer("--wide").out)
    assert text.startswith(
        "Simplest explanations of the fast tier: a smaller batch (few matches), other "
    )
    assert "Ranges searched: active parameters at 8 bits 10..400 B" in text
    assert (
        "One model, two tiers: 65 tokens/s at $25/Mtok and 170 tokens/s at $150/Mtok of output"
        in text
    )
    assert "smaller batch + higher markup" in text
    document = json.loads(infer("--format", "json").out)
    assert [one["tricks"] for one in document["records"]] == [" + ".join(c) for c in COMBINATIONS]
    assert document["box"]["batch"] == [1, 4096]
    assert document["decided_by"][0]["chance"] >= document["decided_by"][-1]["chance"]
    for one in document["records"]:
        if one["suffices"]:
            ends = [one[f"batch_{key}"] for key in ("least", "low", "high", "most")]
            assert ends == sorted(ends)


@pytest.mark.parametrize("prices", ["25,1", "0.01,1000"])
@pytest.mark.parametrize("kind", ["table", "json", "csv", "markdown"])
def test_the_command_says_no(infer, prices, kind):
    ran = infer("--prices", prices, "--format", kind)
    assert ran.code == 1
    assert "65,536 services tried is consistent" in " ".join((ran.out + ran.err).split())
    if kind == "json":
        document = json.loads(ran.out)
        assert not any(record["suffices"] for record in document["records"])
        assert document["decided_by"] == []
    if kind == "table":
        assert ran.out.startswith("None of 65,536 services tried")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--speeds", "65"), "--speeds '65' is not two numbers"),
        (("--speeds", "170,65"), "write the slow tier first"),
        (("--prices", "a,b"), "--prices 'a,b' is not two numbers"),
        (("--prices", "0,1"), "--prices 0 is not a number from"),
        (("--tolerance", "0"), "--tolerance 0 is not a number from 1e-06 to 0.5"),
        (("--points", "3"), "--points 3 is not a whole number from 1,000"),
        (("--on", "wse-3"), "--on wse-3: a spatial chip has no textbook step"),
    ],
)
def test_wrong_requests_are_one_sentence(infer, args, said):
    ran = infer(*args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.thorough
@given(
    tolerance=st.floats(1e-6, 0.5),
    slow=st.floats(1e-2, 1e4),
    faster=st.floats(1.0, 100.0, exclude_min=True),
    prices=st.tuples(st.floats(1e-3, 1e4), st.floats(1e-3, 1e4)),
    chips=st.sampled_from(["h100-sxm", "gb200", "h100-sxm,b200"]),
    kind=st.sampled_from(["table", "json", "csv", "markdown"]),
)
@example(0.05, 65.0, 170 / 65, (25.0, 150.0), "h100-sxm,b200", "table")
@example(0.05, 65.0, 170 / 65, (25.0, 150.0), "h100-sxm,b200", "json")
@example(0.5, 65.0, 1.01, (25.0, 25.0), "gb200", "table")
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_request_has_an_answer_or_a_sentence(
    infer, tolerance, slow, faster, prices, chips, kind
):
    """Whatever the flags: 0 with an explanation, or 1 and a sentence; never a traceback."""
    speeds, sold = f"{slow!r},{slow * faster!r}", ",".join(map(repr, prices))
    asked = ("--tolerance", repr(tolerance), "--format", kind, "--on", chips, "--points", "4096")
    ran = infer("--speeds", speeds, "--prices", sold, *asked)
    out, code = ran.out, ran.code
    said = words(ran.out + ran.err)
    assert code in (0, 1)
    assert ("4,096 services tried is consistent" in said) == (code == 1)
    if kind == "json":
        records = json.loads(out)["records"]
        assert any(record["suffices"] for record in records) == (code == 0)


def test_a_number_that_no_explanation_changes_decides_nothing():
    """Two explanations, and the tiers of both are alike in everything: one in two is luck."""
    values = {name: np.ones(20) for name in (*SIDES, "chip", "fast_chip")}
    regions = [Region((trick,), values, np.full(20, 0.05)) for trick in ("smaller batch", "drafts")]
    found = inverse.Inverse(CHIPS, SoldTiers((65.0, 170.0), (25.0, 150.0)), 0.15, regions, 40)
    assert [chance for _, chance, _ in found.decided_by()] == pytest.approx([0.5] * len(SIDES))


@pytest.mark.thorough
def test_an_explanation_at_the_edge_of_the_box_says_so(infer):
    """Drafts at six times the price take 6 x 2 to 3 times the markup: within a box that ends at 50.

    Three tokens at most for each of before, at least 170/65/1.15^2 = 2: 12 to 18 times, and 1.15^4
    either way.
    """
    ran = infer("--points", str(1 << 19), "--format", "json")
    by_tricks = {one["tricks"]: one for one in json.loads(ran.out)["records"]}
    drafts = by_tricks["speculation + higher markup"]
    least, most = drafts["markup_ratio_least"], drafts["markup_ratio_most"]
    assert 12 / 1.15**4 <= least <= most <= 18 * 1.15**4
    assert (drafts["at_edge"], drafts["is_thin"]) == ("", False)
    for one in by_tricks.values():
        assert one["is_thin"] == (one["points"] < 100)
    text = words(infer("--points", str(1 << 19), "--notes").out)
    assert text.count("prefill") == 1
    for gone in ("margin", "profit"):
        assert gone not in text


def test_records_hold_what_the_data_dictionary_says(infer):
    from fastcalc.features.dictionary import COMMANDS

    first, *_ = json.loads(infer("--format", "json").out)["records"]
    assert list(first) == [one.key for one in COMMANDS["infer"]]


@pytest.mark.parametrize("points", ["999", "4000001"])
def test_points_are_from_a_thousand_to_four_million(infer, points):
    refused = infer("--points", points)
    assert refused.code == 2
    assert f"--points {points} is not a whole number from 1,000 to 4,000,000" in refused.err
