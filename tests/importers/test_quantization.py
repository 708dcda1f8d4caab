"""How checkpoints say which matrices are stored in which format, against counts by hand.

A layer here has a hidden width of 64 and four attention matrices of 4,096 weights. A dense network
has three of 4,096; an expert, shared or one of four routed ones, too.
"""

import json

import pytest

from fastcalc.catalogue.schema import Model
from fastcalc.core.model.workload import checkpoint_bytes, workload
from fastcalc.importers.huggingface import import_model
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.json_file import JsonFile
from fastcalc.importers.huggingface.model import mapping
from fastcalc.importers.huggingface.quantization import formats
from tests.helpers import every

LAYERS = 8
ATTENTION = {"kind": "mha", "heads": 8, "head_dim": 8}
DENSE = {"kind": "dense", "width": 64}
ROUTED = {"kind": "moe", "experts": 4, "active_experts": 1, "width": 64, "shared_width": 64}
INT4 = {"num_bits": 4, "type": "int", "group_size": 128}
NVFP4 = {"num_bits": 4, "type": "float", "group_size": 16}


def stored(config, ffn=ROUTED, **data):
    fields = Fields(
        {"hidden_size": 64, "quantization_config": config, "torch_dtype": "bfloat16", **data},
        JsonFile("x/config.json", {}),
    )
    found = formats(fields, [{"attention": ATTENTION, "ffn": ffn}] * LAYERS)
    return fields, found


def said(config, ffn=ROUTED, **data):
    """Formats as a text: of most matrices, of experts where they differ, of other groups."""
    found = stored(config, ffn, **data)[1]
    experts = [f"experts={found.experts}"] if found.experts else []
    return "+".join([found.weights, *experts, *(f"{k}={v}" for k, v in found.groups.items())])


def groups(*weights, **others):
    listed = {f"group_{n}": {"weights": each} for n, each in enumerate(weights)}
    return {"quant_method": "compressed-tensors", "config_groups": listed, **others}


def by_layer(**algorithms):
    """Quantization by module, the same in all layers: ``mlp__up_proj="NVFP4"``."""
    names = {
        f"model.layers.{n}.{name.replace('__', '.')}": {"quant_algo": value}
        for name, value in algorithms.items()
        for n in range(LAYERS)
    }
    return {"quant_method": "modelopt", "quantized_layers": names}


def attention(*names, layers=range(LAYERS)):
    return [f"model.layers.{n}.self_attn{name}" for n in layers for name in names or ("",)]


