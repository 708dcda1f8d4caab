"""Chips and formats that a plan leaves out, and what it says of them."""

from types import SimpleNamespace

import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.features.plan.deployments_asked import _formats, _in_full, _run_by
from tests.helpers import every, read_or_refusal

ENTRIES = Catalogue()
H100, B200, M3 = map(ENTRIES.hardware, ("h100-sxm", "b200", "apple-m3"))


def asked(weights=None, kv=None, on=None):
    return SimpleNamespace(weights=weights, kv=kv, on=on)


@every(
    "request_,chips,notes",
    [
        (asked(), [H100, B200], []),
        (asked("fp8"), [H100, B200], []),
        (asked("fp4"), [B200], []),
        (asked("fp4"), [H100, B200], ["fp4: 1 of 2 chips have no units for it, and are skipped"]),
        (asked(kv="fp4"), [H100, B200, M3], ["fp4: 2 of 3 chips have no units for it, and are skipped"]),
    ],
)  # fmt: skip
def test_chips_without_units_for_four_bits_are_skipped_and_counted(request_, chips, notes):
    said = []
    found = _formats(request_, chips, said)
    assert said == notes
    needs_units = "fp4" in (request_.weights, request_.kv)
    assert list(found) == [chip.id for chip in chips if not needs_units or chip is B200]


@pytest.mark.parametrize(("request_", "flag"), [(asked("fp4"), "weights"), (asked(kv="fp4"), "kv")])
def test_where_no_chip_has_units_it_is_refused(request_, flag):
    said = read_or_refusal(_formats, request_, [H100], [])
    assert said.startswith(f"--{flag} fp4: no chip of --on has units for that; name one")


def test_four_bits_are_those_of_the_chip():
    assert _in_full(None, B200) is None
    assert _in_full(["fp4", None], B200) is None
    assert _in_full(["fp4", "fp8", "nvfp4"], B200) == ["nvfp4", "fp8"]
    assert _in_full(["fp4", "fp8"], H100) == ["fp8"]
    assert _in_full(["fp4"], H100) == []


def test_a_program_leaves_out_chips_that_it_does_not_run_on():
    notes = []
    assert _run_by(asked(), "vllm", [H100, B200], notes) == [H100, B200]
    assert notes == []
    assert _run_by(asked(), "vllm", [H100, M3, M3], notes) == [H100]
    assert notes == ["vllm does not run on 2 of 3 chips: skipped"]
    with pytest.raises(InputError, match="starts no server on "):
        _run_by(asked(on="apple-m3"), "vllm", [M3], [])
