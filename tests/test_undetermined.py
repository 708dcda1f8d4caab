"""Numbers that nothing published determines look so wherever they are printed."""

import re

import pytest

from fastcalc.core.columns import pick
from fastcalc.report import record_tables
from fastcalc.report.records import compare_records
from tests.helpers import outcome, run_once, words


def test_what_turns_with_the_rate_of_prefill_is_undetermined_and_nothing_else(catalogue):
    """An engine that takes in prompts at another rate moves the listed keys alone."""
    engine = catalogue.engine("cerebras")
    share = engine.parameters.compute_fraction
    slower = engine.parameters.model_copy(
        update={"compute_fraction": share.model_copy(update={"si": share.si * 0.9})}
    )
    (before,), (after,) = (
        compare_records([outcome("llama-3.1-70b", "wse-3", engine=each, batch=(8,))])
        for each in (engine, engine.model_copy(update={"parameters": slower}))
    )
    moved = [key for key in before if key != "fits" and before[key] != after[key]]
    assert sorted(before["undetermined"]) == sorted(moved)


@pytest.mark.parametrize("chip", ["h100-sxm", "tpu-v5e"])
def test_chips_that_run_layer_after_layer_have_none(chip):
    (record,) = compare_records([outcome("llama-3.1-8b", chip)])
    assert record["undetermined"] == []


def test_any_column_that_a_record_lists_carries_the_mark():
    columns = pick("batch tpot_ms ttft_ms")
    record = {"batch": 8, "tpot_ms": None, "ttft_ms": 5.81, "undetermined": ["ttft_ms", "tpot_ms"]}
    assert record_tables.row(columns, record) == {
        "batch": "8",
        "tpot_ms": "-",
        "ttft_ms": "5.81?",
    }


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "llama-3.1-70b", "--on", "wse-3", "--batch", "8"),
        ("compare", "llama-3.1-70b", "--on", "wse-3", "--batch", "8", "--wide"),
        ("compare", "llama-3.1-70b", "--on", "wse-3", "--batch", "8", "--format", "markdown"),
        ("plan", "llama-3.1-70b", "--on", "wse-3", "--rate", "5/s"),
    ],
)
def test_tables_mark_the_ttft_of_a_wafer_and_say_why(command, capsys, monkeypatch):
    ran = run_once(*command, capsys=capsys, monkeypatch=monkeypatch)
    assert re.search(r" 6\.50\? ", ran.out)
    assert "prefill of wse-3 is undetermined (?)" in words(ran.out + ran.err)
