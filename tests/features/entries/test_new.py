"""What a user writes a file with: skeletons, JSON Schema, diff, and names for the shell."""

import json
import re
import subprocess
import sys
from datetime import date
from functools import cache
from typing import get_args

import pytest

import fastcalc as fc
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.json_schema import as_text, json_schema, meanings
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.skeleton import skeleton
from fastcalc.catalogue.store import Catalogue, load
from fastcalc.errors import InputError
from fastcalc.features.check.lint import check
from fastcalc.features.entries import run as entries
from fastcalc.kit.request import offered
from tests.helpers import ROOT, every, loaded, run

KINDS = {"hardware": Hardware, "model": Model, "engine": Engine}
FOLDERS = {"hardware": "hardware", "models": "model", "engines": "engine"}
FILES = [
    (kind, path)
    for folder, kind in FOLDERS.items()
    for path in shipped_folder(folder).glob("*.yaml")
] + [("claims", ROOT / "evidence" / "claims.yaml")]

schema_of = cache(json_schema)


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


def filled_in(text):
    """Return a skeleton with every place-holder replaced by its example."""
    return re.sub(r'"FILL IN, e.g. ([^"]*)"', r"\1", text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_skeleton_checks_once_filled_in_and_not_before(kind, tmp_path):
    text = skeleton(kind, "my-part", date(2026, 11, 21))
    path = tmp_path / "my-part.yaml"
    path.write_text(text)
    found = check([path], today=date(2026, 11, 21)).faults
    assert {fault.rule for fault in found} == {"PV014"}
    assert len(found) == text.count('"FILL IN')
    path.write_text(filled_in(text))
    report = check([path], strict=True, today=date(2026, 11, 21))
    assert [str(fault) for fault in report.faults] == []
    assert load(path, KINDS[kind]).id == "my-part"


def test_the_commented_keys_of_a_skeleton_are_right_too(tmp_path):
    text = filled_in(skeleton("hardware", "my-part", date(2026, 11, 21)))
    opened = re.sub(r"(?m)^( *)# (?=( *)([a-z_]+\d*:|-) ?(\{|$))", r"\1", text).replace(
        "# fp4, int8", "#"
    )
    path = tmp_path / "my-part.yaml"
    path.write_text(
        opened.replace("notes:\n", "").replace('#   - "..."\n', "").replace("excused:\n", "")
    )
    report = check([path], today=date(2026, 11, 21))
    assert [str(fault) for fault in report.faults if fault.severity == "error"] == []
    assert load(path, Hardware).links.scale_up is not None


def test_new_and_schema(fastcalc, tmp_path):
    target = tmp_path / "my-chip.yaml"
    assert fastcalc("new", "hardware", "my-chip", "-o", target).code == 0
    assert target.read_text().startswith("# yaml-language-server: $schema=hardware.schema.json\n")
    assert "does not overwrite files" in fastcalc("new", "hardware", "my-chip", "-o", target).err
    assert "cannot be an id" in fastcalc("new", "hardware", "My Chip").err
    assert "did you mean 'hardware'" in fastcalc("new", "hardwear", "x").err
    assert json.loads(fastcalc("schema", "models").out)["title"] == "A fastcalc model file"
    assert fastcalc("schema", "chips").code == 2


def test_a_chip_runs_as_the_skeleton_says_of_its_kind_unless_it_says_otherwise(fastcalc):
    numbers = {"memory": [{"name": "SRAM", "capacity": "60 GB", "bandwidth": "20 PB/s"}]}
    chip = {"id": "x", "name": "X", "vendor": "Me", "scope": "one", "peak": {"bf16": "10 PFLOP/s"}}
    listed = dict(
        re.findall(r"#   (\w+) +(\w+) +[\d.,]+  \(", fastcalc("new", "hardware", "x").out)
    )
    assert listed.keys() == {*get_args(Hardware.model_fields["kind"].annotation)} - {"host"}
    for kind, execution in listed.items():
        assert fc.hardware(chip | numbers | {"kind": kind}).execution == execution
    other = {"kind": "wafer", "execution": "sequential"}
    assert fc.hardware(chip | numbers | other).execution == "sequential"
    with pytest.raises(fc.InputError, match="kind") as raised:
        fc.hardware(chip | numbers | {"kind": "waver"})
    assert len(raised.value.args) == 1


@pytest.mark.parametrize("kind", [*KINDS, "claims"])
def test_the_shipped_schemas_are_current(kind):
    """``python docs/schema/refresh.py`` writes them."""
    assert (ROOT / "docs" / "schema" / f"{kind}.schema.json").read_text() == as_text(kind)


@pytest.mark.thorough
@every("kind,path", FILES)
def test_shipped_files_name_their_schema_and_keep_to_it(kind, path):
    first, *_ = path.read_text().splitlines()
    relative = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / relative).resolve().name == f"{kind}.schema.json"
    schema = schema_of(kind)
    keeps_to(schema, loaded(path.read_text()), schema)


