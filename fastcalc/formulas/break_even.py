"""Where a faster, less accurate option and a slower, more accurate one are worth the same."""

import numpy as np

from fastcalc.formulas.types import Array, ArrayLike


def break_even_accuracy(*, accuracy: ArrayLike, time_ratio: ArrayLike, steps: ArrayLike) -> Array:
    r"""Return the accuracy of a step at which another option succeeds as soon, or as cheaply. [1]

    .. math:: p' = p \, r^{1/n}

    Parameters
    ----------
    accuracy : array_like
        Probability that a step of the first option is right, :math:`p`. [1]
    time_ratio : array_like
        Time or price of an attempt, the other over the first, :math:`r`. [1]
    steps : array_like
        Steps of the chain, :math:`n`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together; above 1 where no accuracy suffices. [1]

    Examples
    --------
    Fifteen times faster over ten steps: 0.9 a step is met with 0.686.

    >>> round(float(break_even_accuracy(accuracy=0.9, time_ratio=1 / 15, steps=10)), 3)
    0.686

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd
       ed., sec. VI.8: t / p^n of both options made equal.
    """
    return 1.0 * accuracy * (1.0 * np.asarray(time_ratio)) ** (1.0 / np.asarray(steps))


def break_even_fix(*, speedup: ArrayLike, more_errors: ArrayLike) -> Array:
    r"""Return how long mending a mistake may take, in times of writing an answer. [1]

    .. math:: \frac{t_m}{t} = \frac{1 - 1/s}{\Delta e}

    Beyond it, what speed saves on every answer is lost on those that are newly wrong.

    Parameters
    ----------
    speedup : array_like
        Of writing, :math:`s`. [1]
    more_errors : array_like
        Share of the answers that are wrong now and were not, :math:`\Delta e`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together. [1]

    Examples
    --------
    >>> round(float(break_even_fix(speedup=6, more_errors=0.2)), 2)
    4.17

    References
    ----------
    .. [1] S. Goedecke, "Two different tricks for fast LLM inference," 2026 (the bargain that this
       prices: six times the speed for a fifth more mistakes).
    """
    return (1.0 - 1.0 / np.asarray(speedup)) / more_errors


def break_even_check(
    *, attempt: ArrayLike, success: ArrayLike, other: ArrayLike, other_success: ArrayLike
) -> Array:
    r"""Return the time of checking an attempt at which two options succeed as soon. [s]

    .. math:: \frac{t + v}{P} = \frac{t' + v}{P'} \;\Rightarrow\; v = \frac{t P' - t' P}{P - P'}

    Below it the faster option wins, above it the more accurate one.

    Parameters
    ----------
    attempt : array_like
        Attempt of the more accurate option, :math:`t`. [s]
    success : array_like
        Its probability of success, :math:`P`. [1]
    other : array_like
        Attempt of the faster option, :math:`t'`. [s]
    other_success : array_like
        Its probability of success, :math:`P'`. [1]

    Returns
    -------
    ndarray
        The arguments broadcast together; negative where the accurate option wins always. [s]

    Examples
    --------
    >>> float(break_even_check(attempt=10.0, success=1.0, other=1.0, other_success=0.5))
    8.0

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd
       ed., sec. VI.8: waiting times of both options made equal.
    """
    gain = 1.0 * np.asarray(attempt) * other_success - 1.0 * np.asarray(other) * success
    with np.errstate(divide="ignore", invalid="ignore"):
        return gain / (1.0 * np.asarray(success) - other_success)
