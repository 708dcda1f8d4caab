"""``--help``: two examples of every command, which run, and so do the commands they lead to."""

import re
import shlex
import shutil

import pytest

import fastcalc
from fastcalc.features import COMMANDS, GROUPS, request_of
from fastcalc.kit.request.fields import declared
from tests.helpers import ROOT, is_slow, run, run_once, sweep, thorough

ONWARDS = "new check list show diff fit plan caches diagnose measure compare calibrate frontier infer fastmode sensitivity validate report plot".split()
"""Commands in the order in which their answers lead to each other."""

EXAMPLES = [one for name in COMMANDS for one in request_of(name).examples]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of a user's: a chip, measurements and a configuration."""
    shutil.copytree(ROOT / "docs" / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_two_examples_are_shown(name, capsys, monkeypatch):
    out = run(name, "--help", capsys=capsys, monkeypatch=monkeypatch).out
    shown = out.partition("\nExamples:\n")[2].splitlines()
    assert len(shown) == 2
    assert all(
        line.startswith(f"  fastcalc {name} ") or line == f"  fastcalc {name}" for line in shown
    )
    assert all(len(line) <= 80 for line in shown)


@pytest.mark.thorough
@pytest.mark.parametrize("example", sweep(EXAMPLES, is_slow))
def test_an_example_runs_and_so_does_what_it_leads_to(example, folder, capsys, monkeypatch):
    """A command after ``next:`` is one further on, or the same which does not lead back."""
    name = example.split()[1]
    ask = {"capsys": capsys, "monkeypatch": monkeypatch}
    ran = run_once(*shlex.split(example)[1:], **ask)
    assert ran.code in (0, 1), ran.err
    for command in re.findall(r"(?m)^next: (fastcalc .*(?:\n {2,}.*)*)", ran.out):
        words = shlex.split(" ".join(command.split()))
        then = run_once(*words[1:], **ask)
        assert then.code in (0, 1), command
        if words[1] == name:
            back = re.findall("(?m)^next: (.*)$", then.out)
            assert not {shlex.join(words), shlex.join(shlex.split(example))} & set(back)
        else:
            assert ONWARDS.index(words[1]) > ONWARDS.index(name)


def test_a_word_has_one_meaning():
    """A flag of several commands is described in the same words, but for those named here.

    These are one thing, of which some commands take one and others a list, or which each describes
    by what it has.
    """
    lists = {"batch", "prompt", "output", "context", "speculate", "weights", "kv", "on", "engine"}
    lists |= {"chips", "tp", "pp", "ep", "dp", "max_chips", "format", "objective", "notes", "wide"}
    lists |= {"set"}
    meanings: dict[str, set[str]] = {}
    for command in COMMANDS:
        for name, field in declared(request_of(command)).items():
            shown = field.setting
            if not (shown.is_argument or shown.is_hidden) and name not in lists:
                meanings.setdefault(name, set()).add(shown.help)
    several = {name for name, some in meanings.items() if len(some) > 1}
    assert several == {"explain", "users"}  # of a row, a rule or a claim; closed-loop, or in flight


OLD_NAMES = {
    "load": ("utilization", "40%", ("--rate", "9/s")),
    "users": ("people", "300", ("--think", "20s")),
}
"""Earlier names of flags of plan, a value, and what else it is asked."""


@pytest.mark.parametrize("name", ["load", thorough("users")])
def test_the_old_name_of_a_flag_works_and_says_so(name, capsys, monkeypatch):
    old_name, value, words = OLD_NAMES[name]
    asked = ("plan", "llama-3.1-8b", "--on", "h100-sxm", *words, "--format", "json")
    old, new = (
        run(*asked, f"--{flag}", value, capsys=capsys, monkeypatch=monkeypatch)
        for flag in (old_name, name)
    )
    assert old.out == new.out
    assert f"plan --{old_name} is now --{name}" in old.err
    ends = re.search(r"ends with (\d+)\.(\d+)", old.err).groups()
    assert tuple(map(int, ends)) > tuple(map(int, fastcalc.__version__.split(".")[:2]))
    assert f"--{name}" not in new.err
    shown = run("plan", "--help", capsys=capsys, monkeypatch=monkeypatch).out
    assert f"--{name} " in shown
    assert f"--{old_name}" not in shown


def test_an_old_and_a_new_name_at_once_are_refused(capsys, monkeypatch):
    words = ("plan", "llama-3.1-8b", "--users", "5", "--people", "6", "--think", "9s")
    ran = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")
    assert "--people is an earlier name of --users; give one of them" in ran.err


@pytest.mark.thorough
def test_python_takes_an_old_name_and_records_keep_their_key():
    asked = {"on": "h100-sxm", "think": "20s"}
    old = fastcalc.plan("llama-3.1-8b", people=300, **asked)
    new = fastcalc.plan("llama-3.1-8b", users=300, **asked)
    assert old.records == new.records
    assert [table.assumptions["settings"]["traffic"]["people"] for table in (old, new)] == [
        300,
        300,
    ]
    assert "Plan people is now users" in " ".join(old.notes)


def test_every_command_stands_in_one_group_with_its_summary_whole(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    shown = " ".join(run("--help", capsys=capsys, monkeypatch=monkeypatch).out.split())
    places = [shown.index(f" {heading}: ") for heading in GROUPS]
    assert places == sorted(places)
    for name in COMMANDS:
        summary = (request_of(name).__doc__ or "").partition("\n\n")[0]
        assert shown.count(f" {name} {' '.join(summary.split())}") == 1


def test_the_bare_name_says_where_to_start_in_six_lines(capsys, monkeypatch):
    lines = run(capsys=capsys, monkeypatch=monkeypatch).out.splitlines()
    assert len(lines) == 6
    for line in lines[1:5]:
        assert re.match(rf"  fastcalc (?:{'|'.join(COMMANDS)}) .+\w  +\w", line)


@pytest.mark.thorough
def test_the_commands_of_these_lines_run(capsys, monkeypatch):
    lines = run(capsys=capsys, monkeypatch=monkeypatch).out.splitlines()
    for line in lines[1:5]:
        command, _ = re.split("  +", line.strip())
        words = shlex.split(command)[1:]
        assert run_once(*words, capsys=capsys, monkeypatch=monkeypatch).code == 0
