"""Records and pages of entries: numbers of data sheets and sums worked by hand."""

from types import SimpleNamespace

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.features.entries import answer
from fastcalc.features.entries.records import cautions, engine_record, hardware_record, model_record
from fastcalc.features.entries.request import ListEntries, ShowEntry
from fastcalc.features.entries.run import find, run_list
from tests import made_up
from tests.helpers import every, read_or_refusal, run_once, words

ENTRIES = Catalogue()
H100 = {
    "cores": 132, "memory_tier": "HBM3", "memory_capacity_bytes": 80 * 2**30,
    "memory_bandwidth_bytes_per_s": 3.35e12, "fabric_bandwidth_bytes_per_s": None,
    "peak_bf16_flop_per_s": 989.5e12, "peak_fp8_flop_per_s": 1979e12, "peak_fp4_flop_per_s": None,
    "peak_int8_flop_per_s": 1979e12, "peak_tf32_flop_per_s": None, "vector_flop_per_s": 67e12,
    # Of 2 bytes a weight, with 2 FLOP each: 989.5 over 3.35.
    "critical_batch_16bit": 989.5 / 3.35,
    "scale_up_bandwidth_bytes_per_s": 450e9, "scale_up_domain_chips": 8, "scale_up_latency_s": None,
    "scale_out_bandwidth_bytes_per_s": 50e9, "scale_out_latency_s": 10e-6, "power_chip_w": 700,
    "power_all_in_w": 1730, "price_purchase_usd": 26_000, "area_m2": 814e-6, "transistors": None,
    "ranks": None,
}  # fmt: skip


@every("key,value", H100.items())
def test_a_chip_has_the_numbers_of_its_data_sheet(key, value):
    found = hardware_record(ENTRIES.hardware("h100-sxm"))[key]
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


def test_prices_of_a_chip_are_those_of_its_file():
    record = hardware_record(ENTRIES.hardware("h100-sxm"))
    nebius = {
        "provider": "Nebius", "terms": "spot", "region": "eu-north1", "instance_chips": None,
        "usd_per_h": 1.25, "date": "2026", "commitment_months": None, "confidence": "medium",
    }  # fmt: skip
    assert nebius in record["price_offers"]
    assert len(record["price_offers"]) == 8
    assert (record["price_terms"], record["price_is_uncertain"]) == ("on-demand", False)
    wafer = hardware_record(ENTRIES.hardware("wse-3"))
    assert (wafer["price_terms"], wafer["price_is_uncertain"]) == ("estimate", True)
    assert wafer["fabric_bandwidth_bytes_per_s"] == 214e15 / 8
    assert wafer["transistors"] == 4e12


HEAD = 128_256 * 4096
LLAMA = {
    "layers": 32, "hidden_size": 4096, "vocabulary": 128_256, "max_context_tokens": 131_072,
    "total_parameters": 8_030_261_248, "active_parameters": 8_030_261_248,
    "multiplied_parameters": 8_030_261_248 - HEAD, "experts": None, "active_experts": None,
    "weights_gb": 16.060522496,
    # Keys and values of 8 heads of 128 elements in 32 layers, 2 bytes each.
    "kv_bytes_per_token": 2 * 8 * 128 * 32 * 2, "kv_bytes_per_sequence_fixed": 0,
    "flops_per_token": 2 * (8_030_261_248 - HEAD),
    # 32 heads of 128 elements multiply queries and keys, and weigh values: 4 FLOP an element.
    "attention_flops_per_context_token": 4 * 32 * 128 * 32,
    # Without the head, and with 500 tokens of context on average.
    "prefill_flops_of_1000_tokens": 1000 * (2 * (8_030_261_248 - 2 * HEAD) + 500 * 4 * 32 * 128 * 32),
    "published_label": "8.03B", "checkpoint_parameters": 8_030_261_248, "confidence": "high",
}  # fmt: skip


@every("key,value", LLAMA.items())
def test_a_model_has_the_counts_of_its_shape(key, value):
    assert model_record(ENTRIES.model("llama-3.1-8b"))[key] == value


