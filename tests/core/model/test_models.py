"""The shipped models against what others publish, and each kind of layer by hand."""

import csv
import re
from math import inf

import pytest

from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.schema.models import LinearAttention
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.model.layers import CacheGroup, _linear
from fastcalc.core.model.workload import Workload, checkpoint_parameters, workload
from fastcalc.core.scenario import Sharding
from fastcalc.errors import InputError
from tests import strategies
from tests.helpers import ROOT, every, outcome

NAMES = Catalogue().names("models")
LINES = (ROOT / "tests" / "published_models.csv").read_text().splitlines()
ROWS = list(csv.DictReader(line for line in LINES if not line.startswith("#")))
rows = every("row", ROWS)


def number(row: dict[str, str], column: str) -> float:
    return float(row[column] or 0)


def work_of(catalogue: Catalogue, row: dict[str, str]) -> Workload:
    return workload(catalogue.model(row["id"]))


# -- parameters -------------------------------------------------------------------------


BEYOND_THE_SHAPE = {
    # One buffer of 64 rotary frequencies in every layer.
    **dict.fromkeys(("llama-7b", "llama-2-7b"), 64 * 32),
    **dict.fromkeys(("llama-13b", "llama-2-13b"), 64 * 40),
    "llama-33b": 64 * 60,
    "llama-2-70b": 64 * 80,
    # 1, 56, 128 and 24 in every layer, of unknown use.
    "gemma-4-26b-a4b": 30,
    "gemma-4-31b": 60,
    "kimi-k2": 56 * 61,
    "kimi-k2-thinking": 128 * 61,
    "kimi-k3": 24 * 92,
    # 528 a layer: scales of 8-bit weights and inputs.
    "mistral-small-4-119b-2603": 528 * 36,
    # The biases of routers, which these checkpoints are counted without.
    "nemotron-3-nano-30b-a3b": -128 * 23,
    "nemotron-3-super-120b-a12b": -512 * (40 + 1),
    "nemotron-3-ultra-550b-a55b": -512 * (48 + 1),
    "lfm2-8b-a1b": -32 * 22,
    "ernie-4.5-21b-a3b": -2560,  # its draft layer has one norm less
}
"""Elements that a checkpoint holds and the shape does not. [1]"""

ABOUT = {
    "mimo-v2-flash": 1e-4,  # holds 18.7M block scales of its fp8 matrices
    "glm-5.3-flash": 3e-6,  # the width of its projector is chosen to meet the count
    # Some 65,000 and 114,000 elements fewer, of unknown use.
    "deepseek-v4-flash": 3e-7,
    "deepseek-v4-pro": 1e-7,
}
"""Models whose checkpoint the shape meets to a share alone."""


@every("name", NAMES)
def test_the_shape_makes_the_checkpoint_to_the_parameter(catalogue, name):
    model = catalogue.model(name)
    if model.published.checkpoint is None:
        return
    counted = checkpoint_parameters(model)
    published = model.published.checkpoint.si - BEYOND_THE_SHAPE.get(name, 0)
    assert counted == pytest.approx(published, rel=ABOUT.get(name, 0), abs=0)


@every("name", NAMES)
def test_text_core_mtp_and_vision_make_the_checkpoint_or_a_note_says_why(catalogue, name):
    model = catalogue.model(name)
    notes, checkpoint = " ".join(model.notes), model.published.checkpoint
    if checkpoint is None:
        assert (
            model.hypothetical
            or "No checkpoint count is known" in notes
            or "no checkpoint" in notes
        )
    if model.published.label is None:
        assert model.hypothetical
        return
    billions, unit = re.match(r"([0-9.]+)([BT])", model.published.label).groups()
    label = float(billions) * {"B": 1e9, "T": 1e12}[unit]
    if workload(model).total_parameters != pytest.approx(label, rel=0.01):
        assert re.search("[Tt]he label|card rounds", notes), (
            "a label off by more than 1% is explained"
        )


