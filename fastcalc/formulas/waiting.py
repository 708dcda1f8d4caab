"""Waits before the first token: for a full batch, for the end of a step, and for a free slot."""

from functools import cache

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, Floats, floats

_MANY = 32  # servers above which Stirling's series is exact to the last digits
_NOTHING = 40.0  # powers of e below the integrand's initial value at which it is negligible


def fill_wait(*, batch: ArrayLike, arrivals: ArrayLike) -> Array:
    r"""Compute the mean time that a request waits for its batch to fill. [s]

    .. math:: W = \frac{B - 1}{2 \lambda}

    batch : The number of requests per batch, :math:`B`. [1]
    arrivals : The arrival rate of requests, :math:`\lambda`. [1/s]

    Waiting for a running batch to finish comes on top. Source: Orca, OSDI 2022, sec. 3.

    >>> float(fill_wait(batch=5, arrivals=2))
    1.0
    """
    return (floats(batch) - 1.0) / (2.0 * floats(arrivals))


def step_wait(*, step: ArrayLike) -> Array:
    r"""Compute the mean wait for the current step to end, if requests can join between steps. [s]

    .. math:: W = T / 2

    step : The time of a step, :math:`T`. [s]

    Source: Orca, OSDI 2022, sec. 4.

    >>> float(step_wait(step=0.03))
    0.015
    """
    return floats(step) / 2.0


def erlang_b(*, servers: ArrayLike, load: ArrayLike) -> Array:
    r"""Compute the probability that an arrival is blocked because all servers are busy. [1]

    .. math:: B_0 = 1, \quad B_i = \frac{a B_{i-1}}{i + a B_{i-1}}

    servers : The number of servers, an integer, :math:`c`. [1]
    load : The arrival rate times the service time, :math:`a`. [1]

    This is Erlang's B formula. For many servers below full load, :math:`B_c = p_c / (1 - \sum_{i >
    c} p_i)` with Poisson probabilities :math:`p_i` of mean a, :math:`p_c` by Stirling's series and
    :math:`\sum_{i > c} p_i / p_c = c \int_0^1 e^{a t} (1 - t)^{c - 1} dt - 1`. Source: Erlang,
    1917; Loader, "Fast and accurate computation of binomial probabilities," 2000; DLMF 13.4.1.

    >>> float(erlang_b(servers=2, load=2.0))
    0.4
    """
    count, offered = np.broadcast_arrays(np.asarray(servers, float), np.asarray(load, float))
    is_recursive = (count < _MANY) | (offered >= count)
    blocked: Floats = np.ones(count.shape)
    blocked[~is_recursive] = _beyond_all(count[~is_recursive], offered[~is_recursive])
    counts, load, fraction = count[is_recursive], offered[is_recursive], blocked[is_recursive]
    for server in range(1, int(np.max(counts, initial=0.0)) + 1):
        busy = load * fraction
        fraction = np.where(server <= counts, busy / (server + busy), fraction)
    blocked[is_recursive] = fraction
    return blocked


def _beyond_all(count: Floats, offered: Floats) -> Floats:
    """Compute Erlang's B for many servers from the terms beyond the last, below full load."""
    ratio, inverse = offered / count, 1.0 / count
    stirling = inverse / 12.0 - inverse**3 / 360.0 + inverse**5 / 1260.0 - inverse**7 / 1680.0
    with np.errstate(divide="ignore"):
        exponent = count * (np.log(ratio) + (1.0 - ratio)) - stirling
    last = np.exp(exponent) / np.sqrt(2.0 * np.pi * count)
    # Since ln(1 - t) < -t - t^2 / 2, the integrand beyond this limit is negligible.
    fewer, slope = count - 1.0, count - 1.0 - offered
    end = np.minimum((np.sqrt(slope**2 + 2.0 * _NOTHING * fewer) - slope) / fewer, 1.0)
    nodes, weights = _nodes()
    part = end * (0.5 + 0.5 * nodes[:, np.newaxis])
    heights = np.exp(offered * part + fewer * np.log1p(-part))
    beyond = 0.5 * count * end * (weights @ heights) - 1.0
    return last / (1.0 - last * beyond)


