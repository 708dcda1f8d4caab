"""Formats that are offered are those that a chip and its engine run, as their documentation says."""

from dataclasses import dataclass

import pytest

import fastcalc
from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.formats_run import format_notes, formats_run, refused_formats, widened_by
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.rates import working_rate
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.model.workload import workload
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Scenario, cache_format, engine_for
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.features.fastmode.lighter_passes import narrower
from fastcalc.mentions import option
from fastcalc.written import listed
from tests.helpers import every

ENTRIES = Catalogue()
CHIPS = [ENTRIES.hardware(name) for name in ENTRIES.names("hardware")]
SERVERS = ("gpu", "vllm", "sglang", "tensorrt-llm", "eager", "young")


@dataclass
class Printed:
    """A cell of a support matrix: an engine on a chip, and what it says there."""

    engine: str
    chip: str
    weights: tuple[str, ...]
    caches: tuple[str, ...]


# vLLM 0.15, "Supported Hardware", and its page on AMD Quark; SGLang, "Platform Compatibility";
# TensorRT-LLM, "Hardware Support Matrix"; llama.cpp, `--cache-type-k`.
PRINTED = [
    Printed("vllm", "h200-sxm", ("fp8",), ("fp8",)),
    Printed("vllm", "a100-sxm-80gb", (), ()),
    Printed("vllm", "mi300x", ("fp8",), ("fp8",)),
    Printed("vllm", "mi355x", ("fp8", "mxfp4"), ("fp8",)),
    Printed("sglang", "gb200", ("fp8", "nvfp4"), ("fp8",)),
    Printed("tensorrt-llm", "a100-sxm-80gb", (), ("fp8",)),
    Printed("tensorrt-llm", "h100-sxm", ("fp8",), ("fp8",)),
    Printed("tensorrt-llm", "b200", ("fp8", "nvfp4"), ("fp8", "nvfp4")),
    Printed("llama-cpp", "rtx-4090", ("q8_0", "q4_k_m"), ("q8_0", "q4_0")),
]


@pytest.mark.parametrize("cell", PRINTED, ids=lambda cell: f"{cell.engine} on {cell.chip}")
def test_formats_are_those_of_the_engines_documentation(cell):
    found = formats_run(ENTRIES.engine(cell.engine), ENTRIES.hardware(cell.chip))
    assert (found.weights, found.caches, found.is_listed) == (cell.weights, cell.caches, True)


def test_nvfp4_is_nvidias_and_no_server_multiplies_what_a_chip_has_no_units_for():
    """NVFP4 weights or caches on another maker's chip run nowhere."""
    for chip in CHIPS:
        for engine in (*SERVERS, engine_for(ENTRIES, chip)[0].id):
            found = formats_run(ENTRIES.engine(engine), chip)
            if "nvfp4" in (*found.weights, *found.caches):
                assert chip.vendor == "NVIDIA", (chip.id, engine)
                assert chip.rate("fp4"), (chip.id, engine)
            if engine in SERVERS:
                unpacked = [
                    name
                    for name in found.weights
                    if working_rate(chip, number_format(name)).is_unpacked
                ]
                assert not unpacked, (chip.id, engine)


def test_fewer_bits_of_a_request_are_of_that_list():
    for chip, engine in (("mi355x", "vllm"), ("b200", "tensorrt-llm"), ("rtx-4090", "llama-cpp")):
        entry, hardware = ENTRIES.engine(engine), ENTRIES.hardware(chip)
        traffic = Traffic(1000.0, 1000.0, 1500.0)
        scenario = Scenario(hardware, ENTRIES.model("llama-3.1-8b"), entry, (1,), traffic)
        found, listed = list(narrower(scenario)), formats_run(entry, hardware)
        assert {one.weights for _, one in found} == {None, *listed.weights}
        assert {one.kv for _, one in found} == {None, *listed.caches}


