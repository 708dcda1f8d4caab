"""A ranked plan: its cost, power and throughput at the request rate of a service."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from fastcalc.core.estimate import site_power
from fastcalc.core.outcome import solve
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.random_load import most_requests, request_seconds
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import HOURS_PER_MONTH, break_even_rate
from fastcalc.grid.columns import uncertain_amounts, undetermined_keys

SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600.0

_BATCHES = 24  # up to the full one, with linear interpolation between two of them


def api_usd_per_month(service: Service, requests: float) -> float | None:
    """Return what the API charges at a request rate, or None if no API is compared, in USD."""
    charged = service.api_request_usd
    return None if charged is None else charged * requests * SECONDS_PER_MONTH


@dataclass(frozen=True)
class RankedPlan:
    """A plan, its rank, and the command that prints one of its replicas."""

    rank: int
    plan: Plan
    service: Service
    command: str
    owned: int | None = None
    prefill_command: str | None = None
    classes: tuple[str, ...] = ()

    @property
    def requests(self) -> float:
        """The request rate of the service or, without one, the highest throughput, per second."""
        return self.plan.requests if self.service.rate is None else self.service.rate

    @cached_property
    def most_requests(self) -> float:
        """The highest throughput of all replicas within the limits, per second."""
        return most_requests(self.plan, self.service)

    @property
    def chips_expected(self) -> float | None:
        """The chips of its variant's best plan at expected speeds, or None if not searched."""
        plan = self.plan.expected if self.service.deviations else self.plan
        return None if plan is None else plan.values["chips"]

    @property
    def in_flight(self) -> float:
        """The concurrent requests at the actual load, by Little's law.

        For closed-loop users, it follows from the mean latency, which determines their rate.
        Otherwise it is the batch at which the replicas serve the arrival rate, if their batches are
        not full, plus the requests in disaggregated prefill.
        """
        if self.service.users < inf:
            return self.requests * request_seconds(self.plan, self.service)
        plan, is_disaggregated = self.plan, self.plan.prefill_layout is not None
        batches = np.unique(np.rint(np.geomspace(1.0, plan.batch, _BATCHES)))
        scenario = replace(plan.scenario, batches=tuple(batches.astype(int).tolist()))
        estimate = solve(scenario).estimate
        tokens = np.maximum.accumulate(estimate.total if is_disaggregated else estimate.served)
        throughput = plan.replicas * tokens / (plan.slowness * self.service.output)
        served = float(np.interp(self.requests, [0.0, *throughput], [0.0, *batches]))
        prompts = self.requests * plan.first_seconds if is_disaggregated else 0.0
        return plan.replicas * served + prompts

    @property
    def watts(self) -> float | None:
        """The power of all chips, including their hosts and site, in watts."""
        return self.plan.of_all_chips(lambda scenario: site_power(scenario.hardware))

    @property
    def _is_sized(self) -> bool:
        """Whether the plan is sized for a request rate, which it sustains."""
        return self.requests > 0.0 and bool(self.service.rate or self.service.is_fleet)

    @property
    def usd_per_mtok(self) -> float | None:
        """The price per million tokens (prompt and output) at the rate, in USD."""
        usd, tokens = self.plan.usd_per_hour, self.service.prompt + self.service.output
        if usd is None or not self._is_sized:
            return None
        return usd / 3600.0 / (self.requests * tokens) * 1e6

    @property
    def joules_per_token(self) -> float | None:
        """The energy per output token at the rate, in joules."""
        watts = self.watts
        if watts is None or not self._is_sized:
            return None
        return watts / (self.requests * self.service.output)

    @property
    def api_usd_per_month(self) -> float | None:
        """What the API charges for the requests of a month of 730 hours, in USD."""
        return api_usd_per_month(self.service, self.requests)

    @property
    def api_break_even(self) -> float | None:
        """The request rate at which the API costs as much as the chips, if they serve any. [1/s]"""
        charged, usd = self.service.api_request_usd, self.plan.usd_per_month
        if charged is None or usd is None or not self.plan.requests:
            return None
        return float(break_even_rate(usd_per_month=usd, usd_per_request=charged))

    @property
    def tokens_at_break_even(self) -> float | None:
        """The tokens per month (prompt and output) at which the API costs as much."""
        rate, tokens = self.api_break_even, self.service.prompt + self.service.output
        return None if rate is None else rate * tokens * SECONDS_PER_MONTH

    @property
    def kwh_per_month(self) -> float | None:
        """The energy per month of 730 hours, in kWh."""
        return self.watts and self.watts * HOURS_PER_MONTH / 1000.0

    @property
    def grams_per_mtok(self) -> float | None:
        """The carbon dioxide per million tokens served (prompt and output), in grams."""
        grid, kwh = self.service.tariff.grid, self.kwh_per_month
        tokens = self.requests * (self.service.prompt + self.service.output) * SECONDS_PER_MONTH
        return None if grid is None or kwh is None or not tokens else grid * kwh / tokens * 1e6

    @property
    def tpot_ms(self) -> tuple[float | None, float | None]:
        """The ends of the 80% range of TPOT, in milliseconds."""
        fast, slow = tpot_range(self.plan) or (None, None)
        return fast and fast * 1e3, slow and slow * 1e3


def tpot_range(plan: Plan) -> tuple[float, float] | None:
    """Return the ends of the 80% range of TPOT, if there is one, in seconds."""
    estimate, tpot = plan.replica.estimate, plan.values["tpot"] / plan.slowness
    if estimate.low is None or estimate.high is None:
        return None
    fast, slow = (float(tpot * (estimate.speed / end)[0]) for end in (estimate.high, estimate.low))
    return fast, slow


def undetermined(plan: Plan, service: Service) -> list[str]:
    """Return the keys of undetermined values in a plan's record.

    The number of replicas depends on their prefill speed, and so do all total amounts.
    """
    keys = undetermined_keys(plan.replica.placement.machine, is_alone=plan.batch == 1.0)
    if not keys:
        return []
    is_disaggregated = plan.prefill_layout is not None
    affected = [*keys, "service_ttft_ms"]
    if not is_disaggregated or "tpot_ms" in keys:
        affected += ["service_tpot_ms", "service_tpot_ms_low", "service_tpot_ms_high"]
    if is_disaggregated:
        affected += ["prefill_replicas", "prefill_utilization"]
    if service.rate is not None or is_disaggregated or service.is_fleet:
        affected += _OF_ALL_REPLICAS
    if service.rate is not None or service.objective != "chips":
        affected.append("cost")
    return affected


def low_confidence(plan: Plan, service: Service) -> list[str]:
    """Return the keys of amounts that depend on an uncertain price per chip-hour."""
    if not any(scenario.quote.is_uncertain for scenario in plan.scenarios):
        return []
    amounts = [*uncertain_amounts(plan.scenario), *_AMOUNTS]
    return [*amounts, *["cost"] * (service.objective == "usd" and not service.is_fleet)]


_AMOUNTS = (
    *("service_usd_per_hour", "usd_per_month", "service_usd_per_mtok_total"),
    *("api_break_even_tokens_per_month", "api_break_even_utilization"),
)
"""Keys of amounts that depend on the prices of all chips in a plan."""

_OF_ALL_REPLICAS = (
    "replicas",
    "utilization",
    "chips_total",
    "service_usd_per_hour",
    "usd_per_month",
    "watts",
    "service_usd_per_mtok_total",
    "service_joules_per_token",
    "kwh_per_month",
    "api_break_even_tokens_per_month",
    "service_g_co2_per_mtok",
)
