"""Break-even between a faster, less accurate option and a slower, more accurate one."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike, floats


def break_even_fix(*, speedup: ArrayLike, more_errors: ArrayLike) -> Array:
    r"""Compute the break-even time to fix a mistake, relative to the time of a slow answer. [1]

    .. math:: \frac{t_m}{t} = \frac{1 - 1/s}{\Delta e}

    speedup : The ratio of the faster option's speed to the slower one's, :math:`s`. [1]
    more_errors : The additional error rate of the faster option, :math:`\Delta e`. [1]

    Source: Goedecke, "Two different tricks for fast LLM inference," 2026.

    >>> round(float(break_even_fix(speedup=6, more_errors=0.2)), 2)
    4.17
    """
    return (1.0 - 1.0 / floats(speedup)) / more_errors


def break_even_check(
    *, attempt: ArrayLike, success: ArrayLike, other: ArrayLike, other_success: ArrayLike
) -> Array:
    r"""Compute the checking time at which two options take equally long per success. [s]

    .. math:: \frac{t + v}{P} = \frac{t' + v}{P'} \;\Rightarrow\; v = \frac{t P' - t' P}{P - P'}

    attempt : The duration of an attempt of the more accurate option, :math:`t`. [s]
    success : The success probability of that option, :math:`P`. [1]
    other : The duration of an attempt of the faster option, :math:`t'`. [s]
    other_success : The success probability of that option, :math:`P'`. [1]

    If checking takes less time than this, the faster option wins. Source: Feller, "Probability
    theory," vol. 1, sec. VI.8.

    >>> float(break_even_check(attempt=10.0, success=1.0, other=1.0, other_success=0.5))
    8.0
    """
    gain = floats(attempt) * other_success - floats(other) * success
    with np.errstate(divide="ignore", invalid="ignore"):
        return gain / (floats(success) - other_success)
