"""Rows of fastmode are the cheapest of all records that the library's sweep has for them."""

import json
import os
import random

import pytest

import fastcalc as library
from fastcalc.features.fastmode.lighter_passes import PUBLISHED
from tests.helpers import run
from tests.strategies import scaled

REQUESTS = int(os.environ.get("FASTCALC_REQUESTS", scaled(2)))
CHIPS = ("a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200", "mi300x", "mi325x", "mi355x")
"""Eight to a fast link: of a dense model on up to eight, people run tensor-parallel groups."""
MODELS = ("llama-3.1-8b", "qwen3-14b", "qwen3-32b")
GROUPS = "1,2,4,8"
LAST_BATCHES = (600, 2400, 9600)
"""Batches up to one of these are swept: the first at which nothing reaches the speed any more."""


@pytest.fixture
def fastmode(capsys, monkeypatch):
    def call(*request):
        ran = run("fastmode", *request, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
        return json.loads(ran.out)

    return call


def reaching(speed, *names, **request):
    """Return the rows of a sweep over every batch that fit and reach a speed."""
    for last in LAST_BATCHES:
        swept = library.sweep(*names, batch=f"1..{last}+1", **request)
        rows = [row for row in swept if row["fits"] and row["tokens_per_s_per_user"] >= speed]
        if all(row["batch"] < last for row in rows):
            return rows
    raise AssertionError(f"batch {last} reaches the speed, so a larger one may")


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(REQUESTS))
def test_a_row_is_the_cheapest_of_every_layout_and_batch_of_a_sweep(seed, fastmode):
    chance = random.Random(seed)
    model, chip = chance.choice(MODELS), chance.choice(CHIPS)
    prompt, output = chance.choice([6000, 8000, 9000]), chance.choice([500, 1000])
    traffic = {"prompt": str(prompt), "output": str(output)}
    request = [model, "--on", chip, "--prompt", prompt, "--output", output, "--smaller", "none"]
    request += ["--chips", 1, "--batch", chance.choice([1, 2])]
    document = fastmode(*request, "--speedup", chance.choice([0.9, 1.2, 1.5, 2.5, 4]))
    speed = document["target"]["tokens_per_s_per_user"] * (1.0 - 1e-9)
    swept = reaching(speed, model, on=",".join(CHIPS), tp=GROUPS, **traffic)
    drafts = ",".join(f"{kept}/{count}" for count, kept in PUBLISHED.items())
    drafted = reaching(speed, model, on=chip, tp=GROUPS, speculate=drafts, **traffic)
    on_today = [row for row in swept if row["hardware"] == chip]
    expected = {
        ("smaller-batch", chip): [row for row in on_today if row["chips"] == 1],
        ("more-chips", chip): [row for row in on_today if row["chips"] > 1],
        ("speculation", chip): drafted,
    }
    hardware = "newer-hardware", "other-hardware"
    for rival in {*CHIPS} - {chip}:
        own = [row for row in swept if row["hardware"] == rival]
        (trick,) = (
            row["trick"]
            for row in document["records"]
            if row["trick"] in hardware and row["change"] == rival
        )
        expected[trick, rival] = own
    for (trick, where), records in expected.items():
        change = where if trick in hardware else None
        (row,) = (
            row
            for row in document["records"]
            if row["trick"] == trick and change in (None, row["change"])
        )
        best = min((row["usd_per_mtok_output"] for row in records), default=None)
        assert row["reaches"] == (best is not None), (trick, where)
        if best is not None:
            assert row["usd_per_mtok_output"] == pytest.approx(best, rel=1e-9), (trick, where)
