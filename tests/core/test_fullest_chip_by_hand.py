"""Blocks, draft layers and padded experts of the fullest chip, with numbers for mental arithmetic."""

from math import inf
from types import SimpleNamespace

import pytest

from fastcalc.catalogue.formats import mixed_format, number_format
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.block_pool import BlockGroup, BlockPool, LayerCache
from fastcalc.core.placement.cache_blocks import (
    _draft_layers,
    _grouped,
    _layer_caches,
    _Paging,
    _pool,
    _with_draft,
)
from fastcalc.core.placement.fullest_chip import _draft_cache_on_rank, expert_padding
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from tests.helpers import every

LLAMA = workload(Catalogue().model("llama-3.1-8b"))
"""32 layers with caches of 8 heads x 128 elements x 2 B, of keys and of values, a token: 4,096 B."""


def of_rank(per_token):
    """A draft model with a cache of some bytes per token, divided over all ranks."""
    return SimpleNamespace(cache_bytes=lambda tokens, ranks: tokens * per_token / ranks)


# A draft with caches of 5,000 B takes two more layers of 4,096 B, on each of two ranks, too.
@every("ranks,draft,layers", [(1, None, 0), (1, 4096, 1), (1, 4097, 2), (1, 5000, 2), (2, 5000, 2)])
def test_a_draft_model_counts_as_layers(ranks, draft, layers):
    paging = _Paging(16.0, 3.0, 1.0, 1, draft and of_rank(draft))
    assert _layer_caches(LLAMA, ranks, 3.0) == {LayerCache(4096 / ranks): 32}
    assert _draft_layers(LLAMA, 4096 / ranks, ranks, paging) == layers


# Of 32 layers and two of a draft, each of two stages has 16 layers and the last the draft's two;
# of three stages, the last has 10 and those two.
@every("stages,draft,layers", [(1, 5000, 34), (2, 5000, 18), (3, 5000, 12), (2, None, 16), (3, None, 11)])  # fmt: skip
def test_the_last_stage_has_all_layers_of_a_draft_model(stages, draft, layers):
    paging = _Paging(16.0, 0.0, 1.0, 1, draft and of_rank(draft))
    pool = _pool.__wrapped__(LLAMA, (1, stages), paging)
    assert pool.block_bytes == pytest.approx(layers * 16 * 4096)
    assert pool.groups == (BlockGroup(LayerCache(4096.0), 1, 16.0),)


def test_a_draft_model_has_tables_of_its_own_beside_compressed_caches():
    """256 tokens of 10 B are 2,560 B: three blocks of 1,000 B, which hold 300 tokens."""
    full, window = LayerCache(1.0), LayerCache(1.0, window=64.0)
    pool = BlockPool(1000.0, (BlockGroup(window, 2, 64.0), BlockGroup(full, 1, 256.0)), 1.0)
    drafted = _with_draft(pool, 10.0)
    assert drafted.groups == (*pool.groups, BlockGroup(LayerCache(10.0), 3, 300.0))
    assert _with_draft(pool, 0.0) is pool


FULL, WIDE = LayerCache(100.0), LayerCache(200.0, window=64.0)
STATES = LayerCache(0.0, state=5000.0)


@every(
    "layers,latent,size,page,tables",
    [
        # Pages are 16 tokens of 200 B, or 32 of 100 B; five layers are two groups of up to three.
        ({FULL: 3, WIDE: 5}, False, 3, 3200, [(1, 32), (2, 16)]),
        # Up to 1.5 times as many layers are one group.
        ({FULL: 3, WIDE: 4}, False, 4, 3200, [(1, 32), (1, 16)]),
        # 150 B times 16 tokens do not divide a page: their blocks are padded.
        ({LayerCache(150.0): 3, WIDE: 3}, False, 3, 3200, [(1, 16), (1, 16)]),
        # 5,000 B of states are 50 tokens, thus 64, or 128 with latent attention.
        ({FULL: 3, STATES: 9}, False, 3, 6400, [(1, 64), (3, 64)]),
        ({FULL: 3, STATES: 9}, True, 3, 12800, [(1, 128), (3, 128)]),
    ],
)
def test_groups_of_layers_share_pages(layers, latent, size, page, tables):
    pool, group = _grouped(layers, 16.0, 2.0, is_latent=latent)
    assert (group, pool.block_bytes) == (size, size * page)
    assert [(group.tables, group.tokens) for group in pool.groups] == tables
    assert [group.layer for group in pool.groups] == list(layers)
    assert pool.has_states is (STATES in layers)


def test_states_alone_share_no_pages():
    assert _grouped({STATES: 9}, 16.0, 2.0, is_latent=False) == (None, 9)


@every("available,blocks", [(2999.0, 2), (3000.0, 3), (999.0, 0), (-1.0, 0), (-5000.0, 0)])
def test_blocks_are_whole_and_never_negative(available, blocks):
    assert BlockPool(1000.0, (), 1.0).blocks(available) == blocks


