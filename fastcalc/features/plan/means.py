"""Parsers for the resources of a user: chips, dollars per month, and watts."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.numerals import parse_number
from fastcalc.errors import InputError
from fastcalc.formulas.money import HOURS_PER_MONTH
from fastcalc.importers.instances import stated_count
from fastcalc.kit.request import readers
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import NumbersGiven

_BUDGET = re.compile(r"\$?([0-9][^kM/]*)([kM]?)(?:/(h|hour|month|year))?")
_NEXT_CHIP = re.compile(r",(?=\s*(?:[A-Za-z]|\d+\s*x))")
"""A comma before another chip type, not within a number."""
_GRID = Limit(0.0, 10_000.0, "g/kWh")
"""From zero to ten times the emissions of lignite."""

_SCALE = {"": 1.0, "k": 1e3, "M": 1e6}
_A_MONTH = {"h": HOURS_PER_MONTH, "hour": HOURS_PER_MONTH, "month": 1.0, "year": 1.0 / 12.0}


def owned_chips(owned: Sequence[str] | Mapping[str, int] | None) -> list[tuple[str, int]]:
    """Parse chip names and counts; an instance type counts all of its chips.

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
    """Parse a budget into dollars per month; a month is 730 hours.

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
            f"{option('budget')} '{shown(text, 40)}' is not dollars per month; write for "
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
            f"{option('api')} '{shown(typed, 40)}' is not an API's dollars of a million tokens in, "
            "cached and out; write for example 0.6/0.15/2.4"
        )
    return prices[0], prices[1], prices[2]


def grid_grams(grams: float | None) -> float | None:
    """Parse the carbon dioxide per kilowatt hour. [g]"""
    return grams if grams is None else readers.number(grams, option("grid"), _GRID, 400)