def keeps_to(schema, value, root, place="") -> None:
    """A validator of the few words of JSON Schema that are used, so that none is needed."""
    if "$ref" in schema:
        keeps_to(root["definitions"][schema["$ref"].rsplit("/", 1)[1]], value, root, place)
    for part in schema.get("allOf", ()):
        keeps_to(part, value, root, place)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            assert any(fits(part, value, root) for part in schema[word]), f"{place}: {value!r}"
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
    wanted = types.get(schema.get("type", ""))
    assert wanted is None or isinstance(value, wanted), f"{place}: {value!r} is no {wanted}"
    if schema.get("type") == "number":
        assert isinstance(value, (int, float)), place
    assert "enum" not in schema or value in schema["enum"], f"{place}: {value!r}"
    assert "const" not in schema or value == schema["const"], f"{place}: {value!r}"
    if "pattern" in schema and isinstance(value, str):
        assert re.search(schema["pattern"], value), f"{place}: {value!r}"
    assert schema.get("minimum", value) <= value if "minimum" in schema else True, place
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), place
        for key, one in value.items():
            known = schema.get("properties", {})
            if key in known:
                keeps_to(known[key], one, root, f"{place}.{key}")
            elif "properties" in schema:
                assert schema.get("additionalProperties") is not False, f"{place}.{key}"
            elif isinstance(schema.get("additionalProperties"), dict):
                keeps_to(schema["additionalProperties"], one, root, f"{place}.{key}")
    if isinstance(value, list) and "items" in schema:
        for number, one in enumerate(value):
            keeps_to(schema["items"], one, root, f"{place}[{number}]")


def fits(schema, value, root) -> bool:
    try:
        keeps_to(schema, value, root)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("value: 80 GiB", "value: 80"),
        ("value: 80 GiB", "value: 80 TB/s"),
        ("vendor:", "vendr:"),
        ("kind: gpu", "kind: gpus"),
        ("confidence: medium", "confidence: sure"),
        ("source: datasheet", "sorce: datasheet"),
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(old, new):
    text = (ROOT / "hardware" / "h100-sxm.yaml").read_text()
    assert old in text
    schema = schema_of("hardware")
    assert fits(schema, loaded(text), schema)
    assert not fits(schema, loaded(text.replace(old, new, 1)), schema)


@pytest.mark.parametrize("kind", KINDS)
def test_editors_ask_no_more_of_a_file_that_extends_than_its_id(kind):
    schema = schema_of(kind)
    assert fits(schema, {"id": "mine", "extends": "theirs"}, schema)
    assert not fits(schema, {"id": "mine"}, schema)


def test_every_key_of_a_chip_has_a_meaning():
    text = as_text("hardware")
    keys = set(re.findall(r'^ {4}"(\w+)": \{$', text, re.M)) & set(Hardware.model_fields)
    assert keys == set(Hardware.model_fields)
    assert set(Hardware.model_fields) <= set(meanings())
    assert set(Engine.model_fields) <= set(meanings())


