"""A model in several memories: what lives where, and what it costs, all by hand."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Engine, Hardware, Memory, Model
from fastcalc.catalogue.schema.engines import merged
from fastcalc.core.chip.host import memory_choice
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice, own_tiers
from fastcalc.core.estimate import evaluate
from fastcalc.core.model.kinds import KINDS
from fastcalc.core.outcome import Outcome, by_layout, locate, solve
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.split import Split, asked_split
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.step.host_use import HOST
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.errors import InputError
from fastcalc.features.compare.prefix import prefix_cache
from fastcalc.features.fit.records import fit_records
from fastcalc.formulas.roofline import time_over_tiers
from fastcalc.kit.answer.memories import lives
from fastcalc.kit.answer.point_records import KEYS, compare_records
from tests import made_up, strategies
from tests.helpers import outcome, run

ADDS = made_up.engine()
"""Software that reaches everything, and reads one memory after another."""

FAST_CORES = {"peak": {"bf16": "1000000 TFLOP/s"}}
"""So that arithmetic is nothing alongside memory."""

TEN_GB = made_up.minimal(total_parameters=5_000_000_000)
"""10 GB at 16 bits: ten layers of 1 GB, and a byte of cache for each token."""


ALONE = {"scale_up": {"bandwidth": "10 TB/s", "domain": 1}}
"""A link that holds up no host, and joins no other chip."""


def memory(name: str, capacity: str, bandwidth: str, **more: object) -> dict[str, object]:
    return {"name": name, "capacity": capacity, "bandwidth": bandwidth, **more}


def chip(*memories: dict[str, object], **changes: object) -> Hardware:
    """A chip of some memories, with cores and a link to spare, and no others to work with."""
    return made_up.chip(memory=list(memories), **{"links": ALONE, **FAST_CORES, **changes})


def spatial(*memories: dict[str, object], **changes: object) -> Hardware:
    return chip(*memories, **{"kind": "wafer", "execution": "spatial", **changes})


def host(dram: str = "1000 GB", bandwidth: str = "100 GB/s", **changes: object) -> Hardware:
    """A host of some DRAM; without a peak of note, its cores multiply nothing in useful time."""
    fields = {"where": "host", "shared_by": 8, "link": "50 GB/s", **changes}
    peak = {"bf16": fields.pop("compute", "1 MFLOP/s")}
    return made_up.chip(
        id="made-up-host",
        kind="host",
        memory=[memory("DRAM", dram, bandwidth, **fields)],
        peak=peak,
        links={},
    )


def seconds(found: Outcome) -> float:
    """The time of a decode pass at the first batch."""
    return float(found.estimate.tpot[0])


def place(**kinds: str) -> tuple[tuple[str, str], ...]:
    """Where kinds of bytes are to live; weights are all but the cache."""
    weights = kinds.pop("weights", None)
    named = {kind: weights for kind in KINDS if kind != "kv" and weights} | kinds
    return tuple(named.items())


# What was wrong, and the right answers.

LLAMA_READ = (8_030_261_248 - 128_256 * 4096) * 2 + 1500 * 32 * 2 * 8 * 128 * 2
"""Llama 3.1 8B: every weight but the input embedding, and the cache of 1,500 tokens. [byte]"""


def test_a_spatial_chip_reads_its_shared_memory_once_a_token(catalogue):
    """230 MB of SRAM, 96 GB of LPDDR5X at 500 GB/s.

    15.2065 GB are read, at most 0.23 of them in regions: 14.976 / 500 GB/s = 29.95 ms is the bound,
    33.39 tokens/s. An engine that adds reads the regions as well: 0.23 GB, 32 times, at 20 TB/s are
    0.37 ms, and the room that the heaviest layer asks of each region is at most a tenth of them.
    """
    memories = (memory("SRAM", "230 MB", "20 TB/s"), memory("LPDDR5X", "96 GB", "500 GB/s"))
    found = outcome("llama-3.1-8b", spatial(*memories, cores=512), engine=ADDS)
    least = (LLAMA_READ - 0.23e9) / 500e9
    assert found.estimate.bound[0] == pytest.approx(1 / least, rel=1e-9)
    assert found.estimate.bound[0] == pytest.approx(33.4, abs=0.05)
    assert least < seconds(found) < least + 0.023e9 / 500e9 + 32 * 0.23e9 / 20e12
    # Under the parameters of a wafer, fitted on other machines, and as a sequential chip under
    # a GPU's: a share of the bound, not a fiftieth of it.
    wafer = outcome("llama-3.1-8b", spatial(*memories, cores=512, peak={"bf16": "1000 TFLOP/s"}))
    other = outcome("llama-3.1-8b", chip(*memories, cores=512, peak={"bf16": "1000 TFLOP/s"}))
    assert 20 < wafer.estimate.speed[0] < 33.4
    assert 25 < other.estimate.speed[0] < 33.4


def test_regions_hold_what_they_can_and_the_rest_is_read_one_after_another():
    """2 GB in ten layers, 0.5 GB of it in regions.

    A token visits ten regions of a tenth of 10 TB/s each: 10 x 0.5 GB / 10 TB/s = 0.5 ms. The other
    1.5 GB at 500 GB/s are 3 ms, whichever region they are for.
    """
    model = made_up.minimal(total_parameters=1_000_000_000)
    on = spatial(memory("SRAM", "0.5 GB", "10 TB/s"), memory("LPDDR", "100 GB", "500 GB/s"))
    found = outcome(model, on, engine=ADDS)
    assert found.split.shares["dense"][0][0] == pytest.approx(0.25, rel=1e-5)
    assert seconds(found) == pytest.approx(3.5e-3, rel=1e-4)


def test_a_stage_alone_on_its_host_reads_no_faster_than_that_does():
    """10 GB in four stages, two to a host: 2.5 GB at 20 GB/s, four times, one after another."""
    on = chip(memory("M", "10 GB", "1 TB/s"), links={"scale_up": {"bandwidth": "100 TB/s"}})
    asked = MemoryChoice(host(bandwidth="20 GB/s", shared_by=2), "stream", place(weights="host"))
    found = outcome(TEN_GB, on, engine=ADDS, sharding=Sharding(pp=4), memory=asked)
    assert seconds(found) == pytest.approx(0.5, rel=1e-2)


def test_the_last_stage_reads_a_head_that_a_host_holds():
    """Two layers of 0.488 ms in each of two stages, and in the last a head of 1 GB at 50 GB/s.

    Of two sequences each waits for the other's 20.98 ms in the last stage.
    """
    block = {
        "count": 4,
        "attention": {"kind": "gqa", "heads": 10, "kv_heads": 10, "head_dim": 100},
        "ffn": {"kind": "dense", "width": 80_000},
    }
    shape = {"hidden_size": 1000, "vocabulary": 500_000, "blocks": [block]}
    model = Model.model_validate({"id": "m", "name": "M", "weight_format": "bf16", **shape})
    on = chip(memory("M", "10 GB", "1 TB/s"), links={"scale_up": {"bandwidth": "100 TB/s"}})
    asked = MemoryChoice(host(), "stream", place(head="host"))
    given = {"engine": ADDS, "prompt": 10, "output": 10, "memory": asked}
    found = outcome(model, on, batch=(2,), sharding=Sharding(pp=2), **given)
    assert seconds(found) == pytest.approx(2 * (2 * 0.488e-3 + 20e-3), rel=1e-2)


def test_each_chip_with_regions_reads_its_part_of_the_caches_from_shared_memory():
    """1,500 tokens of 1 MB are 1.5 GB a sequence, half of its layers on each of two chips.

    Hops between chips take next to nothing.

    Four sequences: 4 x 0.75 GB at 500 GB/s are 6 ms on both at once. One is on one chip after the
    other: 1.5 GB, 3 ms. A token sweeps 2 GB at 2 x 10 TB/s ten times, 1 ms.
    """
    model = made_up.minimal(total_parameters=1_000_000_000, kv_bytes_per_token=1_000_000)
    on = spatial(
        memory("SRAM", "10 GB", "10 TB/s"),
        memory("LPDDR", "100 GB", "500 GB/s"),
        links={"scale_out": {"bandwidth": "1000 GB/s", "latency": "100 ns"}},
    )
    asked = MemoryChoice(place=place(kv="LPDDR"))
    found = outcome(model, on, engine=ADDS, batch=(1, 4), sharding=Sharding(pp=2), memory=asked)
    assert found.estimate.tpot == pytest.approx([4e-3, 7e-3], rel=1e-3)


TWO_TIERS = chip(memory("SRAM", "20 GB", "10 TB/s"), memory("LPDDR", "96 GB", "500 GB/s"))


@pytest.mark.parametrize("batches", [(1, 8, 64), (64, 8, 1), (8, 64), (64,), (8,)])
def test_each_batch_has_the_memories_it_would_have_alone(catalogue, batches):
    """Weights of 16.06 GB and a reserved cache of 9,000 x 131,072 B = 1.18 GB a sequence.

    At 64 that is 91.6 GB of 116: one chip. 15.01 GB of weights are read at every pass, and 8,500 of
    the 9,000 reserved tokens: weights first, then 20 - 15.01 = 4.99 GB of the cache, which is all
    of it for one sequence, 0.5288 of it for 8, 0.0661 for 64. The table of embeddings comes last.
    """
    found = outcome("llama-3.1-8b", TWO_TIERS, engine=ADDS, batch=batches, prompt=8000, output=1000)
    read = (8_030_261_248 - 128_256 * 4096) * 2
    for index, batch in enumerate(batches):
        cache = batch * 9000 * 131_072
        near = min(20e9 - read, cache)
        used = 8500 / 9000
        time = (read + near * used) / 10e12 + (cache - near) * used / 500e9
        assert found.placement.layout.chips == 1
        assert found.min_chips[index] == 1
        assert found.estimate.fits[index]
        assert found.split.shares["kv"][0][index] == pytest.approx(near / cache, rel=1e-9)
        assert found.estimate.tpot[index] == pytest.approx(time, rel=1e-4)


def of_sixteen(catalogue, *batches: int) -> dict[int, tuple[str, float]]:
    """The layout and speed of each batch of a list, 16 chips given."""
    asked = outcome(
        "llama-3.1-70b", "h100-sxm", batch=batches, sharding=Sharding(chips=16)
    ).scenario
    return {
        batch: (str(one.placement.layout), float(one.estimate.speed[index]))
        for one in map(solve, by_layout([asked]))
        for index, batch in enumerate(one.scenario.batches)
    }


def test_with_chips_given_a_row_does_not_depend_on_the_others(catalogue):
    alone = of_sixteen(catalogue, 64)
    assert of_sixteen(catalogue, 64, 512)[64] == alone[64]
    assert of_sixteen(catalogue, 1, 64, 4096)[64] == alone[64]
    assert of_sixteen(catalogue, 512, 64)[64] == alone[64]


def test_with_chips_given_a_row_has_the_layout_that_serves_most(catalogue):
    """Brute force: every legal layout of 16 chips asked for by its ranks."""
    asked = outcome("llama-3.1-70b", "h100-sxm", batch=(64,), sharding=Sharding(chips=16))
    served = []
    for layout in asked.site.exactly(16):
        ranks = Sharding(tp=layout.tp, pp=layout.pp, ep=layout.ep, dp=layout.dp)
        one = outcome("llama-3.1-70b", "h100-sxm", batch=(64,), sharding=ranks)
        if one.estimate.fits[0]:
            served.append(float(one.estimate.served[0]))
    assert len(served) > 3
    assert asked.estimate.served[0] == pytest.approx(max(served), rel=1e-12)


# Limits.


def test_all_in_the_slow_tier_is_a_chip_of_that_tier():
    """10 GB at 500 GB/s: 20 ms, and the cache of 1,500 bytes."""
    both = chip(memory("SRAM", "20 GB", "10 TB/s"), memory("LPDDR", "96 GB", "500 GB/s"))
    one = chip(memory("LPDDR", "96 GB", "500 GB/s"))
    all_slow = MemoryChoice(place=place(weights="LPDDR", kv="LPDDR"))
    alone = outcome(TEN_GB, one, engine=ADDS, batch=(1, 64))
    asked = outcome(TEN_GB, both, engine=ADDS, batch=(1, 64), memory=all_slow)
    assert seconds(alone) == pytest.approx(20.000003e-3, rel=1e-9)
    assert asked.estimate.tpot == pytest.approx(alone.estimate.tpot, rel=1e-9)
    assert asked.estimate.bound == pytest.approx(alone.estimate.bound, rel=1e-9)
    assert asked.estimate.ttft == pytest.approx(alone.estimate.ttft, rel=1e-9)
    assert asked.placement.max_batch == alone.placement.max_batch


def test_a_fast_tier_too_small_to_matter_does_not():
    """A kilobyte of 10 GB, a tenth of a millionth of it."""
    both = chip(memory("SRAM", "1 kB", "10 TB/s"), memory("LPDDR", "96 GB", "500 GB/s"))
    found = outcome(TEN_GB, both, engine=ADDS)
    assert seconds(found) == pytest.approx(20e-3, rel=3e-7)
    assert found.estimate.bound[0] == pytest.approx(50, rel=3e-7)


@pytest.mark.parametrize("batch", [1, 64])
def test_regions_that_hold_nothing_take_the_time_of_a_sequential_chip(batch):
    """A chip of one memory that is in no region: 10 GB and the caches, once, at 500 GB/s."""
    shared = memory("LPDDR", "96 GB", "500 GB/s", where="package")
    model = made_up.minimal(total_parameters=5_000_000_000, kv_bytes_per_token=100_000)
    regions = outcome(model, spatial(shared), engine=ADDS, batch=(batch,))
    one = outcome(model, chip(shared), engine=ADDS, batch=(batch,))
    by_hand = (10e9 + batch * 1500 * 1e5) / 500e9
    assert memory_time(one) == pytest.approx(by_hand, rel=1e-9)
    assert memory_time(regions) == pytest.approx(by_hand, rel=1e-9)


def memory_time(found: Outcome) -> float:
    """The time of a decode pass that is spent on reading."""
    return float(np.sum(sum(one.by_limiter()[0] for one in found.estimate.step.components)))


@pytest.mark.parametrize("kinds", [{"weights": "B", "kv": "B"}, {"weights": "A", "kv": "C"}])
def test_the_bandwidth_of_a_tier_that_is_left_out_changes_nothing(kinds):
    tiers = {"A": "10 TB/s", "B": "2 TB/s", "C": "500 GB/s"}
    left_out = next(name for name in tiers if name not in kinds.values())
    model = made_up.minimal(total_parameters=5_000_000_000, kv_bytes_per_token=100_000)
    asked = MemoryChoice(place=place(**kinds))
    found = []
    for bandwidth in ("100 GB/s", tiers[left_out], "100 TB/s"):
        rates = {**tiers, left_out: bandwidth}
        on = chip(*(memory(name, "40 GB", rate) for name, rate in rates.items()))
        found.append(outcome(model, on, engine=ADDS, batch=(1, 64), memory=asked).estimate)
    for other in found[1:]:
        assert other.tpot == pytest.approx(found[0].tpot, rel=1e-9)
        assert other.bound == pytest.approx(found[0].bound, rel=1e-9)
        assert other.ttft == pytest.approx(found[0].ttft, rel=1e-9)


def test_an_empty_tier_changes_nothing():
    """Two tiers hold all; a third, of any rate below the first, holds nothing."""
    two = (memory("A", "5 GB", "10 TB/s"), memory("B", "96 GB", "500 GB/s"))
    alone = outcome(TEN_GB, chip(*two), engine=ADDS)
    for bandwidth in ("400 GB/s", "1 GB/s"):
        more = chip(*two, memory("C", "96 GB", bandwidth))
        assert seconds(outcome(TEN_GB, more, engine=ADDS)) == pytest.approx(
            seconds(alone), rel=1e-9
        )


def test_a_second_tier_as_fast_as_the_first_is_one_larger_tier():
    """1 GB and 99 GB at 1 TB/s: 10 GB take 10 ms."""
    both = chip(memory("A", "1 GB", "1 TB/s"), memory("B", "99 GB", "1 TB/s"))
    one = chip(memory("A", "100 GB", "1 TB/s"))
    found, alone = (outcome(TEN_GB, on, engine=ADDS) for on in (both, one))
    assert seconds(found) == pytest.approx(10e-3, rel=1e-6)
    assert seconds(found) == pytest.approx(seconds(alone), rel=1e-9)


def test_a_host_over_a_tiny_link_takes_as_long_as_the_link():
    """4 of 10 GB fit near, at 1 TB/s: 4 ms; the other 6 over 1 MB/s are 6,000 s."""
    on = chip(memory("HBM", "4 GB", "1 TB/s"))
    found = outcome(TEN_GB, on, engine=ADDS, memory=MemoryChoice(host(link="1 MB/s"), "stream"))
    assert found.split.shares["dense"][0][0] == pytest.approx(0.4, rel=1e-9)
    assert seconds(found) == pytest.approx(6000.004, rel=1e-6)
    assert found.where == "HBM + DRAM of 1 chip"


def test_drafts_of_a_model_of_totals_alone_take_a_layer_each_on_a_host_too():
    """9 GB of 10 over a link of 50 GB/s, 1 GB at 1 TB/s: 181 ms, and 3 layers of 10 besides."""
    model = made_up.minimal(total_parameters=5_000_000_000, hidden_size=1000)
    place = made_up.placed(model, memory=MemoryChoice(host(), "stream"))
    drafting = Traffic(1.0, 1.0, 1.0, speculation=Speculation.accepting(0.8, 3.0))
    seconds = (
        evaluate(place, batch=1.0, traffic=drafting).tpot * drafting.speculation.tokens_per_pass
    )
    assert seconds == pytest.approx(1.3 * (9 / 50 + 1 / 1000), rel=1e-3)


@pytest.mark.parametrize("use", ["stream", "compute", None])
def test_a_host_as_fast_as_the_chip_is_more_of_its_memory(use):
    """Memory, link and cores of the chip's own rates, behind no turn that costs anything."""
    on = chip(memory("HBM", "4 GB", "1 TB/s"))
    same = host(bandwidth="1 TB/s", link="1 TB/s", compute="1000000 TFLOP/s")
    found = outcome(TEN_GB, on, engine=ADDS, memory=MemoryChoice(same, use))
    alone = outcome(TEN_GB, chip(memory("HBM", "1004 GB", "1 TB/s")), engine=ADDS)
    assert seconds(found) == pytest.approx(seconds(alone), rel=1e-6)
    assert found.placement.max_batch == alone.placement.max_batch


