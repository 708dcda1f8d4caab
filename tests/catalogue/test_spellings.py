"""Names as people type them: other hyphens, the vendor before them or left out, several at once."""

from collections import Counter

import pytest

import fastcalc
from fastcalc.catalogue.names import _spelling
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from tests.helpers import run_once

ENTRIES = Catalogue()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("RTX 5090", "rtx-5090"),
        ("nvidia rtx_4090", "rtx-4090"),
        ("tpuv6e", "tpu-v6e"),
        ("trillium", "tpu-v6e"),
        ("m4-max", "apple-m4-max"),
        ("M4Max", "apple-m4-max"),
        ("Apple M3 Ultra", "apple-m3-ultra-80"),
        ("amd-mi300x", "mi300x"),
        ("h100sxm5", "h100-sxm"),
    ],
)
def test_chips_are_found_as_people_type_them(typed, meant):
    assert ENTRIES.knows(typed, "hardware")
    assert ENTRIES.hardware(typed).id == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("llama4-maverick", "llama-4-maverick"),
        ("qwen3_32b", "qwen3-32b"),
        ("Qwen 3 32B", "qwen3-32b"),
        ("GPTOSS-120B", "gpt-oss-120b"),
    ],
)
def test_models_are_found_as_people_type_them(typed, meant):
    assert ENTRIES.model(typed).id == meant


def test_every_nvidia_card_is_found_without_hyphens():
    cards = [name for name in ENTRIES.names("hardware") if name.startswith("rtx-")]
    assert len(cards) > 10
    for card in cards:
        assert ENTRIES.hardware(card.replace("-", "", 1)).id == card
        assert ENTRIES.hardware(card.replace("-", " ")).id == card


def test_every_apple_chip_is_found_without_its_maker():
    names = [name for name in ENTRIES.names("hardware") if name.startswith("apple-")]
    assert all(ENTRIES.hardware(name.removeprefix("apple-")).id == name for name in names)


@pytest.mark.parametrize(
    "typed", ["qwen-38b", "llama-31-8b", "apple", "nvidia", "h-", "", " ", "rtx", "qwen3.-8b"]
)
def test_digits_keep_their_hyphens_and_a_part_of_a_name_is_none(typed):
    """Else qwen3-8b would be a model of 38 billion parameters, and 3-18b one of 3.1."""
    with pytest.raises(InputError):
        ENTRIES.find(typed, "models" if "8b" in typed else "hardware")


def test_no_two_entries_are_spelled_alike():
    for kind in ("hardware", "models", "engines"):
        entries = {alias: path.stem for alias, path in ENTRIES._by_alias(kind).items()}
        owners = {(_spelling(alias), entry) for alias, entry in entries.items()}
        counts = Counter(spelling for spelling, _ in owners)
        assert max(counts.values()) == 1


def test_models_may_be_separated_by_commas(tmp_path, monkeypatch):
    both = fastcalc.compare("llama-3.1-8b, qwen3_8b", on="h100-sxm", batch=1)
    assert [row["model"] for row in both.records] == ["llama-3.1-8b", "qwen3-8b"]
    assert (
        both.records == fastcalc.compare("llama-3.1-8b", "qwen3-8b", on="h100-sxm", batch=1).records
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.yaml").write_text("extends: llama-3.1-8b\nid: own\n")
    (record,) = fastcalc.compare("a,b.yaml", on="h100-sxm", batch=1).records
    assert record["model"] == "own"


@pytest.mark.parametrize(
    ("flag", "remedy"),
    [
        ("--isl", "--prompt TOKENS"),
        ("--osl", "--output TOKENS"),
        ("--concurrency", "--batch SEQUENCES"),
        ("--max-concurrency", "--batch SEQUENCES"),
    ],
)
def test_flags_of_benchmark_tools_are_named_with_those_of_here(flag, remedy, capsys, monkeypatch):
    ran = run_once("compare", "phi-4", flag, "1", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert " ".join(ran.err.split()) == f"fastcalc: no option is called {flag}; write {remedy}"


def test_a_gguf_file_that_is_not_there_is_asked_for(capsys, monkeypatch):
    server = "llama-server -m Qwen3-8B-Q4_K_M.gguf"
    ran = run_once(
        "fit", "--server", server, "--on", "rtx-4090", capsys=capsys, monkeypatch=monkeypatch
    )
    assert ran.code == 2
    assert "its header is read, so give the path to it, or its repository" in ran.err
    assert "org/repo:Q4_K_M, after -hf in a server's command" in ran.err
