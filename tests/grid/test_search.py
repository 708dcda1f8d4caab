"""Layouts, the batch at a speed, and the frontier."""

import itertools
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue.difference import change
from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.estimate import evaluate
from fastcalc.core.outcome import solve
from fastcalc.core.placement.layout import Layout
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, engine_for
from fastcalc.core.smaller_batch import (
    all_speeds_at_most,
    cost_multiples,
    largest_batches,
    speeds,
    speeds_at_most,
    speeds_by_memory,
)
from fastcalc.core.stacked import Evaluation
from fastcalc.core.start import limited
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.features.frontier.search import frontier, placeable
from fastcalc.formulas.dominance import undominated
from fastcalc.grid.largest_batch import by_octaves, cheapest, octaves_of, tokens_needed_per_pass
from fastcalc.grid.space import Space, chip_counts
from tests import made_up, strategies
from tests.core.test_properties import place, traffics
from tests.helpers import outcome

TINY = 1e-9
ENTRIES = Catalogue()


def scenario(model: str, hardware: str, **changes) -> Scenario:
    chip = ENTRIES.hardware(hardware)
    engine, borrowed = engine_for(ENTRIES, chip)
    traffic = Traffic(1000.0, 1000.0, 1500.0)
    made = Scenario(chip, ENTRIES.model(model), engine, (1,), traffic, engine_is_borrowed=borrowed)
    return replace(made, **changes)


@pytest.mark.thorough
@given(
    strategies.hardware(),
    strategies.models(),
    strategies.engines(),
    traffics,
    st.lists(st.floats(0.001, 1.2), min_size=1, max_size=4),
)
def test_the_largest_batch_reaches_a_speed_and_the_next_does_not(
    chip, model, engine, traffic, shares
):
    placement = place(chip, model, engine, traffic)
    goals = np.array(shares) * evaluate(placement, batch=1, traffic=traffic).speed[0]
    found = largest_batches(placement, traffic, goals)
    assert found.shape == goals.shape
    for goal, batch in zip(goals, found, strict=True):
        assert batch == largest_batches(placement, traffic, goal)[0], "arrays are as numbers"
        if batch:
            assert evaluate(placement, batch=batch, traffic=traffic).speed[0] >= goal * (1 - TINY)
        if batch < placement.max_batch:
            assert evaluate(placement, batch=batch + 1, traffic=traffic).speed[0] < goal


@pytest.mark.thorough
@given(strategies.hardware(), strategies.models(), strategies.engines(), traffics)
def test_a_larger_batch_is_never_faster(chip, model, engine, traffic):
    """What the search for a batch rests on."""
    placement = place(chip, model, engine, traffic)
    batches = np.unique(np.geomspace(1, placement.max_batch, 200).astype(int))
    speed = speeds(placement, traffic, batches)
    assert np.all(np.diff(speed) <= TINY * speed[:-1])


def test_cost_multiples_keep_the_identity():
    """Multiple x ratio of speeds reached = ratio of batches, and infinity beyond reach."""
    found = outcome("gpt-oss-120b", "h100-sxm", batch=(1,))
    place_, traffic = found.placement, found.scenario.traffic
    slow, fast = np.array([30.0, 40.0, 30.0]), np.array([60.0, 100.0, 1e9])
    before, after = (largest_batches(place_, traffic, one) for one in (slow, fast))
    multiples = cost_multiples(partial(speeds, place_, traffic), before, after)
    for index in range(2):
        at = speeds(place_, traffic, [before[index], after[index]])
        assert multiples[index] * at[1] / at[0] == pytest.approx(before[index] / after[index])
    assert multiples[2] == np.inf


def test_speeds_are_those_of_an_estimate():
    for model, chip in (("gpt-oss-120b", "h100-sxm"), ("llama-3.1-70b", "wse-3")):
        found = outcome(model, chip, batch=(1, 2, 8, 16))
        traffic = found.scenario.traffic
        alone = speeds(found.placement, traffic, found.scenario.batches)
        np.testing.assert_array_equal(alone, found.estimate.speed)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=8))
def test_undominated_keeps_what_nothing_beats_and_nothing_else(points):
    gains, costs = zip(*points, strict=True)
    kept = undominated(gain=gains, cost=costs)
    for place_, (gain, cost) in enumerate(points):
        beaten = any(g >= gain and c <= cost and (g, c) != (gain, cost) for g, c in points)
        first = points.index((gain, cost)) == place_
        assert kept[place_] == (first and not beaten)


