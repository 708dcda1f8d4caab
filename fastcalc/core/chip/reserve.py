"""Memory that an engine reserves on a chip in addition to weights and caches."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.schema.engine_parameters import DeclaredParameters
from fastcalc.core.chip.cuda_graphs import decode_buffers, graph_bytes
from fastcalc.core.chip.kernel_buffers import (
    context_buffers,
    encoder_buffers,
    expert_widths,
    gathered_entries,
    indexer_buffers,
    layer_widths,
    padded_widths,
    streams,
)
from fastcalc.core.chip.tier import Tier
from fastcalc.core.model.workload import Workload, outside_core
from fastcalc.formulas.reserve import activation_peak, logits_memory, stream_memory
from fastcalc.formulas.types import ArrayLike


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
    buffers : The buffers of graphs of decode steps, whose size is counted rather than estimated.
    """

    sampling: ArrayLike
    layer: ArrayLike
    encoder: ArrayLike
    runtime: ArrayLike
    joined: ArrayLike
    graphs: ArrayLike
    buffers: ArrayLike

    @property
    def total(self) -> ArrayLike:
        """The expected memory that the engine does not leave to weights and KV cache, in bytes."""
        return self.at(1.0)

    def at(self, reserves: float) -> ArrayLike:
        """Compute this memory if all that is estimated differs from what is expected. [byte]

        reserves : The ratio of the estimated memory to its expected value.
        """
        peak = activation_peak(sampling=self.sampling, layer=self.layer)
        estimated = np.maximum(peak, self.encoder) + self.runtime + self.joined + self.graphs
        return reserves * estimated + self.buffers


@dataclass(frozen=True)
class Reserve:
    """The chip memory that is used for neither weights nor caches, by component.

    sampling : The memory for sampling: copies of logits and their hidden states, in bytes.
    layers : The memory for a layer, for each type of attention and feed-forward network: bytes
        divided among tensor-parallel ranks, and bytes that are not, in bytes.
    compiled : The memory for compiling the model, if one chip holds the embedding table, in bytes.
    workspaces : The buffers that layers share and that stay allocated, for each type of layer:
        bytes divided among the ranks that divide an expert, and bytes that are not, in bytes.
    held : The memory that compiling on one chip freed, and that these buffers hold, in bytes.
    alone, joined : The memory for runtime and libraries, and the addition for multiple chips, in
        bytes.
    rank, replica : The memory per cooperating rank, and per attention replica if replicas share
        experts, in bytes.
    encoder : The memory for encoding the largest image or clip: bytes divided among tensor-parallel
        ranks, and bytes that are not, in bytes.
    graphs, buffers : The memory of CUDA graphs and of their buffers for decode steps: bytes divided
        among tensor-parallel ranks, and bytes that are not, in bytes.
    below, above : The factors by which the actual reserve may be smaller or larger, without these
        buffers.
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
    buffers: tuple[float, float] = (0.0, 0.0)
    below: float = 1.0
    above: float = 1.0

    def on(
        self, ranks: ArrayLike, tp: ArrayLike, replicas: ArrayLike, slices: ArrayLike
    ) -> KeptMemory:
        """Compute the expected reserve by component.

        ranks, tp, replicas : The numbers of cooperating ranks, of tensor-parallel ranks among them,
            and of attention replicas that share experts (0 if none do).
        slices : The number of ranks that divide an expert, 1 with expert parallelism.
        """
        workspace = _largest(self.workspaces, slices)
        is_alone = np.asarray(tp) == 1
        workspace = np.maximum(workspace, self.held * is_alone)
        layer = np.maximum(_largest(self.layers, tp), self.compiled * is_alone)
        joined = (self.joined + self.rank * np.asarray(ranks)) * (np.asarray(ranks) > 1)
        joined = joined + self.replica * replicas if self.replica else joined
        encoder, graphs, buffers = (
            divided / np.asarray(tp) + undivided if divided else undivided
            for divided, undivided in (self.encoder, self.graphs, self.buffers)
        )
        sampling = self.sampling + workspace
        return KeptMemory(sampling, layer + workspace, encoder, self.alone, joined, graphs, buffers)


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
    decoded = sequences * (1.0 + drafted)
    # Models with a vision encoder embed tokens outside of compiled code.
    copies = software.embedding_copies * (not outside_core(model).get("vision"))
    experts = streams(software.keeps_expert_buffers, tokens, expert_widths(model))
    kept = copies * software.counts_segments * bool(experts)
    stated = (engine.ranges or {}).get("reserve")
    stored = logits_memory(copies=software.stored_logits, rows=sequences, vocabulary=vocabulary)
    alone = float(software.runtime_memory + software.chunk_memory * tokens + stored)
    encoder = encoder_buffers(software, tokens, tier.capacity - alone)
    return Reserve(
        sampling=float(
            logits_memory(copies=software.sampler_copies, rows=sequences, vocabulary=vocabulary)
            + logits_memory(copies=software.chunk_logits, rows=tokens, vocabulary=vocabulary)
            + stream_memory(copies=software.layer_buffers, tokens=tokens + sequences, width=hidden)
        ),
        layers=(
            *streams(software.layer_buffers, tokens, layer_widths(model)),
            *streams(software.layer_buffers, tokens, padded_widths(software, model)),
            *context_buffers(software, model, longest, sequences),
        ),
        compiled=float(stream_memory(copies=copies, tokens=vocabulary + 2 * tokens, width=hidden)),
        workspaces=(
            *experts,
            *indexer_buffers(software, model, longest),
            *gathered_entries(software, model, tokens, longest),
        ),
        held=float(stream_memory(copies=kept, tokens=vocabulary, width=hidden)),
        alone=alone,
        joined=float(software.joined_memory),
        rank=float(software.rank_memory),
        replica=float(software.replica_memory),
        encoder=encoder if has_encoder else (0.0, 0.0),
        graphs=graph_bytes(software, work, decoded, drafted),
        buffers=decode_buffers(software, work, decoded, longest),
        below=stated.below if stated else 1.0,
        above=stated.above if stated else 1.0,
    )
