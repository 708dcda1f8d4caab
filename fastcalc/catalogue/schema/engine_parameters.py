"""Parameters of engines, declared in ``engine_parameters.csv``: type, effect, range and meaning."""

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar, cast

from fastcalc.catalogue.schema.quantities import Quantity, QuantityReader
from fastcalc.catalogue.tables import table_of

Value = TypeVar("Value")  # core uses broadcastable numbers


@dataclass(frozen=True)
class Parameter:
    """Declares a parameter of an engine.

    neutral : The value if a file omits the parameter, which adds no time, in SI units.
    raised : The effect of a larger value on step time, or None if it depends on the request.
    plausible : The range over existing engines, with some margin (EN004); None to use the type's
        limits. [SI]
    label : The name used in tables, as in benchmark reports.
    """

    reader: QuantityReader
    neutral: float
    meaning: str
    raised: Literal["faster", "slower"] | None
    plausible: tuple[float, float] | None
    label: str

    @property
    def quantity(self) -> Any:
        """The type of the parameter in files."""
        return Annotated[Quantity, self.reader]


PARAMETERS = {
    row["name"]: Parameter(
        QuantityReader(row["type"]),
        float(row["neutral"]),
        row["meaning"],
        cast(Literal["faster", "slower"] | None, row["raised"] or None),
        (float(row["lowest"]), float(row["highest"])) if row["lowest"] else None,
        row["label"],
    )
    for row in table_of(__file__)
}
"""All engine parameters by name, in the order in which files list them."""
_NEUTRAL: dict[str, Any] = {name: parameter.neutral for name, parameter in PARAMETERS.items()}


