"""The parts of a layer, in the words of a model file.

Each function reads the fields that a part needs and returns the mapping that stands under
``attention`` or ``ffn`` of a block.
"""

from typing import Any

from fastcalc.importers.huggingface.config import Fields

Part = dict[str, Any]

EXPERTS = ("n_routed_experts", "num_experts", "moe_num_experts", "num_local_experts")
PICKED = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "top_k_experts",
    "moe_k",
    "moe_top_k",
    "moe_topk",
)
EXPERT_WIDTH = ("moe_intermediate_size", "expert_intermediate_size")


def grouped(fields: Fields, *, window: int | None = None, **others: Any) -> Part:
    """Return multi-head or grouped-query attention.

    Parameters
    ----------
    fields : Fields
        With ``num_attention_heads``; ``num_key_value_heads`` and ``head_dim`` if they differ
        from the heads and from the hidden width divided by them.
    window : int, optional
        Tokens it looks back. [1]
    **others : Any
        Keys of the part that hold for the family, such as ``qkv_bias``; heads, kv_heads and
        head_dim replace what is read. False and None are left out.
    """
    heads = others.pop("heads", None) or fields.count("num_attention_heads")
    kv_heads = others.pop("kv_heads", None) or kv_heads_of(fields, heads)
    size = others.pop("head_dim", None) or head_dim_of(fields, heads)
    if heads % kv_heads:
        raise fields.refuse(f"num_key_value_heads {kv_heads} does not divide the {heads} heads")
    part: Part = {"kind": "mha" if kv_heads == heads else "gqa", "heads": heads}
    if kv_heads != heads:
        part["kv_heads"] = kv_heads
    part["head_dim"] = size
    limit = fields.maybe("max_position_embeddings")
    if window is not None and (limit is None or window < limit):
        part["window"] = window
    return part | {key: value for key, value in others.items() if value not in (None, False)}


def kv_heads_of(fields: Fields, heads: int) -> int:
    """Return the key-value heads, as many as heads where the field is left out. [1]"""
    return fields.count(
        "num_key_value_heads", "num_kv_heads", "num_attention_groups", default=heads
    )


def head_dim_of(fields: Fields, heads: int) -> int:
    """Return the width of a head, the hidden width over the heads where it is left out. [1]"""
    if fields.has("head_dim", "attention_head_dim") or "head_dim" in fields.defaults:
        return fields.count("head_dim", "attention_head_dim")
    hidden = fields.count("hidden_size")
    if hidden % heads:
        raise fields.refuse(
            f"head_dim is missing, and num_attention_heads {heads} does not divide "
            f"hidden_size {hidden}"
        )
    fields.assume("head_dim", f"{hidden // heads} (hidden_size / num_attention_heads)")
    return hidden // heads


