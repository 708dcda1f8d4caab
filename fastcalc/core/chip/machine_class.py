"""Classes of machines that share a default engine and whose predictions are scored together."""

from fastcalc.catalogue.schema import Hardware

YOUNG = "young"
"""The engine for chips on which no other engine has been fitted."""

NEURON = "neuron"
"""The engine for Trainium and Inferentia, whose compiler compiles entire steps."""

OF_ARCHITECTURES = (("neuroncore", NEURON), ("dimc", "d-matrix"))
"""The engines for chips of a single vendor, by architecture prefix."""

SRAM_CLASSES = ("wafer", "lpu", "rdu")
"""Chips built around fast on-chip memory, known only from the speeds of hosted services."""

NARROWLY_FITTED = (YOUNG, NEURON, "tpu")
"""Engines that say little about other chips and servers, because they were fitted on early kernels
or on measurements by a single publisher."""

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
    """Choose the engine for a chip, and return whether it predicts little about this chip."""
    for beginning, engine in OF_ARCHITECTURES:
        if (hardware.architecture or "").startswith(beginning):
            return engine, engine in NARROWLY_FITTED
    chip_class = class_of(hardware)
    if chip_class in ENGINES:
        return ENGINES[chip_class], ENGINES[chip_class] in NARROWLY_FITTED
    return ENGINES["wafer" if hardware.execution == "spatial" else "datacenter"], True
