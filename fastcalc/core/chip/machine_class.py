"""Classes of machines: scored together, and by default running the same software."""

from fastcalc.catalogue.schema import Hardware

YOUNG = "young"
"""The engine of chips that no other was fitted on."""

NEURON = "neuron"
"""The engine of Trainium and Inferentia, whose maker compiles whole passes."""

OF_ARCHITECTURES = (("neuroncore", NEURON), ("dimc", "d-matrix"))
"""Engines of one maker's chips, by how their architectures begin."""

NARROWLY_FITTED = (YOUNG, NEURON, "tpu")
"""Engines that predict little of other chips and servers: kernels in their first months, and
what one publisher measured."""

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
    """Class of a chip.

    ``datacenter`` and ``consumer`` (workstation cards among them) for GPUs, ``unified`` for GPUs
    that share their memory with a host (GB10, Strix Halo, Jetson), and otherwise its kind:
    ``apple``, ``wafer``, ``lpu``, ``rdu``, ``tpu``, ``npu``, ``cpu``.
    """
    if hardware.kind == "gpu":
        return "datacenter" if hardware.market == "datacenter" else "consumer"
    return "unified" if hardware.kind == "soc" else hardware.kind


def engine_of_class(hardware: Hardware) -> tuple[str, bool]:
    """Engine for a chip's class or cores, and whether it predicts little of it."""
    for beginning, engine in OF_ARCHITECTURES:
        if (hardware.architecture or "").startswith(beginning):
            return engine, engine in NARROWLY_FITTED
    chip_class = class_of(hardware)
    if chip_class in ENGINES:
        return ENGINES[chip_class], ENGINES[chip_class] in NARROWLY_FITTED
    return ENGINES["wafer" if hardware.execution == "spatial" else "datacenter"], True
