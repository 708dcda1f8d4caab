"""Parse printed numbers with units in the many spellings that vendors use."""

import re

from fastcalc.catalogue.units import BINARY, DECIMAL

_PREFIX = {
    **DECIMAL, **BINARY, "K": 1e3,
    "kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12, "peta": 1e15, "exa": 1e18,
}  # fmt: skip
_SHORT = r"(?P<prefix>[KMGTP]i|[kKMGTPE]|)"
_LONG = r"(?P<prefix>(?i:kilo|mega|giga|tera|peta|exa)\s?|[KMGTP]i|[kKMGTPE]|)"
_A_SECOND = r"(?:\s?/\s?(?:s(?:ec(?:ond)?)?)\b|ps\b|\s(?i:per second|a second))"
_OF_SIZES = ((rf"{_LONG}(?:B|(?i:bytes?))(?![\w])(?!{_A_SECOND})(?!\s*/)", 1.0),)
_BASES = {
    "size": _OF_SIZES,
    "reserve": _OF_SIZES,
    "bandwidth": (
        (rf"{_LONG}(?:B|(?i:bytes?)){_A_SECOND}", 1.0),
        (rf"{_LONG}(?:b|(?i:bits?)){_A_SECOND}", 1 / 8),
        (r"(?P<prefix>G)(?:bE|bit)\b", 1 / 8),
    ),
    "compute rate": (
        (
            rf"{_LONG}(?:FLOPS?|FLOP/s|flops?|FLOPs|OPS|OPs|OP/s|ops|F)"
            r"(?:/s|\d+(?=\s))?(?![A-Za-z])",
            1.0,
        ),
    ),
    "power": ((rf"{_SHORT}(?:W\b|-?(?i:watts?\b))", 1.0),),
    "time": (
        (r"(?P<prefix>n|u|µ|μ|m|)s(?:ec(?:onds?)?)?\b", 1.0),
        (r"(?P<prefix>(?i:nano|micro|milli))seconds?\b", 1.0),
    ),
    "area": ((r"(?P<prefix>m|c)m\s?(?:2|²|\^2)", 1.0), (r"(?P<prefix>sq\w*\.?\s?)mm\b", 1.0)),
    "number": ((r"(?P<prefix>(?i:billion|million|trillion|mil+iard\w*)|[BMTk])(?![\w])", 1.0),),
}
_OWN_SCALE = {
    "time": {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "": 1.0,
             "nano": 1e-9, "micro": 1e-6, "milli": 1e-3},
    "area": {"m": 1e-6, "c": 1e-4},
    "number": {"billion": 1e9, "million": 1e6, "trillion": 1e12, "b": 1e9, "m": 1e6, "t": 1e12,
               "k": 1e3, "miliard": 1e9, "milliard": 1e9, "milliarden": 1e9, "milliards": 1e9},
}  # fmt: skip
_NUMBER = r"(?<![\w.,])(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)"
_FIRST_OF_PAIR = (  # a pair such as '250 / 260 W' shares its unit
    rf"(?:{_NUMBER.replace('number', 'first')}\s?(?P<joint>/|\||-|\u2013|to|or)\s?)?"
)
_MANY = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6}
_MONEY = (
    rf"(?:USD|US\$|\$)\s*{_NUMBER}\s*(?P<many>k|K|M|(?i:million|thousand))?\b",
    rf"{_NUMBER}\s*(?P<many>k|K|M|(?i:million|thousand))?\s*(?:USD|US\$|\$|(?i:dollars))",
)
_ALONE = _NUMBER + r"(?![\w,]|\.[0-9])"
_LONGEST = 400


def values(printed: str, dimension: str) -> list[float]:
    """Return all numbers in a text whose unit has the given dimension, in SI units.

    The unit may follow its number, or precede a row of numbers as in a table header.

    >>> values("312 TFLOPS | 624 TFLOPS*", "compute rate")
    [312000000000000.0, 624000000000000.0]
    >>> values("up to 5.3 TB/sec", "bandwidth"), values("HBM (GBps) | 2765", "bandwidth")
    ([5300000000000.0], [2765000000000.0])
    >>> values("4 trillion transistors", "number"), values("about 1.56 million USD", "price")
    ([4000000000000.0], [1560000.0])
    """
    text, numbers = printed[:_LONGEST], []
    for pattern in _MONEY if dimension in ("price", "hourly price") else ():
        for match in re.finditer(pattern, text):
            scale = _MANY.get((match["many"] or "").lower(), 1.0)
            numbers += [value * scale for value in _plain(match["number"])]
    for base, factor in _BASES.get(dimension, ()):
        for match in re.finditer(rf"{_FIRST_OF_PAIR}{_NUMBER}\s*-?\s?{base}", text):
            scale = factor * _scale(match["prefix"], dimension)
            ends = [value for name in ("first", "number") for value in _plain(match[name] or "")]
            numbers += [value * scale for value in ends]
            if match["joint"] in ("to", "-", "\u2013"):
                numbers.append(sum(ends) / len(ends) * scale)
    for base, factor in () if numbers else _BASES.get(dimension, ()):
        # The numbers after a unit that stands alone, as in 'Compute (TFLOPS) | 459'.
        head = re.search(rf"(?<![\w.])\(?{base}\)?", text)
        if not head or (dimension == "number" and "illion" not in head[0].lower()):
            continue
        if dimension != "compute rate" or head["prefix"]:
            scale = factor * _scale(head["prefix"], dimension)
            numbers += [value * scale for value in plain_numbers(text[head.end() :])]
    return list(dict.fromkeys(numbers))


def _scale(prefix: str, dimension: str) -> float:
    table = _OWN_SCALE.get(dimension)
    if table is not None:
        return table.get(prefix, table.get(prefix.strip().lower(), 1e-6))
    return _PREFIX.get(prefix, _PREFIX.get(prefix.strip().lower(), 1.0))


def plain_numbers(text: str, longest: int = _LONGEST) -> list[float]:
    """Return all separate numbers in a text, regardless of units.

    >>> plain_numbers("core_count: 132 of 5th gen, 0.74")
    [132.0, 0.74]
    """
    matches = re.finditer(_ALONE, text[:longest])
    return [value for match in matches for value in _plain(match["number"])]


def _plain(number: str) -> list[float]:
    """Return what a number can mean: '4.000' is four, or four thousand if points group digits."""
    if not number:
        return []
    value = float(number.replace(",", ""))
    grouped = re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", number)
    return [value, value * 1000.0] if grouped else [value]
