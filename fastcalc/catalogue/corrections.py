"""Safe corrections to a file, as made by `fastcalc check --fix`.

A misspelled key is corrected only if exactly one known key is one letter away, is not already used
in the same mapping, and accepts the value. A format or unit is corrected if it is just a different
spelling, such as ``FP8``, ``TBps``, or ``3.35 TB`` for a bandwidth. ``80 Gb`` may mean 10 GB or 80
GB, so the user must decide.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from fastcalc.catalogue.reader import Path_, inside
from fastcalc.catalogue.schema.quantities import Quantity
from fastcalc.catalogue.units import is_same_unit
from fastcalc.written import Json

_SHORTEST = 4
"""The minimum length of a key to correct, since many shorter keys differ by one letter."""
_MEANT = re.compile(
    r"'([^']+)' is (?:a size, )?not a (unit|bandwidth|weight|KV)\b.*did you mean '([^']+)'\?$"
)


def key_meant(key: str, valid: Iterable[str]) -> str | None:
    """Return the only known key that is one typing error away from a misspelled key.

    >>> key_meant("vndor", ["vendor", "name"]), key_meant("fp1", ["fp16", "fp8"])
    ('vendor', None)
    """
    alike = [name for name in valid if _is_same_name(key, name)]
    near = alike or [name for name in valid if is_one_slip(_letters(key), _letters(name))]
    return near[0] if len(near) == 1 else None


def _is_same_name(name: str, valid: str) -> bool:
    """Check whether a key or format is a different spelling of a known one.

    >>> _is_same_name("Q4-K-M", "q4_k_m"), _is_same_name("fp9", "fp8")
    (True, False)
    """
    return _letters(name) == _letters(valid)


def _letters(name: str) -> str:
    return re.sub(r"[\s_.-]", "", name).lower()


def is_one_slip(word: str, valid: str) -> bool:
    """Check whether one letter is missing, extra, replaced or swapped, while all digits match."""
    if len(word) < _SHORTEST or abs(len(word) - len(valid)) > 1:
        return False
    if re.sub(r"\D", "", word) != re.sub(r"\D", "", valid):
        return False
    same = 0
    while same < min(len(word), len(valid)) and word[same] == valid[same]:
        same += 1
    ending, known_ending = word[same:], valid[same:]
    return (
        ending[1:] in (known_ending, known_ending[1:])
        or ending == known_ending[1:]
        or (ending[:2] == known_ending[1::-1] and ending[2:] == known_ending[2:])
    )


def value_meant(value: object, sentence: str) -> str | None:
    """Return a value with its format or unit corrected as the error message suggests."""
    match = _MEANT.search(sentence)
    if match is None or not isinstance(value, str) or value.count(match[1]) != 1:
        return None
    is_same = is_same_unit if match[2] in {"unit", "bandwidth"} else _is_same_name
    return value.replace(match[1], match[3]) if is_same(match[1], match[3]) else None


def class_at(schema: type[BaseModel], data: Json, path: Path_) -> type[BaseModel] | None:
    """Return the class of the mapping at a path, if the data permit only one."""
    classes = [schema]
    for step in path:
        data = inside(data, step)
        fields = [cls.model_fields[step] for cls in classes if step in cls.model_fields]
        if fields and isinstance(step, str):
            classes = [cls for field in fields for cls in classes_in(field.annotation)]
        tag = data.get("kind") if isinstance(data, dict) else None
        if len(classes) > 1 and tag is not None:
            kinds = (cls.model_fields.get("kind") for cls in classes)
            tags = [get_args(field.annotation) if field else () for field in kinds]
            pairs = zip(classes, tags, strict=True)
            classes = [cls for cls, known in pairs if not known or tag in known]
    return classes[0] if len(classes) == 1 else None


def classes_in(annotation: Any) -> list[type[BaseModel]]:
    """List the schema classes that occur in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [cls for item in getattr(annotation, "__args__", ()) for cls in classes_in(item)]


def keys_of(schema: type[BaseModel]) -> list[str]:
    """List the keys allowed in a mapping of a class."""
    names = set(schema.model_fields)
    return sorted(names - {"si", "text"} | {"value"} if schema is Quantity else names)


def fitting_renames(
    data: Json, schema: type[BaseModel], renames: Mapping[Path_, str]
) -> dict[Path_, str]:
    """Keep the corrected keys, by path, that accept the value of the misspelled key.

    If two keys of a mapping have the same correction, neither is corrected.
    """
    targets = Counter((*path[:-1], key) for path, key in renames.items())
    single = {path: key for path, key in renames.items() if targets[(*path[:-1], key)] == 1}
    renamed = deepcopy(data)
    for path, key in sorted(single.items(), key=lambda rename: -len(rename[0])):  # inner keys first
        mapping = renamed
        for step in path[:-1]:
            mapping = inside(mapping, step)
        if isinstance(mapping, dict):
            mapping[key] = mapping.pop(str(path[-1]))
    try:
        schema.model_validate(renamed)
        return single
    except ValidationError as error:
        details = error.errors(include_url=False)
    wrong: set[Path_] = set()
    for detail in details:
        node: Json = renamed
        location: Path_ = ()
        for step in detail["loc"]:  # without the steps that pydantic adds for unions
            within = inside(node, step)
            if within is not None or (isinstance(node, dict) and step in node):
                node, location = within, (*location, step)
        wrong.add(location)
    at_fault = {location[:length] for location in wrong for length in range(1, len(location) + 1)}
    renamed_paths = {  # the enclosing mappings may be renamed, too
        path: tuple(single.get(path[: at + 1], step) for at, step in enumerate(path))
        for path in single
    }
    return {path: key for path, key in single.items() if renamed_paths[path] not in at_fault}
