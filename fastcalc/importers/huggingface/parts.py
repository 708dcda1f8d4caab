"""Components of a layer, with the keys of a model file, and layers built from them."""

from collections.abc import Callable

from fastcalc.importers.huggingface.config import Fields
from fastcalc.written import Json

Part = dict[str, Json]
Layer = dict[str, Json]  # ``attention``, ``ffn`` and ``norms`` of a block
Reader = Callable[[Fields], list[Layer]]

EXPERTS = ("n_routed_experts", "num_experts", "moe_num_experts", "num_local_experts")
PICKED = (
    *("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts"),
    *("moe_k", "moe_top_k", "moe_topk"),
)
EXPERT_WIDTH = ("moe_intermediate_size", "expert_intermediate_size")


def grouped(
    fields: Fields,
    *,
    window: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    **keys: Json,
) -> Part:
    """Build multi-head or grouped-query attention, optionally with a window.

    ``heads``, ``kv_heads`` and ``head_dim`` override those in the file. ``keys`` are additional
    keys of the component, such as ``qk_norm``; ``bias`` sets both ``qkv_bias`` and ``output_bias``.
    """
    if "bias" in keys:
        keys["qkv_bias"] = keys["output_bias"] = keys.pop("bias")
    heads = heads or fields.count("num_attention_heads")
    names = ("num_key_value_heads", "num_kv_heads", "num_attention_groups")
    kv_heads = kv_heads or fields.count(*names, default=heads)
    size = head_dim
    if not size and (fields.has("head_dim", "attention_head_dim") or "head_dim" in fields.defaults):
        size = fields.count("head_dim", "attention_head_dim")
    elif not size:
        hidden = fields.count("hidden_size")
        if hidden % heads:
            raise fields.refuse(
                f"head_dim is missing, and num_attention_heads {heads} does not divide "
                f"hidden_size {hidden}"
            )
        size = hidden // heads
        fields.assume("head_dim", f"{size} (hidden_size / num_attention_heads)")
    if heads % kv_heads:
        raise fields.refuse(f"num_key_value_heads {kv_heads} does not divide the {heads} heads")
    block: Part = {"kind": "mha" if kv_heads == heads else "gqa", "heads": heads}
    if kv_heads != heads:
        block["kv_heads"] = kv_heads
    block["head_dim"] = size
    limit = fields.maybe("max_position_embeddings")
    if window is not None and (limit is None or window < limit):
        block["window"] = window
    return block | given(keys)


def given(keys: Part) -> Part:
    """Remove keys whose value is the default."""
    return {key: value for key, value in keys.items() if value not in (None, False, 0)}


