"""Parameters of engines, each declared once: its type in files, its effect and its meaning."""

from dataclasses import dataclass, field, fields
from functools import partial
from math import inf
from typing import Any, Generic, Literal, TypeVar

from fastcalc.catalogue.schema.quantities import (
    Bandwidth,
    ComputeRate,
    Count,
    Factor,
    Fraction,
    Kept,
    Number,
    Part,
    QuantityReader,
    Switch,
    Time,
)

Value = TypeVar("Value")  # core uses broadcastable numbers


@dataclass(frozen=True)
class Parameter:
    """The declaration of an engine parameter.

    neutral : the value if a file omits the parameter, which adds no time, in SI units
    raised : the effect of a larger value on step time, or None if it depends on the request
    plausible : the range over existing engines, with some margin (EN004); None to use the type's
        limits [SI]
    label : the name used in tables, as in benchmark reports
    """

    quantity: Any
    neutral: float
    meaning: str
    raised: Literal["faster", "slower"] | None = None
    plausible: tuple[float, float] | None = None
    label: str = ""

    @property
    def reader(self) -> QuantityReader:
        """The reader for values of the parameter, with dimension and limits."""
        reader: QuantityReader = self.quantity.__metadata__[0]
        return reader


def choice(
    quantity: Any,
    meaning: str,
    *,
    neutral: float,
    plausible: tuple[float, float] | None = None,
    raised: Literal["faster", "slower"] | None = None,
    label: str = "",
) -> Any:
    """Declare a parameter. Use `rate` if larger values are faster, or `cost` if they are slower."""
    parameter = Parameter(quantity, neutral, meaning, raised, plausible, label)
    return field(default=neutral, metadata={"declared": parameter})


rate = partial(choice, neutral=1.0, raised="faster")
cost = partial(choice, neutral=0.0, raised="slower")

PER_LAYER = (4e-6, 2e-3)  # launch time per layer [s]
PER_EXCHANGE = (1e-6, 1.5e-4)  # one exchange between chips [s]
PER_SEQUENCE = (5e-7, 5e-3)  # host time per sequence and step [s]
SHARE = (0.1, 0.98)  # of a peak or a link, as achieved by software; 1 is a bound
LARGE_SHARE = (0.6, 1.0)  # of a memory's capacity


