"""What a scenario answers: the figures that a number may move, at every batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial

import numpy as np

from fastcalc.core.scenario import Outcome, Scenario, solve
from fastcalc.errors import InputError
from fastcalc.features.sensitivity.levers import Lever
from fastcalc.formulas.types import Floats


@dataclass(frozen=True, eq=False)
class Answers:
    """Figures of each batch; nan where it does not fit, or has no price.

    speed : output tokens of each user, decode alone [1/s]
    total : output tokens of the deployment, prompts taken in between [1/s]
    ttft : time to the first token [s]
    usd : price of a million output tokens [USD]
    largest_batch : sequences that the chips hold [1]
    """

    speed: Floats
    total: Floats
    ttft: Floats
    usd: Floats
    largest_batch: Floats

    def over(self, base: "Answers") -> "Answers":
        """Ratio of each figure to another's. [1]"""
        return Answers(*(getattr(self, figure) / getattr(base, figure) for figure in FIGURES))


FIGURES = tuple(each.name for each in fields(Answers))


def answers_of(outcome: Outcome) -> Answers:
    """Every figure of an outcome."""
    return Answers(*(figure_of(outcome, figure) for figure in FIGURES))


def figure_of(outcome: Outcome, figure: str) -> Floats:
    """One figure of an outcome, at every batch; others are not computed."""
    estimate = outcome.estimate
    if figure == "largest_batch":
        return np.full(estimate.fits.shape, float(outcome.max_batch) or np.nan)
    figures: dict[str, Callable[[], Floats]] = {
        "speed": lambda: estimate.speed,
        "total": lambda: estimate.served,
        "ttft": lambda: estimate.ttft,
        "usd": partial(_dollars, outcome),
    }
    return np.where(estimate.fits, figures[figure](), np.nan)


def _dollars(outcome: Outcome) -> Floats:
    usd = outcome.usd
    return np.full(outcome.estimate.fits.shape, np.nan) if usd is None else usd[1]


def moved_answers(scenario: Scenario, lever: Lever, value: float) -> Answers | None:
    """Answers with another value of a number; None if no file can hold it."""
    try:
        return answers_of(solve(lever.moved(scenario, value)))
    except InputError:
        return None


@dataclass(frozen=True, eq=False)
class MovedFigure:
    """One figure of a scenario, at other values of its numbers; each is computed once."""

    scenario: Scenario
    figure: str
    known: dict[frozenset[tuple[Lever, float]], Floats] = field(default_factory=dict)

    def at(self, moves: Mapping[Lever, float]) -> Floats:
        """Figure at every batch; nan if no file can hold the values."""
        moved = frozenset(
            (lever, value) for lever, value in moves.items() if value != lever.number.value
        )
        if moved not in self.known:
            self.known[moved] = self._computed(dict(moved))
        return self.known[moved]

    def _computed(self, moves: Mapping[Lever, float]) -> Floats:
        scenario = self.scenario
        try:
            for lever, value in moves.items():
                scenario = lever.moved(scenario, value)
            return figure_of(solve(scenario), self.figure)
        except InputError:
            return np.full(len(scenario.batches), np.nan)


@dataclass(frozen=True, eq=False)
class BatchFigure:
    """A figure of one of a scenario's batches."""

    of_all: MovedFigure
    place: int

    @property
    def scenario(self) -> Scenario:
        """The scenario with this batch alone."""
        every = self.of_all.scenario
        return replace(every, batches=(every.batches[self.place],))

    def at(self, moves: Mapping[Lever, float]) -> float:
        """Figure at this batch; nan if no file can hold the values."""
        return float(self.of_all.at(moves)[self.place])
