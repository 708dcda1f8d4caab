"""Plans that hold at slow ends of ranges, and what it costs not to know speeds."""

import json

import pytest

from tests.helpers import run_once, words

PLAN = ("plan", "llama-3.3-70b", "--on", "mi355x,b200", "--prompt", 1000, "--output", 500,
        "--ttft", "1s", "--tpot", "30ms", "--rate", "5/s")  # fmt: skip


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def ran(*args):
        return run_once(*args, capsys=capsys, monkeypatch=monkeypatch)

    return ran


@pytest.fixture
def records(fastcalc):
    def rows(*args):
        return json.loads(fastcalc(*args, "--format", "json").out)["records"]

    return rows


def test_nine_in_ten_is_the_slow_end_of_the_80_percent_range(records):
    expected, sure = records(*PLAN), records(*PLAN, "--confidence", 90)
    chips = {(row["hardware"], row["prefill"], row["weight_format"]): row for row in expected}
    for row in sure:
        assert row["service_tpot_ms"] == pytest.approx(row["service_tpot_ms_high"], rel=1e-6)
        assert row["service_tpot_ms"] <= 30 < expected[0]["service_tpot_ms_high"]
        alike = chips.get((row["hardware"], row["prefill"], row["weight_format"]))
        assert alike is None or row["chips_expected"] == alike["chips_total"] <= row["chips_total"]
    assert records(*PLAN, "--confidence", 50) == expected


def test_how_sure_a_plan_is_stands_in_its_first_sentence(fastcalc):
    text = words(fastcalc(*PLAN, "--confidence", 90).out)
    assert "90 % sure; by expected speeds mi355x, 3 chips, $6,461 a month" in text
    assert " exp. " in text.partition("- key")[0]
    for wrong in (49.9, 99.5, "nan"):
        refused = fastcalc(*PLAN, "--confidence", wrong)
        assert refused.code == 2
        assert "is not from 50 to 99; write for example 90" in refused.err


def test_ranges_without_measurements_like_them_are_marked(fastcalc, records):
    plan = ("plan", "llama-3.1-8b", "--on", "trainium-2,h100-sxm", "--rate", "5/s")
    wider = {row["hardware"]: row["range_is_wider"] for row in records(*plan)}
    assert wider["h100-sxm"] is None
    assert "no measurement of neuron foretells" in wider["trainium-2"]
    text = words(fastcalc(*plan).out)
    assert "!: wider, for few or no measurements are like it" in text
