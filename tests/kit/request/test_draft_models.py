"""Separate draft models: their memory, by hand, and the time of a draft token."""

from dataclasses import replace

import numpy as np
import pytest

import fastcalc as fc
from fastcalc.catalogue.difference import change as written_change
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.outcome import locate
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.traffic.traffic import Speculation, Traffic
from fastcalc.errors import InputError
from fastcalc.kit.request.draft_models import draft_model
from tests.helpers import ROOT, every, run

ENTRIES = Catalogue()
ASKED = {"models": "llama-3.1-70b", "on": "h100-sxm", "tp": 4, "gpu_memory_utilization": 0.92}


def memory(**settings):
    (row,) = fc.fit(**ASKED, max_model_len=131072, **settings).records
    return row["available_kv_gb_per_chip"], row["kv_cache_tokens"]


def test_weights_and_cache_of_a_draft_model_count():
    """Llama 3.1 8B: 8.030e9 parameters of 2 bytes, 32 layers x 2 x 8 heads x 128 x 2 bytes."""
    before, _ = memory(speculate="0.8x5")
    after, tokens = memory(speculate="0.8x5", draft_model="llama-3.1-8b")
    assert before - after == pytest.approx(8.030261248 * 2 / 4, rel=1e-4)
    of_both = 80 * 2 * 8 * 128 * 2 + 32 * 2 * 8 * 128 * 2
    assert tokens == pytest.approx(after * 1e9 * 4 / of_both, rel=1e-3)


def test_a_draft_under_llama_cpp_is_split_over_its_devices():
    """Qwen3 0.6B: of 28 layers, the fullest of 8 devices has 4, of 4,096 bytes per token each."""
    placements = [
        locate(
            Scenario(
                hardware=ENTRIES.hardware("rtx-4090"),
                model=ENTRIES.model("llama-3.1-70b"),
                engine=ENTRIES.engine("llama-cpp"),
                weights="q4_k_m",
                batches=(1,),
                traffic=Traffic(1000.0, 1000.0, 1500.0),
                sharding=Sharding(pp=8),
                memory=replace(OWN_MEMORY, draft=draft),
            )
        ).placement
        for draft in (None, ENTRIES.model("qwen3-0.6b"))
    ]
    before, after = (float(placement.cache_on_chip(1000.0)) for placement in placements)
    assert after - before == pytest.approx(4 * 4096 * 1000)
    before, after = (float(placement.weights_per_chip) for placement in placements)
    assert after - before == pytest.approx(4 / 28 * 2 * 596_049_920, rel=1e-3)


def test_a_draft_spreads_over_chips_with_regions():
    """747 chips of 207 MB hold 141.1 GB in whole layers, and leave 13 GB for a draft of 1.19 GB."""
    (plain,), (drafting,) = (
        fc.fit("llama-3.1-70b", on="groq-lpu", draft_model=draft).records
        for draft in (None, "qwen3-0.6b")
    )
    assert plain["min_chips"] == drafting["min_chips"] == 747
    assert 0 < drafting["max_batch"] < plain["max_batch"]


def test_a_draft_counts_next_to_compressed_attention():
    """Llama 3.1 70B: 80 layers x 2 x 8 heads x 128 x 2 bytes per token, on 8 ranks."""
    asked = {"models": "deepseek-v4-pro", "on": "b200", "chips": 8, "tp": 8, "ep": 8}
    (plain,), (drafting,) = (
        fc.fit(**asked, draft_model=draft, kv="bf16").records for draft in (None, "llama-3.1-70b")
    )
    target = plain["available_kv_gb_per_chip"] / plain["kv_cache_tokens"]
    token = target + 80 * 2 * 8 * 128 * 2 / 8 / 1e9
    expected = drafting["available_kv_gb_per_chip"] / token
    assert drafting["kv_cache_tokens"] == pytest.approx(expected, rel=0.005)


def test_the_last_stage_has_the_whole_draft():
    """20 of 80 layers and 32 of the draft, each 2 x 4 heads x 128 x 2 bytes per token and rank."""
    layout = {"on": "h100-sxm", "tp": 2, "pp": 4}
    (row,) = fc.fit("llama-3.1-70b", **layout, draft_model="llama-3.1-8b").records
    tokens = row["available_kv_gb_per_chip"] * 1e9 / (52 * 2048)
    assert row["kv_cache_tokens"] == pytest.approx(tokens, rel=1e-3)


def test_what_chips_must_hold_includes_the_draft_model(capsys, monkeypatch):
    """141.1 and 16.1 GB of weights, and 131,072 x 458,752 bytes of both caches."""
    monkeypatch.setenv("COLUMNS", "200")
    limits = ("--tp", "4", "--max-model-len", "131072", "--draft-model", "llama-3.1-8b")
    asked = ("fit", "llama-3.1-70b", "--on", "h100-sxm", *limits)
    said = run(*asked, capsys=capsys, monkeypatch=monkeypatch).out
    assert "217 GB (157 GB and 60.1 GB of cache" in said


def test_the_key_of_memory_contents_names_draft_weights(capsys, monkeypatch):
    """A draft of 70.6e9 parameters on 8 chips is 17.6 GB of 71 usable on each: 9 of 36 letters."""
    monkeypatch.setenv("COLUMNS", "100")
    asked = ("fit", "llama-3.1-70b", "--on", "h100-sxm", "--tp", "8")
    said = run(*asked, "--draft-model", "llama-3.1-70b", capsys=capsys, monkeypatch=monkeypatch)
    assert "TTTTTTTT" in said.out
    assert "T other weights (embeddings, rotary tables, draft model, encoder)" in " ".join(
        said.out.split()
    )
    assert "GB of weights and 327.7 kB of KV cache per token, divided by" in said.err


