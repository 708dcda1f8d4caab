"""The shipped catalogue: it loads, it cites, it counts right; and every way to be wrong has a sentence."""

import os
import re
from math import inf
from pathlib import Path

import pytest

from fastcalc.catalogue.difference import change
from fastcalc.catalogue.faults import Fault, refuse
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.formats import number_format
from fastcalc.catalogue.reader import read
from fastcalc.catalogue.schema import Engine, Hardware, Model, Quantity
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.catalogue.store import Catalogue, load
from fastcalc.core.chip.rates import fastest_rate, working_rate
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from tests import made_up
from tests.helpers import ROOT, every

KINDS = {"hardware": Hardware, "models": Model, "engines": Engine}
FILES = [(kind, path) for kind in KINDS for path in sorted(shipped_folder(kind).glob("*.yaml"))]


def quantities(entry: object):
    if isinstance(entry, Quantity):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from quantities(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from quantities(value)
    elif hasattr(type(entry), "model_fields"):
        for name in type(entry).model_fields:
            yield from quantities(getattr(entry, name))


@every("kind,path", FILES)
def test_every_entry_loads_and_cites(kind, path):
    entry = load(path, KINDS[kind])
    assert entry.id == path.stem
    used = {quantity.source for quantity in quantities(entry)}
    assert None not in used, "a number has no source"
    if isinstance(entry, Model):
        quoted = (one for one in entry.printed.values() if not isinstance(one, str))
        used |= {entry.shape_source, *(one.source for one in quoted)}
        used |= {release.source for release in entry.also_published.values()}
    if isinstance(entry, Engine):
        formats = (*entry.formats, *entry.refused, *entry.cache_formats, *entry.widening)
        used |= {row.source for row in (*formats, *entry.split_modes)}
    assert used == set(entry.sources), "sources and what they are used for"


def test_a_refusal_counts_what_else_is_wrong_in_the_file():
    """Three faults are the first and two more; one is alone."""
    faults = [Fault("ST013", "chip.yaml", line, 3, f"line {line} is wrong") for line in (4, 7, 9)]
    assert str(refuse(faults[:1])) == "chip.yaml:4:3: line 4 is wrong"
    assert str(refuse(faults[:2])) == "chip.yaml:4:3: line 4 is wrong (and 1 more in this file)"
    assert str(refuse(faults)) == "chip.yaml:4:3: line 4 is wrong (and 2 more in this file)"


def test_parameters_of_engines_are_declared_in_full():
    """A time may be up to 1,000 s in any file: only its own range finds a slip of its prefix."""
    for name, one in PARAMETERS.items():
        limit = one.reader.limit
        assert one.reader.kind != "time" or one.plausible is not None, name
        assert one.plausible is None or all(end in limit for end in one.plausible), name
        assert one.neutral in limit or one.neutral == inf, name
        assert re.fullmatch(r"[A-Z0-9].*\.", one.meaning), name


def test_the_promised_entries_are_there(catalogue):
    assert set(catalogue.names("hardware")) >= {
        "h100-sxm", "h200-sxm", "a100-sxm-80gb", "b200", "gb200", "mi300x", "wse-3",
    }  # fmt: skip
    assert set(catalogue.names("models")) >= {
        "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "gpt-oss-20b", "gpt-oss-120b", "qwen3-32b",
        "qwen3-235b-a22b", "glm-4.7", "deepseek-r1", "kimi-k2", "mixtral-8x7b",
    }  # fmt: skip
    assert set(catalogue.names("engines")) >= {"ideal", "vllm", "cerebras"}


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("gpt-oss-120b", 65.248815744),
        ("gpt-oss-20b", 13.761264768),
        ("deepseek-r1", 673.150428371),
        ("llama-3.1-70b", 141.107412992),
    ],
)
def test_native_weight_bytes(catalogue, name, gigabytes):
    """gpt-oss as its card lists it (60.8 GiB); DeepSeek with block scales and 16-bit ends."""
    assert workload(catalogue.model(name)).weight_bytes / 1e9 == pytest.approx(gigabytes, rel=1e-6)


