"""A time in milliseconds in a column of seconds is asked about, whatever reads the file."""

import pytest

import fastcalc
from tests.helpers import run

HEADER = "hardware,chips,model,engine,weights,concurrency,prompt,output,metric,value"
POINT = "h100-sxm,1,llama-3.1-8b,vllm,bf16,{batch},1000,1000,{metric},{value}"
ASKED = "is the value in the unit of its metric"


@pytest.fixture
def runs(tmp_path):
    """A file of points: an H100 decodes an 8B model of 16 bits in about 7 ms."""

    def write(*points):
        rows = [POINT.format(**dict(zip(("batch", "metric", "value"), one))) for one in points]  # noqa: B905
        file = tmp_path / "runs.csv"
        file.write_text("\n".join([HEADER, *rows, ""]))
        return str(file)

    return write


MS = (8, "tpot_s", 7.9)
S = (32, "tpot_s", 0.0095)


@pytest.mark.thorough
@pytest.mark.parametrize("reading", ["validate", "diagnose", "like", "calibrate"])
def test_a_row_in_milliseconds_is_skipped_with_the_question(
    reading, runs, capsys, monkeypatch, tmp_path
):
    words = {
        "validate": ("validate",),
        "diagnose": ("diagnose",),
        "like": ("compare", "llama-3.1-8b", "--on", "h100-sxm", "--like"),
        "calibrate": ("calibrate", "-o", str(tmp_path / "mine.yaml")),
    }[reading]
    mixed = run(*words, runs(MS, S), capsys=capsys, monkeypatch=monkeypatch)
    assert mixed.code == 0
    assert ASKED in " ".join((mixed.out + mixed.err).split())
    alone = run(*words, runs(MS), capsys=capsys, monkeypatch=monkeypatch)
    assert alone.code == 2
    assert ASKED in " ".join(alone.err.split())


def test_slow_software_is_no_mistaken_unit(runs):
    """At fifty times the expected time it is still software that one may have."""
    answer = fastcalc.validate(runs((8, "tpot_s", 0.35)))
    assert len(answer.records) == 1
