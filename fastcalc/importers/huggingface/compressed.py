"""DeepSeek V4: all heads share one vector as key and value, and old tokens are compressed."""

from fastcalc.importers.huggingface import parts
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import Layer, Part, mixed

_RATES = {
    "sliding_attention": 0,
    "compressed_sparse_attention": 4,
    "heavily_compressed_attention": 128,
}

_PICKED = 4  # compression ratio with an indexer; with other ratios, all entries are read


def deepseek_v4(fields: Fields) -> list[Layer]:
    """Read DeepSeek V4: sliding windows, with entries that compress 4 or 128 older tokens each."""
    count = fields.layers()
    rates = fields.numbers("compress_ratios", count)
    if rates is None:
        fields.require(("compress_ratios", "layer_types"))
        layer_types = fields.words("layer_types", count) or []
        unknown = sorted(set(layer_types) - set(_RATES))
        if unknown:
            raise fields.refuse(f"layer_types holds the unsupported type '{unknown[0][:40]}'")
        rates = [_RATES[layer_type] for layer_type in layer_types]
    plain: Part = {
        "kind": "compressed",
        "heads": fields.count("num_attention_heads"),
        "head_dim": fields.count("head_dim"),
        "q_rank": fields.count("q_lora_rank"),
        "output_groups": fields.count("o_groups"),
        "output_rank": fields.count("o_lora_rank"),
        "window": fields.count("sliding_window"),
    }
    picked = {"indexer": parts.indexer(fields)} if _PICKED in rates else {}
    attentions = [
        {**plain, **parts.given({"compression": rate}), **(picked if rate == _PICKED else {})}
        for rate in rates
    ]
    experts = parts.experts(fields, shared=parts.shared_width(fields), router_bias=True)
    return mixed(attentions, [experts] * count)


def streams(fields: Fields) -> dict[str, int]:
    """Return the number of residual streams of hyper-connections."""
    return {"residual_streams": fields.count("hc_mult", default=4)}


def merged_streams(fields: Fields) -> dict[str, int]:
    """Count the residual streams, and the parameters that merge them before the head."""
    block = streams(fields)
    number, hidden = block["residual_streams"], fields.count("hidden_size")
    fields.remark("other_parameters merges the residual streams before the head.")
    return {**block, "other_parameters": number * number * hidden + number + 1}