def test_a_model_that_is_asked_to_live_on_the_host_alone_is_read_over_the_link():
    """10 GB over 50 GB/s: 200 ms, not the 100 ms that the DRAM itself would take."""
    on = chip(memory("HBM", "80 GB", "1 TB/s"))
    asked = MemoryChoice(host(), "stream", place(weights="host", kv="host"))
    found = outcome(TEN_GB, on, engine=ADDS, memory=asked)
    assert seconds(found) == pytest.approx(0.2, rel=1e-6)
    assert found.estimate.bound[0] == pytest.approx(5, rel=1e-6)
    assert found.where == "DRAM of 1 chip"
    # An engine that makes half of the link takes twice as long.
    slower = made_up.engine(host_link_fraction=0.5)
    assert seconds(outcome(TEN_GB, on, engine=slower, memory=asked)) == pytest.approx(0.4, rel=1e-6)
    # Worked on in place: 10 GB at 100 GB/s.
    fast = MemoryChoice(host(compute="1000 TFLOP/s"), "compute", asked.place)
    found = outcome(TEN_GB, on, engine=ADDS, memory=fast)
    assert seconds(found) == pytest.approx(0.1, rel=1e-3)


def test_a_host_that_is_not_needed_and_not_faster_changes_nothing():
    """80 GB hold 10, and no byte takes less elsewhere: what is streamed comes through the chip."""
    on = chip(memory("HBM", "80 GB", "300 GB/s"))
    alone = outcome(TEN_GB, on, engine=ADDS, batch=(1, 64))
    slow, quick = {"bandwidth": "290 GB/s"}, {"bandwidth": "1 TB/s", "link": "1 TB/s"}
    cores = {"compute": "1000 TFLOP/s"}
    for other, use in (
        (host(), None),
        (host(**quick, **cores), "stream"),
        (host(**slow, **cores), "compute"),
        (host(**slow, **cores), None),
    ):
        found = outcome(TEN_GB, on, engine=ADDS, batch=(1, 64), memory=MemoryChoice(other, use))
        assert np.all(found.estimate.tpot == alone.estimate.tpot)
        assert np.all(found.estimate.ttft == alone.estimate.ttft)
        assert found.placement.layout == Layout()
        assert found.where == "HBM of 1 chip"


