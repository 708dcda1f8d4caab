"""Why a model takes this number of chips, or fits on none: in a phrase."""

import numpy as np

from fastcalc.core.chosen_layouts import open_layouts
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.split import asked_split
from fastcalc.core.scenario import Location
from fastcalc.kit.answer.numbers_as_text import size
from fastcalc.mentions import option


def why(location: Location) -> str:
    """Say why a model takes this number of chips, in a phrase."""
    placement, batch = location.placement, min(location.scenario.batches)
    chips = placement.layout.chips
    usable = float(sum(placement.usable))
    needed = location.site.bytes_needed(batch)
    if placement.machine.memory.shares_layers:
        return _in_each_memory(location)
    if location.verdict == "edge":
        return _at_the_edge(location)
    if not location.fits:
        site = location.site
        if placement.edge_batch >= batch:
            return engine_limit(location)
        if not site.is_joined(Layout(pp=site.domain + 1)):
            joined = "one chip" if site.chips_joined == 1 else f"{site.chips_joined} chips"
            return (
                f"{size(needed)} does not fit {joined}, and the file states no link to more chips"
            )
        return f"{size(needed)} does not fit ({size(usable)} usable per chip)"
    if not location.is_default_layout:
        is_asked = location.scenario.sharding.names_ranks
        is_alone = is_asked or len(open_layouts(location.site, chips)) == 1
        how = "layout as asked" if is_alone else "layout with the highest throughput"
        chip_count = f"{chips} chips" if chips > 1 else "a chip"
        each = " each" * (chips > 1)
        return f"{how}; {size(needed)} fits on {chip_count} with {size(usable)} usable{each}"
    if placement.machine.place and chips > 1:
        return f"{size(needed)} needs {chips} chips with the placement of {option('place')}"
    if chips == 1:
        return f"{size(needed)} fits in {size(usable)} usable"
    capacity, by_layers = location.site.chips_needed(batch)
    if by_layers is not None and capacity is not None and by_layers > capacity:
        return f"{capacity} chips have the capacity, but unsplit layers need {by_layers}"
    if capacity is not None and capacity == chips:
        return f"{size(needed)} needs {chips} chips ({size(usable)} usable each)"
    return (
        f"{size(needed)} needs at least {capacity} chips ({size(usable)} usable each); the next "
        f"practical layout uses {chips}"
    )


def _in_each_memory(location: Location) -> str:
    """Say what card and host are to hold of what they can, where layers are shared out."""
    placement = location.placement
    needed = asked_split(placement, float(min(location.scenario.batches)))
    longest = float(placement.cache_on_chip(placement.machine.memory.longest))
    sizes = needed.sizes | {"kv": np.maximum(needed.sizes["kv"], longest)}
    sums = [
        float(sum(np.ravel(sizes[kind] * shares[at])[0] for kind, shares in needed.shares.items()))
        for at in range(len(needed.tiers))
    ]
    return ", ".join(
        f"{tier.name} {'is to hold' if amount > usable else 'holds'} {size(amount)} of "
        f"{size(float(usable))} usable"
        for tier, amount, usable in zip(needed.tiers, sums, placement.usable, strict=True)
    )


def _at_the_edge(location: Location) -> str:
    """Say why a batch may fit or not, in a phrase: what is needed, and what may be left for it."""
    placement, engine = location.placement, location.scenario.engine
    reserve, sequences = (
        placement.machine.reserve,
        placement.sequences(min(location.scenario.batches)),
    )
    needed = placement.weights_per_chip + sequences * placement.reserved_per_chip
    smallest, largest = (
        size(float(sum(placement.usable_beside(reserved))))
        for reserved in (reserve.above, 1.0 / reserve.below)
    )
    chip = "the chip" if placement.layout.chips == 1 else "each chip"
    return (
        f"tight fit: {chip} needs {size(float(needed))}, and {engine.id} leaves {smallest} to "
        f"{largest}, depending on its reserve"
    )


def engine_limit(location: Location) -> str:
    """Say how many sequences the engine runs at once, and what changes that."""
    placement, engine = location.placement, location.scenario.engine.id
    limit, shared = float(placement.machine.max_sequences), placement.machine.shared_context
    if float(placement.engine_batch) < np.floor(limit) * placement.layout.dp:
        return (
            f"{engine} divides {shared:,.0f} tokens of context among the sequences of a replica; "
            f"{option('max_model_len')} changes that"
        )
    return (
        f"{engine} runs at most {limit:,.0f} sequences per replica and queues "
        f"the rest; {option('max_num_seqs')} changes that"
    )
