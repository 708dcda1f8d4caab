"""Parser for numbers in text: flags, logs, table cells and keys from other programs."""

import re
from math import isfinite

NUMERAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""The pattern of a number written in ASCII digits."""

_DECIMAL = re.compile(NUMERAL)
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:([,_])[0-9]{3})(?:\1[0-9]{3})*(?![0-9,_])")
_LONGEST = 300  # letters, so that plain digits are finite


def parse_number(text: str, separators: str = "") -> float | None:
    """Parse a finite number from text. Return None for NaN, infinity, other digits or other text.

    separators : The allowed thousands separators, "," or "_".

    >>> parse_number("3.35"), parse_number("922,496", ","), parse_number("1_000", "_")
    (3.35, 922496.0, 1000.0)
    >>> [parse_number(text, ",_") for text in ("1,5", "1_0", "nan", "1e400", "9" * 5000)]
    [None, None, None, None, None]
    """
    if text.isdigit() and text.isascii() and len(text) < _LONGEST:
        return float(text)  # the usual case
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    grouped = _GROUPED.match(text)
    if grouped and grouped[1] in separators:
        text = text.replace(grouped[1], "")
    value = float(text) if _DECIMAL.fullmatch(text) else float("nan")
    return value if isfinite(value) else None
