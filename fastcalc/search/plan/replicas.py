"""How many replicas a rate asks for, and how busy each of them is."""

import numpy as np

from fastcalc.formulas.types import Floats
from fastcalc.search.plan.queues import Queues
from fastcalc.search.plan.service import Service

_SLACK = 1e-9
"""Of a replica, so that a rate which one carries exactly is not given two."""

_LEAST_BUSY = 1e-6
"""Utilization below which nothing is planned: a limit that leaves no time to wait needs it."""

_WAIT_OF_THE_LATE = 0.1

_ROUNDING = 1e-12
"""Of a limit: replicas as busy as it allows meet it, whichever way their waits are rounded."""


def needed(
    service: Service,
    seconds: Floats,
    ttft: Floats,
    queues: Queues | None,
    *,
    part: float = 1.0,
) -> tuple[Floats, Floats]:
    """Return replicas that each take so long for a request, and how busy each is. [1]

    One replica where no rate is asked. What takes longer to the first token than is allowed
    without waiting is given a tenth of its time for that, so that it may be said what it does.

    Parameters
    ----------
    service : Service
        With the rate, and the most that a replica is given of its capacity.
    seconds : ndarray
        Time of a replica that a request takes. [s]
    ttft : ndarray
        Time to the first token without waiting. [s]
    queues : Queues or None
        Before the replicas; None where requests arrive evenly.
    part : float
        Of the time that is left to wait, that for these queues. [1]
    """
    most: Floats = np.full(np.shape(seconds), service.utilization)
    if queues is not None:
        late = ttft >= service.ttft
        slack = part * np.where(late, _WAIT_OF_THE_LATE * ttft, service.ttft - ttft)
        most = np.minimum(most, np.maximum(queues.most(slack), _LEAST_BUSY))
    if service.rate is None:
        return np.ones(np.shape(seconds)), most
    replicas = np.maximum(np.ceil(np.asarray(service.rate * seconds / most) - _SLACK), 1.0)
    return replicas, np.minimum(service.rate * seconds / replicas, most)


def waited(queues: Queues | None, busy: Floats) -> Floats:
    """Return how long a request waits before it is taken in. [s]

    Parameters
    ----------
    queues : Queues or None
        Before the replicas; None where requests arrive evenly.
    busy : ndarray
        Share of its capacity that each does. [1]
    """
    return np.zeros(np.shape(busy)) if queues is None else queues.wait(busy)


def first_token(service: Service, ttft: Floats, waits: Floats) -> Floats:
    """Return the time to the first token with its wait, the limit where it is planned to meet it.

    Parameters
    ----------
    service : Service
        With the limit.
    ttft, waits : ndarray
        Time without waiting, and the wait. [s]
    """
    seconds = ttft + waits
    is_limit = np.isclose(seconds, service.ttft, rtol=_ROUNDING, atol=0.0)
    return np.asarray(np.where(is_limit, service.ttft, seconds))
