"""What is public of machines that are known by their services stands under what is predicted."""

import re

import pytest

from fastcalc.evidence.public_speeds import PublicSpeed, public_speeds
from fastcalc.features.compare.notes import _explained, remarks
from tests.helpers import outcome


def sentences(*outcomes):
    return [
        note.text for note in remarks(outcomes) if note.text.startswith("Published tokens/s of")
    ]


def test_speeds_of_one_user_are_those_of_their_sources_by_date():
    """Cerebras at launch, Artificial Analysis as quoted by SambaNova, and with draft tokens."""
    assert public_speeds("wse-3", "llama-3.1-70b") == [
        PublicSpeed(450.0, "2024-08-27", 1.0),
        PublicSpeed(445.0, "2024-09-10", 1.0),
        PublicSpeed(2148.0, "2024-10", None),
    ]
    assert public_speeds("wse-3", "llama-3.1-70") == []


def test_a_speed_above_the_range_says_how_many_tokens_a_step_explain_it():
    predicted = outcome("llama-3.1-70b", "wse-3", batch=(1,))
    (sentence,) = sentences(predicted)
    assert "450 (2024-08), 445 (2024-09). Above the range: 2,148 (2024-10), 1,500 (" in sentence
    found = re.search(
        r"speculative decoding that accepts ([\d.]+) to ([\d.]+) tokens per step", sentence
    )
    least, most = map(float, found.groups())
    assert least == pytest.approx(1500.0 / float(predicted.estimate.high[0]), rel=0.03)
    assert most == pytest.approx(2600.0 / float(predicted.estimate.speed[0]), rel=0.03)


def test_a_speed_inside_the_range_leaves_open_whether_tokens_are_drafted():
    (sentence,) = sentences(outcome("gpt-oss-120b", "wse-3", batch=(1,)))
    assert "1,844 (2026)" in sentence
    assert sentence.endswith("speculative decoding not stated.")
    assert "above the range" not in sentence


def test_chips_that_a_source_leaves_out_may_explain_a_speed_as_well():
    """Artificial Analysis, May 2025: 792 tokens/s of SambaNova, 276 of Groq."""
    groq, sambanova = (
        *sentences(outcome("llama-4-maverick", "groq-lpu", batch=(1,))),
        *sentences(outcome("llama-4-maverick", "sn40l", batch=(1,))),
    )
    assert groq.endswith(": 276 (2025-05), speculative decoding not stated.")
    assert sambanova.endswith(
        "above the range: 792 (2025-05); chips and speculative decoding not stated."
    )


def test_several_users_and_chips_that_people_own_are_not_set_against_them():
    (sentence,) = sentences(outcome("llama-3.1-70b", "wse-3", batch=(8,)))
    assert "above the range" not in sentence
    assert sentences(outcome("llama-3.1-8b", "h100-sxm", batch=(1,))) == []


def test_several_published_speeds_follow_what_a_first_screen_must_say():
    """Three chips have them; two have no price, without which costs are blank."""
    chips = ("sn40l", "groq-lpu", "wse-3")
    outcomes = [outcome("llama-4-maverick", chip, batch=(1,)) for chip in chips]
    notes = [note.text for note in remarks(outcomes) if note.weight]
    published = [at for at, note in enumerate(notes) if note.startswith("Published")]
    unpriced = [at for at, note in enumerate(notes) if "no cloud price" in note]
    assert (len(published), len(unpriced)) == (3, 2)
    assert max(unpriced) < min(published)


def test_only_speeds_without_chips_are_said_to_have_none():
    predicted = outcome("llama-4-maverick", "sn40l", batch=(1,))
    stated, unstated = PublicSpeed(900.0, "2025", None, 16.0), PublicSpeed(900.0, "2025", None)
    said = [_explained(speeds, predicted) for speeds in ([stated], [stated, unstated], [unstated])]
    assert said[0].startswith("speculative decoding that")
    assert said[1:] == [
        "chips (of some) and speculative decoding not stated",
        "chips and speculative decoding not stated",
    ]
