"""Cost of deciding before speeds are known, and the value of a measurement."""

from statistics import NormalDist

import numpy as np

from fastcalc.formulas.types import Array, Floats

_NODES = 96
"""The number of quadrature nodes per unknown speed. [1]"""


def expected_regret(*, costs: Floats, at: Floats, held: float) -> Array:
    r"""Compute the expected extra cost of each plan compared with the best plan in hindsight. [USD]

    .. math:: R_k = E[\max(C_k(h), C_k(z_k)) - \min_j C_j(z_j)]

    costs : The cost of each plan (rows) as a function of its chip's speed, :math:`C_k(z)`. [USD]
    at : The speeds, in standard deviations below the expected log speed, ascending. [1]
    held : The speed for which chips are purchased, in the same units, :math:`h`. [1]

    Purchased chips are paid for even if unused, and missing chips are bought later. Speeds are
    lognormal, and independent between chips. Source: Savage, "The theory of statistical decision,"
    J. Amer. Statist. Assoc. 46, 1951.

    A plan that costs 100, or 200 on a slow chip, against one that always costs 150:

    >>> expected_regret(
    ...     costs=np.array([[100.0, 100.0, 200.0, 200.0], [150.0, 150.0, 150.0, 150.0]]),
    ...     at=np.array([-3.0, -1e-9, 1e-9, 3.0]),
    ...     held=-1.0,
    ... )
    array([25., 25.])
    """
    needed = _along(costs, at, _speeds())
    bought = _along(costs, at, np.array([held]))
    return np.asarray(np.maximum(needed, bought).mean(axis=1) - _in_hindsight(needed))


def regret_after(*, costs: Floats, at: Floats, held: float, measured: int, error: float) -> float:
    r"""Compute the expected extra cost over the best plan if one chip is measured first. [USD]

    .. math:: E_m[\min_k E[\max(C_k(h), C_k(z_k)) \mid m]] - E[\min_j C_j(z_j)],
        \; z = \sqrt{1 - r^2} m + r \epsilon

    costs : The cost of each plan (rows) as a function of its chip's speed, :math:`C_k(z)`. [USD]
    at : The speeds, in standard deviations below the expected log speed, ascending. [1]
    held : The speed for which chips are purchased, in the same units, :math:`h`. [1]
    measured : The row of the chip that is measured. [1]
    error : The standard deviation after the measurement over that before it, :math:`r`. [1]

    After the measurement, the number of measured chips follows the updated speed unless keeping it
    costs less. Source: Raiffa and Schlaifer, "Applied statistical decision theory," 1961, ch. 4.

    With a single plan and an exact measurement, there is no regret:

    >>> round(regret_after(
    ...     costs=np.array([[100.0, 150.0, 200.0]]),
    ...     at=np.array([-3.0, 0.0, 3.0]),
    ...     held=0.0,
    ...     measured=0,
    ...     error=0.0,
    ... ), 6)
    0.0
    """
    speeds = _speeds()
    needed = _along(costs, at, speeds)
    bought = _along(costs, at, np.array([held]))
    options = np.maximum(needed, bought).mean(axis=1)
    signal = speeds[:, np.newaxis] * np.sqrt(1.0 - error**2)
    chip = costs[measured : measured + 1]
    costs_then = _along(chip, at, signal + error * speeds)[0]
    rebought = _along(chip, at, signal + error * held)[0]
    as_before = np.maximum(costs_then, bought[measured]).mean(axis=1)
    cost_known = np.minimum(np.maximum(costs_then, rebought).mean(axis=1), as_before)
    cost_of_others = np.min(np.delete(options, measured), initial=np.inf)
    chosen = float(np.minimum(cost_known, cost_of_others).mean())
    return max(chosen - _in_hindsight(needed), 0.0)  # interpolation can make it negative


def _speeds() -> Floats:
    """Return standard normal deviations, each in the middle of an equally likely interval.

    Costs are step functions, for which quadrature rules for smooth functions are less accurate:
    with 64 nodes, Gauss-Hermite has errors of up to 10%, this rule up to 2%.
    """
    middles = (np.arange(_NODES) + 0.5) / _NODES
    return np.array([NormalDist().inv_cdf(middle) for middle in middles.tolist()])


def _along(costs: Floats, at: Floats, deviations: Floats) -> Floats:
    return np.stack([np.interp(deviations, at, row) for row in costs])


def _in_hindsight(needed: Floats) -> float:
    """Average the minimum cost over all speeds, one axis at a time."""
    cheapest = needed[0]
    for row in needed[1:]:
        cheapest = np.minimum(cheapest[:, np.newaxis], row).ravel()
    return float(cheapest.mean())
