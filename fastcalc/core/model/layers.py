"""Parameters, caches and state of a single layer, derived from its architecture alone."""

from dataclasses import dataclass, replace
from math import inf
from operator import add

from fastcalc.catalogue.schema import (
    AnyAttention,
    AnyFFN,
    Attention,
    Block,
    CompressedAttention,
    DenseFFN,
    Indexer,
    LatentAttention,
    LinearAttention,
    Model,
)
from fastcalc.formulas import counting, linear_attention, sparse

_INDEX_SCALE_BYTES = 4.0
"""The scale of an 8-bit indexer key: 32 bits per key, as in DeepSeek V3.2."""


@dataclass(frozen=True)
class CacheGroup:
    """The layers that have the same type of cache and attention.

    layers : The number of layers.
    elements : The cached elements per token and layer.
    window : The number of most recent tokens kept, or infinity for all.
    shards : The maximum number of ranks that can divide the cache: the number of key-value heads,
        or 1 for a latent that every rank needs in full.
    decode_flops, prefill_flops : The attention FLOPs per layer for each pair of a new token and a
        token it attends to, in FLOPs.
    picked : The number of tokens that an indexer selects per new token, or infinity without an
        indexer.
    element_bytes : The width of an element, or None to use the cache format, in bytes.
    latent_heads : The number of query heads that share each cached token; 0 if heads have separate
        keys.
    """

    layers: float
    elements: float
    window: float
    shards: float
    decode_flops: float
    prefill_flops: float
    picked: float = inf
    element_bytes: float | None = None
    latent_heads: float = 0.0

    @property
    def attended(self) -> float:
        """The maximum number of tokens that a new token attends to."""
        return min(self.window, self.picked)


@dataclass(frozen=True)
class LayerCount:
    """Counts the parameters and per-sequence state of a layer, or of one of its components.

    attention, ffn, shared_experts, experts : The matrix parameters of attention or a state layer,
        of the dense network, of shared experts, and of routed experts.
    small, expert_biases : The parameters of norms, biases and routers; the biases of routed
        experts.
    state : The recurrent state per sequence in elements, independent of its length.
    convolution : The state elements that are convolution inputs, stored in 16 bits.
    prompt_traffic : The memory traffic between a state layer's kernels per prompt token, in bytes.
    copied : The matrix parameters of attention that every tensor-parallel rank stores in full.
    absorbed : The latent-attention parameters of which engines keep an additional transposed 16-bit
        copy.
    caches : The cache groups of a single layer.
    """

    attention: float = 0.0
    ffn: float = 0.0
    shared_experts: float = 0.0
    small: float = 0.0
    experts: float = 0.0
    expert_biases: float = 0.0
    state: float = 0.0
    convolution: float = 0.0
    prompt_traffic: float = 0.0
    copied: float = 0.0
    absorbed: float = 0.0
    caches: tuple[CacheGroup, ...] = ()

    def __add__(self, other: "LayerCount") -> "LayerCount":
        return LayerCount(*map(add, vars(self).values(), vars(other).values()))

    def times(self, layers: float) -> "LayerCount":
        """Multiply parameters and state by a number of layers, but keep the caches of one."""
        *numbers, _ = vars(self).values()
        return LayerCount(*(layers * number for number in numbers))

    @property
    def dense(self) -> float:
        """The parameters of matrices that every token uses."""
        return self.attention + self.ffn + self.shared_experts

    @property
    def parameters(self) -> float:
        """All parameters of the layer."""
        return self.dense + self.small + self.experts + self.expert_biases


def count_layer(block: Block, model: Model) -> LayerCount:
    """Count one layer of a block: attention, feed-forward network, norms and hyper-connections."""
    hidden = float(model.hidden_size or 0)
    norms = block.parts if block.norms is None else block.norms
    small = norms * hidden * (1 + model.norm_bias)
    if model.residual_streams > 1:
        small += float(
            counting.hyper_connection_parameters(hidden=hidden, streams=model.residual_streams)
        )
    return (
        count_attention(block.attention, hidden)
        + count_ffn(block.ffn, hidden)
        + LayerCount(ffn=float(block.other_matrices), small=small + block.other_parameters)
    )


def count_ffn(ffn: AnyFFN | None, hidden: float) -> LayerCount:
    """Count the parameters of a dense or mixture-of-experts feed-forward network."""
    if ffn is None:
        return LayerCount()
    if isinstance(ffn, DenseFFN):
        dense = counting.ffn_matrices(hidden=hidden, width=ffn.width, matrices=ffn.matrices)
        biases = (ffn.matrices - 1) * ffn.width + hidden
        return LayerCount(ffn=float(dense), small=biases * ffn.bias)
    inside = float(ffn.latent_size or hidden)
    expert = counting.ffn_matrices(hidden=inside, width=ffn.width, matrices=ffn.matrices)
    shared = counting.ffn_matrices(hidden=hidden, width=ffn.shared_width, matrices=ffn.matrices)
    latent = counting.ffn_matrices(hidden=hidden, width=ffn.latent_size or 0, matrices=2)
    router = (hidden + ffn.router_bias) * (ffn.experts + ffn.zero_experts)
    biases = (ffn.matrices - 1) * ffn.width + inside
    return LayerCount(
        shared_experts=float(shared + latent),
        small=router + hidden * ffn.shared_gate,
        experts=float(ffn.experts * expert),
        expert_biases=ffn.experts * biases * ffn.expert_bias,
    )