@pytest.mark.parametrize("use", ["compute", None])
@pytest.mark.parametrize("turn", [0.0, 0.5, 0.8, 0.85])
def test_a_host_faster_than_the_chip_holds_what_gains(turn, use):
    """10 GB at 300 GB/s are 33.3 ms; 8 GB of room at 400 GB/s 20, and 2 GB stay: 26.7 ms.

    Eight tenths of ten layers alternate: of 0.85 ms each they leave nothing of the gain of 6.7.
    """
    on = chip(memory("HBM", "80 GB", "300 GB/s"))
    there = MemoryChoice(host("8 GB", "400 GB/s", compute="1000000 TFLOP/s"), use)
    under = made_up.engine(host_layer_overhead=f"{turn} ms")
    found = outcome(TEN_GB, on, engine=under, memory=there)
    best = min(2e3 / 300 + 20 + 8 * turn, 1e4 / 300)
    assert seconds(found) == pytest.approx(best / 1e3, rel=1e-6)
    # More of the chip's memory than it needs is no reason to fill it.
    more = chip(memory("HBM", "800 GB", "300 GB/s"))
    assert seconds(outcome(TEN_GB, more, engine=under, memory=there)) == seconds(found)
    # Asked to stay near, it does.
    near = replace(there, place=place(weights="HBM", kv="HBM"))
    found = outcome(TEN_GB, on, engine=under, memory=near)
    assert seconds(found) == pytest.approx(1e-2 / 0.3, rel=1e-6)


@pytest.mark.parametrize(
    ("command", "more"),
    [
        (("mixtral-8x7b", "rtx-3090", "epyc-9005-12ch", "int4", 16), 33.5e9),
        (("qwen3-30b-a3b", "l4", "epyc-9004-12ch", None, 4), 96 * 2**30),
        (("deepseek-r1", "t4", "grace-480gb", None, 32), 900e9),
    ],
)
def test_more_memory_of_a_card_never_slows_it_alongside_a_faster_host(catalogue, command, more):
    model, card, name, weights, batch = command
    there = replace(memory_choice(catalogue, name), place_for="decode")
    asked = {"batch": (batch,), "weights": weights, "memory": there}
    on = catalogue.hardware(card)
    ranks = Sharding(pp=2) if card == "t4" else Sharding(tp=1)
    speeds = []
    for room in (on.memory[0].capacity.si, more):
        larger = [scaled(on.memory[0], capacity=room / on.memory[0].capacity.si)]
        changed = on.model_copy(update={"memory": larger})
        speeds.append(outcome(model, changed, sharding=ranks, **asked).estimate.speed[0])
    assert speeds[1] >= speeds[0] * (1 - TINY)


def test_without_a_second_memory_and_with_one_that_everything_is_kept_out_of_rows_are_the_same():
    """A machine of one memory takes the path of before, to the bit."""
    one = chip(memory("HBM", "80 GB", "1 TB/s"))
    both = chip(memory("HBM", "80 GB", "1 TB/s"), memory("LPDDR", "96 GB", "500 GB/s"))
    inside = MemoryChoice(place=place(weights="HBM", kv="HBM"))
    found = outcome(TEN_GB, both, engine=ADDS, memory=inside).estimate
    assert found.tpot == outcome(TEN_GB, one, engine=ADDS).estimate.tpot


# Properties.

TINY = 1e-9


@st.composite
def hosts(draw: st.DrawFn) -> Hardware:
    """A host with and without cores, on slow links and coherent ones."""
    return host(
        "4000 GB",
        f"{draw(st.integers(20, 900))} GB/s",
        link=f"{draw(st.integers(1, 900))} GB/s",
        compute=draw(st.sampled_from(["1 TFLOP/s", "20 TFLOP/s", "1 MFLOP/s"])),
        shared_by=draw(st.sampled_from([1, 4, 8])),
    )


@st.composite
def software(draw: st.DrawFn) -> Engine:
    """An engine that has something to say of several memories."""
    engine = draw(strategies.engines())
    share = st.sampled_from([0.2, 0.7, 1.0])
    more = made_up.engine(
        host_bandwidth_fraction=draw(share),
        host_link_fraction=draw(share),
        host_layer_overhead=draw(st.sampled_from(["0 us", "100 us"])),
    )
    return engine.model_copy(update={"parameters": merged(engine.parameters, more.parameters)})


@st.composite
def requests(draw: st.DrawFn) -> Scenario:
    """A stated deployment of a chip of one or two memories and maybe a host that holds its batch."""
    on = draw(strategies.hardware(spatial=False))
    first = scaled(on.memory[0], capacity=draw(st.sampled_from([0.01, 0.1, 1.0])))
    on = on.model_copy(update={"memory": [first]})
    if draw(st.booleans()):
        second = scaled(first, bandwidth=draw(st.sampled_from([0.05, 0.5, 0.99])))
        on = on.model_copy(update={"memory": [first, second]})
    has_host = len(on.memory) == 1 or draw(st.booleans())
    asked = MemoryChoice(
        draw(hosts()) if has_host else None,
        draw(st.sampled_from(["stream", "compute", None])) if has_host else None,
        draw(st.sampled_from([(), (), (("experts", "host"),), (("kv", "host"),)]))
        if has_host
        else (),
    )
    ranks = st.sampled_from([1, 2, 4])
    request = Scenario(
        hardware=on,
        model=draw(strategies.models()),
        engine=draw(software()),
        batches=(1, draw(st.sampled_from([2, 32, 1000]))),
        traffic=Traffic(2000, 500, 2250, prefix_hit=draw(st.sampled_from([0.0, 0.6]))),
        sharding=Sharding(tp=draw(ranks), pp=draw(st.sampled_from([1, 2])), dp=draw(ranks)),
        memory=asked,
    )
    try:
        found = locate(request)
    except InputError:
        assume(False)
    assume(found.placement.max_batch >= max(request.batches))
    return request


def scaled(one: Memory, **factors: float) -> Memory:
    """A memory with some of its numbers multiplied."""
    update = {}
    for name, factor in factors.items():
        old = getattr(one, name)
        update[name] = old.model_copy(update={"si": old.si * factor})
    return one.model_copy(update=update)


def raised(entry: Any, factor: float, *path: str | int) -> Any:
    """An entry, or a list of them, with one of its numbers multiplied."""
    if not path:
        return entry.model_copy(update={"si": entry.si * factor})
    at, *further = path
    if isinstance(entry, list):
        new = raised(entry[at], factor, *further)
        return [new if place == at else old for place, old in enumerate(entry)]
    old = entry[at] if isinstance(entry, dict) else getattr(entry, at)
    new = raised(old, factor, *further)
    return entry | {at: new} if isinstance(entry, dict) else entry.model_copy(update={at: new})


def parts_of(hardware: Hardware) -> Iterator[tuple[str | int, ...]]:
    """Where each number of a chip or host is that says how fast or large it is."""
    for at, memory in enumerate(hardware.memory):
        for name in ("capacity", "bandwidth", "link"):
            if getattr(memory, name):
                yield "memory", at, name
    yield from (("peak", name) for name in hardware.peak)
    yield from ((name,) for name in ("cores", "vector") if getattr(hardware, name))
    links = hardware.links
    yield from (
        ("links", name, "bandwidth") for name in ("scale_up", "scale_out") if getattr(links, name)
    )


def better_ones(request: Scenario, factor: float) -> Iterator[tuple[str, Scenario]]:
    """The same deployment with more of one thing."""
    for path in parts_of(request.hardware):
        more = raised(request.hardware, factor, *path)
        yield f"chip {path}", replace(request, hardware=more)
    host = request.memory.host
    for path in parts_of(host) if host else ():
        more = replace(request.memory, host=raised(host, factor, *path))
        yield f"host {path}", replace(request, memory=more)


@pytest.mark.thorough
@strategies.examples(15)
@given(requests(), st.sampled_from([1.01, 1.5, 20.0]), st.sampled_from(["served", "decode"]))
def test_a_faster_or_larger_part_never_slows_what_bytes_are_placed_for(request, factor, place_for):
    """Every number of chip and host: requests with their prompts, or decode alone, and the bound."""
    request = replace(request, memory=replace(request.memory, place_for=place_for))
    found = solve(request).estimate
    for name, better in better_ones(request, factor):
        after = solve(better).estimate
        if place_for == "served":
            assert np.all(after.served >= found.served * (1 - TINY)), (name, after, found)
        else:
            assert np.all(after.tpot <= found.tpot * (1 + TINY)), (name, after, found)
        assert np.all(after.bound >= found.bound * (1 - TINY)), name


