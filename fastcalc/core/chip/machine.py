"""Numerical description of a chip and of an engine that runs on it; all values broadcast."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.catalogue.chip_defaults import completed
from fastcalc.catalogue.formats import CACHES, FORMATS, NumberFormat
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware, Parameters
from fastcalc.catalogue.schema.engine_parameters import DeclaredParameters
from fastcalc.core.chip.formats_run import widened_by
from fastcalc.core.chip.rates import WorkingRate, fastest_rate, working_rate
from fastcalc.core.chip.reserve import NOTHING, Reserve, reserve_of
from fastcalc.core.chip.tier import MemoryChoice, Tier, own_tiers
from fastcalc.core.chip.tiers import largest_memory, read_first, tier_position, tiers_of
from fastcalc.core.model.kinds import IN_LAYERS, Kinds
from fastcalc.core.model.workload import Workload, outside_core, workload
from fastcalc.formulas.roofline import achieved_bandwidth, achieved_compute
from fastcalc.formulas.types import Array, ArrayLike
from fastcalc.mentions import option

PACKED_ROWS = 16.0
"""The number of rows in the smallest tile of kernels that unpack low-bit weights (E. Frantar et
al., "Marlin," arXiv:2408.11743, sec. 3)."""

FED_BITS = 16
"""The operand width to which an engine's per-core rate refers. [bit]"""


@dataclass(frozen=True, eq=False)
class Chip:
    """The datasheet rates of a chip for the number formats of a model.

    bandwidth : The bandwidth of the fastest memory tier, in bytes per second.
    cores : The number of cores that read and multiply, or infinity if unknown for this type of
        chip.
    products : The rate of matrix products for each category of weights.
    blocks : The fraction of dense weights in mixed-width blocks: 1 for GGUF, otherwise 0.
    vector : The FLOP rate of the vector units, which unpack weights, in FLOP/s.
    link, link_out : The one-way link rates within and beyond the link domain, or infinity without
        links, in bytes per second.
    hop, hop_inside : The latency of one hop beyond and within the domain; 0 within if the engine's
        collective latency includes it, in seconds.
    """

    bandwidth: ArrayLike
    cores: ArrayLike
    products: Kinds[WorkingRate]
    blocks: ArrayLike
    vector: ArrayLike
    link: ArrayLike
    link_out: ArrayLike
    hop: ArrayLike
    hop_inside: ArrayLike


@dataclass(frozen=True, eq=False, init=False)  # inherits the method of 83 fields
class EngineParameters(DeclaredParameters[ArrayLike]):
    """The efficiencies and latency floors of an engine on one chip, as plain numbers."""

    @classmethod
    def of(cls, parameters: Parameters) -> "EngineParameters":
        """Build the parameters from the values of an engine file."""
        return cls(**{name: quantity.si for name, quantity in parameters.given.items()})

    def value(self, name: str) -> ArrayLike:
        """Look up a parameter by the name that engine files use, in SI units."""
        value: ArrayLike = getattr(self, name)
        return value

    def bandwidth(self, chip: Chip) -> Array:
        """Compute how fast the engine reads weights and caches, in bytes per second."""
        return achieved_bandwidth(
            peak=chip.bandwidth,
            fraction=self.bandwidth_fraction,
            cores=chip.cores,
            per_core=self.bandwidth_per_core,
        )

    def rate(self, chip: Chip, product: WorkingRate) -> Array:
        """Compute how fast the engine multiplies matrices, in FLOP/s."""
        return achieved_compute(
            peak=product.peak,
            fraction=self.compute_fraction,
            cores=chip.cores,
            per_core=np.asarray(self.compute_per_core) * (FED_BITS / np.asarray(product.bits)),
        )


class Reached(NamedTuple):
    """Computes the rates that an engine achieves on a chip, independent of the step.

    bandwidth : The bandwidth of long reads, in bytes per second.
    decode, prompt : The rates of products with decoded tokens and with prompt tokens, whose weights
        may be stored in blocks, in FLOP/s.
    least_rows : The minimum number of rows in a tile of dense products.
    """

    bandwidth: Array
    decode: Kinds[Array]
    prompt: Kinds[Array]
    least_rows: ArrayLike


