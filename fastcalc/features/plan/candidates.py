"""Candidate deployments: formats that a chip supports, practical layouts, and batches."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.core.chip.formats_run import formats_run, narrower_caches
from fastcalc.core.chip.machine import Machine
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.chosen_layouts import check_start, layouts_on_offer
from fastcalc.core.model.workload import Workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Site
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, Sharding, cache_format
from fastcalc.core.traffic.request_class import RequestClass
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.formulas.types import Floats
from fastcalc.grid.grid import Grid
from fastcalc.grid.request_lists import MixedRequests, Requests

BATCHES: Floats = np.array(
    [1, *(step * 2**octave for octave in range(12) for step in (2, 3)), 8192], dtype=float
)
"""Batches that are tried first, two per octave. Batches between the best of them follow."""


def deployments(
    model: Model,
    chips: Sequence[tuple[Hardware, Engine, bool]],
    *,
    weights: Sequence[str] | None = None,
    kv: Sequence[str] | None = None,
    speculations: Sequence[Speculation] = (Speculation(),),
    pricing: Pricing,
    memory: MemoryChoice = OWN_MEMORY,
    ranks: Sharding | None = None,
) -> Iterator[Scenario]:
    """Yield a scenario per chip with its engine (borrowed or not), formats and speculation.

    By default, every format that the chip supports in hardware is tried.
    """
    for hardware, engine, is_borrowed in chips:
        for weight in weights or weight_choices(model, hardware, engine):
            for cache in kv or cache_choices(model, hardware, engine, weight):
                for speculation in speculations:
                    yield Scenario(
                        hardware=hardware,
                        model=model,
                        engine=engine,
                        batches=(1,),
                        traffic=Traffic(1.0, 1.0, 1.0, speculation=speculation),
                        weights=weight,
                        kv=cache,
                        pricing=pricing,
                        engine_is_borrowed=is_borrowed,
                        memory=memory.drafting(speculation.drafted),
                        sharding=ranks or Sharding(),
                    )


def weight_choices(model: Model, hardware: Hardware, engine: Engine) -> list[str | None]:
    """Return the published weight format, and narrower ones that chip and engine support."""
    own = model.own_formats
    is_routed = model.format_name == own.of("experts").id
    own_bits = own.of("experts" if is_routed else "ffn").bits
    listed = formats_run(engine, hardware).weights
    return [None, *(name for name in listed if number_format(name).bits < own_bits)]


def cache_choices(
    model: Model, hardware: Hardware, engine: Engine, weight: str | None
) -> list[str | None]:
    """Return the default cache format, and narrower ones that chip and engine support."""
    return [None, *narrower_caches(engine, hardware, cache_format(model, engine, hardware, weight))]


def candidates(
    scenario: Scenario,
    *,
    prompt: float,
    output: float,
    classes: Sequence[RequestClass] = (),
    is_laid_out: bool = True,
) -> Grid | None:
    """Build the grid of all layouts and batches. Returns None if no layout fits one sequence.

    prompt, output : Tokens per request, averaged if there are several classes.
    classes : The request classes, of which the longest must fit.
    is_laid_out : Whether to fill the grid; it stays empty for a chip on which no plan may lead.
    """
    requests = _requests_of(prompt, output, tuple(classes))
    grid = Grid(scenario, (), requests, BATCHES)
    if not is_laid_out:
        return grid
    longest = requests.traffic(scenario.traffic).longest
    site = replace(grid.site, reserved_tokens=longest)
    holding = _layouts(scenario, site)
    if not holding:
        return None
    largest = np.max(site.place_all(holding, axes=1).max_batch)
    return grid.part(layouts=tuple(holding), batches=BATCHES[largest >= BATCHES])


@lru_cache(maxsize=16)
def _requests_of(prompt: float, output: float, classes: tuple[RequestClass, ...]) -> Requests:
    """Build the requests of a grid, shared by all deployments."""
    context = prompt + output / 2
    if classes:
        return MixedRequests.of(classes)
    return Requests(np.array([prompt]), np.array([output]), np.array([context]))


@once
def _layouts_on_offer(machine: Machine, work: Workload, longest: tuple[float]) -> list[Layout]:
    """List the layouts for a length, cached since groups of classes share their longest."""
    return layouts_on_offer(Site(machine, work, longest[0]))


def _layouts(scenario: Scenario, site: Site) -> list[Layout]:
    """Return the requested layout, or all layouts of one copy of the weights that fit a sequence.

    Raises LayoutError if the model does not support the layout or its engine has no kernel for it.
    """
    if not scenario.sharding.names_ranks:
        return _layouts_on_offer(site.machine, site.work, (float(site.reserved_tokens),))
    check_start(site)
    asked = site.place(scenario.sharding.layout(site))
    return [asked.layout] if asked.max_batch >= 1 else []
