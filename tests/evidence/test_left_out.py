"""What fits do not see: what came later, and a value held where it would be without it."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.left_out import PINNED, in_time, without
from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence import left_out
from fastcalc.evidence.calibrate import publishers_by_chip
from fastcalc.evidence.parameters import ParameterFamily, family_of
from tests.helpers import every


@dataclass
class Counting:
    """A fit whose residuals are how many points it has seen."""

    dates: list[str]

    @property
    def rows(self):
        return SimpleNamespace(points=[SimpleNamespace(date=date) for date in self.dates])

    def solve(self, is_used):
        return np.count_nonzero(is_used)

    def residuals(self, seen):
        return np.full(len(self.dates), float(seen))


def test_a_half_year_is_foretold_by_what_was_published_before_it():
    """A year without a month ends with it: 2024 is known from 2025 on, and not in July 2024."""
    fit = Counting(["2024-06-30", "2024", "2024-07-01", "2025-02", "2025"])
    foretold = in_time(fit, ("2024-07", "2025-01", "2026-01"))
    assert np.isnan(foretold[0])
    assert foretold[1:].tolist() == [1.0, 1.0, 3.0, 3.0]


FAMILY = family_of(Catalogue().engine_files())


@pytest.mark.parametrize(
    ("engine", "group", "name", "parent", "center"),
    [
        ("llama-cpp", "apple", "decode_layer_floor", ("llama-cpp", "", "decode_layer_floor"), None),
        ("sglang", "cdna3", "decode_layer_floor", ("gpu", "", "decode_layer_floor"), None),
        ("sglang", "", "prefill_layer_floor", ("gpu", "", "prefill_layer_floor"), None),
        ("tpu", "", "compute_fraction", None, 0.80),  # of kernels, which no fit moves
        ("young", "", "expert_layer_extra", None, 0.6),
    ],
)
def test_a_value_is_held_at_the_one_it_overrides(engine, group, name, parent, center):
    place = FAMILY.positions[engine, group, name]
    held = without(FAMILY, place).nodes[place]
    assert held.parent == (parent and FAMILY.positions[parent])
    assert (held.center, held.spread) == (center, PINNED)


def test_a_value_that_every_engine_needs_overrides_none():
    assert without(FAMILY, FAMILY.positions["gpu", "", "decode_layer_floor"]) is None


ENGINES = {
    name: SimpleNamespace(id=name, extends=extends)
    for name, extends in (("first", None), ("child", "first"), ("grandchild", "child"))
}


@every(
    "engine,counts",
    [
        ("first", {"decode": {"a": 1, "b": 2}, "prefill": {"b": 1}}),  # those of what extends it
        ("child", {"decode": {"b": 2}, "prefill": {"b": 1}}),  # its own
        ("grandchild", {"decode": {"a": 1}}),
        ("other", {}),
    ],
)
def test_an_engine_counts_its_own_publishers_or_those_of_what_extends_it(engine, counts):
    cells = {
        ("grandchild", "decode", "a"): {"x"}, ("child", "prefill", "b"): {"y"},
        ("child", "decode", "b"): {"x", "y"},
    }  # fmt: skip
    assert publishers_by_chip(engine, cells, ParameterFamily(ENGINES, ())) == counts


def test_predictions_are_kept_in_five_digits_by_name():
    predictions = [
        SimpleNamespace(point=SimpleNamespace(id=name), expected=expected, low=low, high=high)
        for name, expected, low, high in (("b", 1234567.0, 0.123456, None), ("a", 2.0, None, 3.5))
    ]
    assert left_out.to_csv(predictions).split() == [
        "id,expected,low,high", "a,2,,3.5", "b,1.2346e+06,0.12346,"
    ]  # fmt: skip
