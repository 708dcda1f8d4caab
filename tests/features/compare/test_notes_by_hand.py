"""Notes of comparisons from made-up outcomes."""

from types import SimpleNamespace

import numpy as np

from fastcalc.features.compare import answer, notes, prefix
from tests.helpers import every, run_once


def outcome(
    chip="h",
    *,
    engine="e",
    weights="fp8",
    model="m",
    batch=1,
    drafted=0.0,
    draft=None,
    speed=100.0,
    high=120.0,
    is_spatial=False,
):
    return SimpleNamespace(
        scenario=SimpleNamespace(
            engine=SimpleNamespace(id=engine), hardware=SimpleNamespace(id=chip), batches=(batch,),
            model=SimpleNamespace(id=model), memory=SimpleNamespace(draft=draft),
            traffic=SimpleNamespace(
                speculation=SimpleNamespace(drafted=drafted, acceptance=0.75, tokens_per_pass=2.5)
            ),
        ),
        placement=SimpleNamespace(
            work=SimpleNamespace(short_format=weights), machine=SimpleNamespace(is_spatial=is_spatial)
        ),
        estimate=SimpleNamespace(
            speed=np.array([speed]), high=None if high is None else np.array([high])
        ),
    )  # fmt: skip


@every(
    "outcomes,sentences",
    [
        ([outcome("a"), outcome("b")], []),
        ([outcome("a"), outcome("b", engine="f")], ["engines differ: e on a; f on b"]),
        ([*map(outcome, "abc"), outcome("d", engine="f")], ["engines differ: e on a, b and c; f on d"]),
        ([*map(outcome, "abcd"), outcome("e", engine="f")], ["engines differ: e on 4 chips; f on e"]),
        # One model in two formats by two engines, but not two models or checkpoints, each in its own.
        ([outcome("a"), outcome("b", weights="bf16", engine="f")], ["engines differ: e with fp8 on a; f with bf16 on b"]),
        ([outcome("a"), outcome("b", weights="bf16")], []),
        ([outcome("a"), outcome("a", weights="bf16", model="n")], []),
    ],
)  # fmt: skip
def test_engines_that_differ(outcomes, sentences):
    assert [*notes._engines(outcomes)] == sentences


def test_drafts_are_told_where_there_are_some(monkeypatch):
    monkeypatch.setattr(notes, "drafters", lambda _: {"m": "uses a draft model"})
    assert [*notes._drafts([outcome()])] == []
    (said,) = notes._drafts([outcome(drafted=3.0)])
    assert said == (
        "Speculation: with 3 draft tokens and an acceptance rate of 0.75, a step generates 2.50 "
        "tokens. m uses a draft model"
    )


def test_a_draft_model_without_draft_tokens_leaves_speeds_as_they_are(capsys, monkeypatch):
    (said,) = notes._drafts([outcome(draft="d")])
    assert said.startswith(
        "speeds are without speculative decoding, because the number of draft tokens is not set: "
        "only the memory of the draft model is included"
    )
    words = "compare llama-3.1-70b --on h100-sxm --batch 1".split()
    plain, drafted = (
        run_once(*words, *more, capsys=capsys, monkeypatch=monkeypatch).out
        for more in ([], ["--draft-model", "llama-3.2-1b"])
    )
    row = "4 x h100-sxm"
    assert plain.split(row)[1].split()[:7] == drafted.split(row)[1].split()[:7]
    assert "Speeds are without speculative decoding, because" in " ".join(drafted.split())
    assert "--draft-model llama-3.2-1b" in drafted.split("next: ")[1]


def public(*, tokens_per_s=110.0, tokens_per_pass=None, chips=8, date="2026-05-13"):
    return SimpleNamespace(
        tokens_per_s=tokens_per_s, tokens_per_pass=tokens_per_pass, chips=chips, date=date
    )


UNSTATED = ", speculative decoding not stated"
EXPLAINED = "speculative decoding that accepts 2.0 to 2.4 tokens per step would explain it"


