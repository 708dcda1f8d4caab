"""Prices of chip-hours: their kind is the one that is named, and each headline says what they are."""

import csv
import io
import json
import re
from pathlib import Path
from typing import get_args

import pytest

import fastcalc as fc
from fastcalc.catalogue.schema.hardware import Terms
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.placement.legal import link_domain
from fastcalc.core.pricing import Pricing
from tests.helpers import loaded, run_once, thorough, words

FILES = [loaded(path.read_text("utf-8")) for path in sorted(Path("hardware").glob("*.yaml"))]
CHIPS = {chip["id"]: chip for chip in FILES if chip["kind"] != "host"}
SMALL = ("llama-3.1-8b", "--prompt", "1000", "--output", "1000")
MI300X = "On-demand price per chip-hour: mi300x $1.99 (DigitalOcean, 2026-05-28)"
OWNED = "Ownership cost per chip-hour over 4 years: h100-sxm $0.88?"
H100 = "h100-sxm $2.95 (on-demand, Nebius eu-north1, 2026, medium confidence)"


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def ran(*args, **keys):
        return run_once(*args, capsys=capsys, monkeypatch=monkeypatch, **keys)

    return ran


def offers(chip, terms):
    """The prices of a chip's file that are of a kind, in dollars."""
    listed = CHIPS[chip].get("price", {}).get("offers", [])
    alike = [offer for offer in listed if offer.get("terms", "on-demand") == terms]
    return sorted(float(offer["price"]["value"].split()[0]) for offer in alike)


# Of the kind that is named, and of no other.


