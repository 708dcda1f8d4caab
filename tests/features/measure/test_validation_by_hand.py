"""Sentences and rows of a validation from made-up predictions."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fastcalc.errors import InputError
from fastcalc.evidence.earlier import ChipChange
from fastcalc.evidence.score import SRAM, Group
from fastcalc.evidence.validate import Validation
from fastcalc.features.measure import accuracy_chart
from fastcalc.features.measure import validate as command
from fastcalc.features.measure import validation as page
from fastcalc.features.measure.request import Validate
from fastcalc.features.measure.validation import ValidationAnswer
from fastcalc.mentions import as_flags
from tests.helpers import every


def change(name, before, after, count=3):
    return ChipChange(name, count, before, after)


WORSE = [
    change(name, 1.0, 1.0 + percent / 100)
    for name, percent in (("a", 9), ("b", 8), ("c", 7), ("d", 6))
]
BETTER = [change("e", 2.0, 1.0)]


def told(change_):
    sign = "worse" if change_.worse > 0 else "better"
    return (
        f"{change_.hardware} {abs(change_.worse):.0%} {sign} (median error {change_.before:.2f}x to "
        f"{change_.after:.2f}x, 3 measurements)"
    )


@every(
    "changes,is_whole,sentences",
    [
        (None, False, []),
        ([], False, ["since the baseline: no chip is worse or better"]),
        # Half a percent is no change.
        ([change("a", 1.0, 1.0049), change("b", 1.0, 0.9951)], False, ["since the baseline: no chip is worse or better"]),
        ([change("a", 1.0, 1.0051)], False, ["since the baseline: a 1% worse (median error 1.00x to 1.01x, 3 measurements)"]),
        (BETTER, False, ["since the baseline: e 50% better (median error 2.00x to 1.00x, 3 measurements)"]),
        ([*WORSE, *BETTER], False, [f"since the baseline: {'; '.join(map(told, [*WORSE[:3], *BETTER]))}; 1 other chip with "]),
        ([*WORSE, *BETTER], True, [f"since the baseline: {'; '.join(map(told, [*WORSE, *BETTER]))}"]),
    ],
)  # fmt: skip
def test_chips_that_are_worse_come_first(changes, is_whole, sentences):
    found = page._changes(changes, is_whole=is_whole)
    assert len(found) == len(sentences)
    assert all(text.startswith(start) for text, start in zip(found, sentences, strict=True))


def prediction(name, factor, *, assumed="", beats=False, tokens=None):
    point = SimpleNamespace(
        id=name, model="m", hardware="h", metric="tpot_s", value=0.01, tokens_per_pass=tokens,
        is_speculation_inferred=tokens is not None,
    )  # fmt: skip
    return SimpleNamespace(
        point=point, factor=factor, expected=0.02, beats_bound=beats, assumed=assumed
    )


def test_the_largest_error_is_named():
    rows = [prediction("a", 1.5), prediction("b", 3.0), prediction("c", 2.0)]
    answer = ValidationAnswer(
        request=SimpleNamespace(wide=False), validation=Validation(rows, (), ()), aside=None,
        changes=None,
    )  # fmt: skip
    (said,) = [note.text for note in answer.notes() if note.is_hint]
    assert said.startswith("Largest error: b, m on h: tpot_s measured 0.0100, expected 0.0200, ")
    assert said.endswith("an error of 3.00x.")


def test_three_assumptions_are_named_the_most_frequent_first():
    rows = [prediction("x", 1.0, assumed=text) for text in "abbcccdddd"]
    (said,) = page._assumed([*rows, prediction("x", 1.0)])
    assert said.startswith(
        "Assumed: d (4 measurements); c (3 measurements); b (2 measurements); 1 more with "
    )
    (said,) = page._assumed(rows[:1])
    assert said == "Assumed: a (1 measurement)"
    assert [*page._assumed([prediction("x", 1.0)])] == []


@every(
    "tokens,start",
    [
        ((), None),
        ((2.5,), "1 measurement used speculative decoding: 2.5 tokens per chunk "),
        ((2.5, 3.0, 2.0), "3 measurements used speculative decoding: 2 to 3 tokens per chunk "),
    ],
)
def test_speculation_that_was_inferred_is_told(tokens, start):
    rows = [prediction("x", 1.0, tokens=count) for count in tokens]
    said = [*page._speculated([*rows, prediction("x", 1.0)])]
    assert [text.startswith(start) for text in said] == [True] * bool(tokens)


def test_eight_reasons_of_points_that_are_not_predicted():
    skipped = [SimpleNamespace(reason=f"r{at}") for at in range(10) for _ in range(10 - at)]
    said = [*page._left_out(skipped)]
    assert said[0] == "10 measurements not predicted: r0"
    assert len(said) == 8
    assert [*page._left_out(skipped[-1:])] == ["1 measurement not predicted: r9"]


def group(name):
    return Group(name, 9, 3, 1.1, 1.5, 1.0, 0.8, 0)


def test_the_worst_points_and_those_above_their_bound_are_listed_once():
    """Five of the largest errors, then twenty that beat their bound."""
    rows = [prediction(f"p{at}", 1.0 + at / 10, beats=at < 40) for at in range(45)]
    *_, table = page.scores(Validation(rows, (), [group("all"), group("part:a"), group("h")]), 100)
    names = [row[0] for row in table.rows]
    assert names == [f"p{at}" for at in (44, 43, 42, 41, 40)] + [f"p{39 - at}" for at in range(20)]
    assert len([*page.scores(Validation((), (), [group("all")]), 100)]) == 1
    found = page.shown([group("all"), group("part:a"), group("h")])
    assert [one.name for one in found] == ["all", "part:a"]


def notes(count):
    skipped = [SimpleNamespace(reason=f"r{at}") for at in range(count)]
    answer = ValidationAnswer(
        request=SimpleNamespace(wide=False),
        validation=Validation([prediction("a", 2.0)], skipped, ()), aside=None, changes=None,
    )  # fmt: skip
    return [*answer.notes()]


def test_a_first_screen_has_the_largest_error_and_three_notes():
    hint, *others = notes(5)
    assert (hint.weight, hint.is_hint) == (3, True)
    assert hint.text.startswith("Largest error: a")
    assert [note.weight for note in others] == [2, 2, 2, 0, 0]


@every(
    "sources,p90,fewest,said",
    [
        (4, 1.7, 4, ""),
        (3, 1.7, 4, 'Too few sources for reliable figures: "a" (3 sources).'),
        (3, 9.9, 4, 'Too few sources for reliable figures: "a" (3 sources).'),
        (4, 9.9, 4, ""),
    ],
)
def test_weak_classes_are_told(sources, p90, fewest, said):
    part = Group("part:a", 9, sources, 1.1, p90, 1.0, 0.8, 0)
    others = [Group(name, 9, 1, 1.1, 9.9, 1.0, 0.8, 0) for name in ("all", "h100")]
    assert page._weak(Validation((), (), [*others, part]), fewest) == said


@every(
    "count,file,text",
    [
        (0, None, "Cross-validated: each measurement is predicted by a fit without its publisher's data."),
        (7, None, f"Cross-validated: each measurement, except 7 of {SRAM}, is predicted by a fit without its publisher's data."),
        (7, Path("runs.csv"), ""),
    ],
)  # fmt: skip
def test_the_scope_names_machines_whose_own_engines_are_fitted_to_them(count, file, text):
    groups = [group("all"), group("h100")] + [replace(group(f"part:{SRAM}"), count=count)] * bool(
        count
    )
    answer = ValidationAnswer(
        request=SimpleNamespace(path=file), validation=Validation((), (), groups), aside=None,
        changes=None,
    )  # fmt: skip
    assert [*answer.body(SimpleNamespace(wide=False, width=100))][1] == text


NO_FILE = "give a file; the shipped evidence names its own hardware and engines"


@every(
    "asked,refusal",
    [
        ({"max_median_factor": 0.99}, "--max-median-factor 0.99 is below 1, which nothing can reach"),
        ({"max_worse": 0.03}, "--max-worse compares with earlier predictions; name them with --baseline before.csv"),
        ({"max_worse": 0.0}, "--max-worse compares with earlier predictions; name them with --baseline before.csv"),
        ({"max_worse": 1.5, "baseline": Path("no.csv")}, "--max-worse 1.5 is not a share from 0 to 1; write for example 0.5"),
        ({"hardware": "h100-sxm"}, NO_FILE), ({"speculate": "0.8x3"}, NO_FILE), ({"draft_model": "llama-3.2-1b"}, NO_FILE),
    ],
)  # fmt: skip
def test_what_cannot_be_validated_is_refused(asked, refusal):
    with pytest.raises(InputError) as error:
        command.run(Validate(**asked))
    assert as_flags(error.value.args[0]) == refusal


@every(
    "asked,code,reasons",
    [
        ({}, 0, []),
        ({"max_median_factor": 1.25}, 0, []),
        ({"max_median_factor": 1.2}, 1, ["the median factor is 1.250, above --max-median-factor 1.2"]),
        # Of 1.0 before: half as much again.
        ({"baseline": Path("b.csv")}, 0, []),
        ({"baseline": Path("b.csv"), "max_worse": 0.5}, 0, []),
        ({"baseline": Path("b.csv"), "max_worse": 0.49}, 1, ["h 50% worse (median error 1.00x to 1.50x, 1 measurement), above the 49% allowed"]),
        ({"baseline": Path("b.csv"), "max_worse": 0.0, "max_median_factor": 1.0}, 1, [
            "h 50% worse (median error 1.00x to 1.50x, 1 measurement), above the 0% allowed",
            "the median factor is 1.250, above --max-median-factor 1",
        ]),
    ],
)  # fmt: skip
def test_the_exit_code_of_a_validation_is_that_of_its_limits(asked, code, reasons, monkeypatch):
    """A median of 1.25, and one chip whose error is 1.5."""
    total = Group("all", 9, 3, 1.25, 1.5, 1.0, 0.8, 0)
    found = Validation([prediction("a", 1.5)], (), [group("h100"), total])
    monkeypatch.setattr(command, "of_file", lambda *_: found)
    monkeypatch.setattr(command, "factors_in", lambda _: {"a": 1.0})
    answer = command.run(Validate(path=Path("runs.csv"), **asked))
    assert (answer.code, [as_flags(text) for text in answer.reasons]) == (code, reasons)
    assert (answer.changes is None) is ("baseline" not in asked)
    monkeypatch.setattr(command, "factors_in", lambda _: {"other": 1.0})
    if "baseline" in asked:
        with pytest.raises(
            InputError, match=r"^b.csv: contains none of the points predicted here$"
        ):
            command.run(Validate(path=Path("runs.csv"), **asked))


@every("above,verb", [(0, "none exceeds"), (1, "1 exceeds"), (2, "2 exceed")])
def test_the_headline_of_a_validation(above, verb):
    total = Group("all", 1000, 1, 1.25, 2.5, 1.0, 0.8, above)
    answer = ValidationAnswer(
        request=SimpleNamespace(path=None), validation=Validation((), (), [total]), aside=None,
        changes=None,
    )  # fmt: skip
    first, scope, *_ = answer.body(SimpleNamespace(wide=False, width=100))
    assert first == (
        "Median error 1.25x and 90th percentile 2.50x over 1,000 measurements from 1 source. The "
        f"80% ranges contain 80% of them; {verb} the hardware bound."
    )
    assert ", except" not in scope


def test_a_chart_groups_predictions_by_what_their_fit_has_seen(monkeypatch):
    """Few SRAM machines set their own engines; a host holds weights of some others."""
    monkeypatch.setattr(accuracy_chart, "accuracy", dict)
    chip, wafer = (SimpleNamespace(part=part) for part in ("GPU", SRAM))
    alone, hosted = (
        SimpleNamespace(point=SimpleNamespace(is_offloaded=held)) for held in (False, True)
    )
    aside = SimpleNamespace(
        fitted=SimpleNamespace(predictions=[chip, wafer]),
        held_out=SimpleNamespace(predictions=[alone, hosted]),
    )
    answer = ValidationAnswer(request=None, validation=Validation([chip], (), ()), aside=aside, changes=None)  # fmt: skip
    assert [*answer.charts["validate"]().values()] == [[chip], [alone], [hosted], [wafer]]
    assert replace(answer, aside=None).charts["validate"]() == {"": [chip]}
