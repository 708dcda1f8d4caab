"""Search space: the layouts of a model on a chip type."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan

from fastcalc.core.chosen_layouts import fewest_chips, holding, layouts_on_offer
from fastcalc.core.outcome import Outcome, site_of, solve
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Site
from fastcalc.core.placement.practice import MOST_STAGES, copies_run_by_people, run_by_people
from fastcalc.core.scenario import Scenario, Sharding, check_traffic

_WHOLE = 64  # for chips with whole layers, the number of chips up to which every number is tried


@dataclass(frozen=True, eq=False)
class Space:
    """The usual layouts of a scenario. Its own batches and chips are ignored."""

    scenario: Scenario

    @cached_property
    def site(self) -> Site:
        """The model on the chip type."""
        site = site_of(self.scenario, self.scenario.traffic.reserved)
        check_traffic(self.scenario)
        return site

    @cached_property
    def fewest_chips(self) -> int | None:
        """The fewest chips that fit a sequence, or None if no number does."""
        fewest = float(fewest_chips(self.site, 1.0)[0])
        return None if isnan(fewest) else int(fewest)

    def layouts(self, *chips: int) -> list[Layout]:
        """List the usual layouts that fit a sequence with a single copy of the weights.

        If there are none, the smallest legal layout that fits a sequence is returned, with any
        number of stages.
        """
        if self.site.machine.is_spatial:
            return self.holding([*run_by_people(self.site, *chips)])
        return layouts_on_offer(self.site, chips)

    def up_to(self, max_chips: int) -> list[Layout]:
        """List layouts from the fewest chips that fit a sequence up to a number of chips.

        For chips that pipeline whole layers, every number up to 64 is included, followed by steps
        of 1/32.
        """
        fewest = self.fewest_chips
        if fewest is None or fewest > max_chips:
            return []
        steps = _WHOLE if self.site.machine.is_spatial else MOST_STAGES
        widths = {2**index for index in range(max_chips.bit_length())} | {self.site.chips_joined}
        counts = {width * stages for width in widths for stages in range(1, steps + 1)}
        return self.layouts(
            *sorted(count for count in counts | {fewest} if fewest <= count <= max_chips)
        )

    def cuts(self, chips: int) -> list[Layout]:
        """List the usual layouts on these chips that fit a sequence, with any number of copies."""
        return self.holding([*copies_run_by_people(self.site, chips)])

    def holding(self, layouts: list[Layout]) -> list[Layout]:
        """Filter the layouts that fit a sequence."""
        return holding(self.site, layouts)

    def at(self, layout: Layout, *batches: int) -> Outcome:
        """Solve the scenario on a layout for several batches."""
        return solve(replace(self.scenario, batches=batches, sharding=Sharding.of(layout)))


def chip_counts(fewest: int, largest: int) -> list[int]:
    """List the two chip counts and the powers of two between them.

    >>> chip_counts(3, 20)
    [3, 4, 8, 16, 20]
    """
    powers = {2**index for index in range(largest.bit_length())}
    return sorted({fewest, largest} | {count for count in powers if fewest < count < largest})
