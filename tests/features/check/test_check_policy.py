"""Which rules of a check count: flags, settings, a baseline; and what is corrected."""

import json
import os
import re
import sys
from xml.etree import ElementTree

import jsonschema
import pytest

from fastcalc import __version__
from fastcalc.errors import InputError
from fastcalc.features.check.policy import baseline_of, rules_named
from fastcalc.features.check.rule import RULES
from tests.helpers import ROOT, run_once
from tests.rule_examples import h100, llama

SARIF = json.loads((ROOT / "tests" / "schemas" / "sarif-2.1.0.json").read_text())
"""The schema of OASIS, SARIF 2.1.0 errata 01, without its descriptions."""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run ``fastcalc check`` in a folder with one chip that has a doubtful rate and a bare number."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, text=None):
        if text is not None:
            (tmp_path / "chip.yaml").write_text(text)
        return run_once("check", "chip.yaml", *arguments, capsys=capsys, monkeypatch=monkeypatch)

    return run


def edited(*changes: tuple[str, str]) -> str:
    return h100(("^id: .*", "id: chip"), ("^aliases: .*\n", ""), *changes)[1]


DOUBTFUL = edited(("fp8: *{value: 1979", "fp8: {value: 3958"))
MISSPELT = edited(("^vendor:", "vendr:"), ("3.35 TB/s, source", "3.35 TBs, source"))


def rules_of(ran) -> set[str]:
    return set(re.findall(r"(?:error|warning|note) ([A-Z]{2}\d{3})", ran.out))


def test_selected_rules_count_alone_and_ignored_ones_do_not(check):
    rules = rules_of(check("--strict", text=DOUBTFUL))
    family = {rule for rule in rules if rule.startswith("HW")}
    assert family
    assert family < rules or family == rules
    assert rules_of(check("--strict", "--select", "HW")) == family
    assert rules_of(check("--strict", "--ignore", "hw")) == rules - family
    assert check("--strict", "--ignore", ",".join(rules)).code == 0


def test_a_file_that_does_not_load_counts_whatever_is_ignored(check):
    ran = check("--ignore", "HW,PV", text=MISSPELT)
    assert "ST015" in rules_of(ran)
    ran = check("--ignore", "ST015")
    assert ran.code == 2
    assert "correct it" in ran.err


@pytest.mark.parametrize("flag", ["--select", "--ignore"])
def test_a_rule_that_is_none_is_a_sentence(flag):
    for name in ("HW9999", "x", " "):
        with pytest.raises(InputError, match="no rule id begins with it"):
            rules_named(["HW", name], flag)
    assert rules_named([" hw041", "PV"], flag) == ("HW041", "PV")


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "{}", '{"faults": 3}', '{"faults": [{"rule": "HW041"}]}', "[" * 9999]
)
def test_a_baseline_of_something_else_is_a_sentence(tmp_path, text):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(
        InputError, match=r"b.json: is not a list of faults; write one with 'fastcalc"
    ):
        baseline_of(tmp_path / "b.json", tmp_path)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".fastcalc.toml", 'ignore = ["HW", "PV"]\n'),
        ("pyproject.toml", '[project]\nname = "x"\n[tool.fastcalc]\nignore = ["HW", "PV"]\n'),
    ],
)
def test_settings_count_below_their_folder_and_flags_come_first(
    check, tmp_path, monkeypatch, file, text
):
    assert check("--fail-on-warnings", text=DOUBTFUL).code == 1
    (tmp_path / file).write_text(text)
    assert check("--fail-on-warnings").code == 0
    assert check("--fail-on-warnings", "--ignore", "PV").code == 1
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "chip.yaml").write_text(DOUBTFUL)
    monkeypatch.chdir(tmp_path / "below")
    assert check("--fail-on-warnings").code == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ignroe = []\n", "unknown key 'ignroe'; did you mean ignore?"),
        ("ignore = 3\n", "ignore takes text or a list of them, not a value of type int"),
        ('strict = "yes"\n', "strict takes true or false, not a value of type str"),
        ("ignore = [\n", "not readable as TOML"),
        ('baseline = "none.json"\n', "cannot be read"),
    ],
)
def test_settings_that_are_wrong_are_a_sentence(check, tmp_path, text, sentence):
    (tmp_path / ".fastcalc.toml").write_text(text)
    ran = check(text=DOUBTFUL)
    assert ran.code == 2
    assert sentence in ran.err
    assert "Traceback" not in ran.err


def test_pyproject_of_others_sets_nothing(check, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    assert check("--fail-on-warnings", text=DOUBTFUL).code == 1


def test_sources_and_warnings_are_asked_for_apart(check):
    """A bare number is a fault where sources are required; a doubtful one where warnings count."""
    bare = edited(("^area: .*", "area: 814 mm2"))
    plain, sourced = check(text=bare), check("--require-sources")
    assert plain.code == 0
    assert rules_of(plain) <= rules_of(sourced)
    assert check("--fail-on-warnings", text=DOUBTFUL).code == 1
    assert check("--require-sources", text=DOUBTFUL).code == 0


def test_what_is_known_does_not_count_though_its_line_moves(check, tmp_path):
    assert check("--strict", "--format", "json", "-o", "known.json", text=DOUBTFUL).code == 1
    ran = check("--strict", "--baseline", "known.json", text="# moved\n" + DOUBTFUL)
    assert ran.code == 0, ran.out
    assert "known before" in ran.out
    doubly = DOUBTFUL.replace("3.35 TB/s", "33.5 TB/s", 1)
    assert check("--strict", "--baseline", "known.json", text=doubly).code == 1
    for text in ("", "[]", '{"faults": 3}', '{"faults": [{"rule": 1}]}', "\0"):
        (tmp_path / "known.json").write_text(text)
        assert check("--baseline", "known.json").code == 2


def test_a_baseline_of_the_settings_matches_from_any_folder(check, tmp_path, monkeypatch, capsys):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "chip.yaml").write_text(DOUBTFUL)
    assert check("below", "--strict", "--format", "json", "-o", "ci.json", text=DOUBTFUL).code == 1
    (tmp_path / ".fastcalc.toml").write_text('baseline = "ci.json"\n')
    (tmp_path / "below" / "new.yaml").write_text(DOUBTFUL)

    def run(*paths):
        return run_once("check", "--strict", *paths, capsys=capsys, monkeypatch=monkeypatch)

    for folder, names in {
        "": ("below/chip.yaml", str(tmp_path / "below" / "chip.yaml"), "./below/../chip.yaml"),
        "below": ("chip.yaml", "../chip.yaml", "../below/chip.yaml"),
    }.items():
        monkeypatch.chdir(tmp_path / folder)
        assert [run(name).code for name in names] == [0] * len(names)
    assert run("new.yaml").code == 1  # the same fault of another file is none that was known


