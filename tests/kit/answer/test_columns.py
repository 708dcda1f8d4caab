"""Records hold what the contract lists, and what the data dictionary and the schema say of them."""

import importlib.util
import json
import re
from itertools import groupby

import pytest

from fastcalc import __version__
from fastcalc.features import dictionary
from fastcalc.grid.columns import pick
from fastcalc.kit.answer import record_tables
from fastcalc.kit.answer.point_records import KEYS
from tests.helpers import ROOT, run, run_once, sweep

DOCS = ROOT / "docs"

CONTRACT = """
hardware model engine chips tp pp ep dp weight_format kv_format batch prompt_tokens output_tokens
context_tokens speculation_tokens_per_pass fits placement min_chips max_batch weights_gb kv_gb
memory_used_fraction tokens_per_s_per_user tokens_per_s_per_user_low tokens_per_s_per_user_high
tokens_per_s_per_user_bound tokens_per_s_total tokens_per_s_per_chip tpot_ms ttft_ms request_s
limiter usd_per_mtok_input usd_per_mtok_output usd_per_mtok_total joules_per_token warnings
"""
"""Keys that scripts rely on, in their order; others may follow."""

SMALL = ("llama-3.1-8b", "--on", "h100-sxm")
COMMANDS = {
    "compare": ("compare", *SMALL, "--batch", "1,100000"),
    "frontier": ("frontier", *SMALL, "--max-chips", 2),
    "sweep": ("sweep", *SMALL, "--batch", "1,100000", "--prompt", 1000, "--output", 100),
    "fit": ("fit", *SMALL, "--batch", "1,100000"),
    "plan": ("plan", *SMALL, "--rate", "5/s", "--ttft", "1s"),
    "sensitivity": ("sensitivity", *SMALL),
    "fastmode": ("fastmode", *SMALL),
    "fastmode --curve": ("fastmode", *SMALL, "--curve"),
}


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *args: run_once(*args, capsys=capsys, monkeypatch=monkeypatch)


