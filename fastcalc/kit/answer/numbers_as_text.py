"""Format numbers with few digits and thousands separators."""

import math
from math import ceil, floor, log10


def rounded_up(value: float) -> float:
    """Round a positive value up to three significant digits.

    >>> rounded_up(0.0253171)
    0.0254
    """
    step = 10.0 ** (floor(log10(value)) - 2)
    up = float(f"{ceil(value / step - 1e-9) * step:.3g}")
    return up if up >= value else float(f"{up + step:.3g}")


def rounded_down(value: float) -> float:
    """Round a positive value down to three significant digits.

    >>> rounded_down(95.2380952)
    95.2
    """
    step = 10.0 ** (floor(log10(value)) - 2)
    near = float(f"{floor(value / step) * step:.3g}")
    return near if near <= value else float(f"{near - step:.3g}")


WORDS = dict(enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), 1))
"""Numbers that are spelled out in sentences."""


def number(value: float | None, digits: int = 3) -> str:
    """Format a value with at least this many significant digits and thousands separators.

    >>> number(1821.31), number(33.846), number(0.01476), number(None)
    ('1,821', '33.8', '0.0148', '-')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if round(abs(value), decimals) >= 10.0 ** (digits - decimals):
        decimals -= 1
    return f"{value:,.{max(decimals, 0)}f}"


def trimmed(text: str) -> str:
    """Remove trailing zeros after the decimal point.

    >>> trimmed("26.750"), trimmed("6.000"), trimmed("600")
    ('26.75', '6', '600')
    """
    return text.rstrip("0").rstrip(".") if "." in text else text


def stable(value: float, error: float) -> str:
    """Round to a multiple of 1, 2 or 5 times a power of ten, at least twice the standard error.

    >>> stable(12.3, 0.4), stable(344.0, 60.0), stable(0.666, 0.02), stable(3.4, 0.0)
    ('12', '400', '0.65', '3.4')
    """
    if not 0.0 < error < math.inf:
        return number(value, 2 if error == 0.0 else 1)
    least_step = max(2.0 * error, 10.0 ** (math.floor(math.log10(abs(value))) - 1))
    power = 10.0 ** math.floor(math.log10(least_step))
    steps = (power, 2 * power, 5 * power, 10 * power)
    step = next(step for step in steps if step >= least_step * 0.999)
    decimals = max(-math.floor(math.log10(step) + 1e-9), 0)
    return f"{max(round(value / step), 1) * step:,.{decimals}f}"


def dollars(value: float | None) -> str:
    """Format a price with two significant digits below one dollar, and with three above it.

    >>> dollars(49.24), dollars(0.268), dollars(0.0148), dollars(1234.5), dollars(0.9999)
    ('49.2', '0.27', '0.015', '1,234', '1.00')
    """
    return number(value, 2 if value is not None and value < _ALMOST_ONE else 3)


_ALMOST_ONE = 0.995
"""The smallest price that rounds to one dollar at two significant digits. [USD]"""


def size(value: float) -> str:
    """Format a number of bytes with a decimal prefix.

    >>> size(141.107e9), size(327_680)
    ('141 GB', '328 kB')
    """
    return prefixed(value, "B")


def sizes_apart(*values: float) -> list[str]:
    """Format sizes in bytes with enough digits (at least three) to tell them apart.

    >>> sizes_apart(69.41e9, 68.6e9), sizes_apart(71.31e9, 71.28e9)
    (['69.4 GB', '68.6 GB'], ['71.31 GB', '71.28 GB'])
    """
    texts: list[str] = []
    for digits in range(3, 7):
        texts = [prefixed(value, "B", digits) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def prefixed(value: float, unit: str, digits: int = 3) -> str:
    """Format a value in an SI unit, with a decimal prefix.

    >>> prefixed(21e15, "B/s"), prefixed(989.5e12, "FLOP/s", digits=4)
    ('21 PB/s', '989.5 TFLOP/s')
    """
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            scaled = value / factor
            shown = f"{scaled:.{digits}g}" if abs(scaled) < 999.5 else f"{scaled:,.0f}"
            return f"{shown} {prefix}{unit}"
    return f"{value:.{digits}g} {unit}"


def of_kind(value: float, dimension: str) -> str:
    """Format a number from a file with its unit, by its dimension in `LIMITS`.

    >>> of_kind(17e-6, "time"), of_kind(0.02, "time"), of_kind(6e10, "size"), of_kind(132, "amount")
    ('17 us', '20 ms', '60 GB', '132')
    """
    if dimension == "time":
        units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
        scale, unit = next((pair for pair in units if abs(value) >= pair[0]), units[-1])
        return f"{value / scale:.4g} {unit}"
    if dimension in _UNITS:
        return prefixed(value, _UNITS[dimension], digits=4)
    return f"{value:,.0f}" if dimension in ("amount", "dimension", "layers") else f"{value:.4g}"


_UNITS = {
    "size": "B",
    "reserve": "B",
    "bandwidth": "B/s",
    "compute rate": "FLOP/s",
    "power": "W",
    "price": "USD",
    "hourly price": "USD/h",
}


def parameters(value: float) -> str:
    """Format a parameter count in billions.

    >>> parameters(70_553_706_496), parameters(1.026e12)
    ('70.6B', '1,026B')
    """
    return f"{number(value / 1e9)}B"


def percent(fraction: float) -> str:
    """Format a computed fraction as a percentage with three significant digits.

    >>> percent(0.1234), percent(0.005)
    ('12.3%', '0.500%')
    """
    return f"{number(100.0 * fraction)}%"


def whole_percent(fraction: float) -> str:
    """Format a fraction as a percentage, rounded to a whole number.

    >>> whole_percent(0.1234)
    '12%'
    """
    return f"{100.0 * fraction:.0f}%"


def stated_percent(fraction: float) -> str:
    """Format a fraction that the user chose as a percentage, with all its digits.

    >>> stated_percent(0.995), stated_percent(0.5)
    ('99.5%', '50%')
    """
    return f"{100.0 * fraction:g}%"


def counted(count: int, name: str) -> str:
    """Format a count and a noun, with small counts spelled out.

    >>> counted(4, "gb200"), counted(19, "wse-3")
    ('four gb200', '19 wse-3')
    """
    return f"{WORDS.get(count, f'{count:,}')} {name}"


def capital(sentence: str) -> str:
    """Capitalize the first letter of a sentence.

    >>> capital("four of five"), capital("")
    ('Four of five', '')
    """
    return sentence[:1].upper() + sentence[1:]


def seconds(value: float) -> str:
    """Format a duration with a suitable unit.

    >>> seconds(0.45), seconds(12.3), seconds(200.0), seconds(7300.0), seconds(float("inf"))
    ('450 ms', '12.3 s', '3.33 min', '2.03 h', 'never')
    """
    if math.isinf(value):
        return "never"
    for unit_seconds, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if value >= unit_seconds:
            return f"{number(value / unit_seconds)} {unit}"
    return f"{number(value * 1e3)} ms"
