"""The check: every rule fires, the catalogue is clean, and people and programs can read it."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import date

import pytest

from benchmarks.blind_mutations import drawn, leaves
from fastcalc.catalogue.faults import Fault
from fastcalc.catalogue.kinds import kind_of
from fastcalc.catalogue.reader import scan
from fastcalc.features.check import silicon
from fastcalc.features.check.lint import Report, check, check_document
from fastcalc.features.check.policy import Policy
from fastcalc.features.check.rule import RULES, RuleContext
from tests.helpers import ROOT, every, run, thorough
from tests.rule_examples import EXAMPLES, H100, child, h100, put, value

TODAY = date(2026, 11, 21)
SETTINGS = {
    strict: RuleContext(TODAY, strict) for strict in (False, True)
}  # list the catalogue once
AT_SET_LEVEL = {"ST001", "ST020"}  # a file that cannot be opened, two files of one name


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


def faults(tmp_path, name, text, *, strict=False) -> list[Fault]:
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    document = scan(path)
    return list(check_document(document, kind_of(document), SETTINGS[strict]))


def test_there_are_rules_and_each_says_what_it_is():
    assert len(RULES) >= 40
    for rule in RULES.values():
        assert list(rule.explanation) == ["why", "seen", "fix"], rule.id
        for text in (rule.title, *rule.explanation.values()):
            assert len(text) >= 10, rule.id
        assert not rule.title.endswith(".")
        assert rule.explanation["why"].endswith((".", "?"))


def test_every_row_of_the_tables_of_silicon_has_a_source():
    tables = silicon.tables()
    used = {
        row["source"]
        for name, rows in tables.items()
        if name != "sources"
        for row in (rows.values() if isinstance(rows, dict) else rows)
    }
    assert used == set(tables["sources"])


# What a message computes, worked by hand from the numbers of the example.
WORKED = {
    "HW001": "is 4 times the bf16 rate 989.5 TFLOP/s; on known chips this ratio is 2;",
    "HW002": "is 4 times the fp8 rate 4500 TFLOP/s; on known chips this ratio is 2 or 3 or 3.11;",
    "HW003": "is 8 times the bf16 rate 989.5 TFLOP/s; on known chips this ratio is 1 or 2;",
    "HW004": "is 2 times the fp8 rate 1979 TFLOP/s; on known chips this ratio is 1;",
    "HW007": "is 0.455 times the int8 rate",  # 900 / 1,979
    # 1,979e12 and 134e12 over 132 cores of 4,096 and 256 FLOP a cycle
    "HW008": "over 132 cores at 4,096 FLOP per cycle is a clock of 3.66 GHz",
    "HW009": "over 132 cores at 256 FLOP per cycle is a clock of 3.97 GHz",
    # 989.5 / 134; 0.7 and 1.3 times 4,096 / 256
    "HW010": "is 7.38 times the vector rate 134 TFLOP/s; chips of this kind have 11.2 to 20.8;",
    "HW011": "is 0.295 FLOP per byte",  # 989.5e12 / 3.35e15
    "HW013": "is 2.83 TFLOP/s per watt; chips released up to then reach 2.6 ",  # 1,979 / 700
    "HW023": "takes 0.205 s to read once; such memory takes 16.5 ms to 52 ms;",  # 687.2 / 3,350
    "HW025": "80 GB is 74.5 GiB",
    "HW027": "440 GB is 9.52 MB per mm2",  # over 46,225 mm2
    "HW029": "is 47.9 GB/s per watt",  # 3,350 / 70
    "HW041": "is 2 times the 450 GB/s",
    "HW042": "is 2.1 times the memory bandwidth (3.35 TB/s)",  # 7.2 / 3.35
    "HW044": "'400 Gb/s' (bits) would be 50 GB/s",
    "HW062": "is 0.5 times the chip's 700 W",
    "HW064": "on 814 mm2 is 511 million per mm2; chips made by then have 10 to 180",  # 416e9 / 814
    "HW065": "on 100 mm2 is 7 W per mm2",
    "HW067": "is 88 hours of 2.95 USD/h",  # 260 / 2.95
    "HW068": "is 1,164 USD per GB",  # 100,000 / 85.9
    "HW032": "is outside 15.1 to 63 GB/s",  # 0.24 of 63
    "HW071": "is 4.59 times the others' median 3.99 USD/h",  # 18.32 / 3.99
    "HW072": "is 7.04 USD/h for each TB/s",  # 23.6 / 3.35
    "PV009": "is 1.05 times the 3.35 TB/s",
    "PV010": "that gives 989.5 TFLOP/s",
    "MD005": "8,231,587,840 parameters, the checkpoint has 8,030,261,248: +2.5%",
    "MD006": "the shape has 8.232B parameters, the published number is 8.03B: +2.5%;",
    # Four experts rather than two, of 176 million parameters in each of 32 layers, more
    "MD007": "12.9B active are published; the shape has 24.15B / 24.02B / 23.89B ",
    "MD010": "width 143360 is 35 of hidden_size 4096; dense layers have 0.25 to 26.0",
    "MD020": "the checkpoint has 60.8 GiB: +2.6e+02%",  # 233.7 GB of 65.3
    "MD022": "2,304 parameters more than the shape has",  # 128 experts in 18 of 36 layers
    "EN001": "is outside its own band of 28 us to 90 us",
    "EN006": "is outside 28 us to 90 us, the band of gpu",
}


@every("rule,words", WORKED.items())
def test_a_message_has_its_numbers(found_in_examples, rule, words):
    assert any(words in fault.message for fault in found_in_examples[rule] if fault.rule == rule)


def test_faults_of_structure_and_units_cannot_be_excused():
    """The file's structure, its units, and what the reader of files finds itself."""
    for name, rule in RULES.items():
        is_read = rule.finds is None
        assert rule.prevents_loading == is_read
        assert rule.excusable == (not name.startswith(("ST", "UN")) and not is_read), name


