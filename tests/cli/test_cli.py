"""The command line: the contract of records, exit codes, and what a user sees."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from importlib import import_module

import pytest
import typer

from fastcalc.catalogue.store import Catalogue
from fastcalc.cli import _usage_error
from fastcalc.errors import InputError
from fastcalc.features import COMMANDS, request_of
from fastcalc.features.compare.request import Compare
from fastcalc.features.entries.request import ShowEntry
from fastcalc.features.fastmode.request import Fastmode
from fastcalc.features.fit.request import FitMemory
from fastcalc.features.plan.request import FindPlans
from fastcalc.kit.answer import output
from fastcalc.kit.request.fields import declared
from tests.helpers import run, thorough, words

CONTRACT = (
    "hardware, model, engine, chips, tp, pp, ep, dp, weight_format, kv_format, batch, "
    "prompt_tokens, "
    "output_tokens, context_tokens, speculation_tokens_per_pass, fits, placement, min_chips, "
    "max_batch, "
    "weights_gb, kv_gb, memory_used_fraction, tokens_per_s_per_user, tokens_per_s_per_user_low, "
    "tokens_per_s_per_user_high, tokens_per_s_per_user_bound, tokens_per_s_total, "
    "tokens_per_s_per_chip, tpot_ms, ttft_ms, request_s, limiter, usd_per_mtok_input, "
    "usd_per_mtok_output, usd_per_mtok_total, joules_per_token, warnings"
).split(", ")


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def call(*args, columns=100):
        monkeypatch.setenv("COLUMNS", str(columns))
        return run(*args, capsys=capsys, monkeypatch=monkeypatch)

    return call


def records(text):
    def refuse(name):
        raise AssertionError(f"{name} in JSON")

    document = json.loads(text, parse_constant=refuse)
    assert document["schema"] == "fastcalc/1"
    return document["records"]


def test_records_match_the_contract_key_by_key(fastcalc):
    ran = fastcalc("compare", "--format", "json")
    assert ran.code == 0
    found = records(ran.out)
    assert len(found) == 12
    for record in found:
        assert list(record)[: len(CONTRACT)] == CONTRACT
        assert record["chips"] == record["tp"] * record["pp"] * record["dp"]
    assert "served_tokens_per_s_total" in found[0]
    assert "assumptions" in json.loads(ran.out)


def test_relations_between_keys(fastcalc):
    for record in records(
        fastcalc("compare", "llama-3.1-8b", "--batch", "1,8,32", "--format", "json").out
    ):
        speed, batch = record["tokens_per_s_per_user"], record["batch"]
        assert record["tokens_per_s_total"] == pytest.approx(batch * speed, rel=1e-10)
        assert record["tokens_per_s_per_chip"] == pytest.approx(batch * speed / record["chips"])
        assert record["tpot_ms"] == pytest.approx(1e3 / speed)
        assert record["request_s"] == pytest.approx(
            (record["ttft_ms"] + 999 * record["tpot_ms"]) / 1e3
        )
        low, high = record["tokens_per_s_per_user_low"], record["tokens_per_s_per_user_high"]
        assert low <= speed <= high <= record["tokens_per_s_per_user_bound"]


def test_rows_that_do_not_fit_have_no_rates(fastcalc):
    request = ("compare", "--on", "h100-sxm", "--chips", "2", "--format", "json")
    row = records(fastcalc(*request).out)[-1]
    assert row["batch"] == 128
    assert row["fits"] is False
    assert row["limiter"] == "capacity"
    assert row["min_chips"] == 4
    assert row["memory_used_fraction"] > 1
    null = [
        key
        for key in row
        if key.startswith(("tokens_per_s", "tpot", "ttft", "usd_per_mtok", "served"))
    ]
    assert len(null) > 10
    assert all(row[key] is None for key in [*null, "request_s", "joules_per_token"])
    for key in ("max_batch", "weights_gb", "kv_gb"):
        assert row[key] is not None


def test_ideal_has_no_range(fastcalc):
    for row in records(fastcalc("compare", "--engine", "ideal", "--format", "json").out):
        if row["fits"]:
            assert row["tokens_per_s_per_user"] == row["tokens_per_s_per_user_bound"]
        assert row["tokens_per_s_per_user_low"] is None
        assert row["tokens_per_s_per_user_high"] is None


def test_csv_holds_the_same_records(fastcalc):
    as_json = records(fastcalc("compare", "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(fastcalc("compare", "--format", "csv").out)))
    assert [list(row) for row in rows] == [list(record) for record in as_json]
    for row, record in zip(rows, as_json, strict=True):
        for key, value in record.items():
            if value is None:
                assert row[key] == ""
            elif isinstance(value, bool):
                assert row[key] == str(value).lower()
            elif isinstance(value, (int, float)):
                assert float(row[key]) == value
            elif isinstance(value, str):
                assert row[key] == value


def test_markdown(fastcalc):
    lines = fastcalc("compare", "--format", "markdown").out.splitlines()
    assert lines[0].startswith("| model ")
    assert set(lines[1]) == {"|", "-"}
    assert len(lines) == 14
    assert len({line.count("|") for line in lines}) == 1


def test_notes_of_records_go_to_standard_error(fastcalc):
    ran = fastcalc("compare", "--format", "csv")
    assert "prefill speed is not published" in ran.err
    assert "is not published" not in ran.out.splitlines()[0]


@pytest.mark.thorough
def test_output_is_the_same_every_time(fastcalc):
    for format_ in ("table", "json", "csv"):
        first = fastcalc("compare", "--format", format_).out
        assert fastcalc("compare", "--format", format_).out == first


@pytest.mark.parametrize("columns", [60, 80, 100, 140])
@pytest.mark.parametrize("args", [("compare",), ("fit",), ("list", "hardware"), ("show", "wse-3")])
def test_tables_stay_inside_the_terminal(fastcalc, args, columns):
    ran = fastcalc(*args, columns=columns)
    assert ran.code == 0
    for line in ran.out.splitlines():
        assert len(line) <= max(columns, 80) or "http" in line, line
        assert "…" not in line
        assert line == line.rstrip()


def test_the_table_at_80_columns_has_every_promised_column(fastcalc):
    head = fastcalc("compare", columns=80).out.split("batch per user")[1].splitlines()[0]
    for column in ("range", "bound", "total", "ms", "output", "by"):
        assert column in head
    text = words(fastcalc("compare", "--wide", columns=80).out)
    for column in ("served", "input", "traffic", "J per"):
        assert column in text
    for promised in (
        "On-demand price per chip-hour: ",
        "(Nebius, 2026)",
        "mean context 1,500",
        "Engine vllm",
        "next:",
    ):
        assert promised in text


def test_the_first_screen_is_one_screen_that_answers(fastcalc):
    lines = fastcalc("compare", columns=100).out.splitlines()
    assert len(lines) <= 34  # two of them for prices, one for their mark, two for public speeds
    assert max(map(len, lines)) <= 100
    rows = [line for line in lines if " x " in line]
    assert [row.split()[:3] for row in rows] == [
        ["4", "x", "h100-sxm"],
        ["1", "x", "gb200"],
        ["2", "x", "gb200"],  # each batch has the chips that hold it
        ["4", "x", "wse-3"],
        ["5", "x", "wse-3"],
        ["6", "x", "wse-3"],
    ]
    assert lines[0].startswith("Fastest: four wse-3 at batch 1, ")
    every = fastcalc("compare", "--notes", columns=100).out.splitlines()
    hidden = int(next(line for line in lines if "--notes prints" in line).split()[3])
    few, more = (sum(line.startswith("- ") for line in some) for some in (lines, every))
    assert more - 1 == hidden  # and the key
    assert few <= 6


@pytest.mark.parametrize(
    ("words_", "start"),
    [
        ("llama-3.1-8b --on h100-sxm --batch 1,64", "At batch 1 one h100-sxm gives one user "),
        ("deepseek-r1 --on h100-sxm --batch 1", "At batch 1, 16 h100-sxm give one user "),
        (
            "llama-3.1-8b --on h100-sxm --batch 1 --engine",
            "At batch 1 one h100-sxm gives one user ",
        ),
        (
            "llama-3.1-8b --on h100-sxm,h200-sxm --batch 1 --engine",
            "Fastest: one h200-sxm at batch 1, ",
        ),
        (
            "deepseek-r1 --on h100-sxm --chips 1",
            "deepseek-r1 does not fit on one h100-sxm at batch 1.",
        ),
        ("llama-3.1-8b qwen3-32b --on h200-sxm --batch 8", "At batch 8 one h200-sxm gives"),
    ],
)
def test_the_first_sentence_of_other_comparisons(fastcalc, tmp_path, words_, start):
    engine = tmp_path / "mine.yaml"
    engine.write_text("id: mine\nname: Mine\nfitted_on: nothing\n")  # no ranges
    more = [engine] if words_.endswith("--engine") else []
    page = words(fastcalc("compare", *words_.split(), *more).out)
    assert page.startswith(start)
    assert not more or "undetermined)" in page.partition(".")[0] + page.partition(";")[0]


@pytest.mark.thorough
def test_fit_says_where_and_exits_1_when_nothing_fits(fastcalc):
    ran = fastcalc("fit", "deepseek-r1", "--on", "h100-sxm,h200-sxm,wse-3", "--format", "json")
    assert ran.code == 0
    chips = {record["hardware"]: record["chips"] for record in records(ran.out)}
    assert chips == {"h100-sxm": 16, "h200-sxm": 8, "wse-3": 21}
    assert fastcalc("fit", "deepseek-r1", "--on", "h100-sxm", "--chips", "8").code == 1
    assert fastcalc("fit", "deepseek-r1", "--on", "h100-sxm,h200-sxm", "--chips", "8").code == 0


def test_show_model_holds_what_scripts_ask_for(fastcalc):
    shown = json.loads(fastcalc("show", "llama-3.1-70b", "--format", "json").out)
    assert shown["id"] == "llama-3.1-70b"
    assert shown["total_parameters"] == shown["active_parameters"] == 70_553_706_496
    assert shown["weights_gb"] == 141.107412992
    assert shown["kv_bytes_per_token"] == 327_680
    assert shown["flops_per_token"] == 139_006_066_688
    assert shown["layers"] == 80


@pytest.mark.thorough
def test_lists_and_comparisons_flag_what_is_not_a_read_fact(fastcalc):
    listed = words(fastcalc("list", "models").out)
    assert "Hypothetical: dense-20b, dense-40b, frontier-1t, frontier-5t, spark-120b" in listed
    assert "Confidence memory: command-r-plus" in listed
    compared = fastcalc("compare", "command-r-plus", "--on", "h200-sxm", "--batch", "1").out
    assert "The shape of command-r-plus has confidence 'memory'" in words(compared)
    rows = json.loads(fastcalc("list", "models", "--format", "json").out)["records"]
    assert {row["id"] for row in rows if row["hypothetical"]} == {
        "dense-20b",
        "dense-40b",
        "frontier-1t",
        "frontier-5t",
        "spark-120b",
    }


def test_show_model_lists_every_part_of_its_layers(fastcalc):
    shown = words(fastcalc("show", "minimax-m3").out)
    assert (
        "57 blocks[1].attention gqa: heads 64, kv_heads 4, head_dim 128, indexer (heads 4, "
        "head_dim 128," in shown
    )
    assert "in addition to the core 865,567,232 parameters of vision tower" in shown


def test_show_chip_is_in_si_with_units_in_the_keys(fastcalc):
    shown = json.loads(fastcalc("show", "wse-3", "--format", "json").out)
    assert shown["memory_bandwidth_bytes_per_s"] == 21e15
    assert shown["fabric_bandwidth_bytes_per_s"] == 26.75e15
    assert shown["memory_capacity_bytes"] == 44e9
    assert shown["peak_fp8_flop_per_s"] is None
    h100 = json.loads(fastcalc("show", "h100-sxm", "--format", "json").out)
    assert round(h100["critical_batch_16bit"]) == 295


def test_show_says_what_a_chip_lacks_and_what_that_costs(fastcalc):
    """An Apple M4 has neither links nor a rent nor a stated power; an H100 has all three."""
    lacking = words(fastcalc("show", "apple-m4").out)
    assert "without links only one chip can be used; without an hourly price, $ columns" in lacking
    assert "without power, joules are empty" in lacking
    assert "- without" not in words(fastcalc("show", "h100-sxm").out)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["hardware", "models", "engines"])
def test_lists(fastcalc, kind):
    assert fastcalc("list", kind).code == 0
    assert len(records(fastcalc("list", kind, "--format", "json").out)) >= 3
    assert fastcalc("list", kind, "--format", "csv").code == 0
    assert fastcalc("list", kind, "--format", "markdown").code == 0


def test_a_list_is_narrowed_by_what_files_state(fastcalc):
    names = Catalogue().names("hardware")
    chips = [Catalogue().hardware(name) for name in names]
    expected = [c.id for c in chips if c.kind == "gpu" and c.vendor == "AMD" and c.price.rent]
    narrowed = ("list", "hardware", "--kind", "gpu", "--vendor", "amd", "--with", "price")
    shown = fastcalc(*narrowed, "--format", "csv").out
    listed = [row["id"] for row in csv.DictReader(io.StringIO(shown))]
    assert set(expected) <= set(listed) <= {c.id for c in chips if c.vendor == "AMD"}
    assert all(Catalogue().hardware(id_).price.model_fields_set for id_ in listed)
    assert "did you mean 'gpu'" in fastcalc("list", "hardware", "--kind", "gpus").err
    assert "applies to hardware, not to models" in fastcalc("list", "models", "--vendor", "amd").err


def test_a_sweep_in_a_terminal_is_a_table_of_what_differs(fastcalc, monkeypatch):
    monkeypatch.setattr("fastcalc.features.sweep.run.is_terminal", lambda: True)
    sweep = ("sweep", "llama-3.1-8b", "--on", "h100-sxm", "--batch", "1..300", "--prompt", "1k,2k")
    lines = fastcalc(*sweep).out.splitlines()
    assert lines[-1] == "the first 200 of 600 points; -o sweep.csv writes all columns"
    assert len([line for line in lines if line.startswith("h100-sxm")]) == 200
    assert max(map(len, lines)) <= 100
    monkeypatch.setattr("fastcalc.features.sweep.run.is_terminal", lambda: False)
    assert fastcalc(*sweep, "--format", "table").out.splitlines() == lines
    assert fastcalc(*sweep).out.startswith("hardware,model,engine,")
    few = fastcalc(*sweep[:5], "1,2", *sweep[6:], "--format", "table").out
    assert "prompt_tokens" in few
    assert "output_tokens" not in few


def test_what_is_longer_than_a_terminal_is_paged_and_nothing_else(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("pydoc.pager", shown.append)
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((80, 24)))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(output, "_reads_a_terminal", lambda: True)
    output.write("line\n" * 23, None)
    assert capsys.readouterr().out == "line\n" * 23
    output.write("line\n" * 24, None)
    assert (shown, capsys.readouterr().out) == (["line\n" * 24], "")


@pytest.mark.parametrize("name", ["h100-sxm", "glm-4.7", "vllm", "ideal"])
def test_show_every_kind(fastcalc, name):
    assert name in fastcalc("show", name).out
    assert json.loads(fastcalc("show", name, "--format", "json").out)["id"] == name


WRONG_REQUESTS = [
    (("compare", "llma-3.1-70b"), "did you mean llama-3.1-70b"),
    (("compare", "--on", "h100-sxn"), "did you mean h100-sxm"),
    (("compare", "--on", ","), "names nothing"),
    (("compare", "--batch", "0"), "from 1 to"),
    (("compare", "--batch", "-3"), "from 1 to"),
    (("compare", "--batch", "1e30"), "from 1 to"),
    (("compare", "--batch", "nan"), "from 1 to"),
    (("compare", "--batch", "9..1"), "runs downwards"),
    (("compare", "--batch", "1..1000000"), "more than 10,000"),
    (("compare", "--prompt", "0"), "from 1 to"),
    (("compare", "--prompt", "nan"), "--prompt 'nan' is not a whole number from 1 to"),
    (("fit", "--prompt", "1e30"), "--prompt '1e30' is not a whole number from 1 to"),
    (("frontier", "llama-3.1-8b", "--output", "1.5"), "write for example 1000 or 8k"),
    (("plan", "llama-3.1-8b", "--prompt", "-5"), "--prompt '-5' is not a whole number from 1 to"),
    (("decide", "--tokens", "0"), "write for example 1000 or 8k"),
    (("decide", "a=tokens=0,speed=9"), "a: tokens 0 is not a whole number from 1"),
    (("compare", "--tp", "1e30"), "--tp '1e30' is not a whole number; write for example 8"),
    (("frontier", "llama-3.1-8b", "--max-chips", "9" * 5000), "--max-chips"),
    (("compare", "--utilization", "x"), "--utilization 'x' is not a share; write for example"),
    (("frontier", "llama-3.1-8b", "--max-chips", "0"), "from 1 to 4,096; write for example"),
    (("fastmode", "llama-3.1-8b", "--speedup", "0"), "write for example 2.5"),
    (("plan", "llama-3.1-8b", "--max-chips", "0"), "from 1 to 1,000,000; write for example 8"),
    (
        ("plan", "llama-3.1-8b", "--ttft", "0"),
        "'0' is not a time with its unit from 1e-12 to 1e+09 s; write",
    ),
    (("plan", "llama-3.1-8b", "--tpot", "0ms"), "'0ms' is not a time with its unit from 1e-12"),
    (("plan", "llama-3.1-8b", "--tpot", "inf"), "write for example 25ms or 1s"),
    (("plan", "llama-3.1-8b", "--rate", "0"), "write for example 20/s or 300/min"),
    (("plan", "llama-3.1-8b", "--min-speed", "inf"), "--min-speed 'inf' is not a number"),
    (("plan", "llama-3.1-8b", "--top", "0"), "from 1 to 1,000,000; write for example 5"),
    *(
        ((*command, flag, ""), f"{flag} names nothing")
        for flag in ("--weights", "--kv")
        for command in (("compare",), ("sweep",), ("plan", "llama-3.1-8b"), ("show", "qwen3-8b"))
    ),
    (("sweep", "--context", ""), "--context names nothing"),
    (("sweep", "--speculate", ""), "--speculate names nothing"),
    (("compare", "-o", "x" * 300), "cannot be written: file name too long"),
    *(
        ((*command, "--on", "nvidia,-nvidia"), "--on nvidia,-nvidia leaves no chip")
        for command in (("compare",), ("sweep",), ("plan", "llama-3.1-8b"), ("fit",))
    ),
    (("compare", "--output", "-1"), "from 1 to"),
    (("compare", "--context", "131073"), "exceeds the 131,072 tokens"),
    (("compare", "--prompt", "131000"), "exceeds the 131,072 tokens"),
    (("compare", "--weights", "fp9"), "did you mean 'fp8'"),
    (("compare", "--kv", "nan"), "KV cache format"),
    (("compare", "--engine", "vlm"), "did you mean vllm"),
    (("compare", "--chips", "0"), "from 1 to"),
    (("compare", "--tp", "3"), "does not divide"),
    (("compare", "--on", "wse-3", "--tp", "2"), "pipelines whole layers"),
    (("compare", "--on", "wse-3", "--chips", "4", "--tp", "3"), "pipelines whole layers"),
    (("fit", "--on", "wse-3", "--chips", "4", "--pp", "2"), "--chips 4 is not --pp 2"),
    (("compare", "--on", "h100-sxm", "--tp", "12"), "leaves the link domain"),
    (("compare", "--on", "h100-sxm", "--pp", "81"), "exceeds the 80 layers"),
    (("compare", "--on", "h100-sxm", "--ep", "2"), "no routed experts"),
    (("compare", "mixtral-8x7b", "--on", "h100-sxm", "--tp", "2", "--ep", "3"), "does not suit"),
    (("compare", "--on", "h100-sxm", "--chips", "6", "--tp", "4"), "is not tp x pp x dp"),
    (("compare", "--price", "h100-sxm=-1"), "CHIP=USD"),
    (("compare", "--price", "h100-sxm=nan"), "CHIP=USD"),
    (("compare", "--price", "b200=3"), "not compared here"),
    (("compare", "--price-basis", "clod"), "did you mean 'cloud'"),
    (("compare", "--utilization", "0"), "share"),
    (("compare", "--utilization", "inf"), "share"),
    (("compare", "--prefix-hit", "2"), "share"),
    (("compare", "--speculate", "0"), "0 is not a number of tokens per step from 1 to 100"),
    (("compare", "--speculate", "-2"), "-2 is not a number of tokens per step"),
    (("compare", "--speculate", "1e999"), "inf is not a number of tokens per step"),
    (("compare", "--speculate", "0.8"), "for acceptance 0.8 write for example 0.8x3"),
    (("compare", "--speculate", "1.2x3"), "for tokens per step write 1.2/3"),
    (("compare", "--speculate", "0x3"), "acceptance 0 is not above 0"),
    (("compare", "--speculate", "0.8x0"), "not a whole number from 1 to 1,000"),
    (("compare", "--speculate", "0.8x2.5"), "not a whole number from 1 to 1,000"),
    (("compare", "--speculate", "0.8x1e999"), "not a whole number from 1 to 1,000"),
    (("compare", "--speculate", "5/3"), "a step yields at most the draft tokens plus one, 4 here"),
    (("compare", "--speculate", "x"), "is not understood: write tokens per step (2.5)"),
    (("compare", "--speculate", "nan"), "is not understood"),
    (("compare", "--speculate", ""), "is not understood"),
    (("fit", "--speculate", "2,5"), "is not understood"),
    (("compare", "--explain", "--format", "csv"), "use json"),
    (("compare", "--format", "jsn"), "did you mean 'json'"),
    (("compare", "--nonsense"), "--nonsense"),
    (("compare", "no/such/file.yaml"), "no such file"),
    (("compare", "-o", "no/such/x.csv"), "cannot be written: no folder is called no/such"),
    (("plan", "no-model", "-o", "no/such/x.csv"), "no folder is called"),  # before any work
    (("compare", "--hardware-dir", "nowhere"), "is not a folder"),
    (("show", "nothing-like-it"), "nothing is called"),
    (("show", "h100-sxm", "--weights", "fp8"), "--weights and --kv apply to models"),
    (("list", "hardwear"), "did you mean 'hardware'"),
    (("compute",), "compute"),
    (("explain", "x"), "write 'fastcalc compare MODEL --on CHIPS --explain'"),
    (
        ("claims", "--explain"),
        "--explain needs a value, ID: Explain one claim in full, such as 30.",
    ),
    (("compare", "-o"), "-o needs a value"),
    (("plan", "qwen3-8b", "--emit", "-o", "x.sh"), "--emit needs a value, vllm|sglang|"),
    (("plan", "qwen3-8b", "--emit", "--wide"), "--emit needs a value, vllm|sglang|"),
    (("compare", "--", "--on", "--batch"), "no model is called '--on'"),
    (("compare", "qwen3-8b", "--on", "--batch", "4"), "--on needs a value, CHIPS: "),
    (("compare", "qwen3-8b", "--kv", "--batch", "4"), "--kv needs a value, "),
    (("plan", "qwen3-8b", "--rate", "--on", "h100-sxm"), "--rate needs a value, N/s: "),
    (("frontier",), "MODEL is missing; write for example 'fastcalc frontier "),
    (("infer", "50"), "infer does not take '50'; write for example 'fastcalc infer "),
    (("infer", "50", "60"), "infer does not take '50 60'; "),
    (
        ("list", "hardware", "--on", "h100"),
        "list has no option --on, which compare, fit, fastmode ",
    ),
    (
        ("fit", "--rate", "4"),
        "fit has no option --rate, which plan has; write for example 'fastcalc",
    ),
    (("compare", "--model", "glm-4.7"), "MODEL is given without --model; write for example"),
    (
        ("list", "--entries"),
        "hardware|models|engines is given without --entries; write for example",
    ),
    (("fastmode", "--model", "glm-4.7"), "MODEL is given without --model; write for example"),
    (("infer", "--path", "x"), "No such option: --path"),
]


@pytest.mark.parametrize(
    ("args", "sentence"), WRONG_REQUESTS, ids=lambda value: " ".join(value)[:40]
)
def test_a_wrong_request_gets_one_sentence(fastcalc, args, sentence):
    ran = fastcalc(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert sentence in ran.err
    assert ran.err.startswith("fastcalc: ")
    assert ran.err.count("\n") == 1


def test_a_folder_for_a_file_and_an_output_that_is_a_folder(fastcalc, tmp_path):
    assert "is a folder" in fastcalc("compare", "--on", f"{tmp_path}/").err
    assert "is a folder" in fastcalc("compare", "-o", tmp_path).err


def test_a_file_that_may_not_be_written_is_not_replaced(fastcalc, tmp_path, monkeypatch):
    kept = tmp_path / "kept.csv"
    kept.write_text("mine")
    monkeypatch.setattr("fastcalc.kit.answer.output.os.access", lambda _, mode: mode != os.W_OK)
    ran = fastcalc("compare", "-o", kept)
    assert ran.code == 2
    assert "may not be written" in ran.err
    assert kept.read_text() == "mine"


def test_a_file_is_written_whole_or_not_at_all(fastcalc, tmp_path, monkeypatch):
    target = tmp_path / "speeds.csv"
    target.write_text("old")
    assert fastcalc("compare", "nope", "--format", "csv", "-o", target).code == 2
    assert target.read_text() == "old"
    assert fastcalc("compare", "--format", "csv", "-o", target).code == 0
    assert target.read_text().startswith("hardware,model,")
    assert [path.name for path in tmp_path.iterdir()] == ["speeds.csv"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "asked",
    ["compare", "fit", "list engines", "show b200", "diff b200 b300", "new model x", "decide"],
)
def test_a_dash_is_standard_output_and_no_file(fastcalc, tmp_path, monkeypatch, asked):
    monkeypatch.chdir(tmp_path)
    plain = fastcalc(*asked.split()).out
    assert plain
    assert fastcalc(*asked.split(), "-o", "-").out == plain
    assert not list(tmp_path.iterdir())
    assert fastcalc(*asked.split(), "-o", "./-").out == ""
    assert (tmp_path / "-").read_text() == plain


def test_own_files_and_folders(fastcalc, tmp_path, monkeypatch):
    text = fastcalc("show", "h100-sxm").out
    assert text
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "id: mine\nname: Mine\nvendor: Me\nkind: tpu\nscope: one card\n"
        "memory:\n  - {name: HBM, capacity: 640 GB, bandwidth: 2 TB/s}\n"
        "peak: {bf16: 500 TFLOP/s}\n"
    )
    by_path = fastcalc("compare", "--on", mine, "--format", "json")
    assert by_path.code == 0
    warnings = " ".join(records(by_path.out)[0]["warnings"])
    assert "no cloud price" in warnings
    assert "has no measurements of" in warnings
    assert records(by_path.out)[0]["usd_per_mtok_total"] is None
    assert fastcalc("compare", "--on", "mine", "--hardware-dir", tmp_path).code == 0
    monkeypatch.setenv("FASTCALC_HARDWARE_DIR", str(tmp_path))
    assert fastcalc("show", "mine").code == 0
    priced = fastcalc("compare", "--on", "mine", "--price", "mine=2.5", "--format", "json")
    assert records(priced.out)[0]["usd_per_hour"] == 2.5


@pytest.mark.parametrize("kind", [thorough("table"), "json"])
def test_fit_reads_the_catalogue_no_more_often_for_more_batches(kind, fastcalc, monkeypatch):
    reads = []
    read = Catalogue.hardware
    monkeypatch.setattr(Catalogue, "hardware", lambda *args: reads.append(1) or read(*args))

    def count(batches):
        reads.clear()
        assert fastcalc("fit", "--batch", batches, "--format", kind).code == 0
        return len(reads)

    assert count("1..40+1") == count("1,2")


def test_each_batch_of_fit_has_the_layout_that_it_has_alone(fastcalc):
    """Whatever is kept from one batch to the next."""
    asked = ("fit", "llama-3.3-70b", "--on", "h100-sxm,wse-3", "--format", "json", "--batch")
    alone = [records(fastcalc(*asked, batch).out) for batch in (1, 300, 2000)]
    together = records(fastcalc(*asked, "1,300,2000").out)
    assert together == [some[chip] for chip in (0, 1) for some in alone]
    assert len({record["chips"] for record in together}) > 2


def test_a_thousand_may_be_written_short(fastcalc):
    asked = ("compare", "llama-3.1-8b", "--on", "h200-sxm", "--format", "json")
    flags = ("--prompt", "8k", "--output", "2k", "--context", "9k", "--batch", "1,1k")
    short = records(fastcalc(*asked, *flags).out)
    sizes = ("prompt_tokens", "output_tokens", "context_tokens", "batch")
    assert [[record[key] for key in sizes] for record in short] == [
        [8000, 2000, 9000, 1],
        [8000, 2000, 9000, 1000],
    ]
    opus = json.loads(fastcalc("decide", "--tokens", "2k", "--format", "json").out)["records"][0]
    assert opus["tokens_per_step"] == 2000


def test_batches_take_ranges(fastcalc):
    ran = fastcalc(
        "compare", "llama-3.1-8b", "--on", "h200-sxm", "--batch", "1..64x4,10", "--format", "json"
    )
    assert [record["batch"] for record in records(ran.out)] == [1, 4, 10, 16, 64]


def fresh(*args, **more):
    command = [sys.executable, "-m", "fastcalc", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **more)


SECTIONS = {
    "compare": "Arguments, Traffic, Formats, Deployment, Memory, Engine limits, Measurements, "
    "Prices, Output, Your own "
    "files, Options, Examples",
    "plan": "Arguments, Traffic, Latency targets, Load, Resources, Prices, Search, Formats, "
    "Deployment, Measurements, Engine limits, "
    "Memory, Servers, Output, Your own files, Options, Examples",
    "import": "Arguments, Output, Options, Examples",
    "new": "Arguments, Output, Options, Examples",
}


@pytest.mark.parametrize("command", SECTIONS)
def test_help_has_a_section_for_each_group_of_flags(command, fastcalc):
    lines = fastcalc(command, "--help").out.splitlines()
    headings = [line[:-1] for line in lines if line.endswith(":") and line[:1].isalpha()]
    assert headings == SECTIONS[command].split(", ")


@pytest.mark.parametrize(
    ("command", "next_command"),
    [("compare", "frontier"), ("fit", "compare"), ("plan", "compare"),
     thorough("fastmode --smaller none", "report"), ("frontier", "fastmode")],
)  # fmt: skip
def test_the_next_command_repeats_what_is_said_of_memory(command, next_command, fastcalc):
    memory = "--host dram=256GiB@90GB/s,link=25GB/s --host-use stream --place embedding=host"
    ran = fastcalc(*command.split(), "llama-3.1-8b", "--on", "h100-sxm", *memory.split())
    assert f"next: fastcalc {next_command} llama-3.1-8b" in ran.out
    assert all(f"--{one}" in words(ran.out) for one in memory.removeprefix("--").split(" --"))


@pytest.mark.thorough
def test_the_next_command_repeats_what_was_asked(fastcalc):
    asked = "--prompt 2000 --batch 4,9 --kv fp8 --tp 8 --set cores=132"
    out = fastcalc("compare", "llama-3.1-8b", "--on", "h100-sxm", *asked.split()).out
    assert f"next: fastcalc measure llama-3.1-8b --on h100-sxm {asked}" in words(out)
    free = asked.replace("--tp 8 ", "")
    out = fastcalc("compare", "llama-3.1-8b", "--on", "h100-sxm", *free.split()).out
    kept = "--prompt 2000 --kv fp8 --set cores=132"  # layouts and batches are what it tries
    assert f"next: fastcalc frontier llama-3.1-8b --on h100-sxm {kept}" in words(out)
    without_price = ("--on", "apple-m1", "--batch", "4,9")
    out = fastcalc("compare", "llama-3.1-8b", *without_price, "--weights", "int4").out
    kept = "--batch 4,9 --weights int4 -o report.html"
    assert f"next: fastcalc report llama-3.1-8b --on apple-m1 {kept}" in words(out)
    out = fastcalc("fit", "llama-3.1-8b", "--on", "h100-sxm", *asked.split()).out
    assert f"next: fastcalc compare llama-3.1-8b --on h100-sxm {asked}" in words(out)
    out = fastcalc("compare", "--on", "h100-sxm,wse-3").out
    assert "next: fastcalc frontier llama-3.1-70b --on h100-sxm,wse-3\n" in out
    out = fastcalc("fit", "deepseek-r1", "--on", "h100-sxm", "--chips", "2").out
    assert "next: fastcalc compare deepseek-r1 --on h100-sxm\n" in out


@pytest.mark.parametrize("command", ["compare", "fit", "plan"])
def test_chips_without_a_memory_that_is_named_are_left_out(command, fastcalc):
    asked = (command, "llama-3.1-8b", "--place", "weights=HBM3", "--format", "json", "--on")
    ran = fastcalc(*asked, "wse-3,h100-sxm")
    assert {record["hardware"] for record in records(ran.out)} == {"h100-sxm"}
    assert "wse-3 has no memory 'HBM3'" in ran.err
    assert "it is skipped" in ran.err
    ran = fastcalc(*asked, "wse-3,groq-lpu")
    assert (ran.code, ran.out) == (2, "")
    assert "wse-3 has no memory 'HBM3'" in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_every_flag_once(command, fastcalc):
    shown = re.findall(r"^  (?:-\w, )?--([a-z-]+)", fastcalc(command, "--help").out, re.M)
    names = {"everything": "all", "with_": "with"}
    expected = [
        names.get(flag, flag).replace("_", "-")
        for flag, field in declared(request_of(command)).items()
        if not ((setting := field.setting).is_argument or setting.is_hidden)
    ]
    assert sorted(shown) == sorted([*expected, "help"])


def test_flags_refuse_a_name_that_none_of_them_has():
    """`prefix_hits` for `prefix_hit` was once dropped in silence."""
    with pytest.raises(TypeError, match="prefix_hits"):
        Compare(prefix_hits=0.5)
    with pytest.raises(TypeError, match="utilization"):
        FitMemory(utilization=0.5)
    with pytest.raises(TypeError, match="model"):
        FindPlans()


def test_flags_are_frozen_fields_with_the_defaults_of_the_command_line():
    asked = Compare(models=["llama-3.1-8b"], prompt=8000)
    assert (asked.models, asked.prompt, asked.output) == (["llama-3.1-8b"], 8000, 1000)
    assert (asked.batch, FitMemory().batch) == ("1,8,32,128", "1")
    with pytest.raises(FrozenInstanceError):
        asked.prompt = 1


def test_flags_shared_with_another_command_are_carried_over():
    fastmode = Fastmode(model="m", prompt=7, prefix_hit=0.5, price=["h100-sxm=2"])
    asked = Compare.sharing(fastmode, models=["m"], batch="4")
    assert (asked.prompt, asked.prefix_hit, asked.price) == (7, 0.5, ["h100-sxm=2"])
    assert (asked.models, asked.batch, asked.on) == (["m"], "4", "h100-sxm")
    with pytest.raises(TypeError, match="batches"):
        Compare.sharing(fastmode, batches="4")


def test_flags_refuse_a_format_that_the_command_does_not_write():
    with pytest.raises(InputError, match="'csv' is unknown: one of table, json"):
        ShowEntry(name="h100-sxm", format="csv")


@pytest.mark.thorough
def test_help_and_version_and_nothing_at_all():
    for args in (["--help"], []):
        ran = fresh(*args)
        assert ran.returncode == 0
        assert "compare" in ran.stdout
    assert fresh("--version").stdout.startswith("fastcalc ")


@pytest.mark.parametrize(
    "asked", ["compare --batch 1..400 --format csv", thorough("sweep --batch 1..400")]
)
def test_a_reader_that_stops_early_sees_no_traceback(asked):
    """And a script that asks for every part of a pipe to succeed goes on."""
    command = f"set -o pipefail; {sys.executable} -m fastcalc {asked} | head -1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0
    assert ran.stdout.startswith("hardware,model")
    assert "Traceback" not in ran.stderr
    assert "BrokenPipe" not in ran.stderr


@pytest.mark.thorough
def test_no_colour_in_a_pipe():
    assert "\x1b" not in fresh("compare").stdout


@pytest.mark.parametrize("is_public", [True, False])
def test_usage_errors_of_typer_are_caught_by_a_name_that_it_has(monkeypatch, is_public):
    """Public since typer 0.27.3, and in its module of errors before."""
    errors = import_module(typer.BadParameter.__module__)
    if is_public and not hasattr(typer, "TyperException"):
        monkeypatch.setattr(typer, "TyperException", errors.ClickException, raising=False)
    elif not is_public:
        monkeypatch.delattr(typer, "TyperException", raising=False)
    caught = _usage_error()
    assert all(issubclass(one, caught) for one in (errors.UsageError, errors.NoSuchOption))
    assert not issubclass(RuntimeError, caught)


def test_a_missing_typer_is_a_sentence(fastcalc, monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    ran = fastcalc("list", "engines")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("is not installed: python -m pip install typer\n")
    assert ran.err.count("\n") == 1


def test_heavy_libraries_stay_out_of_help():
    code = "import sys; sys.argv = ['fastcalc', '--help']\nfrom fastcalc.cli import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n    pass\n"
    code += "heavy = {'numpy', 'yaml', 'rich.table'} & set(sys.modules)\nassert not heavy, heavy\n"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_links_keep_pointing_and_modes_stay(fastcalc, tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    assert fastcalc("compare", "--format", "csv", "-o", link).code == 0
    assert link.is_symlink()
    assert real.read_text().startswith("hardware,")
    assert real.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("args", ["compare --format csv", "--help", thorough("sweep")])
def test_a_full_device_gets_a_sentence(args):
    command = f"{sys.executable} -m fastcalc {args} > /dev/full"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "cannot be written" in ran.stderr


def test_an_alias_alongside_its_name_is_one_chip(fastcalc):
    found = records(
        fastcalc("compare", "--on", "h100-sxm,h100", "--batch", "1", "--format", "json").out
    )
    assert len(found) == 1


def test_ranks_go_to_the_chips_that_can_have_them(fastcalc):
    ran = fastcalc("compare", "--tp", "4", "--batch", "1", "--format", "json")
    layouts = {record["hardware"]: (record["tp"], record["pp"]) for record in records(ran.out)}
    assert layouts == {"h100-sxm": (4, 1), "gb200": (4, 1), "wse-3": (1, 4)}
    assert "do not apply" in ran.err


def test_what_to_type_next_works_for_a_users_own_files(fastcalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chip = tmp_path / "mine.yaml"
    chip.write_text(
        "id: mine\nname: Mine\nvendor: Me\nkind: gpu\nscope: one card\n"
        "memory:\n  - {name: HBM, capacity: 64 GB, bandwidth: 2 TB/s}\npeak: {bf16: 500 TFLOP/s}\n"
    )
    out = fastcalc("compare", "llama-3.1-8b", "--on", chip, "--weights", "fp8").out
    following = out.splitlines()[-1].removeprefix("next: fastcalc ").split()
    assert str(chip) in following
    assert fastcalc(*following).code == 0
    assert "the hardware file gives no link to more" in words(
        fastcalc("compare", "--on", chip, "--wide").out
    )


def test_fit_answers_for_every_batch(fastcalc):
    ran = fastcalc("fit", "--on", "h100-sxm,wse-3", "--batch", "1,4096", "--format", "json")
    chips = [(record["hardware"], record["batch"], record["chips"]) for record in records(ran.out)]
    assert chips == [
        ("h100-sxm", 1, 4),
        ("h100-sxm", 4096, 56),  # three copies over 16 hold it, but take 1,024 each
        ("wse-3", 1, 4),
        ("wse-3", 4096, 83),
    ]


def test_the_last_stage_of_a_wafer_pipeline_may_hold_the_head_alone(fastcalc):
    """61 layers of 21.9 GB at 16 bits: one a wafer, and a wafer for embedding and head."""
    ran = fastcalc("fit", "deepseek-r1", "--weights", "bf16", "--on", "wse-3", "--format", "json")
    assert records(ran.out)[0]["chips"] == 62


def test_own_folder_refuses_a_file_whose_id_is_another(fastcalc, tmp_path):
    (tmp_path / "other.yaml").write_text(
        "id: mine\nname: x\nweight_format: fp8\ntotal_parameters: 1000000\nlayers: "
        "2\nkv_bytes_per_token: 10\n"
    )
    assert "its id is mine" in fastcalc("show", "other", "--models-dir", tmp_path).err
    assert fastcalc("show", tmp_path / "other.yaml").code == 0


def test_a_consumer_card_alongside_a_server_has_its_own_engine(capsys, monkeypatch):
    asked = ("compare", "llama-3.1-8b", "--on", "h100-sxm,rtx-4090", "--batch", "1")
    ran = run(*asked, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    engines = [record["engine"] for record in json.loads(ran.out)["records"]]
    assert engines == ["vllm", "llama-cpp"]


@pytest.mark.parametrize("command", [("show",), ("diff", "h100-sxm"), ("compare",)])
def test_a_service_without_a_published_model_is_named_as_one(fastcalc, command):
    """Not as a misspelt chip: 'opus' has two letters of 'tpu' in its order."""
    ran = fastcalc(*command, "opus")
    assert ran.code == 2
    assert "Claude Opus 4.6 is not published" in ran.err
    assert "'fastcalc decide opus'" in ran.err


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("llama 3", "llama-3-8b"),  # and no llama-33b before it
        ("H200_SXN", "h200-sxm"),
        ("mixtral", "mixtral-8x7b or mixtral-8x22b?"),
        ("vlm", "vllm?"),
        ("hpoper-h100", None),
        ("sonnet", None),
        ("gemini", None),
        ("grok", "groq?"),
        ("qqq", None),
    ],
)
def test_a_name_is_taken_for_one_that_it_is_like_or_for_none(fastcalc, name, likely):
    err = fastcalc("show", name).err
    if likely is None:
        assert "'fastcalc list hardware', 'list models' and 'list engines' name all" in err
    else:
        assert f"did you mean {likely}" in err
