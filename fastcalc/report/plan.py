"""Plans as records, and what stands alongside them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastcalc.core.estimate import site_power
from fastcalc.core.undetermined import undetermined_keys
from fastcalc.formulas.money import HOURS_PER_MONTH, break_even_rate
from fastcalc.formulas.serving import in_flight
from fastcalc.mentions import option
from fastcalc.records.columns import Column, values
from fastcalc.report import records
from fastcalc.report.commands import Typed, compare_command
from fastcalc.report.headings import TableColumn, pick
from fastcalc.report.plan_refusal import relaxed
from fastcalc.report.record_tables import ends
from fastcalc.report.records import Record, grounds, plain, plainly
from fastcalc.search.plan.decision import FEWER_BITS, REASONS, Decision, Plan
from fastcalc.search.plan.service import Service

SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600.0

_RATES = (
    "service_* are of the whole deployment as it is asked, service_joules_per_token of output "
    "tokens; tokens_per_s_*, tpot_ms, ttft_ms, usd_per_mtok_total and joules_per_token are those "
    "that the command prints, of one full replica that takes in its prompts, too; without a rate "
    "usd_per_mtok_total counts the share of its capacity that must stay idle"
)


def plan_records(plans: Iterable[Plan], service: Service, typed: Typed) -> list[Record]:
    """Return one record for each plan, in order."""
    return [plainly(record) for record in unrounded(plans, service, typed)]


def unrounded(
    plans: Iterable[Plan], service: Service, typed: Typed, owned: int | None = None
) -> list[Record]:
    """Return the records with all digits, for a table to round once.

    owned : chips of their kind that are owned, if they are
    """
    rows = []
    for rank, plan in enumerate(plans, 1):
        point = RankedPlan(rank, plan, service, compare_command(plan.scenario, typed), owned)
        (replica,) = records.unrounded([plan.replica])
        replica["undetermined"] = undetermined(plan, service)
        rows.append({key: (replica | values(_OWN, point))[key] for key in KEYS})
    return rows


@dataclass(frozen=True)
class RankedPlan:
    """A plan, its place among all, and the command that prints one replica of it."""

    rank: int
    plan: Plan
    service: Service
    command: str
    owned: int | None = None

    @property
    def requests(self) -> float:
        """Requests of the service, or without a rate the most that the deployment carries. [1/s]"""
        return self.plan.requests if self.service.rate is None else self.service.rate

    @property
    def in_flight(self) -> float:
        """Requests that are served at a time. [1]"""
        values, service = self.plan.values, self.service
        seconds = values["ttft"] + (service.output - 1.0) * values["tpot"]
        return float(in_flight(rate=self.requests, seconds=seconds))

    @property
    def watts(self) -> float | None:
        """Power of all chips with host and site. [W]"""
        chip_watts = site_power(self.plan.scenario.hardware)
        return chip_watts and chip_watts * self.plan.values["chips"]

    @property
    def usd_per_mtok(self) -> float | None:
        """Price of a million tokens, prompts and outputs, at the rate. [USD]"""
        usd, tokens = self.plan.usd_per_hour, self.service.prompt + self.service.output
        if usd is None or not (self.service.rate or self.service.is_fleet):
            return None
        return usd / 3600.0 / (self.requests * tokens) * 1e6

    @property
    def joules_per_token(self) -> float | None:
        """Energy of an output token at the rate. [J]"""
        watts = self.watts
        if watts is None or not (self.service.rate or self.service.is_fleet):
            return None
        return watts / (self.requests * self.service.output)

    @property
    def api_usd_per_month(self) -> float | None:
        """What an API charges for the requests of a month of 730 hours. [USD]"""
        charged = self.service.api_request_usd
        return None if charged is None else charged * self.requests * SECONDS_PER_MONTH

    @property
    def api_break_even(self) -> float | None:
        """Requests at which the API charges what the chips cost. [1/s]"""
        charged, usd = self.service.api_request_usd, self.plan.usd_per_month
        if charged is None or usd is None:
            return None
        return float(break_even_rate(usd_per_month=usd, usd_per_request=charged))

    @property
    def tokens_at_break_even(self) -> float | None:
        """Tokens of a month, prompts and outputs, at which the API charges as much. [1]"""
        rate, tokens = self.api_break_even, self.service.prompt + self.service.output
        return None if rate is None else rate * tokens * SECONDS_PER_MONTH

    @property
    def kwh_per_month(self) -> float | None:
        """Energy of 730 hours. [kWh]"""
        return self.watts and self.watts * HOURS_PER_MONTH / 1000.0

    @property
    def grams_per_mtok(self) -> float | None:
        """Carbon dioxide of a million tokens, prompts and outputs, of what is carried. [g]"""
        grid, kwh = self.service.tariff.grid, self.kwh_per_month
        tokens = self.requests * (self.service.prompt + self.service.output) * SECONDS_PER_MONTH
        return None if grid is None or kwh is None else grid * kwh / tokens * 1e6

    @property
    def tpot_ms(self) -> tuple[float | None, float | None]:
        """Fast and slow end of the time per output token. [ms]"""
        fast, slow = tpot_range(self.plan) or (None, None)
        return fast and fast * 1e3, slow and slow * 1e3


def undetermined(plan: Plan, service: Service) -> list[str]:
    """Return the keys of a plan's record that nothing published determines.

    How many replicas a rate takes turns with how fast they take prompts, and so does all that is of
    all of them.
    """
    keys = undetermined_keys(plan.replica.placement.machine)
    if not keys:
        return []
    is_apart = plan.prefill_layout is not None
    affected = [*keys, "service_ttft_ms"]
    if not is_apart or "tpot_ms" in keys:
        affected += ["service_tpot_ms", "service_tpot_ms_low", "service_tpot_ms_high"]
    if is_apart:
        affected += ["prefill_replicas", "prefill_utilization"]
    if service.rate is not None or is_apart or service.is_fleet:
        affected += _OF_ALL_REPLICAS
    if service.rate is not None or service.objective != "chips":
        affected.append("cost")
    return affected


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
_RANKS = ("tp", "pp", "ep", "dp")


def _prefill_ranks(name: str, point: RankedPlan) -> int | None:
    layout = point.plan.prefill_layout
    return None if layout is None else int(getattr(layout, name))


COLUMNS: tuple[Column[Any], ...] = (
    Column("rank", "count", "place among the plans", lambda point: point.rank),
    *pick("hardware model engine weight_format kv_format speculation_tokens_per_pass"),
    Column(
        "prefill",
        "text",
        "together with decode, or apart on replicas of its own",
        lambda point: "apart" if point.plan.prefill_layout else "together",
    ),
    TableColumn(
        "replicas", "count", "that decode", lambda point: point.plan.replicas, ("repli-", "cas")
    ),
    TableColumn(
        "utilization",
        "ratio",
        "share of its capacity that each of them does",
        lambda point: point.plan.busy,
        ("busy", "%"),
        6,
        lambda record: f"{record['utilization']:.1%}".rstrip("%"),
    ),
    Column(
        "chips_per_replica",
        "count",
        "tp x pp x dp / ranks of a chip",
        lambda point: point.plan.layout.chips,
    ),
    *pick("tp pp ep dp batch"),
    Column(
        "prefill_replicas",
        "count",
        "that only take in prompts",
        lambda point: point.plan.prefill_replicas if point.plan.prefill_layout else None,
    ),
    Column(
        "prefill_utilization",
        "ratio",
        "share of its capacity that each of those does",
        lambda point: point.plan.prefill_busy if point.plan.prefill_layout else None,
    ),
    *(
        Column(
            f"prefill_{column.key}",
            column.unit,
            f"{column.meaning} of each of those",
            partial(_prefill_ranks, column.key),
        )
        for column in pick(" ".join(_RANKS))
    ),
    TableColumn(
        "chips_total",
        "count",
        "of all replicas",
        lambda point: point.plan.values["chips"],
        ("", "chips"),
    ),
    TableColumn(
        "service_ttft_ms",
        "ms",
        "time to the first token, with any wait: held against ttft",
        lambda point: point.plan.values["ttft"] * 1e3,
        ("TTFT", "ms"),
    ),
    Column(
        "service_ttft_percentile",
        "%",
        "of requests that meet it, where they arrive at random",
        lambda point: point.service.share and point.service.share * 100.0,
    ),
    TableColumn(
        "service_tpot_ms",
        "ms",
        "time per output token, held against tpot: prompts of others come between, "
        "but not where prefill is apart",
        lambda point: point.plan.values["tpot"] * 1e3,
        ("TPOT", "ms"),
    ),
    *pick(
        "ttft_ms tpot_ms tokens_per_s_per_user tokens_per_s_per_user_low "
        "tokens_per_s_per_user_high tokens_per_s_per_user_bound memory_used_fraction "
        "usd_per_mtok_total joules_per_token"
    ),
    Column(
        "service_usd_per_hour",
        "USD",
        "price of all replicas",
        lambda point: point.plan.usd_per_hour,
    ),
    TableColumn(
        "usd_per_month",
        "USD",
        "price of all replicas for 730 hours",
        lambda point: point.plan.usd_per_month,
        ("$ a", "month"),
    ),
    Column("watts", "W", "power of all chips with host and site", lambda point: point.watts),
    Column("objective", "text", "what is least", lambda point: point.service.objective),
    Column("cost", "as objective", "how much of it", lambda point: point.plan.cost),
    *pick("warnings"),
    Column("command", "text", "prints one replica again", lambda point: point.command),
    TableColumn(
        "service_tpot_ms_low",
        "ms",
        "fast end of the 80 % range",
        lambda point: point.tpot_ms[0],
        heading=("80 %", "range"),
        drop_priority=1,
        format=lambda record: ends(record, "service_tpot_ms_low", digits=2),
    ),
    Column(
        "service_tpot_ms_high",
        "ms",
        "slow end of the 80 % range",
        lambda point: point.tpot_ms[1],
    ),
    Column(
        "service_usd_per_mtok_total",
        "USD",
        "service_usd_per_hour over the tokens, prompts and outputs, that the rate moves",
        lambda point: point.usd_per_mtok,
    ),
    Column(
        "service_joules_per_token",
        "J",
        "watts over the output tokens of the rate",
        lambda point: point.joules_per_token,
    ),
    *pick(
        "host host_use dense_near_fraction experts_near_fraction kv_near_fraction "
        "speculation_drafted_tokens undetermined"
    ),
    TableColumn(
        "service_requests_per_s",
        "1/s",
        "requests that all replicas carry: the rate, or the most they can where none is asked for",
        lambda point: point.requests,
        ("requests", "/s"),
    ),
    Column(
        "service_requests_per_s_most",
        "1/s",
        "requests that all replicas carry at most",
        lambda point: point.plan.requests,
    ),
    TableColumn(
        "service_output_tokens_per_s",
        "1/s",
        "output tokens of service_requests_per_s",
        lambda point: point.requests * point.service.output,
        ("output", "tok/s"),
        8,
    ),
    TableColumn(
        "requests_in_flight",
        "requests",
        "requests that are served at a time, by Little's law",
        lambda point: point.in_flight,
        ("at", "once"),
        3,
        lambda record: f"{record['requests_in_flight']:,.0f}",
    ),
    Column(
        "kwh_per_month",
        "kWh",
        "watts for 730 hours",
        lambda point: point.kwh_per_month,
    ),
    Column(
        "owned_chips",
        "count",
        "chips of its kind that are owned; null where they are rented",
        lambda point: point.owned,
    ),
    Column(
        "api_usd_per_month",
        "USD",
        "what the API charges for service_requests_per_s in a month; null without one",
        lambda point: point.api_usd_per_month,
    ),
    Column(
        "api_break_even_tokens_per_month",
        "tokens",
        "prompts and outputs of a month at which the API charges usd_per_month",
        lambda point: point.tokens_at_break_even,
    ),
    Column(
        "api_break_even_utilization",
        "ratio",
        "share of service_requests_per_s_most at which it does; above 1 it always charges less",
        lambda point: point.api_break_even and point.api_break_even / point.plan.requests,
    ),
    TableColumn(
        "service_g_co2_per_mtok",
        "g",
        "carbon dioxide of a million tokens, prompts and outputs; null without a grid",
        lambda point: point.grams_per_mtok,
        ("g CO2", "/Mtok"),
        2,
    ),
)
_OWN = [column for column in COLUMNS if column.key not in records.KEYS]
"""The others are those of ``compare`` for one replica."""

KEYS = tuple(column.key for column in COLUMNS)


def details(decision: Decision, typed: Typed) -> Record:
    """Return what stands alongside the plans: why others lost, the runner-up, what would help."""
    service = decision.service
    unknown = sorted(decision.unknown)
    return {
        "candidates": decision.candidates,
        "lost": {REASONS[name]: count for name, count in decision.reasons.items() if count},
        "runner_up": _first(decision.runner_up, service, typed),
        "runner_up_wins_above_usd_per_chip_hour": plain(runner_up_price(decision)),
        "cheapest_near_miss": _missed(decision.near, service, typed),
        "best_of_each_chip": plan_records(decision.of_each_chip, service, typed),
        "best_in_own_formats": _first(decision.in_own_formats, service, typed),
        "closest_of_other_chips": [
            _missed(plan, service, typed) for _, plan in sorted(decision.closest.items())
        ],
        "unpriced": [] if service.objective == "watts" else unknown,
        "unpowered": unknown if service.objective == "watts" else [],
        "relax": [] if decision.plans else relaxed(decision),
        "assumptions": assumptions(decision),
        "best_in_fewer_bits": plan_records(decision.in_fewer_bits[:FEWER_BITS], service, typed),
    }


def assumptions(decision: Decision) -> Record:
    """Return what the records rest on: traffic, prices, engines, and how the times are meant."""
    service = decision.service
    plans = [*decision.plans, *decision.closest.values()]
    return {
        "prompt_tokens": plain(service.prompt),
        "output_tokens": plain(service.output),
        "context_tokens": plain(service.prompt + service.output / 2),
        "requests_per_s": plain(service.rate),
        **(grounds([plan.scenario for plan in plans]) if plans else {}),
        "rates": _RATES,
        "utilization": plain(service.utilization),
        "notes": list(notes(service)),
        "prefix_hit": plain(service.prefix_hit),
    }


def runner_up_price(decision: Decision) -> float | None:
    """Return the price of the best's chip above which the next leads, if known. [USD/h]

    In fewer bits than were asked for it never does.
    """
    second = decision.runner_up
    if second is None or decision.service.objective != "usd":
        return None
    cheapest = decision.plans[0]
    if decision.may_lead(cheapest) and not decision.may_lead(second):
        return None
    price = cheapest.scenario.pricing.per_chip_hour(cheapest.scenario.hardware)
    return None if price is None else price * second.cost / cheapest.cost


def tpot_range(plan: Plan) -> tuple[float, float] | None:
    """Return the least and the most time between tokens of the 80 % range, if there is one. [s]"""
    estimate, tpot = plan.replica.estimate, plan.values["tpot"]
    if estimate.low is None or estimate.high is None:
        return None
    fast, slow = (float(tpot * (estimate.speed / end)[0]) for end in (estimate.high, estimate.low))
    return fast, slow


def _first(plan: Plan | None, service: Service, typed: Typed) -> Record | None:
    return None if plan is None else plan_records([plan], service, typed)[0]


def _missed(plan: Plan | None, service: Service, typed: Typed) -> Record | None:
    record = _first(plan, service, typed)
    if plan is None or record is None:
        return None
    over = {name: plain(value) for name, value in plan.misses.items() if value > 1.0}
    return {**record, "over_limit": over}


def notes(service: Service) -> Iterable[str]:
    """Say how the times of a plan are meant."""
    between = "TPOT holds the prompts of others that are taken in between two tokens"
    if service.output <= 1.0:
        between = (
            "nothing comes after one output token, so TPOT, and a limit on it, is of a step that "
            "decodes at that batch, as in compare"
        )
    first = (
        "TTFT is of an even stream of requests, with no queue: for requests that arrive at "
        f"random give {option('percentile')}, or leave room with {option('load')}"
    )
    if service.share is not None:
        first = (
            f"TTFT is what {service.share * 100:g} % of requests meet that arrive at random, each "
            "replica with a queue of its own for prompts and slots; a router that knows which is "
            "idle does better"
        )
    yield f"{between}; {first}"
    yield (
        "prompts apart: taken in one by one at batch 1 on replicas of their own, their caches "
        "then sent over the link beyond the domain; narrower formats may cost quality, "
        f"{option('weights')} and {option('kv')} choose"
    )
