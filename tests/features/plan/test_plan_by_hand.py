"""What a plan asks for, worked by hand on the made-up machine of `tests.made_up.clocked`.

A pass that decodes b sequences takes 10 + 0.01 b ms, one with c prompt tokens 20 + 0.01 (b + c) ms.
"""

import math

import numpy as np
import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.practice import usual_layouts
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.plan.cheapest_plans import decide
from fastcalc.features.plan.decision import plan_of
from fastcalc.features.plan.pools import undominated_pools
from fastcalc.features.plan.queues import Queues, Slots, needed, needed_of_all
from fastcalc.features.plan.refine import gaps_of
from fastcalc.features.plan.score import score
from fastcalc.features.plan.service import Service
from fastcalc.grid.grid import Grid, Requests
from tests import made_up

NEARLY = 1e-5
WITH_EXCHANGES = 1e-4  # experts that exchange tokens send some microseconds that no hand adds


def grid(*layouts, batches=(100,), prompt=1000.0, output=1000.0, chip=None, hit=0.0, **given):
    scenario = Scenario(
        hardware=chip or made_up.clocked(),
        **{"model": made_up.minimal(), "engine": made_up.CLOCK, **given},
        batches=(1,),
        traffic=Traffic(1.0, 1.0, 1.0, hit),
    )
    kinds = Requests(*np.array([[prompt], [output], [prompt + output / 2]]))
    return Grid(scenario, layouts or (Layout(),), kinds, np.array(batches, dtype=float))


def scored(one, **asked):
    kinds = one.requests
    return score(one, Service(float(kinds.prompt[0]), float(kinds.output[0]), **asked))


def test_what_just_meets_its_limits_is_in_time():
    """TTFT and TPOT exactly at their limits, and each a millionth over one of them."""
    batches = (10, 100, 1000)
    (found,) = [one for one in scored(grid(batches=batches), rate=20.0) if not one.pools]
    for at in range(len(batches)):
        exact = {name: float(found.values[name][at]) for name in ("ttft", "tpot")}
        for name, is_in_time in ((None, True), ("ttft", False), ("tpot", False)):
            limits = exact | ({name: exact[name] * (1.0 - 1e-6)} if name else {})
            (one,) = [
                one for one in scored(grid(batches=batches), rate=20.0, **limits) if not one.pools
            ]
            assert bool(one.is_in_time[at]) is is_in_time


def test_a_replica_carries_its_batch_over_its_run():
    """1,000 x 11 + 100 x 20 ms for 100 requests are 130 ms each: 20 a second are 2.6 replicas."""
    (found,) = [one for one in scored(grid(), rate=20.0) if not one.pools]
    assert found.seconds[0] == pytest.approx(0.13, rel=NEARLY)
    assert found.replicas[0] == 3
    assert found.busy[0] == pytest.approx(2.6 / 3, rel=NEARLY)
    assert found.values["chips"][0] == 3
    assert found.cost[0] == pytest.approx(3 * 3.6)
    assert found.values["ttft"][0] == pytest.approx(5e-3 + 5.5e-3 + 30.99e-3, rel=NEARLY)
    assert found.values["tpot"][0] == pytest.approx(12.98e-3, rel=NEARLY)


@pytest.mark.parametrize(
    "asked",
    [
        {"rate": 20.0},
        {"rate": 200.0, "utilization": 0.7, "objective": "watts"},
        {"rate": 200.0, "share": 0.9, "ttft": 2.0, "tpot": 0.05},
        {"rate": 20.0, "objective": "chips", "tpot": 0.014},
        {"objective": "watts", "tpot": 0.02},
        {"share": 0.9, "ttft": 1.0},
        {"is_fleet": True, "max_chips": 4},
    ],
)
def test_no_batch_in_a_gap_costs_less_than_the_bound_of_the_gap(asked):
    """Each of the batches between four that are tried, on one chip and on a pipeline of two."""
    layouts = Layout(), Layout(pp=2)
    coarse = scored(grid(*layouts, batches=(4, 30, 200, 1500)), **asked)
    fine = scored(grid(*layouts, batches=range(4, 1501, 4)), **asked)
    gaps = gaps_of(coarse)
    assert len(gaps) >= len(layouts)
    for group in fine:
        cost = np.where(group.is_in_time, group.cost, np.inf)
        for bound, layout, low, high, is_disaggregated in zip(
            gaps.bound, gaps.layout, gaps.low, gaps.high, gaps.is_disaggregated, strict=True
        ):
            inside = (group.layout == layout) & (group.batch > low) & (group.batch < high)
            if is_disaggregated == bool(group.pools):
                assert np.all(cost[inside] >= bound * (1.0 - 1e-6))


