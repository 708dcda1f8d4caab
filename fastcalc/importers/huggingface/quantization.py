"""How weights are stored: ``quantization_config`` and ``torch_dtype`` to number formats.

A model file knows two formats, one for routed experts and one for every other matrix; what cannot
be said so is noted.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.parts import flagged
from fastcalc.mentions import option
from fastcalc.written import Json, shown

_DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
    "half": "fp16",
    "float": "fp32",
}
_ALGORITHMS = {
    **dict.fromkeys(("FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "MXFP8"), "fp8"),
    **dict.fromkeys(("NVFP4", "NVFP4_AWQ", "W4A16_NVFP4", "W4A8_NVFP4_FP8"), "nvfp4"),
    **dict.fromkeys(("MXFP4", "W4A8_MXFP4_FP8"), "mxfp4"),
    **dict.fromkeys(("W4A16_AWQ", "W4A8_AWQ"), "awq-int4-g128"),
    **dict.fromkeys(("W8A16", "W8A8_SQ_PER_CHANNEL"), "int8"),
    "W4A16": "int4",
}
_METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "modelopt_fp4": "nvfp4", "mxfp4": "mxfp4"}
_ATTENTION = ("self_attn", "attn", "attention", "linear_attn")


@dataclass
class Formats:
    """The formats of all matrices, of routed experts where they differ, and of the cache."""

    weights: str
    experts: str | None = None
    cache: str = "bf16"


def formats(fields: Fields, *, has_experts: bool) -> Formats:
    """Return the formats that a configuration with its ``quantization_config`` states."""
    word = fields.word("torch_dtype") or fields.word("dtype")
    if word is None:
        fields.assume("torch_dtype", "bfloat16")
    dtype = _DTYPES.get(("bfloat16" if word is None else word).lower().removeprefix("torch."))
    if dtype is None:
        fields.remark(f"torch_dtype '{shown(word)}' is not known here; bf16 is assumed.")
    plain = dtype or "bf16"
    config = fields.mapping("quantization_config")
    if not config:
        return Formats(plain)
    stored = _quantized(fields.inside(config, "quantization_config"), fields, plain)
    if not has_experts and stored.experts is not None:
        if stored.weights == plain:
            fields.remark(
                f"Only a part of the matrices is {stored.experts} in this checkpoint; all are "
                "counted so, because a dense model file holds one format."
            )
            stored.weights = stored.experts
        stored.experts = None
    if stored.experts == stored.weights:
        stored.experts = None
    scheme = config.get("kv_cache_scheme") or config.get("kv_cache_quant_algo")
    if isinstance(scheme, dict):
        is_8_bit = scheme.get("num_bits") == 8 and scheme.get("type") == "float"
    else:
        is_8_bit = str(scheme).upper() == "FP8"
    stored.cache = "fp8" if is_8_bit else "bf16"
    return stored


def quoted(data: dict[str, Json], stored: Formats) -> dict[str, Json]:
    """Return what a configuration prints of each format that is not of 16 bits.

    >>> quoted({"quantization_config": {"quant_method": "fp8"}}, Formats("fp8"))
    {'weight_format': 'quant_method: fp8'}
    """
    config = data.get("quantization_config")
    inside = [*_scalars(config)] if isinstance(config, dict) else []
    words = [*_scalars({key: data.get(key) for key in ("expert_dtype", "torch_dtype", "dtype")})]
    text = shown(", ".join(dict.fromkeys([*inside, *words])), 300)
    names = (stored.weights, stored.experts, stored.cache)
    keys = zip(("weight_format", "expert_format", "kv_format"), names, strict=True)
    narrow = [key for key, name in keys if name not in (None, "bf16", "fp16")]
    return dict.fromkeys(narrow, text) if text else {}


_TELLING = {
    "quant_method", "quant_algo", "kv_cache_quant_algo", "format", "num_bits", "bits", "w_bit",
    "load_in_4bit", "load_in_8bit", "dtype", "expert_dtype", "torch_dtype",
}  # fmt: skip


def _scalars(data: Json) -> Iterator[str]:
    """Yield 'key: value' of everything in a mapping that tells how numbers are stored."""
    for key, value in data.items() if isinstance(data, dict) else ():
        is_scalar = isinstance(value, (str, int)) and value is not False
        if key in _TELLING and is_scalar:
            yield f"{key}: {value}"
        for inner in value if isinstance(value, list) else [value]:
            yield from _scalars(inner)


def _quantized(config: Fields, fields: Fields, plain: str) -> Formats:
    method = (config.word("quant_method") or "").lower()
    algorithm = (config.word("quant_algo") or "").upper()
    layers = config.data.get("quantized_layers")
    if isinstance(layers, dict) and layers:
        return _by_layer(layers, plain, fields)
    if algorithm in _ALGORITHMS:
        stored: str | None = _ALGORITHMS[algorithm]
    elif isinstance(config.data.get("config_groups"), dict):
        stored = _from_groups(config)
    else:
        stored = _from_method(config, method)
    if stored is None:
        fields.remark(
            f"The quantization '{shown(method or algorithm or 'without a name')}' is not known "
            f"here: the weights are counted as {plain}; {option('weights')} says otherwise."
        )
        return Formats(plain)
    if method == "bitsandbytes":
        fields.remark("bitsandbytes blocks are counted as int4 (4.5 bits) or int8.")
    if method == "mxfp4" or _leaves_attention(config, fields):
        return Formats(plain, stored)
    if fields.word("expert_dtype") == "fp4":
        return Formats(stored, "mxfp4")
    return Formats(stored)


def _from_bits(config: Fields, at_four: str) -> str | None:
    bits = config.maybe("bits", "w_bit", "num_bits")
    group = config.data.get("group_size", config.data.get("q_group_size"))
    if bits == 4:
        return "int4-g32" if group == 32 else at_four
    return "int8" if bits == 8 else None


def _from_groups(config: Fields) -> str | None:
    counts = Counter[str]()
    for name, rule in (config.mapping("config_groups") or {}).items():
        data = rule.get("weights") if isinstance(rule, dict) else None
        if not isinstance(rule, dict) or not isinstance(data, dict):
            continue
        weights = config.inside(data, "config_groups", name, "weights")
        bits, group = weights.maybe("num_bits"), data.get("group_size")
        if weights.word("type") != "float":
            stored = _from_bits(weights, "gptq-int4-g128")
        elif bits == 4:
            style = str(rule.get("format") or config.data.get("format"))
            stored = "mxfp4" if style.startswith("mxfp4") or group == 32 else "nvfp4"
        else:
            stored = "fp8" if bits == 8 else None
        if stored:
            counts[stored] += 1
    return _most(counts, "") or None


def _from_method(config: Fields, method: str) -> str | None:
    if method in _METHODS:
        return _METHODS[method]
    if method == "bitsandbytes":
        if flagged(config, "load_in_4bit"):
            return "int4"
        return "int8" if flagged(config, "load_in_8bit") else None
    if method == "quark":
        weight = (config.mapping("global_quant_config") or {}).get("weight")
        first = weight[0] if isinstance(weight, list) and weight else weight
        kind = str(first.get("dtype")).lower() if isinstance(first, dict) else ""
        formats = {"fp4": "mxfp4", "int8": "int8", "int4": "gptq-int4-g128"}
        return "fp8" if kind.startswith("fp8") else formats.get(kind)
    return _from_bits(config, "awq-int4-g128" if method == "awq" else "gptq-int4-g128")


def _by_layer(layers: dict[str, Json], plain: str, fields: Fields) -> Formats:
    """Return the formats that most experts and most other matrices, networks first, share."""
    experts, networks, outside = Counter[str](), Counter[str](), Counter[str]()
    for name, rule in layers.items():
        algorithm = rule.get("quant_algo") if isinstance(rule, dict) else None
        stored = _ALGORITHMS.get(str(algorithm).upper())
        if stored and "lm_head" not in name:
            is_network = ".mlp." in name or ".ffn." in name
            group = experts if ".experts" in name else networks if is_network else outside
            group[stored] += 1
    unrouted = networks + outside if experts else networks or outside
    mixed = Formats(_most(unrouted, plain), _most(experts, "") or None)
    if len(experts) > 1 or len(networks + outside) > 1:
        fields.remark(
            f"The checkpoint mixes formats matrix by matrix; {mixed.experts or mixed.weights} is "
            f"counted for {'all experts' if mixed.experts else 'all'}."
        )
    if not unrouted and fields.nested("quantization_config").word("quant_method") == "fp8":
        mixed.weights = "fp8"
    return mixed


def _most(counts: Counter[str], otherwise: str) -> str:
    return counts.most_common(1)[0][0] if counts else otherwise


def _leaves_attention(config: Fields, fields: Fields) -> bool:
    layers = fields.data.get("num_hidden_layers")
    half = layers / 2 if isinstance(layers, int) else 1
    numbers: set[str] = set()
    names = ("ignore", "modules_to_not_convert", "exclude_modules", "exclude")
    lists = (config.data.get(name) for name in names)
    patterns = [pattern for listed in lists if isinstance(listed, list) for pattern in listed]
    for pattern in (text[:200] for text in patterns if isinstance(text, str)):
        parts = [part for part in re.split(r"[.*\\:]+", pattern.removeprefix("re:")) if part]
        if parts and parts[-1] in _ATTENTION:
            digits = [part for part in parts if part.isdecimal()]
            if not digits:
                return True
            numbers.add(digits[0])
    return bool(numbers) and len(numbers) >= half
