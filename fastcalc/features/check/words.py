"""Format numbers for messages, with few digits and a decimal prefix."""

from fastcalc.catalogue.units import DECIMAL

_BASE = {
    "size": "B",
    "reserve": "B",
    "bandwidth": "B/s",
    "compute rate": "FLOP/s",
    "power": "W",
    "price": " USD",
    "hourly price": " USD/h",
    "number": "",
}


def amount(value: float, dimension: str) -> str:
    """Format an SI value in the unit that users write.

    >>> amount(3.35e12, "bandwidth"), amount(5e-6, "time"), amount(814e-6, "area")
    ('3.35 TB/s', '5 us', '814 mm2')
    >>> amount(26000, "price"), amount(8030261248, "number")
    ('26,000 USD', '8,030,261,248')
    """
    if dimension == "time":
        return f"{value * 1e6:.4g} us" if value < 1e-3 else f"{value * 1e3:.4g} ms"
    if dimension == "area":
        return f"{value * 1e6:.5g} mm2"
    base = _BASE.get(dimension, "")
    if dimension in ("price", "hourly price", "number"):
        return f"{value:,.12g}{base}"
    for prefix, factor in reversed(DECIMAL.items()):
        if value >= factor:
            return f"{value / factor:.4g} {prefix}{base}"
    return f"{value:.4g} {base}"


def ratio(value: float) -> str:
    """Format a ratio with enough digits to recognize nearby round values.

    >>> ratio(2.0), ratio(0.4997), ratio(1234.5)
    ('2', '0.5', '1,234')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def near(value: float, reference: float, tolerance: float) -> bool:
    """Check whether a value is within a relative tolerance of another."""
    return abs(value - reference) <= tolerance * abs(reference)
