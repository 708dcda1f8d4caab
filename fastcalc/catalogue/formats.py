"""Number formats: bits of a stored weight or cache element, and what computes with them.

Bits count the scales stored with the values: fp8 with a 32-bit scale per 128 x 128 block
(arXiv:2412.19437, section 3.3), MXFP8 and MXFP4 with an 8-bit scale per 32 values (OCP Microscaling
Formats specification 1.0), NVFP4 with one per 16 (NVIDIA, "Introducing NVFP4"), GGUF blocks with a
16-bit scale per 32. The mixtures that carry a size in their name hold the average of a file.
"""

from dataclasses import dataclass

from fastcalc.errors import InputError
from fastcalc.written import did_you_mean, shown


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are stored.

    bits, cache_bits : of a stored element, its share of the scales included, and of a cached one
    computes_in : tensor rates that products with such weights run at, best first
    whole_file : True where embedding, head and router are stored so too (GGUF, EXL2)
    """

    id: str
    bits: float
    computes_in: tuple[str, ...] = ("bf16", "fp16")
    whole_file: bool = False
    cache_bits: float | None = None

    @property
    def bytes(self) -> float:
        """Bytes a stored weight takes. [byte]"""
        return self.bits / 8

    @property
    def cache_bytes(self) -> float:
        """Bytes a cached element takes. [byte]"""
        return (self.cache_bits or self.bits) / 8


_16 = ("bf16", "fp16")
_GGUF = ("fp16", "bf16")
FORMATS = {
    entry.id: entry
    for entry in (
        NumberFormat("fp32", 32.0, ("tf32", "fp32", *_16), whole_file=True, cache_bits=32.0),
        NumberFormat("bf16", 16.0, _16, whole_file=True, cache_bits=16.0),
        NumberFormat("fp16", 16.0, ("fp16", "bf16"), whole_file=True, cache_bits=16.0),
        NumberFormat("fp8", 8.0 + 32 / 128**2, ("fp8", *_16), cache_bits=8.0),
        # Units that take 4 bits take the scales of blocks of 32, too; others multiply 16 bits.
        NumberFormat("mxfp8", 8.0 + 8 / 32, ("fp4:fp8", *_16)),
        NumberFormat("int8", 8.0, _16, cache_bits=8.0),
        NumberFormat("fp6", 6.0),
        NumberFormat("nvfp4", 4.0 + 8 / 16, ("fp4", *_16), cache_bits=4.5),
        # mxfp4 weights meet 8-bit activations where the chip has 4-bit units, else 16-bit ones.
        NumberFormat("mxfp4", 4.0 + 8 / 32, ("fp4:fp8", *_16)),
        NumberFormat("int4", 4.0 + 16 / 32),
        NumberFormat("int4-g32", 4.0 + 16 / 32),
        NumberFormat("gptq-int4-g128", 4.25),
        NumberFormat("awq-int4-g128", 4.25),
        *(
            NumberFormat(name, bits, _GGUF, whole_file=True, cache_bits=cached)
            for name, bits, cached in (
                ("q8_0", 8.0 + 16 / 32, 8.5),
                ("q6_k", 6.5625, None),
                ("q5_k_m", 5.69, None),
                ("q4_k_m", 4.85, None),
                ("q4_0", 4.0 + 16 / 32, 4.5),
                ("iq4_xs", 4.25, None),
                ("iq3_xxs", 3.0625, None),
                ("iq2_xxs", 2.0625, None),
            )
        ),
        *(NumberFormat(f"exl2-{bits}bpw", bits, whole_file=True) for bits in (2.5, 3.0, 4.0, 5.0)),
    )
}


EXPERTS = "-experts-"  # joins two formats: ``mxfp4-experts-q8_0``


def weight_formats(name: str) -> tuple[NumberFormat, NumberFormat]:
    """Formats of matrices and of routed experts, of ``"mxfp4-experts-q8_0"``."""
    experts, joined, matrices = name.partition(EXPERTS)
    if not joined:
        return (number_format(name),) * 2
    return number_format(matrices), number_format(experts)


def number_format(name: str, *, cache: bool = False) -> NumberFormat:
    """A format by its id; with ``cache`` one that a KV cache can have.

    >>> number_format("mxfp4").bits
    4.25
    """
    listed = FORMATS.get(name)
    if listed and (listed.cache_bits or not cache):
        return listed
    ids = [entry.id for entry in FORMATS.values() if entry.cache_bits or not cache]
    role = "KV cache format" if cache else "weight format"
    hint = did_you_mean(name.lower(), ids, f"known: {', '.join(ids)}", cutoff=0.6)
    raise InputError(f"'{shown(name)}' is not a {role} that fastcalc knows; {hint}")
