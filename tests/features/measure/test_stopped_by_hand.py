"""A server that did not start, from a made-up log and placement."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from fastcalc.core.start import StartRemedy
from fastcalc.features.measure import stopped_answer
from fastcalc.features.measure.stopped_answer import StoppedAnswer, typed_setting
from tests.helpers import every

GIB = 2**30


def log(program="vllm", available=None, **limits):
    return SimpleNamespace(
        program=program, stopped="no memory", limits=limits, available=available,
        settings={"max_model_len": "9"}, version="0.9",
    )  # fmt: skip


def place(*remedies, available=3.0):
    traffic = SimpleNamespace(prompt=4000.0, output=500.0)
    return SimpleNamespace(
        remedies=[StartRemedy(*remedy) for remedy in remedies],
        placement=SimpleNamespace(available=available * GIB),
        scenario=SimpleNamespace(traffic=traffic),
    )


def answered(of_log, location=None, as_logged=None):
    return StoppedAnswer(request=None, log=of_log, location=location, as_logged=as_logged)


@every(
    "limits,computed,lines",
    [
        ({}, (), []),
        (
            {"gpu_memory_utilization": 0.9512},
            (),
            ["--gpu-memory-utilization 0.951 (from the error)"],
        ),
        ({"max_model_len": 1000.4}, (), ["--max-model-len 1000 (from the error)"]),
        ({"max_num_seqs": 1.0}, (), ["--max-num-seqs 1 (from the error)"]),
        # What the error says comes first, and is not computed again.
        (
            {"max_model_len": 1000.0},
            (("max_model_len", "900"), ("max_num_seqs", "7"), ("chips", "2")),
            ["--max-model-len 1000 (from the error)", "--max-num-seqs 7 (computed)", "2 chips"],
        ),
    ],
)
def test_changes_that_start_it(limits, computed, lines):
    answer = answered(log(**limits), as_logged=place(*computed) if computed else None)
    body = [*answer.body(None)]
    assert body[0] == "vllm did not start: no memory"
    assert body[1:3] == (["", "Any one of these changes would let it start"] if lines else [])
    assert [line for part in body[3:] for line in part.lines] == lines
    assert answer.details()["settings"] == [f"{one.setting} {one.value}" for one in answer.remedies]


def test_more_chips_are_named_where_nothing_else_is(monkeypatch):
    monkeypatch.setattr(stopped_answer, "more_chips", lambda _: StartRemedy("chips", "4"))
    assert answered(log(), place()).remedies == [StartRemedy("chips", "4")]
    assert answered(log()).remedies == []
    assert len(answered(log(max_model_len=5.0), place()).remedies) == 1
    assert answered(log(), place(), place(("max_num_seqs", "7"))).remedies == [
        StartRemedy("max_num_seqs", "7")
    ]
    monkeypatch.setattr(stopped_answer, "more_chips", lambda _: None)
    assert answered(log(), place()).remedies == []


def test_what_is_told_of_memory():
    (note,) = replace(answered(log()), missing="the log does not name the chip").notes()
    assert note.text == "Other changes cannot be computed: the log does not name the chip."
    expected, requests = answered(log(), place()).notes()
    assert expected.text == "3.00 GiB of a chip are expected for caches."
    assert "assume 4,000 prompt and 500 output tokens" in requests.text
    logged, _ = answered(log(available=2.5 * GIB), place()).notes()
    assert logged.text == "3.00 GiB of a chip are expected for caches; it logged 2.50."


def test_records_say_that_it_did_not_start():
    answer = answered(log(available=1e9))
    assert (answer.code, answer.records(), answer.next_command()) == (1, [], None)
    assert answer.table()[1] == []
    assert answer.details()["start"] == {
        "program": "vllm", "version": "0.9", "settings": {"max_model_len": "9"},
        "available_kv_gb_per_chip": pytest.approx(1.0),
    }  # fmt: skip
    assert answered(log()).details()["start"]["available_kv_gb_per_chip"] is None


@every("name,value,words", [("max_model_len", "9", ["--max-model-len", "9"]), ("enforce_eager", "True", ["--enforce-eager"])])  # fmt: skip
def test_a_switch_has_no_value(name, value, words):
    assert typed_setting(name, value) == words