@rows
def test_the_published_checkpoint_is_the_one_in_the_file(catalogue, row):
    checkpoint = catalogue.model(row["id"]).published.checkpoint
    if row["id"] == "mistral-large-3-675b-2512":  # a rounded label, not a count
        assert checkpoint is None
    elif checkpoint is not None:
        assert checkpoint.si == number(row, "checkpoint")
    else:
        assert not row["checkpoint"]


@rows
def test_parameters_agree_with_the_configuration(catalogue, row):
    work = work_of(catalogue, row)
    assert work.total_parameters == pytest.approx(number(row, "text_core"), rel=1e-5)
    assert work.active_parameters == pytest.approx(number(row, "active"), rel=2e-4)
    assert work.flops_per_token == pytest.approx(number(row, "linear_flops"), rel=2e-4)


MOE = [row for row in ROWS if row["active_label_billions"]]
TRUNCATED = {"qwen3-next-80b-a3b", "glm-4.7-flash", "kimi-linear-48b-a3b", "gemma-4-26b-a4b"}


@every("row", MOE)
def test_active_parameters_agree_with_the_label(catalogue, row):
    """Publishers count with embedding and head, without the embedding, or without both."""
    work = work_of(catalogue, row)
    label = number(row, "active_label_billions") * 1e9
    conventions = [
        work.active_parameters,
        work.multiplied_parameters,
        work.multiplied_parameters - work.weights.head.parameters,
    ]
    if row["id"] == "glm-5.3-flash":  # with its vision tower, as its notes say
        conventions.append(work.active_parameters + catalogue.model(row["id"]).vision_parameters.si)
    nearest = min(abs(count - label) for count in conventions)
    assert nearest <= (0.5e9 if row["id"] in TRUNCATED else 0.03 * label)


@rows
def test_native_weight_bytes_agree_with_the_configuration(catalogue, row):
    """DeepSeek V4 to 0.06%: the table takes its hyper-connections at another width."""
    work = work_of(catalogue, row)
    if row["id"] == "glm-5.3-flash":  # the table holds its bf16 sibling
        work = workload(catalogue.model(row["id"]), "bf16")
    within = 6e-4 if row["id"].startswith("deepseek-v4") else 1e-5
    assert work.weight_bytes == pytest.approx(number(row, "native_weights"), rel=within)


# -- caches and attention ---------------------------------------------------------------


def is_index(group: CacheGroup) -> bool:
    return group.element_bytes is not None


def elements(groups: list[CacheGroup]) -> float:
    return sum(group.layers * group.elements for group in groups)


def flops(groups: list[CacheGroup]) -> float:
    return sum(group.layers * group.decode_flops for group in groups)


POOLED = {"glm-5.3-flash": 16}
"""Keys of its indexer are pooled by 16; the table holds the upper bound without pooling."""


@rows
def test_cache_and_state_of_a_token(catalogue, row):
    """The table puts the index keys of DeepSeek V4, folded with its entries, under the cache."""
    work = work_of(catalogue, row)
    whole = [group for group in work.caches if group.window == inf and not is_index(group)]
    windowed = [group for group in work.caches if group.window < inf]
    index = [group for group in work.caches if is_index(group)]
    if row["id"].startswith("deepseek-v4"):
        whole, index = [*whole, *index], []
    assert elements(whole) == number(row, "cache_global")
    assert elements(windowed) == number(row, "cache_window")
    assert elements(index) * POOLED.get(row["id"], 1) == number(row, "index_keys")
    assert work.state_elements == number(row, "state")


@rows
def test_attention_flops_of_a_token_of_context(catalogue, row):
    """The table leaves out scans of the indexer, and the picked entries of DeepSeek V4."""
    work = work_of(catalogue, row)
    whole = [group for group in work.caches if group.window == inf]
    windowed = [group for group in work.caches if group.window < inf]
    if row["id"].startswith("deepseek-v4"):
        whole = [group for group in whole if group.picked == inf]
    else:
        whole = [group for group in whole if not is_index(group)]
    assert flops(whole) == number(row, "attention_global")
    assert flops(windowed) == number(row, "attention_window")
    if row["attention_expanded"]:
        expanded = sum(group.layers * group.prefill_flops for group in whole)
        assert expanded == number(row, "attention_expanded")


