"""What a faster stream costs, asked by several claims at once."""

from functools import partial

import numpy as np
import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.features.claims.evaluations import SOLVED
from fastcalc.features.claims.premium import (
    Served,
    Software,
    cases,
    cost_multiples_of,
    engine_of,
)

SERVED = Served(["llama-3.1-70b"], ["h100-sxm"], 8.0, 8192.0, ["fp8"])
ASKED = [
    (Software(np.array([0.0, 20e-6]), 0.8, 0.6, 0.9), 50.0, 100.0),
    (Software(5e-6, 0.7, 0.5, 0.9), 40.0, 120.0),
    (Software(5e-6, 0.7, 0.5, 0.8), 40.0, 120.0),
    (Software(5e-6, 0.7, 0.5, 0.9), 40.0, 1e6),
]


def test_asked_together_each_costs_what_it_costs_alone():
    catalogue = Catalogue()
    (case,) = cases(catalogue, SERVED)
    alone = [case.batches(engine_of(software), slow, fast)[2] for software, slow, fast in ASKED]
    searches = [
        partial(
            cost_multiples_of,
            catalogue=catalogue, served=SERVED, software=software, slow=slow, fast=fast,
        )
        for software, slow, fast in ASKED
    ]  # fmt: skip
    together = SOLVED.in_step(searches)
    SOLVED.known.clear()
    for of_one, of_all in zip(alone, together, strict=True):
        assert of_all.tolist() == of_one.tolist()
    assert len(together[0]) == 2
    assert 1.0 < together[0][0] < np.inf
    assert together[3].tolist() == [np.inf], "no machine reaches a million tokens a second"


def test_a_batch_at_two_speeds_by_hand():
    """A floor of 1 ms a layer for 80 layers is 80 ms: nobody gets 100 tokens/s."""
    slow = Software(1e-3, 1.0, 1.0, 0.9)
    asked = partial(cost_multiples_of, catalogue=Catalogue(), served=SERVED, software=slow)
    assert asked(slow=1.0, fast=100.0).tolist() == [np.inf]
    SOLVED.known.clear()


@pytest.mark.parametrize(("chips", "context"), [(0.0, 8192.0), (8.0, 0.0), (8.0, [8192.0, 0.0])])
def test_chips_and_contexts_are_at_least_one(chips, context):
    served = Served(["llama-3.1-70b"] * 2, ["h100-sxm"] * 2, chips, context, ["fp8"] * 2)
    with pytest.raises(InputError, match="contexts and chips are at least 1"):
        cases(Catalogue(), served)
    assert cases(Catalogue(), SERVED._replace(chips=1.0, contexts=1.0))


@pytest.mark.parametrize(
    "changes",
    [
        {"floors": -1e-9},
        {"floors": [0.0, -1e-9]},
        {"bandwidth_shares": 0.0},
        {"compute_shares": 0.0},
        {"usable": 0.0},
    ],
)
def test_floors_are_at_least_0_and_shares_above_it(changes):
    software = Software(0.0, 0.8, 0.6, 0.9)
    assert engine_of(software)
    with pytest.raises(InputError, match="floors are at least 0, shares above 0"):
        engine_of(software._replace(**changes))