def latent(fields: Fields, **keys: Json) -> Part:
    """Build multi-head latent attention; ``head_dim`` does not apply and is not read."""
    fields.require("num_attention_heads", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim")
    return {
        "kind": "mla",
        "heads": fields.count("num_attention_heads"),
        **given({"q_rank": fields.maybe("q_lora_rank")}),
        "kv_rank": fields.count("kv_lora_rank"),
        "nope_dim": fields.count("qk_nope_head_dim"),
        "rope_dim": fields.count("qk_rope_head_dim", default=0, minimum=0),
        "value_dim": fields.count("v_head_dim"),
        **given(keys),
    }


def delta(fields: Fields) -> Part:
    """Build a gated DeltaNet layer."""
    return {
        "kind": "gated-deltanet",
        "key_heads": fields.count("linear_num_key_heads"),
        "value_heads": fields.count("linear_num_value_heads"),
        "key_dim": fields.count("linear_key_head_dim"),
        "value_dim": fields.count("linear_value_head_dim"),
        **kernel(fields.maybe("linear_conv_kernel_dim")),
    }


def kernel(size: int | None) -> Part:
    """Return the width of a convolution if it is not the usual 4."""
    return {} if size in (None, 4) else {"conv_kernel": size}


def indexer(fields: Fields) -> Part:
    """Build the indexer for sparse attention, empty if there is none."""
    if not fields.has("index_topk") and "index_topk" not in fields.defaults:
        return {}
    return {
        "heads": fields.count("index_n_heads"),
        "head_dim": fields.count("index_head_dim"),
        "top_k": fields.count("index_topk"),
    }


def block_indexer(fields: Fields, layers: int) -> tuple[list[bool], Part | None]:
    """Return which layers read only the highest-scoring token blocks, and build their indexer."""
    nested = fields.nested("sparse_attention_config")
    if nested.data and nested.flag("use_sparse_attention", True, noted=False):
        switched = nested.switches("sparse_attention_freq", layers) or [True] * layers
        keys = ["block_size", "num_index_heads", "index_dim", "topk_blocks"]
        source, names = nested, [f"sparse_{key}" for key in keys]
    elif fields.has("index_topk_blocks"):
        switched = [layer >= 3 for layer in range(layers)]
        source = fields
        names = ["index_block_size", "index_n_heads", "index_head_dim", "index_topk_blocks"]
    else:
        return [False] * layers, None
    size = source.count(names[0], default=128)
    heads, head_dim, top_k = (source.count(name) for name in names[1:])
    top_k *= size
    return switched, {"heads": heads, "head_dim": head_dim, "top_k": top_k, "head_weights": False}


def window(fields: Fields) -> int | None:
    """Return the window of a windowed layer in tokens, or None if there is none."""
    if "sliding_window" in fields.data:
        return fields.maybe("sliding_window")
    return fields.count("sliding_window") if "sliding_window" in fields.defaults else None


def flagged(fields: Fields, name: str) -> bool:
    """Read a flag that is false if absent, as in nearly every file."""
    return fields.flag(name, False, noted=False)


def dense(fields: Fields, *names: str, matrices: int = 3, bias: bool = False) -> Part:
    """Build a dense feed-forward network."""
    return dense_of(fields.count(*(names or ("intermediate_size",))), matrices, bias=bias)


def dense_of(width: int, matrices: int = 3, *, bias: bool = False) -> Part:
    """Build a dense feed-forward network of the given width."""
    keys = given({"matrices": matrices if matrices != 3 else None, "bias": bias})
    return {"kind": "dense", "width": width, **keys}


def experts(
    fields: Fields, *, width: tuple[str, ...] = EXPERT_WIDTH, shared: int = 0, **keys: Json
) -> Part:
    """Build routed experts whose width is in a field, and shared experts of a total width."""
    fields.require(EXPERTS, PICKED, width)
    count, active, size = fields.count(*EXPERTS), fields.count(*PICKED), fields.count(*width)
    if active > count:
        picked = f"{next(filter(fields.has, PICKED))}: {active} experts per token"
        raise fields.refuse(f"{picked} exceed the total of {count}")
    block: Part = {"kind": "moe", "experts": count, "active_experts": active, "width": size}
    return block | given({"shared_width": shared, **keys})


def shared_width(fields: Fields) -> int:
    """Compute the total width of the shared experts: their number times the width of one."""
    names = ("n_shared_experts", "num_shared_experts", "num_shared_expert")
    number = fields.maybe(*names, minimum=0)
    return number * fields.count(*EXPERT_WIDTH) if number else 0


def uniform(fields: Fields, attention: Part, ffn: Part, norms: int = 0) -> list[Layer]:
    """Build as many identical layers as the configuration specifies."""
    count = fields.layers()
    return mixed([attention] * count, [ffn] * count, norms)


def mixed(attentions: list[Part], networks: list[Part], norms: int = 0) -> list[Layer]:
    """Build layers with one attention and one network each, and ``norms`` if not 0."""
    pairs, counted = zip(attentions, networks, strict=True), given({"norms": norms})
    return [{"attention": attention, "ffn": ffn, **counted} for attention, ffn in pairs]


def choose(switched: list[bool], on: Part, off: Part) -> list[Part]:
    """Choose one of two components for each layer."""
    return [on if is_on else off for is_on in switched]