def test_every_rule_has_an_example():
    assert set(EXAMPLES) | AT_SET_LEVEL == set(RULES)


@pytest.fixture(scope="module")
def found_in_examples(tmp_path_factory):
    """What is wrong with the example of each rule, every number asked for a source."""
    return {
        rule: faults(tmp_path_factory.mktemp(rule), *EXAMPLES[rule](), strict=True)
        for rule in EXAMPLES
    }


@every("rule", sorted(EXAMPLES))
def test_a_rule_fires(found_in_examples, rule):
    found = found_in_examples[rule]
    assert rule in {fault.rule for fault in found}
    for fault in found:
        assert "\n" not in fault.message
        if fault.rule == rule and rule[:2] not in ("ST", "PV", "MD"):
            assert fault.line > 1, "it names the place"


@every("rule", sorted(set(EXAMPLES) - {"ST008", "ST009"}))
def test_an_example_breaks_no_rule_of_another_family_by_accident(found_in_examples, rule):
    """Structure faults come alone: what could not be read is not also called implausible."""
    found = {fault.rule[:2] for fault in found_in_examples[rule]}
    if rule[:2] in ("ST", "UN"):
        assert found <= {"ST", "UN", "PV"}


@pytest.fixture(scope="module")
def report():
    """Of the shipped catalogue, whose faults of every kind are looked for."""
    return check([], strict=True, today=TODAY)


def test_the_shipped_catalogue_is_clean(report):
    assert [str(fault) for fault in report.faults if fault.severity != "note"] == []
    assert report.is_clean
    assert report.files >= 80


@pytest.mark.parametrize("entry_type", ["engines", thorough("hardware"), thorough("models")])
def test_shipped_files_have_no_faults_at_all_by_the_usual_rules(entry_type):
    assert check([ROOT / entry_type], today=TODAY).faults == []


def test_excuses_are_shown_and_needed(tmp_path, report):
    assert {(fault.rule, os.path.basename(fault.file)) for fault in report.excused} >= {
        ("HW008", "h20.yaml")
    }
    name, text = h100((r"fp8: .*", "fp8: {value: 3958 TFLOP/s, source: datasheet}"))
    excused = text + "\nexcused: {HW001: a test of the excuse}\n"
    found = {fault.rule: fault for fault in faults(tmp_path, name, excused)}
    assert found["HW001"].excuse == "a test of the excuse"
    assert "ST022" not in found
    found = faults(tmp_path, "h100-sxm", H100 + "\nexcused: {HW001: no longer needed at all}\n")
    assert [fault.rule for fault in found] == ["ST022"]
    for name_ in ("HW999", "ST015"):
        text = H100 + f"\nexcused: {{{name_}: a reason that is long enough}}\n"
        assert "ST022" in {fault.rule for fault in faults(tmp_path, "h100-sxm", text)}


