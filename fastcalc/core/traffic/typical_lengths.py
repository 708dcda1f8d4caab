"""A few representative lengths of a distribution, with finer parts in its long tail."""

from collections.abc import Callable

import numpy as np

from fastcalc.formulas.types import Floats

PART_EDGES = (*(part / 8 for part in range(8)), 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
"""Quantiles that divide a distribution: eight equal parts, and finer parts in its tail. [1]"""

_FINE = 100  # quantiles averaged in each part


def typical_lengths(quantile: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Shares of requests and the mean length in each of them, from short to long. [1]

    The overall mean equals the mean of the distribution for any tail.

    quantile : function for the lengths that given shares of requests do not exceed

    >>> shares, lengths = typical_lengths(lambda share: 100.0 * share)
    >>> round(float(shares @ lengths), 9)
    50.0
    """
    edges = np.array(PART_EDGES)
    weights = np.diff(edges)
    inside = (np.arange(_FINE) + 0.5) / _FINE
    lengths = quantile(edges[:-1, np.newaxis] + weights[:, np.newaxis] * inside).mean(axis=1)
    return weights, lengths
