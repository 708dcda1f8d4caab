"""Speeds and costs of a service with two tiers, from a simplified decode step.

A slow and a fast tier serve the same model. A step takes as long as the slower of two activities:
reading the active weights and every user's KV cache, or computing. A latency floor that does not
depend on the batch is added.
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
"""The fraction of memory available for weights and KV caches."""

COMPUTE_REACH = 0.7
"""The fraction of the peak FLOP/s that a chip reaches."""

_WEIGHTS = "fp8"  # one byte per parameter

Values = Mapping[str, Floats]
"""The unpublished parameters of services, by their names in `BOX`."""


@dataclass(frozen=True)
class Side:
    """The search range of an unpublished parameter, with its label and unit."""

    name: str
    low: float
    high: float
    label: str
    unit: str = ""
    factor: float = 1.0
    is_even: bool = False

    @property
    def si(self) -> str:
        """The SI unit, as written in the data dictionary."""
        return {"GB": "B", "ms": "s"}.get(self.unit, "number")

    def at(self, fraction: Floats) -> Floats:
        """Return the values at fractions of the range, on a logarithmic or linear scale."""
        if self.is_even:
            return np.asarray(self.low + fraction * (self.high - self.low))
        return np.asarray(self.low * (self.high / self.low) ** fraction)

    def share(self, value: Floats) -> Floats:
        """Return the fractions of the range, from 0 to 1, at which values lie."""
        if self.is_even:
            return np.asarray((value - self.low) / (self.high - self.low))
        return np.asarray(np.log(value / self.low) / np.log(self.high / self.low))


BOX = (
    Side("active", 10e9, 400e9, "active parameters at 8 bits", "B", 1e-9),
    Side("sparsity", 1.0, 32.0, "total / active parameters"),
    Side("cache", 0.05e9, 10e9, "KV cache read per user", "GB", 1e-9),
    Side("floor", 1e-3, 20e-3, "latency floor per step", "ms", 1e3),
    Side("reach", 0.4, 0.9, "fraction of memory bandwidth reached", is_even=True),
    Side("chips", 4.0, 128.0, "chips of the slow tier"),
    Side("batch", 1.0, 4096.0, "batch of the slow tier"),
    Side("kept", 1.0, 3.0, "tokens per step of the slow tier", is_even=True),
    Side("markup", 0.5, 50.0, "markup of the slow tier, price / cost"),
    Side("batch_ratio", 1.0, 256.0, "batch, slow / fast tier", "x"),
    Side("kept_ratio", 1.0, 3.0, "tokens per step, fast / slow tier", "x"),
    Side("chips_ratio", 1.0, 4.0, "chips, fast / slow tier", "x"),
    Side("markup_ratio", 1.0, 50.0, "markup, fast / slow tier", "x"),
)
"""Search ranges of the unpublished parameters. The chip types of both tiers are searched as well.

Markups have no technical limit. Up to 50 covers a fast tier at six times the price with three
tokens per step, which cut costs to a third: 18 times the markup, or 31 if all four numbers are off
by 15%.
"""

SIDES = {side.name: side for side in BOX}

TECHNIQUES = {
    "smaller batch": ("batch_ratio",),
    "speculation": ("kept_ratio",),
    "other hardware": ("chips_ratio", "fast_chip"),
    "higher markup": ("markup_ratio",),
}
"""The techniques of a fast tier, with the parameters that then differ from the slow tier."""

NOUNS = {
    "smaller batch": "a smaller batch",
    "speculation": "speculative decoding",
    "other hardware": "other hardware",
    "higher markup": "a higher markup",
}
"""Names of the techniques within sentences."""


@dataclass(frozen=True)
class SoldTiers:
    """The published speeds and prices of a service, slow tier first. [1/s, USD/Mtok]"""

    speeds: tuple[float, float]
    prices: tuple[float, float]


@dataclass(frozen=True, eq=False)
class ChipArrays:
    """The candidate chip types as arrays. [B/s, B, FLOP/s, USD/h]"""

    names: tuple[str, ...]
    bandwidth: Floats
    memory: Floats
    rate: Floats
    usd: Floats


def machines(chips: Sequence[Hardware], pricing: Pricing) -> ChipArrays:
    """Convert chip types to arrays. Rejects those without a simplified step or a price."""
    rows = []
    for chip in chips:
        usd = pricing.per_chip_hour(chip)
        if chip.execution == "spatial":
            raise InputError(
                f"{option('on')} {chip.id}: a spatial chip has no textbook step; remove it"
            )
        if usd is None:
            raise InputError(
                f"{option('on')} {chip.id} has no {pricing.name} price; remove it, "
                f"or give {option('price', f'{chip.id}=USD')}"
            )
        memory, rate = own_tiers(chip)[0], working_rate(chip, number_format(_WEIGHTS))
        rows.append((memory.bandwidth, memory.capacity, rate.peak, usd))
    bandwidth, capacity, rates, prices = np.array(rows, dtype=float).T
    return ChipArrays(tuple(chip.id for chip in chips), bandwidth, capacity, rates, prices)


@dataclass(frozen=True, eq=False)
class ServedTier:
    """The speed per user and cost of a tier, and whether it fits. [1/s, USD/Mtok]"""

    speed: Array
    cost: Array
    fits: Bools


def slow_tier(values: Values, chip_kinds: ChipArrays) -> ServedTier:
    """Compute the slow tier of each service."""
    return _tier(
        values, chip_kinds, values["batch"], values["kept"], values["chips"], values["chip"]
    )


def fast_tier(values: Values, chip_kinds: ChipArrays) -> ServedTier:
    """Compute the fast tier of each service. Its batch is at least one."""
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
    index = chip.astype(int)
    tokens = batch * (1.0 + draft_length(yielded=yielded, acceptance=LIKELY_ACCEPTANCE))
    touched = distinct_experts(experts=values["sparsity"], active=1.0, tokens=tokens)
    cache, flops = batch * values["cache"], FLOPS_PER_PARAMETER * values["active"] * tokens
    bandwidth = chips * chip_kinds.bandwidth[index] * values["reach"]
    step = TextbookStep(
        weights=values["active"] * touched / bandwidth,
        caches=cache / bandwidth,
        computing=flops / (chips * chip_kinds.rate[index] * COMPUTE_REACH),
        sending=0.0,  # included in the floor
        waiting=values["floor"],
    )
    usd_per_hour = chips * chip_kinds.usd[index]
    cost = usd_per_million(usd_per_hour=usd_per_hour, seconds=step.seconds, tokens=batch * yielded)
    stored = values["active"] * values["sparsity"] + cache
    usable = USABLE * chips * chip_kinds.memory[index]
    return ServedTier(yielded / step.seconds, cost, stored <= usable)