def test_a_model_in_other_formats_has_fewer_bytes_and_the_same_parameters():
    plain = model_record(ENTRIES.model("mixtral-8x7b"))
    eight = model_record(ENTRIES.model("mixtral-8x7b"), "fp8", "fp8")
    assert (plain["experts"], plain["active_experts"]) == (8, 2)
    assert (eight["weight_format"], eight["kv_format"]) == ("fp8", "fp8")
    assert eight["kv_bytes_per_token"] * 2 == plain["kv_bytes_per_token"]
    assert eight["total_parameters"] == plain["total_parameters"] == 46_702_792_704
    assert eight["weights_gb"] < 0.51 * plain["weights_gb"]


def test_a_model_without_a_shape_has_no_counts_of_attention():
    record = model_record(made_up.minimal())
    assert record["attention_flops_per_context_token"] is None
    assert record["prefill_flops_of_1000_tokens"] is None


def test_engines_have_their_parameters_in_si_and_the_chips_that_they_run_by_default():
    record = engine_record(ENTRIES.engine("vllm"))
    assert record["default_for"] == ["datacenter"]
    assert record["parameters_si"]["memory_fraction"] == 0.92
    assert record["is_bound"] is False
    assert "\n" not in record["fitted_on"]


def test_cautions_name_entries_together():
    model = ENTRIES.model("llama-3.1-8b")
    low, memory, also = (
        model.model_copy(update={"id": name, "confidence": how, "hypothetical": name == "c"})
        for name, how in (("a", "low"), ("b", "memory"), ("c", "low"))
    )
    found = cautions([low, memory, also, model, ENTRIES.engine("vllm")])
    assert found == ["Confidence low: a, c", "Confidence memory: b", "Hypothetical: c"]


LINKS, RENT, POWER = (
    "without links only one chip can be used",
    "without an hourly price, $ columns are empty",
    "without power, joules are empty",
)


@every(
    "left_out,kind,lacks",
    [
        ((), "gpu", []),
        (("links",), "gpu", [LINKS]),
        (("price",), "gpu", [RENT]),
        (("power",), "gpu", [POWER]),
        (("links", "price", "power"), "gpu", [LINKS, RENT, POWER]),
        (("links", "price", "power"), "host", []),
    ],
)
def test_what_a_chip_lacks(left_out, kind, lacks):
    chip = ENTRIES.hardware("h100-sxm")
    empty = {"links": type(chip.links)(), "price": type(chip.price)(), "power": None}
    changes = {"kind": kind, **{name: empty[name] for name in left_out}}
    assert [*answer._lacks(chip.model_copy(update=changes))] == lacks


def test_the_next_command_fits_a_model_and_compares_chips():
    request = ShowEntry(name="x")
    model, chip, host = (
        ENTRIES.model("llama-3.1-8b"), ENTRIES.hardware("h100-sxm"), ENTRIES.hardware("ddr5-2ch"),
    )  # fmt: skip
    assert "fit" in answer.question_on(request, ["m"], [model])
    both = answer.question_on(request, ["a", "b"], [chip, chip])
    assert "compare" in both
    assert "a,b" in both
    assert answer.question_on(request, ["a", "b"], [chip, host]) is None
    assert answer.question_on(request, ["e"], [ENTRIES.engine("vllm")]) is None


def page(*command, **fixtures):
    return words(run_once(*command, **fixtures).out)


def test_counts_of_a_page_are_those_of_the_record(capsys, monkeypatch):
    text = page("show", "llama-3.1-8b", capsys=capsys, monkeypatch=monkeypatch)
    for line in (
        "total parameters 8,030,261,248 language model only",
        "parameters in matmuls 7,504,924,672 all but the input embedding",
        "weights 16.1 GB bf16",
        "KV cache per token 131,072 B bf16",
        "FLOPs per token 15 GFLOP in matmuls",
        "FLOPs per context token 524 kFLOP in attention",
        "largest context 131,072 tokens",
        "rotary table 16,777,216 sines and cosines checkpoint",
        "checkpoint 8,030,261,248 parameters; label 8.03B",
        "32 blocks[0].attention gqa: heads 32, kv_heads 8, head_dim 128 blocks[0].ffn dense: width 14,336",
    ):
        assert line in text
    assert "in addition to the core" not in text
    assert "state per sequence" not in text