@every(
    "speeds,of,text",
    [
        ([], outcome(), ""),
        ([public(tokens_per_pass=1.0)], outcome(), ": 110 (2026-05)"),
        ([public(tokens_per_pass=2.5)], outcome(), ": 110 (2026-05, 2.50 tokens per step)"),
        ([public()], outcome(), f": 110 (2026-05){UNSTATED}"),
        # 240 over the upper end of 120 and the expected 100.
        ([public(tokens_per_s=240.0)], outcome(), f", above the range: 240 (2026-05); {EXPLAINED}"),
        ([public(tokens_per_s=240.0, chips=None)], outcome(), ", above the range: 240 (2026-05); chips and speculative decoding not stated"),
        ([public(tokens_per_s=240.0, chips=None)], outcome(is_spatial=True), f", above the range: 240 (2026-05); {EXPLAINED}"),
        # At the end of the range, of several users, with drafts, or without a range, nothing is explained.
        ([public(tokens_per_s=120.0)], outcome(), f": 120 (2026-05){UNSTATED}"),
        ([public(tokens_per_s=240.0)], outcome(batch=2), f": 240 (2026-05){UNSTATED}"),
        ([public(tokens_per_s=240.0)], outcome(drafted=3.0), f": 240 (2026-05){UNSTATED}"),
        ([public(tokens_per_s=240.0)], outcome(high=None), f": 240 (2026-05){UNSTATED}"),
        # Of several, the smallest is set against the upper end and the largest against the expected speed.
        ([public(tokens_per_s=rate) for rate in (360.0, 240.0, 300.0)], outcome(), ", above the range: 360 (2026-05), 240 (2026-05), 300 (2026-05); speculative decoding that accepts 2.0 to 3.6 tokens per step would explain them"),
        # A speed of two dates is printed once.
        ([public(tokens_per_s=240.0), public(tokens_per_s=240.0, date="2026-07-01")], outcome(), f", above the range: 240 (2026-05 and 2026-07); {EXPLAINED[:-2]}them"),
        ([public(tokens_per_pass=1.0), public(), public(), public(tokens_per_s=240.0)], outcome(), f": 110 (2026-05), 110 (2026-05){UNSTATED}. Above the range: 240 (2026-05); {EXPLAINED}"),
    ],
)  # fmt: skip
def test_published_speeds_and_what_would_explain_them(speeds, of, text):
    assert notes._published(speeds, of) == text


def test_where_loading_a_prompt_beats_computing_it(monkeypatch):
    stored = SimpleNamespace(
        scenario=SimpleNamespace(
            memory=SimpleNamespace(prefix_tier="DRAM"), traffic=SimpleNamespace(prefix_hit=0.5)
        )
    )
    for breaks_even, sooner in (
        (None, "recomputing is faster at any length"),
        (16, "loading is faster at any length"),
        (17, "loading is faster for prompts of 17 tokens or more"),
    ):
        found = SimpleNamespace(breaks_even=breaks_even, loading=0.005, computing=0.02)
        monkeypatch.setattr(prefix, "prefix_cache", lambda _, found=found: found)
        (said,) = notes._prefix(stored)
        assert (
            said
            == f"50% of a prompt is loaded from DRAM in 5.00 ms; recomputing takes 20.0 ms; {sooner}"
        )
    stored.scenario.traffic.prefix_hit = 0.0
    assert [*notes._prefix(stored)] == []
    stored.scenario.traffic.prefix_hit, stored.scenario.memory.prefix_tier = 0.5, None
    assert [*notes._prefix(stored)] == []


@every(
    "cell,words",
    [
        ("memory", []),
        ("needs 8", ["needs N"]),
        ("too large", []),
        # Batches that do not fit share a row, with a cell of each.
        ("needs 8, too large", ["needs N"]),
        ("fits on 2, needs 8, too large", ["needs N", "fits on N"]),
    ],
)
def test_the_key_explains_each_word_of_a_cell(cell, words):
    meanings = answer._meanings([[{"limiter": cell}]])
    assert [meaning.partition(":")[0] for meaning in meanings] == words


@every(
    "asked,note",
    [
        # 673 GB of fp8 do not fit in 8 x 70.8 GB, and about half of that in 4 bits does.
        (("deepseek-r1", "--on", "8xh100"), "- h100-sxm: quantized weights of 352 GB fit on 8 chips: --weights awq-int4-g128"),
        # Nothing is proposed where a batch fits, or where four kinds of chips are too small.
        (("llama-3.1-8b", "--on", "h100-sxm"), None),
        (("llama-3.1-70b", "--on", "t4,rtx-2080,rtx-3070,rtx-3080-10gb", "--chips", "1"), None),
    ],
)  # fmt: skip
def test_quantized_weights_that_would_fit_are_named(asked, note, capsys, monkeypatch):
    ran = run_once(
        "compare", *asked, "--batch", "1", "--notes", capsys=capsys, monkeypatch=monkeypatch
    )
    said = " ".join(ran.out.split())
    assert note in said if note else "quantized weights" not in said