MANY = """\
id: many
name: Many
vendr: Me
kind: gpu
architecture: hopper
scope: one GPU
cores: 132
memory:
  - {name: HBM3, capacity: 80 GiB, bandwith: 3.35 TB/s}
peak: {bf16: 1979 TFLOP/s, fp8: 1e12, fp8: 3958 TFLOP/s}
links: {scale_up: {bandwidth: 900 GB/s}, scale_out: {bandwidth: 400 GB}}
released: no
"""


def test_all_faults_are_reported_not_the_first(tmp_path):
    found = {(fault.rule, fault.line) for fault in faults(tmp_path, "many", MANY)}
    assert found >= {
        ("ST015", 3), ("HW008", 10), ("ST015", 9), ("ST009", 10), ("HW041", 11), ("UN003", 11),
        ("ST013", 12),
    }  # fmt: skip
    missing = [fault.message for fault in faults(tmp_path, "many", MANY) if fault.rule == "ST016"]
    assert missing == [], "what is misspelt is not also called missing"


@pytest.mark.parametrize("notes", ["2.5", "true", "{a: b}", "one note"])
def test_notes_that_are_no_list_are_a_fault_and_hide_no_other(tmp_path, notes):
    text = (ROOT / "models" / "minimax-m2.yaml").read_text(encoding="utf-8")
    head, _, _ = text.partition("\nnotes:")
    found = faults(tmp_path, "minimax-m2", f"{head}\nnotes: {notes}\nkvheads: 8\n", strict=True)
    assert {("ST015", True), ("ST017", True)} <= {(fault.rule, fault.line > 1) for fault in found}


def test_two_entries_of_one_name(tmp_path):
    for name in ("one", "two"):
        text = put(H100, ("^id: .*", f"id: {name}"), (r"^aliases: .*", "aliases: [mine]"))
        (tmp_path / f"{name}.yaml").write_text(text)
    found = check([tmp_path], today=TODAY).faults
    assert [fault.rule for fault in found] == ["ST020"]
    assert found[0].file.endswith("two.yaml")
    assert "one.yaml" in found[0].message


@pytest.mark.thorough
def test_prices_grow_old():
    later = check([ROOT / "hardware"], today=date(2028, 1, 1)).faults
    assert {fault.rule for fault in later} == {"PV008"}


def test_own_files_may_be_bare_until_strict_asks(tmp_path):
    text = (
        "id: mine\nname: Mine\nvendor: Me\nkind: gpu\nscope: one card\n"
        "memory:\n  - {name: HBM3, capacity: 96 GiB, bandwidth: 4 TB/s}\n"
        "peak: {bf16: 500 TFLOP/s}\n"
    )
    assert faults(tmp_path, "mine", text) == []
    strict = faults(tmp_path, "mine", text, strict=True)
    assert sorted(fault.rule for fault in strict) == ["HW074", "PV001", "PV001", "PV001"]


