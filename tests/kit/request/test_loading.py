"""Scenarios that a request names: of each model on each chip, as many as memory keeps."""

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.tier import MemoryChoice
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Sharding
from fastcalc.errors import InputError
from fastcalc.features.compare.request import Compare
from fastcalc.features.plan.request import FindPlans
from fastcalc.kit.request import loading, repositories
from fastcalc.kit.request.chips import chips_of
from fastcalc.kit.request.engines import engines_of, implied_engine
from fastcalc.kit.request.pricing import basis_of, pricing_of, without_marketplaces
from fastcalc.kit.request.scenarios import _sharding, _traffic, check_longest, scenarios
from fastcalc.mentions import as_flags
from tests.helpers import every, read_or_refusal


def test_points_are_of_each_model_on_each_chip_at_each_batch(monkeypatch):
    """Two models on three chips at ten batches are 60."""
    request = Compare(
        models=["llama-3.1-8b", "phi-4"], on="h100-sxm,h200-sxm,l40s", batch="1..10+1"
    )
    monkeypatch.setattr("fastcalc.kit.request.scenarios.MOST_POINTS", 60)
    assert len(scenarios(request, [])) == 6
    monkeypatch.setattr("fastcalc.kit.request.scenarios.MOST_POINTS", 59)
    with pytest.raises(InputError, match=r"^60 points \(models x chips x batches\) exceed 59"):
        scenarios(request, [])


@pytest.mark.parametrize(
    ("limits", "example"),
    [({"max_num_seqs": 0}, "256"), ({"gpu_memory_utilization": 1.5}, "0.9")],
)
def test_a_limit_of_an_engine_that_is_none_has_an_example(limits, example):
    with pytest.raises(InputError, match=rf"; write for example {example}$"):
        scenarios(Compare(on="h100-sxm", **limits), [])


ENTRIES = Catalogue()


@every(
    "asked,traffic",
    [
        ({}, (1000.0, 1000.0, 1500.0, 0.0)),
        ({"prompt": 4000, "output": 500}, (4000.0, 500.0, 4250.0, 0.0)),
        ({"context": 9000, "prefix_hit": 0.25}, (1000.0, 1000.0, 9000.0, 0.25)),
        ({"prefix_hit": 1.5}, "--prefix-hit 1.5 is not a share from 0 to 1; write for example 0.5"),
    ],
)
def test_traffic_of_a_request(asked, traffic):
    found = read_or_refusal(_traffic, Compare(**asked))
    if not isinstance(found, str):
        found = (found.prompt, found.output, found.context, found.prefix_hit)
    assert found == traffic


def test_ranks_of_a_request():
    request = Compare(chips=16, tp=2, pp=4, ep=8, dp=1)
    assert _sharding(request) == Sharding(16, 2, 4, 8, 1)
    assert read_or_refusal(_sharding, Compare(pp=0)).startswith(
        "--pp 0 is not a whole number from 1"
    )


@every(
    "asked,chips",
    [
        ({}, None),
        ({"on": "2xh100-sxm"}, 2),
        ({"on": "2xh100-sxm,4xl40s"}, None),
        ({"on": "2xh100-sxm,l40s"}, 2),
        ({"on": "2xh100-sxm", "chips": 4}, 4),
        # Layers on the host: the owner's card, not as many as hold all.
        ({"n_gpu_layers": 20, "engine": "llama-cpp"}, 1),
        ({"n_cpu_moe": 20, "engine": "llama-cpp", "models": ["gpt-oss-20b"]}, 1),
        ({"n_gpu_layers": 20, "engine": "llama-cpp", "on": "2xh100-sxm"}, 2),
    ],
)
def test_how_many_chips_are_asked_for(asked, chips):
    given = {"models": ["llama-3.1-8b"], "on": "h100-sxm", **asked}
    assert {each.sharding.chips for each in scenarios(Compare(**given), [])} == {chips}


@every(
    "asked,sentence",
    [
        ({"n_gpu_layers": 20, "engine": "vllm"}, "--n-gpu-layers is a setting of llama.cpp"),
        ({"n_cpu_moe": 20, "engine": "vllm"}, "--n-cpu-moe is a setting of llama.cpp"),
    ],
)
def test_layers_on_the_host_are_of_llama_cpp(asked, sentence):
    said = read_or_refusal(scenarios, Compare(models=["llama-3.1-8b"], on="h100-sxm", **asked), [])
    rest = ", and h100-sxm runs vllm: add --engine llama-cpp, or leave it out"
    assert said == sentence + rest


