"""Chip counts that depend on a usable memory share that an engine's file only assumes."""

from dataclasses import replace
from typing import NamedTuple

from fastcalc.catalogue.schema import Parameters
from fastcalc.catalogue.schema.quantities import Quantity
from fastcalc.core.chip.working_set import with_raised_limit
from fastcalc.core.outcome import Location, locate
from fastcalc.formulas.solving import bisect_integers

ASSUMED = "assumption"
"""Source key in engine files for a number that nobody publishes."""

_SHARE = "memory_fraction"
_EITHER_WAY = 0.1
"""Assumed error of such a share: code and activations take a fifth of memory, or nothing. [1]"""


class OtherCount(NamedTuple):
    """Another possible chip count, and the usable memory fraction that leads to it.

    chips : chips of the deployment; 0 if no number holds the batch [1]
    share : largest share that needs more chips, or smallest share that needs fewer [1]
    """

    chips: int
    share: float


class ShareAssumed(NamedTuple):
    """An assumed usable share, and the chip counts that nearby shares would give."""

    share: float
    fewer: OtherCount | None
    more: OtherCount | None


def share_assumed(location: Location) -> ShareAssumed | None:
    """How the chip count at a location depends on a usable share; None if it does not.

    Shares are tried in whole percent, within a tenth of the assumed share.
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
    """Chips that hold the smallest batch if macOS gives its GPU all memory; None if not fewer."""
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
    """Percentage nearest to one share at which the number of chips differs, up to another share."""
    chips = _chips_at(location, same)
    if _chips_at(location, second) == chips:
        return None
    _, second = bisect_integers(lambda percent: _chips_at(location, percent) == chips, same, second)
    return OtherCount(_chips_at(location, second), second / 100)


def _chips_at(location: Location, percent: int) -> int:
    """Chips that hold the smallest batch at a usable share; 0 if no number holds it. [1]"""
    scenario = location.scenario
    limits = Parameters.model_validate({_SHARE: percent / 100})
    placed = locate(replace(scenario, engine=scenario.engine.limited(limits)))
    return placed.placement.layout.chips if placed.fits else 0
