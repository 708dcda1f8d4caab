"""Matrices of a layer by the names that quantization settings use, counted by hand.

A layer has a hidden width of 16 here.
"""

from fastcalc.catalogue.schema import Block
from fastcalc.importers.huggingface.matrices import Matrix, ModulePatterns, matrices_of
from tests.helpers import every

MHA = {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 8}
MLA = {"kind": "mla", "heads": 2, "kv_rank": 8, "nope_dim": 4, "rope_dim": 2, "value_dim": 3}
DELTA = {"kind": "gated-deltanet", "key_heads": 1, "value_heads": 2, "key_dim": 4, "value_dim": 8}
DENSE = {"kind": "dense", "width": 8}
MOE = {"kind": "moe", "experts": 4, "active_experts": 1, "width": 8, "shared_width": 24}


def made(*blocks, word=lambda _: False, **options):
    layers = [Block.model_validate({"count": 1, **block}) for block in blocks]
    return [*matrices_of(layers, 16, word, **options)]


@every(
    "attention,sizes",
    [
        (MHA, {"k_proj": 16 * 16, "v_proj": 16 * 16, "o_proj": 16 * 32, "q_proj": 16 * 32}),
        (MHA | {"value_dim": 4}, {"k_proj": 16 * 16, "v_proj": 16 * 8, "o_proj": 16 * 16, "q_proj": 16 * 32}),
        # Keys are values, too; a gate is as wide as the queries.
        (MHA | {"k_eq_v": True}, {"k_proj": 16 * 16, "v_proj": 0, "o_proj": 16 * 32, "q_proj": 16 * 32}),
        (MHA | {"output_gate": True}, {"k_proj": 16 * 16, "v_proj": 16 * 16, "o_proj": 16 * 32, "q_proj": 2 * 16 * 32}),
        (MLA, {"kv_a_proj_with_mqa": 16 * 10, "kv_b_proj": 8 * 2 * 7, "o_proj": 16 * 6, "q_proj": 16 * 12}),
        (MLA | {"q_rank": 5}, {"kv_a_proj_with_mqa": 16 * 10, "kv_b_proj": 8 * 2 * 7, "o_proj": 16 * 6,
                               "q_a_proj": 16 * 5, "q_b_proj": 5 * 12}),
        # Queries, keys, values and gates of 4 + 4 + 16 + 16, and two rates for each of two heads.
        (DELTA, {"out_proj": 16 * 16, "in_proj": 16 * (4 + 4 + 16 + 16 + 2 * 2)}),
    ],
)  # fmt: skip
def test_matrices_of_attention(attention, sizes):
    found = made({"attention": attention})
    container = "linear_attn" if attention is DELTA else "self_attn"
    assert {matrix.names: matrix.parameters for matrix in found} == {
        (f"{container}.{name}",): size for name, size in sizes.items()
    }
    assert {(matrix.group, matrix.layer) for matrix in found} == {("attention", 0)}


def test_matrices_of_networks():
    names = ("gate_proj", "up_proj", "down_proj")
    assert made({"ffn": DENSE}) == [Matrix("ffn", 0, (f"mlp.{name}",), 16 * 8) for name in names]
    assert made({"ffn": DENSE | {"matrices": 2}}) == [
        Matrix("ffn", 0, (f"mlp.{name}",), 16 * 8) for name in names[1:]
    ]
    routed = [(f"mlp.experts.0.{name}", f"mlp.experts.{name}") for name in names]
    shared = [(f"mlp.shared_experts.{name}",) for name in names]
    assert made({"ffn": MOE}) == [
        each
        for pair in zip(routed, shared, strict=True)
        for each in (
            Matrix("experts", 0, pair[0], 4 * 16 * 8, 4),
            Matrix("shared_experts", 0, pair[1], 16 * 24),
        )
    ]


def test_layers_are_numbered_and_those_that_predict_are_like_the_last():
    found = made({"ffn": DENSE}, {"ffn": MOE}, predicting=2)
    assert [(matrix.layer, matrix.group) for matrix in found] == [
        *[(0, "ffn")] * 3, *[(1, "experts"), (1, "shared_experts")] * 3, *[(2, "mtp")] * 6, *[(3, "mtp")] * 6
    ]  # fmt: skip


def test_experts_beside_a_network_have_names_without_it():
    found = made({"ffn": MOE}, are_experts_beside=True)[:2]
    assert [matrix.names for matrix in found] == [
        ("experts.0.gate_proj", "experts.gate_proj"), ("mlp.gate_proj",)
    ]  # fmt: skip


def test_other_names_are_tried_where_settings_use_them():
    found = made({"ffn": DENSE}, word=("w1", "ffn").__contains__)
    assert found[0].names == ("mlp.gate_proj", "mlp.w1", "ffn.gate_proj", "ffn.w1")
    assert found[1].names == ("mlp.up_proj", "ffn.up_proj")


@every(
    "modules,group,layer,share",
    [
        # A head is in no layer; other matrices are in theirs alone.
        (["re:^lm_head$"], None, None, 1.0), (["lm_head"], None, None, 1.0), (["head"], None, None, 0.0),
        (["re:^layers\\.3\\.lm_head$"], "x", 3, 1.0), (["re:^lm_head$"], "x", 3, 0.0),
        (["re:.*layers.30.*"], "x", 3, 0.0),
        # A prediction layer is called in several ways.
        (["re:^mtp\\.lm_head$"], "mtp", 3, 1.0), (["re:^mtp\\.layers\\.0\\.lm_head$"], "mtp", 3, 1.0),
        (["re:^mtp\\.lm_head$"], "x", 3, 0.0),
    ],
)  # fmt: skip
def test_names_of_matrices_begin_with_their_layer(modules, group, layer, share):
    matrix = Matrix(group or "head", layer, ("lm_head",), 1)
    assert ModulePatterns(modules).share(matrix) == share
