"""Search for the cheapest combinations of techniques that reach a speed.

A combination changes at least two of four settings: chip type, model, precision and draft tokens.
Batch, layout and number of chips are solved for. Chips without a price are considered only if no
priced chip reaches the speed, and are ranked by chip-seconds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain
from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario
from fastcalc.core.smaller_batch import all_speeds_at_most, speeds
from fastcalc.core.stacked import Evaluation
from fastcalc.core.step.least import (
    ChipSupply,
    ModelDemand,
    chip_supply,
    in_fewest_bits,
    least_chip_seconds,
    model_demand,
)
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.errors import InputError
from fastcalc.features.fastmode.lighter_passes import PUBLISHED, drafting, narrowest
from fastcalc.features.fastmode.option import Option
from fastcalc.features.fastmode.start import Base, with_model
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.types import Floats
from fastcalc.grid.largest_batch import cheapest, least_usd, octaves_of
from fastcalc.grid.space import Space

COUNTS = {2: "two-tricks", 3: "three-tricks", 4: "four-tricks"}
"""Names of combinations, by number of techniques."""

_KEPT = {0: 1.0, **PUBLISHED}  # tokens per step by number of draft tokens
_STEPS = 2  # batches per octave for the lower bound on the cost of a layout
_STEPS_DRAFTING = 4  # the same including drafting time
_NEAR = 4.0  # layouts within this factor of the lowest cost bound are evaluated with drafting time
_TOGETHER = 32  # candidates whose layouts are evaluated together


class _OnLayouts(NamedTuple):
    """A scenario with the layouts that fit it, and the highest speed per user by batch. [1/s]"""

    layouts: list[Layout]
    octaves: Evaluation
    user_speeds: Floats


class ModelOnChip:
    """A model on a chip type, in its own formats or the narrowest supported ones.

    A chip without a price counts as one dollar per hour.
    """

    def __init__(
        self,
        changes: tuple[str, ...],
        scenario: Scenario,
        layouts: Callable[[Space], list[Layout]],
        *,
        in_fewest_bits: bool,
    ) -> None:
        self.changes, self.scenario, self.layouts = changes, scenario, layouts
        self.in_fewest_bits = in_fewest_bits
        self.chip = chip_supply(scenario.hardware, scenario.engine, scenario.memory)
        self.model = model_demand(scenario.work, scenario.traffic)
        price = scenario.pricing.per_chip_hour(scenario.hardware)
        self.is_priced = price is not None
        self.usd_per_hour = (price or 1.0) / scenario.pricing.utilization
        self._drafting: tuple[float, dict[int, Floats]] | None = None

    @cached_property
    def on_layouts(self) -> _OnLayouts | None:
        """The layouts that fit the scenario. None if none fits or the request does not suit it."""
        evaluate_together([self])
        return self.on_layouts

    def octaves(self) -> tuple[list[Layout], Evaluation] | None:
        """Return the layouts that fit the scenario, with batches up to the largest in each."""
        if self.in_fewest_bits:
            narrowed = narrowest(self.scenario)
            if not narrowed:
                return None
            ((words, self.scenario),) = narrowed
            self.changes = (*self.changes[:-1], words)
        space = Space(self.scenario)
        try:
            layouts = self.layouts(space)
        except InputError:  # requests too long for the model, or the named memory does not exist
            return None
        holding = space.holding(layouts)
        return (holding, octaves_of(space, holding, _STEPS)) if holding else None

    def hopes(self, drafts: int, speed: float) -> Floats:
        """Return each layout's lower cost bound with draft tokens, ignoring drafting time."""
        if self.on_layouts is None:
            return np.array([inf])
        layouts, (_, batch, _), user_speeds = self.on_layouts
        usd = least_usd(layouts, batch, _KEPT[drafts] * user_speeds, speed)
        return usd * self.usd_per_hour

    def drafting_hopes(self, speed: float, below: float) -> dict[int, Floats]:
        """Return a lower bound on the cost for each number of draft tokens.

        Memory for draft tokens is ignored, so these remain lower bounds.

        below : The cost at which a candidate can no longer win, in USD.
        """
        hopes = {drafts: self.hopes(drafts, speed) for drafts in PUBLISHED}
        least = np.min(list(hopes.values()), axis=0)
        near = min(below, _NEAR * float(least.min()))
        if self._drafting and self._drafting[0] >= near:
            return self._drafting[1]
        rows = np.flatnonzero(least < near)
        if self.on_layouts is not None and len(rows):
            layouts = [self.on_layouts.layouts[row] for row in rows]
            placement, batch, traffic = octaves_of(Space(self.scenario), layouts, _STEPS_DRAFTING)
            drafted = (Speculation(tokens, drafts) for drafts, tokens in PUBLISHED.items())
            traffics = [replace(traffic, speculation=speculation) for speculation in drafted]
            user_speeds = all_speeds_at_most(
                [Evaluation(placement, batch, traffic) for traffic in traffics]
            )
            for count, speeds_there in zip(PUBLISHED, user_speeds, strict=True):
                usd = least_usd(layouts, batch, speeds_there, speed) * self.usd_per_hour
                hopes[count][rows] = usd
        self._drafting = near, hopes
        return hopes

    def with_drafts(self, drafts: int) -> tuple[str, Scenario]:
        """Apply the given number of draft tokens, and return a description with the scenario."""
        if not drafts:
            return " + ".join(self.changes), self.scenario
        words, drafted = drafting(self.scenario, drafts)
        return " + ".join((*self.changes, words)), drafted


