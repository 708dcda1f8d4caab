"""How far a measurement may lie from what is expected."""

from fastcalc.formulas.types import Array, ArrayLike, floats


def half_width(*, least: ArrayLike, fitted_share: ArrayLike) -> Array:
    r"""Half-width of a range about an expected speed, in the logarithm. [1]

    .. math:: h = h_0 (1 + u)

    least : half-width where data sheets account for all of the time, :math:`h_0` [1]
    fitted_share : share of the time in layers that an engine was fitted to, :math:`u` [1]

    Reads and products of dense weights and attention run near what data sheets print; experts,
    links, launches and waits are fitted. A faster part lowers neither end while :math:`h_0 < 1`: it
    shortens the time by more than it widens the range. Source: 54 sources that no engine was fitted
    on, where twice the width for fitted time has the best interval score (docs/method.md, Ranges).

    >>> float(half_width(least=0.2, fitted_share=1.0))
    0.4
    """
    return floats(least) * (1.0 + floats(fitted_share))
