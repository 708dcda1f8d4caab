"""Replicas that fill the chips there are: as many as money, power and what is owned allow."""

from math import floor, inf
from typing import NamedTuple

import numpy as np

from fastcalc.core.estimate import site_power
from fastcalc.core.scenario import Scenario
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.types import Floats
from fastcalc.search.plan.pools import Pool
from fastcalc.search.plan.service import Service

_TINY = 1e-300
_ROUNDING = 1e-9  # of a chip, so that a budget for just so many is not one short


class Crew(NamedTuple):
    """Replicas of deployments, and what they carry: an element for each.

    replicas, prompt_replicas : those that decode, and those that only take in prompts [1]
    requests : that they carry, at most [1/s]
    """

    replicas: Floats
    prompt_replicas: Floats
    requests: Floats

    @classmethod
    def of(cls, replicas: Floats, carried: Floats, pool: Pool | None) -> "Crew":
        """Return so many replicas, each of which carries so much, with all of a pool."""
        requests, prompt_replicas = replicas * carried, np.zeros(replicas.shape)
        if pool is not None:
            requests = np.minimum(requests, pool.replicas * pool.capacity)
            prompt_replicas = prompt_replicas + pool.replicas
        return cls(replicas, prompt_replicas, requests)

    def chips(self, replica_chips: Floats, pool: Pool | None) -> Floats:
        """Return the chips of all replicas, where one that decodes takes so many. [1]"""
        return self.replicas * replica_chips + self.prompt_replicas * (
            pool.layout.chips if pool else 0.0
        )

    @property
    def cost(self) -> Floats:
        """What is least where most requests are best: time of the fleet that one takes. [s]"""
        return np.asarray(1.0 / np.maximum(self.requests, _TINY))


def bills(scenario: Scenario, service: Service, chips: Floats) -> dict[str, Floats]:
    """Return dollars a month and watts of some chips, where those are limited. [USD], [W]"""
    per_chip = {"budget": usd_per_month(scenario), "power": site_power(scenario.hardware)}
    return {
        name: chips * value
        for name, value in per_chip.items()
        if name in service.limits and value is not None
    }


def chips_within(service: Service, scenario: Scenario) -> float:
    """Return how many chips of a kind the service allows, by number, price and power. [1]"""
    chips = service.max_chips
    per_chip = usd_per_month(scenario)
    if service.budget < inf and per_chip:
        chips = min(chips, floor(service.budget / per_chip + _ROUNDING))
    watts = site_power(scenario.hardware)
    if service.power < inf and watts:
        chips = min(chips, floor(service.power / watts + _ROUNDING))
    return chips


def usd_per_month(scenario: Scenario) -> float | None:
    """Return the price of a chip for a month of 730 hours; None if unknown. [USD]"""
    price = scenario.pricing.per_chip_hour(scenario.hardware)
    return None if price is None else price * HOURS_PER_MONTH


def crew_within(chips: float, replica_chips: Floats, carried: Floats, pool: Pool | None) -> Crew:
    """Return the replicas that carry the most on so many chips, one at least.

    replica_chips : of a replica that decodes [1]
    carried : requests that it carries [1/s]
    pool : one replica that takes in prompts, where these are apart
    """
    if pool is None:
        return Crew.of(np.maximum(np.floor(chips / replica_chips), 1.0), carried, None)
    # As many requests as one decodes take so many chips with the prompts' share of theirs.
    chips_with_prompts = replica_chips + pool.chips * carried / pool.capacity
    largest = np.floor(chips / chips_with_prompts) + 1.0
    crew = Crew(
        np.ones(replica_chips.shape), np.ones(replica_chips.shape), np.zeros(replica_chips.shape)
    )
    # Prompts take whole replicas, for which up to so many that decode may have to go.
    for fewer in range(floor(np.max(pool.chips / chips_with_prompts, initial=0.0)) + 3):
        decoding = np.maximum(largest - fewer, 1.0)
        taking = np.maximum(np.floor((chips - decoding * replica_chips) / pool.chips), 0.0)
        requests = np.minimum(decoding * carried, taking * pool.capacity)
        is_more = requests > crew.requests
        trial = Crew(decoding, taking, requests)
        crew = Crew(*(np.where(is_more, *pair) for pair in zip(trial, crew, strict=True)))
    return _without_idle(crew, carried, pool)


def _without_idle(crew: Crew, carried: Floats, pool: Pool) -> Crew:
    """Return a crew without the replicas that carry nothing more."""
    replicas, taking = (
        np.maximum(np.ceil(crew.requests / capacity - _ROUNDING), 1.0)
        for capacity in (carried, pool.capacity)
    )
    return Crew(replicas, taking, crew.requests)
