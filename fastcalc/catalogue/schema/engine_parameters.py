"""Each parameter of engines, declared once: what it is in a file, what it costs, what it means."""

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
    Time,
)

Value = TypeVar("Value")  # core computes with numbers that broadcast


@dataclass(frozen=True)
class Parameter:
    """What one parameter of engines is.

    neutral : its value where a file leaves it out, which costs nothing [SI]
    raised : what a larger value makes of a step; None where that depends on the request
    plausible : what engines have, with room (EN004); None where the type's own limits do [SI]
    label : its name in tables, as readers of benchmarks call it
    """

    quantity: Any
    neutral: float
    meaning: str
    raised: Literal["faster", "slower"] | None = None
    plausible: tuple[float, float] | None = None
    label: str = ""

    @property
    def reader(self) -> QuantityReader:
        """What reads a value, and knows its dimension and limits."""
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
    """Declare a parameter: more of a `rate` is faster and of a `cost` slower, else it depends."""
    parameter = Parameter(quantity, neutral, meaning, raised, plausible, label)
    return field(default=neutral, metadata={"declared": parameter})


rate = partial(choice, neutral=1.0, raised="faster")
cost = partial(choice, neutral=0.0, raised="slower")

PER_LAYER = (4e-6, 2e-3)  # a layer's launches take so long [s]
PER_EXCHANGE = (1e-6, 1.5e-4)  # one exchange between chips [s]
PER_SEQUENCE = (5e-7, 5e-3)  # what a host does for a sequence in a step [s]
SHARE = (0.1, 0.98)  # of a peak or a link that software reaches; all of it is a bound
LARGE_SHARE = (0.6, 1.0)  # of a memory's capacity


