"""What a source prints, read leniently: numbers with units, in the vendors' many spellings."""

import re
from collections.abc import Iterator

_PREFIX = {
    "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
    "kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12, "peta": 1e15, "exa": 1e18,
    "kilo ": 1e3, "mega ": 1e6, "giga ": 1e9, "tera ": 1e12, "peta ": 1e15, "exa ": 1e18,
}  # fmt: skip
_NAMES = "|".join(sorted((one for one in _PREFIX if one), key=len, reverse=True))
_UNIT = {
    "size": (rf"(?i:({_NAMES})?)(B(?!i?t)|(?i:bytes?))(?!\s*(?:/|ps\b|(?i:per)))", 1.0),
    "compute rate": (
        rf"({_NAMES}|(?i:{_NAMES}))?\s?"
        r"(F(?:LOPS?|LOP/s|lops?|lop/s|LOPs)?\b|(?i:flop/?s|ops|op/s)\b|OPS\b|FLOPS)",
        1.0,
    ),
    "power": (rf"({_NAMES})?(W\b|(?i:watts?))", 1.0),
    "time": (r"(n|u|µ|m|)(s\b|(?i:sec))", 1.0),
    "area": (r"(m|c)?m\s?(?:2|²|\^2)", 1.0),
}
_BYTES = rf"({_NAMES})?\s?(B|(?i:bytes?))\s?(?:/\s?(?:s|sec|second)\b|ps\b|(?i:per second))"
_BITS = rf"({_NAMES})?\s?(b|bits?)\s?(?:/\s?(?:s|sec|second)\b|ps\b|(?i:per second))"
_NUMBER = r"(?<![\w.,])([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)"
_LONGEST = 400


def values(printed: str, dimension: str) -> list[float]:
    """Return every number of a dimension that some characters hold. [SI]

    Numbers without a unit are taken as plain numbers, for dimensions of plain numbers only.

    Parameters
    ----------
    printed : str
        A source's own characters.
    dimension : str
        A dimension of `units`, or ``number``.

    Examples
    --------
    >>> values("312 TFLOPS | 624 TFLOPS*", "compute rate")
    [312000000000000.0, 624000000000000.0]
    >>> values("up to 5.3 TB/sec", "bandwidth"), values("NVLink: 900GB/s", "bandwidth")
    ([5300000000000.0], [900000000000.0])
    >>> values("about 1.56 million USD", "price")
    [1560000.0]
    """
    text = printed[:_LONGEST]
    return list(dict.fromkeys(_SPECIAL.get(dimension, _by_table)(text, dimension)))


def _by_table(text: str, dimension: str) -> Iterator[float]:
    pattern = _UNIT.get(dimension)
    if pattern is None:
        return
    for match in re.finditer(rf"{_NUMBER}\s*-?\s?{pattern[0]}", text):
        yield _plain(match[1]) * _scale(match[2])


def _scale(prefix: str | None) -> float:
    if not prefix:
        return 1.0
    if prefix in _PREFIX:
        return _PREFIX[prefix]
    return _PREFIX.get(prefix.lower(), _PREFIX.get(prefix.upper(), 1.0))


def _bandwidth(text: str, _: str) -> Iterator[float]:
    for match in re.finditer(rf"{_NUMBER}\s*-?\s?{_BYTES}", text):
        yield _plain(match[1]) * _scale(match[2])
    for match in re.finditer(rf"{_NUMBER}\s*-?\s?{_BITS}", text):
        yield _plain(match[1]) * _scale(match[2]) / 8
    words = rf"{_NUMBER}\s*(giga|tera|peta)(bytes|bits)(?: per second|/s|ps)"
    for match in re.finditer(words, text, re.IGNORECASE):
        yield (
            _plain(match[1]) * _PREFIX[match[2].lower()] / (8 if match[3].lower() == "bits" else 1)
        )
    rates = rf"{_NUMBER}\s?(G)(?:bE|bit)"
    for match in re.finditer(rates, text):
        yield _plain(match[1]) * 1e9 / 8


def _time(text: str, _: str) -> Iterator[float]:
    scale = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "": 1.0}
    words = {"nano": 1e-9, "micro": 1e-6, "milli": 1e-3}
    for match in re.finditer(rf"{_NUMBER}\s*(n|u|µ|μ|m|)s(?:ec)?\b", text):
        yield _plain(match[1]) * scale.get(match[2], 1e-6)
    for match in re.finditer(rf"{_NUMBER}\s*(nano|micro|milli)sec", text, re.IGNORECASE):
        yield _plain(match[1]) * words[match[2].lower()]


def _area(text: str, _: str) -> Iterator[float]:
    for match in re.finditer(rf"{_NUMBER}\s*(m|c)m\s?(?:2|²|\^2)", text):
        yield _plain(match[1]) * (1e-6 if match[2] == "m" else 1e-4)
    for match in re.finditer(rf"{_NUMBER}\s*(?:square millimet|sq\.? ?mm)", text):
        yield _plain(match[1]) * 1e-6


def _money(text: str, _: str) -> Iterator[float]:
    for match in re.finditer(rf"(?:USD|US\$|\$)\s*{_NUMBER}\s*(k|K|M|million)?\b", text):
        yield _plain(match[1]) * _MANY.get(match[2] or "", 1.0)
    for match in re.finditer(rf"{_NUMBER}\s*(k|K|M|million|)\s*(?:USD|US\$|\$|dollars)", text):
        yield _plain(match[1]) * _MANY.get(match[2], 1.0)


_MANY = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def _count(text: str, _: str) -> Iterator[float]:
    for match in re.finditer(rf"{_NUMBER}\s*(k|K|M|million|billion|trillion|B|T|)(?![\w])", text):
        yield _plain(match[1]) * (_MANY | {"B": 1e9, "T": 1e12})[match[2]]


def _plain(number: str) -> float:
    return float(number.replace(",", ""))


_SPECIAL = {
    "bandwidth": _bandwidth,
    "time": _time,
    "area": _area,
    "price": _money,
    "hourly price": _money,
    "number": _count,
}


def plain_numbers(printed: str) -> list[float]:
    """Return every number that some characters hold, units ignored.

    Examples
    --------
    >>> plain_numbers("1,979 teraFLOPS; 0.74")
    [1979.0, 0.74]
    """
    return [_plain(match[1]) for match in re.finditer(_NUMBER, printed[:_LONGEST])]
