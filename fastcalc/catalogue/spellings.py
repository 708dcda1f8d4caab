"""Spellings of names: hyphens, dots, vendors and product lines that users include or omit."""

import re
from collections.abc import Iterable

_LINES = re.compile(
    r"\b(?:geforce|instinct|radeon|tesla|quadro|ryzen|accelerator|gpu|graphics|card"
    r"|workstation edition|mac studio|mac mini|macbook pro|google cloud|cloud)\b"
)
"""Words that a vendor prints before the name of a chip."""
_TUNED = re.compile(r"[\s_:-]+(?:instruct|chat|it|hf|base|latest)$")
"""Suffixes of a model's name that do not change its shape."""
_ACTIVE = re.compile(r"(?<=[0-9][bt])a[0-9.]+b$")
"""Active parameters after total parameters, in a spelling."""
_VERSION_DOT = re.compile(r"(?<=[0-9])\.([0-9]+)(?![0-9]|[btm](?![a-z]))")
"""Dot of a version, in contrast to that in a number of parameters."""
_PATCH = re.compile(r"^vllm[\s-]*v?(\d+\.\d+)(?:\.\d+|\.post\d+|rc\d+)*$")
"""A release of vLLM, of which only the first two numbers matter here."""


def spelling(name: str) -> str:
    """A name in lower case, with hyphens only between digits.

    >>> spelling("RTX 5090"), spelling("qwen3:32b"), spelling("llama-4-maverick")
    ('rtx5090', 'qwen3-32b', 'llama4maverick')
    """
    hyphenated = re.sub(r"[\s_:-]+", "-", name.strip().lower())
    return re.sub(r"(?<![0-9])-|-(?![0-9])", "", hyphenated)


def plain_spelling(name: str) -> str:
    """Spelling of a name without its optional words.

    >>> plain_spelling("NVIDIA GeForce RTX 5090"), plain_spelling("Llama 3.1 8B Instruct")
    ('nvidiartx5090', 'llama3.1-8b')
    >>> plain_spelling("DSV3"), plain_spelling("A100 SXM4 80GB"), plain_spelling("vLLM v0.11.2")
    ('deepseekv3', 'a100sxm80gb', 'vllm0.11')
    """
    lowered = re.sub(r"\(.{0,3}\)", " ", name.lower().replace("+", " plus ")).strip()
    lowered = re.sub(r"\bds(?=-?[vr]\d)", "deepseek", re.sub(r"\bsxm\d\b", "sxm", lowered))
    lowered = _LINES.sub(" ", lowered).strip(" -_")
    while (shorter := _TUNED.sub("", lowered)) != lowered:
        lowered = shorter
    return spelling(_PATCH.sub(r"vllm\1", lowered))


def plain_spellings(names: Iterable[str], makers: Iterable[str]) -> frozenset[str]:
    """Plain spellings of an entry, with and without its vendor, dots and active parameters.

    Versions in a name may be written without dots, or with hyphens instead of dots.

    >>> sorted(plain_spellings(["llama-3.1-8b"], ["meta"]))[:3]
    ['llama3-1-8b', 'llama3.1-8b', 'llama31-8b']
    """
    full = {plain_spelling(name) for name in names}
    full |= {_ACTIVE.sub("", name) for name in full}
    full |= {_VERSION_DOT.sub(rf"{mark}\1", name) for name in full for mark in ("", "-")}
    return frozenset(full | {spelling(maker) + name for maker in makers for name in full})