@pytest.mark.parametrize("terms", get_args(Terms))
def test_a_named_kind_of_price_is_that_kind_for_every_chip(terms):
    """The one in the middle, of two the cheaper; without one of the kind there is no price."""
    catalogue, pricing = Catalogue(), Pricing(offer=terms)
    priced = 0
    for name in CHIPS:
        quote, alike = pricing.quote(catalogue.hardware(name)), offers(name, terms)
        if not alike:
            assert (quote.usd_per_hour, quote.terms) == (None, None), name
            continue
        priced += 1
        assert quote.usd_per_hour == alike[(len(alike) - 1) // 2], name
        assert quote.terms == quote.offer.terms == terms
        assert not quote.is_substitute
    assert priced


def test_on_demand_comes_first_and_whatever_stands_in_is_marked():
    catalogue = Catalogue()
    for name in CHIPS:
        quote = Pricing().quote(catalogue.hardware(name))
        first = next(
            (
                terms
                for terms in ("on-demand", "survey", "estimate", "marketplace")
                if offers(name, terms)
            ),
            None,
        )
        assert quote.terms == first, name
        is_low = quote.confidence == "low"
        assert quote.is_uncertain == (first is not None and (first != "on-demand" or is_low)), name


@pytest.mark.parametrize(
    ("chip", "terms", "usd", "months"),
    [
        ("mi300x", "on-demand", 1.99, None),  # of 1.50, 1.85, 1.99, 6.00 and 6.00
        ("mi300x", "survey", 1.99, None),
        ("mi355x", None, 2.59, None),  # of 2.59 and 8.60, not what is asked for a commitment
        ("mi355x", "reserved", 2.29, 36),
        ("gb200", None, 10.50, None),  # of 4.54, 10.50, 16.00 and 27.04
        ("tpu-v6e", "reserved", 1.22, 36),  # of 1.22 for three years and 1.89 for one
        ("wse-3", None, 41.96, None),
        ("wse-3", "on-demand", None, None),  # an analyst's estimate is no offer
        ("l4", "on-demand", None, None),
        ("rtx-5090", "on-demand", None, None),
        ("rtx-5090", "marketplace", 0.44, None),
        ("rtx-a6000", None, 1.09, None),  # Lambda's, not a marketplace's 0.40
    ],
)
def test_prices_by_hand(chip, terms, usd, months):
    quote = Pricing(offer=terms).quote(Catalogue().hardware(chip))
    assert (quote.usd_per_hour, quote.commitment_months) == (usd, months)


def test_what_only_single_owners_rent_is_a_marketplaces():
    listed = [offer for chip in CHIPS.values() for offer in chip.get("price", {}).get("offers", [])]
    vast = [offer for offer in listed if offer.get("provider") == "Vast.ai"]
    assert len(vast) == 7
    assert {offer["terms"] for offer in vast} == {"marketplace"}


def test_a_chip_that_is_sold_but_not_rented_is_offered_its_ownership_cost(fastcalc):
    """DGX Sparks are sold, not rented; no power of an M3 Ultra is known."""
    asked = ("compare", "llama-3.1-8b", "--on", "gb10,apple-m3-ultra-80", "--batch", "1")
    said = words(fastcalc(*asked).out)
    assert "--price gb10=USD, or use its ownership cost with --price-basis tco" in said
    assert "--price apple-m3-ultra-80=USD, or" not in said
    owned = words(fastcalc(*asked, "--price-basis", "tco").out)
    assert "gb10 has no" not in owned
    assert "apple-m3-ultra-80 has no ownership cost, so its costs are blank" in owned


def test_a_chip_without_the_kind_says_so_and_has_no_price(fastcalc):
    asked = ("compare", "llama-3.1-8b", "--on", "l4", "--offer", "on-demand", "--batch", "1")
    ran = fastcalc(*asked)
    assert "Price per chip-hour" not in ran.out
    assert "l4 has no on-demand price (only survey), so its costs are blank" in words(ran.out)
    (record,) = json.loads(fastcalc(*asked, "--format", "json").out)["records"]
    assert record["usd_per_mtok_output"] is record["usd_per_chip_hour"] is None
    assert record["price_terms"] is None
    refused = fastcalc("plan", *SMALL, "--on", "wse-3", "--offer", "on-demand", "--rate", "1/s")
    assert refused.code == 1
    assert "no on-demand price is known for wse-3" in refused.err


def test_only_a_reserved_offer_has_a_commitment(tmp_path, fastcalc):
    text = "id: mine\nname: Mine\nextends: h20\nprice:\n  offers:\n    - {}\n"
    path = tmp_path / "mine.yaml"
    price = "provider: We, commitment_months: 12, price: 2 USD/h"
    path.write_text(text.replace("{}", f"{{{price}}}"))
    refused = fastcalc("compare", "llama-3.1-8b", "--on", path)
    assert refused.code == 2
    assert "commitment_months belongs to offers with terms: reserved" in refused.err
    path.write_text(text.replace("{}", f"{{{price}, terms: reserved}}"))
    ran = fastcalc("compare", "llama-3.1-8b", "--on", path, "--offer", "reserved", "--batch", "1")
    assert "mine $2.00 (reserved for 12 months, We)" in words(ran.out)


def test_a_files_own_rent_goes_before_offers_but_is_none(tmp_path, fastcalc):
    path = tmp_path / "mine.yaml"
    path.write_text("id: mine\nname: Mine\nextends: h100-sxm\nprice: {cloud: 2 USD/h}\n")
    asked = ("compare", "llama-3.1-8b", "--on", path, "--batch", "1")
    assert "mine $2.00 (terms not stated)" in words(fastcalc(*asked).out)
    assert "On-demand price per chip-hour: mine $2.95 (Nebius, 2026" in words(
        fastcalc(*asked, "--offer", "on-demand").out
    )


# Under each headline, on each number, and in each record.


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (("compare", "llama-3.1-8b", "--on", "mi300x", "--batch", "1,8"), MI300X),
        (("compare", "llama-3.1-8b", "--on", "mi300x", "--batch", "1,8", "--wide"), MI300X),
        (("compare", "llama-3.1-8b", "--on", "mi300x", "--batch", "1,8", "--explain"), MI300X),
        (("frontier", "llama-3.1-8b", "--on", "mi300x", "--max-chips", "1"), MI300X),
        thorough(("fastmode", "llama-3.1-8b", "--on", "mi300x", "--speedup", "1.2"), MI300X),
        thorough(("sensitivity", "llama-3.1-8b", "--on", "mi300x"), MI300X),
        (("decide", "a=model=llama-3.1-8b", "b=speed=9,price=1", "--on", "mi300x"), MI300X),
        (("plan", *SMALL, "--on", "mi300x"), MI300X),
        (("plan", *SMALL, "--on", "mi300x", "--rate", "2/s"), MI300X),
        (("plan", *SMALL, "--on", "mi300x", "--budget", "40k/month"), MI300X),
        (("plan", *SMALL, "--on", "mi300x", "--users", "5", "--think", "9s"), MI300X),
        (
            ("plan", *SMALL, "--on", "mi300x", "--own", "h100-sxm=1", "--rate", "60/s"),
            f"{OWNED}; o{MI300X[1:]}",
        ),
        (
            ("plan", *SMALL, "--on", "h100-sxm", "--price-basis", "tco"),
            OWNED,  # 26,000 / 35,040 + 0.1384
        ),
        (
            ("plan", *SMALL, "--on", "h100-sxm", "--price", "h100-sxm=2"),
            "Price per chip-hour: h100-sxm $2.00 (given)",
        ),
        (
            ("compare", "llama-3.1-8b", "--on", "mi355x", "--offer", "reserved"),
            "Reserved price per chip-hour: mi355x $2.29? (reserved for 36 months, 2026-05-25)",
        ),
        (
            ("compare", "llama-3.1-8b", "--on", "h100-sxm", "--offer", "reserved"),
            "Reserved price per chip-hour: h100-sxm $2.72 (Hyperstack, 2026-08-26)",
        ),
    ],
)
def test_under_each_headline_of_money_stands_the_price(command, line, fastcalc):
    """The sentence is directly under the headline, before the table."""
    text = fastcalc(*command).out
    head = words(text.partition("\n\n")[0])
    assert line in head


