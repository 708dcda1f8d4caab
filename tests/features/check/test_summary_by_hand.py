"""The last line of a check and what it corrects, from made-up reports and faults."""

from types import SimpleNamespace

from fastcalc.features.check.answer import summary
from fastcalc.features.check.run import _corrected
from fastcalc.mentions import as_flags
from tests.helpers import every


def fault(severity, rule):
    return SimpleNamespace(severity=severity, rule=rule)


E, W, N = fault("error", "UN001"), fault("warning", "HW041"), fault("note", "MD001")


@every(
    "facts,text",
    [
        ({}, "3 files checked: clean"), ({"files": 1}, "1 file checked: clean"), ({"files": 1200}, "1,200 files checked: clean"),
        ({"faults": [N]}, "3 files checked: 1 note"),
        ({"faults": [N, W, E, E]}, "3 files checked: 2 errors, 1 warning, 1 note; 'fastcalc check --explain HW041' explains the first"),
        ({"faults": [E]}, "3 files checked: 1 error; 'fastcalc check --explain UN001' explains the first"),
        ({"excused": [W]}, "3 files checked: clean"), ({"excused": [W, W], "strict": True}, "3 files checked: 2 excused"),
        ({"baselined": [W]}, "3 files checked: 1 known before"),
    ],
)  # fmt: skip
def test_a_check_is_summed_up_in_a_line(facts, text):
    usual = {
        "files": 3,
        "faults": [],
        "excused": [],
        "baselined": [],
        "skipped": [],
        "strict": False,
    }
    report = SimpleNamespace(**(usual | facts))
    report.count = lambda word: sum(one.severity == word for one in report.faults)
    assert as_flags(summary(report)) == text


@every(
    "faults,text,count",
    [
        ([(1, 1, "ab", "x")], b"xcd\nef\n", 1),
        # In the order of the file, and next to each other.
        ([(2, 1, "ef", "y"), (1, 3, "cd", "z"), (1, 1, "ab", "x")], b"xz\ny\n", 3),
        # Those that overlap are left to the user.
        ([(1, 1, "abc", "x"), (1, 3, "cd", "z"), (2, 2, "f", "y")], b"abcd\ney\n", 1),
        # What is written differently, or after the end, is not replaced; of equal ones one is.
        ([(1, 1, "ac", "x"), (9, 1, "ab", "x")], b"abcd\nef\n", 0),
        ([(1, 2, "b", "x"), (1, 2, "b", "x")], b"axcd\nef\n", 1),
    ],
)
def test_faults_of_a_file_are_corrected(faults, text, count, tmp_path):
    path = tmp_path / "a.yaml"
    for mark in (b"", "\ufeff".encode()):
        path.write_bytes(mark + b"abcd\nef\n")
        made = [
            SimpleNamespace(line=line, column=column, replacement=(written, right))
            for line, column, written, right in faults
        ]
        found = _corrected(path, made)
        assert (found.after, found.faults) == (mark + text, count)
