"""What an API charges against what chips cost, by hand and as the sentence has it."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

import fastcalc as fc
from fastcalc.errors import InputError
from fastcalc.features.plan.service_asked import api_prices
from tests.helpers import run_once, words

MONTH = 730 * 3600
MIX = Path(__file__).parents[3] / "docs" / "examples" / "my-mix.yaml"
ASKED = {"on": "h100-sxm", "prompt": 2000, "output": 500, "tpot": "40ms"}


def test_the_crossing_is_where_both_bills_are_the_same():
    """2,000 tokens in, 40% of them cached, and 500 out: 0.72 + 0.12 + 1.2 thousandths of a USD."""
    plans = fc.plan("llama-3.1-8b", rate="30/s", prefix_hit=0.4, api="0.6/0.15/2.4", **ASKED)
    each = (1200 * 0.6 + 800 * 0.15 + 500 * 2.4) / 1e6
    for plan in plans:
        assert plan["api_usd_per_month"] == pytest.approx(30 * each * MONTH)
        tokens, usd = plan["api_break_even_tokens_per_month"], plan["usd_per_month"]
        assert tokens / 2500 * each == pytest.approx(usd)
        share = plan["api_break_even_utilization"]
        carried = plan["service_requests_per_s_most"] * share * MONTH
        assert carried * 2500 == pytest.approx(tokens)


@pytest.mark.thorough
def test_the_sentence_has_the_numbers_of_the_first_record():
    plans = fc.plan("llama-3.1-8b", rate="30/s", api=[0.6, 0.15, 2.4], **ASKED)
    first = plans[0]
    words = " ".join(re.sub(r"\n  ", " ", str(plans)).split())
    rate = first["api_break_even_tokens_per_month"] / 2500 / MONTH
    ratio = first["api_usd_per_month"] / first["usd_per_month"]
    assert f"30.0 requests/s cost ${first['api_usd_per_month']:,.0f} per month" in words
    assert (
        f"these chips cost ${first['usd_per_month']:,.0f}. The chips are cheaper above {rate:.2f} requests/s"
        in words
    )
    assert f"{100 * first['api_break_even_utilization']:.2f}% of their throughput" in words
    assert f"the same if the chips cost {ratio:.1f} times as much" in words


@pytest.mark.thorough
def test_an_api_that_is_always_cheaper_is_said_to_be():
    plans = fc.plan("llama-3.1-8b", rate="1/s", api="0.001/0.001/0.001", **ASKED)
    assert plans[0]["api_break_even_utilization"] > 1
    assert "more than their throughput of" in " ".join(str(plans).split())


@pytest.mark.thorough
def test_carbon_is_that_of_the_energy():
    """Of 730 hours of the watts at 400 g, over the tokens of as many seconds."""
    first = fc.plan("llama-3.1-8b", rate="30/s", grid=400, **ASKED)[0]
    grams = first["kwh_per_month"] * 400
    assert first["service_g_co2_per_mtok"] == pytest.approx(grams / (30 * 2500 * MONTH / 1e6))
    plain = fc.plan("llama-3.1-8b", rate="30/s", **ASKED)
    assert plain[0]["service_g_co2_per_mtok"] is plain[0]["api_usd_per_month"] is None
    assert "CO2" not in str(plain)


@pytest.mark.parametrize("wrong", ["0.6", "0.6/0.15", "a/b/c", "0/0/0", "1/1/-1", "nan/1/1", ""])
def test_wrong_prices_are_refused(wrong):
    with pytest.raises(InputError, match="is not the price of an API"):
        api_prices(wrong)


def test_a_wrong_grid_is_refused():
    with pytest.raises(InputError, match="from 0 to 10000 g/kWh"):
        fc.plan("llama-3.1-8b", grid=-1, **ASKED)


@pytest.mark.thorough
@pytest.mark.parametrize("traffic", [(), ("--traffic", str(MIX))])
def test_owned_chips_break_even_once_in_note_and_record(capsys, monkeypatch, traffic):
    """At the bill of all sixteen over the API's price, of what all sixteen sustain.

    A request/s is 2.628 million a month: `prompt` and `output` tokens at 0.6 and 2.4 USD.
    """
    asked = ("plan", "gpt-oss-120b", "--own", "h100-sxm=16", "--on", "h100-sxm", *traffic)
    ask = partial(run_once, capsys=capsys, monkeypatch=monkeypatch)
    priced = (*asked, "--rate", "5/s", "--api", "0.6/0.6/2.4")
    (note,) = re.findall(r"\((\S+) Mtok per month, (\S+)% of their", words(ask(*priced).out))
    record = json.loads(ask(*priced, "--format", "json").out)["records"][0]
    tokens, share = float(note[0].replace(",", "")) * 1e6, float(note[1]) / 100.0
    assert record["api_break_even_tokens_per_month"] == pytest.approx(tokens, rel=1e-3)
    assert record["api_break_even_utilization"] == pytest.approx(share, abs=6e-4)
    bill = record["usd_per_month"] * 16 / record["chips_total"]
    # Of 1,000, 6,000 and 30,000 tokens in and 300, 500 and 1,000 out: 70, 20 and 10%.
    prompt, output = (4900.0, 410.0) if traffic else (1000.0, 1000.0)
    rate = bill / ((prompt * 0.6 + output * 2.4) / 1e6 * 2_628_000)
    assert tokens == pytest.approx(rate * (prompt + output) * 2_628_000, rel=1e-3)
    (all_owned, *_) = json.loads(ask(*asked, "--rate", "500/s", "--format", "json").out)["shares"]
    assert share == pytest.approx(rate / all_owned["requests_per_s"], abs=6e-4)
