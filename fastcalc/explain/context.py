"""What the formulas of one pass have in common: its work, its machine and the rates it reaches."""

from fastcalc.core.machine import FED_BITS, Product
from fastcalc.core.pass_work import FLOPS_PER_PARAMETER, PassWork
from fastcalc.core.placement import Placement
from fastcalc.core.step import Component
from fastcalc.core.traffic import Traffic
from fastcalc.explain.numbers import Numbers, is_finite
from fastcalc.explain.terms import (
    Equation,
    Term,
    equation,
    number,
    one,
    over,
    plus,
    rounded_least,
    times,
)


class Pass:
    """One pass of a placement.

    Parameters
    ----------
    placement : Placement
        A workload on a layout.
    traffic : Traffic
        What requests look like.
    load : PassWork
        The work of the pass, one row of it.
    """

    def __init__(self, placement: Placement, traffic: Traffic, load: PassWork) -> None:
        self.placement, self.traffic, self.load = placement, traffic, load
        self.numbers, self.work, self.layout = Numbers(placement), placement.work, placement.layout
        machine = placement.machine
        self.chip, self.software = machine.chip, machine.software
        self.bandwidth = number(self.software.bandwidth(self.chip), "B/s")
        self.fed = self._fed()
        self.tp, self.shards = number(load.tp), number(load.shards)
        self.two = number(FLOPS_PER_PARAMETER)
        self.hidden = self.numbers.counted(load.hidden, "hidden width")
        # Where layers have regions, prompts are spread over all chips.
        regions = number(load.stages) if machine.is_spatial else number(1.0)
        self.everywhere = regions

    def rates(self) -> tuple[Equation, ...]:
        """Return the bandwidth that kernels reach, and the rate at which cores are fed."""
        setting, cores = self.numbers.setting, self.numbers.cores()
        bandwidth = times(setting("bandwidth_fraction"), self.numbers.bandwidth())
        if cores and is_finite(setting("bandwidth_per_core")):
            bandwidth = rounded_least(bandwidth, times(cores, setting("bandwidth_per_core")))
        read = equation("bandwidth", self.bandwidth.value, "B/s", bandwidth)
        if self.fed is None:
            return (read,)
        return read, equation("feed at half precision", self.fed.value, "FLOP/s", self.fed)

    def _fed(self) -> Term | None:
        """Return the rate at which all cores are fed; None without a limit. [FLOP/s]"""
        cores, per_core = self.numbers.cores(), self.numbers.setting("compute_per_core")
        return times(cores, per_core) if cores and is_finite(per_core) else None

    @property
    def sequences(self) -> Term:
        """Sequences that the pass decodes. [1]"""
        return number(self.load.sequences)

    @property
    def decoded(self) -> Term:
        """Tokens of those sequences in the pass. [1]"""
        return times(self.sequences, number(self.load.verified))

    @property
    def tokens(self) -> Term:
        """Tokens of a replica in the pass. [1]"""
        return plus(self.decoded, number(self.load.prompt))

    def reached(self, product: Product) -> Term:
        """Return the rate that products reach. [FLOP/s]"""
        peak = self.numbers.peak(getattr(self.chip, product))
        share = times(self.numbers.setting("compute_fraction"), peak)
        if self.fed is None:
            return share
        wider = number(FED_BITS / one(getattr(self.chip, f"{product}_bits")))
        fed = times(number(self.fed.value, "FLOP/s"), wider)
        unit = number(1.0)
        return over(unit, plus(over(unit, share), over(unit, fed)))

    def rate(self, part: Component, product: Product, *losses: Term) -> Equation:
        """Return the rate of products: what they reach, and what else is lost."""
        term = times(self.reached(product), *losses, self.everywhere)
        return equation("rate", part.flop_rate, "FLOP/s", term)

    def linked(self, part: Component, *, is_inside: bool) -> Equation:
        """Return the rate on links inside or beyond the domain."""
        link = self.numbers.link(is_inside=is_inside)
        fraction = self.numbers.setting("link_fraction")
        return equation("link rate", part.link, "B/s", times(link, fraction))
