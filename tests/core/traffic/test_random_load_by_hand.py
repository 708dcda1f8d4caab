"""What a replica under random load is made of, worked by hand on `tests.made_up.clocked`.

A pass that decodes n sequences takes 10 + 0.01 n ms, one with c prompt tokens 20 + 0.01 (n + c) ms,
in chunks of 1,000 tokens; a request takes 5 ms besides.
"""

from dataclasses import fields, replace
from statistics import NormalDist

import numpy as np
import pytest

from fastcalc.core.load import RandomLoad, _EachPrompt
from fastcalc.core.placement.layout import Layout
from fastcalc.core.traffic.mix import Mix
from fastcalc.core.traffic.prefill_queue import PrefillQueue, _stationary
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.core.traffic.waits import Waits
from fastcalc.formulas.in_flight import clustered_spread
from fastcalc.formulas.load import slot_wait_regularity, variance_in_window
from tests import made_up
from tests.helpers import every, outcome

IDLE = 1e-9  # requests a second that meet nobody
LONG, SHORT, EVEN = (1, 2500, 200), (1, 200, 100), (1, 1000, 200)
TINY = (1, 1, 1e6)  # a prompt of one pass in a million
MIXED = [(0.5, 200, 100), (0.5, 2500, 200)]
MS = 1e-3


def load(kinds, slots=4, rate=IDLE):
    return made_up.random_load(kinds, slots, rate)


def test_a_request_holds_a_slot_for_its_own_passes_and_those_of_others():
    """Of 200 passes of n requests n take in a prompt: n (20 + 0.01 (n + 1,000)), the others 10."""
    by_hand = [n * (30 + 0.01 * n) + (200 - n) * (10 + 0.01 * n) for n in (1, 2, 3, 4)]
    found = load([EVEN])
    assert found._any_rate.holds == pytest.approx(np.array(by_hand) * MS)
    assert found._rates == pytest.approx(np.array([1, 2, 3, 4]) / np.array(by_hand) / MS)
    assert found.capacity == found._rates[-1]
    assert load([EVEN], rate=0.5 * found.capacity).utilization == pytest.approx(0.5)


def test_a_prompt_of_three_chunks_takes_two_passes_before_that_of_its_token():
    """2.5 of 200 passes have a chunk, and 2 more come before the first token, of 85 / 3 ms each."""
    passes = 2.5 * 30.01 + 197.5 * 10.01
    assert load([LONG])._any_rate.holds[0] == pytest.approx((passes + 2 * 85 / 3) * MS)


@every(
    "kinds,seconds,short,lengthened,marginal",
    [
        # 20 ms and 0.01 ms a token; what it adds to others is that less a pass of theirs.
        ([EVEN], [30], [False], [30 - 10.01], [0]),
        ([LONG], [85], [False], [85 - 3 * 10.01], [0]),
        ([(1, 999, 50)], [29.99], [True], None, [9.99]),
        ([SHORT], [22], [True], None, [2]),
        (MIXED, [22, 85], [True, False], None, [2, 0]),
    ],
)
def test_each_prompt_by_itself(kinds, seconds, short, lengthened, marginal):
    found = load(kinds)
    assert found._begun.seconds == pytest.approx(np.array(seconds) * MS)
    assert found._is_short.tolist() == short
    assert found._marginal == pytest.approx(np.array(marginal) * MS, abs=1e-9)
    assert found._begun.step == pytest.approx(10.01 * MS)
    assert found._begun.overhead == pytest.approx([5 * MS] * len(kinds))
    if lengthened:
        assert found._lengthened == pytest.approx(np.array(lengthened) * MS)


def test_short_prompts_that_share_a_pass_lengthen_it_together():
    """Alone in flight, next to no two meet: one adds the 22 ms of its pass less 10.01, nearly."""
    (alone,) = load([SHORT])._lengthened
    assert alone == pytest.approx((22 - 10.01) * MS, rel=0.01)
    # The more there are in flight, the more of them share a pass.
    (busy,) = load([SHORT], slots=64, rate=0.7 * load([SHORT], slots=64).capacity)._lengthened
    assert busy < 0.95 * alone


