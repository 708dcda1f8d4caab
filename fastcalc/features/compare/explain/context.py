"""What the formulas of a pass share: its work, its machine and its effective rates."""

from fastcalc.core.chip.machine import FED_BITS
from fastcalc.core.chip.tiers import read_first
from fastcalc.core.placement.legal import topology_of
from fastcalc.core.step.chip_work import chip_work
from fastcalc.core.step.host_use import offload_options, offloaded_pass, part_of, tier_rates
from fastcalc.core.step.pass_work import ACTIVATION_BYTES, FLOPS_PER_PARAMETER, PassWork
from fastcalc.core.step.schedule import Schedule
from fastcalc.features.compare.explain.numbers import Numbers
from fastcalc.features.compare.explain.terms import (
    Equation,
    Term,
    equation,
    named,
    number,
    rounded_least,
    scalar,
)
from fastcalc.formulas.types import ArrayLike


class PassContext:
    """A forward pass of a placement, with the times of the components explained so far. [s]"""

    def __init__(self, schedule: Schedule, pass_work: PassWork) -> None:
        placement = schedule.placement
        self.schedule, self.traffic, self.pass_work = schedule, schedule.traffic, pass_work
        self.numbers, self.work = Numbers(placement), placement.work
        self.machine, self.chip = placement.machine, placement.machine.chip
        self.seconds: dict[str, float] = {}
        self.bandwidth = number(self.machine.software.bandwidth(self.chip), "B/s")
        self.fed = self.numbers.over_cores("compute_per_core")
        self.shards = number(pass_work.exchange.ranks)
        self.on_chip = number(float(self.machine.ranks))
        self.tp = number(scalar(pass_work.tp.ranks) / self.machine.ranks)
        self.two = number(FLOPS_PER_PARAMETER)
        self.sequences = number(pass_work.sequences)
        self.decoded = self.sequences * pass_work.verified
        self.hidden = self.numbers.counted(pass_work.hidden, "hidden width")
        self.offloaded = None
        if pass_work.split is not None and not self.machine.is_spatial:
            components = chip_work(pass_work, self.chip, self.machine.software)
            tiers, chips = pass_work.split.tiers, pass_work.split.chips
            options = offload_options(
                pass_work, tiers, chips, self.chip, self.machine.software, components
            )
            self.offloaded = offloaded_pass(pass_work.split, options)
        # On machines with a region per layer, prompts are spread over all chips.
        self.everywhere = number(pass_work.pipeline.stages if self.machine.is_spatial else 1.0)

    def rates(self) -> tuple[Equation, ...]:
        """Return the effective bandwidth of each memory, and the rate at which cores are fed."""
        numbers = self.numbers
        bandwidth = numbers.setting("bandwidth_fraction") * numbers.bandwidth()
        by_cores = numbers.over_cores("bandwidth_per_core")
        if by_cores is not None:
            bandwidth = rounded_least(bandwidth, by_cores)
        reached = [equation("bandwidth", self.bandwidth.value, "B/s", bandwidth)]
        split = self.pass_work.split
        if split is not None:
            components = [part_of(tier, split.chips, self.pass_work) for tier in split.tiers]
            rates = tier_rates(split.tiers, self.chip, self.machine.software, components)
            for tier, rate in zip(split.tiers, rates, strict=True):
                if tier is not read_first(split.tiers):
                    origin = numbers.bandwidth(tier).numbers[0].origin
                    term = number(scalar(rate), "B/s", origin)
                    reached.append(named(f"{tier.where} bandwidth", "B/s", term))
        if self.fed is not None:
            reached.append(named("compute limit of the cores", "FLOP/s", self.fed))
        return tuple(reached)

    def part(self, weights: Term, copied: Term) -> Term:
        """Return the weights on a chip, some of which every rank may hold unsharded."""
        beyond = self.on_chip - 1.0 / self.tp
        if not (topology_of(self.machine).has_copies and beyond.value and copied.value):
            return weights / self.tp
        return weights / self.tp + copied * beyond

    def near(self, kind: str) -> Term:
        """Return the fraction of a data category that the chip reads from its first memory."""
        return number(scalar(self.offloaded.near.of(kind)) if self.offloaded else 1.0)

    def here(self, group: str) -> Term:
        """Return the fraction of a weight category that the chip, not the host, multiplies."""
        return number(scalar(self.offloaded.multiplied.of(group)) if self.offloaded else 1.0)

    def in_region(self, group: str) -> Term:
        """Return the fraction of a weight category that a spatial machine has in regions."""
        split = self.pass_work.split
        if split is None:
            return number(1.0)
        tiers = zip(split.tiers, split.shares[group], strict=True)
        return number(sum(scalar(fraction) for tier, fraction in tiers if tier.where == "chip"))

    def message(self) -> Term:
        """Return the activation bytes sent for all tokens of a replica, in bytes."""
        tokens = self.decoded + self.pass_work.prompt
        return tokens * self.hidden * number(ACTIVATION_BYTES, "B")

    def reached(self, group: str) -> Term:
        """Return the achieved rate of matrix products with a weight category, in FLOP/s."""
        product = self.chip.products.of(group)
        peak = self.numbers.peak(product.peak, kernel=self.numbers.kernel(group))
        fraction = self.numbers.setting("compute_fraction") * peak
        if self.fed is None:
            return fraction
        wider = number(FED_BITS / scalar(product.bits))
        fed = number(self.fed.value, "FLOP/s") * wider
        return 1.0 / (1.0 / fraction + 1.0 / fed)

    def rate(self, group: str, *losses: Term) -> tuple[str, Term]:
        """Return the effective rate of matrix products after additional losses."""
        term = self.reached(group)
        for loss in (*losses, self.everywhere):
            term = term * loss
        return "rate", term

    def linked(self, *, is_inside: bool, fraction: ArrayLike = 1.0) -> tuple[str, Term]:
        """Return the rate of a rank's links inside or beyond the link domain."""
        link = self.numbers.link(is_inside=is_inside) * self.numbers.setting("link_fraction")
        if scalar(fraction) != 1.0:
            link = link * self.numbers.counted(fraction, "fraction of a link used at once")
        return "link rate", link
