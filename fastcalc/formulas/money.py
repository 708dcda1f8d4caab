"""Prices per hour and per million tokens, and energy per token."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats

HOURS_PER_YEAR = 8760.0
HOURS_PER_MONTH = HOURS_PER_YEAR / 12.0


def ownership_per_hour(
    *,
    purchase: ArrayLike,
    years: ArrayLike,
    power: ArrayLike,
    site_factor: ArrayLike,
    energy_price: ArrayLike,
) -> Array:
    r"""Compute the cost of owning a chip per hour. [USD/h]

    .. math:: c = \frac{C}{8760 \, y} + \frac{P}{1000} \, u \, e

    purchase : The price of the chip, :math:`C`. [USD]
    years : The depreciation period, :math:`y`. [1]
    power : The power draw of the chip, :math:`P`. [W]
    site_factor : The ratio of site power to machine power (PUE), :math:`u`. [1]
    energy_price : The price per kilowatt hour, :math:`e`. [USD/kWh]

    Interest, staff and buildings are not included. Source: Barroso et al., "The datacenter as a
    computer," 2018, ch. 6, doi:10.2200/S00874ED3V01Y201809CAC046.

    >>> float(ownership_per_hour(purchase=35040, years=4, power=1e3, site_factor=1, energy_price=1))
    2.0
    """
    energy = floats(power) / 1000.0 * site_factor * energy_price
    return floats(purchase) / (HOURS_PER_YEAR * floats(years)) + energy


def usd_per_million(*, usd_per_hour: ArrayLike, seconds: ArrayLike, tokens: ArrayLike) -> Array:
    r"""Compute the price per million tokens from machine time per token. [USD]

    .. math:: p = 10^6 \, \frac{c}{3600} \, \frac{t}{n}

    usd_per_hour : The price of the machine, :math:`c`. [USD/h]
    seconds : The machine time, :math:`t`. [s]
    tokens : The tokens generated or prefilled in that time, :math:`n`. [1]

    Source: https://github.com/SemiAnalysisAI/InferenceX-app.

    >>> float(usd_per_million(usd_per_hour=3.6, seconds=1.0, tokens=1000))
    1.0
    """
    return 1e6 * floats(usd_per_hour) / 3600.0 * seconds / tokens


def joules_per_token(*, power: ArrayLike, site_factor: ArrayLike, tokens_per_s: ArrayLike) -> Array:
    r"""Compute the energy per token. [J]

    .. math:: E = P u / R

    power : The power draw of the machine, :math:`P`. [W]
    site_factor : The ratio of site power to machine power (PUE), :math:`u`. [1]
    tokens_per_s : The output rate of the machine, :math:`R`. [1/s]

    Source: power rules of MLPerf, https://github.com/mlcommons/inference_policies.

    >>> float(joules_per_token(power=700, site_factor=1, tokens_per_s=350))
    2.0
    """
    return floats(power) * site_factor / tokens_per_s


def batch_ratio(*, cost_ratio: ArrayLike, speed_ratio: ArrayLike) -> Array:
    r"""Compute the batch size reduction implied by a higher price and a higher speed. [1]

    .. math:: \frac{B_s}{B_f} = \kappa \sigma

    cost_ratio : The ratio of fast to standard cost per token, :math:`\kappa`. [1]
    speed_ratio : The ratio of fast to standard speed per user, :math:`\sigma`. [1]

    A token takes :math:`T(B) / B` of machine time. Source: Little, Operations Research 9(3), 1961.

    >>> float(batch_ratio(cost_ratio=6, speed_ratio=2.5))
    15.0
    """
    return floats(cost_ratio) * speed_ratio


def share_beyond(*, usage: ArrayLike, included: ArrayLike) -> Array:
    r"""Compute the fraction of usage that exceeds the allowance of a flat price. [1]

    .. math:: s = \max(1 - Q / N, 0)

    usage : The units used in a period, :math:`N`. [1]
    included : The units included in the flat price for the period, :math:`Q`. [1]

    Source: Oi, "A Disneyland dilemma: two-part tariffs for a Mickey Mouse monopoly," QJE 85(1),
    1971, doi:10.2307/1881841.

    >>> float(share_beyond(usage=4.0, included=1.0))
    0.75
    """
    return np.maximum(1.0 - floats(included) / usage, 0.0)


def api_request_usd(
    *,
    prompt: ArrayLike,
    output: ArrayLike,
    prefix_hit: ArrayLike,
    input_price: ArrayLike,
    cached_price: ArrayLike,
    output_price: ArrayLike,
) -> Array:
    r"""Compute the price of a request to an API that charges per token. [USD]

    .. math:: c = 10^{-6} \left( P (1 - h) \, p_i + P h \, p_c + O \, p_o \right)

    prompt : The input tokens, :math:`P`. [1]
    output : The output tokens, :math:`O`. [1]
    prefix_hit : The fraction of the prompt found in the API's cache, :math:`h`. [1]
    input_price : The price per million input tokens, :math:`p_i`. [USD]
    cached_price : The price per million cached input tokens, :math:`p_c`. [USD]
    output_price : The price per million output tokens, :math:`p_o`. [USD]

    Source: https://openai.com/api/pricing, whose columns are input, cached input and output.

    >>> float(api_request_usd(prompt=3e6, output=1e6, prefix_hit=0.5, input_price=2.0,
    ...     cached_price=1.0, output_price=8.0))
    12.5
    """
    tokens_in = floats(prompt)
    cached = tokens_in * prefix_hit
    charged = (tokens_in - cached) * input_price + cached * cached_price
    return (charged + floats(output) * output_price) / 1e6


def break_even_rate(*, usd_per_month: ArrayLike, usd_per_request: ArrayLike) -> Array:
    r"""Compute the request rate at which dedicated machines and pay-per-use cost the same. [1/s]

    .. math:: \lambda^* = \frac{C}{730 \cdot 3600 \, c}

    usd_per_month : The price of the machines per month of 730 hours, :math:`C`. [USD]
    usd_per_request : The price per request with pay-per-use, :math:`c`. [USD]

    Above this rate, machines are cheaper, up to their capacity. Source: Oi, "A Disneyland dilemma:
    two-part tariffs for a Mickey Mouse monopoly," QJE 85(1), 1971, doi:10.2307/1881841.

    >>> float(break_even_rate(usd_per_month=2628.0, usd_per_request=0.001))
    1.0
    """
    return floats(usd_per_month) / (HOURS_PER_MONTH * 3600.0 * floats(usd_per_request))
