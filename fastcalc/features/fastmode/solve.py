"""Evaluate all techniques that take a serving point to a target speed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chosen_layouts import layouts_on_offer
from fastcalc.core.outcome import Outcome, locate, solve
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.smaller_batch import ROUNDING, speeds
from fastcalc.errors import InputError
from fastcalc.features.fastmode import lighter_passes as passes
from fastcalc.features.fastmode import smaller_models as models
from fastcalc.features.fastmode.combined import combinations, nearest
from fastcalc.features.fastmode.option import TRICKS, Option, best, in_order
from fastcalc.features.fastmode.smaller_models import SmallerShape
from fastcalc.features.fastmode.start import Base
from fastcalc.formulas.solving import largest_reaching
from fastcalc.formulas.types import Floats
from fastcalc.grid.space import Space
from fastcalc.kit.answer.why_so_many import why
from fastcalc.mentions import option

MOST_CHIPS = 1024  # largest deployment in the search for today's starting point


@dataclass(frozen=True, eq=False)
class SpeedupOptions:
    """The options of all techniques, from a serving point with one batch. [1/s]

    options : In the order of `fastcalc.features.fastmode.option.TRICKS`, cheapest first.
    drafts, tokens, acceptance : Numbers of draft tokens, with the tokens per step and acceptance
        rate that each requires at today's batch.
    fewer_layers, thinner_layers : The hypothetical smaller shapes that reach the speed at today's
        batch and chips.
    same_answers : The options that keep today's formats and model (or use a named one).
    nearest : If nothing reaches the speed, the highest single-user speed [1/s] and its option.
    asked_start : The requested speed of today's users, if any. [1/s]
    """

    today: Outcome
    speed: float
    options: list[Option]
    same_answers: list[Option]
    drafts: Floats
    tokens: Floats
    acceptance: Floats
    fewer_layers: SmallerShape | None
    thinner_layers: SmallerShape | None
    nearest: tuple[float, str] | None
    asked_start: float | None = None

    @property
    def cheapest(self) -> Option | None:
        """The cheapest option that reaches the speed without changing the answers."""
        return best(self.same_answers)

    @property
    def on_same_chips(self) -> Option | None:
        """The cheapest option on today's chip type."""
        return best([option for option in self.same_answers if self._is_on_todays(option)])

    @property
    def on_another_machine(self) -> Option | None:
        """The cheapest option on another chip type."""
        return best([option for option in self.same_answers if not self._is_on_todays(option)])

    @property
    def leading(self) -> list[Option]:
        """The cheapest options on today's chip type and on another one, if they exist."""
        return [choice for choice in (self.on_same_chips, self.on_another_machine) if choice]

    @property
    def reaches_on_same_chips(self) -> bool:
        """Whether any option on today's chip type reaches the speed, even with other answers."""
        return any(map(self._is_on_todays, self.reached))

    def _is_on_todays(self, option: Option) -> bool:
        today = self.today.scenario.hardware.id
        return option.outcome is None or option.outcome.scenario.hardware.id == today

    @property
    def reached(self) -> list[Option]:
        """The options that reach the speed."""
        return [option for option in self.options if option.outcome is not None]


def fastmode(
    today: Scenario, speed: float, catalogue: Catalogue, smaller: Sequence[str] | None = None
) -> SpeedupOptions:
    """Evaluate every technique for a target speed per user, per second.

    Today's scenario has one batch and keeps its chips, in the fastest layout for that batch unless
    ranks are given. Other models are from the same family, or named in the request.
    """
    outcome = solve(today)
    if outcome.refused:
        raise InputError(outcome.refused)
    if not outcome.fits:
        needed, max_batch = outcome.min_chips[0], outcome.placement.max_batch
        count, model, chip = outcome.placement.layout.chips, today.model.id, today.hardware.id
        plural, verb = ("s", "") if count > 1 else ("", "s")
        fits = "start on" if outcome.is_stopped else "fit"
        fault = f"batch {today.batches[0]:,} of {model} does not {fits} {count} {chip} chip{plural}"
        most = f", which fit{verb} at most {max_batch:,}" if max_batch else ""
        hint = f"; write {option('chips', needed)}" if needed and needed > count else ""
        raise InputError(f"{fault}{most}: {why(outcome)}{hint}")
    base = Base(outcome, speed, catalogue, smaller)
    drafts, tokens, acceptance = passes.needed_drafts(base)
    options = base.on_todays_chips() + base.on_other_machines()
    options += [*in_order(passes.fewer_bits(base)), passes.speculation(base)]
    options += [*models.smaller_models(base), *combinations(base)]
    options.sort(key=lambda option: list(TRICKS).index(option.trick))
    return SpeedupOptions(
        today=outcome,
        speed=speed,
        options=options,
        same_answers=[option for option in options if base.keeps_answers(option)],
        drafts=drafts,
        tokens=tokens,
        acceptance=acceptance,
        fewer_layers=models.fewer_layers(base),
        thinner_layers=models.thinner_layers(base),
        nearest=None if best(options) else nearest(base),
    )


def start_at_speed(scenario: Scenario, speed: float) -> Scenario | None:
    """Find the smallest deployment with a given speed per user [1/s], at its largest such batch.

    Keeps the scenario's number of chips if given. None if no common layout reaches the speed.
    """
    space = Space(scenario)
    location, chips = locate(replace(scenario, batches=(1,))), scenario.sharding.chips
    layouts = [location.placement.layout]
    if chips is None and not scenario.sharding.names_ranks:
        layouts += [cut for cut in layouts_on_offer(location.site) if cut.chips <= MOST_CHIPS]
    elif not scenario.sharding.names_ranks:
        layouts = space.cuts(chips or 1) or layouts
    placements = space.site.place_all(layouts, axes=1)
    goals = np.full((len(layouts), 1), speed * (1.0 - ROUNDING))
    speeds_at = partial(speeds, placements, scenario.traffic)
    batches = largest_reaching(speeds_at, goals, 0, np.asarray(placements.max_batch) + 1)[:, 0]
    chosen = int(((batches > 0) if chips is None else batches).argmax())
    if not batches[chosen]:
        return None
    return replace(scenario, batches=(int(batches[chosen]),), sharding=Sharding.of(layouts[chosen]))
