"""Answers of many commands, where the process that computes them dies of one or is stopped in it."""

import os

from benchmarks import answers
from benchmarks.fuzz.grammar import Case
from benchmarks.fuzz.running import Outcome


def test_a_case_that_kills_its_process_is_lost_and_the_others_are_answered(monkeypatch):
    def in_forms(case):
        if case.number == 1:
            raise MemoryError
        if case.number == 3:
            os._exit(9)
        return [answers.answer_of(case, "text 80", 0, str(case.number))]

    monkeypatch.setattr(answers, "in_forms", in_forms)
    monkeypatch.setattr(answers, "CHUNK", 2)
    cases = [Case(1, number, ["compare"]) for number in range(5)]
    found = [*answers.answered(cases, 2)]
    assert [each[0]["out"] for each in found] == ["0", "", "2", "", "4"]
    assert {each["code"] for each in (*found[1], *found[3])} == {answers.CODE_LOST}
    assert [each["form"] for each in found[1]] == list(answers.FORMS)  # as many as are compared


def test_a_process_that_was_stopped_in_a_case_answers_no_other(monkeypatch):
    """What it had begun to import stays half imported: every later command would fail."""
    stopped = []

    def in_process(case):
        if stopped:
            return Outcome(2, "", "Traceback (most recent call last)", 0.0)
        if case.number == 1 and case.env["COLUMNS"] == "120":
            stopped.append(case)
            return Outcome(answers.CODE_LOST, "", "", 5.5)
        return Outcome(0, str(case.number), "", 0.0)

    monkeypatch.setattr(answers, "in_process", in_process)
    cases = [Case(1, number, ["compare"]) for number in range(3)]
    found = [*answers.answered(cases, 1)]
    lost = [answers.CODE_LOST] * 4
    assert [[each["code"] for each in forms] for forms in found] == [[0] * 5, [0, *lost], [0] * 5]
    assert not any(each["err"] for forms in found for each in forms)
