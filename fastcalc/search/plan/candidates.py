"""The deployments there are: formats a chip computes in, layouts that people run, batches."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fastcalc.catalogue.formats import number_format, weight_formats
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.core.chip.formats_run import formats_run, narrower_caches
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Site
from fastcalc.core.placement.practice import MOST_STAGES, run_by_people
from fastcalc.core.pricing import Pricing
from fastcalc.core.request_class import RequestClass
from fastcalc.core.scenario import Scenario, default_cache
from fastcalc.core.traffic import Speculation, Traffic
from fastcalc.formulas.types import Floats
from fastcalc.search.sweep.grid import Grid
from fastcalc.search.sweep.request_lists import MixedRequests, Requests

BATCHES: Floats = np.array(
    [1, *(step * 2**octave for octave in range(12) for step in (2, 3)), 8192], dtype=float
)
"""Sequences of a deployment tried first, two to an octave; then those between the best. [1]"""


def deployments(
    model: Model,
    chips: Sequence[tuple[Hardware, Engine, bool]],
    *,
    weights: Sequence[str] | None = None,
    kv: Sequence[str] | None = None,
    speculations: Sequence[Speculation] = (Speculation(),),
    pricing: Pricing,
    memory: MemoryChoice = OWN_MEMORY,
    prefix_hit: float = 0.0,
) -> Iterator[Scenario]:
    """Yield a scenario for each chip under its engine (borrowed or not), formats and speculation.

    Formats are those that the chip has units for where left out.
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
                        traffic=Traffic(1.0, 1.0, 1.0, prefix_hit, speculation),
                        weights=weight,
                        kv=cache,
                        pricing=pricing,
                        engine_is_borrowed=is_borrowed,
                        memory=memory,
                    )


def weight_choices(model: Model, hardware: Hardware, engine: Engine) -> list[str | None]:
    """Return the model's own format, and narrower ones that the chip and engine run."""
    own_bits = max(
        stored.bits for stored in weight_formats(model.expert_format or model.weight_format)
    )
    listed = formats_run(engine, hardware).weights
    return [None, *(name for name in listed if number_format(name).bits < own_bits)]


def cache_choices(
    model: Model, hardware: Hardware, engine: Engine, weight: str | None
) -> list[str | None]:
    """Return the cache format taken by default, and narrower ones that the chip and engine run."""
    return [None, *narrower_caches(engine, hardware, default_cache(model, engine, weight))]


def candidates(
    scenario: Scenario, *, prompt: float, output: float, classes: Sequence[RequestClass] = ()
) -> Grid | None:
    """Return every layout and batch for such requests; None where no layout holds a sequence.

    prompt, output : tokens of a request; on average where there are classes [1]
    classes : of requests that differ, of which the longest must fit
    """
    context, longest = prompt + output / 2, prompt + output
    requests = Requests(np.array([prompt]), np.array([output]), np.array([context]))
    if classes:
        requests = MixedRequests.of(classes)
        longest = requests.traffic(scenario.traffic).longest
    grid = Grid(scenario, (), requests, BATCHES)
    site = replace(grid.site, reserved_tokens=longest)
    listed = layouts_of(site)
    every = tuple(dict.fromkeys([*listed, *site.default_layouts]))
    placed = np.broadcast_to(site.place_all(every, axes=1).max_batch, (len(every), 1))
    max_batch = dict(zip(every, placed[:, 0].tolist(), strict=True))
    holding = [layout for layout in listed if max_batch[layout] >= 1]
    smallest = next((layout for layout in site.default_layouts if max_batch[layout] >= 1), None)
    if smallest and smallest not in listed:  # however many stages it takes
        holding.append(smallest)
    if not holding:
        return None
    largest = max(max_batch[layout] for layout in holding)
    return grid.part(layouts=tuple(holding), batches=BATCHES[largest >= BATCHES])


def layouts_of(site: Site) -> list[Layout]:
    """Return the layouts that people run, from few chips to many, up to the whole link domain.

    Of chips that pipeline whole layers, those that the placement takes by default. No copies of all
    weights.
    """
    if site.machine.is_spatial:
        return list(site.default_layouts)
    joined = site.chips_joined
    widths = {joined, *(2**power for power in range(joined.bit_length()))}
    counts = {width * pp for width in widths for pp in range(1, MOST_STAGES + 1)}
    layouts = run_by_people(site, *sorted(counts))
    return sorted(
        layouts, key=lambda layout: (layout.chips, layout.tp, layout.pp, layout.ep, layout.dp)
    )
