"""Compare chips with an API billed per token: the cost of both, and their break-even load."""

from collections.abc import Iterator

from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import break_even_rate
from fastcalc.kit.answer.numbers_as_text import dollars, number


def api_notes(
    service: Service, requests: float, capacity: float, usd: float | None
) -> Iterator[str]:
    """Yield what the API charges for some requests, and the load above which chips are cheaper.

    requests, capacity : load and highest throughput of the chips [1/s]
    usd : cost of the chips per month, or None if unknown
    """
    charged = service.api_request_usd
    if charged is None or usd is None or service.tariff.api is None:
        return
    bill = charged * requests * SECONDS_PER_MONTH
    prices = "/".join(f"{price:g}" for price in service.tariff.api)
    note = (
        f"API at ${prices} per million tokens: ${dollars(bill)} per month for {number(requests)} "
        f"requests/s; these chips: ${dollars(usd)}"
    )
    if usd > 0.0:
        rate = float(break_even_rate(usd_per_month=usd, usd_per_request=charged))
        note += (
            f"; break-even: {_crossing(service, rate, capacity)}, or chips {number(bill / usd)} "
            "times as dear or as slow"
        )
    yield note


def cheaper_api(service: Service, requests: float, usd: float | None) -> str:
    """State that an API is cheaper than the chips. Empty if it is not.

    requests, usd : load [1/s], and cost per month, or None if unknown
    """
    bill = (service.api_request_usd or 0.0) * requests * SECONDS_PER_MONTH
    if service.tariff.api is None or usd is None or bill >= usd:
        return ""
    return f"; the API charges less, ${dollars(bill)} per month"


def _crossing(service: Service, rate: float, capacity: float) -> str:
    """Describe the break-even load: requests, tokens and utilization of the chips."""
    tokens = rate * (service.prompt + service.output) * SECONDS_PER_MONTH
    crossing = f"{number(rate)} requests/s ({number(tokens / 1e6)} Mtok per month"
    if rate > capacity:
        return f"{crossing}, more than their throughput of {number(capacity)})"
    return f"{crossing}, {number(rate / capacity * 100.0)}% of their throughput)"
