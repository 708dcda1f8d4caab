"""What a model weighs and what a token costs: counted once, from the shape alone.

A `Workload` is a model in one weight format and one cache format, reduced to the sums
that placement and the step function need. Everything is of the text core: no
multi-token-prediction layers and no vision tower.
"""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from fastcalc.catalogue.formats import FORMATS, NumberFormat, number_format
from fastcalc.catalogue.schema import (
    Attention,
    DenseFFN,
    GatedDeltaNet,
    LatentAttention,
    MixtureOfExperts,
    Model,
)
from fastcalc.formulas import counting
from fastcalc.formulas.memory import cache_bytes_per_layer
from fastcalc.formulas.types import Array, ArrayLike

_STATE_BYTES = 4.0
"""Recurrent states are kept at 32 bits (the default of Qwen3-Next and later configurations)."""

_16_BIT = 2.0


@dataclass(frozen=True)
class Weights:
    """Parameters of one kind and the format they are stored in."""

    parameters: float
    format: NumberFormat

    @property
    def bytes(self) -> float:
        """Bytes they take. [byte]"""
        return self.parameters * self.format.bytes


@dataclass(frozen=True)
class CacheGroup:
    """Layers whose caches and attention are alike.

    Attributes
    ----------
    layers : float
        How many. [1]
    elements : float
        Elements that a token leaves in one layer. [1]
    window : float
        Tokens a layer looks back; infinity for all. [1]
    shards : float
        Ranks that a tensor-parallel group can spread the cache over: key-value heads, or 1
        for a latent that every rank needs whole. [1]
    decode_flops, prefill_flops : float
        Attention FLOPs of one layer for a new token and a token of context. [FLOP]
    """

    layers: float
    elements: float
    window: float
    shards: float
    decode_flops: float
    prefill_flops: float