@pytest.mark.thorough
@strategies.examples(15)
@given(requests())
def test_nothing_beats_the_bound(request):
    """Not even the sum of the parts, before the step is held to the bound."""
    found = solve(request).estimate
    parts = [one.seconds for one in found.step.components if one.name != "up to the bound"]
    least = found.bound_pass.seconds
    assert np.all(found.speed <= found.bound * (1 + TINY))
    assert np.all(sum(parts) >= least * (1 - 1e-6)), (sum(parts), least)


@strategies.examples(15)
@given(requests())
def test_shares_are_whole_and_memories_hold_what_is_in_them(request):
    found = solve(request)
    if found.split is None:
        return
    usable = found.placement.usable
    for kind in KINDS:
        assert sum(found.split.shares[kind]) == pytest.approx(1.0, rel=1e-9), kind
        assert all(np.all(share >= -TINY) for share in found.split.shares[kind])
    for place, room in enumerate(usable):
        held = sum(found.split.shares[kind][place] * found.split.sizes[kind] for kind in KINDS)
        assert np.all(held <= room * (1 + 1e-9)), (place, held, room)


def test_a_faster_host_serves_more_where_it_may_take_what_prompts_need(catalogue):
    """DRAM four times as fast: placed for decode alone, prompts would pay more than it saves."""
    host = catalogue.hardware("grace-480gb")
    faster = host.model_copy(update={"memory": [scaled(host.memory[0], bandwidth=4.0)]})
    chip = catalogue.hardware("apple-m2-ultra-76").model_copy(
        update={"links": made_up.chip().links}
    )
    served = {
        place_for: [
            float(
                outcome(
                    "glm-4.5",
                    chip,
                    engine=catalogue.engine("vllm"),
                    batch=(4,),
                    output=10,
                    weights="fp8",
                    kv="bf16",
                    sharding=Sharding(tp=1, pp=8, dp=2),
                    memory=MemoryChoice(each, "compute", place_for=place_for),
                ).estimate.served[0]
            )
            for each in (host, faster)
        ]
        for place_for in ("served", "decode")
    }
    assert served["served"][1] >= served["served"][0] >= served["decode"][0] * (1 - TINY)
    assert served["decode"][1] < served["served"][0] < served["served"][1]


@pytest.mark.thorough
@strategies.examples(15)
@given(requests(), hosts())
def test_adding_a_host_never_slows_what_fitted_without_it(request, added):
    alone = replace(request, memory=MemoryChoice())
    assume(locate(alone).placement.max_batch >= max(alone.batches))
    before = solve(alone).estimate
    found = solve(replace(alone, memory=MemoryChoice(added)))
    after = found.estimate
    assert np.all(after.served >= before.served * (1 - TINY))
    assert np.all(after.bound >= before.bound * (1 - TINY))


# Placement, against all others that there are.

MOE = Model.model_validate(
    {
        "id": "made-up-experts",
        "name": "Made up",
        "weight_format": "bf16",
        "hidden_size": 64,
        "vocabulary": 1000,
        "blocks": [
            {
                "count": 2,
                "attention": {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16},
                "ffn": {"kind": "moe", "experts": 8, "active_experts": 2, "width": 32},
            }
        ],
    }
)
"""All five kinds of bytes, from 50 to 200 kB each."""

READ_OF = {"dense": 1.0, "head": 1.0, "embedding": 0.0}
"""What a pass reads of each kind that does not depend on the batch."""


def sizes_of(batch: int) -> dict[str, float]:
    """The bytes of each kind, by hand.

    A layer has 64 x (64 + 32 + 32 + 64) = 12,288 weights of attention, a router of 64 x 8 and two
    norms of 64; a last norm comes after both. An expert has 3 x 64 x 32 weights. Table and head are
    64 x 1,000 each, and 1,500 tokens of cache are reserved: 2 layers x 2 x 2 heads x 16 a token.
    """
    return {
        "dense": 2 * 2 * 12_288.0,
        "head": 2 * (64_000.0 + 2 * (512 + 128) + 64),
        "experts": 2 * 2 * 8 * 6144.0,
        "kv": batch * 1500 * 2.0 * 2 * 2 * 2 * 16,
        "embedding": 2 * 64_000.0,
    }


def simplex(parts: int, steps: int) -> list[tuple[float, ...]]:
    """All shares of some parts that add up to 1, in steps."""
    cuts = itertools.product(range(steps + 1), repeat=parts - 1)
    return [
        (*(one / steps for one in cut), 1.0 - sum(cut) / steps) for cut in cuts if sum(cut) <= steps
    ]


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("tiers", "steps"),
    [
        ([(100e3, 10e9), (9e6, 2e9)], 8),
        ([(300e3, 10e9), (9e6, 2e9)], 8),
        ([(100e3, 10e9), (150e3, 3e9), (9e6, 0.5e9)], 3),
        ([(250e3, 10e9), (60e3, 9e9), (9e6, 0.5e9)], 3),
    ],
)
def test_no_other_placement_takes_less(tiers, steps, batch):
    """Every split of five kinds of bytes over the memories, in steps; times add."""
    on = chip(
        *(
            memory(str(place), f"{room} B", f"{rate} B/s")
            for place, (room, rate) in enumerate(tiers)
        )
    )
    found = outcome(MOE, on, engine=ADDS, batch=(batch,), prompt=1000, output=500)
    # Of 8 experts, 8 (1 - (3/4)^b) are picked; the mean context is 1,250 of the 1,500 reserved.
    read = READ_OF | {"experts": 1 - 0.75**batch, "kv": 1250 / 1500}
    sizes = sizes_of(batch)
    for kind in KINDS:
        assert found.split.sizes[kind] == pytest.approx(sizes[kind], rel=1e-9), kind
    choices = np.array(simplex(len(tiers), steps))  # choice, tier
    grid = np.indices((len(choices),) * len(KINDS)).reshape(len(KINDS), -1)
    bytes_in = sum(sizes[kind] * choices[grid[at]] for at, kind in enumerate(KINDS))
    fits = np.all(bytes_in <= np.array([room for room, _ in tiers]), axis=1)
    pace = choices @ (1 / np.array([rate for _, rate in tiers]))
    times = sum(sizes[kind] * read[kind] * pace[grid[at]] for at, kind in enumerate(KINDS))
    assert fits.sum() > 20
    assert memory_time(found) <= times[fits].min() * (1 + 1e-9)
    # And the time is that of the split that is reported.
    shares = {kind: np.array([one[0] for one in found.split.shares[kind]]) for kind in KINDS}
    by_hand = sum(
        sizes[kind] * read[kind] * share / rate
        for kind in KINDS
        for share, (_, rate) in zip(shares[kind], tiers, strict=True)
    )
    assert memory_time(found) == pytest.approx(by_hand, rel=1e-9)


def other_splits(found: Outcome, steps: int) -> Iterator[tuple[Split, np.ndarray]]:
    """Every split of what a pass reads over the memories, in steps, and which of them fit."""
    split, machine = found.split, found.site.machine
    count = len(split.tiers)
    choices = np.array(simplex(count, steps))
    grid = np.indices((len(choices),) * 4).reshape(4, -1)
    shares = {
        kind: [choices[grid[at]][:, tier, np.newaxis] for tier in range(count)]
        for at, kind in enumerate(KINDS[:4])
    }
    shares["embedding"] = [np.array(float(tier == count - 1)) for tier in range(count)]
    shares |= {kind: split.shares[kind] for kind in machine.place}
    fits = np.array(True)
    for tier, room in enumerate(found.placement.usable):
        held = sum(shares[kind][tier] * split.sizes[kind] for kind in KINDS)
        fits = fits & (held <= room * (1 + TINY))
    yield replace(split, shares=shares), fits


@pytest.mark.thorough
@strategies.examples(15)
@given(
    requests(),
    st.sampled_from([0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 2.0]),
    st.sampled_from(["served", "decode"]),
)
def test_hardly_any_split_of_a_random_model_takes_less(request, part, place_for):
    """Chips that hold a part of it or all, cores of a host: all splits.

    The steps themselves say what each takes: O passes that decode, of which those with prompts in
    them take longer. Of two memories none takes less, where there are no stages.
    """
    request = replace(request, memory=replace(request.memory, place_for=place_for))
    found = solve(request)
    first, *others = request.hardware.memory
    sizes = asked_split(found.placement, max(request.batches)).sizes
    needed = float(np.max(sum(sizes.values())))
    room = found.placement.usable[0]
    assume(room > 0.0)
    changed = [scaled(first, capacity=float(part * needed / room))]
    changed += [scaled(one, capacity=0.3 * needed / one.capacity.si) for one in others]
    update = {"memory": changed}
    found = solve(replace(request, hardware=request.hardware.model_copy(update=update)))
    assume(np.all(found.estimate.fits) and found.split is not None)
    passes = found.estimate.passes

    def takes(split):
        alone, mixed = (
            passes.expected(replace(work, split=split)).seconds
            for work in (passes.decode_work(), passes.mixed_work())
        )
        longer = np.maximum(mixed - alone, 0.0) if place_for == "served" else 0.0
        return passes.steps * alone + passes.lumps * longer

    for other, fits in other_splits(found, 8 if len(found.split.tiers) == 2 else 3):
        least = np.where(fits, takes(other), np.inf).min(axis=0)
        # Bytes go by what they cost all stages; of several the slowest counts.
        is_exact = len(found.split.tiers) == 2 and found.placement.layout.pp == 1
        share = TINY if is_exact else 0.1
        assert np.all(takes(found.split) <= least * (1 + share))


