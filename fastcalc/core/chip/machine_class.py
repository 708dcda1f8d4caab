"""Classes of machines: each class is scored together and shares a default engine."""

from fastcalc.catalogue.schema import Hardware

YOUNG = "young"
"""Engine for chips on which no other engine was fitted."""

NEURON = "neuron"
"""Engine for Trainium and Inferentia, whose compiler compiles whole passes."""

OF_ARCHITECTURES = (("neuroncore", NEURON), ("dimc", "d-matrix"))
"""Engines for one vendor's chips, by the prefix of their architecture."""

SRAM_CLASSES = ("wafer", "lpu", "rdu")
"""Chips designed for fast on-chip memory, which are known only from the speeds of services."""

NARROWLY_FITTED = (YOUNG, NEURON, "tpu")
"""Engines that predict little about other chips and servers: fitted on kernels in their first
months, or on the measurements of a single publisher."""

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
"""Default engine of each class of machine."""


def class_of(hardware: Hardware) -> str:
    """Class of a chip.

    ``datacenter`` and ``consumer`` (workstation cards among them) for GPUs, ``unified`` for GPUs
    that share their memory with a host (GB10, Strix Halo, Jetson), and otherwise its kind:
    ``apple``, ``wafer``, ``lpu``, ``rdu``, ``tpu``, ``npu``, ``cpu``.
    """
    if hardware.kind == "gpu":
        return "datacenter" if hardware.market == "datacenter" else "consumer"
    return "unified" if hardware.kind == "soc" else hardware.kind


def engine_of_class(hardware: Hardware) -> tuple[str, bool]:
    """Engine for a chip's class or cores, and whether it predicts little about the chip."""
    for beginning, engine in OF_ARCHITECTURES:
        if (hardware.architecture or "").startswith(beginning):
            return engine, engine in NARROWLY_FITTED
    chip_class = class_of(hardware)
    if chip_class in ENGINES:
        return ENGINES[chip_class], ENGINES[chip_class] in NARROWLY_FITTED
    return ENGINES["wafer" if hardware.execution == "spatial" else "datacenter"], True
