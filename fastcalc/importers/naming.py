"""Conversion of other programs' names for chips, models and formats into catalogue ids.

Names are accepted only if they are unambiguous. llama.cpp prints the type of a file in words
(``llama_model_ftype_name`` in its ``src/llama-model-loader.cpp``).
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath

from fastcalc.catalogue.kinds import Kind
from fastcalc.catalogue.names import files_in
from fastcalc.catalogue.reader import read
from fastcalc.catalogue.store import Catalogue
from fastcalc.catalogue.weight_formats import weight_name
from fastcalc.errors import InputError
from fastcalc.importers.setup import LAYOUT, ranks_in


class NameLookup:
    """Caches the results of `chip_id` and `model_id` for one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.chip = cache(lambda text: chip_id(text, catalogue))
        self.model = cache(lambda text: model_id(text, catalogue))
        self.owners = cache(catalogue.owners)
        self.ranks = ranks_in(catalogue)
        self.id = cache(self._id)

    def _id(self, kind: Kind, text: str) -> str | None:
        """Return the id that a driver's or a hub's name means; None for files and unknown names."""
        entry = self.owners(kind)(text)
        if entry or kind == "engines" or os.path.exists(text):
            return entry
        return self.model(text) if kind == "models" else self.chip(text)


@dataclass
class Options:
    """Settings given by the user, which complete those found in records.

    used : The options that a record needed.
    contradicted : Values in a record that contradict options.
    """

    texts: Mapping[str, str]
    names: NameLookup
    used: set[str] = field(default_factory=set)
    contradicted: dict[str, str] = field(default_factory=dict)

    def left_by(self, stated: Mapping[str, str | None]) -> dict[str, str]:
        """Return the options needed to complete the machine and model given by a record.

        An option that is not a catalogue name, such as a file, replaces the record's value.
        """
        left = dict[str, str]()
        is_laid_out = any(stated.get(name) for name in LAYOUT)
        for name, text in self.texts.items():
            value, ours = stated.get(name), self._id(name, text)
            if value and ours and ours != self._id(name, value):
                self.contradicted.setdefault(name, value)
            elif not (name in LAYOUT and is_laid_out):
                left[name] = (ours if name in _KINDS else None) or text
        self.used |= left.keys()
        return left

    def _id(self, name: str, text: str) -> str | None:
        kind = _KINDS.get(name)
        return self.names.id(kind, text) if kind else text.lower()


_KINDS: dict[str, Kind] = {"hardware": "hardware", "model": "models", "engine": "engines"}
"""The kinds of catalogue entries that options name."""

_NOISE = {
    "nvidia", "amd", "intel", "geforce", "gpu", "graphics", "generation", "edition",
    "workstation", "tm", "r", "hbm2", "hbm2e", "hbm3", "hbm3e", "with", "w",
}  # fmt: skip
_VARIANT = re.compile(r"\d+(?:gb)?|cores?|gcd|die|dies|one|both|of|a|pair")


def chip_id(text: str, catalogue: Catalogue) -> str | None:
    """Return the id of the only chip that matches a driver's name, or None.

    The name must contain all words of the chip's id, name or an alias, and no others. Drivers do
    not distinguish chips that differ only in cores, memory or dies, so such names match no chip.
    Cards with memory added by a workshop match only if the name includes the memory size.

    >>> chip_id("NVIDIA H100 80GB HBM3", Catalogue())
    'h100-sxm'
    >>> chip_id("NVIDIA GeForce RTX 4090 Laptop GPU", Catalogue())
    """
    if text in catalogue.names("hardware"):
        return text
    words = _words(text)
    chips: dict[str, list[frozenset[str]]] = {}
    for path in (path for folder in catalogue.folders("hardware") for path in files_in(folder)):
        try:
            data = read(path).mapping()
        except InputError:
            continue  # an invalid file has no names
        aliases = data.get("aliases")
        labels = [path.stem, data.get("name"), *(aliases if isinstance(aliases, list) else [])]
        chips.setdefault(path.stem, [_words(str(label)) for label in labels if label])
    matches = [
        name
        for name, labels in chips.items()
        if any(label <= words for label in labels) and words <= frozenset().union(*labels)
    ]
    alike = [
        name
        for name, labels in chips.items()
        if name not in matches
        and not any("modified" in label for label in labels)
        and any(
            label > words and all(_VARIANT.fullmatch(word) for word in label - words)
            for label in labels
        )
    ]
    return matches[0] if len(matches) == 1 and not alike else None