@given(
    st.floats(1.0, 1000.0),
    st.lists(st.tuples(st.floats(0.1, 500.0), st.floats(0.01, 100.0)), min_size=1, max_size=4),
)
def test_the_bound_over_tiers_is_the_least_time_that_can_read_so_much(work, tiers):
    """In a time t a memory yields min(C, t x rate); the least t that yields all, by bisection."""
    tiers.sort(key=lambda one: one[0] / one[1])
    assume(sum(room for room, _ in tiers) > work * 1.001)
    low, high = 0.0, work / min(rate for _, rate in tiers)
    for _ in range(200):
        middle = (low + high) / 2
        yields = sum(min(room, middle * rate) for room, rate in tiers)
        low, high = (low, middle) if yields >= work else (middle, high)
    found = time_over_tiers(
        work=work, capacities=[one for one, _ in tiers], bandwidths=[one for _, one in tiers]
    )
    assert found == pytest.approx(high, rel=1e-9)


@pytest.mark.parametrize("layout", [Sharding(tp=1), Sharding(tp=8)])
def test_the_bound_sorts_memories_as_the_whole_deployment_reads_them(layout):
    """Eight chips read a shared DRAM of 4 GB at 100 GB/s by links of 2 GB/s: in 0.25 s.

    One chip alone takes 2 s. Its own 1 GB at 1 GB/s takes 1 s, whoever the others are. One chip, 4
    GB of weights: (4 - 1) / 2 = 1.5 s for what is not near, and 4 / 3 if both read at once: 1.5 s.
    Eight: the DRAM is read through first; 4 GB at 8 + 16 GB/s is 1 / 6 s.
    """
    on = made_up.chip(memory=[memory("M", "1 GB", "1 GB/s")], **FAST_CORES)
    asked = MemoryChoice(host("4 GB", "100 GB/s", link="2 GB/s"), "stream")
    model = made_up.minimal(total_parameters=2_000_000_000)
    found = outcome(model, on, engine=ADDS, sharding=layout, memory=asked)
    by_hand = 1.5 if layout.tp == 1 else 1 / 6
    assert 1 / found.estimate.bound_memory[0] == pytest.approx(by_hand, rel=1e-6)


# A host, used in both ways.

EIGHT = {"scale_up": {"bandwidth": "1 TB/s", "domain": 8}}

KV_NEAR = (("kv", "GDDR"),)

SEVENTY = made_up.minimal(total_parameters=20_000_000_000)
"""40 GB at 16 bits, as 70 billion parameters have at 4.6; ten layers."""

CARD = chip(memory("GDDR", "24 GB", "1 TB/s"))


def dram(**changes: object) -> Hardware:
    """Two channels: 80 GB/s, 25 GB/s over the link, cores that multiply as fast as it reads."""
    return host("192 GB", **{"bandwidth": "80 GB/s", "link": "25 GB/s", **CORES, **changes})


CORES = {"compute": "1000 TFLOP/s"}


def test_weights_streamed_over_a_link_by_hand():
    """24 of 40 GB near: 24 ms; the other 16 over 25 GB/s are 640 ms."""
    asked = MemoryChoice(dram(), "stream")
    assert seconds(outcome(SEVENTY, CARD, engine=ADDS, memory=asked)) == pytest.approx(
        0.664, rel=1e-6
    )


def test_an_engine_reaches_a_share_of_link_and_dram():
    """0.8 x 25 = 20 GB/s of the link, 0.2 x 80 = 16 of the DRAM: 16 GB / 16 GB/s and 24 ms."""
    lossy = made_up.engine(host_link_fraction=0.8, host_bandwidth_fraction=0.2)
    found = outcome(SEVENTY, CARD, engine=lossy, memory=MemoryChoice(dram(), "stream"))
    assert seconds(found) == pytest.approx(1.024, rel=1e-6)
    near = made_up.engine(host_link_fraction=0.8)
    found = outcome(SEVENTY, CARD, engine=near, memory=MemoryChoice(dram(), "stream"))
    assert seconds(found) == pytest.approx(0.824, rel=1e-6)


def test_weights_multiplied_where_they_are_by_hand():
    """24 ms near, and 16 GB / 80 GB/s = 200 ms; the faster of the two ways unless one is asked."""
    for use in ("compute", None):
        found = outcome(SEVENTY, CARD, engine=ADDS, memory=MemoryChoice(dram(), use))
        assert seconds(found) == pytest.approx(0.224, rel=1e-3), use
    # Cores of 0.1 TFLOP/s: 2 x 8 billion multiplications and additions are 160 ms, less than the
    # read; of 0.05, 320 ms; of 0.01, 1.6 s, and the link is faster.
    for rate, time in (("0.1 TFLOP/s", 0.224), ("0.05 TFLOP/s", 0.344), ("0.01 TFLOP/s", 0.664)):
        asked = MemoryChoice(dram(compute=rate))
        found = outcome(SEVENTY, CARD, engine=ADDS, memory=asked)
        assert seconds(found) == pytest.approx(time, rel=1e-3), rate
    slow = MemoryChoice(dram(compute="0.01 TFLOP/s"), "compute")
    assert seconds(outcome(SEVENTY, CARD, engine=ADDS, memory=slow)) == pytest.approx(
        1.624, rel=1e-3
    )


def test_each_batch_uses_the_host_as_is_faster_for_it():
    """At 0.1 TFLOP/s one sequence takes the cores 160 ms, less than the read; eight take 1.28 s."""
    found = outcome(
        SEVENTY, CARD, engine=ADDS, batch=(1, 8), memory=MemoryChoice(dram(compute="0.1 TFLOP/s"))
    )
    assert found.estimate.tpot == pytest.approx([0.224, 0.664], rel=1e-3)


def test_what_the_host_multiplies_the_chip_does_not():
    """24 of 40 GB near: 2 x 12 billion FLOPs at 0.024 TFLOP/s are 1 s, and 16 GB at 20 GB/s 0.8 s."""
    slow = chip(memory("GDDR", "24 GB", "1 TB/s"), peak={"bf16": "0.024 TFLOP/s"})
    asked = MemoryChoice(dram(bandwidth="20 GB/s"), "compute", place_for="decode")
    assert seconds(outcome(SEVENTY, slow, engine=ADDS, memory=asked)) == pytest.approx(
        1.8, rel=1e-3
    )
    # At 80 GB/s all of it takes less there: 0.5 s.
    found = outcome(SEVENTY, slow, engine=ADDS, memory=MemoryChoice(dram(), "compute"))
    assert seconds(found) == pytest.approx(0.5, rel=1e-3)


def test_the_bound_grants_the_cores_of_a_host_their_rate():
    """2 x 20 billion FLOPs at 0.024 + 0.076 TFLOP/s are 0.4 s; the reads take less."""
    slow = chip(memory("GDDR", "24 GB", "1 TB/s"), peak={"bf16": "0.024 TFLOP/s"})
    asked = MemoryChoice(dram(compute="0.076 TFLOP/s"))
    found = outcome(SEVENTY, slow, engine=ADDS, memory=asked)
    assert found.estimate.bound[0] == pytest.approx(2.5, rel=1e-6)


@pytest.mark.parametrize(("use", "rate"), [("stream", 25e9), ("compute", 80e9)])
def test_the_bound_reads_what_is_asked_to_live_on_a_host_from_there(use, rate):
    """10 GB would fit near and take 10 ms; they come over the link, or are read in place."""
    asked = MemoryChoice(dram(), use, place(weights="host"))
    found = outcome(TEN_GB, CARD, engine=ADDS, memory=asked)
    assert found.estimate.bound[0] == pytest.approx(rate / 10e9, rel=1e-6)


def test_turns_between_chip_and_host_are_paid_in_the_layers_that_are_there():
    """16 of 40 GB are four of ten layers: 4 x 5 ms on top of 224 ms; at 200 ms a turn, stream."""
    for turn, time in (("5 ms", 0.244), ("200 ms", 0.664)):
        under = made_up.engine(host_layer_overhead=turn)
        asked = MemoryChoice(dram(), place=KV_NEAR)
        found = outcome(SEVENTY, CARD, engine=under, memory=asked)
        assert seconds(found) == pytest.approx(time, rel=1e-3)
    # The attention of all layers is there where the cache is: ten turns.
    under = made_up.engine(host_layer_overhead="5 ms")
    asked = MemoryChoice(dram(), "compute", (("kv", "host"),))
    assert seconds(outcome(SEVENTY, CARD, engine=under, memory=asked)) == pytest.approx(
        0.274, rel=1e-3
    )
    # Nothing there, nothing to pay.
    found = outcome(TEN_GB, CARD, engine=under, memory=MemoryChoice(dram(), "compute"))
    assert seconds(found) == pytest.approx(0.010, rel=1e-3)


def test_cores_that_multiply_longer_than_they_read_say_both():
    """16 of 40 GB at 80 GB/s are 200 ms; 16 GFLOP at 0.05 TFLOP/s are 320, and what it takes."""
    slow = dram(compute="0.05 TFLOP/s")
    found = outcome(SEVENTY, CARD, engine=ADDS, memory=MemoryChoice(slow, "compute"))
    (cores,) = [part for part in found.estimate.step.components if part.name == HOST]
    assert float(np.sum(cores.memory_time)) == pytest.approx(0.200, rel=1e-3)
    assert float(np.sum(cores.compute_time)) == pytest.approx(0.320, rel=1e-3)
    assert float(np.sum(cores.seconds)) == pytest.approx(0.320, rel=1e-3)


