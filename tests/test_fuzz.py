"""60 random requests; ``python -m benchmarks.fuzz --cases 20000`` for more."""

import sys
import time
from pathlib import Path
from random import Random

import pytest

from benchmarks.fuzz import mutations, running
from benchmarks.fuzz.campaign import campaign, summary
from benchmarks.fuzz.grammar import Case, commands, draw
from benchmarks.fuzz.judge import faults
from benchmarks.fuzz.mutations import _cells, _json_values, _yaml_values
from benchmarks.fuzz.running import Outcome
from fastcalc.features.check import run as show_check
from tests.strategies import scaled

CASES, PROCESSES = scaled(60), scaled(2)


def test_a_seed_gives_the_same_cases():
    assert [draw(5, number) for number in range(40)] == [draw(5, number) for number in range(40)]
    assert draw(5, 1) != draw(6, 1)


@pytest.mark.thorough
def test_every_command_and_flag_is_drawn(monkeypatch):
    monkeypatch.setattr(mutations, "damaged", lambda *drawn: (drawn[-1], False))
    missing = {
        (name, opt): param.opts
        for name, params in commands().items()
        for param in params
        if param.param_type_name == "option"
        for opt in param.opts
    }
    for number in range(20000):  # it stops where all are drawn
        words = draw(2, number).words
        for word in words:
            for opt in missing.get((words[0], word.partition("=")[0]), ()):
                missing.pop((words[0], opt))
        if not missing:
            return
    assert not missing


@pytest.mark.thorough
def test_nothing_breaks_it():
    broken = list(campaign(seed=1, numbers=range(CASES)))
    assert not broken, summary(broken, CASES)


@pytest.mark.thorough
def test_nothing_breaks_a_process():
    broken = list(campaign(seed=1, numbers=range(PROCESSES), is_process=True))
    assert not broken, summary(broken, PROCESSES)


def no_run(case):
    raise AssertionError("no second run is needed")


@pytest.mark.parametrize(
    ("words", "outcome", "finding"),
    [
        (["fit"], Outcome(0, "", "", 1.0, crash=["a.py:1 f", "KeyError: 1"]), "traceback"),
        (["fit"], Outcome(3, "", "", 1.0), "exit code 3"),
        (["fit"], Outcome(2, "", "fastcalc: a fault of fastcalc: x\n", 1.0), "fault: x"),
        (["fit"], Outcome(2, "x", "fastcalc: no\n", 1.0), "text on standard output"),
        (["fit"], Outcome(2, "", "", 1.0), "without a word"),
        (["fit"], Outcome(0, "", "", 5.5), "slow"),
        (["fit"], Outcome(0, "", "", 1.0, peak=2**30 + 8), "memory"),
        (["fit"], Outcome(0, "", "", 1.0, warned=["RuntimeWarning: x (a.py)"]), "warning"),
        (["fit"], Outcome(0, "a\x1b[2J", "", 1.0), "control characters on standard output"),
        (["fit"], Outcome(0, "12 nan 4", "", 1.0), "nan or inf"),
        (["fit"], Outcome(2, "", f"fastcalc: {'x' * 5000}\n", 1.0), "a line of 2000 letters"),
        (["fit"], Outcome(2, "", "fastcalc: a\nb\n", 1.0), "does not begin with fastcalc"),
        (["fit"], Outcome(2, "", "fastcalc: a\n", 1.0, changed={"x": "new"}), "a file is new"),
        (
            ["fit"],
            Outcome(0, "", "", 1.0, changed={".x.csv.1.fastcalc-draft": "new"}),
            "a draft is left",
        ),
        (["fit", "--format", "json"], Outcome(0, '{"a": NaN}', "", 1.0), "NaN"),
        (["fit", "--format=json"], Outcome(1, "", "", 1.0), "JSON is nothing"),
        (["fit", "--format", "csv"], Outcome(0, "a,b\n1\n", "", 1.0), "different widths"),
        (["fit", "--format", "csv"], Outcome(0, "a\n=1+1\n", "", 1.0), "formula"),
    ],
)
def test_the_judge_sees_what_is_wrong(words, outcome, finding):
    assert [one for one in faults(Case(1, 1, words), outcome, 0, no_run) if finding in one]


