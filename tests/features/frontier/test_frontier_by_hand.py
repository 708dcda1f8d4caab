"""Sentences and rows of a frontier from made-up points."""

from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.features.frontier import answer
from fastcalc.features.frontier.answer import FrontierAnswer
from tests.helpers import every


def point(chip, speed=1.0):
    scenario = SimpleNamespace(
        hardware=SimpleNamespace(id=chip), model=SimpleNamespace(asked_name="m")
    )
    return SimpleNamespace(outcome=SimpleNamespace(scenario=scenario), speed=speed)


@pytest.fixture
def told(monkeypatch):
    """The verdict on chips in order of speed; those of one letter are tied in price."""
    monkeypatch.setattr(
        answer, "_offer", lambda point: f"{point.outcome.scenario.hardware.id}, {point.speed:.0f}"
    )
    monkeypatch.setattr(answer, "edge", lambda _, after: after[0].speed)

    def level(slow, fast):
        return slow.outcome.scenario.hardware.id[0] == fast.outcome.scenario.hardware.id[0]

    monkeypatch.setattr(answer, "_are_level", level)
    return lambda chips: " ".join(
        answer.verdict([point(chip, at + 1) for at, chip in enumerate(chips)])
    )


@pytest.mark.parametrize(
    ("chips", "end"),
    [
        (["a"], "Cheapest and fastest: a, 1."),
        (["a", "a"], "Cheapest: {0}, 1; fastest: a, 2."),
        (["a1", "a2"], "Cheapest: {0}, 1; fastest: a2, 2. At speeds in between, it is uncertain which of a1 and a2 is cheapest."),
        (["a", "b"], "Cheapest: {0}, 1; fastest: b, 2. Cheapest by speed: a up to 2.00 tok/s; above that, b."),
        (
            ["a1", "a2", "a1", "b", "b", "c"],
            "Cheapest: {0}, 1; fastest: c, 6. Cheapest by speed: one of a1 and a2 up to 4.00 tok/s, b up to "
            "6.00; above that, c.",
        ),
        (
            ["a", "b", "c", "d"],
            "Cheapest: {0}, 1; fastest: d, 4. Cheapest by speed: a up to 2.00 tok/s, b up to 3.00, c up to 4.00; above that, d.",
        ),
        (
            ["a", "b", "c", "d", "a", "e"],
            "Cheapest: {0}, 1; fastest: e, 6. At speeds in between, the cheapest chip alternates: a, b, c, d and 1 more.",
        ),
        (
            ["a1", "a2", "a3", "a4", "a5", "a6", "b"],
            "Cheapest: {0}, 1; fastest: b, 7. Cheapest by speed: one of a1, a2, a3, a4 and 2 more up to 7.00 tok/s; above that, b.",
        ),
    ],
)  # fmt: skip
def test_which_chip_is_cheapest_at_which_speed(told, chips, end):
    assert told(chips) == end.format(chips[0])


def test_a_first_screen_has_ten_points_evenly_in_the_logarithm_of_speed():
    """Of doublings, each of ten octaves has its point; of few points all are shown."""
    for count, shown in ((1, 1), (4, 4), (10, 10), (19, 10), (100, 10)):
        points = [point("a", 2.0 ** (9.0 * at / max(count - 1, 1))) for at in range(count)]
        found = FrontierAnswer(request=None, points=points, searched=(), refused=())._few
        assert len(found) == shown
        assert found[0] is points[0]
        assert found[-1] is points[-1]
        if count > shown:
            steps = np.diff(np.log2([one.speed for one in found]))
            assert steps == pytest.approx(1.0, abs=0.1)


@every(
    "formats,narrowed,has_formats",
    [
        ([("bf16", "bf16")] * 2, False, False),
        ([("bf16", "bf16"), ("fp8", "bf16")], False, True),
        ([("bf16", "bf16"), ("bf16", "fp8")], False, True),
        ([("fp8", "bf16")], True, True),
    ],
)
def test_formats_are_told_where_they_differ_or_change_the_answers(formats, narrowed, has_formats):
    records = [
        {"weight_format": weights, "kv_format": kv, "is_narrowed": narrowed}
        for weights, kv in formats
    ]
    for wide in (False, True):
        shown = answer.columns(records, wide=wide)
        assert ("formats" in {column.key for column in shown}) == has_formats
        assert any(column.drop_priority for column in shown) != wide
    star = " *" if narrowed else ""
    assert answer._marked(records[0]) == f"{formats[0][0]}, kv {formats[0][1]}{star}"