def test_undominated_leaves_out_what_is_not_known():
    assert undominated(gain=[1.0, np.nan, 2.0], cost=[1.0, 0.5, np.nan]).tolist() == [
        True,
        False,
        False,
    ]


def test_a_difference_of_rounding_is_none():
    """0.1 + 0.2 is 0.30000000000000004: what is slower is no cheaper at 0.3, nor the other way."""
    assert undominated(gain=[2.0, 1.0], cost=[0.1 + 0.2, 0.3]).tolist() == [True, False]
    assert undominated(gain=[0.1 + 0.2, 0.3], cost=[2.0, 1.0]).tolist() == [False, True]
    assert undominated(gain=[1.0, 1.0 - 1e-9], cost=[2.0, 2.0 - 1e-9]).tolist() == [True, True]


def test_a_wafer_whose_price_no_longer_falls_is_on_the_frontier_once():
    """From 32 requests on it serves no more: each is slower, and costs the same but for rounding."""
    wafer = scenario("llama-3.1-8b", "wse-3", pricing=Pricing(user_prices={"wse-3": 1.0}))
    assert len(frontier([wafer], max_chips=1)) == 1


def test_chips_on_which_a_server_only_may_start_are_on_no_frontier():
    """gpt-oss-120b in 93% of two A100 of 40 GB: if vLLM reserves little; on more it surely does."""
    chip = "a100-sxm-40gb"
    asked = scenario("gpt-oss-120b", chip, pricing=Pricing(user_prices={chip: 1.0}))
    tight = limited(asked, "gpu_memory_utilization", 0.93)
    assert frontier([tight], max_chips=2) == []
    assert {point.outcome.placement.layout.chips for point in frontier([asked], max_chips=4)} == {4}
    assert 2 not in {layout.chips for layout in Space(tight).layouts(2, 4, 8)}


def test_chip_counts_hold_both_ends():
    assert chip_counts(1, 1) == [1]
    assert chip_counts(9, 72) == [9, 16, 32, 64, 72]


def test_every_layout_offered_is_legal_and_holds_a_sequence():
    for model, chip in (
        ("deepseek-r1", "gb200"),
        ("llama-3.1-70b", "h100-sxm"),
        ("glm-4.7", "wse-3"),
    ):
        space = Space(scenario(model, chip))
        for chips in (8, 16, 72):
            for layout in space.layouts(chips):
                assert layout.chips == chips
                assert space.at(layout, 1).fits
                assert space.at(layout, 1).placement.layout == layout


def test_replicas_of_a_dense_model_are_not_offered():
    space = Space(scenario("llama-3.1-8b", "h100-sxm"))
    assert {layout.dp for layout in space.layouts(8)} == {1}


def two_memories(slow: str) -> Space:
    """A gigabyte a sequence: nine and the weights in a fast memory, the others in a slow one."""
    memory = [
        {"name": "F", "capacity": "10 GB", "bandwidth": "10 TB/s"},
        {"name": "S", "capacity": slow, "bandwidth": "1 TB/s"},
    ]
    made = made_up.minimal(kv_bytes_per_token=1_000_000)
    traffic = Traffic(900.0, 100.0, 950.0)
    return Space(Scenario(made_up.chip(memory=memory), made, made_up.engine(), (1,), traffic))


def by_hand(batch):
    """A megabyte of weights and 950 MB a sequence; of the caches 9.999 GB are in the fast one.

    One is read after the other.
    """
    near, cache = min(9.999 / batch, 1.0), 950e6 * batch
    return 1.0 / (1e6 / 10e12 + near * cache / 10e12 + (1.0 - near) * cache / 1e12)


def test_batches_are_tried_in_powers_of_two_and_at_their_end():
    """Both memories together serve up to 109 sequences, from ten on not all of them fast."""
    batch, speed = by_octaves(two_memories("100 GB"), [Layout()])
    assert np.unique(batch).tolist() == [1, 2, 4, 8, 16, 32, 64, 109]
    for one, each in zip(batch[0], speed[0], strict=True):
        assert each == pytest.approx(by_hand(one), rel=1e-4)


def test_four_batches_to_an_octave():
    """2^(n/4), rounded, up to 16: 1.19 is 1, 1.41 is 1, 1.68 is 2, and 14 is the largest."""
    _, batch, _ = octaves_of(two_memories("5 GB"), [Layout()], steps=4)
    assert np.unique(batch).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 14]


