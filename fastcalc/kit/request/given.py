"""A field's value from what Python gives it: read where it is text, else checked by its type."""

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
from fastcalc.kit.request.fields import FieldSetting, Request, declared
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
"""Numbers of other packages count, too."""


def from_python(request: type[Request], name: str, value: Any) -> Any:
    """Return what a field holds of a value that Python gives it: text is read, all else kept.

    What a command line repeats is a list, what it separates by commas a tuple.
    """
    setting: FieldSetting = declared(request)[name][0].__metadata__[0]
    if isinstance(value, str) and setting.parser is not None:
        return setting.parser(value)
    accepted = _taken(name, value, _kinds(request)[name])
    return (
        setting.parser(accepted)
        if setting.parser and isinstance(accepted, (int, float))
        else accepted
    )


@once
def _kinds(request: type[Request]) -> dict[str, tuple[Any, ...]]:
    """Classes that each field takes, some of them lists or mappings of others."""
    hints = get_type_hints(request, localns=vars(given_types))
    return {name: _members(hints[name]) for name in declared(request)}


def _members(kind: Any) -> tuple[Any, ...]:
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return tuple(member for member in members if member is not NoneType)


def _taken(name: str, value: Any, kinds: tuple[Any, ...], all_kinds: tuple[Any, ...] = ()) -> Any:
    """A value, or a part of one, of some classes.

    all_kinds : the classes of all of it
    """
    all_kinds = all_kinds or kinds
    several = {origin: get_args(kind)[-1] for kind in kinds if (origin := get_origin(kind))}
    if isinstance(value, Mapping) and Mapping in several:
        parts = _members(several[Mapping])
        return {str(key): _taken(name, part, parts, all_kinds) for key, part in value.items()}
    if _is_list(value) and (list in several or Iterable in several):
        parts = _members(several.get(list) or several[Iterable])
        parts_taken = [_taken(name, part, parts, all_kinds) for part in value]
        return parts_taken if list in several else tuple(parts_taken)
    if list in several:
        return [_taken(name, value, _members(several[list]), all_kinds)]
    if isinstance(value, str) and bool not in kinds:
        return _read(name, value, kinds)
    kind = next((kind for kind in kinds if _is_a(value, kind)), None)
    if kind is None:
        raise InputError(f"{name} takes {_described(all_kinds)}, not {_class_of(value)}")
    return _number(name, value, kind) if kind in _CLASSES else value


def _is_list(value: Any) -> bool:
    is_single = isinstance(value, (str, bytes, Mapping, Entry))
    return isinstance(value, Iterable) and not is_single and getattr(value, "shape", None) != ()


def _is_a(value: Any, kind: Any) -> bool:
    is_single = get_origin(kind) is None and isinstance(value, bool) == (kind is bool)
    return is_single and isinstance(value, _CLASSES.get(kind, kind))


def _read(name: str, text: str, kinds: tuple[Any, ...]) -> Any:
    """Text as the field holds it, which a command line types as well."""
    if str in kinds:
        return text
    if Path in kinds:
        return Path(text)
    value = parse_number(text, "_")
    if value is None or (int in kinds and not is_whole(value)):
        raise InputError(f"{name} '{shown(text, 40)}' is not {_described(kinds)}")
    return int(value) if int in kinds else value


def _number(name: str, value: Any, kind: type[int] | type[float]) -> int | float:
    """A number as one of Python's own."""
    try:
        number = kind(value)
        str(number)  # Python refuses to write some 4,300 digits
    except (ValueError, OverflowError):
        raise InputError(f"{name} has too many digits") from None
    return number


def _described(kinds: tuple[Any, ...]) -> str:
    item = next((get_args(kind)[-1] for kind in kinds if get_origin(kind)), None)
    singles = [kind for kind in kinds if kind in _NOUNS] or _members(item)
    nouns = [_NOUNS[kind] for kind in singles]
    origins = {get_origin(kind) for kind in kinds}
    nouns += ["a list of them"] if origins & {list, Iterable} else []
    nouns += ["a dictionary"] if Mapping in origins else []
    return listed(nouns, "or")


def _class_of(value: Any) -> str:
    return str(value) if isinstance(value, bool) else f"a value of type {type(value).__name__}"
