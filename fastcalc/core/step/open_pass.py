"""Steps whose bytes are not yet placed: the time of each category in each memory."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from fastcalc.core.chip.machine import Machine
from fastcalc.core.model.kinds import KINDS
from fastcalc.core.placement.split import Costs, Split, extra_beyond_rounding, least_extra
from fastcalc.core.step.chip_work import ChipWork
from fastcalc.core.step.component import Step, total_of
from fastcalc.core.step.host_use import on_host
from fastcalc.core.step.pass_work import PassWork
from fastcalc.core.step.spatial import spatial_costs, spatial_pass
from fastcalc.core.step.step import (
    STAGE_WAIT,
    KnownParts,
    expected_step,
    layer_seconds,
    seconds_by_split,
)
from fastcalc.formulas.types import Array, ArrayLike, floats


class OpenPass:
    """A step of a deployment whose bytes may be placed in several memories.

    machine, chips : The machine, and the number of chips.
    work : The work of the step, independent of the placement of its bytes.
    same : A different step with the same decoded sequences.
    """

    def __init__(
        self, machine: Machine, chips: ArrayLike, work: PassWork, same: "OpenPass | None" = None
    ) -> None:
        self.machine, self.chips, self.work, self._same = machine, chips, work, same

    @cached_property
    def _known(self) -> KnownParts:
        """The placement-independent terms on chips that run layers in sequence."""
        same = self._same._known if self._same else None
        return KnownParts.of(self.work, self.machine.chip, self.machine.software, same)

    @property
    def parts(self) -> ChipWork | None:
        """The reads and products with everything in the first memory, or None with regions."""
        return None if self.machine.is_spatial else self._known.parts

    @property
    def gains(self) -> bool:
        """Whether the host's cores are faster at anything than the chip with its first memory."""
        machine, chip_work = self.machine, self.parts
        if chip_work is None or not any(tier.flop_rates for tier in machine.tiers):
            return False
        host = on_host(self.work, machine.tiers, self.chips, machine.software, chip_work.touched)
        assert host is not None
        pairs = zip(chip_work.kinds, host.net_seconds(machine.chip, chip_work), strict=True)
        return any(
            np.any(extra_beyond_rounding(group.work_time, host_seconds) < 0.0)
            for group, host_seconds in pairs
        )

    @cached_property
    def _opened(self) -> KnownParts:
        """The known terms if chips that run layers in sequence can use additional memories."""
        machine = self.machine
        return self._known.opened(
            self.work, machine.tiers, self.chips, machine.chip, machine.software
        )

    @property
    def costs(self) -> Sequence[Costs]:
        """The costs of each category in each memory, for each way to run the step.

        Empty for chips with regions, whose sweep time depends on the amount inside the regions.
        """
        offload = None if self.machine.is_spatial else self._opened.offload
        return () if offload is None else offload.open

    @cached_property
    def seconds(self) -> Callable[[Split], Array]:
        """Return a function that gives the step time for a given split, in seconds."""
        if self.machine.is_spatial:
            return lambda split: self.step(split).seconds
        chip, software = self.machine.chip, self.machine.software
        return seconds_by_split(self.work, chip, software, self._opened)

    def seconds_of_layers(self, split: Split | None) -> Array:
        """Compute the time on chips that run layers in sequence, without host overhead, in seconds.

        split : The distribution of bytes, or None if the chip has a single memory.
        """
        chip, software = self.machine.chip, self.machine.software
        known_parts = self._known if split is None else self._opened
        return layer_seconds(self.work, chip, software, known_parts, split)

    def least_seconds(self, sizes: dict[str, Array]) -> Array:
        """Compute a lower bound on the step time for any placement of the bytes, in seconds.

        sizes : The size of each category on the fullest chip, in bytes.
        """
        machine, chips = self.machine, self.chips
        rooms = machine.usable(chips)  # additional room never slows a step down
        if machine.is_spatial:
            nowhere = {group: [floats(0.0)] * len(rooms) for group in KINDS}
            floor = self.step(Split(machine.tiers, chips, sizes, nowhere)).seconds
            costs = spatial_costs(self.work, machine.tiers, chips, machine.chip, machine.software)
            return floor + least_extra([costs], sizes, rooms)
        near = self.step(None)
        passed = total_of(
            component.seconds for component in near.components if component.name != STAGE_WAIT
        )
        seconds = floats(passed + least_extra(self.costs, sizes, rooms))
        return seconds if self.gains else np.maximum(seconds, near.seconds)

    def step(self, split: Split | None) -> Step:
        """Compute the expected step.

        split : The distribution of bytes, or None if the chip has a single memory.
        """
        work, chip, software = self.work, self.machine.chip, self.machine.software
        if split is not None:
            work = replace(work, split=split)
        if self.machine.is_spatial:
            return spatial_pass(work, chip, software)
        return expected_step(work, chip, software, self._known if split is None else self._opened)