def _words(text: str) -> frozenset[str]:
    """Split a name into the words that distinguish products.

    >>> sorted(_words("NVIDIA A100-SXM4-80GB")), sorted(_words("NVIDIA A100 SXM 80 GB"))
    (['80gb', 'a100', 'sxm'], ['80gb', 'a100', 'sxm'])
    """
    plain = re.sub(r"\b(\d+)\s*gb?\b", r"\1gb", text.lower().replace("(tm)", " "))
    plain = re.sub(r"\bsxm\d\b", "sxm", plain)
    return frozenset(re.findall(r"[a-z0-9+.]+", plain)) - _NOISE


_TUNED = re.compile(r"-(?:instruct|chat|it|hf|base|reasoning|gguf)(?=-|$)")
_STORED = re.compile(
    r"[-_.](?:bf16|fp16|fp8|fp4|nvfp4|nvfp4a16|mxfp4|w-mxfp4-a-fp8|int4|int8|awq|gptq|w\da\d+|g\d+"
    r"|dynamic|block|quantized|quantized\.\w+|autoround|unsloth|bnb|[2-8]bit|gs\d+|dwq|mlx|kv|qat"
    r"|exl[23]|mtp|text|\d(?:\.\d+)?bpw)(?:-v\d|-preview)?$"
)
_PLAIN = re.compile(r"[\w.: -]{1,100}", re.ASCII)
_VERSION = re.compile(r"-(?:v\d(?:[._]\d)?|1m|\d{4})$")
_GGUF = re.compile(
    r"(?:[-_.]\d{5}-of-\d{5})?[-.]gguf$|[-_.](?:ud-)?(?:(?:iq|tq|q)\d\w*|bf16|f16|f32|mxfp4(?:_moe)?)$"
)
_GGUF_TYPE = re.compile(
    r"[-_.]((?:ud-)?(?:iq|tq|q)\d_\w+|bf16|f16|f32|mxfp4)(?:[-_.]\d{5}-of-\d{5})?[-.]gguf$"
    r"|[-_.]((?:ud-)?(?:iq|tq|q)\d_\w+)$"
)

_TAGGED = re.compile(r"[\w.-]+/[\w.-]+:([\w.-]+)")
_CACHED = re.compile(r"(?:^|/)models--([^/]+?)--([^/]+)")


def repository(text: str) -> str:
    """Extract a repository (owner/name) from a model name, or from a Hugging Face cache path.

    A format after a colon, which llama.cpp accepts, is removed.

    >>> repository("/data/models--openai--gpt-oss-120b/snapshots/b5c939d/")
    'openai/gpt-oss-120b'
    >>> repository("unsloth/Qwen3-32B-GGUF:UD-Q4_K_XL")
    'unsloth/Qwen3-32B-GGUF'
    """
    plain = text.replace("\\", "/")
    cached = _CACHED.search(plain)
    name = f"{cached[1]}/{cached[2]}" if cached else plain.rstrip("/")
    return name.rpartition(":")[0] if tagged_format(name) else name


def tagged_format(text: str) -> str | None:
    """Return the weight format after the colon of a repository name, as in llama.cpp, or None.

    >>> tagged_format("unsloth/Qwen3-32B-GGUF:UD-Q4_K_XL"), tagged_format("org/name:latest")
    ('ud-q4_k_xl', None)
    """
    match = _TAGGED.fullmatch(text)
    try:
        return weight_name(match[1]) if match else None
    except InputError:
        return None


def model_id(text: str, catalogue: Catalogue) -> str | None:
    """Return the id of the model after which a repository, a folder or a GGUF file is named.

    >>> model_id("meta-llama/Llama-3.1-8B-Instruct", Catalogue())
    'llama-3.1-8b'
    >>> model_id("models/Qwen2.5-7B-Instruct-Q4_K_M.gguf", Catalogue())
    'qwen2.5-7b'
    >>> model_id("models/7B/ggml-model-q4_0.gguf", Catalogue())
    """
    for name in model_names(text):
        if name.endswith((".yaml", ".yml", ".json")) or not _PLAIN.fullmatch(name):
            continue
        if catalogue.knows(name, "models"):
            return catalogue.model(name).id
    return None


def model_names(text: str) -> list[str]:
    """List what a repository, a folder or a GGUF file may call its model, the fullest name first.

    >>> model_names("Qwen/Qwen3-8B-FP8")
    ['qwen3-8b-fp8', 'qwen3-8b', 'qwen3-8b', 'qwen3-8b']
    """
    shorter = _without_format(text)
    untuned = _TUNED.sub("", shorter[-1])
    return [*shorter, untuned, _VERSION.sub("", untuned)]


def _without_format(text: str) -> list[str]:
    """List a name, followed by versions with fewer and fewer words about the weight format."""
    last = PurePosixPath(repository(text)).name.lower()
    last = _GGUF.sub("", _GGUF.sub("", last))
    last = last.removeprefix("meta-") if last.startswith("meta-llama-3.") else last
    shorter = [last]
    while (last := _STORED.sub("", last)) != shorter[-1]:
        shorter.append(last)
    return shorter


