"""Records of points: what nobody reads is not computed, and what is read is the same."""

import pytest

from fastcalc.core import timeline
from fastcalc.kit.answer.point_records import (
    KEYS,
    compare_column,
    compare_records,
    point_records,
)
from tests.helpers import outcome


def solved():
    return outcome("llama-3.1-8b", "h100-sxm", batch=(1, 8, 100_000))


def test_a_record_has_what_all_its_columns_have():
    found = solved()
    records = point_records([found])
    assert [list(record) for record in records] == [list(KEYS)] * 3
    assert list(map(dict, records)) == compare_records([found])
    assert [record["batch"] for record in records] == [1, 8, 100_000]
    assert compare_column([found], "ttft_ms") == [record["ttft_ms"] for record in records]
    assert records[2]["ttft_ms"] is None  # it does not fit


def test_a_price_of_output_takes_no_prompts(monkeypatch):
    """A run with prompts in it is priced only where input, both or throughput with it is read."""

    def unread(_):
        raise AssertionError("a run with prompts is evaluated")

    monkeypatch.setattr(timeline, "served_run", unread)
    first, *_ = point_records([solved()])
    # $/h of all chips over tokens an hour, per million
    usd = first["usd_per_hour"] / (first["tokens_per_s_total"] * 3600.0) * 1e6
    assert first["usd_per_mtok_output"] == pytest.approx(usd, rel=1e-9)
    with pytest.raises(AssertionError, match="a run with prompts"):
        first["usd_per_mtok_total"]


def test_records_are_equal_that_show_the_same_cells_of_a_point():
    found = solved()
    first, second, _ = point_records([found])
    assert first == point_records([found])[0] == compare_records([found])[0]
    assert first != second
    other = first.showing({"batch": "1, 8"})
    assert (other["batch"], other["hardware"]) == ("1, 8", "h100-sxm")
    assert first != other
