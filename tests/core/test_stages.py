"""Stages of a pipeline: their layers are costed as they are, and a larger model is never faster."""

import itertools
import operator
import random
from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.estimate import evaluate
from fastcalc.core.model.kinds import KINDS as KINDS_OF_BYTES
from fastcalc.core.placement.fullest_chip import stored_weights
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.legal import slots
from fastcalc.core.placement.placement import Placement
from fastcalc.core.scenario import Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.formulas.pipeline import heaviest_stage
from tests import made_up, strategies
from tests.core import test_tiers
from tests.core.test_properties import BATCHES, TINY, traffics
from tests.helpers import outcome

KINDS = {
    "dense": {"kind": "dense", "width": 6000},
    "moe": {"kind": "moe", "experts": 64, "active_experts": 2, "width": 700},
}
ATTENTIONS = [
    None,
    {"kind": "gqa", "heads": 32, "kv_heads": 8, "head_dim": 64},
    {"kind": "gqa", "heads": 32, "kv_heads": 8, "head_dim": 64, "window": 256},
    {
        "kind": "mla",
        "heads": 32,
        "kv_rank": 512,
        "nope_dim": 64,
        "rope_dim": 64,
        "value_dim": 64,
    },
    {
        "kind": "gated-deltanet",
        "key_heads": 16,
        "value_heads": 32,
        "key_dim": 64,
        "value_dim": 64,
    },
]


@st.composite
def grown_models(draw: st.DrawFn) -> tuple[Model, Model]:
    """Return a model, and the same with one more layer: of a kind that it has, or of another."""
    roll = draw(strategies.dice)
    kinds = [
        {"attention": attention, "ffn": ffn}
        for attention, ffn in itertools.product(ATTENTIONS, [None, *KINDS.values()])
        if attention or ffn
    ]
    picked = [roll.choice([kind for kind in kinds if kind["attention"]])]
    picked += [kind for kind in roll.sample(kinds, roll.randint(1, 3)) if kind not in picked]
    counts = [roll.whole(1, 30) for _ in picked]
    counts[-1] = counts[-1] if len(picked) < 2 or roll.either() else 0
    more = list(counts)
    more[roll.choice((-1, roll.randrange(len(counts))))] += 1
    words = roll.choice((1000, 150_000))
    both = (
        made_up.blocks(
            hidden_size=1024,
            vocabulary=words,
            blocks=[
                {"count": count, **{key: part for key, part in kind.items() if part}}
                for count, kind in zip(numbers, picked, strict=True)
                if count
            ],
        )
        for numbers in (counts, more)
    )
    less, larger = both
    return less, larger


def deployment(roll: random.Random, model: Model, *, is_spatial: bool) -> Layout:
    layers = sum(block.count for block in model.blocks)
    pp = roll.randint(1, layers)
    if is_spatial:
        return Layout(pp=pp)
    tp, dp = roll.choice((1, 2, 8)), roll.choice((1, 2, 4))
    has_experts = any(block.ffn and block.ffn.kind == "moe" for block in model.blocks)
    return Layout(tp, pp, roll.choice((1, tp * dp)) if has_experts else 1, dp)


def better(before: Placement, after: Placement, traffic: Traffic) -> list[str]:
    """Return what is better by more than rounding in the second of two placements."""
    old, new = (evaluate(place, batch=BATCHES, traffic=traffic) for place in (before, after))
    rates = ("speed", "bound", "served")
    times = ("ttft", "tpot", "tpot_in_traffic", "run")
    found = [name for name in rates if np.any(getattr(new, name) > getattr(old, name) * (1 + TINY))]
    found += [
        name for name in times if np.any(getattr(new, name) < getattr(old, name) * (1 - TINY))
    ]
    if after.max_batch > before.max_batch:
        found.append("max_batch")
    return found


def most_sequences(before: Placement, after: Placement) -> int:
    """Return the most that fit of a model with one more layer, by what fits without it.

    Where layers have regions, embedding and head take the room of so many layers, of heavier ones
    fewer. On as many times the wafers the smaller model has as much room for each of its layers.
    """
    rooms, fewer = (
        slots(place.machine, place.work) - place.work.layers for place in (before, after)
    )
    times = ceil(rooms / fewer) if rooms > fewer else 1
    layout = replace(before.layout, pp=before.layout.pp * times)
    return int(replace(before, layout=layout).max_batch)


