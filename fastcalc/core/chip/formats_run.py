"""Number formats that a chip and its engine run, of all that there are."""

from typing import NamedTuple

from fastcalc.catalogue.formats import NumberFormat, number_format
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware


class RunnableFormats(NamedTuple):
    """Formats of weights and of caches, beyond the one that a model is published in.

    is_listed : False where the engine has no list for the chip's architecture, so that the units
        of the chip decide
    """

    weights: tuple[str, ...]
    caches: tuple[str, ...]
    is_listed: bool = True


class Widened(NamedTuple):
    """The kernels that widen formats to 16 bits, whatever units the chip has, by format."""

    weights: dict[str, str]
    caches: dict[str, str]

    def kernel_of(self, group: str, stored: NumberFormat) -> str | None:
        """Kernel that widens a kind of bytes, stored in a format; None for none."""
        return (self.caches if group == "kv" else self.weights).get(stored.id)


@once
def formats_run(engine: Engine, hardware: Hardware) -> RunnableFormats:
    """Formats that an engine lists for a chip, or else those the chip has units for."""
    for row in engine.formats:
        if row.architectures is None or hardware.architecture in row.architectures:
            return RunnableFormats(tuple(row.weights), tuple(row.caches))
    eight = ("fp8",) if hardware.rate("fp8") else ()
    four = four_bits(hardware)
    return RunnableFormats((*eight, *((four,) if four else ())), eight, is_listed=False)


@once
def widened_by(engine: Engine, hardware: Hardware) -> Widened:
    """Return which kernels of an engine widen what on a chip."""
    rows = [row for row in engine.widening if hardware.architecture in row.architectures]
    return Widened(
        {name: row.kernel for row in rows for name in row.weights},
        {name: row.kernel for row in rows for name in row.caches},
    )


def four_bits(hardware: Hardware) -> str | None:
    """4-bit format that a chip multiplies, if any: NVIDIA's NVFP4 or the open MXFP4."""
    if hardware.rate("fp4") is None:
        return None
    return "nvfp4" if hardware.vendor == "NVIDIA" else "mxfp4"


def format_notes(engine: Engine, hardware: Hardware, *formats: str) -> list[str]:
    """Return what a reader must know of formats that were offered for want of a list.

    formats : of weights and of caches that are not the published ones
    """
    if not formats or engine.is_bound or formats_run(engine, hardware).is_listed:
        return []
    return [
        f"{engine.id} lists no formats for {hardware.architecture or hardware.id}: "
        f"{', '.join(dict.fromkeys(formats))} is taken as {hardware.id} has units for it"
    ]


def narrower_caches(engine: Engine, hardware: Hardware, cache_format: str) -> list[str]:
    """Cache formats that take less than one, of those that are run."""
    cache_bytes = number_format(cache_format, cache=True).cache_bytes
    caches = formats_run(engine, hardware).caches
    return [name for name in caches if number_format(name, cache=True).cache_bytes < cache_bytes]
