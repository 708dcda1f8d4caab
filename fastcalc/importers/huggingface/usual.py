"""Layers read from the usual fields, which most configurations share."""

from functools import partial

from fastcalc.importers.huggingface import parts, patterns
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import Layer, choose, mixed

_UNGATED = ("gelu", "gelu_new", "gelu_fast", "quick_gelu", "relu", "relu2", "xielu")


def usual(
    fields: Fields,
    norms: int = 0,
    *,
    qk_norm: bool | str = False,
    output_gate: bool = False,
    router_bias: bool = False,
) -> list[Layer]:
    """Build layers from the usual fields: latent or grouped attention, and experts if any.

    norms : The norms per layer, if not one per component.
    qk_norm, output_gate : Whether the family's grouped attention always has them.
    router_bias : Whether the family's router has a bias.
    """
    count = fields.layers()
    bias = parts.flagged(fields, "attention_bias")
    switched = [False] * count
    if fields.has("kv_lora_rank"):
        full = short = parts.latent(fields)
    else:
        is_normed = any(parts.flagged(fields, name) for name in ("use_qk_norm", "qk_layernorm"))
        grouped = partial(
            parts.grouped,
            fields,
            qkv_bias=bias or parts.flagged(fields, "qkv_bias"),
            output_bias=bias,
            qk_norm=qk_norm or is_normed,
            output_gate=output_gate,
        )
        full = short = grouped()
        window = fields.maybe("sliding_window")
        if window and fields.data.get("use_sliding_window") is not False:
            short = grouped(window=window)
            is_said = fields.has("layer_types", "sliding_window_pattern")
            switched = patterns.windowed(fields, count) if is_said else [True] * count
    attentions = choose(switched, short, full)
    activation = fields.word("hidden_act")
    matrices = 2 if activation in _UNGATED else 3
    if matrices == 2:
        fields.remark(f"Two matrices per network, because the activation {activation} has no gate.")
    if not fields.has(*parts.EXPERTS):
        return mixed(attentions, [parts.dense(fields, matrices=matrices)] * count, norms)
    width = (*parts.EXPERT_WIDTH, "intermediate_size")
    shared = fields.maybe("shared_expert_intermediate_size", minimum=0) or 0
    if not shared and fields.has(*parts.EXPERT_WIDTH):
        shared = parts.shared_width(fields)
    experts = parts.experts(fields, width=width, shared=shared, router_bias=router_bias)
    if matrices == 2:
        experts["matrices"] = 2
    return mixed(attentions, patterns.networks(fields, experts), norms)
