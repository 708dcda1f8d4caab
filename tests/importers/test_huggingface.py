"""Import of Hugging Face configurations: every family counts right, every bad file has a sentence."""

import importlib.util
import json
import re
import subprocess
import sys
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcalc.catalogue.schema import Model
from fastcalc.catalogue.store import load
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.features.check.lint import check
from fastcalc.importers.huggingface import import_model, json_file, slug, yaml_text
from fastcalc.importers.huggingface.config import Fields
from fastcalc.importers.huggingface.families import ALIASES, FAMILIES
from fastcalc.importers.huggingface.json_file import JsonFile
from fastcalc.importers.huggingface.model import label, mapping
from tests.helpers import ROOT, every, run, words
from tests.strategies import examples

CONFIGS = ROOT / "tests" / "configs"

# Total and active parameters of the text core, cache elements a token leaves in layers that
# keep all and in layers with a window, and formats (rest+experts). From a table of shapes
# counted from the configurations bundled in aiconfigurator-core 0.12.0 and litgpt 0.5.13 and
# held against Hugging Face safetensors totals. The cache includes the keys of indexers.
COUNTED = [
    ("command-r-plus", 103_810_674_688, 103_810_674_688, 131_072, 0, "fp16"),
    ("deepseek-v2-lite", 15_706_484_224, 2_661_150_208, 15_552, 0, "bf16"),
    ("deepseek-v3", 671_026_419_200, 37_552_297_472, 35_136, 0, "fp8"),
    ("deepseek-v3.2", 671_877_944_064, 38_403_822_336, 42_944, 0, "fp8"),
    ("deepseek-v4-flash", 284_332_241_239, 13_799_633_239, 3_440, 22_016, "fp8+mxfp4"),
    ("deepseek-v4-pro", 1_572_997_202_915, 49_779_082_211, 4_924, 31_232, "fp8+mxfp4"),
    ("falcon-180b", 179_522_565_120, 179_522_565_120, 81_920, 0, "bf16"),
    ("gemma-2-9b", 9_241_705_984, 9_241_705_984, 86_016, 86_016, "bf16"),
    ("gemma-3-27b-it", 27_009_346_304, 27_009_346_304, 40_960, 212_992, "bf16"),
    ("gemma-3-4b-it", 3_880_263_168, 3_880_263_168, 10_240, 59_392, "bf16"),
    ("gemma-4-26b-a4b", 25_233_141_790, 3_822_530_590, 10_240, 102_400, "bf16"),
    ("gemma-4-31b-it", 30_697_345_340, 30_697_345_340, 40_960, 409_600, "bf16"),
    ("glm-4.5", 352_797_829_024, 33_632_266_144, 188_416, 0, "bf16"),
    ("glm-4.5-air", 106_852_251_264, 13_424_129_664, 94_208, 0, "bf16"),
    ("glm-4.7-flash", 29_943_393_920, 3_896_766_080, 27_072, 0, "bf16"),
    ("glm-5", 743_911_218_432, 41_784_728_832, 54_912, 0, "bf16"),
    ("glm-5.2", 743_377_019_904, 41_250_530_304, 47_616, 0, "bf16"),
    ("glm-5.3-flash", 313_326_828_862, 17_376_738_622, 5_720, 0, "fp8"),
    ("gpt-oss-120b", 116_829_156_672, 5_711_982_912, 18_432, 18_432, "bf16+mxfp4"),
    ("gpt-oss-20b", 20_914_757_184, 4_187_440_704, 12_288, 12_288, "bf16+mxfp4"),
    ("hy3-preview", 295_033_543_488, 20_675_730_240, 163_840, 0, "bf16"),
    ("kimi-k2", 1_026_408_232_448, 32_861_500_928, 35_136, 0, "fp8"),
    ("kimi-k2.5", 1_026_408_232_448, 32_861_500_928, 35_136, 0, "bf16+int4-g32"),
    ("kimi-k3", 2_779_484_476_000, 105_364_017_760, 13_824, 0, "bf16+mxfp4"),
    ("kimi-linear-48b-a3b", 49_122_681_728, 3_484_459_904, 4_032, 0, "bf16"),
    ("llama-2-70b", 68_976_648_192, 68_976_648_192, 163_840, 0, "fp16"),
    ("llama-2-7b", 6_738_415_616, 6_738_415_616, 262_144, 0, "bf16"),
    ("llama-3.1-405b", 405_853_388_800, 405_853_388_800, 258_048, 0, "bf16"),
    ("llama-3.1-70b", 70_553_706_496, 70_553_706_496, 163_840, 0, "bf16"),
    ("llama-3.1-8b", 8_030_261_248, 8_030_261_248, 65_536, 0, "bf16"),
    ("llama-3.2-1b", 1_235_814_400, 1_235_814_400, 16_384, 0, "bf16"),
    ("llama-3.3-nemotron-super-49b", 49_867_145_216, 49_867_145_216, 100_352, 0, "bf16"),
    ("llama-4-maverick", 400_711_848_960, 17_184_691_200, 24_576, 73_728, "bf16"),
    ("llama-4-scout", 107_769_861_120, 17_172_894_720, 24_576, 73_728, "bf16"),
    ("mimo-v2-flash", 308_778_780_864, 15_445_936_320, 11_520, 99_840, "fp8"),
    ("minimax-m2", 228_689_764_864, 11_030_553_088, 126_976, 0, "fp8"),
    ("minimax-m3", 426_174_572_928, 25_962_473_856, 68_736, 0, "bf16"),
    ("mistral-7b-v0.1", 7_241_732_096, 7_241_732_096, 0, 65_536, "bf16"),
    ("mistral-7b-v0.3", 7_248_023_552, 7_248_023_552, 65_536, 0, "bf16"),
    ("mistral-large-2407", 122_610_069_504, 122_610_069_504, 180_224, 0, "bf16"),
    ("mistral-small-24b", 23_572_403_200, 23_572_403_200, 81_920, 0, "bf16"),
    ("mistral-small-4", 118_972_826_624, 6_632_588_288, 11_520, 0, "bf16"),
    ("mixtral-8x22b", 140_620_634_112, 39_152_031_744, 114_688, 0, "bf16"),
    ("mixtral-8x7b", 46_702_792_704, 12_879_925_248, 65_536, 0, "bf16"),
    ("muse-glimmer-30b", 27_854_780_928, 27_854_780_928, 6_656, 19_968, "bf16"),
    ("muse-spark-816b-a42b", 819_991_298_048, 46_091_878_400, 32_768, 94_208, "bf16"),
    ("nemotron-3-nano-30b", 31_577_940_288, 3_580_076_352, 3_072, 0, "bf16"),
    ("nemotron-3-super-120b", 120_668_707_840, 12_770_237_440, 4_096, 0, "bf16"),
    ("nemotron-3-ultra-550b", 549_308_993_536, 56_058_843_136, 6_144, 0, "bf16"),
    ("nemotron-h-56b", 56_324_350_464, 56_324_350_464, 20_480, 0, "bf16"),
    ("phi-3-mini-4k", 3_821_079_552, 3_821_079_552, 0, 196_608, "bf16"),
    ("phi-4", 14_659_507_200, 14_659_507_200, 102_400, 0, "bf16"),
    ("phi-4-mini", 3_836_021_760, 3_836_021_760, 65_536, 0, "bf16"),
    ("qwen2.5-32b-awq", 32_763_876_352, 32_763_876_352, 131_072, 0, "int4-g128-zp"),
    ("qwen2.5-72b", 72_706_203_648, 72_706_203_648, 163_840, 0, "bf16"),
    ("qwen2.5-7b", 7_615_616_512, 7_615_616_512, 28_672, 0, "bf16"),
    ("qwen3-0.6b", 596_049_920, 596_049_920, 57_344, 0, "bf16"),
    ("qwen3-14b-gptq-int4", 14_768_307_200, 14_768_307_200, 81_920, 0, "int4-g128-zp"),
    ("qwen3-235b-a22b-fp8", 235_093_634_560, 22_190_763_520, 96_256, 0, "fp8"),
    ("qwen3-30b-a3b", 30_532_122_624, 3_353_032_704, 49_152, 0, "bf16"),
    ("qwen3-32b", 32_762_123_264, 32_762_123_264, 131_072, 0, "bf16"),
    ("qwen3-4b", 4_022_468_096, 4_022_468_096, 73_728, 0, "bf16"),
    ("qwen3-8b", 8_190_735_360, 8_190_735_360, 73_728, 0, "bf16"),
    ("qwen3-coder-480b", 480_154_875_392, 35_474_765_312, 126_976, 0, "bf16"),
    ("qwen3-next-80b-a3b", 79_674_391_296, 3_874_929_408, 12_288, 0, "bf16"),
    ("qwen3.5-27b", 26_895_998_464, 26_895_998_464, 32_768, 0, "bf16"),
    ("qwen3.5-35b-a3b", 34_660_610_688, 3_454_988_928, 10_240, 0, "bf16"),
    ("qwen3.5-397b-a17b", 396_346_350_336, 17_349_040_896, 15_360, 0, "bf16"),
    ("step-3.5-flash", 196_956_130_368, 11_987_323_968, 24_576, 67_584, "bf16"),
]

