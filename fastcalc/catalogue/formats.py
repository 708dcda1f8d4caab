"""Number formats: bits per stored weight or cache element, and the tensor rates they use.

The bits include scales stored with the values: fp8 with a 32-bit scale per 128 x 128 block
(arXiv:2412.19437, section 3.3), MXFP8 and MXFP4 with an 8-bit scale per 32 values (OCP Microscaling
Formats specification 1.0), NVFP4 with one per 16 (NVIDIA, "Introducing NVFP4"), GGUF blocks with a
16-bit scale per 32. For mixtures named by size, the bits are averages over a file, usually of Llama
3.1 8B (llama.cpp, tools/quantize/README.md, commit 311c2c9f).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fastcalc.catalogue.tables import table_of
from fastcalc.errors import InputError
from fastcalc.written import did_you_mean, shown


@dataclass(frozen=True)
class NumberFormat:
    """A number format of weights or KV caches.

    bits, cache_bits : The bits per stored element, including scales, and per cached element.
    computes_in : The tensor rates for products with these weights, best first.
    whole_file : Whether embedding, head and router are also stored in this format (GGUF, EXL2).
    mix : For matrices stored in several formats, each format and its fraction of the weights,
        largest first.
    """

    id: str
    bits: float
    computes_in: tuple[str, ...] = ("bf16", "fp16")
    whole_file: bool = False
    cache_bits: float | None = None
    mix: "tuple[tuple[NumberFormat, float], ...]" = ()

    @property
    def shares(self) -> "tuple[tuple[NumberFormat, float], ...]":
        """The formats of individual matrices with their fractions of the weights."""
        return self.mix or ((self, 1.0),)

    @property
    def bytes(self) -> float:
        """The bytes per stored weight."""
        return self.bits / 8

    @property
    def cache_bytes(self) -> float:
        """The bytes per cached element."""
        return (self.cache_bits or self.bits) / 8


_16 = ("bf16", "fp16")
_GGUF = ("fp16", "bf16")
OF_GGUF = table_of(__file__)
"""The formats of GGUF files: mixtures, and blocks of tensors."""

FORMATS = {
    entry.id: entry
    for entry in (
        NumberFormat("fp32", 32.0, ("tf32", "fp32", *_16), whole_file=True, cache_bits=32.0),
        NumberFormat("bf16", 16.0, _16, whole_file=True, cache_bits=16.0),
        NumberFormat("fp16", 16.0, ("fp16", "bf16"), whole_file=True, cache_bits=16.0),
        NumberFormat("fp8", 8.0 + 32 / 128**2, ("fp8", *_16), cache_bits=8.0),
        # 4-bit units also support scales for blocks of 32; other units multiply in 16 bits.
        NumberFormat("mxfp8", 8.0 + 8 / 32, ("fp4:fp8", *_16)),
        NumberFormat("int8", 8.0, _16, cache_bits=8.0),
        NumberFormat("int8-w8a8", 8.0, ("int8", *_16)),
        NumberFormat("fp6", 6.0),
        NumberFormat("nvfp4", 4.0 + 8 / 16, ("fp4", *_16), cache_bits=4.5),
        # mxfp4 weights use 8-bit activations if the chip has 4-bit units, else 16-bit activations.
        NumberFormat("mxfp4", 4.0 + 8 / 32, ("fp4:fp8", *_16)),
        # bitsandbytes: a 32-bit scale per 64, which double quantization reduces to 8 bits per 64.
        NumberFormat("int4", 4.0 + 32 / 64),
        NumberFormat("int4-double", 4.0 + 8 / 64 + 32 / (64 * 256)),
        NumberFormat("int4-g32", 4.0 + 16 / 32),
        # A 16-bit scale and a 4-bit zero point per 128 weights.
        NumberFormat("gptq-int4-g128", 4.0 + (16 + 4) / 128),
        NumberFormat("awq-int4-g128", 4.0 + (16 + 4) / 128),
        NumberFormat("bitnet", 2.0),  # four ternary weights per byte
        *(
            NumberFormat(
                row["name"],
                float(row["bits"]),
                _GGUF,
                whole_file=True,
                cache_bits=float(row["cache_bits"]) if row["cache_bits"] else None,
            )
            for row in OF_GGUF
        ),
        *(NumberFormat(f"exl2-{bits}bpw", bits, whole_file=True) for bits in (2.5, 3.0, 4.0, 5.0)),
    )
}

CACHES = {
    # Latents of DeepSeek's sparse attention: 512 8-bit values, four 32-bit scales and 64 16-bit
    # values (656 bytes; vllm/v1/attention/backends/mla/flashmla_sparse.py); kernels convert them to
    # 16 bits.
    "fp8_ds_mla": NumberFormat("fp8_ds_mla", 8.0, cache_bits=656 * 8 / 576)
}
"""Formats that are used only for caches."""

NAMES = {
    **dict.fromkeys(("bfloat16", "16", "16bit", "16-bit"), "bf16"),
    **dict.fromkeys(("float16", "half", "f16"), "fp16"),
    **dict.fromkeys(("float32", "f32", "float"), "fp32"),
    **dict.fromkeys(
        ("fp8-block", "fp8_block", "fp8-dynamic", "fp8_e4m3", "fp8_e5m2", "w8a8-fp8", "fp8-w8a8"),
        "fp8",
    ),
    **dict.fromkeys(("awq", "awq-int4", "awq_marlin", "w4a16-awq"), "awq-int4-g128"),
    **dict.fromkeys(
        ("gptq", "gptq-int4", "gptq_marlin", "w4a16", "autoround", "auto-round"), "gptq-int4-g128"
    ),
    **dict.fromkeys(("w8a8", "int8-int8", "smoothquant"), "int8-w8a8"),
    **dict.fromkeys(("w8a16", "gptq-int8", "bnb-8bit"), "int8"),
    **dict.fromkeys(("bnb-4bit", "bitsandbytes", "nf4", "4bit", "4-bit"), "int4"),
    "modelopt_fp4": "nvfp4",
    **dict.fromkeys(("q4_k", "ud-q4_k_m"), "q4_k_m"),
    **dict.fromkeys(("q3_k", "ud-q3_k_m"), "q3_k_m"),
    **dict.fromkeys(("q5_k", "ud-q5_k_m"), "q5_k_m"),
    **{f"q{bits}_k_xl": f"ud-q{bits}_k_xl" for bits in (2, 4, 5)},
}
"""Alternative names of formats, as used by engines, repositories and users."""

_SHARES = "/"  # between formats mixed within a group: ``59%nvfp4/41%bf16``


def cache_name(text: str) -> str | None:
    """Convert a cache format typed by a user into its name in records, or None for auto.

    >>> cache_name("fp8_e4m3"), cache_name("auto")
    ('fp8', None)
    """
    return None if text.strip().lower() == "auto" else number_format(text, cache=True).id


def format_mix(text: str) -> NumberFormat:
    """Parse a format, or a mix of formats with their fractions: ``59%nvfp4/41%bf16``."""
    pieces = text.strip().split(_SHARES)
    if len(pieces) == 1:
        return number_format(pieces[0])
    matches = [_SHARE.fullmatch(piece.strip()) for piece in pieces]
    fractions = [float(match[1]) for match in matches if match]
    if len(fractions) < len(pieces) or not 99.9 <= sum(fractions) <= 100.1:
        raise InputError(
            f"'{shown(text)}' is no mix of formats: write a share of each, which make 100%, "
            "such as 60%nvfp4/40%bf16"
        )
    names = (match[2] for match in matches if match)
    return mixed_format(zip(map(number_format, names), fractions, strict=True))


_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?) ?% ?(\S{1,40})")


def mixed_format(amounts: Iterable[tuple[NumberFormat, float]]) -> NumberFormat:
    """Build the format of matrices stored in several formats, given the weights in each.

    >>> mix = mixed_format([(FORMATS["bf16"], 1.0), (FORMATS["int8"], 3.0)])
    >>> mix.id, mix.bits
    ('75%int8/25%bf16', 10.0)
    """
    totals: dict[NumberFormat, float] = {}
    for stored, amount in amounts:
        for inner, fraction in stored.shares if amount else ():
            totals[inner] = totals.get(inner, 0.0) + amount * fraction
    if len(totals) == 1:
        return next(iter(totals))
    total_parameters = sum(totals.values())
    if not total_parameters:
        return FORMATS["bf16"]
    ordered = sorted(totals.items(), key=lambda pair: -pair[1])
    fractions = tuple((stored, amount / total_parameters) for stored, amount in ordered)
    cached = [(stored.cache_bits or 0.0) * fraction for stored, fraction in fractions]
    return NumberFormat(
        _SHARES.join(f"{100 * fraction:.4g}%{stored.id}" for stored, fraction in fractions),
        sum(stored.bits * fraction for stored, fraction in fractions),
        whole_file=all(stored.whole_file for stored, _ in fractions),
        cache_bits=sum(cached) if all(cached) else None,
        mix=fractions,
    )


def number_format(name: str, *, cache: bool = False) -> NumberFormat:
    """Look up a format by its id or an alias, for weights or for the KV cache.

    Caches may mix formats, as in llama.cpp, where keys and values have separate types.

    >>> number_format("mxfp4").bits, number_format("AWQ").id, number_format("6.5bpw").bits
    (4.25, 'awq-int4-g128', 6.5)
    """
    written = name.strip().lower()
    listed = FORMATS.get(written) or FORMATS.get(NAMES.get(written, "")) or _sized(written)
    listed = CACHES.get(written, listed) if cache else listed
    if cache and _SHARES in written:
        listed = format_mix(written)
    if listed and (listed.cache_bits or not cache):
        return listed
    if written in WITHOUT_SIZE:
        raise InputError(f"'{shown(name)}' has many sizes; write its bits: {written}-4.0bpw")
    ids = [entry.id for entry in FORMATS.values() if entry.cache_bits or not cache]
    ids += CACHES if cache else ()
    role = "KV cache format" if cache else "weight format"
    hint = did_you_mean(written, ids, f"known: {', '.join(ids)}", cutoff=0.6)
    raise InputError(f"'{shown(name)}' is not a {role} that fastcalc knows; {hint}")


def _sized(name: str) -> NumberFormat | None:
    """Build a format whose name contains its bits: ``exl3-3.5bpw`` for ExLlama, ``int4-g64``.

    A group (``g64``) shares a 16-bit scale and, with ``-zp``, a zero point as wide as a weight
    (GPTQ, AWQ). ``mlx-4bit`` has a 16-bit scale and a 16-bit offset per 64, including embedding and
    head (ml-explore/mlx-lm, mlx_lm/utils.py, which prints 4.5 bits per weight).
    """
    of_mlx = _MLX.fullmatch(name)
    if of_mlx is not None and int(of_mlx[2] or 64) in (32, 64, 128):
        bits, size = int(of_mlx[1]), int(of_mlx[2] or 64)
        group_text = "" if size == 64 else f"-g{size}"
        return NumberFormat(f"mlx-{bits}bit{group_text}", bits + 32 / size, whole_file=True)
    group = _GROUPED.fullmatch(name)
    if group is not None and int(group[2]) >= 8:
        bits, size, zero = int(group[1]), int(group[2]), group[3] or ""
        return NumberFormat(f"int{bits}-g{size}{zero}", bits + (16 + bits * bool(zero)) / size)
    match = _BPW.fullmatch(name)
    if match is None or not 1.0 <= float(match[2]) <= 8.5:
        return None
    return NumberFormat(f"{match[1] or ''}{float(match[2])}bpw", float(match[2]), whole_file=True)


_BPW = re.compile(r"(exl[23][-_])?([0-9](?:\.[0-9]{1,3})?)[-_ ]?bpw")
_MLX = re.compile(r"mlx-([2-8])bit(?:-g([0-9]{2,3}))?")
_GROUPED = re.compile(r"int([2-8])-?g([0-9]{1,4})(-zp)?")
WITHOUT_SIZE = ("exl2", "exl3")
