"""Memory that vLLM reserves for CUDA graphs, which it captures after the start of a server."""

from functools import cache

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import LatentAttention, LinearAttention, Model
from fastcalc.catalogue.schema.engine_parameters import DeclaredParameters
from fastcalc.catalogue.schema.models import Attention
from fastcalc.core.chip.kernel_buffers import indexer_of, merged_tokens
from fastcalc.core.model.workload import Workload
from fastcalc.formulas.reserve import (
    captured_graphs,
    graph_memory,
    largest_capture,
    logits_memory,
    partial_results,
    prompt_graphs,
)
from fastcalc.formulas.types import ArrayLike


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


def cut_graphs(software: DeclaredParameters[ArrayLike], model: Model, rows: float) -> float:
    """Count the CUDA graphs that need memory in every layer.

    These are the graphs for steps with prompts, or all graphs if recurrent layers need it there.

    rows : The maximum number of tokens in a decode-only step.
    """
    largest = float(software.largest_graph)
    if software.cuts_recurrent_graphs and has_states(model):
        return graph_count(rows, largest)
    return _graphs_with_prompts(rows, largest)


@cache
def _graphs_with_prompts(rows: float, largest: float) -> float:
    return float(prompt_graphs(sequences=rows, largest=largest))


def graph_bytes(
    software: DeclaredParameters[ArrayLike], work: Workload, rows: float, drafted: float
) -> tuple[float, float]:
    """Compute the memory of CUDA graphs that tensor-parallel ranks divide, and the rest. [byte]

    Buffers of decode steps are not included.

    rows : The maximum number of tokens in a decode-only step.
    drafted : The number of draft tokens per sequence and step.
    """
    largest = float(software.largest_graph)
    fixed = graph_memory(
        graphs=graph_count(rows, largest),
        cut=cut_graphs(software, work.model, rows),
        layers=cut_layers(work),
        of_graph=software.graph_memory,
        of_layer=software.graph_layer_memory,
    )
    half = float(graph_row_bytes(software, work.model, rows)) / 2.0
    workspace = float(software.narrow_cache_memory) * has_workspace(software, work, drafted)
    return half, float(fixed) + half + workspace


def decode_buffers(
    software: DeclaredParameters[ArrayLike], work: Workload, rows: float, longest: float
) -> tuple[float, float]:
    """Compute the buffers of graphs of decode steps: those that ranks divide, and the rest. [byte]

    rows : The maximum number of tokens in a decode-only step.
    longest : The tokens of the longest sequence.
    """
    copies, captured = software.graph_buffer_copies, decode_rows(software, rows)
    width, scored = decode_columns(software, work, longest)
    of_splits = partial_results(
        copies=copies, splits=software.graph_splits, rows=captured, width=width
    )
    return float(of_splits), float(logits_memory(copies=copies, rows=captured, vocabulary=scored))


def decode_rows(software: DeclaredParameters[ArrayLike], rows: float) -> float:
    """Count the tokens of the largest CUDA graph of a decode-only step.

    rows : The maximum number of tokens in such a step.
    """
    return min(rows, float(largest_capture(sequences=rows, largest=software.largest_graph)))


def decode_columns(
    software: DeclaredParameters[ArrayLike], work: Workload, longest: float
) -> tuple[float, float]:
    """Count the columns of partial results and of an indexer's scores in a decode step.

    FlashAttention 3 holds a partial result for each split of a sequence. It does not read 8-bit
    caches of latent attention (FlashAttnMLAImpl of mla/flashattn_mla.py, vLLM 0.29). An indexer
    holds a score for each token or merged group of the longest sequence.

    longest : The tokens of the longest sequence.
    """
    is_flash = widest_head(work.model) <= float(software.flash_columns)
    is_narrow = work.formats.kv.cache_bytes <= 1.0
    width = scored = 0.0
    for attention in (block.attention for block in work.model.blocks):
        if indexer := indexer_of(attention):
            scored = max(scored, longest / merged_tokens(attention, indexer))
        elif isinstance(attention, LatentAttention):
            width = max(width, (not is_narrow) * attention.heads * attention.kv_rank)
        elif isinstance(attention, Attention) and is_flash:
            width = max(width, attention.heads * (attention.value_dim or attention.head_dim))
    return width * bool(software.graph_splits), scored


def has_workspace(software: DeclaredParameters[ArrayLike], work: Workload, drafted: float) -> bool:
    """Check whether attention to 8-bit caches allocates its workspace while graphs are profiled.

    FlashInfer has no graphs of whole steps that check draft tokens (get_cudagraph_support in
    vllm/v1/attention/backends/flashinfer.py, version 0.24).

    drafted : The number of draft tokens per sequence and step.
    """
    is_read = 0 < widest_head(work.model) <= float(software.flash_columns)
    return is_read and not drafted and work.formats.kv.cache_bytes <= 1.0


@once
def widest_head(model: Model) -> int:
    """Return the columns of the widest head, by which vLLM chooses kernels for all layers."""
    attentions = (block.attention for block in model.blocks)
    return max((layer.head_dim for layer in attentions if isinstance(layer, Attention)), default=0)


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
