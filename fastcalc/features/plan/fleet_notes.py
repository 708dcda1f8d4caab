"""Notes on owned chips: their cost, used or idle, and the throughput that more would add."""

from collections.abc import Iterator, Mapping
from math import inf

from fastcalc.features.plan.allocation import Fleet
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.prices import basis_of
from fastcalc.mentions import option


def in_all(fleet: Fleet) -> str:
    """Phrase for the total cost per month of owned and additionally rented chips."""
    usd = fleet.usd_per_month
    return "" if usd is None else f" (${dollars(usd)} in all)"


def sustain_verb(fleet: Fleet) -> str:
    """Verb for the owned chips: they serve all of a given rate, or sustain a highest rate."""
    is_all = fleet.service.rate is not None and all(one.is_owned for one in fleet.allocations)
    verb = "serve" if is_all and fleet.serves_all else "sustain"
    return f"{verb}s" if sum(kind.chips for kind in fleet.owned) == 1 else verb


def owning_each(fleet: Fleet, service: Service) -> Iterator[str]:
    """Notes on the cost per month of owned chips, used or idle: by chip type, and in total."""
    for kind in fleet.owned:
        allocated = [allocation for allocation in fleet.allocations if allocation.owned is kind]
        tokens = service.prompt + service.output
        tokens *= sum(allocation.requests for allocation in allocated)
        for plan in [plan for allocation in allocated for plan in allocation.plans][:1]:
            yield owning(plan, kind.chips, tokens)
    yield from owning_all(fleet)


def owning_all(fleet: Fleet) -> Iterator[str]:
    """Note on the total cost of owned chips of several types."""
    usd = sum_if_known(kind.usd_per_month for kind in fleet.owned)
    if usd is not None and len(fleet.owned) > 1:
        yield f"owning all these chips costs ${dollars(usd)} per month"


def owning(chosen: Plan, chips: int, tokens: float) -> str:
    """Note on the cost per month of all owned chips of one type, used or idle.

    tokens : throughput, prompts and outputs [1/s]
    """
    chip = chosen.scenario.hardware
    per_hour = chosen.scenario.pricing.per_chip_hour(chip)
    if per_hour is None:
        price = chip.chip_price.purchase
        missing = "purchase price" if price is None else "power"
        bought = "" if price is None else f" (${dollars(price.si)} per chip to buy)"
        return (
            f"no {missing} is known for {chip.id}{bought}, so owning it has no price; "
            f"{option('price', f'{chip.id}=0.10')} sets one per hour (0 is allowed)"
        )
    usd = per_hour * chips
    month = dollars(usd * HOURS_PER_MONTH)
    pricing = chosen.scenario.pricing
    basis = "at the price set" if chip.id in pricing.user_prices else basis_of(pricing)
    a_million = (
        f", ${dollars(usd / 3600.0 / tokens * 1e6)}/Mtok (input and output)" if tokens else ""
    )
    all_chips = f"all {chips:,} {chip.id}" if chips > 1 else f"the {chip.id}"
    return f"owning {all_chips} costs ${month} per month{a_million}; {basis}"


def next_nodes(fleet: Fleet, grown: Mapping[str, float]) -> Iterator[str]:
    """Notes on the throughput that one more node, or single chip, of each owned type would add.

    grown : by chip, the throughput of the fleet with that addition [1/s]
    """
    owned = {kind.hardware.id: kind for kind in fleet.owned}
    for chip, sustained in grown.items():
        if sustained <= fleet.requests and fleet.service.power < inf:  # which the limit stops
            continue
        together = owned[chip].unit(fleet.service)
        node = f"node ({together} {chip})" if together > 1 else chip
        more = number(sustained - fleet.requests)
        yield f"with one more {node}: {number(sustained)} requests/s (+{more})"


def idle_chips(fleet: Fleet) -> Iterator[str]:
    """Notes on idle owned chips."""
    for allocation in fleet.allocations:
        if allocation.owned is not None and allocation.plans and allocation.chips_left:
            chips = f"{allocation.chips:,} {allocation.owned.hardware.id}"
            yield f"Idle: {allocation.chips_left:,.0f} of {chips}"