# Hugging Face safetensors totals, as embedded in llmfit 1.1.17, of families that the table
# above lacks. Falcon 7B stores its tied head again (65,024 x 4,544), Ernie a prediction layer.
STORED = [
    ("command-r7b", 8_028_033_024),
    ("dots.llm1", 142_774_381_696),
    ("ernie-4.5-21b-a3b", 21_948_655_808 - 123_217_920),
    ("exaone-4.0-32b", 32_003_216_384),
    ("falcon-7b", 7_217_189_760 - 65_024 * 4_544),
    ("gemma-7b", 8_537_680_896),
    ("glm-4-9b", 9_399_951_360),
    ("glm-4-9b-0414", 9_400_279_040),
    ("granite-3.1-3b-a800m", 3_298_793_472),
    ("granite-3.1-8b", 8_170_848_256),
    ("granite-4.0-h-small", 32_207_337_984),
    ("hunyuan-7b", 7_504_568_320),
    ("hunyuan-a13b", 80_393_183_232),
    ("lfm2-8b-a1b", 8_339_929_856 + 22 * 32),  # biases of the router are not counted
    ("nemotron-ultra-253b", 253_401_268_224),
    ("olmo-2-7b", 7_298_617_344),
    ("olmo-3-7b", 7_298_011_136),
    ("olmoe-1b-7b", 6_919_161_856),
    ("phi-3.5-moe", 41_873_153_344),
    ("qwen1.5-moe-a2.7b", 14_315_784_192),
    ("qwen2-57b-a14b", 57_408_658_944),
    # The stored total has a vision tower (as Qwen3-VL 30B-A3B) and an audio tower of 32 layers.
    ("qwen3-omni-30b-a3b", 31_719_205_488 - 538_631_408 - 647_927_168),
    ("seed-oss-36b", 36_151_104_512),
    ("smollm3-3b", 3_075_098_624),
    ("starcoder2-7b", 7_173_923_840),
]
FIXTURES = sorted(path.stem for path in CONFIGS.glob("*.json"))