def test_sparse_attention_keeps_all_and_reads_what_is_picked(catalogue):
    """DeepSeek-V3.2: 61 layers, latents of 576, 2,048 picked; keys of 128 + 4 bytes, all scanned."""
    work = workload(catalogue.model("deepseek-v3.2"))
    for context in (1000, 100_000):
        picked = min(context, 2048)
        kept = 61 * context * (576 * 2 + 132)
        read = 61 * (picked * 576 * 2 + context * 132)
        scores = 61 * (picked * 2 * 128 * (576 + 512) + context * 2 * 64 * 128)
        assert float(work.cache_bytes(context)) == kept
        assert float(work.cache_read_bytes(context)) == read
        assert float(work.attention_flops(context)) == scores


def test_prompts_take_the_cheaper_form_of_sparse_latent_attention(catalogue):
    """Expanded over all tokens, 81,920 FLOPs each, or absorbed over the 2,048 picked, 278,528 each."""
    work = workload(catalogue.model("deepseek-v3.2"))
    for context, form in ((6000, 6000 * 81_920), (8000, 2048 * 278_528)):
        scan = context * 2 * 64 * 128
        assert float(work.attention_flops(context, prompt=True)) == 61 * (form + scan)


def test_shared_indexers_pick_without_keys_of_their_own(catalogue):
    """GLM-5.2: 78 layers attend to what 21 indexers pick."""
    work = workload(catalogue.model("glm-5.2"))
    context = 50_000
    assert float(work.cache_bytes(context)) == context * (78 * 576 * 2 + 21 * 132)
    assert float(work.cache_read_bytes(context)) == 78 * 2048 * 576 * 2 + 21 * context * 132


def test_compressed_entries_by_hand(catalogue):
    """DeepSeek-V4-Flash at 100,000 tokens: 43 windows of 128; 20 layers fold 128 tokens, 21 fold 4."""
    work = workload(catalogue.model("deepseek-v4-flash"))
    context = 100_000
    windows, entries = 43 * 128 * 1024, 20 * context / 128 * 1024
    keys = 21 * context / 4 * 132
    assert float(work.cache_bytes(context)) == windows + entries + 21 * context / 4 * 1024 + keys
    assert float(work.cache_read_bytes(context)) == windows + entries + 21 * 512 * 1024 + keys
    score = 4 * 64 * 512
    attended = 43 * 128 + 20 * context / 128 + 21 * 512
    scan = 21 * context / 4 * 2 * 64 * 128
    assert float(work.attention_flops(context)) == attended * score + scan


def test_long_contexts_cost_sparse_attention_less(catalogue):
    """At 100,000 tokens the cache read of a step falls from 7.0 to 0.95 GB a sequence."""
    dense, sparse = (workload(catalogue.model(name)) for name in ("deepseek-r1", "deepseek-v3.2"))
    assert float(dense.cache_read_bytes(100_000)) == pytest.approx(7.03e9, rel=1e-3)
    assert float(sparse.cache_read_bytes(100_000)) == pytest.approx(0.949e9, rel=1e-3)
    speeds = [
        outcome(
            name, "h200-sxm", batch=(128,), context=100_000, sharding=Sharding(chips=16)
        ).estimate.speed[0]
        for name in ("deepseek-r1", "deepseek-v3.2")
    ]
    assert speeds[1] > 1.3 * speeds[0]


def test_states_do_not_grow(catalogue):
    work = workload(catalogue.model("nemotron-3-nano-30b-a3b"))
    assert (
        float(work.cache_bytes(2000)) - float(work.cache_bytes(1000)) == 1000 * 6 * 2 * 2 * 128 * 2
    )
    assert work.state_bytes == 23 * (64 * 64 * 128 * 4 + 3 * (4096 + 2 * 8 * 128) * 2)


