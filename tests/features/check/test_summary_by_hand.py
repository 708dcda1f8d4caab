"""The last line of a check, from made-up reports."""

from types import SimpleNamespace

from fastcalc.features.check.answer import summary
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
