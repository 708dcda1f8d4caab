"""Explained components, passes and rows, with the formulas for each component's time."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any, TypeVar

from fastcalc.core.outcome import Outcome
from fastcalc.core.step.component import Component
from fastcalc.features.compare.explain.terms import (
    Equation,
    Origin,
    Term,
    equation,
    number,
    origins_of,
    overlap,
    scalar,
)

Formulas = list[Equation | tuple[str, Term]]
"""The formulas of a component. A name with a term is one of the component's own numbers."""

Formula = TypeVar("Formula", bound=Callable[..., Formulas])

_MEANINGS: dict[str, str] = {}  # by name of the component
_FORMULAS: dict[str, Callable[..., Formulas]] = {}
_NUMBERS = {
    "bytes": ("bytes", "B"),
    "FLOPs": ("flops", "FLOP"),
    "sent": ("sent", "B"),
    "read rate": ("bandwidth", "B/s"),
    "rate": ("flop_rate", "FLOP/s"),
    "link rate": ("link", "B/s"),
    "each": ("seconds_each", "s"),
}
"""The attribute and unit of a component's numbers. Any other name stands for its count."""


def component(name: str, meaning: str) -> Callable[[Formula], Formula]:
    """Register the description of a component, and the formulas for its work and its rates.

    The formulas receive the pass and the component. Its time is derived from them unless the last
    formula is named ``time``.
    """

    def register(formula: Formula) -> Formula:
        _MEANINGS[name], _FORMULAS[name] = meaning, formula
        return formula

    return register


@dataclass(frozen=True)
class ExplainedPart:
    """Explains a component of a forward pass.

    The last equation computes its time. A component is hidden if a longer one overlaps it.
    """

    component: Component
    equations: tuple[Equation, ...]
    is_hidden: bool

    @property
    def meaning(self) -> str:
        """The description of the component, or a default if it has only work and rates."""
        return _MEANINGS.get(self.component.name, "not explained: its work over its rates")

    @property
    def seconds(self) -> float:
        """The time that the component adds to its pass, in seconds."""
        return 0.0 if self.is_hidden else float(self.component.seconds)


@dataclass(frozen=True)
class Explained:
    """Explains one forward pass.

    sequences, verified, prompt : The sequences decoded, tokens in each, and prompt tokens.
    rates : The rates its components share: effective bandwidth, and the rate at which cores are
        fed.
    parts, idle : The components that take time, and names of components that take none.
    total, answer : The time of all components, and the time per output token or to first token it
        gives.
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
        """The time of the pass, in seconds."""
        return self.total.result.value

    def share(self, term: ExplainedPart) -> float:
        """Return the fraction of the pass that a component takes."""
        return term.seconds / self.seconds

    @property
    def origins(self) -> list[Origin]:
        """The catalogue numbers that the pass uses, without duplicates."""
        of_parts = (equation for term in self.parts for equation in term.equations)
        return origins_of([*self.rates, *of_parts, self.answer])


@dataclass(frozen=True)
class Explanation:
    """Explains one result of a comparison: a decode step and the prefill of a prompt."""

    outcome: Outcome
    batch: int
    decode: Explained
    first: Explained


def plain(component: Component) -> Component:
    """Convert a component of one row to plain floats."""
    unchanged = ("name", "norm", "basis")
    names = (column.name for column in fields(component) if column.name not in unchanged)
    amounts: dict[str, Any] = {name: scalar(getattr(component, name)) for name in names}
    return replace(component, **amounts)


def _equation_of(term: Component, written: Equation | tuple[str, Term]) -> Equation:
    if isinstance(written, Equation):
        return written
    name, expression = written
    attribute, unit = _NUMBERS.get(name, ("count", ""))
    return equation(name, getattr(term, attribute), unit, expression)


def explained(context: object, term: Component, *, is_hidden: bool = False) -> ExplainedPart:
    """Explain a component of a pass with the formulas whose work and rate are nonzero."""
    formula = _FORMULAS.get(term.name)
    equations = [
        candidate
        for written in (formula(context, term) if formula else [])
        for candidate in [_equation_of(term, written)]
        if candidate.result.value != 0.0 and isfinite(candidate.result.value)
    ]
    if not equations or equations[-1].name != "time":
        # The time is the sum of work / rate terms.
        rate = number(term.flop_rate, "FLOP/s")
        pieces = [
            ("memory", term.memory_time, number(term.bytes, "B") / number(term.bandwidth, "B/s")),
            ("compute", term.compute_time, number(term.flops, "FLOP") / rate),
            ("link", term.link_time, number(term.sent, "B") / number(term.link, "B/s")),
            ("latency", term.latency, number(term.count) * number(term.seconds_each, "s")),
        ]
        terms = [equation(name, value, "s", of) for name, value, of in pieces if value > 0.0]
        memory, compute, link, latency = (number(value, "s") for _, value, _ in pieces)
        seconds = overlap(memory, compute, term.norm) + link + latency
        is_alone = len(terms) == 1
        total = equation("time", term.seconds, "s", terms[0].term if is_alone else seconds)
        equations += [total] if is_alone else [*terms, total]
    return ExplainedPart(term, tuple(equations), is_hidden)
