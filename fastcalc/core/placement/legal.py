"""Legal layouts of a model on a chip type, and the default layouts for searches.

Chips that run layers in sequence shard each matrix over a tensor-parallel group within the link
domain. Mixture-of-experts models use attention replicas and spread the experts over all of them.
Layers are divided into pipeline stages. Chips with a region per layer pipeline whole layers.

`LegalLayouts.check` decides whether a layout requested by the user is legal. By default,
deployments grow by tensor-parallel groups in powers of two, then by replicas within the domain,
then by stages. For a given number of chips, replicas of dense models and any number of stages are
also allowed. `fastcalc.core.placement.practice` lists the layouts that searches offer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from math import ceil, floor, gcd
from typing import NamedTuple, TypeAlias

from fastcalc.catalogue.chip_defaults import completed
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Hardware, LinearAttention
from fastcalc.catalogue.schema.engines import Rank
from fastcalc.catalogue.schema.hardware import BRIDGED_CHIPS
from fastcalc.core.chip.machine import Machine, chips_filled
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import HOST_CHIPS, Layout, LayoutError
from fastcalc.core.placement.scale_blocks import block_side, dense_blocks, expert_blocks
from fastcalc.formulas.types import ArrayLike
from fastcalc.mentions import option

EXPERT_TENSOR_CHIPS = 8
"""The number of chips above which mixture-of-experts models use attention replicas instead of a
larger tensor-parallel group."""

_SERVERS = ("vllm", "sglang", "tensorrt-llm")
"""Engines whose tensor-parallel groups may span nodes, and whose ranks keep weight copies."""

MOST_CHIPS = 16_384
"""The maximum number of chips in a placement that shards layers."""

LARGEST_MESH = {"xgmi": 8, "thunderbolt": 4}
"""The largest number of chips sold or cabled with all-to-all links, by link type: an AMD Instinct
has seven links, a Mac three cables (see their files in ``hardware/``)."""


@once
def link_domain(hardware: Hardware) -> int:
    """Count the chips connected by the fast link, or 1 if there is none."""
    link = completed(hardware).links.scale_up
    return floor(link.domain.si) if link and link.domain else 1


def mesh_chips(hardware: Hardware) -> int | None:
    """Count the chips with direct links to each other, or return None if they use a switch.

    The result is also None if links meet in the host. Domains larger than `LARGEST_MESH` are
    assumed to have direct links within groups of that size and a switch between groups.
    """
    up = hardware.links.scale_up
    largest = LARGEST_MESH.get(up.kind) if up and up.kind else None
    return largest and min(link_domain(hardware), largest)


class Topology(NamedTuple):
    """The properties of a machine that determine which links connect which ranks.

    Machines that differ only in rates or sizes have the same topology and share cached results.

    ranks : The ranks per chip.
    is_spatial : Whether every layer has its own region.
    domain : The number of chips connected by the fast link.
    mesh : The number of chips with a link between every two of them, or None.
    link : The type of the fast link: empty if its file omits it, None if there is no link.
    has_scale_out : Whether a network connects domains.
    is_bridged : Whether a host's bus connects domains.
    has_copies : Whether every tensor-parallel rank stores norms, routers and the down-projections
        of latent attention in full (ReplicatedLinear in vllm/model_executor/models/deepseek_v2.py
        and sglang/srt/models/deepseek_v2.py).
    state_copies : The copies of recurrent states in a decode step (an engine parameter).
    """

    ranks: int
    is_spatial: bool
    domain: int
    mesh: int | None
    link: str | None
    has_scale_out: bool
    is_bridged: bool
    has_copies: bool
    state_copies: float

    @property
    def is_over_host(self) -> bool:
        """Whether the fast link is PCIe, which all chips of a host share."""
        return self.link == "pcie"

    def chips_of(self, ranks: ArrayLike) -> ArrayLike:
        """Count the chips needed for a number of ranks."""
        return chips_filled(ranks, self.ranks)


AnyMachine: TypeAlias = Machine | Topology


@once
def topology_of(machine: Machine) -> Topology:
    """Describe the topology of a machine."""
    hardware = machine.hardware
    up, out = hardware.links.scale_up, hardware.links.scale_out
    return Topology(
        ranks=machine.ranks,
        is_spatial=machine.is_spatial,
        domain=link_domain(hardware),
        mesh=mesh_chips(hardware),
        link=None if up is None else up.kind or "",
        has_scale_out=out is not None,
        is_bridged=hardware.is_bridged,
        has_copies=machine.engine.program in _SERVERS,
        state_copies=float(machine.software.state_copies),
    )


def domain_notes(hardware: Hardware) -> list[str]:
    """Return notes if the user enlarges the domain of chips with pairwise links in a what-if."""
    up, field = hardware.links.scale_up, "links.scale_up.domain="
    largest = LARGEST_MESH.get(up.kind) if up and up.kind else None
    if largest is None or not any(field in key for key in hardware.what_if):
        return []
    return [
        f"{hardware.id} divides its links among its peers: in a larger domain, up to {largest} "
        f"chips, a group has fewer of them and may be slower; beyond {largest}, groups of "
        f"{largest} are assumed to meet in a switch"
    ]


@lru_cache(maxsize=512)
def common_heads(work: Workload) -> int:
    """Return the number that the tensor-parallel size must divide, or 0 if there is none."""
    return gcd(
        *(
            block.attention.heads
            for block in work.model.blocks
            if block.attention is not None and not isinstance(block.attention, LinearAttention)
        )
    )


@lru_cache(maxsize=512)
def slots(machine: AnyMachine, work: Workload) -> float:
    """Count the layers to place, including embedding and head on chips with regions."""
    if not machine.is_spatial:
        return work.layers
    ends = work.weights.embedding.bytes + work.weights.head.bytes
    return work.layers + ceil(ends / work.largest_layer_bytes)


_RANK_NAMES: dict[Rank, str] = {
    "tp": "tensor-parallel ranks",
    "pp": "pipeline stages",
    "ep": "expert-parallel ranks",
    "dp": "data-parallel ranks",
}


@dataclass(frozen=True, eq=False)
class LegalLayouts:
    """Enumerates the legal layouts of a workload on a chip type."""

    machine: Machine
    work: Workload

    @property
    def default_layouts(self) -> tuple[Layout, ...]:
        """The default layouts, sorted by number of chips."""
        return _by_default(self.machine, self.work)

    @property
    def chips_joined(self) -> int:
        """The number of chips connected by the fast link."""
        return link_domain(self.machine.hardware)

    @cached_property
    def domain(self) -> int:
        """The number of ranks on the chips connected by the fast link."""
        return self.chips_joined * self.machine.ranks

    @property
    def widest_stage(self) -> int:
        """The number of ranks in the widest pipeline stage of the default layouts."""
        return self.usual_domain if self.defaults_to("tp") else 1

    def defaults_to(self, rank: Rank) -> bool:
        """Check whether the engine uses a type of parallelism by default."""
        return rank in self.machine.engine.default_ranks

    @cached_property
    def widest_group(self) -> int:
        """The maximum size of a tensor-parallel group that a user may request.

        Cards that are bridged in pairs also communicate over the host's bus or a switch, and are
        used in larger groups. Chips with a larger domain are not.
        """
        links = self.machine.hardware.links
        is_switched = links.scale_up is not None and links.scale_up.kind == "ethernet"
        meets = links.scale_out is not None or is_switched
        if self.machine.is_spatial or self.chips_joined > BRIDGED_CHIPS or not meets:
            return self.domain
        return HOST_CHIPS * self.machine.ranks

    @property
    def has_groups_over_nodes(self) -> bool:
        """Whether a user may request tensor-parallel groups that span several complete domains.

        Source: docs.vllm.ai, distributed serving (tensor_parallel_size of all GPUs across all
        machines); docs.sglang.io, multi-node deployment (--tp 16 --nnodes 2).
        """
        machine = self.machine
        has_network = machine.hardware.links.scale_out is not None and machine.ranks == 1
        return has_network and machine.engine.program in _SERVERS

    def counted(self, layout: Layout) -> Layout:
        """Return the layout with this chip's number of ranks per chip."""
        ranks = self.machine.ranks
        return layout if layout.per_chip == ranks else replace(layout, per_chip=ranks)

    @property
    def is_pcie(self) -> bool:
        """Whether chips of a host communicate over PCIe, even if only beyond a bridge."""
        link = self.machine.hardware.links.scale_up
        return self.machine.hardware.is_bridged or (link is not None and link.kind == "pcie")

    @cached_property
    def usual_domain(self) -> int:
        """The maximum default size of a tensor-parallel group: a link domain, or a host.

        Cards that are bridged in pairs are also used as one tensor-parallel group over the bus.
        """
        return self.widest_group if self.machine.hardware.is_bridged else self.domain

    def is_joined(self, layout: Layout) -> bool:
        """Check whether known links connect all chips of a replica. Replicas need no link.

        Beyond the domain, chips are connected by the slower link. Programs with a region per layer
        run on racks with the fast link.
        """
        links, ranks = self.machine.hardware.links, layout.expert_shards * layout.pp
        if ranks <= self.machine.ranks or links.scale_out is not None:
            return True
        within = max(self.domain, self.widest_group)
        return links.scale_up is not None and (self.machine.is_spatial or ranks <= within)

    @property
    def unjoined(self) -> str:
        """A phrase that explains why no more chips can cooperate."""
        beyond = (
            f" beyond its domain of {self.chips_joined}"
            if self.machine.hardware.links.scale_up
            else ""
        )
        return f"{self.machine.hardware.id} specifies no link{beyond}"

    @property
    def most_stages(self) -> int:
        """The maximum number of stages, each of which has a layer, the embedding or the head.

        Chips connected by a fast link can split layers that are too large for one chip, which
        allows more stages.
        """
        cuts_layers = self.machine.is_spatial and self.machine.hardware.links.scale_up is not None
        return MOST_CHIPS if cuts_layers else ceil(slots(self.machine, self.work))

    @cached_property
    def doubled_groups(self) -> tuple[int, ...]:
        """The tensor-parallel group sizes in powers of two, as far as experts permit."""
        largest, of_experts = self.widest_stage, EXPERT_TENSOR_CHIPS * self.machine.ranks
        largest = min(largest, of_experts) if self.work.experts else largest
        powers = (2**exponent for exponent in range(largest.bit_length()))
        return tuple(ranks for ranks in powers if common_heads(self.work) % ranks == 0)

    def expert_ranks(self, tp: int, dp: int) -> int:
        """Compute the default number of ranks that share the experts.

        With attention replicas, experts are spread over the whole stage. Without replicas, they are
        spread if sharding an expert would split quantization blocks.

        tp, dp : The number of tensor-parallel ranks and of replicas.
        """
        is_spread = dp > 1 or not self.has_whole_blocks(Layout(tp))
        return tp * dp if is_spread and self.work.experts else 1

    def has_whole_blocks(self, layout: Layout) -> bool:
        """Check whether no quantization block is split between ranks."""
        of_dense, of_experts = self._blocks
        sharers = layout.expert_shards // layout.ep
        return of_dense % layout.tp == 0 and of_experts % sharers == 0

    @cached_property
    def _blocks(self) -> tuple[int, int]:
        """The blocks that tensor-parallel groups, and the ranks sharing an expert, must divide."""
        return dense_blocks(self.machine, self.work), expert_blocks(self.machine, self.work)

    def exactly(self, chips: int) -> Iterator[Layout]:
        """Yield the default layouts with exactly the given number of chips."""
        if self.machine.is_spatial:
            pipeline = Layout(pp=chips)
            if chips <= self.most_stages and self.is_joined(pipeline):
                yield pipeline
            return
        for tp in self.doubled_groups:
            groups, left = divmod(chips * self.machine.ranks, tp)
            stages = range(min(self.most_stages, groups), 0, -1)
            for pp in (count for count in stages if left == 0 and groups % count == 0):
                dp = groups // pp
                is_inside = dp == 1 or not self.work.experts or tp * dp <= self.usual_domain
                is_inside &= dp == 1 or self.defaults_to("dp")
                layout = self.counted(Layout(tp, pp, self.expert_ranks(tp, dp), dp))
                if is_inside and self.is_joined(layout) and self.has_whole_blocks(layout):
                    yield layout

    def _has_heads(self, tp: int) -> bool:
        """Check whether heads can be divided, which on multi-rank chips includes padding.

        Source: get_number_of_extra_heads in parallel_layers/pad.py of AWS's neuronx-distributed.
        The cost of padding is not modeled.
        """
        return self.padded_heads(tp) == 0 or (
            self.machine.ranks > 1 and tp <= common_heads(self.work)
        )

    def padded_heads(self, tp: int) -> int:
        """Count the padding heads on the last ranks of a tensor-parallel group."""
        return -common_heads(self.work) % tp

    def mode_notes(self, layout: Layout) -> list[str]:
        """Return notes for engines with few layouts: the flag that selects each, and conditions."""
        engine = self.machine.engine
        mode = engine.split_mode_of(layout.several) if layout.several else None
        if mode is None:
            return []
        note = f", {mode.note}" if mode.note else ""
        return [f"{engine.id} runs {' '.join(layout.several)} layouts with {mode.flag}{note}"]

    def rank_notes(self, layout: Layout) -> list[str]:
        """Return notes on a layout for chips with several ranks."""
        ranks, chip, model = self.machine.ranks, self.machine.hardware.id, self.work.model.id
        if layout.dp == 1 and layout.ep > 1 and not self.has_whole_blocks(replace(layout, ep=1)):
            return [
                f"tp {layout.tp} without ep would cut blocks of weights with one scale each, with "
                f"which {self.machine.engine.id} does not start"
            ]
        if ranks == 1 and layout.tp > self.domain:
            joined = f"joins {self.domain} chips" if self.domain > 1 else "has no link of its own"
            return [
                f"{chip} {joined}: all-reduces of tp {layout.tp} take the slower link between "
                f"them, {self.machine.chip.link_out / 1e9:g} GB/s"
            ]
        if ranks == 1:
            return []
        notes = [f"{chip} runs {ranks} ranks per chip: tp, pp, dp and ep count ranks, not chips"]
        if padding := self.padded_heads(layout.tp):
            heads = common_heads(self.work)
            notes.append(
                f"tp {layout.tp} pads the {heads} attention heads of {model} to "
                f"{heads + padding}; the cost of padding is not counted"
            )
        return notes

    def allows(self, layout: Layout) -> bool:
        """Check whether chip and model support a layout."""
        try:
            self.check(layout)
        except LayoutError:
            return False
        return True

    def check(self, layout: Layout) -> Layout:
        """Validate a layout requested by the user, and return it.

        Raises LayoutError if the chip or the model does not support the layout.
        """
        layout = self.counted(layout)
        self._check_engine(layout)
        hardware, model, domain = self.machine.hardware, self.work.model, self.widest_group
        if self.machine.is_spatial and (layout.tp, layout.ep, layout.dp) != (1, 1, 1):
            raise LayoutError(
                "tp, ep or dp on chips that pipeline whole layers",
                f"{hardware.id} pipelines whole layers: only {option('pp')} or {option('chips')} "
                "says how many",
            )
        is_wide = not self.machine.is_spatial and layout.tp > domain
        if is_wide and not (self.has_groups_over_nodes and layout.tp % domain == 0):
            raise LayoutError(
                "tp beyond the link domain",
                f"{option('tp')} {layout.tp} leaves the link domain of {hardware.id}, which has "
                f"{domain} "
                f"{'rank' if self.machine.ranks > 1 else 'chip'}{'s' if domain > 1 else ''}; use "
                f"{option('tp')} up to {domain} and {option('pp')}",
            )
        if not self._has_heads(layout.tp):
            raise LayoutError(
                "tp that does not divide the heads",
                f"{option('tp')} {layout.tp} does not divide the attention heads of {model.id}",
            )
        if layout.pp > self.most_stages:
            raise LayoutError(
                "pp beyond the layers",
                f"{option('pp')} {layout.pp} exceeds the {self.work.layers:.0f} layers of "
                f"{model.id}",
            )
        if not self.is_joined(layout):
            raise LayoutError(
                "chips that no link joins",
                f"{self.unjoined}, and {option('tp')}, {option('pp')} and {option('ep')} ask for "
                f"{layout.expert_shards} x {layout.pp} chips; state links.scale_out in a file "
                f"that extends it, or add copies with {option('dp')}",
            )
        self._check_experts(layout)
        self._check_blocks(layout)
        return layout

    def _check_engine(self, layout: Layout) -> None:
        """Raise an error if the engine does not support these ranks, alone or in combination."""
        engine, ranks = self.machine.engine, layout.several
        if not engine.split_modes or engine.split_mode_of(ranks):
            return
        has = [rank for rank in ranks if engine.split_mode_of([rank])]
        modes = " or ".join(
            f"{' '.join(option(rank) for rank in mode.ranks)} ({mode.flag})"
            for mode in engine.split_modes
        )
        if missing := [rank for rank in ranks if rank not in has]:
            lacks = " and ".join(f"{_RANK_NAMES[rank]} ({option(rank)})" for rank in missing)
            raise LayoutError(
                "ranks that the engine does not have",
                f"{engine.name} has no {lacks}: over several chips it takes {modes}",
            )
        raise LayoutError(
            "ranks that the engine does not have together",
            f"{engine.name} does not combine {' and '.join(option(rank) for rank in ranks)}: over "
            f"several chips it takes {modes}",
        )

    def _check_experts(self, layout: Layout) -> None:
        if layout.ep > 1 and not self.work.experts:
            raise LayoutError(
                "ep without experts",
                f"{option('ep')} {layout.ep}: {self.work.model.id} has no routed experts",
            )
        if layout.width % layout.ep or max(layout.ep, layout.tp) % min(layout.ep, layout.tp):
            ranks = layout.ep
            remedy = f"; add {option('dp')} {ranks} or {option('tp')} {ranks}"
            raise LayoutError(
                "ep that does not suit tp x dp",
                f"{option('ep')} {ranks} does not suit tp {layout.tp} x dp {layout.dp}: it "
                "divides their product and is a multiple or a divisor of tp"
                + (remedy if layout.width == 1 else ""),
            )

    def _check_blocks(self, layout: Layout) -> None:
        if self.has_whole_blocks(layout):
            return
        engine, side = self.machine.engine.id, block_side(self.machine, self.work)
        spread = replace(layout, ep=layout.width)
        options = [option("ep", str(layout.width))] if self.has_whole_blocks(spread) else []
        halves = (layout.tp >> power for power in range(1, layout.tp.bit_length()))
        whole = (tp for tp in halves if self.has_whole_blocks(replace(layout, tp=tp, ep=1)))
        options += [option("tp", str(tp)) for tp in islice(whole, 1)]
        raise LayoutError(
            "ranks that cut blocks with a scale",
            f"{option('tp')} {layout.tp} cuts blocks of {side} weights with one scale each in "
            f"{self.work.model.id}, with which {engine} does not start; use "
            f"{' or '.join(options)}",
        )


@lru_cache(maxsize=512)
def _by_default(machine: Machine, work: Workload) -> tuple[Layout, ...]:
    """List the default layouts by number of chips, cached per machine and model."""
    legal = LegalLayouts(machine, work)
    blocks = dense_blocks(machine, work)
    groups = [1] if machine.is_spatial else [tp for tp in legal.doubled_groups if blocks % tp == 0]
    # Avoid half-idle chips if their ranks can share the work.
    smallest = min(machine.ranks, groups[-1])
    tp = groups[-1]
    layouts = [Layout(ranks, ep=legal.expert_ranks(ranks, 1)) for ranks in groups]
    layouts = [layout for layout in layouts if layout.tp >= smallest]
    if work.experts and not machine.is_spatial and legal.defaults_to("dp"):
        layouts += [Layout(tp, 1, tp * dp, dp) for dp in range(2, legal.usual_domain // tp + 1)]
    last, layers = layouts[-1], ceil(slots(machine, work))
    layouts += [Layout(last.tp, pp, last.ep, last.dp) for pp in range(2, layers + 1)]
    layouts += [Layout(pp=pp) for pp in range(2 * layers, legal.most_stages + 1, layers)]
    return tuple(legal.counted(layout) for layout in layouts if legal.is_joined(layout))
