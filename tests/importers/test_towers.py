"""Parameters of vision towers, against published checkpoints."""

from fastcalc.importers.huggingface.towers import vision_parameters
from tests.helpers import every

QWEN = {
    "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "model_type": "qwen3_5",
    "num_position_embeddings": 2304, "out_hidden_size": 5120, "patch_size": 16,
    "spatial_merge_size": 2, "temporal_patch_size": 2,
}  # fmt: skip
"""Of Qwen/Qwen3.5-27B, whose tensors under ``visual`` hold 460,730,096 values."""


def test_the_tower_of_qwen_is_exact():
    assert vision_parameters(QWEN, 5120) == 460_730_096


def test_three_layers_with_a_merger_of_their_own():
    # Qwen3-VL 30B-A3B: 31,070,754,032 stored, of which 30,532,122,624 are the text core.
    deep = {**QWEN, "out_hidden_size": 2048, "deepstack_visual_indexes": [8, 16, 24]}
    assert vision_parameters(deep, 2048) == 31_070_754_032 - 30_532_122_624


SMALL = {"num_hidden_layers": 1, "hidden_size": 4, "intermediate_size": 8, "patch_size": 2}
ENCODER = 4 * 4 * 4 + 2 * 4 * 8 + 5 * 4 + 8 + 4 * 4
"""Matrices, biases and norms of its layer."""
PATCHES, PROJECTION = 3 * 2 * 2 * 4 + 4, 4 * 16
WHOLE = ENCODER + PATCHES + PROJECTION


@every(
    "changes,parameters",
    [
        ({}, WHOLE),
        ({"model_type": "siglip"}, WHOLE),
        # Three matrices and no biases; patches of 14 by 14 pixels, or of one, and in two frames.
        ({"model_type": "gemma4_vision"}, WHOLE - 2 * 4 * 8 - 5 * 4 - 8 + 3 * 4 * 8),
        ({"patch_size": None}, ENCODER + 3 * 14 * 14 * 4 + 4 + PROJECTION),
        ({"patch_size": 1}, ENCODER + 3 * 4 + 4 + PROJECTION),
        ({"temporal_patch_size": 2}, WHOLE + 3 * 2 * 2 * 4),
        # A row for each position, or for each row and each column; no table of ten million rows.
        ({"num_position_embeddings": 5}, WHOLE + 5 * 4),
        ({"position_embedding_size": 5}, WHOLE + 2 * 5 * 4),
        ({"num_position_embeddings": 5, "position_embedding_size": 7}, WHOLE + 5 * 4),
        ({"num_position_embeddings": 9_999_999}, WHOLE + 9_999_999 * 4),
        ({"num_position_embeddings": 10_000_000}, WHOLE),
        # One projection, to the text model's width of 16 or to a stated one; or a merger.
        ({"out_hidden_size": 3}, ENCODER + PATCHES + 4 * 3),
        ({"spatial_merge_size": 1}, ENCODER + PATCHES + 4 * 4 + 4 + 4 * 16 + 16 + 2 * 4),
        ({"spatial_merge_size": 2}, ENCODER + PATCHES + 16 * 16 + 16 + 16 * 16 + 16 + 2 * 4),
    ],
)
def test_a_small_tower_is_counted_by_hand(changes, parameters):
    assert vision_parameters(SMALL | changes, 16) == parameters


def test_the_names_of_other_towers():
    tower = {"vt_num_hidden_layers": 1, "vt_hidden_size": 4, "vt_intermediate_size": 8}
    assert vision_parameters({**tower, "patch_size": 2}, 16) == WHOLE


@every(
    "config",
    [None, [], {}, *(SMALL | {key: value} for value in ("1", -1, 0) for key in [*SMALL][:3])],
)
def test_no_shape_no_tower(config):
    assert vision_parameters(config, 5120) is None
