"""Entries by what differs: `extends` in a file, `--set` on the command line."""

import json
import shlex
from contextlib import suppress

import pytest
from pydantic import BaseModel

from fastcalc.catalogue.difference import change, changed
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.kinds import SCHEMAS
from fastcalc.catalogue.reader import read
from fastcalc.catalogue.schema import Quantity
from fastcalc.catalogue.store import Catalogue
from fastcalc.catalogue.units import dimension_of
from fastcalc.catalogue.validation import dotted
from fastcalc.errors import InputError
from fastcalc.features.entries.records import quantities
from fastcalc.features.entries.run import find
from tests.helpers import run as run_here

BIGGER = """id: bigger
name: A wafer with more memory
extends: wse-3
memory:
  - name: SRAM
    capacity: 60 GB
  - name: DRAM
    where: package
    capacity: 1 TB
    bandwidth: 1 TB/s
price: {cloud: 45 USD/h}
"""


@pytest.fixture
def run(capsys, monkeypatch):
    return lambda *args: run_here(*args, capsys=capsys, monkeypatch=monkeypatch)


@pytest.fixture
def own(tmp_path):
    def write(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        return Catalogue({"hardware": (tmp_path,), "models": (tmp_path,)})

    return write


def test_what_is_left_out_is_the_other_entrys(own, catalogue):
    base, bigger = catalogue.hardware("wse-3"), own(bigger=BIGGER).hardware("bigger")
    assert [one.name for one in bigger.memory] == ["SRAM", "DRAM"]
    assert bigger.memory[0].capacity.si == 60e9
    assert bigger.memory[0].bandwidth == base.memory[0].bandwidth
    assert (bigger.price.cloud.si, bigger.price.cloud.date) == (45, None)  # a number goes whole
    assert bigger.price.purchase == base.price.purchase
    assert (bigger.aliases, bigger.kind, bigger.peak) == ([], "wafer", base.peak)


def test_entries_extend_in_turn_and_models_do_too(own, catalogue):
    further = "id: further\nname: Further\nextends: bigger\npower: {chip: 30 kW}\n"
    found = own(bigger=BIGGER, further=further).hardware("further")
    assert (found.memory[0].capacity.si, found.power.chip.si) == (60e9, 30e3)
    text = "id: mine\nname: Mine\nextends: llama-3.1-8b\nweight_format: fp8\n"
    assert own(mine=text).model("mine").blocks == catalogue.model("llama-3.1-8b").blocks


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("extends: wse-33\n", "bad.yaml:3:10: no hardware is called 'wse-33'; did you mean wse-3"),
        ("extends: bad\n", "bad.yaml:3:10: entries extend each other in a circle: bad -> bad"),
        ("extends: 7\n", "bad.yaml:3:10: no hardware is called '7'"),
        (
            "extends: wse-3\nmemory:\n  - {name: SRAM, capacity: 60}\n",
            "bad.yaml:5:28: memory[0].capacity: 60 has no unit",
        ),
        (  # the second of the base, the first of this file
            "extends: sn40l\nmemory:\n  - {name: new, bandwidth: 1 TB/s}\n",
            "is missing",
        ),
    ],
)
def test_a_fault_stands_where_the_file_has_it(own, text, sentence):
    with pytest.raises(InputError) as refused:
        own(bad=f"id: bad\nname: Bad\n{text}").hardware("bad")
    assert sentence in str(refused.value)


def test_check_reads_the_whole_and_places_what_it_finds(run, tmp_path):
    (tmp_path / "bigger.yaml").write_text(BIGGER)
    found = json.loads(run("check", "--format", "json", str(tmp_path)).out)
    assert {fault["rule"] for fault in found["faults"]} <= {"PV001", "HW076"}
    (tmp_path / "bigger.yaml").write_text(BIGGER.replace("wse-3", "wse-33"))
    shown = run("check", str(tmp_path))
    assert (shown.code, "bigger.yaml:3:10: error ST023" in shown.out) == (1, True)


