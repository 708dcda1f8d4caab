"""Derive a value from the text printed in its source, following its ``reading`` key."""

import re
from collections.abc import Iterator

from fastcalc.catalogue.once import once
from fastcalc.features.check.document import Sheet, WrittenNumber
from fastcalc.features.check.printed import plain_numbers, values

_HALF = r"\bhalf|halve|\bboth\b|spars|bidirectional|bi-directional|one direction|each way"
_BINARY = r"2\^[234]0|gib|mib|tib|binary|1024"
_COUNTS = {
    "two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "twelve": 12, "sixteen": 16, "twice": 2,
    "third": 3, "quarter": 4, "eighth": 8, "double": 2, "doubled": 2,
}  # fmt: skip
_COUNT_WORD = re.compile(rf"\b(?:{'|'.join(_COUNTS)})\b")
_FORMATS = r"\b(fp32|tf32|bf16|fp16|fp8|int8|fp6|fp4|int4)\b"
_CLOCKS = {"ghz": 1e9, "mhz": 1e6}


@once
def prints(number: WrittenNumber) -> list[float]:
    """Return the values that the printed text of a number can mean, in SI units.

    Numbers without a unit are read in the value's own unit, or in SI units if their order of
    magnitude matches, because tables put units in their headers.
    """
    text = number.said("printed")
    if not text:
        return []
    printed_numbers = values(text, number.dimension)
    if printed_numbers:
        # A text such as '(1.8 TB/s bidir / 2)' contains its own arithmetic.
        counts = [float(match[1]) for match in re.finditer(r"[\w)] ?/ ?([2-9])\b", text)]
        return [
            *printed_numbers,
            *(printed / count for printed in printed_numbers for count in counts),
        ]
    unit, alone = _own_unit(number), plain_numbers(text)
    if unit is None:
        return []
    large = [printed for printed in alone if printed >= 1e6 and number.dimension != "number"]
    return large or [printed * unit for printed in alone]


def _own_unit(number: WrittenNumber) -> float | None:
    match = re.match(r"\s*([0-9.]+)", number.text)
    try:
        written = float(match[1]) if match else 0.0
    except ValueError:
        return None
    return number.si / written if written else None


def accepted(sheet: Sheet, number: WrittenNumber) -> list[float]:
    """Return the values that a number's reading allows, or nothing if it cannot be parsed. [SI]"""
    reading = number.said("reading") or ""
    if match := re.match(r"(?:as|like|see|same as) (\w+)", reading):  # a sibling: 'as fp16'
        name = ".".join([*map(str, number.path[:-1]), match[1].lower()])
        sibling = sheet.numbers.get(name)
        if sibling and sibling is not number:
            reading = f"{reading} {sibling.said('reading') or ''}"
    from_reading = [*values(reading, number.dimension), *_chains(number, reading)]
    base = [*prints(number), *from_reading]
    if number.dimension == "compute rate":  # other peaks: 'half of the fp16 rate'
        formats = re.findall(_FORMATS, reading.lower().replace("16-bit", "fp16"))
        siblings = (sheet.numbers.get(f"peak.{name}") for name in formats)
        base += [sibling.si for sibling in siblings if sibling and sibling is not number]
    is_half = re.search(_HALF, reading, re.IGNORECASE) is not None
    if not base and not is_half:
        return []
    unit = _own_unit(number)
    allowed = list(from_reading)
    alone = [figure * unit for figure in plain_numbers(reading)] if unit else []
    if is_half:
        allowed += [figure / 2 for figure in (*base, *alone)]
    is_binary = re.search(_BINARY, reading, re.IGNORECASE) is not None
    if is_binary:
        # Powers of 1,024 / 1,000 for the prefixes of a printed size.
        text = f"{number.said('printed') or ''} {reading}"
        prefixes = re.findall(r"\b[0-9.,]*\s?([kKMGT])i?B\b", text)
        powers = {" KMGT".index(prefix.upper()) for prefix in prefixes}
        allowed += [figure * 1.024**power for figure in base for power in powers]
    counts = _counts(sheet, reading)
    allowed += [figure * count for figure in base for count in counts]
    allowed += alone
    if re.search(r"\b(?:less|minus|without|plus)\b", reading):
        items = {item * count for item in from_reading for count in (1.0, *counts)}
        allowed += [
            figure + sign * item for figure in prints(number) for item in items for sign in (1, -1)
        ]
    # With 'half' or 'GiB' in the reading, the printed number itself is not the value.
    has_unit = bool(values(number.said("printed") or "", number.dimension))
    if re.search(r"\b(?:less|minus|plus)\b", reading) and from_reading:
        return allowed
    return allowed if is_half or (is_binary and has_unit) else [*allowed, *prints(number)]


def _counts(sheet: Sheet, reading: str) -> set[float]:
    """Extract the factors in a reading: '8 GPUs', 'per eight', '8:1', '48 of 64 cores'."""
    text = re.sub(r"2\^\d+", " ", reading.lower())
    digits = re.finditer(r"(?<![\w.,])([2-9]|[1-9]\d{1,2})\b(?![.,]\d)", text)
    integers = {float(match[1]) for match in digits}
    one_of = integers | {float(_COUNTS[word]) for word in _COUNT_WORD.findall(text)}
    factors = one_of | {1 / count for count in one_of}
    if re.search(r"core|chip|wafer|gpu|die|of \d", text):
        cores = sheet.si("cores")
        several = integers | ({cores} if cores else set())
        factors |= {item / total for item in several for total in several if item != total}
    return factors


_TIMES = re.compile(r"[^;]{0,30}?(?: [x\u00d7] |\*| times )[^;]{0,20}")


def _chains(number: WrittenNumber, reading: str) -> Iterator[float]:
    """Yield the products in a reading: '40 x 512 x 2.9 GHz', '0.74 times 21 PB/s'."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", reading)
    unit, figures = _own_unit(number), list(re.finditer(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?", text))
    product, factors = 1.0, 0
    for index, match in enumerate(figures):
        product, factors = product * float(match[0]), factors + 1
        after = figures[index + 1].start() if index + 1 < len(figures) else len(text)
        if index + 1 < len(figures) and _TIMES.fullmatch(text[match.end() : after]):
            continue
        clock = re.match(r"\s*([gm]hz)", text[match.end() :].lower())
        if factors > 1 and clock:
            yield product * _CLOCKS[clock[1]]
        elif factors > 1 and unit:
            yield product * unit
        product, factors = 1.0, 0