@lru_cache(maxsize=8)  # few: for measured points, these are arrays of megabytes
def reached(chip: Chip, software: EngineParameters) -> Reached:
    """Compute the rates that an engine achieves on a chip. All steps share the result."""
    dense, head, experts, kv = (software.rate(chip, product) for product in chip.products)
    blocks = 1.0 + chip.blocks * (software.block_gemm_fraction - 1.0)
    grouped, rows = software.grouped_gemm_fraction, software.minimum_rows
    is_packed = chip.products.dense.is_unpacked
    return Reached(
        bandwidth=software.bandwidth(chip),
        decode=Kinds(dense, head, experts * grouped, kv),
        prompt=Kinds(dense * blocks, head, experts * blocks * grouped, kv),
        least_rows=rows + is_packed * (np.minimum(rows, PACKED_ROWS) - rows),
    )


@dataclass(frozen=True, eq=False)
class Machine:
    """A chip that runs an engine, prepared for one model.

    hardware, engine : The catalogue entries, with defaults for numbers missing from the chip's
        file.
    tiers : The memories that hold weights and caches, fastest first.
    fastest : The chip's fastest memory, even if nothing is placed there.
    memory : The user's memory options.
    place : For each category of bytes placed by the user, its fraction in each tier.
    prefix : The index of the memory from which cached prefixes are loaded.
    chip, software, peaks : The rates of chip and engine for this workload.
    reserve : The memory that the engine reserves on the chip for this workload.
    draft : The separate draft model, in the cache format of the workload.
    unread_bytes : The weights that the engine loads but does not read in a plain decode step: image
        and audio encoders, and draft layers or the draft model, in bytes.
    """

    hardware: Hardware
    engine: Engine
    tiers: tuple[Tier, ...]
    fastest: Tier
    memory: MemoryChoice
    place: dict[str, tuple[float, ...]]
    prefix: int | None
    chip: Chip
    software: EngineParameters
    peaks: Kinds[float]
    reserve: Reserve
    draft: Workload | None
    unread_bytes: float

    @cached_property
    def ranks(self) -> int:
        """The ranks per chip: its cores if each is exposed as a device, otherwise 1."""
        ranks = self.hardware.ranks
        return int(ranks.si) if ranks and not self.is_spatial else 1

    @property
    def max_sequences(self) -> ArrayLike:
        """The maximum number of sequences in a step of a replica.

        Some engines use a lower default on chips with little memory.
        """
        is_small = largest_memory(self.hardware).capacity < self.software.small_memory
        small = self.software.small_sequences if is_small else inf
        return np.minimum(self.software.max_sequences, small)

    @property
    def shared_context(self) -> float:
        """The context that a replica's sequences share, or infinity without such a limit."""
        is_shared = self.engine.program == "llama-cpp" and self.memory.longest
        return self.memory.longest if is_shared else inf

    @property
    def length_to_start(self) -> float:
        """The sequence length that must fit for the engine to start, or 0 if it always starts.

        SGLang and TensorRT-LLM start anyway and reject requests that are longer than their cache
        (sgl-project/sglang#4048; NVIDIA/TensorRT-LLM#16802).
        """
        starts = self.engine.program in ("sglang", "tensorrt-llm")
        return 0.0 if starts else self.memory.longest

    def sequences_of_context(self, tokens: ArrayLike) -> ArrayLike:
        """Count the sequences of a given length that fit into a replica's context.

        The slots of llama.cpp share its context, or divide it equally if ``-np`` is given without
        ``-kvu``: ggml-org/llama.cpp, tools/server/server.cpp and src/llama-context.cpp, November
        2026.
        """
        context, slots = self.shared_context, self.memory.slots
        if context == inf:
            return inf
        if slots == 1.0:
            return context / np.asarray(tokens)
        return np.where(np.asarray(tokens) <= context / slots, slots, 0.0)

    def chips_of(self, ranks: ArrayLike) -> ArrayLike:
        """Count the chips needed for a number of ranks."""
        return chips_filled(ranks, self.ranks)

    @property
    def tier(self) -> Tier:
        """The fastest memory tier."""
        return self.tiers[0]

    def usable(self, chips: ArrayLike, reserved: ArrayLike = 0.0) -> list[ArrayLike]:
        """Compute how much memory is left for weights and KV cache in each tier, in bytes.

        The engine's reserve is taken from the chip's slowest memory first, then from the next.

        chips : The number of chips in the deployment, since some memories are shared.
        reserved : The memory that the engine reserves on the chip, in bytes.
        """
        fraction = self.software.memory_fraction
        rooms: list[ArrayLike] = [
            tier.capacity * self.reported(tier) * fraction * tier.share(chips)
            for tier in self.tiers
        ]
        near = [at for at, tier in enumerate(self.tiers) if tier.is_near]
        for at in reversed(near if self.reserve != NOTHING else []):
            in_tier = np.minimum(rooms[at], reserved)
            rooms[at], reserved = rooms[at] - in_tier, reserved - in_tier
        return rooms

    def reported(self, tier: Tier) -> ArrayLike:
        """Return the fraction of a memory's capacity that its driver reports."""
        if tier.reported is not None:
            return tier.reported
        return self.software.reported_fraction if tier.is_near else 1.0

    @property
    def is_spatial(self) -> bool:
        """Whether each layer has its own region of the chip."""
        return self.hardware.execution == "spatial"