@pytest.mark.thorough
def test_a_faster_link_never_slows_a_prompt_that_changes_its_way():
    """1,000 tokens by 8 billion weights of 16 GB: 16 TFLOP, 3.2 s in place at 5 TFLOP/s.

    Over a link of 5 GB/s the read alone takes as long, and the chip needs 0.16 s more for them: the
    link wins only where it saves that, too. What is near is the same either way.
    """
    slow = chip(memory("GDDR", "24 GB", "1 TB/s"), peak={"bf16": "100 TFLOP/s"})
    times = []
    for link in np.linspace(4.5, 6.0, 31):
        asked = MemoryChoice(dram(compute="5 TFLOP/s", link=f"{link:.2f} GB/s"), place=KV_NEAR)
        times.append(float(outcome(SEVENTY, slow, engine=ADDS, memory=asked).estimate.ttft[0]))
    assert all(after <= before * (1 + TINY) for before, after in itertools.pairwise(times))
    assert times[0] == pytest.approx(times[5], rel=1e-6)
    assert times[0] > times[-1] * 1.01


def test_activations_cross_the_link_twice_a_layer():
    """A width of 1,000,000 at 2 bytes, there and back, for four layers: 16 MB over 25 GB/s."""
    wide = made_up.minimal(total_parameters=20_000_000_000, hidden_size=1_000_000)
    asked = MemoryChoice(dram(), "compute", KV_NEAR)
    found = outcome(wide, CARD, engine=ADDS, memory=asked)
    assert seconds(found) == pytest.approx(0.224 + 16e6 / 25e9, rel=1e-4)


def test_kinds_of_a_layer_go_to_the_host_together_where_turns_cost_more():
    """12 GB near of 2 GB of matrices, 20 of experts and 2 of a cache of which half is read.

    One token picks a fifth of the experts. A byte at 100 GB/s in place of 1 TB/s costs 9 ps: of the
    experts 1.8, of the cache 4.5, of the matrices 9. So 12 GB of the experts, 0.6, are on the host:
    2 + 1 + 1.6 GB near are 4.6 ms, and 2.4 GB there 24 ms, with 6 of ten turns. With as much of the
    cache there, 12 of 22 GB: 2 + 5 x 10 / 22 ms near, 50 x 12 / 22 ms there: 31.5455 ms, and 5.4545
    turns. With the matrices, too, 12 of 24 GB: 3.5 ms, 35 ms, and 5 turns. The second is less from
    2.9455 / 0.5455 = 5.4 ms a turn on, the third from 6.9545 / 0.4545 = 15.3 ms on.
    """
    on = chip(memory("GDDR", "12 GB", "1 TB/s"))
    model = PICKY.model_copy(
        update={"kv_bytes_per_token": made_up.minimal(kv_bytes_per_token=1e6).kv_bytes_per_token}
    )
    there = dram(bandwidth="100 GB/s", link="2 GB/s", compute="1000000 TFLOP/s")
    alone, both, alike = (28.6, 6), (2 + 650 / 22, 120 / 22), (38.5, 5)
    cases = ((5.3, alone), (5.5, both), (15.2, both), (15.4, alike))
    for turn, (rest, turns) in cases:
        under = made_up.engine(host_layer_overhead=f"{turn} ms")
        for use in ("compute", None):
            asked = MemoryChoice(there, use)
            found = outcome(model, on, engine=under, memory=asked, context=1000)
            assert seconds(found) == pytest.approx((rest + turns * turn) / 1e3, rel=1e-6), turn


PICKY = made_up.minimal(
    total_parameters=11_000_000_000,
    active_parameters=3_000_000_000,
    experts=10,
    active_experts=2,
)
"""P = D + R = 11 and D + R / 5 = 3: 2 GB that every token passes and 20 GB of ten experts."""


def test_experts_on_the_host_by_hand():
    """12 GB near: 2 GB of matrices and half of the experts. One token picks a fifth of them.

    2 GB + 2 GB at 1 TB/s are 4 ms; the other 2 GB are 20 ms in place at 100 GB/s, 40 by the link.
    """
    on = chip(memory("GDDR", "12 GB", "1 TB/s"))
    given = {"bandwidth": "100 GB/s", "link": "50 GB/s"}
    near = MemoryChoice(dram(**given))
    found = outcome(PICKY, on, engine=ADDS, memory=near)
    assert found.split.shares["experts"][0][0] == pytest.approx(0.5, rel=1e-6)
    assert found.split.shares["dense"][0][0] == 1.0
    assert seconds(found) == pytest.approx(0.024, rel=1e-3)
    streamed = outcome(PICKY, on, engine=ADDS, memory=replace(near, use="stream"))
    assert seconds(streamed) == pytest.approx(0.044, rel=1e-3)
    # All of them there, as asked: 4 GB at 100 GB/s, and 2 ms of the rest.
    asked = replace(near, place=(("experts", "host"),))
    found = outcome(PICKY, on, engine=ADDS, memory=asked)
    assert seconds(found) == pytest.approx(0.042, rel=1e-3)


def test_narrow_experts_cost_the_kernels_of_a_chip_and_not_its_link():
    """20 GB of ten experts, half of them near; two are picked, as narrow as halves a kernel's rate.

    2 GB at half of 1 TB/s are 4 ms, 2 GB over 50 GB/s 40. A link of 800 GB/s brings them through
    memory that kernels read at 500: 4 ms. All of them on the host: 4 GB at 50 GB/s.
    """
    ffn = {"kind": "moe", "experts": 10, "active_experts": 2, "width": 32_552}
    attention = {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16}
    block = {"count": 10, "attention": attention, "ffn": ffn}
    model = made_up.blocks(hidden_size=1024, blocks=[block])
    on = chip(memory("GDDR", "10 GB", "1 TB/s"))
    under = made_up.engine(narrow_expert_width=32_552)
    asked = MemoryChoice(dram(link="50 GB/s"), "stream")
    wide = MemoryChoice(dram(bandwidth="800 GB/s", link="800 GB/s"), "stream")
    there = replace(asked, place=place(weights="host", kv="host"))
    for choice, by_hand in ((asked, 0.044), (wide, 0.008), (there, 0.080)):
        found = outcome(model, on, engine=under, memory=choice)
        assert seconds(found) == pytest.approx(by_hand, rel=5e-3)


def test_what_is_asked_to_live_near_leaves_less_room_for_others():
    """12 GB less the 2 GB asked there are 10, half of the experts."""
    on = chip(memory("GDDR", "12 GB", "1 TB/s"))
    asked = MemoryChoice(dram(), "stream", place(dense="GDDR"))
    found = outcome(PICKY, on, engine=ADDS, memory=asked)
    assert found.split.shares["experts"][0][0] == pytest.approx(0.5, rel=1e-6)


def test_what_is_read_most_for_each_byte_held_is_nearest():
    """The cache is read whole, a fifth of the experts: it is near before them; not at a batch of 64.

    1,000 + 1,000 tokens of 1 MB are reserved, 1,500 read: 0.75 of 2 GB against 0.2 of the experts.
    64 sequences pick 1 - 0.8^64 of the experts, all but a millionth.
    """
    on = chip(memory("GDDR", "12 GB", "1 TB/s"))
    model = PICKY.model_copy(
        update={"kv_bytes_per_token": made_up.minimal(kv_bytes_per_token=1e6).kv_bytes_per_token}
    )
    asked = MemoryChoice(dram(), place_for="decode")
    found = outcome(model, on, engine=ADDS, batch=(1, 64), memory=asked).split
    assert found.shares["kv"][0] == pytest.approx([1.0, 0.0], abs=1e-9)
    assert found.shares["experts"][0] == pytest.approx([0.4, 0.5], rel=1e-9)


def test_tensor_parallel_chips_share_a_host():
    """20 GB a chip, 12 near. Each of two has half of 80 GB/s, less than its link of 50 GB/s."""
    on = chip(memory("GDDR", "12 GB", "1 TB/s"), links=EIGHT)
    for shared_by, rate in ((8, 40e9), (2, 40e9), (1, 50e9)):
        asked = MemoryChoice(dram(link="50 GB/s", shared_by=shared_by), "stream")
        found = outcome(SEVENTY, on, engine=ADDS, sharding=Sharding(tp=2), memory=asked)
        assert seconds(found) == pytest.approx(0.012 + 8e9 / rate, rel=1e-6), shared_by
        in_place = outcome(
            SEVENTY, on, engine=ADDS, sharding=Sharding(tp=2), memory=replace(asked, use="compute")
        )
        reading = 80e9 if shared_by == 1 else 40e9
        assert seconds(in_place) == pytest.approx(0.012 + 8e9 / reading, rel=1e-3), shared_by


def test_stages_take_turns_at_a_host():
    """One stream is in one stage at a time, which has the host to itself: 80 GB/s, by a link of 60.

    24 GB near are 24 ms, 16 GB by the link 267 ms. With two streams both stages read: 40 GB/s each,
    400 ms, and each stream waits for the other no longer than its own way through.
    """
    on = chip(
        memory("GDDR", "12 GB", "1 TB/s"),
        links={"scale_up": {"bandwidth": "1 TB/s"}, "scale_out": {"bandwidth": "1 TB/s"}},
    )
    asked = MemoryChoice(dram(link="60 GB/s"), "stream")
    found = outcome(SEVENTY, on, engine=ADDS, batch=(1, 2), sharding=Sharding(pp=2), memory=asked)
    assert found.estimate.tpot == pytest.approx([0.024 + 16 / 60, 0.424], rel=1e-6)


def test_the_capacity_of_a_host_is_shared_and_counted_once_for_every_so_many():
    """100 GB for each four chips: 8 have 200, a quarter of 100 each."""
    on = chip(memory("GDDR", "12 GB", "1 TB/s"), links=EIGHT)
    shared = host("100 GB", shared_by=4)
    found = outcome(SEVENTY, on, engine=ADDS, sharding=Sharding(tp=8), memory=MemoryChoice(shared))
    assert found.site.machine.usable(8) == pytest.approx([12e9, 25e9], rel=1e-9)
    assert found.site.machine.usable(1) == pytest.approx([12e9, 100e9], rel=1e-9)


