"""A diagnosis worked by hand: parts of engines, beliefs about them, starts, the next measurement."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.reserve import start_rows
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.evidence.start_log import StartLog
from fastcalc.features.measure.diagnose import _started
from fastcalc.features.measure.diagnosis import belief as beliefs
from fastcalc.features.measure.diagnosis import next_point
from fastcalc.features.measure.diagnosis.belief import GRID, Belief, Hypothesis, believe, parts_of
from fastcalc.features.measure.diagnosis.diagnose import Diagnosis, _few_enough
from fastcalc.features.measure.diagnosis.next_point import _candidates, _is_the_same
from fastcalc.features.measure.diagnosis.slowdowns import PRICED, Slowdowns
from fastcalc.features.measure.diagnosis.start import (
    Cause,
    Start,
    _default,
    cache_format,
    limits_of,
)
from fastcalc.features.measure.diagnosis.terms import (  # fmt: skip
    BANDWIDTH,
    COMPUTE,
    HOST,
    LAUNCHES,
    LINKS,
    NEWER_RELEASE,
    PARTS,
    RUNNING,
    TERMS,
    Part,
)
from tests import made_up
from tests.features.measure.test_diagnose import SMALL
from tests.helpers import every

GIB = 2.0**30

# What each part divides and multiplies where it is so many times slower, and by what power.
LATENCIES = {"collective_latency": 1.0, "crossing_latency": 1.0, "rank_wait": 1.0}
READS = {"bandwidth_fraction": 1.0, "bandwidth_per_core": 1.0}
PRODUCTS = {"compute_fraction": 1.0, "compute_per_core": 1.0}
EXPECTED_PARTS = [
    (HOST, "per step", {}, {"decode_layer_floor": 1.0}, 150.0),
    (HOST, "per prompt", {}, {"prefill_layer_floor": 1.0}, 150.0),
    (HOST, "per sequence", {}, {"sequence_overhead": 1.0, "stage_overhead": 1.0}, 150.0),
    (HOST, "per kernel launch", {}, {}, 150.0),
    (HOST, "per kernel", {}, {}, 150.0),
    # A chip at a quarter of its bandwidth, an eighth of its products; low clocks slow products,
    # and reads by the power of 0.4.
    (BANDWIDTH, "", READS, {}, 4.0),
    (COMPUTE, "", PRODUCTS, {}, 8.0),
    (COMPUTE, "(and memory)", {**PRODUCTS, **dict.fromkeys(READS, 0.4)}, {}, 4.0),
    (LINKS, "(bandwidth)", {"link_fraction": 1.0}, {}, 150.0),
    (LINKS, "(latency)", {}, LATENCIES, 150.0),
    (LINKS, "(bandwidth and latency)", {"link_fraction": 1.0}, {"collective_latency": 0.4}, 150.0),
    (RUNNING, "", {}, {}, 150.0),
]


def test_each_part_scales_its_own_parameters():
    """The costs of eager mode and of an early release: engines/eager.yaml, engines/young.yaml."""
    towards = {part.name: dict(part.towards) for _, part in PARTS if part.towards}
    assert towards == {
        "per kernel launch": {
            "decode_layer_floor": 150e-6, "collective_latency": 40e-6, "sequence_overhead": 150e-6
        },
        "per kernel": {
            "decode_layer_floor": 100e-6, "prefill_layer_floor": 1.7e-3, "expert_layer_extra": 4.0
        },
    }  # fmt: skip
    found = [(t, p.name, dict(p.rates), dict(p.costs), p.most) for t, p in PARTS]
    assert found == EXPECTED_PARTS
    assert TERMS == (HOST, BANDWIDTH, COMPUTE, LINKS, RUNNING)


def software(**parameters):
    return made_up.placed(made_up.minimal(), under=made_up.engine(**parameters)).machine.software


def test_a_slower_part_divides_rates_and_multiplies_costs():
    """At 16 times: a rate to a sixteenth, with a power of a half to a quarter; a cost to 16."""
    part = Part(
        "", rates=(("bandwidth_fraction", 1.0), ("compute_fraction", 0.5)),
        costs=(("decode_layer_floor", 1.0), ("collective_latency", 0.25)),
    )  # fmt: skip
    before = software(
        bandwidth_fraction=0.8, compute_fraction=0.6, decode_layer_floor="10 us",
        collective_latency="3 us",
    )  # fmt: skip
    after = part.slower(before, 16.0)
    changed = {name: getattr(after, name) for name, _ in (*part.rates, *part.costs)}
    assert {name: float(value) for name, value in changed.items()} == pytest.approx(
        {
            "bandwidth_fraction": 0.05,
            "compute_fraction": 0.15,
            "decode_layer_floor": 160e-6,
            "collective_latency": 6e-6,
        }
    )
    undone = replace(after, **{name: getattr(before, name) for name in changed})
    assert repr(undone) == repr(before)


@every(
    "floor,latency,times,after_floor,after_latency,shown",
    [
        # On the way to 150 and 40 us: 15 and 10 times; all the way at 15, half of it at its root.
        (10, 4, 15.0, 150, 40, 15.0),
        (10, 4, 15.0**0.5, 10 * 15**0.5, 4 * 10**0.5, 15.0**0.5),
        (10, 4, 1.0, 10, 4, 1.0),
        # The latency moves most, so that it is ten times slower and the floor twice.
        (75, 4, 10.0, 150, 40, 2.0),
        # What the engine has already grows no more; what it lacks has nothing that could.
        (200, 4, 10.0, 200, 40, 10.0),
        (10, 0, 15.0, 150, 0, 15.0),
        (200, 60, 3.0, 200, 60, 3.0),
        # Hardly any difference is at least half as much again.
        (125, 60, 1.5, 150, 60, 1.2),
        (125, 60, 1.0, 125, 60, 1.0),
    ],
)
def test_launches_are_on_the_way_to_those_of_eager_mode(
    floor, latency, times, after_floor, after_latency, shown
):
    before = software(decode_layer_floor=f"{floor} us", collective_latency=f"{latency} us")
    after = LAUNCHES.slower(before, times)
    if (floor, times) == (125, 1.5):  # 1.2 of at least 1.5 times: all of the way
        assert float(after.decode_layer_floor) == pytest.approx(150e-6)
    assert float(after.decode_layer_floor) == pytest.approx(after_floor * 1e-6)
    assert float(after.collective_latency) == pytest.approx(after_latency * 1e-6)
    assert float(after.sequence_overhead) == 0.0
    assert LAUNCHES.times_shown(before, times) == pytest.approx(shown)


def test_what_other_parts_slow_as_well():
    parts = {(term, part.name): part for term, part in PARTS}
    reads, products = parts[BANDWIDTH, ""], parts[COMPUTE, ""]
    clocks, link = parts[COMPUTE, "(and memory)"], parts[LINKS, "(bandwidth)"]
    assert reads.is_within(clocks)
    assert products.is_within(clocks)
    assert reads.is_within(reads)
    assert not clocks.is_within(reads)
    assert not reads.is_within(products)
    assert not parts[RUNNING, ""].is_within(clocks)
    assert not parts[HOST, "per step"].is_within(clocks)
    assert not LAUNCHES.is_within(clocks)
    for grown in ("costs", "towards"):
        assert not replace(reads, **{grown: (("decode_layer_floor", 1.0),)}).is_within(clocks)
    assert link.is_within(parts[LINKS, "(bandwidth and latency)"])
    assert not parts[LINKS, "(bandwidth and latency)"].is_within(link)


# Beliefs

STEP, PROMPT, READ, PRODUCT, ROOM = 0, 1, 5, 6, 11
"""Positions of some parts: the first two are both of the host."""


def slowdowns(residuals, *, spreads=None, rows=None, **slopes):
    """Points that each part slows in proportion: by a slope a logarithm, for each point."""
    count = len(residuals)
    logs = np.zeros((len(PARTS), len(PRICED), count))
    for name, slope in slopes.items():
        logs[globals()[name]] = np.outer(PRICED, slope)
    spreads = np.zeros(count) if spreads is None else np.array(spreads)
    return Slowdowns(rows, np.array(residuals, dtype=float), spreads, logs)


def test_a_slowdown_lies_between_those_priced():
    assert (PRICED[0], PRICED[1], PRICED[-1], len(PRICED)) == (0.0, 0.25, 5.0, 21)
    found = slowdowns([0.0, 0.0], READ=[0.5, 2.0])
    found.logs[READ, 1] = [1.0, 4.0]
    # Half of the way to 0.25, and from there half of the way to 0.5.
    assert found.at(READ, np.array([0.125, 0.375])).tolist() == [[0.5, 2.0], [0.625, 2.5]]
    assert found.at(READ, np.array([9.0])).tolist() == [[2.5, 10.0]]


@every("slope,shows", [(0.0868, False), (0.0869, True), (1.0, True), (0.0, False)])
def test_what_ten_times_slower_does_not_move_by_a_fifth_is_not_tested(slope, shows):
    """0.2 of the logarithm of ten, 2.3026, is 0.08686."""
    found = slowdowns([0.0, 0.0], READ=[0.0, slope], STEP=[1.0, 0.0])
    assert beliefs.tested(found) == ([STEP, READ] if shows else [STEP])


def test_the_grid_of_slowdowns_goes_from_a_fourteenth_to_148_times():
    assert (GRID[0], GRID[-1], len(GRID)) == (pytest.approx(0.07), pytest.approx(5.0), 40)
    assert GRID[1:] / GRID[:-1] == pytest.approx((5.0 / 0.07) ** (1 / 39))


@every("most", [4.0, 8.0, 150.0])
def test_small_faults_are_likelier_and_none_is_beyond_what_is_known(most):
    """Exponential with a mean of 2 in the logarithm; each place stands for what is around it."""
    prior = beliefs._prior_of(Part("", most=most))
    widths = [GRID[1] - GRID[0], *(GRID[2:] - GRID[:-2]) / 2, GRID[-1] - GRID[-2]]
    by_hand = [
        width * math.exp(-at / 2.0) if at <= math.log(most) else 0.0
        for at, width in zip(GRID, widths, strict=True)
    ]
    assert prior == pytest.approx(np.array(by_hand) / sum(by_hand))


def test_terms_are_equally_likely_and_parts_within_them():
    """Nothing 0.5, one part 0.35, two 0.15: of the three single ones two are of the host."""
    hypotheses = [(), (STEP,), (PROMPT,), (READ,), (STEP, READ), (PROMPT, READ), (STEP, PROMPT)]
    # 1/2, 1/2 and 1; 1/2, 1/2 and 1/4.
    by_hand = [0.5, 0.0875, 0.0875, 0.175, 0.06, 0.06, 0.03]
    assert beliefs._prior(hypotheses) == pytest.approx(by_hand)
    # Without the pair of the host alone, single ones are as likely.
    assert beliefs._prior(hypotheses[:-2])[1:4] == pytest.approx(by_hand[1:4])


def test_parts_of_a_step_add_up_and_waiting_multiplies():
    half, third = np.log([1.5]), np.log([1.3])
    assert np.exp(beliefs.together((STEP, READ), half, third)) == pytest.approx(1.8)
    assert np.exp(beliefs.together((STEP, ROOM), half, third)) == pytest.approx(1.95)
    assert np.exp(beliefs.together((ROOM, STEP), half, third)) == pytest.approx(1.95)


def test_errors_that_points_share_are_of_all_and_of_each_part():
    found = slowdowns([0.0, 0.0], STEP=[1.0, 0.5], READ=[0.0, 2.0])
    shared = beliefs._shared_errors(found, [STEP, READ])
    assert shared == pytest.approx(np.array([[0.06, 0.06, 0.0], [0.06, 0.03, 0.12]]))


def density(residuals, covariance):
    exponent = residuals @ np.linalg.inv(covariance) @ residuals
    return math.exp(-0.5 * exponent) / math.sqrt(np.linalg.det(2.0 * math.pi * covariance))


@pytest.mark.thorough
@every(
    "residuals,spreads",
    [
        ([0.0, 0.0], None),
        ([0.7, 0.1], None),
        ([0.1, 0.9], [0.0, 0.45]),
        ([1.5, 1.4], None),
        ([-0.3, 0.2], None),
    ],
)
def test_a_belief_is_bayes_over_every_place_of_the_grid(residuals, spreads):
    """Against each place, each noise and each pair of parts, one after another."""
    points = slowdowns(residuals, spreads=spreads, STEP=[1.0, 0.1], ROOM=[0.2, 0.8])
    shared = np.array([[0.06, 0.06 * 1.0, 0.06 * 0.2], [0.06, 0.06 * 0.1, 0.06 * 0.8]])
    slopes = {STEP: np.array([1.0, 0.1]), ROOM: np.array([0.2, 0.8])}
    priors = {place: beliefs._prior_of(PARTS[place][1]) for place in slopes}
    evidence = []
    for parts in ((), (STEP,), (ROOM,), (STEP, ROOM)):
        total = 0.0
        for places in product(range(len(GRID)), repeat=len(parts)):
            pairs = list(zip(parts, places, strict=True))
            left = residuals - sum((GRID[at] * slopes[part] for part, at in pairs), np.zeros(2))
            chance = math.prod(priors[part][at] for part, at in pairs)
            if chance == 0.0:
                continue
            for noise, weight in ((0.05, 0.5), (0.1, 0.3), (0.2, 0.2)):
                own = noise**2 + np.array(spreads or [0.0, 0.0]) ** 2
                total += chance * weight * density(left, np.diag(own) + shared @ shared.T)
        evidence.append(total)
    weighted = np.array(evidence) * [0.5, 0.175, 0.175, 0.15]
    found = believe(points)
    assert [hypothesis.parts for hypothesis in found.hypotheses] == [
        *((), (STEP,), (ROOM,)),
        (STEP, ROOM),
    ]
    assert found.probabilities == pytest.approx(weighted / weighted.sum())
    assert [math.exp(h.log_evidence) for h in found.hypotheses] == pytest.approx(evidence)
    assert [float(h.weights.sum()) for h in found.hypotheses] == pytest.approx([1.0] * 4)


def spike(place):
    return np.eye(len(GRID))[place]


def a_belief(probabilities, *, rows=None, uniform=False):
    """Nothing; the step; the reads; the step and the reads, each surely at one place."""
    flat = np.full(len(GRID), 1 / len(GRID))
    weights = [flat, flat] if uniform else [spike(3), spike(7)]
    hypotheses = [
        Hypothesis((), 0.0, np.ones(())),
        Hypothesis((STEP,), 0.0, weights[0]),
        Hypothesis((READ,), 0.0, weights[1]),
        Hypothesis((STEP, READ), 0.0, np.outer(spike(10), spike(20))),
    ]
    points = slowdowns([0.0], rows=rows, STEP=[1.0], READ=[0.5])
    return Belief(points, hypotheses, np.array(probabilities))


def test_a_belief_of_parts_is_a_sum_over_what_holds_them():
    found = a_belief([0.4, 0.3, 0.2, 0.1])
    assert found.nothing == 0.4
    assert found.of_any([STEP]) == pytest.approx(0.4)
    assert found.of_any([READ]) == pytest.approx(0.3)
    assert found.of_any([STEP, READ]) == pytest.approx(0.6)
    assert found.of_any([PRODUCT]) == found.of_any([]) == 0.0
    assert parts_of(HOST) == [0, 1, 2, 3, 4]
    assert parts_of(BANDWIDTH, COMPUTE) == [5, 6, 7]
    # The step at place 3 in three of four cases, at 10 with the reads, which are at 7 and 20.
    assert found.grid_of(STEP) == pytest.approx(0.75 * spike(3) + 0.25 * spike(10))
    assert found.grid_of(READ) == pytest.approx(2 / 3 * spike(7) + 1 / 3 * spike(20))
    assert found.grid_of(PRODUCT).tolist() == [0.0] * len(GRID)


def diagnosis(probabilities, points=2, **belief):
    rows = SimpleNamespace(piles=[SimpleNamespace(software=None)])
    found = a_belief(probabilities, rows=rows, **belief)
    return Diagnosis([None] * points, found, np.ones(1), (), None, has_room=False)


@every(
    "nothing,points,verdict",
    [
        (0.5, 2, "differs"),
        (0.51, 2, "few"),
        (0.74, 2, "few"),
        (0.75, 2, "nothing"),
        (0.0, 1, "few"),
        (1.0, 1, "few"),
    ],
)
def test_a_verdict_is_of_the_probability_that_nothing_is_slower(nothing, points, verdict):
    assert diagnosis([nothing, 1.0 - nothing, 0.0, 0.0], points).verdict == verdict


@every(
    "probabilities,named",
    [
        ([0.2, 0.8, 0.0, 0.0], (HOST,)),
        ([0.2, 0.71, 0.09, 0.0], (HOST,)),
        ([0.2, 0.7, 0.1, 0.0], (HOST, BANDWIDTH)),
        ([0.2, 0.1, 0.7, 0.0], (BANDWIDTH, HOST)),
        ([0.2, 0.1, 0.1, 0.6], (HOST, BANDWIDTH)),
        ([0.6, 0.4, 0.0, 0.0], ()),
    ],
)
def test_the_likeliest_term_is_named_and_a_second_from_a_tenth_on(probabilities, named):
    found = diagnosis(probabilities)
    assert found.named == named
    assert [finding.is_tested for finding in found.findings] == [
        finding.term in (HOST, BANDWIDTH) for finding in found.findings
    ]
    assert len(found.findings) == len(TERMS)


def test_a_finding_has_the_interval_of_its_likeliest_part():
    """All 40 places alike: a tenth of them is the fourth, half the 20th, nine tenths the 36th."""
    first, second, *_ = diagnosis([0.1, 0.6, 0.3, 0.0], uniform=True).findings
    assert (first.term, first.part, first.probability) == (HOST, STEP, pytest.approx(0.6))
    assert (second.term, second.part) == (BANDWIDTH, READ)
    for finding in (first, second):
        ends = (finding.low, finding.slower, finding.high)
        assert ends == pytest.approx(np.exp(GRID[[3, 19, 35]]))


def test_what_is_named_slows_points_by_its_own_hypotheses_alone():
    found = diagnosis([0.2, 0.8, 0.0, 0.0])
    assert found.slower[:, 0] == pytest.approx([math.exp(GRID[3])] * 3, rel=0.06)
    both = diagnosis([0.1, 0.0, 0.0, 0.9])
    sum_of_both = math.exp(GRID[10]) + math.exp(0.5 * GRID[20]) - 1.0
    assert both.slower[1, 0] == pytest.approx(sum_of_both, rel=0.06)
    assert diagnosis([0.9, 0.1, 0.0, 0.0]).slower.tolist() == [[1.0]] * 3


@every("count,kept,said", [(200, 200, False), (201, 200, True), (1000, 200, True), (1, 1, False)])
def test_two_hundred_points_are_weighed(count, kept, said):
    points, sentences = _few_enough(list(range(count)))
    assert len(set(points)) == kept
    assert (points[0], points[-1]) == (0, count - 1)
    assert bool(sentences) is said
    if said:
        assert sentences[0].startswith(f"200 of {count:,} points are used")


# The next measurement

POINT = replace(
    SMALL.points[0], chips=4, tp=4, prompt=2000.0, output=300.0, concurrency=3, metric="tpot_s"
)


def asked(point):
    return [
        (p.metric, p.concurrency, p.prompt, p.output, p.chips, p.tp) for p in _candidates(point)
    ]


def test_what_may_be_measured_next():
    """Seven batches, a first token alone and with four times the prompt, and one chip of several."""
    rates = [
        ("tokens_per_s_total", batch, 2000.0, 300.0, 4, 4)
        for batch in (1, 8, 32, 64, 128, 256, 512)
    ]
    firsts = [("ttft_s", 1, 2000.0, 300.0, 4, 4), ("ttft_s", 1, 8000.0, 300.0, 4, 4)]
    alone = ("tokens_per_s_total", 8, 2000.0, 300.0, 1, 1)
    assert asked(POINT) == [*rates, *firsts, alone]
    assert {p.notes for p in _candidates(POINT)} == {"kind=e2e_concurrency"}
    assert {p.value for p in _candidates(POINT)} == {1.0}
    # Of one chip, or of chips that share otherwise, there is no smaller one.
    for changes in ({"tp": 1, "chips": 1}, {"tp": None}, {"tp": 2}):
        assert len(asked(replace(POINT, **changes))) == 9
    bare = replace(POINT, prompt=None, output=None)
    assert asked(bare)[0] == ("tokens_per_s_total", 1, 1000.0, 500.0, 4, 4)


@every(
    "changes,is_same",
    [
        ({}, True),
        # A run of a benchmark has its rates and its times of tokens at once, but not first tokens.
        ({"metric": "tokens_per_s_total"}, True),
        ({"metric": "ttft_s"}, False),
        ({"metric": "prefill_tokens_per_s"}, False),
        ({"prompt": 2200.0}, True),
        ({"prompt": 2201.0}, False),
        ({"prompt": 1800.0}, False),
        ({"output": 330.0}, True),
        ({"output": 331.0}, False),
        ({"concurrency": 4}, False),
        ({"chips": 1}, False),
        ({"tp": 2}, False),
        # What is not stated contradicts nothing.
        ({"output": None, "tp": None}, True),
    ],
)
def test_a_measurement_is_the_same_within_a_tenth(changes, is_same):
    assert _is_the_same(POINT, replace(POINT, **changes)) is is_same
    assert _is_the_same(replace(POINT, **changes), POINT) is is_same


def test_what_is_measured_is_not_asked_for(monkeypatch):
    tried = []
    many, more = (replace(POINT, concurrency=count) for count in (64, 512))
    monkeypatch.setattr(next_point, "_candidates", lambda _: [POINT, many, more])
    monkeypatch.setattr(next_point, "gather", lambda points, _: (tried.extend(points), {}))
    assert next_point.next_point([POINT, many], None, None) is None
    assert tried == [more]


def test_first_tokens_are_the_same_whatever_the_output():
    first = replace(POINT, metric="ttft_s")
    assert _is_the_same(first, replace(first, output=9000.0, metric="prefill_tokens_per_s"))
    assert not _is_the_same(first, replace(first, prompt=9000.0))


# Starts

ENTRIES = Catalogue()


def start(room=(80, 100, 120), *, chip="h100-sxm", program="vllm", settings=None, **log):
    """A start of Llama 3.1 8B in which caches are expected to have so many GiB."""
    engine = {"vllm": "vllm", "sglang": "sglang"}[program]
    scenario = Scenario(
        hardware=ENTRIES.hardware(chip),
        model=ENTRIES.model("llama-3.1-8b"),
        engine=ENTRIES.engine(engine),
        batches=(1,),
        traffic=Traffic(1000.0, 1000.0, 1500.0),
    )
    found = Start(StartLog(program, settings=settings or {}, **log), scenario)
    found.__dict__["room"] = tuple(GIB * gib for gib in room)
    return found


@every(
    "available,has_room,missing",
    [
        (80.0, True, None),
        (79.9, False, None),
        # Beyond a twentieth below the least that is expected, what is missing is of the likeliest.
        (76.2, False, None),
        (76.1, False, 23.9),
        (40.0, False, 60.0),
        (120.0, True, None),
    ],
)
def test_caches_have_room_down_to_the_least_expected(available, has_room, missing):
    found = start(available=available * GIB)
    assert found.held == available * GIB
    assert found.has_room is has_room
    causes = list(found._of_memory())
    assert len(causes) == (missing is not None)
    for cause in causes:
        low, high = 80.0 - available, 120.0 - available
        within = f"({low:.1f} to {high:.1f})"
        assert cause.sentence == f"{missing:.1f} GiB per chip {within} are not accounted for"
        assert cause.times == pytest.approx(1.0 + missing / available)
        assert "a larger activation peak" in cause.setting


@every(
    "explained,within",
    [
        (30.0, "10.0 GiB per chip (0.0 to 30.0)"),
        (40.0, None),
        (39.9, "0.1 GiB per chip (0.0 to 20.1)"),
    ],
)
def test_what_other_causes_explain_is_not_missing(explained, within):
    causes = start()._unexplained(60.0 * GIB, explained * GIB)
    told = [cause.sentence for cause in causes]
    assert told == ([f"{within} are not accounted for"] if within else [])


@every(
    "total,free,before",
    [(80.0, 70.0, 10.0), (80.0, 77.9, 2.1), (80.0, 78.0, None), (80.0, None, None), (None, 70.0, None)],
)  # fmt: skip
def test_what_was_taken_before_a_start_is_another_process(total, free, before):
    gib = {"total": total and total * GIB, "free": free and free * GIB}
    (cause,) = start(available=40.0 * GIB, **gib)._of_memory()
    assert ("before the server started" in cause.sentence) is (before is not None)
    if before:
        assert cause.sentence.endswith(f"; {before:.1f} GiB were in use before the server started")
        assert cause.setting == "look for another process on the chip (nvidia-smi)"


def test_weights_in_a_wider_format_explain_memory_that_is_missing():
    found = start(available=70.0 * GIB)
    expected = float(found.placement.weights_per_chip)
    assert expected == pytest.approx(8.03e9 * 2, rel=0.01)
    for times, named in ((1.09, False), (1.11, True), (2.0, True)):
        causes = list(start(available=70.0 * GIB, weights=times * expected)._of_memory())
        wide = [cause for cause in causes if cause.term is BANDWIDTH]
        assert bool(wide) is named
        if named:
            assert wide[0].times == pytest.approx(times)
            gib = times * expected / GIB
            assert wide[0].sentence == (
                f"weights take {gib:.1f} GiB per chip, {times:.1f} times as much as in bf16"
            )
        # Of the 30 GiB that are missing, wider weights explain what they take beyond their own.
        (other,) = [cause for cause in causes if cause.term is RUNNING]
        missing = 30.0 * GIB - (times - 1.0) * expected
        assert other.times == pytest.approx(1.0 + missing / (70.0 * GIB))
    smaller = start(available=70.0 * GIB, weights=0.5 * expected)._of_memory()
    assert [cause.times for cause in smaller] == pytest.approx([1.0 + 30.0 / 70.0])


def test_graphs_take_the_share_that_the_log_says():
    """0.9 less 0.8 of the 79.6 GiB that the card has."""
    for settings in ({"gpu_memory_utilization": "0.9"}, {}):
        found = start(available=80.0 * GIB, equivalent=0.8, settings=settings)
        capacity = found.placement.machine.tier.capacity
        share = 0.9 if settings else float(found.placement.machine.software.memory_fraction)
        graphs = (share - 0.8) * capacity
        (cause,) = found._of_memory()
        assert cause.sentence == f"{graphs / GIB:.1f} GiB per chip are reserved for CUDA graphs"
        assert cause.times == pytest.approx(1.0 + graphs / (80.0 * GIB))
    # What they take is not in use by something else as well.
    (_, other) = start(available=60.0 * GIB, equivalent=0.8)._of_memory()
    assert other.times == pytest.approx(1.0 + (40.0 * GIB - graphs) / (60.0 * GIB))


def test_a_start_that_says_nothing_of_caches_has_no_cause_in_memory():
    assert list(start()._of_memory()) == []
    assert start().has_room is False


@every(
    "settings,version,expected",
    [
        ({}, "", None),
        ({"gpu_memory_utilization": "0.5"}, "", {"memory_fraction": 0.5}),
        ({"max_num_seqs": "32"}, "", {"max_sequences": 32, "small_sequences": 32}),
        (
            {"max_num_batched_tokens": "512"},
            "",
            {"prompt_chunk": 512, "small_chunk": 512, "large_chunk": 512, "whole_prompts": 512},
        ),
        ({"max_num_seqs": "many"}, "", None),
        # A state of a block is kept besides that in use.
        ({"prefix_caching": "True"}, "", {"state_blocks": 2.0}),
        ({"prefix_caching": "False"}, "", None),
        ({}, "0.6.3", {"launches_ahead": 0.0}),
        ({}, "0.8.0", None),
    ],
)
def test_an_engine_is_started_with_what_its_log_lists(settings, version, expected):
    log = StartLog("vllm", version=version, settings=settings)
    found = limits_of(log, ENTRIES.engine("vllm"))
    stated = {} if found is None else found.model_dump(exclude_unset=True)
    assert {name: pytest.approx(getattr(found, name).si) for name in stated} == (expected or {})
    if expected and not version and "state_blocks" not in expected:
        assert limits_of(log, ENTRIES.engine("vllm"), list(settings)) is None
    if version:
        assert limits_of(log, ENTRIES.engine("vllm"), ["early"]) is None


def test_eager_mode_launches_no_faster_than_the_engine_does():
    """150 us a layer and sequence, 40 us a collective, or what the engine has of its own."""
    log = StartLog("vllm", settings={"eager": "True"})
    quick = made_up.engine(decode_layer_floor="10 us", collective_latency="90 us")
    found = limits_of(log, quick)
    values = {name: getattr(found, name).si for name, _ in LAUNCHES.towards}
    assert values == pytest.approx(
        {"decode_layer_floor": 150e-6, "collective_latency": 90e-6, "sequence_overhead": 150e-6}
    )
    assert limits_of(log, quick, ["eager"]) is None


def test_sglangs_share_is_of_weights_and_caches():
    for name, chunk_memory in (("sglang", 0.0), ("vllm", None)):
        log = StartLog(name, settings={"gpu_memory_utilization": "0.8"})
        engine = ENTRIES.engine(name)
        kept = engine.limited(limits_of(log, engine)).parameters.chunk_memory
        assert (None if kept is None else kept.si) == chunk_memory


@every(
    "stated,cache",
    [
        ("fp8_e5m2", "fp8"),
        ("fp8", "fp8"),
        ("bfloat16", "bf16"),
        ("float16", "fp16"),
        ("half", "fp16"),
        ("int8", "int8"),
    ],
)
def test_a_cache_has_the_format_that_is_stated(stated, cache):
    assert cache_format(StartLog("vllm", settings={"kv": stated}), start().scenario) == cache


@every(
    "bytes_of_token,cache",
    [
        # 2 x 32 x 8 x 128 numbers of 16 bits are 131,072 bytes, of 8 bits 65,536: to a tenth.
        (131_072, "bf16"),
        (131_072 * 1.09, "bf16"),
        (131_072 / 1.09, "bf16"),
        (131_072 * 1.11, None),
        (131_072 / 1.11, None),
        (65_536, "fp8"),
        (65_536 * 1.09, "fp8"),
        (65_536 / 1.11, None),
        (262_144, None),
    ],
)
def test_a_cache_has_the_format_of_its_bytes(bytes_of_token, cache):
    log = StartLog("vllm", available=1000 * bytes_of_token, tokens=1000)
    assert cache_format(log, start().scenario) == cache
    assert cache_format(replace(log, tokens=None), start().scenario) is None
    assert cache_format(replace(log, available=None), start().scenario) is None


def test_what_eager_mode_costs_is_at_batch_one():
    """Ten layers of 1 ms, 0.01 ms of products, and 0.15 ms of launches for the sequence."""
    scenario = Scenario(
        hardware=made_up.clocked(),
        model=made_up.minimal(),
        engine=made_up.CLOCK,
        batches=(7,),
        traffic=Traffic(1000.0, 1000.0, 1500.0),
    )
    found = Start(StartLog("vllm", settings={"eager": "True"}), scenario)
    (cause,) = found._of_settings()
    assert cause.times == pytest.approx((10.01 + 0.15) / 10.01, rel=1e-4)
    assert cause.term is HOST
    assert "enforce_eager makes TPOT 1.0 times as long at batch 1" in cause.sentence
    assert found.causes == []  # by less than a twentieth


@every("times,kept", [(1.04, False), (1.05, False), (1.06, True), (9.0, True)])
def test_causes_differ_by_a_twentieth_and_the_largest_is_first(times, kept):
    found = start()
    causes = [Cause(HOST, "a", "a", times), Cause(HOST, "b", "b", 2.0)]
    old = Cause(HOST, "c", NEWER_RELEASE, 1.0)  # that is named however little it costs
    found.__dict__["_of_settings"] = lambda: iter([old, causes[0]])
    found.__dict__["_of_memory"] = lambda: iter(causes[1:])
    expected = sorted([*causes[not kept :], old], key=lambda cause: -cause.times)
    assert found.causes == expected


def test_what_is_left_to_the_engine():
    """vLLM's share of memory, and SGLang's less what it keeps; the rows of a start."""
    for program in ("vllm", "sglang"):
        placement = start(program=program).placement
        kept = float(placement.reserved) / placement.machine.tier.capacity
        share = float(placement.machine.software.memory_fraction)
        assert kept > 0.01
        expected = share - (kept if program == "sglang" else 0.0)
        assert _default(placement, "gpu_memory_utilization", program) == pytest.approx(expected)
        rows = start_rows(placement.machine.software, placement.machine.tier)
        assert _default(placement, "max_num_seqs", program) == rows.sequences
        assert _default(placement, "max_num_batched_tokens", program) == rows.tokens


@every(
    "settings,sentence,times",
    [
        # Half of the card less weights and reserve, against 0.92 of it.
        (
            {"gpu_memory_utilization": "0.5"},
            "gpu_memory_utilization is 0.5 (at 0.92 the KV cache would hold",
            None,
        ),
        # 100 GiB hold 100 x 2^30 / 131,072 tokens, 409.6 requests of 2,000; vLLM runs 256 or 1,024.
        (
            {"max_num_seqs": "32"},
            "to 32 concurrent requests, and its memory has room for 410",
            12.8,
        ),
        ({"max_num_seqs": "400"}, "max_num_seqs limits the server to 400 concurrent", 1.024),
        ({"max_num_seqs": "900"}, "max_num_seqs limits the server to 900 concurrent", 1.0),
    ],
)
def test_what_a_setting_costs_is_over_its_default(settings, sentence, times):
    found = start(settings=settings)
    causes = {cause.sentence: cause for cause in found._of_settings()}
    (cause,) = (cause for said, cause in causes.items() if sentence in said)
    assert cause.term is RUNNING
    if times is None:
        whole = found.placement.machine.tier.capacity
        now, default = (
            float(p.available) for p in (found.placement, found._without(list(settings)))
        )
        assert default - now == pytest.approx(0.42 * whole, rel=0.02)
        assert cause.times == pytest.approx(default / now, rel=1e-3)
        assert cause.setting == "set gpu_memory_utilization to 0.92"
    else:
        assert cause.times == pytest.approx(times, rel=2e-3)


def test_a_cache_of_more_bits_than_the_default_holds_fewer_tokens():
    found = start()
    engine = found.scenario.engine.model_copy(update={"refused": []})  # vLLM has no 32-bit cache
    wider = replace(found, scenario=replace(found.scenario, kv="fp32", engine=engine))
    wider.__dict__["room"] = found.room
    assert [cause.sentence for cause in found._of_settings()] == []
    (cause,) = wider._of_settings()
    assert (
        cause.sentence == "the KV cache is in fp32 (in bf16 it would hold 2.0 times as many tokens)"
    )
    assert (cause.times, cause.setting) == (
        pytest.approx(2.0, rel=1e-3),
        "set kv_cache_dtype to bf16",
    )


def test_memory_and_tokens_of_a_start_have_a_range():
    """What is left of the card, less as much again of the estimated reserve as its range says."""
    found = replace(start())
    placement, reserve = found.placement, found.placement.machine.reserve
    available = float(placement.available)
    reserved = float(placement.reserved - placement.kept.buffers)
    low, middle, high = found.room
    assert middle == available
    assert low == pytest.approx(available - (reserve.above - 1.0) * reserved)
    assert high == pytest.approx(available + (1.0 - 1.0 / reserve.below) * reserved)
    assert low < middle < high
    assert found.tokens == pytest.approx(tuple(size / 131_072 for size in found.room), rel=1e-3)
    assert replace(found, log=StartLog("vllm", tokens=1000)).held == pytest.approx(
        131_072_000, rel=1e-3
    )


def test_a_limit_on_sequences_leaves_memory_without_requests():
    """2,000 tokens of 128 KiB are 250 MiB: 100 GiB have room for 409.6, 50 GiB for 204.8."""
    for held, room in ((None, 409.6), (50.0, 204.8)):
        found = start(available=held and held * GIB)
        cause = found._of_sequence_limit(64.0, "max_num_seqs")
        assert cause.times == pytest.approx(room / 64.0)
        assert cause.sentence.endswith(
            f"64 concurrent requests, and its memory has room for {room:.0f}"
        )
    # Of more than there is room for, fewer limit nothing.
    assert start()._of_sequence_limit(500.0, "max_num_seqs").times == 1.0


@every("weights,is_refused", [(None, False), (5.0, False), (40.0, True)])
def test_weights_and_caches_of_a_log_fit_the_chip(weights, is_refused):
    """70 GiB of caches and 5 GiB of weights fit 80 GiB; with 40 GiB they do not."""
    scenario = start().scenario
    log = StartLog("vllm", settings={}, available=70.0 * GIB, weights=weights and weights * GIB)
    if is_refused:
        with pytest.raises(InputError, match=r"the log has 110\.0 GiB of memory on a chip"):
            _started(log, scenario)
    else:
        assert _started(log, scenario).log is log
