"""A model that is asked for by an alias goes by that name, not by the one whose shape it has."""

import re

import pytest

from fastcalc.catalogue.store import Catalogue
from tests.helpers import run_once, thorough, words

CATALOGUE = Catalogue()
ALIASES = [
    (name, alias) for name in CATALOGUE.names("models") for alias in CATALOGUE.model(name).aliases
]


@pytest.mark.parametrize(
    ("command", "start"),
    [
        ("compare kimi-k2.6 --on b200", " Kimi-K2.6 (same shape as Kimi K2.5): 1,026B parameters"),
        ("compare KIMI-k2.6 --on b200 --wide", " Kimi-K2.6 (same shape as Kimi K2.5): "),
        ("fit kimi-k2.6 --on b200", "kimi-k2.6 fits at batch 1 on four b200"),
        ("fit kimi-k2.6 --on b200 --solve users", "kimi-k2.6 with 2,000 tokens per user: "),
        ("frontier kimi-k2.6 --on b200 --max-chips 8", " Kimi-K2.6 (same shape as Kimi K2.5): "),
        thorough(
            "fastmode kimi-k2.6 --on b200 --batch 8 --speedup 2",
            "kimi-k2.6 (int4-g32) on 4 b200 gives each of 8 users ",
        ),
        ("show kimi-k2.6", "kimi-k2.6: Kimi-K2.6 (same shape as Kimi K2.5)"),
        ("compare deepseek-r1 --on b200", " DeepSeek-R1: 671B"),
        ("compare deepseek-v3 deepseek-r1 --on b200", " DeepSeek-V3 and DeepSeek-R1: 671B"),
        (
            "compare llama-3.3-70b --on b200",
            " Llama-3.3-70B-Instruct (same shape as Llama 3.1 70B)",
        ),
    ],
)
def test_a_model_is_headed_by_the_name_that_was_asked_for(command, start, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    ran = run_once(*command.split(), capsys=capsys, monkeypatch=monkeypatch)
    assert start in words(ran.out)


@pytest.mark.parametrize(("name", "alias"), ALIASES)
def test_every_alias_is_in_its_heading(name, alias):
    """Records keep the id; a heading has the alias, in the capitals of its repository if known."""
    model = CATALOGUE.model(alias).asked_as([alias])
    assert (model.id, model.asked_name) == (name, alias)
    printed = model.repositories.get(alias, alias).rpartition("/")[2]
    assert model.heading == f"{printed} (same shape as {model.name})"


@pytest.mark.parametrize(
    "command",
    [
        "compare {} --on l40s --batch 1",
        "fit {} --on l40s",
        "frontier {} --on l40s --max-chips 1",
        "sweep {} --on l40s --batch 1",
        "plan {} --on l40s --rate 1/s --max-chips 1",
    ],
)
def test_every_command_takes_the_weights_that_a_repository_names(command, capsys, monkeypatch):
    """The files of thesven/Meta-Llama-3.1-8B-Instruct-AWQ have 5.73 GB (tests/stored_sizes.csv)."""
    words = command.format("thesven/Meta-Llama-3.1-8B-Instruct-AWQ").split()
    ran = run_once(*words, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0
    formats = set(re.findall(r'"weight_format": "([^"]+)"', ran.out))
    sizes = [float(text) for text in re.findall(r'"weights_gb": ([\d.]+)', ran.out)]
    assert formats == {"awq-int4-g128"}
    assert sizes == pytest.approx([5.73] * len(sizes), rel=0.01)


def test_one_shape_in_two_formats_is_compared(capsys, monkeypatch):
    models = ("thesven/Meta-Llama-3.1-8B-Instruct-AWQ", "llama-3.1-8b")
    words = ("compare", *models, "--on", "l40s", "--batch", "1")
    ran = run_once(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert re.findall(r"parameters, (\S+)", ran.out) == ["awq-int4-g128", "bf16"]
