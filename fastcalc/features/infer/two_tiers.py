"""A service of two tiers on a textbook step: what its speeds and prices are, given all it hides.

One tier is slow and the other fast; they serve the same model. A pass reads the weights that its
tokens touch and each user's cache, or computes, whichever takes longer, and then waits for a floor
that no batch shortens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.schema import Hardware
from fastcalc.core.chip.rates import working_rate
from fastcalc.core.chip.tier import own_tiers
from fastcalc.core.pricing import Pricing
from fastcalc.core.step.pass_work import FLOPS_PER_PARAMETER
from fastcalc.core.step.textbook import TextbookStep
from fastcalc.core.traffic.traffic import LIKELY_ACCEPTANCE
from fastcalc.errors import InputError
from fastcalc.formulas.experts import distinct_experts
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.speculation import draft_length
from fastcalc.formulas.types import Array, Bools, Floats
from fastcalc.mentions import option

USABLE = 0.9
"""Share of a memory that weights and caches may fill."""

COMPUTE_REACH = 0.7
"""Share of its arithmetic peak that a chip reaches."""

_WEIGHTS = "fp8"  # a byte for each parameter of the box

Values = Mapping[str, Floats]
"""What a service hides, by the names of `BOX`."""


@dataclass(frozen=True)
class Side:
    """A side of the box that is searched: a number, its ends, its label and its unit."""

    name: str
    low: float
    high: float
    label: str
    unit: str = ""
    factor: float = 1.0
    is_even: bool = False

    @property
    def si(self) -> str:
        """Its unit in SI, as the data dictionary writes it."""
        return {"GB": "B", "ms": "s"}.get(self.unit, "number")

    def at(self, share: Floats) -> Floats:
        """Return the values at shares of the side: in equal ratios, or evenly."""
        if self.is_even:
            return np.asarray(self.low + share * (self.high - self.low))
        return np.asarray(self.low * (self.high / self.low) ** share)

    def share(self, value: Floats) -> Floats:
        """Return where values stand along the side, from 0 to 1."""
        if self.is_even:
            return np.asarray((value - self.low) / (self.high - self.low))
        return np.asarray(np.log(value / self.low) / np.log(self.high / self.low))


BOX = (
    Side("active", 10e9, 400e9, "active parameters, 8 bits each", "B", 1e-9),
    Side("sparsity", 1.0, 32.0, "all parameters over active ones"),
    Side("cache", 0.05e9, 10e9, "cache read for a user", "GB", 1e-9),
    Side("floor", 1e-3, 20e-3, "floor of a pass", "ms", 1e3),
    Side("reach", 0.4, 0.9, "share of bandwidth reached", is_even=True),
    Side("chips", 4.0, 128.0, "chips of the slow tier"),
    Side("batch", 1.0, 4096.0, "users at a time, slow tier"),
    Side("kept", 1.0, 3.0, "tokens a pass, slow tier", is_even=True),
    Side("markup", 0.5, 50.0, "markup, price over cost, slow tier"),
    Side("batch_ratio", 1.0, 256.0, "fewer users in the fast tier", "x"),
    Side("kept_ratio", 1.0, 3.0, "more tokens a pass there", "x"),
    Side("chips_ratio", 1.0, 4.0, "more chips there", "x"),
    Side("markup_ratio", 1.0, 50.0, "more markup there", "x"),
)
"""The box of what a service may hide; chips of both tiers are two more sides of it.

Nothing but the market limits a markup. Up to 50 covers a fast tier at six times the price whose
tokens, three a pass, cost a third: 18 times the markup, and 31 with all four numbers off by 15 %.
"""

SIDES = {side.name: side for side in BOX}

TRICKS = {
    "smaller batch": ("batch_ratio",),
    "drafts": ("kept_ratio",),
    "other machine": ("chips_ratio", "fast_chip"),
    "higher markup": ("markup_ratio",),
}
"""What a fast tier may do, and the numbers by which it then differs from the slow one."""


@dataclass(frozen=True)
class SoldTiers:
    """What is published of a service: tokens a second and USD a million tokens out, slow first."""

    speeds: tuple[float, float]
    prices: tuple[float, float]


@dataclass(frozen=True, eq=False)
class ChipArrays:
    """Chips that may serve, as arrays: bandwidth, memory and rate. [B/s, B, FLOP/s, USD/h]"""

    names: tuple[str, ...]
    bandwidth: Floats
    memory: Floats
    rate: Floats
    usd: Floats


def machines(chips: Sequence[Hardware], pricing: Pricing) -> ChipArrays:
    """Return chips as arrays; those without a textbook step, or a price, are refused."""
    rows = []
    for chip in chips:
        usd = pricing.per_chip_hour(chip)
        if chip.execution == "spatial":
            raise InputError(
                f"{option('on')} {chip.id}: its step is no textbook step; leave it out"
            )
        if usd is None:
            raise InputError(
                f"{option('on')} {chip.id} has no {pricing.name} price, so no cost; leave it out, "
                f"or give {option('price', f'{chip.id}=USD')}"
            )
        memory, rate = own_tiers(chip)[0], working_rate(chip, number_format(_WEIGHTS))
        rows.append((memory.bandwidth, memory.capacity, rate.peak, usd))
    bandwidth, capacity, rates, prices = np.array(rows, dtype=float).T
    return ChipArrays(tuple(chip.id for chip in chips), bandwidth, capacity, rates, prices)


@dataclass(frozen=True, eq=False)
class ServedTier:
    """What a tier gives a user, and what it costs: tokens a second, USD a million, and fit."""

    speed: Array
    cost: Array
    fits: Bools


def slow_tier(values: Values, chip_kinds: ChipArrays) -> ServedTier:
    """Return the slow tier of services."""
    return _tier(
        values, chip_kinds, values["batch"], values["kept"], values["chips"], values["chip"]
    )


def fast_tier(values: Values, chip_kinds: ChipArrays) -> ServedTier:
    """Return the fast tier of services; at least one user is served."""
    batch = values["batch"] / values["batch_ratio"]
    tier = _tier(
        values,
        chip_kinds,
        np.maximum(batch, 1.0),
        values["kept"] * values["kept_ratio"],
        values["chips"] * values["chips_ratio"],
        values["fast_chip"],
    )
    return ServedTier(tier.speed, tier.cost, tier.fits & (batch >= 1.0))


def _tier(
    values: Values,
    chip_kinds: ChipArrays,
    batch: Floats,
    yielded: Floats,
    chips: Floats,
    chip: Floats,
) -> ServedTier:
    place = chip.astype(int)
    tokens = batch * (1.0 + draft_length(yielded=yielded, acceptance=LIKELY_ACCEPTANCE))
    touched = distinct_experts(experts=values["sparsity"], active=1.0, tokens=tokens)
    cache, flops = batch * values["cache"], FLOPS_PER_PARAMETER * values["active"] * tokens
    bandwidth = chips * chip_kinds.bandwidth[place] * values["reach"]
    step = TextbookStep(
        weights=values["active"] * touched / bandwidth,
        caches=cache / bandwidth,
        computing=flops / (chips * chip_kinds.rate[place] * COMPUTE_REACH),
        sending=0.0,  # a part of the floor
        waiting=values["floor"],
    )
    usd_per_hour = chips * chip_kinds.usd[place]
    cost = usd_per_million(usd_per_hour=usd_per_hour, seconds=step.seconds, tokens=batch * yielded)
    stored = values["active"] * values["sparsity"] + cache
    usable = USABLE * chips * chip_kinds.memory[place]
    return ServedTier(yielded / step.seconds, cost, stored <= usable)
