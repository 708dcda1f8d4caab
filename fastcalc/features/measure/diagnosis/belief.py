"""What some points say of every term: how likely it differs, by how much."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from fastcalc.features.measure.diagnosis.slowdowns import PRICED, Slowdowns
from fastcalc.features.measure.diagnosis.terms import PARTS, ROOM, Part, SlowdownTerm
from fastcalc.formulas.naming_causes import combined_slowdown, log_likelihood, log_mean, posterior
from fastcalc.formulas.types import Floats

GRID = np.geomspace(0.07, float(PRICED[-1]), 40)
"""Logarithms of how many times slower a term may be; less than a fourteenth is no difference."""

FAULT_SCALE = 2.0  # mean of that logarithm, exponential: half of the faults are below 4 times
SHARED_SPREAD = 0.06  # a deployment differs by so much from what was fitted, all points alike
PART_SPREAD = 0.06  # and by so much in each term
NOISES = (0.05, 0.1, 0.2)  # what repeats of one point differ by, in logarithms
NOISE_PRIOR = (0.5, 0.3, 0.2)
PRIOR = (0.5, 0.35, 0.15)  # of nothing, one part, and two parts

SEEN = 0.2  # a part ten times slower that moves no point by more is not tested by the points


@dataclass(frozen=True)
class Hypothesis:
    """Some parts are slower, by position; how likely points are then, and by how much each is.

    weights : probability of each place of the grid of its parts; of no part, 1 [1]
    """

    parts: tuple[int, ...]
    log_evidence: float
    weights: Floats


@dataclass(frozen=True)
class Belief:
    """Hypotheses about some points, the first that nothing is slower; the probability of each."""

    slowdowns: Slowdowns
    hypotheses: Sequence[Hypothesis]
    probabilities: Floats

    @property
    def nothing(self) -> float:
        """The probability that no part is slower."""
        return float(self.probabilities[0])

    def of_any(self, components: Iterable[int]) -> float:
        """Return the probability that at least one of some parts is slower."""
        positions = set(components)
        return sum(
            float(probability)
            for hypothesis, probability in zip(self.hypotheses, self.probabilities, strict=True)
            if positions & set(hypothesis.parts)
        )

    def grid_of(self, component: int) -> Floats:
        """Return the probability of each place of the grid of a part, where it is slower."""
        total = np.zeros(len(GRID))
        for hypothesis, probability in zip(self.hypotheses, self.probabilities, strict=True):
            if component in hypothesis.parts:
                axes = (axis for axis, index in enumerate(hypothesis.parts) if index != component)
                total += probability * hypothesis.weights.sum(axis=tuple(axes))
        return np.asarray(total / max(float(total.sum()), 1e-300))


def parts_of(*terms: SlowdownTerm) -> list[int]:
    """Return the positions of the parts of some terms."""
    return [index for index, (term, _) in enumerate(PARTS) if term in terms]


def tested(slowdowns: Slowdowns) -> list[int]:
    """Return the positions of the parts that would show in the points."""
    tenfold = np.log([10.0])
    indices = range(len(PARTS))
    return [index for index in indices if np.max(slowdowns.at(index, tenfold)) > SEEN]


def believe(slowdowns: Slowdowns) -> Belief:
    """Return what points say of the parts that show in them."""
    indices = tested(slowdowns)
    prior = {index: _prior_of(PARTS[index][1]) for index in indices}
    logs = {index: slowdowns.at(index, GRID) for index in indices}
    nothing = np.zeros(len(slowdowns.residuals))
    trials: list[tuple[tuple[int, ...], Floats, Floats]] = [((), nothing, np.ones(()))]
    trials += [((index,), logs[index], prior[index]) for index in indices]
    for pair in combinations(indices, 2):
        grids = logs[pair[0]][:, np.newaxis], logs[pair[1]][np.newaxis]
        trials.append((pair, together(pair, *grids), np.outer(*(prior[index] for index in pair))))
    shared = _shared_errors(slowdowns, indices)
    noises = [np.hypot(noise, slowdowns.spreads) for noise in NOISES]
    hypotheses = [
        _hypothesis(components, slowdowns.residuals - slower, shared, noises, weights)
        for components, slower, weights in trials
    ]
    weights = _prior([hypothesis.parts for hypothesis in hypotheses])
    evidence = np.array([hypothesis.log_evidence for hypothesis in hypotheses])
    return Belief(slowdowns, hypotheses, posterior(log_evidence=evidence, prior=weights))


def _prior_of(component: Part) -> Floats:
    """Return the probability of each place of the grid, if a part is slower."""
    likely = np.gradient(GRID) * np.exp(-GRID / FAULT_SCALE) * (np.log(component.most) >= GRID)
    return np.asarray(likely / likely.sum())


def _prior(hypotheses: Sequence[tuple[int, ...]]) -> Floats:
    """Return the probability of each hypothesis before anything was measured.

    Terms are equally likely, and parts within a term.
    """
    alike = Counter(
        PARTS[index][0] for components in hypotheses if len(components) == 1 for index in components
    )
    weights = np.array(
        [prod(1.0 / alike[PARTS[at][0]] for at in components) for components in hypotheses]
    )
    sizes = np.array([len(components) for components in hypotheses])
    totals = np.bincount(sizes, weights, minlength=len(PRIOR))
    return np.asarray(weights * np.array(PRIOR)[sizes] / totals[sizes])


def together(pair: tuple[int, ...], logs: Floats, further_logs: Floats) -> Floats:
    """Return the logarithm of two slowdowns: parts of a step add up, waiting multiplies it.

    pair : positions of the parts
    logs, further_logs : logarithms of how much longer points take by each alone [1]
    """
    if any(PARTS[index][1] is ROOM for index in pair):
        return np.asarray(logs + further_logs)
    return np.log(combined_slowdown(first=np.exp(logs), second=np.exp(further_logs)))


def _shared_errors(slowdowns: Slowdowns, indices: Sequence[int]) -> Floats:
    """Return how far each point moves with what predictions are off by where nothing is wrong."""
    slopes = [slowdowns.logs[index, 1] / PRICED[1] * PART_SPREAD for index in indices]
    alike = np.full(len(slowdowns.residuals), SHARED_SPREAD)
    return np.stack([alike, *slopes], axis=-1)


def _hypothesis(
    components: tuple[int, ...],
    residuals: Floats,
    shared: Floats,
    noises: Sequence[Floats],
    prior: Floats,
) -> Hypothesis:
    likelihoods = np.stack(
        [log_likelihood(residuals=residuals, shared=shared, noise=noise) for noise in noises],
        axis=-1,
    )
    weights = prior[..., np.newaxis] * np.array(NOISE_PRIOR)
    evidence = float(log_mean(logs=likelihoods, weights=weights))
    return Hypothesis(
        components, evidence, np.sum(weights * np.exp(likelihoods - evidence), axis=-1)
    )
