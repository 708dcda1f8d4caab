"""What owned chips cost, used or not, in words."""

from collections.abc import Iterator

from fastcalc.features.plan.allocation import Fleet
from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.notes import prices_of_plans
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.formulas.sequences import sum_if_known
from fastcalc.kit.answer.numbers_as_text import dollars
from fastcalc.mentions import option


def in_all(fleet: Fleet) -> str:
    """Say what owned chips and those rented on top cost per month together, in a phrase."""
    usd = fleet.usd_per_month
    return "" if usd is None else f" (${dollars(usd)} with your own)"


def sustain_verb(fleet: Fleet) -> str:
    """The verb of what the owned chips do: serve all of a stated rate, or sustain a highest one."""
    is_all = fleet.service.rate is not None and all(one.is_owned for one in fleet.allocations)
    verb = "serve" if is_all and fleet.serves_all else "sustain"
    return f"{verb}s" if sum(kind.chips for kind in fleet.owned) == 1 else verb


def owning_all(fleet: Fleet) -> Iterator[str]:
    """Say what owned chips of several kinds cost together."""
    usd = sum_if_known(kind.usd_per_month for kind in fleet.owned)
    if usd is not None and len(fleet.owned) > 1:
        yield f"owning all these chips costs ${dollars(usd)} per month"


def owning(chosen: Plan, chips: int, tokens: float) -> str:
    """Say what all owned chips of a kind cost per month, used or not.

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
    basis = ": ".join(prices_of_plans([chosen], in_short=True)).removeprefix("prices, ")
    a_million = (
        f", ${dollars(usd / 3600.0 / tokens * 1e6)}/Mtok (input and output)" if tokens else ""
    )
    all_chips = f"all {chips:,} {chip.id}" if chips > 1 else f"the {chip.id}"
    return f"owning {all_chips} costs ${month} per month{a_million}; {basis}"
