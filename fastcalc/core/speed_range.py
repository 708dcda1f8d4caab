"""Prediction ranges: the factors by which measured speeds may differ from expected speeds."""

from collections.abc import Iterator

import numpy as np

from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.catalogue.schema.engines import Phase, RangeWidths
from fastcalc.core.chip.machine_class import class_of
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.formulas.ranges import half_width
from fastcalc.formulas.types import ArrayLike, Floats, floats

TO_LOW_END = 1.2815515655446004
"""The limits of an 80% range in standard deviations of the log speed: if errors are lognormal, nine
in ten values are above the lower limit."""


def publishers_on(engine: Engine, hardware: Hardware, phase: Phase = "decode") -> int:
    """Count the publishers whose measurements of a phase on a chip an engine was fitted to."""
    return engine.publishers.get(phase, {}).get(hardware.id, 0)


def range_note(engine: Engine, hardware: Hardware) -> str | None:
    """Describe the data behind a speed's range, or return None without a range."""
    if stated := engine.stated_range("decode"):
        return stated.basis
    if (widths := engine.range_widths) is None:
        return None
    return "; ".join([f"contains 80% of {widths.basis}", *weaknesses(engine, hardware)])


def weaknesses(engine: Engine, hardware: Hardware) -> Iterator[str]:
    """Yield reasons why a range is wider than the ranges of the calibration data."""
    widths = engine.range_widths
    if widths is None or engine.stated_range("decode"):
        return
    if not publishers_on(engine, hardware):
        yield (
            f"the range is {widths.unseen:.3g} times as wide, because {engine.id} is fitted to no "
            "decode measurement of this chip"
        )


def reach(
    widths: RangeWidths,
    phase: Phase,
    *,
    has_experts: bool,
    machine: str,
    publishers: int,
    fitted_share: ArrayLike,
) -> tuple[Floats, Floats]:
    """Compute the factors from the expected speed to the limits of calibrated ranges.

    machine : The class of the chip.
    publishers : The number of publishers that measured the phase with the engine on this chip.
    fitted_share : As for `speed_range`.
    """
    width = widths.of(phase, has_experts=has_experts, machine=machine, publishers=publishers)
    times = 1.0 if publishers else widths.unseen
    # If ranges were wider, a faster component would lower the lower limit.
    below, above = (min(side * times, 1.0) for side in (width.below, width.above))
    return (
        np.exp(half_width(least=below, fitted_share=fitted_share)),
        np.exp(half_width(least=above, fitted_share=fitted_share)),
    )


def speed_range(
    placement: AnyPlacement,
    phase: Phase = "decode",
    *,
    fitted_share: ArrayLike,
    is_offloaded: bool,
    streams: ArrayLike = 1.0,
) -> tuple[Floats, Floats] | None:
    """Compute the factors around the expected speed that contain 80% of speeds, or return None.

    No published data shows how a machine with a region per layer decodes several sequences. The
    upper limit of the range assumes that sequences are pipelined with one in each region; the lower
    limit assumes that they alternate.

    phase : The phase whose speed is predicted.
    fitted_share : The fitted fraction of the time, per element.
    is_offloaded : Whether any part of the model is on a host.
    streams : The number of tokens that are decoded together.
    """
    engine = placement.machine.engine
    stated, widths = engine.stated_range("offload" if is_offloaded else phase), engine.range_widths
    if widths is None or (stated and not is_offloaded):
        if stated is None:
            return None
        is_spatial = placement.machine.is_spatial and phase == "decode"
        rounds = np.minimum(streams, placement.work.depth) if is_spatial else 1.0
        return floats(stated.below * rounds), floats(stated.above)
    below, above = reach(
        widths,
        phase,
        has_experts=placement.work.experts > 0,
        machine=class_of(placement.machine.hardware),
        publishers=publishers_on(engine, placement.machine.hardware, phase),
        fitted_share=fitted_share,
    )
    # The lower limit must not be higher with a host than without one.
    return (np.maximum(stated.below, below), floats(stated.above)) if stated else (below, above)