@every("tokens,step,blocks", [(1, 1.0, 1), (64, 1.0, 4), (65, 1.0, 5), (640, 1.0, 5), (640, 100.0, 12), (1, 100.0, 2)])  # fmt: skip
def test_blocks_of_a_window(tokens, step, blocks):
    """64 tokens of a window, and those of a step, in blocks of 16, which it may begin inside.

    With steps of 100 tokens, 63 + 100 are 11 blocks, and one more.
    """
    pool = BlockPool(1000.0, (BlockGroup(WIDE, 1, 16.0),), 1.0)
    assert float(pool.reserved(tokens, step=step)) == blocks


def padding(layout, name="mxfp4", *, is_spatial=False, width=360.0, rows=1, dense="bf16", scale=8):
    names = name.split("/")
    stored = mixed_format((number_format(name), 1 / len(names)) for name in names)
    experts = SimpleNamespace(format=stored)
    model = SimpleNamespace(hidden_size=2880)
    weights = SimpleNamespace(experts=experts, dense=SimpleNamespace(format=number_format(dense)))
    work = SimpleNamespace(weights=weights, expert_width=width, model=model)
    software = SimpleNamespace(expert_columns=256, expert_rows=rows, expert_scale_bits=scale)
    return expert_padding(SimpleNamespace(is_spatial=is_spatial, software=software), work, layout)


def test_columns_of_packed_experts_are_padded_to_256():
    """Of 360 columns to 512; of half of them to 256. Of four ranks each has one in four experts."""
    assert padding(Layout()) == pytest.approx(512 / 360)
    assert padding(Layout(2)) == pytest.approx(256 / 180)
    assert padding(Layout(4, ep=4)) == pytest.approx(512 / 360)
    assert padding(Layout(4, ep=2)) == pytest.approx(256 / 180)


def test_hidden_columns_of_packed_experts_are_padded_as_well():
    """Marlin: 2,880 to 3,072 (mxfp4_round_up_hidden_size_and_intermediate_size of vLLM 0.33)."""
    assert padding(Layout(), rows=256) == pytest.approx(512 / 360 * 3072 / 2880)


def test_scales_of_packed_experts_of_an_fp8_model_may_be_loaded_in_32_bits():
    """SGLang 0.5.13, fp8.py, fp4_scale_dtype: 4 bits and 1 bit of scale for 4.25."""
    loaded = padding(Layout(), dense="fp8", width=256.0, scale=32)
    assert loaded == pytest.approx(5.0 / 4.25)
    assert padding(Layout(), width=256.0, scale=32) == padding(Layout(), width=256.0) == 1.0


def test_only_packed_experts_are_padded():
    """Half of them has 4.25 bits and half 4.5: 4.25 of 8.75 bytes grow by 152/360."""
    half = 1 + 4.25 / 8.75 * 152 / 360
    assert padding(Layout(), "mxfp4/nvfp4") == pytest.approx(half)
    for changes in ({"name": "fp8"}, {"is_spatial": True}, {"width": inf}):
        assert padding(Layout(), **changes) == 1.0


@every("ranks,cache", [(1, 3 * 60 * 100), (2, 3 * 30 * 100), (4, 3 * 30 * 100)])
def test_a_draft_layer_takes_what_the_widest_full_layer_does(ranks, cache):
    """Three draft layers with 30 elements of 2 B, over two shards, of 100 tokens."""
    groups = [(10, inf, 4), (30, inf, 2), (90, 64.0, 1)]
    caches = [SimpleNamespace(elements=n, window=window, shards=s) for n, window, s in groups]
    model = SimpleNamespace(mtp=SimpleNamespace(layers=3))
    work = SimpleNamespace(caches=caches, element_bytes=lambda _: 2.0, model=model)
    assert float(_draft_cache_on_rank(work, Layout(ranks), 100.0)) == cache
    work.caches = caches[2:]
    assert float(_draft_cache_on_rank(work, Layout(ranks), 100.0)) == 0.0


@every(
    "layout,is_spatial,per_layer,words",
    [
        (Layout(), False, 1, "HBM of 1 chip"),
        (Layout(2), False, 1, "HBM of 2 chips (tp 2)"),
        (Layout(), True, 1, "HBM of 1 wafer (4 layers each)"),
        (Layout(pp=3), True, 1, "HBM of 3 wafers (2 layers each)"),
        (Layout(pp=4), True, 1, "HBM of 4 wafers (1 layer each)"),
        (Layout(pp=8), True, 2, "HBM of 8 wafers (2 for each layer)"),
    ],
)
def test_where_a_model_is(layout, is_spatial, per_layer, words):
    machine = SimpleNamespace(is_spatial=is_spatial, hardware=SimpleNamespace(kind="wafer"))
    placed = SimpleNamespace(
        machine=machine, work=SimpleNamespace(layers=4.0), layout=layout, chips_per_layer=per_layer
    )
    assert Placement.where(placed, "HBM") == words