def test_exit_codes_and_formats(fastcalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good, bad = tmp_path / "h100-sxm.yaml", tmp_path / "bad" / "h100-sxm.yaml"
    bad.parent.mkdir()
    good.write_text(H100)
    bad.write_text(h100(("^vendor:", "vendr:"))[1])
    assert fastcalc("check", good).code == 0
    assert "clean" in fastcalc("check", good).out
    assert fastcalc("check", "bad").code == 1
    ran = fastcalc("check", "bad", "--format", "json")
    document = json.loads(ran.out)
    assert document["schema"] == "fastcalc-check/1"
    assert document["clean"] is False
    (fault,) = document["faults"]
    assert (fault["rule"], fault["line"], fault["column"]) == ("ST015", 4, 1)
    assert fault["file"] == "bad/h100-sxm.yaml"
    ran = fastcalc("check", "bad", "--format", "github")
    assert re.match(r"::error file=bad/h100-sxm\.yaml,line=\d,col=1,title=ST015 ", ran.out)
    for args in (["nowhere"], ["--format", "xml"], ["--explain", "HW999"], [tmp_path / "empty"]):
        (tmp_path / "empty").mkdir(exist_ok=True)
        ran = fastcalc("check", *args)
        assert ran.code == 2
        assert ran.err.startswith("fastcalc: ")


def test_github_escapes():
    from fastcalc.features.check.answer import as_github
    from fastcalc.features.check.lint import Report

    fault = Fault("HW001", "a,b:c.yaml", 1, 2, "100%\nof it", "warning")
    line = as_github(Report(1, [fault])).splitlines()[0]
    assert line.startswith("::warning file=a%2Cb%3Ac.yaml,line=1,col=2,title=HW001 ")
    assert line.endswith("::100%25%0Aof it")


def test_warnings_count_when_strict(fastcalc, tmp_path):
    path = tmp_path / "h100-sxm.yaml"
    path.write_text(h100((r"value: 3.35 TB/s", "value: 3.53 TB/s"))[1])
    assert fastcalc("check", path).code == 0
    assert "warning PV009" in fastcalc("check", path).out
    assert fastcalc("check", "--strict", path).code == 1


def test_a_value_is_not_the_zero_that_a_source_prints(tmp_path):
    [found] = faults(tmp_path, *h100((r'printed: "3.35TB/s"', 'printed: "0 TB/s"')))
    assert (found.rule, "3.35 TB/s is not the 0 B/s" in found.message) == ("PV009", True)


@every("rule", sorted(RULES))
def test_every_rule_is_explained(fastcalc, rule):
    ran = fastcalc("check", "--explain", rule.lower())
    assert ran.code == 0
    for word in ("why", "example", "fix", "checks"):
        assert f"\n  {word}" in ran.out
    assert all(len(line) <= 100 for line in ran.out.splitlines())


def test_all_rules_are_listed(fastcalc, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # a line for each
    assert len(fastcalc("check", "--explain", "all").out.splitlines()) == len(RULES)


def test_a_hidden_folder_and_other_files_are_left_alone(fastcalc, tmp_path):
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.yaml").write_text("nonsense")
    (tmp_path / "notes.txt").write_text("nonsense")
    (tmp_path / "h100-sxm.yml").write_text(H100)
    assert fastcalc("check", tmp_path).out.startswith("1 file checked")


def test_a_file_named_twice_is_checked_once(fastcalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "folder.yaml").mkdir()
    (tmp_path / "hardware" / "h100-sxm.yaml").write_text(H100)
    ran = fastcalc("check", "hardware", "hardware/h100-sxm.yaml", tmp_path / "hardware")
    assert ran.out == "1 file checked: clean\n"


def test_rules_stay_out_of_compare():
    """Start-up: a comparison loads neither the rules nor the reader of printed characters."""
    code = (
        "import sys\nfrom fastcalc.cli import main\nsys.argv = ['fastcalc', 'compare']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "found = [name for name in sys.modules if name.startswith('fastcalc.features.check.')]\n"
        "assert found in ([], ['fastcalc.features.check.request']), found\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("value: 989.5 TFLOP/s", "value: 1979 TFLOP/s", "PV010"),
        ("value: 3.35 TB/s", "value: 26.8 TB/s", "HW021"),
        ("value: 80 GiB", "value: 80 GB", "PV010"),
        ("value: 450 GB/s", "value: 900 GB/s", "HW041"),
        ("value: 400 Gb/s", "value: 400 GB/s", "HW044"),
        ("value: 700 W", "value: 700 kW", "HW061"),
        ('source: datasheet, printed: "3.35TB/s"', 'printed: "3.35TB/s"', "PV001"),
    ],
)
def test_mistakes_of_real_life(tmp_path, old, new, rule):
    assert old in H100
    found = {fault.rule for fault in faults(tmp_path, "h100-sxm", H100.replace(old, new, 1))}
    assert rule in found


MODEL, ENGINE, CHIP = "models/llama-3.1-70b", "engines/gpu", "hardware/h100-sxm"
MISTAKES_OF_MODELS_AND_ENGINES = [
    ("engines/vllm", "extends: gpu", "extends: vllm", "ST023"),
    ("engines/vllm", "engine: young", "engine: yuong", "EN007"),
    ("engines/vllm", r"(decode_layer_floor: .value: [\d.]+) us", r"\1 ns", "EN006"),
    (ENGINE, r"(decode_layer_floor: .value: [\d.]+) us", r"\1 ns", "EN001"),
    (ENGINE, r"compute_fraction: .value: [\d.]+", "compute_fraction: {value: 0.08", "EN004"),
    (ENGINE, r"max_sequences: .value: \d+", "max_sequences: {value: 10", "EN004"),
    (ENGINE, r"prompt_chunk: .value: \d+", "prompt_chunk: {value: 8", "EN004"),
    (MODEL, 'label: "70.6B"', 'label: "8B"', "MD006"),
    ("models/gpt-oss-120b", 'label: "116.8B"', 'label: "8B"', "MD006"),
    (MODEL, 'released: "2024-07"', 'released: "2042-07"', "MD015"),
    (MODEL, "^aliases: .*", "aliases: [llama-3.1-8b]", "ST024"),
    (MODEL, "weight_format: bf16", "weight_format: fp32", "MD018"),
    (MODEL, "weight_format: bf16", "weight_format: fp8", "MD018"),
    ("models/deepseek-r1", "weight_format: fp8", "weight_format: bf16", "MD017"),
    (MODEL, "kv_format: bf16", "kv_format: nvfp4", "MD018"),
    ("models/gpt-oss-120b", r"^expert_format: .*\n", "", "MD020"),
    ("models/kimi-k2.5", r"^expert_format: .*\n", "", "MD017"),
    ("models/gemma-3-27b", ", window: 1024", "", "MD019"),
    ("models/gemma-3-27b", "window: 1024", "window: 10240", "MD019"),
    ("models/gemma-3-27b", "window: 1024", "window: 1", "MD021"),
    ("models/deepseek-v3.2", "top_k: 2048", "top_k: 16384", "MD019"),
    ("models/qwen3-32b", ", qk_norm: true", "", "MD022"),
    ("models/gpt-oss-20b", ", sinks: true", "", "MD022"),
    (CHIP, "value: 0.8015 USD/h", "value: 3.8015 USD/h", "HW070"),
    (CHIP, "value: 2.29 USD/h", "value: 18.32 USD/h", "HW071"),
    ("hardware/tpu-v5e", "value: 1.20? USD/h", "value: 9.60 USD/h", "HW072"),
]


@pytest.mark.thorough
@every("mistake", MISTAKES_OF_MODELS_AND_ENGINES)
def test_mistakes_of_models_engines_and_prices(tmp_path, mistake):
    file, old, new, rule = mistake
    text = put((ROOT / f"{file}.yaml").read_text(), (old, new))
    found = faults(tmp_path, file.partition("/")[2], text, strict=True)
    assert rule in {fault.rule for fault in found}


@every("parameter", ["compute_fraction: 0.08", "max_sequences: 10", "prompt_chunk: 8",
                     "decode_layer_floor: 69 ns"])  # fmt: skip
def test_what_is_wrong_in_a_parent_is_wrong_in_its_child(tmp_path, parameter):
    name, number = parameter.split(": ")
    written = child(f"{name}: {{value: {number}, source: own}}")
    assert {fault.rule for fault in faults(tmp_path, *written)} & {"EN004", "EN006"}
    with_band = child("decode_layer_floor: {value: 200 us, band: [1.0e-4, 3.0e-4], source: own}")
    assert faults(tmp_path, *with_band, strict=True) == [], "a band of its own counts"


WAFER = """\
id: mine
name: Mine
extends: wse-3
sources: {own: {title: Ours, url: "https://example.com/a", accessed: "2026-11-21"}}
memory:
  - {name: SRAM, bandwidth: {value: 24 PB/s, source: own}}
"""


def test_a_file_is_not_blamed_for_what_its_parent_lists(tmp_path):
    assert faults(tmp_path, "mine", WAFER, strict=True) == []
    found = faults(tmp_path, "mine", WAFER.replace(", source: own}", "}"), strict=True)
    assert {(fault.rule, fault.line) for fault in found} == {("PV001", 6), ("PV003", 4)}
    old = 'id: mine\nname: Mine\nextends: h20\nprice: {cloud: {value: 2 USD/h, date: "2023-05"}}\n'
    found = faults(tmp_path, "mine", old)
    assert {fault.rule for fault in found if not fault.excuse} == {"PV001", "PV008"}
    fixed = "id: mine\nname: Mine\nextends: h20\npeak: {bf16: 494 TFLOP/s}\n"
    assert "ST022" not in {fault.rule for fault in faults(tmp_path, "mine", fixed)}


def test_a_model_that_differs_is_not_held_against_what_its_parents_source_prints(tmp_path):
    text = (
        "id: mine\nname: Mine\nextends: gpt-oss-120b\nweight_format: bf16\nexpert_format: nvfp4\n"
    )
    assert {fault.rule for fault in faults(tmp_path, "mine", text)} <= {"MD020"}
    strict = faults(tmp_path, "mine", text, strict=True)
    assert ("MD018", 5) in {(fault.rule, fault.line) for fault in strict}


def test_the_document_counts_the_rules_of_each_family():
    text = (ROOT / "docs" / "check.md").read_text()
    counts = dict(re.findall(r"(?m)^\| `([A-Z]{2})` \| (\d+) \|", text))
    families = Counter(rule[:2] for rule in RULES)
    assert counts == {family: str(count) for family, count in families.items()}
    assert f"the {len(RULES)} rules" in text


def test_the_document_says_how_much_is_caught():
    text = (ROOT / "docs" / "check.md").read_text()
    for column, least in (("slip", 95), ("misread", 89)):
        share = re.search(rf"x2, x8 and x1000 together, {column}: (\d+)%", text)
        assert share
        assert int(share[1]) >= least
    assert re.search(r"False alarms on the \d+ files as they are: 0 \(0 with --strict\)", text)


def test_the_document_says_how_much_is_caught_of_mistakes_without_a_rule_in_view():
    text = (ROOT / "docs" / "check.md").read_text()
    found = re.search(r"\| all \| (\d+)% of 9\d\d \| (\d+)% of 1,000 \| (\d+)% of 9\d\d \|", text)
    assert found
    models, engines, hardware = (int(share) for share in found.groups())
    assert models >= 90
    assert engines >= 60
    assert hardware >= 75


def test_blind_mistakes_change_one_value_each():
    files = {path.stem: scan(path).data for path in sorted((ROOT / "engines").glob("*.yaml"))}
    drawn_twice = [list(drawn(files, seed=5, count=3)) for _ in range(2)]
    assert drawn_twice[0] == drawn_twice[1]
    for kind, name, data, path in drawn_twice[0]:
        assert data != files[name]
        before, after = list(leaves(files[name])), list(leaves(data))
        assert len(after) < len(before) if kind == "left out" else after == before, path


def test_yaml_of_other_programs_in_a_folder_is_passed_over(tmp_path):
    (tmp_path / "compose.yml").write_text("services: {web: {image: nginx}}\n")
    assert check([tmp_path]).files == 0
    named = check([tmp_path / "compose.yml"])
    assert [fault.rule for fault in named.faults] == ["ST021"]


@pytest.mark.parametrize(
    "text",
    [
        "# image: web\n",
        "",
        "---\n",
        "---\n# one\n---\n# two\n",
        "hello\n",
        "- web\n",
        "name: web\n",
    ],
)
def test_a_file_without_keys_of_an_entry_is_another_program_s(fastcalc, tmp_path, text):
    """Such as a chart's values.yaml, all of it comments; one that is named alone is a fault."""
    file = tmp_path / "values.yaml"
    file.write_text(text)
    skipped = f"0 files checked, skipped 1 (not a fastcalc file: {file}): clean\n"
    for paths in ((tmp_path,), ("--skip-others", file)):
        ran = fastcalc("check", "--strict", *paths)
        assert (ran.code, ran.out) == (0, skipped)
    assert fastcalc("check", file).code == 1


@pytest.mark.parametrize(
    "key", ["memmory", "memry", "meomry", "mamory", "Memory", "vendro", "weight-format"]
)
def test_a_misspelt_key_is_one_of_ours(fastcalc, tmp_path, key):
    (tmp_path / "my-part.yaml").write_text(f"id: my-part\nname: Mine\n{key}: bf16\n")
    (tmp_path / "web.yaml").write_text("name: web\nimage: nginx\n")
    ran = fastcalc("check", "--strict", tmp_path)
    assert ran.code == 1
    assert f"unknown key '{key}'" in ran.out


@pytest.mark.parametrize("key", ["data", "resources", "nodes", "block", "layer", "image", "on"])
def test_words_of_other_programs_are_no_slips(tmp_path, key):
    (tmp_path / "app.yaml").write_text(f"name: web\n{key}: [a]\n")
    report = check([tmp_path], strict=True, today=TODAY)
    assert report.skipped == (str(tmp_path / "app.yaml"),)


def test_skipped_files_are_named_those_like_an_entry_first(fastcalc, tmp_path):
    for name in "abcdefg":
        (tmp_path / f"{name}.yaml").write_text("image: web\nport: 80\n")
    (tmp_path / "z.yaml").write_text("id: z\nimage: web\nport: 80\n")
    names = [str(tmp_path / f"{name}.yaml") for name in "zabcdefg"]
    listed = ", ".join(names[:5])
    out = fastcalc("check", tmp_path).out
    assert f"skipped 8 (not fastcalc files: {listed} and 3 more, all named by --format json)" in out
    assert json.loads(fastcalc("check", tmp_path, "--format", "json").out)["skipped"] == names


@pytest.mark.parametrize(("folder", "rule"), [("hardware", "ST004"), ("templates", None)])
def test_what_cannot_be_read_counts_as_ours_in_a_folder_of_ours(tmp_path, folder, rule):
    """A template of another program is no YAML either, and nothing in it says whose it is."""
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "x.yaml").write_text("{: web\n")
    report = check([tmp_path], strict=True, today=TODAY)
    assert [fault.rule for fault in report.faults] == ([rule] if rule else [])
    assert len(report.skipped) == (rule is None)