def chips_filled(ranks: ArrayLike, of_chip: int) -> ArrayLike:
    """Count the chips needed for a number of ranks.

    of_chip : The number of ranks per chip.
    """
    return ranks if of_chip == 1 else np.ceil(np.asarray(ranks) / of_chip)


def parameters_on(
    engine: Engine, hardware: Hardware, models: tuple[str, ...] = ()
) -> EngineParameters:
    """Look up the parameters of an engine on a chip, which chips of the same groups share.

    models : The groups of the model.
    """
    return _parameters_of(engine, (*hardware.groups, *models))


@once
def _parameters_of(engine: Engine, groups: tuple[str, ...]) -> EngineParameters:
    return EngineParameters.of(engine.on(*groups))


@once
def machine(hardware: Hardware, engine: Engine, work: Workload, memory: MemoryChoice) -> Machine:
    """Describe a chip under an engine for a workload."""
    hardware, formats = completed(hardware), work.formats
    memory = replace(memory, host=memory.host and completed(memory.host))
    # Regions work in turn, each with its own part of the rate.
    regions = work.layers if hardware.execution == "spatial" else 1.0
    in_order = partial(sorted, key=lambda tier: tier.order(regions))
    tiers = tuple(in_order(tiers_of(hardware, memory, formats)))
    # With a draft model, vLLM runs dense models as it runs the others.
    groups = () if memory.draft else work.model.groups
    prefix, software = memory.prefix_tier, parameters_on(engine, hardware, groups)
    encoder_bytes = _encoder_bytes(engine, software, work, memory)
    draft, unread_bytes = None, encoder_bytes
    if memory.draft is not None:
        kv = None if work.kv_format in CACHES else work.kv_format  # the target's, if possible
        draft = workload(memory.draft, None, kv)
        unread_bytes += draft.weight_bytes
    elif memory.drafted:
        unread_bytes += outside_core(work.model).get("mtp", 0.0) * work.formats.dense.bytes
    return Machine(
        hardware=hardware,
        engine=engine,
        tiers=tiers,
        fastest=in_order(own_tiers(hardware))[0],
        memory=memory,
        place=_places(hardware, tiers, memory, work, unread_bytes),
        prefix=None
        if prefix is None
        else tier_position(hardware, tiers, prefix, option("prefix_tier")),
        chip=_chip(hardware, engine, formats, read_first(tiers).bandwidth),
        software=software,
        peaks=Kinds(*(fastest_rate(hardware, stored) for stored in formats)),
        reserve=reserve_of(
            engine,
            software,
            work,
            largest_memory(hardware),
            has_encoder=encoder_bytes > 0.0,
            drafted=memory.drafted,
            longest=memory.longest,
        ),
        draft=draft,
        unread_bytes=unread_bytes,
    )


