"""The page on fast modes: its numbers are this version's, and its words follow its numbers."""

import doctest
import importlib
import re
import sys

import pytest

from fastcalc.catalogue import Catalogue
from fastcalc.claims.judge import judge
from fastcalc.claims.load import load_claims
from tests.helpers import ROOT, words

FOLDER = ROOT / "docs" / "fast_modes"
NAMES = ("book", "tricks", "systems", "refresh")


@pytest.fixture(scope="module")
def refresh():
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("refresh")
    finally:
        sys.path.remove(str(FOLDER))
        for name in NAMES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def text(refresh):
    return refresh.page(Catalogue())


def test_it_is_up_to_date(refresh, text):
    """``python docs/fast_modes/refresh.py`` writes it."""
    assert refresh.PAGE.read_text(encoding="utf-8") == text


@pytest.mark.usefixtures("refresh")
def test_its_examples_hold():
    for name in NAMES:
        assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(
    "system",
    [
        *("Claude Opus 4.6", "Claude Opus 4.6 fast", "GPT-5.3-Codex", "GPT-5.4 fast"),
        "Spark, read as a dense model of up to 40B at 8 bits",
        "Spark, read as a 120B mixture",
        *("GLM-4.7, 355B, on Cerebras", "H100", "B200", "GB200", "WSE-3"),
    ],
)
def test_every_system_of_the_articles_has_a_row(text, system):
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith(f"| {system} ")
    ]
    assert any(len(row) == 4 and all(row) for row in cells)


def test_what_is_wrong_or_open_is_there(text):
    for one in judge(Catalogue(), load_claims().claims):
        row = re.search(
            rf"(?m)^\| {re.escape(one.claim.id)} +\| {re.escape(one.claim.claim)}", text
        )
        assert bool(row) == (one.verdict in ("refuted", "misleading", "undetermined"))


def test_prose_is_wrapped_and_complete(text):
    assert not re.search(r"\{\w+\}|\bnan\b|\binf\b", text)
    prose = re.sub(r"(?ms)^```.*?^```$", "", text).splitlines()
    assert all(len(line) <= 100 for line in prose if not line.startswith("|"))


def test_it_is_linked_and_its_links_are_there(text):
    assert "docs/fast-modes.md" in (ROOT / "README.md").read_text()
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / "docs" / link).exists()


def changed(tmp_path, file, *changes):
    """Return a catalogue in which a shipped file reads otherwise."""
    kind, name = file.split("/")
    content = (ROOT / file).read_text()
    for old, new in changes:
        assert old in content
        content = content.replace(old, new)
    (tmp_path / name).write_text(content)
    return Catalogue({kind: (tmp_path,)})


def test_words_follow_slower_wafers(refresh, tmp_path):
    """At 60 us a layer neither reading of Spark does 1,000 tokens/s: 48 layers take 2.9 ms."""
    slow = changed(
        tmp_path,
        "engines/cerebras.yaml",
        ("value: 17 us, band: [11.0e-6, 28.0e-6]", "value: 60 us, band: [40.0e-6, 90.0e-6]"),
    )
    page = words(refresh.page(slow))
    assert "neither reading passes 1,000" in page
    assert "the dense 20B is not expected to reach 1,000 tokens/s" in page
    assert "at some 40 to 90 us a layer" in page


def test_words_follow_slower_servers(refresh, tmp_path):
    """At 900 us a layer 80 layers take 72 ms, so nobody has 65 tokens/s."""
    page = words(refresh.page(changed(tmp_path, "engines/vllm.yaml", ("49.64 us", "900 us"))))
    assert "65 tokens/s of `frontier-1t` are out of reach this way" in page
    assert "none of the 4 shapes tried get there" in page


def test_words_follow_ideal_servers(refresh, tmp_path):
    """At the bound there are no ranges, and the four shapes do 170 tokens/s: claim 4's plain step."""
    ideal = (ROOT / "engines" / "ideal.yaml").read_text()
    (tmp_path / "vllm.yaml").write_text(re.sub(r"(?m)^id: ideal$", "id: vllm", ideal))
    page = words(refresh.page(Catalogue({"engines": (tmp_path,)})))
    assert "all of the 4 shapes tried get there" in page


def test_words_follow_prices(refresh, tmp_path):
    """At a tenth of its price, and less than an H100's, a token on GB200 is cheaper for all."""
    cheap = changed(tmp_path, "hardware/gb200.yaml", ("10.50 USD/h", "1.05 USD/h"))
    page = words(refresh.page(cheap))
    assert "By cloud rent a token on GB200 is cheaper for all" in page
    assert "new hardware lowers the price of a token is supported" in page
