"""Reasons for a number of chips: what is needed is more than what is left, in print as well."""

import re
from collections import Counter
from functools import partial
from itertools import product

import pytest

import fastcalc
from fastcalc.features import answer_to
from fastcalc.features.fit.starts import why_or_stop
from fastcalc.library.functions import request
from fastcalc.mentions import as_flags
from tests.helpers import run_once

UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
COUNTS |= {"nine": 9}
SIZE = r"([\d.,]+ [kMGTP]B)"
DETAILS = rf"(?: \({SIZE} and {SIZE} of cache for one sequence of [\d,]+ tokens\))?"
COUNT = r"(\w+|[\d,]+) chips?"

NEEDS = re.compile(
    rf"needs? {SIZE}(?: per chip)?(?: for weights and caches)?{DETAILS}(?:, and|;) [\w.-]+ leaves (?:at most )?{SIZE}(?: to {SIZE})?"
)
OF_MANY = re.compile(rf"{SIZE}{DETAILS} needs (at least )?{COUNT} \({SIZE} usable each\)")
TOO_LARGE = re.compile(rf"{SIZE}{DETAILS} does not fit \({SIZE} usable per chip\)")
EACH_TOO_LARGE = re.compile(rf"needs {SIZE}{DETAILS}, more than the {SIZE} usable")
HELD = re.compile(rf"{SIZE}{DETAILS} fits (?:on (?:a chip|{COUNT}) with|in) {SIZE} (?:of )?usable")
START = re.compile(r"\(([\d.]+) GiB KV cache is needed.*cache memory \(([\d.]+) GiB\)")

MODELS = ("gpt-oss-120b", "llama-3.1-8b", "llama-3.1-70b", "deepseek-r1")
CHIPS = ("h100-sxm", "a10", "rtx-4090", "b200", "tpu-v5e", "wse-3")
SETTINGS = (
    {},
    {"chips": 1},
    {"chips": 1, "max_model_len": 32_768, "batch": 16},
    {"max_model_len": 32_768},
    {"batch": 2500},
    {"chips": 2, "gpu_memory_utilization": 0.95, "max_num_seqs": 64},
)
OTHERS = [
    ("gpt-oss-120b", "h100-sxm", {"chips": 1, "max_model_len": 131_072,
     "gpu_memory_utilization": 0.95, "max_num_batched_tokens": 1024}),
    ("qwen3-8b", "a10", {"engine": "vllm", "tp": 1, "max_num_seqs": 64, "max_model_len": 40_960}),
    ("llama-3.1-8b", "rtx-4090", {"weights": "q8_0", "max_model_len": 131_072}),
    ("qwen3-32b", "h100-sxm", {"engine": "tensorrt-llm", "batch": [200]}),
    ("qwen3-32b", "h100-sxm", {"engine": "vllm-0.19", "chips": 1, "max_model_len": 16_000}),
    ("qwen3-32b", "h100-sxm", {"engine": "vllm-0.19", "chips": 1, "max_model_len": 32_000}),
    ("qwen3-32b", "h100-sxm", {"engine": "sglang", "gpu_memory_utilization": 0.75}),
]  # fmt: skip


def in_bytes(text):
    amount, unit = text.split()
    return float(amount.replace(",", "")) * UNITS[unit]


def counted(text):
    return COUNTS[text] if text in COUNTS else int(text.replace(",", ""))


def claims(reason):
    """Kinds of sentences of a reason that hold numbers; each is true as printed."""
    for found in NEEDS.finditer(reason):
        needed, least = in_bytes(found[1]), in_bytes(found[4])
        assert needed > least, reason
        assert found[5] is None or needed <= in_bytes(found[5]), reason
        yield "tight" if found[5] else "short"
    for found in OF_MANY.finditer(reason):
        needed, chips, usable = in_bytes(found[1]), counted(found[5]), in_bytes(found[6])
        assert (chips - 1) * usable < needed, reason
        assert needed <= chips * usable, reason
        yield "of many"
    for found in (*TOO_LARGE.finditer(reason), *EACH_TOO_LARGE.finditer(reason)):
        assert in_bytes(found[1]) > in_bytes(found[4]), reason
        yield "too large"
    for found in HELD.finditer(reason):
        chips = counted(found[4]) if found[4] else 1
        assert in_bytes(found[1]) <= chips * in_bytes(found[5]), reason
        yield "held"
    for found in START.finditer(reason):
        assert float(found[1]) > float(found[2]), reason
        yield "start"


def asked():
    yield from product(MODELS, CHIPS, SETTINGS)
    yield from OTHERS


def reasons(model, chip, **settings):
    """Locations that fit finds, with its reasons."""
    for location in answer_to("fit", request("fit", model, on=chip, **settings)).locations:
        yield location, as_flags(why_or_stop(location))


