"""Where one model on one kind of chip may live: memory tiers, layouts, and what serves a batch."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastcalc.core.layout import Layout
from fastcalc.core.placement import Placement, Site
from fastcalc.core.scenario import Outcome, Scenario, Sharding, check_traffic, sites_of, solve


@dataclass(frozen=True, eq=False)
class BatchRange:
    """A placement in one memory tier, and the smallest and largest batch that live there. [1]

    They are those that no faster memory holds.
    """

    placement: Placement
    fewest: int
    most: int


@dataclass(frozen=True, eq=False)
class Space:
    """All layouts of a scenario; batches and chips of the scenario itself are left aside."""

    scenario: Scenario

    @cached_property
    def sites(self) -> list[Site]:
        """The memory tiers, fastest first, as `fastcalc.core.scenario.locate` tries them.

        Raises
        ------
        InputError
            If a format is unknown or the context exceeds the model's.
        """
        found = sites_of(self.scenario, self.scenario.traffic.reserved)
        check_traffic(self.scenario)
        return found

    @cached_property
    def fewest_chips(self) -> int | None:
        """Chips of the smallest default deployment that holds one sequence, if any. [1]"""
        smallest = (site.smallest(1) for site in self.sites)
        return min((one.layout.chips for one in smallest if one), default=None)

    def layouts(self, *chips: int) -> list[Layout]:
        """Return every legal layout of some numbers of chips that holds a sequence.

        It holds one copy of all weights. Several copies are replicas: they serve more users at the
        same speed and price.
        """
        legal = [layout for count in chips for layout in self.sites[0].of_one_copy(count)]
        if not legal:
            return []
        holds = np.stack([site.place_all(legal).max_batch >= 1 for site in self.sites])
        return [legal[place] for place in np.flatnonzero(np.any(holds, axis=0))]

    def tiers(self, layout: Layout) -> Iterator[BatchRange]:
        """Yield where a layout's batches live, from small batches to large."""
        held = 0
        for site in self.sites:
            placement = site.place(layout)
            most = int(placement.max_batch)
            if most > held:
                yield BatchRange(placement, held + 1, most)
                held = most

    def at(self, layout: Layout, *batches: int) -> Outcome:
        """Return the scenario solved on a layout for some batches of one tier."""
        return solve(replace(self.scenario, batches=batches, sharding=sharding(layout)))


def sharding(layout: Layout) -> Sharding:
    """Return a layout as a user would ask for it, rank by rank."""
    return Sharding(tp=layout.tp, pp=layout.pp, ep=layout.ep, dp=layout.dp)


def chip_counts(fewest: int, most: int) -> list[int]:
    """Return powers of two from few chips to many, and both ends. [1]

    Examples
    --------
    >>> chip_counts(3, 20)
    [3, 4, 8, 16, 20]
    """
    powers = {2**place for place in range(most.bit_length())}
    return sorted({fewest, most} | {count for count in powers if fewest < count < most})
