"""The README and the pages of docs: every command they show prints what it shows."""

import doctest
import importlib
import json
import re
import shlex
import shutil
import sys
from textwrap import dedent

import pytest

from fastcalc.features import COMMANDS
from tests.docs.plan_amounts import check_plan
from tests.helpers import ROOT, by_hand, is_slow, run, run_once, sweep, thorough, words

README = (ROOT / "README.md").read_text()


def code(page):
    """The blocks of code of a page, fenced or indented."""
    return re.findall(r"(?ms)^```\w*\n.*?^```|(?:^ {4}\S.*?\n)+", page.read_text())


PAGES = [
    ROOT / "README.md",
    *sorted(one for one in (ROOT / "docs").rglob("*.md") if one.parent.name != "fast_modes"),
]
SHOWN = [
    (command, expected.rstrip("\n").split("\n"))
    for page in PAGES
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", page.read_text())
    for command, expected in re.findall(r"(?ms)^\$ ([^\n]+)\n(.*?)(?=^\$ |\Z)", block)
]
RECIPES = re.findall(r"(?m)^(fastcalc .*?) +#", README)
EXAMPLES = ROOT / "docs" / "examples"
IN_CODE = {
    page: re.findall(r"(?m)^(?:\$ | {4}|)(fastcalc [a-z].*)$", "\n".join(code(page)))
    for page in PAGES
}


def cut(text: str, fields: str) -> str:
    """Stand in for ``cut -d, -f``: keep some columns of a CSV without quotes before them."""
    places = [int(field) - 1 for field in fields.split(",")]
    return "\n".join(
        ",".join(line.split(",")[place] for place in places) for line in text.splitlines()
    )


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The files that are spoken of, in a folder of their own."""
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "expected"), sweep(SHOWN, is_slow, [command for command, _ in SHOWN])
)
def test_it_prints_what_it_shows(command, expected, folder, capsys, monkeypatch):
    command, _, pipe = command.partition(" | ")
    ran = run_once(*shlex.split(command)[1:], capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    out = cut(ran.out, pipe.split("-f")[1]) if pipe else ran.out
    lines = out.rstrip("\n").split("\n")
    if expected[-1] == "...":
        expected, lines = expected[:-1], lines[: len(expected) - 1]
    assert lines == expected
    if command.startswith("fastcalc plan") and "--emit" not in command:
        assert len(lines) <= _PLAN_LINES
        asked = [*shlex.split(command)[1:], "--format", "json"]
        document = run_once(*asked, capsys=capsys, monkeypatch=monkeypatch).out
        check_plan(command, json.loads(document))


_PLAN_LINES = 24
"""Lines of the first screen of a plan."""


@pytest.mark.parametrize("command", sweep(RECIPES, is_slow))
def test_a_recipe_runs(command, folder, capsys, monkeypatch):
    ran = run_once(*shlex.split(command)[1:], capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err


def files_of(command):
    """The files that a command reads, and those that it writes."""
    written = re.findall(r"(?:-o|>) (\S+)", command)
    files = re.findall(r"\S+\.(?:ya?ml|jsonl?|csv|log)\b", command.partition(" # ")[0])
    return [file for file in files if file not in written], written


def test_every_file_that_a_command_reads_is_an_example_or_written_by_another():
    commands = [command for listed in IN_CODE.values() for command in listed]
    for page in PAGES:
        commands += re.findall(r"`(fastcalc [^`]+)`", page.read_text())
    written = {file for command in commands for file in files_of(command)[1]}
    for command in commands:
        for file in files_of(command)[0]:
            assert any((home / file).exists() for home in (EXAMPLES, ROOT)) or file in written, file


def is_of_plans(page) -> bool:
    return page.name in ("questions.md", "server.md")


@pytest.mark.parametrize("page", sweep(IN_CODE, is_of_plans, [page.name for page in IN_CODE]))
def test_commands_that_read_examples_run(page, folder, capsys, monkeypatch):
    """In their order, those of console blocks and of the README's recipes apart."""
    for command in IN_CODE[page]:
        read = files_of(command)[0]
        is_tested = command in dict(SHOWN) or page.name in ("README.md", "commands.md")
        if read and not is_tested and all((folder / file).exists() for file in read):
            words = shlex.split(command, comments=True)[1:]
            ran = run_once(*words, capsys=capsys, monkeypatch=monkeypatch)
            assert ran.code in (0, 1), ran.err


