"""The inverse of `fit`: the most users for a context, or the longest context for some users."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from fastcalc.catalogue.limits import LIMITS
from fastcalc.core.chosen_layouts import chosen_layouts, open_layouts
from fastcalc.core.outcome import Location, site_of
from fastcalc.core.placement.layout import Layout, LayoutError, Layouts
from fastcalc.core.placement.placement import Placements, Site
from fastcalc.core.scenario import Scenario
from fastcalc.core.start import StartLocation
from fastcalc.formulas.solving import bisect_integers, largest_reaching
from fastcalc.formulas.types import Array, Floats, floats

Unknown = Literal["context", "users"]
"""The quantity to solve for."""

Limiter = Literal["memory", "model", "engine"]
"""The limiting factor: the chips' memory, the model's context, or a limit of the engine."""


@dataclass(frozen=True, eq=False)
class Capacity:
    """The capacity of a number of chips, in the best common layout unless the scenario sets one.

    scenario : The model, chip, engine and output per request; its prompt and batch are ignored.
    site : The site of the chips, which does not depend on the number of reserved tokens.
    layouts : The layouts allowed.
    """

    scenario: Scenario
    site: Site
    layouts: Sequence[Layout]

    @classmethod
    def of(cls, location: Location) -> "Capacity":
        """Return the capacity of a placement's chips, over all layouts unless ranks are given.

        Raises LayoutError if there is no layout.
        """
        scenario, layout = location.scenario, location.placement.layout
        if scenario.sharding.names_ranks:
            return cls(scenario, location.site, [layout])
        return cls(scenario, location.site, open_layouts(location.site, layout.chips))

    @property
    def largest_reserve(self) -> float:
        """The engine's largest reserve relative to its expected reserve."""
        return self.site.machine.reserve.above

    @property
    def longest(self) -> int:
        """The longest sequence that the model and engine accept, regardless of memory."""
        model, engine = self.scenario.model.max_context, self.site.machine.memory.longest
        return int(min(model or np.inf, engine or np.inf, LIMITS["tokens"].maximum))

    @cached_property
    def _stack(self) -> Layouts:
        return Layouts.of([self.site.counted(layout) for layout in self.layouts])

    def users(self, tokens: Array, reserves: float, *, is_limited: bool = True) -> Floats:
        """Count the sequences of the given lengths that fit in the layout with most capacity.

        tokens : The final length of a sequence.
        reserves : The engine's reserve relative to its expected reserve.
        is_limited : If False, only memory counts, without limits or startup checks of the engine.
        """
        reserved = floats(tokens)[..., np.newaxis] + self.scenario.traffic.speculation.drafted
        placements = Placements(self.site.machine, self.site.work, self._stack, reserved)
        sequences = placements.held_beside(reserves)
        if is_limited:
            sequences = np.minimum(placements.batch_beside(reserves), placements.engine_batch)
        return floats(np.minimum(sequences, LIMITS["sequences"].maximum).max(axis=-1))

    @property
    def most_taken(self) -> float:
        """The maximum number of sequences that the engine accepts, regardless of memory."""
        return float(np.max(floats(self.site.machine.max_sequences) * self._stack.dp))

    def context(self, users: Array, reserves: float, *, is_limited: bool = True) -> Floats:
        """Find the longest sequence that fits for each number of users, or 0 if none fits.

        users : The number of users of the whole deployment.
        reserves : The engine's reserve relative to its expected reserve.
        is_limited : If False, only memory counts.
        """
        users_at = partial(self.users, reserves=reserves, is_limited=is_limited)
        return floats(largest_reaching(users_at, floats(users), 0, int(self.longest) + 1))

    def solved(self, unknown: Unknown) -> tuple[int, int]:
        """Find the largest value that fits at the engine's maximum reserve, and at its minimum.

        unknown : The quantity to solve for, at the scenario's smallest batch or its prompt and
            output.
        """
        held, longest = list[int](), int(self.scenario.traffic.longest)
        for reserve in (self.largest_reserve, 1.0 / self.site.machine.reserve.below):
            if unknown == "context":
                users = float(min(self.scenario.batches))
                held.append(self.longest_context(users, reserve))
            else:
                held.append(int(self.users(np.array([longest]), reserve)[0]))
        return held[0], max(held)

    def longest_context(self, users: float, reserves: float) -> int:
        """Find the longest sequence that fits in a server limited to that length.

        A server with a lower maximum length may reserve less memory, and so fit longer sequences
        than one with the model's maximum context. The maximum length also rules out layouts in
        which it does not fit.
        """
        longest = self.context_at_default(users, reserves)
        holds = partial(self._holds_at_length, users=users, reserves=reserves)
        if self.scenario.memory.longest or longest >= self.longest or not holds(longest + 1):
            return longest
        return bisect_integers(holds, longest + 1, self.longest + 1)[0]

    def context_at_default(self, users: float, reserves: float) -> int:
        """Find the longest sequence that fits in a server with its default maximum length.

        users : The number of users of the whole deployment.
        reserves : The engine's reserve relative to its expected reserve.
        """
        return int(self.context(np.array([users]), reserves)[0])

    def _holds_at_length(self, tokens: int, users: float, reserves: float) -> bool:
        """Check whether a server with this maximum length fits sequences of that length."""
        memory = replace(self.scenario.memory, longest=float(tokens))
        site = site_of(replace(self.scenario, memory=memory), self.scenario.traffic.reserved)
        layouts = self.layouts
        if not self.scenario.sharding.names_ranks:
            try:
                layouts = open_layouts(site, layouts[0].chips)
            except LayoutError:
                return False
        limited = replace(self, site=site, layouts=layouts)
        return bool(limited.users(np.array([tokens]), reserves)[0] >= users)


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution for the capacity of a number of chips.

    unknown : The quantity that was solved for.
    certain, edge : The users or sequence length with the engine's maximum and minimum reserve.
    limited_by : The limiting factor.
    location : The placement at ``certain``, or as requested if nothing fits.
    needs_length : Whether ``certain`` tokens fit only if set as the maximum length.
    """

    unknown: Unknown
    certain: int
    edge: int
    limited_by: Limiter
    location: StartLocation
    needs_length: bool = False


def solve_for(unknown: Unknown, location: StartLocation) -> Solution:
    """Find the most users or the longest context for a placed scenario.

    Raises LayoutError if there is no layout for its chips.
    """
    capacity, scenario = Capacity.of(location), location.scenario
    certain, edge = capacity.solved(unknown)
    if unknown == "users":
        placed = _placed(replace(scenario, batches=(max(certain, 1),)), location)
        tokens, reserves = np.array([scenario.traffic.longest]), capacity.largest_reserve
        users_by_memory = float(capacity.users(tokens, reserves, is_limited=False)[0])
        by: Limiter = "engine" if users_by_memory > certain > 0 else "memory"
        return Solution(unknown, certain, edge, by, placed if certain else location)
    output, users = float(scenario.traffic.output), min(scenario.batches)
    if certain <= output:
        refuses = users > capacity.most_taken
        edge = edge if edge > output else 0
        return Solution(unknown, 0, edge, "engine" if refuses else "memory", location)
    ends: dict[float | None, Limiter] = {
        scenario.model.max_context: "model",
        capacity.site.machine.memory.longest: "engine",
    }
    by_memory = capacity.context(
        np.array([float(users)]), capacity.largest_reserve, is_limited=False
    )
    otherwise: Limiter = "engine" if by_memory[0] > certain else "memory"
    prompt = certain - output
    traffic = replace(scenario.traffic, prompt=prompt, context=prompt + output / 2.0)
    scenario = replace(scenario, traffic=traffic)
    needs_length = certain > capacity.context_at_default(float(users), capacity.largest_reserve)
    if needs_length:
        memory = replace(scenario.memory, longest=float(certain))
        scenario = replace(scenario, memory=memory)
    placed = _placed(scenario, location)
    return Solution(unknown, certain, edge, ends.get(certain, otherwise), placed, needs_length)


def _placed(scenario: Scenario, location: Location) -> StartLocation:
    """Place a scenario on the chips of a placement, in the same layout if ranks are given."""
    site, layout = site_of(scenario, scenario.traffic.reserved), location.placement.layout
    if not scenario.sharding.names_ranks:
        smallest = np.array([float(min(scenario.batches))])
        layout = chosen_layouts(site, layout.chips, smallest, scenario.traffic).first
    return StartLocation(scenario, site, site.place(layout), location.is_default_layout)
