"""The amounts of a plan's records, each computed again from what it is made of."""

import re
from math import ceil

import pytest

HOURS_PER_MONTH = 8760.0 / 12.0


def check_plan(command, document):
    """Limits, chips, money, energy and throughput of every plan of a JSON document."""
    lengths = document["assumptions"]
    limits = {
        name: float(value) * (1e3 if unit == "s" else 1.0)
        for name, value, unit in re.findall(r"--(ttft|tpot) ([\d.]+)(m?s)", command)
    }
    for record in document["records"]:
        for name, limit in limits.items():
            assert record[f"service_{name}_ms"] <= limit * (1.0 + 1e-9)
        _check_chips(record)
        _check_money(record)
        _check_throughput(record, lengths)


def _check_chips(record):
    """Replicas times chips of each, and whole nodes where these are rented."""
    ranks = [record[name] for name in ("tp", "pp", "dp")]
    assert record["chips_per_replica"] == ranks[0] * ranks[1] * ranks[2]
    used = record["replicas"] * record["chips_per_replica"]
    if record["prefill_replicas"]:
        prefill = [record[f"prefill_{name}"] for name in ("tp", "pp", "dp")]
        used += record["prefill_replicas"] * prefill[0] * prefill[1] * prefill[2]
    assert record["chips_total"] >= used
    if record["idle_chips"] is not None:
        assert record["idle_chips"] <= record["chips_total"] - used
    if record["node_chips"] and record["prefill_hardware"] is None:
        nodes = ceil(used / record["node_chips"])
        assert record["chips_total"] in (used, nodes * record["node_chips"])


def _check_money(record):
    """Chips times the price of an hour; a month has 730 hours."""
    prefill_chips = record["prefill_chips"] or 0 if record["prefill_hardware"] else 0
    usd = (record["chips_total"] - prefill_chips) * record["usd_per_chip_hour"]
    if prefill_chips:
        usd += prefill_chips * record["prefill_usd_per_chip_hour"]
    assert record["service_usd_per_hour"] == pytest.approx(usd)
    assert record["usd_per_month"] == pytest.approx(usd * HOURS_PER_MONTH)
    if record["kwh_per_month"] is not None:
        energy = record["watts"] / 1e3 * HOURS_PER_MONTH
        assert record["kwh_per_month"] == pytest.approx(energy)


def _check_throughput(record, lengths):
    """Tokens of the requests that are served, and what a token of them costs."""
    rate = record["service_requests_per_s"]
    if rate is None or record["classes"]:
        return
    output = lengths["output_tokens"]
    tokens = lengths["prompt_tokens"] + output
    assert record["service_output_tokens_per_s"] == pytest.approx(rate * output)
    usd = record["service_usd_per_hour"] / 3600.0 / rate / tokens * 1e6
    assert record["service_usd_per_mtok_total"] == pytest.approx(usd)
    assert rate <= record["service_requests_per_s_most"] * (1.0 + 1e-9)
    low, expected, high, bound = (
        record[f"tokens_per_s_per_user{end}"] for end in ("_low", "", "_high", "_bound")
    )
    assert low <= expected <= min(high, bound)