def test_the_front_page_is_short():
    lines = README.splitlines()
    assert len(lines) <= 200
    assert all(len(line) <= 105 for line in lines)
    assert len(RECIPES) == 10


def test_its_python_runs():
    parsed = doctest.DocTestParser().get_doctest(README, {}, "README", "README.md", 0)
    assert parsed.examples
    assert doctest.DocTestRunner().run(parsed).failed == 0


def test_every_command_is_shown():
    guides = "".join(page.read_text() for page in PAGES if page.name != "commands.md")
    for name in COMMANDS:
        assert f"fastcalc {name}" in guides


def test_the_two_setup_commands_are_in_the_first_screen():
    first = "\n".join(README.splitlines()[:24])
    assert "python -m pip install . && fastcalc compare" in first
    assert "python -m pip install '.[test]' && pytest -n auto" in first


@pytest.mark.parametrize(
    ("page", "asked"),
    [("chips", ("compare", "llama-3.1-8b", "--on")), ("capacity", ("compare",))],
)
def test_the_yaml_it_shows_loads(page, asked, capsys, monkeypatch, tmp_path):
    text = (ROOT / "docs" / "guide" / f"{page}.md").read_text()
    whole, *others = re.findall(r"(?ms)^ *```yaml\n(.*?)^ *```", text)
    path = tmp_path / "entry.yaml"
    for shown, command in ((whole, asked), *((shown, ("show",)) for shown in (whole, *others))):
        path.write_text(dedent(shown))
        ran = run(*command, path, capsys=capsys, monkeypatch=monkeypatch)
        assert ran.code == 0, ran.err


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        yield importlib.import_module("pages")
    finally:
        sys.path.remove(str(ROOT / "docs"))
        sys.modules.pop("pages", None)


@pytest.mark.parametrize("name", ["commands.md", "catalogue.md", thorough("accuracy.md")])
def test_a_generated_page_is_up_to_date(pages, name):
    """``python docs/refresh.py`` writes it."""
    assert (ROOT / "docs" / name).read_text() == pages.PAGES[name]()


SLOW_PAGES = ("README.md", "capacity.md")
MARKED = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


@pytest.mark.parametrize(
    "page",
    sweep(MARKED, lambda page: page.name in SLOW_PAGES, [page.name for page in MARKED]),
)
def test_marked_numbers_are_so(pages, page):
    """``python docs/refresh.py`` writes what stands between marks."""
    text = page.read_text()
    assert pages.marked(text) == text


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.name)
def test_no_number_of_the_prose_is_written_by_hand(page):
    """A digit or a word of comparison stands in a command, a link, or what a computation fills in."""
    text = re.sub(r"(?s)<!-- (\S+) -->.*?<!-- /\1 -->", "", page.read_text())
    assert by_hand(text) == []


@pytest.mark.thorough
def test_the_table_of_trust_adds_up(capsys, monkeypatch):
    """The README has the counts that ``validate`` scores, and names the SRAM machines."""
    said = words(README)
    rows = (
        r"\| (?:sources never used for fitting|cross-validation on the other sources) \| ([\d,]+)"
    )
    aside, whole = re.findall(rows, said)
    seen, points = re.search(
        r"(\d+) of the ([\d,]+) measurements are from SRAM machines", said
    ).groups()
    answer = json.loads(
        run_once("validate", "--format", "json", capsys=capsys, monkeypatch=monkeypatch).out
    )
    counts = {one["group"]: one["n"] for one in answer["groups"]}
    assert whole == points
    assert (counts["all"], counts["part:SRAM machines"]) == (int(whole.replace(",", "")), int(seen))
    hosted = re.search(r"(\d+) further measurements with weights offloaded to host memory", said)[1]
    assert len(answer["points"]) == counts["all"] + int(aside.replace(",", "")) + int(hosted)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text())
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http", "/")):
            assert re.fullmatch(r"https?://[\w.-]+\.[a-z]+(?:[/?#]\S*)?", link), link
            continue
        file, _, place = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        if place:
            heads = re.findall(r"(?m)^#+ (.*)$", target.read_text())
            assert place in {
                re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads
            }


def test_the_site_has_every_page():
    known = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES[1:]:
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name in known, name