def test_a_configuration_is_reported_to_be_imported():
    report = check([ROOT / "tests" / "configs" / "gpt-oss-20b.json"])
    assert [fault.rule for fault in report.faults] == ["ST021"]
    assert "fastcalc import" in report.faults[0].message


@every(
    "chips,is_doubtful",
    [
        *((chips, False) for chips in (1, 2, 4, 5, 7, 8, 12, 16, 18, 20, 36, 72)),
        *((chips, True) for chips in (9, 10, 11, 14, 15, 70, 73, 900)),
    ],
)
def test_domains_that_machines_have(tmp_path_factory, chips, is_doubtful):
    """Any count within one host of eight; beyond it whole trays of four or six chips."""
    text = put(H100, (r"domain: \{value: 8,", f"domain: {{value: {chips},"))
    folder = tmp_path_factory.mktemp("domain")
    found = {fault.rule for fault in faults(folder, "h100-sxm", text)}
    assert ("HW045" in found) == is_doubtful


@every(
    "rates,rule,is_doubtful",
    [
        # An H100's 989.5 TFLOP/s of 16 bits, and fp8 rates about twice that: 6% are allowed.
        ({"fp8": 1979}, "HW001", False),
        ({"fp8": 1979 * 1.05}, "HW001", False),
        ({"fp8": 1979 * 0.95}, "HW001", False),
        ({"fp8": 1979 * 1.07}, "HW001", True),
        ({"fp8": 1979 * 0.93}, "HW001", True),
        ({"fp8": 3958}, "HW001", True),
        # An int8 rate of nearly nothing is of a chip that dropped it; a third is of none.
        ({"int8": 1979}, "HW003", False),
        ({"int8": 165}, "HW003", True),
        ({"int8": 98}, "HW003", False),
        ({"int8": 330}, "HW003", True),
    ],
)
def test_ratios_of_rates_that_chips_have(tmp_path_factory, rates, rule, is_doubtful):
    changes = (value(name, f"{rate} TFLOP/s") for name, rate in rates.items())
    folder = tmp_path_factory.mktemp("rates")
    found = {fault.rule for fault in faults(folder, "h100-sxm", put(H100, *changes))}
    assert (rule in found) == is_doubtful


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("severities", "is_clean"),
    [
        ([], (True, True)),
        (["error"], (False, False)),
        (["warning"], (True, False)),
        (["note"], (True, True)),
        (["warning", "error"], (False, False)),
    ],
)
def test_errors_count_always_and_warnings_when_strict(severities, is_clean, strict):
    found = [Fault("HW001", "a.yaml", 1, 1, "wrong", severity) for severity in severities]
    report = Report(1, found, policy=Policy(fail_on_warnings=strict))
    assert report.is_clean == is_clean[strict]


def test_a_label_of_zero_is_a_finding(fastcalc, tmp_path):
    text = (ROOT / "models" / "llama-3-70b.yaml").read_text().replace('"70.6B"', '"0B"')
    (tmp_path / "llama-3-70b.yaml").write_text(text)
    ran = fastcalc("check", tmp_path / "llama-3-70b.yaml")
    assert "parameters, the published number is 0B; a note may explain it" in " ".join(
        ran.out.split()
    )
