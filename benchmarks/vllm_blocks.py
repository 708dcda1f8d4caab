"""Blocks of caches against vLLM's own manager: ``python -m benchmarks.vllm_blocks``.

Run under a Python that has vLLM 0.27 (no GPU is needed: of the package only the cache manager is
asked) and what fastcalc needs. Each model of the catalogue is described to vLLM layer by layer,
from its model file alone, for several ranks, cache formats and lengths; vLLM aligns pages, groups
layers, counts blocks and says what one request needs. fastcalc must say the same, to the block.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from fastcalc.catalogue.schema import (
    Attention,
    CompressedAttention,
    LatentAttention,
    LinearAttention,
    Model,
)
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.model.workload import Workload, workload
from fastcalc.core.placement.cache_blocks import block_pool

CHIP, STEP, ROOMS = "h100-sxm", 8192, (4.99, 11.05, 44.0)
"""Any chip; prompt tokens of a step; memory for caches of a rank [GiB]."""


@dataclass(frozen=True)
class Case:
    """A model as it is served: ranks of tensor parallelism, format of caches, longest request."""

    model: Model
    tp: int
    kv: str
    length: int


def cases(catalogue: Catalogue) -> Iterator[Case]:
    """Every model whose attention vLLM's general groups hold, in each of the settings."""
    shapes = set()
    for name in catalogue.names("models"):
        model = catalogue.model(name)
        kinds = {type(block.attention) for block in model.blocks} - {type(None)}
        known = kinds <= {Attention, LatentAttention, LinearAttention} or kinds == {
            CompressedAttention
        }
        indexed = any(
            block.attention.indexer is not None
            for block in model.blocks
            if isinstance(block.attention, Attention | LatentAttention)
        )
        shape = tuple(map(str, model.blocks))
        if model.is_minimal or not known or indexed or shape in shapes:
            continue
        shapes.add(shape)
        for tp in (1, 2, 4):
            if all(_divides(block.attention, tp) for block in model.blocks):
                for kv in ("bf16", "fp8"):
                    yield from (Case(model, tp, kv, length) for length in (8192, 40_000, 131_072))


def _divides(attention: Any, tp: int) -> bool:
    if isinstance(attention, Attention):
        kv = attention.cached_heads
        return attention.heads % tp == 0 and (kv % tp == 0 or tp % kv == 0)
    if isinstance(attention, LinearAttention):
        return attention.key_heads % tp == 0 and attention.value_heads % tp == 0
    return True


def theirs(case: Case) -> tuple[list[int], float, int]:
    """Blocks of each room, requests at once in the last, and bytes that one needs, as vLLM says."""
    from vllm.v1.core import kv_cache_utils as manager

    config = _config(case)
    specs = dict(_specs(case, config))
    groups = manager.get_kv_cache_groups(config, specs)
    made = [
        manager.get_kv_cache_config_from_groups(config, groups, int(room * 2**30)) for room in ROOMS
    ]
    _, concurrency = manager.get_kv_cache_capacity(config, made[-1])
    needed = manager._max_memory_usage_bytes_from_groups(config, groups)
    return [each.num_blocks for each in made], float(concurrency), int(needed)


def _config(case: Case) -> Any:
    return SimpleNamespace(
        scheduler_config=SimpleNamespace(
            disable_hybrid_kv_cache_manager=False, max_num_batched_tokens=STEP
        ),
        max_in_flight_tokens=2 * STEP,
        model_config=SimpleNamespace(max_model_len=case.length, dtype=None),
        parallel_config=SimpleNamespace(
            decode_context_parallel_size=1, prefill_context_parallel_size=1
        ),
        cache_config=SimpleNamespace(
            num_gpu_blocks_override=None,
            mamba_cache_mode="none",
            mamba_page_size_padded=None,
            mamba_block_size=None,
            user_specified_mamba_block_size=False,
            block_size=16,
            cache_dtype="auto",
            kv_cache_dtype_skip_layers=None,
        ),
        kv_transfer_config=None,
        speculative_config=None,
    )


