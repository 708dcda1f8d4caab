"""Bytes over memories with numbers for mental arithmetic."""

from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.core.model.kinds import IN_LAYERS, KINDS, READ, Kinds
from fastcalc.core.placement.compressed_blocks import _Pages, _tuple_layers
from fastcalc.core.placement.split import (
    Costs,
    Split,
    extra_beyond_rounding,
    least_extra,
    memories_used,
    near_share,
    split_as_asked,
    summed,
)
from tests.helpers import every

NEAR, FAR = SimpleNamespace(name="HBM", is_near=True), SimpleNamespace(name="DRAM", is_near=False)


def halves(**near):
    """All bytes in the nearer of two memories, but for the shares that are stated."""
    return {
        kind: [np.array(near.get(kind, 1.0)), np.array(1.0 - near.get(kind, 1.0))] for kind in KINDS
    }


def split(whole=False, sizes=1.0, **near):
    amounts = {kind: np.array(sizes) for kind in KINDS}
    return Split((NEAR, FAR), 1, amounts, halves(**near), whole)


@every(
    "near,far,extra",
    [
        (1.0, 3.0, 2.0),
        (1.0, 1.0, 0.0),
        (3.0, 1.0, -2.0),
        (1.0, 1.0 - 1e-10, 0.0),
        ([1.0, 1.0, 3.0], [3.0, 1.0 - 1e-10, 1.0], [2.0, 0.0, -2.0]),
    ],
)
def test_a_farther_memory_saves_no_rounding_errors(near, far, extra):
    np.testing.assert_allclose(extra_beyond_rounding(np.array(near), np.array(far)), extra)


def test_a_sum_is_weighted():
    assert summed([0.5, 0.25], [8.0, 4.0]) == 5.0
    assert summed([], []) == 0.0


def test_switches_to_the_cores_of_a_memory():
    """A quarter of ten layers are far, each alone; half of the head is, too."""
    parted = split(dense=0.75, head=0.5)
    assert parted.in_layers(1) == 0.25
    assert parted.turns_in_layers(1, 10.0) == 2.5
    assert parted.turns(1, 10.0) == 3.0
    # Whole layers that follow each other take one switch, or as much of one as there is of them.
    assert split(True, dense=0.75).turns_in_layers(1, 10.0) == 1.0
    assert split(True, dense=0.95).turns_in_layers(1, 10.0) == pytest.approx(0.5)
    assert split(True).turns_in_layers(1, 10.0) == 0.0


def test_what_is_in_a_memory():
    assert split(dense=0.75).read_from(1) == Kinds(*(0.25 * (kind == "dense") for kind in READ))
    assert split(dense=0.75).used(1)
    assert not split(dense=0.75, sizes=0.0).used(1)
    assert not split(dense=0.75).used(1, ["head"])
    assert not split().used(1)
    # A table of embeddings is stored far, and not read.
    unread = next(kind for kind in KINDS if kind not in READ)
    assert split(**{unread: 0.0}).used(1)
    assert not split(**{unread: 0.0}).reads_host
    assert split(dense=0.75).reads_host


def times(near, far):
    return [Kinds(*(seconds for _ in READ)) for seconds in (near, far)]


def test_times_of_memories_add_up():
    """Each of the kinds takes 1 s near and 3 s far: a quarter of one that is far adds 0.5 s."""
    count = len(READ)
    costs = Costs(times(1.0, 3.0))
    assert costs.seconds(split()) == count
    assert costs.seconds(split(dense=0.75)) == count + 0.5
    assert costs.seconds(split(dense=0.75), ["head"]) == 1.0
    # 2.5 switches of its layers and half of one for the head, of 0.1 s each.
    turning = Costs(times(1.0, 3.0), 1, 0.1, 10.0)
    assert turning.seconds(split(dense=0.75, head=0.5)) == pytest.approx(count + 0.5 + 1.0 + 0.3)
    assert turning.seconds(split(dense=0.75, head=0.5), ["head"]) == pytest.approx(2.0 + 0.05)
    assert turning.seconds(split(dense=0.75), [IN_LAYERS[0]]) == pytest.approx(
        1.0 + 0.5 * (IN_LAYERS[0] == "dense") + 0.25
    )


