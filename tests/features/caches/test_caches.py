"""Caches of prompts: an exact replay, a deployment by hand, and traces that say nothing of them.

docs/examples/my-trace.jsonl is the first 500 requests of the trace of conversations of Mooncake
(github.com/kvcache-ai/Mooncake at 3b5a594, FAST25-release/traces, Apache License 2.0).
"""

import json
import random
import re
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc import caches
from fastcalc.core.traffic.reuse import Reuse
from fastcalc.grid.prefix_caches import CachedDeployment, CachedTier, break_even, gain
from fastcalc.importers.traces import read_trace
from fastcalc.importers.workloads import read_workload
from tests.helpers import ROOT, run

MOONCAKE = ROOT / "docs" / "examples" / "my-trace.jsonl"


def replayed(prompts: list[tuple[int, list[int]]], size: int, block: int) -> int:
    """The tokens that a cache of so many blocks finds, each request looked up and then kept."""
    kept: OrderedDict[int, None] = OrderedDict()
    tokens = 0
    for prompt, hashes in prompts:
        found = 0
        distinct = list(dict.fromkeys(hashes))
        while found < len(distinct) and distinct[found] in kept:
            found += 1
        ends = min(found * block, prompt) if len(distinct) == len(hashes) else found * block
        tokens += ends
        for name in reversed(distinct):
            kept.pop(name, None)
            kept[name] = None
        while len(kept) > size:
            kept.popitem(last=False)
    return tokens


def reuse_of(prompts: list[tuple[int, list[int]]], block: int) -> Reuse:
    lengths = np.array([prompt for prompt, _ in prompts], dtype=float)
    blocks = np.array([name for _, hashes in prompts for name in hashes], dtype=np.int64)
    return Reuse.of(lengths, blocks, np.cumsum([len(hashes) for _, hashes in prompts]), block)


