"""Notes on classes that share pools: missed limits, and the cost of other groupings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fastcalc.features.plan.allocation import Fleet
from fastcalc.features.plan.class_table import ServedClass
from fastcalc.features.plan.notes import chips_and_price
from fastcalc.features.plan.sharing import Pools, ReplicaPool
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.kit.answer.numbers_as_text import dollars, number
from fastcalc.written import listed, many


def over_limits(classes: Iterable[ServedClass]) -> Iterator[str]:
    """Notes on classes that are over a limit at the percentile that must meet it."""
    for served in classes:
        for name in ("ttft", "tpot"):
            if seconds := served.over(name):
                is_met = "; the mean TPOT at full batch is within it" if name == "tpot" else ""
                yield (
                    f"pool {served.pool}, {served.request_class.name}: {name.upper()} is "
                    f"{number(seconds * 1e3)} ms at p{(served.share or 0.0) * 100:g}, over its "
                    f"limit of {number(getattr(served.request_class, name) * 1e3)} ms{is_met}"
                )


def one_chip_type(fleet: Fleet) -> Iterator[str]:
    """Note on the cost with one chip type, if the cheapest pools use several."""
    for allocation in fleet.allocations:
        pools = allocation.sharing.on_one_chip
        if pools is None:
            continue
        chip = pools[0].plan.scenario.hardware.id
        text = f"with one chip type, {chip}: {bill_of(pools)}"
        usd = sum_if_known(pool.plan.usd_per_month for pool in pools)
        cheapest = allocation.usd_per_month
        if usd is not None and cheapest:
            more = usd - cheapest
            text += f", ${dollars(more)} ({more / cheapest:.0%}) more"
        yield text


def shared_nodes(fleet: Fleet) -> Iterator[str]:
    """Notes on pools with replicas in the same nodes."""
    pools = [
        (allocation, pool.plan) for allocation in fleet.allocations for pool in allocation.pools
    ]
    for allocation in fleet.allocations:
        in_nodes = (plan for plan in allocation.plans if plan.node_chips > 1)
        chips = Counter(plan.scenario.hardware.id for plan in in_nodes)
        for chip in (chip for chip, count in chips.items() if count > 1):
            numbers = [
                str(number)
                for number, (own, plan) in enumerate(pools, 1)
                if own is allocation and plan.scenario.hardware.id == chip
            ]
            yield f"pools {listed(numbers)} share nodes of {chip}"


def other_sharings(fleet: Fleet, models: Sequence[str]) -> Iterator[str]:
    """Notes on the cost of other groupings."""
    last = fleet.allocations[-1]
    sharing, pools = last.sharing, last.pools
    label = "owned" if last.is_owned else "rented"
    part = "" if len(fleet.allocations) == 1 else f"{label}: "
    if sharing.one_each is None or len(pools[0].classes) == len(pools) == 1:
        return
    if len(pools) > 1 and sharing.shared_by_all is not None:
        bill = bill_of(sharing.shared_by_all)
        yield f"{part}one pool for all classes would take {bill}"
    elif len(pools) > 1 and len(models) == 1:
        yield f"{part}no replica meets the limits of all classes together"
    if len(pools) < sum(len(pool.classes) for pool in pools):
        bill = f"{bill_of(sharing.one_each)} ({listed(_chip_types(sharing.one_each))})"
        yield f"{part}a pool for each class would take {bill}"


def bill_of(pools: Sequence[ReplicaPool]) -> str:
    """Phrase for the chips and the price of some pools."""
    if len(pools) == 1 and len(pools[0].classes) == 1:
        return chips_and_price(pools[0].plan, pools[0].decision.service)
    chips = many(sum(pool.chips for pool in pools), "chip")
    usd = sum_if_known(pool.plan.usd_per_month for pool in pools)
    return chips if usd is None else f"{chips}, ${dollars(usd)} per month"


def _chip_types(pools: Pools) -> list[str]:
    return [*dict.fromkeys(pool.plan.scenario.hardware.id for pool in pools)]
