"""What a model is published in: its first release, and official ones in fewer bits."""

import json

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.own_formats import narrows_weights
from tests.helpers import outcome, words

RELEASED_IN_FP8 = "glm-4.5 glm-4.5-air glm-4.6 glm-4.7 glm-5 qwen3-235b-a22b qwen3-coder-480b-a35b"
"""zai-org and Qwen release each of them a second time, in FP8."""


def test_an_official_release_in_fewer_bits_is_as_published():
    """GLM-4.7 is released in bf16 and FP8, Llama 3.1 70B in bf16 alone."""
    for model, weights, is_narrow in (
        ("glm-4.7", None, False),
        ("glm-4.7", "fp8", False),
        ("glm-4.7", "nvfp4", True),
        ("llama-3.1-70b", "fp8", True),
    ):
        scenario = outcome(model, "b200", weights=weights, kv="bf16").scenario
        assert narrows_weights(scenario) is is_narrow, (model, weights)


def test_every_further_release_has_a_source():
    entries, named = Catalogue(), set()
    for name in entries.names("models"):
        model = entries.model(name)
        for quotation in model.also_published.values():
            assert quotation.source in model.sources, name
        named |= {name} if model.also_published else set()
    assert named == set(RELEASED_IN_FP8.split())


@pytest.mark.thorough
def test_a_plan_in_official_fp8_leads_without_a_star(capsys, monkeypatch):
    from tests.helpers import run

    asked = ("plan", "glm-4.7", "--on", "h200-sxm", "--tpot", "30ms", "--rate", "1/s")
    text = words(run(*asked, capsys=capsys, monkeypatch=monkeypatch).out)
    assert "quantized further than published" not in text.split("plan chip")[0]
    written = run(*asked, "--format", "json", capsys=capsys, monkeypatch=monkeypatch).out
    first = json.loads(written)["records"][0]
    assert (first["hardware"], first["weight_format"], first["kv_format"]) == (
        "h200-sxm",
        "fp8",
        "bf16",
    )