def test_a_published_trace_is_found_as_in_a_replay_to_the_token():
    trace = read_trace(MOONCAKE)
    assert (len(trace.prompt), trace.block) == (500, 512)
    reuse = Reuse.of(trace.prompt, trace.blocks, trace.ends, 512)
    hashes = np.split(trace.blocks, trace.ends[:-1])
    prompts = [
        (int(tokens), list(map(int, part)))
        for tokens, part in zip(trace.prompt, hashes, strict=True)
    ]
    for size in (0, 1, 100, 3000, 6000, 20_000):
        tokens = reuse.hit(size * 512 + 511) * reuse.prompts
        assert tokens == pytest.approx(replayed(prompts, size, 512), abs=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("names", ["few", "wide"])
def test_any_trace_is_found_as_in_a_replay_to_the_token(names):
    """Also where blocks come after others than before, and with hashes of 63 bits."""
    dice = random.Random(7)
    for _ in range(150):
        count = dice.randint(1, 20)
        hashes = [dice.getrandbits(63) if names == "wide" else name for name in range(count)]
        prompts = []
        for _ in range(dice.randint(1, 40)):
            part = dice.sample(hashes, dice.randint(0, min(count, 8)))
            prompts.append((max(16 * len(part) - dice.randrange(16), 1), part))
        reuse, size = reuse_of(prompts, 16), dice.randint(0, count + 2)
        tokens = reuse.hit(size * 16) * reuse.prompts
        assert tokens == pytest.approx(replayed(prompts, size, 16), abs=1e-9)


def test_a_block_that_its_prompt_repeats_is_computed():
    """1 2 1: both blocks of 16 tokens are found in the second prompt, and not the third."""
    reuse = reuse_of([(48, [1, 2, 1]), (48, [1, 2, 1])], 16)
    assert reuse.found.tolist() == [0.0, 16.0, 32.0]


def test_popular_beginnings_are_found_as_a_replay_of_independent_requests_finds_them(tmp_path):
    """Four blocks of one of 300 beginnings, by Zipf's law, and two that never come again."""
    (tmp_path / "w.yaml").write_text(
        "clients:\n- {id: a, rate_fraction: 1.0, input_distribution: 96, output_distribution: 5,\n"
        "   tpot: 1s, prefix_length: 64, prefixes: 300, popularity: 0.8}\n"
    )
    shared = read_workload(tmp_path / "w.yaml").reuse
    dice = np.random.default_rng(5)
    drawn = dice.choice(300, 20_000, p=shared.rates)
    tails = 1200 + 2 * np.arange(20_000)
    blocks = np.column_stack([*(4 * drawn + place for place in range(4)), tails, tails + 1])
    lengths, ends = np.full(20_000, 96.0), np.arange(6, 120_001, 6)
    replay = Reuse.of(lengths, blocks.ravel(), ends, 16)
    for tokens in (1600, 6400, 16_000, 48_000):
        assert shared.hit(tokens) == pytest.approx(float(replay.hit(tokens)), abs=0.02)
    assert shared.hit(shared.tokens) == pytest.approx(64 / 96, rel=0.01)


CHIP = """
id: made-up
name: Made up
vendor: Nobody
kind: gpu
scope: one
architecture: none
memory: [{name: M, capacity: 1 GB, bandwidth: 1 TB/s}]
peak: {bf16: 1 TFLOP/s}
price: {cloud: 3.6 USD/h}
"""
MODEL = """
id: small
name: Small
weight_format: bf16
total_parameters: 500_000
layers: 10
kv_bytes_per_token: 500_000
"""
ENGINE = """
id: free
name: Free
fitted_on: nothing
parameters: {decode_layer_floor: 1 ms, prefill_layer_floor: 2 ms, prompt_chunk: 100}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two prompts of two blocks in turn, a hundred times each, on a chip that holds three."""
    lines = [
        {"timestamp": 500 * n, "input_length": 1024, "output_length": 10}
        | {"hash_ids": [1, 2] if n % 2 else [3, 4]}
        for n in range(200)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for name, text in (("chip", CHIP), ("model", MODEL), ("engine", ENGINE)):
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


ASKED = ("caches", "./model.yaml", "--on", "./chip.yaml", "--engine", "./engine.yaml")
ASKED += ("--batch", "1", "--traffic", "t.jsonl")


def asked(*flags, capsys, monkeypatch):
    words = ASKED[: ASKED.index("--traffic")] if "--traffic" in flags else ASKED
    return run(*words, *flags, capsys=capsys, monkeypatch=monkeypatch)


def test_a_deployment_by_hand(folder, capsys, monkeypatch):
    """1 GB less 1 MB of weights and ten tokens of 0.5 MB leave 994 MB, three blocks of 256 MB.

    Of a prompt its first block stays longest: where the other prompt came between, it is the third
    of those used last and its second block the fourth. So a chip finds half of all but the first
    two prompts, 198 / 400, and 4 blocks 198 / 200. What is loaded, 99 / 200 of 512 MB, takes
    0.253 s at 1 GB/s: 3.95 requests/s, whatever the chips do.
    """
    host = ("--host", "dram=8GB@100GB/s,link=1GB/s,chips=1")
    out = asked(*host, "--format", "json", capsys=capsys, monkeypatch=monkeypatch).out
    none, own, least, most = json.loads(out)["records"]
    assert (none["prefix_hit"], none["cache_tier"]) == (0.0, "none")
    assert (own["cache_gb"], own["prefix_hit"]) == (pytest.approx(0.994), 0.495)
    assert (least["cache_gb"], least["cache_tier"]) == (pytest.approx(1.024), "DRAM")
    assert (most["prefix_hit"], most["prefix_loaded"]) == (0.99, 0.495)
    assert most["requests_limited_by"] == "link"
    assert most["requests_per_s"] == pytest.approx(1e9 / (0.495 * 1024 * 5e5))
    assert most["break_even_usd_per_gb_month"] is None
    fast = ("--host", "dram=8GB@100GB/s,link=64GB/s,chips=1")
    out = asked(*fast, "--format", "json", capsys=capsys, monkeypatch=monkeypatch).out
    *_, most = json.loads(out)["records"]
    ratio = most["requests_per_s"] / own["requests_per_s"]
    assert ratio > 1.1
    assert most["break_even_usd_per_gb_month"] == pytest.approx(730 * 3.6 * (ratio - 1) / 8)
    chart = caches(
        "./model.yaml", on="./chip.yaml", engine="./engine.yaml", batch=1, traffic="t.jsonl"
    )
    (panel,) = chart._answer.charts["caches"]().panels
    line, tiers = panel.series
    assert (tiers.x[0], tiers.y[0]) == (pytest.approx(0.994), 49.5)
    assert (line.y[0], line.y[-1]) == (0.0, 99.0)
    assert most["usd_per_request"] == pytest.approx(1e-3 / most["requests_per_s"])


def test_a_tier_that_changes_nothing_is_said_to(folder, capsys, monkeypatch):
    """One prompt again and again is found in the chip's memory; of two in turn neither is."""
    line = {"input_length": 1024, "output_length": 10, "hash_ids": [1, 2]}
    lines = [{"timestamp": 500 * n, **line} for n in range(200)]
    (folder / "one.jsonl").write_text("\n".join(map(json.dumps, lines)))
    trace = [word if word != "t.jsonl" else "one.jsonl" for word in ASKED]
    said = " ".join(run(*trace, capsys=capsys, monkeypatch=monkeypatch).out.split())
    assert re.search(
        r"small on one made-up sustains up to ([\d.]+) requests/s with a prefix cache in M \(hit "
        r"rate [\d.]+%\)\. Adding another memory tier would change neither\.",
        said,
    )
    said = " ".join(asked(capsys=capsys, monkeypatch=monkeypatch).out.split())
    changed = re.search(
        r"up to ([\d.]+) requests/s .* it would sustain ([\d.]+) \(hit rate [\d.]+%\)\.",
        said,
    )
    assert float(changed[2]) > float(changed[1])


def test_what_is_carried_is_what_compare_says_with_so_much_found(folder, capsys, monkeypatch):
    out = asked("--format", "json", capsys=capsys, monkeypatch=monkeypatch).out
    _, own, _ = json.loads(out)["records"]
    words = ("compare", *ASKED[1:-2], "--prompt", "1024", "--output", "10", "--format", "json")
    out = run(*words, "--prefix-hit", "0.495", capsys=capsys, monkeypatch=monkeypatch).out
    (record,) = json.loads(out)["records"]
    assert own["requests_per_s"] == pytest.approx(record["served_tokens_per_s_total"] / 10)
    assert own["mean_ttft_ms"] == pytest.approx(record["ttft_ms"])


@pytest.mark.thorough
def test_a_plan_for_a_trace_has_the_hits_that_its_memory_leaves(folder, capsys, monkeypatch):
    """One replica of one sequence holds three blocks, as above: 0.495; two of them hold all."""
    words = ("plan", *ASKED[1:-4], "--traffic", "t.jsonl", "--ttft", "10s")
    one = run(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert "note: prefix-cache hit rate of this trace: 49.50% of prompt tokens" in one.err
    assert "--prefix-hit 0.495 --batch 1" in " ".join(one.out.split())
    two = run(*words, "--rate", "12/s", capsys=capsys, monkeypatch=monkeypatch)
    assert "note: prefix-cache hit rate of this trace: 99.00% of prompt tokens" in two.err


def test_what_says_nothing_of_caches_is_refused(folder, capsys, monkeypatch):
    one = '{"timestamp": 0, "input_length": 1024, "output_length": 10'
    (folder / "none.jsonl").write_text(one + "}\n")
    (folder / "odd.jsonl").write_text(one + ', "hash_ids": [1, 2, 3]}\n')
    (folder / "text.jsonl").write_text(one + ', "hash_ids": ["a"]}\n')
    (folder / "long.yaml").write_text(
        "clients:\n- {id: a, rate_fraction: 1.0, input_distribution: 800, output_distribution: 5,\n"
        "   prefix_length: 900}\n"
    )
    short = '{"timestamp": 0, "input_length": 512, "output_length": 10, "hash_ids": [1]}\n'
    (folder / "mixed.jsonl").write_text(short + one + ', "hash_ids": [1, 2]}\n')
    for flags, sentence in (
        (
            ("--traffic", "mixed.jsonl", "--max-model-len", "1000"),
            "--max-model-len 1,000 is less than the 1,034 tokens of a request",
        ),
        (("--traffic", "none.jsonl"), "none.jsonl: does not say which prompts share a prefix"),
        (("--traffic", "odd.jsonl"), "odd.jsonl: does not say which prompts share a prefix"),
        (("--traffic", "long.yaml"), "prefix_length 900 of 'a' is longer than its shortest"),
        (("--traffic", "text.jsonl"), "text.jsonl:1:61: hash_ids is not a list of whole numbers"),
        (("--batch", "1,2"), "--batch names 2"),
        (("--sizes", "8"), "--sizes"),
    ):
        refused = asked(*flags, capsys=capsys, monkeypatch=monkeypatch)
        assert (refused.code, sentence in refused.err) == (2, True), refused.err
    too_many = asked("--batch", "9", "--chips", "1", capsys=capsys, monkeypatch=monkeypatch)
    assert (too_many.code, "9 requests of 1,034 tokens" in too_many.err) == (1, True)


class Deployment(CachedDeployment):
    """One whose numbers are given: a gigabyte of its own, a megabyte a token, 8,000 tokens again."""

    own_size, bytes_per_token, _own_hit = 1e9, 1e6, 0.25


def deployment(own=1e9, tokens=8000.0, *, host=None):
    placement = SimpleNamespace(layout=SimpleNamespace(chips=4))
    made = object.__new__(type("Made", (Deployment,), {"own_size": own}))
    reuse = SimpleNamespace(tokens=tokens, hit=lambda held: min(held / 10_000.0, 0.8))
    for name, value in {
        "location": SimpleNamespace(placement=placement, memories="HBM"),
        "scenario": SimpleNamespace(memory=SimpleNamespace(host=host)),
        "reuse": reuse,
        "_tier": lambda *described: described,
    }.items():
        object.__setattr__(made, name, value)
    return made


@pytest.mark.parametrize(
    ("own", "tokens", "sizes"),
    [
        # 1 and 3 of each power of ten between the chips' own and all that comes again, none of them
        # within 1.4 times of either; and that which finds it all.
        (1e9, 8000, [3e9, 8e9]),
        (1e9, 40_000, [3e9, 1e10, 4e10]),
        (2.2e9, 40_000, [1e10, 4e10]),
        (2.1e9, 42_100, [3e9, 1e10, 3e10, 4.21e10]),
        (2.1e9, 41_900, [3e9, 1e10, 4.19e10]),
        (5e10, 8000, [8e9]),
        (1e3, 8000, [1e9, 3e9, 8e9]),
        (2e9, 0, [0.0]),
    ],
)
def test_sizes_to_try_are_round_and_apart(own, tokens, sizes):
    assert deployment(own, float(tokens)).sizes() == pytest.approx(sizes)


def test_tiers_are_no_cache_the_chips_own_and_what_is_behind_them():
    """A tenth of what is held in thousands of tokens is found; what more than a quarter is loaded."""
    none, own, small, large = deployment().tiers([8e9, 2e9])
    assert none == (None, 0.0, 0.0, 0.0)
    assert own == ("HBM", 1e9, 0.25, 0.0)
    # A memory that holds less than the chips do finds no less.
    assert small == ("tier", 2e9, 0.25, 0.0)
    assert large == ("tier", 8e9, 0.8, pytest.approx(0.55))


def tier(requests, *, size=8e9, loaded=0.5, served=500.0, loading=0.0):
    """A tier whose chips carry five requests of 100 tokens a second, with a first token in 2 s."""
    traffic = SimpleNamespace(output=100.0)
    estimate = SimpleNamespace(served=np.array([served]), traffic=traffic, ttft=np.array([2.0]))
    return CachedTier("t", size, 1.0, 0.5, loaded, estimate, loading, requests)


def test_a_tier_is_limited_by_its_link_where_the_chips_would_carry_more():
    assert not tier(5.0).is_limited_by_link
    assert tier(4.9).is_limited_by_link


def test_what_is_loaded_comes_before_the_first_token():
    assert tier(5.0, loading=0.5).ttft == 2.5
    assert tier(5.0, loading=float("nan")).ttft == 2.0  # over a link that is not known


@pytest.mark.parametrize(
    ("requests", "changes", "usd", "price"),
    [
        # A tenth more of chips at 4 USD/h are 0.4 USD/h, over 8 GB and for 730 hours.
        (5.5, {}, 4.0, 730 * 0.4 / 8),
        (10.0, {"size": 1e9}, 4.0, 730 * 4.0),
        (5.0, {}, 4.0, None),
        (4.0, {}, 4.0, None),
        (5.5, {"loaded": 0.0}, 4.0, None),
        (5.5, {}, None, None),
    ],
)
def test_a_tier_pays_below_what_its_requests_save(requests, changes, usd, price):
    in_chips = tier(5.0)
    assert gain(tier(requests, **changes), in_chips) == requests / 5.0
    found = break_even(tier(requests, **changes), in_chips, usd)
    assert found == (None if price is None else pytest.approx(price))
