"""What every shipped chip and model keeps to, the command asks of any file with --strict."""

from datetime import date

import pytest

from fastcalc.features.check.lint import check
from tests.helpers import ROOT
from tests.rule_examples import put

TODAY = date(2026, 11, 21)
H100, WSE = "hardware/h100-sxm.yaml", "hardware/wse-3.yaml"
DESKTOP, LLAMA = "hardware/ddr5-2ch.yaml", "models/llama-3.1-8b.yaml"

OWN_MEMORY = r"^  - name: HBM3\n"
BOUGHT = "price:\n  purchase: {value: 2600 USD, source: common, confidence: medium}\npeak:"
FROM_DATASHEET = "{value: 63 GB/s, source: datasheet}"


@pytest.mark.parametrize(
    ("file", "pattern", "new", "rule"),
    [
        (H100, r"^architecture: .*\n", "", "HW074"),
        (H100, "^kind: gpu", "kind: gpu\nexecution: spatial", "HW075"),
        (WSE, "^execution: spatial", "execution: sequential", "HW075"),
        (WSE, r"^    where: chip\n", "", "HW076"),
        (H100, OWN_MEMORY, "  - name: HBM3\n    where: chip\n", "HW076"),
        (H100, OWN_MEMORY, "  - name: HBM3\n    where: host\n", "HW076"),
        (H100, OWN_MEMORY, f"  - name: HBM3\n    link: {FROM_DATASHEET}\n", "HW076"),
        (DESKTOP, r"^    where: host\n", "", "HW076"),
        (DESKTOP, r"^    link:\n(      .*\n)+", "", "HW076"),
        (DESKTOP, r"^    shared_by: .*\n", "", "HW076"),
        (DESKTOP, "name: DRAM", "name: DDR5", "HW077"),
        (DESKTOP, "^scope: .*", "scope: one board", "HW077"),
        (DESKTOP, "^peak:", BOUGHT, "HW077"),
        (H100, "source: scaling-book}", "source: scaling-book, confidence: memory}", "PV016"),
        (LLAMA, r"^confidence: .*\n", "", "MD023"),
        (LLAMA, "^confidence: .*", "confidence: memory", "MD024"),
        (LLAMA, r"^  label: .*\n", "", "MD025"),
        (LLAMA, r"^  checkpoint: .*\n", "", "MD025"),
        (LLAMA, "^  label: .*", "  label: 8.2B", "MD026"),
    ],
)
def test_one_thing_left_out_or_wrong_is_found(tmp_path, file, pattern, new, rule):
    path = tmp_path / (ROOT / file).name
    path.write_text(put((ROOT / file).read_text(), (pattern, new)))
    report = check([path], strict=True, today=TODAY)
    assert rule in {fault.rule for fault in report.faults}
    assert not report.is_clean


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r"^  checkpoint: \{.*\n", "notes: [No checkpoint count is known.]\n"),
        ("^confidence: .*", "confidence: low\nnotes: [The number of layers is assumed.]"),
        ("^  label: .*", "  label: 8.2B\nnotes: [The label counts what is not the text core.]"),
    ],
)
def test_a_note_says_why(tmp_path, pattern, new):
    path = tmp_path / "llama-3.1-8b.yaml"
    path.write_text(put((ROOT / LLAMA).read_text(), (pattern, new)))
    found = {fault.rule for fault in check([path], strict=True, today=TODAY).faults}
    assert not found & {"MD024", "MD025", "MD026"}
