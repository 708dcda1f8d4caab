"""What `sweep` writes is what `compare` says, in every format, whole or not at all."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from fastcalc.catalogue.limits import LIMITS
from fastcalc.errors import InputError
from fastcalc.features.sweep import run as show_sweep
from fastcalc.kit.answer import progress
from fastcalc.kit.request.number_lists import numbers
from tests.helpers import ROOT, run, words

ASKED = ("llama-3.1-70b", "gpt-oss-120b", "--on", "h100-sxm,wse-3,apple-m3-ultra-80")
"""Of the last no price is known, which is said with a flag."""


def compared(*asked, capsys, monkeypatch):
    ran = run("compare", *asked, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    return json.loads(ran.out)["records"]


@pytest.mark.thorough
def test_csv_and_json_hold_the_records_of_compare(capsys, monkeypatch):
    """One batch at a time: `compare` takes one layout for all batches of a chip."""
    asked = (*ASKED, "--batch", "8,4000")
    told = [
        record
        for batch in (8, 4000)
        for record in compared(*ASKED, "--batch", batch, capsys=capsys, monkeypatch=monkeypatch)
    ]
    key = lambda one: (one["model"], one["hardware"], one["batch"])  # noqa: E731
    ran = run("sweep", *asked, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    document = json.loads(ran.out)
    assert document["schema"] == "fastcalc/1"
    assert document["points"] == len(told)
    assert sorted(document["records"], key=key) == sorted(told, key=key)
    assert list(document["records"][0]) == list(told[0])
    ran = run("sweep", *asked, capsys=capsys, monkeypatch=monkeypatch)
    first = run(
        "compare", *ASKED, "--batch", 8, "--format", "csv", capsys=capsys, monkeypatch=monkeypatch
    )
    lines = ran.out.splitlines()
    assert lines[0] == first.out.splitlines()[0]
    assert set(first.out.splitlines()) <= set(lines)


def test_ranks_are_combined_and_what_cannot_be_is_counted(capsys, monkeypatch, tmp_path):
    path = tmp_path / "found.csv"
    ran = run(
        "sweep", "llama-3.1-8b", "--on", "h100-sxm,apple-m2-max,wse-3", "--tp", "1..8x2,3,12", "--batch", "1,2",
        "-o", path, capsys=capsys, monkeypatch=monkeypatch,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    held = [(row["hardware"], row["tp"], row["batch"]) for row in rows]
    assert held == [
        *(("h100-sxm", tp, batch) for tp in "1248" for batch in "12"),
        ("apple-m2-max", "1", "1"),
        ("apple-m2-max", "1", "2"),
        ("wse-3", "1", "1"),
        ("wse-3", "1", "2"),
    ]
    # 3 on the H100, in a domain of 8; 2, 3, 4, 8, 12 on the M2 Max, in one of 1; 12 on the H100.
    assert "14 combinations skipped" in ran.err
    assert "2 with tp that does not divide the heads" in ran.err
    assert "12 with tp beyond the link domain" in ran.err


def test_what_does_not_fit_stays_and_is_counted(capsys, monkeypatch):
    """2,000 tokens of 131,072 bytes each: 80 GiB hold no 1,000 of them, but some 200."""
    asked = ("sweep", "llama-3.1-8b", "--on", "h100-sxm", "--tp", "1", "--batch", "1,100,1000,2000")
    ran = run(*asked, capsys=capsys, monkeypatch=monkeypatch)
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [row["fits"] for row in rows] == ["true", "true", "false", "false"]
    assert [bool(row["tokens_per_s_per_user"]) for row in rows] == [True, True, False, False]
    assert ran.err == (
        "fastcalc: note: 4 points; 2 do not fit: too little memory, more sequences than "
        "the engine runs, or formats that it does not support\n"
    )
    ran = run(*asked[:-1], "1,100", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.err == ""
    help_ = run("sweep", "--help", capsys=capsys, monkeypatch=monkeypatch).out
    assert "Points that do not fit on their chips are kept, with fits set to false" in words(help_)


def test_a_context_beyond_the_model_is_left_out(capsys, monkeypatch):
    ran = run(
        "sweep", "mistral-7b-v0.1", "--on", "h100-sxm", "--prompt", "1k,10M", "--batch", "1",
        capsys=capsys, monkeypatch=monkeypatch,
    )  # fmt: skip
    assert len(ran.out.splitlines()) == 2
    assert ran.err == (
        "fastcalc: note: 1 point; 1 combination skipped: "
        "1 with a context beyond the maximum of mistral-7b-v0.1\n"
    )


def left_out(*asked, capsys, monkeypatch):
    """Return how many points a sweep has, and how many it leaves out for which reason."""
    ran = run("sweep", *asked, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    return len(told["records"]), told["left_out"], ran.err


def test_ranks_that_no_chip_here_can_have_are_counted(capsys, monkeypatch):
    """Of wafers alone, one rank is what they have and two cannot be; an H100 can have both."""
    asked = ("llama-3.1-8b", "--tp", "1,2", "--batch", "1,4", "--on")
    rule = "tp, ep or dp on chips that pipeline whole layers"
    for chips, expected in (("wse-3", (2, {rule: 2})), ("wse-3,h100-sxm", (2 + 4, {}))):
        assert left_out(*asked, chips, capsys=capsys, monkeypatch=monkeypatch)[:2] == expected


def test_points_and_what_is_left_out_are_all_combinations(capsys, monkeypatch):
    """Two models, chips, weights, speculations, prompts, layouts, and three batches: 192.

    A model of 32,768 tokens takes no prompt of 100,000: half of its 96. The H100 has no 4-bit
    units: of its share of what is left, half. Heads are divided by 2 and not by 3: half of the rest.
    """
    count, reasons, err = left_out(
        "mistral-7b-v0.1", "llama-3.1-8b", "--on", "h100-sxm,b200", "--weights", "fp8,fp4",
        "--speculate", "none,0.8x3", "--prompt", "1k,100k", "--tp", "2,3", "--batch", "1,2,3",
        capsys=capsys, monkeypatch=monkeypatch,
    )  # fmt: skip
    assert reasons == {
        "a context beyond the maximum of mistral-7b-v0.1": 48,
        "4-bit weights or KV caches on a chip without units for them": 36,
        "tp that does not divide the heads": 54,
    }
    assert count == 192 - 48 - 36 - 54
    assert "54 points" in err
    assert "138 combinations skipped: 54 with tp that" in err


def test_what_is_left_out_already_is_not_counted_as_nothing(capsys, monkeypatch):
    """No request of the first model is held, so its layouts are not looked at."""
    asked = ("mistral-7b-v0.1", "llama-3.1-70b", "--on", "h100-sxm", "--prompt", "100k")
    count, reasons, err = left_out(
        *asked, "--tp", "8,12", "--batch", "1", capsys=capsys, monkeypatch=monkeypatch
    )
    assert count == 1
    assert reasons == {
        "a context beyond the maximum of mistral-7b-v0.1": 2,
        "tp beyond the link domain": 1,
    }
    assert " 0 " not in err


@pytest.mark.parametrize(
    ("model", "flags", "rule"),
    [
        # 64 heads in a domain of 8, of 80 layers, without experts; and experts over 4 of 2 ranks.
        ("llama-3.1-70b", ("--tp", "1,12"), "tp beyond the link domain"),
        ("llama-3.1-70b", ("--tp", "1,3"), "tp that does not divide the heads"),
        ("llama-3.1-70b", ("--pp", "4,81"), "pp beyond the layers"),
        ("llama-3.1-70b", ("--tp", "2", "--ep", "1,2"), "ep without experts"),
        ("gpt-oss-120b", ("--tp", "2", "--ep", "2,4"), "ep that does not suit tp x dp"),
    ],
)
def test_each_layout_that_cannot_be_is_counted_by_its_rule(model, flags, rule, capsys, monkeypatch):
    asked = (model, "--on", "h100-sxm", "--batch", "1,2", *flags)
    count, reasons, _ = left_out(*asked, capsys=capsys, monkeypatch=monkeypatch)
    assert (count, reasons) == (2, {rule: 2})


def test_four_bits_are_those_of_the_maker(capsys, monkeypatch):
    """NVIDIA's chips multiply NVFP4, the others MXFP4."""
    asked = ("gpt-oss-120b", "--on", "b200,mi355x", "--weights", "fp4", "--batch", "1")
    ran = run("sweep", *asked, capsys=capsys, monkeypatch=monkeypatch)
    rows = csv.DictReader(io.StringIO(ran.out))
    found = {row["hardware"]: row["weight_format"] for row in rows}
    assert found == {"b200": "nvfp4", "mi355x": "mxfp4"}