@every(
    "kinds,milliseconds",
    [
        ([EVEN], 30),
        ([LONG], 85),
        # A fifth of a chunk takes a fifth of its own pass, and four fifths of what it adds.
        ([SHORT], 0.2 * 22 + 0.8 * 2),
        ([(1, 500, 100)], 0.5 * 25 + 0.5 * 5),
        (MIXED, 0.5 * (0.2 * 22 + 0.8 * 2) + 0.5 * 85),
    ],
)
def test_the_share_of_time_with_prompts(kinds, milliseconds):
    assert load(kinds).prompt_share == pytest.approx(IDLE * milliseconds * MS, rel=1e-6)


@every("slots,share", [(1, 0.5), (1, 0.2), (2, 0.5), (3, 0.9)])
def test_the_number_in_flight_is_a_birth_death_process(slots, share):
    """Arrivals at one rate, departures at that of the number in flight, up to that of all slots.

    Prompts of next to no time do not bring each other.
    """
    full = load([TINY], slots)
    found = load([TINY], slots, share * full.capacity)
    served = [full._rates[min(n, slots) - 1] for n in range(1, slots + 401)]
    weights = [1.0]
    for rate in served:
        weights.append(weights[-1] * found.rate / rate)
    chances = np.array(weights) / sum(weights)
    assert found._found == pytest.approx(chances, abs=1e-5)
    assert found.queued == pytest.approx(chances[slots:].sum(), rel=1e-4)
    taken = [*chances[: slots - 1], chances[slots - 1 :].sum()]
    assert found._slots_taken == pytest.approx(taken, rel=1e-4)
    assert found.in_flight == pytest.approx(sum(n * p for n, p in enumerate(taken, 1)), rel=1e-4)
    if slots == 1:  # M/M/1: (1 - rho) rho^n, and rho of the requests find somebody
        assert found._found[:5] == pytest.approx((1 - share) * share ** np.arange(5), rel=1e-4)
        assert found.queued == pytest.approx(share, rel=1e-4)


@every("kinds,overlap", [([EVEN], 1.0), (MIXED, (3 * 100 + 200) / 4 / 150)])
def test_the_number_in_flight_varies_with_the_time_of_prompts(kinds, overlap):
    """Of outputs of 100 and 200 three pairs in four have one of 100: 125 of 150 tokens overlap."""
    full = load(kinds, 16)
    found = load(kinds, 16, float(full._rates[7]))
    decoding = 150 if len(kinds) > 1 else 200
    prompts = 1.0 - decoding * 10.08e-3 / (8.0 / found._arrivals)
    assert found._spread == pytest.approx(
        float(clustered_spread(prompts=prompts, overlap=overlap)), rel=0.03
    )
    assert found._spread > 1.05


def test_attention_replicas_wait_for_each_other_to_prefill():
    """Four run in step, each with a request: one in 200 passes of each has a prompt.

    So 1 - (199 / 200)^4 of the 200 passes have one, of 30.01 ms, and the others take 10.01 ms.
    """
    placement = replace(made_up.random_load([EVEN], 4, IDLE).passes.placement, layout=Layout(dp=4))
    classes = [RequestClass("a", 1.0, Lengths.fixed(1000.0, 200.0))]
    found = RandomLoad.of(placement, classes, speculation=Speculation(), slots=4, rate=IDLE)
    with_prompts = 200 * (1 - (199 / 200) ** 4)
    by_hand = with_prompts * 30.01 + (200 - with_prompts) * 10.01
    assert found._any_rate.holds[-1] == pytest.approx(by_hand * MS, rel=1e-9)
    assert found.passes.prefilling_replicas.ravel()[-1] == pytest.approx(4 / with_prompts, rel=1e-9)
    # A request alone prefills once, and no replica waits for another.
    assert found._any_rate.holds[0] == pytest.approx((30.01 + 199 * 10.01) * MS, rel=1e-9)


def test_what_requests_wait_for_a_slot():
    """Outputs of 100 and 200: (100^2 + 200^2) / 2 over 150^2, less one."""
    kinds, slots = MIXED, 8
    capacity = load(kinds, slots).capacity
    found = load(kinds, slots, 0.5 * capacity)
    regular = slot_wait_regularity(slots=slots, utilization=0.5, variation=25_000 / 22_500 - 1)
    assert found.slot_wait == pytest.approx((found.queued, float(regular) / (0.5 * capacity)))