@dataclass(frozen=True, eq=False)
class DeclaredParameters(Generic[Value]):
    """All engine parameters, in the order in which files list them."""

    bandwidth_fraction: Value = rate(
        Fraction,
        "Fraction of the datasheet bandwidth that long reads reach.",
        label="memory bandwidth efficiency",
        plausible=(0.4, 0.98),
    )
    bandwidth_per_core: Value = rate(
        Bandwidth,
        "Memory bandwidth that one core can keep in flight.",
        label="bandwidth in flight per core",
        neutral=inf,
        plausible=(1e9, 1e11),
    )
    compute_fraction: Value = rate(
        Fraction,
        "Fraction of the dense peak that matmuls reach.",
        label="compute efficiency",
        plausible=SHARE,
    )
    compute_per_core: Value = rate(
        ComputeRate,
        "FLOP/s that one core reaches in 16-bit matmuls.",
        label="16-bit FLOP/s per core",
        neutral=inf,
        plausible=(1e11, 1e14),
    )
    grouped_gemm_fraction: Value = rate(
        Fraction,
        "Rate of grouped GEMMs (experts) relative to dense GEMMs.",
        label="grouped GEMM / dense GEMM rate",
        plausible=(0.05, 1.0),
    )
    block_gemm_fraction: Value = rate(
        Fraction,
        "Fraction of peak that prefill GEMMs on block-quantized weights (GGUF) reach.",
        label="GGUF prefill GEMM rate / peak",
        plausible=SHARE,
    )
    narrow_expert_width: Value = cost(
        Number,
        "Width of an expert's slice, in columns, at which reads reach half of the bandwidth.",
        plausible=(8, 512),
    )
    dequantization_operations: Value = cost(
        Number, "Vector operations to dequantize a packed weight.", plausible=(0.25, 16)
    )
    link_fraction: Value = rate(
        Fraction,
        "Fraction of the one-way link bandwidth that collectives reach.",
        label="link bandwidth efficiency",
        plausible=SHARE,
    )
    collective_latency: Value = cost(
        Time, "Latency of one exchange of a collective, regardless of size.", plausible=PER_EXCHANGE
    )
    crossing_latency: Value = cost(
        Time,
        "Additional latency of an all-reduce across scale-up domains.",
        label="all-reduce latency across domains",
        plausible=PER_EXCHANGE,
    )
    rank_wait: Value = cost(
        Time,
        "Time that an all-reduce waits for the slowest rank.",
        label="wait for the slowest TP rank",
        plausible=PER_EXCHANGE,
    )
    exchange_gathers: Value = cost(
        Switch, "1 if every rank of a host receives all tokens, 0 if only those for its experts."
    )
    decode_layer_floor: Value = cost(
        Time,
        "Latency floor of a layer in decode: kernel launches, ramp-up and tails.",
        label="decode latency floor per layer",
        plausible=PER_LAYER,
    )
    prefill_layer_floor: Value = cost(
        Time,
        "Latency floor of a layer in a step with prompt tokens.",
        label="prefill latency floor per layer",
        plausible=PER_LAYER,
    )
    launches_ahead: Value = rate(
        Switch,
        "1 if a mixed step has the latency floor of decode, 0 if that of prefill.",
        neutral=0.0,
    )
    expert_layer_extra: Value = cost(
        Number,
        "Additional latency of a layer with routed experts, in units of the latency floor.",
        label="extra latency per MoE layer / floor",
        plausible=(0.05, 8),
    )
    latent_layer_extra: Value = cost(
        Number,
        "Additional latency of an MLA layer in decode, in units of the latency floor.",
        label="extra latency per MLA layer / floor",
        plausible=(0.05, 4),
    )
    floor_width_exponent: Value = choice(
        Part,
        "Exponent of (hidden size / 4,096) in a layer's latency floor, if layers have regions.",
        neutral=0.0,
        plausible=(0.1, 1.0),
    )
    sequence_overhead: Value = cost(
        Time,
        "Host and sampling time per sequence of a step.",
        label="host time per sequence and step",
        plausible=PER_SEQUENCE,
    )
    stage_overhead: Value = cost(
        Time,
        "Additional host time of a pipeline stage per sequence.",
        label="host time per pipeline stage",
        plausible=PER_SEQUENCE,
    )
    request_overhead: Value = cost(
        Time,
        "Server and client time before a request's first step.",
        label="server time per request",
        plausible=(1e-4, 2.0),
    )
    expert_correlation: Value = cost(
        Fraction,
        "1 if tokens pick experts independently, less if their choices are correlated.",
        neutral=1.0,
        plausible=(0.4, 1.0),
    )
    expert_imbalance: Value = cost(
        Factor,
        "Load of the fullest rank over the mean, for 128 experts on 8 ranks.",
        neutral=1.0,
        plausible=(1.0, 4.0),
    )
    memory_fraction: Value = rate(
        Fraction,
        "Fraction of memory that the engine may use (gpu_memory_utilization).",
        label="usable memory fraction",
        plausible=LARGE_SHARE,
    )
    free_fraction: Value = rate(
        Fraction,
        "Fraction of memory that is free when the server starts, if the system shares it.",
        plausible=LARGE_SHARE,
    )
    reported_fraction: Value = rate(
        Fraction,
        "Fraction of memory that the driver reports, for chips whose files do not state it.",
        plausible=LARGE_SHARE,
    )
    cache_fraction: Value = rate(
        Fraction,
        "Fraction of the memory left after loading weights that caches may use.",
        plausible=LARGE_SHARE,
    )
    prompt_chunk: Value = choice(
        Count,
        "Maximum prompt tokens per step.",
        label="prefill tokens per step",
        neutral=inf,
        plausible=(64, 1e6),
    )
    block_size: Value = choice(
        Count,
        "Tokens per cache block, if all types of layers share one page pool.",
        neutral=inf,
        plausible=(1, 256),
    )
    overlaps_steps: Value = cost(
        Switch, "1 if windows hold the tokens of all steps in flight, 0 if those of one step."
    )
    counts_by_table: Value = cost(
        Switch, "1 if the logged cache size assumes an equal share of blocks for each block table."
    )
    state_blocks: Value = choice(
        Count,
        "Blocks per sequence for recurrent states, which prefix caching increases.",
        neutral=1.0,
        plausible=(1, 16),
    )
    state_fraction: Value = cost(
        Part, "Fraction of cache memory reserved for recurrent states, or 0 if shared."
    )
    minimum_rows: Value = cost(
        Count,
        "Minimum rows that a matmul computes (tile size).",
        label="rows of a GEMM tile",
        neutral=1.0,
        plausible=(1, 512),
    )
    max_sequences: Value = choice(
        Count,
        "Maximum sequences per step.",
        label="sequences per step",
        neutral=inf,
        plausible=(16, 16384),
    )
    micro_batches: Value = choice(
        Count,
        "Maximum micro-batches that decode in different pipeline stages at once.",
        label="micro-batches in flight",
        neutral=inf,
        plausible=(1, 64),
    )
    host_bandwidth_fraction: Value = rate(
        Fraction,
        "Fraction of the datasheet bandwidth that reads of host memory reach.",
        plausible=(0.3, 1.0),
    )
    host_link_fraction: Value = rate(
        Fraction, "Fraction of the host link's bandwidth that copies reach.", plausible=(0.3, 1.0)
    )
    host_layer_overhead: Value = cost(
        Time, "Time to hand a layer over to the host's cores and back.", plausible=PER_LAYER
    )
    small_memory: Value = choice(
        Kept,
        "Chip memory below which the engine profiles fewer sequences at start.",
        neutral=0.0,
        plausible=(1e10, 1e12),
    )
    small_sequences: Value = choice(
        Count,
        "Maximum sequences on a chip with less than small_memory.",
        neutral=inf,
        plausible=(16, 16384),
    )
    small_chunk: Value = choice(
        Count,
        "Maximum prompt tokens per step on a chip with less than small_memory.",
        neutral=inf,
        plausible=(64, 1e6),
    )
    large_memory: Value = choice(
        Kept,
        "Chip memory from which the engine profiles more prompt tokens at start.",
        neutral=inf,
        plausible=(1e10, 1e12),
    )
    large_chunk: Value = choice(
        Count,
        "Prompt tokens per step profiled on a chip with at least large_memory.",
        neutral=inf,
        plausible=(64, 1e6),
    )
    whole_prompts: Value = choice(
        Count,
        "Maximum sequence length up to which the engine profiles a whole prompt at start.",
        neutral=1.0,
        plausible=(1024, 1e8),
    )
    sampler_copies: Value = cost(
        Number,
        "32-bit copies of the logits for all sequences during sampling.",
        plausible=(0.5, 20),
    )
    stored_logits: Value = cost(
        Number,
        "32-bit values kept for every sequence and entry of the vocabulary, for penalties.",
        plausible=(0.5, 4),
    )
    chunk_logits: Value = cost(
        Number, "32-bit copies of the logits for all prompt tokens in a step.", plausible=(0.5, 4)
    )
    layer_buffers: Value = cost(
        Number,
        "16-bit copies of a layer's activations for the tokens of a step.",
        plausible=(0.5, 4),
    )
    context_chunk: Value = cost(
        Count,
        "Cached tokens whose keys and values latent attention expands at once at start.",
        neutral=1.0,
        plausible=(1024, 1e6),
    )
    indexer_memory: Value = cost(
        Kept, "Memory that an indexer needs for the scores of a step.", plausible=(1e7, 1e10)
    )
    indexer_lengths: Value = cost(
        Number,
        "Number of maximum-length sequences whose indexer keys are gathered at once.",
        plausible=(1, 100),
    )
    chunk_memory: Value = cost(
        Kept, "Memory reserved per prompt token of a step.", plausible=(1e4, 1e7)
    )
    graph_memory: Value = cost(Kept, "Memory reserved for each CUDA graph.", plausible=(1e5, 1e9))
    graph_layer_memory: Value = cost(
        Kept,
        "Additional memory per layer for each CUDA graph with prefill or recurrent states.",
        plausible=(1e4, 1e7),
    )
    graph_row_memory: Value = cost(
        Kept,
        "Additional memory per CUDA graph and row of the largest one, with recurrent states.",
        plausible=(1e4, 1e7),
    )
    largest_graph: Value = choice(
        Count,
        "Rows of the largest CUDA graph, by default twice the sequences and at most 512.",
        neutral=inf,
        plausible=(1, 4096),
    )
    loads_encoders: Value = cost(
        Switch, "1 if image and audio encoders are loaded at start, 0 for the language model alone."
    )
    encoder_memory: Value = cost(
        Kept, "Peak memory while the largest image or clip is encoded.", plausible=(1e7, 1e11)
    )
    encoder_divided_memory: Value = cost(
        Kept,
        "Additional memory while an image or clip is encoded, which tensor-parallel ranks divide.",
        plausible=(1e7, 1e11),
    )
    encoder_tokens: Value = choice(
        Count,
        "Tokens of the largest image or clip, of which a step encodes as many as it holds.",
        neutral=inf,
        plausible=(64, 1e6),
    )
    encoder_fraction: Value = cost(
        Part, "Fraction of unreserved memory that stays free for encoders."
    )
    runtime_memory: Value = cost(
        Kept, "Memory of the runtime and libraries on each chip.", plausible=(1e7, 1e10)
    )
    joined_memory: Value = cost(
        Kept, "Additional memory per chip for communication between chips.", plausible=(1e7, 5e10)
    )
    rank_memory: Value = cost(
        Kept,
        "Additional memory per chip for each of the ranks that work together.",
        plausible=(1e7, 1e10),
    )
    replica_memory: Value = cost(
        Kept,
        "Additional memory per chip for each of the attention replicas that share experts.",
        plausible=(1e7, 1e10),
    )
    expert_columns: Value = choice(
        Count,
        "MXFP4 experts are padded to a multiple of this many columns.",
        neutral=1.0,
        plausible=(2, 1024),
    )
    short_sums: Value = rate(
        Switch, "1 if fp16 products are accumulated in 16 bits instead of 32 bits.", neutral=0.0
    )


PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter.metadata["declared"] for parameter in fields(DeclaredParameters)
}

STARTED_WITH = {
    "gpu_memory_utilization": ("memory_fraction",),
    "max_num_seqs": ("max_sequences", "small_sequences"),
    "max_num_batched_tokens": ("prompt_chunk", "small_chunk", "large_chunk", "whole_prompts"),
}
"""The parameters set when a server starts, by vLLM's name for the setting."""
