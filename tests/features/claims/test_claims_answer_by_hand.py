"""Sentences about claims from made-up tests of them."""

from math import inf, nan
from types import SimpleNamespace

import numpy as np

from fastcalc.features.claims import answer, break_evens, explained
from fastcalc.mentions import as_flags
from tests.helpers import every, run_once, words


def a_test(values=(2.0,), unit="s", *, ranges=(), premises=(), comparison="equals", **expected):
    usual = {"factor": 1.0, "ends": (), "tolerance": None, "stated": [2.0]} | expected
    return SimpleNamespace(
        values=np.array(values), expected=usual["stated"], unit=unit, ranges=ranges, quantity="the time",
        check=SimpleNamespace(
            premises=premises, comparison=comparison, tolerance=usual["tolerance"],
            expected=SimpleNamespace(ends=usual["ends"], factor=usual["factor"]),
        ),
    )  # fmt: skip


@every(
    "values,most,text",
    [
        ((2.0,), 2, "2 s"),
        ((2.0, 3.0), 2, "2 and 3 s"),
        ((3.0, 2.0, 4.0), 2, "2 to 4 s"),
        ((2.0, 3.0, 4.0), 3, "2, 3, 4 s"),
        ((2.0, nan), 2, "2 s (in other cases, no batch reaches both speeds)"),
        ((inf,), 2, "no batch reaches both speeds"),
        ((2.0, nan, 4.0), 2, "2 to 4 s (in other cases, no batch reaches both speeds)"),
        ((nan, nan, nan), 2, "no batch reaches both speeds"),
    ],
)
def test_values_of_a_claim(values, most, text):
    assert answer.shown(a_test(values), most) == text


@every(
    "ends,unit,text",
    [
        ((2.0, 4.0), "s", "2 to 4 s"),
        ((2.0, 2.0), "s", "2 s"),
        ((0.9e-6, 4.0), "s", "0 to 4 s"),
        ((0.9e-6, 4.0), "x", "9e-07x to 4x"),
        ((2.0, inf), "s", "2 s or more"),
        ((inf, inf), "s", "no batch reaches both speeds"),
    ],
)
def test_a_range_over_assumptions(ends, unit, text):
    tested = a_test(unit=unit, ranges=[ends], premises=("batch",))
    assert answer.over_assumptions(tested) == text


def test_without_assumptions_the_value_is_told():
    assert answer.over_assumptions(a_test((3.0,), ranges=[(2.0, 4.0)])) == "3 s"
    both = a_test((3.0,), ranges=[(2.0, 4.0), (5.0, 6.0)], premises=["x"])
    assert answer.over_assumptions(both) == "2 to 4 s and 5 to 6 s"


@every(
    "changes,is_stated,text",
    [
        ({}, False, "2 s"),
        ({"tolerance": 0.1}, False, "2 s ± 10%"),
        ({"stated": [2.0, 3.0]}, False, "2 and 3 s"),
        ({"comparison": "between", "stated": [2.0, 3.0, 4.0, 5.0]}, False, "2 to 3 s and 4 to 5 s"),
        # The range tried replaces the tolerance of the stated value.
        ({"ends": [20.0, 30.0], "factor": 10.0, "tolerance": 0.1}, False, "2 s (2 to 3 s tried)"),
        ({"ends": [20.0, 30.0], "factor": 10.0, "tolerance": 0.1}, True, "2 s ± 10%"),
    ],
)
def test_a_criterion(changes, is_stated, text):
    found = answer.criterion(a_test(**changes), is_stated=is_stated)
    assert found.endswith(text)
    assert found.removesuffix(text) in answer._WORDS.values()


@every(
    "values,unit,between,text",
    [
        ([0.2434567], "share", ", ", "24.35%"),
        ([1.23456], "s", ", ", "1.235 s"),
        ([1.0], "ms", ", ", "1 ms"),
        ([1.0], "days", ", ", "1 day"),
        ([1.0], "usd/h", ", ", "1 usd/h"),
        ([2.0, 1.0], "wafers", ", ", "2, 1 wafers"),
        ([1.0, 1.0], "wafers", " to ", "1 wafer"),
        ([1.0, 1.0], "x", " to ", "1x"),
        ([1.0, 1.0], "x", ", ", "1x, 1x"),
        ([3.0], "", ", ", "3"),
    ],
)  # fmt: skip
def test_an_amount_has_four_digits_and_its_unit(values, unit, between, text):
    assert break_evens.amount(values, unit, between) == text


def test_numbers_of_a_record_are_alone_or_listed():
    one = SimpleNamespace(values=np.array([2.0]), expected=[3.0, 4.0], unit="s", formula="f")
    assert answer._numbers_of(one) == {
        "value": 2.0,
        "expected": [3.0, 4.0],
        "unit": "s",
        "formula": "f",
    }
    assert set(answer._numbers_of(None).values()) == {None}


@every(
    "others,ends,texts,said",
    [
        ((), None, (), ""),
        ((), [1, 2], ("1", "2"), "; tried from 1 to 2"),
        (("a", "b"), [1, 2], ("1", "2"), "; also tried: a, b"),
    ],
)
def test_what_else_was_tried(others, ends, texts, said):
    assert explained._range(SimpleNamespace(others=others, ends=ends, range_texts=texts)) == said


