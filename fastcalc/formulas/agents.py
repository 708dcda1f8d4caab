"""Agents: multi-step chains that may fail, retries until success, and the value of speed."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def chain_success(*, accuracy: ArrayLike, steps: ArrayLike) -> Array:
    r"""Compute the probability that all steps of a chain are correct. [1]

    .. math:: P = p^n

    accuracy : The probability that a step is correct, :math:`p`. [1]
    steps : The number of steps, :math:`n`. [1]

    Steps are assumed to fail independently. Source: Feller, "Probability theory," vol. 1, ch. V.

    >>> round(float(chain_success(accuracy=0.9, steps=10)), 4)
    0.3487
    """
    return floats(accuracy) ** steps


def expected_tries(*, accuracy: ArrayLike, tries: ArrayLike) -> Array:
    r"""Compute the mean number of tries until the first success or the retry limit. [1]

    .. math:: m = \frac{1 - (1 - p)^t}{p}

    accuracy : The probability that a try is correct, :math:`p`. [1]
    tries : The maximum number of tries, :math:`t`, or infinity for no limit. [1]

    The result is infinite if no try can succeed and there is no limit. Source: Feller, "Probability
    theory," vol. 1, sec. VI.8.

    >>> float(expected_tries(accuracy=0.5, tries=2))
    1.5
    """
    right, limit = np.broadcast_arrays(floats(accuracy), floats(tries))
    with np.errstate(divide="ignore", invalid="ignore"):
        # expm1 and log1p keep small probabilities from being lost when 1 - p is rounded.
        mean = -np.expm1(limit * np.log1p(-right)) / right
    return np.where(right > 0.0, mean, limit)


def time_to_success(*, attempt: ArrayLike, success: ArrayLike) -> Array:
    r"""Compute the mean time, or cost, of repeated attempts until the first success. [s]

    .. math:: \bar{T} = t / P

    attempt : The time or cost of an attempt, :math:`t`. [s]
    success : The probability that an attempt succeeds, :math:`P`. [1]

    Detecting a failure is free. Source: Feller, "Probability theory," vol. 1, sec. VI.8.

    >>> float(time_to_success(attempt=10.0, success=0.5))
    20.0
    """
    with np.errstate(divide="ignore", over="ignore"):
        return floats(attempt) / floats(success)


def amdahl(*, share: ArrayLike, speedup: ArrayLike) -> Array:
    r"""Compute the speed-up of a whole task if one part gets faster (Amdahl's law). [1]

    .. math:: S = \frac{1}{(1 - f) + f / s}

    share : The fraction of time spent in the part, :math:`f`. [1]
    speedup : The speed-up of the part, :math:`s`. [1]

    Source: Amdahl, AFIPS 1967.

    >>> round(float(amdahl(share=0.5, speedup=6)), 2)
    1.71
    """
    part = floats(share)
    return 1.0 / (1.0 - part + part / speedup)


def implied_share(*, overall: ArrayLike, speedup: ArrayLike) -> Array:
    r"""Infer the fraction of time spent in a part from the speed-up of the whole task. [1]

    .. math:: f = \frac{1 - 1/S}{1 - 1/s}

    overall : The speed-up of the whole task, :math:`S`. [1]
    speedup : The speed-up of the part, :math:`s`. [1]

    Source: Amdahl, AFIPS 1967; solved for f.

    >>> round(float(implied_share(overall=7.2, speedup=15)), 3)
    0.923
    """
    return (1.0 - 1.0 / floats(overall)) / (1.0 - 1.0 / floats(speedup))


def turn_time(*, wait: ArrayLike, lead: ArrayLike, tokens: ArrayLike, speed: ArrayLike) -> Array:
    r"""Compute the time of one conversation turn: the wait for the first token plus streaming. [s]

    .. math:: T = W + t_0 + n / v

    wait : The wait for a slot plus the network round trip, :math:`W`. [s]
    lead : The prefill time before tokens stream, :math:`t_0`. [s]
    tokens : The number of streamed tokens, :math:`n`. [1]
    speed : The streaming speed in tokens per second, :math:`v`. [1/s]

    Source: DistServe, arXiv:2401.09670, sec. 2.

    >>> float(turn_time(wait=0.5, lead=0.5, tokens=100, speed=50))
    3.0
    """
    return floats(wait) + lead + floats(tokens) / speed


def tokens_in_window(*, window: ArrayLike, lead: ArrayLike, speed: ArrayLike) -> Array:
    r"""Count the tokens that can stream during a pause in a conversation. [1]

    .. math:: n = \max(w - t_0, 0) \, v

    window : The length of the pause, :math:`w`. [s]
    lead : The time to first token plus the network round trip, :math:`t_0`. [s]
    speed : The tokens per second, :math:`v`. [1/s]

    Source: Stivers et al., PNAS 2009, doi:10.1073/pnas.0903616106 (gaps of 200 ms on average).

    >>> float(tokens_in_window(window=0.45, lead=0.2, speed=1000))
    250.0
    """
    return np.maximum(floats(window) - lead, 0.0) * speed


def busy_sessions(*, response: ArrayLike, think: ArrayLike) -> Array:
    r"""Count the parallel sessions that keep a user busy without waiting. [1]

    .. math:: N = \frac{R + Z}{Z}

    response : The time that a session runs without user input, :math:`R`. [s]
    think : The time that the user then spends on the session, :math:`Z`. [s]

    With more sessions, faster answers do not help. Source: Little, Operations Research 9(3), 1961.

    >>> float(busy_sessions(response=300.0, think=100.0))
    4.0
    """
    return (floats(response) + think) / floats(think)


def attended_time(*, response: ArrayLike, patience: ArrayLike, return_cost: ArrayLike) -> Array:
    r"""Compute the time an answer costs a user who switches to other work after a while. [s]

    .. math:: W = R \; (R \le w), \qquad W = w + c \; (R > w)

    response : The time until the answer, :math:`R`. [s]
    patience : The wait after which the user switches to other work, :math:`w`. [s]
    return_cost : The time lost when returning to the answer, :math:`c`. [s]

    Source: Mark et al., "The cost of interrupted work," CHI 2008, doi:10.1145/1357054.1357072.

    >>> float(attended_time(response=10.0, patience=5.0, return_cost=30.0))
    35.0
    """
    answer, limit = floats(response), floats(patience)
    return np.where(answer > limit, limit + return_cost, answer)