def fixture(name: str) -> dict:
    return json.loads((CONFIGS / f"{name}.json").read_text())


def read(data: dict, file: str = "x/config.json") -> tuple[Model, list[str]]:
    entry, remarks = mapping(JsonFile(file, data))
    return Model.model_validate({"id": "x", "name": "x", **entry}), remarks


def load_model(path: Path) -> Model:
    return import_model(path).model


def test_every_fixture_is_counted():
    assert sorted([name for name, *_ in COUNTED] + [name for name, _ in STORED]) == FIXTURES


@pytest.mark.thorough
@every("name,total,active,cached,windowed,formats", COUNTED)
def test_a_configuration_counts_right(name, total, active, cached, windowed, formats):
    model = load_model(CONFIGS / f"{name}.json")
    work = workload(model)
    assert work.total_parameters == pytest.approx(total, rel=1e-3)
    assert work.active_parameters == pytest.approx(active, rel=1e-3)
    if name != "muse-spark-816b-a42b":  # no checkpoint count decides about its small vectors
        assert (work.total_parameters, work.active_parameters) == (total, active)
    parts = {True: 0.0, False: 0.0}
    for group in work.caches:
        parts[group.window == inf] += group.layers * group.elements
    assert (parts[True], parts[False]) == (cached, windowed)
    stored = model.weight_format + (f"+{model.expert_format}" if model.expert_format else "")
    assert stored == formats


@every("name,total", STORED)
def test_a_configuration_meets_the_checkpoint(name, total):
    assert workload(load_model(CONFIGS / f"{name}.json")).total_parameters == total


def test_an_omni_model_is_its_thinker():
    remarks = import_model(CONFIGS / "qwen3-omni-30b-a3b.json").remarks
    assert remarks[-1].endswith("separately from the text, and the audio tower is not counted.")


@pytest.mark.thorough
@every("name", FIXTURES)
def test_the_yaml_it_writes_loads_and_says_the_same(name, tmp_path):
    imported = import_model(CONFIGS / f"{name}.json")
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml_text(imported.entry))
    assert load(path, Model) == imported.model
    assert imported.entry["id"] == name


def test_aliases_lead_to_families():
    assert set(ALIASES.values()) <= set(FAMILIES)
    assert not set(ALIASES) & set(FAMILIES)


# -- what was assumed ---------------------------------------------------------------------


def test_an_abridged_file_says_what_was_assumed():
    remarks = import_model(CONFIGS / "gemma-3-4b-it.json").remarks
    assert remarks[0].startswith("Not in the file, so defaults were assumed: ")
    for assumed in ("num_attention_heads 8", "num_key_value_heads 4", "head_dim 256",
                    "vocab_size 262208", "sliding_window_pattern 6", "tie_word_embeddings true"):  # fmt: skip
        assert assumed in remarks[0]
    assert "not the vision or audio tower" in remarks[-1]


def test_defaults_are_the_familys_own():
    dropped = {"tie_word_embeddings", "head_dim"}
    for name, tied in (("llama-3.2-1b", False), ("gemma-2-9b", True), ("command-r-plus", True)):
        data = {key: value for key, value in fixture(name).items() if key not in dropped}
        model, remarks = read(data)
        assert model.tied_embeddings is tied
        assert f"tie_word_embeddings {str(tied).lower()}" in remarks[0]


def test_null_is_left_out():
    data = fixture("llama-3.1-8b") | {"head_dim": None, "num_key_value_heads": None}
    model, remarks = read(data)
    assert model.blocks[0].attention.kind == "mha"
    assert "num_key_value_heads 32" in remarks[0]


def test_windows_wider_than_the_context_are_none():
    assert load_model(CONFIGS / "phi-4-mini.json").blocks[0].attention.window is None
    assert load_model(CONFIGS / "phi-3-mini-4k.json").blocks[0].attention.window == 2047


def test_qwen_windows_begin_at_a_layer():
    data = fixture("qwen2.5-7b") | {"use_sliding_window": True, "max_window_layers": 20,
                                    "sliding_window": 8192, "max_position_embeddings": 131072}  # fmt: skip
    blocks = read(data)[0].blocks
    assert [(block.count, block.attention.window) for block in blocks] == [(20, None), (8, 8192)]


