"""Sentences and notes of advised and finished benchmark runs, from made-up ones."""

from types import SimpleNamespace

import pytest

from fastcalc.features.benchmark import answer
from fastcalc.features.benchmark.answer import BatchRow, MeasureAnswer
from tests.helpers import every


def a_run(concurrency=8, prompt=1000, output=200, seconds=30.0):
    return SimpleNamespace(concurrency=concurrency, prompt=prompt, output=output, seconds=seconds)


def measured(busy=0.0):
    return SimpleNamespace(client_busy=busy)


def answered(runs, rows, *, results=(), asked=2, tool="vllm", existing=(), **request):
    layout = SimpleNamespace(chips=1, tp=2, pp=1, dp=3)
    now = SimpleNamespace(
        placement=SimpleNamespace(layout=layout),
        scenario=SimpleNamespace(
            engine=SimpleNamespace(program="vllm"),
            hardware=SimpleNamespace(id="h"),
            model=SimpleNamespace(asked_name="m"),
        ),
        warnings=["a warning"],
    )
    usual = {"chips": None, "tp": None, "pp": None, "dp": None, "results_file": "r.json"}
    found = MeasureAnswer(
        request=SimpleNamespace(runs=asked, **usual | request),
        deployment=SimpleNamespace(now=now, rows=existing),
        advice=SimpleNamespace(runs=runs, widths=[1.0, *(0.5**n for n in range(1, len(runs) + 1))]), tool=tool, measured=results,
    )  # fmt: skip
    found.__dict__["batches"] = rows
    return found


WIDE, NARROW = (
    BatchRow(8, (100.0, 50.0, 200.0), (100.0, 80.0, 120.0), after)
    for after in ((90.0, 110.0), (95.0, 105.0))
)


@every(
    "runs,text",
    [
        ([a_run(8)], "concurrency 8"),
        ([a_run(8), a_run(64), a_run(8)], "concurrency 8 and 64"),
        ([a_run(1, 500, 0)], "a prompt of 500 tokens"),
        ([a_run(8), a_run(1, 4000, 0)], "concurrency 8 and a prompt of 4,000 tokens"),
    ],
)
def test_the_load_of_runs(runs, text):
    assert f"({text}; " in answered(runs, [WIDE])._sentence()


@every(
    "runs,rows,sentence",
    [
        # The last width of the advice is half, or a quarter, of the first.
        ([a_run()], [WIDE], "One run (concurrency 8; 30.0 s) would narrow the 80% range of m on one h to 50% of its width."),
        ([a_run(), a_run(64)], [WIDE, NARROW], "Two runs (concurrency 8 and 64; 1.00 min in all) would narrow the 80% range of m on one h to 25% of its width on average."),
    ],
)  # fmt: skip
def test_what_runs_would_narrow(runs, rows, sentence):
    assert answered(runs, rows)._sentence() == sentence


def test_what_runs_have_narrowed():
    """From a factor of 4 to one of 1.5."""
    one = answered([a_run()], [WIDE, NARROW], results=[measured()])._sentence()
    assert one.startswith("One run of m on one h is kept in r.json. ")
    assert one.endswith("now spans a factor of at most 1.5 (before: 4.0).")
    two = answered([a_run()] * 2, [WIDE], results=[measured()] * 2)._sentence()
    assert two.startswith("Two runs of m on one h are kept in r.json. ")


def notes(**changes):
    return {note.text: note.weight for note in answered([a_run()], [WIDE], **changes).notes()}


def test_a_busy_client_is_remarked_above_seven_tenths():
    texts = {
        busy: [text for text in notes(results=[measured(0.1), measured(busy)]) if "client" in text]
        for busy in (0.7, 0.71)
    }
    assert texts[0.7] == []
    assert texts[0.71][0].startswith("This client was computing for 71% of a run")
    assert notes(results=[measured(0.9)])[texts[0.71][0].replace("71%", "90%")] == 2


def test_what_else_is_told():
    said = notes()
    assert said["A warning."] == 0
    assert "2 runs would narrow the ranges no further than one run." in said
    assert not any("no further" in text for text in notes(asked=1))
    assert "Predictions already use 3 measurements of this deployment." in notes(existing=[1, 2, 3])
    assert not any("already" in text for text in said)
    alone = (
        "llama-bench measures one sequence at a time, so the ranges of large batches narrow less."
    )
    assert alone in notes(tool="llama-bench")
    assert alone not in said


@pytest.mark.parametrize(
    "stated", [{"tp": 2}, {"chips": 2}, {"pp": 1}, {"dp": 3}, {"tool": "vllm"}]
)
def test_ranks_are_told_where_neither_request_nor_results_state_them(stated):
    assert answered([a_run()], [WIDE], **{"tool": "guidellm"} | stated)._ranks() == []
    found = answered([a_run()], [WIDE], tool="guidellm")._ranks()
    assert found[1::2] == ["2", "3"]  # tp and dp; one stage needs no flag


def test_a_record_has_the_expected_ends_until_runs_are_measured():
    expected = WIDE.record(is_measured=False)
    assert expected == {
        "batch": 8,
        "tokens_per_s_per_user_before": 100.0,
        "tokens_per_s_per_user_before_low": 50.0,
        "tokens_per_s_per_user_before_high": 200.0,
        "tokens_per_s_per_user_now": 100.0,
        "tokens_per_s_per_user_now_low": 80.0,
        "tokens_per_s_per_user_now_high": 120.0,
        "expected_low_after": 90.0,
        "expected_high_after": 110.0,
    }
    kept = WIDE.record(is_measured=True)
    assert kept == expected | {"expected_low_after": None, "expected_high_after": None}


@every(
    "width,lines",
    [
        (10, ["a bb ccc \\", "dddd"]),
        (9, ["a bb \\", "ccc \\", "dddd"]),
        (1, ["a \\", "bb \\", "ccc \\", "dddd"]),
        (99, ["a bb ccc dddd"]),
    ],
)
def test_a_long_command_goes_on_below(width, lines):
    assert answer._continued("a bb ccc dddd", width) == lines


@every(
    "asked,known",
    [
        ({"url": None, "models": None}, ("", "http://localhost:8000")),
        ({"url": "http://a:9/v1", "models": ["m1", "m2"]}, ("m1", "http://a:9/v1")),
    ],
)
def test_a_run_asks_the_named_server_for_the_first_model(asked, known, monkeypatch):
    monkeypatch.setattr(answer, "served_model", lambda _, *of_request: of_request)
    assert answered([a_run()], [WIDE], **asked)._served == known
