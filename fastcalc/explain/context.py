"""What the formulas of one pass have in common: its work, its machine and the rates it reaches."""

from fastcalc.core.machine import FED_BITS, Product
from fastcalc.core.pass_work import ACTIVATION_BYTES, FLOPS_PER_PARAMETER, PassWork
from fastcalc.core.schedule import Schedule
from fastcalc.core.step import Component
from fastcalc.explain.numbers import Numbers
from fastcalc.explain.terms import Equation, Term, equation, named, number, one, rounded_least


class Pass:
    """One pass of a placement, with the time of each component before the one explained. [s]"""

    def __init__(self, schedule: Schedule, load: PassWork) -> None:
        placement = schedule.placement
        self.schedule, self.traffic, self.load = schedule, schedule.traffic, load
        self.numbers, self.work = Numbers(placement), placement.work
        self.machine, self.chip = placement.machine, placement.machine.chip
        self.seconds: dict[str, float] = {}
        self.bandwidth = number(self.machine.software.bandwidth(self.chip), "B/s")
        self.fed = self.numbers.over_cores("compute_per_core")
        self.tp, self.shards = number(load.tp), number(load.shards)
        self.two = number(FLOPS_PER_PARAMETER)
        self.sequences = number(load.sequences)
        self.decoded = self.sequences * load.verified
        self.hidden = self.numbers.counted(load.hidden, "hidden width")
        # Where layers have regions, prompts are spread over all chips.
        self.everywhere = number(load.stages if self.machine.is_spatial else 1.0)

    def rates(self) -> tuple[Equation, ...]:
        """Return the bandwidth that kernels reach, and the rate at which cores are fed."""
        numbers = self.numbers
        bandwidth = numbers.setting("bandwidth_fraction") * numbers.bandwidth()
        by_cores = numbers.over_cores("bandwidth_per_core")
        if by_cores is not None:
            bandwidth = rounded_least(bandwidth, by_cores)
        read = equation("bandwidth", self.bandwidth.value, "B/s", bandwidth)
        if self.fed is None:
            return (read,)
        return read, named("feed at half precision", "FLOP/s", self.fed)

    def message(self) -> Term:
        """Return the activations of all tokens of a replica. [byte]"""
        tokens = self.decoded + self.load.prompt
        return tokens * self.hidden * number(ACTIVATION_BYTES, "B")

    def reached(self, product: Product) -> Term:
        """Return the rate that products reach. [FLOP/s]"""
        peak = self.numbers.peak(getattr(self.chip, product))
        share = self.numbers.setting("compute_fraction") * peak
        if self.fed is None:
            return share
        wider = number(FED_BITS / one(getattr(self.chip, f"{product}_bits")))
        fed = number(self.fed.value, "FLOP/s") * wider
        return 1.0 / (1.0 / share + 1.0 / fed)

    def rate(self, part: Component, product: Product, *losses: Term) -> Equation:
        """Return the rate of products: what they reach, and what else is lost."""
        term = self.reached(product)
        for loss in (*losses, self.everywhere):
            term = term * loss
        return equation("rate", part.flop_rate, "FLOP/s", term)

    def linked(self, part: Component, *, is_inside: bool) -> Equation:
        """Return the rate on links inside or beyond the domain."""
        link = self.numbers.link(is_inside=is_inside) * self.numbers.setting("link_fraction")
        return equation("link rate", part.link, "B/s", link)
