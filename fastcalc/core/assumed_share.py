"""Numbers of chips that turn on a share of memory which an engine's file only assumes."""

from dataclasses import replace
from typing import NamedTuple

from fastcalc.catalogue.schema import Parameters
from fastcalc.catalogue.schema.quantities import Quantity
from fastcalc.core.chip.working_set import with_raised_limit
from fastcalc.core.scenario import Location, locate
from fastcalc.formulas.solving import bisect_integers

ASSUMED = "assumption"
"""Source of a number that nobody publishes, in files of engines."""

_SHARE = "memory_fraction"
_EITHER_WAY = 0.1
"""How far such a share may be from the truth: code and activations take a fifth, or nothing. [1]"""


class OtherCount(NamedTuple):
    """Another number of chips, and the usable shares of memory at which it would be that.

    chips : of the deployment, 0 where none hold the batch [1]
    share : the least at which fewer chips do, or the largest at which more are needed [1]
    """

    chips: int
    share: float


class ShareAssumed(NamedTuple):
    """A usable share that is assumed, and what other shares near it make of the chips."""

    share: float
    fewer: OtherCount | None
    more: OtherCount | None


def share_assumed(location: Location) -> ShareAssumed | None:
    """Return how the chips of a location turn on a usable share; None where they do not.

    Shares are tried in whole per cent, within a tenth of the assumed one.
    """
    scenario = location.scenario
    parameters = scenario.engine.on(*scenario.hardware.groups)
    usable: Quantity | None = parameters.given.get(_SHARE)
    if usable is None or usable.source != ASSUMED:
        return None
    percent, reach = round(100 * usable.si), round(100 * _EITHER_WAY)
    fewer = _turn(location, percent, min(percent + reach, 100))
    more = _turn(location, percent, percent - reach)
    return ShareAssumed(usable.si, fewer, more) if fewer or more else None


def chips_with_raised_limit(location: Location) -> int | None:
    """Chips that hold the smallest batch once macOS gives its GPU all memory; None if no fewer."""
    scenario = location.scenario
    hardware = with_raised_limit(scenario.hardware)
    if hardware is scenario.hardware:
        return None
    raised = locate(replace(scenario, hardware=hardware))
    fewer = raised.fits and not (
        location.fits and raised.placement.layout.chips >= location.placement.layout.chips
    )
    return raised.placement.layout.chips if fewer else None


def _turn(location: Location, same: int, second: int) -> OtherCount | None:
    """Percentage nearest to one at which the number of chips equals neither end's."""
    chips = _chips_at(location, same)
    if _chips_at(location, second) == chips:
        return None
    _, second = bisect_integers(lambda percent: _chips_at(location, percent) == chips, same, second)
    return OtherCount(_chips_at(location, second), second / 100)


def _chips_at(location: Location, percent: int) -> int:
    """Chips that hold the smallest batch at a usable share, 0 where none do. [1]"""
    scenario = location.scenario
    limits = Parameters.model_validate({_SHARE: percent / 100})
    placed = locate(replace(scenario, engine=scenario.engine.limited(limits)))
    return placed.placement.layout.chips if placed.fits else 0
