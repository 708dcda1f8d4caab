"""Parameters of vision towers, against published checkpoints."""

import pytest

from fastcalc.importers.huggingface.towers import vision_parameters

QWEN = {
    "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "model_type": "qwen3_5",
    "num_position_embeddings": 2304, "out_hidden_size": 5120, "patch_size": 16,
    "spatial_merge_size": 2, "temporal_patch_size": 2,
}  # fmt: skip
"""Of Qwen/Qwen3.5-27B, whose tensors under ``visual`` hold 460,730,096 values."""


def test_the_tower_of_qwen_is_exact():
    assert vision_parameters(QWEN, 5120) == 460_730_096


def test_a_projection_is_as_wide_as_the_text_model_unless_stated():
    tower = {"num_hidden_layers": 1, "hidden_size": 4, "intermediate_size": 8, "patch_size": 2}
    matrices, biases_and_norms = 4 * 4 * 4 + 2 * 4 * 8, 5 * 4 + 8 + 4 * 4
    patches, projection = 3 * 2 * 2 * 4 + 4, 4 * 16
    assert vision_parameters(tower, 16) == matrices + biases_and_norms + patches + projection


@pytest.mark.parametrize("config", [None, [], {}, QWEN | {"depth": "27"}, QWEN | {"depth": -1}])
def test_no_shape_no_tower(config):
    assert vision_parameters(config, 5120) is None
