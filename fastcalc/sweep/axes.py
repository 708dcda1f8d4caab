"""What a sweep varies, as grids: one for each chip, model, formats, engine and speculation."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from fastcalc.catalogue import Engine, Hardware, Model
from fastcalc.catalogue.formats import number_format
from fastcalc.errors import InputError
from fastcalc.placement import Layout
from fastcalc.scenario import Pricing, Scenario
from fastcalc.sweep.grid import Grid, Requests
from fastcalc.traffic import Speculation, Traffic

_FAULTS = {
    "leaves the link domain": "tp beyond the link domain",
    "does not divide the attention heads": "tp that does not divide the heads",
    "exceeds the": "pp beyond the layers",
    "no routed experts": "ep without experts",
    "does not suit": "ep that does not suit tp x dp",
    "pipelines whole layers": "tp, ep or dp on chips that pipeline whole layers",
}


@dataclass(frozen=True)
class Ranks:
    """Ranks to combine; None where they are left to the placement. [1]"""

    tp: tuple[int, ...] | None = None
    pp: tuple[int, ...] | None = None
    ep: tuple[int, ...] | None = None
    dp: tuple[int, ...] | None = None

    @property
    def cut_layers(self) -> bool:
        """True where ranks are asked for that chips of whole layers cannot have."""
        return (self.tp, self.ep, self.dp) != (None, None, None)

    def layouts(self, *, has_experts: bool, is_spatial: bool) -> list[Layout]:
        """Return every combination, or none where nothing is asked for."""
        if is_spatial:
            return [Layout(pp=stages) for stages in self.pp or ()]
        if self == Ranks():
            return []
        found = product(self.tp or (1,), self.pp or (1,), self.ep or (0,), self.dp or (1,))
        return [
            Layout(tp, pp, ep or (tp * dp if dp > 1 and has_experts else 1), dp)
            for tp, pp, ep, dp in found
        ]


@dataclass(frozen=True)
class Axes:
    """What is varied.

    Attributes
    ----------
    models : sequence of Model
        Every one on every chip.
    chips : sequence of tuple of Hardware, Engine and bool
        With the engines to run on each, and whether those are borrowed from another class.
    weights, kv : sequence of str or None
        Formats; None for the model's own.
    speculations : sequence of Speculation
        How decoding drafts ahead.
    ranks : Ranks
        Layouts.
    prompts, outputs, contexts, batches : sequence of float
        Tokens and sequences; without contexts, the mean of each request. [1]
    prefix_hit : float
        Share of the prompt found in the prefix cache. [1]
    pricing : Pricing
        How an hour of a chip is priced.
    """

    models: Sequence[Model]
    chips: Sequence[tuple[Hardware, Engine, bool]]
    prompts: Sequence[float]
    outputs: Sequence[float]
    batches: Sequence[float]
    contexts: Sequence[float] = ()
    weights: Sequence[str | None] = (None,)
    kv: Sequence[str | None] = (None,)
    speculations: Sequence[Speculation] = (Speculation(),)
    ranks: Ranks = Ranks()
    prefix_hit: float = 0.0
    pricing: Pricing = field(default_factory=Pricing)

    @property
    def requests(self) -> Requests:
        """Every kind of request."""
        contexts = self.contexts or (np.nan,)
        prompt, output, context = np.array(
            list(product(self.prompts, self.outputs, contexts)), dtype=float
        ).T
        return Requests(prompt, output, np.where(np.isnan(context), prompt + output / 2, context))


def grids(axes: Axes) -> tuple[list[Grid], Counter[str]]:
    """Return the grids of some axes, and how many points are left out for which reason.

    Parameters
    ----------
    axes : Axes
        What is varied.

    Raises
    ------
    InputError
        If a format is unknown.
    """
    found: list[Grid] = []
    skipped: Counter[str] = Counter()
    for model in axes.models:
        requests = _within(model, axes, skipped)
        for scenario in _scenarios(axes, model):
            points = len(requests) * len(axes.batches)
            short = _short(scenario)
            if short is None:
                skipped["4-bit weights or caches on a chip without units for them"] += points
                continue
            grid = Grid(short, (), requests, np.array(axes.batches, dtype=float))
            layouts, faults = _legal(grid, axes.ranks)
            skipped.update({fault: count * points for fault, count in faults.items()})
            if len(requests) and (layouts or not faults):
                found.append(replace(grid, layouts=layouts))
    return found, skipped


def _scenarios(axes: Axes, model: Model) -> Iterator[Scenario]:
    combined = product(axes.chips, axes.weights, axes.kv, axes.speculations)
    for (hardware, engine, is_borrowed), weights, kv, speculation in combined:
        yield Scenario(
            hardware=hardware,
            model=model,
            engine=engine,
            batches=(1,),
            traffic=Traffic(1.0, 1.0, 1.0, axes.prefix_hit, speculation),
            weights=weights,
            kv=kv,
            pricing=axes.pricing,
            engine_is_borrowed=is_borrowed,
            ignores_ranks=axes.ranks.cut_layers and hardware.execution == "spatial",
        )


def four_bits(hardware: Hardware) -> str | None:
    """Return the 4-bit format that a chip multiplies: NVFP4 is NVIDIA's, MXFP4 the open one.

    Parameters
    ----------
    hardware : Hardware
        A chip.

    Returns
    -------
    str or None
        None where it has no 4-bit units.
    """
    if hardware.rate("fp4") is None:
        return None
    return "nvfp4" if hardware.vendor == "NVIDIA" else "mxfp4"


def _short(scenario: Scenario) -> Scenario | None:
    """Return a scenario with ``fp4`` in full; None where the chip has no such units."""
    if "fp4" not in (scenario.weights, scenario.kv):
        return scenario
    full = four_bits(scenario.hardware)
    if full is None or (scenario.kv == "fp4" and number_format(full).cache_bits is None):
        return None
    weights, kv = (full if one == "fp4" else one for one in (scenario.weights, scenario.kv))
    return replace(scenario, weights=weights, kv=kv)


def _within(model: Model, axes: Axes, skipped: Counter[str]) -> Requests:
    """Return the requests that a model's context holds."""
    requests = axes.requests
    if model.max_context is None:
        return requests
    longest = np.maximum(requests.prompt + requests.output, requests.context)
    held = longest <= model.max_context
    combinations = len(axes.chips) * len(axes.weights) * len(axes.kv) * len(axes.speculations)
    left_out = int(np.sum(~held)) * len(axes.batches) * combinations
    if left_out:
        skipped[f"a context beyond that of {model.id}"] += left_out
    return Requests(requests.prompt[held], requests.output[held], requests.context[held])


def _legal(grid: Grid, ranks: Ranks) -> tuple[tuple[Layout, ...], Counter[str]]:
    """Return the layouts that suit chip and model, and what is wrong with the others."""
    site, faults = grid.sites[0], Counter[str]()
    kept = []
    asked = ranks.layouts(has_experts=grid.work.experts > 0, is_spatial=site.machine.is_spatial)
    for layout in asked:
        try:
            kept.append(site.check(layout))
        except InputError as error:
            faults[next(name for part, name in _FAULTS.items() if part in str(error))] += 1
    return tuple(dict.fromkeys(kept)), faults
