"""Families with softmax attention and a feed-forward network in every layer."""

from fastcalc.importers.huggingface import parts, patterns
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import Layer, Part, choose, mixed, uniform


def llama(fields: Fields) -> list[Layer]:
    """Read Llama 2 and 3, and the many families that share their code."""
    attention = parts.grouped(fields, bias=fields.flag("attention_bias", False))
    return uniform(fields, attention, parts.dense(fields, bias=parts.flagged(fields, "mlp_bias")))


def mistral(fields: Fields) -> list[Layer]:
    """Read Mistral, Phi 3 and 4, with no biases. The window, if any, applies to every layer."""
    return uniform(fields, parts.grouped(fields, window=parts.window(fields)), parts.dense(fields))


def qwen3(fields: Fields) -> list[Layer]:
    """Read Qwen 3, with no biases by default, norms on queries and keys."""
    return qwen(fields, qk_norm=True, bias=fields.flag("attention_bias", False))


def mimo(fields: Fields) -> list[Layer]:
    """Read MiMo 7B: Qwen 2 with a prediction layer."""
    return qwen(fields, qkv_bias=fields.flag("attention_bias", True))


def qwen(fields: Fields, **habits: bool) -> list[Layer]:
    """Read the layers of Qwen: sliding windows from a certain layer on, and experts if any."""
    late = patterns.late_windows(fields, fields.layers())
    full = parts.grouped(fields, **habits)
    short = parts.grouped(fields, window=parts.window(fields), **habits) if any(late) else full
    return mixed(choose(late, short, full), qwen_networks(fields))


def qwen_networks(fields: Fields) -> list[Part]:
    """Read the feed-forward networks of Qwen: dense, or experts with a gated shared expert."""
    if not fields.has(*parts.EXPERTS):
        if fields.has("moe_intermediate_size", "num_experts_per_tok"):
            raise fields.refuse("num_experts is missing, though experts are described")
        return [parts.dense(fields)] * fields.layers()
    wide = fields.maybe("shared_expert_intermediate_size", minimum=0) or 0
    return patterns.networks(fields, parts.experts(fields, shared=wide, shared_gate=wide > 0))


def glm(fields: Fields) -> list[Layer]:
    """Read GLM-4 of 2024, with biases on queries, keys and values."""
    attention = parts.grouped(fields, qkv_bias=fields.flag("attention_bias", True))
    return uniform(fields, attention, parts.dense(fields))


def glm4(fields: Fields) -> list[Layer]:
    """Read GLM-4 of 2025: as in 2024, with additional norms after attention and network."""
    return [{**layer, "norms": 4} for layer in glm(fields)]


def seed_oss(fields: Fields) -> list[Layer]:
    """Read Seed-OSS, with separate biases for the inputs and the output."""
    bias, after = fields.flag("attention_bias", True), fields.flag("attention_out_bias", False)
    attention = parts.grouped(fields, qkv_bias=bias, output_bias=after)
    return uniform(fields, attention, parts.dense(fields))


def ernie(fields: Fields) -> list[Layer]:
    """Read Ernie 4.5: a single flag for all biases."""
    bias = fields.flag("use_bias", False)
    return uniform(fields, parts.grouped(fields, bias=bias), parts.dense(fields, bias=bias))


def head_norms(fields: Fields) -> list[Layer]:
    """Read Hunyuan dense and EXAONE 4: norms on every query and key head, and windows if any."""
    return windowed(fields, 4, qk_norm=True, bias=parts.flagged(fields, "attention_bias"))


def olmo(fields: Fields) -> list[Layer]:
    """Read OLMo 2 and 3, with one norm over all query heads, and one over all key heads."""
    return windowed(fields, 4, qk_norm="full", bias=parts.flagged(fields, "attention_bias"))


def cohere(fields: Fields) -> list[Layer]:
    """Read Command R, with attention and network in parallel after a single norm."""
    bias = parts.flagged(fields, "attention_bias")
    is_normed = "full" if parts.flagged(fields, "use_qk_norm") else False
    return windowed(fields, 4, norms=1, qk_norm=is_normed, bias=bias)


def windowed(
    fields: Fields, every: int, norms: int = 0, *, qk_norm: bool | str = False, bias: bool = False
) -> list[Layer]:
    """Build windowed layers except for one in ``every``, with ``norms`` per layer if not 0."""
    count, window = fields.layers(), parts.window(fields)
    full = parts.grouped(fields, qk_norm=qk_norm, bias=bias)
    short = parts.grouped(fields, window=window, qk_norm=qk_norm, bias=bias)
    switched = patterns.windowed(fields, count, every=every) if window else [False] * count
    return mixed(choose(switched, short, full), [parts.dense(fields)] * count, norms)


def falcon(fields: Fields) -> list[Layer]:
    """Read Falcon, with two matrices per network.

    There are one, eight or all KV heads, depending on the generation.
    """
    heads = fields.count("num_attention_heads")
    is_new = fields.flag("new_decoder_architecture", False)
    if is_new:
        kv_heads = fields.count("num_kv_heads", default=heads)
    else:
        kv_heads = 1 if fields.flag("multi_query", True) else heads
    if not fields.has("tie_word_embeddings"):
        fields.remark("Falcon checkpoints store a head, but the code ties it to the embedding.")
    bias = fields.flag("bias", False)
    attention = parts.grouped(fields, kv_heads=kv_heads, bias=bias)
    wide = fields.maybe("ffn_hidden_size") or 4 * fields.count("hidden_size")
    is_parallel = is_new or fields.flag("parallel_attn", True)
    norms = fields.count("num_ln_in_parallel_attn", default=2) if is_new else 2 - is_parallel
    return uniform(fields, attention, parts.dense_of(wide, matrices=2, bias=bias), norms=norms)


def nemotron(fields: Fields) -> list[Layer]:
    """Read Nemotron 4 and Minitron, with two matrices with a squared ReLU between them."""
    attention = parts.grouped(fields, bias=parts.flagged(fields, "attention_bias"))
    network = parts.dense(fields, matrices=2, bias=parts.flagged(fields, "mlp_bias"))
    return uniform(fields, attention, network)


def starcoder2(fields: Fields) -> list[Layer]:
    """Read StarCoder 2: two matrices per network, all biases, and windows in every layer if any."""
    bias = fields.flag("use_bias", True)
    attention = parts.grouped(fields, window=parts.window(fields), bias=bias)
    return uniform(fields, attention, parts.dense(fields, matrices=2, bias=bias))


def bitnet(fields: Fields) -> list[Layer]:
    """Read BitNet, with ternary weights, and norms before the outputs of attention and network."""
    inner = fields.count("hidden_size") + fields.count("intermediate_size")
    return [{**layer, "other_parameters": inner} for layer in llama(fields)]


def muse_glimmer(fields: Fields) -> list[Layer]:
    """Read Muse Glimmer: Muse's attention with dense networks."""
    attentions = gated(fields)
    return mixed(attentions, [parts.dense(fields)] * len(attentions), norms=4)


def gated(fields: Fields) -> list[Part]:
    """Build Muse's attention: gated outputs, and full layers counted from the last layer."""
    count = fields.layers()
    full = parts.grouped(fields, output_gate=True)
    short = parts.grouped(fields, window=parts.window(fields), output_gate=True)
    late = [(count - 1 - layer) % 4 != 0 for layer in range(count)]
    is_said = fields.has("layer_types")
    return choose(patterns.windowed(fields, count) if is_said else late, short, full)
