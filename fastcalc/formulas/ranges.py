"""How far a measurement may lie from what is expected."""

from fastcalc.formulas.types import Array, ArrayLike, floats


def half_width(*, streaming: ArrayLike, fitted_share: ArrayLike) -> Array:
    r"""Return the half-width of a range about an expected speed, in the logarithm. [1]

    .. math:: h = h_0 (1 + u)

    streaming : half-width where all time is reads and products of dense weights, :math:`h_0` [1]
    fitted_share : share of the time that is anything else, :math:`u` [1]

    Reads and dense products run near what data sheets print; experts, links, launches and waits are
    fitted. As the width goes with shares of time, a faster part never lowers either end while
    :math:`h_0 < 1`. Source: 58 sources that no fit had seen, on halves of which the doubling has
    the least interval score of 1.5 to 2.5 times (docs/method.md, Ranges).

    >>> float(half_width(streaming=0.2, fitted_share=0.5))
    0.30000000000000004
    """
    return floats(streaming) * (1.0 + floats(fitted_share))
