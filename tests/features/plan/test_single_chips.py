"""One node is rented where a chip or two would do: the plan says what these cost by themselves."""

import json

import pytest

from tests.helpers import run_once, thorough, words

MONTH = 730


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def ran(*args):
        return run_once("plan", *args, capsys=capsys, monkeypatch=monkeypatch).out

    return ran


@pytest.mark.thorough
def test_a_chip_of_a_node_that_would_do(fastcalc):
    """An eighth of a node of eight: $2.95 for 730 hours, as 'plan --by chip' has it."""
    asked = ("llama-3.1-8b", "--on", "h100-sxm", "--rate", "1.94/s")
    (best, *_) = json.loads(fastcalc(*asked, "--by", "chip", "--format", "json"))["records"]
    assert best["chips_total"] == 1
    assert best["usd_per_month"] == pytest.approx(2.95 * MONTH, rel=1e-3)
    said = words(fastcalc(*asked))
    enough = "1 chip, $2,154 per month."
    assert f"With --by chip, single h100-sxm chips would be enough: {enough}" in said
    assert "With --by chip, single" not in words(fastcalc(*asked, "--by", "chip"))


@pytest.mark.parametrize(
    ("model", "flags"),
    [
        thorough("llama-3.1-8b", ("--rate", "200/s")),  # fills its nodes
        ("llama-3.1-8b", ("--rate", "1.94/s", "--on", "l40s")),  # of which no node is stated
        ("llama-3.1-8b", ()),  # no rate: the node's throughput is what is asked for
        thorough("llama-3.1-405b", ("--rate", "1/s")),  # 812 GB need the node
    ],
)
def test_nothing_is_said_where_a_node_is_needed(model, flags, fastcalc):
    said = fastcalc(model, *(() if "--on" in flags else ("--on", "h100-sxm")), *flags, "--notes")
    assert "With --by chip, single" not in words(said)