def test_the_queue_of_prompts_is_of_one_lane():
    """Half of the requests have prompts of 200 tokens, half of 2,500; a pass takes in 1,000."""
    queue = load(MIXED, rate=3.0).prefill_queue
    assert (queue.rate, queue.chunk) == (3.0, 1000.0)
    assert queue.tokens.tolist() == [200.0, 2500.0]
    # 20 ms and 0.01 ms a token, alone: two full passes and one of 500 tokens.
    assert load([LONG]).prefill_queue.alone(2500.0) == pytest.approx(85 * MS, rel=1e-3)


def test_a_request_alone_waits_for_nothing_and_takes_its_own():
    """Classes by themselves: 22 or 85 ms, 5 ms, and the passes of the other tokens."""
    found = load(MIXED)
    for place, (own, output) in enumerate(((22, 100), (85, 200))):
        times = found.percentiles(place)
        first = 5 + own
        assert times.ttft.mean == pytest.approx(first * MS, abs=0.2 * MS)
        assert times.tpot.mean == pytest.approx(10.01 * MS, rel=1e-4)
        whole = first + (output - 1) * 10.01
        assert times.request.mean == pytest.approx(whole * MS, rel=1e-3)
        assert times.ttft.percentiles == pytest.approx(np.full(4, 5 + own) * MS, abs=0.4 * MS)
    both = found.percentiles()
    assert both.ttft.mean == pytest.approx((5 + (22 + 85) / 2) * MS, abs=0.2 * MS)


def queue(**given):
    """Prompts of a full pass of 1,000 tokens, which takes 1 s."""
    stated = {
        "rate": 1e-9,
        "share": np.ones(1),
        "tokens": np.array([1000.0]),
        "chunk": 1000.0,
        "step": 1e-9,
        "pass_seconds": np.ones_like,
    }
    return PrefillQueue(**stated | given)


def test_who_finds_others_waits_for_what_is_left_of_their_pass():
    """One time in four a pass of 10 ms is under way: half of it is left on average."""
    times, chances = queue(step=0.01, occupied=0.25).until_taken_in(1000.0)
    assert chances.sum() == pytest.approx(1.0)
    assert times @ chances == pytest.approx(1.0 + 0.25 * 0.005)
    assert chances[times > 1.0].sum() == pytest.approx(0.25, rel=1e-6)
    # Any part of that pass may be left, so one in five of them waits for more than 8 ms.
    assert chances[times > 1.008].sum() == pytest.approx(0.05, rel=1e-6)


def test_a_pass_lasts_until_other_attention_replicas_have_prefilled():
    """In half of all passes they do, for 3 s: 0 s without a prompt of its own, and 1 s with one."""
    group = {"group_busy": 0.5, "group_seconds": 3.0}
    found = queue(occupied=1.0, **group)
    times, chances = found.until_taken_in(1000.0)
    # Half of a pass of 1.5 s is left, and its own pass takes 1 s or 3 s.
    assert times @ chances == pytest.approx(0.75 + 2.0, rel=1e-6)
    # A request that finds no other takes the 1 s of its prompt.
    times, chances = queue(occupied=0.0, **group).until_taken_in(1000.0)
    assert times @ chances == pytest.approx(1.0, rel=1e-6)


@every("rate", [0.3, 1.0, 2.0])
def test_a_pass_without_a_token_budget_computes_all_prompts_that_wait(rate):
    """Passes of 1 s follow while any prompt arrives in one, e^rate of them, then 1 / rate s without."""
    busy = np.exp(rate) / (np.exp(rate) + 1.0 / rate)
    times, chances = queue(rate=rate, chunk=np.inf, step=1e-3).until_taken_in(1000.0)
    assert times @ chances == pytest.approx(1.0 + 0.5 * busy, rel=0.01)


