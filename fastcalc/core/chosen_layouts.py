"""The layout of so many chips where ranks are left open: one that people run, if one holds it."""

from dataclasses import replace

import numpy as np

from fastcalc.core.estimate import evaluate
from fastcalc.core.placement.layout import Layout, LayoutError
from fastcalc.core.placement.placement import Placements, Site
from fastcalc.core.placement.practice import copies_run_by_people
from fastcalc.core.traffic import Traffic
from fastcalc.formulas.types import Bools, Floats, Ints
from fastcalc.mentions import option


def layouts_of(site: Site, chips: int) -> list[Layout]:
    """Return the layouts of so many chips where ranks are left open, practised ones first.

    Raises LayoutError if there is none.
    """
    if layouts := dict.fromkeys([*practised_layouts(site, chips), *site.exactly(chips)]):
        return list(layouts)
    why = "" if site.is_joined(Layout(pp=chips * site.machine.ranks)) else f"{site.unjoined}; "
    raise LayoutError(
        "chips beyond what the model can be laid out over",
        f"{site.work.model.id} cannot be laid out over {chips} chips of "
        f"{site.machine.hardware.id}; {why}give {option('tp')}, {option('pp')} and "
        f"{option('dp')}, or another {option('chips')}",
    )


def chosen_layouts(
    site: Site, chips: int, batches: Floats, traffic: Traffic
) -> tuple[list[Layout], Ints]:
    """Return the layouts of so many chips, and the position of the one that each batch takes.

    Of those that people run and that hold the batch, it is the one that serves most; where none of
    these holds it, of all legal ones. Where none does at all, it is the one that holds most.

    site : a workload on a kind of chip, with reserved tokens along the last axis but two, if many

    Raises LayoutError if there is no layout.
    """
    layouts = layouts_of(site, chips)
    practised = len(practised_layouts(site, chips))
    is_held: Bools = np.zeros(np.shape(batches), dtype=bool)
    of_practised: Ints = np.zeros(np.shape(batches), dtype=np.intp)
    if practised:
        placements = site.place_all(layouts[:practised], axes=1)
        is_held = np.any(placements.max_batch >= batches, axis=-2)
        of_practised = _most_served(placements, batches, traffic)
        if is_held.all():
            return layouts, of_practised
    of_all = _most_served(site.place_all(layouts, axes=1), batches, traffic)
    return layouts, np.where(is_held, of_practised, of_all)


def practised_layouts(site: Site, chips: int) -> list[Layout]:
    """Return the layouts that people run of so many chips that hold the weights and a token."""
    layouts = list(dict.fromkeys(copies_run_by_people(site, chips)))
    if not layouts:
        return []
    placements = replace(site, reserved_tokens=1.0).place_all(layouts)
    is_held = np.broadcast_to(placements.max_batch >= 1, (len(layouts),))
    return [layout for layout, fits in zip(layouts, is_held, strict=True) if fits]


def _most_served(placements: Placements, batches: Floats, traffic: Traffic) -> Ints:
    max_batch = placements.max_batch
    served = evaluate(placements, batch=batches, traffic=traffic).served
    rate = np.where(max_batch >= batches, served, -1.0 / np.maximum(max_batch, 0.5))
    positions: Ints = rate.argmax(axis=-2)
    return positions
