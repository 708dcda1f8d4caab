"""Prices per chip-hour in words: amount, terms, cloud, date and confidence."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from operator import not_

from fastcalc.catalogue.schema import Hardware
from fastcalc.core.outcome import Outcome, chips_by_id
from fastcalc.core.pricing import Pricing, Quote
from fastcalc.core.scenario import Scenario
from fastcalc.kit.answer.numbers_as_text import stated_percent
from fastcalc.kit.answer.parts import Remark
from fastcalc.kit.answer.record_tables import marked
from fastcalc.written import first_few, listed

MOST_PRICED = 8
"""Maximum number of prices in a short note, known ones first."""

_TERMS = {
    "on-demand": "on-demand",
    "reserved": "reserved, commitment not stated",
    "spot": "spot",
    "marketplace": "marketplace of individual owners",
    "survey": "survey of several clouds",
    "estimate": "an analyst's estimate",
    "given": "given",
    "unstated": "terms not stated",
    "ownership": "ownership",
}


def terms_of(quote: Quote) -> str:
    """Describe the terms of a price. Empty without a price.

    >>> terms_of(Quote(2.0, "survey")), terms_of(Quote(None))
    ('survey of several clouds', '')
    """
    if quote.commitment_months:
        return f"reserved for {quote.commitment_months} months"
    return _TERMS[quote.terms] if quote.terms else ""


def price_line(scenarios: Iterable[Scenario], remark: str = "") -> list[Remark]:
    """Write the prices per chip-hour under a headline. Empty without a price.

    remark : phrase on what these prices amount to, or on the price at which another choice wins
    """
    quoted = [
        f"{scenario.hardware.id} ${_dollars(quote)} ({provenance(quote, scenario.pricing)})"
        for scenario in scenarios
        if (quote := scenario.quote).usd_per_hour is not None
    ]
    quoted = list(dict.fromkeys(quoted))
    if not quoted:
        return []
    return [Remark(f"Price per chip-hour: {listed(quoted)}{remark and f'; {remark}'}.")]


def _dollars(quote: Quote) -> str:
    return marked(f"{quote.usd_per_hour:,.2f}", is_unsure=quote.is_uncertain)


def provenance(quote: Quote, pricing: Pricing) -> str:
    """Describe the terms, cloud, region, date and confidence of a price, if stated."""
    words = [
        terms_of(quote) + (f" over {pricing.years:g} years" if quote.terms == "ownership" else ""),
        " ".join(filter(None, (quote.provider, quote.region))),
        f"price of {quote.date}" if quote.terms == "ownership" and quote.date else quote.date,
        f"{quote.confidence} confidence" if quote.confidence else "",
        f"the price of {quote.price_of}" if quote.price_of else "",
    ]
    return ", ".join(filter(None, words))


def prices(outcomes: Sequence[Outcome], *, in_short: bool = False) -> str:
    """State the prices used for outcomes, with their dates, in one sentence."""
    pricing = outcomes[0].scenario.pricing
    sentence = prices_of(pricing, chips_by_id(outcomes).values(), in_short=in_short)
    if in_short and pricing.utilization == 1.0:
        return sentence
    return f"{sentence}; {hours_used(pricing)}"


def hours_used(pricing: Pricing) -> str:
    """Describe the utilization of paid hours."""
    return f"{stated_percent(pricing.utilization)} utilization of paid hours"


def other_prices(outcomes: Sequence[Outcome], named: Iterable[Scenario]) -> Iterator[str]:
    """Yield short prices of the outcomes that are not already stated under the headline."""
    above = {scenario.hardware.id for scenario in named}
    others = [outcome for outcome in outcomes if outcome.scenario.hardware.id not in above]
    has_prices = any(outcome.usd_per_hour is not None for outcome in others)
    if has_prices or outcomes[0].scenario.pricing.utilization != 1.0:
        yield prices(others or outcomes, in_short=True)


def prices_of(pricing: Pricing, chips: Iterable[Hardware], *, in_short: bool) -> str:
    """List chip prices. The full list explains a low confidence of the first price."""
    listed_chips = list(chips)
    quoted = [
        priced(pricing, chip, in_short=in_short or index > 0)
        for index, chip in enumerate(listed_chips)
    ]
    if in_short:
        is_priced = [pricing.quote(chip).usd_per_hour is not None for chip in listed_chips]
        quoted = [*compress(quoted, is_priced), *compress(quoted, map(not_, is_priced))]
        quoted = first_few(quoted, MOST_PRICED)
    is_given = all(chip.id in pricing.user_prices for chip in listed_chips)
    basis = "" if is_given else f", {basis_of(pricing)}"
    return f"prices{basis}, $ per chip-hour: {', '.join(quoted)}"


def basis_of(pricing: Pricing) -> str:
    """Describe the price basis: cloud terms or ownership cost."""
    if pricing.basis == "cloud":
        return pricing.offer or "on-demand unless noted"
    return (
        "ownership cost (chip purchase and electricity, no server) over "
        f"{pricing.years:g} years at {pricing.usd_per_kwh:g} $/kWh"
    )


def priced(pricing: Pricing, chip: Hardware, *, in_short: bool) -> str:
    """Format a price per chip-hour with its cloud and date, and why it is uncertain if it is."""
    quote = pricing.quote(chip)
    if quote.usd_per_hour is None:
        return f"{chip.id} unknown"
    usual = {pricing.offer or "on-demand", "ownership"}
    is_usual = quote.terms in usual and not quote.commitment_months
    terms = terms_of(quote) if quote.commitment_months else quote.terms
    words = ["" if is_usual else terms, quote.provider, quote.date]
    if quote.confidence == "low":
        note = quote.origin and quote.origin.note and quote.origin.note.split(";")[0]
        words.append(
            "low confidence" if in_short else f"low confidence{f': {note}' if note else ''}"
        )
    if quote.price_of:
        words.append(f"of {quote.price_of}")
    usd = _dollars(quote)
    about = ", ".join(filter(None, words))
    return f"{chip.id} {usd}" + (f" ({about})" if about else "")
