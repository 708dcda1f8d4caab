"""``fastcalc infer``: which services two speeds and two prices are consistent with."""

from typing import TYPE_CHECKING

from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.numerals import parse_number
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.errors import InputError
from fastcalc.features.infer import answer as report
from fastcalc.features.infer.inverse import invert
from fastcalc.features.infer.request import Infer
from fastcalc.features.infer.two_tiers import SoldTiers, machines
from fastcalc.kit.answer.answer import CommandAnswer
from fastcalc.kit.request import readers
from fastcalc.kit.request.loading import catalogue, chips_of, pricing_of
from fastcalc.kit.request.readers import as_text
from fastcalc.mentions import option
from fastcalc.written import shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import NumbersGiven

_POINTS = Limit(1000, 4_000_000, is_whole=True)
_TOLERANCE = Limit(1e-6, 0.5)


def run(request: Infer) -> CommandAnswer:
    """Return what a service may be, by its prices and speeds; the answer is no if nothing fits."""
    speeds = _two(request.speeds, option("speeds"), LIMITS["speed"])
    prices = _two(request.prices, option("prices"), LIMITS["dollars"])
    if not speeds[0] < speeds[1]:
        raise InputError(
            f"{option('speeds')} {as_text(request.speeds)}: write the slow tier first, and a "
            "faster one"
        )
    tolerance = readers.number(request.tolerance, option("tolerance"), _TOLERANCE, 0.15)
    points = int(readers.number(request.points, option("points"), _POINTS, 2_000_000))
    notes: list[str] = []
    chips = chips_of(catalogue(request), request.on, OWN_MEMORY, notes)
    chip_kinds = machines(chips, pricing_of(chips, request, utilization=1.0))
    inverse = invert(SoldTiers(speeds, prices), chip_kinds, tolerance=tolerance, points=points)
    return CommandAnswer(
        lambda screen: report.parts(inverse, points, screen),
        lambda: [report.record(inverse, region) for region in inverse.regions],
        lambda: (report.TABLE, inverse.regions),
        lambda: report.alongside(inverse, points),
        reasons=[] if inverse.minimal else [report.no_consistent_service(inverse, points)],
        reading=notes,
        code=0 if inverse.minimal else 1,
    )


def _two(typed: "NumbersGiven", flag: str, limit: Limit) -> tuple[float, float]:
    parts = typed.split(",") if isinstance(typed, str) else typed
    numbers = [parse_number(str(part), "_") for part in parts]
    values = [number for number in numbers if number is not None]
    if not len(values) == len(numbers) == 2:
        raise InputError(
            f"{flag} '{shown(as_text(typed))}' is not two numbers; write for example 65,170"
        )
    slow, fast = (readers.number(value, flag, limit, 65) for value in values)
    return slow, fast
