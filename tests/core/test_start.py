"""Whether a server starts, the line it stops with, and the least that starts it."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import fastcalc
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.reserve import start_rows
from fastcalc.core.chip.tier import OWN_MEMORY, MemoryChoice
from fastcalc.core.chip.tiers import largest_memory
from fastcalc.core.chosen_layouts import layouts_on_offer, open_layouts
from fastcalc.core.entry_notes import plugin_notes
from fastcalc.core.outcome import locate
from fastcalc.core.placement.placement import Placement
from fastcalc.core.placement.start_room import needed_for_one
from fastcalc.core.scenario import Scenario, Sharding
from fastcalc.core.start import StartRemedy, limited, start_location, without_graphs
from fastcalc.core.start_checks import StartCheck, likely_check
from fastcalc.core.traffic.traffic import Traffic
from tests import made_up
from tests.helpers import every

ENTRIES = Catalogue()


def placed(model, chip, engine="vllm", *, share=None, sequences=None, **settings):
    scenario = Scenario(
        hardware=ENTRIES.hardware(chip),
        model=ENTRIES.model(model),
        engine=ENTRIES.engine(engine),
        batches=(1,),
        **{
            "traffic": Traffic(1000.0, 1000.0, 1500.0),
            "sharding": Sharding(tp=1),
            "memory": OWN_MEMORY,
            **settings,
        },
    )
    for setting, value in (("gpu_memory_utilization", share), ("max_num_seqs", sequences)):
        if value is not None:
            scenario = limited(scenario, setting, value)
    return start_location(locate(scenario))


def test_a_hybrid_with_fewer_blocks_than_sequences_does_not_start():
    """Qwen3.6 27B in FP8 on one H100 at 0.95: 856 blocks < 1,024, and 512 start (recipes 551)."""
    stopped = placed("qwen3.6-27b", "h100-sxm", "vllm-0.25", share=0.95, weights="fp8")
    assert (stopped.fits, stopped.verdict) == (False, "no")
    said, blocks = stopped.stop_line.rstrip(").").rsplit("(", 1)
    assert said == "max_num_seqs (1024) exceeds available Mamba cache blocks "
    assert int(blocks) == pytest.approx(856, rel=0.01)
    started = placed("qwen3.6-27b", "h100-sxm", share=0.95, sequences=512, weights="fp8")
    assert (started.verdict, started.stop_line, started.remedies) == ("fits", None, [])


@every("engine", ["vllm-0.19", "vllm-0.16+eager", "vllm-0.25+eager"])
def test_only_releases_that_check_states_need_a_block_for_each_sequence(engine):
    """vllm/config/compilation.py: 0.17 to 0.19 capture graphs of fewer sequences instead."""
    hybrid = placed("qwen3.6-27b", "h100-sxm", engine, share=0.95, weights="fp8")
    assert hybrid.expected_blocks < 1024
    assert (hybrid.verdict, hybrid.stop_line) == ("fits", None)


def test_graphs_of_releases_up_to_0_16_need_a_block_for_each_of_512_sequences():
    """Qwen3-Coder-Next on two H100 NVL failed under 0.15 (issue 559 of QwenLM/Qwen3-Coder)."""
    limits = {"memory": replace(OWN_MEMORY, longest=16_000.0), "sharding": Sharding(tp=2)}
    stopped = placed("qwen3-next-80b-a3b", "h100-nvl", "vllm-0.15", **limits)
    assert stopped.expected_blocks < 512
    assert (stopped.verdict, stopped.stop_line) == ("no", "assert num_cache_lines >= batch")
    large = placed("qwen3.6-27b", "h100-sxm", "vllm-0.16", share=0.95, weights="fp8")
    assert 512 < large.expected_blocks < 1024
    assert (large.verdict, large.stop_line) == ("fits", None)


def test_each_length_of_several_has_its_own_step_up_to_version_0_7():
    """vllm/core/scheduler.py of 0.6: prompts of up to 32,768 tokens are processed at once."""
    placement = placed("gemma-2-9b", "h100-sxm", "vllm-0.7").placement
    machine, work = placement.machine, placement.work
    lengths = np.array([1000.0, 6000.0, 7000.0])
    each = [float(needed_for_one(machine, work, (1, 1), length)) for length in lengths.tolist()]
    assert needed_for_one(machine, work, (1, 1), lengths).tolist() == each


@pytest.mark.parametrize(
    ("chip", "engine", "sequences", "tokens"),
    [
        # vllm/engine/arg_utils.py, get_batch_defaults: 0.33 from 160 GiB, below 70 GiB, and GB10.
        ("h100-sxm", "vllm", 1024, 8192),
        ("mi355x", "vllm", 1024, 16_384),
        ("b200", "vllm", 1024, 16_384),
        ("rtx-5090", "vllm", 256, 2048),
        ("a100-sxm-80gb", "vllm", 256, 2048),
        ("gb10", "vllm", 256, 2048),
        ("gb10", "vllm-0.19", 256, 2048),
        ("b200", "vllm-0.19", 1024, 8192),
    ],
)
def test_limits_of_a_start_follow_release_and_card(chip, engine, sequences, tokens):
    site = placed("qwen3-8b", chip, engine).placement.machine
    assert start_rows(site.software, largest_memory(site.hardware)) == (sequences, tokens)


@pytest.mark.parametrize(
    ("length", "tokens"),
    [(1024.0, 2048), (20_000.0, 20_000), (32_768.0, 32_768), (40_960.0, 2048)],
)
def test_steps_of_the_first_engine_hold_a_whole_prompt(length, tokens):
    """vLLM 0.7, config.py: max(max_model_len, 2048), and chunks of 2,048 above 32,768."""
    site = placed("llama-3.1-8b", "rtx-3090", "vllm-0.7").placement.machine
    assert start_rows(site.software, largest_memory(site.hardware), length) == (256, tokens)


@pytest.mark.parametrize(
    ("engine", "sampling", "stored"),
    [
        # Logits of 16 bits, and with counters for penalties of 34 bits; 0.33 samples with them.
        ("vllm-0.25", 4.1 * 4, 0.0),
        ("vllm-0.28", 2.0, 4.25),
        ("vllm-0.32", 2.0, 4.25),
        ("vllm", 14.0, 4.25),
    ],
)
def test_logits_of_a_start_follow_the_release(engine, sampling, stored):
    """256 sequences, 151,936 entries of the vocabulary, and 2,304 hidden states of 4,096."""
    kept = placed("qwen3-8b", "rtx-5090", engine).placement.kept
    entries = 256 * 151_936
    assert kept.sampling == pytest.approx(sampling * entries + 2304 * 4096 * 2)
    assert kept.runtime == pytest.approx(0.13 * 2**30 + stored * entries)


def test_latent_attention_expands_a_chunk_of_the_context():
    """65,536 tokens, 128 heads, keys of 128 and values of 128 at 16 bits, divided by ranks."""
    reserve = placed("deepseek-r1", "h200-sxm", sharding=Sharding(tp=8)).placement.machine.reserve
    assert (65_536 * 128 * (128 + 128) * 2, 0.0) in reserve.layers
    assert reserve.on(8, 8, 0, 8).layer < reserve.on(8, 1, 8, 1).layer


@pytest.mark.parametrize(
    ("sequences", "tokens"),
    # Eight sequences of 2,000 tokens, or four blocks of 16 for each sequence, at most 65,536.
    [(None, 65_536), (512, 32_768), (64, 16_000)],
)
def test_short_sequences_expand_four_blocks_each(sequences, tokens):
    """vLLM 0.33, mla_attention.py, determine_chunked_prefill_workspace_size."""
    memory = replace(OWN_MEMORY, longest=2000.0)
    sharding = Sharding(tp=8)
    place = placed("deepseek-r1", "h200-sxm", sequences=sequences, sharding=sharding, memory=memory)
    assert (tokens * 128 * 256 * 2, 0.0) in place.placement.machine.reserve.layers


def test_an_indexer_gathers_keys_of_forty_longest_sequences():
    """Of DeepSeek V3.2: 40 x 163,840 keys of 132 bytes, and half a GiB of scores."""
    placed_on = partial(placed, "deepseek-v3.2", "h200-sxm", sharding=Sharding(tp=8))
    for longest, lengths, engine in (
        (163_840, 40, "vllm"),
        (32_768, 40, "vllm"),
        (300_000, 16, "vllm"),  # vLLM 0.33: 16 beyond 262,144 tokens
        (300_000, 40, "vllm-0.32"),
    ):
        memory = replace(OWN_MEMORY, longest=float(longest))
        reserve = placed_on(engine, memory=memory).placement.machine.reserve
        assert (0.0, 2.0**29) in reserve.layers
        assert (0.0, lengths * longest * 132.0) in reserve.workspaces


def test_a_first_start_of_a_text_model_on_one_chip_compiles_with_its_embedding_table():
    """Qwen3-8B logged a peak of 1.19 GiB on an RTX 4090: 151,936 entries and twice 2,048 tokens."""
    peak = (151_936 + 2 * 2048) * 4096 * 2
    assert placed("qwen3-8b", "rtx-4090").placement.kept.layer == pytest.approx(peak)
    split = placed("qwen3-8b", "rtx-4090", sharding=Sharding(tp=2))
    vision = placed("gemma-4-12b", "rtx-4090", weights="fp8")
    eager = placed("qwen3-8b", "rtx-4090", "vllm+eager")
    for other in (split, vision, eager):
        assert other.placement.kept.layer < 0.25 * peak


def test_buffers_of_experts_hold_what_compiling_freed():
    """gpt-oss-20b logged 0.97 GiB more on an RTX 4090 than a dense model: 201,088 x 2,880 x 2 B."""
    place = partial(placed, "gpt-oss-20b", "rtx-4090")
    held, table = place("vllm-0.32"), 201_088 * 2880 * 2
    buffers = 2048 * 4 * (2 * 2880 + 2880) * 2
    assert held.placement.kept.layer == pytest.approx(2 * table + 2 * 2048 * 2880 * 2)
    older = place("vllm-0.25").placement.kept.layer  # counts allocations, not their segments
    assert older == pytest.approx(table + 2 * 2048 * 2880 * 2 + buffers)


def test_buffers_of_experts_stay_allocated_beside_logits():
    """Of Qwen3-235B, 8,192 x 8 rows of 4,096 columns at 16 bits twice: 1 GiB during both phases."""
    place = partial(placed, "qwen3-235b-a22b", "h100-sxm", sharding=Sharding(tp=4), weights="fp8")
    kept, older = place("vllm-0.28").placement.kept, place("vllm-0.16").placement.kept
    assert kept.sampling == pytest.approx(4.1 * 4 * 1024 * 151_936 + 9216 * 4096 * 2 + 2.0**30)
    assert older.sampling == pytest.approx(9.57 * 4 * 1024 * 151_936 + 9216 * 4096 * 2)


def test_ranks_divide_the_inner_columns_of_an_encoder():
    """A start of Qwen3.8 27B on two RTX 5090 logged a peak of 1.59 GiB (club-3090 1087)."""
    kept = placed("qwen3.6-27b", "rtx-5090", sharding=Sharding(tp=2), weights="fp8").placement.kept
    assert kept.encoder / 2**30 == pytest.approx(1.59, rel=0.01)
    inner = 2 * 4304 * 2 * 65_536
    alone = placed("qwen3.6-27b", "h100-sxm", weights="fp8").placement.kept
    assert alone.encoder - kept.encoder == pytest.approx(inner / 2, rel=0.01)


@pytest.mark.parametrize(
    ("model", "chip", "gib"),
    [
        # SGLang 0.5.23: 1 GiB and 1.5 MiB a token of a step of 8,192, or of 16,384 from 160 GiB.
        ("qwen3-8b", "h100-sxm", 13.0),
        ("qwen3-8b", "b200", 25.0),
        # Where it encodes images, 7.5% of the rest of 80 GiB.
        ("qwen3.6-27b", "h100-sxm", 13.0 + 0.075 * (80.0 - 13.0)),
    ],
)
def test_sglang_keeps_what_its_heuristic_says(model, chip, gib):
    kept = placed(model, chip, "sglang").placement.kept.total
    assert kept / 2**30 == pytest.approx(gib, rel=1e-3)


def test_sglang_keeps_more_on_several_ranks():
    """SGLang 0.5.23: an eighth of a GiB per rank, and graphs of 512 sequences instead of 256."""
    for ranks in (4, 8, 16):
        sharding = Sharding(tp=ranks) if ranks <= 8 else Sharding(tp=8, pp=2)
        kept = placed("qwen3-8b", "h100-sxm", "sglang", sharding=sharding).placement.kept.total
        assert kept / 2**30 == pytest.approx(13.0 + ranks / 8 + 256 * 2 / 1024)


def test_states_have_a_pool_of_their_own_under_sglang():
    """Of Qwen3.6 27B: 48 layers of 48 x 128 x 128 values of 4 B and 3 x 10,240 of 2 B a sequence.

    Three slots a running request of 0.9 / 1.9 of what is left, and 16 layers of 4,096 B a token in
    the rest, which is enough for as many of 2,000 tokens and not of 200,000.
    """
    place = placed("qwen3.6-27b", "h100-sxm", "sglang", weights="fp8").placement
    state = 48 * (48 * 128 * 128 * 4 + 3 * 10_240 * 2)
    slots = float(place.available) * 0.4737 / state
    assert place.batch_beside(1.0) == int(slots / 3)
    tokens = float(place.available) * 0.5263 / (16 * 4096)
    longer = Placement(place.machine, place.work, place.layout, 200_000.0)
    assert longer.batch_beside(1.0) == int(tokens / 200_000)


def test_graphs_of_recurrent_layers_are_estimated_larger_on_blackwell():
    """102 graphs of 1 MiB and 0.2 at each layer, of a dense model and on Hopper 51 of them; 512 rows
    of 150 KiB. Version 0.25 has 0.3 MiB at each layer."""
    large = {"share": 0.95, "weights": "bf16"}
    chip, model, mib = "rtx-pro-6000-max-q", "qwen3.6-27b", 2.0**20
    hybrid = placed(model, chip, **large).placement.kept.graphs
    dense = placed("qwen3-32b", chip, **large).placement.kept.graphs
    hopper = placed(model, "h100-sxm", **large).placement.kept.graphs
    older = placed(model, chip, "vllm-0.25", **large).placement.kept.graphs
    fixed, rows = 102 * (1 + 64 * 0.2) * mib, 102 * 512 * 150 * 2**10
    assert dense == pytest.approx(102 * mib + 51 * 64 * 0.2 * mib)
    assert older == pytest.approx(102 * (1 + 64 * 0.3) * mib)
    assert hopper == pytest.approx(fixed - 51 * 64 * 0.2 * mib)
    assert hybrid == pytest.approx(fixed + rows)
    halved = placed(model, chip, sharding=Sharding(tp=2), **large).placement
    assert halved.kept.graphs == pytest.approx(fixed + 0.75 * rows)


@pytest.mark.parametrize(
    ("engine", "copies"), [("vllm", 2), ("vllm-0.25", 1), ("vllm-0.19", 0), ("vllm+eager", 0)]
)
def test_graphs_of_decode_steps_have_partial_results_on_hopper(engine, copies):
    """32 splits of 24 heads of 256 columns for each of 512 rows, in the number of buffers that the
    runner of a release counts, whatever the rest of the reserve."""
    found = placed("qwen3.6-27b", "h100-sxm", engine, weights="bf16").placement
    splits = copies * 32 * 512 * 24 * 256 * 4
    assert found.kept.buffers == pytest.approx(splits)
    rest = found.reserved - splits
    assert found.kept.at(1.5) == pytest.approx(1.5 * rest + splits)
    assert found.available - found.available_beside(1.5) == pytest.approx(0.5 * rest)
    assert found.available - StartCheck(found, 1.5).room == pytest.approx(0.5 * rest)


def test_the_runner_of_dense_models_reserves_no_graphs_up_to_version_0_28():
    """Others sample with four copies of 32 bits and keep no counters for penalties."""
    kept = placed("qwen3-32b", "h100-sxm", "vllm-0.28", weights="bf16").placement.kept
    assert kept.graphs == kept.buffers == 0.0
    experts = placed("qwen3-30b-a3b", "h100-sxm", "vllm-0.28", weights="bf16").placement.kept
    assert experts.graphs == pytest.approx((102 + 51 * 48 * 0.3) * 2.0**20)
    assert experts.buffers == pytest.approx(32 * 512 * 32 * 128 * 4)
    assert experts.runtime == pytest.approx(0.13 * 2**30)


def test_a_draft_model_is_run_by_the_runner_that_reserves_graphs():
    """One MiB for each of 102 graphs, and 0.3 MiB for each of the 64 layers of 51 split graphs."""
    memory = MemoryChoice(draft=Catalogue().model("qwen3-0.6b"))
    settings = {"weights": "bf16", "memory": memory}
    kept = placed("qwen3-32b", "h100-sxm", "vllm-0.28", **settings).placement.kept
    assert kept.graphs == pytest.approx((102 + 51 * 64 * 0.3) * 2.0**20)


def test_graphs_of_decode_steps_have_the_scores_of_indexers():
    """Two buffers of 512 rows with a 32-bit score for each token of the longest sequence, and for
    every fourth one of DeepSeek V4; wider heads than 256 columns have no buffer of splits."""
    longest = [replace(OWN_MEMORY, longest=length) for length in (400_000.0, 800_000.0)]
    for model, merged in (("glm-5.2", 1), ("deepseek-v4-flash", 4)):
        scores = [
            placed(model, "b200", sharding=Sharding(tp=8), memory=memory).placement.kept.buffers
            for memory in longest
        ]
        assert scores[1] - scores[0] == pytest.approx(2 * 512 * 400_000 / merged * 4)
    wide = placed("gemma-4-31b", "h100-sxm", weights="bf16").placement.machine.reserve
    assert wide.buffers[0] == 0.0


def test_compressed_attention_gathers_entries_of_four_prompts():
    """Each has those of 400,000 tokens, one for four tokens, of the window and of 8,192 tokens."""
    memory = replace(OWN_MEMORY, longest=400_000.0)
    layout = Sharding(tp=8)
    reserve = placed("deepseek-v4-flash", "h100-sxm", sharding=layout, memory=memory)
    gathered = 4 * (100_000 + 128 + 8192) * 512 * 2
    buffers = [undivided for _, undivided in reserve.placement.machine.reserve.workspaces]
    assert pytest.approx(gathered) in buffers


def test_ranks_do_not_divide_the_buffers_of_whole_experts():
    """Of eight experts of a token, three products of 768 columns: 8,192 x 8 x 2,304 x 2 bytes."""
    kept = {
        ep: placed(
            "qwen3-30b-a3b", "h100-sxm", weights="bf16", sharding=Sharding(tp=2, ep=ep)
        ).placement.kept
        for ep in (1, 2)
    }
    widths = {1: 8 * max(3 * 768 / 2, 2 * 768 / 2 + 2048, 2 * 2048), 2: 8 * (2 * 768 + 2048)}
    more = max(widths[2], 8 * 2 * 2048) - widths[1]
    assert kept[2].layer - kept[1].layer == pytest.approx(8192 * more * 2)


def test_attention_to_narrow_caches_has_a_workspace_while_graphs_are_captured():
    """394 MiB of FlashInfer, beside 86 graphs of 1 MiB, of which 51 have 0.2 at each of 36 layers."""
    graphs = (86 + 51 * 36 * 0.2) * 2.0**20

    def kept(model="qwen3-8b", chip="rtx-5090", engine="vllm", **settings):
        kept = placed(model, chip, engine, **{"kv": "fp8", **settings}).placement.kept
        return float(kept.graphs)

    assert kept() - graphs == pytest.approx(394 * 2**20)
    assert kept(kv="bf16") == pytest.approx(graphs)
    assert kept(engine="eager") == kept(engine="vllm-0.19") == 0.0
    hopper = {"model": "qwen3-32b", "chip": "h100-sxm"}  # read by FlashAttention 3
    assert kept(**hopper) == kept(**hopper, kv="bf16")
    gemma = {"model": "gemma-4-31b", "chip": "rtx-pro-6000"}  # heads of 512, read by Triton
    assert kept(**gemma) == kept(**gemma, kv="bf16")
    drafted = replace(OWN_MEMORY, drafted=3.0)
    hybrid = {"model": "qwen3.6-27b", "chip": "rtx-3090", "memory": drafted}
    assert kept(**hybrid) == kept(**hybrid, kv="bf16")


def test_each_remedy_starts_it_and_a_little_less_does_not():
    stopped = placed("qwen3.6-27b", "h100-sxm", share=0.9, weights="fp8")
    remedies = {remedy.setting: remedy.value for remedy in stopped.remedies}
    sequences, ranks = int(remedies["max_num_seqs"]), int(remedies["tp"])
    for count, verdict in ((sequences, True), (sequences + 1, False)):
        found = placed("qwen3.6-27b", "h100-sxm", share=0.9, sequences=count, weights="fp8")
        assert (found.verdict == "fits") == verdict
    assert ranks == 2
    more = placed("qwen3.6-27b", "h100-sxm", share=0.9, weights="fp8", sharding=Sharding(tp=ranks))
    assert more.verdict == "fits"


def test_two_changes_start_what_none_alone_does():
    """Kimi K2 on eight H200: 120 GiB of weights leave 0.2 of 3.9 GiB for one sequence of 60,000."""
    memory = replace(OWN_MEMORY, longest=60_000.0)
    kimi = partial(
        placed, "kimi-k2", "h200-sxm", "vllm-0.28", sharding=Sharding(tp=8), memory=memory
    )
    stopped = kimi()
    assert [remedy.setting for remedy in stopped.remedies] == ["pp"]
    ((cache, share),) = stopped.joint_remedies
    assert (cache, share.setting) == (("kv", "fp8"), "gpu_memory_utilization")
    assert kimi(kv="fp8", share=float(share.value)).verdict == "fits"
    for less in ({"kv": "fp8"}, {"share": float(share.value)}):
        assert kimi(**less).verdict != "fits"
    assert kimi(kv="fp8", share=float(share.value) - 0.01).verdict != "fits"
    assert kimi(kv="fp8", share=float(share.value)).joint_remedies == []


def test_fewer_sequences_may_need_a_shorter_length():
    """Qwen2.5 72B on two H100: 68 GiB of weights leave few of 12.2 GiB for 80,000 tokens."""
    memory = replace(OWN_MEMORY, longest=80_000.0)
    qwen = partial(placed, "qwen2.5-72b", "h100-sxm", sharding=Sharding(tp=2), share=0.96)
    ((fewer, shorter),) = qwen(memory=memory).joint_remedies
    assert (fewer, shorter.setting) == (("max_num_seqs", "256"), "max_model_len")
    shortened = replace(OWN_MEMORY, longest=float(shorter.value))
    assert qwen(memory=shortened, sequences=256).verdict == "fits"
    assert qwen(memory=shortened).verdict != "fits"
    assert qwen(memory=memory, sequences=256).verdict != "fits"


@every("drafted,graphs", [(0.0, 12), (1.0, 18), (3.0, 30)])
def test_graphs_are_captured_for_drafts_as_for_more_sequences(drafted, graphs):
    """Of 16, 32 and 64 rows, and twice as many with prompts: 5 + 7, 7 + 11 and 11 + 19 sizes."""
    place = made_up.placed(
        made_up.minimal(), under=made_up.engine(graph_memory="1 MB", max_sequences=16),
        memory=MemoryChoice(drafted=drafted),
    )  # fmt: skip
    assert place.machine.reserve.graphs == (0.0, graphs * 1e6)


def test_a_start_without_graphs_frees_their_memory_and_that_of_compiling():
    """Qwen3 32B in 4 bits on a 3090: of 86 graphs, 51 have 0.3 MiB for each of 64 layers; compiled,
    the embedding table and two hidden states of 2,048 tokens exceed four copies of 256 logits."""
    asked = {"engine": "vllm-0.25", "weights": "awq-int4-g128"}
    stopped = placed("qwen3-32b", "rtx-3090", **asked, memory=replace(OWN_MEMORY, longest=16384.0))
    assert [remedy.setting for remedy in stopped.remedies] == ["tp"]
    ((eager, shorter),) = stopped.joint_remedies
    assert (eager, shorter.setting) == (("engine", "vllm-0.25+eager"), "max_model_len")
    asked |= {"engine": eager.value}
    for more, is_started in ((0.0, True), (64.0, False)):
        memory = replace(OWN_MEMORY, longest=float(shorter.value) + more)
        started = placed("qwen3-32b", "rtx-3090", **asked, memory=memory)
        assert (started.verdict == "fits") == is_started
    sampled = 4.1 * 256 * 151_936 * 4 + (2048 + 256) * 5120 * 2
    compiled = (151_936 + 2 * 2048) * 5120 * 2
    graphs = (86 + 51 * 64 * 0.3) * 2**20
    assert stopped.graphs_given_up.freed == pytest.approx(graphs + compiled - sampled)
    assert 1.0 < stopped.graphs_given_up.slower < 1.5
    assert started.graphs_given_up is None


def test_only_graphs_of_vllm_are_given_up():
    eager = placed("qwen3-32b", "rtx-3090", "eager", weights="awq-int4-g128")
    other = placed("qwen3-32b", "rtx-3090", "sglang", weights="awq-int4-g128")
    assert without_graphs(eager.scenario) is without_graphs(other.scenario) is None


def test_a_change_that_leaves_few_sequences_is_not_enough():
    few, more = (StartRemedy("max_num_seqs", count) for count in ("7", "8"))
    assert (few.is_enough, more.is_enough) == (False, True)


@pytest.mark.parametrize(("free", "given"), [(0.57, "0.57"), (0.579, "0.57"), (0.29, "0.29")])
def test_a_share_to_give_is_at_most_what_is_free(free, given):
    """100 x 0.57 and 100 x 0.29 are below 57 and 29 in floating point."""
    placement = placed("qwen3-8b", "gb10", share=0.95).placement
    software = SimpleNamespace(memory_fraction=0.95, free_fraction=free)
    machine = replace(placement.machine, software=software)
    check = StartCheck(replace(placement, machine=machine), 1.0)
    assert check.share_to_give == given


def test_the_line_of_a_start_has_the_numbers_that_are_expected():
    """Qwen3.8 27B in FP8 has 939 blocks of 1,024 sequences at 0.92 (recipes 831); more at 0.95."""
    small, large = (
        placed("qwen3.8-27b", "rtx-pro-6000-max-q", share=share, weights="fp8")
        for share in (0.92, 0.95)
    )
    assert small.expected_blocks == pytest.approx(939, rel=0.02)
    assert f"blocks ({small.expected_blocks})." in small.stop_line
    assert large.expected_blocks > small.expected_blocks
    assert large.is_expected_to_stop == (f"({large.expected_blocks})." in large.stop_line)


def test_a_length_that_does_not_fit_is_shortened():
    """0.25 MiB a token: 32,000 take 7.81 GiB, of which 4.5 are left on an H100 by version 0.11."""
    (record,) = fastcalc.fit(
        "qwen3-32b", on="h100-sxm", chips=1, engine="vllm-0.16", max_model_len=32_000
    )
    assert record["fit_verdict"] == "no"
    assert record["stop_line"].startswith(
        "To serve at least one request with the model's max seq len (32000), (7.81 GiB KV cache"
    )
    remedies = dict(remedy.split(" ") for remedy in record["start_remedies"])
    length = int(remedies["max_model_len"])
    for tokens, verdict in ((length, "fits"), (length + 32, "edge")):
        (changed,) = fastcalc.fit(
            "qwen3-32b", on="h100-sxm", chips=1, engine="vllm-0.16", max_model_len=tokens
        )
        assert changed["fit_verdict"] == verdict
    assert remedies["chips"] == "2"


def test_weights_larger_than_a_chip_are_out_of_memory():
    stopped = placed("llama-3.1-70b", "rtx-3090", sharding=Sharding(chips=1))
    assert stopped.stop_line == "torch.OutOfMemoryError: CUDA out of memory."
    assert [remedy.setting for remedy in stopped.remedies] == ["chips"]


def test_other_engines_have_no_such_line():
    scenario = Scenario(
        hardware=made_up.chip(),
        model=made_up.minimal(total_parameters=int(1e12)),
        engine=made_up.engine(),
        batches=(1,),
        traffic=Traffic(1000.0, 1000.0, 1500.0),
        sharding=Sharding(tp=1),
    )
    assert start_location(locate(scenario)).stop_line is None


def test_sglang_names_the_least_static_share():
    """61.0 GiB of Qwen3 32B and 0.3 GiB of 79.18: 0.75 leaves nothing, 0.9 starts."""
    (stopped,) = fastcalc.fit(
        "qwen3-32b", on="h100-sxm", chips=1, engine="sglang", gpu_memory_utilization=0.75
    )
    assert stopped["fit_verdict"] == "no"
    assert stopped["stop_line"].startswith("Loaded weights leave no GPU memory")
    least = float(stopped["stop_line"].split()[-1])
    assert least == pytest.approx((61.03 + 0.3) / 79.18, abs=0.002)
    (started,) = fastcalc.fit(
        "qwen3-32b", on="h100-sxm", chips=1, engine="sglang", gpu_memory_utilization=0.9
    )
    assert started["fit_verdict"] == "fits"


def test_layers_that_draft_keep_caches_of_their_own_under_sglang():
    """DeepSeek R1 has 61 layers of 576 elements and one that drafts: 62 by 2 bytes of a token."""
    scenario = placed("deepseek-r1", "h200-sxm", "sglang", sharding=Sharding(tp=8)).scenario
    drafting = replace(scenario, memory=replace(OWN_MEMORY, drafted=3.0))
    caches = [float(locate(case).placement.cache_on_chip(1000.0)) for case in (scenario, drafting)]
    assert caches == [61 * 576 * 2 * 1000.0, 62 * 576 * 2 * 1000.0]


def test_comparisons_say_of_each_row_that_its_server_may_not_start():
    """1,024 sequences are vLLM's default on an H100; blocks of states are counted above."""
    settings = {"on": "h100-sxm", "weights": "fp8", "tp": 1, "max_num_seqs": 1024}
    stopped = fastcalc.compare("qwen3.6-27b", gpu_memory_utilization=0.95, **settings)
    started = fastcalc.compare("qwen3.6-27b", **{**settings, "max_num_seqs": 512})
    said = [text for text in stopped.records[0]["warnings"] if "start" in text]
    assert [text.partition(";")[0] for text in said] == [
        "vllm on 1 x h100-sxm does not start with these settings"
    ]
    assert not [text for text in started.records[0]["warnings"] if "start" in text]


