"""Request rates of closed-loop users with think time, or of a population of active users."""

from fastcalc.formulas.types import Array, ArrayLike, floats


def requests_of_thinkers(*, people: ArrayLike, think: ArrayLike, request: ArrayLike) -> Array:
    r"""Compute the request rate of closed-loop users with think time. [1/s]

    .. math:: \lambda = \frac{N}{Z + R}

    people : The number of users, :math:`N`. [1]
    think : The think time from an answer to the next request, :math:`Z`. [s]
    request : The end-to-end latency of a request, :math:`R`. [s]

    This is the interactive response-time law. Source: Harchol-Balter, "Performance modeling," 2013,
    sec. 6.3.

    >>> float(requests_of_thinkers(people=100, think=15, request=5))
    5.0
    """
    return floats(people) / (floats(think) + request)


def requests_of_active(
    *, people: ArrayLike, active: ArrayLike, per_minute: ArrayLike, peak: ArrayLike = 1.0
) -> Array:
    r"""Compute the peak request rate if only a fraction of the users is active. [1/s]

    .. math:: \lambda = k \, a N \frac{m}{60}

    people : The number of users, :math:`N`. [1]
    active : The fraction of users who are active, :math:`a`. [1]
    per_minute : The requests per minute per active user, :math:`m`. [1/min]
    peak : The ratio of peak to mean load, :math:`k`. [1]

    Source: llm-d, capacity planning (``active_fraction``, ``requests_per_active_user_per_min``,
    ``peak_multiplier``).

    >>> float(requests_of_active(people=1000, active=0.1, per_minute=3, peak=2))
    10.0
    """
    return floats(people) * active * floats(per_minute) / 60.0 * peak
