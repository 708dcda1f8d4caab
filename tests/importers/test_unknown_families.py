"""Configurations of families that nobody has read: what is said of them, and what is refused."""

import pytest

from fastcalc.errors import InputError
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.json_file import JsonFile
from fastcalc.importers.huggingface.unknown import _BEYOND, REFUSED, family
from fastcalc.importers.huggingface.usual import usual
from tests.helpers import every

PLAIN = ["full_attention", "sliding_attention"]


def fields(**data):
    return Fields(data, JsonFile("x/config.json", data))


@every(
    "model_type,data,named,shape",
    [
        ("new", {}, "model_type 'new'", "a dense model"),
        (None, {}, "a file without model_type", "a dense model"),
        ("new", {"num_experts": 8}, "model_type 'new'", "a mixture of experts"),
        ("new", {"layer_types": PLAIN}, "model_type 'new'", "a dense model"),
        ("new", {"layer_types": "all"}, "model_type 'new'", "a dense model"),
        ("new", {"layer_types": []}, "model_type 'new'", "a dense model"),
    ],
)
def test_an_unknown_family_is_read_plainly_with_a_warning(model_type, data, named, shape):
    made = fields(**data)
    assert family(made, model_type).read is usual
    assert made.remarks == [
        f"Warning: {named} is unsupported; it was read as {shape} with plain attention from the "
        "usual fields. Compare the parameters with the checkpoint's."
    ]


@every(
    "model_type,data,why",
    [
        ("new", {"layer_types": [*PLAIN, "mamba"]}, "layer_types contains more than full and "),
        (None, {"layer_types": ["mamba"]}, "a file without model_type is unsupported, and layer_"),
        *(
            ("new", {name: 1}, f"{name} indicates {feature}, which a plain reading would miscount")
            for feature, names in _BEYOND.items()
            for name in names
        ),
        *((name, {}, f"and it has {what}") for name, what in REFUSED.items()),
        # A family that is known to differ is refused for that, whatever else the file holds.
        *((name, {"layer_types": ["mamba"]}, f"it has {what}") for name, what in REFUSED.items()),
    ],
)
def test_what_a_plain_reading_would_miscount_is_refused(model_type, data, why):
    with pytest.raises(InputError) as refused:
        family(fields(**data), model_type)
    assert why in str(refused.value)
    assert str(refused.value).endswith("; write a model YAML instead")
