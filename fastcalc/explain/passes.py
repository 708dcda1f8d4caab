"""Rows of a comparison taken apart: the decode step and the pass that takes in a prompt."""

from collections.abc import Sequence

import numpy as np

from fastcalc.core import timeline
from fastcalc.core.bound import Bound
from fastcalc.core.component import Step
from fastcalc.core.scenario import Outcome
from fastcalc.core.schedule import Schedule
from fastcalc.core.timeline import Timeline
from fastcalc.explain import machine_terms, serial, weights  # noqa: F401 (they register components)
from fastcalc.explain.bound_terms import BoundPass, components
from fastcalc.explain.context import Pass
from fastcalc.explain.explained import Explained, ExplainedPart, Explanation, explained, plain
from fastcalc.explain.numbers import Numbers
from fastcalc.explain.terms import Equation, equation, largest, number, one, total


def explain(outcome: Outcome, batches: Sequence[int] | None = None) -> list[Explanation]:
    """Take apart every row of an outcome that fits, or those of some batches."""
    rows = []
    for batch in fitting(outcome) if batches is None else batches:
        streams = np.array([batch], dtype=np.float64)
        passes = Schedule(outcome.placement, outcome.scenario.traffic, streams)
        rows.append(Explanation(outcome, batch, _decode(passes), _first(passes)))
    return rows


def fitting(outcome: Outcome) -> list[int]:
    """Return the batches of an outcome that fit."""
    pairs = zip(outcome.scenario.batches, outcome.estimate.fits, strict=True)
    return [batch for batch, fits in pairs if fits]


def _answer(name: str, passes: Schedule, made: Timeline) -> Equation:
    """Return a timeline written out: what it takes of each pass, and its constant."""
    overhead = Numbers(passes.placement).setting("request_overhead")
    whole = number(made.requests) * overhead + number(one(made.loading), "s")
    for kind, count in made.counts:
        whole += number(count) * number(passes.seconds(kind), "s")
    return equation(name, made.seconds, "s", whole / made.per)


def _decode(passes: Schedule) -> Explained:
    answer = _answer("TPOT", passes, timeline.token(passes))
    if passes.is_bound:
        made = BoundPass(passes, decoded=one(passes.batch), prompt=0.0)
        return _at_the_bound("decode step", made, passes.bound(), answer)
    return _of_step("decode step", Pass(passes, passes.decode_work()), passes.decode, answer)


def _first(passes: Schedule) -> Explained:
    answer = _answer("TTFT", passes, timeline.first_token(passes))
    if passes.is_bound:
        made = BoundPass(passes, decoded=0.0, prompt=one(passes.traffic.computed_prompt))
        bound = passes.bound(made.prompt, decode=0.0 * passes.batch)
        return _at_the_bound("prompt pass", made, bound, answer)
    return _of_step("prompt pass", Pass(passes, passes.first_work()), passes.first, answer)


def _at_the_bound(name: str, made: BoundPass, bound: Bound, answer: Equation) -> Explained:
    terms = components(bound)
    limiter = terms[int(bound.limiter.ravel()[0])]
    there = [part for part in terms if part.seconds > 0.0]
    lengths = [number(part.seconds, "s") for part in there]
    return Explained(
        name=name,
        sequences=made.decoded,
        verified=made.kept,
        prompt=made.prompt,
        rates=(),
        parts=tuple(explained(made, part, is_hidden=part is not limiter) for part in there),
        idle=tuple(part.name for part in terms if part not in there),
        total=equation("step", bound.seconds, "s", largest(*lengths)),
        answer=answer,
    )


def _of_step(name: str, made: Pass, step: Step, answer: Equation) -> Explained:
    parts: list[ExplainedPart] = []
    idle: list[str] = []
    for component in map(plain, step.components):
        seconds = float(component.seconds)
        if seconds > 0.0:
            parts.append(explained(made, component))
        else:
            idle.append(component.name)
        made.seconds[component.name] = seconds
    whole = total(number(part.seconds, "s") for part in parts)
    return Explained(
        name=name,
        sequences=one(made.load.sequences),
        verified=one(made.load.verified),
        prompt=one(made.load.prompt),
        rates=made.rates(),
        parts=tuple(parts),
        idle=tuple(idle),
        total=equation("step", sum(made.seconds.values()), "s", whole),
        answer=answer,
    )
