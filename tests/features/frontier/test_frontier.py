"""``fastcalc frontier``: records, a sentence and a table."""

import csv
import io
import json
import re
from itertools import groupby, pairwise
from operator import itemgetter

import pytest

import fastcalc as library
from fastcalc.kit.answer.numbers_as_text import dollars, number
from tests.helpers import run, words

ASKED = ("frontier", "gpt-oss-120b", "--on", "h100-sxm,wse-3", "--max-chips", "8")


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def call(*args, columns=100):
        monkeypatch.setenv("COLUMNS", str(columns))
        return run(*args, capsys=capsys, monkeypatch=monkeypatch)

    return call


def records(ran):
    document = json.loads(ran.out)
    assert document["schema"] == "fastcalc/1"
    return document["records"]


def ranks(row):
    if row["hardware"] == "wse-3":
        return "--pp", row["pp"]
    return [word for name in ("tp", "pp", "ep", "dp") for word in (f"--{name}", row[name])]


def test_records_are_those_of_compare(fastcalc):
    rows = records(fastcalc(*ASKED, "--format", "json"))
    assert len(rows) > 3
    for row in rows:
        args = ("gpt-oss-120b", "--on", row["hardware"], "--batch", row["batch"], *ranks(row))
        (record,) = records(fastcalc("compare", *args, "--format", "json"))
        # Of named ranks the largest batch is that of their layout.
        assert record.pop("max_batch") <= row.pop("max_batch")
        assert record == row


def test_no_record_is_dominated(fastcalc):
    rows = records(fastcalc(*ASKED, "--format", "json"))
    points = [(row["tokens_per_s_per_user"], row["usd_per_mtok_output"]) for row in rows]
    for speed, usd in points:
        assert not any(
            other != (speed, usd) and other[0] >= speed and other[1] <= usd for other in points
        )
    assert points == sorted(points)
    assert all(row["chips"] <= 8 and row["fits"] for row in rows)


def test_more_chips_and_formats_never_make_it_worse(fastcalc):
    few = records(fastcalc(*ASKED, "--format", "json"))
    wide = (*ASKED[:-1], "16", "--kv", "bf16,fp8", "--format", "json")
    many = records(fastcalc(*wide))
    for row in few:
        assert any(
            other["tokens_per_s_per_user"] >= row["tokens_per_s_per_user"] * (1 - 1e-9)
            and other["usd_per_mtok_output"] <= row["usd_per_mtok_output"] * (1 + 1e-9)
            for other in many
        )
    assert {row["kv_format"] for row in many} >= {"fp8"}


@pytest.mark.thorough
def test_csv_and_markdown(fastcalc):
    rows = records(fastcalc(*ASKED, "--format", "json"))
    table = list(csv.DictReader(io.StringIO(fastcalc(*ASKED, "--format", "csv").out)))
    assert [list(row) for row in table] == [list(row) for row in rows]
    lines = fastcalc(*ASKED, "--format", "markdown").out.splitlines()
    assert len(lines) == len(rows) + 2
    assert lines[0].startswith("| tok/s per user ")
    assert len({line.count("|") for line in lines}) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [60, 80, 100, 140])
def test_the_table_stays_inside_the_terminal(fastcalc, columns):
    ran = fastcalc(*ASKED, columns=columns)
    assert ran.code == 0
    for line in ran.out.splitlines():
        assert len(line) <= max(columns, 80), line
        assert line == line.rstrip()


def test_what_falls_out_is_reported(fastcalc):
    ran = fastcalc(
        "frontier", "deepseek-r1", "--on", "h200-sxm,h100-sxm,groq-lpu", "--max-chips", "8"
    )
    assert ran.code == 0
    for told in (
        "deepseek-r1 needs 16 chips of h100-sxm; --max-chips is 8",
        "groq-lpu has no cloud",
    ):
        assert told in words(ran.out)


def test_nothing_is_a_no(fastcalc):
    ran = fastcalc("frontier", "deepseek-r1", "--on", "h100-sxm", "--max-chips", "8")
    assert ran.code == 1
    assert ran.out == ""
    assert "no deployment both fits and has a price" in ran.err


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            ("--max-chips", "0"),
            "--max-chips 0 is not a whole number from 1 to 4,096; write for example 72",
        ),
        (("--weights", "fp9"), "is not a weight format"),
        (("--kv", "bf16,fp9"), "is not a KV cache format"),
        (("--weights", ","), "--weights names nothing"),
        (("--price", "gb200=3"), "'gb200', which is not compared here"),
        (("--format", "chart"), "--format 'chart' is unknown"),
    ],
)
def test_a_wrong_request_gets_one_sentence(fastcalc, args, sentence):
    ran = fastcalc("frontier", "gpt-oss-120b", "--on", "h100-sxm", *args)
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


