"""The number format of each group of matrices in a model, and how users write it.

In a mixture named by size, such as q4_k_m, head and embedding have formats of their own, so the
bits of the layers are derived from the average over a file.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from fastcalc.catalogue.formats import FORMATS, OF_GGUF, NumberFormat, format_mix
from fastcalc.errors import InputError
from fastcalc.written import did_you_mean, shown

IN_FILES = {row["name"]: (row["head"], row["embedding"]) for row in OF_GGUF if row["head"]}
"""The formats of head and embedding in a mixture's files (llama.cpp, src/llama-quant.cpp).

A tied embedding table has the head's format.
"""

K_BLOCK = 256
"""The number of columns per k-quant block."""

_ODD_DOWN_BITS = {
    "q6_k": 8.5 - 6.5625,
    "q5_k_m": (8.5 + 6.0 - 6.5625 - 5.5) / 2,
    "q5_k_s": 6.0 - 5.5,
    "q4_k_m": (8.5 + 5.5 - 6.5625 - 4.5) / 2,
    "q4_k_s": (6.0 - 5.5) / 8 + (5.5 - 4.5) * 7 / 8,
    "q2_k": 4.5 - 3.4375,
}
"""The additional bits of a mixture's down projections if their columns do not fill whole blocks.

Q6_K becomes Q8_0, Q5_K Q5_1, Q4_K Q5_0 and Q3_K IQ4_NL (llama.cpp, src/llama-quant.cpp)."""

_8B_LAYERS, _8B_TABLE = 6_979_588_096, 525_336_576  # parameters of Llama 3.1 8B; two such tables


@cache
def _layers_format(mixture: NumberFormat) -> NumberFormat:
    """Derive the bits of a mixture's layer matrices from the average over 8B files."""
    head, embedding = (FORMATS[name] for name in IN_FILES[mixture.id])
    if embedding == mixture:
        return mixture
    whole = mixture.bits * (_8B_LAYERS + 2 * _8B_TABLE)
    bits = (whole - (head.bits + embedding.bits) * _8B_TABLE) / _8B_LAYERS
    return replace(mixture, bits=bits)


@dataclass(frozen=True)
class WeightFormats:
    """The number format of each group of matrices in a model.

    base : The format of every group without its own format.
    groups : The formats of groups that differ, in the order of `GROUPS`.
    """

    base: NumberFormat
    groups: tuple[tuple[str, NumberFormat], ...] = ()

    def of(self, group: str) -> NumberFormat:
        """Return the format of a group. Embedding, head and towers have 16 bits by default."""
        stored = dict(self.groups).get(group)
        if stored is None and self.base.id in IN_FILES:
            tables = dict(zip(("head", "embedding"), IN_FILES[self.base.id], strict=True))
            stored = FORMATS[tables[group]] if group in tables else _layers_format(self.base)
        if stored is None:
            is_quantized = group in QUANTIZED or self.base.whole_file
            stored = self.base if is_quantized else FORMATS["bf16"]
        return stored

    def with_odd_experts(self) -> "WeightFormats":
        """Adjust the formats if experts' down projections do not fill whole blocks.

        Blocks have 256 columns. A third of each expert is then stored in formats with smaller
        blocks.
        """
        extra = _ODD_DOWN_BITS.get(self.base.id)
        if extra is None or "experts" in dict(self.groups):
            return self
        stored = self.of("experts")
        return self.with_groups([("experts", replace(stored, bits=stored.bits + extra / 3))])

    @property
    def text(self) -> str:
        """The value for ``--weights``, such as ``nvfp4+attention=bf16``."""
        return JOINED.join([self.base.id, *(f"{name}={stored.id}" for name, stored in self.groups)])

    def with_groups(self, groups: Iterable[tuple[str, NumberFormat]]) -> "WeightFormats":
        """Replace the formats of the given groups, dropping groups in the base format."""
        chosen = dict(self.groups) | dict(groups)
        plain = WeightFormats(self.base)
        ordered_groups = [(name, chosen[name]) for name in GROUPS if name in chosen]
        return replace(
            self, groups=tuple(pair for pair in ordered_groups if plain.of(pair[0]) != pair[1])
        )


QUANTIZED = ("attention", "ffn", "experts", "shared_experts", "mtp")
"""The groups that a quantized checkpoint quantizes, unless it says otherwise."""

GROUPS = (*QUANTIZED, "head", "embedding", "vision")
"""The groups of matrices that can have their own number format."""