@dataclass(frozen=True, eq=False)
class Workload:
    """A model in its formats, as sums.

    Attributes
    ----------
    dense, small, head, embedding, routed, expert_biases : Weights
        Matrices every token passes; norms, biases and routers; output head; input
        embedding; matrices and biases of all routed experts. A tied head is counted in
        ``head`` alone.
    experts, active_experts : float
        Routed experts in a layer and how many a token picks; 0 without any. [1]
    expert_layers, latent_layers, layers : float
        Layers with routed experts, with latent attention, and all. [1]
    hidden : float or None
        Hidden width; None where it is not published. [1]
    caches : tuple of CacheGroup
        Layers whose caches are alike.
    state_elements : float
        Elements of recurrent state that a sequence keeps. [1]
    largest_layer_bytes : float
        Weights of the heaviest layer. [byte]
    """

    model: Model
    weight_format: str
    kv_format: str
    dense: Weights
    small: Weights
    head: Weights
    embedding: Weights
    routed: Weights
    expert_biases: Weights
    experts: float
    active_experts: float
    expert_layers: float
    latent_layers: float
    layers: float
    hidden: float | None
    caches: tuple[CacheGroup, ...]
    state_elements: float
    largest_layer_bytes: float

    @property
    def parts(self) -> tuple[Weights, ...]:
        """All weights by kind."""
        return (
            self.dense,
            self.small,
            self.head,
            self.embedding,
            self.routed,
            self.expert_biases,
        )

    @property
    def total_parameters(self) -> float:
        """Parameters of the text core. [1]"""
        return sum(part.parameters for part in self.parts)

    @property
    def active_share(self) -> float:
        """Share of the routed experts that one token passes. [1]"""
        return self.active_experts / self.experts if self.experts else 0.0

    @property
    def active_parameters(self) -> float:
        """Parameters one token touches, the whole embedding table counted. [1]"""
        idle = (self.routed.parameters + self.expert_biases.parameters) * (1.0 - self.active_share)
        return self.total_parameters - idle

    @property
    def multiplied_parameters(self) -> float:
        """Parameters one token is multiplied with: no input embedding, which is a lookup. [1]"""
        return self.active_parameters - self.embedding.parameters

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights. [byte]"""
        return sum(part.bytes for part in self.parts)

    @property
    def flops_per_token(self) -> float:
        """FLOPs of matrix products for one token, attention scores apart. [FLOP]"""
        return float(counting.linear_flops(parameters=self.multiplied_parameters))

    @property
    def state_bytes(self) -> float:
        """Bytes of recurrent state a sequence keeps, whatever its length. [byte]"""
        return self.state_elements * _STATE_BYTES

    def cache_bytes(self, tokens: ArrayLike, *, ranks: ArrayLike = 1.0) -> Array:
        """Return the cache of one sequence on one of ``ranks`` tensor-parallel ranks. [byte]

        Parameters
        ----------
        tokens : array_like
            Tokens the sequence holds. [1]
        ranks : array_like
            Ranks of the tensor-parallel group; heads are spread, latents copied. [1]
        """
        total: Array = self.state_bytes / np.asarray(ranks)
        for group in self.caches:
            layer = cache_bytes_per_layer(
                elements=group.elements,
                context=tokens,
                window=group.window,
                bytes_per_element=FORMATS[self.kv_format].cache_bytes,
            )
            total = total + group.layers * layer / np.minimum(ranks, group.shards)
        return total

    @property
    def cache_bytes_per_token(self) -> float:
        """Bytes that one more token adds while no window is full. [byte]"""
        width = FORMATS[self.kv_format].cache_bytes
        return sum(group.layers * group.elements for group in self.caches) * width

    def attention_flops(self, context: ArrayLike, *, prompt: bool = False) -> Array:
        """Return the attention FLOPs of one new token at a context. [FLOP]

        Parameters
        ----------
        context : array_like
            Tokens it attends to. [1]
        prompt : bool
            Count the form that prompts use: latent attention expanded into heads.
        """
        total: Array = 0.0
        for group in self.caches:
            flops = group.prefill_flops if prompt else group.decode_flops
            total = total + group.layers * flops * np.minimum(context, group.window)
        return total


def workload(model: Model, weights: str | None = None, kv: str | None = None) -> Workload:
    """Count a model in a weight format and a cache format.

    Parameters
    ----------
    model : Model
        Its whole shape, or the minimum.
    weights : str, optional
        Number format of the matrices; the model's own where left out.
    kv : str, optional
        Number format of the cache; the model's own where left out.

    Raises
    ------
    InputError
        If a format is unknown.
    """
    kv_format = number_format(kv or model.kv_format, cache=True).id
    matrices = number_format(weights or model.weight_format)
    native = weights is None or weights == model.expert_format
    experts_in = matrices
    if native and model.expert_format is not None:
        matrices, experts_in = (
            number_format(model.weight_format),
            number_format(model.expert_format),
        )
    if model.is_minimal:
        return _minimal(model, matrices, kv_format)
    return _whole(model, matrices, experts_in, kv_format)


def _minimal(model: Model, matrices: NumberFormat, kv_format: str) -> Workload:
    """Count a model of which only totals are known; every active parameter may be routed."""
    assert model.total_parameters and model.layers and model.kv_bytes_per_token
    total = model.total_parameters.si
    active = model.active_parameters.si if model.active_parameters else total
    share = active / total
    if model.experts and model.active_experts:
        share = model.active_experts / model.experts
    # P = D + R and A = D + R k/E; without k and E, nothing is known to be shared: D = 0.
    routed = (total - active) / (1.0 - share) if share < 1.0 else 0.0
    routed = min(routed, total)
    elements = model.kv_bytes_per_token.si / FORMATS[model.kv_format].cache_bytes
    none = Weights(0.0, matrices)
    return Workload(
        model=model,
        weight_format=matrices.id,
        kv_format=kv_format,
        dense=Weights(total - routed, matrices),
        small=none,
        head=none,
        embedding=none,
        routed=Weights(routed, matrices),
        expert_biases=none,
        experts=float(model.experts or (total / active if routed else 0.0)),
        active_experts=float(model.active_experts or (1.0 if routed else 0.0)),
        expert_layers=float(model.layers) if routed else 0.0,
        latent_layers=0.0,
        layers=float(model.layers),
        hidden=float(model.hidden_size) if model.hidden_size else None,
        caches=(CacheGroup(float(model.layers), elements / model.layers, inf, inf, 0.0, 0.0),),
        state_elements=0.0,
        largest_layer_bytes=total * matrices.bytes / model.layers,
    )


def _whole(
    model: Model, matrices: NumberFormat, experts_in: NumberFormat, kv_format: str
) -> Workload:
    assert model.hidden_size and model.vocabulary
    hidden = float(model.hidden_size)
    table = hidden * model.vocabulary
    at_16 = matrices if matrices.whole_file else FORMATS["bf16"]
    dense = small = routed = biases = state = largest = 0.0
    caches = []
    for block in model.blocks:
        layer = count_layer(block.attention, block.ffn, hidden)
        dense += block.count * layer.dense
        small += block.count * layer.small
        routed += block.count * layer.routed
        biases += block.count * layer.expert_biases
        state += block.count * layer.state
        layer_bytes = layer.dense * matrices.bytes + layer.routed * experts_in.bytes
        largest = max(largest, layer_bytes + (layer.small + layer.expert_biases) * _16_BIT)
        if layer.cache is not None:
            caches.append(replace(layer.cache, layers=float(block.count)))
    moe = [block for block in model.blocks if isinstance(block.ffn, MixtureOfExperts)]
    first = moe[0].ffn if moe else None
    return Workload(
        model=model,
        weight_format=experts_in.id if experts_in is not matrices else matrices.id,
        kv_format=kv_format,
        dense=Weights(dense, matrices),
        small=Weights(small + hidden, FORMATS["bf16"]),
        head=Weights(table, at_16),
        embedding=Weights(0.0 if model.tied_embeddings else table, at_16),
        routed=Weights(routed, experts_in),
        expert_biases=Weights(biases, FORMATS["bf16"]),
        experts=float(first.experts) if isinstance(first, MixtureOfExperts) else 0.0,
        active_experts=float(first.active_experts) if isinstance(first, MixtureOfExperts) else 0.0,
        expert_layers=float(sum(block.count for block in moe)),
        latent_layers=float(
            sum(b.count for b in model.blocks if isinstance(b.attention, LatentAttention))
        ),
        layers=float(sum(block.count for block in model.blocks)),
        hidden=hidden,
        caches=tuple(caches),
        state_elements=state,
        largest_layer_bytes=largest,
    )


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer's parameters by kind, its state and its cache."""

    dense: float
    small: float
    routed: float
    expert_biases: float
    state: float
    cache: CacheGroup | None

    @property
    def total(self) -> float:
        """All its parameters. [1]"""
        return self.dense + self.small + self.routed + self.expert_biases