def test_a_share_that_the_system_may_use_is_said_once():
    """A GB10 shares its memory: 0.92 of it is free only if little else runs."""
    shared = {"on": "gb10", "weights": "fp8", "gpu_memory_utilization": 0.92}
    (row,) = fastcalc.compare("llama-3.1-70b", batch=1, **shared).records
    said = [text for text in row["warnings"] if "system leaves" in text or "tight fit" in text]
    assert (row["fit_verdict"], len(said)) == ("edge", 1)
    assert "starts only if the system leaves enough memory free" in said[0]


def test_sweeps_say_so_of_each_layout_whatever_the_lengths():
    """Two lengths and two layouts: half of an H100's weights leave room for 1,024 states."""
    chips = {"on": "h100-sxm", "weights": "fp8", "tp": [1, 2], "batch": [1, 8]}
    limits = {"max_num_seqs": 1024, "gpu_memory_utilization": 0.95}
    swept = fastcalc.sweep("qwen3.6-27b", prompt=[1000, 4000], output=[500], **chips, **limits)
    said = {
        row["tp"]: any("does not start" in text for text in row["warnings"])
        for row in swept.records
    }
    assert said == {1: True, 2: False}


def test_the_chips_that_start_a_server_are_those_of_any_usual_layout():
    """65.5 GB of Qwen3 32B take three of 24 GB alone, and six in halves of three stages."""
    memory = replace(OWN_MEMORY, longest=40_960.0)
    stopped = placed("qwen3-32b", "rtx-4090", memory=memory, sharding=Sharding(chips=1))
    (chips,) = [int(each.value) for each in stopped.remedies if each.setting == "chips"]
    assert chips == stopped.min_chips[0]


