"""A scenario: one model on one chip type with one engine."""

from dataclasses import dataclass, field
from functools import cached_property

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import with_usual_cores
from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.model.workload import Workload, workload
from fastcalc.core.pricing import Pricing, Quote
from fastcalc.core.sharding import Sharding
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError


@dataclass(frozen=True)
class Scenario:
    """A question to answer: one model on one chip type with one engine, at several batch sizes."""

    hardware: Hardware
    model: Model
    engine: Engine
    batches: tuple[int, ...]
    traffic: Traffic
    weights: str | None = None
    kv: str | None = None
    sharding: Sharding = field(default_factory=Sharding)
    pricing: Pricing = field(default_factory=Pricing)
    engine_is_borrowed: bool = False
    ignores_ranks: bool = False
    memory: MemoryChoice = OWN_MEMORY

    def __post_init__(self) -> None:
        """Decide whether the host computes, which depends on the engine."""
        object.__setattr__(self, "memory", with_usual_cores(self.memory, self.engine))

    @cached_property
    def work(self) -> Workload:
        """The model in the number formats of this scenario, with its bytes and FLOPs counted."""
        weights = self.weights or default_weights(self.model, self.engine)
        cache = cache_format(self.model, self.engine, self.hardware, weights, self.kv)
        return workload(self.model, weights, cache)

    @cached_property
    def quote(self) -> Quote:
        """The price per chip-hour and where it comes from."""
        return self.pricing.quote(self.hardware)


def default_weights(model: Model, engine: Engine) -> str | None:
    """Choose the weight format of an engine's files for a model, or None if published as is.

    For models with MXFP4 experts and 16-bit weights elsewhere, llama.cpp stores all others in Q8_0:
    108 of the 687 tensors of gpt-oss-120b are mxfp4 and 146 q8_0, 59.02 GiB
    (ggml-org/llama.cpp#15253). It has no 8-bit floats (ggml-org/llama.cpp#14762), so that weights
    published in them are converted to Q8_0 as well.
    """
    has_mxfp4 = model.expert_format == "mxfp4"
    is_converted = model.weight_format == "fp8" or (has_mxfp4 and model.weight_format == "bf16")
    if not is_converted or engine.program != "llama-cpp":
        return None
    return "mxfp4-experts-q8_0" if has_mxfp4 else "q8_0"


def cache_format(
    model: Model,
    engine: Engine,
    hardware: Hardware,
    weights: str | None,
    requested: str | None = None,
) -> str:
    """Choose the cache format of a deployment: as requested, or the engine's, or the model's own.

    weights : The weight format, on which the engine's cache format may depend, or None for the
        model's own.
    """
    for default in engine.cache_formats:
        is_open = default.is_default if requested is None else requested in default.replaces
        if is_open and default.is_for(model, weights, hardware):
            return default.cache
    return requested or model.kv_format


def check_traffic(scenario: Scenario) -> None:
    """Raise an error if the requests do not fit in the model's context window."""
    traffic = scenario.traffic
    description = (
        f"a context of {traffic.context:,.0f} tokens"
        if traffic.context > traffic.prompt + traffic.output
        else f"prompt + output = {traffic.prompt + traffic.output:,.0f} tokens"
    )
    check_context(scenario.model, traffic.longest, description)


def check_context(model: Model, tokens: float, description: str) -> None:
    """Raise an error if a sequence does not fit in the model's context window.

    tokens : The final length of a sequence.
    description : How to name these tokens in the error message.
    """
    if model.max_context is not None and tokens > model.max_context:
        raise InputError(f"{description} exceeds the {model.max_context:,} tokens of {model.id}")


def engine_for(catalogue: Catalogue, hardware: Hardware) -> tuple[Engine, bool]:
    """Choose the default engine of a chip, and report whether it was fitted on other chips."""
    name, is_borrowed = engine_of_class(hardware)
    return catalogue.engine(name), is_borrowed