# gguf-py/gguf/constants.py of llama.cpp: types of tensors among the formats below.
GGUF = {"bf16", "nvfp4", "mxfp4"}
REFUSED = {
    # vLLM's table of supported hardware: Marlin needs 7.5, for MXFP4 8.0; AWQ needs 7.5.
    "v100-sxm-32gb": {"awq-int4-g128", "fp8", "mxfp4", "nvfp4"},
    "t4": {"mxfp4"},
    "a100-sxm-80gb": set(),
}


@every("chip", REFUSED)
def test_weights_without_a_kernel_are_named(chip):
    model, hardware = ENTRIES.model("llama-3.1-8b"), ENTRIES.hardware(chip)
    for name in ("bf16", "fp8", "awq-int4-g128", "gptq-int4-g128", "nvfp4", "mxfp4"):
        why = refused_formats(ENTRIES.engine("vllm"), hardware, workload(model, name, "bf16"))
        assert (why is not None) is (name in REFUSED[chip]), name
        assert why is None or f"no kernel for {name} weights on {chip} (" in why
        why = refused_formats(ENTRIES.engine("llama-cpp"), hardware, workload(model, name, "bf16"))
        assert (why is None) is (name in GGUF), name


# vLLM issues 49011 and 47684: NVFP4 caches on compute capability 10.0 and 10.3 alone, and
# CacheDType of its vllm/config/cache.py (0.33); TensorRT-LLM, hardware support matrix; llama.cpp, --cache-type-k; SGLang,
# quantized KV cache.
CACHES = {
    ("vllm", "h100-sxm"): {"nvfp4", "q8_0", "q4_0", "int8", "fp32"},
    ("vllm", "rtx-5090"): {"nvfp4", "q8_0", "q4_0", "int8", "fp32"},
    ("vllm", "b200"): {"q8_0", "q4_0", "int8", "fp32"},
    ("tensorrt-llm", "h100-sxm"): {"nvfp4", "q8_0", "q4_0"},
    ("tensorrt-llm", "gb300"): {"q8_0", "q4_0"},
    ("sglang", "h100-sxm"): {"q8_0", "q4_0"},
    ("llama-cpp", "rtx-5090"): {"fp8", "nvfp4", "int8"},
}


@every("engine,chip", CACHES)
def test_caches_without_a_kernel_are_named(engine, chip):
    model, hardware = ENTRIES.model("llama-3.1-8b"), ENTRIES.hardware(chip)
    for name in ("bf16", "fp8", "nvfp4", "q8_0", "q4_0", "int8", "fp32"):
        why = refused_formats(ENTRIES.engine(engine), hardware, workload(model, "bf16", name))
        assert (why is not None) is (name in CACHES[engine, chip]), name
        assert why is None or f"{engine} has no kernel for {name} caches on {chip} (" in why


def test_weights_without_a_kernel_are_neither_planned_for_nor_on_a_frontier():
    """GPT-OSS has experts in MXFP4, which vLLM has no kernel for on Turing; llama.cpp reads them."""
    asked = {"on": "t4", "prompt": 500, "output": 100}
    with pytest.raises(InputError, match="vllm has no kernel for mxfp4 weights on t4"):
        fastcalc.plan("gpt-oss-20b", **asked, rate="0.1/s")
    frontier = fastcalc.frontier("gpt-oss-20b", **asked | {"on": "t4,l4"})
    assert {point["hardware"] for point in frontier} == {"l4"}
    assert fastcalc.plan("gpt-oss-20b", **asked, rate="0.1/s", engine="llama-cpp").found
    (warning,) = [
        text
        for text in fastcalc.compare("gpt-oss-20b", **asked, batch=1)[0]["warnings"]
        if "kernel" in text
    ]
    assert warning.endswith("does not start; give another engine or weights='fp16'")