@pytest.mark.parametrize(
    ("asked", "paid"),
    [
        # Of a rate the replicas say how idle each is, and of a fleet the chips that are owned.
        ({"rate": 20.0}, 1.0),
        ({"is_fleet": True, "utilization": 0.7}, 1.0),
        ({"utilization": 0.7}, 0.7),
    ],
)
def test_tokens_pay_for_the_time_that_a_replica_is_idle_where_nothing_else_does(asked, paid):
    assert plan_of(scored(grid(), **asked)[0], 0).scenario.pricing.utilization == paid


@pytest.mark.parametrize(
    ("objective", "rate", "by_hand"),
    [
        ("usd", 20.0, 3 * 3.6),
        ("watts", 20.0, 3 * 1000 * 2.17),
        ("chips", 20.0, 3),
        ("chips", None, 1),
        # 3.60 USD in 3,600 s and 130 ms for 2,000 tokens: 65 USD for 10^9 of them.
        ("usd", None, 0.13 * 0.001 / 2000 * 1e6),
        # 2,170 W for 130 ms and 1,000 tokens.
        ("watts", None, 2170 * 0.13 / 1000),
    ],
)
def test_what_is_to_be_least(objective, rate, by_hand):
    found = scored(grid(), rate=rate, objective=objective)[0]
    assert found.cost[0] == pytest.approx(by_hand, rel=NEARLY)


@pytest.mark.parametrize(
    ("rate", "seconds", "utilization", "replicas", "busy"),
    [
        # Just what one, two and three carry.
        (10.0, 0.1, 1.0, 1, 1.0),
        (4.0, 0.5, 1.0, 2, 1.0),
        (30.0, 0.1, 1.0, 3, 1.0),
        # 2.1 replicas are three of 0.7.
        (21.0, 0.1, 1.0, 3, 0.7),
        # Given to do seven tenths: 2.1 / 0.7 are three.
        (21.0, 0.1, 0.7, 3, 0.7),
        (21.1, 0.1, 0.7, 4, 2.11 / 4),
        # One at least.
        (0.1, 0.1, 1.0, 1, 0.01),
        # Without a rate one, as busy as it may be.
        (None, 0.1, 0.7, 1, 0.7),
    ],
)
def test_replicas_for_a_rate(rate, seconds, utilization, replicas, busy):
    service = Service(1.0, 1.0, rate=rate, utilization=utilization)
    count, share, waits, _ = needed(service, np.array([seconds]), np.array([0.0]), None)
    assert count[0] == replicas
    assert share[0] == pytest.approx(busy)
    assert waits == 0.0


def test_queues_are_sized_together_as_alone():
    """Slots that are held as long with few in flight are as busy as they are used."""
    slots = Slots(0.9)
    counts = np.array([2.0, 40.0, 300.0])
    shared = {"slots": slots, "kind": slots.kinds(counts), "holds": np.array([1.0, 2.0, 3.0])}
    of_slots = Queues(0.9, 0.0, 0.0, **shared)
    as_array = Queues(0.9, np.zeros(3), np.zeros(3), **shared, alone=np.ones(3))
    with_prompts = Queues(0.9, np.full(3, 0.01), np.full(3, 0.2), **shared, alone=np.full(3, 0.8))
    service = Service(1000.0, 100.0, ttft=0.8, rate=7.0, utilization=0.9, share=0.9)
    seconds, ttft = np.array([0.5, 0.05, 0.01]), np.array([[0.3, 0.5, 0.9], [0.1, 0.2, 0.7]])
    asked = [(service, seconds, ttft, queues) for queues in (of_slots, with_prompts, as_array)]
    sizings = needed_of_all(asked)
    for one, sizing in zip(asked, sizings, strict=True):
        assert all(map(np.array_equal, sizing, needed(*one)))
    assert all(map(np.array_equal, sizings[0], sizings[2]))
    assert (sizings[1].waits >= sizings[0].waits).any()


