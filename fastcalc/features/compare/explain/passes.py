"""Explain rows of a comparison: the decode step and the prefill of a prompt."""

from collections.abc import Sequence

import numpy as np

from fastcalc.core import timeline
from fastcalc.core.outcome import Outcome
from fastcalc.core.step.bound import Bound
from fastcalc.core.step.component import Step
from fastcalc.core.step.schedule import Schedule
from fastcalc.core.timeline import Timeline
from fastcalc.features.compare.explain import serial, weights  # noqa: F401 (they register components)
from fastcalc.features.compare.explain.bound_terms import BoundContext, components
from fastcalc.features.compare.explain.context import PassContext
from fastcalc.features.compare.explain.explained import (
    Explained,
    ExplainedPart,
    Explanation,
    explained,
    plain,
)
from fastcalc.features.compare.explain.numbers import Numbers
from fastcalc.features.compare.explain.terms import (
    Equation,
    equation,
    largest,
    number,
    scalar,
    total,
)


def explain(outcome: Outcome, batches: Sequence[int] | None = None) -> list[Explanation]:
    """Explain every row of an outcome that fits, or only the rows of the given batches."""
    rows = []
    for batch in fitting(outcome) if batches is None else batches:
        streams = np.array([batch], dtype=np.float64)
        passes = Schedule(outcome.placement, outcome.scenario.traffic, streams)
        tpot = _answer("TPOT", passes, timeline.token(passes))
        ttft = _answer("TTFT", passes, timeline.first_token(passes))
        if passes.is_bound:
            computed = scalar(passes.traffic.computed_prompt)
            decoding = BoundContext(passes, decoded=scalar(passes.batch), prompt=0.0)
            prefill = BoundContext(passes, decoded=0.0, prompt=computed)
            bound = passes.bound(computed, decode=0.0 * passes.batch)
            decode = _at_the_bound("decode step", decoding, passes.bound(), tpot)
            first = _at_the_bound("prompt pass", prefill, bound, ttft)
        else:
            work, first_work = passes.decode_work(), passes.first_work()
            decode = _of_step("decode step", PassContext(passes, work), passes.decode, tpot)
            first = _of_step("prompt pass", PassContext(passes, first_work), passes.first, ttft)
        rows.append(Explanation(outcome, batch, decode, first))
    return rows


def fitting(outcome: Outcome) -> list[int]:
    """Return the batches of an outcome that fit."""
    pairs = zip(outcome.scenario.batches, outcome.estimate.fits, strict=True)
    return [batch for batch, fits in pairs if fits]


def _answer(name: str, passes: Schedule, timeline: Timeline) -> Equation:
    """Write a timeline as an equation: a multiple of each pass plus a constant."""
    overhead = Numbers(passes.placement).setting("request_overhead")
    seconds = number(timeline.requests) * overhead + number(scalar(timeline.loading), "s")
    for group, count in timeline.counts:
        seconds += number(count) * number(passes.seconds(group), "s")
    return equation(name, timeline.seconds, "s", seconds / timeline.per)


def _at_the_bound(name: str, context: BoundContext, bound: Bound, answer: Equation) -> Explained:
    terms = components(bound)
    limiter = terms[int(bound.limiter.ravel()[0])]
    busy = [component for component in terms if component.seconds > 0.0]
    lengths = [number(component.seconds, "s") for component in busy]
    return Explained(
        name=name,
        sequences=context.decoded,
        verified=context.kept,
        prompt=context.prompt,
        rates=(),
        parts=tuple(
            explained(context, component, is_hidden=component is not limiter) for component in busy
        ),
        idle=tuple(component.name for component in terms if component not in busy),
        total=equation("step", bound.seconds, "s", largest(*lengths)),
        answer=answer,
    )


def _of_step(name: str, context: PassContext, step: Step, answer: Equation) -> Explained:
    terms: list[ExplainedPart] = []
    idle: list[str] = []
    for component in map(plain, step.components):
        seconds = float(component.seconds)
        if seconds > 0.0:
            terms.append(explained(context, component))
        else:
            idle.append(component.name)
        context.seconds[component.name] = seconds
    seconds_of_parts = total(number(term.seconds, "s") for term in terms)
    return Explained(
        name=name,
        sequences=scalar(context.pass_work.sequences),
        verified=scalar(context.pass_work.verified),
        prompt=scalar(context.pass_work.prompt),
        rates=context.rates(),
        parts=tuple(terms),
        idle=tuple(idle),
        total=equation("step", sum(context.seconds.values()), "s", seconds_of_parts),
        answer=answer,
    )
