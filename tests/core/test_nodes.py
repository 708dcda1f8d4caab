"""Whole nodes that a file states, and prices on the terms of clouds and of ownership."""

from functools import partial

import pytest

import fastcalc as fc
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.entry_notes import instance_notes
from fastcalc.core.estimate import SITE_FACTOR, site_power
from fastcalc.core.pricing import Pricing
from fastcalc.errors import InputError
from tests.helpers import run_once as run

NODE = """\
id: my-node
extends: h100-sxm
name: A box of four
node:
  chips: 4
  power: 6 kW
  price: {cloud: 12 USD/h, purchase: 140000 USD}
"""


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return partial(run, capsys=capsys, monkeypatch=monkeypatch)


@pytest.fixture
def node(tmp_path):
    file = tmp_path / "my-node.yaml"
    file.write_text(NODE)
    return file


@pytest.mark.thorough
def test_a_node_file_is_planned_in_whole_nodes(node, fastcalc):
    """Three dollars and 1.5 kW a chip, before the site; one request a second takes a node."""
    chip = Catalogue().hardware(str(node))
    assert (chip.node_chips, site_power(chip)) == (4, 1500.0 * SITE_FACTOR)
    assert Pricing("tco", years=2, usd_per_kwh=0.1).per_chip_hour(chip) == pytest.approx(
        35_000 / (2 * 8760) + 1.5 * SITE_FACTOR * 0.1
    )
    options = {"on": str(node), "rate": 1, "tpot": "50ms"}
    whole = fc.plan("llama-3.1-8b", **options)[0]
    assert (whole["node_chips"], whole["chips_total"]) == (4, 4)
    assert whole["service_usd_per_hour"] == 12.0
    assert whole["watts"] == pytest.approx(6000 * SITE_FACTOR)
    single = fc.plan("llama-3.1-8b", by="chip", **options)[0]
    assert (single["chips_total"], single["idle_chips"], single["node_chips"]) == (1, 0, 1)
    # A budget of a node and a half is a node; two fewer of them carry nothing.
    within = fc.plan("llama-3.1-8b", on=str(node), budget="18/h", tpot="50ms")[0]
    assert within["chips_total"] == 4
    owned = fc.plan("llama-3.1-8b", on=str(node), own={str(node): 8}, rate=1, tpot="50ms")
    assert owned[0]["chips_total"] == 4
    assert "Idle: 4 of 8 my-node" in str(owned)
    assert fastcalc("check", node).code == 0
    assert "node.chips" in fastcalc("show", node).out


def test_a_replica_that_fills_no_node_leaves_chips_idle():
    """Three stages of two chips in a node of eight: two are idle, and said to be."""
    options = {"on": "h100-sxm", "weights": "bf16", "kv": "bf16", "price": {"h100-sxm": 1}}
    answer = fc.plan("llama-3.1-70b", rate=20, prompt=4000, ttft="1s", tpot="25ms", **options)
    for plan in answer:
        used = plan["replicas"] * plan["chips_per_replica"]
        sizes = [plan[f"prefill_{axis}"] or 0 for axis in ("tp", "pp", "dp")]
        used += (plan["prefill_replicas"] or 0) * sizes[0] * sizes[1] * sizes[2]
        assert plan["chips_total"] % 8 == 0
        assert plan["idle_chips"] == plan["chips_total"] - used
        assert plan["idle_chips"] >= 0


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        ("{name: of no size}", "node needs its number of chips"),
        ("{chips: 0}", "out of range"),
        ("8", "node"),
    ],
)
def test_a_wrong_node_is_refused(tmp_path, node, sentence, fastcalc):
    file = tmp_path / "my-card.yaml"
    lines = ("id: my-card", "name: A card", "vendor: Me", "kind: gpu", "scope: one card")
    memory = "memory: [{name: HBM, capacity: 80 GiB, bandwidth: 3 TB/s}]"
    file.write_text("\n".join([*lines, memory, "peak: {bf16: 900 TFLOP/s}", f"node: {node}", ""]))
    ran = fastcalc("plan", "llama-3.1-8b", "--on", file)
    assert ran.code == 2
    assert sentence in ran.err


