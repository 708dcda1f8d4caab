"""Allowed ranges of numbers in files and flags, one for each type of number.

Every range extends far beyond existing values, so a number outside it probably has a wrong unit or
prefix. Within the ranges, products and quotients of all numbers in a formula stay finite.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """Defines the inclusive range of a type of number in SI units. ``zero`` also permits 0."""

    minimum: float
    maximum: float
    unit: str = ""
    zero: bool = False
    is_whole: bool = False

    def __contains__(self, value: float) -> bool:
        """Check whether a number is in the range; NaN never is."""
        is_inside = self.minimum <= value <= self.maximum or (self.zero and value == 0)
        return is_inside and (not self.is_whole or value == int(value))

    def __str__(self) -> str:
        """Format the range in words, such as ``from 1 to 1,000,000``."""
        start = "0, or from" if self.zero and self.minimum > 0 else "from"
        if self.minimum == self.maximum:
            return f"{'0 or ' * self.zero}{self.minimum:g}"
        form = ",.0f" if self.is_whole else "g"
        return f"{start} {self.minimum:{form}} to {self.maximum:{form}} {self.unit}".rstrip()


_SMALL = 1e-12  # a smaller positive number is a mistake, and its inverse may not be finite
LIMITS = {
    "size": Limit(1e3, 1e18, "B"),
    "reserve": Limit(1e3, 1e18, "B", zero=True),  # of memory; may be zero
    "bandwidth": Limit(1e3, 1e20, "B/s"),
    "compute rate": Limit(1e6, 1e22, "FLOP/s"),
    "time": Limit(_SMALL, 1e3, "s", zero=True),
    "power": Limit(1e-3, 1e9, "W"),
    "area": Limit(1e-9, 1e2, "m2"),
    "price": Limit(1e-2, 1e12, "USD"),
    "hourly price": Limit(1e-6, 1e9, "USD/h"),
    "amount": Limit(1.0, 1e15, is_whole=True),  # transistors, cores
    "dimension": Limit(1, 1e9, is_whole=True),  # of a model
    "layers": Limit(1, 10_000, is_whole=True),
    "chips": Limit(1, 1_000_000, is_whole=True),
    "chips searched": Limit(1, 4096, is_whole=True),
    "sequences": Limit(1, 1_000_000, is_whole=True),
    "tokens": Limit(1, 1e9, is_whole=True),
    "length": Limit(_SMALL, 1e9, zero=True),  # mean tokens
    "tokens per step": Limit(1, 100),
    "drafts": Limit(1, 1000, is_whole=True),
    "tries": Limit(1, 1000, is_whole=True),
    "share": Limit(_SMALL, 1),
    "fraction": Limit(1e-6, 1.0),
    "part": Limit(1e-6, 1.0, zero=True),  # may be zero
    "switch": Limit(1, 1, zero=True, is_whole=True),
    "factor": Limit(1.0, 100.0),
    "number": Limit(_SMALL, 1e6, zero=True),
    "speed": Limit(_SMALL, 1e9),  # tokens or requests per second
    "request rate": Limit(_SMALL, 1e6, "requests/s"),  # exceeds all services combined
    "duration": Limit(_SMALL, 1e9, "s"),
    "years": Limit(0.1, 100.0),
    "energy price": Limit(_SMALL, 100.0, "USD/kWh", zero=True),
    "dollars": Limit(_SMALL, 1e9),
    "measured": Limit(_SMALL, 1e18),
    "any": Limit(_SMALL, 1e18, zero=True),  # in other programs' files, before interpretation
    "given": Limit(1e-30, 1e30, zero=True),  # in claims; also applies to negative numbers
}
