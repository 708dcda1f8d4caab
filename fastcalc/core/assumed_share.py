"""How an assumed usable-memory fraction affects the number of chips."""

from dataclasses import replace
from typing import NamedTuple

from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Hardware, Parameters
from fastcalc.catalogue.schema.quantities import Quantity
from fastcalc.core.outcome import Location, locate
from fastcalc.formulas.solving import bisect_integers


@once
def with_raised_limit(hardware: Hardware) -> Hardware:
    """Raise the GPU's memory limit to the full memory, as iogpu.wired_limit_mb does on Macs.

    Chips on other systems have no such limit and are returned unchanged.
    """
    if hardware.kind != "apple":
        return hardware
    all_of_it = {"reported": Quantity(si=1.0, text="1")}
    memory = [one.model_copy(update=all_of_it) for one in hardware.memory]
    return hardware.model_copy(update={"memory": memory})


ASSUMED = "assumption"
"""The `source` value in engine files for numbers that nobody publishes."""

_SHARE = "memory_fraction"
_EITHER_WAY = 0.1
"""The error assumed for it, since code and activations may take a fifth of memory or none."""


class OtherCount(NamedTuple):
    """A different chip count and the usable-memory fraction that leads to it.

    chips : The number of chips in the deployment, or 0 if no number fits the batch.
    share : The largest fraction that needs more chips, or the smallest that needs fewer.
    """

    chips: int
    share: float


class ShareAssumed(NamedTuple):
    """An assumed usable-memory fraction, and chip counts for slightly different ones."""

    share: float
    fewer: OtherCount | None
    more: OtherCount | None


def share_assumed(location: Location) -> ShareAssumed | None:
    """Return how the chip count depends on an assumed memory fraction, or None if it does not.

    The search tries whole percentages within ten percentage points of the assumed fraction.
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
    """Count the chips needed if macOS gives its GPU all memory, or None if that saves no chips."""
    scenario = location.scenario
    hardware = with_raised_limit(scenario.hardware)
    if hardware is scenario.hardware or (location.fits and location.placement.layout.chips == 1):
        return None
    raised = locate(replace(scenario, hardware=hardware))
    fewer = raised.fits and not (
        location.fits and raised.placement.layout.chips >= location.placement.layout.chips
    )
    return raised.placement.layout.chips if fewer else None


def _turn(location: Location, same: int, second: int) -> OtherCount | None:
    """Find the first percentage between two at which the number of chips changes."""
    chips = _chips_at(location, same)
    if _chips_at(location, second) == chips:
        return None
    _, second = bisect_integers(lambda percent: _chips_at(location, percent) == chips, same, second)
    return OtherCount(_chips_at(location, second), second / 100)


def _chips_at(location: Location, percent: int) -> int:
    """Count the chips that fit the smallest batch at a usable percentage, or 0 if none do."""
    scenario = location.scenario
    limits = Parameters.model_validate({_SHARE: percent / 100})
    placed = locate(replace(scenario, engine=scenario.engine.limited(limits)))
    return placed.placement.layout.chips if placed.fits else 0