def test_a_line_has_its_criterion_without_a_long_unit_twice():
    claimed, concluded = a_test((3.0,), "s"), a_test((3.0,), "tokens/s")
    judged = SimpleNamespace(tested=[claimed, concluded], conclusion=concluded)
    first, second = answer.computed_lines(judged)
    assert first.startswith("The time: 3 s (true if ")
    assert first.endswith("2 s)")
    assert second.startswith("The time: 3 tokens/s (true if ")
    assert second.endswith(" 2)")


@every(
    "outcomes,line",
    [
        (("holds", "fails"), "conclusion"),
        (("holds", "varies"), "conclusion"),
        (("holds", "holds"), "claim"),
        (("fails", "fails"), "claim"),
        (("varies", "fails"), "claim"),
    ],
)
def test_a_brief_line_gives_the_test_that_decides(outcomes, line):
    tests = [a_test(tolerance=0.1, ends=[20.0, 30.0], factor=10.0) for _ in outcomes]
    for one, outcome, name in zip(tests, outcomes, ("claim", "conclusion"), strict=True):
        one.outcome, one.quantity = outcome, name
    judged = SimpleNamespace(tested=tests, conclusion=tests[1])
    (brief,) = answer.computed_lines(judged, is_brief=True)
    assert brief == f"{line.capitalize()}: 2 s (true if 2 s)"


def book(topics):
    return SimpleNamespace(topics=topics, articles={}, sources={})


def claims(count, *, topics=None, only=None, checked=True):
    judged = [
        SimpleNamespace(
            claim=SimpleNamespace(id=f"c{number}"), verdict="holds", depends="constants",
            check=True if checked and number == 1 else None,
        )
        for number in range(count)
    ]  # fmt: skip
    request = SimpleNamespace(only=only, path=None)
    return answer.ClaimsAnswer(request=request, judged=judged, book=book(topics or {}))


def ids(judged):
    return [one.claim.id for one in judged]


def test_a_first_screen_has_twelve_claims_of_the_first_topic():
    topics = {"fast modes": ["c3", "c1", "c99"], "prices of all": ["c2"]}
    found = claims(20, topics=topics)
    leading, others = found.groups()
    assert ids(leading) == ["c3", "c1"]
    assert len(others) == 18
    assert ids(found._first_claims()) == ["c3", "c1"]
    (hint,) = [note for note in found.notes() if note.is_of_rows]
    assert hint.text.startswith("The table has 2 of 20 claims; ")
    assert "selects others by topic (prices)." in hint.text
    assert "--explain c1" in as_flags(found.next_command())  # the first with a number
    chosen = claims(20, topics=topics, only="c")
    assert len(chosen._first_claims()) == 12
    assert ids(chosen._first_claims())[:3] == ["c3", "c1", "c0"]
    (hint,) = [note for note in chosen.notes() if note.is_of_rows]
    assert "by topic" not in hint.text
    assert "--explain c0" in as_flags(claims(3, checked=False).next_command())
    assert len(claims(12).groups()) == 1
    assert not any(note.is_of_rows for note in claims(12).notes())


def test_what_verdicts_depend_on_is_counted():
    texts = {note.text: note.weight for note in claims(2).notes()}
    (depends,) = [text for text in texts if text.startswith("2 verdicts depend on ")]
    assert texts[depends] == 0
    assert any(note.text.startswith("1 verdict depends on ") for note in claims(1).notes())


def varied(met, **inputs):
    def stated(texts, names=()):
        return SimpleNamespace(is_list=len(texts) > 1, texts=texts, names=names)

    listed = {name: stated(*given) for name, given in inputs.items()}
    return SimpleNamespace(met=np.array(met), check=SimpleNamespace(inputs=listed))


@every(
    "found,sentences",
    [
        (varied([True, False], users=(["1", "8"],)), ["users: supported at 1, refuted at 8"]),
        (varied([True, False, True], users=(["1", "8", "9"],)), ["users: supported at 1, 9, refuted at 8"]),
        # The input that alone tells the cases apart, or else all that differ.
        (
            varied([True, False, False], users=(["1", "8", "1"],), rate=(["2", "3", "3"],)),
            ["rate: supported at 2, refuted at 3"],
        ),
        (
            varied([True, False, False], users=(["1", "8", "1"],), rate=(["2", "2", "3"],)),
            ["users, rate: supported at 1 2, refuted at 8 2, 1 3"],
        ),
        # Names of the catalogue stand together; what is equal in all cases is not told.
        (
            varied([True, False], chips=(["a", "b"], ["a", "b"]), users=(["8", "8"],)),
            ["chips: supported at a, refuted at b"],
        ),
        (
            varied([True, False], chips=(["a", "b"], ["a", "b"]), models=(["m", "n"], ["m", "n"])),
            ["chips, models: supported at a m, refuted at b n"],
        ),
        (varied([True], users=(["1"],)), []),
        (varied([True, False], users=(["8", "8"],)), []),
    ],
)  # fmt: skip
def test_cases_that_support_a_claim_and_that_refute_it(found, sentences):
    assert [*break_evens._cases(found)] == sentences


@every("wide,is_named", [((), False), (("--wide",), True)])
def test_the_key_explains_a_claim_that_says_may_where_one_is_shown(
    wide, is_named, capsys, monkeypatch
):
    """Claims 64 and 72 are true in some cases, and are not on the first screen."""
    said = words(run_once("claims", *wide, capsys=capsys, monkeypatch=monkeypatch).out)
    assert ("64 supported * Agents" in said) == is_named
    assert ("*: true only in some cases" in said) == is_named
    assert "supported: true in every plausible case;" in said
