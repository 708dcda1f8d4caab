"""The best way to cut some chips for a batch, of those that people run."""

from dataclasses import replace

import numpy as np

from fastcalc.core.placement.practice import copies_run_by_people
from fastcalc.core.scenario import Scenario, Sharding, check_traffic, site_of
from fastcalc.core.step.schedule import Schedule


def best_cut(scenario: Scenario) -> Scenario:
    """Return a scenario of one batch with its chips cut as serves that fastest, and so cheapest.

    Ranks that it names stay, and so does the default layout where no cut holds the batch.
    """
    if scenario.sharding.names_ranks:
        return scenario
    site, batch = site_of(scenario, scenario.traffic.reserved), float(scenario.batches[0])
    check_traffic(scenario)
    smallest = None if scenario.sharding.chips else site.smallest(batch)
    chips = scenario.sharding.chips or (smallest.layout.chips if smallest else 1)
    layouts = [*copies_run_by_people(site, chips)]
    if not layouts:
        return scenario
    placements = site.place_all(layouts, axes=1)
    seconds = Schedule(placements, scenario.traffic, np.array([batch])).decode.seconds
    fits = np.broadcast_to(placements.max_batch, (len(layouts), 1)) >= batch
    if not fits.any():
        return scenario
    fastest = layouts[int(np.where(fits, seconds, np.inf).argmin())]
    return replace(
        scenario, sharding=Sharding(tp=fastest.tp, pp=fastest.pp, ep=fastest.ep, dp=fastest.dp)
    )