@pytest.mark.parametrize("everything_near", [False, True])
def test_a_cached_prefix_is_loaded_before_the_first_token(everything_near):
    """0.6 of 10,000 tokens of 1 MB are 6 GB: 120 ms at 50 GB/s, on top of what is computed."""
    model = made_up.minimal(total_parameters=500_000_000, kv_bytes_per_token=1e6)
    on = chip(memory("HBM", "80 GB", "1 TB/s"))
    inside = place(weights="HBM", kv="HBM") if everything_near else ()
    given = {"engine": ADDS, "prompt": 10_000, "prefix_hit": 0.6}
    there = MemoryChoice(host(bandwidth="200 GB/s"), "stream", inside)
    without = outcome(model, on, memory=there, **given).estimate
    loaded = outcome(model, on, memory=replace(there, prefix_tier="host"), **given).estimate
    assert loaded.ttft[0] - without.ttft[0] == pytest.approx(0.12, rel=1e-9)
    assert loaded.tpot[0] == without.tpot[0]
    # No hit, nothing to load; and the slower of link and DRAM counts.
    cold = outcome(model, on, memory=replace(there, prefix_tier="host"), engine=ADDS).estimate
    assert cold.ttft[0] == outcome(model, on, memory=there, engine=ADDS).estimate.ttft[0]
    slow = MemoryChoice(host(bandwidth="30 GB/s"), "stream", inside, "DRAM")
    assert outcome(model, on, memory=slow, **given).estimate.ttft[0] - without.ttft[0] == (
        pytest.approx(0.2, rel=1e-9)
    )


@pytest.mark.parametrize(("token", "loading", "breaks_even"), [(1e6, 0.1, 1001), (1e8, 10, None)])
def test_a_cached_prefix_breaks_even_where_it_saves_a_pass(token, loading, breaks_even):
    """Half of 10,000 tokens of 1 MB are 100 ms at 50 GB/s; 5 of 10 passes and 50 ms of products.

    A pass of 1,000 takes 20 ms: a prompt of one pass saves but 0.005 ms a token, and half of its
    cache takes 0.01 ms a token to load. From 1,001 on there are two, of which one is saved.
    """
    model = made_up.minimal(kv_bytes_per_token=token)
    on = made_up.clocked(links=ALONE)
    near = place(weights=on.memory[0].name)  # reading them hides under their products
    there = MemoryChoice(host(bandwidth="200 GB/s"), "stream", near, "host")
    found = prefix_cache(
        outcome(
            model,
            on,
            engine=made_up.CLOCK,
            prompt=10_000,
            prefix_hit=0.5,
            memory=there,
        )
    )
    assert found.loading == pytest.approx(loading, rel=1e-6)
    assert found.computing == pytest.approx(0.15, rel=1e-4)
    assert found.breaks_even == breaks_even


# What a user writes.


def test_a_host_is_written_in_a_flag(catalogue):
    found = memory_choice(catalogue, "dram=256GiB@300GB/s,link=64GB/s,chips=4,compute=3TFLOP/s")
    (tier,) = own_tiers(found.host)
    assert (tier.capacity, tier.bandwidth, tier.link) == (256 * 2**30, 300e9, 64e9)
    assert (tier.shared_by, tier.where, found.use) == (4, "host", None)
    assert found.host.peak["bf16"].si == 3e12
    assert memory_choice(catalogue, None) is OWN_MEMORY


def test_a_host_without_cores_is_streamed_from(catalogue):
    assert memory_choice(catalogue, "dram=256GiB@300GB/s,link=64GB/s").use == "stream"


def test_places_are_written_by_kind_and_weights_are_all_but_the_cache(catalogue):
    found = memory_choice(catalogue, None, place="weights=SRAM, kv=LPDDR5X")
    assert dict(found.place) == dict.fromkeys(KINDS, "SRAM") | {"kv": "LPDDR5X"}
    found = memory_choice(catalogue, None, place="weights=HBM3,experts=host")
    assert dict(found.place)["experts"] == "host"
    assert dict(found.place)["dense"] == "HBM3"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            {"host": "dram=1TB@1TB/s,link=64GB/s", "use": "read"},
            "host_use read: write stream or compute",
        ),
        ({"host": None, "use": "stream"}, "name one with host"),
        ({"host": "dram=1TB@1TB/s,link=64GB/s", "use": "compute"}, "add compute=FLOP/s"),
        ({"host": "h100-sxm"}, "h100-sxm is no host"),
        ({"host": "no-such-host"}, "no-such-host"),
        ({"host": "ram=1TB@1TB/s"}, "write dram=SIZE@BANDWIDTH"),
        ({"host": "link=64GB/s"}, "write dram=SIZE@BANDWIDTH"),
        ({"host": "dram=1TB@1TB/s,lanes=16"}, "write dram=SIZE@BANDWIDTH"),
        ({"host": "dram=1TB,link=64GB/s"}, "host dram=1TB,link=64GB/s: "),
        ({"host": "dram=1TB@1TB/s"}, "link=BANDWIDTH of one chip"),
        ({"host": "dram=1TB@1TB,link=64GB/s"}, "host dram=1TB@1TB,link=64GB/s: "),
        ({"host": "dram=@1TB/s,link=64GB/s"}, "host dram=@1TB/s,link=64GB/s: "),
        ({"host": "dram=1TB@1TB/s,link=64GB"}, "link=64GB: "),
        ({"host": "dram=1TB@1TB/s,link=64GB/s,compute=fast"}, "compute=fast: "),
        ({"host": "dram=1TB@1TB/s,link=64GB/s,chips=0"}, "chips=0: "),
        ({"host": "dram=1TB@1TB/s,link=64GB/s,chips=two"}, "chips=two: "),
        ({"host": "dram=1TB@1TB/s,link=64GB/s,chips="}, "chips=: "),
        ({"host": None, "place": "caches=HBM3"}, "kinds are weights, dense, head"),
        ({"host": None, "place": "kv"}, "write KIND=MEMORY"),
        ({"host": None, "place": "kv="}, "write KIND=MEMORY"),
        ({"host": None, "place": "kv=HBM3,"}, "write KIND=MEMORY"),
    ],
)
def test_what_is_not_understood_is_refused_in_a_sentence(catalogue, asked, says):
    with pytest.raises(InputError) as refused:
        memory_choice(catalogue, **asked)
    assert says in str(refused.value)
    assert "invalid literal" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (MemoryChoice(place=(("kv", "LPDDR"),)), "place: made-up-chip has no memory 'LPDDR'"),
        (MemoryChoice(place=(("kv", "host"),)), "it has HBM"),
        (MemoryChoice(prefix_tier="disk"), "prefix_tier: made-up-chip has no memory 'disk'"),
    ],
)
def test_a_memory_that_there_is_not_is_refused_before_anything_is_computed(asked, says):
    request = outcome(TEN_GB, chip(memory("HBM", "80 GB", "1 TB/s")), engine=ADDS).scenario
    with pytest.raises(InputError) as refused:
        locate(replace(request, memory=asked))
    assert says in str(refused.value)


# Rows.


def test_regions_that_read_their_host_stream_it():
    """A wafer of 5 GB has half of 10 GB on its host; one of 20 GB has nothing there."""
    for size, use in (("5 GB", "stream"), ("20 GB", None)):
        asked = MemoryChoice(host(compute="1000 TFLOP/s"))
        found = outcome(TEN_GB, spatial(memory("SRAM", size, "1 TB/s")), engine=ADDS, memory=asked)
        (record,) = compare_records([found])
        assert record["host_use"] == use
        assert any("streamed over the link" in line for line in lives(found)) == (use is not None)


def test_rows_say_what_is_near_and_what_a_token_takes_in_traffic():
    """The 12 GB card and its host: half of the experts near at a batch of 1.

    A pass that decodes takes 24 ms; one with the 1,000 prompt tokens in it reads all experts:
    2 + 10 ms near and 10 GB in place, 100 ms: 112 ms. Alone, a request's own prompt comes before
    its first token, so a token in traffic takes no longer than in decode. With two streams a pass
    picks 1 - 0.8^2 = 0.36 of the experts: 2 + 3.6 + 36 = 41.6 ms; over a run of 1,000 passes, the
    prompt of the other comes once: (112 - 41.6) / 1,000 ms more.
    """
    on = chip(memory("GDDR", "12 GB", "1 TB/s"))
    asked = MemoryChoice(dram(bandwidth="100 GB/s", compute="1000000 TFLOP/s"), "compute")
    found = outcome(PICKY, on, engine=ADDS, batch=(1, 2), memory=asked)
    one, two = compare_records([found])
    assert one["host"] == "made-up-host"
    assert one["dense_near_fraction"] == one["kv_near_fraction"] == 1.0
    assert one["experts_near_fraction"] == pytest.approx(0.5, rel=1e-5)
    assert one["placement"] == "GDDR + DRAM of 1 chip"
    assert one["tpot_ms"] == pytest.approx(24, rel=1e-4)
    assert one["tpot_in_traffic_ms"] == pytest.approx(one["tpot_ms"], rel=1e-12)
    assert two["tpot_ms"] == pytest.approx(41.6, rel=1e-4)
    assert two["tpot_in_traffic_ms"] == pytest.approx(41.6 + (112 - 41.6) / 1000, rel=1e-4)
    alone = compare_records([outcome(TEN_GB, CARD, engine=ADDS)])[0]
    assert alone["host"] is None
    assert alone["experts_near_fraction"] is None
    assert alone["dense_near_fraction"] == alone["kv_near_fraction"] == 1.0


