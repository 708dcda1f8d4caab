"""What leaves the program: names that would act on a terminal, a sheet or a table do not."""

import csv
import io
import json
import re
import unicodedata
from functools import partial

import pytest
import yaml

from fastcalc.cli import lazy_commands
from fastcalc.features.fastmode import records as fastmode
from fastcalc.features.plan import columns as plan_columns
from fastcalc.kit.answer import console
from fastcalc.kit.answer import point_records as records
from fastcalc.written import csv_cell, line, to_csv, to_json, to_markdown, visible
from tests.helpers import ROOT, answer_once, loaded, run, sweep, thorough

# clear the screen, a bar, right-to-left, C1's own introducer, no width, and the next line
BAD = "=1+1\x1b[2J|\u202e\x9b31m\u200b\ufeff\\|\r\nb"
NAME = "=1+1|\u202e\u200b\ufeff\\|b"  # names are refused controls
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
NUMBER = re.compile(r"-?[0-9.,]+(e[+-]?[0-9]+)?")


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    """A command, answered once for all formats: no test changes the files that it reads."""
    kept = partial(answer_once, files_are_kept=True)
    monkeypatch.setattr(lazy_commands, "answer_to", kept)
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    """Return a folder of own files in which every text that is free is hostile."""
    folder = tmp_path_factory.mktemp("own")

    def shipped(path):
        return loaded((ROOT / path).read_text())

    def written(name, entry):
        (folder / name).write_text(yaml.safe_dump(entry, sort_keys=False))

    chip = shipped("hardware/h100-sxm.yaml")
    chip |= {
        "id": "chip",
        "name": NAME,
        "vendor": NAME,
        "scope": BAD,
        "notes": [BAD],
        "aliases": [],
    }
    chip["memory"][0]["name"] = NAME
    for source in chip["sources"].values():
        source["title"] = BAD
    chip["price"]["offers"][0]["price"]["note"] = BAD
    (folder / "hardware").mkdir()
    written("hardware/chip.yaml", chip)
    model = shipped("models/llama-3.1-8b.yaml")
    model |= {"id": "model", "name": NAME, "notes": [BAD], "aliases": []}
    (folder / "models").mkdir()
    written("models/model.yaml", model)
    written("=m|\x1b[2J\u202e.yaml", model | {"id": "m"})
    (folder / "engines").mkdir()
    engine = {"id": "engine", "name": NAME, "date": "2026-11", "extends": "vllm", "fitted_on": BAD}
    written("engines/engine.yaml", engine | {"notes": [BAD]})
    claims = shipped("evidence/claims.yaml")
    claims["claims"] = claims["claims"][:3]
    claims["topics"] = {}
    for one in claims["claims"]:
        one |= {"claim": BAD, "reason": BAD}
    for part in (*claims["articles"].values(), *claims["sources"].values()):
        part["title"] = BAD
    written("claims.yaml", claims)
    points = list(csv.reader((ROOT / "evidence/measured.csv").read_text("utf-8").splitlines()[:3]))
    with (folder / "=p|\x1b[2J.csv").open("w", encoding="utf-8", newline="") as stream:
        bad_id = "=1+1|\u202e\u200b"
        csv.writer(stream).writerows(
            [points[0], [bad_id, *points[1][1:]], ["-2+3", *points[2][1:]]]
        )
    return folder


