"""Schema of an engine file."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field, create_model

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS, STARTED_WITH
from fastcalc.catalogue.schema.hardware import Hardware
from fastcalc.catalogue.schema.models import Model
from fastcalc.catalogue.schema.own_rows import OwnDeployment
from fastcalc.catalogue.schema.quantities import (
    CacheFormatName,
    Entry,
    Excuses,
    FormatName,
    Identifier,
    JoinedIdentifiers,
    Name,
    NamedEntry,
    Source,
)
from fastcalc.errors import InputError
from fastcalc.mentions import option

HalfWidth = Annotated[float, Field(gt=0.0, le=3.0)]

Phase = Literal["decode", "prefill", "served"]
"""The phase to which a range applies: decode, prefill (and TTFT), or mixed serving."""


ENOUGH = 3  # publishers per chip, engine and phase above which another one adds little


def width_name(phase: Phase, *, has_experts: bool, machine: str, publishers: int) -> str:
    """Return the name of the `RangeWidths` field that applies to a speed.

    machine : The class of the chip.
    publishers : The number of publishers that measured the phase with the engine on this chip.
    """
    if phase == "prefill" and publishers >= ENOUGH:
        return "prefill_measured"
    if phase == "served" and has_experts:
        return "served_experts"
    if phase == "decode" and machine in ("apple", "unified"):
        return "decode_unified"
    is_datacenter = phase == "decode" and machine == "datacenter" and not has_experts
    return "decode_datacenter" if is_datacenter else phase


class HalfWidths(Entry):
    """The half-widths of a range below and above an expected speed, as logarithms."""

    below: HalfWidth
    above: HalfWidth


class RangeWidths(Entry):
    """The calibrated 80% ranges, that is, the scatter of speeds as logarithms.

    decode, prefill, served, served_experts : The half-widths below and above an expected speed, by
        measured phase.
    decode_datacenter : The half-widths for decode of dense models on datacenter GPUs, which run few
        programs at fixed clocks; None to use ``decode``.
    decode_unified : The half-widths for decode with unified memory, whose kernels mostly wait for
        that memory; None to use ``decode``.
    prefill_measured : The half-widths for prefill on chips where at least three publishers measured
        it with the engine, so that its kernels are well known; None to use ``prefill``.
    unseen : The factor on the width for chips on which nobody has measured the engine.
    """

    decode: HalfWidths
    prefill: HalfWidths
    served: HalfWidths
    served_experts: HalfWidths
    decode_datacenter: HalfWidths | None = None
    decode_unified: HalfWidths | None = None
    prefill_measured: HalfWidths | None = None
    unseen: Annotated[float, Field(ge=1.0, le=10.0)]
    basis: str

    def of(self, phase: Phase, *, has_experts: bool, machine: str, publishers: int) -> HalfWidths:
        """Return the half-widths for a phase, for mixture-of-experts or dense models.

        machine, publishers : As for `width_name`.
        """
        widths = {
            "decode": self.decode,
            "decode_datacenter": self.decode_datacenter or self.decode,
            "decode_unified": self.decode_unified or self.decode,
            "prefill": self.prefill,
            "prefill_measured": self.prefill_measured or self.prefill,
            "served": self.served,
            "served_experts": self.served_experts,
        }
        name = width_name(phase, has_experts=has_experts, machine=machine, publishers=publishers)
        return widths[name]


class SpeedRange(Entry):
    """An explicit 80% range from ``expected / below`` to ``expected * above``."""

    below: Annotated[float, Field(ge=1.0, le=100.0)]
    above: Annotated[float, Field(ge=1.0, le=100.0)]
    basis: str


Ranges = dict[
    Literal["decode", "prefill", "served", "unseen", "offload", "reserve", "free"], SpeedRange
]
"""Explicit ranges by subject, which replace calibrated ranges. ``unseen`` applies to all speeds
without another range, ``offload`` to models that are partly on a host, and ``reserve`` to memory
used for neither weights nor caches."""


if TYPE_CHECKING:  # code accesses the values of a file by name
    _Declared = Entry
else:
    _Declared = create_model(
        "_Declared",
        __base__=Entry,
        **{name: (parameter.quantity | None, None) for name, parameter in PARAMETERS.items()},
    )


class Parameters(_Declared):
    """The efficiencies and overheads of an engine. Omitted values do not add any time."""


def merged(first: Parameters, *later: Parameters) -> Parameters:
    """Merge parameters. Later values replace earlier ones."""
    changed = {name: value for override in later for name, value in override.given.items()}
    return first.model_copy(update=changed) if changed else first


_KINDS_OF_ATTENTION = {"latent": "mla", "compressed": "compressed"}


class Instead(Entry):
    """An engine that replaces another one for old measurements, or some chips or models.

    kinds, architectures : The chip types and architectures to which it applies; all if omitted.
    attention : The type of attention of the models to which it applies: over latents (``mla``) or
        over ``compressed`` entries; all models if omitted.
    """

    engine: Identifier
    before: Annotated[str, Field(pattern=r"^\d{4}-\d\d$")] | None = None
    kinds: list[str] = []
    architectures: list[Identifier] = []
    attention: Literal["latent", "compressed"] | None = None

    def is_of(self, hardware: Hardware) -> bool:
        """Check whether this replacement applies to a chip."""
        is_kind = not self.kinds or hardware.kind in self.kinds
        return is_kind and (not self.architectures or hardware.architecture in self.architectures)

    def is_for(self, model: Model) -> bool:
        """Check whether this replacement applies to a model."""
        kinds = {block.attention.kind for block in model.blocks if block.attention}
        return self.attention is None or _KINDS_OF_ATTENTION[self.attention] in kinds


class FormatRow(Entry):
    """A statement about formats on the given architectures, or on all of them."""

    architectures: list[Identifier] | None = None
    source: str
    note: str | None = None

    def is_on(self, hardware: Hardware) -> bool:
        """Check whether the statement applies to a chip."""
        return self.architectures is None or hardware.architecture in self.architectures


class DefaultCache(FormatRow):
    """The default cache format of some models on some chips.

    cache : The cache format.
    weights : The weight formats to which it applies, if they are not the model's published format;
        if omitted, it applies to all formats, including the published one.
    models : The models to which it applies, including models that extend them; all if omitted.
    replaces : The formats that may be requested but are replaced by this one.
    is_default : Whether it is also used if no format is requested.
    """

    cache: CacheFormatName
    is_default: bool = True
    weights: list[FormatName] = []
    models: list[Identifier] = []
    replaces: list[CacheFormatName] = []

    def is_on(self, hardware: Hardware) -> bool:
        """Check whether this default applies to a chip. If no chips are listed, it always does."""
        return not self.architectures or super().is_on(hardware)

    def is_for(self, model: Model, weights: str | None, hardware: Hardware) -> bool:
        """Check whether this default applies to a model with the given weight format on a chip."""
        base = (weights or "").partition("+")[0]
        is_copy = base in self.weights and weights != model.format_name
        is_of = not self.models or not {model.id, *model.bases}.isdisjoint(self.models)
        return self.is_on(hardware) and (is_copy or not self.weights) and is_of


class FormatsRun(FormatRow):
    """Lists the formats that an engine can run.

    weights, caches : The formats that may be requested.
    """

    weights: list[FormatName]
    caches: list[CacheFormatName]


class FormatsRefused(FormatRow):
    """Lists the formats with which an engine does not start.

    weights, caches : The formats without a kernel, published or not; an empty list ends the
        refusals, so that inherited rows do not apply.
    """

    weights: list[FormatName] | None = None
    caches: list[CacheFormatName] | None = None


Rank = Literal["tp", "pp", "ep", "dp"]
"""The types of parallelism in a layout."""

RANKS: tuple[Rank, ...] = ("tp", "pp", "ep", "dp")


class SplitMode(Entry):
    """Describes how an engine divides a model among chips, if it only supports some ways.

    ranks : The types of parallelism allowed to have more than one rank.
    flag : The flag that selects this mode on the engine's command line.
    """

    ranks: Annotated[list[Rank], Field(min_length=1)]
    flag: Annotated[str, Field(pattern=r"^-\S+ \S+$")]
    source: str
    note: str | None = None


class WideningKernel(FormatRow):
    """A kernel that multiplies at the 16-bit rate on any chip, usually by upcasting.

    kernel : The name used in the engine's code and logs.
    weights, experts, caches : The formats that it supports for all weights, for routed experts
        only, and for caches.
    """

    kernel: Name
    weights: list[FormatName] = []
    experts: list[FormatName] = []
    caches: list[CacheFormatName] = []


Program = Literal["exllama", "llama-cpp", "mlx", "sglang", "tensorrt-llm", "vllm"]
"""The server programs whose startup rules are known."""

_BESIDE_SHARE = {
    **dict.fromkeys(("chunk_memory", "replica_memory", "joined_memory"), "0 GiB"),
    "runtime_memory": "0.3 GiB",
}
"""The reserve of SGLang if its memory share is specified: 0.3 of 47.54 GiB are in use before it
loads weights on an A6000 (github.com/xorbitsai/inference/issues/3481), and the share applies to the
rest (profile_max_num_token in python/sglang/srt/model_executor/model_runner.py)."""

_RANGE_BESIDE_SHARE = SpeedRange(
    below=1.3, above=2.6, basis="logged starts with a given share (evidence/starts.csv)"
)


class LoweredShare(NamedTuple):
    """The default memory fraction of an engine, and the lower one it uses on a chip."""

    usual: float
    on_chip: float


class Engine(NamedEntry):
    """Describes how efficiently a serving engine uses the hardware.

    program : The server program whose startup rules apply; releases inherit it.
    split_modes : The layouts supported over several chips, default first; empty if all are.
    """

    id: Identifier
    name: Name
    date: Name | None = None
    aliases: list[Identifier] = []
    sources: dict[str, Source] = {}
    extends: JoinedIdentifiers | None = None
    program: Program | None = None
    fitted_on: str
    is_bound: bool = False
    fitted_architectures: list[Identifier] = []
    publishers: dict[Phase, dict[Identifier, int]] = {}
    cache_formats: list[DefaultCache] = []
    formats: list[FormatsRun] = []
    refused: list[FormatsRefused] = []
    widening: list[WideningKernel] = []
    split_modes: list[SplitMode] = []
    parameters: Parameters = Field(default_factory=Parameters)
    architectures: dict[Identifier, Parameters] = {}
    instead: list[Instead] = []
    range_widths: RangeWidths | None = None
    ranges: Ranges | None = None
    own_deployments: list[OwnDeployment] = []
    notes: list[str] = []
    excused: Excuses = {}

    @property
    def default_ranks(self) -> tuple[Rank, ...]:
        """The types of parallelism used by default."""
        return tuple(self.split_modes[0].ranks) if self.split_modes else RANKS

    def split_mode_of(self, ranks: Collection[Rank]) -> SplitMode | None:
        """Return the first split mode that supports all given types of parallelism, or None."""
        return next((mode for mode in self.split_modes if set(ranks) <= {*mode.ranks}), None)

    def stated_range(self, name: Phase | Literal["offload"]) -> SpeedRange | None:
        """Return the explicit range for a subject, or the one for all other subjects."""
        ranges = self.ranges or {}
        return ranges.get(name) or ranges.get("unseen")

    def limited(self, limits: Parameters) -> "Engine":
        """Return the engine with parameters set at startup, which apply to every chip.

        An engine that reserves memory for each prompt token per step derives its memory share from
        that reserve. If the share is specified, the rest of the memory is available for these
        tokens, for attention replicas and for graphs.
        """
        ranges = self.ranges
        if "memory_fraction" in limits.given and "chunk_memory" in self.parameters.given:
            limits = merged(Parameters.model_validate(_BESIDE_SHARE), limits)
            ranges = {**(ranges or {}), "reserve": _RANGE_BESIDE_SHARE}
        by_architecture = {
            key: merged(self._within_budget(values, limits), limits)
            for key, values in self.architectures.items()
        }
        parameters = merged(self._within_budget(self.parameters, limits), limits)
        return self.model_copy(
            update={"parameters": parameters, "architectures": by_architecture, "ranges": ranges}
        )

    def _within_budget(self, parameters: Parameters, limits: Parameters) -> Parameters:
        """Limit the number of sequences to the token budget, at one token per sequence.

        vLLM lowers its default number of sequences to the budget (vllm/engine/arg_utils.py) and
        rejects a larger value (vllm/config/scheduler.py). SGLang's budget (--chunked-prefill-size)
        is for prompts only; llama.cpp decodes more slots than its (-b), and TensorRT-LLM 0.19
        started 2,048 sequences with 1,024 tokens (its issue 4275).
        """
        budget, given = limits.given.get("prompt_chunk"), limits.given.get("max_sequences")
        if budget is None or self.program in ("sglang", "llama-cpp", "tensorrt-llm"):
            return parameters
        if given and given.si > budget.si:
            raise InputError(
                f"{option('max_num_batched_tokens')} {budget.si:,.0f} is less than "
                f"{option('max_num_seqs')} {given.si:,.0f}: each sequence takes a token of a step, "
                f"and {self.id} does not start; raise it, or lower {option('max_num_seqs')}"
            )
        stated = parameters.given
        larger = (name for name in STARTED_WITH["max_num_seqs"] if name in stated)
        return parameters.model_copy(
            update={name: budget for name in larger if stated[name].si > budget.si}
        )

    def lowered_share(self, hardware: Hardware) -> LoweredShare | None:
        """Return the default memory fraction and the lower one used on a chip, or None."""
        usual = self.parameters.given.get("memory_fraction")
        on_chip = self.on(*hardware.groups).given.get("memory_fraction")
        if usual is None or on_chip is None or on_chip.si >= usual.si:
            return None
        return LoweredShare(usual.si, on_chip.si)

    def on(self, *groups: str | None) -> Parameters:
        """Return the parameters for a chip and a model. The last group takes precedence."""
        return _on(self, groups)


@once
def _on(engine: Engine, groups: tuple[str | None, ...]) -> Parameters:
    of_groups = engine.architectures
    return merged(engine.parameters, *(of_groups[key] for key in groups if key in of_groups))
