"""Tests of claims that are a line of arithmetic, with numbers for the head."""

from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.features.claims.answer import _premise
from fastcalc.features.claims.registry import _FUNCTIONS

BY_HAND = [
    ("value", {"value": 3}, 3),
    ("ratio", {"over": 6, "under": 4}, 1.5),
    ("latency-ratio", {"sram": 6, "hbm": 4}, 1.5),
    # 12 for 3 units are 4 each, 10 for 5 are 2 each.
    ("ratio-of-ratios", {"over": 12, "over_unit": 3, "under": 10, "under_unit": 5}, 2),
    ("thinner-batch", {"fewer_users": 8, "speedup": 2}, 4),
    # Two drafts accepted at one half give 1.75 tokens in a pass that takes 1.25 times as long.
    ("drafted-gain", {"acceptance": 0.5, "drafts": 2, "draft_cost": 0.125}, 1.4),
    ("on-chip-memory", {"cache": 50, "cores": 4, "per_core": 10}, 90),
    # A token takes 1 s, of which eight hops of 25 ms between eight chips take 0.2 s.
    (
        "layer-time",
        {"speed": 10, "tokens": 10, "layers": 4, "chips": 8, "hop": 0.025},
        0.2,
    ),
    ("billions-that-fit", {"capacity": 100e9, "usable": 0.9, "bytes_each": 2}, 45),
    ("square-inches", {"area": 645.16e-6}, 1),
    ("pipeline-rate", {"streams": 3, "stages": 4}, 0.75),
    ("pipeline-rate", {"streams": 9, "stages": 4}, 1),
    ("read-speed", {"bandwidth": 1000, "context": 50, "bytes_a_token": 4}, 5),
    # Of 10 s two come first, and the other eight take a quarter.
    ("sooner", {"slow": 10, "lead": 2, "speedup": 4}, 4),
    ("handshake-share", {"handshake": 1, "lead": 3}, 0.25),
    ("success-ratio", {"accuracy": 0.9, "other": 0.6, "steps": 2}, 2.25),
    # 300 tokens for 200 words at 100 per second, after half a second.
    ("spoken", {"words": 200, "tokens_a_word": 1.5, "speed": 100, "lead": 0.5}, 3.5),
    # 10 tokens per second are 300 words per minute.
    ("over-reading", {"speed": 10, "words_a_token": 0.5, "reading": 150}, 2),
]


@pytest.mark.parametrize(("test", "inputs", "by_hand"), BY_HAND)
def test_lines_of_arithmetic(test, inputs, by_hand):
    assert np.ravel(_FUNCTIONS[test](**inputs)) == pytest.approx([by_hand])


def test_every_line_of_arithmetic_has_a_number():
    lines = {
        name
        for name, function in _FUNCTIONS.items()
        if getattr(function, "__name__", "") == "<lambda>"
    }
    assert lines == {name for name, *_ in BY_HAND}


def test_a_premise_has_the_text_of_its_formula_or_that_of_the_claim():
    numbers = {"range_texts": (), "source": None, "note": "n"}
    given, expected = (SimpleNamespace(texts=texts, **numbers) for texts in (["9"], ["2", "3"]))
    check = SimpleNamespace(inputs={"over_unit": given}, expected=expected)
    tested = SimpleNamespace(check=check, input_texts={"over_unit": "9 GB"})
    records = [_premise(tested, name) for name in ("over_unit", "expected")]
    assert [record["value"] for record in records] == ["9 GB", "2, 3"]
    assert [record["name"] for record in records] == ["over unit", "expected"]
    assert records[0]["range"] is None