def is_quantized_copy(text: str, repositories: Iterable[str]) -> bool:
    """Check whether a name differs from any of the repositories only in the weight format.

    >>> is_quantized_copy("Qwen/Qwen3-32B-FP8", ["Qwen/Qwen3-32B"])
    True
    >>> is_quantized_copy("mine/Qwen3-32B-128K", ["Qwen/Qwen3-32B"])
    False
    """
    originals = {_without_format(name)[-1] for name in repositories}
    return _without_format(text)[-1] in originals


_STORED_AS = {
    "fp8": "fp8", "nvfp4": "nvfp4", "fp4": "nvfp4", "mxfp4": "mxfp4", "bf16": "bf16",
    "fp16": "fp16", "awq": "awq-int4-g128", "nvfp4a16": "nvfp4",
}  # fmt: skip
_OF_MLX = re.compile(r"(?:^mlx-community/.*|-mlx)-([2-8])bit(?:-gs(32|128))?(?:-dwq)?(?:-v\d)?$")
_SAID_TOGETHER = (
    ({"gptq", "int4"}, "gptq-int4-g128"),
    ({"gptq", "int8"}, "int8-g128-zp"),
    ({"bnb", "4bit"}, "int4-double"),
    ({"autoround", "int4"}, "int4-g128"),
    ({"w4a16"}, "int4-g128"),
    ({"w8a8"}, "int8-w8a8"),
    ({"w8a16"}, "int8"),
    ({"mxfp4", "fp8"}, "mxfp4"),  # weights and activations
)
"""Words in names and the weight formats they imply, by the defaults of llm-compressor, AutoGPTQ,
AutoRound and bitsandbytes."""
_USUAL = (
    ({"nvfp4", "fp8"}, "nvfp4+attention=fp8"),
    ({"gptq"}, "gptq-int4-g128"),
    ({"int4"}, "int4-g128"),
    ({"4bit"}, "int4-g128"),
    ({"int8"}, "int8"),
    ({"8bit"}, "int8"),
)
"""Ambiguous words, with the format used by most checkpoints."""
_ALL_BUT_QKV = "nvfp4+attention=62.77%nvfp4/37.23%bf16+mtp=bf16"
"""The format of checkpoints in which only the output projection of latent attention is nvfp4."""
_CHECKPOINTS = {
    # From their configurations.
    "nvidia/gemma-4-31b-it-nvfp4": "nvfp4+attention=bf16",
    "nvidia/deepseek-v3.1-nvfp4": _ALL_BUT_QKV,
    # Their cards: the second version "additionally quantizes the wo module in attention layers"
    # (huggingface.co/nvidia/DeepSeek-R1-0528-NVFP4-v2), of which all are 16 bits in the first
    # (NVIDIA/Model-Optimizer#150).
    **{
        f"nvidia/deepseek-r1{release}-{name}{version}": stored
        for version, stored in {"": "nvfp4+attention=bf16+mtp=bf16", "-v2": _ALL_BUT_QKV}.items()
        for release in ("", "-0528")
        for name in ("fp4", "nvfp4")
    },
    # Attention and all of the first and last of 126 layers are not quantized (arXiv:2407.21783,
    # section 6.2); vLLM 0.5.3 loaded 57.75 GiB on each of eight (vllm-project/vllm#6746).
    **{
        f"meta-llama/{name}llama-3.1-405b{tuned}-fp8": "fp8+attention=bf16+ffn=98.41%fp8/1.59%bf16"
        for name in ("", "meta-")
        for tuned in ("", "-instruct")
    },
    # Their cards: Base and Reasoning in BF16, Instruct in FP8.
    **{
        f"{owner}ministral-3-{size}-{tuned}-2512": "bf16"
        for owner in ("", "mistralai/")
        for size in ("3b", "8b", "14b")
        for tuned in ("base", "reasoning")
    },
    # huggingface.co/levara/Devstral-Small-2-24B-TextOnly-FP8: "Native FP8 weights".
    "mistralai/devstral-small-2-24b-instruct-2512": "fp8",
    # Networks and head in NVFP4, attention in FP8: AGENTS.md of r0b0tlab's
    # qwen36-35b-a3b-nvfp4-sm121-vllm; vLLM loaded 19.78 GiB of the first.
    "nvidia/qwen3.6-27b-nvfp4": "nvfp4+attention=fp8+head=nvfp4",
    "nvidia/qwen3.6-35b-a3b-nvfp4": "nvfp4+attention=fp8+head=nvfp4",
    # vLLM recipes, pull request 831: vLLM loaded 24.04 GiB.
    "inferact/qwen3.8-27b-nvfp4": "nvfp4+attention=59%bf16/41%nvfp4",
}
"""Checkpoints stored in more formats than their names say."""
_BPW = re.compile(r"-(exl[23])[-_](\d(?:\.\d+)?bpw)")
_UNCLEAR = re.compile(r"exl[23]|gptq|int[48]|w\da\d+|autoround|quantized|bnb|[2-8]bit|\d\.?\d*bpw")


