"""Parsers for the texts of fields. Values that already have the right type are kept."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcalc.catalogue.formats import cache_name
from fastcalc.catalogue.limits import LIMITS, Limit
from fastcalc.catalogue.numerals import NUMERAL, parse_number
from fastcalc.catalogue.weight_formats import weight_name, weight_names
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import did_you_mean, shown

if TYPE_CHECKING:
    from fastcalc.kit.request.given_types import PricesGiven, WordsGiven

_YAML = (".yaml", ".yml")
_MOST_PIECES = 8
"""Maximum number of fragments into which commas may split a path."""

_ENDINGS = {
    {"markdown": "md"}.get(name, name): name
    for name in ("csv", "json", "markdown", "html", "xlsx", "parquet", "sarif")
}
"""Output formats by file ending."""

BINARY = ("xlsx", "parquet")

_RATE = re.compile(rf"({NUMERAL})(?:/(s|min|h))?")
_UNIT_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}

_SCALE = {"": 1, "k": 1_000, "M": 1_000_000}
_NUMBER = re.compile(r"([0-9]{1,12}|[0-9]{1,3}(?:_[0-9]{3}){1,3})([kM]?)")
_ANY_NUMBER = "a number; write for example 0.5"
_WITH_COMMAS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+")


def whole(value_typed: str | int, flag: str, limit: Limit, example: str = "8") -> int:
    """Parse a whole number within a limit. In text, ``k`` means thousand and ``M`` million.

    >>> whole("8k", "--prompt", LIMITS["tokens"])
    8000
    >>> whole("3_000", "--prompt", LIMITS["tokens"])
    3000
    """
    if isinstance(value_typed, int) and value_typed in limit:
        return value_typed
    text = str(value_typed)
    match = _NUMBER.fullmatch(text)
    value = int(match[1]) * _SCALE[match[2]] if match else 0
    if value not in limit:
        if _WITH_COMMAS.fullmatch(text):
            example = text.replace(",", "")
        raise InputError(
            f"{flag} '{shown(text)}' is not a whole number {limit}; write for example {example}"
        )
    return value


def number(value: float, flag: str, limit: Limit, example: float, *, zero: bool = False) -> float:
    """Validate a flag's number. `zero` allows 0."""
    if value not in limit and not (zero and value == 0):
        expected = f"{'0 or ' if zero else ''}a {'whole ' if limit.is_whole else ''}number {limit}"
        text = shown(value) if isinstance(value, int) else f"{value:g}"
        raise InputError(f"{flag} {text} is not {expected}; write for example {example:g}")
    return value


def is_whole(value: float) -> bool:
    """Check whether a number is whole, and small enough that this is not due to rounding."""
    return value.is_integer() and abs(value) <= 2.0**53


def number_of(flag: str, number_type: type[float]) -> Callable[[str | float], float]:
    """Return a parser for a flag's number, which must be whole if the type is ``int``."""

    def read(text: str | float) -> float:
        if not isinstance(text, str):
            return text
        value = parse_number(text, "_")
        if value is None or (number_type is int and not is_whole(value)):
            expected = "a whole number; write for example 8" if number_type is int else _ANY_NUMBER
            raise InputError(f"{flag} '{shown(text)}' is not {expected}")
        return number_type(value)

    return read


def tokens_of(flag: str) -> Callable[[str | int], int]:
    """Return a parser for a flag's token count, whose errors name the flag."""
    return partial(whole, flag=flag, limit=LIMITS["tokens"], example="1000 or 8k")


def format_of(flag: str) -> Callable[[str], str | None]:
    """Return a parser for a flag's format. It rejects empty text, which scripts may pass."""

    def read(text: str) -> str | None:
        if not text.strip():
            raise InputError(f"{flag} names nothing; name a format such as fp8, or remove it")
        return weight_name(text) if flag == option("weights") else cache_name(text)

    return read