@pytest.mark.parametrize(
    ("model", "chip", "weights", "prompt"),
    [
        # 793 blocks of recurrent states on each chip with dp 4 ep 4, for 1,024 sequences.
        ("qwen3.5-397b-a17b", "b200", "fp8", 1000.0),
        # Experts are padded by a third where tp 8 cuts their 3,072 columns to 384.
        ("deepseek-v4-pro", "b200", None, 128_000.0),
        ("deepseek-v4-pro", "gb300", None, 128_000.0),
        ("llama-3.1-70b", "h100-sxm", None, 1000.0),
    ],
)
def test_the_layout_taken_is_one_that_starts(model, chip, weights, prompt):
    traffic = Traffic(prompt, 1000.0, prompt + 500.0)
    found = placed(model, chip, sharding=Sharding(), weights=weights, traffic=traffic)
    assert (found.verdict, found.stop_line) == ("fits", None)
    site = found.site
    offered = layouts_on_offer(site)
    assert found.placement.layout.chips in {layout.chips for layout in offered}
    for layout in offered:
        assert not likely_check(site.place(layout)).is_failed


def test_where_no_layout_starts_the_weights_are_still_placed():
    """A length of which no chip holds one sequence."""
    memory = replace(OWN_MEMORY, longest=1e9)
    site = placed("llama-3.1-70b", "h100-sxm", sharding=Sharding(chips=8), memory=memory).site
    layouts = open_layouts(site, 8)
    assert layouts
    assert all(likely_check(site.place(layout)).is_failed for layout in layouts)