class _Way(NamedTuple):
    """A candidate: a model on a chip type with draft tokens, its lowest cost and highest speed.

    [USD], [1/s]
    """

    usd: float
    fastest: float
    on_chip: ModelOnChip
    drafts: int

    @property
    def tricks(self) -> int:
        """The number of techniques used."""
        return len(self.on_chip.changes) + bool(self.drafts)

    def keeps_answers(self, base: Base) -> bool:
        """Check whether model and formats are today's, or the model is a named alternative."""
        return not self.on_chip.in_fewest_bits and base.may_take(self.on_chip.scenario.model)

    def hopes(self, speed: float) -> Floats:
        """Return each layout's lower cost bound, ignoring drafting time."""
        return self.on_chip.hopes(self.drafts, speed)

    def near_hopes(self, speed: float, below: float) -> Floats:
        """Return the cost bound with drafting time, for layouts that may be below a limit. [USD]"""
        if not self.drafts:
            return self.hopes(speed)
        return self.on_chip.drafting_hopes(speed, below)[self.drafts]


def evaluate_together(on_chips: Sequence[ModelOnChip]) -> None:
    """Find the layouts for several models on chips, in a few vectorized evaluations."""
    placed = [on_chip.octaves() for on_chip in on_chips]
    user_speeds = iter(all_speeds_at_most([octaves for _, octaves in filter(None, placed)]))
    for on_chip, there in zip(on_chips, placed, strict=True):
        on_chip.on_layouts = _OnLayouts(*there, next(user_speeds)) if there else None


def _ways(base: Base) -> list[_Way]:
    """Return the candidates: each model on today's chips and on other chips."""
    today, hardware = base.scenario, (*base.rivals, *base.sram_machines)
    positions: list[tuple[tuple[str, ...], Scenario]] = []
    for changes, scenario in [((), today), *(((chip.id,), base.on(chip)) for chip in hardware)]:
        positions.append((changes, scenario))
        for model in base.smaller:
            positions.append(((*changes, model.id), with_model(scenario, model)))
    on_chips = [
        ModelOnChip(
            (*changes, *narrowing), scenario, base.deployments, in_fewest_bits=bool(narrowing)
        )
        for changes, scenario in positions
        for narrowing in ((), ("fewest bits",))
    ]
    models = ModelDemand(*np.array([pair.model for pair in on_chips], dtype=float).T)
    chips = ChipSupply(*np.array([pair.chip for pair in on_chips], dtype=float).T)
    narrow = zip(models, in_fewest_bits(models, chips), strict=True)
    is_narrow = np.array([pair.in_fewest_bits for pair in on_chips])
    models = ModelDemand(
        *(np.where(is_narrow, narrow_size, today_size) for today_size, narrow_size in narrow)
    )
    hours = np.array([pair.usd_per_hour for pair in on_chips])
    choices = []
    for drafts, tokens in _KEPT.items():
        seconds, fastest = least_chip_seconds(
            models, chips, drafts=drafts, tokens=tokens, speed=base.speed
        )
        usd = usd_per_million(usd_per_hour=hours, seconds=seconds, tokens=1.0)
        bounds = zip(usd.tolist(), fastest.tolist(), on_chips, strict=True)
        choices += [_Way(*bound, drafts) for bound in bounds]
    return choices


