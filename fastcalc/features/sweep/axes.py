"""The axes of a sweep, as one grid per chip, model, formats, engine and speculation."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, prod

import numpy as np

from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.core.chip.formats_run import four_bits
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.chosen_layouts import open_layouts
from fastcalc.core.outcome import site_of
from fastcalc.core.placement.layout import LayoutError
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.errors import InputError
from fastcalc.grid.grid import Grid
from fastcalc.grid.request_lists import OpenRequests

MOST_DEPLOYMENTS = 100_000  # each takes a few kilobytes and a quarter of a millisecond
MOST_LAYOUTS = 2_000_000  # each takes some 6 microseconds to check, and 200 bytes if valid
_NO_FOUR_BITS = "4-bit weights or KV caches on a chip without units for them"


@dataclass(frozen=True)
class Ranks:
    """Lists the numbers of chips and ranks to combine, or None where the placement chooses."""

    chips: tuple[int, ...] | None = None
    tp: tuple[int, ...] | None = None
    pp: tuple[int, ...] | None = None
    ep: tuple[int, ...] | None = None
    dp: tuple[int, ...] | None = None

    def count(self, hardware: Hardware, *, is_alone: bool) -> int:
        """Count the combinations for a chip, apart from those that the placement chooses."""
        ranks = self._placed_on(hardware, is_alone)
        return (
            0
            if ranks == Ranks()
            else prod(len(choices or (1,)) for choices in vars(ranks).values())
        )

    def on(self, hardware: Hardware, *, is_alone: bool) -> list[Sharding]:
        """Return all combinations for a chip, each as returned by `Sharding.on`."""
        lists = vars(self._placed_on(hardware, is_alone)).values()
        combinations = product(*(ranks or (None,) for ranks in lists))
        return [Sharding(*ranks).on(hardware, is_alone=is_alone) for ranks in combinations]

    def _placed_on(self, hardware: Hardware, is_alone: bool) -> "Ranks":
        """Return these ranks without tensor parallelism if a chip does not split layers."""
        takes_layers_whole = hardware.execution == "spatial" and not is_alone
        return Ranks(chips=self.chips, pp=self.pp) if takes_layers_whole else self


@dataclass(frozen=True)
class Axes:
    """The axes of a sweep.

    Chips come with their engines, which may be borrowed from another chip type. A format of None is
    the model's own. If there are no contexts, each request has its mean context. [1]

    drafts : The draft model for each model, by id.
    computed : Ids of chips, models and engines whose points belong to other axes already.
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
    memory: MemoryChoice = OWN_MEMORY
    drafts: Mapping[str, Model | None] = field(default_factory=dict)
    computed: frozenset[tuple[str, str, str]] = frozenset()

    @property
    def is_alone(self) -> bool:
        """Whether no chip splits layers, so that tensor parallelism applies to none of them."""
        return all(chip.execution == "spatial" for chip, _, _ in self.chips)

    def requests(self, model: Model) -> OpenRequests:
        """Return all request shapes that a model and its engine accept."""
        return OpenRequests(
            prompts=np.array(self.prompts, dtype=float),
            outputs=np.array(self.outputs, dtype=float),
            contexts=np.array(self.contexts or (np.nan,), dtype=float),
            longest=min(model.max_context or inf, self.memory.longest or inf),
        )

    def too_long(self, model: Model) -> str:
        """Explain why requests that are too long for a model are skipped."""
        if 0.0 < self.memory.longest < (model.max_context or inf):
            return f"more than the {self.memory.longest:,.0f} tokens of the engine's max_model_len"
        return f"a context beyond the maximum of {model.id}"

    def refuse_too_many(self) -> None:
        """Raise InputError if there are too many deployments or layouts to evaluate."""
        per_chip = len(self.models) * len(self.weights) * len(self.kv) * len(self.speculations)
        layouts = per_chip * sum(
            self.ranks.count(chip, is_alone=self.is_alone) for chip, _, _ in self.chips
        )
        for count, limit, combined in (
            (per_chip * len(self.chips), MOST_DEPLOYMENTS, "chips, engines, models and formats"),
            (layouts, MOST_LAYOUTS, "tp, pp, ep and dp on all chips, models and formats"),
        ):
            if count > limit:
                raise InputError(
                    f"{count:,} combinations of {combined}, of which at most {limit:,} are "
                    "evaluated; name fewer, or split the sweep"
                )


def grids(axes: Axes) -> tuple[list[Grid], Counter[str]]:
    """Build the grids of the axes, and count the skipped points for each reason.

    Every combination becomes a point or is counted once as skipped. Raises InputError if a format
    is unknown or there are too many deployments.
    """
    chosen_grids: list[Grid] = []
    left_out: Counter[str] = Counter()
    axes.refuse_too_many()
    batches = np.array(axes.batches, dtype=float)
    request_count = len(axes.prompts) * len(axes.outputs) * max(len(axes.contexts), 1)
    for model in axes.models:
        requests = axes.requests(model)
        too_long = (request_count - len(requests)) * len(batches)
        for scenario in _scenarios(axes, model):
            shardings = axes.ranks.on(scenario.hardware, is_alone=axes.is_alone)
            if too_long:
                left_out[axes.too_long(model)] += too_long * len(shardings)
            if not len(requests):
                continue
            runnable = _with_fp4_named(scenario)
            if runnable is None:
                left_out[_NO_FOUR_BITS] += len(requests) * len(batches) * len(shardings)
                continue
            site, layouts = site_of(runnable, 0.0), []
            for sharding in shardings:
                try:
                    layout = sharding.layout(site) if sharding.names_ranks else None
                    if layout is None and sharding.chips is not None:
                        open_layouts(site, sharding.chips)
                except LayoutError as error:
                    left_out[error.rule] += len(requests) * len(batches)
                    continue
                if layout is None:
                    chosen_grids.append(Grid(runnable, (), requests, batches, sharding.chips))
                else:
                    layouts.append(layout)
            if layouts:
                chosen_grids.append(Grid(runnable, tuple(layouts), requests, batches))
    return chosen_grids, left_out


def _scenarios(axes: Axes, model: Model) -> Iterator[Scenario]:
    """Yield a scenario for each grid of a model. The grid supplies the requests and batches."""
    combined = product(axes.chips, axes.weights, axes.kv, axes.speculations)
    ranks_of_a_layer = (axes.ranks.tp, axes.ranks.ep, axes.ranks.dp)
    cuts_layers = not axes.is_alone and any(
        max(choices or (1,)) > 1 for choices in ranks_of_a_layer
    )
    for (hardware, engine, is_borrowed), weights, kv, speculation in combined:
        if (hardware.id, model.id, engine.id) in axes.computed:
            continue
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
            memory=replace(axes.memory, draft=axes.drafts.get(model.id)).drafting(
                speculation.drafted
            ),
            ignores_ranks=cuts_layers and hardware.execution == "spatial",
        )


def _with_fp4_named(scenario: Scenario) -> Scenario | None:
    """Replace ``fp4`` with the chip's 4-bit format. Returns None if the chip has no 4-bit units."""
    if "fp4" not in (scenario.weights, scenario.kv):
        return scenario
    fp4 = four_bits(scenario.hardware)
    if fp4 is None or (scenario.kv == "fp4" and number_format(fp4).cache_bits is None):
        return None
    weights, kv = (fp4 if name == "fp4" else name for name in (scenario.weights, scenario.kv))
    return replace(scenario, weights=weights, kv=kv)
