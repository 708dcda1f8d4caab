"""Tests of claims that evaluate models on chips of the catalogue."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import Outcome
from fastcalc.core.pricing import PriceBasis
from fastcalc.core.ratios import Ranged, independent_ratio
from fastcalc.core.step.component import Step
from fastcalc.errors import InputError
from fastcalc.features.claims.deployments import PROMPT, Place, outcome, outcomes_of
from fastcalc.features.claims.evaluations import SOLVED
from fastcalc.features.claims.finding import Finding, finding
from fastcalc.formulas.roofline import critical_batch
from fastcalc.formulas.types import Array, ArrayLike, Floats, floats
from fastcalc.written import shown

BASES: tuple[PriceBasis, ...] = ("cloud", "tco")
"""Price bases for comparing chips."""

_COMMUNICATION = {"all-reduce", "rank wait", "expert exchange", "stage hops", "hops"}
"""Components of a step in which chips wait for messages from other chips."""


class Users(NamedTuple):
    """The number of concurrent users, and the mean context of each in tokens."""

    batch: float
    context: float


def _outcomes(
    catalogue: Catalogue, models: list[str], on: str, weights: list[str], users: Users | None
) -> list[Outcome]:
    """Evaluate each model on the specified chips, or on the fewest that fit one user."""
    batch, context = users or (1.0, None)
    deployments = (
        Place(model, on, weights=_format(form), context=context)
        for model, form in zip(models, weights, strict=True)
    )
    return outcomes_of(catalogue, deployments, batch)


def _format(name: str) -> str | None:
    """Return a number format, or None for the model's own format."""
    return None if name == "native" else name


def user_speed(
    *, catalogue: Catalogue, models: list[str], on: str, users: Users, weights: list[str], end: str
) -> Finding:
    """Return the speed per user of each model on a chip type, per second."""
    outcomes = _outcomes(catalogue, models, on, weights, users)
    by_model = list(zip(models, outcomes, strict=True))
    speeds = [evaluated.estimate.ranged_speed for evaluated in outcomes]
    ends = (
        (f"{model}, {name} end of 80%", _at(ends, name), "tokens/s")
        for model, ends in zip(models, speeds, strict=True)
        for name in ("low", "high")
    )
    chips = (
        (f"chips of {on} for {model}", evaluated.placement.layout.chips)
        for model, evaluated in by_model
    )
    return finding(np.array([_at(ranged, end) for ranged in speeds]), *chips, *ends)


def _at(ranged: Ranged, end: str) -> float:
    """Return the expected value, lower end or upper end of the first prediction."""
    if end not in Ranged._fields:
        raise InputError(f"end is expected, low or high, not '{shown(end)}'")
    number = float(getattr(ranged, end)[0])
    return float(ranged.expected[0]) if np.isnan(number) else number


def chips_for(*, catalogue: Catalogue, models: list[str], on: str, weights: list[str]) -> Array:
    """Return the number of chips that each model needs for one stream."""
    outcomes = _outcomes(catalogue, models, on, weights, None)
    return np.array([evaluated.placement.layout.chips for evaluated in outcomes], dtype=float)


class Alone(NamedTuple):
    """Compares few and many users, on the specified chips or on the fewest that fit.

    Each case uses its best layout. The context is the mean number of tokens per user.
    """

    model: str
    on: str
    chips: float
    few: float
    many: float
    context: float

    def ends(self, catalogue: Catalogue, *, own_chips: bool = False) -> tuple[Outcome, Outcome]:
        """Evaluate few and many users, on the same chips or each on chips of their own."""
        deployment = Place(self.model, self.on, int(self.chips), context=self.context)
        small, large = (deployment.holding(catalogue, batch) for batch in (self.few, self.many))
        few = partial(outcome, catalogue, small if own_chips else large, np.array([self.few]))
        first, last = SOLVED.each([few, partial(outcome, catalogue, large, np.array([self.many]))])
        return first, last


def rate_ratio(
    quantity: Literal["total", "speed"], *, catalogue: Catalogue, served: Alone
) -> Array:
    """Compare total throughput, or speed per user, at the smaller and larger batch."""
    first, last = (getattr(evaluated.estimate, quantity)[0] for evaluated in served.ends(catalogue))
    return floats(first / last)


def price_alone(*, catalogue: Catalogue, served: Alone) -> Finding:
    """Return the ratio of output prices at the smaller and larger batch."""
    prices = []
    for evaluated in served.ends(catalogue, own_chips=True):
        if evaluated.usd is None:
            raise InputError(f"{served.on} has no cloud price")
        prices.append(float(evaluated.usd[1][0]))
    pairs = zip(("smaller", "larger"), prices, strict=True)
    details = ((f"{size} batch", price, "USD/Mtok") for size, price in pairs)
    return finding(prices[0] / prices[1], *details)


