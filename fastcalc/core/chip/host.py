"""The user's memory options: the host, what runs on it, and where data is placed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.schema.quantities import QuantityReader
from fastcalc.catalogue.store import Catalogue
from fastcalc.catalogue.units import QuantityError
from fastcalc.core.chip.machine_class import class_of
from fastcalc.core.chip.tier import OWN_MEMORY, HostUse, MemoryChoice
from fastcalc.core.model.kinds import KINDS
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import shown

WRITTEN = "host"
"""The id of a host that is defined by a flag."""

_SLOTS = 8
"""The number of chips per host for a host defined by a flag; eight is usual in servers."""

_DIMENSIONS = {"link": "bandwidth", "compute": "compute rate"}
_NO_CORES = "1 MFLOP/s"
_STREAMS = (
    "the compute rate of the host is not specified, so offloaded weights are streamed over the "
    f"link; add compute=FLOP/s to {option('host')} to compute on the host"
)

_USUAL_CORES = "3 TFLOP/s"
"""The compute rate of the slowest host in the catalogue, measured with llama.cpp
(hardware/ddr4-2ch.yaml)."""
_TAKEN = (
    f"the host is assumed to compute at {_USUAL_CORES}, like ddr4-2ch; set its rate with "
    f"compute=FLOP/s in {option('host')}"
)


@once
def with_usual_cores(memory: MemoryChoice, engine: Engine) -> MemoryChoice:
    """Give the host a typical compute rate if it has none and the engine computes on the host.

    llama.cpp always computes offloaded layers on the host. An assumed rate is taken back under an
    engine that does not.
    """
    host, computes = memory.host, engine.program == "llama-cpp"
    if host is None or memory.note != (_STREAMS if computes else _TAKEN):
        return memory
    if not computes:
        return replace(memory, host=_host_of(host.name), use="stream", note=_STREAMS)
    cores = _host_of(f"{host.name},compute={_USUAL_CORES}").model_copy(update={"name": host.name})
    return replace(memory, host=cores, use=None, note=_TAKEN)


_USUAL_HOST = "ddr5-2ch"


def shares_memory_with_host(chip: Hardware) -> bool:
    """Check whether chip and host share the same memory, which rules out offloading."""
    return class_of(chip) in ("apple", "unified") or chip.execution == "spatial"


def with_gpu_layers(
    catalogue: Catalogue, chip: Hardware, model: Model, memory: MemoryChoice
) -> MemoryChoice:
    """Add a default host for the layers that are not on the card, unless the user specifies one.

    If no host is needed, all layers stay on the card.
    """
    flag = option("n_cpu_moe" if memory.gpu_layers is None else "n_gpu_layers")
    if shares_memory_with_host(chip):
        raise InputError(f"{flag}: {chip.id} has no host memory beside its own; leave it out")
    work = workload(model)
    if memory.cpu_moe_layers is not None and not work.experts:
        raise InputError(f"{option('n_cpu_moe')}: {model.id} has no routed experts; leave it out")
    if memory.host is not None:
        return memory
    is_all = memory.gpu_layers is None or memory.gpu_layers > work.layers
    if is_all and not memory.cpu_moe_layers:
        return replace(memory, gpu_layers=None, cpu_moe_layers=None)
    note = f"the host is taken to be {_USUAL_HOST}; name yours with {option('host')}"
    return replace(memory, host=catalogue.hardware(_USUAL_HOST), note=note)


def memory_choice(
    catalogue: Catalogue,
    host: str | Path | Hardware | Mapping[str, str | float] | None,
    use: str | None = None,
    place: str | Mapping[str, str] | None = None,
    prefix_tier: str | None = None,
) -> MemoryChoice:
    """Build the memory options from the user's flags.

    catalogue : The catalogue in which hosts are looked up.
    host : A host name, or host specifications: ``dram=256GiB@300GB/s,link=64GB/s``; its cores are
        used only if ``compute=`` is given.
    use : ``stream`` or ``compute``; by default whichever is faster.
    place : The memory for each category of bytes: ``experts=host,kv=HBM3``.
    prefix_tier : The memory from which cached prompt prefixes are loaded.
    """
    if not (host or use or place or prefix_tier):
        return OWN_MEMORY
    if use is not None and use not in get_args(HostUse):
        raise InputError(f"{option('host_use')} {shown(use)}: write stream or compute")
    if use is not None and host is None:
        raise InputError(f"{option('host_use')} {use} needs a host; name one with {option('host')}")
    hardware = None
    if host is not None:
        if isinstance(host, Mapping) or (isinstance(host, str) and "=" in host):
            hardware = _host_of(host)
        else:
            hardware = catalogue.hardware(host)
        if hardware.kind != "host":
            raise InputError(
                f"{option('host')} {shown(host)}: {hardware.id} is no host; 'fastcalc list "
                "hardware' shows those of kind host, or write its numbers: "
                "dram=256GiB@300GB/s,link=64GB/s"
            )
    rate, note = hardware and hardware.rate("bf16"), None
    if rate and rate.text == _NO_CORES:
        if use == "compute":
            raise InputError(
                f"{option('host_use', 'compute')}: add compute=FLOP/s of its cores to "
                f"{option('host')}"
            )
        note = None if use else _STREAMS
        use = "stream"
    return MemoryChoice(
        hardware, cast(HostUse | None, use), _places_of(place), prefix_tier, note=note
    )


def _pairs(typed: str | Mapping[str, object]) -> list[tuple[str, str]]:
    """Split comma-separated ``KEY=VALUE`` pairs, or a mapping, into keys and values."""
    if isinstance(typed, Mapping):
        return [(key, str(setting)) for key, setting in typed.items()]
    items = (item.partition("=")[::2] for item in typed.split(","))
    return [(key.strip(), setting.strip()) for key, setting in items]


def _host_of(typed: str | Mapping[str, object]) -> Hardware:
    items = _pairs(typed)
    settings, text = dict(items), ",".join(map("=".join, items))
    unknown = settings.keys() - {"dram", "chips", *_DIMENSIONS}
    if unknown or len(settings) < len(items) or not {"dram", "link"} <= settings.keys():
        raise InputError(
            f"{option('host')} {shown(text)}: write dram=SIZE@BANDWIDTH and, after commas, "
            "link=BANDWIDTH of one chip, one way; compute=FLOP/s of its cores; chips=N sharing it"
        )
    size, _, bandwidth = settings["dram"].partition("@")
    numbers = {"size": size, "bandwidth": bandwidth}
    try:
        for dimension, number in numbers.items():
            QuantityReader(dimension).si(number)
        for name in settings.keys() & _DIMENSIONS.keys():
            QuantityReader(_DIMENSIONS[name]).si(settings[name])
        sharing = settings.get("chips", str(_SLOTS))
        chips = QuantityReader("amount").si(int(sharing) if sharing.isdecimal() else sharing)
    except QuantityError as error:
        raise InputError(f"{option('host')} {shown(text)}: {error.sentence}") from error
    memory = {
        "name": "DRAM",
        "capacity": size,
        "bandwidth": bandwidth,
        "where": "host",
        "link": settings.get("link"),
        "shared_by": chips,
    }
    return Hardware.model_validate(
        {
            "id": WRITTEN,
            "name": text,
            "vendor": "given",
            "kind": "host",
            "scope": "one host",
            "memory": [memory],
            "peak": {"bf16": settings.get("compute", _NO_CORES)},
        }
    )


def _places_of(typed: str | Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    placements: dict[str, str] = {}
    listed_kinds: list[str] = []
    for group, memory in _pairs(typed) if typed else ():
        if group not in (*KINDS, "weights") or not memory or group in listed_kinds:
            raise InputError(
                f"{option('place')} {shown(typed)}: write KIND=MEMORY, separated by commas; kinds "
                f"are weights, {', '.join(KINDS)}; memories as 'fastcalc show' names them, or host"
            )
        groups = [name for name in KINDS if name != "kv"] if group == "weights" else [group]
        placements |= dict.fromkeys(groups, memory)
        listed_kinds.append(group)
    return tuple(placements.items())