def test_the_bytes_that_lose_least_move():
    """Of 10 bytes of each kind, 5 do not fit: they move at half of the least extra time."""
    extra = {kind: 1.0 + index for index, kind in enumerate(READ)}
    costs = Costs([Kinds(*(0.0 for _ in READ)), Kinds(*extra.values())])
    sizes = dict.fromkeys(READ, 10.0)
    whole = 10.0 * len(READ)
    for missing, seconds in ((0.0, 0.0), (5.0, 0.5), (10.0, 1.0), (15.0, 2.0), (20.0, 3.0)):
        assert least_extra([costs], sizes, [whole - missing]) == pytest.approx(seconds)
    # Where it gains time, everything moves; of several ways the best counts.
    gains = Costs([Kinds(*(0.0 for _ in READ)), Kinds(*(-1.0 for _ in READ))])
    assert least_extra([costs, gains], sizes, [whole]) == -len(READ)


def test_names_of_the_memories_in_use():
    codes, names = memories_used(split(dense=0.75), (NEAR, FAR))
    assert names[int(codes)] == "HBM + DRAM"
    codes, names = memories_used(split(**dict.fromkeys(KINDS, 0.0)), (NEAR, FAR))
    assert names[int(codes)] == "DRAM"
    codes, names = memories_used(split(), (NEAR, FAR))
    assert names[int(codes)] == "HBM"
    assert memories_used(None, (NEAR, FAR)) == (0, ("HBM",))


def test_three_memories_have_eight_combinations():
    far, disk = FAR, SimpleNamespace(name="SSD", is_near=False)
    sizes = {kind: np.array(1.0) for kind in KINDS}
    shares = {kind: [np.array(0.25), np.array(0.25), np.array(0.5)] for kind in KINDS}
    codes, names = memories_used(Split((NEAR, far, disk), 1, sizes, shares), (NEAR, far, disk))
    assert (len(names), names[int(codes)]) == (8, "HBM + DRAM + SSD")


def machine(**place):
    return SimpleNamespace(
        tiers=(NEAR, FAR), fastest=NEAR, place=place, memory=SimpleNamespace(shares_layers=False)
    )


def test_each_kind_is_in_its_memory_and_what_is_empty_in_the_first():
    sizes = {kind: np.array([0.0, 0.5]) for kind in KINDS}
    found = split_as_asked(machine(kv=(0.25, 0.75)), 2, sizes)
    np.testing.assert_array_equal(found.shares["kv"], [[1.0, 0.25], [0.0, 0.75]])
    np.testing.assert_array_equal(found.shares["dense"], [[1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(near_share(machine(), found, "kv"), [1.0, 0.25])
    assert near_share(machine(), None, "kv") == 1.0
    assert near_share(machine(), split(kv=0.5), "kv") == 0.5
    elsewhere = SimpleNamespace(tiers=(FAR,), fastest=NEAR)
    assert near_share(elsewhere, None, "kv") == 0.0


@pytest.mark.parametrize("counts", [[4, 8, 12], [4, 4], [3, 7], [5, 10, 11], [2, 3], [1, 30, 31]])
def test_groups_of_layers_waste_least(counts):
    """Places left empty up to a multiple of a group; of equal groups the largest."""

    def waste(size):
        return sum(-count % size for count in counts)

    best = min(map(waste, range(counts[0], max(counts) + 1)))
    found = _tuple_layers(counts)
    assert waste(found) == best
    assert not any(waste(size) == best for size in range(found + 1, max(counts) + 1))
    assert counts[0] <= found <= max(counts)


def test_pages_of_8_bits_are_padded_and_of_16_bits_are_not():
    """512 elements: 448 bytes, 64 elements of 2 bytes and 8 of scales; 16 bits have 2 bytes each."""
    narrow, wide = _Pages(is_quantized=True), _Pages(is_quantized=False)
    assert narrow.entry(512) == 448 + 64 * 2 + 8
    assert wide.entry(512) == 1024
    assert [narrow.page(size) for size in (1, 576, 577)] == [576, 576, 1152]
    assert [wide.page(size) for size in (1, 576, 577)] == [1, 576, 577]
    assert wide.page(577, is_indexer=True) == 1152
