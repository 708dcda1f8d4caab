"""Number formats that a chip and its engine support."""

from typing import NamedTuple

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.core.model.kinds import Kinds
from fastcalc.core.model.workload import Workload
from fastcalc.mentions import option
from fastcalc.written import listed


class RunnableFormats(NamedTuple):
    """Lists the weight and cache formats that run in addition to a model's published format.

    is_listed : Whether the engine lists formats for the chip's architecture; if not, the formats
        that the chip supports in hardware are used.
    """

    weights: tuple[str, ...]
    caches: tuple[str, ...]
    is_listed: bool = True


@once
def formats_run(engine: Engine, hardware: Hardware) -> RunnableFormats:
    """List the formats that an engine supports on a chip, or those in hardware if it lists none."""
    for row in engine.formats:
        if row.is_on(hardware):
            return RunnableFormats(tuple(row.weights), tuple(row.caches))
    eight = ("fp8",) if hardware.rate("fp8") else ()
    four = four_bits(hardware)
    return RunnableFormats((*eight, *((four,) if four else ())), eight, is_listed=False)


@once
def refused_formats(engine: Engine, hardware: Hardware, work: Workload) -> str | None:
    """Explain why an engine refuses a model's formats on a chip, or return None if it does not."""
    rows = [row for row in engine.refused if row.is_on(hardware)]
    formats, runs = work.formats, formats_run(engine, hardware)
    weights, caches = [row.weights for row in rows], [row.caches for row in rows]
    for setting, noun, stored, lists, run in (
        ("weights", "weights", (formats.dense, formats.experts), weights, runs.weights),
        ("kv", "caches", (formats.kv,), caches, runs.caches),
    ):
        end = lists.index([]) if [] in lists else len(lists)
        refused = {name for names in lists[:end] for name in names or ()}
        names = dict.fromkeys(inner.id for group in stored for inner, _ in group.shares)
        if without := [name for name in names if name in refused]:
            working = [name for name in (*run, "fp16") if name not in refused]
            choices = [option("engine"), *(option(setting, name) for name in working)]
            return (
                f"{engine.id} has no kernel for {' and '.join(without)} {noun} on {hardware.id} "
                f"({hardware.architecture}) and does not start; give another "
                f"{listed(choices, 'or')}"
            )
    return None


@once
def widened_by(engine: Engine, hardware: Hardware) -> Kinds[dict[str, str]]:
    """Look up the stored formats whose kernels run at the 16-bit rate on any chip."""
    rows = [row for row in reversed(engine.widening) if row.is_on(hardware)]
    weights = {name: row.kernel for row in rows for name in row.weights}
    experts = {name: row.kernel for row in rows for name in row.experts}
    caches = {name: row.kernel for row in rows for name in row.caches}
    return Kinds(dense=weights, head=weights, experts={**weights, **experts}, kv=caches)


def four_bits(hardware: Hardware) -> str | None:
    """Choose the chip's native 4-bit format (NVFP4 or MXFP4), or None if it has none."""
    if hardware.rate("fp4") is None:
        return None
    return "nvfp4" if hardware.vendor == "NVIDIA" else "mxfp4"


def format_notes(engine: Engine, hardware: Hardware, *formats: str) -> list[str]:
    """Return notes on formats that are offered although the engine does not list them.

    formats : Formats of weights and caches that differ from the published ones.
    """
    if not formats or engine.is_bound or formats_run(engine, hardware).is_listed:
        return []
    return [
        f"{engine.id} lists no formats for {hardware.architecture or hardware.id}: "
        f"{', '.join(dict.fromkeys(formats))} is taken as {hardware.id} has units for it"
    ]


def narrower_caches(engine: Engine, hardware: Hardware, cache_format: str) -> list[str]:
    """List the supported cache formats that are smaller than a given format."""
    bits = number_format(cache_format, cache=True).bits
    caches = formats_run(engine, hardware).caches
    return [name for name in caches if number_format(name, cache=True).bits < bits]
