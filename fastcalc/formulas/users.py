"""How many requests users make: those at their screens, and what they do between two of them."""

from fastcalc.formulas.types import Array, ArrayLike, floats


def requests_of_thinkers(*, people: ArrayLike, think: ArrayLike, request: ArrayLike) -> Array:
    r"""Requests per second of users who think between two of them. [1/s]

    .. math:: \lambda = \frac{N}{Z + R}

    people : that are at it, :math:`N` [1]
    think : time from an answer to the next request, :math:`Z` [s]
    request : time of a request, :math:`R` [s]

    The response-time law of a closed system. Source: Harchol-Balter, "Performance modeling," 2013,
    sec. 6.3.

    >>> float(requests_of_thinkers(people=100, think=15, request=5))
    5.0
    """
    return floats(people) / (floats(think) + request)


def requests_of_active(
    *, people: ArrayLike, active: ArrayLike, per_minute: ArrayLike, peak: ArrayLike = 1.0
) -> Array:
    r"""Requests per second of users of whom some are active. [1/s]

    .. math:: \lambda = k \, a N \frac{m}{60}

    people : there are, :math:`N` [1]
    active : share of them that is at it, :math:`a` [1]
    per_minute : requests of each of those a minute, :math:`m` [1/min]
    peak : busiest hour over the mean one, :math:`k` [1]

    Source: llm-d, capacity planning (``active_fraction``, ``requests_per_active_user_per_min``,
    ``peak_multiplier``).

    >>> float(requests_of_active(people=1000, active=0.1, per_minute=3, peak=2))
    10.0
    """
    return floats(people) * active * floats(per_minute) / 60.0 * peak
