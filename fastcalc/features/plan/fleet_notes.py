"""Notes on owned chips and on mixes: costs, idle chips, limits, other ways to share replicas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from fastcalc.features.plan.allocation import Fleet
from fastcalc.features.plan.class_table import ServedClass
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.phrases import bill_of
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.kit.answer.prices import basis_of
from fastcalc.mentions import option
from fastcalc.written import listed


def owning_each(fleet: Fleet, service: Service) -> Iterator[str]:
    """Yield the monthly cost of owned chips, used or idle, by chip type and in total."""
    for kind in fleet.owned:
        allocated = [allocation for allocation in fleet.allocations if allocation.owned is kind]
        tokens = service.prompt + service.output
        tokens *= sum(allocation.requests for allocation in allocated)
        for plan in [plan for allocation in allocated for plan in allocation.plans][:1]:
            yield owning(plan, kind.chips, tokens)


def owning(chosen: Plan, chips: int, tokens: float) -> str:
    """Describe the monthly cost of all owned chips of one type, used or idle.

    tokens : The throughput of prompt and output tokens. [1/s]
    """
    chip = chosen.scenario.hardware
    per_hour = chosen.scenario.pricing.per_chip_hour(chip)
    if per_hour is None:
        price = chip.chip_price.purchase
        missing = "purchase price" if price is None else "power"
        bought = "" if price is None else f" (${dollars(price.si)} per chip to buy)"
        return (
            f"no {missing} is known for {chip.id}{bought}, so its ownership cost is unknown; "
            f"set a price per hour with {option('price', f'{chip.id}=0.10')} (0 is allowed)"
        )
    usd = per_hour * chips
    month = dollars(usd * HOURS_PER_MONTH)
    pricing = chosen.scenario.pricing
    basis = (
        "the price set"
        if chip.id in pricing.user_prices
        else basis_of(pricing)
        if pricing.basis == "tco"
        else "cloud prices"
    )
    a_million = (
        f", or ${dollars(usd / 3600.0 / tokens * 1e6)}/Mtok (input and output)" if tokens else ""
    )
    all_chips = f"all {chips:,} {chip.id}" if chips > 1 else f"the {chip.id}"
    return f"owning {all_chips} costs ${month} per month{a_million}. Basis: {basis}"


def next_nodes(fleet: Fleet, grown: Mapping[str, float]) -> Iterator[str]:
    """Yield the throughput that one more node, or single chip, of each owned type would add.

    grown : By chip, the fleet's throughput with that addition. [1/s]
    """
    owned = {kind.hardware.id: kind for kind in fleet.owned}
    for chip, sustained in grown.items():
        if sustained <= fleet.requests and fleet.service.power < inf:  # the limit would stop it
            continue
        unit = owned[chip].unit(fleet.service)
        node = f"node ({unit} {chip})" if unit > 1 else chip
        before, after = number(fleet.requests), number(sustained)
        rise = f"raise the sustained rate from {before} to {after} requests/s"
        if before == after:
            rise = f"not raise the sustained rate of {before} requests/s"
        yield f"one more {node} would {rise}"


def idle_chips(fleet: Fleet) -> Iterator[str]:
    """Yield notes on idle owned chips."""
    for allocation in fleet.allocations:
        if allocation.owned is not None and allocation.plans and allocation.chips_left:
            chips = f"{allocation.chips:,} {allocation.owned.hardware.id}"
            yield f"Idle: {allocation.chips_left:,.0f} of {chips}"


def over_limits(classes: Iterable[ServedClass]) -> Iterator[str]:
    """Yield the classes above a limit at the percentile that must meet it."""
    for served in classes:
        for name in ("ttft", "tpot"):
            if seconds := served.over(name):
                is_met = "; the mean TPOT at full batch is within it" if name == "tpot" else ""
                yield (
                    f"pool {served.pool}, {served.request_class.name}: p"
                    f"{(served.share or 0.0) * 100:g} {name.upper()} is "
                    f"{number(seconds * 1e3)} ms, above the limit of "
                    f"{number(getattr(served.request_class, name) * 1e3)} ms"
                    f"{is_met}"
                )


def one_chip_type(fleet: Fleet) -> Iterator[str]:
    """Yield the cost with one chip type, if the cheapest pools use several."""
    for allocation in fleet.allocations:
        pools = allocation.sharing.on_one_chip
        if pools is None:
            continue
        chip = pools[0].plan.scenario.hardware.id
        text = f"with one chip type, {chip}: {bill_of(pools)}"
        usd = sum_if_known(pool.plan.usd_per_month for pool in pools)
        cheapest = allocation.usd_per_month
        if usd is not None and cheapest:
            premium = usd - cheapest
            text += f", ${dollars(premium)} ({premium / cheapest:.0%}) more"
        yield text


def other_sharings(fleet: Fleet, models: Sequence[str]) -> Iterator[str]:
    """Yield the cost of other groupings."""
    last = fleet.allocations[-1]
    sharing, pools = last.sharing, last.pools
    label = "owned" if last.is_owned else "rented"
    part = "" if len(fleet.allocations) == 1 else f"on {label} chips, "
    if sharing.one_each is None or len(pools[0].classes) == len(pools) == 1:
        return
    if len(pools) > 1 and sharing.shared_by_all is not None:
        bill = bill_of(sharing.shared_by_all)
        yield f"{part}one pool for all classes would need {bill}"
    elif len(pools) > 1 and len(models) == 1:
        yield f"{part}no replica meets the limits of all classes together"
    if len(pools) < sum(len(pool.classes) for pool in pools):
        bill = bill_of(sharing.one_each)
        chips = dict.fromkeys(pool.plan.scenario.hardware.id for pool in sharing.one_each)
        is_same = bill == bill_of(pools)
        costs = "cost the same as this plan" if is_same else f"need {bill} ({listed([*chips])})"
        yield f"{part}a pool for each class would {costs}"