@every(
    "config,text",
    [
        # Each name of an algorithm or a method is a format.
        *(({"quant_algo": name}, "fp8") for name in ("FP8", "fp8_pb_wo", "FP8_PER_CHANNEL_PER_TOKEN")),
        *(({"quant_algo": name}, "nvfp4") for name in ("NVFP4", "NVFP4_AWQ", "W4A16_NVFP4", "W4A8_NVFP4_FP8")),
        *(({"quant_algo": name}, "mxfp4") for name in ("MXFP4", "W4A8_MXFP4_FP8")),
        *(({"quant_algo": name}, "int4-g128") for name in ("W4A16_AWQ", "W4A8_AWQ")),
        ({"quant_algo": "W8A16"}, "int8"),
        ({"quant_algo": "W8A8_SQ_PER_CHANNEL"}, "int8-w8a8"),
        ({"quant_algo": "MXFP8"}, "mxfp8"),
        ({"quant_algo": "W4A16"}, "int4"),
        ({"quant_method": "modelopt_fp4"}, "nvfp4"),
        ({"quant_method": "MXFP4"}, "bf16+experts=mxfp4"),
        ({"quant_method": "bitnet"}, "bitnet"),
        # Bits, and the numbers that share a scale.
        ({"quant_method": "gptq", "bits": 4}, "int4-g128-zp"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4-g32-zp"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 64}, "int4-g64-zp"),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "int4-g1024"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 32}, "int4-g32-zp"),
        ({"quant_method": "awq", "num_bits": 8}, "int8-g128-zp"),
        ({"quant_method": "gptq", "bits": 3, "group_size": 128}, "int3-g128-zp"),
        ({"quant_method": "gptq", "bits": 9}, "bf16"),
        ({"quant_method": "gptq", "bits": 1}, "bf16"),
        ({"quant_method": "gptq", "bits": 2}, "int2-g128-zp"),
        # Groups of 8 to 4,096 share a scale; of others a whole column does.
        *(({"quant_method": "gptq", "bits": 8, "group_size": size}, text) for size, text in (
            (8, "int8-g8-zp"), (4096, "int8-g4096-zp"), (7, "int8"), (4097, "int8"), (True, "int8"))),
        ({"quant_method": "bitsandbytes"}, "bf16"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": True}, "int4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "int4-double"),
        ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}, "int4-g64-zp"),
        ({"quant_method": "exl3", "bits": 3.5, "head_bits": 6}, "exl3-3.5bpw+head=exl3-6.0bpw+embedding=fp16"),
        ({"quant_method": "exl3", "bits": 3.5}, "exl3-3.5bpw+head=bf16+embedding=fp16"),
        ({"quant_method": "exl2", "bits": 4.0, "head_bits": 8}, "exl2-4.0bpw+head=exl2-8.0bpw+embedding=fp16"),
        ({"quant_method": "exl2", "bits": 4.0, "head_bits": 16}, "exl2-4.0bpw+head=bf16+embedding=fp16"),
        # torchao and Quark name a class or a type.
        ({"quant_method": "torchao", "quant_type": "int8_weight_only"}, "int8"),
        ({"quant_method": "torchao", "quant_type": "int8_dynamic_activation_int8_weight"}, "int8-w8a8"),
        ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Float8DynamicActivationFloat8WeightConfig"}}}, "fp8"),
        ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 32}}}}, "int4-g32-zp"),
        *(({"quant_method": "torchao", "quant_type": name}, text) for name, text in (
            ("fp8_weight_only", "fp8"), ("NVFP4InferenceConfig", "nvfp4"), ("MXFP4WeightOnly", "mxfp4"),
            ("int4_weight_only", "int4-g128-zp"), ("Int8DynamicActivationInt8WeightConfig", "int8-w8a8"),
            ("Int8DynamicActivationInt4WeightConfig", "int4-g128-zp"), ("uint7", "bf16"))),
        *(({"quant_method": "torchao", "quant_type": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": size}}}, text)
          for size, text in ((32, "int4-g32-zp"), (64, "int4-g64-zp"), (256, "int4-g256-zp"), (128, "int4-g128-zp"), (96, "int4-g128-zp"))),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "uint4"}}}, "int4-g128-zp"),
        ({"quant_method": "quark", "global_quant_config": {"weight": []}}, "bf16"),
        *(({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": name}}}, text)
          for name, text in (("fp8_e4m3", "fp8"), ("fp4", "mxfp4"), ("int8", "int8"), ("INT4", "int4-g128"), ("odd", "bf16"))),
        ({"quant_method": "quark", "global_quant_config": {"weight": [{"dtype": "fp4"}, {"dtype": "int8"}]}}, "mxfp4"),
        ({"quant_method": "quark", "exclude": ["re:.*self_attn.*"], "global_quant_config": {"weight": {"dtype": "fp4"}}}, "mxfp4+attention=bf16"),
        ({"quant_method": "quark"}, "bf16"),
        # Groups of compressed tensors: of names, or of all linear modules.
        (groups(None, INT4), "int4-g128"),
        (groups(INT4 | {"symmetric": False}), "int4-g128-zp"),
        (groups(INT4, INT4 | {"num_bits": 9}), "int4-g128"),
        (groups({"type": "float", "num_bits": 8}), "fp8"),
        (groups({"type": "float", "num_bits": 8, "group_size": 32}), "mxfp8"),
        (groups({"type": "float", "num_bits": 7}), "bf16"),
        (groups({"type": "float", "num_bits": 4, "group_size": 32}), "mxfp4"),
        (groups({"type": "float", "num_bits": 4}, format="mxfp4-pack-quantized"), "mxfp4"),
        (groups(NVFP4, format="nvfp4-pack-quantized"), "nvfp4"),
        ({"config_groups": {"a": 3, "b": {"weights": INT4}}}, "int4-g128"),
        ({"config_groups": {"a": {"weights": INT4 | {"num_bits": 8}, "input_activations": {"num_bits": 8}}}}, "int8-w8a8"),
        ({"config_groups": {
            "a": {"targets": ["re:.*experts.*"], "weights": NVFP4},
            "b": {"targets": ["re:.*self_attn.*"], "weights": {"type": "float", "num_bits": 8}}}},
         "nvfp4+attention=fp8"),
        # Attention that is left alone, in all layers or some, whole or by projection.
        (groups(INT4, ignore=["re:.*self_attn.*", "lm_head"]), "int4-g128+attention=bf16"),
        (groups(INT4, exclude=["model.layers.*.attn", "lm_head"]), "int4-g128+attention=bf16"),
        ({"quant_algo": "NVFP4", "ignore": attention("*")}, "nvfp4+attention=bf16"),
        ({"quant_algo": "NVFP4", "ignore": attention("*", layers=range(2))}, "nvfp4+attention=75%nvfp4/25%bf16"),
        ({"quant_algo": "NVFP4", "exclude_modules": attention(".o_proj")}, "nvfp4+attention=75%nvfp4/25%bf16"),
        ({"quant_algo": "NVFP4", "exclude_modules": [f"language_model.{name}" for name in attention()]}, "nvfp4+attention=bf16"),
        ({"quant_method": "fp8", "modules_to_not_convert": ["self_attn", "mlp.gate", "lm_head"]}, "fp8+attention=bf16"),
        ({"quant_method": "awq", "bits": 4, "modules_to_not_convert": ["shared_experts"]}, "int4-g128-zp+shared_experts=bf16"),
        # Names of another tower are not those of the text; layer 1 is not layer 10.
        ({"quant_algo": "FP8", "ignore": ["visual.layers.0.self_attn*", "model.layers.10.self_attn"]}, "fp8"),
        # Experts that are left alone by number.
        ({"quant_algo": "FP8", "ignore": [f"model.layers.{n}.mlp.experts.{e}.{p}_proj" for n in range(LAYERS)
          for e in (0, 3) for p in ("gate", "up", "down")]}, "fp8+experts=50%bf16/50%fp8"),
        # Bits by module: GPTQModel, AutoRound, Quark, ModelOpt.
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*self_attn.*": {}}}, "int4-g128-zp+attention=bf16"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*shared_experts.*": {"bits": 8}}}, "int4-g128-zp+shared_experts=int8-g128-zp"),
        ({"quant_method": "gptq", "bits": 4, "lm_head": True}, "int4-g128-zp+head=int4-g128-zp"),
        ({"quant_method": "auto-round", "bits": 4, "extra_config": {name: {"bits": 16} for name in attention()}}, "int4-g128-zp+attention=bf16"),
        ({"quant_method": "auto-round", "bits": 4, "extra_config": {".*self_attn.*": {"bits": 8}}}, "int4-g128-zp+attention=int8-g128-zp"),
        ({"quant_method": "auto-round", "bits": 4, "extra_config": {name: {"bits": 1} for name in attention()}}, "int4-g128-zp+attention=int2-g128-zp"),
        ({"quant_method": "auto-round", "bits": 4, "extra_config": {name: {"bits": 9} for name in attention()}}, "int4-g128-zp+attention=bf16"),
        ({"quant_method": "auto-round", "bits": 4, "extra_config": {name: {"bits": True} for name in attention()}}, "int4-g128-zp+attention=bf16"),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}, "layer_quant_config": {"*self_attn*": {"weight": {"dtype": "fp8_e4m3"}}}}, "mxfp4+attention=fp8"),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}, "layer_quant_config": {"*self_attn*": 3}}, "mxfp4+attention=bf16"),
        # MLX quantizes embedding and head, too, and names no method.
        *(({"bits": bits, "group_size": size, **more}, text) for bits, size, more, text in (
            (4, 64, {}, "mlx-4bit"), (4, 32, {}, "mlx-4bit-g32"), (8, 128, {}, "mlx-8bit-g128"),
            (3, 64, {"mode": "affine"}, "mlx-3bit"), (4, 32, {"mode": "mxfp4"}, "mxfp4"))),
        (by_layer(mlp__experts="NVFP4", mlp__shared_experts="NVFP4", self_attn="FP8"), "nvfp4+attention=fp8"),
        (by_layer(mlp__experts="NVFP4"), "bf16+experts=nvfp4"),
        (by_layer(mlp__experts="NVFP4") | {"quant_method": "fp8"}, "fp8+experts=nvfp4"),
        (by_layer(mlp__up_proj="odd"), "bf16"),
    ],
)  # fmt: skip
def test_how_weights_are_stored(config, text):
    assert said(config) == text