@every(
    "limit,tokens,is_refused",
    [(2000, 2000.0, False), (1999, 2000.0, True), (None, 1e9, False)],
)
def test_requests_longer_than_the_engine_takes(limit, tokens, is_refused):
    sentence = (
        "--max-model-len 1,999 is less than the 2,000 tokens of a request; raise it, or lower "
        "--prompt or --output"
    )
    found = read_or_refusal(check_longest, Compare(max_model_len=limit), tokens)
    assert found == (sentence if is_refused else None)


@every(
    "asked,engine",
    [
        ({}, None),
        ({"max_num_seqs": 8}, "vllm"),
        ({"gpu_memory_utilization": 0.5}, "vllm"),
        ({"max_model_len": 8000}, "vllm"),
        ({"language_model_only": True}, "vllm"),
        ({"weights": "q4_k_m"}, None),
        ({"weights": "fp8"}, "vllm"),
        # llama.cpp reads GGUF files alone, and vLLM these, too (docs.vllm.ai, features/quantization).
        ({"weights": "fp8,q4_k_m"}, "vllm"),
        ({"weights": "q8_0,q4_k_m"}, None),
    ],
)
def test_engines_that_limits_and_formats_imply(asked, engine):
    weights = asked.pop("weights", None)
    found = implied_engine(Compare(**asked), weights, [ENTRIES.model("llama-3.1-8b")])
    assert found == engine


@every(
    "chip,name,implied,engine",
    [
        ("rtx-4090", None, None, ("llama-cpp", False)),
        ("rtx-4090", None, "vllm", ("vllm", False)),
        ("h100-sxm", None, "exllama", ("vllm", False)),
        ("rtx-4090", "ideal", "vllm", ("ideal", False)),
    ],
)
def test_engines_of_chips(chip, name, implied, engine):
    chips = [ENTRIES.hardware(chip)] * 2
    found = engines_of(ENTRIES, chips, name, implied=implied)
    assert [(each.id, is_borrowed) for each, is_borrowed in found] == [engine] * 2


@every(
    "asked,pricing",
    [
        ({}, Pricing()),
        ({"offer": "spot"}, Pricing(offer="spot")),
        ({"price_basis": "tco"}, Pricing("tco")),
        ({"price_basis": "tco", "years": 3.0, "electricity": 0.0}, Pricing("tco", years=3.0,
         usd_per_kwh=0.0)),
        ({"price_basis": "tco", "offer": "spot"}, "--offer spot is for cloud prices, and "
         "--price-basis tco for ownership cost; remove one"),
        ({"years": 3.0}, "--years applies to owned chips; add --price-basis tco"),
        ({"electricity": 0.1}, "--electricity applies to owned chips; add --price-basis tco"),
        ({"price_basis": "tco", "years": 0.05}, "--years 0.05 is not a number from 0.1 to 100; "
         "write for example 4"),
        ({"price_basis": "tco", "electricity": 101.0}, "--electricity 101 is not a number 0, or "
         "from 1e-12 to 100 USD/kWh; write for example 0.08"),
    ],
)  # fmt: skip
def test_the_basis_of_prices(asked, pricing):
    assert read_or_refusal(basis_of, Compare(**asked)) == pricing


def test_owned_chips_of_a_plan_have_years_without_a_basis():
    request = FindPlans(model="m", on="c", own="h100-sxm=8", years=3.0)
    assert basis_of(request).years == 3.0


@every(
    "price,prices",
    [
        (["h100-sxm=2"], {"h100-sxm": 2.0}),
        (["h100=2", "l40s=1"], {"h100-sxm": 2.0, "l40s": 1.0}),
        (["b200=2"], "--price names 'b200', which is not compared here; --on has h100-sxm, l40s"),
    ],
)
def test_prices_are_of_chips_that_are_compared(price, prices):
    chips = [ENTRIES.hardware(name) for name in ("h100-sxm", "l40s")]
    found = read_or_refusal(pricing_of, chips, Compare(price=price), utilization=0.5)
    assert getattr(found, "user_prices", found) == prices
    assert getattr(found, "utilization", 0.5) == 0.5


@every(
    "rented,is_skipped",
    [
        # Of a group those that only marketplaces rent; but not those named, nor all of them.
        ({"a": True, "b": False}, True),
        ({"a": True}, False),
        ({"a": False, "b": False}, False),
        ({"a": True, "b": False, "named": False}, True),
    ],
)
def test_chips_that_only_marketplaces_rent(monkeypatch, rented, is_skipped):
    chips = [SimpleNamespace(id=name) for name in rented]
    pricing = SimpleNamespace(quote=lambda chip: SimpleNamespace(is_marketplace=rented[chip.id]))
    monkeypatch.setattr("fastcalc.kit.request.pricing.named", lambda *_: {"named"})
    notes = []
    kept = without_marketplaces(ENTRIES, "x", chips, pricing, notes)
    assert [chip.id for chip in kept] == [
        name for name in rented if not (is_skipped and name == "a")
    ]
    assert [as_flags(note) for note in notes] == [
        "chips rented only on marketplaces are skipped: a; name them with "
        "--on, or add --offer marketplace"
    ] * is_skipped


