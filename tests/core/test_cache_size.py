"""Cache sizes and blocks of weights with numbers for mental arithmetic."""

from types import SimpleNamespace

import pytest

from fastcalc.core.placement import cache_size as sizes
from fastcalc.core.placement import scale_blocks
from fastcalc.core.placement.cache_size import cache_size, longest_sequence
from fastcalc.core.placement.layout import Layout
from tests.helpers import every
from tests.made_up import chip, engine, minimal, placed


@every(
    "available,length,tokens,concurrency",
    [
        # A sequence of 100 tokens is 7 blocks of 16: 112 bytes of a byte a token.
        (1000.0, 100, 992, 992 / 112),
        (112.5, 100, 112, 1.0),
        (111.0, 100, 96, 96 / 112),
        (15.0, 100, 0, 0.0),
        (-5.0, 100, 0, 0.0),
        (1000.0, 96, 992, 992 / 96),
    ],
)
def test_tokens_of_a_cache_are_whole_blocks(available, length, tokens, concurrency):
    size = cache_size(placed(minimal(), reserved=float(length)), available)
    assert (size.length, size.tokens, size.blocks) == (length, tokens, 0)
    assert size.concurrency == pytest.approx(concurrency)
    assert size.needed == pytest.approx(-(-length // 16) * 16)


@every(
    "ranks,overlap,pp,tokens",
    [(1, 0, 1, 1000), (1, 0, 2, 1000), (1, 1, 1, 2000), (1, 1, 2, 3000), (2, 1, 2, 3000)],
)
def test_a_window_waits_for_the_steps_in_flight(ranks, overlap, pp, tokens, monkeypatch):
    """A step of 1,000 tokens, and as many in the next one of each stage, before blocks are freed.

    Each rank of a chip has a pool in its share of the memory.
    """
    asked = []
    pool = SimpleNamespace(
        reserved=lambda length, step: asked.append((length, step)) or 4.0,
        blocks=lambda available: available // 100, checked_bytes=100, groups=[],
    )  # fmt: skip
    monkeypatch.setattr(sizes, "block_pool", lambda *_: pool)
    under = engine(prompt_chunk=1000, overlaps_steps=overlap)
    place = placed(minimal(), Layout(pp=pp), on=chip(ranks=ranks), under=under, reserved=5000.0)
    size = sizes.cache_size(place, ranks * 1050.0)
    assert asked == [(5000, tokens)]
    assert (size.tokens, size.concurrency, size.blocks) == (12_500, 2.5, 10)


def test_the_memory_that_weights_leave_is_for_caches():
    """1 GB less a megabyte of weights, which are whole blocks of 16 bytes."""
    placement = placed(minimal(), reserved=160.0)
    free = int(float(placement.available))
    assert free == pytest.approx(999e6, rel=1e-3)
    assert cache_size(placement).tokens == free // 16 * 16


def test_a_sequence_is_as_long_as_the_model_allows_or_as_is_reserved():
    assert longest_sequence(placed(minimal(), reserved=100.0)) == 100
    assert longest_sequence(placed(minimal(max_context=4096), reserved=100.0)) == 4096


@every(
    "program,sizes,formats,side",
    [
        ("vllm", {"fp8": 128}, ["fp8"], 128),
        ("vllm", {"fp8": 128}, ["bf16"], 0),
        # Part of the weights has blocks.
        ("vllm", {"fp8": 128}, ["bf16", "fp8"], 128),
        ("vllm", {"fp8": 128, "int4": 32}, ["int4", "fp8"], 128),
        ("sglang", {"fp8": 128}, ["fp8"], 0),
        ("vllm", {}, ["fp8"], 0),
    ],
)
def test_the_side_of_a_block_is_that_of_the_format_with_the_largest(program, sizes, formats, side):
    stored = SimpleNamespace(shares=[(SimpleNamespace(id=name), 0.5) for name in formats])
    engine, model = SimpleNamespace(program=program), SimpleNamespace(block_sizes=sizes)
    assert scale_blocks._side(engine, model, stored) == side
