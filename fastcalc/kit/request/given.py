"""Convert field values given in Python: text is parsed, and other values are type-checked."""

import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from fastcalc.catalogue.numerals import parse_number
from fastcalc.catalogue.once import once
from fastcalc.catalogue.schema import Engine, Entry, Hardware, Model
from fastcalc.errors import InputError
from fastcalc.kit.request import given_types
from fastcalc.kit.request.fields import Request, declared
from fastcalc.kit.request.readers import is_whole
from fastcalc.written import listed, shown

_NOUNS: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Path: "a path",
    Hardware: "a chip",
    Model: "a model",
    Engine: "an engine",
}
_CLASSES: dict[Any, type] = {int: Integral, float: Real}
"""Accepted number classes, which include those of other packages."""


def from_python(request: type[Request], name: str, value: Any) -> Any:
    """Convert a field's value given in Python. Text is parsed, and other values are kept.

    Repeated flags become a list, and comma-separated values a tuple.
    """
    setting = declared(request)[name].setting
    if isinstance(value, str) and setting.parser is not None:
        return setting.parser(value)
    try:
        accepted = _taken(name, value, _kinds(request)[name])
    except InputError as error:
        example = re.search(r"\be\.g\. ([^\s,;]*[^\s,;.])", setting.help)
        if example is None:
            raise
        raise InputError(f"{error}; write for example {name}={example[1]!r}") from None
    return (
        setting.parser(accepted)
        if setting.parser and isinstance(accepted, (int, float))
        else accepted
    )


@once
def _kinds(request: type[Request]) -> dict[str, tuple[Any, ...]]:
    """Return the types that each field accepts, including lists and mappings."""
    hints = get_type_hints(request, localns=vars(given_types))
    return {name: _members(hints[name]) for name in declared(request)}


def _members(type_: Any) -> tuple[Any, ...]:
    members = get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)
    return tuple(member for member in members if member is not NoneType)


def _taken(name: str, value: Any, types: tuple[Any, ...], all_kinds: tuple[Any, ...] = ()) -> Any:
    """Check a value, or an element of it, against the accepted types.

    all_kinds : The accepted types of the whole value.
    """
    all_kinds = all_kinds or types
    several = {origin: get_args(type_)[-1] for type_ in types if (origin := get_origin(type_))}
    if isinstance(value, Mapping) and Mapping in several:
        items = _members(several[Mapping])
        return {str(key): _taken(name, item, items, all_kinds) for key, item in value.items()}
    is_single = isinstance(value, (str, bytes, Mapping, Entry))
    is_scalar = is_single or not isinstance(value, Iterable) or getattr(value, "shape", None) == ()
    if not is_scalar and (list in several or Iterable in several):
        items = _members(several.get(list) or several[Iterable])
        parts_taken = [_taken(name, item, items, all_kinds) for item in value]
        return parts_taken if list in several else tuple(parts_taken)
    if list in several:
        return [_taken(name, value, _members(several[list]), all_kinds)]
    if isinstance(value, str) and bool not in types:
        return _read(name, value, types)
    type_ = next((type_ for type_ in types if _is_a(value, type_)), None)
    if type_ is None:
        given = value if isinstance(value, bool) else f"a value of type {type(value).__name__}"
        raise InputError(f"{name} takes {_described(all_kinds)}, not {given}")
    if type_ in _CLASSES:  # a number, perhaps from another package
        try:
            value = type_(value)
            str(value)  # Python refuses to convert more than 4,300 digits
        except (ValueError, OverflowError):
            raise InputError(f"{name} has too many digits") from None
    return value


def _is_a(value: Any, type_: Any) -> bool:
    is_single = get_origin(type_) is None and isinstance(value, bool) == (type_ is bool)
    return is_single and isinstance(value, _CLASSES.get(type_, type_))


def _read(name: str, text: str, types: tuple[Any, ...]) -> Any:
    """Parse a field's value from text, as the command line does."""
    if str in types:
        return text
    if Path in types:
        return Path(text)
    value = parse_number(text, "_")
    if value is None or (int in types and not is_whole(value)):
        raise InputError(f"{name} '{shown(text)}' is not {_described(types)}")
    return int(value) if int in types else value


def _described(types: tuple[Any, ...]) -> str:
    item = next((get_args(type_)[-1] for type_ in types if get_origin(type_)), None)
    singles = [type_ for type_ in types if type_ in _NOUNS] or _members(item)
    nouns = [_NOUNS[type_] for type_ in singles]
    origins = {get_origin(type_) for type_ in types}
    nouns += ["a list of them"] if origins & {list, Iterable} else []
    nouns += ["a dictionary"] if Mapping in origins else []
    return listed(nouns, "or")
