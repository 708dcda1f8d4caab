"""Requests in flight on a replica, modeled as a birth-death process."""

import numpy as np

from fastcalc.formulas.solving import bisect, geometric_mean
from fastcalc.formulas.types import Array, ArrayLike, Floats, floats

_OFTEN = 1e9
"""The maximum request rate of a user without think time, relative to the mean rate per user. [1]"""

_ROUNDS, _SHIFTED, _MOST_SHIFTED = 12, 1e-9, 1.0  # Newton's method; changes of a logarithm
_MORE = 1.0 + 1e-6  # factor by which one rate must exceed another


def found_by_arrivals(
    *, arrivals: Floats, served: Floats, slots: int = 0, spread: float = 1.0
) -> Floats:
    r"""Compute the distribution of requests in flight seen by an arriving request. [1]

    .. math:: p_k \propto \prod_{j=1}^{k} \left(e^{c} \lambda_{j-1} / \mu_j\right)^{1 / s},
        \quad a_k \propto \lambda_k p_k

    arrivals : The arrival rate with 0, 1, ... in flight, one element more than ``served``. [1/s]
    served : The departure rate with 1, 2, ... in flight, :math:`\mu_1, \mu_2, \ldots`. [1/s]
    slots : The number in flight up to which the spread applies; additional requests queue. [1]
    spread : The variance relative to that of a birth-death process, :math:`s`. [1]

    With a spread above 1, :math:`c` shifts the mean so that departures match arrivals.

    Source: M. Harchol-Balter, "Performance modeling," 2013, sec. 13.4, for a spread of 1, which is
    a birth-death process; other spreads are our own.

    A single user who sends each request after the previous answer finds no other request:

    >>> found_by_arrivals(arrivals=np.array([1.0, 0.0]), served=np.array([1.0])).tolist()
    [1.0, 0.0]
    """
    steps, taken = _steps(arrivals, served), np.minimum(np.arange(len(arrivals)), slots)
    surplus, shift = np.concatenate([[0.0], served]) - arrivals, 0.0
    chances = _chances(steps)
    for _ in range(_ROUNDS if spread > 1.0 else 0):
        chances = _chances(np.concatenate([(steps[:slots] + shift) / spread, steps[slots:]]))
        left_over = float(chances @ surplus)
        slope = float(chances @ (taken * surplus) - (chances @ taken) * left_over)
        change = left_over * spread / slope if slope else 0.0
        shift -= float(np.clip(change, -_MOST_SHIFTED, _MOST_SHIFTED))
        if abs(change) < _SHIFTED:
            break
    found = chances * arrivals
    return np.asarray(found / found.sum())


def clustered_spread(*, prompts: ArrayLike, overlap: ArrayLike) -> Array:
    r"""Compute the variance of requests in flight, relative to a birth-death process. [1]

    .. math:: s = (1 - p) \left(1 + o \left((1 - p)^{-2} - 1\right)\right)

    prompts : The fraction of time spent on prefill, :math:`p`. [1]
    overlap : The mean shorter of two output lengths over the mean output length, :math:`o`. [1]

    The result is at least 1. A prompt lengthens its step, so more requests arrive during that step,
    whose prompts do the same. Arrivals thus excite themselves, and the variance of their count per
    step is 1 / (1 - p)^2 times that of a Poisson count. A cluster stays in flight as long as its
    outputs overlap. A birth-death process, in which all requests share the prefill time as in
    processor sharing, has a factor of 1 / (1 - p).

    Source: A. G. Hawkes, D. Oakes, "A cluster process representation of a self-exciting process,"
    Journal of Applied Probability 11, 1974, for the count; the overlap term is ours.

    Equal output lengths, with half of the time spent on prefill:

    >>> float(clustered_spread(prompts=0.5, overlap=1.0))
    2.0
    """
    decoding = 1.0 - floats(prompts)
    return floats(np.maximum(decoding * (1.0 + overlap * (decoding**-2 - 1.0)), 1.0))


def closed_loop_arrivals(*, users: float, rate: float, served: Floats) -> Floats | None:
    r"""Compute the arrival rate from closed-loop users for each number of requests in flight. [1/s]

    .. math:: \lambda_k = (N - k) \theta, \quad \sum_k p_k \lambda_k = \lambda

    users : The number of users, :math:`N`, not necessarily an integer. [1]
    rate : The request rate of all users, :math:`\lambda`. [1/s]
    served : The departure rate with 1, 2, ... in flight, up to the number of users. [1/s]

    The equation is solved for :math:`\theta`, the request rate of a user who is thinking. The
    result is None if the users cannot reach the request rate even without think time. Source:
    Harchol-Balter, "Performance modeling," 2013, ch. 13 (a finite number of sources).

    Two users, a service time of one second and a mean think time of one second: 0.8 1/s.

    >>> closed_loop_arrivals(users=2.0, rate=0.8, served=np.array([1.0, 1.0])).round(3).tolist()
    [2.0, 1.0, 0.0]
    """
    idle = np.maximum(users - np.arange(len(served) + 1.0), 0.0)

    def made(user_rate: float) -> float:
        return float(_chances(_steps(idle * user_rate, served)) @ idle * user_rate)

    least = rate / users
    if made(least * _OFTEN) <= rate * _MORE:
        return None
    user_rate, _ = bisect(
        lambda user_rate: made(float(user_rate)) < rate,
        least,
        least * _OFTEN,
        middle=geometric_mean,
    )
    return np.asarray(idle * float(user_rate))


def _steps(arrivals: Floats, served: Floats) -> Floats:
    """Compute log-ratios of the probabilities of successive in-flight counts. [1]"""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(arrivals[:-1] / served))


def _chances(steps: Floats) -> Floats:
    """Compute the probability of each number in flight. [1]"""
    logarithms = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum())