def checkpoint_format(text: str) -> str | None:
    """Return the weight format in a repository's name, or None if it is ambiguous.

    >>> checkpoint_format("Qwen/Qwen3-32B-FP8"), checkpoint_format("Qwen/Qwen3-32B")
    ('fp8', '')
    >>> checkpoint_format("qwen3:32b-q8_0"), checkpoint_format("RedHatAI/Qwen3-32B-quantized.w4a16")
    ('q8_0', 'int4-g128')
    """
    if tag := tagged_format(text) or _CHECKPOINTS.get(repository(text).lower()):
        return tag
    last = repository(text).rsplit("/", 1)[-1].lower()
    if file_type := _GGUF_TYPE.search(last):
        with suppress(InputError):
            name = file_type[1] or file_type[2]
            return weight_name(_FILE_TYPES.get(name, name))
    if per_weight := _BPW.search(last):
        return weight_name("-".join(per_weight.groups()))
    tokens = re.split(r"[-_.]", last)
    formats = {_STORED_AS[token] for token in tokens if token in _STORED_AS}
    if of_mlx := _OF_MLX.search(repository(text).lower()):
        return f"mlx-{of_mlx[1]}bit{f'-g{of_mlx[2]}' if of_mlx[2] else ''}"
    if len(formats) != 1 and (meant := _first_said(_SAID_TOGETHER, tokens)):
        formats = {meant}
    if len(formats) > 1 or (not formats and any(_UNCLEAR.fullmatch(token) for token in tokens)):
        return None
    return formats.pop() if formats else ""


def usual_format(text: str) -> str | None:
    """Return the most common weight format for an ambiguous name, if there is one.

    >>> usual_format("poolside/Laguna-S-2.1-INT4"), usual_format("turboderp/Qwen3-32B-exl3")
    ('int4-g128', None)
    """
    return _first_said(_USUAL, re.split(r"[-_.]", repository(text).lower()))


def _first_said(meanings: Iterable[tuple[set[str], str]], words: Iterable[str]) -> str | None:
    said = set(words)
    return next((stored for needed, stored in meanings if needed <= said), None)


_FP8_CACHE = re.compile(r"^nvidia/.*-(?:(?:nv)?fp4|fp8)(?:-v\d)?$|-fp8-kv$")


def checkpoint_cache(text: str) -> str | None:
    """Return the cache format declared by a checkpoint with this name, or None.

    NVIDIA's 4-bit and 8-bit checkpoints declare ``"kv_cache_quant_algo": "FP8"`` in their
    hf_quant_config.json, which vLLM (since its pull request 29980), SGLang and TensorRT-LLM use;
    AMD's names contain ``-FP8-KV``.

    >>> checkpoint_cache("nvidia/DeepSeek-R1-0528-FP4"), checkpoint_cache("Qwen/Qwen3-32B-FP8")
    ('fp8', None)
    >>> checkpoint_cache("nvidia/Llama-3.1-8B-Instruct-FP8")
    'fp8'
    """
    return "fp8" if _FP8_CACHE.search(repository(text).lower()) else None


_FILE_TYPE = re.compile(
    r"(?:^|\s)(?:mostly )?"
    r"(all F32|BF16|F16|MXFP4 MoE|(?:IQ|TQ|Q)\d\w*(?: - (?:Medium|Small|Large))?)"
    r"(?: - [\d.]+ bpw.*)?(?: \(guessed\))?$"
)
_FILE_TYPES = {
    "all f32": "fp32",
    "f32": "fp32",
    "f16": "fp16",
    "q2_k_m": "q2_k",
    # gpt-oss files have routed experts in mxfp4 and all other weights in q8_0.
    "mxfp4": "mxfp4-experts-q8_0",
    "mxfp4 moe": "mxfp4-experts-q8_0",
}


def gguf_format(text: str) -> str | None:
    """Return the number format at the end of a model type, or of a cache type, in llama.cpp.

    >>> gguf_format("qwen2 7B Q4_K - Medium"), gguf_format("llama 8B F16"), gguf_format("q8_0")
    ('q4_k_m', 'fp16', 'q8_0')
    """
    match = _FILE_TYPE.search(text)
    name = (match[1] if match else text).lower()
    for size in ("medium", "small", "large"):
        name = name.replace(f" - {size}", f"_{size[0]}")
    name = _FILE_TYPES.get(name, name)
    return name if match or re.fullmatch(r"fp32|fp16|bf16|q\d_\d", name) else None