@dataclass(frozen=True, eq=False)
class DeclaredParameters(Generic[Value]):
    """Every parameter, in the order in which files are written."""

    bandwidth_fraction: Value = rate(
        Fraction,
        "Share of printed bandwidth that long reads reach.",
        label="memory bandwidth reached / peak",
        plausible=(0.4, 0.98),
    )
    bandwidth_per_core: Value = rate(
        Bandwidth,
        "What one core keeps in flight.",
        label="bandwidth in flight per core",
        neutral=inf,
        plausible=(1e9, 1e11),
    )
    compute_fraction: Value = rate(
        Fraction,
        "Share of the dense peak that products reach.",
        label="FLOP/s reached / peak",
        plausible=SHARE,
    )
    compute_per_core: Value = rate(
        ComputeRate,
        "What kernels feed one core, at 16 bits.",
        label="FLOP/s reached per core",
        neutral=inf,
        plausible=(1e11, 1e14),
    )
    grouped_gemm_fraction: Value = rate(
        Fraction,
        "Products over routed experts by dense ones.",
        label="grouped GEMM / dense GEMM rate",
        plausible=(0.05, 1.0),
    )
    block_gemm_fraction: Value = rate(
        Fraction,
        "Prompt products on weights in blocks (GGUF).",
        label="GGUF prefill GEMM rate / peak",
        plausible=SHARE,
    )
    narrow_expert_width: Value = cost(
        Number,
        "Columns of an expert's slice that read at half of what long reads reach.",
        plausible=(8, 512),
    )
    dequantization_operations: Value = cost(
        Number, "Vector operations to widen a packed weight.", plausible=(0.25, 16)
    )
    link_fraction: Value = rate(
        Fraction,
        "Share of the one-way link that collectives reach.",
        label="link bandwidth reached / peak",
        plausible=SHARE,
    )
    collective_latency: Value = cost(
        Time, "One exchange of a collective, however small.", plausible=PER_EXCHANGE
    )
    crossing_latency: Value = cost(
        Time,
        "What an all-reduce over several domains takes more.",
        label="all-reduce latency across domains",
        plausible=PER_EXCHANGE,
    )
    rank_wait: Value = cost(
        Time,
        "What an all-reduce waits for the slowest rank.",
        label="wait for the slowest TP rank",
        plausible=PER_EXCHANGE,
    )
    exchange_gathers: Value = cost(
        Part, "1 where every rank of a host gets every token, 0 for those of its experts."
    )
    decode_layer_floor: Value = cost(
        Time,
        "Launches, ramps and tails of a layer in decode.",
        label="least time per layer, decode",
        plausible=PER_LAYER,
    )
    prefill_layer_floor: Value = cost(
        Time,
        "The same in a pass with prompt tokens.",
        label="least time per layer, prefill",
        plausible=PER_LAYER,
    )
    launches_ahead: Value = rate(
        Part,
        "1 where prefill in a mixed step has the latency floor of decode, else 0.",
        neutral=0.0,
    )
    expert_layer_extra: Value = cost(
        Number,
        "Further layer floors where experts are routed.",
        label="extra least time per MoE layer",
        plausible=(0.05, 8),
    )
    latent_layer_extra: Value = cost(
        Number,
        "Further layer floors of latent attention in decode.",
        label="extra least time per MLA layer",
        plausible=(0.05, 4),
    )
    floor_width_exponent: Value = choice(
        Part,
        "Power of a model's width over 4,096 that the floor of a layer in a region of its own has.",
        neutral=0.0,
        plausible=(0.1, 1.0),
    )
    sequence_overhead: Value = cost(
        Time,
        "Host and sampler, for each sequence of a step.",
        label="host time per sequence and step",
        plausible=PER_SEQUENCE,
    )
    stage_overhead: Value = cost(
        Time,
        "Further host work of a pipeline stage, for each sequence.",
        label="host time per pipeline stage",
        plausible=PER_SEQUENCE,
    )
    request_overhead: Value = cost(
        Time,
        "Server and client, before a request's first step.",
        label="server time per request",
        plausible=(1e-4, 2.0),
    )
    expert_correlation: Value = cost(
        Fraction,
        "1 where tokens pick experts independently, less where choices are correlated.",
        neutral=1.0,
        plausible=(0.4, 1.0),
    )
    expert_imbalance: Value = cost(
        Factor,
        "The fullest rank by the mean, where 128 experts are spread over 8.",
        neutral=1.0,
        plausible=(1.0, 4.0),
    )
    memory_fraction: Value = rate(
        Fraction,
        "Share of memory for weights and cache.",
        label="share of memory that it may use",
        plausible=LARGE_SHARE,
    )
    reported_fraction: Value = rate(
        Fraction,
        "Share of memory that a driver reports, of chips whose files do not say.",
        plausible=LARGE_SHARE,
    )
    cache_fraction: Value = rate(
        Fraction, "Share for caches of what weights leave of it.", plausible=LARGE_SHARE
    )
    prompt_chunk: Value = choice(
        Count,
        "Prompt tokens in a step, at most.",
        label="prefill tokens per step",
        neutral=inf,
        plausible=(64, 1e6),
    )
    block_size: Value = choice(
        Count,
        "Tokens of a cache block, where layers of all kinds take pages from one pool.",
        neutral=inf,
        plausible=(1, 256),
    )
    state_blocks: Value = choice(
        Count,
        "Blocks that a sequence keeps of recurrent states: more where prefixes are cached.",
        neutral=1.0,
        plausible=(1, 16),
    )
    state_fraction: Value = cost(
        Part, "Share of a cache's memory that is for recurrent states alone; 0 where they share it."
    )
    minimum_rows: Value = cost(
        Count, "Rows that a product computes at least.", neutral=1.0, plausible=(1, 512)
    )
    max_sequences: Value = choice(
        Count,
        "Sequences in a step, at most.",
        label="sequences per step",
        neutral=inf,
        plausible=(16, 16384),
    )
    micro_batches: Value = choice(
        Count,
        "Micro-batches that decode in different pipeline stages at once, at most.",
        label="micro-batches in flight",
        neutral=inf,
        plausible=(1, 64),
    )
    host_bandwidth_fraction: Value = rate(
        Fraction,
        "Share of the printed bandwidth that reads of a host's memory reach.",
        plausible=(0.3, 1.0),
    )
    host_link_fraction: Value = rate(
        Fraction, "Share of the link to the host that copies reach.", plausible=(0.3, 1.0)
    )
    host_layer_overhead: Value = cost(
        Time, "A layer's turn to the host's cores and back.", plausible=PER_LAYER
    )
    small_memory: Value = choice(
        Kept,
        "Memory below which a start makes ready for fewer sequences.",
        neutral=0.0,
        plausible=(1e10, 1e12),
    )
    small_sequences: Value = choice(
        Count,
        "Sequences that it makes ready for there, at most.",
        neutral=inf,
        plausible=(16, 16384),
    )
    small_chunk: Value = choice(
        Count, "Prompt tokens of a step there, at most.", neutral=inf, plausible=(64, 1e6)
    )
    large_memory: Value = choice(
        Kept,
        "Memory from which a start makes ready for more prompt tokens.",
        neutral=inf,
        plausible=(1e10, 1e12),
    )
    large_chunk: Value = choice(
        Count,
        "Prompt tokens of a step that it makes ready for there.",
        neutral=inf,
        plausible=(64, 1e6),
    )
    sampler_copies: Value = cost(
        Number,
        "32-bit copies of the logits of all sequences while they are sampled.",
        plausible=(1, 20),
    )
    chunk_logits: Value = cost(
        Number, "32-bit copies of the logits of all prompt tokens of a step.", plausible=(0.5, 4)
    )
    layer_buffers: Value = cost(
        Number,
        "16-bit copies of what a layer computes for the tokens of a step.",
        plausible=(0.5, 4),
    )
    chunk_memory: Value = cost(
        Kept, "Memory kept free for each prompt token of a step.", plausible=(1e4, 1e7)
    )
    graph_memory: Value = cost(Kept, "Memory reserved for each CUDA graph.", plausible=(1e5, 1e9))
    graph_layer_memory: Value = cost(
        Kept,
        "Further memory of a CUDA graph per layer: of prompts, or of recurrent states.",
        plausible=(1e4, 1e7),
    )
    graph_row_memory: Value = cost(
        Kept,
        "Further memory per CUDA graph and row of the largest, of a model with recurrent states.",
        plausible=(1e4, 1e7),
    )
    loads_encoders: Value = cost(
        Part, "1 where a start loads what encodes images and sound, 0 for the text core alone."
    )
    encoder_memory: Value = cost(
        Kept,
        "Memory while the largest image or clip is encoded.",
        plausible=(1e7, 1e11),
    )
    encoder_fraction: Value = cost(
        Part, "Share of what is not kept otherwise that is left free for encoders."
    )
    runtime_memory: Value = cost(
        Kept, "Memory of runtime and libraries on each chip.", plausible=(1e7, 1e10)
    )
    joined_memory: Value = cost(
        Kept, "Further memory of each chip where several work together.", plausible=(1e7, 1e10)
    )
    expert_columns: Value = choice(
        Count,
        "Columns that experts in MXFP4 are padded to a multiple of.",
        neutral=1.0,
        plausible=(2, 1024),
    )
    short_sums: Value = rate(
        Part, "1 where products of fp16 are summed in 16 bits, not in 32.", neutral=0.0
    )


PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter.metadata["declared"] for parameter in fields(DeclaredParameters)
}

STARTED_WITH = {
    "gpu_memory_utilization": ("memory_fraction",),
    "max_num_seqs": ("max_sequences", "small_sequences"),
    "max_num_batched_tokens": ("prompt_chunk", "small_chunk", "large_chunk"),
}
"""Parameters that a server is started with, by the name that vLLM gives the setting."""
