"""How far below and above an expected speed a measured one may lie."""

import numpy as np

from fastcalc.catalogue.schema import Engine, Hardware
from fastcalc.catalogue.schema.engines import Phase
from fastcalc.core.chip.machine_class import class_of
from fastcalc.core.placement.placement import AnyPlacement
from fastcalc.formulas.ranges import half_width
from fastcalc.formulas.types import ArrayLike, Floats, floats


def is_fitted_kind(engine: Engine, hardware: Hardware, phase: Phase = "decode") -> bool:
    """Return whether an engine was fitted on chips of this kind."""
    return class_of(hardware) in engine.fitted_kinds.get(phase, ())


def range_note(engine: Engine, hardware: Hardware) -> str | None:
    """Return what the range of a token's speed rests on, in words; None without a range."""
    if stated := engine.stated_range("decode"):
        return stated.basis
    if (widths := engine.range_widths) is None:
        return None
    text = f"holds four in five of {widths.basis}"
    if is_fitted_kind(engine, hardware):
        return text
    return (
        f"{text}; {widths.unseen:.2g} times as wide, for no measurement of {engine.id} foretells "
        f"chips of class {class_of(hardware)}"
    )


def speed_range(
    placement: AnyPlacement,
    phase: Phase = "decode",
    *,
    slowdown: ArrayLike,
    is_offloaded: bool,
) -> tuple[Floats, Floats] | None:
    """Return by which factors 80 % of speeds lie below and above at most; None for the bound.

    placement : a workload on a layout
    phase : what the speed is of
    slowdown : the bound over the expected speed, an element for each [1]
    is_offloaded : whether any of the model is on a host
    """
    engine = placement.machine.engine
    if stated := engine.stated_range("offload" if is_offloaded else phase):
        return floats(stated.below), floats(stated.above)
    if engine.range_widths is None:
        return None
    width = engine.range_widths.of(phase)
    if not is_fitted_kind(engine, placement.machine.hardware, phase):
        width *= engine.range_widths.unseen
    reach = np.exp(half_width(at_bound=width, slowdown=slowdown))
    return reach, reach
