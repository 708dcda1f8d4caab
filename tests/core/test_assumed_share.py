"""A number of chips that turns on an assumed usable share of memory is said to."""

import pytest

from tests.helpers import run_once, words

# 44 GB of SRAM: 40.3 GB with a cache are 91.6% of it; whole layers, regions of their own, leave
# gaps, which take 2% more.
CASES = [
    (
        "dense-20b --on wse-3",
        "wse-3: cerebras is assumed to use 90% of the memory; with 94% or more, the model fits on "
        "one.",
    ),
    (
        "dense-20b --on wse-3 --chips 1",
        "wse-3: cerebras is assumed to use 90% of the memory",
    ),
    ("dense-40b --on wse-3", "the memory; with 96% or more, the model fits on one"),
    (
        "llama-3.1-70b --on wse-3",
        "wse-3: cerebras is assumed to use 90%",
    ),
    ("llama-3.1-70b --on wse-3", "the memory; with 82% or less, the model needs five"),
]


@pytest.fixture
def fit(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    return lambda *request: words(
        run_once("fit", *request, capsys=capsys, monkeypatch=monkeypatch).out
    )


@pytest.mark.parametrize(("request_", "sentence"), CASES)
def test_a_count_that_turns_on_an_assumed_share_says_so(fit, request_, sentence):
    assert sentence in fit(*request_.split())


@pytest.mark.parametrize(
    "request_",
    [
        "llama-3.1-8b --on wse-3",  # 16 GB fit 80% of 44 GB and 100%
        "dense-20b --on wse-3 --gpu-memory-utilization 0.95",  # which nobody assumes then
        "deepseek-r1 --on h200-sxm",  # whose share a server's default states
    ],
)
def test_what_turns_on_no_assumption_says_nothing(fit, request_):
    assert "is assumed to use" not in fit(*request_.split())


@pytest.mark.parametrize(("model", "percent"), [("dense-20b", 94), ("dense-40b", 96)])
def test_the_share_named_is_the_least_that_does(fit, model, percent):
    """On its own the answer turns between that share and one per cent less."""
    share = "--gpu-memory-utilization"
    assert "fits at batch 1 on one wse-3" in fit(model, "--on", "wse-3", share, percent / 100)
    assert "fits at batch 1 on two wse-3" in fit(model, "--on", "wse-3", share, (percent - 1) / 100)
