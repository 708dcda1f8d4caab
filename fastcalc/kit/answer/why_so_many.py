"""Explain why a model needs this number of chips, or does not fit."""

from math import ceil
from typing import NamedTuple

import numpy as np

from fastcalc.core.chosen_layouts import on_fewer_chips, open_layouts
from fastcalc.core.entry_notes import limiting_setting
from fastcalc.core.outcome import Location
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement, Site
from fastcalc.core.placement.split import asked_split
from fastcalc.kit.answer.numbers_as_text import counted, size, sizes_apart
from fastcalc.mentions import command, option


class _Demand(NamedTuple):
    """The memory needed on all chips together, or on one chip.

    weights, batch, longest : The weights, and KV cache of the batch and longest sequence, in bytes.
    tokens : The longest sequence that the engine requires to fit, 0 if it has no such minimum.
    """

    weights: float
    batch: float
    longest: float
    tokens: float

    @property
    def total(self) -> float:
        """The weights plus the larger of the two caches, in bytes."""
        return self.weights + max(self.batch, self.longest)

    @property
    def details(self) -> str:
        """The components of the total in parentheses, if the longest sequence determines it."""
        if self.longest <= self.batch:
            return ""
        return (
            f" ({size(self.weights)} and {size(self.longest)} of cache for one sequence of "
            f"{self.tokens:,.0f} tokens)"
        )

    @property
    def text(self) -> str:
        """The total and its components."""
        return f"{size(self.total)}{self.details}"


def _of_all(site: Site, batch: float, chips: float) -> _Demand:
    longest, tokens = site.longest_cache_bytes, site.machine.length_to_start
    weights = site.weight_bytes_needed + chips * site.copied_bytes
    return _Demand(weights, site.batch_cache_bytes(batch), longest, tokens)


def _of_chip(placement: Placement, batch: float) -> _Demand:
    of_batch = float(placement.sequences(batch) * placement.reserved_per_chip)
    weights, tokens = float(placement.weights_per_chip), placement.machine.length_to_start
    return _Demand(weights, of_batch, placement.longest_per_chip, tokens)


def _left(placement: Placement, reserves: float) -> float:
    """Compute the memory of a chip that the engine leaves for weights and caches, in bytes.

    reserves : The engine's reserve relative to its expected reserve.
    """
    return float(placement.weights_per_chip + placement.available_beside(reserves))


def why(location: Location) -> str:
    """Explain why a model needs this number of chips, or why its engine does not start."""
    if location.refused:
        return location.refused
    placement, batch = location.placement, min(location.scenario.batches)
    chips = placement.layout.chips
    if placement.machine.memory.shares_layers:
        return _in_each_memory(location)
    if location.verdict == "edge":
        return f"tight fit: {_short_of(placement, batch)}"
    if not location.fits:
        return _too_large(location)
    needed = _of_all(location.site, batch, chips).text
    usable = size(float(sum(placement.usable)))
    if not location.is_default_layout:
        is_asked = location.scenario.sharding.names_ranks
        is_alone = is_asked or len(open_layouts(location.site, chips)) == 1
        reason = f"; of their layouts, {placement.layout} has the highest throughput"
        how = "" if is_alone else reason
        chip_count = f"{chips} chips" if chips > 1 else "a chip"
        per_chip = " each" * (chips > 1)
        return f"{needed} fits on {chip_count} with {usable} usable{per_chip}{how}"
    if placement.machine.place and chips > 1:
        return f"{needed} needs {chips} chips with the placement of {option('place')}"
    if chips == 1:
        return f"{needed} fits in {usable} of usable memory"
    return _why_not_fewer(location)


def _too_large(location: Location) -> str:
    """Explain why a batch does not fit even with the engine's smallest reserve."""
    placement, batch, site = location.placement, min(location.scenario.batches), location.site
    chips = placement.layout.chips
    needed = _of_all(site, batch, chips)
    layouts = site.default_layouts if location.is_default_layout else [placement.layout]
    if np.max(site.place_all(layouts).edge_batch) >= batch:
        return engine_limit(location)
    if placement.held_beside(1.0 / placement.machine.reserve.below) >= batch:
        return _does_not_start(placement)
    if placement.machine.place:
        return f"{needed.text} does not fit with the placement of {option('place')}"
    of_chip, of_joined = _of_chip(placement, batch), site.chips_joined * _left(placement, 1.0)
    is_alone = location.is_default_layout and not site.is_joined(Layout(pp=site.domain + 1))
    if is_alone and needed.total > of_joined:
        joined = "one chip" if site.chips_joined == 1 else f"{site.chips_joined} chips"
        return (
            f"{needed.text} does not fit on {joined}, and the hardware file gives no link to more"
        )
    layer, left = placement.work.largest_layer_bytes, _left(placement, 1.0)
    if placement.machine.is_spatial and layer > left:
        return f"a layer of {size(layer)} exceeds the {size(left)} usable per chip"
    total, usable = sizes_apart(of_chip.total, left)
    if chips == 1:
        return f"{total}{of_chip.details} does not fit ({usable} usable per chip)"
    return f"each of {chips} chips needs {total}{of_chip.details}, more than the {usable} usable"


