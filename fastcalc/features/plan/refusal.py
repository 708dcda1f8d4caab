"""Explain why there is no plan, and which limit to relax to what value."""

from math import inf
from typing import TYPE_CHECKING

from fastcalc.features.plan.decision import Decision
from fastcalc.features.plan.service import Service
from fastcalc.kit.answer.numbers_as_text import capital, dollars, number, rounded_down, rounded_up
from fastcalc.mentions import option
from fastcalc.written import first_few, listed, many

if TYPE_CHECKING:
    from fastcalc.features.plan.allocation import Allocation, Fleet

_NONE_MEETS = "no deployment meets these limits"

MOST_NAMED = 12
"""Maximum number of chips named in a sentence. JSON names all."""

_LOST = {
    "unfit": "do not fit in memory",
    "ttft": "exceed the TTFT limit",
    "tpot": "exceed the TPOT limit",
    "chips": "need too many chips",
    "budget": "cost too much per month",
    "power": "draw too much power",
    "several": "exceed several limits",
    "unknown": "have no known price or power",
    "beaten": "rank lower",
}
"""The text for each reason that a decision counts."""


def refusal(decision: Decision, owned: str | None = None) -> str:
    """Explain why there is no plan, and which limit to relax to what value.

    owned : The chip, if it is owned.
    """
    sentence, nearest = _NONE_MEETS, decision.nearest
    if decision.unknown and set(+decision.reasons) == {"unknown"}:
        chips_unknown, how = unknown_chips(decision)
        return f"{chips_unknown}, which might meet these limits: {how}"
    if not decision.candidates:
        sentence = "no available layout fits a single request of this model"
    if options := relaxed(decision, owned):
        sentence += f"; one would meet them with {', or '.join(options)}"
    elif nearest is None and decision.candidates:
        sentence += f": {', '.join(why_lost(decision))}"
    elif nearest is not None:
        needed = listed(
            [
                limit_as_option(name, nearest.values[name], decision.service, owned)
                for name, over in nearest.misses.items()
                if over > 1.0
            ]
        )
        name = nearest.scenario.hardware.id
        sentence += f", even with one of them relaxed; {name} would meet them with {needed}"
    if decision.unknown:
        chips_unknown, how = unknown_chips(decision)
        sentence += f". {capital(chips_unknown)}, which might meet them: {how}"
    return sentence


def why_lost(decision: Decision) -> list[str]:
    """Return the number of deployments that lose for each reason, sorted by frequency.

    Together with the best deployment, the numbers add up to all candidates.
    """
    return [f"{count:,} {_LOST[name]}" for name, count in decision.reasons.most_common() if count]


def load_within_limits(throughput: Decision, service: Service) -> str:
    """Describe how much of a rate the limits allow, if no deployment serves all of it."""
    limits = {
        "chips": many(service.max_chips, "chip") if service.max_chips < inf else "",
        "budget": "the budget",
        "power": "the power",
    }
    limits_named = [words for name, words in limits.items() if service.limits.get(name, inf) < inf]
    within = f"within {listed(limits_named)},"
    plan, rate = throughput.plans[0], service.rate or 0.0
    in_fewer_bits = max(ranked.requests for ranked in throughput.in_order)
    fewer_bits = (
        f" ({number(in_fewer_bits)} if quantized further)"
        if in_fewer_bits > plan.requests * 1.001
        else ""
    )
    return (
        f"{within} {plan.values['chips']:,.0f} {plan.scenario.hardware.id} would sustain "
        f"{number(plan.requests)} of the {number(rate)} requests/s{fewer_bits}"
    )


def unknown_chips(decision: Decision) -> tuple[str, str]:
    """Name chips without a known price or power, and explain how to plan with them anyway."""
    unknown = [name for name, _ in decision.unknown.most_common()]
    names = listed(first_few(unknown, MOST_NAMED))
    if decision.service.objective == "watts":
        return f"no power is known for {names}", f"use {option('objective', 'usd')} or chips"
    price = option("price", f"{unknown[0] if len(unknown) == 1 else 'CHIP'}=USD")
    how = f"set one with {price}, or use {option('objective', 'chips')}"
    return f"no {f'{decision.terms} price'.lstrip()} is known for {names}", how


def relaxed(decision: Decision, owned: str | None = None) -> list[str]:
    """Return the options that would each allow a deployment."""
    limits = decision.relaxed.items()
    return [
        limit_as_option(name, value, decision.service, owned)
        for name, value in limits
        if value < inf
    ]