@pytest.mark.thorough
def test_classes_of_a_file_have_it_too(fastcalc):
    ran = fastcalc(
        "plan", "llama-3.1-8b", "--on", "mi300x", "--traffic", "docs/examples/my-mix.yaml"
    )
    assert ran.code == 0, ran.err
    assert f"{MI300X}." in words(ran.out.partition("\n\n")[0])


@pytest.mark.parametrize("command", ["report", "plan"])
def test_a_page_has_it_in_its_verdict(command, fastcalc, tmp_path):
    page = tmp_path / "page.html"
    assert fastcalc(command, "llama-3.1-8b", "--on", "mi300x", "-o", page).code == 0
    verdict = page.read_text("utf-8").partition('class="verdict"')[2].partition("</div>")[0]
    assert MI300X in words(verdict)


AMOUNTS = ("usd_per_mtok_input", "usd_per_mtok_output", "usd_per_mtok_total", "usd_per_hour")


def test_records_carry_the_price_and_mark_amounts(fastcalc):
    """In the table a `?` stands on each amount that the record lists, and the key explains it."""
    asked = ("compare", "llama-3.1-8b", "--on", "gaudi-3,h100-sxm", "--batch", "8")
    ran = fastcalc(*asked, "--format", "json")
    sure = {"h100-sxm": [], "gaudi-3": [*AMOUNTS, "usd_per_chip_hour"]}
    for record in json.loads(ran.out)["records"]:
        assert record["low_confidence"] == sure[record["hardware"]]
        assert record["usd_per_hour"] == record["usd_per_chip_hour"] * record["chips"]
        # An hour's price over the output tokens of an hour.
        rate = record["tokens_per_s_total"] * 3600 / 1e6
        by_hand = record["usd_per_chip_hour"] * record["chips"] / rate
        assert record["usd_per_mtok_output"] == pytest.approx(by_hand, rel=1e-9)
    text = fastcalc(*asked).out
    assert re.search(r"1 x gaudi-3 .* \d\.\d+\? +\w+\n", text)
    assert re.search(r"1 x h100-sxm .* \d\.\d+ +\w+\n", text)
    assert "?: rough (unpublished figure, uncertain price or unmeasured batch)" in words(text)
    rows = list(csv.DictReader(io.StringIO(fastcalc(*asked, "--format", "csv").out)))
    assert rows[0]["price_terms"] == "on-demand"
    assert rows[0]["low_confidence"].split("; ") == sure["gaudi-3"]