def test_the_judge_lets_pass_what_is_right():
    sound = Outcome(0, '{"a": -1.5}\n', "fastcalc: note: small\n", 1.0, peak=2**29)
    assert not faults(Case(1, 1, ["fit", "--format", "json"]), sound, 0, no_run)
    refused = Outcome(2, "", "fastcalc: no chip is called 'x'\n", 1.0)
    assert not faults(Case(1, 1, ["fit", "--format", "json"]), refused, 0, no_run)


def test_a_refused_file_is_named_with_its_line():
    case = Case(1, 1, ["check"], {"a.yaml": b"x"}, culprit="a.yaml", meant=b"y", is_placed=True)

    def finding(sentence, code_as_meant):
        outcome = Outcome(2, "", f"fastcalc: {sentence}\n", 1.0)
        return faults(case, outcome, 0, lambda _: Outcome(code_as_meant, "", "", 1.0))

    assert not finding("a.yaml:3:1: unknown key 'x'", 0)
    assert "does not name the file" in finding("unknown key", 0)[0]
    assert "does not name the line" in finding("a.yaml: unknown key", 0)[0]
    assert not finding(
        "--tp 3 does not divide the heads", 2
    )  # the file as meant is refused as well


def crashing():
    if "--format" in sys.argv:
        raise ZeroDivisionError
    raise SystemExit(0)


def waiting():
    while True:
        time.sleep(0.01)


def test_a_crash_is_found_and_reported_in_as_few_words_as_show_it(monkeypatch):
    monkeypatch.setattr(running, "main", crashing)
    found = campaign(seed=1, numbers=range(15))
    broken = [one for one in found if one.name.startswith("traceback: ZeroDivisionError")]
    asked = [number for number in range(15) if "--format" in draw(1, number).words]
    assert {one.number for one in broken} == set(asked)
    assert len(summary(broken, 15).splitlines()[-1].split()) <= 4  # fastcalc, command, --format, x


@pytest.mark.thorough
def test_a_case_that_waits_for_ever_is_ended(monkeypatch):
    monkeypatch.setattr(running, "main", waiting)
    monkeypatch.setattr(running, "IDLE", 0.3)
    monkeypatch.setattr(running, "LEAST_SHARE", 0.5)
    assert [one.name.split(":")[0] for one in campaign(seed=1, numbers=[1])] == ["hangs"]


def reading():
    sys.exit(Path("in").read_text() != "id: odd\n")


def writing():
    sys.exit(Path("out").write_text("x" * 99_999) != 99_999)


@pytest.mark.parametrize(
    ("use", "places"),
    [(reading, {"in": "fifo", "unused": "fifo"}), (writing, {"out": "drain", "unused": "drain"})],
)
def test_pipes_are_fed_drained_and_let_go(use, places, monkeypatch):
    monkeypatch.setattr(running, "main", use)
    assert running.in_process(Case(1, 1, ["x"], places=places)).code == 0


def test_a_traceback_that_the_program_prints_is_found(monkeypatch):
    monkeypatch.setattr(show_check, "run", lambda _: {}["missing"])
    ran = running.in_process(Case(1, 1, ["check"]))
    assert ran.code == 2
    assert ran.crash[-1] == "KeyError: 'missing'"
    assert ran.crash[-2].endswith("<lambda>")


def test_a_cell_too_long_to_be_read_is_left_as_it_is():
    """A CSV reader takes 131,072 letters in a cell."""
    raw = b"a,b\n1," + b"2" * 131_073 + b"\n"
    assert _cells(Random(1), raw) == raw


def test_a_file_nested_too_deep_to_be_read_is_damaged_all_the_same():
    deep = b"[" * 100_000 + b"]" * 100_000
    assert isinstance(_json_values(Random(1), deep), bytes)
    assert isinstance(_yaml_values(Random(1), deep[:2000]), bytes)
