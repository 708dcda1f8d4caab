"""The prices (with date and confidence) and engines behind a chart."""

from collections.abc import Sequence

from fastcalc.core.scenario import Scenario
from fastcalc.kit.answer.numbers_as_text import capital
from fastcalc.kit.answer.prices import basis_of, prices_of
from fastcalc.kit.charts.highlight import FEW
from fastcalc.written import listed


def grounds(scenarios: Sequence[Scenario], *, is_priced: bool = True) -> str:
    """Describe the chip-hour prices and the engines of scenarios, abbreviated if there are many."""
    pricing = scenarios[0].pricing
    chips = list({scenario.hardware.id: scenario.hardware for scenario in scenarios}.values())
    chips = [chip for chip in chips if pricing.per_chip_hour(chip) is not None]
    engines = {scenario.engine.id: scenario.engine for scenario in scenarios}
    named = [f"{engine.name} ({engine.date or 'undated'})" for engine in engines.values()]
    rests_on = [f"Engine{'s' * (len(named) > 1)}: {listed(named)}."]
    if not is_priced:
        return rests_on[0]
    if 0 < len(chips) <= FEW:
        rests_on.insert(0, f"{capital(prices_of(pricing, chips, in_short=True))}.")
    elif chips:
        quotes = [pricing.quote(chip) for chip in chips]
        dates = sorted(quote.date for quote in quotes if quote.date) or ["undated"]
        when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
        low = sum(quote.confidence == "low" for quote in quotes)
        unsure = f", {low} of {len(chips)} of low confidence" if low else ""
        rests_on.insert(0, f"Prices: {basis_of(pricing)}, {when}{unsure}.")
    return " ".join(rests_on)
