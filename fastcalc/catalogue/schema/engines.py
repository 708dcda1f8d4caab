"""What an engine file may hold."""

from typing import Annotated

from pydantic import Field

from fastcalc.catalogue.schema.quantities import (
    Bandwidth,
    ComputeRate,
    Count,
    Entry,
    Excuses,
    Factor,
    Fraction,
    Identifier,
    Number,
    Source,
    Time,
)


class SpeedRange(Entry):
    """An 80 % range around an expected speed: ``expected / below`` to ``expected * above``."""

    below: Annotated[float, Field(ge=1.0, le=100.0)]
    above: Annotated[float, Field(ge=1.0, le=100.0)]
    basis: str


class Ranges(Entry):
    """Speed ranges by class; ``unseen`` serves chips and models that nothing was fitted on."""

    dense: SpeedRange | None = None
    moe: SpeedRange | None = None
    unseen: SpeedRange


class Parameters(Entry):
    """What software reaches and what it pays; a value left out costs nothing.

    Fractions are of the vendor's peak. Times are paid once per what their name says.
    """

    bandwidth_fraction: Fraction | None = None
    bandwidth_per_core: Bandwidth | None = None
    cache_read_fraction: Fraction | None = None
    compute_fraction: Fraction | None = None
    compute_per_core: ComputeRate | None = None
    grouped_gemm_fraction: Fraction | None = None
    block_gemm_fraction: Fraction | None = None
    dequantization_operations: Number | None = None
    link_fraction: Fraction | None = None
    collective_latency: Time | None = None
    decode_layer_floor: Time | None = None
    prefill_layer_floor: Time | None = None
    expert_layer_extra: Number | None = None
    latent_layer_extra: Number | None = None
    sequence_overhead: Time | None = None
    request_overhead: Time | None = None
    expert_correlation: Fraction | None = None
    expert_imbalance: Factor | None = None
    memory_fraction: Fraction | None = None
    prompt_chunk: Count | None = None
    max_sequences: Count | None = None


class Engine(Entry):
    """How well one piece of software uses hardware."""

    id: Identifier
    name: str
    date: str | None = None
    aliases: list[Identifier] = []
    sources: dict[str, Source] = {}
    fitted_on: str
    is_bound: bool = False
    fitted_architectures: list[Identifier] = []
    parameters: Parameters = Field(default_factory=Parameters)
    architectures: dict[Identifier, Parameters] = {}
    ranges: Ranges | None = None
    notes: list[str] = []
    excused: Excuses = {}

    def on(self, architecture: str | None) -> Parameters:
        """Return the parameters for a chip's architecture, overrides applied."""
        override = self.architectures.get(architecture or "")
        if override is None:
            return self.parameters
        known = override.model_dump(exclude_none=True)
        return self.parameters.model_copy(update={key: getattr(override, key) for key in known})
