"""Searches that run in rounds, so that their questions can be evaluated in batches."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")
Found = TypeVar("Found")


class UnansweredError(Exception):
    """Raised if a search needs an answer that is only available after the round."""


@dataclass(eq=False)
class Answered(Generic[Question, Answer]):
    """Caches the answers to questions, so that each of them is only computed once.

    A search is a function that asks the same questions each time it runs. In a round, each search
    runs until it asks a question without a known answer. All these questions are then answered
    together, and each search runs again.

    answer_all : The answers many questions at once, faster than one at a time.
    known : The answers so far.

    >>> def is_below(numbers):
    ...     return [number * number < 2.0 for number in numbers]
    >>> squares = Answered(is_below)
    >>> def search(start):
    ...     return start if squares.ask(start) else search(start / 2.0)
    >>> squares.in_step([lambda: search(8.0), lambda: search(5.0)])
    [1.0, 1.25]
    """

    answer_all: Callable[[Sequence[Question]], Sequence[Answer]]
    known: dict[Question, Answer] = field(default_factory=dict)
    _waiting: dict[Question, None] | None = None

    def ask(self, question: Question) -> Answer:
        """Return the answer to a question, or raise UnansweredError if it comes with the round."""
        if question not in self.known:
            if self._waiting is not None:
                self._waiting[question] = None
                raise UnansweredError
            (self.known[question],) = self.answer_all([question])
        return self.known[question]

    def each(self, searches: Iterable[Callable[[], Found]]) -> list[Found]:
        """Run independent searches, answering all their questions together."""
        results: list[Found] = []
        is_open = False
        for search in searches:
            try:
                results.append(search())
            except UnansweredError:
                is_open = True
        if is_open:
            raise UnansweredError
        return results

    def in_step(self, searches: Sequence[Callable[[], Found]]) -> list[Found]:
        """Run searches side by side, answering all questions of each round together."""
        results: dict[int, Found] = {}
        while len(results) < len(searches):
            self._waiting = {}
            try:
                for index, search in enumerate(searches):
                    if index not in results:
                        with suppress(UnansweredError):
                            results[index] = search()
                asked = list(self._waiting)
            finally:
                self._waiting = None
            if asked:
                self.known.update(zip(asked, self.answer_all(asked), strict=True))
        return [results[index] for index in range(len(searches))]