def test_terms_are_those_of_an_offer_and_of_no_other():
    """Hyperstack's rate card asks 2.72 for a reserved H100; nobody lists a spot MI300X."""
    chips = Catalogue()
    reserved, spot = Pricing(offer="reserved"), Pricing(offer="spot")
    assert reserved.per_chip_hour(chips.hardware("h100-sxm")) == 2.72
    assert reserved.quote(chips.hardware("h100-sxm")).provider == "Hyperstack"
    assert spot.per_chip_hour(chips.hardware("h100-sxm")) == 0.8015  # of two the cheaper
    assert spot.per_chip_hour(chips.hardware("mi300x")) is None
    # On demand 1.50, 1.85 and 1.99 on three clouds, 6 on Azure and Oracle; a survey has it at 1.99.
    on_demand = Pricing(offer="on-demand").per_chip_hour(chips.hardware("mi300x"))
    assert on_demand == Pricing().per_chip_hour(chips.hardware("mi300x")) == 1.99
    assert Pricing(offer="survey").per_chip_hour(chips.hardware("mi300x")) == 1.99


@pytest.mark.thorough
def test_ways_to_pay_stand_side_by_side(fastcalc):
    """Eight chips for 730 hours at 2.95, 0.8015 and 2.72; 2.72 of 2.95 is 92%."""
    command = ("plan", "llama-3.1-8b", "--on", "h100-sxm", "--rate", "1/s")
    ran = fastcalc(*command, "--offer", "reserved", "--tpot", "50ms")
    text = " ".join(ran.out.split())
    assert "on-demand $17,228, spot $4,681, reserved $15,885" in text
    assert "Reserved chips are cheaper if you use them more than 92% of the time" in text
    assert ran.out.splitlines()[-1].endswith("--offer reserved")
    refused = fastcalc("plan", "llama-3.1-8b", "--on", "mi300x", "--offer", "spot", "--rate", "1/s")
    assert refused.code == 1
    assert "no spot price is known for mi300x" in refused.err


def test_years_and_electricity_are_those_of_every_command(fastcalc):
    """26,000 USD over five years and 1.73 kW at 0.12 USD."""
    options = {"price_basis": "tco", "years": 5, "electricity": 0.12}
    record = fc.compare("llama-3.1-8b", on="h100-sxm", chips=1, **options)[0]
    assert record["usd_per_hour"] == pytest.approx(26000 / (5 * 8760) + 1.73 * 0.12)
    (owned, *_) = fc.plan(
        "llama-3.1-8b", on="h100-sxm", own="h100-sxm=8", years=5, electricity=0.12
    )
    assert owned["service_usd_per_hour"] == pytest.approx(8 * record["usd_per_hour"])
    assert owned["command"].endswith("price_basis='tco', years=5.0, electricity=0.12)")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"offer": "sometimes"}, "offer 'sometimes' is unknown"),
        ({"offer": "spot", "price_basis": "tco"}, "remove one"),
        ({"years": 5}, "years applies to owned chips"),
        ({"electricity": 0.1}, "electricity applies to owned chips"),
        ({"years": 0, "price_basis": "tco"}, "years 0 is not a number from 0.1"),
        ({"electricity": -1, "price_basis": "tco"}, "electricity -1 is not a number"),
        ({"by": "rack"}, "by 'rack' is unknown"),
    ],
)
def test_wrong_terms_are_refused(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        fc.plan("llama-3.1-8b", on="h100-sxm", **wrong)


@pytest.mark.parametrize(("chip", "told"), [("gh200-96gb", True), ("h100-sxm", False)])
def test_a_price_of_chips_that_are_rented_singly_is_of_no_group(chip, told):
    notes = list(instance_notes(Catalogue().hardware(chip), Pricing()))
    assert [note.partition(" (")[0] for note in notes] == [
        f"{chip} is only priced in instances of one chip"
    ] * told