def _specs(case: Case, config: Any) -> Iterator[tuple[str, Any]]:
    """Each layer as vLLM describes it, pages of states aligned by vLLM's own platform code."""
    import torch

    stored = torch.bfloat16 if case.kv == "bf16" else torch.float8_e4m3fn
    layers = [
        (f"model.layers.{at}", attention)
        for at, attention in enumerate(
            block.attention for block in case.model.blocks for _ in range(block.count)
        )
        if attention is not None and not _attends_to_another(attention)
    ]
    states = [each for _, each in layers if isinstance(each, LinearAttention)]
    full = [each for _, each in layers if not isinstance(each, LinearAttention)]
    if states and full:
        _align(case, config, states[0], full[0], stored)
    for name, attention in layers:
        if isinstance(attention, CompressedAttention):
            yield from _compressed_specs(name, attention, is_quantized=case.kv == "fp8")
        else:
            yield name, _spec(case, config, attention, stored)


def _compressed_specs(
    name: str, attention: CompressedAttention, *, is_quantized: bool
) -> Iterator[tuple[str, Any]]:
    """What a layer of DeepSeek V4 keeps: window, entries, keys, and the states of compressors."""
    import torch
    from vllm.v1 import kv_cache_interface as interface

    common = {"num_kv_heads": 1, "alignment": 576 if is_quantized else None}
    entry = {
        **common,
        "head_size": attention.head_dim,
        "dtype": torch.uint8 if is_quantized else torch.bfloat16,
        "cache_dtype_str": "fp8_ds_mla" if is_quantized else "auto",
        "model_version": "deepseek_v4",
    }
    window, latent = interface.SlidingWindowMLASpec, interface.MLAAttentionSpec
    yield f"{name}.window", window(block_size=64, sliding_window=attention.window, **entry)
    if (ratio := attention.compression) is None:
        return
    overlap, block = (1, 8) if attention.indexer is None else (2, 4)
    state = {**common, "block_size": block, "sliding_window": overlap * ratio}
    state["dtype"] = torch.float32
    yield f"{name}.entries", latent(block_size=256, compress_ratio=ratio, **entry)
    yield f"{name}.state", window(head_size=2 * overlap * attention.head_dim, **state)
    if (indexer := attention.indexer) is not None:
        width, common["alignment"] = indexer.head_dim, 576
        keys = {**common, "head_size": width + width // 128 * 4, "dtype": torch.uint8}
        yield f"{name}.keys", latent(block_size=256, compress_ratio=ratio, **keys)
        yield f"{name}.keys_state", window(head_size=2 * overlap * width, **state)


def _attends_to_another(attention: Any) -> bool:
    """Whether a layer keeps no cache but that of an earlier one, for which vLLM has no spec."""
    return isinstance(attention, Attention) and attention.shared_cache


def _spec(case: Case, config: Any, attention: Any, stored: Any) -> Any:
    from vllm.v1 import kv_cache_interface as interface

    block, cache = config.cache_config.block_size, config.cache_config
    if isinstance(attention, LinearAttention):
        shapes, dtypes = _state(case, attention)
        return interface.MambaSpec(
            block_size=case.length,
            shapes=shapes,
            dtypes=dtypes,
            page_size_padded=cache.mamba_page_size_padded,
        )
    if isinstance(attention, LatentAttention):
        width = attention.kv_rank + attention.rope_dim
        return interface.MLAAttentionSpec(
            block_size=block, num_kv_heads=1, head_size=width, dtype=stored
        )
    shape = {
        "block_size": block,
        "num_kv_heads": max(attention.cached_heads // case.tp, 1),
        "head_size": attention.head_dim,
        "dtype": stored,
        "indexes_kv_by_block_stride": True,
    }
    if attention.chunked:
        return interface.ChunkedLocalAttentionSpec(attention_chunk_size=attention.window, **shape)
    shape["head_size_v"] = attention.value_dim or attention.head_dim
    if attention.window:
        return interface.SlidingWindowSpec(sliding_window=attention.window, **shape)
    return interface.FullAttentionSpec(**shape)


def _state(case: Case, attention: LinearAttention) -> tuple[Any, Any]:
    import torch
    from vllm.model_executor.layers.mamba.mamba_utils import MambaStateShapeCalculator

    if attention.kind == "mamba2":
        found = MambaStateShapeCalculator.mamba2_state_shape(
            case.tp,
            attention.value_heads * attention.value_dim,
            attention.key_heads,
            attention.value_heads,
            attention.value_dim,
            attention.key_dim,
            attention.conv_kernel,
        )
    else:
        found = MambaStateShapeCalculator.gated_delta_net_state_shape(
            case.tp,
            attention.key_heads,
            attention.value_heads,
            attention.key_dim,
            attention.value_dim,
            attention.conv_kernel,
        )
    return found, (torch.bfloat16, torch.float32)


def _align(
    case: Case, config: Any, state: LinearAttention, full: Attention | LatentAttention, stored: Any
) -> None:
    """Have vLLM's platform set the block of attention and the padded page of states."""
    from unittest import mock

    from vllm.platforms.interface import Platform
    from vllm.v1.attention.backend import MultipleOf

    if isinstance(full, LatentAttention):
        heads, width = 1, full.kv_rank + full.rope_dim
    else:
        heads, width = max(full.cached_heads // case.tp, 1), full.head_dim
    is_latent = isinstance(full, LatentAttention)
    model = config.model_config
    model.use_mla, model.dtype, model.architecture = is_latent, stored, "Any"
    model.get_num_kv_heads = lambda _: heads
    model.get_head_size = lambda: width
    shapes, dtypes = _state(case, state)
    architecture = SimpleNamespace(
        get_mamba_state_shape_from_config=lambda _: shapes,
        get_mamba_state_dtype_from_config=lambda _: dtypes,
    )
    backend = SimpleNamespace(get_supported_kernel_block_sizes=lambda: [MultipleOf(16)])
    with (
        mock.patch("vllm.model_executor.models.ModelRegistry.resolve_model_cls") as resolve,
        mock.patch("vllm.config.vllm.set_current_vllm_config"),
    ):
        resolve.return_value = architecture, None
        Platform._align_hybrid_block_size(config, backend)


def ours(catalogue: Catalogue, case: Case) -> tuple[list[int], float, int] | None:
    """The same as fastcalc says it; None where it knows no such pool."""
    work: Workload = workload(case.model, None, case.kv)
    engine = catalogue.engine("vllm")
    site = machine(catalogue.hardware(CHIP), engine, work, OWN_MEMORY)
    pool = block_pool(
        replace(site, software=replace(site.software, state_blocks=1.0)), work, case.tp, 1
    )
    if pool is None:
        return None
    a_request = float(pool.reserved(case.length, step=2.0 * STEP))
    blocks = [pool.blocks(int(room * 2**30)) for room in ROOMS]
    return blocks, blocks[-1] / a_request, int(a_request * pool.checked_bytes)


def main() -> int:
    """Compare all cases and say which differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", type=int, default=10, help="differences that are shown")
    show = parser.parse_args().show
    catalogue, models, differing, total = Catalogue(), set(), [], 0
    for case in cases(catalogue):
        total += 1
        models.add(case.model.id)
        try:
            expected = theirs(case)
        except (NotImplementedError, AssertionError, ValueError) as error:
            differing.append(f"{case.model.id} tp {case.tp} {case.kv}: vLLM refuses it: {error}")
            continue
        said = ours(catalogue, case)
        if said is None or said[0] != expected[0] or said[2] != expected[2]:
            differing.append(
                f"{case.model.id} tp {case.tp} {case.kv} {case.length}: "
                f"vLLM {expected}, here {said}"
            )
    print(f"{len(models)} models, {total} cases, {len(differing)} differ")
    print(*differing[:show], sep="\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