def test_the_largest_batches_of_two_memories_by_hand():
    """Four get 2,631 a second from the fast one; 20 get 95 with half of their cache in the slow one."""
    space = two_memories("100 GB")
    placement, traffic = space.site.place(Layout()), space.scenario.traffic
    assert by_hand(4) > 2600 > by_hand(5)
    assert by_hand(20) > 95 > by_hand(21)
    assert largest_batches(placement, traffic, [1.0, 95.0, 2600.0, 1e6]).tolist() == [109, 20, 4, 0]
    # A speed that is just met is met.
    exact = speeds(placement, traffic, [1, 3, 9, 10, 109])
    assert largest_batches(placement, traffic, exact).tolist() == [1, 3, 9, 10, 109]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("model", "chip", "host"),
    [
        ("deepseek-r1", "mi300x", "ddr5-2ch-nvme"),
        ("llama-3.1-8b", "wse-3", "ddr5-2ch-nvme"),
        ("gpt-oss-120b", "l4", "grace-480gb"),  # its cores gain on the chip
        ("llama-3.3-70b", "sn40l", "ddr5-2ch-nvme"),
        ("deepseek-r1", "h100-sxm", None),  # stages differ in their types of layers
        ("llama-4-maverick", "a100-sxm-80gb", None),
    ],
)
@pytest.mark.parametrize("drafts", [0.0, 3.0])
def test_users_are_no_faster_than_at_most(model, chip, host, drafts):
    """Where bytes live is searched for, and takes no less than the least that any place takes."""
    traffic = Traffic(1000.0, 1000.0, 1500.0, speculation=Speculation(1.0 + drafts / 2, drafts))
    memory = MemoryChoice(host and ENTRIES.hardware(host))
    space = Space(scenario(model, chip, traffic=traffic, memory=memory))
    layouts = space.layouts(1, 4, 16, 64)[::5]
    placement, batch, _ = octaves_of(space, layouts)
    highest = speeds_at_most(placement, traffic, batch)
    assert np.all(speeds(placement, traffic, batch) <= highest)


@pytest.mark.parametrize("host", [None, "ddr5-2ch"])
@pytest.mark.parametrize("chip", ["mi300x", "wse-3"])
def test_numbers_of_drafts_have_the_speeds_together_that_they_have_alone(chip, host):
    memory = MemoryChoice(None if host is None else ENTRIES.hardware(host))
    space = Space(scenario("deepseek-r1", chip, memory=memory))
    placement, batch, traffic = octaves_of(space, space.up_to(64)[::7])
    drafted = [Speculation(tokens, drafts) for drafts, tokens in ((1.0, 1.92), (3.0, 2.82))]
    traffics = [replace(traffic, speculation=speculation) for speculation in drafted]
    together = all_speeds_at_most([Evaluation(placement, batch, each) for each in traffics])
    for each, found in zip(traffics, together, strict=True):
        assert found == pytest.approx(speeds_at_most(placement, each, batch), rel=1e-12)


def test_batches_that_need_no_host_are_as_fast_among_others():
    space = two_memories("100 GB")
    placement, traffic = space.site.place(Layout()), space.scenario.traffic
    batch = np.arange(1.0, 21.0)
    together = speeds(placement, traffic, batch)
    assert speeds_by_memory(placement, traffic, batch).tolist() == together.tolist()


def test_no_draft_takes_a_user_beyond_the_bound():
    """A token of 0.01 ms is computed 100,000 times a second, however many a pass yields."""
    bound = made_up.engine().model_copy(update={"is_bound": True})
    today = outcome(made_up.minimal(), made_up.clocked(), engine=bound, batch=(1,))
    needed = tokens_needed_per_pass(today, [1.0, 0.2], 150_000.0)
    assert np.isnan(needed[0])
    assert needed[1] == pytest.approx(1.5, rel=1e-4)  # more than that draft yields at all


@pytest.mark.parametrize(
    ("model", "speed"),
    [("gpt-oss-120b", 140.0), ("qwen3-30b-a3b", 110.0), ("llama-3.1-8b", 120.0)],
)
def test_the_cheapest_layout_is_the_cheapest_of_all_batches_that_reach(model, speed):
    space = Space(scenario(model, "h100-sxm"))
    layouts = [layout for chips in (1, 2, 4, 8) for layout in space.layouts(chips)]
    found = cheapest(space, layouts, speed).outcome
    every = [  # of batches that are whole users on each replica
        float(usd)
        for layout in layouts
        for room in [space.site.place(layout).max_batch]
        for solved in [space.at(layout, *range(layout.dp, room + 1, layout.dp))]
        for usd, reached in zip(solved.usd[1], solved.estimate.speed, strict=True)
        if reached >= speed
    ]
    assert float(found.usd[1][0]) == pytest.approx(min(every), rel=1e-12)


