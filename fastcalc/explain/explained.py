"""Explained components, passes and rows, and what every component's time is made of."""

from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any

from fastcalc.core.scenario import Outcome
from fastcalc.core.step import Component
from fastcalc.explain.terms import (
    Equation,
    Origin,
    Term,
    equation,
    number,
    one,
    over,
    overlap,
    plus,
)
from fastcalc.explain.terms import times as product
from fastcalc.formulas.types import ArrayLike

MEANINGS = {
    "dense weights": "matrices that every token passes, read once",
    "head and norms": "output head, norms, biases and routers",
    "routed experts": "the experts that the tokens of the pass pick, read once each",
    "attention": "the caches of the decoded sequences, read once each",
    "unpacking": "narrow weights widened to 16 bits on the vector units",
    "prompt: dense": "prompt tokens through the matrices that every token passes",
    "prompt: experts": "prompt tokens through the experts they pick",
    "prompt: attention": "prompt tokens looking back on those before them",
    "layer floors": "launches, ramps and tails of serial kernels, layer after layer",
    "all-reduce": "two sums a layer over the tensor-parallel ranks",
    "expert exchange": "tokens sent to the ranks of their experts and back",
    "sequences": "host and sampler time of each sequence",
    "stage hops": "activations sent from one pipeline stage to the next",
    "stage wait": "waiting while the slowest stage serves the micro-batches ahead",
    "drafting": "tokens drafted before the pass, one layer's share of a step each",
    "up to the bound": "what an engine without losses would else be ahead of light",
    "layer sweeps": "a token crosses the layers one after another, each in its region",
    "hops": "activations sent from wafer to wafer",
    "memory": "the fewest bytes that must be read, at printed bandwidth",
    "compute": "the FLOPs of all tokens, at the fastest printed dense rate that loses nothing",
    "link": "what must cross links, reductions done in the switch",
}
"""What each component of a step is, in a few words."""


@dataclass(frozen=True)
class ExplainedPart:
    """One component of a pass in numbers, and the formulas behind them.

    Attributes
    ----------
    component : Component
        Its work and its rates as plain floats.
    equations : tuple of Equation
        In the order a person would work them out; the last is its time.
    is_hidden : bool
        True where it goes on under another that takes longer, as the smaller terms of a bound do.
    """

    component: Component
    equations: tuple[Equation, ...]
    is_hidden: bool = False

    @property
    def seconds(self) -> float:
        """Time it adds to its pass. [s]"""
        return 0.0 if self.is_hidden else float(self.component.seconds)


@dataclass(frozen=True)
class Explained:
    """One pass taken apart.

    Attributes
    ----------
    name : str
        Which pass it is.
    sequences, verified, prompt : float
        What is in it: sequences decoded, tokens of each, and prompt tokens. [1]
    rates : tuple of Equation
        What its parts share: the bandwidth reached, and the rate at which cores are fed.
    parts : tuple of ExplainedPart
        Components that take time.
    idle : tuple of str
        Those that take none.
    total : Equation
        Their sum.
    answer : Equation
        What it makes: time per output token, or to the first one.
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

    def share(self, part: ExplainedPart) -> float:
        """Return a part's share of the pass. [1]"""
        return part.seconds / self.seconds

    @property
    def origins(self) -> list[Origin]:
        """Catalogue numbers that it rests on, each once."""
        equations = [*self.rates, *(e for part in self.parts for e in part.equations), self.answer]
        found = (n.origin for each in equations for n in each.term.numbers if n.origin)
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Explanation:
    """One row of a comparison taken apart: a decode step, and a pass that takes in a prompt."""

    outcome: Outcome
    batch: int
    decode: Explained
    first: Explained


def plain(component: Component) -> Component:
    """Return a component of one row as plain floats."""
    kept = ("name", "norm")
    names = (each.name for each in fields(component) if each.name not in kept)
    amounts: dict[str, Any] = {name: one(getattr(component, name)) for name in names}
    return replace(component, **amounts)


def timing(part: Component) -> tuple[Equation, ...]:
    """Return the time of a component from its work and its rates: pieces, then their sum."""
    pieces = [
        ("memory", part.memory_time, over(number(part.bytes, "B"), number(part.bandwidth, "B/s"))),
        ("compute", part.compute_time, over(number(part.flops, "FLOP"), _rate(part.flop_rate))),
        ("link", part.link_time, over(number(part.sent, "B"), number(part.link, "B/s"))),
        ("latency", part.latency, product(number(part.count), number(part.each, "s"))),
    ]
    made = [equation(name, value, "s", term) for name, value, term in pieces if value > 0.0]
    if len(made) == 1:
        return (equation("time", part.seconds, "s", made[0].term),)
    memory, compute, link, latency = (number(value, "s") for _, value, _ in pieces)
    whole = plus(overlap(memory, compute, part.norm), link, latency)
    return (*made, equation("time", part.seconds, "s", whole))


def _rate(value: ArrayLike) -> Term:
    return number(value, "FLOP/s")


def shown(equations: list[Equation]) -> tuple[Equation, ...]:
    """Return the equations that say something: of work there is, at a rate there is."""
    return tuple(one for one in equations if one.result.value != 0.0 and isfinite(one.result.value))