def _places(
    hardware: Hardware,
    tiers: Sequence[Tier],
    memory: MemoryChoice,
    work: Workload,
    unread_bytes: float,
) -> dict[str, tuple[float, ...]]:
    """Compute the fraction of each category of bytes in each tier, as the user placed them.

    All layers are assumed to be equal, and the output layer comes last (``i_gpu_start`` in
    llama.cpp, src/llama-model.cpp, November 2026). The experts on the host are those of the first
    layers. Encoders and draft models count as embeddings and stay on the card (``mmproj_use_gpu``
    and ``n_gpu_layers`` of ``speculative`` in common/common.h).
    """

    def all_in(name: str) -> tuple[float, ...]:
        position = tier_position(hardware, tiers, name)
        return tuple(float(at == position) for at in range(len(tiers)))

    places = {}
    if memory.shares_layers:
        host = all_in("host")
        near = next(at for at, tier in enumerate(tiers) if tier.is_near)
        asked = work.layers + 1 if memory.gpu_layers is None else memory.gpu_layers
        layers = min(max(asked - 1.0, 0.0) / work.layers, 1.0)
        shares = dict.fromkeys(IN_LAYERS, layers)
        experts = 1.0 - min((memory.cpu_moe_layers or 0) / work.layers, 1.0)
        table_and_unread = work.weights.embedding.bytes + unread_bytes
        shares |= {
            "head": float(asked > 0),
            "experts": min(layers, experts),
            "embedding": unread_bytes / table_and_unread if unread_bytes else 0.0,
        }
        places = {
            kind: tuple(
                fraction if at == near else (1.0 - fraction) * far for at, far in enumerate(host)
            )
            for kind, fraction in shares.items()
        }
    return places | {kind: all_in(name) for kind, name in memory.place}


def _encoder_bytes(
    engine: Engine, software: EngineParameters, work: Workload, memory: MemoryChoice
) -> float:
    """Count the bytes of image and audio encoders in their published format, if they are loaded.

    With GGUF, they are stored in a separate 16-bit file (docs/multimodal.md of ggml-org/llama.cpp).
    """
    if memory.language_model_only or not software.loads_encoders:
        return 0.0
    is_apart = engine.program == "llama-cpp"
    stored = FORMATS["bf16"] if is_apart else work.model.own_formats.of("vision")
    return outside_core(work.model)["vision"] * stored.bytes


def _chip(
    hardware: Hardware, engine: Engine, formats: Kinds[NumberFormat], bandwidth: float
) -> Chip:
    short_sums = bool(parameters_on(engine, hardware).short_sums)
    products = (
        working_rate(hardware, stored, short_sums=short_sums, unpacked=names)
        for stored, names in zip(formats, widened_by(engine, hardware), strict=True)
    )
    up, out = hardware.links.scale_up, hardware.links.scale_out
    links_both = [link for link in (out, up) if link]
    hops = [link.latency.si if link.latency else 0.0 for link in links_both] or [0.0]
    return Chip(
        bandwidth=bandwidth,
        cores=hardware.cores.si if hardware.cores else inf,
        products=Kinds(*products),
        blocks=float(
            sum(
                fraction * (one.whole_file and one.bits < 16)
                for one, fraction in formats.dense.shares
            )
        ),
        vector=hardware.vector.si if hardware.vector else inf,
        link=links_both[-1].bandwidth.si if links_both else inf,
        link_out=links_both[0].bandwidth.si if links_both else inf,
        hop=hops[0],
        hop_inside=hops[-1],
    )
