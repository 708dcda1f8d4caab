"""Select the next measurement that best tells the remaining causes apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.point import Point
from fastcalc.evidence.predict import gather
from fastcalc.features.measure.diagnosis.belief import GRID, Belief
from fastcalc.features.measure.diagnosis.slowdowns import slowdowns_of
from fastcalc.features.measure.diagnosis.terms import PARTS
from fastcalc.formulas.naming_causes import disagreement

BATCHES = (1, 8, 32, 64, 128, 256, 512)
_ALIKE = 1.1  # ratio up to which two lengths or batches count as equal
LONGER = 4  # multiple of the prompt, to separate costs per prompt from costs per token
TELLING = 0.05  # smallest distinguishable difference between two causes, as a logarithm


@dataclass(frozen=True)
class NextPoint:
    """Suggests a measurement, with the slowdown that each cause would show there.

    slower : The slowdown by name of the term, or ``nothing``.
    """

    point: Point
    slower: dict[str, float]


def next_point(
    measured: Sequence[Point], deployments: PointDeployments, belief: Belief
) -> NextPoint | None:
    """Find the most informative next measurement for a deployment, if any.

    It is a point that has not been measured, where the predictions of the remaining causes differ
    most.
    """
    candidates = [
        candidate
        for candidate in _candidates(measured[0])
        if not any(_is_the_same(candidate, point) for point in measured)
    ]
    batches, _ = gather(candidates, deployments)
    if not batches:
        return None
    slowdowns = slowdowns_of(batches)
    probabilities = [belief.nothing]
    means = [np.zeros(len(slowdowns.residuals))]
    names = ["nothing"]
    for index, (term, _) in enumerate(PARTS):
        if (probability := belief.of_any([index])) > 0.0:
            probabilities.append(probability)
            means.append(belief.grid_of(index) @ slowdowns.at(index, GRID))
            names.append(term.name)
    spread = disagreement(predictions=np.array(means), weights=np.array(probabilities))
    index = int(np.argmax(spread))
    if spread[index] < TELLING:
        return None
    likely = np.argsort(probabilities)[::-1][:3]
    slower = {names[at]: float(np.exp(means[at][index])) for at in reversed(likely.tolist())}
    return NextPoint(slowdowns.rows.points[index], slower)


def _is_the_same(first: Point, second: Point) -> bool:
    """Check whether two points describe one measurement: all numbers agree within a tenth.

    A single benchmark run reports all rates and token times.
    """
    of_prompts = [point.metric in ("ttft_s", "prefill_tokens_per_s") for point in (first, second)]
    numbers = [
        (first.chips, second.chips),
        (first.tp, second.tp),
        (first.concurrency, second.concurrency),
        (first.prompt, second.prompt),
    ]
    if not all(of_prompts):
        numbers.append((first.output, second.output))
    return of_prompts[0] == of_prompts[1] and all(
        not one or not other or max(one, other) <= _ALIKE * min(one, other)
        for one, other in numbers
    )


def _candidates(point: Point) -> Iterator[Point]:
    """Yield candidate measurements: other batches, TTFT, a longer prompt, a single chip."""
    prompt, output = point.prompt or 1000.0, point.output or 500.0
    served = replace(point, metric="tokens_per_s_total", value=1.0, prompt=prompt, output=output)
    served = replace(served, notes="kind=e2e_concurrency")
    yield from (replace(served, concurrency=count) for count in BATCHES)
    lone = replace(served, concurrency=1, metric="ttft_s")
    yield lone
    yield replace(lone, prompt=prompt * LONGER)
    if (point.tp or 1) > 1 and point.chips == point.tp:
        yield replace(served, concurrency=BATCHES[1], chips=1, tp=1)
