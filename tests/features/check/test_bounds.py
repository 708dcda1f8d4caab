"""Numbers that no measurement, chip or request can have: refused where they are read."""

import json
import math
import re
import warnings
from math import isfinite

import numpy as np
import pytest

from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.limits import LIMITS
from fastcalc.features.check import run as show_check
from tests.helpers import ROOT, run

HEAD, ROW = (ROOT / "evidence/measured.csv").read_text().split("\n")[:2]
VLLM = json.loads((ROOT / "tests/measured/vllm-closed.json").read_text())


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


@pytest.mark.parametrize("kind", LIMITS)
def test_the_inverse_and_the_product_of_four_numbers_are_floats(kind):
    limit = LIMITS[kind]
    assert isfinite(1 / limit.minimum**4)
    assert isfinite(limit.maximum**4)
    assert (0 in limit) == limit.zero
    for outside in (limit.minimum / 2, limit.maximum * 2, -1.0, float("nan"), float("inf")):
        assert outside not in limit


@pytest.mark.parametrize("kind", LIMITS)
def test_ends_of_ranges_are_round(kind):
    """Powers of ten, which people remember; a search of chips ends at a power of two."""
    for end in (LIMITS[kind].minimum, LIMITS[kind].maximum):
        assert end in (4096, float(f"1e{round(math.log10(end))}"))


def test_ranges_end_where_their_kind_does():
    """A share is no more than all, and a count no less than one."""
    for kind in ("share", "fraction", "part"):
        assert LIMITS[kind].maximum == 1
    for kind, limit in LIMITS.items():
        if limit.is_whole or kind in ("factor", "tokens per step"):
            assert limit.minimum == 1


@pytest.mark.parametrize(
    ("kind", "inside", "outside", "words"),
    [
        ("chips", (1, 8, 1_000_000), (0, 0.5, 1.5, 1_000_001), "from 1 to 1,000,000"),
        ("length", (0, 1e-12, 0.5, 1e9), (-1, 1e-13, 1.1e9), "0, or from 1e-12 to 1e+09"),
        ("power", (1e-3, 700, 1e9), (0, 9e-4, 2e9), "from 0.001 to 1e+09 W"),
    ],
)
def test_both_ends_of_a_range_belong_to_it(kind, inside, outside, words):
    limit = LIMITS[kind]
    assert [value in limit for value in inside] == [True] * len(inside)
    assert [value in limit for value in outside] == [False] * len(outside)
    assert str(limit) == words


@pytest.mark.parametrize("command", ["validate", "calibrate"])
@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        ("value", "1e-320", "value is 1e-320, which is out of range: from 1e-12 to 1e+18"),
        ("value", "1e300", "value is 1e300, which is out of range"),
        ("prompt", "1e308", "prompt is 1e308, which is out of range: 0, or from 1e-12 to 1e+09"),
        ("output", "1e-320", "output is 1e-320, which is out of range"),
        ("tokens_per_pass", "1e30", "tokens_per_pass is 1e30, which is out of range: from 1 to 100"),
        ("concurrency", "9999999", "concurrency is 9999999, which is out of range: from 1 to 1,000,000"),
        ("notes", f"kind=decode; mean context {'9' * 400}", "notes state 'mean context inf', which is out of range"),
    ],
)  # fmt: skip
def test_a_cell_out_of_range(command, column, text, said, fastcalc, tmp_path):
    import csv

    names, cells = HEAD.split(","), next(csv.reader([ROW]))
    place = names.index(column)
    before = ROW[: sum(len(f'"{one}"' if "," in one else one) + 1 for one in cells[:place])]
    cells[place] = text
    path = tmp_path / "runs.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([names, cells])
    ran = fastcalc(command, path)
    assert ran.code == 2
    assert ran.err.startswith(f"fastcalc: {path}:2:{len(before) + 1}: {said}")
    assert not ran.out


@pytest.mark.parametrize("value", [1e-308, 1e300])
def test_a_benchmark_number_out_of_range(value, fastcalc, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**VLLM, "median_ttft_ms": value}, indent=1))
    line = next(
        number
        for number, text in enumerate(path.read_text().splitlines(), 1)
        if "median_ttft_ms" in text
    )
    words = ("--hardware", "h100-sxm", "--model", "llama-3.1-8b", "--tp", "1", "--weights", "bf16")
    ran = fastcalc("validate", path, *words)
    assert ran.code == 2
    said = f"median_ttft_ms is {value:g}, which is out of range: 0, or from 1e-12 to 1e+18"
    assert f"{path}:{line}:20: {said}" in ran.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"value: [\d.]+ us", "value: 1e-320 s", "'1e-320 s' is out of range: 0, or from 1e-12"),
        (r"band: \[[^]]+\]", "band: [0.0, 1.0e+300]", "band is not two ascending numbers"),
    ],
)
def test_an_engine_value_out_of_range(old, new, said, fastcalc, tmp_path):
    path = tmp_path / "mine.yaml"
    text = (shipped_folder("engines") / "mlx.yaml").read_text().replace("id: mlx", "id: mine")
    path.write_text(re.sub(old, new, text, count=1))
    line = 1 + text.count("\n", 0, re.search(old, text).start())
    ran = fastcalc("compare", "--engine", path)
    assert ran.code == 2
    assert said in ran.err
    assert f"{path}:{line}:" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "llama-3.1-8b", "--min-speed", "1e-320"), "is not a number from 1e-12 to 1e+09"),
        (("plan", "llama-3.1-8b", "--ttft", "1e-300s"), "is not a time with its unit from 1e-12"),
        (("plan", "llama-3.1-8b", "--rate", "0.0000000000000001/s"), "is not a rate of requests"),
        (("compare", "--price", "h100-sxm=1e-320"), "is not CHIP=USD per hour"),
        (("compare", "--chips", "9" * 400), "...' is not a whole number"),
        (("compare", "--utilization", "1e-320"), "is not a share above 0 to 1"),
        (("compare", "--speculate", "1e-320x3"), "is not above 0 and at most 1"),
        (("decide", "a=speed=1e-320"), "is not a number from 1e-12 to 1e+09"),
        (("decide", "a=speed=60,price=1e-320"), "is not 0 or a number from 1e-12"),
        (("fastmode", "llama-3.1-8b", "--from-speed", "1e300"), "is not a number from 1e-12"),
        (
            ("frontier", "llama-3.1-8b", "--max-chips", "5000"),
            "5000 is not a whole number from 1 to 4,096",
        ),
    ],
)
def test_a_flag_out_of_range(words, said, fastcalc):
    ran = fastcalc(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize("broken", ["np.float64(1.0) / 0.0", "1.0 / 0.0", "10.0 ** 400"])
def test_a_number_gone_wrong_is_said_to_be_a_fault_of_the_program(broken, fastcalc, monkeypatch):
    """No nan is printed, nobody sees a traceback, and standard output stays empty."""
    monkeypatch.setattr(show_check, "run", lambda _: eval(broken, {"np": np}))
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as Python has it, not as these tests do
        ran = fastcalc("check")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("fastcalc: a fault of fastcalc, not of the request; please report")
    assert ran.err.count("\n") == 1


def test_an_error_of_the_program_is_not_the_answer_no(fastcalc, monkeypatch):
    """Python itself would exit with 1."""
    monkeypatch.setattr(show_check, "run", lambda _: {}["missing"])
    ran = fastcalc("check")
    assert (ran.code, ran.out) == (2, "")
    assert "KeyError: 'missing'" in ran.err
    assert ran.err.endswith("a fault of fastcalc, not of the request; please report it\n")