@every("busy", [0.2, 0.5, 0.8])
def test_prompts_of_a_full_pass_wait_as_in_a_queue_with_one_server(busy):
    """M/D/1: rho / (2 (1 - rho)) services on average, and (1 - rho) e^rho wait no longer than one."""
    times, chances = queue(rate=busy).until_taken_in(1000.0)
    assert times @ chances == pytest.approx(1.0 + busy / (2 * (1 - busy)), rel=0.02)
    assert chances[times <= 2.0].sum() == pytest.approx((1 - busy) * np.exp(busy), rel=0.02)


def test_short_prompts_that_come_in_one_pass_are_taken_in_together():
    """Passes of 1 s, prompts of a thousandth of a pass: all of the next pass, however many."""
    few = queue(rate=5.0, tokens=np.array([1.0]), step=1.0)
    times, chances = few.until_taken_in(1.0)
    assert times @ chances == pytest.approx(1.5, rel=0.01)
    assert chances[times > 2.0].sum() < 1e-3


def test_a_wait_for_a_slot_may_last_a_thousand_passes():
    """One in a hundred waits 10 s on average; of passes of 10 ms the others keep every digit."""
    times = np.linspace(0.0, 0.01, 101)
    first = Waits.of(times, np.full(101, 1 / 101), (0.01, 10.0))
    assert first.mean == pytest.approx(0.005 + 0.01 * 10.0, rel=0.01)
    assert first.quantile(0.495) == pytest.approx(0.005, rel=0.02)
    # 0.01 e^(-t / 10) is 0.001 at 10 ln 10 s.
    assert first.quantile(0.999) == pytest.approx(10.0 * np.log(10.0), rel=0.01)


def test_answers_of_one_token_have_no_time_between_tokens():
    found = load([(0.5, 200, 1), (0.5, 200, 100)])
    assert all(np.isfinite(found.percentiles().tpot.percentiles))
    assert all(np.isnan(found.percentiles(0).tpot.percentiles))


def test_prompts_of_others_vary_the_time_between_tokens():
    """What is in flight at once, over a window, and prompts of others as a queue is longer by."""
    rate = 0.5 * load(MIXED, 16).capacity
    found = load(MIXED, 16, rate)
    longer = found._lengthened
    fed_back = rate * longer.mean()
    assert 0.05 < fed_back < 0.9
    tpot = found._tpot
    at_once = found._slots_taken @ (found._any_rate.tokens - tpot) ** 2
    held_up = rate * tpot * (longer**2).mean() / np.array([100.0, 200.0]) / (1 - fed_back) ** 2
    windows = variance_in_window(window=np.array([100.0, 200.0]) / 150.0)
    assert found._tpot_variance == pytest.approx(at_once * windows + held_up)


def test_attention_replicas_and_stages_take_requests_of_their_own():
    classes = [RequestClass("a", 1.0, Lengths.fixed(1000.0, 200.0))]
    placement = made_up.random_load([EVEN], 4, IDLE).passes.placement
    for layout, lanes in (
        (Layout(), 1),
        (Layout(dp=2), 2),
        (Layout(pp=3), 3),
        (Layout(dp=2, pp=3), 6),
    ):
        site = replace(placement, layout=layout)
        found = RandomLoad.of(site, classes, speculation=Speculation(), slots=12, rate=3.0)
        assert found._lane_rate == 3.0 / lanes
    assert found.passes.batch.ravel().tolist() == list(range(1, 13))
    assert found.mix.is_random


@pytest.mark.parametrize(
    ("lanes", "found", "met"),
    [
        (1, [0.5, 0.25, 0.25], 1.0),
        # The mean lane has 0.375 of 0.75 requests; one is shared only if both lanes have one.
        (2, [0.5, 0.25, 0.25], 0.25 / 0.375),
        (3, [0.5, 0.25, 0.25], 0.0),
        # Of five requests in three lanes, the emptiest has one, and the mean lane 5 / 3.
        (3, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 1.0 / (5.0 / 3.0)),
        (3, [1.0, 0.0], 1.0),
    ],
)
def test_a_request_joins_the_emptiest_lane(lanes, found, met):
    layout = Layout(pp=lanes) if lanes > 1 else Layout()
    placement = replace(made_up.random_load([EVEN], 4, IDLE).passes.placement, layout=layout)
    classes = [RequestClass("a", 1.0, Lengths.fixed(1000.0, 200.0))]
    made = RandomLoad.of(placement, classes, speculation=Speculation(), slots=12, rate=1e-3)
    made.__dict__["_found"] = np.array(found)
    assert made._emptiest == pytest.approx(met)


