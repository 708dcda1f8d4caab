"""From what a source prints to the value, by the words of a reading."""

import re

from fastcalc.check.printed import plain_numbers, values
from fastcalc.check.sheet import Number, Sheet

_HALF = r"\bhalf|halve|both directions|spars|bidirectional|bi-directional|one direction|each way"
_BINARY = r"2\^30|2\^40|gib|mib|tib|binary|1024"
_COUNTS = {
    "two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "twelve": 12, "sixteen": 16, "twice": 2,
    "third": 3, "quarter": 4, "eighth": 8, "double": 2, "doubled": 2,
}  # fmt: skip


def prints(number: Number) -> list[float]:
    """Return what the printed characters give for a number. [SI]

    Where they hold numbers and no unit of its dimension, the value's own unit is taken for
    theirs: tables put units in their heads.
    """
    text = number.said("printed")
    if not text:
        return []
    found = values(text, number.dimension)
    if found:
        return found
    own = plain_numbers(number.text.replace(",", ""))
    if not own or not own[0]:
        return []
    return [one * number.si / own[0] for one in plain_numbers(text)]


def accepted(sheet: Sheet, number: Number) -> list[float]:
    """Return the values that a number's reading allows; empty where it cannot be followed. [SI]"""
    reading = _reading(sheet, number)
    printed = prints(number)
    named = values(reading, number.dimension)
    counts = _counts(reading)
    found = list(named)
    if re.search(_HALF, reading, re.IGNORECASE):
        found += [one / 2 for one in printed]
    if re.search(_BINARY, reading, re.IGNORECASE):
        found += [one * 1.024**power for one in printed for power in (1, 2, 3, 4, -3)]
        found += [one / 2 * 1.024**3 for one in printed]
    for count in counts:
        found += [one / count for one in (*printed, *named)]
        found += [one * count for one in (*printed, *named)]
    found += _products(number, reading)
    return found or printed


def _reading(sheet: Sheet, number: Number) -> str:
    """Return a reading, followed to the sibling that it points at ('as fp16')."""
    text = number.said("reading") or ""
    match = re.match(r"(?:as|like|see|same as) (\w+)", text)
    sibling = (
        sheet.numbers.get(".".join([*map(str, number.path[:-1]), match[1]])) if match else None
    )
    return f"{text} {sibling.said('reading') or ''}" if sibling and sibling is not number else text


def _counts(reading: str) -> set[float]:
    """Return the counts that a reading names: '8 GPUs', 'per eight', '8:1', '15/18'."""
    text = re.sub(r"2\^\d+", " ", reading)
    found = {float(match[1]) for match in re.finditer(r"\b([2-9]|[1-9]\d{1,2})\b(?![.,]\d)", text)}
    found |= {float(count) for word, count in _COUNTS.items() if re.search(rf"\b{word}\b", text)}
    pairs = re.finditer(r"\b([0-9.]+)\s?(?:/|of|:|to)\s?([0-9.]+)\b", text)
    found |= {float(pair[1]) / float(pair[2]) for pair in pairs if _positive(pair[1], pair[2])}
    return found


def _positive(*texts: str) -> bool:
    return all(re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text) and float(text) > 0 for text in texts)


def _products(number: Number, reading: str) -> list[float]:
    """Return products and quotients of pairs of the numbers named, in the value's own unit."""
    own = plain_numbers(number.text)
    if not own or not own[0]:
        return []
    unit = number.si / own[0]
    # Without the words: '0.74 FLOP/B times 21 PB/s' is 15.5 PFLOP/s.
    if not re.search(r"times|\bx\b|product|multipl|over|divided|per\b", reading):
        return []
    named = plain_numbers(f"{number.said('printed') or ''} {reading}")[:12]
    pairs = [(one, two) for one in named for two in named if two]
    return [one * two * unit for one, two in pairs] + [one / two * unit for one, two in pairs]