def test_half_of_the_time_that_is_left_is_for_one_of_two_queues():
    """A queue whose wait is allowed the whole or half of 1 s less 0.6 s to the first token."""
    queues = Queues(0.9, np.array([0.1]), 1.0)
    service = Service(1.0, 1.0, ttft=1.0, share=0.9)
    for part in (1.0, 0.5):
        _, busy, waits, _ = needed(service, np.array([0.1]), np.array([0.6]), queues, part=part)
        assert busy[0] == pytest.approx(queues.most(np.array([0.4 * part]))[0])
        assert waits[0] == queues.wait(busy)[0] == pytest.approx(0.4 * part, rel=1e-3)
    # What is late already is given a tenth of its own time.
    _, late, *_ = needed(service, np.array([0.1]), np.array([2.0]), queues)
    assert queues.wait(late)[0] == pytest.approx(0.2, rel=1e-3)


IN_ONE_DOMAIN = made_up.clocked(
    links={
        "scale_up": {"bandwidth": "10 GB/s", "domain": 8},
        "scale_out": {"bandwidth": "10 GB/s", "latency": "100 us"},
    }
)
MIXTURE = made_up.minimal(
    total_parameters=10_500_000, active_parameters=2_500_000, experts=10, active_experts=2
)
"""0.01 ms of dense matrices a token, and 0.01 ms of experts on each of four ranks."""


@pytest.mark.parametrize(
    ("output", "run"),
    [
        # A step is 10 + 0.01 + 4 x 0.01; a prompt on each of four replicas makes it
        # 20 + 0.05 + 10 + 4 x 10 = 70.05, once in a run of so many steps.
        (1000.0, 1000 * 10.05 + 60),
        (20.0, 20 * 10.05 + 60),
        # Requests come faster than one prompt after another: the others' meet it always.
        (10.0, 10 * 10.05 + 60),
    ],
)
def test_prompts_of_other_replicas_meet_in_a_pass(output, run):
    """Alone the first token takes 5 + half a step + 20 + 0.03 + 10 + 10 = 50.055.

    Another's prompt is in the same pass as often as 50.055 ms are of a request's share of a run,
    and three of four requests are on another replica.
    """
    alone, mixed = 50.055, 70.05
    meets = min(alone * 4 / run, 1.0) * 3 / 4
    one = grid(Layout(ep=4, dp=4), batches=(4,), output=output, chip=IN_ONE_DOMAIN, model=MIXTURE)
    found = scored(one, rate=1.0)[0]
    by_hand = alone + meets * (mixed - alone)
    assert found.values["ttft"][0] * 1e3 == pytest.approx(by_hand, rel=WITH_EXCHANGES)


def test_prompts_in_several_chunks_meet_others_in_each():
    """1,500 tokens are two passes of 750: 5 + 5.025 + 2 x (20 + 0.03 + 15).

    With all four in them: T(1,000) = 70.05 for 1.5 lumps in a run, but two passes for a prompt.
    """
    alone, output = 10.025 + 2 * 35.03, 10.0
    run = 10 * 10.05 + 1.5 * 60
    one = grid(
        Layout(ep=4, dp=4),
        batches=(4,),
        prompt=1500.0,
        output=output,
        chip=IN_ONE_DOMAIN,
        model=MIXTURE,
    )
    found = scored(one, rate=1.0)[0]
    by_hand = alone + min(alone * 4 / run, 1.0) * 3 / 4 * (2 * 70.05 - alone)
    assert found.values["ttft"][0] * 1e3 == pytest.approx(by_hand, rel=WITH_EXCHANGES)