def test_each_prompt_is_counted_at_its_own_context():
    """1,000 tokens of which half is found: 500 are computed, at 750 on average, in parts of 250."""
    classes = [
        RequestClass("a", 0.5, Lengths.fixed(1000.0, 10.0), prefix_hit=0.5),
        RequestClass("b", 0.5, Lengths.fixed(600.0, 10.0)),
    ]
    mix = Mix.of(classes, Speculation())
    stated = {part.name: getattr(mix, part.name) for part in fields(mix)}
    each = _EachPrompt(**stated, longer=2.0)
    assert each.computed_prompt.tolist() == [1000.0, 1200.0]
    asked = []
    each.mean_over_prompts(lambda middle, half: asked.append((middle.tolist(), half.tolist())))
    assert asked == [([750.0, 300.0], [250.0, 300.0])]


def test_a_queue_that_grows_without_end_is_at_its_end():
    """One up with 0.999 and down with 0.001: each state 999 times as likely as the one below."""
    states = 200  # 999^199 is beyond what a float holds
    moves = np.diag(np.full(states - 1, 0.999), 1) + np.diag(np.full(states - 1, 0.001), -1)
    moves[0, 0], moves[-1, -1] = 0.001, 0.999
    with np.errstate(over="raise"):
        chances = _stationary(moves, 1)
    assert chances[-1] / chances[-2] == pytest.approx(999.0)


def test_a_queue_that_never_falls_is_at_its_end():
    """Two steps up, the first of which is left once in 1e200 times, and neither downwards."""
    moves = np.array([[0.0, 1.0, 0.0], [1e-200, 0.0, 1.0], [0.0, 1e-300, 1.0]])
    with np.errstate(all="raise"):
        chances = _stationary(moves, 1)
    assert chances[-1] / chances.sum() == pytest.approx(1.0)


@pytest.mark.thorough
def test_chips_of_half_the_speed_take_twice_as_long():
    """At half the rate all latencies double: as many requests are within limits that double."""
    rate = 0.5 * load(MIXED, 16).capacity
    fast, slow = load(MIXED, 16, rate), replace(load(MIXED, 16, rate / 2), slowness=2.0)
    for name in ("ttft", "tpot", "request"):
        spreads = [getattr(each.percentiles(), name) for each in (fast, slow)]
        assert spreads[1].mean == pytest.approx(2.0 * spreads[0].mean)
        assert spreads[1].percentiles == pytest.approx(2.0 * np.array(spreads[0].percentiles))
    for share in (0.5, 0.9, 0.99):
        for index in (None, 0, 1):
            tpot, ttft = fast.times(index).tpot(share), fast.times(index).ttft(share)
            for each, times in ((fast, 1.0), (slow, 2.0)):
                within = each.share_within_tpot(tpot * times, index)
                assert within == pytest.approx(share, abs=2e-3)
                within = each.times(index).share_within_ttft(ttft * times)
                assert within == pytest.approx(share, abs=2e-3)


def test_a_limit_between_tokens_is_of_requests_of_several():
    """A token takes 10.01 ms."""
    found = load([(0.25, 200, 1), (0.75, 200, 100)])
    for index, low in ((None, 0.0), (0, 1.0), (1, 0.0)):
        assert found.share_within_tpot(0.01, index) == pytest.approx(low, abs=1e-6)
        assert found.share_within_tpot(0.011, index) == pytest.approx(1.0)


def test_some_first_tokens_wait_for_a_slot_as_well():
    """With chance q for a time with mean w and exponential tail: q w more, of variance q (2-q) w^2."""
    found = load(MIXED, 2, 0.8 * load(MIXED, 2).capacity)
    chance, wait = found.slot_wait
    assert chance > 0.3
    assert abs(wait - 2.0) > 0.1  # whose square is not twice it
    times = found.times()
    for place, (until, chances, more) in enumerate(found._first_tokens):
        seconds = until + more
        own = seconds @ chances
        assert times.first_means[place] == pytest.approx(own + chance * wait)
        variance = (seconds - own) ** 2 @ chances + chance * (2.0 - chance) * wait**2
        assert times.first_variances[place] == pytest.approx(variance)
    assert times.further.tolist() == [99.0, 199.0]