def count_attention(attention: AnyAttention | None, hidden: float) -> LayerCount:
    """Count the parameters, caches and state of an attention or state layer."""
    if attention is None:
        return LayerCount()
    if isinstance(attention, Attention):
        return _grouped(attention, hidden)
    if isinstance(attention, LatentAttention):
        return _latent(attention, hidden)
    if isinstance(attention, CompressedAttention):
        return _compressed(attention, hidden)
    return _linear(attention, hidden)


def _grouped(attention: Attention, hidden: float) -> LayerCount:
    heads, kv_heads, key = attention.heads, attention.cached_heads, attention.head_dim
    value = attention.value_dim or key
    matrices = counting.attention_matrices(
        hidden=hidden, heads=heads, kv_heads=kv_heads, key_dim=key, value_dim=value
    )
    gate = {False: 0, True: heads * value, "per-head": heads}[attention.output_gate]
    normed = {False: 0, True: 2 * key, "full": (heads + kv_heads) * key}[attention.qk_norm]
    biases = (heads + kv_heads) * key + kv_heads * value
    small = (
        biases * attention.qkv_bias
        + hidden * attention.output_bias
        + normed
        + heads * attention.sinks
    )
    flops = float(counting.attention_flops(heads=heads, key_dim=key, value_dim=value))
    window = float(attention.window or inf)
    kept = kv_heads * (0.0 if attention.shared_cache else float(key + value))
    cache = CacheGroup(1.0, kept, window, float(kv_heads), flops, flops)
    dense = float(matrices) + hidden * (gate - kv_heads * value * attention.k_eq_v)
    if attention.shared_cache:
        dense -= hidden * kv_heads * (key + value)
        small -= key * (attention.qk_norm is True)
    counted = LayerCount(dense, small=float(small), caches=(cache,))
    return _indexed(counted, attention.indexer, hidden=hidden, query=hidden)


def _latent(attention: LatentAttention, hidden: float) -> LayerCount:
    heads, latent, rope = attention.heads, attention.kv_rank, attention.rope_dim
    nope, value, q_rank = attention.nope_dim, attention.value_dim, attention.q_rank or 0
    matrices = counting.latent_attention_matrices(
        hidden=hidden,
        heads=heads,
        q_rank=q_rank,
        kv_rank=latent,
        nope_dim=nope,
        rope_dim=rope,
        value_dim=value,
    )
    absorbed = counting.attention_flops(heads=heads, key_dim=latent + rope, value_dim=latent)
    expanded = counting.attention_flops(heads=heads, key_dim=nope + rope, value_dim=value)
    flops = float(absorbed), float(expanded)
    cache = CacheGroup(1.0, float(latent + rope), inf, 1.0, *flops, latent_heads=float(heads))
    dense = float(matrices) + hidden * heads * value * attention.output_gate
    counted = LayerCount(
        dense,
        small=float(q_rank + latent),
        copied=hidden * (q_rank + latent + rope),
        absorbed=float(latent * heads * (nope + value)),
        caches=(cache,),
    )
    return _indexed(counted, attention.indexer, hidden=hidden, query=q_rank or hidden)


def _indexed(
    attention: LayerCount, indexer: Indexer | None, *, hidden: float, query: float
) -> LayerCount:
    """Add an indexer to attention, which then reads only the selected tokens."""
    if indexer is None:
        return attention
    picked = tuple(replace(group, picked=float(indexer.top_k)) for group in attention.caches)
    attention = replace(attention, caches=picked)
    if indexer.shared:
        return attention
    entries, copies = (indexer.pool, 2) if indexer.pool > 1 else (0, 1)
    return attention + _indexer(
        indexer,
        hidden=hidden,
        query=query,
        interval=indexer.pool,
        copies=copies,
        vectors=2 + entries,
    )


def _indexer(
    indexer: Indexer, *, hidden: float, query: float, interval: int, copies: int, vectors: int
) -> LayerCount:
    """Count an indexer, which caches one key per ``interval`` tokens and scores all of them."""
    matrices = sparse.indexer_matrices(
        hidden=hidden,
        query=query,
        heads=indexer.heads,
        head_dim=indexer.head_dim,
        key_matrices=copies,
        head_weights=indexer.head_weights,
    )
    scan = counting.attention_flops(heads=indexer.heads, key_dim=indexer.head_dim, value_dim=0)
    keys = CacheGroup(
        layers=1.0,
        elements=indexer.head_dim / interval,
        window=inf,
        shards=1.0,
        decode_flops=float(scan) / interval,
        prefill_flops=float(scan) / interval,
        element_bytes=1.0 + _INDEX_SCALE_BYTES / indexer.head_dim,
    )
    small = float(vectors * indexer.head_dim)
    return LayerCount(float(matrices), small=small, copied=float(matrices), caches=(keys,))


