"""Reader for the type of each layer, in the various notations of configurations."""

from fastcalc.importers.huggingface import parts
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import Part, choose, dense

_KNOWN_LAYERS = {
    *("attention", "full_attention", "global", "sliding_attention"),
    *("chunked_attention", "linear_attention"),
}
"""The supported values in ``layer_types``; unknown values are rejected rather than guessed."""

_SPARSE = {"sparse", "moe"}


def windowed(fields: Fields, layers: int, *, every: int | None = None) -> list[bool]:
    """Return which layers have sliding-window attention.

    By default, the last layer of each group of ``every`` layers has full attention.
    """
    layer_types = fields.words("layer_types", layers)
    if layer_types is not None:
        unknown = next(
            (layer_type for layer_type in layer_types if layer_type not in _KNOWN_LAYERS), None
        )
        if unknown is not None:
            description = "a layer type that fastcalc does not know"
            raise fields.refuse(f"layer_types holds '{unknown}', {description}")
        return [
            layer_type in ("sliding_attention", "chunked_attention") for layer_type in layer_types
        ]
    pattern = fields.data.get("sliding_window_pattern")
    if isinstance(pattern, str):
        if not pattern or set(pattern) - set("LG"):
            raise fields.refuse("sliding_window_pattern should be a number or letters L and G")
        return [pattern[layer % len(pattern)] == "L" for layer in range(layers)]
    step = fields.maybe("sliding_window_pattern", "_sliding_window_pattern")
    if step is None and every is not None:
        fields.assume("sliding_window_pattern", every)
        step = every
    if step is None:
        return [False] * layers
    return [(layer + 1) % step != 0 for layer in range(layers)]


def late_windows(fields: Fields, layers: int) -> list[bool]:
    """Return which layers are windowed if ``use_sliding_window`` enables windows."""
    if not fields.flag("use_sliding_window", False, noted=False):
        return [False] * layers
    if fields.has("layer_types"):
        return windowed(fields, layers)
    first = fields.count("max_window_layers", default=layers, minimum=0)
    return [layer >= first for layer in range(layers)]


def linear(fields: Fields, layers: int) -> list[bool]:
    """Return which layers keep a state instead of a cache."""
    layer_types = fields.words("layer_types", layers)
    if layer_types is not None:
        return [layer_type == "linear_attention" for layer_type in layer_types]
    step = fields.count("full_attention_interval", default=4)
    return [(layer + 1) % step != 0 for layer in range(layers)]


def routed(fields: Fields, layers: int, *, first_dense: int | None = None) -> list[bool]:
    """Return which layers route tokens to experts, by default all of them."""
    layer_types = fields.words("mlp_layer_types", layers)
    if layer_types is not None:
        return [layer_type in _SPARSE for layer_type in layer_types]
    if isinstance(fields.data.get("moe_layer_freq"), list):
        return fields.switches("moe_layer_freq", layers) or []
    if first_dense is not None:
        first = fields.count("first_k_dense_replace", default=first_dense, minimum=0)
    else:
        first = fields.maybe("first_k_dense_replace", minimum=0) or 0
    step = fields.maybe("moe_layer_freq", "decoder_sparse_step") or 1
    offset = 0 if fields.has("moe_layer_freq") or not fields.has("decoder_sparse_step") else 1
    named_dense = fields.indices("mlp_only_layers")
    return [
        layer >= first and (layer + offset) % step == 0 and layer not in named_dense
        for layer in range(layers)
    ]


def networks(fields: Fields, experts: Part, *, first_dense: int | None = None) -> list[Part]:
    """Choose experts or a dense network for each layer."""
    switched = routed(fields, fields.layers(), first_dense=first_dense)
    return choose(switched, experts, experts if all(switched) else dense(fields))


def shared_networks(
    fields: Fields,
    *,
    first_dense: int | None = None,
    router_bias: bool = True,
    latent_size: int | None = None,
) -> list[Part]:
    """For each layer, choose a dense network, or experts with shared experts and a router bias."""
    shared = parts.shared_width(fields)
    experts = parts.experts(fields, shared=shared, latent_size=latent_size, router_bias=router_bias)
    if first_dense is None:
        first_dense = fields.defaults.get("first_dense")
    return networks(fields, experts, first_dense=first_dense)


def shared_indexers(fields: Fields, layers: int) -> list[bool]:
    """Return which layers reuse the selection made by an earlier layer's indexer."""
    layer_types = fields.words("indexer_types", layers)
    if layer_types is not None:
        return [layer_type == "shared" for layer_type in layer_types]
    step = fields.maybe("index_topk_freq") or 1
    offset = fields.maybe("index_skip_topk_offset", minimum=0)
    late = 2 if offset is None else offset
    return [max(layer - late + 1, 0) % step != 0 for layer in range(layers)]