def test_diff(fastcalc, tmp_path):
    ran = fastcalc("diff", "h100-sxm", "h200-sxm", "--format", "json")
    rows = {row["field"]: row for row in json.loads(ran.out)["records"]}
    assert rows["memory capacity"]["left"] == "80 GiB"
    assert rows["memory capacity"]["ratio"] == pytest.approx(141 / 80)
    assert rows["peak bf16"]["ratio"] == 1
    assert rows["area"]["right"] is None
    assert rows["area"]["ratio"] is None
    table = fastcalc("diff", "h100-sxm", "h200-sxm").out
    assert re.search(r"memory bandwidth +3.35 TB/s +4.8 TB/s +1.43", table)
    assert re.search(r"peak bf16 .* =\n", table)
    models = fastcalc("diff", "llama-3.1-8b", "llama-3.1-70b", "--format", "csv")
    assert "total parameters,8.030e" in models.out or "total parameters," in models.out
    layers = fastcalc("diff", "llama-3.1-8b", "llama-3.1-70b").out
    assert re.search(r"layers +32 +80 +2\.50\n", layers)
    assert "compare two of the same category" in fastcalc("diff", "h100-sxm", "vllm").err
    assert fastcalc("diff", "h100-sxm", "nothing-like-it").code == 2
    own = tmp_path / "h100-sxm.yaml"
    own.write_text(
        (ROOT / "hardware" / "h100-sxm.yaml").read_text().replace("3.35 TB/s", "6.7 TB/s")
    )
    assert re.search(r"memory bandwidth .* 2\.00", fastcalc("diff", "h100-sxm", own).out)


def test_the_shell_completes_names():
    assert offered.models("llama-3.1-8") == ["llama-3.1-8b"]
    assert offered.hardware("h100-sxm,wse-") == [
        f"h100-sxm,{name}" for name in Catalogue().names("hardware") if name.startswith("wse-")
    ]
    assert "vllm" in offered.engines("")
    assert offered.formats("bf16,nvf") == ["bf16,nvfp4"]
    assert offered.hosts("ddr5-2") == ["ddr5-2ch", "ddr5-2ch-nvme"]
    assert "h100-sxm" in offered.anything("h100")


def test_own_folders_are_completed(monkeypatch, tmp_path):
    (tmp_path / "h199.yaml").write_text("")
    monkeypatch.setenv("FASTCALC_HARDWARE_DIR", str(tmp_path))
    assert offered.hardware("h19") == ["h199"]


COMPLETED = {
    "fastcalc compare llama-3.1-8": "llama-3.1-8b",
    "fastcalc compare --on h100-sxm,gb2": "h100-sxm,gb200",
    "fastcalc compare --engine vl": "vllm",
    "fastcalc show wse-": "wse-3",
    "fastcalc diff h100-sxm h200": "h200-sxm",
    "fastcalc list har": "hardware",
    "fastcalc compare --format mark": "markdown",
    "fastcalc compare --weights mxfp": "mxfp4",
    "fastcalc fit --host ddr5-4": "ddr5-4ch",
    "fastcalc plan glm-4.7 --objective wa": "watts",
    "fastcalc plan glm-4.7 --price-basis t": "tco",
    "fastcalc new eng": "engine",
}
ASK_EACH = """
import os, sys
import typer  # once for all
from fastcalc.cli import main
words, sys.argv = sys.argv[1:], ["fastcalc"]
for asked in words:
    if not os.fork():
        os.environ |= {"COMP_WORDS": asked, "COMP_CWORD": str(len(asked.split()) - 1)}
        try:
            main()
        finally:
            heavy = {"numpy", "yaml", "fastcalc.catalogue.schema"} & set(sys.modules)
            assert not heavy, (asked, heavy)
    assert os.wait()[1] == 0, asked
    print("--", flush=True)
"""


@pytest.mark.thorough
def test_completion_through_the_shell_reads_file_names_only():
    """As bash asks: by the environment; numpy, yaml and our own use of pydantic stay out."""
    ran = subprocess.run(
        [sys.executable, "-c", ASK_EACH, *COMPLETED],
        env={"PATH": "", "PYTHONPATH": str(ROOT), "_FASTCALC_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    answers = ran.stdout.split("--\n")
    for (asked, found), answer in zip(COMPLETED.items(), answers, strict=False):
        assert found in answer.split(), asked
    assert len(answers) == len(COMPLETED) + 1


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("power: 25 kW", "write {chip: 25 kW}"),
        ("price: 3 USD/h", "write {cloud: 3 USD/h}"),
        ("price: 9000 USD", "write {purchase: 9000 USD}"),
        ("links: 900 GB/s", "write {scale_up: {bandwidth: 900 GB/s}}"),
        ("fabric: 1 PB/s", "write {bandwidth: 1 PB/s}"),
    ],
)
def test_a_number_in_place_of_a_mapping_says_where_it_goes(line, instead, fastcalc, tmp_path):
    path = tmp_path / "my-chip.yaml"
    path.write_text(
        "id: my-chip\nname: Mine\nvendor: Me\nkind: gpu\nscope: one\n"
        "memory: [{name: HBM, capacity: 64 GiB, bandwidth: 2 TB/s}]\n"
        f"peak: {{bf16: 500 TFLOP/s}}\n{line}\n"
    )
    assert instead in fastcalc("show", path).err


