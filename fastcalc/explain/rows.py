"""Rows of a comparison taken apart: the decode step and the pass that takes in a prompt."""

from dataclasses import dataclass

import numpy as np

from fastcalc.explain.bound import terms_of_light
from fastcalc.explain.components import formulas
from fastcalc.explain.context import Pass
from fastcalc.explain.numbers import Numbers
from fastcalc.explain.parts import Explained, Explanation, Part, at, timing
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
from fastcalc.load import Load
from fastcalc.passes import Passes
from fastcalc.scenario import Outcome
from fastcalc.step import Component, Step


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
    def passes(self) -> Passes:
        scenario = self.outcome.scenario
        batch = np.array([self.batch], dtype=np.float64)
        return Passes(self.outcome.placement, scenario.traffic, batch)

    def components(self, step: Step) -> list[Component]:
        """Return this row of a step of all batches."""
        rows = len(self.outcome.scenario.batches)
        return [at(component, self.index, rows) for component in step.components]


def _decode(row: _Row) -> Explained:
    estimate, traffic = row.outcome.estimate, row.outcome.scenario.traffic
    kept = traffic.speculation.tokens_per_pass
    components, passes = row.components(estimate.step), row.passes
    seconds = sum(float(one.seconds) for one in components)
    answer = equation(
        "TPOT", estimate.tpot[row.index], "s", over(number(seconds, "s"), number(kept))
    )
    if passes.is_bound:
        return _of_light(row, "decode step", answer, decoded=float(row.batch), prompt=0.0)
    return _of_step(row, "decode step", components, passes.decode_load(), answer)


def _first(row: _Row) -> Explained:
    estimate, passes = row.outcome.estimate, row.passes
    components = row.components(estimate.first)
    first = number(sum(float(one.seconds) for one in components), "s")
    if passes.is_bound:
        answer = equation("TTFT", estimate.ttft[row.index], "s", first)
        prompt = one(passes.traffic.computed_prompt)
        return _of_light(row, "prompt pass", answer, decoded=0.0, prompt=prompt)
    step = sum(float(one.seconds) for one in row.components(estimate.step))
    wait = over(number(step, "s"), number(2.0)) if row.batch > 1 else number(0.0)
    front = Numbers(row.outcome.placement).setting("request_overhead")
    whole = plus(front, wait, times(number(passes.chunks), first))
    answer = equation("TTFT", estimate.ttft[row.index], "s", whole)
    return _of_step(row, "prompt pass", components, passes.first_load(), answer)


def _of_light(
    row: _Row, name: str, answer: Equation, *, decoded: float, prompt: float
) -> Explained:
    passes, outcome = row.passes, row.outcome
    nobody = None if decoded else 0.0 * passes.batch
    light = passes.light(prompt, decode=nobody)
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


def _of_step(
    row: _Row, name: str, components: list[Component], load: Load, answer: Equation
) -> Explained:
    placement, traffic = row.outcome.placement, row.outcome.scenario.traffic
    made = Pass(placement, traffic, load)
    parts: list[Part] = []
    before = 0.0
    for component in components:
        seconds = float(component.seconds)
        if seconds > 0.0:
            special = _special(row, component, load, before, parts)
            equations = special or formulas(made, component)
            ends = equations[-1:] and equations[-1].name == "time"
            rest = () if ends else timing(component)
            parts.append(Part(component, (*equations, *rest)))
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
    row: _Row, component: Component, load: Load, before: float, parts: list[Part]
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
        plain = passes.expected(passes.decode_load(verified=1.0)).seconds
        layer = over(number(plain, "s"), number(row.outcome.placement.work.depth))
        return (equation("each", component.each, "s", layer),)
    if component.name == "up to the bound":
        light = number(passes.light().seconds, "s")
        return (equation("time", component.each, "s", minus(light, number(before, "s"))),)
    return ()
