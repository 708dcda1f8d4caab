"""Where one model on one kind of chip may live: memory tiers, layouts, and what serves a batch."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastcalc.core.layout import Layout, Layouts
from fastcalc.core.placement import Placement, Site, divides_heads, link_domain
from fastcalc.core.scenario import Outcome, Scenario, Sharding, check_traffic, sites_of, solve


@dataclass(frozen=True, eq=False)
class BatchRange:
    """A placement and the batches that it serves: those that no faster memory holds.

    Attributes
    ----------
    placement : Placement
        A workload on a layout, in one memory tier.
    fewest, most : int
        Smallest and largest batch that live here. [1]
    """

    placement: Placement
    fewest: int
    most: int


@dataclass(frozen=True, eq=False)
class Space:
    """All layouts of a scenario; batches and chips of the scenario itself are left aside.

    Attributes
    ----------
    scenario : Scenario
        Model, formats, chip, engine, traffic and prices.
    """

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

        Parameters
        ----------
        chips : int
            Numbers of chips. [1]
        """
        legal = [layout for count in chips for layout in self._legal(count)]
        if not legal:
            return []
        holds = [np.asarray(site.place(Layouts.of(legal)).max_batch) >= 1 for site in self.sites]
        return [legal[place] for place in np.flatnonzero(np.any(holds, axis=0))]

    def _legal(self, chips: int) -> Iterator[Layout]:
        """Yield what `Site.check` allows of so many chips, one copy of all weights each.

        Ranks that share the experts are no more than those, as each has at least one.
        """
        site, experts = self.sites[0], self.sites[0].work.experts
        if site.machine.is_spatial:
            yield from [Layout(pp=chips)] if chips <= site.most_stages else []
            return
        for tp in self._widths:
            for pp in range(1, min(chips // tp, site.most_stages) + 1):
                dp, left = divmod(chips, tp * pp)
                if left == 0 and dp == 1:
                    ranks = (1, *(ep for ep in range(tp, 1, -1) if tp % ep == 0 and ep <= experts))
                    yield from (Layout(tp, pp, ep) for ep in ranks)
                elif left == 0 and tp * dp <= experts:
                    yield Layout(tp, pp, tp * dp, dp)

    @cached_property
    def _widths(self) -> list[int]:
        """Ranks of a tensor-parallel group that chip and model allow. [1]"""
        domain = link_domain(self.scenario.hardware)
        work = self.sites[0].work
        return [ranks for ranks in range(1, domain + 1) if divides_heads(work, ranks)]

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
    """Return a layout as a person would ask for it, rank by rank."""
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