def test_a_new_chip_is_asked_what_decides(fastcalc, tmp_path):
    """The speeds of the comments are those of the same numbers in a file of each kind."""
    text = fastcalc("new", "hardware", "my-chip").out
    for kind in ("gpu", "npu", "wafer"):
        stated = re.search(rf"(?m)^#   {kind} +(\w+) +([\d,]+)  \(engine (\w+)", text)
        path = tmp_path / "my-chip.yaml"
        path.write_text(
            f"id: my-chip\nname: Mine\nvendor: Me\nkind: {kind}\nexecution: {stated[1]}\nscope: x\n"
            "memory: [{name: SRAM, capacity: 60 GB, bandwidth: 20 PB/s}]\n"
            "peak: {bf16: 10 PFLOP/s}\n"
        )
        asked = ("compare", "llama-3.1-8b", "--on", path, "--batch", 1, "--format", "json")
        (record,) = json.loads(fastcalc(*asked).out)["records"]
        assert record["engine"] == stated[3]
        assert record["tokens_per_s_per_user"] == pytest.approx(
            float(stated[2].replace(",", "")), rel=0.01
        )
    assert "Without links, only deployments on one chip are computed" in text


def test_names_of_elsewhere_are_answered_with_those_of_here(fastcalc):
    assert "did you mean claude-opus" in fastcalc("compare", "claude-opus-4.5").err
    assert "write --format json" in fastcalc("compare", "--json").err


def test_show_lists_what_stands_in_for_numbers_left_out(fastcalc, tmp_path):
    """500 TFLOP/s at 2.511 a core are 200; medians of GPUs that state them: 51 TFLOP/s, domains of 8."""
    path = tmp_path / "my-chip.yaml"
    path.write_text(
        "id: my-chip\nname: Mine\nvendor: Me\nkind: gpu\nscope: one\n"
        "memory: [{name: HBM, capacity: 64 GiB, bandwidth: 2 TB/s}]\n"
        "peak: {bf16: 500 TFLOP/s}\nlinks: {scale_up: {bandwidth: 450 GB/s}}\n"
    )
    rows = [line.split()[:2] for line in fastcalc("show", path).out.splitlines()]
    assert ["cores", "200"] in rows
    assert ["vector", "51"] in rows
    assert ["links.scale_up.domain", "8"] in rows
    assert "left out" not in fastcalc("show", "h100-sxm").out


def test_an_entry_stands_for_itself_and_a_name_for_its_entry(tmp_path):
    catalogue = Catalogue()
    chip = catalogue.hardware("l40s")
    assert entries.find(catalogue, chip) is chip
    assert entries.find(catalogue, "l40s").id == "l40s"
    assert entries.find(catalogue, "vllm").id == "vllm"
    for name, sentence in (
        (f"{tmp_path}/a.yaml", "a.yaml: there is no such file"),
        ("l40t", "nothing is called 'l40t'; did you mean l40"),
    ):
        with pytest.raises(InputError, match=sentence):
            entries.find(catalogue, name)


@pytest.mark.parametrize("name", ["moonshotai/Kimi-K2-Thinking", "Qwen/Qwen3-32B-AWQ"])
def test_show_takes_the_names_of_repositories_that_compare_takes(fastcalc, name):
    shown, known = fastcalc("show", name), fastcalc("show", name.split("/")[1].removesuffix("-AWQ"))
    assert shown.code == known.code == 0
    assert shown.out.splitlines()[0] == known.out.splitlines()[0]
    assert "is computed as qwen3-32b" in shown.err or "AWQ" not in name
