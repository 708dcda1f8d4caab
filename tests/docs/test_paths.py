"""What documents and scripts name exists: files and folders by their paths, modules by their names."""

import re
from pathlib import Path

import pytest

import fastcalc
from tests.helpers import ROOT, every

MAPS = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
SCRIPTS = [
    path
    for folder in (".ci", ".github")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file() and path.name != "constraints.txt"
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [
    path
    for folder in ("fastcalc", "tests", "docs", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py*"))
    if path.suffix in (".py", ".pyi")
]
OF_READERS = ("my-chip.yaml", "before.csv")
OF_OTHER_PROJECTS = ("vllm/benchmarks/serve.py", "parallel_layers/pad.py")

FILE = re.compile(r"(?<![\w./<-])(?:[\w.-]+/)*[\w.-]+\.(?:py|css|js|csv|jsonl?|ya?ml|md|toml)\b")
FOLDER = re.compile(r"`([a-z_.][\w/-]*/[\w/-]*)`")
MODULE = re.compile(r"(?<![\w./-])fastcalc(?:\.[a-z]\w*)+")


def exists(name: str, page: Path) -> bool:
    """Whether a path is of the root, the package or the page; a bare name, of any folder."""
    if any((home / name).exists() for home in (ROOT, ROOT / "fastcalc", page.parent)):
        return True
    folders = ("fastcalc", "docs", "evidence")
    return "/" not in name and any(any((ROOT / top).rglob(name)) for top in folders)


def is_module(name: str) -> bool:
    """Whether a dotted name is of the library, or a folder or a file of the package."""
    first, *others = name.split(".")[1:]
    if first in fastcalc.__all__:
        return True
    folder = ROOT / "fastcalc"
    for part in (first, *others):
        if (folder / f"{part}.py").is_file():
            return True
        folder /= part
        if not folder.is_dir():
            return False
    return True


@every("page", MAPS)
def test_every_file_and_folder_of_the_map_exists(page):
    text = page.read_text()
    named = [*FILE.findall(text), *FOLDER.findall(text)]
    assert len(named) > 10
    assert [name for name in named if not exists(name, page) and name not in OF_READERS] == []


@every("page", [*SCRIPTS, *PAGES])
def test_every_module_that_a_page_names_by_its_path_exists(page):
    named = re.findall(r"(?<![\w./<-])(?:[\w.-]+/)+[\w.-]+\.py\b", page.read_text())
    assert [one for one in named if not exists(one, page) and one not in OF_OTHER_PROJECTS] == []


@pytest.mark.thorough
@every("page", [*MAPS, *SCRIPTS, *PAGES, *SOURCES])
def test_every_module_that_is_named_with_dots_exists(page):
    named = MODULE.findall(page.read_text())
    assert [name for name in named if not is_module(name)] == []


def test_a_name_that_has_moved_away_is_seen():
    text = "see `core/step/step.py` and `gone.py` of `tests/docs/`, <https://a.io/b.py>"
    assert FILE.findall(text) == ["core/step/step.py", "gone.py"]
    assert FOLDER.findall(text) == ["tests/docs/"]
    assert not exists("core/gone.py", ROOT / "ARCHITECTURE.md")
    assert not exists("gone.py", ROOT / "ARCHITECTURE.md")
    assert is_module("fastcalc.core.timeline.Timeline")
    assert not is_module(".".join(("fastcalc", "core", "gone")))


def test_the_version_has_a_short_section_of_the_changelog():
    """What a user notices, in at most forty lines; ``git log`` has the details."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"(?m)^## \[(.*?)\]", changelog)
    assert heads[:2] == ["Unreleased", fastcalc.__version__]
    section = changelog.split("\n## ")[2]
    assert len(section.strip().splitlines()) <= 40
