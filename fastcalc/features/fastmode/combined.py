"""Several techniques at once: the cheapest combinations that reach a speed.

A combination changes two or more of four things: the kind of chip, the model, the bits and the
drafts. Batch is solved for in each, and so are the layout and the number of chips. Chips without a
price count only where none with a price reaches the speed; of those the fewest chip-seconds do.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain
from math import inf
from typing import NamedTuple

import numpy as np

from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario
from fastcalc.core.smaller_batch import speeds, speeds_at_most
from fastcalc.core.step.least import (
    ChipSupply,
    ModelDemand,
    chip_supply,
    in_fewest_bits,
    least_chip_seconds,
    model_demand,
)
from fastcalc.errors import InputError
from fastcalc.features.fastmode.lighter_passes import PUBLISHED, drafting, narrowest
from fastcalc.features.fastmode.option import Option
from fastcalc.features.fastmode.start import Base, with_model
from fastcalc.formulas.money import usd_per_million
from fastcalc.formulas.types import Floats
from fastcalc.grid.largest_batch import by_octaves, cheapest, least_usd
from fastcalc.grid.space import Space

COUNTS = {2: "two-tricks", 3: "three-tricks", 4: "four-tricks"}
"""Tricks at once, and what they are called."""

_KEPT = {0: 1.0, **PUBLISHED}  # tokens of a pass by drafts
_STEPS = 4  # batches to an octave that say what a place may come to


class _OnLayouts(NamedTuple):
    """A scenario on the layouts that hold it: what users get at most by batch. [1/s]"""

    layouts: list[Layout]
    batch: Floats
    user_speeds: Floats


class ModelOnChip:
    """A model on a kind of chip, in its own bits or in the fewest that chip and engine run.

    An hour of a chip without a price counts as a dollar.
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

    @cached_property
    def on_layouts(self) -> _OnLayouts | None:
        """Where it lives; None where no layout holds it, or it cannot be asked for."""
        if self.in_fewest_bits:
            narrowed = narrowest(self.scenario)
            if not narrowed:
                return None
            ((words, self.scenario),) = narrowed
            self.changes = (*self.changes[:-1], words)
        space = Space(self.scenario)
        try:
            layouts = self.layouts(space)
        except InputError:  # requests too long for the model, no memory of a name
            return None
        holding = space.holding(layouts)
        if not holding:
            return None
        octaves = by_octaves(space, holding, steps=_STEPS, speeds_at=speeds_at_most)
        return _OnLayouts(holding, *octaves)

    def with_drafts(self, drafts: int) -> tuple[str, Scenario]:
        """Return what is changed in words, and the scenario, with some drafts or none."""
        if not drafts:
            return " + ".join(self.changes), self.scenario
        words, drafted = drafting(self.scenario, drafts)
        return " + ".join((*self.changes, words)), drafted


class _Way(NamedTuple):
    """A model on a kind of chip with some drafts: its least dollars and most speed. [USD], [1/s]"""

    usd: float
    fastest: float
    on_chip: ModelOnChip
    drafts: int

    @property
    def tricks(self) -> int:
        """How many techniques it takes. [1]"""
        return len(self.on_chip.changes) + bool(self.drafts)

    def keeps_answers(self, base: Base) -> bool:
        """Whether model and formats are today's, or the model is one that was named."""
        return not self.on_chip.in_fewest_bits and base.may_take(self.on_chip.scenario.model)

    def hopes(self, speed: float) -> Floats:
        """Least that each layout may cost: verifying drafts takes no less time."""
        on_layouts = self.on_chip.on_layouts
        if on_layouts is None:
            return np.array([inf])
        user_speeds = _KEPT[self.drafts] * on_layouts.user_speeds
        return (
            least_usd(on_layouts.layouts, on_layouts.batch, user_speeds, speed)
            * self.on_chip.usd_per_hour
        )


def _ways(base: Base) -> list[_Way]:
    """Today's chips and other ones, with each model."""
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
    """Cheapest combination of two, three and four techniques.

    And the cheapest of all that keep today's model, and of those that keep its formats, too.
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
    """Cheapest of some ways, which are in order of the least that they may cost."""
    lowest, option, hopes = inf, None, list[tuple[float, int]]()
    for index, bound in enumerate(chain((choice.usd for choice in choices), [inf])):
        # Ways whose octaves promise less than any that follow are searched first.
        while hopes and hopes[0][0] <= min(bound, lowest):
            choice = choices[heappop(hopes)[1]]
            searched = _search(base, choice, lowest)
            lowest, option = searched if searched else (lowest, option)
        if bound >= lowest or index == len(choices):
            return option
        hope = float(choices[index].hopes(base.speed).min())
        if hope < lowest:
            heappush(hopes, (hope, index))
    return option


def _search(base: Base, choice: _Way, below: float) -> tuple[float, Option] | None:
    """Return what a way costs and comes to, if less than what is known."""
    on_layouts = choice.on_chip.on_layouts
    if on_layouts is None:
        return None
    hopeful = [on_layouts.layouts[row] for row in np.flatnonzero(choice.hopes(base.speed) < below)]
    change, scenario = choice.on_chip.with_drafts(choice.drafts)
    outcome = cheapest(Space(scenario), hopeful, base.speed, below).outcome
    if outcome is None:
        return None
    hour = choice.on_chip.usd_per_hour * outcome.placement.layout.chips
    tokens = outcome.estimate.total[0]
    usd = float(usd_per_million(usd_per_hour=hour, seconds=1.0, tokens=tokens))
    return usd, Option(COUNTS[choice.tricks], change, outcome, tricks=choice.tricks)


def nearest(base: Base) -> tuple[float, str]:
    """Highest speed of one user over all combinations, and which it is. [1/s]"""
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
