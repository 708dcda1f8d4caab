"""Usual layouts: the legal layouts that searches consider.

A search over all legal layouts would propose many that no guide recommends and nobody has measured,
such as 31 expert-parallel ranks or one stage per layer. Searches therefore consider only layouts
that follow these rules; other legal layouts are evaluated if the user requests them.

- Groups are powers of two, since kernels, collectives, checkpoints and servers are built for them.
- Experts are divided evenly over all ranks of a stage, or not at all in a tensor-parallel group,
  because the fullest rank delays all others (vLLM and SGLang require even shards, except for
  redundant experts). On a full rack of 72, redundant experts make the shards even.
- Ranks within a node come before stages: a fast link makes all-reduces cheap, and stages add only
  throughput (vLLM, "Parallelism and scaling": tensor parallel within a node, pipeline parallel
  across nodes). If the link spans several hosts, stages are as wide as all of them or as one.
  Over PCIe, all-reduces are expensive, so stages within a node are also used.
- Stages fill hosts of the sizes on the market: one to four, six or eight chips. Beyond one host of
  eight, entire hosts are used, since they are rented and wired as a unit.
- There are up to `MOST_STAGES` stages; measured deployments have up to eight.

Chips that pipeline whole layers have one layout per number of chips. An engine whose file lists
`split_modes` uses the layouts of the first mode, and others only if the user specifies ranks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.schema.engines import Rank
from fastcalc.core.chip.machine import Machine
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import HOST_CHIPS, Layout
from fastcalc.core.placement.legal import LegalLayouts, Topology, topology_of

HOST_SIZES = (1, 2, 3, 4, 6, HOST_CHIPS)
"""The numbers of chips per host on the market."""

MOST_STAGES = 16
"""The maximum number of pipeline stages in usual layouts."""


def run_by_people(legal: LegalLayouts, *chips: int) -> tuple[Layout, ...]:
    """List the usual layouts with a single copy of the weights for the given chip counts."""
    if legal.machine.is_spatial:
        return tuple(layout for count in chips for layout in legal.exactly(count))
    engine_ranks = legal.machine.engine.default_ranks
    by_chips = _layouts_by_chips(topology_of(legal.machine), legal.work.model, engine_ranks)
    if chips not in by_chips:
        by_chips[chips] = tuple(layout for count in chips for layout in _run_of(legal, count))
    return tuple(filter(legal.has_whole_blocks, by_chips[chips]))


def usual_layouts(legal: LegalLayouts) -> Sequence[Layout]:
    """List the usual layouts with a single copy of the weights, fewest chips first.

    For chips that pipeline whole layers, layouts are listed only if they have more capacity than
    all smaller ones.
    """
    return _usual_layouts(legal.machine, legal.work)


@once
def _usual_layouts(machine: Machine, work: Workload) -> Sequence[Layout]:
    legal = LegalLayouts(machine, work)
    if machine.is_spatial:
        return legal.default_layouts
    joined = legal.usual_domain // machine.ranks
    widths = {joined, *(2**power for power in range(joined.bit_length()))}
    counts = {width * pp for width in widths for pp in range(1, MOST_STAGES + 1)}
    layouts = run_by_people(legal, *sorted(counts))
    return sorted(
        layouts, key=lambda layout: (layout.chips, layout.tp, layout.pp, layout.ep, layout.dp)
    )


_LayoutsByChips = dict[tuple[int, ...], tuple[Layout, ...]]


@once
def _layouts_by_chips(
    topology: Topology,  # noqa: ARG001  (the key)
    model: Model,  # noqa: ARG001
    engine_ranks: tuple[Rank, ...],  # noqa: ARG001
) -> _LayoutsByChips:
    """Return a cache of layouts by chip counts, which do not depend on formats or rates.

    engine_ranks : The types of parallelism that the engine supports.
    """
    return {}


def _run_of(legal: LegalLayouts, chips: int) -> Iterator[Layout]:
    widths = _stage_widths(legal.machine, legal.work)
    ranks, is_pcie = chips * legal.machine.ranks, legal.is_pcie
    for pp in range(1, min(MOST_STAGES, ranks, legal.most_stages) + 1):
        width, left = divmod(ranks, pp)
        is_narrow = is_power_of_two(width) and (pp == 1 or is_pcie)
        if left or not (is_narrow or width in widths):
            continue  # `_is_run` would reject every group
        for tp in (group for group in legal.doubled_groups if width % group == 0):
            for ep in dict.fromkeys((1, width)):
                layout = legal.counted(Layout(tp, pp, ep, width // tp))
                if _is_run(legal, layout):
                    yield layout


def _is_run(legal: LegalLayouts, layout: Layout) -> bool:
    """Check whether a layout with a single copy of the weights is legal and usual.

    legal : A workload on a chip type that shards layers.
    layout : A layout of some of its doubled groups, in up to `MOST_STAGES` stages.
    """
    experts, width = legal.work.stored_experts, layout.width
    widths = _stage_widths(legal.machine, legal.work)
    is_rack = experts > 0 and not is_power_of_two(width) and width == widths[0]
    if layout.dp > 1 and (layout.ep < width or not (is_rack or is_power_of_two(layout.dp))):
        return False
    if layout.ep > 1 and not (is_rack or (experts and experts % layout.ep == 0)):
        return False
    if layout.pp > 1:
        is_in_hosts = layout.chips in HOST_SIZES or layout.chips % HOST_CHIPS == 0
        is_inside = legal.is_pcie and layout.ranks <= legal.usual_domain and is_in_hosts
        is_beyond = width > HOST_CHIPS * legal.machine.ranks
        if not (is_inside or (width in widths and (is_in_hosts or is_beyond))):
            return False
    return legal.is_joined(layout) and all(map(legal.defaults_to, layout.several))


def is_power_of_two(ranks: int) -> bool:
    """Check whether a number of ranks is a power of two."""
    return ranks & (ranks - 1) == 0


@lru_cache(maxsize=512)
def _stage_widths(machine: Machine, work: Workload) -> tuple[int, ...]:
    """Return the largest usual stage widths in a link domain, and in one of its hosts."""
    legal = LegalLayouts(machine, work)
    experts, groups = int(work.stored_experts), legal.doubled_groups
    widths = []
    widest = legal.widest_stage
    for ranks in (widest, min(widest, HOST_CHIPS * machine.ranks)):
        powers = [1 << power for power in range(ranks.bit_length())]
        even = [width for width in powers if experts and experts % width == 0]
        is_rack = experts >= ranks and not is_power_of_two(ranks)
        dense = [group for group in groups if group <= ranks]
        widths.append(ranks if is_rack else max([*dense, *even]))
    return tuple(widths)


def copies_run_by_people(legal: LegalLayouts, chips: int) -> Iterator[Layout]:
    """Yield the usual layouts on a number of chips, with any number of weight copies."""
    is_alone = legal.machine.is_spatial or not legal.defaults_to("dp")
    for copies in [1] if is_alone else range(1, chips + 1):
        if chips % copies == 0:
            for layout in run_by_people(legal, chips // copies):
                yield replace(layout, dp=layout.dp * copies)


def practice_notes(legal: LegalLayouts, layout: Layout) -> list[str]:
    """Return a note on an unusual layout that the user did not request."""
    if layout in copies_run_by_people(legal, layout.chips):
        return []
    chips, chip, name = layout.chips, legal.machine.hardware.id, str(layout)
    return [f"{chips} {chip} have no common layout for this model; {name} is possible, but unusual"]