def test_replicas_of_attention_reserve_memory_for_graphs_under_sglang():
    """512 sequences x 8 replicas x 4.5 MiB (python/sglang/srt/arg_groups/memory_hook.py, 0.5.23).

    A share of memory that is set leaves them none of it.
    """

    def kept(**sharding):
        placed_on = placed("deepseek-r1", "h200-sxm", "sglang", sharding=Sharding(**sharding))
        return float(placed_on.placement.kept.total)

    apart = kept(tp=8)
    assert kept(tp=1, dp=8, ep=8) - apart == pytest.approx(512 * 8 * 4.5 * 2.0**20)
    assert kept(tp=1, dp=16, ep=8) == pytest.approx(kept(tp=1, dp=8, ep=8))  # two such servers
    location = placed("deepseek-r1", "h200-sxm", "sglang", sharding=Sharding(tp=1, dp=8, ep=8))
    share = limited(location.scenario, "gpu_memory_utilization", 0.85)
    assert float(locate(share).placement.kept.total) < apart


@every(
    "vendor,program,is_told",
    [("Apple", "vllm", True), ("Apple", "mlx", False), ("Nobody", "vllm", False)],
)
def test_vllm_runs_on_gpus_of_apple_with_a_plugin_alone(vendor, program, is_told):
    engine = SimpleNamespace(id=program, program=program)
    told = list(plugin_notes(made_up.chip(vendor=vendor), engine))
    assert bool(told) == is_told
    assert all("plugin vLLM-Metal" in note for note in told)