def test_a_sentence_says_both_ends_and_which_chip_is_cheapest_where(fastcalc):
    rows = records(fastcalc(*ASKED, "--format", "json"))
    said = words(fastcalc(*ASKED).out).partition("gpt-oss 120b:")[0]
    for end in (rows[0], rows[-1]):
        speed, price = number(end["tokens_per_s_per_user"]), dollars(end["usd_per_mtok_output"])
        mark = "?" * ("tokens_per_s_per_user" in end["undetermined"])
        assert f"{speed}{mark} at ${price}" in said.replace(" tok/s", "")
    gpus = [row["tokens_per_s_per_user"] for row in rows if row["hardware"] == "h100-sxm"]
    others = [row["tokens_per_s_per_user"] for row in rows if row["hardware"] == "wse-3"]
    (edge,) = re.findall(
        r"Cheapest by speed: h100-sxm up to ([\d.,]+) tok/s; above that, wse-3\.", said
    )
    assert max(gpus) < float(edge) < min(others)


@pytest.mark.thorough
def test_one_chip_follows_another_at_the_last_whole_batch_that_is_cheaper(fastcalc):
    """Every whole batch of the layouts on both sides, asked for one layout at a time."""
    model, chips, more = "gpt-oss-120b", ("h100-sxm", "wse-3"), ("--max-chips", "4")
    asked = ("frontier", model, "--on", ",".join(chips), *more)
    rows = records(fastcalc(*asked, "--format", "json"))
    said = words(fastcalc(*asked, columns=300).out.partition("\n\n")[0])
    runs = [list(run) for _, run in groupby(rows, key=itemgetter("hardware"))]
    reach = (
        said.partition("Cheapest by speed: ")[2]
        .partition("; above that, ")[0]
        .replace(" tok/s", "")
    )
    edges = [step.rpartition(" to ")[2] for step in reach.split(", ")]
    assert len(edges) == len(runs) - 1 > 0
    for before, after, edge in zip(runs, runs[1:], edges, strict=False):
        low, high = (run[end]["tokens_per_s_per_user"] for run, end in ((before, -1), (after, 0)))
        own, rival = (
            [point for row in run for point in every_batch(row, low, more)]
            for run in (before, after)
        )
        wins = [
            speed
            for speed, usd in own
            if speed < high and usd < min(cost for fast, cost in rival if fast >= speed)
        ]
        assert number(max(wins)) == edge


def every_batch(row, low, more):
    """Return speeds and prices of a row's layout at each whole batch that is as fast as that."""
    ranks = {name: row[name] for name in ("tp", "pp", "ep", "dp")}
    prompt = dict(pairwise(more)).get("--prompt", 1000)
    tried = {"on": row["hardware"], "prompt": int(prompt), **ranks}
    every = library.compare(row["model"], batch="1..1500+1", **tried)
    points = [
        (each["tokens_per_s_per_user"], each["usd_per_mtok_output"])
        for each in every
        if each["fits"]
    ]
    assert len(points) < len(every) or points[-1][0] < low
    return [point for point in points if point[0] >= low * (1.0 - 1e-9)]


@pytest.mark.thorough
def test_a_first_screen_has_ten_rows_with_both_ends_and_the_rest_is_wide(fastcalc):
    asked = ("frontier", "deepseek-r1", "--on", "gb200", "--max-chips", "32")
    table = list(csv.DictReader(io.StringIO(fastcalc(*asked, "--format", "csv").out)))
    assert len(table) > 10
    out = fastcalc(*asked, columns=140).out
    assert f"of {len(table)} rows; --wide prints all" in words(out)
    rows = [line.split() for line in out.splitlines() if " gb200 " in line and ".." in line]
    assert 5 < len(rows) <= 10
    for row, end in ((rows[0], table[0]), (rows[-1], table[-1])):
        assert float(row[0]) == pytest.approx(float(end["tokens_per_s_per_user"]), rel=0.01)
    wide = fastcalc(*asked, "--wide", columns=200).out
    assert sum(line.startswith("gb200 ") and ".." in line for line in wide.splitlines()) == len(
        table
    )
    assert "Evaluated: practical layouts of one replica" in fastcalc(*asked, "--notes").out


@pytest.mark.parametrize(
    ("formats", "starred"),
    [
        # Published in bf16 with a cache in bf16.
        (("--weights", "bf16,fp8"), {"fp8, kv bf16"}),
        (("--weights", "bf16", "--kv", "fp8"), {"bf16, kv fp8"}),
        (("--weights", "bf16", "--kv", "bf16"), set()),
    ],
)
@pytest.mark.parametrize("written", [("--wide",), ("--format", "markdown")])
def test_fewer_bits_than_published_carry_a_star(formats, starred, written, capsys, monkeypatch):
    asked = ("frontier", "llama-3.1-8b", "--on", "h100-sxm,a100-sxm-80gb", "--max-chips", "1")
    out = run(*asked, *formats, *written, capsys=capsys, monkeypatch=monkeypatch).out
    assert set(re.findall(r"(\w+, kv \w+) \*", out)) == starred
    assert "fp8, kv bf16  " not in out
    if written == ("--wide",):
        assert ("*: quantizing below the published precision" in words(out)) == bool(starred)
