"""Advice and records of a diagnosis from made-up findings and starts."""

from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.features.measure import diagnosis_answer as page
from fastcalc.features.measure.diagnosis.terms import EAGER, NEWER_RELEASE, OLD_RELEASE, TERMS
from fastcalc.features.measure.diagnosis_answer import DiagnosisAnswer

FIRST, SECOND = (
    SimpleNamespace(settings=("a1", "a2", EAGER)),
    SimpleNamespace(settings=("b1", "a1", OLD_RELEASE)),
)


def finding(term, *, is_named=True):
    return SimpleNamespace(term=term, is_named=is_named)


def cause(setting, term=TERMS[0]):
    return SimpleNamespace(setting=setting, term=term, sentence=f"{setting} is set", times=2.0)


def start(*causes, settings=("x",)):
    return SimpleNamespace(causes=list(causes), log=SimpleNamespace(settings=settings))


def answered(findings=None, log=None):
    diagnosis = SimpleNamespace(findings=findings) if findings is not None else None
    return DiagnosisAnswer(request=None, diagnosis=diagnosis, start=log)


def test_suspects_of_the_named_terms_in_turn_and_each_once():
    named = [
        finding(FIRST),
        finding(SimpleNamespace(settings=("z",)), is_named=False),
        finding(SECOND),
    ]
    assert answered(named).suspects == ["a1", "b1", "a2", EAGER, OLD_RELEASE]
    # A log shows whether graphs are captured, and which release runs.
    assert answered(named, start()).suspects == ["a1", "b1", "a2", OLD_RELEASE]
    assert answered(named, start(settings=())).suspects == ["a1", "b1", "a2", EAGER, OLD_RELEASE]
    updated = answered(named, start(cause(NEWER_RELEASE), cause(NEWER_RELEASE)))
    assert updated.changes == [NEWER_RELEASE]
    assert updated.suspects == ["a1", "b1", "a2"]
    assert updated.advice == [NEWER_RELEASE, "a1", "b1", "a2"]


def test_two_causes_of_a_log_count():
    causes = [cause("one"), cause("two"), cause("three")]
    assert answered(log=start(*causes)).changes == ["one", "two"]
    assert answered().changes == []


def test_named_terms_come_first():
    last = TERMS[-1]
    rows = answered([finding(term, is_named=term is last) for term in TERMS]).terms
    assert rows[0].term is last
    assert [row.term for row in rows[1:]] == list(TERMS[:-1])
    rows = answered(log=start(cause("x", TERMS[1]))).terms
    assert rows[0].term is TERMS[1]
    assert len(rows) == len(TERMS)


def test_both_verdicts_make_one_sentence(monkeypatch):
    monkeypatch.setattr(page, "verdict", lambda _: "Likely (60%), x is slow")
    monkeypatch.setattr(page, "verdict_by_log", lambda *_: "From the log: y")
    assert answered([]).sentence == "Likely (60%), x is slow"
    assert answered(log=start()).sentence == "From the log: y"
    both = answered([], start()).sentence
    assert both == "From the log: y. With the logged settings, likely (60%), x is slow"


@pytest.mark.parametrize(
    ("findings", "log", "end"),
    [
        ([finding(FIRST, is_named=False)], None, "*: the same, as no cause is named"),
        ([finding(FIRST)], None, "*: with the causes named above"),
        ([finding(FIRST, is_named=False)], start(), "*: with the logged settings"),
        (
            [finding(FIRST)],
            start(),
            "*: with the logged settings and the causes named above",
        ),
    ],
)
def test_what_the_second_mark_includes(findings, log, end):
    assert answered(findings, log)._key().endswith(f"; {end}")


def test_a_record_of_a_start_is_in_decimal_gigabytes():
    log = SimpleNamespace(
        program="vllm", version="", settings={}, weights=16e9, available=None, tokens=5, at_once=2.5,
        graphs=0.5e9, backend="",
    )  # fmt: skip
    begun = SimpleNamespace(
        log=log, tokens=(1.0, 2.0, 3.0), causes=[cause("x")],
        scenario=SimpleNamespace(work=SimpleNamespace(kv_format="fp8")),
        placement=SimpleNamespace(weights_per_chip=np.array(15e9)),
    )  # fmt: skip
    record = page._of_start(begun)
    assert (record["weights_gb_per_chip"], record["expected_weights_gb_per_chip"]) == (16.0, 15.0)
    assert (record["available_kv_gb_per_chip"], record["cuda_graphs_gb_per_chip"]) == (None, 0.5)
    keys = ("", "_low", "_high")
    assert [record[f"expected_kv_cache_tokens{key}"] for key in keys] == [2.0, 1.0, 3.0]
    assert (record["version"], record["attention_backend"]) == (None, None)
    assert record["causes"] == [
        {"term": TERMS[0].name, "sentence": "x is set", "setting": "x", "times": 2.0}
    ]


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        (0.5, 8.0, {0: "o", 5: "|", 20: "*"}),
        (2.0, 4.0, {5: "|", 10: "o", 15: "*"}),
        (0.1, 16.0, {0: "o", 5: "|", 20: "*"}),
        (2.0, 2.0, {5: "|", 10: "*"}),
        (1.0, 0.5, {0: "*", 5: "o"}),
    ],
)
def test_marks_stand_five_characters_apart_for_each_factor_of_two(before, after, places):
    line = page._line(before, after)
    assert {at: sign for at, sign in enumerate(line) if sign != " "} == places
    assert line == line.rstrip()


def test_a_time_is_predicted_shorter_and_a_rate_higher_by_default():
    time, rate = SimpleNamespace(is_time=True, value=6.0), SimpleNamespace(is_time=False, value=6.0)
    assert page._by_default(time, 2.0) == 3.0
    assert page._by_default(rate, 2.0) == 12.0
    found = page._after(
        SimpleNamespace(
            predictions=[SimpleNamespace(expected=6.0, point=point) for point in (time, rate)],
            slower=(None, np.array([2.0, 2.0])),
        )
    )
    assert found.tolist() == [12.0, 3.0]