UNREADABLE = [
    (("^id: .*", "id: [")),  # no YAML
    (("^vendor:", "vendr:")),
    (("^vendor: .*\n", "")),
    (("3.35 TB/s, source", "3.35 TB, source")),
    (("^kind: gpu", "kind: gpuu")),
    (("^extends: .*|^vendor: .*", "vendor: NVIDIA\nextends: nothing")),
]


@pytest.mark.parametrize("change", UNREADABLE)
def test_no_baseline_excuses_a_file_that_does_not_load(check, change):
    broken = edited(change)
    assert check("--format", "json", "-o", "known.json", text=broken).code == 1
    ran = check("--baseline", "known.json")
    assert (ran.code, "known before" in ran.out) == (1, False)


def test_nothing_excuses_what_a_models_schema_refuses(check, tmp_path):
    """Heads that kv_heads do not divide, whose rule is one of models, are refused by every command."""
    text = llama(("kv_heads: 8", "kv_heads: 5"), ("^id: .*", "id: chip"), ("^aliases: .*\n", ""))[1]
    text += "\nexcused: {MD001: it is so in our fork of it}\n"
    known = check("--format", "json", "-o", "known.json", text=text)
    assert known.code == 1
    for flags in (("--baseline", "known.json"), ("--ignore", "MD,PV,HW")):
        assert "MD001" in check(*flags).out
    assert check("--ignore", "MD001").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_a_baseline_that_is_no_file_is_a_sentence(check, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(1 << 40)  # a file with a hole, which takes no room
    words = {"pipe": "a pipe or a device", "zero": "a pipe or a device", "folder": "a folder"}
    for name, word in (words | {"large": "larger than"}).items():
        (tmp_path / ".fastcalc.toml").write_text(f'baseline = "{name}"\n')
        ran = check(text=DOUBTFUL)
        assert (ran.code, word in ran.err) == (2, True), ran.err


def test_what_a_message_knows_is_corrected(check, tmp_path):
    ran = check("--fix", text=MISSPELT)
    assert ran.code == 1
    assert "-vendr: NVIDIA\n+vendor: NVIDIA\n" in ran.out
    assert (tmp_path / "chip.yaml").read_text() == MISSPELT
    check("--fix", "--yes")  # the rest can be read once the key is right
    ran = check("--fix", "--yes")
    assert ran.code == 0, ran.out
    assert (tmp_path / "chip.yaml").read_text() == edited()
    assert check("--yes").code == 2


def test_junit_has_a_case_for_each_fault_that_counts(check):
    ran = check("--format", "junit", text=MISSPELT)
    suite = ElementTree.fromstring(ran.out)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) > 0
    suite = ElementTree.fromstring(check("--format", "junit", text=edited()).out)
    assert suite.attrib["failures"] == "0"
    assert len(suite.findall("testcase")) == 1


@pytest.mark.parametrize("text", [MISSPELT, DOUBTFUL, edited()])
def test_sarif_is_valid_and_helps(check, text):
    document = json.loads(check("--strict", "--format", "sarif", text=text).out)
    jsonschema.validate(document, SARIF)
    driver = document["runs"][0]["tool"]["driver"]
    assert driver["version"] == __version__
    for rule in driver["rules"]:
        assert RULES[rule["id"]].explanation["fix"] in rule["help"]["text"]


def test_a_chip_that_became_worse_fails(capsys, monkeypatch, tmp_path):
    """Factors kept as 1 make every chip worse by its whole error; kept as they are, none."""
    runs, before = str(ROOT / "docs" / "examples" / "my-runs.csv"), tmp_path / "before.csv"

    def validate(*arguments):
        return run_once("validate", runs, *arguments, capsys=capsys, monkeypatch=monkeypatch)

    text = validate("--format", "csv").out
    before.write_text(text)
    kept = ("--baseline", str(before), "--max-worse", "3%")
    assert validate(*kept).code == 0
    header, *rows = (line.split(",") for line in text.splitlines())
    at = header.index("factor")
    lines = [header, *([*row[:at], "1", *row[at + 1 :]] for row in rows)]
    before.write_text("\n".join(map(",".join, lines)))
    ran = validate(*kept)
    assert ran.code == 1
    median = sorted(float(row[at]) for row in rows)
    middle = (median[12] + median[13]) / 2
    assert f"h100-sxm {middle - 1:.0%} worse" in ran.err
    for text, sentence in (("id\n", "no columns"), ("id,factor\na,x\n", "not a number from 1")):
        before.write_text(text)
        assert sentence in validate(*kept).err
    assert "name them with" in validate("--max-worse", "3%").err
