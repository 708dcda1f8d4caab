"""Fit, the other way: the most users of a context, or the longest context of so many users."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.chosen_layouts import layouts_of, practised_layouts
from fastcalc.core.placement.layout import Layout, Layouts
from fastcalc.core.placement.placement import Placements, Site
from fastcalc.core.scenario import Location, Scenario, locate, site_of
from fastcalc.formulas.types import Array, Floats, floats

Unknown = Literal["context", "users"]
"""What is solved for."""

Limiter = Literal["memory", "model", "engine"]
"""What holds no more: the chips, the context of the model, or a limit that the engine has."""


@dataclass(frozen=True, eq=False)
class Capacity:
    """What some chips hold, cut as people do where a scenario leaves that open.

    scenario : model, chip, engine and output of each request; its prompt and batch are left aside
    site : the same, for any tokens reserved
    layouts : those that may be taken
    """

    scenario: Scenario
    site: Site
    layouts: Sequence[Layout]

    @classmethod
    def of(cls, location: Location) -> "Capacity":
        """Return the capacity of the chips that a location has, with their ranks open if they are.

        Raises LayoutError if there is no layout.
        """
        sharding = location.scenario.sharding
        if sharding.chips is None or sharding.names_ranks:
            return cls(location.scenario, location.site, [location.placement.layout])
        layouts = practised_layouts(location.site, sharding.chips)
        layouts = layouts or layouts_of(location.site, sharding.chips)
        return cls(location.scenario, location.site, layouts)

    @property
    def _reserves(self) -> tuple[float, float]:
        """The engine's reserve by what is expected of it, at its largest and its smallest. [1]"""
        reserve = self.site.machine.reserve
        return reserve.above, 1.0 / reserve.below

    @cached_property
    def limits(self) -> Floats:
        """Sequences that the engine takes at once on each layout, whatever fits. [1]"""
        limits = floats(self.site.machine.software.max_sequences) * self._stack.dp
        return np.minimum(limits, LIMITS["sequences"].maximum)

    @property
    def longest(self) -> int:
        """Tokens of a sequence that model and engine take, whatever fits. [1]"""
        model, engine = self.scenario.model.max_context, self.site.machine.memory.longest
        return int(min(model or np.inf, engine or np.inf, LIMITS["tokens"].maximum))

    @cached_property
    def _stack(self) -> Layouts:
        return Layouts.of([self.site.counted(layout) for layout in self.layouts])

    def users(self, tokens: Array, reserves: float) -> Floats:
        """Return the most sequences of some lengths, of the layout that holds most. [1]

        tokens : of a sequence at its end [1]
        reserves : the engine's reserve by what is expected of it [1]
        """
        reserved = floats(tokens)[..., np.newaxis] + self.scenario.traffic.speculation.drafted
        placements = Placements(self.site.machine, self.site.work, self._stack, reserved)
        return floats(np.minimum(placements.batch_beside(reserves), self.limits).max(axis=-1))

    def context(self, users: Array, reserves: float) -> Floats:
        """Return the longest sequences that so many users may have, 0 where none. [1]

        The more tokens a sequence has the fewer fit, so that halving finds the last that do.

        users : of the whole deployment [1]
        reserves : the engine's reserve by what is expected of it [1]
        """
        sequences = floats(users)
        low, high = np.zeros(sequences.shape), np.full(sequences.shape, self.longest + 1.0)
        while (high - low > 1.0).any():
            middle = np.floor((low + high) / 2.0)
            holds = self.users(middle, reserves) >= sequences
            low, high = np.where(holds, middle, low), np.where(holds, high, middle)
        return low

    def solved(self, unknown: Unknown) -> tuple[int, int]:
        """Return what is held for certain, and if the engine keeps as little as it may. [1]

        unknown : solved for, at the scenario's smallest batch or at its prompt and output
        """
        if unknown == "users":
            tokens = np.array([self.scenario.traffic.longest])
            amounts_held = [self.users(tokens, reserves) for reserves in self._reserves]
        else:
            users = np.array([float(min(self.scenario.batches))])
            amounts_held = [self.context(users, reserves) for reserves in self._reserves]
        certain, edge = (int(amounts[0]) for amounts in amounts_held)
        return certain, edge


@dataclass(frozen=True, eq=False)
class Solution:
    """What chips hold.

    unknown : what was solved for
    certain, edge : users, or tokens of a sequence: for certain, and if the engine keeps as little
        as it may [1]
    limited_by : what holds no more
    location : placed at what is held for certain, or as asked where nothing is
    """

    unknown: Unknown
    certain: int
    edge: int
    limited_by: Limiter
    location: Location


def solve_for(unknown: Unknown, location: Location) -> Solution:
    """Return the most users or the longest context of a placed scenario.

    Raises LayoutError if its chips have no layout.
    """
    capacity, scenario = Capacity.of(location), location.scenario
    certain, edge = capacity.solved(unknown)
    if unknown == "users":
        placed = _placed(replace(scenario, batches=(max(certain, 1),)), location)
        per_replica = float(placed.placement.machine.software.max_sequences)
        is_full = certain == per_replica * placed.placement.layout.dp
        by: Limiter = "engine" if is_full else "memory"
        return Solution(unknown, certain, edge, by, placed if certain else location)
    output, users = float(scenario.traffic.output), min(scenario.batches)
    if certain <= output:
        refuses = users > capacity.limits.max()
        edge = edge if edge > output else 0
        return Solution(unknown, 0, edge, "engine" if refuses else "memory", location)
    ends: dict[float | None, Limiter] = {
        scenario.model.max_context: "model",
        capacity.site.machine.memory.longest: "engine",
    }
    prompt = certain - output
    traffic = replace(scenario.traffic, prompt=prompt, context=prompt + output / 2.0)
    placed = _placed(replace(scenario, traffic=traffic), location)
    return Solution(unknown, certain, edge, ends.get(certain, "memory"), placed)


def _placed(scenario: Scenario, location: Location) -> Location:
    """Return a scenario on the layout of a location, or on one of its chips if ranks are open."""
    if not location.is_default_layout:
        return locate(scenario)
    site = site_of(scenario, scenario.traffic.reserved)
    placement = site.place(location.placement.layout)
    return Location(scenario, site, placement, is_default_layout=True)