def test_experts_of_four_bits_beside_matrices_of_eight():
    """DeepSeek V4 names its experts' type outside the quantization."""
    assert said({"quant_method": "fp8"}, expert_dtype="fp4") == "fp8+experts=mxfp4"


def test_a_dense_model_has_its_networks_in_the_experts_format():
    assert said({"quant_method": "mxfp4"}, DENSE) == "mxfp4"
    both = by_layer(mlp="NVFP4", self_attn="FP8")
    # Networks of 12,288 weights a layer, attention of 16,384: most are FP8.
    assert said(both, DENSE) == "fp8+ffn=nvfp4"


def test_the_head_of_compressed_tensors_is_linear_unless_ignored():
    assert said(groups(NVFP4, ignore=["re:.*self_attn.*"])) == "nvfp4+attention=bf16+head=nvfp4"
    assert said(groups(NVFP4, ignore=["lm_head"]), DENSE) == "nvfp4"


@every("method,algorithm", [("odd", ""), ("", "odd"), ("", "")])
def test_an_unknown_quantization_is_said(method, algorithm):
    fields, found = stored({"quant_method": method, "quant_algo": algorithm})
    assert found.weights == "bf16"
    assert any("is unknown: the weights are counted as bf16" in it for it in fields.remarks)


@every("pattern", ["(a+)+$", "(.*)*self_attn", ".*a.*b.*c.*d.*e.*f", "a" * 301, "[", "(?P<a"])
def test_an_intricate_expression_is_said_and_not_tried(pattern):
    fields, found = stored({"quant_algo": "FP8", "ignore": [f"re:{pattern}"]})
    assert found.weights == "fp8"
    assert any("too complex" in it for it in fields.remarks)


