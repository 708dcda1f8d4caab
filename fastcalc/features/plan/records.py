"""Plans as records, and the details in a plan document."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from statistics import NormalDist

from fastcalc.features.plan.answer_regret import regret_record, tipping_point_records
from fastcalc.features.plan.columns import KEYS, PLAN_COLUMNS
from fastcalc.features.plan.decision import FEWER_BITS, REASONS, Decision, Plan
from fastcalc.features.plan.latency_notes import service_notes
from fastcalc.features.plan.odds import CONFIDENT_DEVIATIONS
from fastcalc.features.plan.random_load import percentile_record, random_load
from fastcalc.features.plan.ranked_plan import RankedPlan, low_confidence, undetermined
from fastcalc.features.plan.refusal import relaxed
from fastcalc.features.plan.service import Service
from fastcalc.features.plan.sharing import Sharing
from fastcalc.features.plan.tipping_points import runner_up_prices
from fastcalc.features.plan.verdict import Verdict
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.grid.column import values
from fastcalc.kit.answer import point_records as records
from fastcalc.kit.answer.commands import Typed, compare_command
from fastcalc.kit.answer.point_records import Record, grounds, plain, plainly

_RATES = (
    "service_* describe the whole deployment as asked, service_joules_per_token per output "
    "tokens; tokens_per_s_*, tpot_ms, ttft_ms, usd_per_mtok_total and joules_per_token are those "
    "that the command prints, one full replica with colocated prefill; without a rate "
    "usd_per_mtok_total counts the share of its capacity that must stay idle; with a confidence "
    "chips and times of service_* are those of chips as slow as that, and all else is expected"
)


def plan_records(plans: Iterable[Plan], service: Service, typed: Typed) -> list[Record]:
    """Build one record per plan, in order."""
    return [
        plainly(record_of(plan, service, typed, rank=rank)) for rank, plan in enumerate(plans, 1)
    ]


SLOW_KEYS = frozenset({"service_requests_per_s_most", "requests_in_flight"})
"""Keys of values that take longer than all others."""


def record_of(
    plan: Plan,
    service: Service,
    typed: Typed,
    *,
    rank: int = 1,
    owned: int | None = None,
    classes: tuple[str, ...] = (),
    hidden: Collection[str] = (),
) -> Record:
    """Build the unrounded record of a plan, for a table that rounds once.

    owned : The number of owned chips of its type, if owned.
    classes : Names of the request classes that it serves, if any.
    hidden : Keys to leave out.
    """
    command, *taking = commands_of(plan, typed)
    point = RankedPlan(rank, plan, service, command, owned, next(iter(taking), None), classes)
    (replica,) = records.unrounded([plan.replica])
    replica["undetermined"] = undetermined(plan, service)
    replica["low_confidence"] = low_confidence(plan, service)
    columns = [column for column in PLAN_COLUMNS if column.key not in hidden]
    record = replica | values(columns, point)
    return {key: record[key] for key in KEYS if key not in hidden}


def commands_of(plan: Plan, typed: Typed) -> list[str]:
    """Return the commands that print a replica on each chip type of a plan."""
    return [compare_command(scenario, typed) for scenario in plan.scenarios]


def details(verdict: Verdict, typed: Typed) -> Record:
    """Return why others lost, the runner-up, and what would help."""
    decision = verdict.decision
    service = decision.service
    unknown = sorted(decision.unknown)
    above, below = runner_up_prices(decision)
    loads = (random_load(plan, service) for plan in decision.plans[:1] if service.is_random)
    percentiles = (
        percentile_record(load.percentiles()) for load in loads if load and load.is_known
    )
    return {
        "candidates": decision.candidates,
        "lost": {REASONS[name]: count for name, count in decision.reasons.items() if count},
        "runner_up": _first(decision.runner_up, service, typed),
        "runner_up_wins_above_usd_per_chip_hour": plain(above),
        "cheapest_near_miss": _missed(decision.near, service, typed),
        "best_of_each_chip": plan_records(decision.of_each_chip, service, typed),
        "best_in_own_formats": _first(decision.in_own_formats, service, typed),
        "closest_of_other_chips": [
            _missed(plan, service, typed) for _, plan in sorted(decision.closest.items())
        ],
        "unpriced": [] if service.objective == "watts" else unknown,
        "unpowered": unknown if service.objective == "watts" else [],
        "relax": [] if decision.plans else relaxed(decision),
        "best_in_fewer_bits": plan_records(decision.in_fewer_bits[:FEWER_BITS], service, typed),
        "percentiles": next(percentiles, None),
        "regret": regret_record(verdict),
        "turns": tipping_point_records(verdict),
        "runner_up_wins_below_usd_per_chip_hour": plain(below),
        **_odds(verdict, typed),
    }


def _odds(verdict: Verdict, typed: Typed) -> Record:
    """Return the probability that the best plan meets its limits, and a more confident plan."""
    odds = None if verdict.decision.service.deviations else verdict.odds
    confident = None if odds is None else odds.confident
    service = replace(verdict.decision.service, deviations=CONFIDENT_DEVIATIONS)
    return {
        "limits_hold_percent": None if odds is None else plain(odds.chance * 100.0),
        "plan_at_90_percent_confidence": _first(confident, service, typed),
    }


def assumptions(decision: Decision) -> Record:
    """Return the traffic, prices, engines and the definition of latencies."""
    service = decision.service
    plans = [*decision.plans, *decision.closest.values()]
    return {
        "prompt_tokens": plain(service.prompt),
        "output_tokens": plain(service.output),
        "context_tokens": plain(service.prompt + service.output / 2),
        "requests_per_s": plain(service.rate),
        **(grounds([scenario for plan in plans for scenario in plan.scenarios]) if plans else {}),
        "rates": _RATES,
        "utilization": plain(service.utilization),
        "notes": list(service_notes(service)),
        "prefix_hit": plain(service.prefix_hit),
        "confidence": plain(NormalDist().cdf(service.deviations) * 100.0),
    }


def _first(plan: Plan | None, service: Service, typed: Typed) -> Record | None:
    return None if plan is None else plan_records([plan], service, typed)[0]


def _missed(plan: Plan | None, service: Service, typed: Typed) -> Record | None:
    record = _first(plan, service, typed)
    if plan is None or record is None:
        return None
    over = {name: plain(value) for name, value in plan.misses.items() if value > 1.0}
    return {**record, "over_limit": over}


def sharings(sharing: Sharing) -> Record:
    """Return the cost of shared pools, and of alternative groupings."""
    ways = {
        "cheapest": sharing.pools,
        "together": sharing.shared_by_all,
        "apart": sharing.one_each,
        "on_one_chip": sharing.on_one_chip,
    }
    return {
        name: {
            "pools": [", ".join(kind.name for kind in pool.classes) for pool in pools],
            "chips": plain(sum(pool.chips for pool in pools)),
            "usd_per_month": plain(sum_if_known(pool.plan.usd_per_month for pool in pools)),
            "cost": plain(sum(pool.cost for pool in pools)),
        }
        for name, pools in ways.items()
        if pools
    }