def test_one_replica_meets_nobody():
    """Four ranks that share all: what a step of compare says."""
    found = scored(grid(Layout(pp=2), batches=(100,), output=10.0), rate=1.0)[0]
    assert found.values["ttft"][0] * 1e3 == pytest.approx(5 + 5.3 + 30.59, rel=NEARLY)


def test_replicas_that_share_no_experts_do_not_wait_for_each_other():
    """Half of 10.5, and a pass with 49 others: a pass with both prompts takes 30.5."""
    found = scored(grid(Layout(dp=2)), rate=1.0)[0]
    assert found.values["ttft"][0] * 1e3 == pytest.approx(5 + 5.25 + 30.49, rel=NEARLY)


@pytest.mark.parametrize(
    ("batch", "output", "ttft", "run", "prompts", "step"),
    [
        # 1,000 steps of 11 and 100 prompts that add 20; 99 of 100 prompts are of others.
        (100, 1000.0, 41.49, 13_000.0, 2000.0, 11.0),
        # Alone nobody's prompt comes before: 1,000 x 10.01 and one prompt that adds 20.
        (1, 1000.0, 35.0, 10_030.0, 20.0, 0.0),
        # Ten steps of 10.02 and two prompts that add 20, one of them one's own.
        (2, 10.0, 40.02, 140.2, 40.0, 10.02),
    ],
)
def test_who_waits_for_prompts_and_for_a_slot(batch, output, ttft, run, prompts, step):
    """At half of its rate each replica makes nine of ten wait no longer than both queues say.

    And than what is left of a step, half of which is in the time without waiting.
    """
    rate = 0.5 * batch / run * 1e3
    found = scored(grid(batches=(batch,), output=output), rate=rate, share=0.9, ttft=1e6)[0]
    assert found.busy[0] == pytest.approx(0.5, rel=NEARLY)
    slots = Slots(0.9)
    queues = Queues(
        0.9,
        np.array([prompts / batch * (batch - 1) / batch / 1e3]),
        prompts / run,
        slots=slots,
        kind=slots.kinds(np.array([float(batch)])),
        holds=run / 1e3,
        step=step / 1e3,
        alone=1.0 - prompts / run * (1.0 - 1.0 / batch),
    )
    by_hand = ttft / 1e3 + queues.wait(np.array([0.5]))[0]
    assert found.values["ttft"][0] == pytest.approx(by_hand, rel=1e-4)


CACHED = made_up.minimal(kv_bytes_per_token=10_000_000)
"""10 MB a token: 1,000 tokens are 10 GB, a second at 10 GB/s."""

ROOMY_MEMORY = [{"name": "M", "capacity": "1000000 GB", "bandwidth": "100000000 TB/s"}]
ROOMY = made_up.clocked(memory=ROOMY_MEMORY)


@pytest.mark.parametrize(
    ("layout", "seconds", "sent", "received"),
    [
        # A request takes the replica for its decoding, 1,000 x 11 ms / 100, but its cache takes
        # the link for a second.
        (Layout(), 1.0, 1.0, 1.0),
        # Two stages send and receive half each, at once.
        (Layout(pp=2), 0.5, 0.5, 0.5),
        # Two replicas receive two caches at once.
        (Layout(dp=2), 0.5, 1.0, 1.0),
    ],
)
def test_prompts_apart_wait_for_their_caches(layout, seconds, sent, received):
    """Both ends are of one layout: its prompt alone, then its cache over the slower link."""
    one = grid(layout, batches=(1, 100), chip=ROOMY, model=CACHED)
    (apart,) = [part for part in scored(one, rate=3.0) if part.pools]
    for pool, places in apart.by_pool(np.arange(len(apart.batch))):
        assert pool.kv_transfer_s == pytest.approx(sent)
        alone = 0.035 + (layout.pp - 1) * 0.0001
        assert pool.seconds == pytest.approx(alone, rel=NEARLY)
        assert pool.replicas == math.ceil(3 * sent)
        assert pool.chips == pool.replicas * layout.chips
        last = places[-1]
        assert apart.seconds[last] == pytest.approx(seconds)
        assert apart.replicas[last] == math.ceil(3 * seconds)
        chips = layout.chips * (math.ceil(3 * seconds) + pool.replicas)
        assert apart.values["chips"][last] == chips
        ttft = alone + max(sent, received)
        assert apart.values["ttft"][last] == pytest.approx(ttft, rel=NEARLY)
        decode = {1: 11.0, 2: 10.6 if layout.pp == 2 else 10.5}[layout.chips]
        assert apart.values["tpot"][last] * 1e3 == pytest.approx(decode, rel=NEARLY)