@every(
    "data,weights,note",
    [
        ({}, "bf16", "torch_dtype bfloat16"),
        ({"torch_dtype": "torch.float16"}, "fp16", None),
        ({"torch_dtype": "FLOAT32"}, "fp32", None),
        ({"dtype": "half"}, "fp16", None),
        ({"torch_dtype": "float", "dtype": "half"}, "fp32", None),
        ({"torch_dtype": "odd"}, "bf16", "torch_dtype 'odd' is unknown; bf16 is assumed."),
    ],
)
def test_sixteen_bits_without_a_quantization(data, weights, note):
    fields = Fields(data, JsonFile("x/config.json", {}))
    assert formats(fields, []).weights == weights
    assert any(note in it for it in fields.notes()) if note else not fields.notes()


@every(
    "config,cache",
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_scheme": {"num_bits": 4, "type": "float"}}, "nvfp4"),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, "bf16"),
        ({"kv_cache_quant_algo": "fp8"}, "fp8"),
        ({"kv_cache_quant_algo": "INT8"}, "bf16"),
        ({}, "bf16"),
    ],
)
def test_the_format_of_caches(config, cache):
    assert stored({"quant_method": "fp8"} | config)[1].cache == cache


# Published checkpoints

GEMMA_4_31B = {
    "model_type": "gemma4_text", "attention_k_eq_v": True, "global_head_dim": 512, "head_dim": 256,
    "hidden_size": 5376, "intermediate_size": 21504, "num_attention_heads": 32,
    "num_hidden_layers": 60, "num_key_value_heads": 16, "num_global_key_value_heads": 4,
    "sliding_window": 1024, "tie_word_embeddings": True, "vocab_size": 262144,
    "torch_dtype": "bfloat16",
}  # fmt: skip
"""google/gemma-4-31b-it, whose NVFP4 release by NVIDIA leaves attention alone in all layers."""


def imported(data):
    entry, _ = mapping(JsonFile("x/config.json", data))
    return Model.model_validate({"id": "x", "name": "X", **entry})


