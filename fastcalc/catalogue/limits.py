"""What a number from a file or a flag may be: one range for each kind, whoever wrote it.

Every range lies far outside what exists, so beyond it a unit or a prefix is wrong. Within them
products and quotients of all numbers that meet in one formula stay finite.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """The range of one kind of number, ends included, in SI, and 0 with ``zero``."""

    least: float
    most: float
    unit: str = ""
    zero: bool = False
    whole: bool = False

    def __contains__(self, value: float) -> bool:
        """Return whether a number belongs to the range; nan belongs to none."""
        is_inside = self.least <= value <= self.most or (self.zero and value == 0)
        return is_inside and (not self.whole or value == int(value))

    def __str__(self) -> str:
        """Return the range in words, such as ``from 1 to 1,000,000``."""
        start = "0, or from" if self.zero and self.least > 0 else "from"
        form = ",.0f" if self.whole else "g"
        return f"{start} {self.least:{form}} to {self.most:{form}} {self.unit}".rstrip()


_SMALL = 1e-12  # a positive number below it is a slip, and its inverse may be no float
LIMITS = {
    "size": Limit(1e3, 1e18, "B"),
    "bandwidth": Limit(1e3, 1e20, "B/s"),
    "compute rate": Limit(1e6, 1e22, "FLOP/s"),
    "time": Limit(_SMALL, 1e3, "s", zero=True),
    "power": Limit(1e-3, 1e9, "W"),
    "area": Limit(1e-9, 1e2, "m2"),
    "price": Limit(1e-2, 1e12, "USD"),
    "hourly price": Limit(1e-6, 1e9, "USD/h"),
    "amount": Limit(1.0, 1e15, whole=True),  # transistors, cores
    "dimension": Limit(1, 1e9, whole=True),  # of a model
    "layers": Limit(1, 10_000, whole=True),
    "chips": Limit(1, 1_000_000, whole=True),
    "chips searched": Limit(1, 4096, whole=True),
    "sequences": Limit(1, 1_000_000, whole=True),
    "tokens": Limit(1, 1e9, whole=True),
    "length": Limit(_SMALL, 1e9, zero=True),  # a mean of tokens
    "tokens a pass": Limit(1, 100),
    "drafts": Limit(1, 1000, whole=True),
    "tries": Limit(1, 1000, whole=True),
    "share": Limit(_SMALL, 1),
    "fraction": Limit(1e-6, 1.0),
    "part": Limit(1e-6, 1.0, zero=True),  # of which there may be none
    "factor": Limit(1.0, 100.0),
    "number": Limit(_SMALL, 1e6, zero=True),
    "speed": Limit(_SMALL, 1e9),  # tokens or requests a second
    "duration": Limit(_SMALL, 1e9, "s"),
    "dollars": Limit(_SMALL, 1e9),
    "measured": Limit(_SMALL, 1e18),
    "any": Limit(_SMALL, 1e18, zero=True),  # of foreign files, before it means anything
    "given": Limit(1e-30, 1e30, zero=True),  # to claims, below 0 or above
}
