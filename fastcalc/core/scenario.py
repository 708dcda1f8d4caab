"""A scenario: one model on one chip type with one engine, and the ranks that it requests."""

from dataclasses import dataclass, field, replace
from functools import cached_property

from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.host import with_usual_cores
from fastcalc.core.chip.machine_class import engine_of_class
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.model.workload import Workload, workload
from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.placement.placement import Site
from fastcalc.core.pricing import Pricing, Quote
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.mentions import option


@dataclass(frozen=True)
class Sharding:
    """The chips and ranks requested by the user. None leaves the choice to the placement."""

    chips: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None

    @classmethod
    def of(cls, layout: Layout) -> "Sharding":
        """Convert a layout into an explicit request for each of its ranks."""
        return cls(tp=layout.tp, pp=layout.pp, ep=layout.ep, dp=layout.dp)

    @property
    def cuts_layers(self) -> bool:
        """Whether layers are sharded or copied, which chips with unsplit layers do not support."""
        return any((ranks or 1) > 1 for ranks in (self.tp, self.ep, self.dp))

    @property
    def names_ranks(self) -> bool:
        """Whether at least one number of ranks is specified."""
        return any(ranks is not None for ranks in (self.tp, self.pp, self.ep, self.dp))

    def on(self, hardware: Hardware, *, is_alone: bool) -> "Sharding":
        """Adapt the request to a chip type.

        Chips that pipeline whole layers ignore a single rank per layer. Several ranks are kept,
        which leads to an error, or dropped if other requested chips support them.

        is_alone : Whether this is the only requested chip, or no other requested chip shards
            layers.
        """
        if hardware.execution != "spatial":
            return self
        tp, ep, dp = (
            ranks if is_alone and ranks != 1 else None for ranks in (self.tp, self.ep, self.dp)
        )
        return replace(self, tp=tp, ep=ep, dp=dp)

    def layout(self, site: Site) -> Layout:
        """Build the layout with the requested ranks on a site."""
        tp, pp, dp = self.tp or 1, self.pp or 1, self.dp or 1
        ranks = None if self.chips is None else self.chips * site.machine.ranks
        if ranks is not None and self.pp is None and tp == dp == 1 and not site.defaults_to("dp"):
            pp = ranks
        if ranks is not None and tp * pp * dp != ranks:
            if site.machine.is_spatial:
                site.check(Layout(tp, pp, self.ep or 1, dp))
                raise LayoutError(
                    "chips other than pp on chips that pipeline whole layers",
                    f"{option('chips')} {self.chips} is not {option('pp')} {pp}, and "
                    f"{site.machine.hardware.id} pipelines whole layers: give one of the two",
                )
            if self.dp is None and ranks % (tp * pp) == 0 and site.defaults_to("dp"):
                dp = ranks // (tp * pp)
            else:
                of = f", of {site.machine.ranks} ranks each," if site.machine.ranks > 1 else ""
                copied = (
                    f"; attention copied over {ranks} of them, as with SGLang's "
                    f"--enable-dp-attention, is {option('tp')} {ranks // dp} {option('dp')} {dp}"
                )
                is_copied = dp > 1 and self.tp == ranks and ranks % dp == 0
                raise LayoutError(
                    "chips other than tp x pp x dp",
                    f"{option('chips')} {self.chips}{of} is not tp x pp x dp = {tp} x {pp} x {dp} "
                    f"= {tp * pp * dp}{copied * is_copied}",
                )
        return site.check(Layout(tp, pp, self.ep or site.expert_ranks(tp, dp), dp))


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