def test_prompt_replicas_take_in_what_is_not_cached_and_send_all():
    """Half of 1,000 tokens: 5 + 20 + 5 ms alone, and 10 GB to send; a second, as without."""
    one = grid(batches=(1, 100), chip=ROOMY, model=CACHED, hit=0.5)
    (apart,) = [part for part in scored(one, rate=3.0) if part.pools]
    for pool in apart.pools:
        assert pool.seconds == pytest.approx(0.030, rel=NEARLY)
        assert pool.kv_transfer_s == pytest.approx(1.0)
    # A link that sends it in 10 ms leaves the prompts: 100 a second of 30 ms keep three busy.
    links = {"scale_out": {"bandwidth": "1 TB/s", "latency": "100 us"}}
    on = made_up.clocked(memory=ROOMY_MEMORY, links=links)
    quick = grid(batches=(1, 100), chip=on, model=CACHED, hit=0.5)
    (apart,) = [part for part in scored(quick, rate=99.0) if part.pools]
    assert [pool.replicas for pool in apart.pools] == [3]


def test_a_prefix_is_loaded_before_prompts_that_meet():
    """500 of 1,000 tokens are 5 GB over a link of 10 GB/s, whoever else takes in a prompt.

    Alone 5 + 5.025 + 20 + 0.03 + 5 + 5 ms and 500 of loading; with those of all four in the pass
    20 + 0.05 + 5 + 4 x 5 ms, of which 10.05 decode.
    """
    memory = memory_choice(Catalogue(), "dram=1TB@1TB/s,link=10GB/s", prefix_tier="host")
    on = ROOMY.model_copy(update={"links": IN_ONE_DOMAIN.links})
    model = MIXTURE.model_copy(update={"kv_bytes_per_token": CACHED.kv_bytes_per_token})
    layout, given = Layout(ep=4, dp=4), {"chip": on, "model": model, "memory": memory}
    found = scored(grid(layout, batches=(4,), hit=0.5, **given), rate=1.0)[0]
    alone, mixed, run = 540.055, 545.05, 1000 * 10.05 + 35
    by_hand = alone + min(alone * 4 / run, 1.0) * 3 / 4 * (mixed - alone)
    assert found.values["ttft"][0] * 1e3 == pytest.approx(by_hand, rel=NEARLY)


def test_the_closest_miss_is_the_one_that_misses_least():
    """Tokens in 1 ms: one chip takes 10.01, two stages 10.11, four 10.31, whatever comes first."""
    service = Service(1000.0, 1000.0, tpot=1e-3)
    grids = [grid(Layout(pp=stages), batches=(1,)) for stages in (2, 1, 4)]
    for order in (grids, grids[::-1], grids[1:] + grids[:1]):
        found = decide(order, service)
        assert not found.plans
        closest = found.closest["made-up-chip"]
        assert closest.layout == Layout()
        assert closest.misses["tpot"] == pytest.approx(10.01, rel=NEARLY)
        assert found.relaxed == {"tpot": pytest.approx(10.01e-3, rel=NEARLY)}


