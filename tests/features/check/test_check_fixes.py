"""What `check --fix` corrects, and that nothing else of a file changes: not a byte."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastcalc.catalogue.corrections import key_meant
from fastcalc.catalogue.faults import Fault
from fastcalc.features.check.lint import check
from fastcalc.features.check.run import corrected, diff
from tests.helpers import loaded, run
from tests.rule_examples import h100, llama
from tests.strategies import scaled

CHIP = h100(("^id: .*", "id: chip"), ("^aliases: .*\n", ""))[1]
"""A chip without faults."""

SLIPS = [
    ("vendor: NVIDIA", "vndor: NVIDIA", "vendor: NVIDIA"),
    ("vendor: NVIDIA", "Vendor: NVIDIA", "vendor: NVIDIA"),
    ("vendor: NVIDIA", "venodr: NVIDIA", "vendor: NVIDIA"),
    ("vendor: NVIDIA", '"vendorr" : NVIDIA', '"vendor" : NVIDIA'),
    ("vendor: NVIDIA", "? vendr\n: NVIDIA", "? vendor\n: NVIDIA"),
    ("bandwidth: {value: 3.35", "bandwith: {value: 3.35", "bandwidth: {value: 3.35"),
    ("{value: 3.35 TB/s", "{value: 3.35 TBps", "{value: 3.35 TB/s"),
    ("{value: 3.35 TB/s", "{value: '3.35 TBs'", "{value: '3.35 TB/s'"),
    ("{value: 3.35 TB/s", '{value: "3.35 TB per s"', '{value: "3.35 TB/s"'),
    # A size or a number of operations where a rate is asked can only lack its time.
    ("{value: 3.35 TB/s", "{value: 3.35 TB", "{value: 3.35 TB/s"),
    ("fp16: {value: 989.5 TFLOP/s", "fp16: {value: 989.5 TFLOP", "fp16: {value: 989.5 TFLOP/s"),
]
"""Text of the chip, the same with a slip that can mean no other, and that corrected."""

letters = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))
comments = st.one_of(letters, st.sampled_from(["\u200d", "\xad", "\u2028", "\ufeff", "\x85", "\t"]))


@pytest.fixture
def fastcalc(capsys, monkeypatch):
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


def with_comments(draw, text):
    """Return a text with comments of any letters in front of its lines and at their ends."""
    lines = text.split("\n")
    for at in draw(st.lists(st.integers(0, len(lines) - 2), max_size=4)):
        said = "#" + draw(comments)
        # A separator of lines ends a comment of YAML; what follows is a comment again.
        for separator in "\u2028\u2029\x85":
            said = said.replace(separator, f"{separator}#")
        lines[at] = f"{said}\n{lines[at]}"
    return "\n".join(lines)


@st.composite
def slips(draw):
    """Return the bytes of a file with a slip, and those that it is to have."""
    usual, wrong, right = draw(st.sampled_from(SLIPS))
    text = with_comments(draw, CHIP.replace(usual, wrong, 1)).rstrip("\n")
    text += draw(st.sampled_from(["\n", "", "\n\n"]))
    head, found, tail = text.partition(wrong)
    assert found
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    return tuple(
        mark + f"{head}{written}{tail}".replace("\n", ends).encode() for written in (wrong, right)
    )


@pytest.mark.thorough
@given(slips())
@settings(max_examples=scaled(15))
def test_a_correction_changes_its_span_alone(tmp_path_factory, case):
    before, after = case
    file = tmp_path_factory.mktemp("fixes") / "chip.yaml"
    file.write_bytes(before)
    (fixed,) = corrected(check([file]).faults)
    assert (fixed.before, fixed.faults) == (before, 1)
    assert fixed.after == after
    assert loaded(after.decode("utf-8-sig")) == loaded(CHIP)


@pytest.mark.thorough
@given(slips(), st.sampled_from(["chip.yaml", "a b.yaml", 'q"\\.yaml', "é\t.yaml", "l\n.yaml"]))
@settings(max_examples=scaled(15))
def test_the_printed_changes_apply(tmp_path_factory, case, name):
    folder = tmp_path_factory.mktemp("fixes")
    (folder / name).write_bytes(case[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        text = diff(corrected(check([Path(name)]).faults))
    subprocess.run(
        ["patch", "-p1", "--quiet"], cwd=folder, input=text, check=True, capture_output=True
    )
    assert (folder / name).read_bytes() == case[1]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_files_are_written_as_they_were_but_for_the_key(
    tmp_path, monkeypatch, fastcalc, mark, ends
):
    monkeypatch.chdir(tmp_path)
    right, file = mark + CHIP.replace("\n", ends).encode(), tmp_path / "chip.yaml"
    wrong = right.replace(b"vendor:", b"vndor:", 1)
    file.write_bytes(wrong)
    printed = fastcalc("check", "--fix", "chip.yaml").out.encode()
    assert f"\n+vendor: NVIDIA{ends}".encode() in printed
    assert file.read_bytes() == wrong
    shutil.copy(file, "b.yaml")
    subprocess.run(["patch", "--quiet", "b.yaml"], input=printed, check=True)
    assert (tmp_path / "b.yaml").read_bytes() == right
    assert fastcalc("check", "--fix", "--yes", "chip.yaml").code == 0
    assert file.read_bytes() == right


@pytest.mark.parametrize(
    ("usual", "wrong", "sentence"),
    [
        ("value: 80 GiB", "value: 80 Gb", "a small b is a bit"),
        # 900 Gb of a link may be 900 Gb/s, or 900 GB/s with a small b.
        ("bandwidth: {value: 3.35 TB/s", "bandwidth: {value: 900 Gb", "did you mean 'Gb/s'"),
        ("name: ", "nmae: Foo\nname: ", "'name' is given, too: take one of them out"),
        ("vendor: NVIDIA", "vendr: NVIDIA\nvenor: AMD", "did you mean 'vendor'"),
        ("vendor: NVIDIA", "vendr: [NVIDIA]", "did you mean 'vendor'"),
        ("fp16:", "fp15:", "fp15"),
        ("kind: gpu", "kind: gpuu", "known: "),
        ("{value: 3.35 TB/s", '{value: "3.35\\x20TBs"', "did you mean 'TB/s'"),  # as it is written
        ("vendor: NVIDIA", "vendor: NVIDIA\nprize: 3", "'price' is given, too"),
    ],
)
def test_what_may_mean_something_else_is_left_to_a_person(
    tmp_path, fastcalc, usual, wrong, sentence
):
    file = tmp_path / "chip.yaml"
    file.write_text(CHIP.replace(usual, wrong, 1))
    assert sentence in fastcalc("check", file).out
    ran = fastcalc("check", "--fix", file)
    assert (ran.out, "no fault can be corrected" in ran.err) == ("", True)


@pytest.mark.parametrize(
    ("written", "right"), [("FP8", "fp8"), ("Q4-K-M", "q4_k_m"), ("fp9", None)]
)
def test_a_format_in_another_spelling_is_corrected(tmp_path, fastcalc, written, right):
    text = llama(("^id: .*", "id: llama"), ("^aliases: .*\n", ""))[1]
    file = tmp_path / "llama.yaml"
    file.write_text(text.replace("weight_format: bf16", f"weight_format: {written}"))
    before = file.read_text()
    assert before != text
    fastcalc("check", "--fix", "--yes", file)
    after = before.replace(f" {written}\n", f" {right}\n") if right else before
    assert file.read_text() == after


def test_files_that_cannot_be_corrected_are_left(tmp_path, monkeypatch, fastcalc):
    """A pipe is empty once it was read; of several files none is written where one is locked."""
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe" in fastcalc("check", "--fix", "--yes", tmp_path / "pipe").err
    text = CHIP.replace("vendor:", "vndor:", 1)
    files = [tmp_path / "chip.yaml", tmp_path / "other.yaml"]
    for file in files:
        file.write_text(text)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or path != files[1])
    ran = fastcalc("check", "--fix", "--yes", *files)
    assert (ran.code, "other.yaml may not be written" in ran.err) == (2, True)
    assert [file.read_text() for file in files] == [text, text]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_last_line_without_an_end_stays_without(tmp_path, monkeypatch, fastcalc, ends):
    monkeypatch.chdir(tmp_path)
    text = CHIP.replace("vendor: NVIDIA\n", "") + "vndor: NVIDIA"
    Path("chip.yaml").write_bytes(text.replace("\n", ends).encode())
    printed = fastcalc("check", "--fix", "chip.yaml").out.encode()
    subprocess.run(["patch", "--quiet", "chip.yaml"], input=printed, check=True)
    right = text.replace("vndor", "vendor").replace("\n", ends)
    assert Path("chip.yaml").read_bytes() == right.encode()


@pytest.mark.parametrize(
    ("key", "known", "meant"),
    [
        ("scale-up", ["scale_up", "scale_out"], "scale_up"),
        ("shared_bye", ["shared_by", "link"], "shared_by"),
        ("mvfp4", ["mxfp4", "nvfp4"], None),  # a letter from both
        ("int5", ["int4", "int8"], None),
        ("fp81", ["fp8"], None),
        ("tp", ["pp", "ep"], None),
        ("tp", ["tpp"], None),
        ("bandwdht", ["bandwidth"], None),  # two slips
        ("vendor", ["vendors", "vendor"], "vendor"),
    ],
)
def test_a_key_means_the_only_one_that_is_a_slip_away(key, known, meant):
    assert key_meant(key, known) == meant


@given(st.text("abc", min_size=4, max_size=6), st.data())
def test_a_slip_is_one_letter(word, data):
    """Missing, too many, another, or swapped with the next, by hand."""
    at, letter = data.draw(st.integers(0, len(word) - 1)), data.draw(st.sampled_from("abcx"))
    slips = [
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    ]
    assert all(key_meant(slip, [word]) == word for slip in slips if len(slip) >= 4)
    two = word[:at] + "yz" + word[at:]
    assert key_meant(two, [word]) is None


def test_of_two_corrections_of_one_place_neither_is_made(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_bytes(b"key: value\nother: thing\n")
    faults = [
        Fault("UN002", str(file), 1, 6, "", replacement=("value", right)) for right in ("a", "b")
    ]
    faults.append(Fault("UN002", str(file), 2, 8, "", replacement=("thing", "c")))
    (fixed,) = corrected(faults)
    assert (fixed.after, fixed.faults) == (b"key: value\nother: c\n", 1)


@pytest.mark.parametrize(
    "words",
    [("--format", "json"), ("--format", "sarif"), ("-o", "faults.json"), ("--format", "github")],
)
def test_changes_are_no_report(fastcalc, tmp_path, monkeypatch, words):
    """A pipeline that reads JSON gets a reason, not a diff; corrected files have a report."""
    monkeypatch.chdir(tmp_path)
    Path("chip.yaml").write_text(CHIP.replace("vendor: NVIDIA", "vndor: NVIDIA"))
    refused = fastcalc("check", "--fix", *words, "chip.yaml")
    assert (refused.code, refused.out) == (2, "")
    assert "--fix prints a diff, not " in refused.err
    assert not Path("faults.json").exists()
    corrected_files = fastcalc("check", "--fix", "--yes", *words, "chip.yaml")
    assert corrected_files.code == 0
    assert "vendor: NVIDIA" in Path("chip.yaml").read_text()


@pytest.mark.parametrize("words", [(), ("--format", "text"), ("-o", "fix.txt")])
def test_changes_are_written_as_text(fastcalc, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    Path("chip.yaml").write_text(CHIP.replace("vendor: NVIDIA", "vndor: NVIDIA"))
    printed = fastcalc("check", "--fix", *words, "chip.yaml")
    diff_text = Path(words[1]).read_text() if "-o" in words else printed.out
    assert (printed.code, "+vendor: NVIDIA" in diff_text) == (1, True)