def test_chips_that_are_named_are_kept_whoever_rents_them(monkeypatch):
    chips = [SimpleNamespace(id=name) for name in "ab"]
    pricing = SimpleNamespace(quote=lambda chip: SimpleNamespace(is_marketplace=chip.id == "a"))
    monkeypatch.setattr("fastcalc.kit.request.pricing.named", lambda *_: {"a"})
    assert without_marketplaces(ENTRIES, "x", chips, pricing, []) == chips


_OWN_LENGTH = "; its config.json may state another longest context than 131,072"


@every(
    "name,model,note",
    [
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b", ""),
        ("someone/My-Own-Llama-3.1-8B", "llama-3.1-8b", _OWN_LENGTH),
        # The same name but for the format of its weights has the same configuration.
        ("someone/Llama-3.1-8B-FP8", "llama-3.1-8b", "; its weights are fp8"),
        ("someone/My-Llama-3.1-8B-FP8", "llama-3.1-8b", f"; its weights are fp8{_OWN_LENGTH}"),
        ("Llama-3.1-8B-FP8", "llama-3.1-8b", "; its weights are fp8"),
        ("someone/unheard-of", None, ""),
        ("llama-3.1-8b", None, ""),
        ("a/config.json", None, ""),
        ("a/model.GGUF", None, ""),
        ("./llama-3.1-8b", None, ""),
    ],
)
def test_models_of_repositories(name, model, note):
    notes = []
    found = repositories.repository_model(ENTRIES, name, notes)
    assert (found and found.id) == model
    assert notes == [f"{name} is computed as {model}, which has the same shape{note}"] * bool(model)


_FILES = " has files in several formats: llama.cpp loads "
_UNSAID = "Warning: {} does not say how its weights are stored: they are taken as "


@every(
    "name,weights,cache,note",
    [
        # hf_quant_config.json of NVIDIA's FP4 checkpoints: "kv_cache_quant_algo": "FP8".
        ("nvidia/DeepSeek-R1-0528-FP4", "nvfp4+attention=bf16+mtp=bf16", "fp8", None),
        ("nvidia/Qwen3-32B-NVFP4", "nvfp4", "fp8", None),
        ("nvidia/Qwen3-32B-FP8", "fp8", "fp8", None),
        ("Qwen/Qwen3-32B-FP8", "fp8", "bf16", None),
        ("amd/Llama-3.3-70B-Instruct-FP8-KV", "fp8", "fp8", None),
        ("RedHatAI/Qwen3-32B-NVFP4", "nvfp4", "bf16", None),
        # llama-server --help on -hf: "quant is optional [...] default to Q4_K_M".
        ("unsloth/Qwen3-32B-GGUF", "q4_k_m", "bf16", f"{{}}{_FILES}q4_k_m"),
        ("unsloth/Qwen3-32B-GGUF:Q8_0", "q8_0", "bf16", None),
        ("unsloth/Qwen3-32B-GGUF:Q4_K_XL", "ud-q4_k_xl", "bf16", None),  # there is no other XL
        ("unsloth/gpt-oss-20b-GGUF", "q8_0+experts=mxfp4", "bf16", f"{{}}{_FILES}mxfp4-experts-"),
        ("someone/Qwen3-32B-INT4", "int4-g128", "bf16", f"{_UNSAID}int4-g128"),
        ("TheBloke/Llama-2-70B-Chat-GPTQ", "gptq-int4-g128", "bf16", f"{_UNSAID}gptq-int4-g128"),
        ("RedHatAI/Hy3-NVFP4-FP8", "nvfp4+attention=fp8", "bf16", f"{_UNSAID}nvfp4+attention=fp8"),
        ("turboderp/Qwen3-32B-exl3", "bf16", "bf16", f"{_UNSAID}bf16"),
    ],
)
def test_formats_of_checkpoints_by_name(name, weights, cache, note):
    notes = []
    found = repositories.repository_model(ENTRIES, name, notes)
    assert (found.own_formats.text, found.kv_format) == (weights, cache)
    first, *others = notes
    if note is None:
        assert not others
    else:
        assert first.startswith(note.format(name))
        assert as_flags(first).endswith("; --weights sets another format")


