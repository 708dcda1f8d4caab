"""Numbers that nothing published determines look so wherever they are printed."""

import json
import re

import pytest

from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.point_records import compare_records
from tests.helpers import outcome, run_once, thorough, words


def test_what_turns_with_the_rate_of_prefill_is_undetermined_and_nothing_else(catalogue):
    """Of one user, an engine that takes in prompts at another rate moves the listed keys alone."""
    engine = catalogue.engine("cerebras")
    share = engine.parameters.compute_fraction
    slower = engine.parameters.model_copy(
        update={"compute_fraction": share.model_copy(update={"si": share.si * 0.9})}
    )
    (before,), (after,) = (
        compare_records([outcome("llama-3.1-70b", "wse-3", engine=each, batch=(1,))])
        for each in (engine, engine.model_copy(update={"parameters": slower}))
    )
    moved = [key for key in before if key != "fits" and before[key] != after[key]]
    assert set(before["undetermined"]) - {"tpot_in_traffic_ms"} == set(moved)  # no other prompts


@pytest.mark.parametrize("chip", ["h100-sxm", "tpu-v5e", "sn40l"])
def test_chips_that_run_layer_after_layer_have_none(chip):
    (record,) = compare_records([outcome("llama-3.1-8b", chip)])
    assert record["undetermined"] == []


def test_all_that_a_wafer_does_for_several_users_is_undetermined():
    alone, together = compare_records([outcome("llama-3.1-8b", "wse-3", batch=(1, 8))])
    several = {"tokens_per_s_per_user", "tpot_ms", "usd_per_mtok_output"}
    assert not several & set(alone["undetermined"])
    assert several | {"ttft_ms"} <= set(together["undetermined"])
    assert "tokens_per_s_per_user_bound" not in together["undetermined"]


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
        ("plan", "llama-3.1-70b", "--on", "wse-3", "--rate", "5/s", "--load", "1"),
    ],
)
def test_tables_mark_the_ttft_of_a_wafer_and_say_why(command, capsys, monkeypatch):
    ran = run_once(*command, capsys=capsys, monkeypatch=monkeypatch)
    assert re.search(r" 7\.75\? ", ran.out)
    assert "wse-3 prefill speed is not published" in words(ran.out + ran.err)
    assert (KEY in words(ran.out)) == ("markdown" not in command)


KEY = "?: rough (unpublished figure, uncertain price or unmeasured batch) - "
WSE = ("llama-3.1-70b", "--on", "wse-3")
CORSAIR = ("llama-3.1-8b", "--on", "d-matrix-corsair", "--price", "d-matrix-corsair=3")


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        # A count of replicas turns with how fast they take prompts, and so does what they cost.
        # Of requests at random the TTFT is another, and as unsure.
        (
            ("plan", *WSE, "--rate", "5/s"),
            r" \d\? wse-3, \$[\d,]+\? per month.* p99 ms .* <\d+\.?\d*\? <\d\.\d+\? .* [\d,]+\? - key",
        ),
        (("plan", *WSE), r" \d\.\d+\? pp"),
        (("frontier", *WSE), r" 0\.\d+\? "),
        (("compare", *WSE, "--explain"), r"TTFT = .* = 6\.\d+\? ms"),
        (("compare", *CORSAIR, "--batch", "8"), r" \d+\.\d\? \d+\.\d\d\.\.\d+"),
        (("frontier", *CORSAIR), r" \d+\.\d\? \d+\.\d\.\.\d+"),
        thorough(("fastmode", *CORSAIR, "--batch", "8", "--speedup", "1.2"), r" 0\.\d+x\? "),
        (("fastmode", *CORSAIR, "--curve", "--speedup", "1.1"), r" \d\.\d+x\? "),
    ],
)
def test_each_table_marks_what_is_undetermined_and_says_so_in_its_key(
    command, printed, capsys, monkeypatch
):
    shown = words(run_once(*command, capsys=capsys, monkeypatch=monkeypatch).out)
    assert re.search(printed, shown)
    assert KEY in shown


@pytest.mark.parametrize(
    ("kind", "asked", "label", "note"),
    [
        (
            "speed",
            CORSAIR[:3],
            "d-matrix-corsair ?",
            "Speeds of d-matrix-corsair are undetermined (marked ?)",
        ),
        (
            "price",
            CORSAIR,
            "d-matrix-corsair ?",
            "Speeds of d-matrix-corsair are undetermined (marked ?)",
        ),
        (
            "step",
            CORSAIR[:3],
            "d-matrix-corsair ?",
            "Speeds of d-matrix-corsair are undetermined (marked ?)",
        ),
        ("roofline", WSE, "wse-3, prefill ?", "wse-3 prefill speed is not published"),
        ("price", WSE, "wse-3", "No public benchmark shows wse-3 serving several users"),
        ("frontier", WSE, "wse-3", "No public benchmark shows wse-3 serving several users"),
    ],
)
def test_charts_say_what_is_undetermined(kind, asked, label, note, capsys, monkeypatch):
    shown = words(run_once("plot", kind, *asked, capsys=capsys, monkeypatch=monkeypatch).out)
    assert label in shown
    assert note in shown
    assert f"bound of {label}" not in shown or "?" not in label


def test_a_speed_under_an_engine_that_nothing_was_fitted_on_is_undetermined():
    (record,) = compare_records([outcome("llama-3.1-8b", "d-matrix-corsair")])
    assert {"tokens_per_s_per_user", "tpot_ms", "ttft_ms"} <= set(record["undetermined"])
    assert "tokens_per_s_per_user_bound" not in record["undetermined"]


def test_the_records_of_a_plan_list_what_a_count_of_replicas_moves(capsys, monkeypatch):
    """With another rate of prefill each of these is another number; without a rate few are."""

    def unsure(*more):
        command = ("plan", *WSE, *more, "--format", "json")
        (plan,) = json.loads(run_once(*command, capsys=capsys, monkeypatch=monkeypatch).out)[
            "records"
        ]
        return set(plan["undetermined"]) & COUNTED

    assert unsure("--rate", "5/s") == COUNTED
    assert unsure() == {"cost", "service_ttft_ms"}


COUNTED = {"replicas", "chips_total", "usd_per_month", "cost", "service_ttft_ms"}
