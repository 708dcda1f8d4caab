"""Layers, weights and caches on the fullest chip of a layout."""

from collections.abc import Callable
from functools import lru_cache, partial
from math import inf
from typing import TypeAlias, TypeVar

import numpy as np

from fastcalc.catalogue.formats import FORMATS
from fastcalc.core.chip.machine import Machine
from fastcalc.core.model.kinds import KINDS
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import AnyLayout, Layout
from fastcalc.core.placement.legal import AnyMachine, Topology, slots, topology_of
from fastcalc.formulas.pipeline import heaviest_stage
from fastcalc.formulas.reserve import padded_share
from fastcalc.formulas.types import Array, ArrayLike, floats

WEIGHT_KINDS = tuple(kind for kind in KINDS if kind != "kv")

_MX_VALUES, _MX_SCALE_BITS = 32.0, 8.0
"""The values that share a scale, and its size (OCP Microscaling Formats, version 1.0, table 1)."""

FEW = 256
"""The maximum number of layouts whose counts are cached."""

Counted = TypeVar("Counted")
Chip = TypeVar("Chip", Machine, Topology)
OfLayout: TypeAlias = Callable[[Chip, Workload, AnyLayout], Counted]


def once_a_layout(count: OfLayout[Chip, Counted]) -> OfLayout[Chip, Counted]:
    """Cache results per machine, workload and layout, unless there are many layouts.

    Large sets of layouts are not cached, since they need much memory and are rarely reused.
    """
    cached = lru_cache(maxsize=1024)(count)

    def counted(machine: Chip, work: Workload, layout: AnyLayout) -> Counted:
        is_small = isinstance(layout, Layout) or layout.tp.size <= FEW
        return (cached if is_small else count)(machine, work, layout)

    return counted