def test_layers_without_a_part_count_half(catalogue):
    """Nemotron 3 Nano: 52 sub-blocks; Nemotron Super 49B: 31 of 80 layers without attention."""
    nano = workload(catalogue.model("nemotron-3-nano-30b-a3b"))
    assert (nano.layers, nano.depth) == (52, 26)
    pruned = workload(catalogue.model("llama-3.3-nemotron-super-49b"))
    assert (pruned.layers, pruned.depth) == (80, 64.5)


def test_mixed_formats_by_hand(catalogue):
    """Kimi K2.5: routed experts at 4.5 bits, all else at 16; vocabulary of 163,840."""
    work = workload(catalogue.model("kimi-k2.5"))
    routed = 60 * 384 * 3 * 7168 * 2048
    assert work.weight_format == "int4-g32"
    assert work.weight_bytes == routed * 4.5 / 8 + (work.total_parameters - routed) * 2


# -- entries ----------------------------------------------------------------------------


def test_names_are_unique(catalogue):
    seen: dict[str, str] = {}
    for name in NAMES:
        for one in (name, *catalogue.model(name).aliases):
            assert one not in seen, f"{one} is of {name} and of {seen[one]}"
            seen[one] = name


def test_every_model_with_measurements_has_an_entry(catalogue):
    """Ids that measured points use, aliases among them."""
    wanted = (
        "bloom-176b deepseek-r1-0528 deepseek-v3 gpt-j-6b kimi-k2.6 llama-3.3-70b llama-7b llama-13b "
        "llama-33b codellama-34b tinyllama-1.1b qwen2.5-coder-7b qwen3-1.7b qwen3-coder-30b-a3b "
        "deepseek-r1-distill-qwen-14b minimax-m2.7 glm-5.1 qwen3.6-27b mistral-small-3.1-24b"
    ).split()
    for name in wanted:
        assert catalogue.knows(name, "models"), name


def test_what_is_not_a_fact_says_so(catalogue):
    assumed = {name for name in NAMES if catalogue.model(name).hypothetical}
    assert assumed == {"frontier-1t", "frontier-5t", "spark-120b", "dense-20b", "dense-40b"}
    for name in NAMES:
        model = catalogue.model(name)
        assert model.hypothetical or model.confidence is not None
        if model.confidence in ("low", "memory"):
            assert re.search("assum|class defaults|No copy", " ".join(model.notes)), name
    for name, billions in (
        ("frontier-1t", 1000),
        ("spark-120b", 117),
        ("dense-20b", 20),
        ("dense-40b", 40),
    ):
        total = workload(catalogue.model(name)).total_parameters
        assert total == pytest.approx(billions * 1e9, rel=0.02)


LLAMA = (ROOT / "models" / "llama-3.1-8b.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("head_dim: 128}", "head_dim: 128, chunked: true}", "chunked attention needs window"),
        ("head_dim: 128}", "head_dim: 128, qk_norm: half}", "qk_norm"),
        (
            "    attention: {kind: gqa, heads: 32, kv_heads: 8, head_dim: 128}\n"
            "    ffn: {kind: dense, width: 14336}",
            "    norms: 2",
            r"blocks\[0\]: a block needs attention, ffn or both",
        ),
        (
            "{kind: gqa, heads: 32, kv_heads: 8, head_dim: 128}",
            "{kind: compressed, heads: 8, head_dim: 64, q_rank: 8, output_groups: 1, output_rank: 8, "
            "window: 8, indexer: {heads: 4, head_dim: 32, top_k: 8}}",
            "an indexer picks compressed entries: compression is missing",
        ),
        (
            "{kind: gqa, heads: 32, kv_heads: 8, head_dim: 128}",
            "{kind: mamba2, key_heads: 8, value_heads: 8, key_dim: 64, value_dim: 64, full_rank_gate: true}",
            "full_rank_gate belongs to kda; mamba2 has no such choice",
        ),
        ("head_dim: 128}", "head_dim: 128, indexr: {heads: 1}}", "did you mean 'indexer'"),
    ],
)
def test_a_wrong_layer_gets_a_sentence(tmp_path, old, new, sentence):
    assert old in LLAMA
    path = tmp_path / "m.yaml"
    path.write_text(LLAMA.replace(old, new, 1))
    with pytest.raises(InputError, match=sentence):
        Catalogue().model(str(path))