@pytest.mark.thorough
@strategies.examples(15)
@given(grown_models(), strategies.hardware(), strategies.engines(), traffics, strategies.dice)
def test_one_more_layer_never_makes_anything_better(pair, chip, engine, traffic, roll):
    layout = deployment(roll, pair[0], is_spatial=chip.execution == "spatial")
    before, after = (
        made_up.placed(model, layout, on=chip, under=engine, reserved=traffic.reserved)
        for model in pair
    )
    assert set(better(before, after, traffic)) <= {"max_batch"}
    assert after.max_batch <= most_sequences(before, after)


def test_a_first_layer_with_experts_shrinks_the_room_of_the_tables():
    """The head takes the room of ten dense layers, or of one with experts."""
    model = Catalogue().model("kimi-k2")
    dense, routed = model.blocks
    chip = Catalogue().hardware("wse-3")
    before, after = (
        made_up.placed(
            model.model_copy(update={"blocks": blocks}), Layout(pp=16), on=chip, reserved=1000
        )
        for blocks in ([dense], [dense, routed.model_copy(update={"count": 1})])
    )
    assert (slots(before.machine, before.work), slots(after.machine, after.work)) == (11, 3)
    assert before.max_batch < after.max_batch <= most_sequences(before, after)


with_a_host = given(
    grown_models(),
    strategies.hardware(spatial=False),
    test_tiers.hosts(),
    test_tiers.software(),
    traffics,
    strategies.dice,
)


@pytest.mark.thorough
@strategies.examples(15)
@with_a_host
def test_nor_where_a_host_holds_a_part(pair, chip, host, engine, traffic, roll):
    """Each kind of bytes where it is asked to be: what is left open is placed only nearly best."""
    layout = deployment(roll, pair[0], is_spatial=False)
    place = tuple((kind, roll.choice(("M", "host"))) for kind in KINDS_OF_BYTES)
    memory = MemoryChoice(host, roll.choice(("stream", "compute")), place)
    before, after = (
        made_up.placed(
            model, layout, on=chip, under=engine, reserved=traffic.reserved, memory=memory
        )
        for model in pair
    )
    assert better(before, after, traffic) == []


ON_HOST = tuple((kind, "host" if kind == "embedding" else "M") for kind in KINDS_OF_BYTES)


@pytest.mark.thorough
@strategies.examples(15)
@with_a_host
def test_nor_where_bytes_go_where_requests_are_served_fastest(
    pair, chip, host, engine, traffic, roll
):
    layout = deployment(roll, pair[0], is_spatial=False)
    memory = MemoryChoice(host, roll.choice(("stream", "compute", None)))
    before, after = (
        made_up.placed(
            model, layout, on=chip, under=engine, reserved=traffic.reserved, memory=memory
        )
        for model in pair
    )
    # A first token alone may be earlier: bytes are placed for the whole run.
    assert {"served", "run", "bound", "max_batch"}.isdisjoint(better(before, after, traffic))


def test_stages_cost_the_same_alongside_a_host_of_which_nothing_is_read():
    """It has the table of embeddings. Norms of all layers are priced with the head either way."""
    model = made_up.blocks(layers=4, hidden_size=512)
    near = MemoryChoice(test_tiers.host(), "stream", ON_HOST)
    alone, with_host = (
        evaluate(
            made_up.placed(model, Layout(pp=2), on=made_up.chip(), memory=memory),
            batch=8.0,
            traffic=Traffic(100.0, 100.0, 150.0),
        ).served
        for memory in (MemoryChoice(), near)
    )
    assert with_host == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(
    ("amounts", "counts", "stages", "layers", "most"),
    [
        ([1, 5], [3, 58], 8, 8, 40),  # 58 over 8 stages: one has eight of them
        ([1, 5], [3, 5], 2, 4, 16),  # three of five, and one of three
        ([5, 1], [5, 3], 2, 4, 16),
        ([2], [10], 4, 3, 6),
        ([2, 2], [10, 10], 20, 0.5, 1),  # half a layer
    ],
)
def test_a_stage_has_its_even_share_of_each_kind(amounts, counts, stages, layers, most):
    given = {"amounts": amounts, "counts": counts, "stages": stages, "layers": layers}
    assert heaviest_stage(**given) == most


