"""Limits rounded to few digits without becoming stricter."""

from math import ceil, floor, log10


def rounded_up(value: float) -> float:
    """A positive value rounded up to three significant digits.

    >>> rounded_up(0.0253171)
    0.0254
    """
    step = 10.0 ** (floor(log10(value)) - 2)
    up = float(f"{ceil(value / step - 1e-9) * step:.3g}")
    return up if up >= value else float(f"{up + step:.3g}")


def rounded_down(value: float) -> float:
    """A positive value rounded down to three significant digits.

    >>> rounded_down(95.2380952)
    95.2
    """
    step = 10.0 ** (floor(log10(value)) - 2)
    near = float(f"{floor(value / step) * step:.3g}")
    return near if near <= value else float(f"{near - step:.3g}")