def test_sparse_steps_and_named_dense_layers():
    data = fixture("qwen3-30b-a3b") | {"decoder_sparse_step": 2, "mlp_only_layers": [1, 3]}
    kinds = {block.ffn.kind: block.count for block in read(data)[0].blocks}
    assert kinds == {"dense": 26, "moe": 22}


def test_lists_that_hold_prediction_layers_are_cut():
    """Step 3.5 lists 48 kinds for 45 layers; the last three are of its prediction layers."""
    assert len(fixture("step-3.5-flash")["layer_types"]) == 48
    assert sum(block.count for block in load_model(CONFIGS / "step-3.5-flash.json").blocks) == 45


# -- formats ------------------------------------------------------------------------------

INT4 = {"num_bits": 4, "type": "int", "group_size": 128}
FLOAT8 = {"num_bits": 8, "type": "float"}
NVFP4 = {"num_bits": 4, "type": "float", "group_size": 16}


def tensors(weights: dict, **others: object) -> dict:
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    return {"quant_method": "compressed-tensors", "config_groups": groups, **others}


@pytest.mark.parametrize(
    ("config", "dense", "routed"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8", "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4", "bf16+mxfp4"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4-g128-zp", "int4-g128-zp"),
        ({"quant_method": "gptq", "bits": 8, "group_size": 32}, "int8-g32-zp", "int8-g32-zp"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4-g128-zp", "int4-g128-zp"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 128}, "int4-g128-zp", "int4-g128-zp"),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 32}, "int4-g32-zp", "int4-g32-zp"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", "int4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", "int8"),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}}, "fp8", "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4", "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8", "fp8"),
        (tensors(FLOAT8), "fp8", "fp8"),
        (tensors(NVFP4), "nvfp4", "nvfp4"),
        (tensors({**NVFP4, "group_size": 32}, format="mxfp4-pack-quantized"), "mxfp4", "mxfp4"),
        (tensors(INT4), "int4-g128", "int4-g128"),
        (tensors({**INT4, "group_size": 32}), "int4-g32", "int4-g32"),
        (tensors({**INT4, "num_bits": 8}), "int8-g128", "int8-g128"),
        (tensors(INT4, ignore=["lm_head", "re:.*self_attn.*"]), "int4-g128", "bf16+int4-g128"),
        (tensors(NVFP4, ignore=[f"model.layers.{n}.self_attn*" for n in range(48)]), "nvfp4", "bf16+nvfp4"),
        (tensors(NVFP4, ignore=["model.layers.0.self_attn*", "lm_head"]), "nvfp4", "nvfp4"),
        (tensors(NVFP4, ignore=["model.layers.1.self_attn.kv_b_proj"]), "nvfp4", "nvfp4"),
        ({"quant_method": "aqlm"}, "bf16", "bf16"),
    ],
    ids=str,
)  # fmt: skip
def test_quantizations(config, dense, routed):
    for name, wanted in (("llama-3.1-8b", dense), ("qwen3-30b-a3b", routed)):
        model, _ = read(fixture(name) | {"quantization_config": config})
        found = model.weight_format + (f"+{model.expert_format}" if model.expert_format else "")
        assert found == wanted


@every(
    "sides,blocks",
    [
        ([128, 128], {"fp8": 128}),
        ([1, 64], {"fp8": 64}),
        *((sides, {}) for sides in ([], None, [128, 0], [-1], [128, "128"], 128)),
    ],
)
def test_scales_of_square_blocks(sides, blocks):
    config = {"quant_method": "fp8", "weight_block_size": sides}
    model, _ = read(fixture("llama-3.1-8b") | {"quantization_config": config})
    assert model.block_sizes == blocks


def test_an_unknown_quantization_is_said():
    _, remarks = read(fixture("llama-3.1-8b") | {"quantization_config": {"quant_method": "aqlm"}})
    assert any("'aqlm' is unknown: the weights are counted as bf16" in it for it in remarks)


@pytest.mark.parametrize(
    ("config", "cache"),
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_scheme": None}, "bf16"),
        ({"kv_cache_quant_algo": "FP8"}, "fp8"),
    ],
    ids=str,
)
def test_the_cache_format_of_a_checkpoint(config, cache):
    model, _ = read(fixture("llama-3.1-8b") | {"quantization_config": tensors(FLOAT8, **config)})
    assert model.kv_format == cache


@pytest.mark.thorough
@every("name", sorted(path.stem for path in CONFIGS.glob("*.json")))
def test_an_imported_file_quotes_its_formats_and_is_clean(name, tmp_path):
    imported = import_model(CONFIGS / f"{name}.json")
    path = tmp_path / f"{imported.entry['id']}.yaml"
    path.write_text(yaml_text(imported.entry))
    assert [str(fault) for fault in check([path], strict=True).faults] == []


def test_modelopts_own_file_alongside_the_configuration(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(fixture("llama-3.1-8b")))
    quantization = {
        "producer": {},
        "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"},
    }
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(quantization))
    model = load_model(tmp_path)
    assert (model.weight_format, model.kv_format) == ("nvfp4", "fp8")


