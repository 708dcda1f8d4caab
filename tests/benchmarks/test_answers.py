"""Answers of many commands, where the process that computes them dies of one."""

import os

from benchmarks import answers
from benchmarks.fuzz.grammar import Case


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
