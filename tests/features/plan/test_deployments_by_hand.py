"""Chips and formats that a plan leaves out, and what it says of them."""

from functools import partial
from types import SimpleNamespace

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.features.plan.class_table import OVER, UPPER, ServedClass, _slowest
from fastcalc.features.plan.demand import _formats, _in_full, _run_by, scenarios_of
from fastcalc.features.plan.replica_options import _Best
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.scored import Scored
from tests.helpers import every, read_or_refusal

ENTRIES = Catalogue()
H100, B200, MI355X, M3 = map(ENTRIES.hardware, ("h100-sxm", "b200", "mi355x", "apple-m3"))


def asked(weights=None, kv=None, on=None):
    return SimpleNamespace(weights=weights, kv=kv, on=on)


@every(
    "request_,chips,notes",
    [
        (asked(), [H100, B200], []),
        (asked("fp8"), [H100, B200], []),
        (asked("fp4"), [B200], []),
        (asked("fp4"), [H100, B200], ["fp4: 1 of 2 chips have no units for it, and are skipped"]),
        (asked(kv="fp4"), [H100, B200, M3], ["fp4: 2 of 3 chips have no units for it, and are skipped"]),
    ],
)  # fmt: skip
def test_chips_without_units_for_four_bits_are_skipped_and_counted(request_, chips, notes):
    said = []
    found = _formats(request_, chips, said)
    assert said == notes
    needs_units = "fp4" in (request_.weights, request_.kv)
    assert list(found) == [chip.id for chip in chips if not needs_units or chip is B200]


@every(
    "request_,others,flag",
    [
        (asked("fp4"), [], "weights"),
        (asked(kv="fp4"), [], "kv"),
        # MI355X multiplies weights in MXFP4, in which no cache is kept.
        (asked("fp4", "fp4"), [], "weights"),
        (asked("fp4", "fp4"), [MI355X], "kv"),
    ],
)
def test_where_no_chip_has_units_it_is_refused(request_, others, flag):
    said = read_or_refusal(_formats, request_, [H100, *others], [])
    assert said.startswith(f"--{flag} fp4: no chip of --on has units for that; name one")


def test_four_bits_are_those_of_the_chip():
    assert _in_full(None, B200) is None
    assert _in_full(["fp4", None], B200) is None
    assert _in_full(["fp4", "fp8", "nvfp4"], B200) == ["nvfp4", "fp8"]
    assert _in_full(["fp4", "fp8"], H100) == ["fp8"]
    assert _in_full(["fp4"], H100) == []


def test_a_program_leaves_out_chips_that_it_does_not_run_on():
    notes = []
    assert _run_by(asked(), "vllm", [H100, B200], notes) == [H100, B200]
    assert notes == []
    assert _run_by(asked(), "vllm", [H100, M3, M3], notes) == [H100]
    assert notes == ["vllm does not run on 2 of 3 chips: skipped"]
    with pytest.raises(InputError, match="starts no server on "):
        _run_by(asked(on="apple-m3"), "vllm", [M3], [])


@every(
    "rate,share,ttft,breaks_ties",
    [
        (None, None, 1.0, "seconds"),
        (None, 0.99, float("inf"), "seconds"),
        (1.0, None, float("inf"), "batch"),
        (1.0, 0.99, 1.0, "batch"),
        (1.0, 0.99, float("inf"), "ttft"),
    ],
)
def test_of_equal_cost_the_fastest_wins(rate, share, ttft, breaks_ties):
    scored = SimpleNamespace(
        service=SimpleNamespace(rate=rate, share=share, ttft=ttft),
        seconds="seconds", batch="batch", values={"ttft": "ttft"},
    )  # fmt: skip
    assert Scored.last_resort.func(scored) == breaks_ties


def an_option(requests, each, *, chip="a", node_chips=8, cost_per_chip=1.0):
    scenario = SimpleNamespace(hardware=SimpleNamespace(id=chip))
    return SimpleNamespace(
        requests=requests, each=each, node_chips=node_chips, cost_per_chip=cost_per_chip,
        grid=SimpleNamespace(scenario=scenario),
    )  # fmt: skip


@every(
    "chip,cost,requests",
    [
        ("a", 9.0, 0.0),
        ("a", 10.0, 1.0),
        ("a", 20.0, 3.0),
        ("a", 29.0, 3.0),
        # Of another chip the last node of 8 USD may be idle.
        ("a", 38.0, 7.0),
        ("b", 17.0, 0.0),
        ("b", 27.0, 1.0),
        ("b", 28.0, 3.0),
        ("b", 30.0, 7.0),
    ],
)
def test_the_throughput_that_costs_no_more(chip, cost, requests):
    best = _Best(
        enumerate(
            [
                an_option(1.0, 10.0),
                an_option(3.0, 20.0),
                an_option(2.0, 20.0),
                an_option(7.0, 30.0, chip="b"),
            ]
        )
    )
    assert best.max_throughput_at_cost(chip, cost) == requests


@every(
    "percentiles,share,is_random,is_over,cell",
    [
        ([0.1, 0.25], None, True, False, "250"),
        ([0.1, 0.25], None, True, True, f"250{OVER}"),
        (None, 0.99, True, False, f"{UPPER}500"),
        (None, 0.99, False, False, "-"),
        (None, None, True, False, "-"),
    ],
)
def test_the_slowest_of_a_class(percentiles, share, is_random, is_over, cell):
    spread = percentiles and SimpleNamespace(ttft=SimpleNamespace(percentiles=percentiles))
    served = SimpleNamespace(
        percentiles=spread, share=share, request_class=SimpleNamespace(is_random=is_random), ttft=0.5,
        over=lambda _: is_over,
    )  # fmt: skip
    served.longest = partial(ServedClass.longest, served)
    assert _slowest("ttft", served) == cell


@every("objective,skips", [("usd", True), ("watts", False), ("chips", False)])
def test_chips_of_marketplaces_are_skipped_where_prices_count(objective, skips):
    """Chips of a vendor, of which some are rented only on marketplaces."""
    notes = []
    request = FindPlans(model="llama-3.1-8b", on=["nvidia"], objective=objective)
    found = scenarios_of(request, ENTRIES.model("llama-3.1-8b"), notes)
    assert any(scenario.quote.is_marketplace for scenario in found) is not skips
    assert any("only on marketplaces are skipped" in note for note in notes) is skips