def test_an_architecture_of_ones_own_has_what_its_units_say_and_a_note(tmp_path):
    """The file extends an H100, which has units for fp8 and none for four bits."""
    (tmp_path / "mine.yaml").write_text("id: mine\nextends: h100-sxm\narchitecture: newer\n")
    chip = Catalogue({"hardware": (tmp_path,)}).hardware("mine")
    vllm = ENTRIES.engine("vllm")
    assert formats_run(vllm, chip)[:3] == (("fp8",), ("fp8",), False)
    (note,) = format_notes(vllm, chip, "fp8")
    assert note == "vllm lists no formats for newer: fp8 is taken as mine has units for it"
    assert format_notes(vllm, ENTRIES.hardware("h100-sxm"), "fp8") == []


def test_an_engine_of_ones_own_takes_its_parents_list(tmp_path):
    (tmp_path / "ours.yaml").write_text("id: ours\nextends: tensorrt-llm\n")
    ours = Catalogue({"engines": (tmp_path,)}).engine("ours")
    chip = ENTRIES.hardware("b200")
    assert formats_run(ours, chip) == formats_run(ENTRIES.engine("tensorrt-llm"), chip)


# Kernels that NVIDIA's aiconfigurator-core 0.12.0 names for an RTX PRO 6000: FlashInfer's CUTLASS for
# NVFP4 and Marlin for experts in MXFP4 under vLLM and SGLang, CUTLASS for both under TensorRT-LLM;
# on GB10 Marlin for NVFP4, too (vLLM issue 50925).
@pytest.mark.parametrize(
    ("engine", "chip", "weights", "rate"),
    [
        ("vllm", "rtx-pro-6000-server", "nvfp4", "fp4"),
        ("vllm", "rtx-pro-6000-server", "mxfp4", "bf16"),
        ("sglang", "rtx-pro-6000-server", "mxfp4", "bf16"),
        ("tensorrt-llm", "rtx-pro-6000-server", "mxfp4", "fp8"),
        ("vllm", "gb10", "nvfp4", "bf16"),
        ("vllm", "b200", "nvfp4", "fp4"),
    ],
)
def test_products_run_at_the_rate_of_the_kernel_that_an_engine_has(engine, chip, weights, rate):
    hardware, model = ENTRIES.hardware(chip), ENTRIES.model("gpt-oss-20b")
    work = workload(model, weights, "fp8")
    products = machine(hardware, ENTRIES.engine(engine), work, OWN_MEMORY).chip.products
    assert products.experts.peak == hardware.rate(rate).si
    assert products.experts.is_unpacked == (rate == "bf16")


# vLLM, "Supported Hardware": Marlin takes GPTQ, AWQ and FP8 on Ampere and Ada; its documentation of
# NVFP4 names Marlin where a chip has no 4-bit units. llama.cpp has kernels of its own.
@pytest.mark.parametrize(
    ("engine", "chip", "weights", "kernel"),
    [
        ("vllm", "rtx-3090", "awq-int4-g128", "Marlin"),
        ("vllm", "a100-sxm-80gb", "fp8", "Marlin"),
        ("vllm", "rtx-4090", "fp8", None),
        ("vllm", "h200-sxm", "nvfp4", "Marlin"),
        ("vllm", "b200", "nvfp4", None),
        ("sglang", "rtx-pro-6000-server", "mxfp4", "Marlin"),
        ("tensorrt-llm", "rtx-pro-6000-server", "mxfp4", None),
        ("llama-cpp", "rtx-4090", "awq-int4-g128", None),
    ],
)
def test_the_kernel_that_widens_a_format_is_named(engine, chip, weights, kernel):
    entry, hardware = ENTRIES.engine(engine), ENTRIES.hardware(chip)
    assert widened_by(entry, hardware).dense.get(weights) == kernel
    model = ENTRIES.model("llama-3.1-8b")
    traffic = Traffic(1000.0, 1000.0, 1500.0)
    solved = solve(Scenario(hardware, model, entry, (1,), traffic, weights=weights))
    assert [note for note in solved.warnings if "in 16 bits" in note and " weights " in note] == [
        f"{chip}: {engine} computes {weights} weights ({name}) no faster than in 16 bits"
        for name in (kernel,)
        if name
    ]