def weights_if_any(value_typed: "WordsGiven | None") -> list[str] | None:
    """Parse a list of weight formats. ``fp4`` stands for each chip's FP4 format."""
    listed = names_if_any(value_typed, option("weights"))
    named = weight_names(map(str, listed)) if listed else None
    return named and [name if name == "fp4" else weight_name(name) for name in named]


def caches_if_any(value_typed: "WordsGiven | None") -> list[str | None] | None:
    """Parse a list of cache formats. None means the engine's default."""
    listed = names_if_any(value_typed, option("kv"))
    if listed is None:
        return None
    return [name if name == "fp4" else cache_name(str(name)) for name in listed]


def file_of(text: str) -> Path | None:
    """Parse an output file. None means standard output, and ``./-`` a file called ``-``."""
    if not text:
        raise InputError(
            f"{option('out')} names no file; write one, such as plan.json, or - for the terminal"
        )
    if text.endswith(("/", os.sep)) and os.path.isfile(text.rstrip(f"/{os.sep}")):
        raise InputError(
            f"{option('out', shown(text))} ends like a folder but must be a file; remove the ending"
        )
    path = Path(text)
    if not os.path.isdir(folder := str(path.parent)):
        raise InputError(
            f"{option('out', shown(text))} cannot be written: no folder is called {shown(folder)}"
        )
    return None if text == "-" else path


def kind_of(format: str | None, file: Path | None, formats: Sequence[str]) -> str:  # noqa: A002
    """Choose the output format: as named, else by the file ending, else the first one listed.

    Raises InputError if the format or ending is unknown, or if the format requires a file.
    """
    if format is not None:
        chosen = choice(format, option("format"), tuple(formats))
    else:
        ending = "" if file is None else file.suffix[1:].lower()
        chosen = formats[0] if ending in ("", "txt") else _ENDINGS.get(ending, ending)
        if chosen not in formats:
            written = ", ".join(f".{end}" for end, name in _ENDINGS.items() if name in formats)
            raise InputError(
                f"{option('out', shown(file))} ends in none of {written} or .txt; name one with "
                f"{option('format')}"
            )
    if chosen in BINARY and file is None:
        raise InputError(
            f"{chosen} cannot go to standard output: give {option('out', f'FILE.{chosen}')}"
        )
    return chosen


def names(value_typed: Any, flag: str) -> list[Any]:
    """Parse names from a list or a comma-separated text, keeping their order and any entries."""
    if isinstance(value_typed, str):
        return _named(value_typed, flag)
    listed = value_typed if isinstance(value_typed, (list, tuple)) else [value_typed]
    if not listed:
        raise InputError(f"{flag} names nothing; give one or several")
    return [str(name) if isinstance(name, Path) else name for name in listed]


def several(value_typed: Any, flag: str) -> list[Any]:
    """Split an argument at commas into names. A path or catalogue entry is kept whole."""
    is_list = (
        isinstance(value_typed, str) and "," in value_typed and not os.path.exists(value_typed)
    )
    return _named(value_typed, flag) if is_list else [value_typed]


def _named(text: str, flag: str) -> list[str]:
    """Split a text at commas into distinct names, in order. Paths may contain commas."""
    items, start = text.split(","), 0
    listed: dict[str, None] = {}
    while start < len(items):
        pieces = items[start : start + _MOST_PIECES]
        ends = [end for end, item in enumerate(pieces, 1) if item.rstrip().endswith(_YAML)]
        paths = (",".join(pieces[:end]).strip() for end in ends)
        name = next((path for path in paths if os.path.exists(path)), pieces[0].strip())
        listed[name] = None
        start += name.count(",") + 1
    listed.pop("", None)
    if not listed:
        raise InputError(f"{flag} names nothing; give one or several separated by commas")
    return list(listed)


def names_if_any(value_typed: "WordsGiven | None", flag: str) -> list[str] | None:
    """Parse a list of names. Returns None if the flag is not given."""
    return None if value_typed is None else names(value_typed, flag)


