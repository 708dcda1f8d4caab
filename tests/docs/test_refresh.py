"""``docs/refresh.py``: one page in seconds, and nothing of the others."""

import importlib.util
import shutil

import pytest

from tests.helpers import ROOT

STALE = "```console\n$ echo two\none\n```\n"
FRESH = "```console\n$ echo two\ntwo\n```\n"
GALLERY = """\
![of a](pictures/a.svg) ![of b](pictures/b.svg)

fastcalc plot speed a -o docs/pictures/a.svg
fastcalc plot speed b -o docs/pictures/b.svg
"""


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """A repository with a README, four pages and two pictures."""
    docs = tmp_path / "docs"
    for folder in ("examples", "guide", "pictures"):
        (docs / folder).mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "refresh.py", docs)
    (tmp_path / "README.md").write_text(STALE)
    (docs / "faq.md").write_text(STALE)
    (docs / "guide" / "a.md").write_text(f"{STALE}![of a](../pictures/a.svg)\n")
    (docs / "records.md").write_text("")
    (docs / "gallery.md").write_text(GALLERY)
    monkeypatch.chdir(tmp_path)
    return docs


@pytest.fixture
def refresh(docs, monkeypatch):
    """The script there. It keeps what it would draw and compute."""
    spec = importlib.util.spec_from_file_location("refresh_docs", docs / "refresh.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.drawn, script.computed = [], []
    monkeypatch.setattr(script, "draw", lambda _, picture: script.drawn.append(picture.name))
    monkeypatch.setattr(
        script,
        "compute",
        lambda name, *pages: script.computed.append((name, *pages)),
    )
    return script


def test_a_page_is_refreshed_alone(docs, refresh):
    refresh.main(["docs/guide/a.md"])
    assert (docs / "guide" / "a.md").read_text() == f"{FRESH}![of a](../pictures/a.svg)\n"
    assert (docs / "faq.md").read_text() == STALE
    assert (docs.parent / "README.md").read_text() == STALE
    assert refresh.drawn == ["a.svg"]
    assert refresh.computed == [("pages.py", "a.md")]


def test_a_page_without_pictures_and_tables_needs_its_commands_alone(docs, refresh):
    refresh.main(["docs/faq.md"])
    assert (docs / "faq.md").read_text() == FRESH
    assert (refresh.drawn, refresh.computed) == ([], [])


def test_a_computed_page_is_written_by_its_script(refresh):
    refresh.main(["docs/records.md", "README.md"])
    assert refresh.computed == [("schema/refresh.py", "records.md"), ("pages.py", "README.md")]


def test_without_a_name_all_is_refreshed(docs, refresh):
    refresh.main([])
    assert {(docs / "faq.md").read_text(), (docs.parent / "README.md").read_text()} == {FRESH}
    assert refresh.drawn == ["a.svg", "b.svg"]
    scripts = ("stub.py", "schema/refresh.py", "fast_modes/refresh.py", "pages.py")
    assert refresh.computed == [(script,) for script in scripts]


def test_a_page_that_is_none_is_refused(refresh):
    with pytest.raises(SystemExit, match=r"docs/gone\.md: no such page"):
        refresh.main(["docs/faq.md", "docs/gone.md"])


def test_every_script_and_every_page_of_it_exists(refresh):
    for script, pages in refresh.SCRIPTS.items():
        assert (ROOT / "docs" / script).is_file()
        assert all([*ROOT.glob(page)] for page in pages)
