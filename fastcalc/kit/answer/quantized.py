"""Find quantized weights that fit on chips too small for the requested format."""

from dataclasses import replace

from fastcalc.core.chip.formats_run import formats_run
from fastcalc.core.model.workload import workload
from fastcalc.core.outcome import locate
from fastcalc.core.start import StartLocation, start_location
from fastcalc.kit.answer.numbers_as_text import size
from fastcalc.mentions import option
from fastcalc.written import many

_FOUR_BITS = "awq-int4-g128"
"""A format that these programs run on NVIDIA GPUs since Turing without 4-bit units."""

_PROGRAMS = ("vllm", "sglang", "tensorrt-llm")

_SMALLER = 0.75
"""Maximum size of these weights, relative to those requested, for suggesting them."""


def fitting_quantization(location: StartLocation) -> StartLocation | None:
    """Find the highest precision below the requested one with which the server starts, if any."""
    if location.fits or location.refused:
        return None
    scenario, asked = location.scenario, float(location.placement.work.weight_bytes)
    largest = dict.fromkeys(formats_run(scenario.engine, scenario.hardware).weights, asked)
    if scenario.engine.program in _PROGRAMS and scenario.hardware.vendor == "NVIDIA":
        largest[_FOUR_BITS] = _SMALLER * asked
    sizes = {
        name: float(workload(scenario.model, name, scenario.kv).weight_bytes) for name in largest
    }
    narrower = [name for name in sizes if sizes[name] < largest[name]]
    for name in sorted(narrower, key=sizes.__getitem__, reverse=True):
        quantized = start_location(locate(replace(scenario, weights=name)))
        if quantized.verdict == "fits":
            return quantized
    return None


def quantized_note(quantized: StartLocation) -> str:
    """Return a sentence on the quantized weights that fit: their size, and the chips."""
    chip, work = quantized.scenario.hardware.id, quantized.placement.work
    chips = many(quantized.placement.layout.chips, "chip")
    weights = f"quantized weights of {size(float(work.weight_bytes))}"
    return f"{chip}: {weights} fit on {chips}: {option('weights', quantized.scenario.weights)}"