def limit_as_option(name: str, value: float, service: Service, owned: str | None = None) -> str:
    """Format an option with a value rounded so that it is not stricter than the limit."""
    if name == "chips":
        return (
            option("own", f"{owned}={value:.0f}") if owned else option("max_chips", f"{value:.0f}")
        )
    if name.startswith("by"):  # single chips, alone or with a higher limit
        _, _, limit = name.partition(" ")
        and_limit = f" with {limit_as_option(limit, value, service, owned)}" if limit else ""
        return option("by", "chip") + and_limit
    if name == "rate":
        return option("rate", f"{rounded_down(value):g}/s")
    if name == "tpot" and service.is_speed:
        return option("min_speed", f"{rounded_down(1.0 / value):g}")
    if name == "budget":
        return option("budget", f"{rounded_up(value):.0f}/month")
    if name == "power":
        return option("power", f"{rounded_up(value / 1e3):g}kW")
    up = rounded_up(value * 1e3)
    return option(name, f"{up:g}ms" if up < 1e3 else f"{up / 1e3:g}s")


def over_budget(fleet: "Fleet") -> list[str]:
    """Give the cost of owned chips, if that alone exceeds the budget."""
    if fleet.is_within:
        return []
    usd, service = fleet.used("budget"), fleet.service
    needed = limit_as_option("budget", usd, service)
    return [
        f"all owned chips together cost ${dollars(usd)} per month, used or not, which is more than "
        f"the budget: it takes {needed}"
    ]


def owned_chips(fleet: "Fleet") -> str:
    """Describe the owned chips, grouped by chip type."""
    return listed([f"{kind.chips:,} {kind.hardware.id}" for kind in fleet.owned])


def chips_of(allocation: "Allocation") -> str:
    """Describe the chips of an allocation."""
    if allocation.owned is None:
        return "chips to rent"
    return f"{allocation.chips:,} {allocation.owned.hardware.id}"


def refusal_of(allocation: "Allocation") -> str:
    """Explain why an allocation serves nothing."""
    return refusal(allocation.decision, _owned_chip(allocation))


def _owned_chip(allocation: "Allocation") -> str | None:
    return None if allocation.owned is None else allocation.owned.hardware.id


def fleet_refusals(fleet: "Fleet", requests: float, would_do: list[str]) -> list[str]:
    """Describe the load that the owned chips serve, and what would let the fleet serve everything.

    requests : The throughput of the fleet within its resource limits. [1/s]
    would_do : The options that would each suffice.
    """
    sentences = over_budget(fleet)
    if fleet.serves_all:
        return sentences
    reasons = {why for allocation in fleet.allocations for why in +allocation.decision.reasons}
    is_too_small = bool(reasons) and reasons <= {"chips", "unfit"}
    lacking = f"{_NONE_MEETS}; one would meet them"
    if is_too_small:
        lacking = "no deployment fits these chips; one would"
    if requests and fleet.service.rate:
        lacking = "they would sustain all of it"
        throughput = f"{number(requests)} of {number(fleet.service.rate)} requests/s"
        sentences.append(f"{owned_chips(fleet)} and what may be rented sustain {throughput}")
    if would_do:
        return [*sentences, f"{lacking} with {', or '.join(would_do)}"]
    for allocation in fleet.allocations:
        if allocation.plan is None:
            sentences.append(f"{chips_of(allocation)}: {refusal_of(allocation)}")
    return sentences


def mix_refusals(fleet: "Fleet") -> list[str]:
    """Say what an insufficient fleet serves of a mix, and why no more."""
    sentences = over_budget(fleet)
    if fleet.serves_all:
        return sentences
    for allocation in fleet.allocations:
        if allocation.owned is None or not allocation.requests:
            chips = f"{chips_of(allocation)}: " if allocation.owned else ""
            sentences += [f"{chips}{reason}" for reason in _mix_reasons(fleet, allocation)]
    if fleet.requests and fleet.service.rate:
        rate = number(fleet.service.rate)
        sentences.insert(0, f"these limits allow {number(fleet.requests)} of {rate} requests/s")
    return sentences


def _mix_reasons(fleet: "Fleet", allocation: "Allocation") -> list[str]:
    """Explain why the chips do not serve all classes, and which limit to relax."""
    sharing = allocation.sharing
    if sharing.unserved:
        return [f"'{pool.classes[0].name}': {refusal(pool.decision)}" for pool in sharing.unserved]
    owned = _owned_chip(allocation)
    options = [
        limit_as_option(name, _in_all(fleet, allocation, name) + amount, fleet.service, owned)
        for name, amount in sharing.needed.items()
    ]
    return [f"all classes together would with {' and '.join(options)}"] if options else []


def _in_all(fleet: "Fleet", allocation: "Allocation", name: str) -> float:
    """Sum a limited resource used outside a rented allocation, or 0 for chips."""
    return 0.0 if name == "chips" else fleet.used(name) - allocation.used(name)