# -- unknown families ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reading"),
    [("llama-3.1-8b", "a dense model"), ("mixtral-8x7b", "a mixture of experts"), ("deepseek-v2-lite", "a mixture of experts")],
)  # fmt: skip
def test_an_unknown_family_is_read_plainly_and_said(name, reading):
    known, _ = read(fixture(name))
    model, remarks = read(fixture(name) | {"model_type": "brand_new"})
    assert workload(model).total_parameters == workload(known).total_parameters
    assert f"Warning: model_type 'brand_new' is unsupported; it was read as {reading}" in words(
        " ".join(remarks)
    )


def test_an_unknown_family_with_windows():
    data = fixture("gemma-2-9b") | {"model_type": "new", "sliding_window_pattern": 2}
    blocks = read(data)[0].blocks
    assert [(block.count, block.attention.window) for block in blocks] == [(21, 4096), (21, None)]


def test_an_unknown_family_without_a_gate_has_two_matrices():
    model, remarks = read(fixture("llama-3.1-8b") | {"model_type": "new", "hidden_act": "relu2"})
    assert model.blocks[0].ffn.matrices == 2
    assert any("relu2 has no gate" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nemotron-3-nano-30b", "indicates state-space layers"),
        ("qwen3-next-80b-a3b", "indicates linear attention"),
        ("deepseek-v3.2", "index_topk indicates sparse attention"),
        ("deepseek-v4-flash", "sparse attention"),
        ("step-3.5-flash", "indicates layers with different head counts"),
        ("llama-3.3-nemotron-super-49b", "indicates layers of several types"),
    ],
)
def test_an_unknown_family_beyond_a_plain_reading_is_refused(name, sentence):
    with pytest.raises(InputError, match=sentence):
        read(fixture(name) | {"model_type": "brand_new"})


def test_what_is_missing_is_named_in_one_sentence():
    with pytest.raises(InputError) as error:
        read({"model_type": "brand_new", "vocab_size": 1000})
    assert str(error.value) == (
        "x/config.json:1:1: too little information to count the model: hidden_size, num_attention_heads, "
        "num_hidden_layers are missing"
    )
    with pytest.raises(InputError, match=r"intermediate_size is missing"):
        read(
            {
                key: value
                for key, value in fixture("llama-3.1-8b").items()
                if key != "intermediate_size"
            }
        )


# -- bad files ----------------------------------------------------------------------------

LLAMA = (CONFIGS / "llama-3.1-8b.json").read_text()


def changed(key: str, value: str) -> str:
    data = json.loads(LLAMA)
    del data[key]
    return f'{{"{key}": {value}, {json.dumps(data)[1:]}'


WRONG = {
    "empty": ("", r"config\.json:1:1: not readable as JSON: the file is empty"),
    "syntax": ('{\n  "hidden_size": 4096,\n  oops\n}', r"config\.json:3:3: not readable as JSON: expecting property name"),
    "cut off": (LLAMA[:100], r"config\.json:\d+:\d+: not readable as JSON"),
    "a list": ("[1, 2]", r"config\.json:1:1: the file holds a list"),
    "a value": ("12", r"config\.json:1:1: the file holds a single value"),
    "yaml": ("id: a\n", r"config\.json:1:1: not readable as JSON"),
    "not a number": (changed("hidden_size", "NaN"), r"hidden_size should be a whole number, not nan"),
    "infinite": (changed("hidden_size", "Infinity"), r"hidden_size should be a whole number, not inf"),
    "negative": (changed("hidden_size", "-4096"), r"hidden_size -4096 is out of range: between 1 and"),
    "zero": (changed("num_attention_heads", "0"), r"num_attention_heads 0 is out of range"),
    "text": (changed("hidden_size", '"4096"'), r"hidden_size should be a number, not the text '4096'"),
    "decimal": (changed("hidden_size", "4096.5"), r"hidden_size should be a whole number, not 4096.5"),
    "boolean": (changed("hidden_size", "true"), r"hidden_size should be a whole number, not true"),
    "mapping": (changed("hidden_size", "{}"), r"hidden_size should be a whole number, not a mapping"),
    "enormous": (changed("hidden_size", "9" * 5000), r"hidden_size should be a whole number, not inf"),
    "layers": (changed("num_hidden_layers", "1000000000"), r"num_hidden_layers 1000000000 is out of range: at most 10000"),
    "flag": (changed("attention_bias", '"no"'), r"attention_bias should be true or false, not 'no'"),
    "kv heads": (changed("num_key_value_heads", "7"), r"num_key_value_heads 7 does not divide the 32 heads"),
    "heads": (changed("num_attention_heads", "33"), r"head_dim is missing, and num_attention_heads 33 does not divide hidden_size 4096"),
    "model_type": (changed("model_type", "12"), r"model_type should be text, not 12"),
    "nested": ('{"text_config": 3}', r"text_config should be a mapping, not 3"),
    "deep": ("[" * 100_000, r"config\.json is nested too deeply"),
    "deep mapping": ('{"a":' * 100_000, r"config\.json is nested too deeply"),
    "pattern": (
        json.dumps(fixture("gemma-2-9b") | {"sliding_window_pattern": ""}), r"sliding_window_pattern should be a number or letters"
    ),
    "nothing": ("{}", r"too little information to count the model: hidden_size, vocab_size"),
}  # fmt: skip