def test_new_keys_come_after_those_that_there_were():
    """The last key of before is the price; speculation's stands among the first, as it did."""
    last = KEYS.index("usd_per_hour")
    new = ("tpot_in_traffic_ms", "host", *(f"{kind}_near_fraction" for kind in KINDS[:1]))
    assert all(
        KEYS.index(key) > last for key in (*new, "experts_near_fraction", "kv_near_fraction")
    )
    assert KEYS.index("bound_limiter") < last < KEYS.index("tpot_in_traffic_ms")


@pytest.mark.parametrize("use", ["stream", "compute"])
def test_nothing_is_near_where_everything_is_asked_to_live_farther(use):
    """On the host, or in the slower of a chip's own memories: none is in the fastest."""
    asked = MemoryChoice(dram(), use, place(weights="host", kv="host"))
    found = outcome(TEN_GB, CARD, engine=ADDS, memory=asked)
    both = chip(memory("HBM", "80 GB", "1 TB/s"), memory("LPDDR", "96 GB", "500 GB/s"))
    slower = MemoryChoice(place=place(weights="LPDDR", kv="LPDDR"))
    own = outcome(TEN_GB, both, engine=ADDS, memory=slower)
    for record in (*compare_records([found, own]), *fit_records([found, own])):
        assert record["dense_near_fraction"] == record["kv_near_fraction"] == 0.0
    (says,) = lives(found)
    assert "DRAM holds 100% of dense weights" in says
    assert ("the link" if use == "stream" else "host's cores") in says


def test_a_row_that_does_not_fit_has_nothing_near():
    """30 GB on a card of 24."""
    fifteen = made_up.minimal(total_parameters=15_000_000_000)
    found = outcome(fifteen, CARD, engine=ADDS, sharding=Sharding(chips=1))
    for record in (*compare_records([found]), *fit_records([found])):
        assert not record["fits"]
        assert record["dense_near_fraction"] is record["kv_near_fraction"] is None


def test_a_host_widens_the_range_of_rows_that_read_it_alone():
    """40 GB of weights on a card of 80; caches of 200 kB a token x 2,000 fill the rest at 100."""
    ranges = {
        "unseen": {"below": 1.5, "above": 1.2, "basis": "made up"},
        "offload": {"below": 2.0, "above": 1.1, "basis": "made up"},
    }
    under = Engine.model_validate(
        {"id": "ranged", "name": "", "fitted_on": "", "parameters": {}, "ranges": ranges}
    )
    model = made_up.minimal(total_parameters=20_000_000_000, kv_bytes_per_token=200_000)
    on = chip(memory("HBM", "80 GB", "1 TB/s"))
    for asked in (MemoryChoice(dram(), "stream"), MemoryChoice(dram(), prefix_tier="host")):
        found = outcome(model, on, engine=under, batch=(8, 200), memory=asked)
        assert [one["placement"] for one in compare_records([found])] == [
            "HBM of 1 chip",
            "HBM + DRAM of 1 chip",
        ]
        assert found.estimate.speed / found.estimate.low == pytest.approx([1.5, 2.0])


# What notes say of a host.


def shown_notes(*args: str, capsys: pytest.CaptureFixture[str], monkeypatch) -> list[str]:
    """The notes of the first screen, each on a line."""
    monkeypatch.setenv("COLUMNS", "300")
    ran = run(
        "compare", "gpt-oss-120b", "--on", "rtx-4090", *args, capsys=capsys, monkeypatch=monkeypatch
    )
    assert ran.code == 0, ran.err
    return [line.removeprefix("- ") for line in ran.out.splitlines() if line.startswith("- ")]


def test_the_first_screen_says_what_lives_on_a_host_and_what_becomes_of_it(capsys, monkeypatch):
    """GDDR6X holds a third of 65 GB; its PCIe 4 is 32 GB/s one way; cores are stated or not."""
    notes = partial(shown_notes, "--batch", "1,32", capsys=capsys, monkeypatch=monkeypatch)
    dropped = "compute rate of the host"
    capped = "The link to the host is limited to the 32 GB/s of rtx-4090's own"
    said = notes("--host", "dram=96GiB@80GB/s,link=250GB/s", "--engine", "vllm")
    (lying,) = (line for line in said if "DRAM holds" in line)
    assert re.match(r"rtx-4090: at batch 1 DRAM holds 7\d% of experts.*; at batch 32 DRAM", lying)
    assert "streamed over the link" in lying
    assert f"{capped}." in said
    assert any(dropped in line and "compute=" in line for line in said)
    said = notes("--host", "dram=96GiB@80GB/s,link=32GB/s")  # llama.cpp multiplies there
    assert any("host is assumed to compute at 3 TFLOP/s" in line for line in said)
    said = notes("--host", "dram=96GiB@80GB/s,link=32GB/s,compute=1TFLOP/s")
    assert any("computed by the host's cores" in line for line in said)
    assert capped not in said
    assert not any(dropped in line for line in said)
    said = notes("--host", "dram=96GiB@80GB/s,link=25GB/s", "--host-use", "stream")
    assert not any(dropped in line for line in said)


def test_what_if_reaches_a_host(capsys, monkeypatch):
    """At an eighth of the bandwidth what is read in place takes eight times as long."""
    asked = ("compare", "llama-3.1-70b", "--on", "rtx-4090", "--host", "ddr5-2ch", "--batch", "1")
    asked = (*asked, "--chips", "1", "--place", "weights=host", "--engine", "ideal")
    asked = (*asked, "--weights", "int4", "--format", "json")
    key, found = "ddr5-2ch:memory.DRAM.bandwidth", []
    for rate in ("80 GB/s", "10 GB/s"):
        ran = run(*asked, "--set", f"{key}={rate}", capsys=capsys, monkeypatch=monkeypatch)
        (record,) = json.loads(ran.out)["records"]
        assert f"what if: {key.partition(':')[2]} of ddr5-2ch is {rate}" in str(record["warnings"])
        found.append(record["tpot_ms"])
    assert found[1] == pytest.approx(8 * found[0], rel=1e-6)
    # What a plan says to type next is of the same host.
    asked = ("plan", *asked[1:6], "--set", f"{key}=10 GB/s", "--max-chips", "1", "--format", "json")
    (plan,) = json.loads(run(*asked, capsys=capsys, monkeypatch=monkeypatch).out)["records"][:1]
    assert f"--set '{key}=10 GB/s'" in plan["command"]


def test_layers_on_the_card_and_on_the_host_are_read_one_after_the_other():
    """40 GB in ten layers. Six with the output layer are five on the card: 20 GB at 1 TB/s.

    The host reads its 20 GB at 80 GB/s: 20 + 250 ms, and one turn of 5 ms for all its layers. With
    no layer on the card it reads 40 GB, with eleven none.
    """
    under = made_up.engine(host_layer_overhead="5 ms")
    for layers, time in ((6, 0.275), (0, 0.505), (1, 0.505), (11, 0.040), (99, 0.040)):
        card = chip(memory("GDDR", "48 GB", "1 TB/s"))
        asked = MemoryChoice(dram(), "compute", gpu_layers=layers)
        found = outcome(SEVENTY, card, engine=under, memory=asked)
        assert seconds(found) == pytest.approx(time, rel=1e-3), layers


@pytest.mark.parametrize(
    ("asked", "experts", "dense", "turns"),
    [
        # Of 48 layers, the first 12 leave their experts on the host: a turn in each.
        ({"cpu_moe_layers": 12}, 0.25, 0.0, 12),
        ({"cpu_moe_layers": 999}, 1.0, 0.0, 48),
        # 24 are on the host whole, with one turn; the experts of six more with one each.
        ({"cpu_moe_layers": 30, "gpu_layers": 25}, 30 / 48, 0.5, 7),
    ],
)
def test_experts_of_the_first_layers_live_on_the_host(catalogue, asked, experts, dense, turns):
    memory = MemoryChoice(dram(), "compute", **asked)
    found = outcome("qwen3-30b-a3b", CARD, engine=ADDS, memory=memory, weights="int4")
    split = found.estimate.passes.split
    assert float(np.ravel(split.shares["experts"][1])[0]) == pytest.approx(experts)
    assert float(np.ravel(split.shares["dense"][1])[0]) == pytest.approx(dense)
    assert float(np.ravel(split.turns_in_layers(1, 48))[0]) == pytest.approx(turns)


def test_card_and_host_each_hold_their_layers_and_the_cache_of_these():
    """A byte of cache for each of 1e9 tokens: 1 GB in ten layers, beside 4 GB of each layer.

    With five layers the card has 20.5 of 24 GB and the host 20.5 GB; with six 24.6 GB do not fit.
    """
    long = Traffic(1e9 - 1, 1, 1e9)
    for layers, fits in ((6, True), (7, False)):
        asked = MemoryChoice(dram(), "compute", gpu_layers=layers)
        placed = locate(
            Scenario(
                hardware=CARD,
                model=SEVENTY,
                engine=ADDS,
                batches=(1,),
                traffic=long,
                sharding=Sharding(chips=1),
                memory=asked,
            )
        ).placement
        assert bool(placed.certain_batch) == fits
        assert float(placed.used_fraction(1.0)) == pytest.approx((20.5 if fits else 24.6) / 24)


def test_kinds_that_are_named_live_where_they_are_asked_to_beside_layers(catalogue):
    """Experts on the host are there for all layers, whatever is on the card of the others."""
    asked = MemoryChoice(dram(), "compute", place(experts="host"), gpu_layers=99)
    found = outcome("qwen3-30b-a3b", CARD, engine=ADDS, memory=asked, weights="fp8")
    shares = found.estimate.passes.split.shares
    assert [float(np.ravel(share)[0]) for share in shares["experts"]] == [0.0, 1.0]
    assert [float(np.ravel(share)[0]) for share in shares["dense"]] == [1.0, 0.0]
    assert [float(np.ravel(share)[0]) for share in shares["embedding"]] == [0.0, 1.0]
