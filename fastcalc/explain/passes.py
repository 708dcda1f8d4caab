"""Rows of a comparison taken apart: the decode step and the pass that takes in a prompt."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastcalc.core import timeline
from fastcalc.core.pass_work import PassWork
from fastcalc.core.placement import Placement
from fastcalc.core.scenario import Outcome
from fastcalc.core.schedule import Schedule
from fastcalc.core.step import Component, Step
from fastcalc.core.timeline import Timeline
from fastcalc.explain.bound_terms import terms_of_light
from fastcalc.explain.components import formulas
from fastcalc.explain.context import Pass
from fastcalc.explain.explained import Explained, ExplainedPart, Explanation, plain, timing
from fastcalc.explain.numbers import Numbers
from fastcalc.explain.terms import (
    Equation,
    equation,
    largest,
    minus,
    number,
    one,
    over,
    plus,
    times,
)


def explain(outcome: Outcome) -> list[Explanation]:
    """Take apart every row of an outcome that fits.

    Parameters
    ----------
    outcome : Outcome
        A scenario placed and evaluated.
    """
    return [
        Explanation(outcome, batch, _decode(row), _first(row))
        for index, batch in enumerate(outcome.scenario.batches)
        if outcome.estimate.fits[index]
        for row in [_Row(outcome, index)]
    ]


@dataclass(frozen=True)
class _Row:
    """One batch of an outcome, and its passes alone."""

    outcome: Outcome
    index: int

    @property
    def batch(self) -> int:
        return self.outcome.scenario.batches[self.index]

    @property
    def placement(self) -> Placement:
        return self.outcome.placement

    @cached_property
    def passes(self) -> Schedule:
        scenario = self.outcome.scenario
        batch = np.array([self.batch], dtype=np.float64)
        return Schedule(self.placement, scenario.traffic, batch)

    def answer(self, name: str, made: Timeline) -> Equation:
        """Return a timeline written out: what it takes of each pass, and its constant."""
        overhead = Numbers(self.placement).setting("request_overhead")
        whole = [times(number(made.requests), overhead)] if made.requests else []
        for kind, count in made.counts:
            whole.append(times(number(count), number(self.passes.seconds(kind), "s")))
        return equation(name, made.seconds, "s", over(plus(*whole), number(made.per)))


def _decode(row: _Row) -> Explained:
    passes, answer = row.passes, row.answer("TPOT", timeline.token(row.passes))
    if passes.is_bound:
        return _of_light(row, "decode step", answer, decoded=float(row.batch), prompt=0.0)
    return _of_step(row, "decode step", passes.decode, passes.decode_work(), answer)


def _first(row: _Row) -> Explained:
    passes, answer = row.passes, row.answer("TTFT", timeline.first_token(row.passes))
    if passes.is_bound:
        prompt = one(passes.traffic.computed_prompt)
        return _of_light(row, "prompt pass", answer, decoded=0.0, prompt=prompt)
    return _of_step(row, "prompt pass", passes.first, passes.first_work(), answer)


def _of_light(
    row: _Row, name: str, answer: Equation, *, decoded: float, prompt: float
) -> Explained:
    passes, outcome = row.passes, row.outcome
    nobody = None if decoded else 0.0 * passes.batch
    light = passes.bound(prompt, decode=nobody)
    parts = terms_of_light(outcome.placement, outcome.scenario.traffic, light, decoded, prompt)
    there = [part for part in parts if part.component.seconds > 0.0]
    lengths = [number(part.component.seconds, "s") for part in there]
    return Explained(
        name=name,
        sequences=decoded,
        verified=float(outcome.scenario.traffic.speculation.tokens_per_pass),
        prompt=prompt,
        rates=(),
        parts=tuple(there),
        idle=tuple(part.component.name for part in parts if part not in there),
        total=equation("step", light.seconds, "s", largest(*lengths)),
        answer=answer,
    )


def _of_step(row: _Row, name: str, step: Step, load: PassWork, answer: Equation) -> Explained:
    made = Pass(row.placement, row.passes.traffic, load)
    components = [plain(each) for each in step.components]
    parts: list[ExplainedPart] = []
    before = 0.0
    for component in components:
        seconds = float(component.seconds)
        if seconds > 0.0:
            special = _special(row, component, load, before, parts)
            equations = special or formulas(made, component)
            ends = equations[-1:] and equations[-1].name == "time"
            rest = () if ends else timing(component)
            parts.append(ExplainedPart(component, (*equations, *rest)))
        before += seconds
    lengths = [number(part.seconds, "s") for part in parts]
    names = {part.component.name for part in parts}
    return Explained(
        name=name,
        sequences=one(load.sequences),
        verified=one(load.verified),
        prompt=one(load.prompt),
        rates=made.rates(),
        parts=tuple(parts),
        idle=tuple(each.name for each in components if each.name not in names),
        total=equation("step", before, "s", plus(*lengths)),
        answer=answer,
    )


def _special(
    row: _Row, component: Component, load: PassWork, before: float, parts: list[ExplainedPart]
) -> tuple[Equation, ...]:
    """Return the formulas of components that rest on the rest of the step."""
    passes = row.passes
    if component.name == "stage wait":
        hops = sum(part.seconds for part in parts if part.component.name == "stage hops")
        passed = number(before - hops, "s")
        alone = plus(passed, number(hops, "s"))
        in_flight = number(min(one(load.in_flight), one(load.stages)))
        turns = times(in_flight, number(load.slowest), passed)
        return (equation("time", component.each, "s", minus(turns, alone)),)
    if component.name == "drafting":
        plain = passes.expected(passes.decode_work(verified=1.0)).seconds
        layer = over(number(plain, "s"), number(row.placement.work.depth))
        return (equation("each", component.each, "s", layer),)
    if component.name == "up to the bound":
        light = number(passes.bound().seconds, "s")
        return (equation("time", component.each, "s", minus(light, number(before, "s"))),)
    return ()