OWN = (
    "--on",
    "chip",
    "--engine",
    "engine",
    "--hardware-dir",
    "{hardware}",
    "--models-dir",
    "{models}",
)
OWN = (*OWN, "--engines-dir", "{engines}")
FOLDERS = OWN[4:]
FOUR = ("table", "json", "csv", "markdown")
MODEL = "{=m|\x1b[2J\u202e.yaml}"
COMMANDS = {
    "compare": (("compare", MODEL, "model", "--batch", "1,2", *OWN), FOUR),
    "fit": (("fit", MODEL, *OWN), FOUR),
    "plan": (("plan", MODEL, "--rate", "1/s", *OWN), FOUR),
    "no plan": (("plan", MODEL, "--ttft", "1us", *OWN), FOUR),
    "frontier": (("frontier", MODEL, "--max-chips", "2", *OWN), FOUR),
    "no frontier": (("frontier", "glm-5.3-flash", "--max-chips", "1", *OWN), FOUR),
    "fastmode": (("fastmode", MODEL, "--smaller", "model", *OWN), FOUR),
    "no fastmode": (("fastmode", MODEL, "--from-speed", "1e8", *OWN), FOUR),
    "decide": (("decide", MODEL, "@\x1b[2J\u202e=speed=9", *OWN), FOUR),
    "sweep": (("sweep", MODEL, "--batch", "1,2", *OWN), ("csv", "json")),
    "list hardware": (("list", "hardware", *FOLDERS), FOUR),
    "list models": (("list", "models", *FOLDERS), FOUR),
    "list engines": (("list", "engines", *FOLDERS), FOUR),
    "show chip": (("show", "chip", *FOLDERS), ("table", "json")),
    "show model": (("show", MODEL, *FOLDERS), ("table", "json")),
    "show engine": (("show", "engine", *FOLDERS), ("table", "json")),
    "diff": (("diff", "h100-sxm", "chip", *FOLDERS), ("table", "json", "csv")),
    "diff models": (("diff", "llama-3.1-8b", "model", *FOLDERS), ("table", "json", "csv")),
    "validate": (("validate", "{=p|\x1b[2J.csv}"), FOUR),
    "claims": (("claims", "{claims.yaml}"), FOUR),
    "explained claim": (("claims", "{claims.yaml}", "--explain", "1"), FOUR),
    "check": (("check", "{}", "--strict"), ("text", "json", "github")),
    "rule": (("check", "--explain", "HW041"), ("text", "json")),
    "rules": (("check", "--explain", "all"), ("text", "json")),
}
CASES = [(name, format_) for name, (_, formats) in COMMANDS.items() for format_ in formats]


def asked(name, folder):
    """Return the words of a command; what stands in braces is a path in the folder."""
    words = COMMANDS[name][0]
    return [folder / word[1:-1] if word.startswith("{") else word for word in words]


def hidden(text):
    """Return the letters of a text that act and are not seen."""
    return {letter for letter in text if unicodedata.category(letter) in HIDDEN} - {"\n", "\t"}


def cells_of(row):
    """Return how many cells a line of a Markdown table has, as GitHub's grammar reads it."""
    return len(re.sub(r"\\.", "", row.strip()).strip("|").split("|"))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "format_"), sweep(CASES, lambda name, _: name == "fastmode"))
def test_hostile_names_do_nothing(name, format_, bad, fastcalc):
    ran = fastcalc(*asked(name, bad), "--format", format_)
    assert ran.code in (0, 1), ran.err
    assert not hidden(ran.out) | hidden(ran.err)
    if format_ == "json":
        assert {"records", "points", "faults", "id"} & set(json.loads(ran.out))
    elif format_ == "csv":
        rows = list(csv.reader(io.StringIO(ran.out, newline="")))
        assert len({len(row) for row in rows}) == 1
        for cell in (cell for row in rows for cell in row):
            assert cell[:1] not in tuple("=+-@\t\r") or NUMBER.fullmatch(cell)
            assert not cell.startswith("'") or cell[1] in "=+-@"
            assert not NUMBER.fullmatch(cell.removeprefix("'")) or cell[0] != "'"
    elif format_ == "markdown":
        rows = ran.out.splitlines()
        assert len({cells_of(row) for row in rows}) == 1
        assert set(rows[1]) == {"|", "-"}
    elif format_ == "github":
        lines = ran.out.splitlines()
        assert all(
            re.match(r"::(error|warning|notice) file=[^,:]*,line=", one) for one in lines[:-1]
        )


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("sweep", "fastmode")])
def test_our_own_colours_are_all_that_reaches_a_terminal(name, bad, fastcalc, monkeypatch):
    monkeypatch.setattr(console, "wants_colour", lambda: True)
    ran = fastcalc(*asked(name, bad))
    assert not hidden(re.sub("\x1b\\[[0-9;]*m", "", ran.out)) | hidden(ran.err)


def test_json_keeps_names_as_they_are(bad, fastcalc):
    """An escape of JSON is the letter itself once it is read."""
    assert json.loads(fastcalc(*asked("show chip", bad), "--format", "json").out)["name"] == NAME
    found = json.loads(fastcalc(*asked("sweep", bad), "--format", "json").out)
    assert (
        found["records"][0]["placement"].startswith(NAME)
        or NAME in found["records"][0]["placement"]
    )


