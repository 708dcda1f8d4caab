"""Number formats of weight groups, from ``quantization_config`` and ``torch_dtype``.

The `rules` of a quantization name modules and their format. Each matrix of the model gets the
format of the first rule that names it; a group with matrices in several formats gets a mix.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from fastcalc.catalogue.formats import FORMATS, NumberFormat, mixed_format, number_format
from fastcalc.catalogue.schema import Block
from fastcalc.catalogue.weight_formats import QUANTIZED, WeightFormats
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.matrices import Matrix, ModulePatterns, matrices_of
from fastcalc.importers.huggingface.parts import Layer, flagged
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
    **dict.fromkeys(("FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "FP8_PB_REAL"), "fp8"),
    **dict.fromkeys(("NVFP4", "NVFP4_AWQ", "W4A16_NVFP4", "W4A8_NVFP4_FP8"), "nvfp4"),
    **dict.fromkeys(("MXFP4", "W4A8_MXFP4_FP8"), "mxfp4"),
    **dict.fromkeys(("W4A16_AWQ", "W4A8_AWQ"), "int4-g128"),
    "W8A8_SQ_PER_CHANNEL": "int8-w8a8",
    "W8A16": "int8",
    "W4A16": "int4",
    "MXFP8": "mxfp8",
}
_METHODS = {
    **dict.fromkeys(("fp8", "fbgemm_fp8", "deepseek_fp8", "ptpc_fp8", "fine_grained_fp8"), "fp8"),
    **dict.fromkeys(("modelopt_fp4", "nvfp4"), "nvfp4"),
    **dict.fromkeys(("mxfp4", "gpt_oss_mxfp4"), "mxfp4"),
    "mxfp8": "mxfp8",
    "bitnet": "bitnet",
}
_CACHES = {"FLOAT8": "fp8", "FP8": "fp8", "FLOAT4": "nvfp4", "NVFP4": "nvfp4"}
_LEFT_ALONE = (
    *("ignore", "ignored_layers", "modules_to_not_convert", "exclude_modules", "exclude"),
    *("llm_int8_skip_modules", "skip_modules", "modules_not_to_quantize"),
)
_HEAD = ("lm_head", "model.lm_head", "output")
_EMBEDDING = ("model.embed_tokens", "embed_tokens", "model.language_model.embed_tokens")


@dataclass(frozen=True)
class FormatRule:
    """Modules that share a number format. None means unquantized."""

    modules: ModulePatterns
    stored: str | None


@dataclass
class Formats:
    """The formats of a checkpoint, by group of matrices.

    experts : The format of routed experts, or None if it is the format of most matrices.
    block_side : The side of square fp8 blocks that share a scale, or 0 without blocks.
    """

    weights: str
    experts: str | None = None
    cache: str = "bf16"
    groups: dict[str, str] = field(default_factory=dict)
    block_side: int = 0


@dataclass
class Scheme:
    """The quantization of a checkpoint.

    rules : The rules by module, of which the first that names a module applies.
    others : The format of modules that no rule names, or None if unquantized.
    experts : The format of routed experts that no rule names, if it is different.
    takes_head : Whether the output head is quantized like other modules.
    """

    rules: list[FormatRule]
    others: str | None
    experts: str | None = None
    takes_head: bool = False

    def amounts(self, matrix: Matrix, plain: str) -> Iterator[tuple[NumberFormat, float]]:
        """Yield the parameters of a matrix in each format."""
        left = 1.0
        for rule in self.rules:
            if left and (fraction := left * rule.modules.share(matrix)):
                yield number_format(rule.stored or plain), fraction * matrix.parameters
                left -= fraction
        unnamed_format = self.experts if matrix.experts and self.experts else self.others
        yield number_format(unnamed_format or plain), left * matrix.parameters


def formats(fields: Fields, layers: Sequence[Layer], predicting: int = 0) -> Formats:
    """Read the formats in a configuration and its ``quantization_config``.

    predicting : The layers for multi-token prediction.
    """
    word = fields.word("torch_dtype") or fields.word("dtype")
    if word is None:
        fields.assume("torch_dtype", "bfloat16")
    dtype = _DTYPES.get(("bfloat16" if word is None else word).lower().removeprefix("torch."))
    if dtype is None:
        fields.remark(f"torch_dtype '{shown(word)}' is unknown; bf16 is assumed.")
    plain = dtype or "bf16"
    config = fields.mapping("quantization_config")
    if not config:
        return Formats(plain)
    inside = fields.inside(config, "quantization_config")
    if of_mlx := _of_mlx(inside):
        return Formats(of_mlx)
    networks = (layer.get("ffn") for layer in layers)
    has_experts = any(isinstance(ffn, dict) and ffn["kind"] == "moe" for ffn in networks)
    scheme = _scheme(inside, fields, plain, has_experts=has_experts)
    for pattern in (name for rule in scheme.rules for name in rule.modules.unread):
        fields.remark(f"'{shown(pattern)}' of quantization_config is too complex: not read.")
    stored = as_formats(*_counted(scheme, fields, layers, plain, predicting))
    cache = config.get("kv_cache_scheme") or config.get("kv_cache_quant_algo")
    if isinstance(cache, dict):
        cache = f"{cache.get('type')}{cache.get('num_bits')}"
    stored.cache = _CACHES.get(str(cache).upper(), "bf16")
    sides = config.get("weight_block_size")
    if isinstance(sides, list) and all(isinstance(side, int) and side > 0 for side in sides):
        stored.block_side = max((side for side in sides if isinstance(side, int)), default=0)
    return stored


def _of_mlx(config: Fields) -> str | None:
    """Read the format used by MLX, which also quantizes embedding and head and names no method."""
    bits, group = config.data.get("bits"), config.data.get("group_size")
    is_named = config.data.keys() & {"quant_method", "quant_algo", "config_groups", "version"}
    if is_named or bits not in range(2, 9) or group not in (32, 64, 128):
        return None
    mode = config.word("mode") or "affine"
    if mode != "affine":
        return mode if mode in FORMATS else None
    return f"mlx-{bits}bit" if group == 64 else f"mlx-{bits}bit-g{group}"


def _counted(
    scheme: Scheme, fields: Fields, layers: Sequence[Layer], plain: str, predicting: int
) -> tuple[dict[str, NumberFormat], dict[str, float]]:
    """Determine the format of each group of matrices, and its parameters."""
    try:
        blocks = [Block.model_validate({"count": 1, **layer}) for layer in layers]
    except ValidationError:  # reported when the whole model is validated
        return {"ffn": number_format(scheme.others or plain)}, {"ffn": 1.0}
    text = str(fields.data["quantization_config"])
    stored: dict[str, dict[NumberFormat, float]] = defaultdict(lambda: defaultdict(float))
    hidden = fields.count("hidden_size")
    is_beside = str(fields.data.get("model_type")).startswith("gemma4")
    for matrix in matrices_of(
        blocks, hidden, text.__contains__, predicting, are_experts_beside=is_beside
    ):
        for weight_format, amount in scheme.amounts(matrix, plain):
            stored[matrix.group][weight_format] += amount
    formats_of = {group: mixed_format(amounts.items()) for group, amounts in stored.items()}
    sizes = {group: sum(amounts.values()) for group, amounts in stored.items()}
    for group, names in (("head", _HEAD), ("embedding", _EMBEDDING)):
        rule = next((rule for rule in scheme.rules if rule.modules.names(*names)), None)
        unnamed_format = scheme.others if group == "head" and scheme.takes_head else None
        formats_of[group] = number_format((rule.stored if rule else unnamed_format) or plain)
    return formats_of, sizes


def as_formats(stored: dict[str, NumberFormat], sizes: dict[str, float]) -> Formats:
    """Express the formats of groups of matrices with as few exceptions as possible.

    sizes : The parameters in each group.
    """
    dense = {group: sizes.get(group, 0.0) for group in QUANTIZED if group not in ("experts", "mtp")}
    by_format: dict[NumberFormat, float] = defaultdict(float)
    for group, size in dense.items():
        for stored_format, fraction in stored[group].shares if size else ():
            by_format[stored_format] += size * fraction

    def exceptions(base: NumberFormat) -> dict[str, NumberFormat]:
        usual = WeightFormats(base)
        groups = usual.with_groups(stored.items()).groups
        # The two 16-bit formats count as the same here.
        return {
            name: stored_format
            for name, stored_format in groups
            if (stored_format.bits, usual.of(name).bits) != (16, 16)
        }

    # The format with the fewest exceptions; in a tie, the one with the most parameters.
    base = min(
        by_format,
        key=lambda stored_format: (len(exceptions(stored_format)), -by_format[stored_format]),
        default=None,
    )
    if base is None:
        return Formats("bf16")
    groups = exceptions(base)
    routed = groups.get("experts")
    experts = groups.pop("experts").id if routed and not routed.mix else None
    return Formats(
        base.id, experts, groups={name: stored_format.id for name, stored_format in groups.items()}
    )


def quoted(data: dict[str, Json], stored: Formats) -> dict[str, Json]:
    """Quote the text in a configuration behind each format other than 16 bits.

    >>> quoted({"quantization_config": {"quant_method": "fp8"}}, Formats("fp8"))
    {'weight_format': 'quant_method: fp8'}
    """
    outside = {key: data.get(key) for key in ("expert_dtype", "torch_dtype", "dtype")}
    words = [*_scalars(data.get("quantization_config")), *_scalars(outside)]
    text = shown(", ".join(dict.fromkeys(words)), 300)
    names = (stored.weights, stored.experts, stored.cache)
    keys = zip(("weight_format", "expert_format", "kv_format"), names, strict=True)
    narrow = [key for key, name in keys if name not in (None, "bf16", "fp16")]
    return dict.fromkeys(narrow, text) if text else {}


_TELLING = {
    "quant_method", "quant_algo", "kv_cache_quant_algo", "format", "num_bits", "bits", "w_bit",
    "load_in_4bit", "load_in_8bit", "dtype", "expert_dtype", "torch_dtype",
}  # fmt: skip


def _scalars(data: Json) -> Iterator[str]:
    """Yield 'key: value' for all entries in a mapping that describe number formats."""
    for key, value in data.items() if isinstance(data, dict) else ():
        is_scalar = isinstance(value, (str, int)) and value is not False
        if key in _TELLING and is_scalar:
            yield f"{key}: {value}"
        for inner in value if isinstance(value, list) else [value]:
            yield from _scalars(inner)


def _scheme(config: Fields, fields: Fields, plain: str, *, has_experts: bool) -> Scheme:
    method = (config.word("quant_method") or "").lower()
    algorithm = (config.word("quant_algo") or "").upper()
    left_alone = (text for name in _LEFT_ALONE for text in _texts(config.data.get(name)))
    rules = [FormatRule(ModulePatterns(left_alone), None)]
    layers = config.data.get("quantized_layers")
    if isinstance(layers, dict) and layers:
        return Scheme([*rules, *_by_layer(layers)], "fp8" if method == "fp8" else None)
    if algorithm not in _ALGORITHMS and isinstance(config.data.get("config_groups"), dict):
        # Compressed tensors: groups of modules by name, or all linear modules.
        scheme, ignored = Scheme(rules, None), config.data.get("ignore")
        for name, rule in (config.mapping("config_groups") or {}).items():
            data = rule.get("weights") if isinstance(rule, dict) else None
            if not isinstance(rule, dict) or not isinstance(data, dict):
                continue
            inner = config.inside(data, "config_groups", name, "weights")
            stored = _of_group(inner, rule, config)
            targets = _texts(rule.get("targets")) or ["Linear"]
            classes = [target for target in targets if target in _CLASSES]
            if stored and len(classes) < len(targets):
                scheme.rules.append(FormatRule(ModulePatterns(set(targets) - set(classes)), stored))
            if stored and classes:
                scheme.others = stored
                scheme.takes_head = isinstance(ignored, list) and bool(ignored)
        return scheme
    stored = _ALGORITHMS.get(algorithm) or _from_method(config, method)
    if stored is None:
        fields.remark(
            f"The quantization '{shown(method or algorithm or 'without a name')}' is unknown: the "
            f"weights are counted as {plain}; {option('weights')} sets another format."
        )
        return Scheme([], None)
    rules += _exceptions(config, method)
    if method == "mxfp4" and has_experts:
        return Scheme(rules, None, experts=stored)
    experts = "mxfp4" if fields.word("expert_dtype") == "fp4" else None
    return Scheme(rules, stored, experts)


def _texts(listed: Json) -> list[str]:
    members = listed if isinstance(listed, list) else [listed]
    return [text for text in members if isinstance(text, str)]


def _by_layer(layers: dict[str, Json]) -> Iterator[FormatRule]:
    names: dict[str, list[str]] = defaultdict(list)
    for name, rule in layers.items():
        algorithm = str(rule.get("quant_algo") if isinstance(rule, dict) else rule).upper()
        if stored := _ALGORITHMS.get(algorithm):
            names[stored].append(name)
    yield from (FormatRule(ModulePatterns(modules), stored) for stored, modules in names.items())


_CLASSES = ("Linear", "FusedMoE", "FusedMoELinear")


def _of_group(weights: Fields, rule: dict[str, Json], config: Fields) -> str | None:
    bits, group = weights.maybe("num_bits"), weights.data.get("group_size")
    style = str(rule.get("format") or config.data.get("format"))
    if weights.word("type") == "float":
        if bits == 4:
            return "mxfp4" if style.startswith("mxfp4") or group == 32 else "nvfp4"
        return ("mxfp8" if group == 32 else "fp8") if bits == 8 else None
    inputs = rule.get("input_activations")
    if bits == 8 and isinstance(inputs, dict) and inputs.get("num_bits") == 8:
        return "int8-w8a8"
    return _from_bits(weights, "-zp" if weights.data.get("symmetric") is False else "")


def _from_bits(config: Fields, zeros: str = "-zp") -> str | None:
    """Choose an integer format by bits and group size; groups share a scale and maybe a zero."""
    bits = config.maybe("bits", "w_bit", "num_bits", "nbits", "weight_bits")
    group = config.data.get("group_size", config.data.get("q_group_size", 128))
    is_whole = isinstance(group, int) and not isinstance(group, bool) and 8 <= group <= 4096
    if bits not in range(2, 9) or (bits == 8 and not is_whole):
        return "int8" if bits == 8 else None
    return f"int{bits}-g{group if is_whole else 1024}{zeros if is_whole else ''}"


def _from_method(config: Fields, method: str) -> str | None:
    if method in _METHODS:
        return _METHODS[method]
    reader = _READERS.get(method)
    if reader is not None:
        return reader(config)
    return _from_bits(config)


def _of_bitsandbytes(config: Fields) -> str | None:
    if flagged(config, "load_in_4bit"):
        return "int4-double" if flagged(config, "bnb_4bit_use_double_quant") else "int4"
    return "int8" if flagged(config, "load_in_8bit") else None


def _quark_weight(weight: Json) -> str | None:
    first = weight[0] if isinstance(weight, list) and weight else weight
    word = str(first.get("dtype")).lower() if isinstance(first, dict) else ""
    formats_of = {"fp4": "mxfp4", "int8": "int8", "int4": "int4-g128", "uint4": "int4-g128-zp"}
    return "fp8" if word.startswith("fp8") else formats_of.get(word)


def _of_torchao(config: Fields) -> str | None:
    """Read the format used by torchao, which names a class such as Int4WeightOnlyConfig."""
    quant_type = config.data.get("quant_type")
    chosen = quant_type.get("default", quant_type) if isinstance(quant_type, dict) else quant_type
    word = str(chosen.get("_type") if isinstance(chosen, dict) else chosen).lower()
    data = chosen.get("_data") if isinstance(chosen, dict) else None
    group = data.get("group_size") if isinstance(data, dict) else None
    if "float8" in word or "fp8" in word:
        return "fp8"
    if "nvfp4" in word or "mxfp4" in word:
        return "nvfp4" if "nvfp4" in word else "mxfp4"
    if "int4" in word:
        return f"int4-g{group if group in (32, 64, 256) else 128}-zp"
    is_dynamic = "dynamicactivationint8weight" in word.replace("_", "")
    return ("int8-w8a8" if is_dynamic else "int8") if "int8" in word else None


def _of_hqq(config: Fields) -> str | None:
    nested = config.nested("quant_config")
    data = nested.mapping("weight_quant_params")
    return _from_bits(nested.inside(data, "weight_quant_params")) if data else None


def _of_exllama(config: Fields) -> str | None:
    name = f"{(config.word('quant_method') or '').lower()}-{config.number('bits'):g}bpw"
    return number_format(name).id


_READERS: dict[str, Callable[[Fields], str | None]] = {
    "bitsandbytes": _of_bitsandbytes,
    "quark": lambda config: _quark_weight(
        (config.mapping("global_quant_config") or {}).get("weight")
    ),
    "torchao": _of_torchao,
    "hqq": _of_hqq,
    "exl2": _of_exllama,
    "exl3": _of_exllama,
}


def _exceptions(config: Fields, method: str) -> Iterator[FormatRule]:
    """Yield modules in formats other than most, from the settings of each method."""
    if method in ("exl2", "exl3"):
        bits = config.maybe("head_bits", maximum=16)
        head = f"{method}-{bits}bpw" if bits and bits <= 8 else None
        yield FormatRule(ModulePatterns(_HEAD), head)
        yield FormatRule(ModulePatterns(_EMBEDDING), "fp16")
    if flagged(config, "lm_head") or flagged(config, "quant_lm_head"):
        yield FormatRule(ModulePatterns(_HEAD), _from_method(config, method))
    for name, rule in (config.mapping("dynamic") or {}).items():  # GPTQModel
        yield FormatRule(
            ModulePatterns([f"re:.*{name[2:]}"]), _override(rule, name.startswith("-"))
        )
    for name, rule in (config.mapping("extra_config") or {}).items():  # AutoRound
        modules = [name, f"re:{name}"] if set(name) & set("*\\(") else [name]
        yield FormatRule(ModulePatterns(modules), _override(rule, False))
    for name, rule in (config.mapping("layer_quant_config") or {}).items():  # Quark
        weight = rule.get("weight") if isinstance(rule, dict) else None
        yield FormatRule(ModulePatterns([name]), _quark_weight(weight))


def _override(rule: Json, is_left_alone: bool) -> str | None:
    data = rule if isinstance(rule, dict) else {}
    bits = data.get("bits")
    if is_left_alone or not isinstance(bits, int) or isinstance(bits, bool) or bits > 8:
        return None
    return f"int{max(bits, 2)}-g128-zp"
