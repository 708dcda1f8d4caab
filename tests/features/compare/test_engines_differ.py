"""A table of chips that run different engines, or hold different files, says so where it stands.

A consumer card is given llama.cpp and the published GGUF file; a server card vLLM and the weights
as published.
"""

from functools import partial

import pytest

from tests.helpers import run_once, words

ON = ("compare", "gpt-oss-120b", "--batch", "1", "--on")


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return partial(run_once, capsys=capsys, monkeypatch=monkeypatch)


def test_the_first_screen_names_the_engine_and_format_of_each_chip(fastcalc):
    text = words(fastcalc(*ON, "l40s,rtx-5090").out)
    note = "Engines differ: vllm with mxfp4 on l40s; llama-cpp with mxfp4-experts-q8_0 on rtx-5090"
    assert note in text


def test_the_heading_states_each_size_of_the_weights(fastcalc):
    """The sizes of one chip alone are those of both together."""
    headings = {
        chips: words(fastcalc(*ON, chips).out).partition("parameters, ")[2].partition(";")[0]
        for chips in ("l40s", "rtx-5090", "l40s,rtx-5090")
    }
    assert headings["l40s"] != headings["rtx-5090"]
    both = f"{headings['l40s']} on l40s or {headings['rtx-5090']} on rtx-5090"
    assert headings["l40s,rtx-5090"] == both


def test_formats_are_left_out_where_they_are_the_same(fastcalc):
    text = words(fastcalc("compare", "qwen3-8b", "--batch", "1", "--on", "l40s,rtx-5090").out)
    assert "Engines differ: vllm on l40s; llama-cpp on rtx-5090" in text


def test_nothing_is_said_of_one_engine(fastcalc):
    assert "Engines differ" not in fastcalc(*ON, "l40s,h100-sxm", "--notes").out
    assert (
        "Engines differ"
        not in fastcalc("compare", "qwen3-8b,qwen3-8b-fp8", "--on", "h100-sxm", "--notes").out
    )