def test_a_head_is_a_layer_with_two_inputs_and_three_hidden_states():
    """Llama 3.1 8B, whose head yuhuili/EAGLE3-LLaMA3.1-Instruct-8B has 0.85 GB in 16 bits."""
    attention = 2 * 4096 * (4096 + 2 * 1024) + 4096 * 4096
    others = 3 * 4096 * 4096 + 3 * 4096 * 14336 + 32_000 * 4096
    notes: list[str] = []
    draft_model(ENTRIES, "yuhuili/EAGLE3-x", ENTRIES.model("llama-3.1-8b"), notes)
    assert f"{2 * (attention + others) / 1e9:.2f} GB" in notes[-1]


@every(
    "name,width",
    [("qwen3-235b-a22b", 24576), ("qwen3-30b-a3b", 12288), ("gpt-oss-20b", 17280)],
)
def test_a_head_of_a_model_with_experts_has_the_width_of_published_heads(name, width):
    """Configurations of sgl-project/SpecForge, November 2026."""
    assert draft_model(ENTRIES, "eagle3", ENTRIES.model(name)).blocks[0].ffn.width == width


def test_a_draft_of_unknown_shape_has_the_size_in_its_name():
    notes: list[str] = []
    draft_model(ENTRIES, "org/tiny-135M", ENTRIES.model("llama-3.1-8b"), notes)
    assert "0.27 GB of weights" in notes[-1]
    with pytest.raises(InputError, match="its name states no size"):
        draft_model(ENTRIES, "org/tiny", ENTRIES.model("llama-3.1-8b"))


@every(
    "name,sentence",
    [
        ("x-0b", "its name states no size above zero"),
        ("x-0.0m", "its name states no size above zero"),
        ("qwen3-0.6b,qwen3-1.7b", "only one draft model is used"),
        ("missing-0.5b.yaml", "no such file"),
        ("wrong-0.5b.yaml", "layerz"),
    ],
)
def test_a_wrong_draft_is_refused(name, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong-0.5b.yaml").write_text("name: Wrong\nlayerz: 3\n")
    with pytest.raises(InputError, match=sentence):
        draft_model(ENTRIES, name, ENTRIES.model("llama-3.1-8b"))


@every("change", ["blocks.0.count=79", "blocks.0.ffn.experts=288"])
def test_changes_of_the_target_leave_the_draft(change):
    """Qwen3 0.6B: 596e6 parameters of 2 bytes, 28 layers x 2 x 8 heads x 128 x 2 bytes."""
    changed = replace(ENTRIES, changes=(written_change(change),))
    notes: list[str] = []
    draft_model(changed, "qwen3-0.6b", ENTRIES.model("llama-3.1-70b"), notes)
    assert "(Qwen3 0.6B): 1.19 GB of weights and 114.7 kB" in notes[-1]


def test_a_draft_of_unknown_shape_is_called_as_typed():
    assert draft_model(ENTRIES, "org/tiny-135M", ENTRIES.model("llama-3.1-8b")).name == (
        "org/tiny-135M"
    )


def test_a_draft_token_costs_a_step_of_the_draft_model():
    """A model that drafts for itself: each draft token costs as much as a step without drafts."""
    model = ENTRIES.model("llama-3.1-8b")
    traffic = Traffic(1000.0, 1000.0, 1500.0)
    plain = Scenario(
        hardware=ENTRIES.hardware("h100-sxm"),
        model=model,
        engine=ENTRIES.engine("vllm"),
        batches=(8,),
        traffic=traffic,
        sharding=Sharding(tp=2),
    )
    drafting = replace(
        plain,
        traffic=replace(traffic, speculation=Speculation.accepting(0.8, 3.0)),
        memory=replace(OWN_MEMORY, drafted=3.0, draft=model),
    )
    batch = np.array([8.0])
    step = Schedule(locate(plain).placement, traffic, batch).decode
    passes = Schedule(locate(drafting).placement, drafting.traffic, batch)
    spent = {part.name: part.seconds for part in passes.decode.components}
    assert spent["drafting"] == pytest.approx(3 * step.seconds, rel=1e-9)


def test_a_sweep_counts_a_draft_model_where_it_drafts():
    """Llama 3.2 1B: 1.24e9 parameters of 2 bytes beside 141 GB, each on one of four chips."""
    asked = {"on": "h100-sxm", "chips": 4, "tp": 4, "batch": 1, "speculate": ["none", "0.8x4"]}
    plain, drafted = fc.sweep("llama-3.1-70b", **asked, draft_model="llama-3.2-1b").records
    assert plain == fc.sweep("llama-3.1-70b", **asked).records[0]
    (compared,) = fc.compare(
        "llama-3.1-70b", **{**asked, "speculate": "0.8x4"}, draft_model="llama-3.2-1b"
    ).records
    for key in ("memory_used_fraction", "tokens_per_s_per_user"):
        assert drafted[key] == pytest.approx(compared[key])
    with pytest.raises(fc.InputError, match=r"llama-3\.2-1b drafts nothing: give the draft tokens"):
        fc.plan("llama-3.1-70b", on="h100-sxm", rate="1/s", draft_model="llama-3.2-1b")


def test_a_configuration_with_experts_in_another_format_is_a_draft_model_in_its_own_formats():
    """The example file of the documentation: gpt-oss with 16 bits, and experts in four."""
    file = str(ROOT / "docs" / "examples" / "config.json")
    draft = draft_model(ENTRIES, file, ENTRIES.model("gpt-oss-120b"), [])
    assert draft.own_formats == ENTRIES.model(file).own_formats