@dataclass(frozen=True, eq=False)
class DeclaredParameters(Generic[Value]):
    """The values of all engine parameters. By default, they do not add any time."""

    bandwidth_fraction: Value = _NEUTRAL["bandwidth_fraction"]
    bandwidth_per_core: Value = _NEUTRAL["bandwidth_per_core"]
    compute_fraction: Value = _NEUTRAL["compute_fraction"]
    compute_per_core: Value = _NEUTRAL["compute_per_core"]
    grouped_gemm_fraction: Value = _NEUTRAL["grouped_gemm_fraction"]
    block_gemm_fraction: Value = _NEUTRAL["block_gemm_fraction"]
    narrow_expert_width: Value = _NEUTRAL["narrow_expert_width"]
    dequantization_operations: Value = _NEUTRAL["dequantization_operations"]
    link_fraction: Value = _NEUTRAL["link_fraction"]
    collective_latency: Value = _NEUTRAL["collective_latency"]
    crossing_latency: Value = _NEUTRAL["crossing_latency"]
    rank_wait: Value = _NEUTRAL["rank_wait"]
    exchange_gathers: Value = _NEUTRAL["exchange_gathers"]
    decode_layer_floor: Value = _NEUTRAL["decode_layer_floor"]
    prefill_layer_floor: Value = _NEUTRAL["prefill_layer_floor"]
    launches_ahead: Value = _NEUTRAL["launches_ahead"]
    expert_layer_extra: Value = _NEUTRAL["expert_layer_extra"]
    latent_layer_extra: Value = _NEUTRAL["latent_layer_extra"]
    indexer_layer_extra: Value = _NEUTRAL["indexer_layer_extra"]
    recurrent_layer_extra: Value = _NEUTRAL["recurrent_layer_extra"]
    state_copies: Value = _NEUTRAL["state_copies"]
    floor_width_exponent: Value = _NEUTRAL["floor_width_exponent"]
    sequence_overhead: Value = _NEUTRAL["sequence_overhead"]
    stage_overhead: Value = _NEUTRAL["stage_overhead"]
    request_overhead: Value = _NEUTRAL["request_overhead"]
    expert_correlation: Value = _NEUTRAL["expert_correlation"]
    expert_imbalance: Value = _NEUTRAL["expert_imbalance"]
    memory_fraction: Value = _NEUTRAL["memory_fraction"]
    free_fraction: Value = _NEUTRAL["free_fraction"]
    reported_fraction: Value = _NEUTRAL["reported_fraction"]
    cache_fraction: Value = _NEUTRAL["cache_fraction"]
    prompt_chunk: Value = _NEUTRAL["prompt_chunk"]
    block_size: Value = _NEUTRAL["block_size"]
    overlaps_steps: Value = _NEUTRAL["overlaps_steps"]
    checks_states: Value = _NEUTRAL["checks_states"]
    graphs_need_states: Value = _NEUTRAL["graphs_need_states"]
    counts_by_table: Value = _NEUTRAL["counts_by_table"]
    state_blocks: Value = _NEUTRAL["state_blocks"]
    state_fraction: Value = _NEUTRAL["state_fraction"]
    minimum_rows: Value = _NEUTRAL["minimum_rows"]
    max_sequences: Value = _NEUTRAL["max_sequences"]
    micro_batches: Value = _NEUTRAL["micro_batches"]
    host_bandwidth_fraction: Value = _NEUTRAL["host_bandwidth_fraction"]
    host_link_fraction: Value = _NEUTRAL["host_link_fraction"]
    host_layer_overhead: Value = _NEUTRAL["host_layer_overhead"]
    small_memory: Value = _NEUTRAL["small_memory"]
    small_sequences: Value = _NEUTRAL["small_sequences"]
    small_chunk: Value = _NEUTRAL["small_chunk"]
    large_memory: Value = _NEUTRAL["large_memory"]
    large_chunk: Value = _NEUTRAL["large_chunk"]
    whole_prompts: Value = _NEUTRAL["whole_prompts"]
    sampler_copies: Value = _NEUTRAL["sampler_copies"]
    stored_logits: Value = _NEUTRAL["stored_logits"]
    chunk_logits: Value = _NEUTRAL["chunk_logits"]
    layer_buffers: Value = _NEUTRAL["layer_buffers"]
    keeps_expert_buffers: Value = _NEUTRAL["keeps_expert_buffers"]
    embedding_copies: Value = _NEUTRAL["embedding_copies"]
    counts_segments: Value = _NEUTRAL["counts_segments"]
    context_chunk: Value = _NEUTRAL["context_chunk"]
    indexer_memory: Value = _NEUTRAL["indexer_memory"]
    indexer_lengths: Value = _NEUTRAL["indexer_lengths"]
    long_indexer_lengths: Value = _NEUTRAL["long_indexer_lengths"]
    long_indexer_tokens: Value = _NEUTRAL["long_indexer_tokens"]
    gathered_prompts: Value = _NEUTRAL["gathered_prompts"]
    compressed_heads: Value = _NEUTRAL["compressed_heads"]
    chunk_memory: Value = _NEUTRAL["chunk_memory"]
    graph_memory: Value = _NEUTRAL["graph_memory"]
    graph_layer_memory: Value = _NEUTRAL["graph_layer_memory"]
    cuts_recurrent_graphs: Value = _NEUTRAL["cuts_recurrent_graphs"]
    graph_row_memory: Value = _NEUTRAL["graph_row_memory"]
    graph_splits: Value = _NEUTRAL["graph_splits"]
    graph_buffer_copies: Value = _NEUTRAL["graph_buffer_copies"]
    narrow_cache_memory: Value = _NEUTRAL["narrow_cache_memory"]
    flash_columns: Value = _NEUTRAL["flash_columns"]
    largest_graph: Value = _NEUTRAL["largest_graph"]
    loads_encoders: Value = _NEUTRAL["loads_encoders"]
    encoder_memory: Value = _NEUTRAL["encoder_memory"]
    encoder_divided_memory: Value = _NEUTRAL["encoder_divided_memory"]
    encoder_tokens: Value = _NEUTRAL["encoder_tokens"]
    encoder_fraction: Value = _NEUTRAL["encoder_fraction"]
    runtime_memory: Value = _NEUTRAL["runtime_memory"]
    joined_memory: Value = _NEUTRAL["joined_memory"]
    rank_memory: Value = _NEUTRAL["rank_memory"]
    replica_memory: Value = _NEUTRAL["replica_memory"]
    rotary_memory: Value = _NEUTRAL["rotary_memory"]
    mrope_positions: Value = _NEUTRAL["mrope_positions"]
    ngrams_on_host: Value = _NEUTRAL["ngrams_on_host"]
    expert_columns: Value = _NEUTRAL["expert_columns"]
    expert_rows: Value = _NEUTRAL["expert_rows"]
    expert_scale_bits: Value = _NEUTRAL["expert_scale_bits"]
    short_sums: Value = _NEUTRAL["short_sums"]


STARTED_WITH = {
    "gpu_memory_utilization": ("memory_fraction",),
    "max_num_seqs": ("max_sequences", "small_sequences"),
    "max_num_batched_tokens": ("prompt_chunk", "small_chunk", "large_chunk", "whole_prompts"),
}
"""The parameters set when a server starts, by vLLM's name for the setting."""