@pytest.mark.parametrize(
    "args",
    [
        ("compare", "--on", BAD),
        ("compare", BAD),
        ("compare", "--price", BAD),
        ("compare", "--format", BAD),
        ("show", f"{BAD}.yaml"),
        ("import", BAD),
        ("validate", f"{BAD}.csv"),
        ("check", BAD),
        ("claims", "--explain", BAD),
        ("compare", "-o", f"no/{BAD}"),
        (BAD,),
        ("compare", f"--{BAD}"),
    ],
)
def test_refusals_are_one_line_that_can_be_read(args, fastcalc):
    ran = fastcalc(*args)
    assert (ran.code, ran.out) == (2, "")
    assert not hidden(ran.err)
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("plan", plan_columns.KEYS),
        ("no plan", plan_columns.KEYS),
        ("frontier", records.KEYS),
        ("no frontier", records.KEYS),
        thorough("fastmode", [column.key for column in fastmode.COLUMNS]),
        ("no fastmode", [column.key for column in fastmode.COLUMNS]),
    ],
)
def test_the_header_is_the_same_with_and_without_an_answer(name, keys, bad, fastcalc):
    rows = fastcalc(*asked(name, bad), "--format", "csv").out.splitlines()
    assert rows[0] == ",".join(keys)
    assert (len(rows) == 1) == name.startswith("no ")


@pytest.mark.parametrize("name", ["no plan", "no frontier", "no fastmode"])
@pytest.mark.parametrize("format_", FOUR)
def test_no_answer_comes_in_the_format_asked_for(name, format_, bad, fastcalc, tmp_path):
    target = tmp_path / "answer"
    ran = fastcalc(*asked(name, bad), "--format", format_, "-o", target)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("fastcalc: note: ")
    if format_ == "json":
        found = json.loads(target.read_text())
        assert (found["schema"], found["records"]) == ("fastcalc/1", [])
        assert found["reason"]
    else:
        lines = {"table": 0, "csv": 1, "markdown": 2}[format_]
        assert lines == (len(target.read_text().splitlines()) if target.exists() else 0)


def test_rules_as_json(fastcalc):
    (rule,) = json.loads(fastcalc("check", "--explain", "hw041", "--format", "json").out)["records"]
    assert rule["id"] == "HW041"
    assert rule["why"]
    assert fastcalc("check", "--explain", "HW041", "--format", "github").code == 2
    assert fastcalc("check", "--explain", "HW041", "--format", "yaml").code == 2


def test_every_line_of_a_list_has_the_columns_of_its_header(fastcalc):
    """Chips have rates of different formats; their lines were of 35 to 37 cells."""
    rows = list(csv.reader(io.StringIO(fastcalc("list", "hardware", "--format", "csv").out)))
    assert len({len(row) for row in rows}) == 1
    chips = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows}
    # hardware/mi355x.yaml has 10,066 TFLOP/s of FP6
    assert float(chips["mi355x"]["peak_fp6_flop_per_s"]) == 10_066e12


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\t", "\n", " =", "\uff1d"])
def test_text_that_a_sheet_would_compute_gets_an_apostrophe(mark):
    (cell,) = next(csv.reader(io.StringIO([*to_csv([{"key": f"{mark}a1"}])][1])))
    assert cell == f"'{mark}a1"


@pytest.mark.parametrize(
    "value", [-1, -1.5, -1e-9, "-5", "-1,234.5", "+3e5", [-1.0, 2.0], None, True]
)
def test_numbers_get_none(value):
    assert not csv_cell(value).startswith(("'", "\"'"))


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (0.5, "0.5"),
        ("a, b", '"a, b"'),
        ('the "best"', '"the ""best"""'),
        (["a", "b"], "a; b"),
        # A list is a formula where one of its texts is no number, and so is what only begins as one.
        (["-1", "=1"], "'-1; =1"),
        (["-1", "+2.5e3"], "-1; +2.5e3"),
        ("-1+cmd()", "'-1+cmd()"),
        ("  @a", "'  @a"),
        ("a\x1bb", "a\\u001bb"),
    ],
)
def test_a_cell_of_a_csv(value, cell):
    """RFC 4180: what holds a comma, a quote or a line end is quoted, and a quote is doubled."""
    assert csv_cell(value) == cell


@pytest.mark.parametrize("text", ["a|b", "a\\|b", "a\\\\|b", "|", "a\\", "a\nb", "\\\\\\|x"])
def test_no_name_adds_a_column_to_a_markdown_table(text):
    rows = to_markdown(["one", "two"], [[text, text]]).splitlines()
    assert [cells_of(row) for row in rows] == [2, 2, 2]


def test_what_is_seen_stays():
    for text in ("plain", "é 宝玉 ─│ → ≥", "a\nb\tc", "10\xa0GB", "\\u001b"):
        assert visible(text) == text
    assert line("\ud800\U000e0041") == "\\ud800\\udb40\\udc41"


@pytest.mark.parametrize("write", [csv_cell, to_json])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_refused_rather_than_written(write, number):
    with pytest.raises(ArithmeticError):
        write(number)
    assert write(10**400) == "1" + 400 * "0"