def test_attention_over_an_8_bit_cache_runs_at_16_bits_where_kernels_widen_it():
    """vLLM's prefill attention on an L40S: 0.43 of the 16-bit peak with it, 0.49 without."""
    hardware, model = ENTRIES.hardware("l40s"), ENTRIES.model("llama-3.1-8b")
    rates = {
        engine: machine(
            hardware, ENTRIES.engine(engine), workload(model, "fp8", "fp8"), OWN_MEMORY
        ).chip.products.kv.peak
        for engine in ("vllm", "tensorrt-llm")
    }
    assert rates == {"vllm": hardware.rate("bf16").si, "tensorrt-llm": hardware.rate("fp8").si}


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_experts_alone_are_multiplied_at_the_16_bit_rate_where_the_engine_says_so(engine):
    """On MI300X: dense FP8 at twice the 16-bit rate, routed experts at that rate."""
    hardware, model = ENTRIES.hardware("mi300x"), ENTRIES.model("qwen3-235b-a22b")
    work = workload(model, "fp8", "bf16")
    products = machine(hardware, ENTRIES.engine(engine), work, OWN_MEMORY).chip.products
    assert products.dense.peak == hardware.rate("fp8").si
    assert products.experts.peak == hardware.rate("bf16").si
    traffic = Traffic(1000.0, 1000.0, 1500.0)
    solved = solve(Scenario(hardware, model, ENTRIES.engine(engine), (1,), traffic, weights="fp8"))
    assert [note for note in solved.warnings if "in 16 bits" in note] == [
        f"mi300x: {engine} computes fp8 experts (fused MoE) no faster than in 16 bits"
    ]


def test_a_note_says_what_kernels_widen():
    scenario = Scenario(
        ENTRIES.hardware("gb10"),
        ENTRIES.model("llama-3.1-8b"),
        ENTRIES.engine("vllm"),
        (1,),
        Traffic(1000.0, 1000.0, 1500.0),
        weights="nvfp4",
        kv="fp8",
    )
    notes = [note for note in solve(scenario).warnings if "in 16 bits" in note]
    assert notes == [
        "gb10: vllm computes nvfp4 weights (Marlin) no faster than in 16 bits",
        "gb10: vllm computes fp8 KV cache (prefill attention) no faster than in 16 bits",
    ]


@pytest.mark.parametrize(
    ("model", "asked", "engine"),
    [
        # GGUF files have no AWQ, GPTQ, FP8 or ExLlama blocks; they have Q4_K, MXFP4 and NVFP4.
        ("llama-3.1-8b", {"weights": "awq"}, "vllm"),
        ("llama-3.1-8b", {"weights": "w4a16"}, "vllm"),
        ("llama-3.1-8b", {"weights": "fp8"}, "vllm"),
        ("llama-3.1-8b", {"weights": "bf16,attention=fp8"}, "vllm"),
        ("Qwen/Qwen3-8B-AWQ", {}, "vllm"),
        # Repositories are read as published; NVFP4 in GGUF files is another's conversion.
        ("nvidia/Qwen3-8B-NVFP4", {}, "vllm"),
        ("llama-3.1-8b", {"weights": "nvfp4"}, "llama-cpp"),
        ("unsloth/Qwen3-8B-GGUF:Q4_K_M", {}, "llama-cpp"),
        ("llama-3.1-8b", {"weights": "exl2-4.0bpw"}, "exllama"),
        ("llama-3.1-8b", {"weights": "q4_k_m"}, "llama-cpp"),
        ("llama-3.1-8b", {"weights": "awq", "engine": "llama-cpp"}, "llama-cpp"),
        ("llama-3.1-8b", {}, "llama-cpp"),
    ],
)
def test_a_consumer_card_has_an_engine_that_reads_the_format(model, asked, engine):
    (record,) = fastcalc.fit(model, on="rtx-3090", **asked)
    assert record["engine"] == engine