def test_an_unknown_kind_of_attention_lists_the_known(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text(LLAMA.replace("kind: gqa", "kind: retention", 1))
    with pytest.raises(InputError, match=r"'retention' is not a .*'kda'.*'mamba2'"):
        Catalogue().model(str(path))


@pytest.mark.parametrize(
    ("model", "effective"),
    [("gemma-4-e2b", 2.3e9), ("gemma-4-e4b", 4.5e9), ("qwen3.8-flash-next-180b", 7.3e9)],
)
def test_tables_of_which_a_token_reads_rows_are_not_active(catalogue, model, effective):
    """Google's effective parameters; 176.9B less 51.2B of n-grams and 502 of 512 experts of 2.5B."""
    work = workload(catalogue.model(model))
    assert work.active_parameters == pytest.approx(effective, rel=0.035)
    assert work.multiplied_parameters <= work.active_parameters


def test_biases_and_norms_by_hand():
    """Hidden 8, one head of 4: norms with bias 2 x 2 x 8 + 16, FFN biases 10 + 8, QKV and output biases."""
    model = Model.model_validate(
        {
            "id": "tiny",
            "name": "Tiny",
            "weight_format": "bf16",
            "hidden_size": 8,
            "vocabulary": 10,
            "tied_embeddings": True,
            "norm_bias": True,
            "blocks": [
                {
                    "count": 1,
                    "attention": {
                        "kind": "mha",
                        "heads": 1,
                        "head_dim": 4,
                        "qkv_bias": True,
                        "output_bias": True,
                    },
                    "ffn": {"kind": "dense", "width": 10, "matrices": 2, "bias": True},
                }
            ],
        }
    )
    matrices = 4 * 8 * 4 + 2 * 8 * 10 + 10 * 8
    vectors = 2 * 2 * 8 + 16 + (10 + 8) + 3 * 4 + 8
    assert workload(model).total_parameters == matrices + vectors


def test_every_kind_of_attention_of_the_schema_is_drawn():
    undrawn = [
        kind for kind, schema in strategies.ATTENTIONS.items() if schema not in strategies.SHAPES
    ]
    assert not undrawn, f"tests/strategies.py has no shapes for {undrawn}"


@every(
    "kind,small,state,convolution",
    [
        # 96 convolved channels of 3 weights look back on 2; a state is 64 x 8.
        ("gated-deltanet", 3 * 96 + 2 * 4 + 16, 512 + 192, 192),  # decay and its bias, one norm
        ("kda", 3 * 96 + 4 + 16 + 16, 512 + 192, 192),  # decay of a head, its bias of a key, a norm
        ("mamba2", 4 * 96 + 3 * 4 + 64, 512 + 192, 192),  # A, D, bias of the step; biases, norm
        # 64 channels.
        ("mamba", (3 + 1 + 8 + 1 + 1) * 64, 512 + 128, 128),  # biases, A, D, bias of the step
        ("short-conv", 3 * 64, 128, 128),
        ("lightning", 64, 512, 0),
    ],
)  # fmt: skip
def test_what_layers_without_a_cache_keep(kind, small, state, convolution):
    """Two key heads of 8, four value heads of 16."""
    attention = LinearAttention(
        kind=kind, key_heads=2, value_heads=4, key_dim=8, value_dim=16, conv_kernel=3,
        step_rank=5 if kind == "mamba" else None,
    )  # fmt: skip
    counted = _linear(attention, 64.0)
    assert (counted.small, counted.state, counted.convolution) == (small, state, convolution)
    assert counted.caches == ()
