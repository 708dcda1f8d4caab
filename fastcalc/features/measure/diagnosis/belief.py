"""Bayesian inference of slowdowns: how likely, and by how much, each term is slower."""

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
"""Grid of slowdowns, as logarithms. A slowdown of less than 7% counts as no difference."""

FAULT_SCALE = 2.0  # mean of the exponential prior of that logarithm; half are below 4x
SHARED_SPREAD = 0.06  # spread of a deployment's overall difference from the fit
PART_SPREAD = 0.06  # spread of its difference in each term
NOISES = (0.05, 0.1, 0.2)  # spread of repeated measurements, as logarithms
NOISE_PRIOR = (0.5, 0.3, 0.2)
PRIOR = (0.5, 0.35, 0.15)  # prior probability of zero, one and two slow parts

SEEN = 0.2  # a part counts as tested if a tenfold slowdown changes a measurement by more


@dataclass(frozen=True)
class Hypothesis:
    """The hypothesis that certain components are slower, with its likelihood.

    weights : The probability of each grid point for its parts; 1 without parts.
    """

    parts: tuple[int, ...]
    log_evidence: float
    weights: Floats


@dataclass(frozen=True)
class Belief:
    """Hypotheses with probabilities. The first is that nothing is slower."""

    slowdowns: Slowdowns
    hypotheses: Sequence[Hypothesis]
    probabilities: Floats

    @property
    def nothing(self) -> float:
        """The probability that no part is slower."""
        return float(self.probabilities[0])

    def of_any(self, components: Iterable[int]) -> float:
        """Return the probability that at least one of the parts is slower."""
        positions = set(components)
        return sum(
            float(probability)
            for hypothesis, probability in zip(self.hypotheses, self.probabilities, strict=True)
            if positions & set(hypothesis.parts)
        )

    def grid_of(self, component: int) -> Floats:
        """Return the probability of each slowdown on the grid, given that a part is slower."""
        total = np.zeros(len(GRID))
        for hypothesis, probability in zip(self.hypotheses, self.probabilities, strict=True):
            if component in hypothesis.parts:
                axes = (axis for axis, index in enumerate(hypothesis.parts) if index != component)
                total += probability * hypothesis.weights.sum(axis=tuple(axes))
        return np.asarray(total / max(float(total.sum()), 1e-300))


def parts_of(*terms: SlowdownTerm) -> list[int]:
    """Return the parts that belong to the given terms."""
    return [index for index, (term, _) in enumerate(PARTS) if term in terms]


def tested(slowdowns: Slowdowns) -> list[int]:
    """Return the parts whose slowdown would be visible in the measurements, by index."""
    tenfold = np.log([10.0])
    indices = range(len(PARTS))
    return [index for index in indices if np.max(slowdowns.at(index, tenfold)) > SEEN]


def believe(slowdowns: Slowdowns) -> Belief:
    """Compute the posterior probability of each tested slowdown."""
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
    hypotheses = []
    for components, slower, weights in trials:
        residuals = slowdowns.residuals - slower
        likelihoods = np.stack(
            [log_likelihood(residuals=residuals, shared=shared, noise=noise) for noise in noises],
            axis=-1,
        )
        prior_weights = weights[..., np.newaxis] * np.array(NOISE_PRIOR)
        mean = float(log_mean(logs=likelihoods, weights=prior_weights))
        posteriors = np.sum(prior_weights * np.exp(likelihoods - mean), axis=-1)
        hypotheses.append(Hypothesis(components, mean, posteriors))
    weights = _prior([hypothesis.parts for hypothesis in hypotheses])
    evidence = np.array([hypothesis.log_evidence for hypothesis in hypotheses])
    return Belief(slowdowns, hypotheses, posterior(log_evidence=evidence, prior=weights))


def _prior_of(component: Part) -> Floats:
    """Return the prior probability of each grid point, given that a part is slower."""
    likely = np.gradient(GRID) * np.exp(-GRID / FAULT_SCALE) * (np.log(component.most) >= GRID)
    return np.asarray(likely / likely.sum())


def _prior(hypotheses: Sequence[tuple[int, ...]]) -> Floats:
    """Return the prior probability of each hypothesis.

    All terms are equally likely, as are all parts within a term.
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
    """Combine the slowdowns of two parts. Step times are added and waiting times are multiplied.

    pair : The indices of the parts.
    logs, further_logs : The logarithm of the slowdown that each part alone causes per measurement.
    """
    if any(PARTS[index][1] is ROOM for index in pair):
        return np.asarray(logs + further_logs)
    return np.log(combined_slowdown(first=np.exp(logs), second=np.exp(further_logs)))


def _shared_errors(slowdowns: Slowdowns, indices: Sequence[int]) -> Floats:
    """Simulate measurements with the prediction errors that are usual for a healthy deployment."""
    slopes = [slowdowns.logs[index, 1] / PRICED[1] * PART_SPREAD for index in indices]
    alike = np.full(len(slowdowns.residuals), SHARED_SPREAD)
    return np.stack([alike, *slopes], axis=-1)
