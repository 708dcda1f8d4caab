"""Batches that reach into a host: said of rows, and never part of a plan."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.overflow import batch_without_host, overflows
from fastcalc.kit.answer.point_records import compare_records
from tests import made_up
from tests.core.test_tiers import ADDS, chip, dram, memory, place
from tests.helpers import outcome, run


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return partial(run, capsys=capsys, monkeypatch=monkeypatch)


CARD = chip(memory("HBM", "30 GB", "1 TB/s"))

LONG = made_up.minimal(total_parameters=5_000_000_000, kv_bytes_per_token=1e6)
"""10 GB of weights, and 2 GB of cache for 2,000 tokens: ten sequences fill 30 GB."""


def test_a_batch_beyond_the_chips_memory_says_where_a_server_would_queue():
    """Ten sequences read 10 + 10 x 1.5 GB at 1 TB/s in 25 ms: 400 tokens/s.

    Forty reserve 80 GB, of which 20 are near: 25 ms. Of the other 60, 45 GB are read over 25 GB/s:
    1.8 s, 40 / 1.825 = 21.9 tokens/s.
    """
    asked = MemoryChoice(dram(), "stream")
    found = outcome(LONG, CARD, engine=ADDS, batch=(10, 40), memory=asked)
    assert batch_without_host(found.placement) == 10
    assert overflows(found.estimate).tolist() == [False, True]
    assert found.estimate.total == pytest.approx([400, 40 / 1.825], rel=1e-6)
    (note,) = [line for line in found.warnings if "queue" in line]
    assert "above 10 " in note
    assert note in compare_records([found])[1]["warnings"]
    alone = outcome(LONG, CARD, engine=ADDS, batch=(10,), memory=asked)
    assert not [line for line in alone.warnings if "queue" in line]


def test_what_chips_hold_without_a_host_is_what_they_hold_for_certain():
    """Of 30 GB the engine keeps 1 GB, or up to 3 GB: 17 GB for certain hold eight of 2 GB."""
    ranges = {"reserve": {"below": 1.0, "above": 3.0, "basis": "a made-up start"}}
    keeps = made_up.engine(runtime_memory="1 GB").changed(ranges=ranges)
    memory = MemoryChoice(dram(), "stream")
    hosted = outcome(LONG, CARD, engine=keeps, batch=(1,), memory=memory)
    alone = outcome(LONG, CARD, engine=keeps, batch=(1,))
    assert batch_without_host(hosted.placement) == alone.placement.max_batch == 8


def test_what_gains_by_a_host_or_is_asked_to_live_there_is_not_warned_of():
    """A host that reads as fast as the card serves more with more; so may a user's own choice."""
    there = MemoryChoice(dram(), "stream", place(kv="host"))
    asked = outcome(LONG, CARD, engine=ADDS, batch=(10, 40), memory=there)
    assert batch_without_host(asked.placement) == np.inf
    fast = dram(bandwidth="1 TB/s", link="1 TB/s")
    gains = outcome(LONG, CARD, engine=ADDS, batch=(10, 40), memory=MemoryChoice(fast, "stream"))
    assert not overflows(gains.estimate).any()
    asked = MemoryChoice(dram(), "stream", place(kv="host"))
    placed = outcome(LONG, CARD, engine=ADDS, batch=(40,), memory=asked)
    assert not overflows(placed.estimate).any()
    larger = replace(asked, place=())
    heavy = made_up.minimal(total_parameters=20_000_000_000)  # never fits without its host
    assert not overflows(outcome(heavy, CARD, engine=ADDS, memory=larger).estimate).any()


WORDS = ("llama-3.1-8b", "--on", "rtx-4090", "--host", "ddr5-2ch", "--prompt", "8000")


def records(ran):
    answer = json.loads(ran.out)
    return answer if isinstance(answer, list) else answer["records"]


def is_said(record):
    return any("queue" in line for line in record["warnings"])


def test_plans_queue_before_they_reach_into_a_host(fastcalc):
    """No plan is of a batch that its chips do not hold, if that serves less."""
    loose = ("--ttft", "600s", "--tpot", "10s", "--max-chips", "1")
    plans = records(fastcalc("plan", *WORDS, *loose, "--format", "json"))
    assert plans
    for plan in plans:
        named = ("--weights", plan["weight_format"], "--kv", plan["kv_format"], "--chips", "1")
        (row,) = records(
            fastcalc("compare", *WORDS, *named, "--batch", plan["batch"], "--format", "json")
        )
        assert not is_said(row)


def test_points_of_a_sweep_have_the_warnings_of_compare(fastcalc):
    given = ("--chips", "1", "--format", "json")
    small, large = records(fastcalc("sweep", *WORDS, "--batch", "1,64", *given))
    (compared,) = records(fastcalc("compare", *WORDS, "--batch", "64", *given))
    assert is_said(compared)
    assert large["warnings"] == compared["warnings"]
    assert not is_said(small)


def test_a_larger_domain_of_links_between_pairs_says_what_it_costs(fastcalc):
    """Of four chips joined in pairs a group of two has a third of the links, of eight a seventh.

    Nobody sells more links than seven: of 32 chips those inside a host stay as they are.
    """
    words = ("compare", "llama-3.1-70b", "--on", "mi300x", "--tp", "2", "--batch", "8")
    domains = {
        chips: records(
            fastcalc(*words, "--set", f"mi300x:links.scale_up.domain={chips}", "--format", "json")
        )[0]
        for chips in (4, 8, 32)
    }
    speeds = {chips: row["tokens_per_s_per_user"] for chips, row in domains.items()}
    assert speeds[4] > speeds[8] == speeds[32]
    assert all("larger domain" in " ".join(row["warnings"]) for row in domains.values())
    (stated,) = records(fastcalc(*words, "--format", "json"))
    assert stated["tokens_per_s_per_user"] == speeds[8]
    assert "larger domain" not in " ".join(stated["warnings"])


def test_a_row_of_a_comparison_has_the_note_only_if_it_reaches_into_the_host(fastcalc):
    given = ("--chips", "1", "--batch", "1,64", "--format", "json")
    small, large = records(fastcalc("compare", *WORDS, *given))
    assert is_said(large)
    assert not is_said(small)
