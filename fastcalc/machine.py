"""What one chip gives: at its peak, and to an engine."""

from dataclasses import dataclass
from math import floor, inf

from fastcalc.catalogue.formats import NumberFormat, number_format
from fastcalc.catalogue.schema import Engine, Hardware, Memory, Parameters, Quantity
from fastcalc.formulas.roofline import achieved_bandwidth, compute_share
from fastcalc.workload import Workload

_WIDTH = {
    "fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16,
    "fp8": 8, "int8": 8, "fp6": 6, "fp4": 4, "int4": 4,
}  # fmt: skip


def working_rate(hardware: Hardware, stored: NumberFormat) -> tuple[float, bool]:
    """Return the dense peak that products with stored weights run at, and if unpacked first.

    Parameters
    ----------
    hardware : Hardware
        The chip.
    stored : NumberFormat
        How the weights are stored.

    Returns
    -------
    tuple of float and bool
        The peak [FLOP/s], and True where narrow weights are unpacked to 16 bits because the
        chip has no rate of their own.
    """
    for choice in (*stored.computes_in, "bf16", "fp16"):
        needed, _, used = choice.rpartition(":")
        peak = hardware.rate(used)
        if peak is not None and (not needed or hardware.rate(needed)):
            return peak.si, stored.bits < 16 and _WIDTH[used] >= 16
    raise AssertionError("the schema asks for a 16-bit rate")


def fastest_rate(hardware: Hardware, stored: NumberFormat) -> float:
    """Return the fastest dense peak that could honestly serve stored weights. [FLOP/s]

    Any format at least as wide as the stored one loses nothing, so the bound takes the
    fastest of them: fewer bits can only raise it.
    """
    bits = min(floor(stored.cache_bits or stored.bits), 16)
    return max(peak.si for name, peak in hardware.peak.items() if _WIDTH[name] >= bits)


def fraction(value: Quantity | None) -> float:
    """Return a share of the peak; all of it where none is given. [1]"""
    return value.si if value is not None else 1.0


def cost(value: Quantity | None) -> float:
    """Return a time or count to pay; nothing where none is given. [SI]"""
    return value.si if value is not None else 0.0


@dataclass(frozen=True, eq=False)
class Machine:
    """One chip under one engine for one workload: every rate the step function asks for.

    Attributes
    ----------
    bandwidth : float
        What long reads reach of the memory tier that holds the weights. [byte/s]
    dense_rate, head_rate, routed_rate, attention_rate : float
        FLOP rates that products reach under the engine. [FLOP/s]
    dense_peak, head_peak, routed_peak, attention_peak : float
        Their fastest honest peaks, for the bound. [FLOP/s]
    unpack_dense, unpack_routed : bool
        Weights are unpacked to 16 bits before use.
    vector_rate : float
        FLOP rate of the vector units, which unpack; infinity where it is not known. [FLOP/s]
    link, link_out, peak_link, peak_link_out : float
        One-way bandwidth inside and beyond the domain, under the engine and printed; infinity
        where no link is known. [byte/s]
    hop_latency : float
        Of one hop beyond the domain. [s]
    """

    hardware: Hardware
    engine: Engine
    parameters: Parameters
    tier: Memory
    bandwidth: float
    dense_rate: float
    head_rate: float
    routed_rate: float
    attention_rate: float
    dense_peak: float
    head_peak: float
    routed_peak: float
    attention_peak: float
    unpack_dense: bool
    unpack_routed: bool
    vector_rate: float
    link: float
    link_out: float
    peak_link: float
    peak_link_out: float
    hop_latency: float

    @property
    def usable_bytes(self) -> float:
        """Memory that the engine may fill. [byte]"""
        return self.tier.capacity.si * fraction(self.parameters.memory_fraction)

    @property
    def is_spatial(self) -> bool:
        """True where every layer has a region of its own."""
        return self.hardware.execution == "spatial"


def machine(hardware: Hardware, engine: Engine, work: Workload, tier: Memory) -> Machine:
    """Return the rates of a chip under an engine for a workload.

    Parameters
    ----------
    hardware, engine : Hardware, Engine
        The chip and the software.
    work : Workload
        The model in its formats.
    tier : Memory
        The memory tier that holds the weights.
    """
    own = engine.on(hardware.architecture)
    cores = hardware.cores.si if hardware.cores else inf
    per_core = own.compute_per_core.si if own.compute_per_core else inf
    share = float(
        compute_share(
            peak=working_rate(hardware, number_format("bf16"))[0],
            fraction=fraction(own.compute_fraction),
            cores=cores,
            per_core=per_core,
        )
    )
    dense, unpack_dense = working_rate(hardware, work.dense.format)
    routed, unpack_routed = working_rate(hardware, work.routed.format)
    cache = number_format(work.kv_format, cache=True)
    up, out = hardware.links.scale_up, hardware.links.scale_out
    link_up = up.bandwidth.si if up else inf
    link_out = out.bandwidth.si if out else link_up
    hop = next((cost(link.latency) for link in (out, up) if link), 0.0)
    per_core_read = own.bandwidth_per_core.si if own.bandwidth_per_core else inf
    return Machine(
        hardware=hardware,
        engine=engine,
        parameters=own,
        tier=tier,
        bandwidth=float(
            achieved_bandwidth(
                peak=tier.bandwidth.si,
                fraction=fraction(own.bandwidth_fraction),
                cores=cores,
                per_core=per_core_read,
            )
        ),
        dense_rate=dense * share,
        head_rate=working_rate(hardware, work.head.format)[0] * share,
        routed_rate=routed * share * fraction(own.grouped_gemm_fraction),
        attention_rate=working_rate(hardware, cache)[0] * share,
        dense_peak=fastest_rate(hardware, work.dense.format),
        head_peak=fastest_rate(hardware, work.head.format),
        routed_peak=fastest_rate(hardware, work.routed.format),
        attention_peak=fastest_rate(hardware, cache),
        unpack_dense=unpack_dense,
        unpack_routed=unpack_routed,
        vector_rate=hardware.vector.si if hardware.vector else inf,
        link=link_up * fraction(own.link_fraction),
        link_out=link_out * fraction(own.link_fraction),
        peak_link=link_up,
        peak_link_out=link_out,
        hop_latency=hop,
    )
