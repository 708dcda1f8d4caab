"""Advice and records of a diagnosis from made-up findings and starts."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.features.measure import diagnosis_answer as page
from fastcalc.features.measure.diagnosis.terms import EAGER, NEWER_RELEASE, OLD_RELEASE, TERMS
from fastcalc.features.measure.diagnosis_answer import DiagnosisAnswer
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.parts import Listing
from fastcalc.mentions import as_flags

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
    assert answered([]).verdicts == ["Likely (60%), x is slow"]
    assert answered(log=start()).verdicts == ["From the log: y"]
    both = ". ".join(answered([], start()).verdicts)
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


def pictured(points, *, before=None, width=200):
    """The names and numbers of a picture of measurements at twice what is predicted."""
    count = len(points)
    diagnosis = SimpleNamespace(
        belief=SimpleNamespace(slowdowns=SimpleNamespace(residuals=np.full(count, np.log(2.0)))),
        before=np.full(count, 2.0) if before is None else np.array(before),
        slower=(None, np.full(count, 1.6)),
        predictions=[SimpleNamespace(point=point) for point in points],
    )
    return page._picture(diagnosis, width, "as named")


def point(metric, concurrency=8, prompt=1000.0, value=6.0):
    is_time = metric in ("ttft_s", "tpot_s")
    return SimpleNamespace(
        metric=metric, concurrency=concurrency, prompt=prompt, value=value, is_time=is_time
    )


@pytest.mark.parametrize(
    ("points", "names"),
    [
        ([point("tpot_s"), point("ttft_s")], ["TPOT ms at 8", "TTFT ms at 8"]),
        ([point("tpot_s"), point("tpot_s", 16)], ["TPOT ms at 8", "TPOT ms at 16"]),
        # Of two prompts, each names its own; one that is not stated cannot.
        ([point("tpot_s"), point("tpot_s", prompt=4000.0)], ["TPOT ms at 8, 1,000 in", "TPOT ms at 8, 4,000 in"]),
        ([point("tpot_s"), point("tpot_s", prompt=None)], ["TPOT ms at 8, 1,000 in", "TPOT ms at 8"]),
        ([point("tokens_per_s_total", None)], ["tok/s at all"]),
    ],
)  # fmt: skip
def test_measurements_are_named_by_their_concurrency_and_if_need_be_their_prompt(points, names):
    (table,) = pictured(points)
    assert [row[0] for row in table.rows] == names


def test_a_picture_has_the_numbers_of_each_measurement():
    """6 s are 6,000 ms, and 3,000 by default; 6 tokens/s are 12 by default; 2 over 1.6 is 1.25."""
    (table,) = pictured([point("ttft_s"), point("tokens_per_s_total")])
    assert [row[1:5] for row in table.rows] == [
        ["6,000", "3,000", "2.0x", "1.2x"],
        ["6.00", "12.0", "2.0x", "1.2x"],
    ]
    assert all("*" in row[5] for row in table.rows)
    (narrow,) = pictured([point("ttft_s")], width=60)
    assert len(narrow.rows[0]) == 5


def test_a_picture_shows_the_measurements_that_are_furthest_off_in_their_order():
    count = page._MOST_LINES + 2
    before = [1.0 + at / 10 for at in range(count)]
    before[-1] = 1.01
    table, remainder = pictured([point("tpot_s", at + 1) for at in range(count)], before=before)
    assert [row[0] for row in table.rows] == [f"TPOT ms at {at + 1}" for at in range(1, count - 1)]
    assert remainder == "and 2 more measurements with smaller errors"


def test_a_log_alone_has_no_chart_of_measurements():
    assert not answered(log=start()).charts
    assert [*answered([]).charts] == ["diagnose"]


def test_chips_of_measurements_are_those_stated_or_of_ranks_or_one():
    points = [
        SimpleNamespace(chips=chips, tp=tp, model="m", hardware="h")
        for chips, tp in ((8, 4), (None, 4), (None, None), (8, None))
    ]
    made = SimpleNamespace(
        diagnosis=SimpleNamespace(
            predictions=[SimpleNamespace(point=point, engine_used="vllm") for point in points]
        ),
        request=SimpleNamespace(path=Path("runs.csv"), log=None), start=None,
    )  # fmt: skip
    (remark,) = DiagnosisAnswer._given(made)
    assert remark == "runs.csv: 4 measurements of m on 1, 4 and 8 h, engine vllm"


@pytest.mark.parametrize(
    ("notes", "changes", "suspects", "hidden"),
    [
        (False, ["one", "two"], ["a1"], ["--notes prints 2 more settings."]),
        (True, ["one", "two"], ["a1", "a2", EAGER], []),
    ],
)
def test_changes_by_the_log_are_listed_apart_from_settings_to_check(
    notes, changes, suspects, hidden, monkeypatch
):
    """Two causes in the log and three settings of a named term; a first screen has room for three."""
    for name, text in (("verdict", "x"), ("verdict_by_log", "y"), ("unnamed", "")):
        monkeypatch.setattr(page, name, lambda *_, text=text: text)
    monkeypatch.setattr(page, "_picture", lambda *_: ["picture"])
    monkeypatch.setattr(DiagnosisAnswer, "_given", lambda _: iter(()))
    monkeypatch.setattr(DiagnosisAnswer, "next_command", lambda _: "next")
    made = answered([finding(FIRST)], start(cause("one"), cause("two"), settings=()))
    made.diagnosis.further = None
    *parts, last = made._laid_out(Screen(80, notes=notes), 2)
    listings = {
        parts[at - 1]: part.lines for at, part in enumerate(parts) if isinstance(part, Listing)
    }
    assert listings == {"What to change": changes, "Settings to check": suspects}
    assert [as_flags(line) for line in last.lines[1:]] == hidden