def test_a_price_of_another_chip_is_marked(tmp_path, fastcalc):
    path = tmp_path / "mine.yaml"
    path.write_text("id: mine\nname: Mine\nextends: h100-sxm\n")
    asked = ("compare", "llama-3.1-8b", "--on", path, "--batch", "1")
    assert "(Nebius, 2026, the price of h100-sxm)" in words(fastcalc(*asked).out)
    document = json.loads(fastcalc(*asked, "--format", "json").out)
    assert set(AMOUNTS) < set(document["records"][0]["low_confidence"])
    assert document["assumptions"]["prices"]["mine"]["price_of"] == "h100-sxm"
    given = json.loads(fastcalc(*asked, "--price", "mine=2", "--format", "json").out)
    assert given["records"][0]["low_confidence"] == []


@pytest.mark.thorough
def test_a_plan_marks_its_bill(fastcalc):
    ran = fastcalc("plan", *SMALL, "--on", "gaudi-3", "--rate", "2/s")
    # Eight chips for 730 hours at 7.50.
    assert "$43,800? per month" in words(ran.out)
    document = json.loads(fastcalc("plan", *SMALL, "--on", "gaudi-3", "--rate", "2/s", "--format",
                                   "json").out)  # fmt: skip
    (first, *_) = document["records"]
    assert first["usd_per_month"] == 8 * 730 * 7.50
    assert {"usd_per_month", "cost"} <= set(first["low_confidence"])
    assert document["assumptions"]["prices"]["gaudi-3"]["terms"] == "on-demand"


def test_options_of_a_decision_mark_amounts_of_uncertain_chips(fastcalc):
    asked = ("decide", "a=model=llama-3.1-8b", "b=speed=9,price=1", "--on", "gaudi-3")
    text = fastcalc(*asked).out
    assert re.search(r"^A  a .*\?$", text, re.MULTILINE)
    assert not re.search(r"^B  b .*\?", text, re.MULTILINE)
    document = json.loads(fastcalc(*asked, "--format", "json").out)
    marks = [record["low_confidence"] for record in document["records"]]
    assert "usd_a_month" in marks[0]
    assert marks[1] == []
    assert document["assumptions"]["prices"]["gaudi-3"]["usd_per_chip_hour"] == 7.5