def test_an_uneven_pipeline_takes_the_cheaper_of_its_batches():
    """With 14 stages of two replicas, a batch of 28 yields less than one of 27.

    A card of 98 GiB holds weights of 98.4 GB and a few caches.
    """
    larger = change("rtx-pro-6000:memory.GDDR7.capacity=98GiB")
    card = Catalogue({}, (larger,)).hardware("rtx-pro-6000")
    pricing = Pricing(user_prices={"rtx-pro-6000": 1.0})
    engine = ENTRIES.engine("llama-cpp")
    parameters = engine.parameters.model_copy(update={"micro_batches": None})
    changes = {"split_modes": [], "parameters": parameters, "program": "made-up", "refused": []}
    engine = engine.model_copy(update=changes)
    one = scenario("frontier-5t", "rtx-pro-6000", pricing=pricing, engine=engine)
    space = Space(replace(one, hardware=card))
    layout = Layout(tp=2, pp=14, ep=4, dp=2)
    most = space.site.place(layout).max_batch
    solved = space.at(layout, *range(1, most + 1))
    for batch in (8, 27, 28, 29, 60):
        goal = float(solved.estimate.speed[batch - 1])
        reach = solved.estimate.speed >= goal
        found = cheapest(space, [layout], goal).outcome
        assert float(found.usd[1][0]) == pytest.approx(min(solved.usd[1][reach]), rel=1e-12)


@pytest.mark.thorough
@given(
    strategies.hardware(),
    strategies.models(),
    strategies.engines(),
    traffics,
    st.floats(0.01, 1.0),
    st.floats(1.0, 5.0),
)
def test_more_speed_never_costs_less(chip, model, engine, traffic, share, speedup):
    space = Space(Scenario(chip, model, engine, (1,), traffic))
    assume(space.fewest_chips is not None and space.fewest_chips <= 64)
    layouts = space.layouts(space.fewest_chips)
    alone = cheapest(space, layouts, inf).fastest
    slow, fast = (
        cheapest(space, layouts, alone * share * times).outcome for times in (1.0, speedup)
    )
    assert slow is not None
    if fast is not None:
        assert slow.usd[1][0] <= fast.usd[1][0] * (1 + TINY)
        assert fast.estimate.fits[0]


def test_a_speed_above_the_bound_says_so():
    space = Space(scenario("gpt-oss-120b", "h200-sxm"))
    found = cheapest(space, space.layouts(1), 1e6)
    assert found.outcome is None
    alone = space.at(space.layouts(1)[0], 1).estimate
    assert found.bound == pytest.approx(float(alone.bound[0]))
    assert found.fastest == pytest.approx(float(alone.speed[0]))


def test_the_bound_of_a_chip_with_two_memories_is_of_both():
    """As `compare` has it, where most of the weights live in the slower one."""
    space = Space(scenario("llama-3.1-70b", "d-matrix-corsair"))
    (layout,) = space.layouts(1)
    found = cheapest(space, [layout], 1e6)
    assert found.bound == pytest.approx(float(space.at(layout, 1).estimate.bound[0]))


@pytest.mark.thorough
@given(st.integers(1, 6), st.floats(1.05, 4.0))
def test_tokens_needed_per_pass_give_the_speed(drafts, speedup):
    today = outcome("gpt-oss-120b", "h100-sxm", batch=(8,))
    goal = float(today.estimate.speed[0]) * speedup
    tokens = float(tokens_needed_per_pass(today, drafts, goal)[0])
    assume(tokens <= drafts + 1)
    spoken = replace(today.scenario.traffic, speculation=Speculation(tokens, float(drafts)))
    given_ = solve(replace(today.scenario, traffic=spoken))
    assert given_.estimate.speed[0] >= goal * (1 - 1e-6)


def test_the_frontier_has_no_dominated_point():
    chips = ("h100-sxm", "gb200", "wse-3")
    points = frontier([scenario("gpt-oss-120b", chip) for chip in chips], max_chips=16)
    assert len(points) > 5
    values = [(point.speed, point.usd) for point in points]
    assert values == sorted(values)
    assert all(faster[1] > slower[1] for slower, faster in itertools.pairwise(values))
    for point in points:
        assert point.outcome.estimate.fits[point.index]
        assert point.outcome.placement.layout.chips <= 16


