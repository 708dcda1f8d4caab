"""Requests in flight on a replica: a birth-death process of arrivals and departures."""

import numpy as np

from fastcalc.formulas.solving import bisect, geometric_mean
from fastcalc.formulas.types import Floats

_OFTEN = 1e9
"""Requests of a user who waits for no answer, over those that one makes, at most. [1]"""

_MORE = 1.0 + 1e-6  # of a rate, by which another is more than it


def found_by_arrivals(*, arrivals: Floats, served: Floats) -> Floats:
    r"""Chances that an arrival finds none, one, two, ... requests in flight. [1]

    .. math:: p_k \propto \prod_{j=1}^{k} \lambda_{j-1} / \mu_j, \quad a_k \propto \lambda_k p_k

    arrivals : at none, one, ... in flight, one more than served, :math:`\lambda_0, \ldots` [1/s]
    served : departures at one, two, ... in flight, :math:`\mu_1, \mu_2, \ldots` [1/s]

    Source: M. Harchol-Balter, "Performance modeling," 2013, sec. 13.4.

    One user who asks as fast as an answer takes finds nobody:

    >>> found_by_arrivals(arrivals=np.array([1.0, 0.0]), served=np.array([1.0])).tolist()
    [1.0, 0.0]
    """
    weights = _weights(arrivals, served) * arrivals
    return np.asarray(weights / weights.sum())


def closed_loop_arrivals(*, users: float, rate: float, served: Floats) -> Floats | None:
    r"""Rates of arrivals of users who wait for an answer before they ask again. [1/s]

    .. math:: \lambda_k = (N - k) \theta, \quad \sum_k p_k \lambda_k = \lambda

    users : that there are, :math:`N`, whole or not [1]
    rate : requests that all make, :math:`\lambda` [1/s]
    served : rate of departures at one, two, ... in flight, as many as there are users [1/s]

    None where users who think for no time make fewer than that. The rate :math:`\theta` of
    a user who waits for no answer is the one at which all make the rate. Source: Harchol-Balter,
    "Performance modeling," 2013, ch. 13 (a finite number of sources).

    Two users of a server that takes a second each, who think for a second on average: 0.8 1/s.

    >>> closed_loop_arrivals(users=2.0, rate=0.8, served=np.array([1.0, 1.0])).round(3).tolist()
    [2.0, 1.0, 0.0]
    """
    idle = np.maximum(users - np.arange(len(served) + 1.0), 0.0)

    def made(each: float) -> float:
        weights = _weights(idle * each, served)
        return float(weights @ idle * each / weights.sum())

    least = rate / users
    if made(least * _OFTEN) <= rate * _MORE:
        return None
    each, _ = bisect(
        lambda each: made(float(each)) < rate, least, least * _OFTEN, middle=geometric_mean
    )
    return np.asarray(idle * float(each))


def _weights(arrivals: Floats, served: Floats) -> Floats:
    """Probabilities of each number in flight, not normalized. [1]"""
    with np.errstate(divide="ignore"):
        logarithms = np.concatenate([[0.0], np.cumsum(np.log(arrivals[:-1] / served))])
    return np.asarray(np.exp(logarithms - logarithms.max()))
