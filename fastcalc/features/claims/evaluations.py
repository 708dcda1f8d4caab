"""Evaluate the requests of all tests together, one round at a time."""

from collections.abc import Hashable, Sequence
from typing import Protocol

from fastcalc.core.rounds import Answered


class Question(Hashable, Protocol):
    """A request of a test for an evaluation. Equal questions share one answer."""

    def answer_all(self, questions: Sequence["Question"]) -> Sequence[object]:
        """Answer several questions of this type, in order."""


def _answers(questions: Sequence[Question]) -> list[object]:
    answers: dict[Question, object] = {}
    by_type: dict[type, list[Question]] = {}
    for question in questions:
        by_type.setdefault(type(question), []).append(question)
    for alike in by_type.values():
        answers.update(zip(alike, alike[0].answer_all(alike), strict=True))
    return [answers[question] for question in questions]


SOLVED: Answered[Question, object] = Answered(_answers)
"""Evaluations, each done once. All questions in a round are vectorized."""
