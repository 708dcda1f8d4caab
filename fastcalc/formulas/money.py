"""Dollars an hour, dollars a million tokens, joules a token."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike

HOURS_PER_YEAR = 8760.0


def ownership_per_hour(
    *,
    purchase: ArrayLike,
    years: ArrayLike,
    power: ArrayLike,
    site_factor: ArrayLike,
    energy_price: ArrayLike,
) -> Array:
    r"""Return what owning a chip costs an hour. [USD/h]

    .. math:: c = \frac{C}{8760 \, y} + \frac{P}{1000} \, u \, e

    Straight-line depreciation and electricity; no interest, staff or building [1]_.

    Parameters
    ----------
    purchase : array_like
        Price of the chip, :math:`C`. [USD]
    years : array_like
        Years it serves, :math:`y`. [1]
    power : array_like
        What it draws, :math:`P`. [W]
    site_factor : array_like
        Power of the site over power of the machines (PUE), :math:`u`. [1]
    energy_price : array_like
        Price of a kilowatt hour, :math:`e`. [USD/kWh]

    Returns
    -------
    ndarray
        The arguments broadcast together. [USD/h]

    Examples
    --------
    >>> ownership_per_hour(purchase=35040, years=4, power=1000, site_factor=1, energy_price=0.1)
    1.1

    References
    ----------
    .. [1] L. A. Barroso, U. Hoelzle, P. Ranganathan, "The datacenter as a computer," 3rd
       ed., 2018, ch. 6, doi:10.2200/S00874ED3V01Y201809CAC046.
    """
    return purchase / (HOURS_PER_YEAR * years) + power / 1000.0 * site_factor * energy_price


def usd_per_million(*, usd_per_hour: ArrayLike, seconds: ArrayLike, tokens: ArrayLike) -> Array:
    r"""Return the price of a million tokens from the machine time they take. [USD]

    .. math:: p = 10^6 \, \frac{c}{3600} \, \frac{t}{n}

    Parameters
    ----------
    usd_per_hour : array_like
        Price of the machine, :math:`c`. [USD/h]
    seconds : array_like
        Machine time, :math:`t`. [s]
    tokens : array_like
        Tokens made or taken in in that time, :math:`n`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [USD]

    Examples
    --------
    >>> float(usd_per_million(usd_per_hour=3.6, seconds=1.0, tokens=1000))
    1.0

    References
    ----------
    .. [1] SemiAnalysis InferenceX, https://github.com/SemiAnalysisAI/InferenceX-app (dollars a
       million tokens from dollars an hour and tokens a second).
    """
    return 1e6 * np.asarray(usd_per_hour) / 3600.0 * seconds / tokens


def joules_per_token(*, power: ArrayLike, site_factor: ArrayLike, tokens_per_s: ArrayLike) -> Array:
    r"""Return the energy of a token. [J]

    .. math:: E = P u / R

    Parameters
    ----------
    power : array_like
        What the machine draws, :math:`P`. [W]
    site_factor : array_like
        Power of the site over power of the machines (PUE), :math:`u`. [1]
    tokens_per_s : array_like
        Output rate of the machine, :math:`R`. [1/s]

    Returns
    -------
    ndarray
        The arguments broadcast together. [J]

    Examples
    --------
    >>> joules_per_token(power=700, site_factor=1, tokens_per_s=350)
    2.0

    References
    ----------
    .. [1] MLCommons, power measurement rules of the inference benchmark,
       https://github.com/mlcommons/inference_policies.
    """
    return 1.0 * power * site_factor / tokens_per_s