GROUP_NAMES = {
    **{group: group for group in GROUPS},
    "attn": "attention",
    "mlp": "ffn",
    "dense": "ffn",
    "shared": "shared_experts",
    "shared-experts": "shared_experts",
    "lm_head": "head",
}
"""The names that users give to groups."""

JOINED = "+"  # between a format and groups in other formats

_EXPERTS = "-experts-"  # joins two formats: ``mxfp4-experts-q8_0``


def weight_formats(name: str, model_formats: WeightFormats | None = None) -> WeightFormats:
    """Parse the format of each group of matrices from ``"nvfp4+attention=bf16"``.

    Without a leading format, groups that are not named keep the model's published format.

    model_formats : The published formats, or None if a leading format is required.

    >>> weight_formats("mxfp4-experts-q8_0").text
    'q8_0+experts=mxfp4'
    >>> weight_formats("experts=nvfp4,attention=fp8", weight_formats("bf16")).text
    'bf16+attention=fp8+experts=nvfp4'
    """
    first, *group_texts = re.split(r"[+,]", name.strip())
    if "=" in first:
        first, group_texts = "", [first, *group_texts]
    experts, joined, matrices = first.partition(_EXPERTS)
    if joined:
        first, group_texts = matrices, [f"experts={experts}", *group_texts]
    if not first and model_formats is None:
        raise InputError(f"'{shown(name)}' names no format in front, such as bf16+{shown(name)}")
    formats = model_formats if not first and model_formats else WeightFormats(format_mix(first))
    return formats.with_groups(map(_group_format, group_texts))


_NO_GGUF = ("mlx-", "fp8", "mxfp8", "int8-w8a8", "gptq-", "awq-", "exl2-", "exl3-")
"""Prefixes of formats that GGUF files do not support."""


def is_read_by_llama_cpp(name: str, *, as_published: bool = False) -> bool:
    """Check whether llama.cpp can read weights in these formats, for all groups.

    as_published : Whether the weights come unconverted from a repository or configuration.

    >>> is_read_by_llama_cpp("q4_k_m"), is_read_by_llama_cpp("nvfp4+attention=fp8")
    (True, False)
    >>> is_read_by_llama_cpp("nvfp4"), is_read_by_llama_cpp("nvfp4", as_published=True)
    (True, False)
    """
    unread = (*_NO_GGUF, "nvfp4", "int4", "int8") if as_published else _NO_GGUF
    parts = [part.partition("=")[2] or part for part in name.split(JOINED)]
    return not any(part.startswith(unread) for part in parts)


def _group_format(text: str) -> tuple[str, NumberFormat]:
    name, equals, stored = text.partition("=")
    group = GROUP_NAMES.get(name.strip().lower())
    if not equals:
        raise InputError(
            f"'{shown(text)}' is a second format without a group of matrices; write one format, or "
            "GROUP=FORMAT, such as experts=nvfp4"
        )
    if group is None:
        hint = did_you_mean(name.strip().lower(), GROUP_NAMES, f"known: {', '.join(GROUPS)}")
        raise InputError(
            f"'{shown(text)}' is not GROUP=FORMAT, such as experts=nvfp4: "
            f"'{shown(name)}' is not a group of matrices; {hint}"
        )
    return group, format_mix(stored)


def weight_name(text: str) -> str:
    """Convert weight formats typed by a user into their name in records.

    >>> weight_name("AWQ"), weight_name("experts=nvfp4,shared=fp8")
    ('awq-int4-g128', 'experts=nvfp4+shared_experts=fp8')
    """
    name = text.strip().lower()
    if _EXPERTS in name and "=" not in name:
        weight_formats(name)
        return name
    first, *groups = re.split(r"[+,]", name)
    if "=" in first:
        first, groups = "", [first, *groups]
    pairs = (f"{group}={stored.id}" for group, stored in map(_group_format, groups))
    return JOINED.join([*([format_mix(first).id] if first else []), *pairs])


def weight_names(names: Iterable[str]) -> list[str]:
    """Parse a list of weight formats. Group formats belong to the format before them.

    >>> weight_names(["fp8", "bf16", "experts=nvfp4", "attention=fp8"])
    ['fp8', 'bf16+experts=nvfp4+attention=fp8']
    """
    joined: list[str] = []
    for name in names:
        if "=" in name.split(JOINED)[0] and joined:
            joined[-1] += JOINED + name
        else:
            joined.append(name)
    return joined