def test_gemma_4_31b_nvfp4_is_31_gigabytes():
    """Networks of 20.8 B at 4.5 bits, attention of 8.5 B and an embedding of 1.4 B at 16."""
    quantization = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", *(
        f"model.language_model.layers.{n}.self_attn*" for n in range(60))]}  # fmt: skip
    model = imported(GEMMA_4_31B | {"quantization_config": quantization})
    networks, table = 60 * 3 * 5376 * 21504, 5376 * 262144
    sliding, full = 2 * 32 * 256 + 2 * 16 * 256, 2 * 32 * 512 + 4 * 512
    attention_weights = 5376 * (50 * sliding + 10 * full)
    by_hand = networks * 4.5 / 8 + 2 * (table + attention_weights)
    assert workload(model).weight_bytes == pytest.approx(by_hand, rel=1e-4)
    assert by_hand == pytest.approx(31.5e9, rel=0.002)
    assert model.own_formats.text == "nvfp4+attention=bf16"


GEMMA_4_26B = GEMMA_4_31B | {
    "enable_moe_block": True, "hidden_size": 2816, "intermediate_size": 2112,
    "moe_intermediate_size": 704, "num_attention_heads": 16, "num_experts": 128,
    "num_global_key_value_heads": 2, "num_hidden_layers": 30, "num_key_value_heads": 8,
    "top_k_experts": 8,
}  # fmt: skip
"""google/gemma-4-26b-a4b-it: experts stand beside the network that every token passes."""


def test_experts_beside_a_network_are_no_part_of_it():
    """Its NVFP4 release leaves out ``mlp``, router and attention: experts of 22.8 B at 4.5 bits."""
    left_out = [f"layers.{n}.{part}*" for n in range(30) for part in ("mlp", "router", "self_attn")]
    quantization = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": left_out}
    quantized = imported(GEMMA_4_26B | {"quantization_config": quantization})
    experts = 30 * 128 * 3 * 2816 * 704
    saved = workload(imported(GEMMA_4_26B)).weight_bytes - workload(quantized).weight_bytes
    assert saved == pytest.approx(experts * (2 - 4.5 / 8), rel=1e-3)


def test_formats_stand_in_the_file_that_import_writes(tmp_path):
    from fastcalc.catalogue.store import Catalogue
    from fastcalc.importers.huggingface import yaml_text

    data = GEMMA_4_31B | {"quantization_config": {"quant_algo": "FP8", "ignore": attention("*")}}
    (tmp_path / "config.json").write_text(json.dumps(data))
    taken = import_model(tmp_path, id="mixed")
    file = tmp_path / "mixed.yaml"
    file.write_text(yaml_text(taken.entry))
    again = Catalogue().model(str(file))
    assert again.own_formats == taken.model.own_formats
    assert checkpoint_bytes(again) == pytest.approx(checkpoint_bytes(taken.model), rel=1e-4)


LLAMA = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 8, "vocab_size": 100, "torch_dtype": "bfloat16",
}  # fmt: skip


@every(
    "name,data,text",
    [
        ("hf_quant_config.json", {"quantization": {"quant_algo": "NVFP4"}}, "nvfp4"),
        ("quantize_config.json", {"bits": 4, "group_size": 64}, "int4-g64-zp"),
        ("quant_config.json", {"w_bit": 4, "q_group_size": 128}, "int4-g128-zp"),
    ],
)
def test_a_file_next_to_a_bare_configuration(name, data, text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "config.json").write_text(json.dumps(LLAMA))
    (folder / name).write_text(json.dumps(data))
    assert import_model(folder).model.own_formats.text == text
    # A configuration of another name may be another model's: the file is named, not taken.
    (folder / "other.json").write_text(json.dumps(LLAMA))
    other = import_model(folder / "other.json")
    assert other.model.own_formats.text == "bf16"
    assert other.remarks[0].startswith(f"Warning: {name} next to this file")


def test_a_bare_configuration_with_a_quantized_name(tmp_path):
    folder = tmp_path / "Llama-NVFP4"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    taken = import_model(folder)
    assert "the name states 'NVFP4'" in taken.remarks[0]
    assert taken.model.notes[0] == taken.remarks[0]
    assert "the name states" not in str(import_model(_plain(tmp_path)).remarks)


def _plain(folder):
    (folder / "config.json").write_text(json.dumps(LLAMA))
    return folder / "config.json"