def test_a_what_if_is_said_and_repeated(run):
    asked = "compare llama-3.1-8b --on h100-sxm,wse-3 --set memory.sram.capacity=10GB --batch 1"
    records = json.loads(run(*asked.split(), "--format", "json").out)["records"]
    gpu, wafer = records
    # 8.03e9 weights of two bytes and a tenth reserved: one wafer holds 9 GB, so two are needed.
    assert (gpu["chips"], wafer["chips"]) == (1, 2)
    sentence = "what if: memory.sram.capacity of wse-3 is 10GB, where its file says 44 GB"
    assert (sentence in gpu["warnings"], sentence in wafer["warnings"]) == (False, True)
    shown = run(*asked.split()).out
    assert sentence.replace("what", "What") in " ".join(shown.split())
    plan = run("plan", "llama-3.1-8b", "--on", "h100-sxm", "--set", "memory.HBM3.capacity=90GB")
    line = next(one for one in plan.out.splitlines() if one.startswith("next:"))
    again = shlex.split(plan.out[plan.out.index(line) :].removeprefix("next: fastcalc"))
    assert "memory.HBM3.capacity=90GB" in again
    assert run(*again).code == 0


def test_a_what_if_may_be_of_one_chip_of_several(catalogue):
    changes = (change("h200-sxm:power.chip=900 W"),)
    chips = Catalogue(changes=changes)
    assert chips.hardware("h200-sxm").power.chip.si == 900
    assert chips.hardware("h100-sxm").power == catalogue.hardware("h100-sxm").power


def _leaves(data, path=()):
    """Yield the path and the value of each number of a file, as written."""
    if isinstance(data, dict) and "value" not in data:
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _leaves(value, (*path, index))
    elif isinstance(data, dict):
        yield path, data["value"]
        for index, end in enumerate(data.get("band", ())):
            yield (*path, "band", index), end
    elif isinstance(data, str) and data[:1].isdigit():
        with suppress(InputError):
            dimension_of(data)
            yield path, data
    elif isinstance(data, (int, float)) and not isinstance(data, bool):
        yield path, data


def _numbers_alone(entry):
    """An entry without what is said of its numbers, which goes with the number."""
    if isinstance(entry, Quantity):
        return entry.si
    if isinstance(entry, BaseModel):
        return {name: _numbers_alone(value) for name, value in entry}
    if isinstance(entry, dict):
        return {name: _numbers_alone(value) for name, value in entry.items()}
    return [_numbers_alone(value) for value in entry] if isinstance(entry, list) else entry


@pytest.mark.thorough
@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_number_of_every_file_is_reached_by_the_path_that_errors_print(catalogue, kind):
    """Set to its own value it changes nothing; of each key one file is read as an entry, too."""
    kinds = set()
    for name in catalogue.names(kind):
        document = read(shipped_folder(kind) / f"{name}.yaml")
        for path, value in _leaves(document.data):
            what_if = change(f"{name}:{dotted(path)}={_plainly(value)}")
            assert what_if.fits([name])
            reached, _ = changed(document, what_if)
            assert _at(reached.data, path) == value, what_if.written
            place = tuple("[]" if isinstance(step, int) else step for step in path)
            if place in kinds:
                continue
            kinds.add(place)
            load = {"hardware": "hardware", "models": "model", "engines": "engine"}[kind]
            before = getattr(catalogue, load)(name)
            after = getattr(Catalogue(changes=(what_if,)), load)(name)
            assert list(after.what_if) == [what_if.written]
            if "band" not in path:  # said of a number, and reached all the same
                assert _numbers_alone(after) == _numbers_alone(before), what_if.written
    assert len(kinds) > 25


def _plainly(value):
    return f"{value:.12f}" if "e-" in repr(value) else value


def _at(data, path):
    for step in path:
        data = data[step]
    return data


