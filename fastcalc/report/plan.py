"""A plan as records, the command that shows it again, and what to relax where there is none."""

from collections.abc import Iterable
from dataclasses import replace
from math import inf

from fastcalc.evaluate import SITE_FACTOR
from fastcalc.plan.decide import REASONS, Decision, Plan, rounded_down, rounded_up
from fastcalc.plan.service import Service
from fastcalc.report.commands import Typed, compare_command
from fastcalc.report.records import Record, plain
from fastcalc.scenario import Sharding

_TAKEN = (
    "tokens_per_s_per_user",
    "tokens_per_s_per_user_low",
    "tokens_per_s_per_user_high",
    "tokens_per_s_per_user_bound",
    "memory_used_fraction",
    "usd_per_mtok_total",
    "joules_per_token",
)
FLAGS = {"ttft": "--ttft", "tpot": "--tpot", "chips": "--max-chips"}
"""What limits each value, by its name."""


def plan_records(plans: Iterable[Plan], service: Service, typed: Typed) -> list[Record]:
    """Return one record for each plan, in order."""
    return [
        {key: plain(value) for key, value in _record(rank, plan, service, typed).items()}
        for rank, plan in enumerate(plans, 1)
    ]


def _record(rank: int, plan: Plan, service: Service, typed: Typed) -> Record:
    scenario, layout, prefill = plan.scenario, plan.layout, plan.prefill_layout
    work = plan.site.work
    power = scenario.hardware.power
    return {
        "rank": rank,
        "hardware": scenario.hardware.id,
        "model": scenario.model.id,
        "engine": scenario.engine.id,
        "weight_format": work.weight_format,
        "kv_format": work.kv_format,
        "speculation_tokens_per_pass": scenario.traffic.speculation.tokens_per_pass,
        "prefill": "together" if prefill is None else "apart",
        "replicas": plan.replicas,
        "utilization": plan.busy,
        "chips_per_replica": layout.chips,
        "tp": layout.tp,
        "pp": layout.pp,
        "ep": layout.ep,
        "dp": layout.dp,
        "batch": plan.batch,
        "prefill_replicas": plan.prefill_replicas if prefill else None,
        "prefill_tp": prefill.tp if prefill else None,
        "prefill_pp": prefill.pp if prefill else None,
        "prefill_ep": prefill.ep if prefill else None,
        "prefill_dp": prefill.dp if prefill else None,
        "chips_total": plan.values["chips"],
        "service_ttft_ms": plan.values["ttft"] * 1e3,
        "service_ttft_percentile": service.share and service.share * 100.0,
        "service_tpot_ms": plan.values["tpot"] * 1e3,
        "ttft_ms": plan.numbers.get("ttft_ms"),
        "tpot_ms": plan.numbers.get("tpot_ms"),
        **{key: plan.numbers.get(key) for key in _TAKEN},
        "usd_per_hour": plan.usd_per_hour,
        "usd_per_month": plan.usd_per_month,
        "watts": power.chip.si * SITE_FACTOR * plan.values["chips"] if power else None,
        "objective": service.objective,
        "cost": plan.cost,
        "warnings": plan.warnings,
        "command": command(plan, service, typed),
    }


def command(plan: Plan, service: Service, typed: Typed) -> str:
    """Return the command that shows the numbers of one replica of a plan.

    Without a rate, what a token costs hangs on how busy the replica is, so that is repeated.
    """
    scenario, layout = plan.scenario, plan.layout
    traffic = replace(
        scenario.traffic,
        prompt=service.prompt,
        output=service.output,
        context=service.prompt + service.output / 2,
    )
    utilization = plan.busy if service.rate is None else 1.0
    replica = replace(
        scenario,
        batches=(int(plan.batch),),
        traffic=traffic,
        sharding=Sharding(None, layout.tp, layout.pp, layout.ep, layout.dp),
        pricing=replace(scenario.pricing, utilization=utilization),
    )
    return compare_command(replica, typed)


def beside(found: Decision, typed: Typed) -> Record:
    """Return what stands beside the plans: why others lost, the runner-up, what would help."""
    service = found.service
    return {
        "candidates": found.candidates,
        "lost": {REASONS[name]: count for name, count in found.reasons.items() if count},
        "runner_up": _first(found.runner_up, service, typed),
        "cheapest_near_miss": _missed(found.near, service, typed),
        "best_of_each_chip": plan_records(found.of_each_chip, service, typed),
        "closest_of_other_chips": [
            _missed(plan, service, typed) for _, plan in sorted(found.closest.items())
        ],
        "relax": [] if found.plans else [text for _, text in _relaxed(found)],
        "assumptions": list(notes(service)),
    }


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
    yield f"{between}; {_of_the_first_token(service)}"
    yield (
        "prompts apart: taken in one by one at batch 1 on replicas of their own, their caches then "
        "sent over the link beyond the domain; narrower formats may cost quality, --weights and "
        "--kv choose"
    )


def _of_the_first_token(service: Service) -> str:
    if service.share is None:
        return (
            "TTFT is of an even stream of requests, with no queue: for requests that arrive at "
            "random give --percentile, or leave room with --utilization"
        )
    return (
        f"TTFT is what {service.share * 100:g} % of requests meet that arrive at random, each "
        "replica with a queue of its own for prompts and slots; a router that knows which is idle "
        "does better"
    )


def refusal(found: Decision) -> str:
    """Say why there is no plan, and which limit to relax to what."""
    if not found.candidates:
        return "no layout of these chips holds one request of this model"
    options = [text for _, text in _relaxed(found)]
    if options:
        return f"no deployment meets this; it would with {', or '.join(options)}"
    nearest = found.nearest
    if nearest is None:
        reasons = (f"{count:,} {REASONS[name]}" for name, count in found.reasons.items() if count)
        is_unpriced = found.reasons["unknown"] > 0 and found.service.objective == "usd"
        ask = "; give one with --price CHIP=USD, or --objective chips" if is_unpriced else ""
        return f"no deployment meets this: {', '.join(reasons)}{ask}"
    needed = " and ".join(
        _limit(name, nearest.values[name], found.service)
        for name, over in nearest.misses.items()
        if over > 1.0
    )
    name = nearest.scenario.hardware.id
    return f"no deployment meets this, nor with one limit relaxed; {name} would with {needed}"


def _relaxed(found: Decision) -> list[tuple[str, str]]:
    """Return the flag that would help alone, by the name of its limit."""
    return [
        (name, _limit(name, value, found.service))
        for name, value in found.relaxed.items()
        if value < inf
    ]


def _limit(name: str, value: float, service: Service) -> str:
    """Return a flag with a value that is not stricter than a limit."""
    if name == "chips":
        return f"--max-chips {value:.0f}"
    if name == "tpot" and service.is_speed:
        return f"--min-speed {rounded_down(1.0 / value):g}"
    up = rounded_up(value * 1e3)
    return f"{FLAGS[name]} " + (f"{up:g}ms" if up < 1e3 else f"{up / 1e3:g}s")