def lead_gain(*, catalogue: Catalogue, served: Alone) -> Finding:
    """Compare how much a smaller batch improves TTFT and how much it improves TPOT."""
    small, large = (evaluated.estimate for evaluated in served.ends(catalogue))
    first, later = large.ttft[0] / small.ttft[0], large.tpot[0] / small.tpot[0]
    sooner = ("first token sooner by", first, "times"), ("other tokens sooner by", later, "times")
    return finding(first / later, *sooner)


def traffic_slope(
    *, catalogue: Catalogue, model: str, on: str, chips: float, batch: float, prompt: float
) -> Finding:
    """Compare TPOT while other requests prefill with TPOT of decode alone."""
    deployment = Place(model, on, int(chips), prompt=prompt)
    estimate = outcome(catalogue, deployment, np.array([batch])).estimate
    times = ("decode alone", estimate.tpot), ("in traffic", estimate.tpot_in_traffic)
    details = ((f"a token, {name}", 1e3 * float(seconds[0]), "ms") for name, seconds in times)
    return finding(estimate.tpot_in_traffic / estimate.tpot, *details)


class DeployedModels(NamedTuple):
    """Lists models and the chip type of each, with 0 chips for the fewest that fit.

    If a batch does not fit on the specified chips, the fewest that fit are used.
    """

    models: list[str]
    weights: list[str]
    caches: list[str]
    machines: list[str]
    chips: Floats

    def steps(self, catalogue: Catalogue, batch: float, prompt: float) -> list[Step]:
        """Return the decode step of each model."""
        formats = ([_format(name) for name in names] for names in (self.weights, self.caches))
        rows = zip(self.models, *formats, self.machines, self.chips, strict=True)
        deployments = (
            Place(model, on, int(chips) or None, weights, prompt=prompt, cache=cache)
            for model, weights, cache, on, chips in rows
        )
        holding = [deployment.holding(catalogue, batch) for deployment in deployments]
        outcomes = outcomes_of(catalogue, holding, batch)
        return [evaluated.estimate.passes.decode for evaluated in outcomes]


def reading_over_computing(
    *, catalogue: Catalogue, deployed: DeployedModels, batch: float, prompt: float
) -> Finding:
    """Compare how long a decode step reads memory with how long it computes."""
    times = [
        [
            float(sum(np.sum(getattr(component, resource)) for component in step.components))
            for resource in ("memory_time", "compute_time")
        ]
        for step in deployed.steps(catalogue, batch, prompt)
    ]
    details = (
        (f"{model}, {activity}", 1e3 * seconds, "ms")
        for model, pair in zip(deployed.models, times, strict=True)
        for activity, seconds in zip(("reading", "computing"), pair, strict=True)
    )
    return finding(np.array([reading / computing for reading, computing in times]), *details)


def message_share(*, catalogue: Catalogue, deployed: DeployedModels, batch: float) -> Array:
    """Return the fraction of a decode step in which chips wait for messages from others."""
    return np.array(
        [
            sum(
                np.sum(component.seconds)
                for component in step.components
                if component.name in _COMMUNICATION
            )
            / np.sum(step.seconds)
            for step in deployed.steps(catalogue, batch, PROMPT)
        ]
    )


class Machines(NamedTuple):
    """Compares two chip types, with 0 chips for the fewest that fit a model.

    If the users do not fit on the specified chips, the fewest that fit are used. If equal numbers
    of both types were specified, equal numbers are used.
    """

    on: str
    against: str
    chips: float
    against_chips: float
    batch: float
    context: float

    def places(
        self, catalogue: Catalogue, model: str, weights: str | None = None, basis: str = "cloud"
    ) -> tuple[Place, Place]:
        """Deploy a model on both chip types."""
        stated = (
            Place(model, on, int(chips) or None, weights, basis, context=self.context)
            for on, chips in ((self.on, self.chips), (self.against, self.against_chips))
        )
        over, under = (deployment.holding(catalogue, self.batch) for deployment in stated)
        if self.chips == self.against_chips and over.chips and under.chips:
            chips = max(over.chips, under.chips)
            over, under = over._replace(chips=chips), under._replace(chips=chips)
        return over, under


