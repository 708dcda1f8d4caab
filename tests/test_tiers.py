"""A model in several memories: what lives where, and what it costs, all by hand."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Engine, Hardware, Memory
from fastcalc.catalogue.schema.engines import merged
from fastcalc.core.layout import Layout
from fastcalc.core.memory import KINDS, MemoryChoice
from fastcalc.core.scenario import Outcome, Scenario, Sharding, by_layout, locate, solve
from fastcalc.core.traffic import Traffic
from fastcalc.errors import InputError
from tests import made_up, strategies
from tests.helpers import outcome

ADDS = made_up.engine(tier_overlap=0)
"""Software that reaches everything, and reads one memory after another."""

HIDES = made_up.engine(tier_overlap=1)
"""The same, reading all memories at once."""

FAST_CORES = {"peak": {"bf16": "1000000 TFLOP/s"}}
"""So that arithmetic is nothing alongside memory."""

TEN_GB = made_up.minimal(total_parameters=5_000_000_000)
"""10 GB at 16 bits: ten layers of 1 GB, and a byte of cache for each token."""


def memory(name: str, capacity: str, bandwidth: str, **more: object) -> dict[str, object]:
    return {"name": name, "capacity": capacity, "bandwidth": bandwidth, **more}


def chip(*memories: dict[str, object], **changes: object) -> Hardware:
    """A chip of some memories, with cores to spare and no links."""
    return made_up.chip(memory=list(memories), **{"links": {}, **FAST_CORES, **changes})


def spatial(*memories: dict[str, object], **changes: object) -> Hardware:
    return chip(*memories, **{"kind": "wafer", "execution": "spatial", **changes})


def host(dram: str = "1000 GB", bandwidth: str = "100 GB/s", **changes: object) -> Hardware:
    """A host of some DRAM; without a peak of note, its cores multiply nothing in useful time."""
    told = {"where": "host", "shared_by": 8, "link": "50 GB/s", **changes}
    peak = {"bf16": told.pop("compute", "1 MFLOP/s")}
    return made_up.chip(
        id="made-up-host",
        kind="host",
        memory=[memory("DRAM", dram, bandwidth, **told)],
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
    wafer = outcome("llama-3.1-8b", spatial(*memories, cores=512, peak={"bf16": "100 TFLOP/s"}))
    other = outcome("llama-3.1-8b", chip(*memories, cores=512, peak={"bf16": "100 TFLOP/s"}))
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
    # Where the engine reads ahead, the sweeps hide.
    assert seconds(outcome(model, on, engine=HIDES)) == pytest.approx(3e-3, rel=1e-4)


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
        for one in map(solve, by_layout(asked))
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


@pytest.mark.parametrize("under", [ADDS, HIDES])
def test_all_in_the_slow_tier_is_a_chip_of_that_tier(under):
    """10 GB at 500 GB/s: 20 ms, and the cache of 1,500 bytes."""
    both = chip(memory("SRAM", "20 GB", "10 TB/s"), memory("LPDDR", "96 GB", "500 GB/s"))
    one = chip(memory("LPDDR", "96 GB", "500 GB/s"))
    all_slow = MemoryChoice(place=place(weights="LPDDR", kv="LPDDR"))
    alone = outcome(TEN_GB, one, engine=under, batch=(1, 64))
    asked = outcome(TEN_GB, both, engine=under, batch=(1, 64), memory=all_slow)
    assert seconds(alone) == pytest.approx(20.000003e-3, rel=1e-9)
    assert asked.estimate.tpot == pytest.approx(alone.estimate.tpot, rel=1e-9)
    assert asked.estimate.bound == pytest.approx(alone.estimate.bound, rel=1e-9)
    assert asked.estimate.ttft == pytest.approx(alone.estimate.ttft, rel=1e-9)
    assert asked.placement.max_batch == alone.placement.max_batch


@pytest.mark.parametrize("under", [ADDS, HIDES])
def test_a_fast_tier_too_small_to_matter_does_not(under):
    """A kilobyte of 10 GB, a tenth of a millionth of it."""
    both = chip(memory("SRAM", "1 kB", "10 TB/s"), memory("LPDDR", "96 GB", "500 GB/s"))
    found = outcome(TEN_GB, both, engine=under)
    assert seconds(found) == pytest.approx(20e-3, rel=3e-7)
    assert found.estimate.bound[0] == pytest.approx(50, rel=3e-7)


@pytest.mark.parametrize("under", [ADDS, HIDES])
@pytest.mark.parametrize("batch", [1, 64])
def test_regions_that_hold_nothing_take_the_time_of_a_sequential_chip(under, batch):
    """A chip of one memory that is in no region: 10 GB and the caches, once, at 500 GB/s."""
    shared = memory("LPDDR", "96 GB", "500 GB/s", where="package")
    model = made_up.minimal(total_parameters=5_000_000_000, kv_bytes_per_token=100_000)
    regions = outcome(model, spatial(shared), engine=under, batch=(batch,))
    one = outcome(model, chip(shared), engine=under, batch=(batch,))
    by_hand = (10e9 + batch * 1500 * 1e5) / 500e9
    assert memory_time(one) == pytest.approx(by_hand, rel=1e-9)
    # Where it reads ahead, what the regions multiply meanwhile takes part of the time.
    spent = seconds(regions) if under is HIDES else memory_time(regions)
    assert spent == pytest.approx(by_hand, rel=1e-9)


def memory_time(found: Outcome) -> float:
    """The time of a decode pass that is spent on reading."""
    return float(np.sum(sum(one.by_limiter()[0] for one in found.estimate.step.components)))


@pytest.mark.parametrize("under", [ADDS, HIDES])
@pytest.mark.parametrize("kinds", [{"weights": "B", "kv": "B"}, {"weights": "A", "kv": "C"}])
def test_the_bandwidth_of_a_tier_that_is_left_out_changes_nothing(under, kinds):
    tiers = {"A": "10 TB/s", "B": "2 TB/s", "C": "500 GB/s"}
    left_out = next(name for name in tiers if name not in kinds.values())
    model = made_up.minimal(total_parameters=5_000_000_000, kv_bytes_per_token=100_000)
    asked = MemoryChoice(place=place(**kinds))
    found = []
    for bandwidth in ("100 GB/s", tiers[left_out], "100 TB/s"):
        told = {**tiers, left_out: bandwidth}
        on = chip(*(memory(name, "40 GB", rate) for name, rate in told.items()))
        found.append(outcome(model, on, engine=under, batch=(1, 64), memory=asked).estimate)
    for other in found[1:]:
        assert other.tpot == pytest.approx(found[0].tpot, rel=1e-9)
        assert other.bound == pytest.approx(found[0].bound, rel=1e-9)
        assert other.ttft == pytest.approx(found[0].ttft, rel=1e-9)


@pytest.mark.parametrize("under", [ADDS, HIDES])
def test_an_empty_tier_changes_nothing(under):
    """Two tiers hold all; a third, of any rate below the first, holds nothing."""
    two = (memory("A", "5 GB", "10 TB/s"), memory("B", "96 GB", "500 GB/s"))
    alone = outcome(TEN_GB, chip(*two), engine=under)
    for bandwidth in ("400 GB/s", "1 GB/s"):
        more = chip(*two, memory("C", "96 GB", bandwidth))
        assert seconds(outcome(TEN_GB, more, engine=under)) == pytest.approx(
            seconds(alone), rel=1e-9
        )


def test_a_second_tier_as_fast_as_the_first_is_one_larger_tier():
    """1 GB and 99 GB at 1 TB/s: 10 GB take 10 ms where times add, and no less where they hide."""
    both = chip(memory("A", "1 GB", "1 TB/s"), memory("B", "99 GB", "1 TB/s"))
    one = chip(memory("A", "100 GB", "1 TB/s"))
    for under in (ADDS, HIDES):
        found, alone = (outcome(TEN_GB, on, engine=under) for on in (both, one))
        assert seconds(found) == pytest.approx(10e-3, rel=1e-6)
        assert seconds(found) == pytest.approx(seconds(alone), rel=1e-9)


def test_a_host_over_a_tiny_link_takes_as_long_as_the_link():
    """4 of 10 GB fit near, at 1 TB/s: 4 ms; the other 6 over 1 MB/s are 6,000 s."""
    on = chip(memory("HBM", "4 GB", "1 TB/s"))
    found = outcome(TEN_GB, on, engine=ADDS, memory=MemoryChoice(host(link="1 MB/s"), "stream"))
    assert found.split.shares["dense"][0][0] == pytest.approx(0.4, rel=1e-9)
    assert seconds(found) == pytest.approx(6000.004, rel=1e-6)
    assert found.where == "HBM + DRAM of 1 chip"


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
    slower = made_up.engine(tier_overlap=0, host_link_fraction=0.5)
    assert seconds(outcome(TEN_GB, on, engine=slower, memory=asked)) == pytest.approx(0.4, rel=1e-6)
    # Worked on in place: 10 GB at 100 GB/s.
    fast = MemoryChoice(host(compute="1000 TFLOP/s"), "compute", asked.place)
    found = outcome(TEN_GB, on, engine=ADDS, memory=fast)
    assert seconds(found) == pytest.approx(0.1, rel=1e-3)


def test_a_host_that_is_not_needed_changes_nothing():
    """80 GB hold 10: whatever the host, even one whose memory is faster than the chip's."""
    on = chip(memory("HBM", "80 GB", "300 GB/s"))
    alone = outcome(TEN_GB, on, engine=ADDS, batch=(1, 64))
    for other in (host(), host(bandwidth="460 GB/s", compute="3 TFLOP/s"), host(link="1 TB/s")):
        found = outcome(TEN_GB, on, engine=ADDS, batch=(1, 64), memory=MemoryChoice(other))
        assert found.estimate.tpot == pytest.approx(alone.estimate.tpot, rel=1e-9)
        assert found.estimate.ttft == pytest.approx(alone.estimate.ttft, rel=1e-9)
        assert found.placement.layout == Layout()


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
        tier_overlap=draw(st.sampled_from([0, 0.5, 1])),
        host_bandwidth_fraction=draw(share),
        host_link_fraction=draw(share),
        host_layer_overhead=draw(st.sampled_from(["0 us", "100 us"])),
        expert_skew=draw(st.sampled_from([0, 0.5])),
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


