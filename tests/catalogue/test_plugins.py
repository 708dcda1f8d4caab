"""Catalogues that installed packages bring: docs/plugins.md and its example, installed by hand."""

import re
import shlex
import shutil
import tomllib

import pytest

import fastcalc as fc
from fastcalc.catalogue.plugins import GROUP, plugin_folders
from fastcalc.errors import InputError
from tests.helpers import ROOT, run

EXAMPLE = ROOT / "docs" / "examples" / "acme-catalogue"
PAGE = (ROOT / "docs" / "plugins.md").read_text()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages: the example, whose code would raise if it were run."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    package = tmp_path / "site" / "acme_catalogue"
    shutil.copytree(EXAMPLE / "acme_catalogue", package)
    (package / "__init__.py").write_text("raise RuntimeError")
    names = {
        **project["entry-points"][GROUP],
        "gone": "acme_no_package",
        "empty": "acme_catalogue.hardware",
        "nameless": ".",
    }
    about = package.with_name("acme_catalogue-2026.11.dist-info")
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = "".join(f"{name} = {value}\n" for name, value in names.items())
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.chdir(tmp_path)
    plugin_folders.cache_clear()
    return tmp_path


@pytest.fixture
def ask(site, capsys, monkeypatch):
    return lambda *words: run(*words, capsys=capsys, monkeypatch=monkeypatch)


def test_the_commands_of_the_page_run(ask):
    commands = re.findall(r"(?m)^fastcalc .*$", PAGE)
    assert len(commands) == 3
    for command in commands:
        ran = ask(*shlex.split(command)[1:])
        assert ran.code == 0, ran.err
        assert "Acme" in ran.out
        assert all("--plugins acme" in line for line in re.findall("(?ms)^next: .*", ran.out))


def test_its_python_runs(site):
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    scope = {}
    exec(code, scope)
    assert {row["hardware"] for row in scope["table"]} == {"acme-x1", "h100-sxm"}
    assert {row["engine"] for row in scope["table"]} == {"acme-serve"}


def test_an_installed_package_alone_changes_nothing(ask):
    ran = ask("show", "acme-x1")
    assert ran.code == 2
    assert "nothing is called 'acme-x1'" in ran.err


def test_a_setting_or_a_variable_asks_for_it(ask, site, monkeypatch):
    """Two ways that ask, one for the folder and one for the shell; files extend what it brings."""
    (site / ".fastcalc.toml").write_text('plugins = ["acme"]\n')
    (site / "engines").mkdir()
    (site / "engines" / "ours.yaml").write_text("extends: acme-serve\nid: ours\nname: Ours\n")
    for command in (("show", "x1"), ("check", "engines")):
        assert ask(*command).code == 0
    (site / ".fastcalc.toml").unlink()
    assert "acme-serve" in ask("check", "engines").out
    monkeypatch.setenv("FASTCALC_PLUGINS", "acme")
    assert ask("show", "x1").code == 0


def test_ones_own_folder_comes_before_a_package_and_a_package_before_the_shipped(ask, site):
    brought = site / "site" / "acme_catalogue" / "hardware"
    chip = (brought / "acme-x1.yaml").read_text()
    (brought / "h100-sxm.yaml").write_text(chip.replace("acme-x1", "h100-sxm"))
    assert "Acme X1" in ask("show", "h100-sxm", "--plugins", "acme").out
    own = site / "own"
    own.mkdir()
    (own / "acme-x1.yaml").write_text(chip.replace("Acme X1", "Our X1"))
    assert "Our X1" in ask("show", "acme-x1", "--plugins", "acme", "--hardware-dir", "own").out


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("acne", "no plugin called 'acne' is installed; installed: acme, empty, gone, nameless"),
        ("gone", "its package acme_no_package has none of the folders hardware, models, engines"),
        ("empty", "its package acme_catalogue.hardware has none of the folders"),
        ("nameless", "its package . has none of the folders"),
        ("", "names nothing"),
    ],
)
def test_a_plugin_that_is_none_is_a_sentence(ask, name, sentence):
    ran = ask("list", "hardware", "--plugins", name)
    assert ran.code == 2
    assert sentence in ran.err
    with pytest.raises(InputError, match=re.escape(sentence)):
        fc.compare("qwen3-8b", plugins=name)