@pytest.fixture(scope="module")
def refresh():
    spec = importlib.util.spec_from_file_location("refresh", DOCS / "schema" / "refresh.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_records_begin_with_the_keys_of_the_contract():
    contract = tuple(CONTRACT.split())
    assert KEYS[: len(contract)] == contract


def test_a_key_means_the_same_in_every_command_that_evaluates_deployments():
    meanings = {}
    for command in ("compare, frontier, sweep", "fit", "plan", "fastmode"):
        for column in dictionary.COMMANDS[command]:
            meaning = column.unit, column.meaning
            assert meanings.setdefault(column.key, meaning) == meaning, column.key


def test_the_shipped_data_dictionary_and_schema_are_current(refresh):
    """``python docs/schema/refresh.py`` writes them."""
    assert (DOCS / "records.md").read_text(encoding="utf-8") == refresh.data_dictionary()
    schema = (DOCS / "schema" / "records.schema.json").read_text(encoding="utf-8")
    assert schema == refresh.records_schema()


def test_every_key_says_its_unit_and_what_it_is(refresh):
    for columns in refresh.COMMANDS.values():
        assert all(column.unit and column.meaning for column in columns)
        assert len({column.key for column in columns}) == len(columns)


PER = {
    "usd_per_mtok": "USD/Mtok",
    "g_co2_per_mtok": "g/Mtok",
    "usd_per_hour": "USD/h",
    "usd_per_month": "USD/month",
    "usd_a_month": "USD/month",
    "kwh_per_month": "kWh/month",
    "tokens_per_month": "tokens/month",
    "usd_per_request": "USD/request",
    "usd_per_gb_month": "USD/GB/month",
    "joules_per_token": "J/token",
}
"""Unit by what a key says."""


def test_the_unit_of_a_rate_is_what_its_key_says(refresh):
    named = set()
    for columns in refresh.COMMANDS.values():
        for one in columns:
            if one.key.endswith(("_change", "_elasticity")):
                continue
            for words, unit in PER.items():
                if words in one.key:
                    named.add(words)
                    assert one.unit == unit, one.key
            if one.unit == "USD":
                assert not re.search("_per_|_a_", one.key), one.key
    assert named == PER.keys()


DOCUMENTS = {
    **COMMANDS,
    "check": ("check", str(DOCS.parent / "hardware" / "wse-3.yaml")),
    "check --explain": ("check", "--explain", "HW041"),
    "list": ("list", "engines"),
    "diff": ("diff", "h100-sxm", "h200-sxm"),
    "decide": ("decide", "opus", "opus-fast"),
    "validate": ("validate", str(DOCS / "examples" / "my-runs.csv")),
}


@pytest.mark.parametrize(
    "command", sweep(DOCUMENTS, lambda name: name.startswith(("fastmode", "sensitivity", "plan")))
)
def test_json_says_what_wrote_it_and_on_which_day(command, capsys, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795348800")  # 2026-11-22, noon
    words = (*DOCUMENTS[command], "--format", "json")
    first = run(*words, capsys=capsys, monkeypatch=monkeypatch).out
    document = json.loads(first)
    assert list(document)[:3] == ["schema", "version", "generated"]
    assert (document["version"], document["generated"]) == (__version__, "2026-11-22")
    assert run(*words, capsys=capsys, monkeypatch=monkeypatch).out == first


@pytest.mark.parametrize("epoch", ["99999999999999999999", "\N{SUPERSCRIPT TWO}", "soon", "1.5"])
def test_a_day_that_is_none_is_refused(epoch, capsys, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    ran = run("list", "engines", "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")
    assert "SOURCE_DATE_EPOCH: " in ran.err
    assert "is not a time in seconds since 1970" in ran.err


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command", sweep(COMMANDS, lambda name: name.startswith(("fastmode", "sensitivity")))
)
def test_json_keeps_to_the_schema_and_csv_to_its_order(command, fastcalc):
    document = json.loads(fastcalc(*COMMANDS[command], "--format", "json").out)
    schema = json.loads((DOCS / "schema" / "records.schema.json").read_text(encoding="utf-8"))
    assert document["schema"] == schema["properties"]["schema"]["const"]
    kinds = schema["definitions"]
    properties = kinds[command if command in kinds else "compare"]["properties"]
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}
    assert document["records"]
    for record in document["records"]:
        assert list(record) == list(properties)
        for key, value in record.items():
            kind = properties[key]["type"]
            if kind == "array" or value is not None:
                assert isinstance(value, types[kind if kind == "array" else kind[0]]), key
    header, *_ = fastcalc(*COMMANDS[command], "--format", "csv").out.splitlines()
    assert header.split(",") == list(properties)


@pytest.mark.parametrize(
    ("record", "cell"),
    [
        ({"fits": True, "limiter": "link", "min_chips": 1, "chips": 2}, "link"),
        ({"fits": False, "limiter": "capacity", "min_chips": 4, "chips": 2}, "needs 4"),
        ({"fits": False, "limiter": "capacity", "min_chips": 2, "chips": 2}, "fits on 2"),
        ({"fits": False, "limiter": "capacity", "min_chips": None, "chips": 2}, "too large"),
        (  # memory holds it, and the engine starts with two chips alone
            {"fits": False, "limiter": "capacity", "min_chips": 2, "chips": 1}
            | {"memory_used_fraction": 1.0, "max_batch": 0},
            "does not start",
        ),
        (  # more sequences than the engine decodes at a time
            {"fits": False, "limiter": "capacity", "min_chips": 2, "chips": 1}
            | {"memory_used_fraction": 1.0, "max_batch": 8},
            "needs 2",
        ),
        (
            {"fits": False, "limiter": "capacity", "min_chips": 2, "chips": 1}
            | {"memory_used_fraction": 1.01, "max_batch": 0},
            "needs 2",
        ),
        (
            {
                "fits": False,
                "limiter": "capacity",
                "min_chips": None,
                "chips": 2,
                "memory_used_fraction": 0.4,
            },
            "does not start",
        ),
    ],
)
def test_the_limit_of_a_batch_that_does_not_fit_is_the_chips_that_hold_it(record, cell):
    assert record_tables.row(pick("limiter"), record) == {"limiter": cell}


LEAVING = {
    "compare.answer.OUTCOME_COLUMNS": "joules_per_token | served_tokens_per_s_total | tpot_in_traffic_ms | tpot_ms usd_per_mtok_input | ttft_ms | tokens_per_s_total | usd_per_mtok_output | usd_per_mtok_total | limiter",
    "compare.answer._FIRST_COLUMNS": "lives | ttft_ms | tokens_per_s_total | usd_per_mtok_output | limiter",
    "fastmode.records.TABLE": "tokens_per_s_per_user_bound usd_per_mtok_output | tokens_per_s_per_user_low",
    "sensitivity.answer.TABLE": "max_batch_change | usd_per_mtok_output_change | ttft_ms_change",
    "infer.answer._TABLE": "share_of_box | markup_low | active_low | batch_low",
    "fit.answer._SHOWN": "chips_by_capacity | chips_by_whole_layers | memory_used_fraction",
    "frontier.answer._COLUMNS": "tokens_per_s_per_user_bound | usd_per_mtok_total | tokens_per_s_per_user_low layout",
    "caches.answer.SHOWN": "mean_ttft_ms | prefix_loaded | computed_prompt_tokens | cache_tokens | requests_limited_by",
    "plan.page_tables._COLUMNS": "service_output_tokens_per_s | bound | utilization | kv_format | speculation_tokens_per_pass batch | weight_format requests_in_flight | prompts service_g_co2_per_mtok | service_tpot_ms_low",
    "plan.class_table.CLASS_COLUMNS": "prompt output | request_p99_s",
}  # fmt: skip
"""Columns that leave a narrow table, the least needed first; those between two bars leave by position."""


@pytest.mark.parametrize("table", LEAVING)
def test_the_least_needed_columns_leave_a_narrow_table_first(table):
    """What a screen is about stays in any case: names, chips, the number that decides."""
    module, _, name = table.rpartition(".")
    columns = getattr(importlib.import_module(f"fastcalc.features.{module}"), name)
    groups = groupby(
        sorted(
            (column for column in columns if column.drop_priority), key=lambda c: -c.drop_priority
        ),
        key=lambda column: column.drop_priority,
    )
    assert (
        " | ".join(" ".join(column.key for column in group) for _, group in groups)
        == LEAVING[table]
    )