@every(
    "value,found",
    [
        (8, 8), (1, 1), (1_000_000_000, 1_000_000_000),
        # One number, repeated for every layer.
        ([8], 8), ([8, 8, 8], 8), ([8, 4], "x should be a whole number, not a list"),
        ([], "x should be a whole number, not a list"), (0, "x 0 is out of range: between 1 and "),
        (8.0, "x should be a whole number, not 8.0"), ("8", "x should be a number, not the text '8'"),
        (None, None),
    ],
)  # fmt: skip
def test_a_count_is_a_whole_number_or_one_that_is_repeated(value, found):
    fields = Fields({"x": value, "y": None}, JsonFile("config.json", {}))
    if not isinstance(found, str):
        assert fields.maybe("y", "x") == found
        return
    with pytest.raises(InputError) as error:
        fields.maybe("x")
    assert found in str(error.value)


@every(
    "value,found",
    [
        ([0, 1, 1], [False, True, True]), (None, None), ([True, False, True], [True, False, True]),
        # A longer list has prediction layers, too.
        ([1, 0, 1, 1], None), ([0, 2, 1], "x should contain 0 and 1, not 2"),
        ([0, 1.0, 1], "x should contain 0 and 1, not 1.0"),
    ],
)  # fmt: skip
def test_a_switch_of_each_layer_is_0_or_1(value, found):
    fields = Fields({"x": value}, JsonFile("config.json", {}))
    if isinstance(found, str):
        with pytest.raises(InputError) as error:
            fields.switches("x", 3)
        assert found in str(error.value)
    elif found or value is None:
        assert fields.switches("x", 3) == found
    else:
        assert fields.switches("x", 3)[:3] == [True, False, True]


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_gets_a_sentence(tmp_path, case, capsys, monkeypatch):
    text, sentence = WRONG[case]
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence) as error:
        load_model(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)
    ran = run("import", path, capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")


def test_not_text_and_too_large(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b'{\n"name": "\xff"}')
    with pytest.raises(InputError, match=r"config\.json:2:1: not UTF-8 text"):
        load_model(path)
    with path.open("wb") as stream:
        stream.truncate(50_000_000)
    with pytest.raises(InputError, match=r"config\.json is larger than 16 MB"):
        load_model(path)


def test_a_folder_without_a_configuration(tmp_path):
    with pytest.raises(InputError, match=r"is a folder without a config\.json"):
        load_model(tmp_path)


def test_infinity_where_nobody_reads_is_let_be():
    """Nemotron H files write an infinite time_step_limit."""
    text = json.dumps(fixture("nemotron-h-56b") | {"time_step_limit": [0.0, inf]})
    assert "Infinity" in text
    read(json.loads(text))


# -- ids ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "data", "wanted"),
    [
        ("Llama-3.1-8B/config.json", {}, "llama-3.1-8b"),
        ("my model.json", {}, "my-model"),
        ("nvidia--Llama_config.json", {}, "llama"),
        (f"models--org--Some-7B/snapshots/{'a1' * 20}/config.json", {}, "some-7b"),
        ("/config.json", {"_name_or_path": "org/Named-3B"}, "named-3b"),
        ("/config.json", {"model_type": "llama"}, "llama"),
        ("/config.json", {"_name_or_path": 3, "model_type": []}, "imported-model"),
        ("/模型.json", {"model_type": "qwen3"}, "qwen3"),
    ],
)
def test_ids(path, data, wanted):
    assert slug(label(Path(path), data)) == wanted


# -- the command line ---------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "Tiny-8B"
    found.mkdir()
    (found / "config.json").write_text(LLAMA)
    return found


