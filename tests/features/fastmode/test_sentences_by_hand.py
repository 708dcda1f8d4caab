"""Sentences of fast modes from made-up solutions."""

from math import nan
from types import SimpleNamespace

import numpy as np

from fastcalc.features.fastmode import sentences
from tests.helpers import every


def today(*, batch=32, speed=80.0, chips=2, largest=32, layers=40.0):
    return SimpleNamespace(
        scenario=SimpleNamespace(
            batches=(batch,), hardware=SimpleNamespace(id="h"),
            model=SimpleNamespace(asked_name="m"), work=SimpleNamespace(short_format="fp8"),
        ),
        placement=SimpleNamespace(
            layout=SimpleNamespace(chips=chips), max_batch=largest, work=SimpleNamespace(layers=layers)
        ),
        estimate=SimpleNamespace(speed=np.array([speed])),
    )  # fmt: skip


def solution(**changes):
    usual = {
        "today": today(), "speed": 200.0, "asked_start": None, "cheapest": "x", "reached": ["x"],
        "on_same_chips": "x", "reaches_on_same_chips": False, "nearest": (150.0, "more chips"), "fewer_layers": None,
        "thinner_layers": None, "drafts": np.array([1.0, 2.0, 3.0]),
        "tokens": np.array([1.5, 2.5, nan]), "acceptance": np.array([0.5, nan, nan]),
    }  # fmt: skip
    return SimpleNamespace(**usual | changes)


BEGUN = "Today m (fp8) on 2 h gives each of 32 users 80.0 tokens/s"
NOTHING = "Nothing in the catalogue reaches 200 tokens/s; a single user gets at most"


@every(
    "changes,sentence",
    [
        ({"cheapest": None}, "200 tokens/s per user (2.50x) requires quantization or another model, which changes the output."),
        ({"cheapest": None, "reached": []}, f"{NOTHING} 150, with more chips."),
        ({"cheapest": None, "reached": [], "nearest": None}, f"{NOTHING} 0, with today."),
    ],
)  # fmt: skip
def test_the_headline_without_a_way_that_keeps_the_answers(changes, sentence):
    assert sentences.headline(solution(**changes)) == sentence


@every(
    "changes,sentence",
    [
        ({}, BEGUN),
        ({"today": today(batch=1)}, BEGUN.replace("each of 32 users", "one user")),
        ({"asked_start": 50.0}, f"{BEGUN} (50.0 asked, but no larger batch fits)"),
    ],
)
def test_today(changes, sentence):
    assert sentences.today(solution(**changes)) == sentence


@every(
    "asked,batch,is_said",
    [(None, 32, False), (50.0, 31, False), (80.0, 32, False), (50.0, 32, True), (50.0, 33, True)],
)
def test_today_is_faster_than_asked_where_no_larger_batch_fits(asked, batch, is_said):
    said = sentences.too_fast(solution(asked_start=asked, today=today(batch=batch)))
    assert bool(said) == is_said
    if is_said:
        start = "today's users get 80.0 tokens/s instead of 50.0, because the largest batch on two h is "
        assert said.startswith(f"{start}{batch}; use ")


def test_what_speculation_needs():
    said = sentences.drafts_needed(solution())
    assert said == (
        "tokens per step that speculation needs at batch 32, by number of draft tokens: "
        "1: 1.50 (acceptance 0.50); 2: 2.50 (impossible); 3: the hardware bound is below it"
    )
    none = sentences.drafts_needed(solution(acceptance=np.full(3, nan)))
    assert none.startswith(
        "speculation at batch 32: no acceptance rate below 1 reaches it with 1 to 3 "
    )
