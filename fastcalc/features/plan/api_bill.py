"""What an API charges for the same load, and the load above which chips are cheaper."""

from collections.abc import Iterator

from fastcalc.features.plan.decision import Plan
from fastcalc.features.plan.random_load import most_requests
from fastcalc.features.plan.ranked_plan import SECONDS_PER_MONTH, api_usd_per_month
from fastcalc.features.plan.service import Service
from fastcalc.formulas.money import break_even_rate
from fastcalc.kit.answer.numbers_as_text import dollars, number


def against_api(chosen: Plan, service: Service) -> Iterator[str]:
    """Yield what an API charges for the throughput of a plan, if the request names one."""
    throughput = most_requests(chosen, service)
    yield from api_notes(service, service.rate or throughput, throughput, chosen.usd_per_month)


def api_notes(
    service: Service, requests: float, capacity: float, usd: float | None
) -> Iterator[str]:
    """Yield what the API charges for the load, and the load above which chips are cheaper.

    requests, capacity : load, and highest throughput of the chips [1/s]
    usd : monthly cost of the chips, or None if unknown
    """
    charged, bill = service.api_request_usd, api_usd_per_month(service, requests)
    if charged is None or bill is None or usd is None or service.tariff.api is None:
        return
    prices = "/".join(f"{price:g}" for price in service.tariff.api)
    note = (
        f"API at ${prices} per million tokens: ${dollars(bill)} per month for {number(requests)} "
        f"requests/s; these chips: ${dollars(usd)}"
    )
    if usd > 0.0:
        rate = float(break_even_rate(usd_per_month=usd, usd_per_request=charged))
        note += (
            f"; they cost the same at {_crossing(service, rate, capacity)}, or if the chips were "
            f"{number(bill / usd)} times as expensive or slow"
        )
    yield note


def cheaper_api(service: Service, requests: float, usd: float | None) -> str:
    """Say that an API is cheaper than the chips. Empty if it is not.

    requests, usd : load [1/s], and monthly cost, or None if unknown
    """
    bill = api_usd_per_month(service, requests)
    if bill is None or usd is None or bill >= usd:
        return ""
    return f"; the API charges less, ${dollars(bill)} per month"


def _crossing(service: Service, rate: float, capacity: float) -> str:
    """Describe the break-even load: requests, tokens and utilization of the chips."""
    tokens = rate * (service.prompt + service.output) * SECONDS_PER_MONTH
    crossing = f"{number(rate)} requests/s ({number(tokens / 1e6)} Mtok per month"
    if rate > capacity:
        return f"{crossing}, more than their throughput of {number(capacity)})"
    return f"{crossing}, {number(rate / capacity * 100.0)}% of their throughput)"
