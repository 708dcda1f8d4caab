"""Every command that says how many chips a batch takes, or the largest batch of some, says the same."""

import os
import random
from dataclasses import replace

import pytest

import fastcalc as fc
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.pricing import Pricing
from fastcalc.errors import InputError
from fastcalc.grid.largest_batch import cheapest
from fastcalc.grid.space import Space
from tests.helpers import outcome

CATALOGUE = Catalogue()
CASES = 300 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 12


def random_case(seed):
    chance = random.Random(seed)
    model = chance.choice(CATALOGUE.names("models"))
    chip = chance.choice(CATALOGUE.names("hardware"))
    lengths = {
        "prompt": chance.choice([100, 1000, 4000]),
        "output": chance.choice([100, 500, 1000]),
    }
    flags = {"on": chip, **lengths}
    if chance.random() < 0.3:
        flags["max_num_seqs"] = chance.choice([4, 64, 5000])
    return model, flags, chance


def one(answer):
    (record,) = answer.records
    return record


def cases():
    """Yield random models on chips, and the record of one user, where some chips hold one."""
    count = seed = 0
    while count < CASES:
        model, flags, chance = random_case(seed)
        seed += 1
        try:
            alone = one(fc.fit(model, **flags))
        except InputError:  # too long a request, or formats that the chip lacks
            continue
        if alone["fit_verdict"] == "fits" and alone["min_chips"] < 2000:
            count += 1
            yield model, flags, chance, alone


def is_usual(record):
    return not any("but unusual" in warning for warning in record["warnings"])


@pytest.mark.thorough
def test_the_fewest_chips_of_a_batch_are_the_same_in_every_command():
    """They hold it for certain as a number of chips that is asked for, and one chip less does not."""
    for model, flags, chance, alone in cases():
        batch = chance.choice([1, 3, alone["max_batch"], alone["max_batch"] + 1, 700])
        fitted, compared, swept = (
            one(command(model, batch=batch, **flags)) for command in (fc.fit, fc.compare, fc.sweep)
        )
        where = (model, flags, batch)
        keys = ("chips", "tp", "pp", "dp", "ep", "min_chips", "max_batch", "fit_verdict")
        for key in keys:
            assert fitted[key] == compared[key] == swept[key], (where, key)
        if fitted["fit_verdict"] != "fits":
            continue
        assert fitted["chips"] == fitted["min_chips"], where
        assert fitted["max_batch"] >= batch, where
        asked = one(fc.compare(model, batch=batch, chips=fitted["chips"], **flags))
        for key in keys:
            assert asked[key] == fitted[key], (where, key)
        if fitted["chips"] > 1:
            try:
                fewer = one(fc.compare(model, batch=batch, chips=fitted["chips"] - 1, **flags))
            except InputError:  # no layout of so many
                continue
            assert fewer["max_batch"] < batch or not is_usual(fewer), where


@pytest.mark.thorough
def test_the_largest_batch_of_some_chips_is_the_same_in_every_command():
    for model, flags, chance, alone in cases():
        chips = alone["chips"] * chance.choice([1, 1, 2, 3])
        where = (model, flags, chips)
        try:
            fitted = one(fc.fit(model, chips=chips, **flags))
        except InputError:  # more wafers than layers
            continue
        largest = fitted["max_batch"]
        solved = one(fc.fit(model, chips=chips, solve="users", **flags))
        assert solved["solution"] == largest, where
        assert solved["max_batch"] == largest, where
        for batch in (largest, largest + 1):
            row = one(fc.compare(model, batch=batch, chips=chips, **flags))
            assert row["max_batch"] == largest, where
            if batch == largest and largest:
                assert row["fit_verdict"] == "fits", where
        # What fit prints holds what it prints: the ranks alone say the same.
        ranks = {name: solved[name] for name in ("tp", "pp", "dp", "ep")}
        if solved["tp"] * solved["pp"] * solved["dp"] == chips:
            given = {"pp": solved["pp"]} if ranks["pp"] == chips and chips > 1 else ranks
            try:
                named = one(fc.fit(model, batch=max(largest, 1), **given, **flags))
            except InputError:
                continue
            assert named["max_batch"] == largest, where


@pytest.mark.thorough
def test_no_point_of_a_frontier_is_beyond_what_its_chips_hold():
    count = 0
    for model, flags, _, alone in cases():
        if alone["chips"] > 16:
            continue
        try:
            points = fc.frontier(model, max_chips=16, **flags).records
        except InputError:
            continue
        for row in points[:2] + points[-2:]:
            where = (model, flags, row["chips"], row["batch"])
            fitted = one(fc.fit(model, chips=row["chips"], **flags))
            assert row["batch"] <= row["max_batch"] == fitted["max_batch"], where
            assert row["min_chips"] <= row["chips"], where
            assert row["chips"] >= alone["min_chips"], where
            count += 1
    assert count > CASES / 2


@pytest.mark.thorough
def test_copies_that_share_a_memory_of_the_host_hold_less_each():
    """Counts that no layout has are passed over: eight cards of a host do not do, nor do nine."""
    words = {"on": "rtx-4090", "host": "epyc-9005-12ch", "batch": 2000, "engine": "vllm"}
    row = one(fc.compare("deepseek-r1", **words))
    assert row["fit_verdict"] == "fits"
    for chips in range(1, row["chips"]):
        try:
            fewer = one(fc.compare("deepseek-r1", chips=chips, **words))
        except InputError:
            continue
        assert fewer["max_batch"] < 2000 or not is_usual(fewer), chips


@pytest.mark.parametrize("speed", [15.0, 30.0, 45.0, 60.0])
def test_the_cheapest_deployment_is_the_same_whatever_a_chip_costs(speed):
    scenario = outcome("llama-3.3-70b", "h100-sxm").scenario
    found = []
    for usd in (0.01, 1.0, 100.0):
        pricing = Pricing(user_prices={"h100-sxm": usd})
        space = Space(replace(scenario, pricing=pricing))
        best = cheapest(space, space.layouts(*range(1, 17)), speed).outcome
        found.append((best.placement.layout, best.scenario.batches))
        assert float(best.estimate.speed[0]) >= speed * (1.0 - 1e-9)
    assert found[0] == found[1] == found[2]