@pytest.mark.parametrize(
    ("weights", "bits"),
    [
        ("bf16", 16),
        ("fp8", 8 + 32 / 16384),
        ("mxfp8", 8.25),
        ("mxfp4", 4.25),
        ("nvfp4", 4.5),
        ("int8", 8),
    ],
)
def test_embedding_and_head_stay_at_16_bits(catalogue, weights, bits):
    model = catalogue.model("llama-3.1-8b")
    work = workload(model, weights)
    table, norms = 128_256 * 4096, 65 * 4096
    matrices = work.total_parameters - 2 * table - norms
    assert work.weight_bytes == pytest.approx(matrices * bits / 8 + (2 * table + norms) * 2)


@pytest.mark.parametrize(
    ("chip", "rate"), [("b200", (4500e12, 8, False)), ("h100-sxm", (989.5e12, 16, True))]
)
def test_eight_bits_with_shared_scales_multiply_in_fp8_where_units_take_scales(
    catalogue, chip, rate
):
    """Those that have 4 bits take scales of blocks. The data sheets' dense peaks, without sparsity."""
    assert working_rate(catalogue.hardware(chip), number_format("mxfp8")) == rate


@pytest.mark.parametrize(("weights", "bits", "head"), [("q8_0", 8.5, 8.5), ("q4_0", 4.5, 6.5625)])
def test_whole_files_quantize_the_embedding_too(catalogue, weights, bits, head):
    """Files of Q4_0 have their head in Q6_K."""
    work = workload(catalogue.model("llama-3.1-8b"), weights)
    norms, table = 65 * 4096, 128_256 * 4096
    others = work.total_parameters - norms - table
    assert work.weight_bytes == pytest.approx((others * bits + table * head) / 8 + norms * 2)


def test_mixed_formats_are_kept_unless_another_is_asked(catalogue):
    model = catalogue.model("gpt-oss-120b")
    assert workload(model).weight_format == "mxfp4"
    assert workload(model, "mxfp4").weight_bytes == workload(model).weight_bytes
    assert workload(model, "bf16").weight_bytes == pytest.approx(
        2 * workload(model).total_parameters
    )


H100 = (ROOT / "hardware" / "h100-sxm.yaml").read_text()
LLAMA = (ROOT / "models" / "llama-3.1-8b.yaml").read_text()


