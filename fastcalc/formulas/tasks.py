"""Agents: chains of steps that may fail, tries until one succeeds, and what speed buys then."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike


def chain_success(*, accuracy: ArrayLike, steps: ArrayLike) -> Array:
    r"""Return the probability that every step of a chain is right. [1]

    .. math:: P = p^n

    Steps fail independently and no later step mends an earlier one [1]_.

    Parameters
    ----------
    accuracy : array_like
        Probability that a step is right, :math:`p`. [1]
    steps : array_like
        Steps, :math:`n`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> round(float(chain_success(accuracy=0.9, steps=10)), 4)
    0.3487

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd
       ed., ch. V (independent trials).
    """
    return (1.0 * np.asarray(accuracy)) ** steps


def expected_tries(*, accuracy: ArrayLike, tries: ArrayLike) -> Array:
    r"""Return how often something is tried that is repeated until it is right, or given up. [1]

    .. math:: m = \frac{1 - (1 - p)^t}{p}

    A mean of a geometric distribution cut off after :math:`t` tries [1]_.

    Parameters
    ----------
    accuracy : array_like
        Probability that a try is right, :math:`p`. [1]
    tries : array_like
        Tries at most; infinity for as many as it takes, :math:`t`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together; infinity where a try is never right and never given
        up. [1]

    Examples
    --------
    >>> float(expected_tries(accuracy=0.5, tries=2))
    1.5

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd
       ed., sec. VI.8 (waiting times).
    """
    right, most = np.broadcast_arrays(np.asarray(accuracy, float), np.asarray(tries, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (1.0 - (1.0 - right) ** most) / right
    return np.where(right > 0.0, mean, most)


def time_to_success(*, attempt: ArrayLike, success: ArrayLike) -> Array:
    r"""Return the mean time, or price, of attempts until the first that succeeds. [s]

    .. math:: \bar{T} = t / P

    Failures are noticed at no cost, and every attempt starts afresh [1]_.

    Parameters
    ----------
    attempt : array_like
        Time or price of an attempt, :math:`t`. [s]
    success : array_like
        Probability that an attempt succeeds, :math:`P`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together; infinity where no attempt succeeds. [s]

    Examples
    --------
    >>> float(time_to_success(attempt=10.0, success=0.5))
    20.0

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd
       ed., sec. VI.8 (waiting times).
    """
    with np.errstate(divide="ignore"):
        return 1.0 * np.asarray(attempt) / np.asarray(success, float)


def best_of(*, accuracy: ArrayLike, samples: ArrayLike) -> Array:
    r"""Return the probability that one of n answers is right and a perfect judge finds it. [1]

    .. math:: P = 1 - (1 - p)^n

    Parameters
    ----------
    accuracy : array_like
        Probability that an answer is right, :math:`p`. [1]
    samples : array_like
        Independent answers, :math:`n`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> round(float(best_of(accuracy=0.584, samples=3)), 3)
    0.928

    References
    ----------
    .. [1] M. Chen et al., "Evaluating large language models trained on code,"
       arXiv:2107.03374, sec. 2.1 (pass@k with tests as the judge).
    """
    return 1.0 - (1.0 - 1.0 * np.asarray(accuracy)) ** samples


def majority(*, accuracy: ArrayLike, samples: ArrayLike) -> Array:
    r"""Return the probability that most of n answers are right; ties are decided by a coin. [1]

    .. math::

        P = \sum_{k > n/2} \binom{n}{k} p^k (1 - p)^{n - k}
            + \tfrac{1}{2} [n \text{ even}] \binom{n}{n/2} p^{n/2} (1 - p)^{n/2}

    All wrong answers count as the same, which is the worst case for a vote [1]_.

    Parameters
    ----------
    accuracy : array_like
        Probability that an answer is right, :math:`p`. [1]
    samples : array_like
        Independent answers, whole numbers, :math:`n`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> round(float(majority(accuracy=0.584, samples=3)), 3)
    0.625

    References
    ----------
    .. [1] N. de Condorcet, "Essai sur l'application de l'analyse a la probabilite des decisions,"
       1785 (the jury theorem).
    """
    right, count = np.broadcast_arrays(np.asarray(accuracy, float), np.asarray(samples, float))
    most = int(np.max(count, initial=0.0))
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    hits = np.arange(most + 1)
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
    return np.sum(np.where(possible, chance, 0.0) * weight, axis=-1)


def judged(*, accuracy: ArrayLike, samples: ArrayLike, judge: ArrayLike) -> Array:
    r"""Return the probability that a fallible judge picks a right one of n answers. [1]

    .. math::

        P = \left(1 - (1 - a)^n\right) \frac{p j}{a} + (1 - a)^{n - 1} p (1 - j),
        \quad a = p j + (1 - p)(1 - j)

    The judge calls each answer good or bad, right with probability :math:`j`, and picks among
    those it calls good, or among all where it calls none so. A perfect judge gives `best_of`, a
    coin gives :math:`p`, and many answers give no more than :math:`p j / a` [1]_.

    Parameters
    ----------
    accuracy : array_like
        Probability that an answer is right, :math:`p`. [1]
    samples : array_like
        Independent answers, :math:`n`. [1]
    judge : array_like
        Probability that the judge is right about an answer, :math:`j`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> float(judged(accuracy=0.5, samples=1, judge=0.9)), float(
    ...     judged(accuracy=0.5, samples=2, judge=1.0)
    ... )
    (0.5, 0.75)

    References
    ----------
    .. [1] T. Bayes, "An essay towards solving a problem in the doctrine of chances," 1763: what
       is called good is right with probability p j / a.
    """
    right, sure = np.asarray(accuracy, float), np.asarray(judge, float)
    called = right * sure + (1.0 - right) * (1.0 - sure)
    some = 1.0 - (1.0 - called) ** samples
    with np.errstate(divide="ignore", invalid="ignore"):
        good = np.where(called > 0.0, right * sure / called, 0.0)
    none = (1.0 - called) ** (np.asarray(samples, float) - 1.0)
    return some * good + none * right * (1.0 - sure)


def amdahl(*, share: ArrayLike, speedup: ArrayLike) -> Array:
    r"""Return the speed-up of a whole of which a part gets faster. [1]

    .. math:: S = \frac{1}{(1 - f) + f / s}

    Parameters
    ----------
    share : array_like
        Share of the time that the part takes, :math:`f`. [1]
    speedup : array_like
        Of the part, :math:`s`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> round(amdahl(share=0.5, speedup=6), 2)
    1.71

    References
    ----------
    .. [1] G. M. Amdahl, "Validity of the single processor approach," AFIPS 1967.
    """
    return 1.0 / (1.0 - 1.0 * share + 1.0 * share / speedup)


def implied_share(*, overall: ArrayLike, speedup: ArrayLike) -> Array:
    r"""Return the share of the time that a part must take, from what its speed-up did. [1]

    .. math:: f = \frac{1 - 1/S}{1 - 1/s}

    Parameters
    ----------
    overall : array_like
        Speed-up of the whole, :math:`S`. [1]
    speedup : array_like
        Of the part, :math:`s`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> round(float(implied_share(overall=7.2, speedup=15)), 3)
    0.923

    References
    ----------
    .. [1] G. M. Amdahl, "Validity of the single processor approach," AFIPS 1967; solved for f.
    """
    return (1.0 - 1.0 / np.asarray(overall)) / (1.0 - 1.0 / np.asarray(speedup))


def break_even_accuracy(*, accuracy: ArrayLike, time_ratio: ArrayLike, steps: ArrayLike) -> Array:
    r"""Return the accuracy of a step at which another option succeeds as soon, or as cheaply. [1]

    .. math:: p' = p \, r^{1/n}

    Parameters
    ----------
    accuracy : array_like
        Probability that a step of the first option is right, :math:`p`. [1]
    time_ratio : array_like
        Time or price of an attempt, the other over the first, :math:`r`. [1]
    steps : array_like
        Steps of the chain, :math:`n`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together; above 1 where no accuracy suffices. [1]

    Examples
    --------
    Fifteen times faster over ten steps: 0.9 a step is met with 0.686.

    >>> round(float(break_even_accuracy(accuracy=0.9, time_ratio=1 / 15, steps=10)), 3)
    0.686

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd
       ed., sec. VI.8: t / p^n of both options made equal.
    """
    return 1.0 * accuracy * (1.0 * np.asarray(time_ratio)) ** (1.0 / np.asarray(steps))


def break_even_fix(*, speedup: ArrayLike, more_errors: ArrayLike) -> Array:
    r"""Return how long mending a mistake may take, in times of writing an answer. [1]

    .. math:: \frac{t_m}{t} = \frac{1 - 1/s}{\Delta e}

    Beyond it, what speed saves on every answer is lost on those that are newly wrong.

    Parameters
    ----------
    speedup : array_like
        Of writing, :math:`s`. [1]
    more_errors : array_like
        Share of the answers that are wrong now and were not, :math:`\Delta e`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> round(float(break_even_fix(speedup=6, more_errors=0.2)), 2)
    4.17

    References
    ----------
    .. [1] S. Goedecke, "Two different tricks for fast LLM inference," 2026 (the bargain that this
       prices: six times the speed for a fifth more mistakes).
    """
    return (1.0 - 1.0 / np.asarray(speedup)) / more_errors


def break_even_check(
    *, attempt: ArrayLike, success: ArrayLike, other: ArrayLike, other_success: ArrayLike
) -> Array:
    r"""Return the time of checking an attempt at which two options succeed as soon. [s]

    .. math:: \frac{t + v}{P} = \frac{t' + v}{P'} \;\Rightarrow\; v = \frac{t P' - t' P}{P - P'}

    Below it the faster option wins, above it the more accurate one.

    Parameters
    ----------
    attempt : array_like
        Attempt of the more accurate option, :math:`t`. [s]
    success : array_like
        Its probability of success, :math:`P`. [1]
    other : array_like
        Attempt of the faster option, :math:`t'`. [s]
    other_success : array_like
        Its probability of success, :math:`P'`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together; negative where the accurate option wins always. [s]

    Examples
    --------
    >>> float(break_even_check(attempt=10.0, success=1.0, other=1.0, other_success=0.5))
    8.0

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd
       ed., sec. VI.8: waiting times of both options made equal.
    """
    gain = 1.0 * np.asarray(attempt) * other_success - 1.0 * np.asarray(other) * success
    with np.errstate(divide="ignore", invalid="ignore"):
        return gain / (1.0 * np.asarray(success) - other_success)


def turn_time(*, wait: ArrayLike, lead: ArrayLike, tokens: ArrayLike, speed: ArrayLike) -> Array:
    r"""Return the time of one turn: what passes before tokens stream, and the stream. [s]

    .. math:: T = W + t_0 + n / v

    Parameters
    ----------
    wait : array_like
        For a slot, and on the way there and back, :math:`W`. [s]
    lead : array_like
        Prefill, up to the stream of tokens, :math:`t_0`. [s]
    tokens : array_like
        Tokens streamed, :math:`n`. [1]
    speed : array_like
        Tokens a second, :math:`v`. [1/s]

    Returns
    -------
    ndarray
        The arguments broadcast together. [s]

    Examples
    --------
    >>> float(turn_time(wait=0.5, lead=0.5, tokens=100, speed=50))
    3.0

    References
    ----------
    .. [1] Y. Zhong et al., "DistServe," arXiv:2401.09670, sec. 2 (time to the first token and
       time per output token).
    """
    return 1.0 * np.asarray(wait) + lead + 1.0 * np.asarray(tokens) / speed


def tokens_in_window(*, window: ArrayLike, lead: ArrayLike, speed: ArrayLike) -> Array:
    r"""Return the tokens that stream before a gap in a conversation has passed. [1]

    .. math:: n = \max(w - t_0, 0) \, v

    Parameters
    ----------
    window : array_like
        The gap, :math:`w`. [s]
    lead : array_like
        Time to the first token and the way there and back, :math:`t_0`. [s]
    speed : array_like
        Tokens a second, :math:`v`. [1/s]

    Returns
    -------
    ndarray
        The arguments broadcast together, not rounded. [1]

    Examples
    --------
    >>> float(tokens_in_window(window=0.45, lead=0.2, speed=1000))
    250.0

    References
    ----------
    .. [1] T. Stivers et al., "Universals and cultural variation in turn-taking in conversation,"
       PNAS 106(26), 2009, doi:10.1073/pnas.0903616106 (gaps between turns, 200 ms on average).
    """
    return np.maximum(1.0 * np.asarray(window) - lead, 0.0) * speed


def busy_sessions(*, response: ArrayLike, think: ArrayLike) -> Array:
    r"""Return the sessions with which a person never waits. [1]

    .. math:: N = \frac{R + Z}{Z}

    While one session works, the person attends to the others; with more sessions than that,
    faster answers buy nothing [1]_.

    Parameters
    ----------
    response : array_like
        Time that a session works on its own, :math:`R`. [s]
    think : array_like
        Time that it then asks of the person, :math:`Z`. [s]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> float(busy_sessions(response=300.0, think=100.0))
    4.0

    References
    ----------
    .. [1] J. D. C. Little, "A proof for the queuing formula L = lambda W," Operations Research
       9(3), 1961, in its interactive form N = X (R + Z) at X = 1 / Z.
    """
    return (1.0 * np.asarray(response) + think) / np.asarray(think)
