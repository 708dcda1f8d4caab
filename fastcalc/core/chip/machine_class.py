"""Classes of machines, whose predictions are scored together and share a default engine."""

from fastcalc.catalogue.schema import Hardware

YOUNG = "young"
"""The engine for chips on which no other engine was fitted."""

NEURON = "neuron"
"""The engine for Trainium and Inferentia, whose compiler compiles whole steps."""

OF_ARCHITECTURES = (("neuroncore", NEURON), ("dimc", "d-matrix"))
"""The engines for chips of a single vendor, by prefix of the architecture."""

SRAM_CLASSES = ("wafer", "lpu", "rdu")
"""Chips built around fast on-chip memory, known only from the speeds of services."""

NARROWLY_FITTED = (YOUNG, NEURON, "tpu")
"""Engines that predict little about other chips and servers, because they were fitted on early
kernels or on the measurements of a single publisher."""

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
"""The default engine of each machine class."""


def class_of(hardware: Hardware) -> str:
    """Return the class of a chip, which determines its default engine.

    The class is ``datacenter`` or ``consumer`` (which includes workstation cards) for GPUs,
    ``unified`` for GPUs that share their memory with a host (GB10, Strix Halo, Jetson), and
    otherwise its kind: ``apple``, ``wafer``, ``lpu``, ``rdu``, ``tpu``, ``npu``, ``cpu``.
    """
    if hardware.kind == "gpu":
        return "datacenter" if hardware.market == "datacenter" else "consumer"
    return "unified" if hardware.kind == "soc" else hardware.kind


def engine_of_class(hardware: Hardware) -> tuple[str, bool]:
    """Choose the engine for a chip, and say whether it predicts little about the chip."""
    for beginning, engine in OF_ARCHITECTURES:
        if (hardware.architecture or "").startswith(beginning):
            return engine, engine in NARROWLY_FITTED
    chip_class = class_of(hardware)
    if chip_class in ENGINES:
        return ENGINES[chip_class], ENGINES[chip_class] in NARROWLY_FITTED
    return ENGINES["wafer" if hardware.execution == "spatial" else "datacenter"], True
