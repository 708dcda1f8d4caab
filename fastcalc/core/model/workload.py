"""Model size and work per token, derived from the architecture alone.

A `Workload` is a model in a given weight and cache format, reduced to the totals needed for
placement and step time. It covers only the text model, without multi-token-prediction layers or a
vision tower.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from fastcalc.catalogue.formats import CACHES, FORMATS, NumberFormat, mixed_format, number_format
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Block, LatentAttention, MixtureOfExperts, Model
from fastcalc.catalogue.weight_formats import K_BLOCK, WeightFormats, weight_formats
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.model.layers import CacheGroup, LayerCount, count_layer
from fastcalc.core.model.weights import Weights, WeightsByPart
from fastcalc.errors import InputError
from fastcalc.formulas import counting
from fastcalc.formulas.memory import attended_tokens, cache_bytes_per_layer
from fastcalc.formulas.types import Array, ArrayLike
from fastcalc.mentions import option
from fastcalc.written import shown

_STATE_BYTES = 4.0
"""The width of recurrent states (the default of Qwen3-Next and later configurations); convolution
inputs have the 16 bits of activations."""

_16_BIT = 2.0

WIDTH_RATIO = 0.272
"""The ratio of hidden width to the square root of the active parameters per layer: the median over
models in the catalogue that publish their shape, four fifths of which lie between 0.23 and 0.32.
[1]"""

VOCABULARY = 151_936
"""The median vocabulary size in the catalogue, used for models that publish none."""


@dataclass(frozen=True, eq=False)
class Workload:
    """A model in its number formats, reduced to totals.

    weights : The weights of all layers, by component.
    experts, active_experts : The number of routed experts per layer and per token, or 0 for dense
        models.
    expert_layers, latent_layers, layers : The number of layers with routed experts, with latent
        attention, and in total.
    depth : The number of sequential layers, where a layer without attention or without a
        feed-forward network counts half.
    hidden : The hidden width, or None if not published.
    expert_width : The feed-forward width of a routed expert, or infinity if unknown.
    caches : The caches that grow with the context.
    state_elements : The recurrent state per sequence in elements, independent of its length.
    convolution_elements : The state elements that are convolution inputs.
    prompt_traffic : The memory traffic between kernels of recurrent layers per prompt token, in
        bytes.
    largest_layer_bytes : The weights of the largest layer, in bytes.
    copied : The matrices that every tensor-parallel rank stores in full, if ranks keep copies.
    absorbed_bytes : The 16-bit copies of latent-attention weights, divided among ranks, in bytes.
    layer_kinds : The number of layers of each type, with the workload of one such layer; empty if
        not published.
    """

    model: Model
    weight_format: str
    kv_format: str
    weights: WeightsByPart
    experts: float
    active_experts: float
    expert_layers: float
    latent_layers: float
    layers: float
    depth: float
    hidden: float | None
    expert_width: float
    caches: tuple[CacheGroup, ...]
    state_elements: float
    convolution_elements: float
    prompt_traffic: float
    largest_layer_bytes: float
    copied: Weights
    absorbed_bytes: float = 0.0
    layer_kinds: tuple[tuple[float, "Workload"], ...] = ()

    @property
    def short_format(self) -> str:
        """The weight format as sentences and headings name it, if its name is long."""
        name = self.weight_format
        return name if len(name) <= 24 else f"{name.partition('+')[0]} (mixed)"

    @property
    def latent_heads(self) -> float:
        """The number of query heads that share each cached latent, or 0 without latents."""
        return max((group.latent_heads for group in self.caches), default=0.0)

    @property
    def recurrent_layers(self) -> float:
        """The number of layers with a recurrent state other than inputs of a convolution."""
        if self.layer_kinds:
            return sum(count * layer.recurrent_layers for count, layer in self.layer_kinds)
        return self.layers if self.state_elements > self.convolution_elements else 0.0

    @property
    def sent_width(self) -> float:
        """The elements per token sent between chips, or a default if the width is unpublished.

        The hardware bound uses only published widths (`hidden`).
        """
        return self.hidden or WIDTH_RATIO * (self.active_parameters / self.layers) ** 0.5

    @property
    def vocabulary(self) -> int:
        """The vocabulary size, and thus the number of logits, or a default if unpublished."""
        return self.model.vocabulary or VOCABULARY

    @cached_property
    def last_norm(self) -> Weights:
        """The parameters of the final norm before the head, which does not belong to a layer."""
        in_layers = self.norm_parameters if self.layer_kinds else 0.0
        small = self.weights.small
        return replace(small, parameters=max(small.parameters - in_layers, 0.0))

    @property
    def norm_parameters(self) -> float:
        """The norms, biases and routers of the layers, which are used by every prompt token."""
        if not self.layer_kinds:
            return self.weights.small.parameters
        return sum(count * layer.weights.small.parameters for count, layer in self.layer_kinds)

    @cached_property
    def bytes(self) -> Kinds[float]:
        """The weights that steps read, by category and without caches, in bytes."""
        dense, small, head, _, experts, biases = (group.bytes for group in self.weights)
        return Kinds(dense, small + head, experts + biases, kv=0.0)

    @property
    def formats(self) -> Kinds[NumberFormat]:
        """The stored format of each category of operands."""
        weights, cache = self.weights, number_format(self.kv_format, cache=True)
        return Kinds(weights.dense.format, weights.head.format, weights.experts.format, cache)

    @property
    def total_parameters(self) -> float:
        """The number of parameters of the text model."""
        return sum(group.parameters for group in self.weights)

    @cached_property
    def stored_experts(self) -> float:
        """The routed experts stored per layer, including redundant copies."""
        ffns = [block.ffn for block in self.model.blocks]
        copies = [ffn.redundant_experts for ffn in ffns if isinstance(ffn, MixtureOfExperts)]
        return self.experts + max(copies, default=0)

    @property
    def active_share(self) -> float:
        """The fraction of routed experts used by each token."""
        return self.active_experts / self.experts if self.experts else 0.0

    @property
    def active_parameters(self) -> float:
        """The parameters used by each token, including the embedding but no other tables."""
        experts = self.weights.experts.parameters + self.weights.expert_biases.parameters
        unused = experts * (1.0 - self.active_share) + _looked_up(self.model)
        return self.total_parameters - unused

    @property
    def multiplied_parameters(self) -> float:
        """The parameters multiplied for each token, without the input embedding (a lookup)."""
        embedding = self.weights.embedding.parameters - _looked_up(self.model)
        return self.active_parameters - embedding

    @property
    def weight_bytes(self) -> float:
        """The size of all weights, in bytes."""
        return sum(group.bytes for group in self.weights)

    @property
    def flops_per_token(self) -> float:
        """The FLOPs of matrix products per token, without attention scores."""
        return float(counting.linear_flops(parameters=self.multiplied_parameters))

    @property
    def state_bytes(self) -> float:
        """The recurrent state kept for each sequence, regardless of its length, in bytes."""
        recurrent = self.state_elements - self.convolution_elements
        return recurrent * _STATE_BYTES + self.convolution_elements * _16_BIT

    def cache_bytes(self, tokens: ArrayLike, *, ranks: ArrayLike = 1.0) -> Array:
        """Compute the cache size of one sequence on one of ``ranks`` tensor-parallel ranks. [byte]

        ranks : The size of the tensor-parallel group, which divides heads but copies latents.
        """
        windows = [group.window for group in self.caches]
        return self.cache_of(_attended(windows, tokens, 0.0), ranks)

    def cache_read_bytes(self, tokens: ArrayLike, *, spread: ArrayLike = 0.0) -> Array:
        """Compute the cache bytes read per decode step, which sparse attention reduces, in bytes.

        spread : The half-width of the range of contexts around the mean.
        """
        return self.cache_of(self.attended(tokens, spread))

    def attended(self, context: ArrayLike, spread: ArrayLike) -> list[Array]:
        """Count the tokens that a new token attends to in each cache group."""
        return _attended([group.attended for group in self.caches], context, spread)

    def cache_of(self, tokens: Sequence[Array], ranks: ArrayLike = 1.0) -> Array:
        """Compute the cache size of a sequence from its tokens in each cache group, in bytes."""
        total: Array = self.state_bytes / np.asarray(ranks)
        for group, count in zip(self.caches, tokens, strict=True):
            layer = cache_bytes_per_layer(
                elements=group.elements, tokens=count, bytes_per_element=self.element_bytes(group)
            )
            total = total + group.layers * layer / np.minimum(ranks, group.shards)
        return total

    def element_bytes(self, group: CacheGroup) -> float:
        """Return the bytes per element of a cache group."""
        return group.element_bytes or number_format(self.kv_format, cache=True).cache_bytes

    @property
    def cache_bytes_per_token(self) -> float:
        """The cache size per token, before any window is full, in bytes."""
        return sum(
            group.layers * group.elements * self.element_bytes(group) for group in self.caches
        )

    def attention_flops(
        self, context: ArrayLike, *, spread: ArrayLike = 0.0, prompt: bool = False
    ) -> ArrayLike:
        """Compute the attention FLOPs of one new token at a given context.

        context : The mean number of tokens before it.
        spread : The half-width of the range of contexts around the mean.
        prompt : Whether the token is a prompt token. For latent attention, prefill uses the cheaper
            of two forms: expanded into heads over all tokens, or absorbed over the selected tokens.
        """
        picked = self.attended(context, spread)
        if not prompt:
            return self.decode_flops_of(picked)
        in_window = _attended([group.window for group in self.caches], context, spread)
        total: ArrayLike = 0.0
        for group, picked_tokens, window_tokens in zip(self.caches, picked, in_window, strict=True):
            flops = np.minimum(
                group.decode_flops * picked_tokens, group.prefill_flops * window_tokens
            )
            total = total + group.layers * flops
        return total

    def decode_flops_of(self, picked: Sequence[Array]) -> ArrayLike:
        """Compute the attention FLOPs of a new token from the tokens that it attends to. [FLOP]"""
        total: ArrayLike = 0.0
        for group, tokens in zip(self.caches, picked, strict=True):
            total = total + group.layers * (group.decode_flops * tokens)
        return total

    def head_flops_of(self, picked: Sequence[Array]) -> ArrayLike:
        """Compute the FLOPs of one query head of latent attention per new token."""
        total: ArrayLike = 0.0
        for group, tokens in zip(self.caches, picked, strict=True):
            if group.latent_heads:
                total = total + group.layers * group.decode_flops / group.latent_heads * tokens
        return total


def _attended(limits: Sequence[float], context: ArrayLike, spread: ArrayLike) -> list[Array]:
    """Count the tokens attended to under each limit. Equal limits are computed once."""
    by_limit = {
        limit: attended_tokens(context=context, spread=spread, window=limit)
        for limit in dict.fromkeys(limits)
    }
    return [by_limit[limit] for limit in limits]


def workload(model: Model, weights: str | None = None, kv: str | None = None) -> Workload:
    """Build the workload of a model in given weight and cache formats.

    weights : The number formats of the matrices in the syntax of ``--weights``; by default the
        model's own.
    kv : The number format of the cache; by default the model's own.
    """
    return _count(model, weights, kv)


@once
def _count(model: Model, weights: str | None, kv: str | None) -> Workload:
    kv_format = number_format(kv or model.kv_format, cache=True).id
    is_latent = any(isinstance(block.attention, LatentAttention) for block in model.blocks)
    if kv_format in CACHES and not is_latent:
        raise InputError(f"{option('kv', kv_format)} holds latents, which {model.id} does not have")
    formats = formats_asked(model, weights)
    if model.is_minimal:
        counted = _minimal(model, formats.base, kv_format)
    else:
        widths = (
            block.ffn.width for block in model.blocks if isinstance(block.ffn, MixtureOfExperts)
        )
        stored = formats.with_odd_experts() if any(width % K_BLOCK for width in widths) else formats
        counted = _whole(model, stored, kv_format)
    name = formats.text if weights and "=" in weights else weights or model.format_name
    return replace(counted, weight_format=name)


def formats_asked(model: Model, weights: str | None) -> WeightFormats:
    """Choose the format of each weight group, preserving the formats of mixed checkpoints.

    weights : The format in the syntax of ``--weights``, or None for the model's own.
    """
    if weights is None or weights in (model.format_name, published_base(model)):
        return model.own_formats
    formats = weight_formats(weights, model.own_formats)
    if "=" in weights:
        if model.is_minimal:
            raise InputError(
                f"{model.id} publishes no shape, so its matrices have one format: "
                f"'{shown(weights)}' names groups of them"
            )
        routed = [block.ffn for block in model.blocks if isinstance(block.ffn, MixtureOfExperts)]
        absent = {
            "experts": not routed,
            "shared_experts": not any(experts.shared_width for experts in routed),
        }
        for group, is_absent in absent.items():
            if is_absent and re.search(rf"(^|[+,]){group}=", weights):
                raise InputError(f"'{shown(weights)}': {model.id} has no {group}")
    return formats


def published_base(model: Model) -> str | None:
    """Choose the quantized format by which a mixed checkpoint is known, or None if there is none.

    A checkpoint in several quantized formats is named after the format of most of its matrices.
    For example, nobody publishes DeepSeek V4 in FP8 alone. A mix with 16-bit matrices may be
    published as such.
    """
    formats = model.own_formats
    return formats.base.id if formats.groups and formats.base.bits < 16 else None


def _minimal(model: Model, matrices: NumberFormat, kv_format: str) -> Workload:
    assert model.total_parameters and model.layers and model.kv_bytes_per_token
    total = model.total_parameters.si
    active = model.active_parameters.si if model.active_parameters else total
    fraction = active / total
    if model.experts and model.active_experts:
        fraction = model.active_experts / model.experts
    # P = D + R and A = D + R k/E; without k and E, no parameter is known to be shared: D = 0.
    routed = (total - active) / (1.0 - fraction) if fraction < 1.0 else 0.0
    routed = min(routed, total)
    elements = model.kv_bytes_per_token.si / number_format(model.kv_format, cache=True).cache_bytes
    none = Weights(0.0, matrices)
    return Workload(
        model=model,
        weight_format=matrices.id,
        kv_format=kv_format,
        weights=WeightsByPart(
            dense=Weights(total - routed, matrices),
            small=none,
            head=none,
            embedding=none,
            experts=Weights(routed, matrices),
            expert_biases=none,
        ),
        experts=float(model.experts or (total / active if routed else 0.0)),
        active_experts=float(model.active_experts or (1.0 if routed else 0.0)),
        expert_layers=float(model.layers) if routed else 0.0,
        latent_layers=0.0,
        layers=float(model.layers),
        depth=float(model.layers),
        hidden=float(model.hidden_size) if model.hidden_size else None,
        expert_width=inf,
        caches=(CacheGroup(float(model.layers), elements / model.layers, inf, inf, 0.0, 0.0),),
        state_elements=0.0,
        convolution_elements=0.0,
        prompt_traffic=0.0,
        largest_layer_bytes=total * matrices.bytes / model.layers,
        copied=none,
    )


def _looked_up(model: Model) -> float:
    """Count the parameters of other lookup tables, of which a token reads only a few rows."""
    tables = (model.lookup_parameters, model.ngram_parameters)
    return sum(table.si for table in tables if table)


def _whole(model: Model, formats: WeightFormats, kv_format: str) -> Workload:
    assert model.hidden_size and model.vocabulary
    table = float(model.hidden_size) * model.vocabulary
    small = model.hidden_size * (1.0 + model.norm_bias) + model.other_parameters
    runs = [(block.count, block, count_layer(block, model)) for block in model.blocks]
    layers = _layers(model, runs, formats, kv_format)
    in_layers = layers.weights.small
    one_of_each = [
        _layers(model, [(1, block, layer)], formats, kv_format) for _, block, layer in runs
    ]
    return replace(
        layers,
        weights=layers.weights._replace(
            small=replace(in_layers, parameters=in_layers.parameters + small),
            head=Weights(table, formats.of("head")),
            embedding=Weights(
                _looked_up(model) + (0.0 if model.tied_embeddings else table),
                formats.of("embedding"),
            ),
        ),
        layer_kinds=tuple(
            (float(block.count), layer)
            for block, layer in zip(model.blocks, one_of_each, strict=True)
        ),
    )


def _layers(
    model: Model,
    runs: Sequence[tuple[int, Block, LayerCount]],
    formats: WeightFormats,
    kv_format: str,
) -> Workload:
    """Build the workload of a subset of a model's layers, without head and embedding.

    runs : How often each type of layer occurs, the type, and the parameters of one layer.
    """
    assert model.hidden_size
    feed_forward = [(count, block.ffn) for count, block, _ in runs]
    experts = [(count, ffn) for count, ffn in feed_forward if isinstance(ffn, MixtureOfExperts)]
    first = experts[0][1] if experts else None
    total = sum((layer.times(count) for count, _, layer in runs), LayerCount())
    none, at_16 = Weights(0.0, formats.base), FORMATS["bf16"]
    latent = [count for count, block, _ in runs if isinstance(block.attention, LatentAttention)]
    return Workload(
        model=model,
        weight_format=formats.text,
        kv_format=kv_format,
        weights=WeightsByPart(
            dense=Weights(total.dense, _dense_format(total, formats)),
            small=Weights(total.small, at_16),
            head=none,
            embedding=none,
            experts=Weights(total.experts, formats.of("experts")),
            expert_biases=Weights(total.expert_biases, at_16),
        ),
        experts=float(first.experts) if first else 0.0,
        active_experts=float(first.active_experts) if first else 0.0,
        expert_layers=float(sum(count for count, _ in experts)),
        latent_layers=float(sum(latent)),
        layers=float(sum(count for count, *_ in runs)),
        depth=sum(count * block.parts / 2.0 for count, block, _ in runs),
        hidden=float(model.hidden_size),
        expert_width=float(first.width) if first else inf,
        caches=tuple(
            replace(group, layers=float(count))
            for count, _, layer in runs
            for group in layer.caches
        ),
        state_elements=total.state,
        convolution_elements=total.convolution,
        prompt_traffic=total.prompt_traffic,
        largest_layer_bytes=max(_layer_bytes(layer, formats) for *_, layer in runs),
        copied=Weights(total.copied, formats.of("attention")),
        absorbed_bytes=total.absorbed * _16_BIT,
    )


def _dense_format(layer: LayerCount, formats: WeightFormats) -> NumberFormat:
    groups = {name: formats.of(name) for name in ("attention", "ffn", "shared_experts")}
    if len(set(groups.values())) == 1:
        return groups["attention"]
    amounts = (layer.attention, layer.ffn, layer.shared_experts)
    return mixed_format(zip(groups.values(), amounts, strict=True))


def _layer_bytes(layer: LayerCount, formats: WeightFormats) -> float:
    return (
        layer.dense * _dense_format(layer, formats).bytes
        + layer.experts * formats.of("experts").bytes
        + (layer.small + layer.expert_biases) * _16_BIT
    )


def checkpoint_parameters(model: Model) -> float:
    """Count the parameters of text model, prediction layers and vision tower."""
    return workload(model).total_parameters + sum(outside_core(model).values())


def checkpoint_bytes(model: Model) -> float:
    """Compute the size of a published checkpoint with towers and prediction layers, in bytes."""
    outside, formats = outside_core(model), model.own_formats
    return workload(model).weight_bytes + sum(
        parameters * formats.of(group).bytes for group, parameters in outside.items()
    )


@once
def outside_core(model: Model) -> dict[str, float]:
    """Count a checkpoint's parameters outside the text model, by weight group.

    A multi-token-prediction layer consists of a model layer, a projection from two hidden states to
    one, and three norms; some checkpoints also store copies of the embedding and head in it.
    """
    outside = {"vision": model.vision_parameters.si if model.vision_parameters else 0.0}
    if model.mtp is None or model.hidden_size is None or model.vocabulary is None:
        return outside
    mtp, last, hidden = model.mtp, model.blocks[-1], float(model.hidden_size)
    extra = last.model_copy(
        update={"attention": mtp.attention or last.attention, "ffn": mtp.ffn or last.ffn}
    )
    layer = count_layer(extra, model).parameters + 2 * hidden**2 + 3 * hidden
    table = hidden * model.vocabulary
    return outside | {
        "mtp": mtp.layers * layer,
        "head": mtp.layers * mtp.own_head * table,
        "embedding": mtp.layers * mtp.own_embedding * table,
    }