@every(
    "cycle,others",
    [
        (np.inf, 1.0),
        # Of 5 users, who ask every 10 s, 4 are others; a single one has none.
        (10.0, 0.8),
        (2.0, 1e-6),
        (1.0, 1e-6),
    ],
)
def test_prompts_wait_for_those_of_other_users(cycle, others):
    found = replace(load([EVEN], rate=0.5), cycle=cycle)
    queue = found.prefill_queue
    assert queue.rate == pytest.approx(0.5 * others)
    assert (queue.tokens.tolist(), queue.share.tolist()) == ([1000.0], [1.0])
    assert queue.chunk == 1000.0
    assert queue.occupied == pytest.approx(1.0 - found._found[0])
    assert queue.step == pytest.approx((10.0 + 0.01 * found.in_flight) * MS)


def test_slots_that_outputs_of_two_lengths_hold():
    """100 and 200 tokens: 25,000 over 22,500 of the square of their mean, a ninth more."""
    slots = 3
    found = load(MIXED, slots, 0.5 * load(MIXED, slots).capacity)
    given = {"slots": slots, "variation": 1 / 9}
    by_hand = slot_wait_regularity(utilization=0.5, **given)
    assert found._regularity == pytest.approx(float(by_hand))
    full = load(MIXED, slots, 2.0 * load(MIXED, slots).capacity)
    assert full._regularity == pytest.approx(
        float(slot_wait_regularity(utilization=0.999, **given))
    )
    queued = found._found[slots:]
    ahead = sum(n * chance for n, chance in enumerate(queued, 1)) / sum(queued)
    chance, wait = found.slot_wait
    assert chance == pytest.approx(sum(queued))
    assert wait == pytest.approx(found._regularity * ahead / found._rates[-1])


@every("share,is_rare", [(0.05, True), (0.6, False)])
def test_waits_for_a_slot_that_are_not_rare_are_taken_for_longer(share, is_rare):
    """Of more than one in 200 requests twice as many wait, as long as exponential services make."""
    found = load(MIXED, 4, share * load(MIXED, 4).capacity)
    assert (found.queued <= 0.005) is is_rare
    chance, wait = found.slot_wait
    longer = (chance, wait) if is_rare else (2.0 * chance, wait / found._regularity)
    assert found.times().first.slots == pytest.approx(longer)
    full = load(MIXED, 2, 0.99 * load(MIXED, 2).capacity)
    assert full.times().first.slots[0] == 1.0


def test_one_attention_replica_waits_for_no_prompts_of_others():
    found = load([EVEN], rate=0.5)
    assert found.prefill_queue.step == found._begun.step


MANY = [(1 / 72, 40 * (place + 1), 100) for place in range(72)]


def test_many_prompts_alone_take_their_own_time():
    """Of 72 lengths some stand for others in the queue; 20 + 0.01 (1 + c) ms a chunk, and 5 ms."""
    firsts = load(MANY)._first_tokens
    for (_, prompt, _), (until, chances, more) in zip(MANY[:25], firsts, strict=False):
        by_hand = 25 + 0.01 * (1 + prompt)
        assert ((until + more) * chances).sum() == pytest.approx(by_hand * MS, rel=1e-3)


def test_some_of_many_prompts_stand_for_others_in_a_queue(monkeypatch):
    """Percentiles are those with a queueing delay for each length, to half a percent."""
    found = load(MANY, 12, 4.0).times()
    monkeypatch.setattr("fastcalc.core.load._LENGTHS", len(MANY))
    exact = load(MANY, 12, 4.0).times()
    for part in (0.5, 0.9, 0.99):
        assert found.ttft(part) == pytest.approx(exact.ttft(part), rel=5e-3)
    assert found.ttft_mean == pytest.approx(exact.ttft_mean, rel=5e-3)