def broken(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


WRONG = {
    "empty": ("", r"h\.yaml:1:1: the file is empty"),
    "list": ("- a\n- b\n", r"h\.yaml:1:1: the file holds a list"),
    "scalar": ("hello", r"h\.yaml:1:1: the file holds a single value"),
    "duplicate": (H100 + "\nid: again\n", r"h\.yaml:\d+:1: 'id' is given twice \(first in line 2\)"),
    "misspelt": (
        broken(H100, "bandwidth: {value: 3.35", "bandwith: {value: 3.35"),
        r"h\.yaml:\d+:5: unknown key 'bandwith' in memory\[0\]; did you mean 'bandwidth'\?",
    ),
    "wrong unit": (
        broken(H100, "value: 3.35 TB/s", "value: 3.35 TB"),
        r"h\.yaml:\d+:24: memory\[0\]\.bandwidth: '3.35 TB' is a size, not a bandwidth: did you mean '3.35 TB/s'",
    ),
    "unknown unit": (
        broken(H100, "value: 3.35 TB/s", "value: 3.35 TBps"),
        r"'TBps' is not a unit of bandwidth that fastcalc knows: did you mean 'TB/s'",
    ),
    "no unit": (broken(H100, "value: 80 GiB", "value: 80"), r"80 has no unit: write for example '80 GB'"),
    "exponent": (
        broken(H100, "value: 989.5 TFLOP/s", "value: 1e12"),
        r"h\.yaml:\d+:17: YAML reads 1e12 as text or as another number",
    ),
    "quoted exponent": (
        broken(H100, "value: 989.5 TFLOP/s", 'value: "1e12"'),
        r"h\.yaml:\d+:17: peak\.bf16: 1e12 has no unit",
    ),
    "negative": (broken(H100, "value: 80 GiB", "value: -80 GiB"), r"must be finite and positive"),
    "zero": (broken(H100, "value: 80 GiB", "value: 0 GiB"), r"'0 GiB' is out of range: from 1000 to 1e\+18 B"),
    "missing": (broken(H100, "vendor: NVIDIA\n", ""), r"'vendor' is missing"),
    "tab": ("id: a\nmemory:\n\t- x: 1\n", r"h\.yaml:3:1: .*a tab cannot indent YAML"),
    "anchor": ("id: &a x\n", r"h\.yaml:1:5: anchors"),
    "octal": ("id: 010\n", r"h\.yaml:1:5: YAML reads 010"),
    "old boolean": ("id: no\n", r"h\.yaml:1:5: 'no' is a boolean"),
    "two documents": ("id: a\n---\nid: b\n", r"h\.yaml:2:1: a second document"),
    "deep": ("a: " + "[" * 100, r"nested more than 30 deep"),
    "many": ("a: [" + "1," * 20_000 + "]", r"more than 20,000 values"),  # and a key
    "no 16-bit rate": (
        re.sub(r"(?m)^  (bf16|fp16): .*\n", "", H100), r"peak needs the dense bf16 or fp16 rate"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_gets_a_sentence(tmp_path, case):
    text, sentence = WRONG[case]
    path = tmp_path / "h.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence) as error:
        load(path, Hardware)
    assert "\n" not in str(error.value)


def test_not_utf8_and_a_folder(tmp_path):
    path = tmp_path / "h.yaml"
    path.write_bytes(b"id: a\nname: \xff\n")
    with pytest.raises(InputError, match=r"h\.yaml:2:1: not UTF-8"):
        load(path, Hardware)
    with pytest.raises(InputError, match="is a folder"):
        load(tmp_path, Hardware)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("kv_heads: 8", "kv_heads: 7", r"kv_heads 7 does not divide heads 32"),
        ("kind: gqa", "kind: gqb", r"'gqb' is not a blocks\[0\]\.attention"),
        ("hidden_size: 4096", "hidden_size: 0", r"hidden_size: 0 is out of range"),
        ("count: 32", "count: true", r"blocks\[0\]\.count: 'True' should be a whole number"),
        ("weight_format: bf16", "weight_format: bf17", r"'bf17' is not a weight format .* 'bf16'"),
        ("hidden_size: 4096\n", "", r"hidden_size missing: a model needs"),
        ("kv_format: bf16", "kv_format: q6_k", r"'q6_k' is not one that a KV cache has"),
    ],
)
def test_a_wrong_model_gets_a_sentence(tmp_path, old, new, sentence):
    path = tmp_path / "m.yaml"
    path.write_text(broken(LLAMA, old, new))
    with pytest.raises(InputError, match=sentence):
        load(path, Model)


def test_blocks_with_other_numbers_of_experts_are_refused(tmp_path):
    moe = "  - count: 1\n    attention: {kind: mha, heads: 8, head_dim: 64}\n    ffn: {kind: moe, experts: %d, active_experts: 1, width: 256}\n"
    path = tmp_path / "m.yaml"
    path.write_text(
        "id: m\nname: M\nweight_format: bf16\nhidden_size: 512\nvocabulary: 1000\nblocks:\n"
        + moe % 8
        + moe % 64
    )
    with pytest.raises(InputError, match="need the same experts"):
        load(path, Model)


def test_bare_numbers_load_without_provenance(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "id: mine\nname: Mine\nvendor: Me\nkind: gpu\nscope: one card\n"
        "memory:\n  - {name: HBM, capacity: 64 GB, bandwidth: 2 TB/s}\n"
        "peak: {bf16: 500 TFLOP/s}\n"
    )
    chip = load(path, Hardware)
    assert chip.memory[0].bandwidth.si == 2e12
    assert chip.memory[0].bandwidth.source is None


def test_own_folders_come_first_and_aliases_are_found(tmp_path):
    (tmp_path / "h100-sxm.yaml").write_text(broken(H100, "3.35 TB/s", "5 TB/s"))
    own = Catalogue({"hardware": (tmp_path,)})
    assert own.hardware("h100-sxm").memory[0].bandwidth.si == 5e12
    assert Catalogue().hardware("H100").id == "h100-sxm"
    assert Catalogue().model("deepseek-v3").id == "deepseek-r1"


def test_only_the_files_needed_are_read(monkeypatch):
    opened = []
    monkeypatch.setattr(
        "fastcalc.catalogue.store.read", lambda path: opened.append(Path(path).name) or read(path)
    )
    Catalogue().hardware("gb200")
    Catalogue().model("glm-4.7")
    assert opened == ["gb200.yaml", "glm-4.7.yaml"]


PEAKS = {"bf16": 100, "fp8": 200, "int8": 300, "fp6": 400, "fp4": 500, "int4": 600}


@pytest.mark.parametrize(
    ("stored", "fastest"),
    [
        ("fp32", 100),
        ("bf16", 100),
        ("fp8", 300),
        ("int8", 300),
        # Six bits hold no weight of eight, and hold one of six.
        ("fp6", 400),
        ("q6_k", 400),
        ("q8_0", 300),
        ("q5_k_m", 400),
        ("nvfp4", 600),
        ("exl2-2.5bpw", 600),
    ],
)
def test_no_rate_of_fewer_bits_than_the_weights_have_bounds_them(stored, fastest):
    """A made-up chip whose narrower units are faster: 100 to 600 TFLOP/s."""
    chip = made_up.chip(peak={name: f"{rate} TFLOP/s" for name, rate in PEAKS.items()})
    assert fastest_rate(chip, number_format(stored)) == fastest * 1e12


@pytest.mark.parametrize(
    ("name", "block_bytes", "weights"),
    [
        # ggml-common.h: the bytes of a block of each type, and the weights that it holds.
        ("q8_0", 2 + 32, 32),
        ("q4_0", 2 + 16, 32),
        ("q6_k", 128 + 64 + 16 + 2, 256),
        ("gguf-iq4_xs", 2 + 2 + 4 + 128, 256),
        ("gguf-iq3_xxs", 2 + 96, 256),
        ("gguf-iq2_xxs", 2 + 64, 256),
        # The OCP Microscaling specification 1.0: an 8-bit scale for 32 values.
        ("mxfp8", 32 + 1, 32),
        ("mxfp4", 16 + 1, 32),
        # NVFP4: an 8-bit scale for 16 values.
        ("nvfp4", 8 + 1, 16),
        # Groups of 32 with a 16-bit scale; groups of 128 with one of 16 bits and a zero of 4.
        ("int4", 16 + 2, 32),
        ("int4-g32", 16 + 2, 32),
        ("gptq-int4-g128", 64 + 2.5, 128),
        ("awq-int4-g128", 64 + 2.5, 128),
        # DeepSeek-V3: a 32-bit scale for a block of 128 x 128.
        ("fp8", 128 * 128 + 4, 128 * 128),
        ("int8", 1, 1),
        ("fp6", 3, 4),
        ("bf16", 2, 1),
        ("fp16", 2, 1),
        ("fp32", 4, 1),
    ],
)
def test_bits_of_a_weight_with_its_share_of_scales(name, block_bytes, weights):
    assert number_format(name).bits == block_bytes * 8 / weights


@pytest.mark.parametrize(("name", "bits"), [("q5_k_m", 5.7036), ("q4_k_m", 4.8944)])
def test_mixtures_have_the_average_of_a_file(name, bits):
    """As llama.cpp's table of quantizations prints for them."""
    assert number_format(name).bits == bits


def test_a_file_is_parsed_once_and_read_each_time(tmp_path):
    """Rewritten with as many letters in the same instant it is another file all the same."""
    path = tmp_path / "mine.yaml"
    text = (shipped_folder("engines") / "groq.yaml").read_text().replace("id: groq", "id: mine")
    path.write_text(text)
    before = Catalogue().engine(str(path))
    assert Catalogue().engine(str(path)) is before
    state = path.stat()
    path.write_text(text.replace("name: Groq", "name: Gruq"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    assert Catalogue().engine(str(path)).name.startswith("Gruq")


@pytest.mark.parametrize("name", ["wse-3", "mine"])
def test_what_a_change_or_a_child_makes_of_an_entry_leaves_the_entry_alone(tmp_path, name):
    (tmp_path / "mine.yaml").write_text("id: mine\nextends: wse-3\n")
    own = {"hardware": (tmp_path,)}
    before = Catalogue(own).hardware(name)
    assert Catalogue(own).hardware(name) == before
    changes = (change("memory.SRAM.capacity=60 GB"),)
    assert Catalogue(own, changes).hardware(name).memory[0].capacity.si == 60e9
    assert Catalogue(own).hardware(name) == before
    assert before.memory[0].capacity.si == 44e9
    assert not before.what_if