def latent(fields: Fields, **others: Any) -> Part:
    """Return multi-head latent attention; ``head_dim`` means nothing there and is not read."""
    fields.require("num_attention_heads", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim")
    part: Part = {"kind": "mla", "heads": fields.count("num_attention_heads")}
    q_rank = fields.maybe("q_lora_rank")
    if q_rank is not None:
        part["q_rank"] = q_rank
    part |= {
        "kv_rank": fields.count("kv_lora_rank"),
        "nope_dim": fields.count("qk_nope_head_dim"),
        "rope_dim": fields.count("qk_rope_head_dim", default=0, least=0),
        "value_dim": fields.count("v_head_dim"),
    }
    return part | {key: value for key, value in others.items() if value not in (None, False)}


def delta(fields: Fields) -> Part:
    """Return a gated delta net."""
    part: Part = {
        "kind": "gated-deltanet",
        "key_heads": fields.count("linear_num_key_heads"),
        "value_heads": fields.count("linear_num_value_heads"),
        "key_dim": fields.count("linear_key_head_dim"),
        "value_dim": fields.count("linear_value_head_dim"),
    }
    kernel = fields.maybe("linear_conv_kernel_dim")
    return part | ({"conv_kernel": kernel} if kernel not in (None, 4) else {})


def indexer(fields: Fields) -> Part:
    """Return the indexer of sparse attention, empty where there is none."""
    if not fields.has("index_topk") and "index_topk" not in fields.defaults:
        return {}
    return {
        "heads": fields.count("index_n_heads"),
        "head_dim": fields.count("index_head_dim"),
        "top_k": fields.count("index_topk"),
    }


def block_indexer(fields: Fields, layers: int) -> tuple[list[bool], Part | None]:
    """Return which layers read the best blocks of tokens alone, and their indexer."""
    nested = fields.nested("sparse_attention_config")
    if nested.data and nested.flag("use_sparse_attention", True, noted=False):
        switched = nested.switches("sparse_attention_freq", layers) or [True] * layers
        size = nested.count("sparse_block_size", default=128)
        part = {
            "heads": nested.count("sparse_num_index_heads"),
            "head_dim": nested.count("sparse_index_dim"),
            "top_k": nested.count("sparse_topk_blocks") * size,
        }
    elif fields.has("index_topk_blocks"):
        switched = [layer >= 3 for layer in range(layers)]
        size = fields.count("index_block_size", default=128)
        part = {
            "heads": fields.count("index_n_heads"),
            "head_dim": fields.count("index_head_dim"),
            "top_k": fields.count("index_topk_blocks") * size,
        }
    else:
        return [False] * layers, None
    return switched, {**part, "head_weights": False}


def window(fields: Fields) -> int | None:
    """Return the tokens a windowed layer looks back; None where the field says none. [1]"""
    if "sliding_window" in fields.data:
        return fields.maybe("sliding_window")
    return fields.count("sliding_window") if "sliding_window" in fields.defaults else None


def flagged(fields: Fields, name: str) -> bool:
    """Return a flag that is false where it is left out, as nearly every file does."""
    return fields.flag(name, False, noted=False)


def dense(fields: Fields, *names: str, matrices: int = 3, bias: bool = False) -> Part:
    """Return a feed-forward network that every token passes."""
    return dense_of(fields.count(*(names or ("intermediate_size",))), matrices, bias=bias)


def dense_of(width: int, matrices: int = 3, *, bias: bool = False) -> Part:
    """Return a feed-forward network of a known width. [1]"""
    part: Part = {"kind": "dense", "width": width}
    if matrices != 3:
        part["matrices"] = matrices
    return part | ({"bias": True} if bias else {})


def experts(
    fields: Fields, *, width: tuple[str, ...] = EXPERT_WIDTH, shared: int = 0, **others: Any
) -> Part:
    """Return routed experts, and shared ones where there are.

    Parameters
    ----------
    fields : Fields
        With the number of experts, how many a token picks, and their width.
    width : tuple of str
        Names of the field that holds an expert's width.
    shared : int
        Width of all shared experts together. [1]
    **others : Any
        Further keys of the part; False, 0 and None are left out.
    """
    fields.require(EXPERTS, PICKED, width)
    part: Part = {
        "kind": "moe",
        "experts": fields.count(*EXPERTS),
        "active_experts": fields.count(*PICKED),
        "width": fields.count(*width),
    }
    if part["active_experts"] > part["experts"]:
        raise fields.refuse(
            f"{next(filter(fields.has, PICKED))}: {part['active_experts']} experts a token "
            f"exceed the {part['experts']} there are"
        )
    extra = {"shared_width": shared, **others}
    return part | {key: value for key, value in extra.items() if value not in (None, False, 0)}


def shared_width(fields: Fields) -> int:
    """Return the width of the shared experts together: a number of experts of one width. [1]"""
    number = fields.maybe("n_shared_experts", "num_shared_experts", least=0)
    if not number:
        return 0
    return number * fields.count(*EXPERT_WIDTH)
