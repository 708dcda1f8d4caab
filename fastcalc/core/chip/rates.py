"""Rates of matrix products with stored weights: as published, and the fastest possible rate."""

from collections.abc import Collection
from math import floor
from typing import NamedTuple

from fastcalc.catalogue.formats import NumberFormat
from fastcalc.catalogue.schema import Hardware
from fastcalc.formulas.types import ArrayLike

_WIDTH = {
    "fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16,
    "fp8": 8, "int8": 8, "fp6": 6, "fp4": 4, "int4": 4,
}  # fmt: skip


class WorkingRate(NamedTuple):
    """Computes the rate of products with stored weights, as numbers or as arrays over chips.

    peak : The dense peak, in FLOP/s.
    bits : The width of the operands, in bits.
    is_unpacked : The fraction of weights that are converted to 16 bits because the chip lacks a
        rate, or the engine a kernel, for their format; 0 or 1 for a single format.
    """

    peak: ArrayLike
    bits: ArrayLike
    is_unpacked: ArrayLike


def working_rate(
    hardware: Hardware,
    stored: NumberFormat,
    *,
    short_sums: bool = False,
    unpacked: Collection[str] = (),
) -> WorkingRate:
    """Compute the rate of products with stored weights.

    short_sums : Whether the engine accumulates fp16 products in 16 bits, at the rate advertised for
        GeForce cards; with 32-bit accumulation, fp16 is no faster than bf16.
    unpacked : Formats that the engine's kernels convert to 16 bits.
    """
    if not stored.mix:
        return _rate_of_one(hardware, stored, short_sums=short_sums, unpacked=unpacked)
    rates = [
        (_rate_of_one(hardware, inner, short_sums=short_sums, unpacked=unpacked), fraction)
        for inner, fraction in stored.mix
    ]
    # Matrices run one after another, so sum their times, not rates.
    return WorkingRate(
        peak=1.0 / sum(fraction / rate.peak for rate, fraction in rates),
        bits=sum(fraction * rate.bits for rate, fraction in rates),
        is_unpacked=sum(fraction * rate.is_unpacked for rate, fraction in rates),
    )


def _rate_of_one(
    hardware: Hardware, stored: NumberFormat, *, short_sums: bool, unpacked: Collection[str]
) -> WorkingRate:
    formats = () if stored.id in unpacked else stored.computes_in
    for choice in (*formats, "bf16", "fp16"):
        needed, _, multiplied = choice.rpartition(":")
        peak = hardware.rate(multiplied)
        if peak is not None and (not needed or hardware.rate(needed)):
            bits = _WIDTH[multiplied]
            if multiplied == "fp16" and not short_sums:
                peak = min(peak, hardware.rate("bf16") or peak, key=lambda rate: rate.si)
            return WorkingRate(peak.si, bits, stored.bits < 16 and bits >= 16)
    raise AssertionError("the schema asks for a 16-bit rate")


def fastest_rate(hardware: Hardware, stored: NumberFormat) -> float:
    """Compute the fastest dense peak in any format that represents the weights exactly, in FLOP/s.

    Any format at least as wide as the stored format is exact, and the bound uses the fastest of
    them. Quantized weights can only raise this rate.
    """
    peaks = []
    for inner, fraction in stored.shares:
        bits = min(floor(inner.cache_bits or inner.bits), 16)
        exact = (peak.si for name, peak in hardware.peak.items() if _WIDTH[name] >= bits)
        peaks.append((max(exact), fraction))
    if len(peaks) == 1:
        return peaks[0][0]
    return 1.0 / sum(fraction / peak for peak, fraction in peaks)