@pytest.mark.thorough
def test_prices_of_kinds_stand_in_one_parquet_file(tmp_path, fastcalc):
    """One chip has a region and no commitment, the other a commitment and no region."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "prices.parquet"
    asked = ("sweep", "llama-3.1-8b", "--on", "mi355x,h100-sxm,tpu-v6e", "--offer", "reserved")
    ran = fastcalc(*asked, "-o", path)
    assert ran.code == 0, ran.err
    rows = {row["hardware"]: row for row in parquet.read_table(path).to_pylist()}
    found = {name: row["price_commitment_months"] for name, row in rows.items()}
    assert found == {"mi355x": 36, "h100-sxm": None, "tpu-v6e": 36}
    providers = {name: row["price_provider"] for name, row in rows.items()}
    assert providers == {"mi355x": None, "h100-sxm": "Hyperstack", "tpu-v6e": "Google Cloud"}


# Marketplaces.


@pytest.mark.thorough
def test_a_plan_over_all_leaves_marketplaces_out_and_says_so(fastcalc):
    asked = ("plan", "llama-3.1-8b", "--rate", "1/s", "--tpot", "60ms", "--format", "json")
    only = {
        name
        for name in CHIPS
        if offers(name, "marketplace")
        and not any(offers(name, terms) for terms in ("on-demand", "survey", "estimate"))
    }
    assert "rtx-5090" in only
    ran = fastcalc(*asked)
    assert ("chips rented only on marketplaces are skipped: "
           f"{', '.join(sorted(only))}") \
        in words(ran.err)  # fmt: skip
    assert "--offer marketplace" in ran.err
    document = json.loads(ran.out)
    best = [*document["records"], *document["best_of_each_chip"]]
    assert not only & {record["hardware"] for record in best}
    assert only.isdisjoint(document["unpriced"])
    for named in (("--on", "rtx-5090,h100-sxm"), ("--on", "rtx-50*"), ("--offer", "marketplace")):
        found = json.loads(fastcalc(*asked, *named).out)["best_of_each_chip"]
        (card,) = [record for record in found if record["hardware"] == "rtx-5090"]
        assert card["price_terms"] == "marketplace"
    text = words(fastcalc(*asked[:-2], "--on", "rtx-5090").out)
    assert "rtx-5090 $0.44? (marketplace, Vast.ai, 2026)" in text


# Break-even.


@pytest.mark.thorough
def test_the_break_even_price_by_hand_where_prompts_have_chips_of_their_own():
    """Where two chip types share the bill, only the part of the first moves with its price."""
    options = {
        "on": "h100-sxm,b200", "prompts_on": "l40s", "rate": "8/s", "prompt": 4000, "output": 1000,
        "ttft": "2s", "tpot": "30ms", "load": 0.8,
    }  # fmt: skip
    price = {"h100-sxm": 1.0, "b200": 4.0, "l40s": 0.2}
    found = fc.plan("llama-3.1-70b", price=price, **options)
    best, second = found[0], found.details["runner_up"]
    above = found.details["runner_up_wins_above_usd_per_chip_hour"]
    first = best["hardware"]

    def bill(plan, at):
        prefill = plan["prefill_chips"] or 0
        usd = {**price, first: at}
        decode = (plan["chips_total"] - prefill) * usd[plan["hardware"]]
        return decode + (prefill * usd[plan["prefill_hardware"]] if prefill else 0.0)

    assert bill(best, price[first]) < bill(second, price[first])
    assert bill(best, above) == pytest.approx(bill(second, above), rel=1e-9)


def test_a_price_of_an_instance_of_one_chip_is_of_no_pair():
    """Lambda rents GH200 singly; its file states a pair that NVLink joins, which owners have."""
    chip, cloud = Catalogue().hardware("gh200-96gb"), Pricing()
    assert link_domain(chip) == 2
    assert link_domain(cloud.as_rented(chip)) == 1
    for pricing in (Pricing(basis="tco"), Pricing(user_prices={"gh200-96gb": 3.0})):
        assert pricing.as_rented(chip) is chip
    assert cloud.as_rented(Catalogue().hardware("h100-sxm")).links.scale_up.domain.si == 8
    # 141 GB of Llama 3.1 70B on 96 GB.
    asked = {"on": "gh200-96gb", "weights": "bf16", "kv": "bf16"}
    assert not fc.plan("llama-3.1-70b", **asked, rate="1/s").found
    own_price = fc.plan("llama-3.1-70b", **asked, rate="1/s", price={"gh200-96gb": 3.0})
    assert own_price[0]["tp"] == 2
    assert not fc.frontier("llama-3.1-70b", **asked).found
    warned = [
        text for text in fc.compare("llama-3.1-70b", **asked)[0]["warnings"] if "inst" in text
    ]
    assert warned == [
        "gh200-96gb is only priced in instances of one chip (Lambda, us-east-1, on-demand). For "
        "larger machines, set a price with price='gh200-96gb=USD'"
    ]
