"""``fastcalc infer``: find services that match two speeds and two prices."""

from typing import TYPE_CHECKING

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.numerals import parse_number
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.errors import InputError
from fastcalc.features.infer.answer import InferAnswer
from fastcalc.features.infer.inverse import invert
from fastcalc.features.infer.request import Infer
from fastcalc.features.infer.two_tiers import SoldTiers, machines
from fastcalc.kit.answer.numbers_as_text import stated_percent
from fastcalc.kit.request import readers
from fastcalc.kit.request.chips import chips_of
from fastcalc.kit.request.loading import catalogue
from fastcalc.kit.request.pricing import pricing_of
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import NumbersGiven

_POINTS = Limit(1000, 4_000_000, is_whole=True)
_TOLERANCE = Limit(1e-6, 0.5)


def run(request: Infer) -> InferAnswer:
    """Find the techniques that explain the speeds and prices. The answer is "no" if none does."""
    speeds = _two(request.speeds, option("speeds"), LIMITS["speed"])
    prices = _two(request.prices, option("prices"), LIMITS["dollars"])
    if not speeds[0] < speeds[1]:
        raise InputError(
            f"{option('speeds')} {as_text(request.speeds)}: write the slow tier first, and a "
            "faster one"
        )
    tolerance = readers.number(request.tolerance, option("tolerance"), _TOLERANCE, 0.15)
    points = int(readers.number(request.points, option("points"), _POINTS, 100_000))
    reading: list[str] = []
    chips = chips_of(catalogue(request), request.on, OWN_MEMORY, reading)
    chip_kinds = machines(chips, pricing_of(chips, request, utilization=1.0))
    inverse = invert(SoldTiers(speeds, prices), chip_kinds, tolerance=tolerance, points=points)
    none_fits = (
        f"None of {points:,} services tried is consistent with these speeds and prices within "
        f"{stated_percent(tolerance)}"
    )
    reasons = [] if inverse.minimal else [none_fits]
    return InferAnswer(request=request, reading=reading, reasons=reasons, inverse=inverse)


def _two(given: "NumbersGiven", flag: str, limit: Limit) -> tuple[float, float]:
    texts = given.split(",") if isinstance(given, str) else given
    numbers = [parse_number(str(text), "_") for text in texts]
    values = [number for number in numbers if number is not None]
    if not len(values) == len(numbers) == 2:
        raise InputError(
            f"{flag} '{shown(as_text(given))}' is not two numbers; write for example 65,170"
        )
    slow, fast = (readers.number(value, flag, limit, 65) for value in values)
    return slow, fast