def speed_gain(
    *, catalogue: Catalogue, models: list[str], weights: list[str], machines: Machines, end: str
) -> Finding:
    """Return the ratio of speeds per user on two chip types, by model.

    The range of the ratio assumes that the two ranges are independent.
    """
    rows = list(zip(models, weights, strict=True))
    deployments = [machines.places(catalogue, model, _format(form)) for model, form in rows]
    outcomes = outcomes_of(
        catalogue, (deployment for pair in deployments for deployment in pair), machines.batch
    )
    details, gains = [], []
    for (model, form), pair, over, under in zip(
        rows, deployments, outcomes[::2], outcomes[1::2], strict=True
    ):
        speeds = [over.estimate.ranged_speed, under.estimate.ranged_speed]
        details += [
            (f"{model}, {form}, on {deployment.on}", ranged.expected[0], "tokens/s")
            for deployment, ranged in zip(pair, speeds, strict=True)
        ]
        details += [
            (f"chips of {deployment.on} for {model}", evaluated.placement.layout.chips, "")
            for deployment, evaluated in zip(pair, (over, under), strict=True)
        ]
        gains.append(_at(independent_ratio(over=speeds[0], under=speeds[1]), end))
    return finding(np.array(gains), *details)


def newer_hardware(
    bases: Sequence[PriceBasis], *, catalogue: Catalogue, model: str, machines: Machines
) -> Finding:
    """Compare the bandwidths, speeds and prices of two chips, with prices by price basis."""
    chips, batch = (machines.on, machines.against), machines.batch
    fast, slow = (catalogue.hardware(chip).memory[0].bandwidth.si for chip in chips)
    details: list[tuple[str, float, str]] = []
    deployments = [machines.places(catalogue, model, basis=basis) for basis in bases]
    outcomes = outcomes_of(
        catalogue, (deployment for pair in deployments for deployment in pair), batch
    )
    for basis, newer, older in zip(bases, outcomes[::2], outcomes[1::2], strict=True):
        if not details:
            gain = float(newer.estimate.speed[0] / older.estimate.speed[0])
            details.append((f"{model}: speed ratio at batch {batch:,.0f}", gain, "x"))
        if newer.usd is not None and older.usd is not None:
            cost = float(newer.usd[1][0] / older.usd[1][0])
            details.append((f"{model}: price ratio by {basis}", cost, "x"))
    return finding(fast / slow, *details)


def price_gain(*, catalogue: Catalogue, model: str, machines: Machines) -> Finding:
    """Return the ratio of output prices on two chip types, by cloud and ownership cost."""
    comparison = newer_hardware(BASES, catalogue=catalogue, model=model, machines=machines)
    ratios = [detail.value for detail in comparison.parts if "price ratio" in detail.label]
    rent = catalogue.hardware(machines.on).price.rent
    if rent is None:
        return Finding(np.array(ratios), comparison.parts)
    same = f"a token of {machines.on} costs the same at {rent.si / ratios[0]:.3g} USD/h of rent"
    return Finding(np.array(ratios), comparison.parts, break_even=same)


def naive_speed(*, catalogue: Catalogue, on: str, billions: float, bytes_each: float) -> Finding:
    """Return bandwidth over weight bytes, with peak over FLOPs for comparison. [1/s]"""
    bandwidth, peak = _bandwidth_and_peak(catalogue, on)
    memory = bandwidth / (billions * 1e9 * bytes_each)
    compute = peak / (2.0 * billions * 1e9)
    return finding(
        memory,
        ("memory term alone", memory, "tokens/s"),
        ("compute term", compute, "tokens/s"),
        ("the bound, the smaller", min(memory, compute), "tokens/s"),
    )


def naive_reached(
    *, catalogue: Catalogue, model: str, on: str, billions: float, bytes_each: float
) -> Finding:
    """Return a model's expected speed relative to bandwidth over weight bytes."""
    speed = float(outcome(catalogue, Place(model, on), np.array([1.0])).estimate.speed[0])
    naive = naive_speed(catalogue=catalogue, on=on, billions=billions, bytes_each=bytes_each)
    return finding(speed / naive.values, (f"expected speed of {model} on {on}", speed, "tokens/s"))


def ridge(*, catalogue: Catalogue, on: str, other: str, batches: ArrayLike) -> Finding:
    """Return the batch at which 16-bit products get compute-bound, over given batches."""
    critical = []
    for name in (on, other):
        bandwidth, peak = _bandwidth_and_peak(catalogue, name)
        critical.append(critical_batch(peak=peak, bandwidth=bandwidth, bytes_per_weight=2.0))
    pairs = zip((on, other), critical, strict=True)
    details = ((f"critical batch of {name}", batch) for name, batch in pairs)
    return finding(critical[0] / np.asarray(batches), *details)


def _bandwidth_and_peak(catalogue: Catalogue, name: str) -> tuple[float, float]:
    """Return the bandwidth and 16-bit peak of a chip. [byte/s, FLOP/s]"""
    chip = catalogue.hardware(name)
    peak = chip.rate("fp16")
    assert peak is not None, "the schema requires a 16-bit rate"
    return chip.memory[0].bandwidth.si, peak.si
