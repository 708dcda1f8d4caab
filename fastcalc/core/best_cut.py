"""The best way to cut some chips for a batch, of those that people run."""

from dataclasses import replace

import numpy as np

from fastcalc.core.practice import copies_run_by_people
from fastcalc.core.scenario import Scenario, Sharding, check_traffic, site_of
from fastcalc.core.schedule import Schedule


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
    placed = site.place_all(layouts, axes=1)
    seconds = Schedule(placed, scenario.traffic, np.array([batch])).decode.seconds
    held = np.broadcast_to(placed.max_batch, (len(layouts), 1)) >= batch
    if not held.any():
        return scenario
    best = layouts[int(np.where(held, seconds, np.inf).argmin())]
    return replace(scenario, sharding=Sharding(tp=best.tp, pp=best.pp, ep=best.ep, dp=best.dp))