def test_what_a_checkpoint_holds_beside_the_core_is_counted(capsys, monkeypatch):
    """685,355,329,792 parameters of DeepSeek V3.2, of which a layer predicts further tokens."""
    text = page("show", "deepseek-v3.2", capsys=capsys, monkeypatch=monkeypatch)
    core = int(model_record(ENTRIES.model("deepseek-v3.2"))["total_parameters"])
    assert f"in addition to the core {685_355_329_792 - core:,} parameters of MTP layers" in text
    state = page("show", "qwen3-next-80b-a3b", capsys=capsys, monkeypatch=monkeypatch)
    assert "state per sequence" in state


@every(
    "kind,count,said",
    [("models", 1, "1 model"), ("models", 2, "2 models"), ("hardware", 1, "1 chip"), ("engines", 1, "1 engine")],
)  # fmt: skip
def test_a_list_is_counted(kind, count, said):
    name = {"models": "llama-3.1-8b", "hardware": "h100-sxm", "engines": "vllm"}[kind]
    read = {"models": ENTRIES.model, "hardware": ENTRIES.hardware, "engines": ENTRIES.engine}[kind]
    found = answer.ListAnswer(request=None, kind=kind, entries=[read(name)] * count)
    assert [*found.body(SimpleNamespace(width=100))][-1] == said


@every(
    "peak,critical",
    [({"fp16": "100 TFLOP/s"}, 100), ({"fp16": "100 TFLOP/s", "bf16": "50 TFLOP/s"}, 50)],
)
def test_the_peak_of_16_bits_is_that_of_bf16_if_there_is_one(peak, critical):
    """Of 1 TB/s, and 2 bytes a weight with 2 FLOP each."""
    assert hardware_record(made_up.chip(peak=peak))["critical_batch_16bit"] == critical


@every(
    "fields,said",
    [
        ({"entries": "models", "kind": "gpu"}, "--kind applies to hardware, not to models"),
        ({"entries": "engines", "vendor": "nvidia"}, "--vendor applies to hardware, not to engines"),
        ({"entries": "models", "with_": "draft_of"}, "--with 'draft_of' is unknown"),
        ({"entries": "cards"}, "list 'cards' is unknown"),
    ],
)  # fmt: skip
def test_filters_that_do_not_apply(fields, said):
    assert read_or_refusal(run_list, ListEntries(**fields)).startswith(said)


def test_chips_are_listed_by_either_name():
    chips, hardware = (run_list(ListEntries(entries=name)) for name in ("chips", "hardware"))
    assert [chip.id for chip in chips.entries] == [chip.id for chip in hardware.entries]


def test_filters_leave_what_they_name():
    wafers = run_list(ListEntries(entries="hardware", kind="WAFER")).entries
    assert {chip.kind for chip in wafers} == {"wafer"}
    apple = run_list(ListEntries(entries="hardware", vendor="apple")).entries
    assert {chip.vendor for chip in apple} == {"Apple"}
    fabrics = run_list(ListEntries(entries="hardware", with_="fabric")).entries
    assert 0 < len(fabrics) < 20
    assert all(chip.fabric for chip in fabrics)


def test_an_engine_of_two_files_is_found_and_a_wrong_half_is_named():
    assert find(ENTRIES, "vllm-0.19+eager").id == "vllm-0.19+eager"
    assert "no engine is called 'nothing'" in read_or_refusal(find, ENTRIES, "nothing+eager")
    assert read_or_refusal(find, ENTRIES, "x.yaml") == "x.yaml: there is no such file"


def test_a_blank_line_stands_before_each_table_of_a_model(capsys, monkeypatch):
    lines = run_once(
        "show", "llama-3.1-8b", capsys=capsys, monkeypatch=monkeypatch
    ).out.splitlines()
    assert lines[0].startswith("llama-3.1-8b")
    heads = [1, next(at for at, line in enumerate(lines) if line.startswith("layers ")) - 1]
    assert [lines[at] for at in heads] == ["", ""]
