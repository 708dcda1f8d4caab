"""Buffers of single kernels: attention, indexers, routed experts, image encoders.

A buffer is a pair of bytes: those that tensor-parallel ranks divide, and those that they do not.
"""

from collections.abc import Iterable, Iterator

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import (
    CompressedAttention,
    DenseFFN,
    LatentAttention,
    LinearAttention,
    Model,
)
from fastcalc.catalogue.schema.engine_parameters import DeclaredParameters
from fastcalc.catalogue.schema.models import Attention, Indexer
from fastcalc.formulas.reserve import stream_memory
from fastcalc.formulas.types import ArrayLike


def encoder_buffers(
    software: DeclaredParameters[ArrayLike], tokens: float, free: float
) -> tuple[float, float]:
    """Compute the divided and the undivided memory for encoding images or clips, in bytes.

    tokens : The largest number of tokens in a step.
    free : The memory left by the runtime and its libraries, in bytes.
    """
    items = max(tokens // float(software.encoder_tokens), 1.0)
    divided = items * float(software.encoder_divided_memory)
    undivided = items * float(software.encoder_memory) + float(software.encoder_fraction) * free
    return divided, undivided


def context_buffers(
    software: DeclaredParameters[ArrayLike], model: Model, longest: float, sequences: float
) -> Iterator[tuple[float, float]]:
    """Yield the attention buffers for cached tokens: bytes that ranks divide, and the rest. [byte]

    Latent attention expands the keys and values of a chunk of context, which is as long as eight
    sequences of maximum length, or four blocks per sequence, up to a limit (vLLM 0.33,
    model_executor/layers/attention/mla_attention.py). An indexer stores scores
    (model_executor/layers/sparse_attn_indexer.py).

    longest : The tokens of the longest sequence.
    """
    if software.context_chunk <= 1.0:
        return
    for attention in (block.attention for block in model.blocks):
        if indexer_of(attention):
            yield 0.0, float(software.indexer_memory)
        elif isinstance(attention, LatentAttention):
            width = attention.heads * (attention.nope_dim + attention.value_dim)
            blocks = 4.0 * sequences * float(software.block_size)
            tokens = min(max(8.0 * longest, blocks), float(software.context_chunk))
            yield float(stream_memory(copies=1.0, tokens=tokens, width=width)), 0.0


def indexer_of(attention: object) -> Indexer | None:
    """Return the indexer of an attention layer, if it has one."""
    if not isinstance(attention, (LatentAttention, CompressedAttention)):
        return None
    return attention.indexer


def merged_tokens(attention: object, indexer: Indexer) -> int:
    """Count the tokens that share a key of the indexer."""
    compression = attention.compression if isinstance(attention, CompressedAttention) else None
    return indexer.pool * (compression or 1)


def indexer_buffers(
    software: DeclaredParameters[ArrayLike], model: Model, longest: float
) -> Iterator[tuple[float, float]]:
    """Yield the 8-bit keys, with a 4-byte scale, that an indexer gathers, in bytes.

    longest : The tokens of the longest sequence.
    """
    is_long = longest > software.long_indexer_tokens and float(software.long_indexer_lengths) > 0.0
    lengths = software.long_indexer_lengths if is_long else software.indexer_lengths
    for attention in (block.attention for block in model.blocks):
        if indexer := indexer_of(attention):
            keys = lengths * longest / merged_tokens(attention, indexer)
            yield 0.0, float(keys * (indexer.head_dim + 4.0))


def gathered_entries(
    software: DeclaredParameters[ArrayLike], model: Model, tokens: float, longest: float
) -> Iterator[tuple[float, float]]:
    """Yield the 16-bit entries of a few prompts that compressed attention gathers, in bytes.

    A prompt has those of the longest sequence, of the window and of the tokens of a step.

    tokens : The maximum number of tokens in a step.
    longest : The tokens of the longest sequence.
    """
    for attention in (block.attention for block in model.blocks):
        if isinstance(attention, CompressedAttention):
            merged = longest / attention.compression if attention.compression else 0.0
            rows = float(software.gathered_prompts) * (merged + attention.window + tokens)
            yield 0.0, float(stream_memory(copies=1.0, tokens=rows, width=attention.head_dim))


def streams(
    buffers: ArrayLike, tokens: float, widths: Iterable[tuple[float, float]]
) -> list[tuple[float, float]]:
    """List the activations of a step: bytes that ranks divide, and the rest.

    widths : The columns that ranks divide, and the rest.
    """
    width_bytes = float(stream_memory(copies=buffers, tokens=tokens, width=1.0))
    return [
        (width_bytes * divided, width_bytes * undivided)
        for divided, undivided in (widths if buffers else ())
    ]


@once
def layer_widths(model: Model) -> tuple[tuple[float, float], ...]:
    """List the distinct activation widths per token in a layer: divided among ranks, and the rest.

    While a feed-forward network runs, its input, the residual stream and the outputs of attention
    are held.
    """
    held, widths = _held_columns(model), dict[tuple[float, float], None]()
    for block in model.blocks:
        attention, ffn = block.attention, block.ffn
        if isinstance(attention, CompressedAttention):
            widths[2.0 * attention.heads * attention.head_dim, held] = None
        if ffn is not None:
            inner = ffn.matrices * ffn.width if isinstance(ffn, DenseFFN) else 0
            widths[float(inner + _output_width(attention)), held] = None
    return tuple(widths)


def padded_widths(
    software: DeclaredParameters[ArrayLike], model: Model
) -> Iterator[tuple[float, float]]:
    """Yield the same widths of compressed attention, whose kernels need a minimum of heads."""
    for attention in (block.attention for block in model.blocks):
        if isinstance(attention, CompressedAttention):
            heads = float(software.compressed_heads)
            yield 0.0, 2.0 * heads * attention.head_dim + _held_columns(model)


def _held_columns(model: Model) -> float:
    """Count the columns of a layer's input and residual stream.

    Hyper-connections add the residual streams that a layer reads and writes, and a copy of them at
    32 bits (hc_pre in inference/model.py of deepseek-ai/DeepSeek-V4-Pro).
    """
    count = model.residual_streams
    return float((4 * count + 1 if count > 1 else 2) * (model.hidden_size or 0))


def _output_width(attention: object) -> int:
    """Count the columns that attention leaves to the rest of a layer.

    Gates of Gated DeltaNet are a part of its projections, which are held with its output
    (forward_cuda in vllm/model_executor/layers/mamba/gdn/qwen_gdn_linear_attn.py, version 0.27).
    """
    if isinstance(attention, Attention):
        return attention.heads * (attention.value_dim or attention.head_dim)
    if isinstance(attention, LatentAttention):
        return attention.heads * attention.value_dim
    if isinstance(attention, LinearAttention):
        values = attention.value_heads * attention.value_dim
        is_delta = attention.kind == "gated-deltanet"
        return values + is_delta * 2 * (attention.key_heads * attention.key_dim + values)
    return 0


@once
def expert_widths(model: Model) -> tuple[tuple[float, float], ...]:
    """List the widths of the buffers of experts per token: divided among ranks, and the rest.

    Each expert that a token selects has a row in two buffers: one holds its inputs and outputs or
    both halves of a gated product, and the other its outputs or that product (workspace_shapes of
    vllm/model_executor/layers/fused_moe/experts/triton_moe.py, version 0.28).
    """
    widths = dict[tuple[float, float], None]()
    for ffn in (block.ffn for block in model.blocks):
        if ffn is not None and not isinstance(ffn, DenseFFN):
            outside = float(ffn.latent_size or model.hidden_size or 0)
            inside = (ffn.matrices - 1) * ffn.width
            for divided, undivided in (
                (0.0, 2.0 * outside),
                (inside, outside),
                (inside + ffn.width, 0.0),
            ):
                widths[ffn.active_experts * divided, ffn.active_experts * undivided] = None
    return tuple(widths)