def chips_per_layer(machine: AnyMachine, work: Workload, layout: AnyLayout) -> ArrayLike:
    """Count the chips that share a layer on machines that place whole layers."""
    return np.maximum(layout.pp // slots(machine, work), 1) if machine.is_spatial else 1


def _layers_per_stage(machine: AnyMachine, work: Workload, layout: AnyLayout) -> Array:
    cut = chips_per_layer(machine, work, layout)
    return np.where(cut > 1, 1.0 / cut, np.ceil(slots(machine, work) / layout.pp))


@once_a_layout
def stage_share(topology: Topology, work: Workload, layout: AnyLayout) -> Array:
    """Compute the fraction of all layers that the fullest stage has."""
    if topology.is_spatial:
        return np.minimum(_layers_per_stage(topology, work, layout) / work.layers, 1.0)
    return floats(np.ceil(work.layers / layout.pp) / work.layers)


def _fullest(
    topology: Topology, work: Workload, layout: AnyLayout, amount: Callable[[Workload], ArrayLike]
) -> Array:
    """Maximize a quantity over the layers that one stage may have.

    amount : The function that computes the quantity for a selection of layers.
    """
    if len(work.layer_kinds) < 2:
        return floats(amount(work) * stage_share(topology, work, layout))
    ends = slots(topology, work) - work.layers  # may be on any chip
    return heaviest_stage(
        amounts=[amount(layer) for _, layer in work.layer_kinds],
        counts=[count + ends for count, _ in work.layer_kinds],
        stages=layout.pp,
        layers=_layers_per_stage(topology, work, layout),
    )


def cache_on_chip(machine: Machine, work: Workload, layout: AnyLayout, tokens: ArrayLike) -> Array:
    """Compute the cache of one sequence on the fullest chip of a replica, in bytes."""
    topology = topology_of(machine)
    if isinstance(layout, Layout) and isinstance(tokens, float):
        of_rank = _cache_on_rank_once(topology, work, layout, tokens)
    else:
        of_rank = _cache_on_rank(topology, work, layout, tokens)
    if machine.draft:
        cache = machine.draft.cache_bytes(tokens, ranks=layout.tp)
        of_rank = of_rank + cache * _draft_share(machine, machine.draft, layout)
    elif machine.memory.drafted and work.model.mtp:
        of_rank = of_rank + _draft_cache_on_rank(work, layout, tokens)
    return of_rank * machine.ranks


def _draft_share(machine: Machine, draft: Workload, layout: AnyLayout) -> ArrayLike:
    """Compute the fraction of a draft model's layers on the fullest chip.

    llama.cpp splits a draft model by layers like the main model (load_model in
    tools/server/server-context.cpp, ggml-org/llama.cpp), and so do chips with regions. Other
    engines run it on a single stage.
    """
    is_split = machine.is_spatial or machine.engine.program == "llama-cpp"
    return stage_share(topology_of(machine), draft, layout) if is_split else 1.0


def _draft_cache_on_rank(work: Workload, layout: AnyLayout, tokens: ArrayLike) -> Array:
    """Compute the cache per sequence of the draft layers on one rank, in bytes.

    Engines allocate as much cache for each draft layer as for a model layer whose cache grows with
    context (SGLang 0.5.23, python/sglang/srt/model_executor/pool_configurator.py).
    """
    groups = [group for group in work.caches if group.window == inf]
    if not groups or work.model.mtp is None:
        return floats(0.0)
    widest = max(groups, key=lambda group: group.elements * work.element_bytes(group))
    token = widest.elements * work.element_bytes(widest) / np.minimum(layout.tp, widest.shards)
    return floats(work.model.mtp.layers * token * np.asarray(tokens))


def _cache_on_rank(
    topology: Topology, work: Workload, layout: AnyLayout, tokens: ArrayLike
) -> Array:
    return _fullest(
        topology, work, layout, lambda layers: layers.cache_bytes(tokens, ranks=layout.tp)
    )


_cache_on_rank_once = lru_cache(maxsize=1024)(_cache_on_rank)


def expert_padding(machine: Machine, work: Workload, layout: AnyLayout) -> ArrayLike:
    """Compute the factor by which kernels enlarge packed experts: padding, wider scales."""
    formats = work.weights.experts.format.shares
    packed = sum(fraction * stored.bytes for stored, fraction in formats if stored.id == "mxfp4")
    if machine.is_spatial or not packed or work.expert_width == inf:
        return 1.0
    columns = work.expert_width * layout.ep / layout.expert_shards
    software, hidden = machine.software, float(work.model.hidden_size or 1)
    padding = padded_share(columns=columns, multiple=software.expert_columns)
    padding = padding * padded_share(columns=hidden, multiple=software.expert_rows)
    if any(stored.id == "fp8" for stored, _ in work.weights.dense.format.shares):
        # SGLang's loader of fp8 models (Fp8Config) widens scales; that of mxfp4 models does not.
        widened = (software.expert_scale_bits - _MX_SCALE_BITS) / _MX_VALUES
        padding = padding * (1.0 + widened / FORMATS["mxfp4"].bits)
    # If experts have several formats, only those in this format are padded.
    packed_share = packed / work.weights.experts.format.bytes
    return 1.0 + packed_share * (padding - 1.0)


def on_host(machine: Machine, work: Workload) -> float:
    """Count the bytes of tables that the engine stores in the memory of the host."""
    ngrams = work.model.ngram_parameters
    if not (ngrams and machine.software.ngrams_on_host):
        return 0.0
    return ngrams.si * work.weights.embedding.format.bytes


def rotary_bytes(machine: Machine, work: Workload) -> ArrayLike:
    """Compute the sines and cosines of rotary embeddings that each rank stores, in bytes."""
    positions = machine.software.mrope_positions if work.model.mrope else 1.0
    return machine.software.rotary_memory * positions * work.model.rotary_values


@once_a_layout
def stored_weights(machine: Machine, work: Workload, layout: AnyLayout) -> dict[str, Array]:
    """Compute the weights on the fullest chip by category, including the embedding table, in bytes.

    Image and audio encoders, draft layers or a draft model, and the sines and cosines of rotary
    embeddings count as embeddings. If layers are placed whole, each needs as much memory as the
    largest. If there are several layer types, each category is taken from the stage that has most
    of it. Kernels pad the columns of packed experts.
    """
    head = work.weights.head.bytes
    embedding = work.weights.embedding.bytes - on_host(machine, work)
    of_draft, draft = 0.0, floats(0.0)  # in total, and on this chip
    if machine.draft:
        of_draft = machine.draft.weight_bytes
        draft = floats(of_draft * _draft_share(machine, machine.draft, layout))
    if machine.is_spatial:
        room = _layers_per_stage(machine, work, layout) * work.largest_layer_bytes
        sizes = work.bytes._asdict() | {"embedding": embedding}
        fractions = {kind: sizes[kind] / work.weight_bytes for kind in WEIGHT_KINDS}
        placed = {kind: floats(room * fraction) for kind, fraction in fractions.items()}
        return placed | {"embedding": placed["embedding"] + draft}
    experts = work.experts or 1.0
    stored = np.ceil((work.stored_experts or 1.0) / layout.ep) / experts
    fraction = stored * layout.ep / layout.expert_shards
    fraction = fraction * expert_padding(machine, work, layout)
    dense, small, routed = _in_layers(topology_of(machine), work, layout)
    # The first stage has the embedding and the last stage the head; the larger one counts.
    is_whole = np.asarray(layout.pp == 1)
    has_head = is_whole | (head >= embedding)
    has_embedding = is_whole | ~has_head
    ranks, topology = machine.ranks, topology_of(machine)  # per chip, each with its own part
    copies: ArrayLike = 0.0
    if topology.has_copies:
        # Engines keep a bf16 copy of latent attention's up-projections for decoding on latents
        # (W_UK_T and W_UV in vLLM, w_kc and w_vc in SGLang).
        copied = work.copied.bytes + work.weights.small.bytes
        whole = copied * (1.0 - 1.0 / np.asarray(layout.tp))
        copies = whole + work.absorbed_bytes / np.asarray(layout.tp)
        copies = copies * stage_share(topology, work, layout)
    copies = copies + rotary_bytes(machine, work)
    unread = has_embedding * embedding + machine.unread_bytes - of_draft + draft
    return {
        "dense": floats(dense / layout.tp * ranks),
        "head": floats((small + has_head * head) / layout.tp * ranks),
        "experts": floats(routed * fraction * ranks),
        "embedding": floats((unread / layout.tp + copies) * ranks),
    }


@once_a_layout
def _in_layers(
    topology: Topology, work: Workload, layout: AnyLayout
) -> tuple[ArrayLike, ArrayLike, ArrayLike]:
    """Compute dense weights, norms and experts, each on the stage that has most of them. [byte]"""
    in_layers = partial(_fullest, topology, work, layout)
    norm_width = work.weights.small.format.bytes
    return (
        in_layers(lambda layers: layers.bytes.dense),
        in_layers(lambda layers: layers.norm_parameters * norm_width) + work.last_norm.bytes,
        in_layers(lambda layers: layers.bytes.experts),
    )


@once_a_layout
def weights_per_chip(machine: Machine, work: Workload, layout: AnyLayout) -> Array:
    """Compute the size of all weights on the fullest chip, in bytes."""
    return floats(sum(stored_weights(machine, work, layout).values()))
