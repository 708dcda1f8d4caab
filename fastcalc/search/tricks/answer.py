"""All tricks from one serving point to one speed, side by side."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from math import inf

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.layout import Layout
from fastcalc.core.scenario import Outcome, Scenario, solve
from fastcalc.errors import InputError
from fastcalc.formulas.types import Floats
from fastcalc.search import Space, cheapest, largest_batches
from fastcalc.search.space import sharding
from fastcalc.search.tricks import lighter_passes as passes
from fastcalc.search.tricks import other_machines as machines
from fastcalc.search.tricks import smaller_models as models
from fastcalc.search.tricks.option import Option, best, in_order
from fastcalc.search.tricks.smaller_models import Shrunk
from fastcalc.search.tricks.start import Base

MOST_CHIPS = 1024
"""Chips beyond which no deployment is looked for that serves users at a speed today."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What each trick comes to.

    Attributes
    ----------
    today, speed : Outcome, float
        The serving point, one batch, and the tokens a second that every user was to get. [1/s]
    options : list of Option
        In the order of `fastcalc.search.tricks.option.TRICKS`, within a trick the cheapest first
        and what cannot last.
    drafts, tokens, acceptance : ndarray
        Drafts, and the tokens a pass and the acceptance that they need at today's batch. [1]
    shorter, thinner : Shrunk or None
        The hypothetical smaller shapes that reach the speed at today's batch and chips.
    """

    today: Outcome
    speed: float
    options: list[Option]
    drafts: Floats
    tokens: Floats
    acceptance: Floats
    shorter: Shrunk | None
    thinner: Shrunk | None

    @property
    def reached(self) -> list[Option]:
        """The options that reach the speed."""
        return [one for one in self.options if one.outcome is not None]


def fastmode(today: Scenario, speed: float, catalogue: Catalogue) -> Answer:
    """Return what every trick comes to that could serve each user at a speed. [1/s]

    Today's scenario is of one batch, and keeps its chips and ranks; other chips and models come
    from the catalogue.

    Raises
    ------
    InputError
        If today's batch does not fit, or as `fastcalc.core.scenario.solve` does.
    """
    outcome = solve(today)
    if not outcome.fits:
        needed, most = outcome.min_chips[0], outcome.placement.max_batch
        count, model, chip = outcome.placement.layout.chips, today.model.id, today.hardware.id
        plural, verb = ("s", "") if count > 1 else ("", "s")
        what = f"batch {today.batches[0]:,} of {model} does not fit {count} chip{plural} of {chip}"
        more = f"; write --chips {needed}" if needed and needed > count else ""
        raise InputError(f"{what}, which hold{verb} {most:,}{more}")
    base = Base(outcome, speed, catalogue)
    drafts, tokens, acceptance = passes.needed_drafts(base)
    chips = in_order(machines.hardware(base))
    options = [machines.smaller_batch(base), machines.other_layout(base), machines.more_chips(base)]
    for trick in ("newer-hardware", "other-hardware"):
        options += [one for one in chips if one.trick == trick]
    options += [*in_order(passes.fewer_bits(base)), passes.speculation(base)]
    options += models.smaller_models(base)
    options += [*in_order(machines.sram_machines(base)), two_tricks(base)]
    return Answer(
        today=outcome,
        speed=speed,
        options=options,
        drafts=drafts,
        tokens=tokens,
        acceptance=acceptance,
        shorter=models.fewer_layers(base),
        thinner=models.thinner_layers(base),
    )


def two_tricks(base: Base) -> Option:
    """Return the cheapest pair of tricks; the model stays, and the batch is solved for in each."""
    found: Option | None = None
    for words, space, layouts in _pairs(base):
        price = base.scenario.pricing.per_chip_hour(space.scenario.hardware)
        below = found.usd if found and found.usd and price else inf
        reach = cheapest(space, layouts, base.speed, below)
        if reach.outcome is not None:
            found = best([*([found] if found else []), Option("two-tricks", words, reach.outcome)])
    return found or Option("two-tricks", "every pair", why_not="no pair of these reaches it")


def _pairs(base: Base) -> Iterator[tuple[str, Space, list[Layout]]]:
    """Yield pairs: bits with drafts, and either on another layout or another machine."""
    for words, scenario in passes.narrowest(base.scenario):
        drafted, both = passes.drafting(scenario, 3)
        yield f"{words} + {drafted}", Space(both), [base.layout]
    layouts = [one for one in base.deployments(base.space) if one != base.layout]
    for words, scenario in _lighter(base.scenario):
        yield f"other layout + {words}", Space(scenario), layouts
    for chip in base.rivals:
        try:
            for words, scenario in _lighter(base.on(chip)):
                space = Space(scenario)
                yield f"{chip.id} + {words}", space, base.deployments(space)
        except InputError:
            continue


def _lighter(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    yield from passes.narrowest(scenario)
    yield passes.drafting(scenario, 3)


def start_at_speed(scenario: Scenario, speed: float) -> Scenario | None:
    """Return the smallest deployment whose users get a speed [1/s], at the largest batch that does.

    Chips that the scenario names are kept, cut as serves the largest batch where their ranks are
    open; its batches are left aside. None where no default layout reaches the speed.
    """
    asked, chips = solve(replace(scenario, batches=(1,))), scenario.sharding.chips
    layouts: Iterable[Layout] = [asked.placement.layout]
    if chips is None and not scenario.sharding.names_ranks:
        few = asked.site.default_layouts
        layouts = takewhile(lambda layout: layout.chips <= MOST_CHIPS, few)
    elif not scenario.sharding.names_ranks:
        layouts = asked.site.exactly(chips or 1)
    best: tuple[int, Layout] | None = None
    for layout in layouts:
        placement = asked.site.place(layout)
        batch = int(largest_batches(placement, scenario.traffic, speed)[0])
        if batch > (best[0] if best else 0):
            best = batch, layout
            if chips is None:
                break
    return best and replace(scenario, batches=best[:1], sharding=sharding(best[1]))
