"""Describe prices per chip-hour: amount, terms, cloud, date and confidence."""

from collections.abc import Iterable, Sequence

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.outcome import Outcome, chips_by_id
from fastcalc.core.pricing import Pricing, Quote
from fastcalc.core.scenario import Scenario
from fastcalc.kit.answer.numbers_as_text import capital, stated_percent
from fastcalc.kit.answer.parts import Remark
from fastcalc.kit.answer.record_tables import marked
from fastcalc.written import first_few

MOST_PRICED = 4
"""Maximum number of prices listed under a headline."""

_TERMS = {
    "on-demand": "on-demand",
    "reserved": "reserved, commitment not stated",
    "spot": "spot",
    "marketplace": "marketplace",
    "survey": "survey of several clouds",
    "estimate": "estimate",
    "given": "given",
    "unstated": "terms not stated",
    "ownership": "ownership",
}


def terms_of(quote: Quote) -> str:
    """Return the terms of a price, or nothing if there is no price.

    >>> terms_of(Quote(2.0, "survey")), terms_of(Quote(None))
    ('survey of several clouds', '')
    """
    if quote.commitment_months:
        return f"reserved for {quote.commitment_months} months"
    return _TERMS[quote.terms] if quote.terms else ""


def price_line(
    scenarios: Iterable[Scenario], remark: str = "", others: Iterable[Outcome] = ()
) -> list[Remark]:
    """Return the lines of prices under a headline, one per price basis, or nothing without prices.

    remark : The phrase on the total of these prices, or on the price at which another choice wins.
    others : Additional outcomes, whose prices follow those of the scenarios.
    """
    by_pricing: dict[str, tuple[Pricing, dict[str, Hardware]]] = {}
    for scenario in (*scenarios, *(outcome.scenario for outcome in others)):
        if scenario.quote.usd_per_hour is not None:
            key = scenario.pricing.name
            _, chips = by_pricing.setdefault(key, (scenario.pricing, {}))
            chips.setdefault(scenario.hardware.id, scenario.hardware)
    texts = [
        prices_of(pricing, chips.values(), in_short=True) + hours_used(pricing)
        for pricing, chips in by_pricing.values()
    ]
    return [Remark(f"{capital('; '.join([*texts, *[remark] * bool(remark)]))}.")] if texts else []


def provenance(quote: Quote, pricing: Pricing) -> str:
    """Describe the terms, cloud, region, date and confidence of a price, where known."""
    words = [
        terms_of(quote) + (f" over {pricing.years:g} years" if quote.terms == "ownership" else ""),
        " ".join(filter(None, (quote.provider, quote.region))),
        f"price of {quote.date}" if quote.terms == "ownership" and quote.date else quote.date,
        f"{quote.confidence} confidence" if quote.confidence else "",
        f"the price of {quote.price_of}" if quote.price_of else "",
    ]
    return ", ".join(filter(None, words))


def prices(outcomes: Sequence[Outcome]) -> str:
    """List all prices used for the outcomes, with their sources, in one sentence."""
    pricing = outcomes[0].scenario.pricing
    return prices_of(pricing, chips_by_id(outcomes).values(), in_short=False) + hours_used(pricing)


def hours_used(pricing: Pricing) -> str:
    """Describe the utilization of paid hours unless it is 100%."""
    if pricing.utilization == 1.0:
        return ""
    return f"; {stated_percent(pricing.utilization)} utilization of paid hours"


def prices_of(pricing: Pricing, chips: Iterable[Hardware], *, in_short: bool) -> str:
    """List chip prices: the first few, or all of them with region and confidence."""
    quoted = [priced(pricing, chip, in_short=in_short) for chip in chips]
    if in_short:
        quoted = first_few(quoted, MOST_PRICED)
    basis = "price per chip-hour"
    if pricing.basis != "cloud":
        basis = f"ownership cost per chip-hour over {pricing.years:g} years"
    elif (usual := pricing.offer or "on-demand") in {pricing.quote(chip).terms for chip in chips}:
        basis = f"{usual} {basis}"
    return f"{basis}: {', '.join(quoted)}"


def basis_of(pricing: Pricing) -> str:
    """Describe the price basis: cloud terms or ownership cost."""
    if pricing.basis == "cloud":
        return pricing.offer or "on-demand unless noted"
    return (
        f"ownership cost over {pricing.years:g} years (chip purchase, electricity at "
        f"${pricing.usd_per_kwh:g}/kWh; no server, network or staff)"
    )


def priced(pricing: Pricing, chip: Hardware, *, in_short: bool) -> str:
    """Format a price per chip-hour with its cloud and date, or with all its details."""
    quote = pricing.quote(chip)
    if quote.usd_per_hour is None:
        return f"{chip.id} unknown"
    usual = {pricing.offer or "on-demand", "ownership"}
    is_usual = quote.terms in usual and not quote.commitment_months
    words = ["" if is_usual else terms_of(quote), quote.provider, quote.date]
    if not in_short:
        words[1:2] = [" ".join(filter(None, (quote.provider, quote.region)))]
        note = quote.origin and quote.origin.note and quote.origin.note.split(";")[0]
        why = f": {note}" if note and quote.confidence == "low" else ""
        words.append(quote.confidence and f"{quote.confidence} confidence{why}")
    words.append(quote.price_of and f"the price of {quote.price_of}")
    about = ", ".join(filter(None, words))
    usd = marked(f"{quote.usd_per_hour:,.2f}", is_unsure=quote.is_uncertain)
    return f"{chip.id} ${usd}" + (f" ({about})" if about else "")
