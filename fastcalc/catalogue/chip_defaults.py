"""Default values for numbers missing from a chip's file, so that none is treated as zero.

A default is the median over chips of the same type whose files give the number, or over all chips
if there are none. Of two middle values, the slower chip's is used. A missing power including host
and site is the chip's power times a median factor, except for machines whose published power is for
the whole box. The number of cores is chosen so that peak and bandwidth per core equal the median,
but at most that of the largest chip, so a faster chip never has fewer. Missing prices, chip powers,
capacities and links have no default. Neither do latencies within a domain if engines already
include them: in `collective_latency` for chips that run layers in sequence, and in the layer floor
of Groq's engine, which includes the hops between chips.
"""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema.hardware import Hardware
from fastcalc.catalogue.schema.quantities import Quantity, QuantityReader, Source


class Medians(NamedTuple):
    """The default values of a chip property, for files that omit it.

    name : The name of the property.
    dimension : As in `QuantityReader`.
    by_kind : The defaults by type of chip, or by location for memories; ``all`` applies to chips of
        any type. For cores, the number on the largest chip of the type.
    """

    name: str
    dimension: str
    by_kind: dict[str, str | float]


MEDIANS = {
    "cores": Medians(
        "number of cores",
        "amount",
        {"gpu": 304, "apple": 80, "soc": 48, "rdu": 1040, "wafer": 900_000},
    ),
    "vector": Medians(
        "rate of vector units",
        "compute rate",
        {
            "gpu": "51 TFLOP/s",
            "apple": "10.6 TFLOP/s",
            "soc": "29.7 TFLOP/s",
            "all": "34.1 TFLOP/s",
        },
    ),
    "links.scale_up.domain": Medians(
        "domain of its link",
        "amount",
        {"gpu": 8, "npu": 12, "tpu": 256, "lpu": 72, "rdu": 16, "soc": 2, "apple": 4, "all": 8},
    ),
    "links.scale_up.latency": Medians("latency of its link", "time", {"tpu": "1 us"}),
    "links.scale_out.latency": Medians(
        "latency between chips",
        "time",
        {"gpu": "10 us", "npu": "10 us", "wafer": "5 us", "all": "10 us"},
    ),
    "memory.link": Medians(
        "link to its memory", "bandwidth", {"host": "63 GB/s", "disk": "7.45 GB/s"}
    ),
    "links.host": Medians("link to a host", "bandwidth", {"pcie": "32 GB/s"}),
    "memory.shared_by": Medians("chips that share its memory", "amount", {"host": 2, "disk": 2}),
    "power.all_in": Medians(
        "power including host and cooling", "factor", {"gpu": 2.17, "all": 2.17}
    ),
}

OF_A_CORE = {
    "gpu": ("2.511 TFLOP/s", "11.41 GB/s"),
    "apple": ("0.3579 TFLOP/s", "12 GB/s"),
    "soc": ("2.656 TFLOP/s", "12.8 GB/s"),
    "rdu": ("0.6135 TFLOP/s", "234.4 GB/s"),
    "wafer": ("17.33 GFLOP/s", "23.53 GB/s"),
}
"""The 16-bit peak and memory bandwidth per core, by type of chip: medians over chips whose files
give the number of cores. The core counts of the largest chips are in `MEDIANS`."""


class Default(NamedTuple):
    """A default that is used if a file omits a number.

    path : The path of the number in the file.
    row : The key in `MEDIANS`.
    kind : The type of chip over which the median is taken.
    times : The quantity multiplied by a median ratio.
    cores : The assumed number of cores.
    """

    path: str
    row: str
    kind: str
    times: Quantity | None = None
    cores: float | None = None

    @property
    def quantity(self) -> Quantity:
        """The value as a quantity, in the form used in files."""
        if self.cores is not None:
            return Quantity(si=self.cores, text=f"{self.cores:.0f}", source=self.path)
        raw = MEDIANS[self.row].by_kind[self.kind]
        si, text = QuantityReader(MEDIANS[self.row].dimension).si(raw), str(raw)
        if self.times is not None:
            si, text = si * self.times.si, f"{text} x {self.times.text}"
        return Quantity(si=si, text=text, source=self.path)

    @property
    def basis(self) -> str:
        """A phrase that names the chips behind the median."""
        whose = _MANY.get(self.kind, f"chips of kind {self.kind}")
        if self.cores is not None:
            most = MEDIANS[self.row].by_kind[self.kind]
            return (
                f"from the median peak and bandwidth per core of {whose} with a known number of "
                f"cores, at most {most:,}"
            )
        return f"median of {whose} for which it is known"