@pytest.mark.thorough
def test_what_is_needed_is_more_than_what_is_left():
    kinds = Counter()
    for model, chip, settings in asked():
        for location, reason in reasons(model, chip, **settings):
            kinds.update(found := list(claims(reason)))
            if is_unlinked := "the hardware file gives no link" in reason:
                joined = location.site.chips_joined * float(sum(location.placement.usable))
                assert in_bytes(reason.partition(" does not")[0]) > joined, reason
            is_said = re.search(r"\d (?:[kMGT]B|GiB)", reason) is not None
            assert bool(found) == (is_said and not is_unlinked), reason
    fewest = {"tight": 5, "short": 5, "of many": 10, "held": 10, "too large": 5, "start": 1}
    assert all(kinds[kind] >= count for kind, count in fewest.items()), kinds


def test_a_sequence_of_the_longest_length_is_part_of_what_is_needed():
    """2 x 32 layers x 8 x 128 x 2 B x 131,072 tokens are 17.18 GB, beside 8.53 GB of weights."""
    ((location, reason),) = reasons(
        "llama-3.1-8b", "rtx-4090", weights="q8_0", max_model_len=131_072
    )
    assert reason.startswith("on one rtx-4090 vllm would stop with 'To serve at least one request")
    assert "(131072), (16.00 GiB KV cache is needed" in reason
    assert "'; it starts there with --max-model-len " in reason
    assert location.site.chips_needed(1.0) == (2, None)
    ((_, reason),) = reasons(
        "qwen3-8b", "rtx-4090", engine="vllm", tp=1, max_num_seqs=64, max_model_len=30_000
    )  # 2 x 36 layers x 8 x 128 x 2 B x 30,000 tokens
    assert "(30000), (4.12 GiB KV cache is needed" in reason  # 4.42 GB


def test_chips_that_hold_it_tightly_are_named_where_more_were_taken(capsys, monkeypatch):
    """65.5 GB of weights and a sequence of 20,000 tokens fill one H100."""
    ask = partial(run_once, "fit", capsys=capsys, monkeypatch=monkeypatch)
    sentence = ask(*"qwen3-32b --on h100-sxm --prompt 18000".split()).out.partition(". ")[0]
    assert sentence == "qwen3-32b fits at batch 1 on two h100-sxm (tight on one)"
    assert "tight on" not in ask("llama-3.1-8b", "--on", "tpu-v5e").out


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("model", "chip", "ranks"),
    [
        ("gemma-3-27b", "rtx-3090", {"tp": 2}),
        ("llama-3.1-70b", "rtx-3090", {"tp": 4}),
        ("llama-3.1-405b", "h100-sxm", {"tp": 8}),
    ],
)
def test_where_ranks_are_stated_more_of_them_are_advised(model, chip, ranks):
    """Chips beside stated ranks would hold copies, which start as little."""
    (record,) = fastcalc.fit(model, on=chip, engine="vllm", **ranks)
    advised = dict(remedy.split() for remedy in record["start_remedies"])
    assert "chips" not in advised
    (name,) = advised.keys() & {"tp", "pp"}
    (again,) = fastcalc.fit(model, on=chip, engine="vllm", **ranks | {name: int(advised[name])})
    assert again["fit_verdict"] == "fits"


def test_next_is_the_start_with_the_two_changes_that_it_needs(capsys, monkeypatch):
    asked = "fit kimi-k2 --on h200-sxm --engine vllm --tp 8 --max-model-len 60000"
    stopped = run_once(*asked.split(), capsys=capsys, monkeypatch=monkeypatch)
    command = stopped.out.strip().splitlines()[-1].removeprefix("next: fastcalc ")
    assert command.startswith(f"{asked} --kv fp8 --gpu-memory-utilization 0.9")
    started = run_once(*command.split(), capsys=capsys, monkeypatch=monkeypatch)
    assert (stopped.code, started.code) == (1, 0)


@pytest.mark.thorough
def test_next_the_chips_are_open_where_the_batch_needs_more_of_them(capsys, monkeypatch):
    """5,000 sequences of 655 MB are 3.3 TB, more than eight H100 have."""
    ask = partial(run_once, *"fit llama-3.1-70b --on h100-sxm --chips 8 --batch 5000".split())
    draft = ("--draft-model", "llama-3.2-1b", "--speculate", "0.8x3")
    alone, drafted = (
        ask(*more, capsys=capsys, monkeypatch=monkeypatch).out for more in ((), draft)
    )
    following = "next: fastcalc compare llama-3.1-70b --on h100-sxm"
    assert f"{following} --batch 5000\n" in alone
    assert f"{following} " in drafted
    assert "--draft-model llama-3.2-1b" in drafted.partition("next: ")[2]


@pytest.mark.thorough
def test_a_layer_larger_than_a_wafer_is_the_reason(capsys, monkeypatch):
    """5.03 TB in 120 layers are 41.9 GB each; nine tenths of 44 GB of SRAM are usable."""
    ran = run_once("fit", "frontier-5t", "--on", "wse-3", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 1
    assert "wse-3: a layer of 41.9 GB exceeds the 39.6 GB usable per chip." in ran.out
