"""The page on fast modes: its numbers are this version's, and its words follow its numbers."""

import doctest
import importlib
import re
import sys

import pytest

from fastcalc.articles.claim_file import load_claims
from fastcalc.articles.judge import judge
from fastcalc.catalogue.store import Catalogue
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


def changed(folder, file, old, new):
    """Write a shipped file with other words into a folder, and return its kind with the folder."""
    kind, name = file.split("/")
    content = (ROOT / file).read_text()
    assert old in content
    (folder / kind).mkdir(exist_ok=True)
    (folder / kind / name).write_text(content.replace(old, new))
    return {kind: (folder / kind,)}


def floor_of(engine):
    """Return an engine's floor of a layer as its file has it; a fit may change it."""
    content = (ROOT / "engines" / f"{engine}.yaml").read_text()
    return re.search(r"decode_layer_floor: {value: ([^,]+),", content)[1]


def test_words_follow_the_numbers(refresh, tmp_path):
    """Slow wafers and servers, and a cheap new chip, turn the sentences that hang on them.

    At 60 us a layer 48 layers take 2.9 ms, so neither reading of Spark does 1,000 tokens/s; at 900
    us 80 layers take 72 ms, so nobody has 65. A tenth of its rent is less than an H100's, and
    GB200 is faster.
    """
    own = {}
    for file, old, new in (
        (
            "engines/cerebras.yaml",
            "17 us, band: [11.0e-6, 28.0e-6]",
            "60 us, band: [4.0e-5, 9.0e-5]",
        ),
        ("engines/vllm.yaml", floor_of("vllm"), "900 us"),
        ("hardware/gb200.yaml", "10.50 USD/h", "1.05 USD/h"),
    ):
        own |= changed(tmp_path, file, old, new)
    page = words(refresh.page(Catalogue(own)))
    for told in (
        "neither reading passes 1,000",
        "the dense 20B is not expected to reach 1,000 tokens/s",
        "at some 40 to 90 us a layer",
        "65 tokens/s of `frontier-1t` are out of reach this way",
        "none of the 4 shapes tried get there",
        "By cloud rent a token on GB200 is cheaper for all",
    ):
        assert told in page


def test_words_follow_ideal_servers(refresh, tmp_path):
    """At the bound there are no ranges, and all shapes have both speeds: claim 4 without floors."""
    ideal = (ROOT / "engines" / "ideal.yaml").read_text()
    (tmp_path / "vllm.yaml").write_text(re.sub(r"(?m)^id: ideal$", "id: vllm", ideal))
    page = words(refresh.page(Catalogue({"engines": (tmp_path,)})))
    assert "all of the 4 shapes tried get there" in page