def test_import_writes_yaml_and_remarks(folder, capsys, monkeypatch):
    ran = run("import", folder, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0
    assert ran.out.startswith("id: tiny-8b\n")
    assert f"{folder}/config.json, model_type llama" in ran.out
    assert "fastcalc: note: Not in the file" in ran.err
    assert '  - "Not in the file' in ran.out


def test_import_to_a_file_whole_or_not_at_all(folder, tmp_path, capsys, monkeypatch):
    out = tmp_path / "mine.yaml"
    ran = run("import", folder / "config.json", "-o", out, "--id", "mine", capsys=capsys, monkeypatch=monkeypatch)  # fmt: skip
    assert (ran.code, ran.out) == (0, "")
    assert load(out, Model).id == "mine"
    (folder / "config.json").write_text("{}")
    bad = tmp_path / "bad.yaml"
    ran = run("import", folder, "-o", bad, capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert not bad.exists()


def test_import_refuses_an_id_that_is_none(folder, capsys, monkeypatch):
    ran = run("import", folder, "--id", "My Model", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 2
    assert "--id 'My Model' must be lower case" in ran.err
    assert "such as 'my-model'" in ran.err


@pytest.mark.parametrize("form", ["folder", "file"])
@pytest.mark.parametrize("command", ["compare", "fit", "show"])
def test_straight_into_the_commands(folder, form, command, capsys, monkeypatch):
    path = folder if form == "folder" else folder / "config.json"
    flags = [] if command == "show" else ["--on", "h200-sxm"]
    ran = run(command, path, *flags, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    if command != "show":
        assert {record["model"] for record in data["records"]} == {"tiny-8b"}
        assert "fastcalc: note: tiny-8b: Not in the file" in ran.err


def test_the_next_command_names_the_file(folder, capsys, monkeypatch):
    ran = run("compare", folder, "--on", "h200-sxm", capsys=capsys, monkeypatch=monkeypatch)
    assert f"next: fastcalc frontier {folder} --on h200-sxm" in words(ran.out)


def test_a_configuration_and_the_shipped_entry_agree(capsys, monkeypatch):
    flags = ("--on", "h200-sxm", "--format", "json")
    ours = run("compare", "llama-3.1-8b", *flags, capsys=capsys, monkeypatch=monkeypatch)
    theirs = run("compare", CONFIGS / "llama-3.1-8b.json", *flags, capsys=capsys, monkeypatch=monkeypatch)  # fmt: skip
    assert json.loads(ours.out)["records"] == json.loads(theirs.out)["records"]


@pytest.mark.parametrize("command", ["import", "show"])
def test_a_hub_name_is_reported_how_to_fetch(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run(command, "meta-llama/Llama-3.9-8B", capsys=capsys, monkeypatch=monkeypatch)
    assert (ran.code, ran.out) == (2, "")
    assert "there is no such file, and nothing is downloaded" in ran.err
    assert "hf download meta-llama/Llama-3.9-8B config.json" in ran.err
    assert "https://huggingface.co/meta-llama/Llama-3.9-8B/resolve/main/config.json" in ran.err


def test_a_shipped_name_wins_over_a_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("llama-3.1-8b", "deepseek-v3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        assert run("show", name, capsys=capsys, monkeypatch=monkeypatch).code == 0


def test_the_importer_is_loaded_only_when_asked_for():
    code = (
        "import sys; sys.argv = ['fastcalc', 'compare']\n"
        "from fastcalc.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if 'huggingface' in name], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.splitlines()[-1] == "[]"


# -- fuzz ---------------------------------------------------------------------------------

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 70), st.integers(), st.floats(),
    st.sampled_from(["", "4096", "linear_attention", "ud800".replace("ud", "\\ud"), "\ud800", "x" * 300]),
    st.lists(st.integers(-1, 5), max_size=4), st.lists(st.sampled_from(["moe", "mamba", 3, None]), max_size=3),
    st.dictionaries(st.sampled_from(["weights", "num_bits", "heads"]), st.integers(0, 9), max_size=2),
)  # fmt: skip


def places(value: object, path: tuple = ()):
    """Every place in a configuration, its lists' first entries included."""
    steps = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:2])
        if isinstance(value, list)
        else ()
    )
    for step, inner in steps:
        yield (*path, step)
        yield from places(inner, (*path, step))


def mutate(data: dict, path: tuple, new: object, drop: bool) -> None:
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    if drop and isinstance(inner, dict):
        del inner[path[-1]]
    else:
        inner[path[-1]] = new


@pytest.mark.thorough
@examples(100)
@given(data=st.data())
def test_mutated_configurations_are_read_or_refused(data, tmp_path_factory):
    config = fixture(data.draw(st.sampled_from(FIXTURES)))
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.sampled_from(sorted(places(config), key=str)))
        if data.draw(st.booleans()):
            path = (*path[:-1], data.draw(st.sampled_from(sorted(INTERESTING))))
        try:
            mutate(config, path, data.draw(ODD), data.draw(st.booleans()))
        except (KeyError, TypeError, IndexError):
            continue
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "config.json").write_text(json.dumps(config))
    try:
        imported = import_model(folder)
    except InputError:
        return
    file = folder / "x.yaml"
    file.write_bytes(yaml_text(imported.entry).encode("utf-8"))
    model = load(file, Model)
    assert model == imported.model
    work = workload(model)
    assert 0 < work.active_parameters <= work.total_parameters


def test_compression_is_read_from_rates_or_from_names():
    """Of all tokens of a window, 4 of which an indexer picks, and 128."""
    names = ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"]
    config = fixture("deepseek-v4-flash") | {"num_hidden_layers": 3}
    by_rate, _ = read(config | {"compress_ratios": [0, 4, 128]})
    by_name, _ = read(config | {"compress_ratios": None, "layer_types": names})
    assert by_name.blocks == by_rate.blocks
    attentions = [block.attention for block in by_rate.blocks[:3]]
    assert [attention.compression for attention in attentions] == [None, 4, 128]
    assert [attention.indexer is not None for attention in attentions] == [False, True, False]
    with pytest.raises(InputError, match="unsupported type 'full_attention'"):
        read(config | {"compress_ratios": None, "layer_types": [*names[:2], "full_attention"]})