KEPT = {
    # vLLM, engine arguments: DeepSeek-V3.2 defaults to fp8; FlashMLA on Hopper and FlashInfer on
    # SM100. SGLang, DeepSeek V3.2 usage. TensorRT-LLM: 'auto' takes what the checkpoint states.
    ("vllm", "h200-sxm", "deepseek-v3.2", None, None): "fp8_ds_mla",
    ("vllm", "h200-sxm", "deepseek-v3.2", None, "fp8"): "fp8_ds_mla",
    # The same code runs GLM-5.x, whose cache has 16 bits by default.
    ("vllm", "h200-sxm", "glm-5.2", None, "fp8"): "fp8_ds_mla",
    ("vllm", "h200-sxm", "glm-5.2", None, None): "bf16",
    ("vllm", "b200", "glm-5.2", None, "fp8"): "fp8",
    ("vllm", "h200-sxm", "deepseek-v3.2", None, "bf16"): "bf16",
    ("vllm", "b200", "deepseek-v3.2", "nvfp4", None): "fp8",
    ("vllm", "mi300x", "deepseek-v3.2", None, None): "bf16",
    ("vllm", "h200-sxm", "deepseek-r1", None, None): "bf16",
    ("sglang", "h200-sxm", "deepseek-v3.2", None, None): "bf16",
    ("sglang", "b200", "deepseek-v3.2", None, None): "fp8_ds_mla",
    ("tensorrt-llm", "h200-sxm", "deepseek-r1", None, None): "bf16",
    ("tensorrt-llm", "b200", "deepseek-r1", "nvfp4", None): "fp8",
    ("tensorrt-llm", "b200", "deepseek-r1", "nvfp4+attention=bf16", None): "fp8",
    ("tensorrt-llm", "h200-sxm", "llama-3.3-70b", "fp8", None): "fp8",
    ("tensorrt-llm", "h200-sxm", "llama-3.3-70b", None, None): "bf16",
}


@every("engine,chip,model,weights,asked,kept", [(*case, kept) for case, kept in KEPT.items()])
def test_the_cache_that_is_kept_is_the_engines(engine, chip, model, weights, asked, kept):
    scenario = Scenario(
        ENTRIES.hardware(chip),
        ENTRIES.model(model),
        ENTRIES.engine(engine),
        (1,),
        Traffic(1.0, 1.0, 1.0),
        weights,
        asked,
    )
    assert scenario.work.kv_format == kept


def test_a_token_of_sparse_attention_takes_656_bytes_a_layer_and_132_of_its_indexer():
    """512 values of 8 bits, four scales of 32 and 64 values of 16; 128 of 8 bits and a scale."""
    work = workload(ENTRIES.model("deepseek-v3.2"), None, "fp8_ds_mla")
    assert float(work.cache_bytes(1.0)) == pytest.approx(61 * (656 + 132))


def test_a_cache_of_latents_is_refused_for_a_model_without_them():
    with pytest.raises(
        InputError, match="'fp8_ds_mla' holds latents, which qwen3-8b does not have"
    ):
        workload(ENTRIES.model("qwen3-8b"), None, "fp8_ds_mla")


@every("engine,chip", [("sglang", "t4"), ("tensorrt-llm", "t4"), ("sglang", "v100-sxm-32gb")])
def test_servers_with_the_same_kernels_refuse_mxfp4_on_turing_and_volta(engine, chip):
    """Marlin runs MXFP4 from 8.0 on; TensorRT-LLM's support matrix starts with Ampere."""
    work = workload(ENTRIES.model("gpt-oss-20b"), None, "bf16")
    why = refused_formats(ENTRIES.engine(engine), ENTRIES.hardware(chip), work)
    assert "no kernel for mxfp4 weights" in why


@every(
    "engine,chip,running",
    [("llama-cpp", "rtx-4090", "q8_0 q4_0 fp16"), ("vllm", "h100-sxm", "fp8 fp16")],
)
def test_a_refusal_names_the_formats_that_run(engine, chip, running):
    """llama.cpp, --cache-type-k; vLLM, CacheDType."""
    work = workload(ENTRIES.model("llama-3.1-8b"), "bf16", "nvfp4")
    why = refused_formats(ENTRIES.engine(engine), ENTRIES.hardware(chip), work)
    choices = [option("engine"), *(option("kv", name) for name in running.split())]
    assert why.endswith(f"give another {listed(choices, 'or')}")


