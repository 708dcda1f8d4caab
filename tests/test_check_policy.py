"""Which rules of a check count: flags, settings, a baseline; and what is corrected."""

import json
import re
from xml.etree import ElementTree

import jsonschema
import pytest

from fastcalc import __version__
from fastcalc.lint.rule import RULES
from tests.helpers import ROOT, run_once
from tests.rule_examples import h100

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


@pytest.mark.parametrize("name", ["--select", "--ignore"])
def test_a_rule_that_is_none_is_a_sentence(check, name):
    ran = check(name, "HW9999", text=DOUBTFUL)
    assert ran.code == 2
    assert "no rule's id begins so" in ran.err


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
        assert RULES[rule["id"]].fix in rule["help"]["text"]


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
