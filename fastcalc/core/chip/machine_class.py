"""Classes of machines: scored together, and by default running the same software."""

from fastcalc.catalogue.schema import Hardware

YOUNG = "young"
"""The engine of chips that no other was fitted on."""

NARROWLY_FITTED = (YOUNG, "tpu")
"""Engines that foretell little of other chips and servers: kernels in their first months, and the
recipes of one publisher."""

ENGINES = {
    "datacenter": "vllm",
    "consumer": "llama-cpp",
    "apple": "llama-cpp",
    "unified": "llama-cpp",
    "wafer": "cerebras",
    "lpu": "groq",
    "rdu": "sambanova",
    "npu": YOUNG,
    "tpu": "tpu",
}
"""The engine taken for a class of machine where none is named."""


def class_of(hardware: Hardware) -> str:
    """Return the class of a chip.

    ``datacenter`` and ``consumer`` (workstation cards among them) for GPUs, ``unified`` for GPUs
    that share their memory with a host (GB10, Strix Halo, Jetson), and otherwise its kind:
    ``apple``, ``wafer``, ``lpu``, ``rdu``, ``tpu``, ``npu``, ``cpu``.
    """
    if hardware.kind == "gpu":
        return "datacenter" if hardware.market == "datacenter" else "consumer"
    return "unified" if hardware.kind == "soc" else hardware.kind


def engine_of_class(hardware: Hardware) -> tuple[str, bool]:
    """Return the engine for a chip's class, and whether it is borrowed from another class."""
    kind = class_of(hardware)
    if kind in ENGINES:
        return ENGINES[kind], ENGINES[kind] in NARROWLY_FITTED
    return ENGINES["wafer" if hardware.execution == "spatial" else "datacenter"], True