def test_within_a_grid_the_closest_misses_least_too():
    """Batches of 1 and 100 take 10.01 and 11 ms."""
    service = Service(1000.0, 1.0, tpot=1e-3)
    found = decide([grid(Layout(), Layout(pp=2), batches=(1, 100), output=1.0)], service)
    closest = found.closest["made-up-chip"]
    assert (closest.layout, closest.batch) == (Layout(), 1.0)


def test_the_nearest_of_all_chips_misses_least():
    """A chip of half the rate takes 10.02 ms for a token, and is the closest of its kind alone."""
    slow = made_up.clocked(id="slow-chip", peak={"bf16": "0.05 TFLOP/s"})
    service = Service(1000.0, 1000.0, tpot=1e-3)
    grids = [grid(batches=(1,), chip=chip) for chip in (slow, made_up.clocked())]
    for order in (grids, grids[::-1]):
        found = decide(order, service)
        assert set(found.closest) == {"slow-chip", "made-up-chip"}
        assert found.nearest.scenario.hardware.id == "made-up-chip"


def test_who_misses_by_less_than_twice_is_near():
    """10.01 ms are near a limit of 6, not of 5."""
    for limit, is_near in ((6e-3, True), (5e-3, False)):
        found = decide([grid(batches=(1,))], Service(1000.0, 1000.0, tpot=limit))
        assert (found.near is not None) == is_near


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        # One chip, one sequence: 35 to the first token, 10.01 between two.
        ({"ttft": 34e-3}, "ttft"),
        ({"tpot": 10e-3}, "tpot"),
        ({"max_chips": 0.5}, "chips"),
        ({"ttft": 34e-3, "tpot": 10e-3}, "several"),
    ],
)
def test_what_misses_one_limit_is_counted_there_and_what_misses_more_apart(limits, reason):
    found = decide([grid(batches=(1,))], Service(1000.0, 1000.0, **limits))
    assert set(+found.reasons) - {"unfit"} == {reason}
    assert found.reasons.total() == found.candidates
    assert not found.plans


def test_what_has_no_price_is_counted_and_named():
    """Of two chips one has no price; of the other one point is the plan."""
    unpriced = made_up.clocked(id="unpriced", price={})
    grids = [grid(batches=(1,), chip=unpriced), grid(batches=(1,))]
    found = decide(grids, Service(1000.0, 1000.0))
    assert found.reasons["unknown"] == found.unknown["unpriced"] > 0
    assert found.reasons.total() + len(found.plans) == found.candidates


def test_batches_between_those_tried_first_are_tried():
    """Only batches of 1 and 100 are given, and 20 requests a second with 12 ms between tokens.

    Batch b takes 9.98 + 0.03 b ms: 67 are within 12 ms, and 100 are not. A request takes
    30 + 10,000 / b ms, which asks 0.6 + 200 / b replicas: four from batch 59 on. With prompts
    apart it takes 10 + 0.01 b ms, so 200 are within; 0.2 + 200 / b replicas are two from batch
    112 on, and one takes in prompts of 35 ms.
    """
    service = Service(1000.0, 1000.0, tpot=12e-3, rate=20.0)
    apart, together = decide([grid(batches=(1, 100))], service).plans
    assert (apart.prefill_replicas, apart.replicas, apart.batch) == (1, 2, 112)
    assert (together.prefill_replicas, together.replicas, together.batch) == (0, 4, 59)


def test_a_limit_that_is_just_met_is_met():
    """One chip of at most one."""
    assert decide([grid(batches=(1,))], Service(1000.0, 1000.0, max_chips=1)).plans


def test_the_engine_holds_its_sequences_on_each_replica():
    """A hundred are 50 on each of two replicas, which hold 50; on one they are too many."""
    few = made_up.engine(max_sequences=50)
    found = scored(grid(Layout(), Layout(dp=2), batches=(50, 100), engine=few))[0]
    assert list(zip(found.layout, found.batch, strict=True)) == [(0, 50), (1, 50), (1, 100)]
    assert found.unfit == 1