def better_ones(request: Scenario, factor: float) -> Iterator[tuple[str, Scenario]]:
    """The same deployment with more of one thing."""
    on, asked = request.hardware, request.memory
    for name in ("capacity", "bandwidth"):
        faster = [scaled(on.memory[0], **{name: factor}), *on.memory[1:]]
        yield name, replace(request, hardware=on.model_copy(update={"memory": faster}))
    if asked.host is not None:
        for name in ("link", "bandwidth", "capacity"):
            dram = [scaled(asked.host.memory[0], **{name: factor})]
            more = asked.host.model_copy(update={"memory": dram})
            yield f"host {name}", replace(request, memory=replace(asked, host=more))
        rate = asked.host.peak["bf16"]
        peak = {"bf16": rate.model_copy(update={"si": rate.si * factor})}
        more = asked.host.model_copy(update={"peak": peak})
        yield "host cores", replace(request, memory=replace(asked, host=more))


@settings(max_examples=40)
@given(requests(), st.sampled_from([1.01, 1.5, 20.0]))
def test_more_of_a_faster_tier_never_slows(request, factor):
    before = solve(request).estimate
    for name, better in better_ones(request, factor):
        after = solve(better).estimate
        for key in ("tpot", "ttft", "tpot_in_traffic"):
            new, old = getattr(after, key), getattr(before, key)
            assert np.all(new <= old * (1 + TINY)), (name, key, old, new)
        assert np.all(after.bound >= before.bound * (1 - TINY)), (name, before.bound, after.bound)