@pytest.mark.parametrize("name", ["h100-sxm", "gpu", "grace-480gb"])
def test_every_path_that_show_prints_is_one_that_a_what_if_takes(run, catalogue, name):
    entry = find(catalogue, name)
    shown = run("show", name).out.replace("architectures.", "").split()
    numbers = quantities(entry).items()
    assert len(numbers) > 4
    for path, number in numbers:
        assert {path, f"{path.removeprefix('architectures.')}:"} & set(shown)
        with_it = find(Catalogue(changes=(change(f"{path}={number.text}"),)), name)
        assert _numbers_alone(with_it) == _numbers_alone(entry)
    assert "blocks[1].ffn " in run("show", "deepseek-r1").out


def test_files_name_what_they_change_as_a_what_if_does(own, catalogue):
    """A mapping over a list: by name, as memory has, or by position, as blocks have."""
    memory = "memory: {SRAM: {capacity: 60 GB}, DRAM: {capacity: 1 TB, bandwidth: 1 TB/s}}\n"
    chip = own(mine=f"id: mine\nextends: wse-3\n{memory}").hardware("mine")
    base = catalogue.hardware("wse-3").memory[0]
    assert [(one.name, one.capacity.si) for one in chip.memory] == [("SRAM", 60e9), ("DRAM", 1e12)]
    assert chip.memory[0].bandwidth == base.bandwidth
    blocks = "blocks: {1: {ffn: {active_experts: 4}}}\n"
    model = own(few=f"id: few\nextends: deepseek-r1\n{blocks}").model("few")
    other = catalogue.model("deepseek-r1")
    assert model.blocks[0] == other.blocks[0]
    assert (model.blocks[1].ffn.active_experts, other.blocks[1].ffn.active_experts) == (4, 8)
    alone = "id: alone\nname: A\nvendor: V\nkind: gpu\nscope: one card\npeak: {bf16: 500 TFLOP/s}\n"
    text = f"{alone}memory: {{HBM: {{capacity: 64 GiB, bandwidth: 2 TB/s}}}}\n"
    assert own(alone=text).hardware("alone").memory[0].name == "HBM"
    with pytest.raises(
        InputError, match=r"alone\.yaml:7:26: memory\[0\]\.capacity: 64 has no unit"
    ):
        own(alone=text.replace("64 GiB", "64")).hardware("alone")
    with pytest.raises(InputError, match=r"few\.yaml:3:9: blocks: 'a mapping' should be a list"):
        own(few=f"id: few\nextends: deepseek-r1\n{blocks.replace('1:', '7:')}").model("few")


def test_an_id_with_dots_and_an_engine_can_be_named(run):
    asked = ("compare", "llama-3.2-3b", "--on", "a100-sxm-80gb", "--format", "json", "--batch", "1")
    changes = {
        "llama-3.2-3b:vocabulary=1000": "what if: vocabulary of llama-3.2-3b is 1000",
        "vllm:parameters.bandwidth_fraction=0.5": "ampere has its own under architectures",
        "architectures.ampere.bandwidth_fraction=0.39": "vllm is 0.39, where its file says",
    }
    (before,) = json.loads(run(*asked).out)["records"]
    for written, says in changes.items():
        (after,) = json.loads(run(*asked, "--set", written).out)["records"]
        assert any(says in warning for warning in after["warnings"])
        is_moved = "parameters" not in written
        assert (after["tokens_per_s_per_user"] != before["tokens_per_s_per_user"]) is is_moved


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("blocks[9].count=3", "no model in this request has that key"),
        ("blocks.1.2.3=3", "no model in this request has that key"),
        (f"blocks[{'9' * 5000}].count=3", "no model in this request has that key"),
        ("sglang:parameters.rank_wait=1 us", "no engine in this request has that key"),
        ("parameters=3", "parameters: '3' should be a mapping"),
        ("parameters.rank_wait=1", "1 has no unit"),
        ("extends=wse-3", "'extends' says which file it is"),
        ("capacity", "is not PATH=VALUE"),
        ("memori.SRAM.capacity=1GB", "no file has a key 'memori'; did you mean 'memory'?"),
        ("efficency=0.5", "no file has a key 'efficency'; 'fastcalc show' prints an entry's keys"),
        ("bandwith=1TB/s", "did you mean 'memory.NAME.bandwidth'?"),
        ("memory_fraction=0.9", "did you mean 'parameters.memory_fraction'?"),
        ("memory.SRM.capacity=1GB", "no hardware in this request has that key"),
        ("b200:memory.HBM3.capacity=1GB", "has that key and is called b200"),
        ("memory.HBM3.capacity=10", "memory[0].capacity: 10 has no unit"),
        ("memory.HBM3.size=10GB", "unknown key 'size' in memory[0]"),
        ("blocks=3", "should be a list"),
        ("id=other", "'id' says which file it is"),
        ("vllm:id=other", "'id' says which file it is"),
    ],
)
def test_a_what_if_that_cannot_be_is_refused(run, written, sentence):
    shown = run("compare", "llama-3.1-8b", "--on", "h100-sxm", "--set", written)
    assert (shown.code, shown.out) == (2, "")
    assert sentence in " ".join(shown.err.split())


