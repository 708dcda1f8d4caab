"""What the search need not look at is never what it looks for: no solved point beats the least."""

import os
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.scenario import Scenario
from fastcalc.core.smaller_batch import speeds
from fastcalc.core.step.least import (
    chip_supply,
    in_fewest_bits,
    least_chip_seconds,
    model_demand,
)
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.features.fastmode.lighter_passes import PUBLISHED, narrowest
from fastcalc.grid.space import Space
from tests import made_up
from tests.helpers import every
from tests.strategies import dice, engines, hardware, models, scaled

CASES = int(os.environ.get("FASTCALC_REQUESTS", scaled(20)))
"""Random cases: 300 before a release."""


@st.composite
def memories(draw):
    """The chip's own memory, or that of a host as well, whose cores may multiply."""
    luck = draw(dice)
    if luck.either():
        return OWN_MEMORY
    shared = {
        "name": "DRAM",
        "capacity": f"{luck.number(50.0, 2000.0):.1f} GB",
        "bandwidth": f"{luck.number(10.0, 800.0):.1f} GB/s",
        "where": "host",
        "link": f"{luck.number(5.0, 100.0):.1f} GB/s",
        "shared_by": luck.choice([1, 2, 8]),
    }
    cores = {"peak": {"bf16": f"{luck.number(0.1, 20.0):.2f} TFLOP/s"}} if luck.either() else {}
    host = made_up.chip(id="made-up-host", kind="host", memory=[shared], **cores)
    return MemoryChoice(host, luck.choice([None, "stream"]))


@st.composite
def scenarios(draw):
    """Any model on any chip under any engine, with some traffic."""
    luck = draw(dice)
    output = luck.choice([1.0, 200.0, 4000.0])
    prompt = luck.choice([1.0, 1000.0, 30_000.0])
    drafts = luck.choice([0, *PUBLISHED])
    kept = Speculation(PUBLISHED[drafts], float(drafts)) if drafts else Speculation()
    return Scenario(
        draw(hardware()),
        draw(models()),
        draw(engines()),
        (1,),
        Traffic(prompt, output, prompt + output / 2.0, speculation=kept),
        memory=draw(memories()),
    )


def points(scenario):
    """Yield chips, users, speed and whether all of them are met, of layouts and batches of each."""
    space = Space(scenario)
    fewest = space.fewest_chips
    if fewest is None:
        return
    for layout in space.layouts(*{1, 2, 4, 8, fewest, 2 * fewest})[:12]:
        placed = space.site.place(layout)
        batch = np.unique(np.geomspace(1.0, placed.max_batch, 7).round())
        reached = speeds(placed, scenario.traffic, batch)
        yield from ((layout.chips, *point) for point in zip(batch, reached, strict=True))


def never_beaten(scenario, demand, supply):
    """Hold every solved point of a scenario against what a token takes at least."""
    pair = [
        type(numbers)(*(np.array([float(number)]) for number in numbers))
        for numbers in (demand, supply)
    ]
    kept = scenario.traffic.speculation
    for chips, users, speed in points(scenario):
        seconds, fastest = least_chip_seconds(
            *pair, drafts=float(kept.drafted), tokens=float(kept.tokens_per_pass), speed=speed
        )
        assert seconds[0] <= chips / (users * speed)
        assert speed <= fastest[0]


@settings(max_examples=CASES, deadline=None)
@given(scenarios())
def test_no_layout_takes_less_chip_time_or_is_faster_than_the_least(scenario):
    """Else what is best would not be searched: with drafts, hosts, ranks, stages and regions."""
    plain = replace(scenario.traffic, speculation=Speculation())
    demand = model_demand(scenario.work, plain)
    supply = chip_supply(scenario.hardware, scenario.engine, scenario.memory)
    never_beaten(scenario, demand, supply)
    for _, narrow in narrowest(scenario):
        never_beaten(narrow, in_fewest_bits(demand, supply), supply)


@every(
    "execution,ranks,supplied",
    [
        ("sequential", 2, (2, 16, 0.5, 50)),
        ("spatial", 2, (1, 1, 1, 100)),
        ("sequential", None, (1, 8, 1, 100)),
    ],
)
def test_each_rank_of_a_chip_has_its_share(execution, ranks, supplied):
    """Of 1 GB at 1 TB/s and 100 TFLOP/s; eight chips share the fast link. Regions have no ranks."""
    chip = made_up.chip(execution=execution, **({"ranks": ranks} if ranks else {}))
    supply = chip_supply(chip, made_up.engine(), OWN_MEMORY)
    count, domain, share, peak = supplied
    assert (supply.ranks, supply.domain) == (count, domain)
    assert (supply.memory, supply.bandwidth) == (share * 1e9, share * 1e12)
    assert supply.peak == peak * 1e12
