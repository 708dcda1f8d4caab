"""Selection among several answers: by a perfect judge, a majority vote, or a fallible judge."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def best_of(*, accuracy: ArrayLike, samples: ArrayLike) -> Array:
    r"""Compute the probability that at least one of n answers is correct (pass@n). [1]

    .. math:: P = 1 - (1 - p)^n

    accuracy : The probability that an answer is correct, :math:`p`. [1]
    samples : The number of independent answers, :math:`n`. [1]

    Source: Chen et al., arXiv:2107.03374, sec. 2.1 (pass@k).

    >>> round(float(best_of(accuracy=0.584, samples=3)), 3)
    0.928
    """
    with np.errstate(divide="ignore"):
        # expm1 and log1p keep small probabilities from being lost when 1 - p is rounded.
        return -np.expm1(samples * np.log1p(-floats(accuracy)))


def majority(*, accuracy: ArrayLike, samples: ArrayLike) -> Array:
    r"""Compute the probability that most of n answers are correct, with random tie-breaking. [1]

    .. math::
        P = \sum_{k > n/2} \binom{n}{k} p^k (1 - p)^{n - k}
            + \tfrac{1}{2} [n \text{ even}] \binom{n}{n/2} p^{n/2} (1 - p)^{n/2}

    accuracy : The probability that an answer is correct, :math:`p`. [1]
    samples : The number of independent answers, an integer, :math:`n`. [1]

    All wrong answers are assumed to agree, which is the worst case. Source: Condorcet's jury
    theorem, 1785.

    >>> round(float(majority(accuracy=0.584, samples=3)), 3)
    0.625
    """
    right, count = np.broadcast_arrays(floats(accuracy), floats(samples))
    max_count = int(np.max(count, initial=0.0))
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, max_count + 1)))])
    hits = np.arange(max_count + 1)
    votes = count[..., np.newaxis].astype(int)
    misses = votes - hits
    possible = misses >= 0
    ways = logs[votes] - logs[hits] - logs[np.maximum(misses, 0)]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_right, log_wrong = np.log(right)[..., np.newaxis], np.log1p(-right)[..., np.newaxis]
        chance = np.exp(
            ways
            + np.where(hits > 0, hits * log_right, 0.0)
            + np.where(misses > 0, misses * log_wrong, 0.0)
        )
    weight = np.where(2 * hits > votes, 1.0, np.where(2 * hits == votes, 0.5, 0.0))
    return floats(np.sum(np.where(possible, chance, 0.0) * weight, axis=-1))


def judged(*, accuracy: ArrayLike, samples: ArrayLike, judge: ArrayLike) -> Array:
    r"""Compute the probability that a fallible judge picks a correct answer among n. [1]

    .. math::
        P = \left(1 - (1 - a)^n\right) \frac{p j}{a} + (1 - a)^{n - 1} p (1 - j),
        \quad a = p j + (1 - p)(1 - j)

    accuracy : The probability that an answer is correct, :math:`p`. [1]
    samples : The number of independent answers, :math:`n`. [1]
    judge : The probability that the judge assesses an answer correctly, :math:`j`. [1]

    The judge picks among the answers that it accepts, or among all if it accepts none. Source:
    Bayes' theorem.

    >>> float(judged(accuracy=0.5, samples=2, judge=1.0))
    0.75
    """
    right, sure = floats(accuracy), floats(judge)
    called = right * sure + (1.0 - right) * (1.0 - sure)
    any_called = best_of(accuracy=called, samples=samples)
    with np.errstate(divide="ignore", invalid="ignore"):
        good = np.where(called > 0.0, right * sure / called, 0.0)
    none = (1.0 - called) ** (floats(samples) - 1.0)
    return any_called * good + none * right * (1.0 - sure)