def _compressed(attention: CompressedAttention, hidden: float) -> LayerCount:
    heads, size, q_rank = attention.heads, attention.head_dim, attention.q_rank
    matrices = sparse.compressed_attention_matrices(
        hidden=hidden,
        heads=heads,
        head_dim=size,
        q_rank=q_rank,
        output_groups=attention.output_groups,
        output_rank=attention.output_rank,
    )
    flops = float(counting.attention_flops(heads=heads, key_dim=size, value_dim=size))
    window = float(attention.window)
    recent = CacheGroup(1.0, float(size), window, 1.0, flops, flops, latent_heads=float(heads))
    counted = LayerCount(
        float(matrices),
        small=float(q_rank + size + heads),
        copied=hidden * (q_rank + size),
        caches=(recent,),
    )
    return counted + _entries(attention, attention.compression, hidden, flops)


def _entries(
    attention: CompressedAttention, interval: int | None, hidden: float, flops: float
) -> LayerCount:
    """Count a compressor, which merges ``interval`` tokens into one entry, and its indexer.

    If there is an indexer, neighboring entries overlap, and its keys are compressed the same way.
    """
    if interval is None:
        return LayerCount()
    size, indexer = attention.head_dim, attention.indexer
    overlap = 1 if indexer is None else 2
    matrices = sparse.compressor_matrices(hidden=hidden, head_dim=size, overlap=overlap)
    of_token = flops / interval
    folded = CacheGroup(1.0, size / interval, inf, 1.0, of_token, of_token)
    folded = replace(folded, latent_heads=float(attention.heads))
    vectors = interval * overlap + 1
    picked = inf if indexer is None else float(indexer.top_k * interval)
    counted = LayerCount(
        float(matrices),
        small=float(vectors * size),
        copied=float(matrices),
        caches=(replace(folded, picked=picked),),
    )
    if indexer is None:
        return counted
    return counted + _indexer(
        indexer,
        hidden=hidden,
        query=attention.q_rank,
        interval=interval,
        copies=2 * overlap,
        vectors=vectors,
    )


def _linear(attention: LinearAttention, hidden: float) -> LayerCount:
    heads, kernel = attention.value_heads, attention.conv_kernel
    keys = attention.key_heads * attention.key_dim
    values = heads * attention.value_dim
    convolved = 2 * keys + values
    looked_back_on = float((kernel - 1) * convolved)
    traffic = linear_attention.delta_rule_traffic(
        key_width=keys, value_width=values, heads=heads, key_dim=attention.key_dim
    )
    if attention.kind == "gated-deltanet":
        matrices = linear_attention.gated_deltanet_matrices(
            hidden=hidden, key_width=keys, value_width=values, value_heads=heads
        )
        small = kernel * convolved + 2 * heads + attention.value_dim
    elif attention.kind == "mamba2":
        matrices = linear_attention.mamba2_matrices(
            hidden=hidden, inner=values, state_width=keys, heads=heads
        )
        small = (kernel + 1) * convolved + 3 * heads + values
        traffic = linear_attention.state_space_traffic(
            groups=attention.key_heads, state_size=attention.key_dim, inner=values
        )
    elif attention.kind == "kda":
        matrices = linear_attention.kda_matrices(
            hidden=hidden,
            key_width=keys,
            value_width=values,
            heads=heads,
            decay_rank=attention.key_dim,
            gate_rank=0 if attention.full_rank_gate else attention.value_dim,
        )
        small = kernel * convolved + heads + keys + attention.value_dim
    else:
        return _other_linear(attention, hidden, float(values))
    return LayerCount(
        float(matrices),
        small=float(small),
        state=float(values * attention.key_dim) + looked_back_on,
        convolution=looked_back_on,
        prompt_traffic=float(traffic),
    )


def _other_linear(attention: LinearAttention, hidden: float, width: float) -> LayerCount:
    """Count Mamba, lightning attention or a short convolution, given its total value width."""
    kernel, state_size = attention.conv_kernel, attention.key_dim
    looked_back_on = (kernel - 1) * width
    if attention.kind == "lightning":
        matrices = linear_attention.lightning_matrices(hidden=hidden, width=width)
        return LayerCount(float(matrices), small=width, state=width * state_size)
    if attention.kind == "short-conv":
        matrices = linear_attention.short_convolution_matrices(hidden=hidden, width=width)
        small, state = kernel * width, looked_back_on
    else:
        matrices = linear_attention.mamba_matrices(
            hidden=hidden, inner=width, state_size=state_size, step_rank=attention.step_rank or 0
        )
        small, state = (kernel + state_size + 3) * width, state_size * width + looked_back_on
    return LayerCount(float(matrices), small=small, state=state, convolution=looked_back_on)