HOST_LINK = Default("links.scale_up.bandwidth", "links.host", "pcie")
"""The assumed host link of a chip whose file gives no link at all, so that host reads take time."""

_MANY = {
    "all": "all chips",
    "gpu": "GPUs",
    "tpu": "TPUs",
    "wafer": "wafers",
    "host": "hosts",
    "pcie": "chips on PCIe",
}
_OF_LINKS = ("domain", "latency")
_OF_MEMORIES = ("link", "shared_by")
_WHOLE_BOXES = ("wafer", "apple")  # chip types whose published power is for the whole box


@once
def defaults_of(hardware: Hardware) -> tuple[Default, ...]:
    """List the defaults used for numbers missing from a chip's file."""
    return tuple(_defaults_of(hardware))


@once
def completed(hardware: Hardware) -> Hardware:
    """Return the chip with a default for each number missing from its file.

    Fitted per-core speeds apply to GPU cores. On chips with other cores, cores set no limit unless
    the file gives their speed, even if it gives their number.
    """
    if hardware.cores is not None and hardware.kind not in MEDIANS["cores"].by_kind:
        hardware = hardware.model_copy(update={"cores": None})
    defaults = {default.path: default for default in defaults_of(hardware)}
    if not defaults:
        return hardware

    def filled(start: str, *names: str) -> dict[str, object]:
        extra = ((name, defaults.get(start + name)) for name in names)
        return {name: default.quantity for name, default in extra if default}

    links = {
        name: link and link.model_copy(update=filled(f"links.{name}.", *_OF_LINKS))
        for name, link in hardware.links
    }
    memory = [
        tier.model_copy(update=filled(f"memory.{tier.name}.", *_OF_MEMORIES))
        for tier in hardware.memory
    ]
    power = hardware.power
    sources = {path: Source(title=default.basis) for path, default in defaults.items()}
    pieces = {
        **filled("", "cores", "vector"),
        "links": hardware.links.model_copy(update=links),
        "memory": memory,
        "power": power and power.model_copy(update=filled("power.", "all_in")),
        "sources": {**hardware.sources, **sources},
    }
    return hardware.model_copy(update=pieces)


def _defaults_of(hardware: Hardware) -> Iterator[Default]:
    chip_type = hardware.kind
    if hardware.cores is None and chip_type in OF_A_CORE:
        yield Default("cores", "cores", chip_type, cores=_assumed_cores(hardware, chip_type))
    # A host's cores unpack weights at their peak rates, and layer regions do not unpack any.
    if hardware.vector is None and chip_type != "host" and hardware.execution == "sequential":
        yield from _default("vector", "vector", chip_type)
    for name, link in hardware.links:
        is_bus = name == "scale_out" and hardware.is_bridged
        for field in _OF_LINKS if link and not is_bus else ():
            if field not in link.given:
                yield from _default(path := f"links.{name}.{field}", path, chip_type)
    up = hardware.links.scale_up
    is_crossed = hardware.execution == "spatial" and hardware.links.scale_out is None
    if is_crossed and up and up.latency is None and chip_type not in ("lpu", "tpu"):
        yield from _default("links.scale_up.latency", "links.scale_out.latency", chip_type)
    power = hardware.power
    if power and power.all_in is None and chip_type not in _WHOLE_BOXES:
        yield from _default(path := "power.all_in", path, chip_type, power.chip)
    for tier in hardware.memory:
        for field in _OF_MEMORIES if tier.where in ("host", "disk") else ():
            if field not in tier.given:
                yield from _default(f"memory.{tier.name}.{field}", f"memory.{field}", tier.where)


def _assumed_cores(hardware: Hardware, chip_type: str) -> float:
    """Estimate the number of cores of a chip whose file gives none."""
    peak, bandwidth = OF_A_CORE[chip_type]
    peaks = (rate.si for name, rate in hardware.peak.items() if name in ("bf16", "fp16"))
    near = (tier.bandwidth.si for tier in hardware.memory if tier.where not in ("host", "disk"))
    cores = max(
        max(peaks) / QuantityReader("compute rate").si(peak),
        max(near, default=0.0) / QuantityReader("bandwidth").si(bandwidth),
    )
    return float(min(ceil(cores), QuantityReader("amount").si(MEDIANS["cores"].by_kind[chip_type])))


def _default(
    path: str, row: str, chip_type: str | None, times: Quantity | None = None
) -> Iterator[Default]:
    by_kind = MEDIANS[row].by_kind if row in MEDIANS else {}
    for group in (chip_type, "all"):
        if group in by_kind:
            yield Default(path, row, str(group), times)
            return
