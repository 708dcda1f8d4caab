"""Number formats that a chip and its engine run, of all that there are."""

from typing import NamedTuple

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.model.workload import Workload
from fastcalc.mentions import option


class RunnableFormats(NamedTuple):
    """Formats of weights and of caches, beyond the one that a model is published in.

    is_listed : False where the engine has no list for the chip's architecture, so that the units
        of the chip decide
    """

    weights: tuple[str, ...]
    caches: tuple[str, ...]
    is_listed: bool = True


@once
def formats_run(engine: Engine, hardware: Hardware) -> RunnableFormats:
    """Formats that an engine lists for a chip, or else those the chip has units for."""
    for row in engine.formats:
        if row.architectures is None or hardware.architecture in row.architectures:
            return RunnableFormats(tuple(row.weights), tuple(row.caches))
    eight = ("fp8",) if hardware.rate("fp8") else ()
    four = four_bits(hardware)
    return RunnableFormats((*eight, *((four,) if four else ())), eight, is_listed=False)


def refused_formats(engine: Engine, hardware: Hardware, work: Workload) -> str | None:
    """Why an engine does not start with a model's weights or cache on a chip; None where it may."""
    rows = [
        row
        for row in engine.refused
        if row.architectures is None or hardware.architecture in row.architectures
    ]
    formats = work.formats
    for noun, stored, refused, setting in (
        ("weights", (formats.dense, formats.experts), [row.weights for row in rows], "weights"),
        ("caches", (formats.kv,), [row.caches for row in rows], "kv"),
    ):
        names = dict.fromkeys(inner.id for group in stored for inner, _ in group.shares)
        if without := [name for name in names if any(name in listed for listed in refused)]:
            return (
                f"{engine.id} has no kernel for {' and '.join(without)} {noun} on {hardware.id} "
                f"({hardware.architecture}) and does not start; give another {option('engine')} or "
                f"{option(setting)}"
            )
    return None


@once
def widened_by(engine: Engine, hardware: Hardware) -> Kinds[dict[str, str]]:
    """Kernels that multiply at the 16-bit rate, whatever units the chip has, by stored format."""
    rows = [row for row in engine.widening if hardware.architecture in row.architectures]
    weights = {name: row.kernel for row in rows for name in row.weights}
    experts = {name: row.kernel for row in rows for name in row.experts}
    caches = {name: row.kernel for row in rows for name in row.caches}
    return Kinds(dense=weights, head=weights, experts={**weights, **experts}, kv=caches)


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
    bits = number_format(cache_format, cache=True).bits
    caches = formats_run(engine, hardware).caches
    return [name for name in caches if number_format(name, cache=True).bits < bits]
