"""The README: every command it shows prints what it shows, and every command is shown."""

import re
import shlex
import shutil

import pytest

from fastcalc.cli.app import COMMANDS
from tests.helpers import ROOT, run

README = (ROOT / "README.md").read_text()
CONSOLES = re.findall(r"(?ms)^```console\n(.*?)^```", README)
SHOWN = [
    (command, expected.rstrip("\n").split("\n"))
    for block in CONSOLES
    for command, expected in re.findall(r"(?ms)^\$ ([^\n]+)\n(.*?)(?=^\$ |\Z)", block)
]


def cut(text: str, fields: str) -> str:
    """Stand in for ``cut -d, -f``: keep some columns of a CSV without quotes before them."""
    places = [int(field) - 1 for field in fields.split(",")]
    return "\n".join(
        ",".join(line.split(",")[place] for place in places) for line in text.splitlines()
    )


@pytest.mark.parametrize(("command", "expected"), SHOWN, ids=[command for command, _ in SHOWN])
def test_it_prints_what_it_shows(command, expected, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "100")
    for example in (ROOT / "docs" / "examples").glob("my-*"):
        shutil.copy(example, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    command, _, pipe = command.partition(" | ")
    ran = run(*shlex.split(command)[1:], capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    out = cut(ran.out, pipe.split("-f")[1]) if pipe else ran.out
    lines = out.rstrip("\n").split("\n")
    if expected[-1] == "...":
        expected, lines = expected[:-1], lines[: len(expected) - 1]
    assert lines == expected


def test_every_command_is_shown():
    assert set(COMMANDS) == {
        *("check", "claims", "compare", "diff", "fit", "import", "list", "new", "schema", "show"),
        *("calibrate", "fastmode", "frontier", "plan", "sweep", "decide", "infer", "validate"),
    }
    for name in COMMANDS:
        assert f"fastcalc {name}" in README


def test_the_two_setup_commands_are_in_the_first_screen():
    first = "\n".join(README.splitlines()[:20])
    assert "python -m pip install . && fastcalc compare" in first
    assert "python -m pip install '.[test]' && pytest -n auto" in first


@pytest.mark.parametrize("place", range(2))
def test_the_yaml_it_shows_loads(place, capsys, monkeypatch, tmp_path):
    text = re.findall(r"(?ms)^ *```yaml\n(.*?)^ *```", README)[place]
    path = tmp_path / "entry.yaml"
    path.write_text(re.sub(r"(?m)^   ", "", text))
    ran = run("show", path, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    flag = ("compare", "llama-3.1-8b", "--on", path) if place == 0 else ("compare", path)
    ran = run(*flag, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