def test_the_heaviest_stage_is_that_of_brute_force():
    roll = random.Random(4)
    for _ in range(100):
        counts = [roll.randint(1, 9) for _ in range(roll.randint(1, 4))]
        amounts, stages = [roll.randint(0, 9) for _ in counts], roll.randint(1, 12)
        layers = -(-sum(counts) // stages)
        shares = [range(-(-count // stages) + 1) for count in counts]
        stage = (few for few in itertools.product(*shares) if sum(few) <= layers)
        most = max(sum(map(operator.mul, few, amounts)) for few in stage)
        found = heaviest_stage(amounts=amounts, counts=counts, stages=stages, layers=layers)
        assert found == most


@pytest.mark.parametrize(
    ("pp", "batch", "slowest"),
    [
        (2, 2, 5 * 1.0),  # ten layers of 1 ms
        (3, 3, 4 * 1.0),  # 4 + 3 + 3
        (2, 1, None),
    ],
)
def test_a_full_pipeline_goes_at_the_pace_of_its_slowest_stage(pp, batch, slowest):
    floor = made_up.engine(decode_layer_floor="1 ms")
    on = made_up.clocked(peak={"bf16": "1000 TFLOP/s"})
    place = made_up.placed(made_up.minimal(), Layout(pp=pp), on=on, under=floor)
    seconds = evaluate(place, batch=batch, traffic=Traffic(10.0, 10.0, 15.0)).tpot
    hops = 0.1 * (pp - 1)
    by_hand = max(10.0 + hops, batch * slowest) if slowest else 10.0 + hops
    assert seconds == pytest.approx(by_hand * 1e-3, rel=1e-3)


def test_the_last_stage_has_the_head():
    """Two layers of 36,992 parameters; a head of 640,000: 73,984 and 1,280,000 bytes at 1 TB/s."""
    place = made_up.placed(made_up.blocks(layers=2, vocabulary=10_000), Layout(pp=2))
    seconds = evaluate(place, batch=2.0, traffic=Traffic(1.0, 1.0, 1.0)).tpot
    assert seconds == pytest.approx(2 * (73_728 + 1_280_000) / 1e12, rel=0.01)


def test_experts_and_dense_layers_are_counted_as_they_are():
    """Three layers without and 58 with experts, over eight stages: eight with experts on one."""
    model = Catalogue().model("deepseek-r1")
    experts = made_up.placed(model, Layout(8, 8, 8), on=Catalogue().hardware("h100-sxm"))
    routed = 256 * 3 * 7168 * 2048  # fp8, a byte each
    stored = stored_weights(experts.machine, experts.work, experts.layout)["experts"]
    assert stored == pytest.approx(8 * routed / 8, rel=1e-3)  # and their scales


@pytest.mark.parametrize("pp", [1, 2])
def test_a_token_reads_one_stage_after_another(pp):
    """Llama 3.1 405B: 405.85e9 less 2.10e9 embeddings at 2 bytes, over 8 x 3.35 TB/s of a stage."""
    seconds = (405.853e9 - 128256 * 16384) * 2 / (8 * 3.35e12)
    sharding = Sharding(tp=8, pp=pp)
    found = outcome("llama-3.1-405b", "h100-sxm", prompt=1, output=1, sharding=sharding)
    bound = float(np.ravel(found.estimate.bound)[0])
    assert bound == pytest.approx(1.0 / seconds, rel=1e-3)
    assert bound == pytest.approx(33.2, abs=0.05)


def test_a_stage_reads_all_that_a_host_gives_and_only_its_own_chips():
    """405B on 8 of 16 H100 at a time, and one server's host over 8 links of 64 GB/s."""
    memory = memory_choice(Catalogue(), host="dram=1TB@600GB/s,link=64GB/s,chips=8")
    sharding = Sharding(tp=8, pp=2)
    found = outcome(
        "llama-3.1-405b", "h100-sxm", prompt=1, output=1, sharding=sharding, memory=memory
    )
    seconds = (405.853e9 - 128256 * 16384) * 2 / (8 * 3.35e12 + 8 * 64e9)
    assert float(np.ravel(found.estimate.bound)[0]) == pytest.approx(1.0 / seconds, rel=1e-3)


def test_micro_batches_share_the_caches_and_not_the_weights():
    """Two stages of one H100 each: weights twice, caches of all sequences once, at 2 x 3.35 TB/s."""
    found = outcome(
        "llama-3.1-70b", "h100-sxm", weights="fp8", batch=(64,), sharding=Sharding(tp=1, pp=2)
    )
    weights = (70.554e9 - 2 * 128256 * 8192) + 2 * 128256 * 8192  # the head stays at 16 bits
    caches = 64 * 1500 * 80 * 2 * 8 * 128 * 2
    seconds = (2 * weights + caches) / (2 * 3.35e12)
    bound = float(np.ravel(found.estimate.bound)[0])
    assert bound == pytest.approx(1.0 / seconds, rel=0.01)