@cache
def _nodes() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(24)


def slot_wait(*, slots: ArrayLike, utilization: ArrayLike, service: ArrayLike) -> Array:
    r"""Compute the mean wait for one of c slots, infinite at full utilization. [s]

    .. math:: W = \frac{C S}{c (1 - \rho)}, \quad C = \frac{B_c}{1 - \rho (1 - B_c)}

    slots : The number of requests decoded together, :math:`c`. [1]
    utilization : The mean fraction of busy slots, :math:`\rho`. [1]
    service : The mean time that a request occupies its slot, :math:`S`. [s]

    :math:`B_c` is `erlang_b` at the load :math:`c \rho` (M/M/c). Source: Harchol-Balter,
    "Performance modeling," 2013, ch. 14 (Erlang C from Erlang B).

    >>> float(slot_wait(slots=1, utilization=0.5, service=10.0))
    10.0
    """
    busy = floats(utilization)
    blocked = erlang_b(servers=slots, load=floats(slots) * busy)
    idle = np.maximum(1.0 - busy, 0.0)
    queues = blocked / (1.0 - busy * (1.0 - blocked))
    with np.errstate(divide="ignore"):
        wait = queues * service / (floats(slots) * idle)
    return np.where(idle > 0.0, wait, np.inf)


def slot_wait_percentile(
    *, slots: ArrayLike, utilization: ArrayLike, service: ArrayLike, share: ArrayLike
) -> Array:
    r"""Compute a percentile of the wait for one of c slots. [s]

    .. math:: W_p = \frac{S}{c (1 - \rho)} \max\left(0, \ln \frac{C}{1 - p}\right)

    slots : The number of requests decoded together, :math:`c`. [1]
    utilization : The mean fraction of busy slots, :math:`\rho`. [1]
    service : The mean time that a request occupies its slot, :math:`S`. [s]
    share : The fraction of requests, :math:`p`: 0.99 for the 99th percentile. [1]

    The queue is the same as in `slot_wait`; its waits above zero are exponential. Source:
    Harchol-Balter, "Performance modeling," 2013, ch. 14.

    >>> round(float(slot_wait_percentile(slots=1, utilization=0.5, service=1.0, share=0.9)), 4)
    3.2189
    """
    count, busy = floats(slots), floats(utilization)
    blocked = erlang_b(servers=count, load=count * busy)
    queues = blocked / (1.0 - busy * (1.0 - blocked))
    return _percentile(queues, busy, share) * service / count


def prompt_wait_percentile(
    *, utilization: ArrayLike, service: ArrayLike, share: ArrayLike
) -> Array:
    r"""Compute a percentile of the wait behind other prompts. [s]

    .. math:: W_p = \frac{T}{2 (1 - \rho)} \max\left(0, \ln \frac{\rho}{1 - p}\right)

    utilization : The fraction of time spent on prefill, :math:`\rho`. [1]
    service : The prefill time of one prompt, :math:`T`. [s]
    share : The fraction of requests, :math:`p`. [1]

    The mean wait of that queue (M/D/1) is :math:`\rho T / (2 (1 - \rho))`. A share :math:`\rho`
    waits, and its waits are assumed exponential, which is their limit at high load. Source:
    DistServe, arXiv:2401.09670, sec. 3.1; Kingman, heavy traffic, 1961.

    >>> round(float(prompt_wait_percentile(utilization=0.5, service=0.1, share=0.95)), 4)
    0.2303
    """
    busy = floats(utilization)
    return _percentile(busy, busy, share) * service / 2.0


def _percentile(waiting: Floats, busy: Floats, share: ArrayLike) -> Array:
    """Compute a percentile of waits in units of the mean service time of all servers."""
    with np.errstate(divide="ignore"):
        tail = np.maximum(np.log(waiting / (1.0 - floats(share))), 0.0)
        return np.where(busy < 1.0, tail / (1.0 - busy), np.inf)