def count_layer(
    attention: Attention | LatentAttention | GatedDeltaNet,
    ffn: DenseFFN | MixtureOfExperts,
    hidden: float,
) -> Layer:
    """Count one layer: attention, feed-forward network and two norms."""
    if isinstance(attention, Attention):
        dense, small, state, cache = _count_attention(attention, hidden)
    elif isinstance(attention, LatentAttention):
        dense, small, state, cache = _count_latent(attention, hidden)
    else:
        dense, small, state, cache = _count_deltanet(attention, hidden)
    small += 2 * hidden
    if isinstance(ffn, DenseFFN):
        width = counting.ffn_matrices(hidden=hidden, width=ffn.width, matrices=ffn.matrices)
        return Layer(dense + width, small, 0.0, 0.0, state, cache)
    shared = counting.ffn_matrices(hidden=hidden, width=ffn.shared_width, matrices=3)
    expert = counting.ffn_matrices(hidden=hidden, width=ffn.width, matrices=3)
    small += hidden * ffn.experts + ffn.experts * ffn.router_bias + hidden * ffn.shared_gate
    biases = ffn.experts * (2 * ffn.width + hidden) * ffn.expert_bias
    return Layer(dense + shared, small, ffn.experts * expert, biases, state, cache)


_Parts = tuple[float, float, float, CacheGroup | None]


def _count_attention(attention: Attention, hidden: float) -> _Parts:
    heads, kv_heads, size = attention.heads, attention.cached_heads, attention.head_dim
    dense = counting.attention_matrices(
        hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=size
    )
    dense += hidden * heads * size * attention.output_gate
    small = (
        (heads + 2 * kv_heads) * size * attention.qkv_bias
        + hidden * attention.output_bias
        + 2 * size * attention.qk_norm
        + heads * attention.sinks
    )
    flops = float(counting.attention_flops(heads=heads, key_dim=size, value_dim=size))
    window = float(attention.window or inf)
    cache = CacheGroup(1.0, 2.0 * kv_heads * size, window, float(kv_heads), flops, flops)
    return float(dense), float(small), 0.0, cache


def _count_latent(attention: LatentAttention, hidden: float) -> _Parts:
    heads, latent, rope = attention.heads, attention.kv_rank, attention.rope_dim
    dense = counting.latent_attention_matrices(
        hidden=hidden,
        heads=heads,
        q_rank=attention.q_rank or 0,
        kv_rank=latent,
        nope_dim=attention.nope_dim,
        rope_dim=rope,
        value_dim=attention.value_dim,
    )
    absorbed = counting.attention_flops(heads=heads, key_dim=latent + rope, value_dim=latent)
    expanded = counting.attention_flops(
        heads=heads, key_dim=attention.nope_dim + rope, value_dim=attention.value_dim
    )
    cache = CacheGroup(1.0, latent + rope, inf, 1.0, float(absorbed), float(expanded))
    return float(dense), float((attention.q_rank or 0) + latent), 0.0, cache


def _count_deltanet(attention: GatedDeltaNet, hidden: float) -> _Parts:
    keys = attention.key_heads * attention.key_dim
    values = attention.value_heads * attention.value_dim
    dense = counting.gated_deltanet_matrices(
        hidden=hidden, key_width=keys, value_width=values, value_heads=attention.value_heads
    )
    convolved = 2 * keys + values
    small = attention.conv_kernel * convolved + 2 * attention.value_heads + attention.value_dim
    state = values * attention.key_dim + (attention.conv_kernel - 1) * convolved
    return float(dense), float(small), float(state), None


def checkpoint_parameters(model: Model) -> float:
    """Return the parameters of the text core and the multi-token-prediction layers. [1]

    A multi-token-prediction layer is one more layer of the last kind, a projection of two
    hidden states to one and three norms; some checkpoints store copies of embedding and
    head in it.
    """
    core = workload(model).total_parameters
    if model.mtp is None or model.hidden_size is None or model.vocabulary is None:
        return core
    hidden, last = float(model.hidden_size), model.blocks[-1]
    layer = count_layer(last.attention, last.ffn, hidden).total + 2 * hidden**2 + 3 * hidden
    copies = (model.mtp.own_embedding + model.mtp.own_head) * hidden * model.vocabulary
    return core + model.mtp.layers * (layer + copies)