INTERESTING = {
    "model_type", "text_config", "layer_types", "quantization_config", "kv_lora_rank", "num_experts",
    "sliding_window", "sliding_window_pattern", "use_sliding_window", "num_nextn_predict_layers",
    "_name_or_path", "torch_dtype", "mlp_layer_types", "moe_layer_freq", "hybrid_override_pattern",
    "block_configs", "compress_ratios", "linear_attn_config", "index_topk", "hidden_size",
}  # fmt: skip


@pytest.mark.thorough
@examples(50)
@given(
    text=st.one_of(
        st.text(max_size=40),
        st.recursive(
            ODD,
            lambda inner: st.dictionaries(st.sampled_from(sorted(INTERESTING)), inner),
            max_leaves=6,
        ).map(json.dumps),
    )
)
def test_random_files_are_refused_in_a_sentence(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "config.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError) as error:
        load_model(path)
    assert "\n" not in str(error.value)


# -- real files, where a package that ships them is installed -------------------------------

REAL = {
    "DeepSeek-R1": "deepseek-v3", "DeepSeek-V3.2": "deepseek-v3.2", "GLM-5": "glm-5", "GLM-5.2-FP8": "glm-5.2",
    "Kimi-K2-Instruct": "kimi-k2", "Llama-4-Maverick-17B-128E-Instruct": "llama-4-maverick",
    "Llama-3_3-Nemotron-Super-49B-v1": "llama-3.3-nemotron-super-49b", "MiMo-V2-Flash": "mimo-v2-flash",
    "MiniMax-M2.5": "minimax-m2", "MiniMax-M3": "minimax-m3", "Mixtral-8x7B-v0.1": "mixtral-8x7b",
    "NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16": "nemotron-3-ultra-550b", "Qwen3-32B": "qwen3-32b",
    "Qwen3-235B-A22B": "qwen3-235b-a22b-fp8", "Qwen3.5-397B-A17B": "qwen3.5-397b-a17b",
    "DeepSeek-V4-Flash": "deepseek-v4-flash", "gemma-4-26B-A4B": "gemma-4-26b-a4b", "gpt-oss-120b": "gpt-oss-120b",
    "Meta-Llama-3.1-70B": "llama-3.1-70b", "Nemotron-H-56B-Base-8K": "nemotron-h-56b",
    "Step-3.7-Flash": "step-3.5-flash", "Kimi-K3": "kimi-k3", "Gemma-4-31B-IT-NVFP4": "gemma-4-31b-it",
}  # fmt: skip


@every(
    "text,refusal",
    [
        ('{"a": 1}', ""),
        ('{"a": 12}', "is larger than 0 MB; a configuration has a few kilobytes"),
        ("[1]", ":1:1: the file holds a list; a configuration is a mapping"),
        ("1", ":1:1: the file holds a single value; a configuration is a mapping"),
        ("", ":1:1: not readable as JSON: the file is empty"),
        (" \n", ":2:1: not readable as JSON: the file is empty"),
        ('{"a" 1}', ":1:6: not readable as JSON: expecting ':' delimiter"),
        (b"{\n\xff", ":2:1: not UTF-8 text, so not a configuration"),
    ],
)
def test_configurations_that_cannot_be_read(text, refusal, tmp_path_factory):
    """Of eight bytes at most."""
    file = tmp_path_factory.mktemp("json") / "config.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_file, "MAX_BYTES", 8)
        if not refusal:
            assert json_file.read_json(file).data == {"a": 1}
            return
        with pytest.raises(InputError, match=re.escape(refusal)):
            json_file.read_json(file)


def test_real_configurations_of_aiconfigurator_core():
    spec = importlib.util.find_spec("aiconfigurator_core")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("aiconfigurator-core, which ships real configurations, is not installed")
    files = Path(spec.submodule_search_locations[0], "model_configs").glob("*_config.json")
    found = {path.stem.removesuffix("_config").split("--")[-1]: path for path in files}
    totals = {name: (total, active) for name, total, active, *_ in COUNTED}
    for name, path in found.items():
        if not name.endswith("_hf_quant"):
            work = workload(load_model(path))
            if name in REAL:
                counted = (work.total_parameters, work.active_parameters)
                assert counted == pytest.approx(totals[REAL[name]], rel=1e-3), name
    assert set(REAL) <= set(found)


@pytest.mark.parametrize("key", ["quantization", "quantization_config"])
@pytest.mark.parametrize(
    ("group", "bits", "name", "gigabytes"),
    # 8.19 billion parameters, a scale and an offset of 16 bits each for a group: 4.5 bits by 64
    [(64, 4, "mlx-4bit", 4.61), (64, 8, "mlx-8bit", 8.70), (32, 4, "mlx-4bit-g32", 5.12)],
)
def test_mlx_quantizes_embedding_and_head_as_well(tmp_path, key, group, bits, name, gigabytes):
    config = json.loads((CONFIGS / "qwen3-8b.json").read_text())
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config | {key: {"group_size": group, "bits": bits}}))
    model = import_model(path).model
    assert model.weight_format == name
    assert workload(model).weight_bytes / 1e9 == pytest.approx(gigabytes, abs=0.006)