@settings(max_examples=40)
@given(requests())
def test_nothing_beats_the_bound(request):
    """Not even the sum of the parts, before the step is held to the bound."""
    found = solve(request).estimate
    parts = [one.seconds for one in found.step.components if one.name != "up to the bound"]
    least = found.bound_pass.seconds
    assert np.all(found.speed <= found.bound * (1 + TINY))
    assert np.all(sum(parts) >= least * (1 - 1e-6)), (sum(parts), least)


@settings(max_examples=40)
@given(requests())
def test_shares_are_whole_and_memories_hold_what_is_in_them(request):
    found = solve(request)
    if found.split is None:
        return
    usable = found.site.machine.usable(found.placement.layout.chips)
    for kind in KINDS:
        assert sum(found.split.shares[kind]) == pytest.approx(1.0, rel=1e-9), kind
        assert all(np.all(share >= -TINY) for share in found.split.shares[kind])
    assert sum(found.split.read) == pytest.approx(1.0, rel=1e-9)
    for place, room in enumerate(usable):
        held = sum(found.split.shares[kind][place] * found.split.sizes[kind] for kind in KINDS)
        assert np.all(held <= room * (1 + 1e-9)), (place, held, room)


@settings(max_examples=40)
@given(requests(), hosts())
def test_adding_a_host_never_slows_what_fitted_without_it(request, added):
    alone = replace(request, memory=MemoryChoice())
    assume(locate(alone).placement.max_batch >= max(alone.batches))
    before = solve(alone).estimate
    after = solve(replace(alone, memory=MemoryChoice(added))).estimate
    for key in ("tpot", "ttft", "tpot_in_traffic"):
        new, old = getattr(after, key), getattr(before, key)
        assert np.all(new <= old * (1 + TINY)), (key, old, new)
    assert np.all(after.bound >= before.bound * (1 - TINY))