def test_nothing_tried_beats_the_frontier():
    one = scenario("gpt-oss-120b", "h100-sxm")
    points = frontier([one], max_chips=8)
    space = Space(one)
    for chips in (1, 2, 4, 8):
        for layout in space.layouts(chips):
            most = space.site.place(layout).max_batch
            batches = [batch for batch in (1, 2, 4, 8, 16, 32, 64) if batch <= most]
            solved = space.at(layout, *batches)
            for speed, usd in zip(solved.estimate.speed, solved.usd[1], strict=True):
                beaten = [
                    point
                    for point in points
                    if speed >= point.speed * (1 + TINY) and usd <= point.usd * (1 - TINY)
                ]
                assert not beaten
                assert any(
                    point.speed >= speed * (1 - TINY) and point.usd <= usd * (1 + TINY)
                    for point in points
                )


def test_hours_that_are_half_idle_are_on_no_frontier():
    """The same chips at twice the price."""
    one = scenario("llama-3.1-8b", "h100-sxm")
    half = replace(one, pricing=replace(one.pricing, utilization=0.5))
    assert {
        point.outcome.scenario.pricing.utilization for point in frontier([half, one], max_chips=1)
    } == {1.0}


def test_what_has_no_place_or_price_is_refused_with_a_reason():
    groups = [
        scenario("gpt-oss-120b", "groq-lpu"),
        scenario("deepseek-r1", "h100-sxm"),
        scenario("llama-2-7b", "h100-sxm", traffic=Traffic(9000.0, 1000.0, 9500.0)),
        scenario("gpt-oss-120b", "h100-sxm"),
    ]
    allowed, refused = placeable(groups, 8)
    assert [one.model.id for one in allowed] == ["gpt-oss-120b"]
    for told, words in zip(
        refused, ("no cloud price", "needs 16 chips", "exceeds the"), strict=True
    ):
        assert words in told


def six_heads(experts, **chip):
    """Two layers of six heads and some experts, on H100s that may differ."""
    blocks = [
        {
            "count": 2,
            "attention": {"kind": "gqa", "heads": 6, "kv_heads": 6, "head_dim": 64},
            "ffn": {"kind": "moe", "experts": experts, "active_experts": 2, "width": 512},
        }
    ]
    entry = {"id": "six-heads", "name": "Six", "weight_format": "bf16", "hidden_size": 384}
    model = Model.model_validate({**entry, "vocabulary": 1000, "blocks": blocks})
    hardware = ENTRIES.hardware("h100-sxm").changed(**chip)
    return Space(replace(scenario("gpt-oss-120b", "h100-sxm"), model=model, hardware=hardware))


def test_wafers_are_taken_in_any_number_up_to_64_and_then_in_steps_of_a_32nd():
    """Twice as many as any up to 64: of 65 to 100 every second. Its 126 layers allow them all."""
    space = Space(scenario("llama-3.1-405b", "wse-3"))
    chips = [layout.chips for layout in space.up_to(100)]
    assert chips == [*range(chips[0], 65), *range(66, 101, 2)]


def test_layouts_are_those_of_one_copy_that_people_run():
    """Six heads are cut over one chip or two; four experts over 4 ranks at most."""
    space = six_heads(experts=4)
    assert set(space.layouts(2)) == {Layout(2), Layout(2, ep=2), Layout(ep=2, dp=2)}
    assert set(space.layouts(4)) == {Layout(2, ep=4, dp=2), Layout(ep=4, dp=4)}
    # Two stages of a layer each, of as many ranks as there are; three of neither.
    assert set(space.layouts(8)) == {Layout(2, 2, 4, 2), Layout(1, 2, 4, 4)}
    assert [space.layouts(chips) for chips in (3, 5, 6, 12)] == [[]] * 4
    bus = Space(replace(space.scenario, hardware=ENTRIES.hardware("l40s")))
    assert Layout(pp=2) in bus.layouts(2)  # over PCIe


def test_experts_are_divided_evenly_or_not_at_all():
    """Six are three for each of two ranks, and for four ranks one and a half."""
    space = six_heads(experts=6)
    assert set(space.layouts(2)) == {Layout(2), Layout(2, ep=2), Layout(ep=2, dp=2)}
    assert set(space.layouts(4)) == {Layout(2, 2), Layout(2, 2, 2), Layout(1, 2, 2, 2)}


@pytest.mark.parametrize(("experts", "is_whole"), [(5, False), (6, True), (7, True)])
def test_a_rack_is_run_whole_where_each_chip_has_an_expert(experts, is_whole):
    """Six chips that a fast link joins: copies of some experts make seven even."""
    links = {"scale_up": {"bandwidth": "100 GB/s", "domain": 6}}
    space = six_heads(experts, links=links)
    assert (set(space.layouts(6)) == {Layout(2, 1, 6, 3), Layout(1, 1, 6, 6)}) == is_whole
