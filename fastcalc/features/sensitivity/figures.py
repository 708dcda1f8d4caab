"""The metrics of a scenario that parameters may change, at every batch."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastcalc.core.outcome import Location, Outcome, evaluate_located, locate
from fastcalc.core.rounds import Answered
from fastcalc.core.scenario import Scenario
from fastcalc.errors import InputError
from fastcalc.features.sensitivity.levers import Lever
from fastcalc.formulas.types import Floats


class Answers(NamedTuple):
    """The metrics at each batch, which are NaN if the batch does not fit or has no price.

    speed : The output tokens/s per user, decode only. [1/s]
    total : The output tokens/s of the deployment, including time for prefill. [1/s]
    ttft : The time to first token, in seconds.
    usd : The price per million output tokens, in USD.
    largest_batch : The largest batch that fits.
    """

    speed: Floats
    total: Floats
    ttft: Floats
    usd: Floats
    largest_batch: Floats

    def over(self, base: "Answers") -> "Answers":
        """Divide each metric by its value in a baseline."""
        return Answers(*(figure / other for figure, other in zip(self, base, strict=True)))


FIGURES = Answers._fields


def answers_of(outcome: Outcome) -> Answers:
    """Return all metrics of an outcome."""
    return Answers(*(figure_of(outcome, figure) for figure in FIGURES))


def figure_of(outcome: Outcome, figure: str) -> Floats:
    """Compute one metric of an outcome at every batch, without computing the others."""
    estimate = outcome.estimate
    if figure == "largest_batch":
        return np.full(estimate.fits.shape, float(outcome.max_batch) or np.nan)
    figures: dict[str, Callable[[], Floats]] = {
        "speed": lambda: estimate.speed,
        "total": lambda: estimate.served,
        "ttft": lambda: estimate.ttft,
        "usd": lambda: outcome.usd[1] if outcome.usd else np.full(estimate.fits.shape, np.nan),
    }
    return np.where(estimate.fits, figures[figure](), np.nan)


Moves = frozenset[tuple[Lever, float]]
"""Parameters with values that differ from their files."""


class MovedFigures:
    """Computes and caches the metrics of a scenario with changed parameters.

    answered : The metrics by changed parameters, or None if the values are invalid.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.answered: Answered[tuple[Moves, tuple[str, ...]], dict[str, Floats] | None] = Answered(
            self._computed
        )
        self._located: dict[Moves, Location | None] = {}

    def answers(self, lever: Lever, value: float) -> Answers | None:
        """Return all metrics for another value of a parameter, or None if the value is invalid."""
        figures = self._figures(frozenset({(lever, value)}), FIGURES)
        return None if figures is None else Answers(**figures)

    def at(self, figure: str, moves: Mapping[Lever, float]) -> Floats:
        """Return one metric at every batch, or NaN if the values are invalid."""
        moved = frozenset(
            (lever, value) for lever, value in moves.items() if value != lever.number.value
        )
        figures = self._figures(moved, (figure,))
        return np.full(len(self.scenario.batches), np.nan) if figures is None else figures[figure]

    def _figures(self, moves: Moves, figures: tuple[str, ...]) -> dict[str, Floats] | None:
        """Return metrics for changed parameters. None if the values are invalid or do not fit."""
        if moves not in self._located:
            scenario, self._located[moves] = self.scenario, None
            with suppress(InputError):
                for lever, value in moves:
                    scenario = lever.moved(scenario, value)
                self._located[moves] = locate(scenario)
        return None if self._located[moves] is None else self.answered.ask((moves, figures))

    def _computed(
        self, questions: Sequence[tuple[Moves, tuple[str, ...]]]
    ) -> list[dict[str, Floats] | None]:
        """Compute the requested metrics of all changed scenarios, evaluated together."""
        located = (self._located[moves] for moves, _ in questions)
        outcomes = evaluate_located(location for location in located if location is not None)
        answers = list[dict[str, Floats] | None]()
        for outcome, (_, figures) in zip(outcomes, questions, strict=True):
            try:
                answers.append({figure: figure_of(outcome, figure) for figure in figures})
            except InputError:
                answers.append(None)
        return answers


@dataclass(frozen=True, eq=False)
class BatchFigure:
    """Computes a metric of a scenario at one batch."""

    of_all: MovedFigures
    figure: str
    place: int

    @property
    def scenario(self) -> Scenario:
        """The scenario reduced to this batch."""
        base_scenario = self.of_all.scenario
        return replace(base_scenario, batches=(base_scenario.batches[self.place],))

    def at(self, moves: Mapping[Lever, float]) -> float:
        """Return the metric at this batch, or NaN if the values are invalid."""
        return float(self.of_all.at(self.figure, moves)[self.place])

    def with_value(self, lever: Lever, value: float) -> float:
        """Return the metric at this batch with another value of one parameter."""
        return self.at({lever: value})
