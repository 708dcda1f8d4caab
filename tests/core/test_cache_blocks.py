"""Blocks of caches by hand: what vLLM logged, and what its own manager counts."""

from dataclasses import replace

import numpy as np
import pytest

from fastcalc.catalogue.entry_numbers import entry_numbers, with_value
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.cache_blocks import block_pool, reserved_on_chip
from fastcalc.core.placement.layout import Layout, Layouts

ENTRIES = Catalogue()
GIB = 2.0**30


def pool(model, *, tp=1, pp=1, kv="bf16", states=1.0, drafted=0.0):
    """The pool of a model of the catalogue under vLLM."""
    entry = ENTRIES.model(model) if isinstance(model, str) else model
    work = workload(entry, None, kv)
    memory = replace(OWN_MEMORY, drafted=drafted)
    site = machine(ENTRIES.hardware("h100-sxm"), ENTRIES.engine("vllm"), work, memory)
    software = replace(site.software, state_blocks=states)
    return block_pool(replace(site, software=software), work, tp, pp)


@pytest.mark.parametrize(
    ("settings", "available", "length", "tokens"),
    [
        # Qwen3.8 27B on two RTX 3090, prefixes cached: 208 blocks, 84 + 3 x 2 a request; its log
        # says 302,921 tokens and 2.31 requests at once.
        ({"kv": "fp8", "states": 2.0}, 4.99, 131_072, 302_921),
        # The same with three draft tokens: 17 layers of 1,600 tokens, 164 + 3 x 5 a request. 11.05
        # GiB are 425 or 426 blocks, of which the latter are the 623,873 tokens that it logged.
        ({"kv": "fp8", "states": 2.0, "drafted": 3.0}, 11.054, 262_144, 623_873),
    ],
)
def test_tokens_of_hybrids_are_those_that_vllm_logged(settings, available, length, tokens):
    made = pool("qwen3.6-27b", tp=2, **settings)
    concurrency = made.blocks(available * GIB) / float(made.reserved(length))
    assert int(concurrency * length) == tokens


def test_states_of_each_sequence_take_a_block():
    """784 tokens of 4,096 B in 16 layers: 939 blocks are 44.9 GiB, as on one RTX PRO 6000."""
    made = pool("qwen3.6-27b")
    assert made.block_bytes == 784 * 4096 * 16
    assert made.has_states
    assert made.blocks(939 * 784 * 4096 * 16) == 939
    assert float(made.reserved(1)) == 1 + 3  # three groups of sixteen layers with states


def test_the_last_stage_has_all_draft_layers():
    """Of 16 layers of a table, 16 / 2, and one more with a draft layer on the last of two stages.

    DeepSeek V3 has 61 layers and one of a draft: 31 and 30 with that one.
    """
    whole = pool("qwen3.6-27b", drafted=1.0)
    assert pool("qwen3.6-27b", pp=2, drafted=1.0).block_bytes / whole.block_bytes == 9 / 17
    layer = pool("deepseek-r1").block_bytes / 61
    assert pool("deepseek-r1", pp=2, drafted=1.0).block_bytes == 31 * layer
    assert pool("deepseek-r1", pp=4, drafted=1.0).block_bytes == 16 * layer


def test_compressors_keep_states_of_all_tokens_in_flight():
    """DeepSeek V4 Flash in blocks of 256 tokens, logged on two GH200 with steps of 16,384.

    A sequence of 30,000 tokens takes 118 blocks of entries, 2 x 259 of windows, 4,099 and 2,065 of
    compressor states, each of 22 layers x (37,440 + 8,640 + 1,728) B: 6.66 GiB, the error said, and
    that 5.44 GiB serve 13,528 tokens.
    """
    made = pool("deepseek-v4-flash", tp=2, kv="fp8")
    assert float(made.reserved(30_000, step=16_384)) == 118 + 2 * 259 + 4099 + 2065
    assert made.checked_bytes == 22 * (37_440 + 8640 + 1728)
    assert made.block_bytes == 21 * (37_440 + 8640) + 20 * 1728
    longest = float(made.reserved(13_528, step=16_384)) * made.checked_bytes / GIB
    assert longest == pytest.approx(5.44, abs=0.005)


def test_states_may_be_wider_than_every_compressed_page():
    """At a compression of 8, pages are 32 entries of 584 B in units of 576 B, 19,008 B.

    States of 4 tokens x 2 x key and score x 512 x 4 B take 32,832 B, and those of the indexer,
    8,640 B, a page of 19,008 B, in each of 21 layers.
    """
    model = ENTRIES.model("deepseek-v4-flash")
    for number in entry_numbers(model):
        if number.path.endswith("compression") and number.value == 4:
            model = with_value(model, number.place, 8)
    made = pool(model, tp=2, kv="fp8")
    assert made.block_bytes == 21 * (32_832 + 19_008)


def test_keys_of_an_indexer_are_in_the_blocks_of_what_they_pick():
    """GLM 5.3 Flash on four H200: 38.43 GiB held 3.35 sequences of 1,048,576 tokens, 11.47 GiB."""
    made = pool("glm-5.3-flash", tp=4)
    assert len(made.groups) == 2  # latent attention and states
    sequence = float(made.reserved(1_048_576)) * made.block_bytes / GIB
    assert sequence == pytest.approx(38.43 / 3.35, rel=0.05)


def test_layers_that_share_a_cache_take_no_page():
    """Gemma 4 E4B: 20 windowed layers and 4 full ones of 42, the latter with heads twice as wide."""
    made = pool("gemma-4-e4b")
    assert {group.layer.token for group in made.groups} == {2 * 2 * 256 * 2.0, 2 * 2 * 512 * 2.0}
    assert sum(group.tables for group in made.groups) == 6  # in pages of four layers: 5 + 1


def test_layers_with_windows_share_pages():
    """gpt-oss-20b: twelve full layers and twelve of 128 tokens; Gemma 3: ten and five times ten."""
    made = pool("gpt-oss-20b")
    assert made.block_bytes == 12 * 16 * 2 * 8 * 64 * 2
    assert float(made.reserved(8192)) == 512 + 9
    assert float(made.reserved(8192, step=16_384)) == 512 + 513
    made = pool("gemma-3-27b")
    assert float(made.reserved(16)) == 1 + 6  # 52 layers are five groups of ten and two


def test_a_chip_is_filled_by_whole_pages_whatever_the_number_of_layouts():
    work = workload(ENTRIES.model("qwen3.6-27b"))
    site = machine(ENTRIES.hardware("h100-sxm"), ENTRIES.engine("vllm"), work, OWN_MEMORY)
    layouts = [Layout(1), Layout(2), Layout(4, pp=2)]
    alone = [float(reserved_on_chip(site, work, layout, 3000.0)) for layout in layouts]
    together = reserved_on_chip(site, work, Layouts.of(layouts), 3000.0)
    assert np.asarray(together).tolist() == alone


def test_layers_of_one_kind_take_what_their_tokens_do():
    work = workload(ENTRIES.model("llama-3.1-8b"))
    site = machine(ENTRIES.hardware("h100-sxm"), ENTRIES.engine("vllm"), work, OWN_MEMORY)
    assert reserved_on_chip(site, work, Layout(1), 100.0) is None
    assert pool("llama-3.1-8b").block_bytes == 16 * 32 * 2 * 8 * 128 * 2