@pytest.mark.parametrize(
    ("kind", "written", "sentence"),
    [
        ("models", "hidden_size=0", "--set hidden_size=0: hidden_size: 0 is out of range"),
        ("hardware", "memory.SRM.capacity=1GB", "no hardware in this request has that key"),
    ],
)
def test_a_list_that_a_what_if_leaves_empty_or_untouched_is_refused(run, kind, written, sentence):
    shown = run("list", kind, "--set", written)
    assert (shown.code, shown.out) == (2, "")
    assert sentence in " ".join(shown.err.split())
    assert shown.err.count("\n") <= 2  # once, not once for each entry


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--batch", "3,000"], "write 3000, 3_000 or 3k"),
        (["--batch", "1-8"], "1..8 for a range"),
        (["--prompt", "3,000"], "write for example 3000"),
        (["--utilization", "half"], "is not a share; write for example 0.5 or 50%"),
    ],
)
def test_numbers_that_can_be_read_two_ways_get_a_hint(run, words, sentence):
    shown = run("compare", *words)
    assert shown.code == 2
    assert sentence in " ".join(shown.err.split())


def test_numbers_as_users_write_them(run):
    words = ["compare", "--on", "h100-sxm", "--format", "csv"]
    plain = run(*words, "--prompt", "3000", "--batch", "1000", "--utilization", "0.4").out
    assert run(*words, "--prompt", "3_000", "--batch", "1_000", "--utilization", "40%").out == plain


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        ({"a": "extends: b\n", "b": "extends: a\n"}, "a -> b -> a"),
        ({"a": "extends: a\n"}, "a -> a"),
        ({"a": "id: a\naliases: [me]\nextends: me\n"}, "a -> a"),
    ],
)
@pytest.mark.parametrize("kind", ["hardware", "models"])
def test_a_circle_is_said_whatever_its_files_leave_out(run, own, tmp_path, files, circle, kind):
    own(**files)
    sentence = f"entries extend each other in a circle: {circle}"
    flag = ("--hardware-dir" if kind == "hardware" else "--models-dir", str(tmp_path))
    listed = run("list", kind, *flag)
    assert (listed.code, sentence in listed.err) == (1, True)
    assert ("h100-sxm" if kind == "hardware" else "llama-3.1-8b") in listed.out
    asked = ("compare", "llama-3.1-8b", "--on", "a") if kind == "hardware" else ("compare", "a")
    refused = run(*asked, *flag)
    assert (refused.code, sentence in " ".join(refused.err.split())) == (2, True)
    folder = tmp_path / kind  # its name says which kind files without another key are
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    assert run("check", str(folder)).code == 1


def test_an_entry_without_a_name_is_called_as_the_other_with_its_id(own):
    assert own(mine="id: mine\nextends: wse-3\n").hardware("mine").name == (
        "Cerebras WSE-3 (CS-3) (mine)"
    )