@pytest.mark.thorough
def test_parquet_holds_the_same(capsys, monkeypatch, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "found.parquet"
    asked = (*ASKED, "--batch", "8,4000", "--tp", "1,2")
    ran = run("sweep", *asked, "-o", path, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    ran = run("sweep", *asked, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    told = json.loads(ran.out)["records"]
    group = parquet.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    words = {column.path_in_schema for column in columns if column.has_dictionary_page}
    is_word = {key: isinstance(value, (str, list)) for key, value in told[0].items()}
    assert words <= {key for key, value in told[0].items() if not isinstance(value, (int, float))}
    assert words >= {key for key, stated in is_word.items() if stated}
    table = parquet.read_table(path)
    assert table.column_names == list(told[0])
    for row, record in zip(table.to_pylist(), told, strict=True):
        for key in ("warnings", "undetermined", "low_confidence"):
            record[key] = "; ".join(record[key])
        for key, value in record.items():
            is_number = isinstance(value, float)
            assert row[key] == (pytest.approx(value, rel=1e-11) if is_number else value), key


def test_parquet_without_pyarrow_says_what_to_install(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "found.parquet"
    ran = run("sweep", "llama-3.1-8b", "-o", path, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert "pip install pyarrow" in ran.err
    assert not list(tmp_path.iterdir())


def test_an_interrupt_leaves_no_half_file(capsys, monkeypatch, tmp_path):
    blocks = show_sweep.solve_all

    def interrupted(grids):
        yield next(blocks(grids))
        raise KeyboardInterrupt

    monkeypatch.setattr(show_sweep, "solve_all", interrupted)
    path = tmp_path / "found.csv"
    path.write_text("before\n")
    ran = run("sweep", "llama-3.1-8b", "-o", path, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 130
    assert [one.name for one in tmp_path.iterdir()] == ["found.csv"]
    assert path.read_text() == "before\n"


@pytest.mark.thorough
def test_a_request_to_end_leaves_no_half_file(tmp_path):
    """As `kill` and `timeout` send it, while the file is being written."""
    asked = "sweep --on all --batch 1..1000 --prompt 1k..8k+100 -o found.csv".split()
    with subprocess.Popen(
        [sys.executable, "-m", "fastcalc", *asked],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        patience = time.monotonic() + 60
        while not any(tmp_path.glob(".found.csv.*")) and time.monotonic() < patience:
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == 143
        assert re.match(r"fastcalc: note: [0-9,]+ points, about [0-9.]+ GB", running.stderr.read())
    assert not list(tmp_path.iterdir())


def test_a_dash_is_standard_output(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    asked = ("sweep", "llama-3.1-8b", "--on", "h100-sxm", "--format")
    for format_ in ("csv", "json"):
        plain = run(*asked, format_, capsys=capsys, monkeypatch=monkeypatch)
        ran = run(*asked, format_, "-o", "-", capsys=capsys, monkeypatch=monkeypatch)
        assert (ran.code, ran.out) == (0, plain.out)
    ran = run(*asked, "parquet", "-o", "-", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert "parquet cannot go to standard output" in ran.err
    assert not list(tmp_path.iterdir())


def test_progress_counts_points(capsys, monkeypatch, tmp_path):
    told = []
    monkeypatch.setattr(progress, "say", told.append)
    asked = ("sweep", "llama-3.1-8b", "--on", "h100-sxm", "--batch", "1..200", "-o")
    assert run(*asked, tmp_path / "found.csv", capsys=capsys, monkeypatch=monkeypatch).err == ""
    assert told[-1] == "200 of 200 points (100%)"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1..1024x2", tuple(2**power for power in range(11))),
        ("8..64+8", tuple(range(8, 65, 8))),
        ("1k,8k,128k", (1000, 8000, 128_000)),
        ("1..4", (1, 2, 3, 4)),
        ("1k..4kx2,2M", (1000, 2000, 4000, 2_000_000)),
    ],
)
def test_lists_of_numbers(text, found):
    assert numbers(text, "--x", LIMITS["tokens"]) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "1.5",
        "k",
        "1..",
        "4..1",
        "1..8x1",
        "1..8x",
        "1..8+0",
        "1K",
        "9" * 13,
        "1..20k",
    ],
)
def test_bad_lists_are_refused(text):
    with pytest.raises(InputError, match="--x"):
        numbers(text, "--x", LIMITS["tokens"])


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--batch", "x"), "--batch 'x' is not a whole number"),
        (("--batch", "1..8x0"), "--batch '1..8x0' is not a whole number"),
        (("--batch", "1..1024x1"), "range '1..1024x1' goes nowhere; write it like 1..1024x2"),
        (("--chips", "8..1"), "range '8..1' runs downwards; write it like 1..1024x2"),
        (("--on", "wse-3", "--chips", "4", "--tp", "4"), "9 with tp, ep or dp on chips that"),
        (("--on", "wse-3", "--chips", "4", "--tp", "3"), "9 with tp, ep or dp on chips that"),
        (("--on", "wse-3,groq-lpu", "--dp", "2"), "18 with tp, ep or dp on chips that"),
        (("--on", "wse-3", "--chips", "4", "--pp", "2"), "skipped: 9 with chips other than pp on"),
        (("--weights", "fp5"), "'fp5' is not a weight format"),
        (("-o", "found.xls"), "name one with --format"),
        (("--format", "parquet"), "give -o FILE.parquet"),
        (("--tp", "3", "--on", "h100-sxm"), "every combination was skipped"),
        (("--on", "h100-sxm", "--weights", "fp4"), "4-bit weights or KV caches on a chip without"),
    ],
)
def test_bad_requests_are_one_sentence(flags, sentence, capsys, monkeypatch):
    ran = run("sweep", "llama-3.1-8b", *flags, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1