def _why_not_fewer(location: Location) -> str:
    """Explain why the chosen layout does not use fewer chips."""
    placement, batch, site = location.placement, min(location.scenario.batches), location.site
    chips, usable = placement.layout.chips, float(sum(placement.usable))
    capacity, by_layers = site.chips_needed(batch)
    if by_layers is not None and capacity is not None and by_layers > capacity:
        return (
            f"{capacity} chips have enough memory, but {by_layers} are needed because layers "
            "cannot be split"
        )
    fewer, left = on_fewer_chips(site, chips), usable - site.copied_bytes
    fewest = min(ceil(_of_all(site, batch, 0).total / left), chips)
    needed = _of_all(site, batch, fewest)
    if (
        fewer is not None
        and fewer.held_beside(site.machine.reserve.above) >= batch > fewer.edge_batch
    ):
        return _does_not_start(fewer)
    if fewer is not None and fewer.max_batch < batch <= fewer.edge_max_batch:
        enough = f"{counted(chips, 'chips')} are enough for any memory reserve"
        return f"{enough}; {_short_of(fewer, batch)}"
    if fewer is not None and fewer.edge_batch >= batch:
        return engine_limit(location)
    if fewer is not None and fewer.layout.chips >= fewest:
        return _short_of(fewer, batch)
    if fewest == chips:
        return f"{needed.text} needs {chips} chips ({size(usable)} usable each)"
    return (
        f"{needed.text} needs at least {counted(fewest, 'chip')}{'s' * (fewest > 1)} "
        f"({size(usable)} usable each); the next practical layout has {chips}"
    )


def _does_not_start(placement: Placement) -> str:
    """Say that an engine does not start on chips whose memory is large enough."""
    held = "one chip has" if placement.layout.chips == 1 else f"{placement.layout.chips} chips have"
    engine, why = placement.machine.engine.id, command("fastcalc fit")
    return (
        f"{held} enough memory, but {engine} does not start there; {why} suggests settings with "
        "which it does"
    )


def _short_of(placement: Placement, batch: float) -> str:
    """Say how much memory a chip needs and how much less the engine leaves."""
    machine, chips = placement.machine, placement.layout.chips
    engine, needed = machine.engine.id, _of_chip(placement, batch)
    if machine.place:
        return f"the placement of {option('place')} fits only if {engine} reserves little"
    reserve = machine.reserve
    low, high = (_left(placement, times) for times in (reserve.above, 1.0 / reserve.below))
    chip = "one chip needs" if chips == 1 else f"{counted(chips, 'chips')} need"
    per_chip = " per chip" * (chips > 1)
    total, smallest, largest = sizes_apart(needed.total, low, high)
    left = f"at most {largest} for them"
    if needed.total <= high:
        left = f"{smallest} to {largest} for them, depending on its memory reserve"
    return (
        f"{chip} {total}{per_chip} for weights and caches{needed.details}; {engine} leaves {left}"
    )


def _in_each_memory(location: Location) -> str:
    """Compare needed and usable memory on card and host if layers are split between them."""
    placement = location.placement
    needed = asked_split(placement, float(min(location.scenario.batches)))
    longest = float(placement.cache_on_chip(placement.machine.length_to_start))
    sizes = needed.sizes | {"kv": np.maximum(needed.sizes["kv"], longest)}
    sums = [
        float(sum(np.ravel(sizes[kind] * shares[at])[0] for kind, shares in needed.shares.items()))
        for at in range(len(needed.tiers))
    ]
    return ", ".join(
        f"{tier.name} {'must hold' if amount > usable else 'holds'} {size(amount)} of "
        f"{size(float(usable))} usable"
        for tier, amount, usable in zip(needed.tiers, sums, placement.usable, strict=True)
    )


def engine_limit(location: Location) -> str:
    """Describe the engine's limit on concurrent sequences, and the setting that changes it."""
    placement, engine = location.placement, location.scenario.engine.id
    limit, shared = float(placement.machine.max_sequences), placement.machine.shared_context
    setting = limiting_setting(placement)
    does = (
        f"divides {shared:,.0f} tokens of context among the sequences of a replica"
        if setting == "max_model_len"
        else f"runs at most {limit:,.0f} sequences per replica and queues the rest"
    )
    return f"{engine} {does}; {option(setting)} changes that"
