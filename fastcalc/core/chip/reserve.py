"""Memory that an engine reserves on a chip in addition to weights and caches."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import (
    CompressedAttention,
    DenseFFN,
    Engine,
    LatentAttention,
    LinearAttention,
    Model,
)
from fastcalc.catalogue.schema.engine_parameters import DeclaredParameters
from fastcalc.catalogue.schema.models import Attention, Indexer
from fastcalc.core.chip.tier import Tier
from fastcalc.core.model.workload import Workload, outside_core
from fastcalc.formulas.reserve import (
    activation_peak,
    captured_graphs,
    graph_memory,
    largest_capture,
    logits_memory,
    prompt_graphs,
    stream_memory,
)
from fastcalc.formulas.types import ArrayLike

_PADDED_HEADS = 64
_FLASHINFER_HEAD = 256
_LONG = 262_144.0
"""The maximum length beyond which vLLM 0.33 gathers indexer keys of fewer sequences."""


class StartRows(NamedTuple):
    """The numbers of sequences and tokens for which the engine allocates at startup."""

    sequences: float
    tokens: float


@dataclass(frozen=True)
class KeptMemory:
    """The memory that an engine reserves on each chip, by purpose, in bytes.

    sampling, layer, encoder : The memory needed while sampling, in a layer, and while encoding an
        image or a clip; these never coincide.
    runtime, joined : The memory for runtime and libraries, and the addition for multiple chips.
    graphs : The memory of all CUDA graphs.
    """

    sampling: ArrayLike
    layer: ArrayLike
    encoder: ArrayLike
    runtime: ArrayLike
    joined: ArrayLike
    graphs: ArrayLike

    @property
    def total(self) -> ArrayLike:
        """The memory that the engine does not leave to weights and KV cache, in bytes."""
        peak = activation_peak(sampling=self.sampling, layer=self.layer)
        return np.maximum(peak, self.encoder) + self.runtime + self.joined + self.graphs


@dataclass(frozen=True)
class Reserve:
    """The chip memory that is used for neither weights nor caches, by component.

    sampling : The memory for sampling: copies of logits and their hidden states, in bytes.
    layers : The memory for a layer, for each type of attention and feed-forward network: bytes
        divided among tensor-parallel ranks, and bytes that are not, in bytes.
    compiled : The memory for compiling the model, if one chip holds the embedding table, in bytes.
    workspaces : The buffers that layers share and that stay allocated, for each type of layer,
        divided likewise, in bytes.
    held : The memory that compiling on one chip freed, and that these buffers hold, in bytes.
    alone, joined : The memory for runtime and libraries, and the addition for multiple chips, in
        bytes.
    rank, replica : The memory per cooperating rank, and per attention replica if replicas share
        experts, in bytes.
    encoder : The memory for encoding the largest image or clip: bytes divided among tensor-parallel
        ranks, and bytes that are not, in bytes.
    graphs : The memory of CUDA graphs: bytes divided among tensor-parallel ranks, and bytes that
        are not, in bytes.
    below, above : The factors by which the actual reserve may be smaller or larger.
    """

    sampling: float = 0.0
    layers: tuple[tuple[float, float], ...] = ()
    compiled: float = 0.0
    workspaces: tuple[tuple[float, float], ...] = ()
    held: float = 0.0
    alone: float = 0.0
    joined: float = 0.0
    rank: float = 0.0
    replica: float = 0.0
    encoder: tuple[float, float] = (0.0, 0.0)
    graphs: tuple[float, float] = (0.0, 0.0)
    below: float = 1.0
    above: float = 1.0

    def on(self, ranks: ArrayLike, tp: ArrayLike, replicas: ArrayLike) -> KeptMemory:
        """Compute the expected reserve by component.

        ranks, tp, replicas : The numbers of cooperating ranks, of tensor-parallel ranks among them,
            and of attention replicas that share experts (0 if none do).
        """
        workspace = _largest(self.workspaces, tp)
        is_alone = np.asarray(tp) == 1
        workspace = np.maximum(workspace, self.held * is_alone)
        layer = np.maximum(_largest(self.layers, tp), self.compiled * is_alone)
        joined = (self.joined + self.rank * np.asarray(ranks)) * (np.asarray(ranks) > 1)
        joined = joined + self.replica * replicas if self.replica else joined
        encoder, graphs = (
            divided / np.asarray(tp) + undivided if divided else undivided
            for divided, undivided in (self.encoder, self.graphs)
        )
        return KeptMemory(
            self.sampling + workspace, layer + workspace, encoder, self.alone, joined, graphs
        )


NOTHING = Reserve()


def _largest(buffers: Iterable[tuple[float, float]], tp: ArrayLike) -> ArrayLike:
    """Compute the largest of several buffers, of which ranks divide the first part, in bytes."""
    largest: ArrayLike = 0.0
    for divided, undivided in buffers:
        largest = np.maximum(largest, divided / np.asarray(tp) + undivided)
    return largest


def start_rows(
    software: DeclaredParameters[ArrayLike], tier: Tier, longest: float = 0.0
) -> StartRows:
    """Compute the batch for which the engine allocates memory at startup, within its limits.

    tier : The chip memory from which the engine takes its reserve.
    longest : The tokens of the longest sequence, which may be a single prompt, or 0 if unknown.
    """
    sequences, tokens = float(software.max_sequences), float(software.prompt_chunk)
    if tier.capacity < software.small_memory:
        sequences = min(sequences, float(software.small_sequences))
        tokens = min(tokens, float(software.small_chunk))
    elif tier.capacity >= software.large_memory:
        tokens = float(software.large_chunk)
    if longest <= software.whole_prompts:
        tokens = max(tokens, longest)
    return StartRows(*(rows if isfinite(rows) else 0.0 for rows in (sequences, tokens)))


def reserve_of(
    engine: Engine,
    software: DeclaredParameters[ArrayLike],
    work: Workload,
    tier: Tier,
    *,
    has_encoder: bool,
    drafted: float,
    longest: float,
) -> Reserve:
    """Compute the memory that an engine reserves for a model, by component.

    tier : The chip memory from which the engine takes its reserve.
    has_encoder : Whether the engine loads an image or audio encoder.
    drafted : The number of draft tokens per sequence and step.
    longest : The tokens of the longest sequence, or 0 for the model's maximum.
    """
    model, hidden, vocabulary = work.model, work.sent_width, work.vocabulary
    longest = longest or float(model.max_context or 0)
    sequences, tokens = start_rows(software, tier, longest)
    is_text = not outside_core(model).get("vision")  # others embed tokens outside of compiled code
    compiled = is_text * software.embedding_copies
    experts = _streams(software.keeps_expert_buffers, tokens, _expert_widths(model))
    stated = (engine.ranges or {}).get("reserve")
    stored = logits_memory(copies=software.stored_logits, rows=sequences, vocabulary=vocabulary)
    alone = float(software.runtime_memory + software.chunk_memory * tokens + stored)
    encoder = _encoder_buffers(software, tokens, tier.capacity - alone)
    return Reserve(
        sampling=float(
            logits_memory(copies=software.sampler_copies, rows=sequences, vocabulary=vocabulary)
            + logits_memory(copies=software.chunk_logits, rows=tokens, vocabulary=vocabulary)
            + stream_memory(copies=software.layer_buffers, tokens=tokens + sequences, width=hidden)
        ),
        layers=(
            *_streams(software.layer_buffers, tokens, _widths(model)),
            *_context_buffers(software, model, longest, sequences),
        ),
        compiled=float(
            stream_memory(copies=compiled, tokens=vocabulary + 2.0 * tokens, width=hidden)
        ),
        workspaces=(*experts, *_indexer_buffers(software, model, longest)),
        held=float(
            stream_memory(copies=compiled, tokens=vocabulary, width=hidden)
            * software.counts_segments
            * bool(experts)
        ),
        alone=alone,
        joined=float(software.joined_memory),
        rank=float(software.rank_memory),
        replica=float(software.replica_memory),
        encoder=encoder if has_encoder else (0.0, 0.0),
        graphs=_graphs(software, work, sequences, drafted),
        below=stated.below if stated else 1.0,
        above=stated.above if stated else 1.0,
    )


def _encoder_buffers(
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


@once
def has_states(model: Model) -> bool:
    """Check whether a model has recurrent states."""
    return any(isinstance(block.attention, LinearAttention) for block in model.blocks)


def graph_row_bytes(
    software: DeclaredParameters[ArrayLike], model: Model, rows: float
) -> ArrayLike:
    """Compute the memory that a rank reserves at startup for CUDA graphs of all sizes, in bytes.

    vLLM captures two graphs and assumes that all others are as large as the second, whose buffers
    for recurrent states grow with its rows. Ranks divide half of this memory, which belongs to
    heads rather than hidden states.

    rows : The maximum number of tokens in a decode-only step.
    """
    if not software.graph_row_memory or not has_states(model):
        return 0.0
    largest = float(software.largest_graph)
    captured = float(largest_capture(sequences=rows, largest=largest))
    return software.graph_row_memory * captured * graph_count(rows, largest)


def cut_graphs(model: Model, rows: float, largest: float) -> float:
    """Count the CUDA graphs that need memory in every layer.

    These are the prefill graphs, or all graphs if layers have recurrent states.

    rows : The maximum number of tokens in a decode-only step.
    largest : The number of rows of the largest graph if configured, otherwise infinity.
    """
    return graph_count(rows, largest) if has_states(model) else _graphs_with_prompts(rows, largest)


@cache
def _graphs_with_prompts(rows: float, largest: float) -> float:
    return float(prompt_graphs(sequences=rows, largest=largest))


def _graphs(
    software: DeclaredParameters[ArrayLike], work: Workload, sequences: float, drafted: float
) -> tuple[float, float]:
    """Compute the memory of CUDA graphs that tensor-parallel ranks divide, and the rest. [byte]"""
    rows, largest = sequences * (1.0 + drafted), float(software.largest_graph)
    fixed = graph_memory(
        graphs=graph_count(rows, largest),
        cut=cut_graphs(work.model, rows, largest),
        layers=cut_layers(work),
        of_graph=software.graph_memory,
        of_layer=software.graph_layer_memory,
    )
    half = float(graph_row_bytes(software, work.model, rows)) / 2.0
    workspace = float(software.narrow_cache_memory) * has_workspace(work, drafted)
    return half, float(fixed) + half + workspace


def has_workspace(work: Workload, drafted: float) -> bool:
    """Check whether attention to 8-bit caches allocates its workspace while graphs are profiled.

    FlashInfer supports heads of up to 256 columns, and has no graphs of whole steps that check
    draft tokens (get_cudagraph_support in vllm/v1/attention/backends/flashinfer.py, version 0.24).

    drafted : The number of draft tokens per sequence and step.
    """
    attentions = [block.attention for block in work.model.blocks]
    heads = [one.head_dim for one in attentions if isinstance(one, Attention)]
    is_read = 0 < max(heads, default=0) <= _FLASHINFER_HEAD
    return is_read and not drafted and work.formats.kv.cache_bytes <= 1.0


def cut_layers(work: Workload) -> float:
    """Count the splits of a graph: at attention, and at the indexer of latent attention.

    Source: splitting_ops of vllm/config/compilation.py, version 0.28.
    """
    attentions = [(block.count, block.attention) for block in work.model.blocks]
    indexed = (n for n, one in attentions if isinstance(one, LatentAttention) and one.indexer)
    return work.layers + sum(indexed)


@cache
def graph_count(rows: float, largest: float) -> float:
    """Count the CUDA graphs captured at startup.

    rows : The maximum number of tokens in a decode-only step.
    largest : The number of rows of the largest graph if configured, otherwise infinity.
    """
    return float(captured_graphs(sequences=rows, largest=largest))


def _context_buffers(
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
        if _indexer_of(attention):
            yield 0.0, float(software.indexer_memory)
        elif isinstance(attention, LatentAttention):
            width = attention.heads * (attention.nope_dim + attention.value_dim)
            blocks = 4.0 * sequences * float(software.block_size)
            tokens = min(max(8.0 * longest, blocks), float(software.context_chunk))
            yield float(stream_memory(copies=1.0, tokens=tokens, width=width)), 0.0


def _indexer_of(attention: object) -> Indexer | None:
    if not isinstance(attention, (LatentAttention, CompressedAttention)):
        return None
    return attention.indexer


def _indexer_buffers(
    software: DeclaredParameters[ArrayLike], model: Model, longest: float
) -> Iterator[tuple[float, float]]:
    """Yield the 8-bit keys, with a 4-byte scale, that an indexer gathers, in bytes.

    longest : The tokens of the longest sequence.
    """
    is_long = longest > _LONG and float(software.long_indexer_lengths) > 0.0
    lengths = software.long_indexer_lengths if is_long else software.indexer_lengths
    for attention in (block.attention for block in model.blocks):
        if indexer := _indexer_of(attention):
            merged = indexer.pool
            if isinstance(attention, CompressedAttention):
                merged *= attention.compression or 1
            yield 0.0, float(lengths * longest / merged * (indexer.head_dim + 4.0))


def _streams(
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
def _widths(model: Model) -> tuple[tuple[float, float], ...]:
    """List the distinct activation widths per token in a layer: divided among ranks, and the rest.

    While a feed-forward network runs, its input, the residual stream and the outputs of attention
    are held. Hyper-connections add the residual streams that a layer reads and writes, and a copy
    of them at 32 bits (hc_pre in inference/model.py of deepseek-ai/DeepSeek-V4-Pro).
    Compressed-attention kernels have queries and outputs for at least 64 heads on each rank
    (padded_heads in vllm/models/deepseek_v4/attention.py, version 0.33).
    """
    hidden, widths = float(model.hidden_size or 0), dict[tuple[float, float], None]()
    streams = model.residual_streams
    held = (4 * streams + 1 if streams > 1 else 2) * hidden
    for block in model.blocks:
        attention, ffn = block.attention, block.ffn
        if isinstance(attention, CompressedAttention):
            size = 2.0 * attention.head_dim
            widths[attention.heads * size, held] = None
            widths[0.0, _PADDED_HEADS * size + held] = None
        if ffn is not None:
            inner = ffn.matrices * ffn.width if isinstance(ffn, DenseFFN) else 0
            widths[float(inner + _output_width(attention)), held] = None
    return tuple(widths)


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
def _expert_widths(model: Model) -> tuple[tuple[float, float], ...]:
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