# 20.9B parameters: 19.1B in experts at 4.25 bits, the others at 16 or 8.5 bits.
@every("tag,gigabytes", [("BF16", 10.2 + 3.6), ("Q8_0", 10.2 + 1.9), ("MXFP4", 10.2 + 1.9)])
def test_a_file_of_mxfp4_experts_has_its_other_weights_in_the_format_of_its_name(tag, gigabytes):
    asked = Compare(models=[f"ggml-org/gpt-oss-20b-GGUF:{tag}"], on="rtx-4090", engine="llama-cpp")
    found, *_ = scenarios(asked, [])
    assert found.work.weight_bytes / 1e9 == pytest.approx(gigabytes, rel=0.01)


@every(
    "name,gigabytes",
    [
        ("nvidia/Gemma-4-31B-IT-NVFP4", 31.5),  # attention 8.5B, embedding 1.4B at 16 bits
        ("nvidia/DeepSeek-V3.1-NVFP4", 386.4),  # without the projections that it excludes
        ("Inferact/Qwen3.8-27B-NVFP4", 25.81 - 0.92),  # 24.04 GiB loaded, with a vision tower
    ],
)
def test_checkpoints_in_more_formats_than_their_names_say(name, gigabytes):
    found, *_ = scenarios(Compare(models=[name], on="b300"), [])
    assert found.work.weight_bytes / 1e9 == pytest.approx(gigabytes, rel=0.01)


def test_weights_of_a_repository_are_those_in_its_name():
    names = ["someone/Llama-3.1-8B-Instruct-FP8", "meta-llama/Llama-3.1-70B-Instruct"]
    request = Compare(models=names, on="h100-sxm")
    found = {each.model.id: each.work.weight_format for each in scenarios(request, [])}
    assert found == {"llama-3.1-8b": "fp8", "llama-3.1-70b": "bf16"}
    asked = replace(request, weights="bf16")
    assert {each.weights for each in scenarios(asked, [])} == {"bf16"}


@every(
    "on,note",
    [
        ("h100-sxm", []),
        ("2xh100-sxm", ["2xh100-sxm means 2 x h100-sxm"]),
    ],
)
def test_what_names_of_chips_mean_is_said(on, note):
    notes = []
    chips = chips_of(ENTRIES, on, MemoryChoice(), notes)
    assert ([chip.id for chip in chips], notes) == (["h100-sxm"], note)


def test_hosts_are_no_chips():
    said = read_or_refusal(chips_of, ENTRIES, "ddr5-2ch", MemoryChoice(), [])
    assert said.startswith("--on ddr5-2ch: this is a host; name a chip, and the host with --host ")


def test_chips_without_a_memory_that_is_named_are_skipped():
    place = MemoryChoice(place=(("kv", "HBM3"),))
    notes = []
    chips = chips_of(ENTRIES, "h100-sxm,l40s", place, notes)
    assert [chip.id for chip in chips] == ["h100-sxm"]
    assert len(notes) == 1
    assert notes[0].endswith("; it is skipped")
    assert "l40s" in notes[0]
    assert "l40s" in read_or_refusal(chips_of, ENTRIES, "l40s", place, [])


@every(
    "asked,layers",
    [
        ({}, (None, None)),
        ({"n_gpu_layers": 0}, (0, None)),
        ({"n_cpu_moe": 10_000}, (None, 10_000)),
        ({"n_gpu_layers": 10_001}, "--n-gpu-layers 10001 is not 0 or a whole number from 1 to "
         "10,000; write for example 20"),
        ({"n_cpu_moe": -1}, "--n-cpu-moe -1 is not 0 or a whole number from 1 to 10,000; write "
         "for example 20"),
    ],
)  # fmt: skip
def test_layers_on_card_and_host(asked, layers):
    found = read_or_refusal(loading.memory_of, ENTRIES, Compare(**asked))
    if not isinstance(found, str):
        found = found.gpu_layers, found.cpu_moe_layers
    assert found == layers


def test_memory_of_a_request():
    request = Compare(max_model_len=8000, language_model_only=True, place_for="decode")
    found = loading.memory_of(ENTRIES, request)
    assert (found.longest, found.language_model_only, found.place_for) == (8000.0, True, "decode")
    assert loading.memory_of(ENTRIES, Compare()).longest == 0.0


def test_pairs_of_formats():
    request = Compare()
    assert [*loading.format_pairs(request)] == [(None, None)]


def test_the_engine_of_a_chip_does_not_depend_on_those_beside_it():
    """Gaudi has kernels in their first months, Trainium its maker's compiler, both are of kind npu."""
    chips = [ENTRIES.hardware(name) for name in ("trainium-2", "gaudi-3", "d-matrix-corsair")]
    usual = {"trainium-2": "neuron", "gaudi-3": "young", "d-matrix-corsair": "d-matrix"}
    for order in permutations(chips):
        engines = engines_of(ENTRIES, list(order), None)
        assert {
            chip.id: engine.id for chip, (engine, _) in zip(order, engines, strict=True)
        } == usual
