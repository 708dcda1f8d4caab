"""The service and resources requested from ``fastcalc plan``, and how to describe them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from statistics import NormalDist
from typing import TYPE_CHECKING, cast

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.numerals import parse_number
from fastcalc.core.load import ROOM_FOR_CHANCE
from fastcalc.errors import InputError
from fastcalc.features.plan.people import people_of
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Objective, Service, Tariff
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.importers.instances import stated_count
from fastcalc.kit.answer.numbers_as_text import number, stated_percent
from fastcalc.kit.request import readers
from fastcalc.kit.request.fields import settings
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option
from fastcalc.written import many, shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import NumbersGiven


_BUDGET = re.compile(r"\$?([0-9][^kM/]*)([kM]?)(?:/(h|hour|month|year))?")
_NEXT_CHIP = re.compile(r",(?=\s*(?:[A-Za-z]|\d+\s*x))")
"""Matches a comma before another chip type, but not within a number."""
_GRID = Limit(0.0, 10_000.0, "g/kWh")
"""Allowed emissions: from zero to ten times those of lignite."""

_SCALE = {"": 1.0, "k": 1e3, "M": 1e6}
_A_MONTH = {"h": HOURS_PER_MONTH, "hour": HOURS_PER_MONTH, "month": 1.0, "year": 1.0 / 12.0}


def owned_chips(owned: Sequence[str] | Mapping[str, int] | None) -> list[tuple[str, int]]:
    """Parse chip names and counts. An instance type counts all of its chips.

    >>> owned_chips(["h100-sxm=16", "8xl40s,p5.48xlarge=2"])
    [('h100-sxm', 16), ('8xl40s', 8), ('p5.48xlarge', 16)]
    """
    if isinstance(owned, Mapping):
        owned = [f"{name}={count}" for name, count in owned.items()]
    texts = (text for typed in owned or () for text in _NEXT_CHIP.split(typed.rstrip(", ")))
    return [_name_and_count(text) for text in texts]


def _name_and_count(text: str) -> tuple[str, int]:
    name, equals, count = text.partition("=")
    together = stated_count(name)
    times = 1 if together and not equals else _count(name + equals, count)
    return name.strip(), times * (together or 1)


def _count(typed: str, count: str) -> int:
    name = typed.removesuffix("=").strip()
    if not name or not count:
        chip, _, chips = name.partition(":")
        example = f"{chip}={chips}" if chip and chips.isdigit() else "h100-sxm=16"
        raise InputError(f"{option('own')} '{shown(typed + count)}' is not CHIP=N; write {example}")
    flag = f"{option('own')} of {shown(name)}"
    return readers.whole(count.strip(), flag, LIMITS["chips"], "16")


def usd_a_month(budget: str | float | None) -> float | None:
    """Parse a budget into dollars per month. A month has 730 hours.

    >>> usd_a_month("50k/month"), usd_a_month("$600,000/year"), usd_a_month("100/h")
    (50000.0, 50000.0, 73000.0)
    """
    if budget is None:
        return None
    text = readers.as_text(budget).strip()
    match = _BUDGET.fullmatch(text)
    number = parse_number(match[1], ",_") if match else None
    value = number * _SCALE[match[2]] * _A_MONTH[match[3] or "month"] if match and number else 0.0
    if value not in LIMITS["dollars"]:
        raise InputError(
            f"{option('budget')} '{shown(text)}' is not dollars per month; write for "
            "example 50k/month, or 70/h"
        )
    return value


def watts(power: str | None) -> float | None:
    """Parse a power with its unit into watts.

    >>> watts("100kW")
    100000.0
    """
    if power is None:
        return None
    return readers.quantity(power, option("power"), "power", LIMITS["power"], "100kW")


def api_prices(api: "NumbersGiven | None") -> tuple[float, float, float] | None:
    """Parse API prices in dollars per million tokens of input, cached input and output.

    >>> api_prices("0.6/0.15/2.4")
    (0.6, 0.15, 2.4)
    """
    if api is None:
        return None
    typed = api if isinstance(api, str) else "/".join(map(str, api))
    numbers = [parse_number(part.strip().removeprefix("$"), "_") for part in typed.split("/")]
    known = [each for each in numbers if each is not None]
    prices = [price for price in known if price in LIMITS["dollars"] or price == 0.0]
    if not len(prices) == len(numbers) == 3 or not any(prices):
        raise InputError(
            f"{option('api')} '{shown(typed)}' is not the price of an API in $ per million input, "
            "cached and output tokens; write for example 0.6/0.15/2.4"
        )
    return prices[0], prices[1], prices[2]


def grid_grams(grams: float | None) -> float | None:
    """Parse the carbon dioxide per kilowatt hour, in grams."""
    return grams if grams is None else readers.number(grams, option("grid"), _GRID, 400)


DEFAULT_PERCENTILE = 99.0
"""Default percentage of requests that must meet their limits."""


def is_of_fleet(request: FindPlans) -> bool:
    """Check whether chips are owned, or the highest load of given resources is requested."""
    has_rate = request.rate is not None or request.users is not None
    has_means = request.budget is not None or request.power is not None
    return request.own is not None or (has_means and not has_rate)


def service_of(request: FindPlans) -> Service:
    """Build the service described by options, with uniform requests."""
    tpot, is_speed = _seconds(request.tpot, option("tpot")), False
    if request.min_speed is not None:
        readers.number(request.min_speed, option("min_speed"), LIMITS["speed"], 50)
        is_speed, tpot = 1.0 / request.min_speed < tpot, min(tpot, 1.0 / request.min_speed)
    chips = readers.ranks(request.max_chips, option("max_chips"))
    share, load = _share_in_time(request), request.load
    if load is None:
        load = 1.0
    objective = readers.choice(request.objective, option("objective"), ("usd", "watts", "chips"))
    return Service(
        prompt=float(request.prompt),
        output=float(request.output),
        ttft=_seconds(request.ttft, option("ttft")),
        tpot=tpot,
        rate=readers.rate(request.rate),
        share=share,
        max_chips=inf if chips is None else chips,
        utilization=min(
            readers.share(load, option("load")), 1.0 if share is None else ROOM_FOR_CHANCE
        ),
        is_speed=is_speed,
        objective=cast(Objective, objective),
        prefix_hit=readers.share(request.prefix_hit, option("prefix_hit"), zero=True),
        any_weights=request.weights is not None,
        any_cache=request.kv is not None,
        in_nodes=readers.choice(request.by, option("by"), ("node", "chip")) == "node",
        budget=usd_a_month(request.budget) or inf,
        power=watts(request.power) or inf,
        tariff=Tariff(api_prices(request.api), grid_grams(request.grid)),
        deviations=NormalDist().inv_cdf(_percent(request.confidence, "confidence", 99, 90) / 100.0),
    )


def _share_in_time(request: FindPlans) -> float | None:
    """Return the fraction of requests that must meet the TTFT limit."""
    askers = (request.rate, request.users, request.traffic)
    arrives = any(asked is not None for asked in askers) or is_of_fleet(request)
    if request.percentile is None:
        is_even = request.load is not None and request.load > ROOM_FOR_CHANCE
        return DEFAULT_PERCENTILE / 100.0 if arrives and not is_even else None
    if request.ttft is None and not arrives:
        raise InputError(
            f"{option('percentile')} needs a TTFT limit or a request rate; give "
            f"{option('ttft', '1s')} or {option('rate', '20/s')}"
        )
    return _percent(request.percentile, "percentile", 99.99, 99) / 100.0


def _percent(value: float | None, name: str, limit: float, example: int) -> float:
    """Parse a percentage between 50 (the default) and a maximum."""
    if value is not None and not 50 <= value <= limit:
        raise InputError(
            f"{option(name)} {value:g} is not from 50 to {limit:g}; write for example {example}"
        )
    return 50.0 if value is None else value


def _seconds(text: str | None, flag: str) -> float:
    if text is None:
        return inf
    return readers.quantity(text, flag, "time", LIMITS["duration"], "25ms or 1s")


def phrase(request: FindPlans, service: Service, models: str | None = None) -> str:
    """Describe the requested service in a phrase.

    models : The models for several request classes, whose lengths are in a table.
    """
    tokens = many(round(service.output), "token")
    cached = f" ({stated_percent(service.prefix_hit)} cached)" if service.prefix_hit else ""
    lengths = f"prompt {round(service.prompt):,}{cached}, output {tokens}"
    shown = ("prefix_hit", "price")  # shown above, and in the line of prices
    phrases = {
        setting.name: setting.phrase for setting in settings(request) if setting.name not in shown
    }
    for name in ("ttft", "tpot"):
        if service.claimed_share and getattr(request, name):
            phrases[name] = f"p{service.claimed_share * 100:g} {phrases[name]}"
    if request.users is not None:
        loop, people = f"{number(service.rate or 0.0)} requests/s", people_of(request)
        if service.rate and people is not None and people.think is not None:
            loop += f", mean latency {number(people.waiting / service.rate - people.think)} s"
        phrases["users"] = f"{phrases['users']} ({loop})"
    if request.traffic is not None:
        limits = [] if models else _limits_of_file(request, service)
        is_in_file = service.rate is not None and request.users is None and request.rate is None
        rate = f"{number(service.rate or 0.0)} requests/s of " * is_in_file
        phrases["traffic"] = ", ".join([*limits, f"{rate}{request.traffic}"])
    words = [*([] if models else [lengths]), *filter(None, phrases.values())]
    return f"{models or as_text(request.model)}: {', '.join(words)}"


def _limits_of_file(request: FindPlans, service: Service) -> Iterator[str]:
    """Yield the limits of a file's only class, unless options set them."""
    percent = f"p{service.claimed_share * 100:g} " if service.claimed_share else ""
    if request.ttft is None and service.ttft < inf:
        yield f"{percent}TTFT up to {number(service.ttft * 1e3)} ms"
    if request.tpot is None and request.min_speed is None and service.tpot < inf:
        yield f"{percent}TPOT up to {number(service.tpot * 1e3)} ms"
