"""Replica counts that use up the chips allowed by a budget, a power limit or ownership."""

from collections.abc import Callable
from math import floor
from typing import NamedTuple

import numpy as np

from fastcalc.core.estimate import site_power
from fastcalc.core.placement.layout import Layouts
from fastcalc.core.scenario import Scenario
from fastcalc.features.plan.pools import PrefillColumns, added, stages_in_nodes
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.types import ArrayLike, Floats, Ints

_TINY = 1e-300
_ROUNDING = 1e-9  # of a chip, so that a budget for a whole number is not one short


class ReplicaCounts(NamedTuple):
    """Decode and prefill replicas of deployments and their combined throughput, as columns.

    replicas, prompt_replicas : The number of decode and of prefill replicas.
    requests : The highest throughput. [1/s]
    """

    replicas: Floats
    prompt_replicas: Floats
    requests: Floats

    @classmethod
    def of(
        cls, replicas: Floats, throughput: Floats, pools: PrefillColumns | None
    ) -> "ReplicaCounts":
        """Combine decode replicas of a given throughput with each prefill pool."""
        requests, prompt_replicas = replicas * throughput, np.zeros(replicas.shape)
        if pools is not None:
            requests = np.minimum(requests, pools.replicas * pools.capacity)
            prompt_replicas = prompt_replicas + pools.replicas
        return cls(replicas, prompt_replicas, requests)

    @property
    def cost(self) -> Floats:
        """The objective of a fleet that maximizes throughput: time per request, in seconds."""
        return np.asarray(1.0 / np.maximum(self.requests, _TINY))