def combinations(base: Base) -> list[Option]:
    """Find the cheapest combination of two, of three and of four techniques.

    Also finds the cheapest ones that keep today's model, and the ones that also keep its formats.
    """
    choices: dict[tuple[int, bool], list[_Way]] = defaultdict(list)
    same_model, same_formats = list[_Way](), list[_Way]()
    for choice in sorted(_ways(base), key=lambda choice: choice.usd):
        is_priced = choice.on_chip.is_priced
        choices[choice.tricks, is_priced].append(choice)
        if is_priced and choice.tricks in COUNTS:
            same_model += [choice] * (choice.on_chip.scenario.model is base.scenario.model)
            same_formats += [choice] * choice.keeps_answers(base)
    options, why_not = [], "no combination of this size reaches it"
    for count, name in COUNTS.items():
        option = _cheapest(base, choices[count, True]) or _cheapest(base, choices[count, False])
        is_out = base.keeps_model and count == max(COUNTS)
        none = Option(name, "", why_not=why_not, tricks=count, is_ruled_out=is_out)
        options.append(option or none)
    for chosen in (_cheapest(base, same_model), _cheapest(base, same_formats)):
        if chosen and all(
            (option.trick, option.change) != (chosen.trick, chosen.change) for option in options
        ):
            options.append(chosen)
    return sorted(options, key=lambda option: option.tricks)


def _cheapest(base: Base, choices: list[_Way]) -> Option | None:
    """Find the cheapest candidate, given candidates ordered by their lower cost bound."""
    lowest, option, hopes = inf, None, list[tuple[float, bool, int]]()
    for index, bound in enumerate(chain((choice.usd for choice in choices), [inf])):
        # Candidates with the lowest cost bounds are searched first.
        while hopes and hopes[0][0] <= min(bound, lowest):
            _, is_drafting, first = heappop(hopes)
            if is_drafting:
                searched = _search(base, choices[first], lowest)
                lowest, option = searched if searched else (lowest, option)
            else:
                hope = float(choices[first].near_hopes(base.speed, lowest).min())
                heappush(hopes, (hope, True, first))
        if bound >= lowest or index == len(choices):
            return option
        _look_ahead(choices[index : index + _TOGETHER])
        hope = float(choices[index].hopes(base.speed).min())
        if hope < lowest:
            heappush(hopes, (hope, False, index))
    return option


def _look_ahead(choices: Iterable[_Way]) -> None:
    """Evaluate the chips of several candidates together if the first is not evaluated yet."""
    on_chips = {id(choice.on_chip): choice.on_chip for choice in choices}
    unknown = [on_chip for on_chip in on_chips.values() if "on_layouts" not in vars(on_chip)]
    if unknown and unknown[0] is next(iter(on_chips.values())):
        evaluate_together(unknown)


def _search(base: Base, choice: _Way, below: float) -> tuple[float, Option] | None:
    """Return the cost and option of a candidate if it is cheaper than the best so far."""
    on_layouts = choice.on_chip.on_layouts
    if on_layouts is None:
        return None
    rows = np.flatnonzero(choice.near_hopes(base.speed, below) < below)
    hopeful = [on_layouts.layouts[row] for row in rows]
    change, scenario = choice.on_chip.with_drafts(choice.drafts)
    outcome = cheapest(Space(scenario), hopeful, base.speed, below).outcome
    if outcome is None:
        return None
    hour = choice.on_chip.usd_per_hour * outcome.placement.layout.chips
    tokens = outcome.estimate.total[0]
    usd = float(usd_per_million(usd_per_hour=hour, seconds=1.0, tokens=tokens))
    return usd, Option(COUNTS[choice.tricks], change, outcome, tricks=choice.tricks)


def nearest(base: Base) -> tuple[float, str]:
    """Find the highest single-user speed of any combination, and how it is reached, per second."""
    highest, how = 0.0, ""
    for choice in sorted(_ways(base), key=lambda choice: -choice.fastest):
        if choice.fastest <= highest:
            break
        on_layouts = choice.on_chip.on_layouts
        if (
            on_layouts is not None
            and _KEPT[choice.drafts] * float(on_layouts.user_speeds[:, 0].max()) > highest
        ):
            words, scenario = choice.on_chip.with_drafts(choice.drafts)
            space = Space(scenario)
            holding = space.holding(on_layouts.layouts)
            if holding:
                alone = speeds(space.site.place_all(holding, axes=1), scenario.traffic, 1.0)
                highest, how = max((highest, how), (float(alone.max()), words))
    return highest, how
