"""Explanations: every printed line can be redone from its own numbers, and all add up."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Engine
from fastcalc.core.estimate import evaluate
from fastcalc.core.outcome import Outcome, solve
from fastcalc.core.placement.placement import Site
from fastcalc.core.scenario import Scenario
from fastcalc.core.step.component import Component
from fastcalc.features.compare.explain import explained as parts
from fastcalc.features.compare.explain.passes import explain
from tests import strategies
from tests.core.test_properties import place, traffics
from tests.core.test_tiers import requests
from tests.helpers import run

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9} | {
    prefix + unit: factor
    for prefix, factor in (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15))
    for unit in ("B", "B/s", "FLOP", "FLOP/s")
}
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
NUMBER = re.compile(
    rf"([0-9]+(?:,[0-9]{{3}})*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)(?: ({_UNIT})(?![\w/]))?"
)
LINE = re.compile(r"^  ([A-Za-z][A-Za-z ]*) = (.+)$")
FUNCTIONS = {"max": max, "min8": lambda a, b: a / (1 + (a / b) ** 8) ** (1 / 8)}

IDEAL = Engine.model_validate({"id": "ideal", "name": "", "fitted_on": "", "is_bound": True})
HOST = "dram=256GiB@90GB/s,link=25GB/s,compute=2TFLOP/s"
CASES = [
    ("llama-3.1-70b", "--on", "h100-sxm,gb200,wse-3", "--batch", "1,8"),
    ("llama-3.1-8b", "--on", "h100-sxm,gb10", "--batch", "1,64", "--weights", "q4_k_m"),
    ("deepseek-r1", "--on", "h100-sxm", "--batch", "16", "--tp", "8", "--pp", "2"),
    ("deepseek-r1", "--on", "h200-sxm", "--batch", "256", "--dp", "16", "--ep", "16"),
    ("deepseek-v3.2", "--on", "h200-sxm,wse-3", "--batch", "8", "--prefix-hit", "0.5"),
    ("gpt-oss-120b", "--on", "h100-sxm", "--batch", "1,32", "--speculate", "0.8x3"),
    ("gpt-oss-120b", "--on", "wse-3,groq-lpu-v1", "--batch", "4", "--speculate", "2.5"),
    ("qwen3-next-80b-a3b", "--on", "h200-sxm", "--batch", "8", "--prompt", "20000"),
    ("llama-3.1-70b", "--on", "h100-sxm,gh200-144gb,wse-3", "--engine", "ideal", "--batch", "1,8"),
    ("gpt-oss-120b", "--on", "h200-sxm", "--engine", "ideal", "--speculate", "2", "--batch", "2"),
    ("llama-3.1-70b", "--on", "rtx-4090", "--host", HOST, "--host-use", "compute", "--batch", "1"),
    ("llama-3.1-8b", "--on", "d-matrix-corsair", "--place", "kv=LPDDR5X", "--batch", "1,8"),
    *(
        ("llama-3.1-70b", "--on", "rtx-4090", "--engine", "ideal", "--batch", "1,8", *host)
        for host in (
            ("--host", "dram=96GiB@80GB/s,link=25GB/s"),
            ("--host", "ddr5-2ch", "--place", "kv=GDDR6X,weights=host"),
            ("--host", "ddr5-2ch", "--host-use", "stream", "--place", "kv=host"),
        )
    ),
    ("gpt-oss-120b", "--on", "rtx-4090", "--host", "dram=96GiB@80GB/s,link=25GB/s"),
    # Some layers in one memory, and the others in a slower one.
    ("llama-3.1-8b", "--on", "rtx-4090", "--host", "ddr5-2ch", "--n-gpu-layers", "20", "--engine", "llama-cpp", "--weights", "q8_0"),
]  # fmt: skip


def in_si(value: float, unit: str) -> float:
    return value * UNITS[unit] if unit else value


def worked_out(expression: str, *, off: int | None = None, by: float = 0.0) -> float:
    """Key an expression in as printed, one of its numbers off by half a digit in the fourth place."""
    count = -1

    def keyed(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        value = float(match[1].replace(",", ""))
        if count == off and len(match[0]) > 1:  # a bare digit is what it is
            value += by * half_a_digit(value)
        return repr(in_si(value, match[2] or ""))

    text = re.sub(r"min8", "least", expression)
    text = NUMBER.sub(keyed, text).replace(" x ", " * ").replace("^", "**")
    return float(eval(text, {"__builtins__": {}, "max": max, "least": FUNCTIONS["min8"]}))


def half_a_digit(value: float) -> float:
    return 0.0 if value == 0 else 0.5 * 10 ** (math.floor(math.log10(abs(value))) - 3)


def is_redone(expression: str, printed: str) -> bool:
    """Return whether an expression comes to what is printed, within what rounding may do."""
    printed = printed.replace("? ", " ")  # the mark of what is undetermined
    numbers = len(NUMBER.findall(expression.replace("min8", "least")))
    value = worked_out(expression)
    room = sum(
        max(abs(worked_out(expression, off=one, by=sign) - value) for sign in (1, -1))
        for one in range(numbers)
    )
    match = NUMBER.fullmatch(printed)
    last = 10.0 ** -len(match[1].partition(".")[2]) / 2 if "." in match[1] else 0.5
    digits = max(half_a_digit(float(match[1].replace(",", ""))), last if "," in match[1] else 0.0)
    digits = max(digits, last) if printed.endswith(" ms") else digits
    wanted, slack = worked_out(printed), in_si(digits, match[2] or "")
    return abs(value - wanted) <= room + slack + 1e-9 * abs(wanted)


def lines_of(text: str) -> list[str]:
    """Return the lines of a page, those that ran over put together again."""
    return re.sub(r"\n {6,}(?=[^ ])", " ", text).split("\n")


def equations(text: str) -> list[tuple[str, list[str]]]:
    found = (LINE.match(line) for line in lines_of(text))
    return [(one[1], one[2].split(" = ")) for one in found if one]


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    def call(*args, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        return run(*args, capsys=capsys, monkeypatch=monkeypatch)

    return call


@pytest.mark.thorough
@pytest.mark.parametrize("args", CASES, ids=[" ".join(one[:3]) for one in CASES])
def test_a_pocket_calculator_redoes_every_line(fastcalc, args):
    ran = fastcalc("compare", *args, "--explain")
    assert ran.code == 0, ran.err
    assert ran.out.isascii()
    lines = [line for line in ran.out.splitlines() if not line.startswith("next: ")]
    assert all(len(line) <= 80 for line in lines)
    assert "e+" not in ran.out
    formulas = [line for line in lines_of(ran.out) if line.startswith("  ") and " = " in line]
    assert len(formulas) == len(equations(ran.out))
    redone = 0
    for name, sides in equations(ran.out):
        if len(sides) == 2:
            assert is_redone(*sides), (name, sides, worked_out(sides[0]))
            redone += 1
    assert redone >= 20
    if args[0] == "gpt-oss-120b" and "--engine" not in args and args[2].startswith("h100"):
        assert "  read rate = " in ran.out  # which narrow slices of experts lower


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2 x 3 GB", "6.01 GB"),
        ("139.5 GB / (2 x 3.35 TB/s)", "20.9 ms"),
        ("max(8, 64) x 2", "16"),
        ("((3 us)^3 + (4 us)^3)^(1 / 3)", "4.51 us"),
    ],
)
def test_the_calculator_finds_a_wrong_result(expression, result):
    assert not is_redone(expression, result)


@pytest.mark.parametrize("args", CASES, ids=[" ".join(one[:3]) for one in CASES])
def test_records_add_up(fastcalc, args):
    document = json.loads(fastcalc("compare", *args, "--explain", "--format", "json").out)
    rows = {(one["hardware"], one["batch"]): one for one in document["records"] if one["fits"]}
    assert len(document["explanations"]) == 2 * len(rows)
    for one in document["explanations"]:
        row = rows[one["hardware"], one["batch"]]
        assert sum(part["share"] for part in one["components"]) == pytest.approx(1, rel=1e-9)
        spent = sum(part["seconds"] for part in one["components"] if not part["is_hidden"])
        assert spent == pytest.approx(one["seconds"], rel=1e-9)
        if one["pass"] == "decode step":
            kept = row["speculation_tokens_per_pass"]
            assert 1e3 * spent / kept == pytest.approx(row["tpot_ms"], rel=1e-9)
        assert 1e3 * one["result"]["value"] == pytest.approx(
            row["tpot_ms" if one["pass"] == "decode step" else "ttft_ms"], rel=1e-9
        )
        assert one["sources"]
        assert all(source["source"] for source in one["sources"])


def test_printed_shares_and_tpot_are_those_of_the_comparison(fastcalc):
    text = fastcalc("compare", "llama-3.1-8b", "--on", "h100-sxm", "--batch", "8", "--explain").out
    decode, first = text.split("prompt pass of")
    shares = [float(share) for share in re.findall(r"([0-9]+\.[0-9])%$", decode, re.MULTILINE)]
    assert len(shares) >= 5
    assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares))
    row = next(line.split() for line in text.splitlines() if line.split()[:1] == ["8"])
    assert f"TPOT = {row[6]} ms\n" in decode
    assert re.search(rf"TTFT = .* = {row[8]} ms\n", first)


def test_the_bound_shows_three_terms_and_the_largest_counts(fastcalc):
    """Two H100 read 70B in 16 bits, 139.0 GB, and 0.49 GB of cache at 6.7 TB/s: 20.82 ms."""
    args = ("llama-3.1-70b", "--on", "h100-sxm", "--engine", "ideal", "--batch", "1", "--explain")
    text = fastcalc("compare", *args).out.split("prompt pass of")[0]
    rows = {line.split()[0]: line.split()[-1] for line in text.splitlines() if line[:1].isalpha()}
    assert rows["memory"] == "100.0%"
    assert rows["compute"] == "hidden"
    assert rows["link"] == "hidden"
    assert re.search(r"step = max\(20\.82 ms, [^)]*\) = 20\.82 ms", text)
    assert "bytes = 139 GB + 491.5 MB = 139.5 GB" in text


def test_what_a_part_of_a_pass_does_not_do_is_a_dash(fastcalc):
    """Floors of 80 layers and messages compute nothing; nothing else is sent or counted."""
    request = ["llama-3.1-70b", "--on", "h100-sxm", "--chips", 4, "--batch", 8]
    text = fastcalc("compare", *request, "--explain").out
    for line in (
        r"dense weights +\S+ TFLOP +\S+ GB +- +- +\S+ ms",
        r"layer floors +- +- +- +80\.0 +\S+ ms",
        r"all-reduce +- +- +\S+ MB +160 ",
        r"sequences +- +- +- +8\.00 ",
    ):
        assert re.search(rf"(?m)^{line}", text), line


def test_a_wafer_shows_its_sweeps(fastcalc):
    """Eighty layers 8,192 wide at 17 us x 2^0.69 are 2.19 ms whatever the width of the memory."""
    text = fastcalc("compare", "llama-3.1-70b", "--on", "wse-3", "--batch", "1", "--explain").out
    assert "layer = max(" in text
    assert "floor = 17 us x (8192 / 4096)^0.69 = 27.43 us" in text
    assert "time = max(80, 1) x 27.43 us = 2.194 ms" in text


def test_it_is_no_flat_record(fastcalc):
    ran = fastcalc("compare", "--explain", "--format", "csv")
    assert ran.code == 2
    assert "use json" in ran.err


@pytest.mark.thorough
def test_of_many_batches_a_page_explains_eight_and_json_all(fastcalc):
    asked = ("compare", "llama-3.1-8b", "--on", "h100-sxm", "--batch", "1..100+1", "--explain")
    page = fastcalc(*asked).out
    explained = {int(batch) for batch in re.findall(r"batch (\d+): decode step", page)}
    assert len(explained) == 8
    assert {1, 100} < explained
    assert "8 of the 100 batches that fit are explained" in page
    document = json.loads(fastcalc(*asked, "--format", "json").out)
    assert {step["batch"] for step in document["explanations"]} == set(range(1, 101))


def test_without_it_nothing_changes(fastcalc):
    document = json.loads(fastcalc("compare", "--on", "h100-sxm", "--format", "json").out)
    assert set(document) == {"schema", "version", "generated", "records", "assumptions"}


def explained(chip, model, engine, traffic, batches=(1, 7, 300)):
    """Explain a random placement as if every batch fitted."""
    placement = place(chip, model, engine, traffic)
    scenario = Scenario(chip, model, engine, batches, traffic)
    estimate = evaluate(placement, batch=np.array(batches, dtype=float), traffic=traffic)
    object.__setattr__(estimate.placement, "max_batch", max(batches))
    site = Site(placement.machine, placement.work, traffic.reserved)
    return estimate, explain(Outcome(scenario, site, placement, True, estimate))


def check(estimate, rows):
    for index, row in enumerate(rows):
        for each in (row.decode, row.first):
            for part in each.parts:
                assert "not explained" not in part.meaning, part.component.name
                assert part.equations
                assert part.equations[-1].name == "time"
                for one in part.equations:
                    where = f"{part.component.name}: {one.name}"
                    slack = 1e-9 * max(number.value for number in one.term.numbers)
                    assert one.term.value == pytest.approx(one.result.value, rel=1e-9, abs=slack), (
                        where
                    )
                assert part.equations[-1].result.value == pytest.approx(part.component.seconds)
            for one in (*each.rates, each.total, each.answer):
                assert one.term.value == pytest.approx(one.result.value, rel=1e-9), one.name
            assert sum(part.seconds for part in each.parts) == pytest.approx(each.seconds)
        for one, whole in ((row.decode, estimate.tpot), (row.first, estimate.ttft)):
            assert one.answer.result.value == pytest.approx(whole[index], rel=1e-12)


@pytest.mark.thorough
@strategies.examples(20)
@given(strategies.hardware(), strategies.models(), strategies.engines(), traffics)
def test_formulas_come_to_what_the_step_says(chip, model, engine, traffic):
    check(*explained(chip, model, engine, traffic))


@pytest.mark.thorough
@strategies.examples(30)
@given(requests(), st.booleans())
def test_formulas_come_to_it_over_hosts_links_and_places(request, is_bound):
    found = solve(replace(request, engine=IDEAL) if is_bound else request)
    check(found.estimate, explain(found))


def test_the_bound_over_a_link_is_explained_by_the_link(fastcalc):
    """70B at 4 bits is 41.1 GB; what 24 GiB leave of it, 15.33 GB, at 25 GB/s: 613.2 ms."""
    host = ("--host", "dram=96GiB@80GB/s,link=25GB/s", "--engine", "ideal", "--batch", "1")
    asked = ("llama-3.3-70b", "--weights", "int4", "--on", "rtx-4090", *host)
    text = fastcalc("compare", *asked, "--explain", columns=200).out
    assert "(41.1 GB - 25.77 GB) / 25 GB/s) = 613.2 ms" in text
    # What a host's file says is of the host.
    ran = fastcalc("compare", *asked, "--host", "ddr5-2ch", "--explain", "--format", "json")
    (read,) = {
        source["of"]
        for one in json.loads(ran.out)["explanations"]
        for source in one["sources"]
        if source["number"] == "bandwidth of DRAM"
    }
    assert read == "hardware ddr5-2ch"


@pytest.mark.thorough
@strategies.examples(20)
@given(strategies.hardware(), strategies.models(), traffics)
def test_terms_of_the_bound_come_to_what_the_bound_says(chip, model, traffic):
    check(*explained(chip, model, IDEAL, traffic))


def test_a_component_that_nothing_explains_has_its_work_over_its_rate():
    part = parts.explained(None, Component("new", bytes=6e9, bandwidth=3e12))
    assert part.meaning == "not explained: its work over its rates"
    (line,) = part.equations
    assert (line.name, line.result.value) == ("time", 0.002)  # 6 GB at 3 TB/s