class Packing(NamedTuple):
    """Describes how decode replicas, and prefill replicas of one layout, are packed into nodes.

    A stage is placed in one node if it fits, and a node can contain prefill and decode stages. Node
    capacity is counted in slots for the smaller stage.

    node_chips : The chips per node.
    other_chips : The chips for heterogeneous prefill, in separate nodes.
    node_slots : The slots per node.
    slots, prompt_slots : The slots per decode replica and per prefill replica.
    nodes, prompt_nodes : The average nodes per decode replica and per prefill replica on its own.
    """

    node_chips: int
    other_chips: ArrayLike
    node_slots: Floats
    slots: Floats
    prompt_slots: Floats
    nodes: Floats
    prompt_nodes: Floats

    @classmethod
    def of(
        cls, node_chips: int, layouts: Layouts, pools: PrefillColumns | None = None
    ) -> "Packing":
        """Compute how each layout's replicas and each prefill pool are packed into nodes."""
        stages, width = stages_in_nodes(node_chips, layouts.chips, layouts.pp)
        other_chips: ArrayLike = 0.0
        prompt_stages, prompt_width = stages, width
        if pools is not None and pools.scenario is not None:
            prompt_stages, other_chips = 0.0 * stages, pools.chips
        elif pools is not None:
            sizes = pools.layout.chips, pools.layout.pp
            prompt_stages, prompt_width = stages_in_nodes(node_chips, *sizes)
        small, large = np.minimum(width, prompt_width), np.maximum(width, prompt_width)
        node_slots, large_stages = node_chips // small, node_chips // large
        # Smaller stages use what larger stages leave free in a node that is full of them.
        large_slots = (node_slots - (node_chips - large_stages * large) // small) / large_stages
        return cls(
            node_chips,
            other_chips,
            node_slots,
            stages * np.where(width == small, 1.0, large_slots),
            prompt_stages * np.where(prompt_width == small, 1.0, large_slots),
            stages / (node_chips // width),
            prompt_stages / (node_chips // prompt_width),
        )

    def of_layouts(self, positions: Ints) -> "Packing":
        """Select packing by the layout of each deployment, if it is given per layout."""
        count = self.slots.shape[-1]
        return Packing(
            self.node_chips,
            *(
                values[..., positions] if np.shape(values)[-1:] == (count,) else values
                for values in map(np.asarray, self[1:])
            ),
        )

    def at(self, indices: Ints) -> "Packing":
        """Return the packing of a subset of the deployments."""
        return Packing(self.node_chips, *(np.asarray(values)[indices] for values in self[1:]))

    def chips(self, replicas: Floats, prompt_replicas: ArrayLike) -> Floats:
        """Return the chips in the smallest number of nodes that fit all replicas."""
        slots = replicas * self.slots + np.multiply(prompt_replicas, self.prompt_slots)
        alone = np.maximum(replicas * self.nodes, np.multiply(prompt_replicas, self.prompt_nodes))
        nodes = np.ceil(np.maximum(alone, slots / self.node_slots) - _ROUNDING)
        return np.asarray(nodes * self.node_chips + self.other_chips)


def bills(
    scenario: Scenario, service: Service, chips: Floats, pools: PrefillColumns | None = None
) -> dict[str, Floats]:
    """Return the dollars per month and watts of chips, where these are limited. [USD], [W]

    pools : The disaggregated prefill pools among them, if any.
    """
    amounts = {}
    for name, per_chip in LIMITED.items():
        value = per_chip(scenario)
        if name in service.limits and value is not None:
            amounts[name] = chips * value + added(scenario, pools, per_chip)
    return amounts


def chips_within(service: Service, scenario: Scenario) -> float:
    """Return how many chips of a type the limits on chips, budget and power allow."""
    chips, limits = service.max_chips, service.limits
    for name, per_chip in LIMITED.items():
        if name in limits and (amount := per_chip(scenario)):
            chips = min(chips, floor(limits[name] / amount + _ROUNDING))
    return chips


def usd_per_month(scenario: Scenario) -> float | None:
    """Return the price of a chip for a month of 730 hours, or None if it is unknown, in USD."""
    price = scenario.quote.usd_per_hour
    return None if price is None else price * HOURS_PER_MONTH


LIMITED: dict[str, Callable[[Scenario], float | None]] = {
    "budget": usd_per_month,
    "power": lambda scenario: site_power(scenario.hardware),
}
"""Limited quantities per chip: dollars per month [USD] and power [W]."""


def counts_within(
    chips: float, packing: Packing, throughput: Floats, pools: PrefillColumns | None
) -> ReplicaCounts:
    """Find the replica counts with the highest throughput on the chips, at least one replica.

    throughput : The throughput of a replica. [1/s]
    pools : One replica of each disaggregated prefill pool.
    """
    nodes = chips // packing.node_chips
    slots, prompt_slots, room = packing.slots, packing.prompt_slots, nodes * packing.node_slots
    alone, prompts_alone = (
        np.floor(nodes / nodes_of_replica + _ROUNDING)
        for nodes_of_replica in (packing.nodes, packing.prompt_nodes)
    )
    if pools is None:
        return ReplicaCounts.of(np.maximum(alone, 1.0), throughput, None)
    # The pools balance at fractional replica counts. For the pool with more throughput per replica,
    # the best integer is the next below or above: one less loses more than the other can gain.
    decode_at_most = room / (slots + prompt_slots * throughput / pools.capacity)
    prefill_at_most = room / (prompt_slots + slots * pools.capacity / throughput)
    requests = np.zeros(throughput.shape)
    for further in (0.0, 1.0):
        decoding = np.minimum(np.maximum(np.floor(decode_at_most) + further, 1.0), alone)
        taking = np.floor((room - decoding * slots) / prompt_slots + _ROUNDING)
        taking = np.clip(taking, 0.0, prompts_alone)
        requests = np.maximum(requests, np.minimum(decoding * throughput, taking * pools.capacity))
        taking = np.clip(np.floor(prefill_at_most) + further, 0.0, prompts_alone)
        decoding = np.floor((room - taking * prompt_slots) / slots + _ROUNDING)
        decoding = np.clip(decoding, 0.0, alone)
        requests = np.maximum(requests, np.minimum(decoding * throughput, taking * pools.capacity))
    replicas, taking = (
        np.maximum(np.ceil(requests / capacity - _ROUNDING), 1.0)
        for capacity in (throughput, pools.capacity)
    )
    return ReplicaCounts(replicas, taking, requests)
