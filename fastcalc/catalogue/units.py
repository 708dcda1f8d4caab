"""Conversion of text with a unit to a number in SI units, using a fixed table of units.

Units are spelled as vendors spell them (``3.35 TB/s``) and converted once. Decimal prefixes are
powers of ten (GB is 1e9 bytes), binary prefixes are powers of two (GiB is 2**30), and a lowercase
``b`` is a bit.
"""

import math
import re

from fastcalc.catalogue.numerals import NUMERAL
from fastcalc.errors import InputError
from fastcalc.written import did_you_mean

DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}

_SIZES = {f"{prefix}B": factor for prefix, factor in (DECIMAL | BINARY).items()}
UNITS: dict[str, dict[str, float]] = {
    "size": _SIZES,
    "reserve": _SIZES,
    "bandwidth": {f"{prefix}B/s": factor for prefix, factor in (DECIMAL | BINARY).items()}
    | {f"{prefix}b/s": factor / 8 for prefix, factor in DECIMAL.items()},
    "compute rate": {
        prefix + base: factor
        for base in ("FLOP/s", "FLOPS", "OP/s", "OPS")
        for prefix, factor in DECIMAL.items()
    },
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "power": {"W": 1.0, "kW": 1e3, "MW": 1e6},
    "area": {"mm2": 1e-6, "cm2": 1e-4},
    "price": {"USD": 1.0},
    "hourly price": {"USD/h": 1.0},
}  # SI factors by dimension

_A = {"area": "an area", "hourly price": "an hourly price"}
EXAMPLES = {
    "size": "80 GB",
    "reserve": "0.5 GiB",
    "bandwidth": "3.35 TB/s",
    "compute rate": "989 TFLOP/s",
    "time": "5 us",
    "power": "700 W",
    "area": "814 mm2",
    "price": "26000 USD",
    "hourly price": "2.95 USD/h",
}

_QUANTITY = re.compile(rf"\s*({NUMERAL})\s*(.*?)\s*")

_LONGEST = 60


class QuantityError(InputError, ValueError):  # pydantic handles a ValueError
    """Raised for a quantity that cannot be parsed, with the violated rule of `fastcalc check`."""

    def __init__(self, sentence: str, rule: str) -> None:
        super().__init__(sentence)
        self.rule = rule


def parse_quantity(text: object, dimension: str) -> float:
    """Parse a number with a unit of the given dimension into SI. It must be finite and nonnegative.

    Raises QuantityError if there is no number, or no unit of this dimension.

    >>> parse_quantity("3.35 TB/s", "bandwidth"), parse_quantity("400 Gb/s", "bandwidth")
    (3350000000000.0, 50000000000.0)
    """
    name, written = _A.get(dimension, f"a {dimension}"), str(text)
    hint = f"write for example '{EXAMPLES[dimension]}'"
    if len(written) > _LONGEST:
        raise QuantityError(f"'{written[:_LONGEST]}...' is too long for {name}", "UN004")
    match = _QUANTITY.fullmatch(written)
    if isinstance(text, bool) or match is None:
        raise QuantityError(f"{written!r} is not {name}: {hint}", "UN004")
    if match[2].startswith(","):
        hint = f"write digits and a point, such as '{EXAMPLES[dimension]}'"
        raise QuantityError(
            f"{written!r} is not {name}, for a comma is read two ways: {hint}", "UN004"
        )
    number, unit = float(match[1]), match[2]
    if not unit:
        raise QuantityError(f"{text!s} has no unit: {hint}", "UN001")
    units = UNITS[dimension]
    home = next((dimension_name for dimension_name, table in UNITS.items() if unit in table), None)
    if unit not in units and home is not None:
        short = written.strip()
        hint = f"write e.g. '{EXAMPLES[dimension]}'"
        hint = f"did you mean '{short}/s'?" if f"{unit}/s" in units else hint
        raise QuantityError(
            f"'{short}' is {_A.get(home, f'a {home}')}, not {name}: {hint}", "UN003"
        )
    if unit not in units:
        same = next((candidate for candidate in units if is_same_unit(unit, candidate)), None)
        hint = f"did you mean '{same}'?" if same else did_you_mean(unit, list(units), hint)
        if unit.replace("b", "B") in units:
            hint = f"a small b is a bit; write bytes, such as '{EXAMPLES[dimension]}'"
        sentence = f"'{unit}' is not a unit of {dimension} that fastcalc knows: {hint}"
        raise QuantityError(sentence, "UN002")
    value = number * units[unit]
    if not math.isfinite(value) or value < 0:
        sentence = f"{written!r} is not {name} that exists: it must be finite and positive"
        raise QuantityError(sentence, "UN004")
    return value


_RATE = re.compile(r"[\d.eE+-]*\s*([kMGTPE]i?)?(B|b|FLOP|OP)(\s*(?:/|per|p)?\s*s(?:ec)?)?")


def is_same_unit(unit: str, known: str) -> bool:
    """Check whether a unit is a known rate in another spelling, or without the time.

    Bits without a time may be a mistake for bytes.

    >>> is_same_unit("TBps", "TB/s"), is_same_unit("3 TB", "3 TB/s"), is_same_unit("Gb", "Gb/s")
    (True, True, False)
    """
    given, rate = _RATE.fullmatch(unit), _RATE.fullmatch(known)
    if given is None or rate is None or given.groups()[:2] != rate.groups()[:2]:
        return False
    return bool(rate[3] and (given[3] or given[2] != "b"))


def dimension_of(text: str) -> tuple[str, str]:
    """Return the unit and dimension of a quantity, or raise QuantityError.

    >>> dimension_of("21 PB/s")
    ('PB/s', 'bandwidth')
    """
    match = _QUANTITY.fullmatch(text)
    unit = match[2] if match else ""
    home = next((name for name, table in UNITS.items() if unit and unit in table), None)
    if home is None:
        examples = ", ".join(f"'{example}'" for example in EXAMPLES.values())
        raise QuantityError(
            f"'{text[:_LONGEST]}' has no unit that fastcalc knows: {examples}", "UN002"
        )
    return unit, home
