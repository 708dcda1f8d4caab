"""What the ``ask_*_rows.py`` share: a question a measured point in, a line of JSON out.

Run by a peer's own Python, which knows nothing of fastcalc.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

Question = Mapping[str, Any]


class InexpressibleError(Exception):
    """A question that a peer cannot be asked; the text says why."""


def demand(is_met: object, reason: str) -> None:
    """Raise InexpressibleError with a reason unless something holds."""
    if not is_met:
        raise InexpressibleError(reason)


def plain(question: Question, kinds: frozenset[str]) -> Mapping[str, Any]:
    """Return the shape of a question's model, or raise InexpressibleError.

    Parameters
    ----------
    question : mapping
        As `questions.question_of` makes it.
    kinds : frozenset of str
        Rules of points that the peer has an answer for.
    """
    demand(question["rule"] in kinds, f"kind {question['rule']}")
    demand(not question["drafts"], "drafts")
    demand(question["shape"], f"model {question['model']}")
    shape: Mapping[str, Any] = question["shape"]
    return shape


def answer_all(evaluate: Callable[[Question], Mapping[str, float]]) -> None:
    """Print what a peer says of each question of standard input, or why it says nothing."""
    for question in json.load(sys.stdin):
        with contextlib.redirect_stdout(sys.stderr):
            try:
                answer: Mapping[str, object] = evaluate(question)
            except InexpressibleError as reason:
                answer = {"reason": str(reason)}
            except Exception as error:  # whatever a stranger raises is its reason
                answer = {"reason": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps({"id": question["id"], **answer}), flush=True)