def as_text(value: Any) -> str:
    """Format a field's value as it would be typed. Catalogue entries appear as their ids."""
    if isinstance(value, Mapping):
        return ",".join(f"{key}={as_text(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ",".join(map(as_text, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(getattr(value, "id", value))


def share_of(flag: str) -> Callable[[str | float], float]:
    """Return a parser for a flag's fraction: 0.4 or 40%."""

    def read(text: str | float) -> float:
        if not isinstance(text, str):
            return text
        written = text.strip()
        number = parse_number(written.removesuffix("%"))
        if number is None:
            raise InputError(
                f"{flag} '{shown(written)}' is not a share; write for example 0.5 or 50%"
            )
        return number / 100 if written.endswith("%") else number

    return read


def share(value: float, flag: str, *, zero: bool = False) -> float:
    """Validate a fraction, above 0 (or from 0 if `zero` is set) and up to 1."""
    if value not in LIMITS["share"] and not (zero and value == 0):
        start = "from 0" if zero else "above 0"
        raise InputError(f"{flag} {value:g} is not a share {start} to 1; write for example 0.5")
    return value


def quantity(text: str, flag: str, dimension: str, limit: Limit, example: str) -> float:
    """Parse a number with a unit, in SI. Rejects invalid numbers and those beyond the limit.

    example : The valid value, for the error message.
    """
    from fastcalc.catalogue.units import parse_quantity  # help does not need it

    try:
        value = parse_quantity(text, dimension)
    except InputError:
        value = 0.0
    if value not in limit:
        raise InputError(
            f"{flag} '{shown(text)}' is not a {dimension} with its unit {limit}; write for "
            f"example {example}"
        )
    return value


def ranks(value: int | None, flag: str) -> int | None:
    """Validate a number of chips or ranks. Rejects more than any machine has."""
    return None if value is None else int(number(value, flag, LIMITS["chips"], 8))


def prices(value_typed: "PricesGiven | None", *, zero: bool = False) -> list[tuple[str, float]]:
    """Parse the hourly price of each chip, which may be 0 for an owned chip, in USD per hour."""
    if isinstance(value_typed, Mapping):
        limit, flag = LIMITS["dollars"], option("price")
        return [
            (name, number(usd, f"{flag} of {shown(name)}", limit, 2.1, zero=zero))
            for name, usd in value_typed.items()
        ]
    priced: list[tuple[str, float]] = []
    for text in value_typed or ():
        name, _, usd = text.partition("=")
        value = parse_number(usd.strip().removeprefix("$"), "_")
        is_price = value is not None and (value in LIMITS["dollars"] or (zero and value == 0.0))
        if not name or value is None or not is_price:
            raise InputError(
                f"{option('price')} '{shown(text)}' is not CHIP=USD per hour, such as h100-sxm=2.10"
            )
        priced.append((name.strip(), value))
    return priced


def choice(text: str, flag: str, words: tuple[str, ...]) -> str:
    """Check that a text is one of the allowed words. The error suggests the nearest one."""
    if text in words:
        return text
    hint = did_you_mean(text.lower(), words, f"one of {', '.join(words)}")
    raise InputError(f"{flag} '{shown(text)}' is unknown: {hint}")


def rate(value_typed: str | float | None) -> float | None:
    """Parse a request rate with a unit. Returns None if there is none. [1/s]"""
    if value_typed is None:
        return None
    text = as_text(value_typed)
    match = _RATE.fullmatch(text.strip())
    has_unit = match and (match[2] or not isinstance(value_typed, str))
    requests = float(match[1]) / _UNIT_SECONDS[match[2] or "s"] if match and has_unit else 0.0
    if requests not in LIMITS["request rate"]:
        if match and not has_unit and float(match[1]) in LIMITS["request rate"]:
            raise InputError(
                f"{option('rate')} '{shown(text)}' needs a unit: write {match[1]}/s or "
                f"{match[1]}/min"
            )
        raise InputError(
            f"{option('rate')} '{shown(text)}' is not a rate of requests "
            f"{LIMITS['request rate']}; write for example 20/s or 300/min"
        )
    return requests