def test_a_model_that_extends_another_has_its_default_cache(tmp_path):
    """FlashMLA reads DeepSeek V3.2's latents in 656 bytes on Hopper, however the file is named."""
    (tmp_path / "mine.yaml").write_text("id: mine\nextends: deepseek-v3.2\n")
    (tmp_path / "tuned.yaml").write_text("id: tuned\nextends: mine\nmax_context: 32000\n")
    own = Catalogue({"models": (tmp_path,)})
    copied = ENTRIES.model("deepseek-v3.2").model_copy(update={"id": "copied"})
    hopper, vllm = ENTRIES.hardware("h200-sxm"), ENTRIES.engine("vllm")
    for model in (
        own.model("mine"),
        own.model("tuned"),
        own.model("tuned").changed(max_context=4000),
    ):
        assert cache_format(model, vllm, hopper, None) == "fp8_ds_mla"
    assert cache_format(copied, vllm, hopper, None) == "bf16"


def test_rows_of_an_engine_precede_its_parents(tmp_path):
    """Own rows add to vLLM's refusals (nvfp4 caches on Hopper), unless a list is empty."""
    rows = "  - {architectures: [hopper], caches: [fp8], source: own}\n"
    head = "extends: vllm\nsources: {own: {title: a release note}}\n"
    texts = {
        "added": f"{head}refused:\n{rows}formats:\n{rows.replace('caches', 'weights: [], caches')}",
        "ended": f"{head}refused:\n{rows.replace('[fp8]', '[]')}",
        "none": f"{head}refused: []\nwidening: []\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(f"id: {name}\n{text}")
    own, hopper = Catalogue({"engines": (tmp_path,)}), ENTRIES.hardware("h100-sxm")
    refusals = {
        name: [
            cache
            for cache in ("fp8", "nvfp4", "int8")
            if refused_formats(
                own.engine(name), hopper, workload(ENTRIES.model("llama-3.1-8b"), "bf16", cache)
            )
        ]
        for name in texts
    }
    assert refusals == {"added": ["fp8", "nvfp4", "int8"], "ended": [], "none": []}
    assert formats_run(own.engine("added"), hopper).weights == ()
    assert formats_run(own.engine("added"), ENTRIES.hardware("b200")).weights == ("fp8", "nvfp4")
    assert widened_by(own.engine("added"), hopper).dense["nvfp4"] == "Marlin"
    assert not widened_by(own.engine("none"), hopper).dense


def test_empty_lists_of_an_engine_are_not_about_its_own_rows(tmp_path):
    """vLLM refuses nvfp4 caches on Hopper. No architectures are all, for the default of a cache."""
    head = "extends: vllm\nsources: {own: {title: a release note}}\n"
    refused = (
        "  - {architectures: [hopper], weights: [], caches: [fp8], source: own}\n"
        "  - {architectures: [hopper], weights: [mxfp4], caches: [], source: own}\n"
    )
    default = "  - {architectures: [], cache: int8, source: own}\n"
    (tmp_path / "mine.yaml").write_text(
        f"id: mine\n{head}refused:\n{refused}cache_formats:\n{default}"
    )
    mine = Catalogue({"engines": (tmp_path,)}).engine("mine")
    hopper, llama = ENTRIES.hardware("h100-sxm"), ENTRIES.model("llama-3.1-8b")
    pairs = [("bf16", "fp8"), ("mxfp4", "bf16"), ("bf16", "nvfp4"), ("bf16", "bf16")]
    is_refused = [bool(refused_formats(mine, hopper, workload(llama, *pair))) for pair in pairs]
    assert is_refused == [True, True, False, False]
    assert cache_format(llama, mine, hopper, None) == "int8"