def test_stages_are_of_whole_nodes():
    """Ten layers on eight linked chips: groups inside them, then up to ten stages of all eight."""
    found = usual_layouts(made_up.site(made_up.minimal()))
    stages = [Layout(8, pp) for pp in range(1, 11)]
    assert found == [Layout(), Layout(2), Layout(4), *stages]


def test_of_one_cost_the_fewest_chips_and_then_the_smallest_batch_win():
    """A request in 20 s is one replica at any batch; and chips that are free cost the same."""
    service = Service(1000.0, 1000.0, rate=0.05)
    found = decide([grid(batches=(1, 10, 100))], service)
    assert found.plans[0].batch == 1.0
    free = Pricing(user_prices={"made-up-chip": 0.0})
    grids = [grid(Layout(pp=2), Layout(), batches=(1,), pricing=free)]
    assert decide(grids, service).plans[0].layout == Layout()


def test_a_month_has_730_hours():
    plan = decide([grid()], Service(1000.0, 1000.0, rate=20.0)).plans[0]
    assert plan.usd_per_hour == pytest.approx(3.6 * plan.values["chips"])
    assert plan.usd_per_month == pytest.approx(3.6 * plan.values["chips"] * 730)


def test_idle_time_that_a_wait_asks_for_is_paid():
    """Without a rate a million tokens cost what they do at that utilization."""
    found = scored(grid(), ttft=0.5, share=0.99)[0]
    assert 0.0 < found.busy[0] < 1.0
    assert found.cost[0] == pytest.approx(0.13 * 0.001 / 2000 * 1e6 / found.busy[0], rel=NEARLY)


@pytest.mark.parametrize(
    ("limits", "is_tried"),
    [
        ({}, True),
        ({"max_chips": 2}, True),
        ({"max_chips": 1}, False),
        # A month of 730 hours at 3.60 USD/h, and 2,170 W of a chip with host and cooling.
        ({"budget": 2 * 3.6 * 730}, True),
        ({"budget": 2 * 3.6 * 730 - 1}, False),
        ({"power": 2 * 2170.0}, True),
        ({"power": 2 * 2170.0 - 1}, False),
    ],
)
def test_prefill_on_other_chips_takes_two(limits, is_tried):
    found = scored(grid(batches=(1, 100)), **({"rate": 1.0} | limits))
    apart = [part for part in found if part.pools]
    assert bool(apart) is is_tried
    assert all(2 in part.values["chips"] for part in apart)


@pytest.mark.parametrize(
    ("burdens", "kept"),
    [
        ([[4, 2, 8], [1, 3, 9]], "ab"),
        ([[4, 4, 2, 2], [1, 1, 1, 1]], "c"),
        ([[4, 2], [1, 1], [8, 9]], "ab"),
        ([[4, 2], [1, 1], [9, 9], [-9, -9]], "b"),
        ([[4, 2], [1, 1], [8, 9], [-8, -9]], "ab"),
        ([[], []], ""),
    ],
)
def test_a_prefill_pool_that_another_matches_in_everything_is_left_out(burdens, kept):
    """Of equal ones the first stays; what counts against both ways has to be equal."""
    pools = "abcd"[: len(burdens[0])]
    assert "".join(undominated_pools(pools, *burdens)) == kept


@pytest.mark.parametrize(
    ("asked", "paid", "busy"),
    [
        ({}, 0.7, 0.7),
        ({"rate": 5.0}, 1.0, 5 * (10.91 + 91 * 0.02) / 91),
        ({"is_fleet": True, "max_chips": 1.0}, 1.0, 0.7),
    ],
)
def test_without_a_rate_tokens_pay_for_what_must_stay_idle(asked, paid, busy):
    """A run of 100 takes 130 ms for each, and of 91, the fewest that 70% of a replica serve, 140."""
    found = decide([grid()], Service(1000.0, 1000.0, utilization=0.7, **asked))
    (plan,) = found.plans
    assert plan.scenario.pricing.utilization == paid
    assert plan.busy == pytest.approx(busy, rel=1e-3)