@every("index,limit,share", [(0, 35.0, 0.0), (0, 35.02, 1.0), (1, 65.0, 0.0), (1, 65.03, 1.0)])
def test_prompts_that_take_longer_than_a_limit_are_late_without_a_queue(index, limit, share):
    """1,000 tokens take 20 + 10.01 ms and 5; 2,000 take two chunks."""
    found = load([(0.5, 1000, 200), (0.5, 2000, 200)])
    assert found.share_prefilled_within(limit * MS, index) == share


@every("index,part,prompt", [(0, 0.5, 1000), (0, 0.75, 1000), (0, 0.76, 2000), (1, 0.99, 500)])
def test_the_prefill_time_that_a_share_of_a_class_does_not_exceed(index, part, prompt):
    """Three of four requests of the first class have 1,000 tokens: 20 + 0.01 a token, and 5 ms."""
    base = load([(1, 1000, 200)])
    shares, prompts = np.array([0.75, 0.25]), np.array([1000.0, 2000.0])
    first = RequestClass("a", 0.5, Lengths(shares, prompts, np.array([200.0, 200.0])))
    second = RequestClass("b", 0.5, Lengths.fixed(500.0, 200.0))
    found = RandomLoad.of(
        base.passes.placement, [first, second], speculation=Speculation(), slots=4, rate=IDLE
    )
    chunks = 1 if prompt <= 1024 else 2
    by_hand = 20 * chunks + 0.01 * (prompt + chunks) + 5
    assert found.prefill_quantile(part, index) == pytest.approx(by_hand * MS, rel=1e-3)


def test_a_quantile_of_tpot_is_where_its_share_of_requests_ends():
    found = load(MIXED, 12, 0.7 * load(MIXED, 12).capacity)
    for index in (None, 0, 1):
        assert found.tpot_quantile(0.9, index) == pytest.approx(found.times(index).tpot(0.9))
        assert found.share_within_tpot(found.tpot_quantile(0.9, index), index) == pytest.approx(0.9)


def test_a_load_is_computed_once_at_each_rate_and_its_slots_once_at_any():
    found = load(MIXED)
    later = found.at(2.0)
    assert later is found.at(2.0) is found.at(1.0).at(2.0)
    assert later._any_rate is found._any_rate
    slow = later.slowed(2.0)
    assert (slow.rate, slow.slowness, slow.capacity) == (2.0, 2.0, found.capacity / 2.0)
    assert slow.at(2.0) is slow, "not the one at its expected speed"
    assert slow._any_rate is found._any_rate


@every(
    "tokens,chunk,parts,states",
    [
        # Two quanta to a shortest prompt, eight at least; 256 waiting in 10 prompts and 8 passes.
        (1000.0, 1000.0, 8, 144),
        (200.0, 1000.0, 10, 100),
        (1.0, 1000.0, 31, 279),
        (0.5, 1000.0, 31, 279),
        # Without a budget a full pass holds ten of the longest prompts.
        (1000.0, np.inf, 20, 180),
    ],
)
def test_a_full_pass_is_divided_into_quanta(tokens, chunk, parts, states):
    made = queue(tokens=np.array([tokens]), chunk=chunk)
    assert (made._parts, made._states) == (parts, states)


@every("value,share", [(-0.5, 0.0), (0.0, 0.0), (0.5, 0.25), (1.0, 0.5)])
def test_nobody_waits_less_than_no_time(value, share):
    """All are served after a second, and half of them wait for a slot before."""
    chances = np.zeros(2048)
    chances[1] = 1.0
    found = Waits(1.0, chances, (0.5, 1e6)).share(value)
    assert found == pytest.approx(share, abs=1e-5)


@every("deviations", [-2.0, -0.5, 0.5, 2.0])
def test_a_speed_some_deviations_off(deviations):
    """An end of the 80% range is 1.28 deviations off: a tenth is beyond."""
    estimate = outcome("llama-3.1-8b", "h100-sxm").estimate
    low, speed, high = (float(one[0]) for one in (estimate.low, estimate.speed, estimate.high))
    ratio = speed / low if deviations > 0.0 else high / speed
    slowness = estimate.slowed(deviations).slowness
    assert float(np.ravel(slowness)[0]) == pytest.approx(
        ratio ** (deviations / NormalDist().inv_cdf(0.9))
    )
    assert estimate.slowed(0.0) is estimate
