"""Explained components, passes and rows, and what every component's time is made of."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any, TypeVar

from fastcalc.core.scenario import Outcome
from fastcalc.core.step.component import Component
from fastcalc.features.compare.explain.terms import (
    Equation,
    Origin,
    equation,
    number,
    origins_of,
    overlap,
    scalar,
)

Formula = TypeVar("Formula", bound=Callable[..., list[Equation]])

_MEANINGS: dict[str, str] = {}  # of each component of a step
_FORMULAS: dict[str, Callable[..., list[Equation]]] = {}


def component(name: str, meaning: str) -> Callable[[Formula], Formula]:
    """Register what a component is, and the formulas behind its work and its rates.

    They take the pass and the component; its time follows unless they end in one called ``time``.
    """

    def register(formula: Formula) -> Formula:
        _MEANINGS[name], _FORMULAS[name] = meaning, formula
        return formula

    return register


@dataclass(frozen=True)
class ExplainedPart:
    """A component of a pass, hidden if under a longer one; the last equation is its time."""

    component: Component
    equations: tuple[Equation, ...]
    is_hidden: bool = False

    @property
    def meaning(self) -> str:
        """What the component is; one that nothing explains has its work and its rates alone."""
        return _MEANINGS.get(self.component.name, "not explained: its work over its rates")

    @property
    def seconds(self) -> float:
        """Time it adds to its pass. [s]"""
        return 0.0 if self.is_hidden else float(self.component.seconds)


@dataclass(frozen=True)
class Explained:
    """One pass explained.

    sequences, verified, prompt : sequences decoded, tokens of each, and prompt tokens [1]
    rates : what its parts share: the bandwidth reached, and the rate at which cores are fed
    parts, idle : components that take time, and the names of those that take none
    total, answer : the time of all parts, and what it makes: time per output token, or to the first
        one
    """

    name: str
    sequences: float
    verified: float
    prompt: float
    rates: tuple[Equation, ...]
    parts: tuple[ExplainedPart, ...]
    idle: tuple[str, ...]
    total: Equation
    answer: Equation

    @property
    def seconds(self) -> float:
        """Time of the pass. [s]"""
        return self.total.result.value

    def share(self, term: ExplainedPart) -> float:
        """A part's share of the pass. [1]"""
        return term.seconds / self.seconds

    @property
    def origins(self) -> list[Origin]:
        """Catalogue numbers that it depends on, each once."""
        of_parts = (equation for term in self.parts for equation in term.equations)
        return origins_of([*self.rates, *of_parts, self.answer])


@dataclass(frozen=True)
class Explanation:
    """One row of a comparison explained: a decode step, and a pass that prefills a prompt."""

    outcome: Outcome
    batch: int
    decode: Explained
    first: Explained


def plain(component: Component) -> Component:
    """A component of one row as plain floats."""
    unchanged = ("name", "norm", "basis")
    names = (column.name for column in fields(component) if column.name not in unchanged)
    amounts: dict[str, Any] = {name: scalar(getattr(component, name)) for name in names}
    return replace(component, **amounts)


def explained(context: object, term: Component, *, is_hidden: bool = False) -> ExplainedPart:
    """A component of a pass with its formulas: of work there is, at a rate there is."""
    formula = _FORMULAS.get(term.name)
    equations = [
        candidate
        for candidate in (formula(context, term) if formula else [])
        if candidate.result.value != 0.0 and isfinite(candidate.result.value)
    ]
    if not equations or equations[-1].name != "time":
        equations += _timing(term)
    return ExplainedPart(term, tuple(equations), is_hidden)


def _timing(part: Component) -> list[Equation]:
    """Time of a component from its work and its rates: pieces, then their sum."""
    rate = number(part.flop_rate, "FLOP/s")
    pieces = [
        ("memory", part.memory_time, number(part.bytes, "B") / number(part.bandwidth, "B/s")),
        ("compute", part.compute_time, number(part.flops, "FLOP") / rate),
        ("link", part.link_time, number(part.sent, "B") / number(part.link, "B/s")),
        ("latency", part.latency, number(part.count) * number(part.seconds_each, "s")),
    ]
    equations = [equation(name, value, "s", term) for name, value, term in pieces if value > 0.0]
    if len(equations) == 1:
        return [equation("time", part.seconds, "s", equations[0].term)]
    memory, compute, link, latency = (number(value, "s") for _, value, _ in pieces)
    seconds = overlap(memory, compute, part.norm) + link + latency
    return [*equations, equation("time", part.seconds, "s", seconds)]
