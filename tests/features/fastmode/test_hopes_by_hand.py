"""Which layouts are worth drafting on, from made-up bounds of their costs."""

from types import SimpleNamespace

import numpy as np

from fastcalc.features.fastmode import combined
from fastcalc.features.fastmode.combined import ModelOnChip
from tests.helpers import every


def on_chip(bounds, drafting=None):
    return SimpleNamespace(
        hopes=lambda drafts, _: np.array(bounds) + drafts,
        on_layouts=SimpleNamespace(layouts=["a", "b", "c"]), scenario="scenario",
        usd_per_hour=2.0, _drafting=drafting,
    )  # fmt: skip


@every(
    "below,asked",
    [(100.0, ["a", "b"]), (6.5, ["a"]), (5.0, []), (1.0, [])],
)
def test_layouts_near_the_cheapest_are_bounded_with_drafts(below, asked, monkeypatch):
    """Bounds of 5, 6 and a thousand; those that cannot win are not evaluated."""
    tried = []

    def octaves(_, layouts, __):
        tried.append(layouts)
        return "placement", "batch", Traffic()

    class Traffic(SimpleNamespace):
        pass

    monkeypatch.setattr(combined, "octaves_of", octaves)
    monkeypatch.setattr(combined, "Space", lambda scenario: scenario)
    monkeypatch.setattr(combined, "replace", lambda traffic, **_: traffic)
    monkeypatch.setattr(combined, "Evaluation", lambda *parts: parts)
    monkeypatch.setattr(combined, "all_speeds_at_most", lambda each: [1.0 for _ in each])
    monkeypatch.setattr(combined, "least_usd", lambda layouts, *_: np.full(len(layouts), 7.0))
    chip = on_chip([5.0, 6.0, 1000.0])
    found = ModelOnChip.drafting_hopes(chip, 10.0, below)
    assert tried == ([asked] if asked else [])
    for drafts, bounds in found.items():
        usual = np.array([5.0, 6.0, 1000.0]) + drafts
        usual[: len(asked)] = 14.0
        assert bounds.tolist() == usual.tolist()
    # What was computed for more serves for less.
    assert ModelOnChip.drafting_hopes(chip, 10.0, below) is found
    assert tried == ([asked] if asked else [])
