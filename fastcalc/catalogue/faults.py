"""Validation errors of a schema to sentences with file, line and column."""

from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from fastcalc.catalogue.reader import Document, Path_

_WANTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "list_type": "a list (lines that begin with '- ')",
    "dict_type": "a mapping (lines of 'key: value')",
    "model_type": "a mapping (lines of 'key: value')",
    "model_attributes_type": "a mapping (lines of 'key: value')",
    "bool_type": "true or false",
}


def sentences(error: ValidationError, document: Document, schema: type[BaseModel]) -> list[str]:
    """Return one sentence for each fault: unknown keys first, then in the order of the file.

    A misspelt key is also a missing one; the misspelling is what a person can mend.

    Parameters
    ----------
    error : ValidationError
        What the schema found.
    document : Document
        The file, for the place of each fault.
    schema : type of BaseModel
        The schema, for the names it knows.
    """
    found = []
    for fault in error.errors(include_url=False, include_context=True):
        path = _path_in(document, fault["loc"])
        place, text = _place(document, path, fault), _sentence(document, path, fault, schema)
        _, line, column = place.rsplit(":", 2)
        is_known = fault["type"] != "extra_forbidden"
        found.append((is_known, int(line), int(column), f"{place}: {text}"))
    return [sentence for *_, sentence in sorted(found)]


def _path_in(document: Document, location: tuple[int | str, ...]) -> Path_:
    """Drop the steps that pydantic adds for unions: keep those that stand in the file."""
    path: Path_ = ()
    for number, step in enumerate(location):
        last = number == len(location) - 1
        if (*path, step) in document.values or (*path, step) in document.keys or last:
            path = (*path, step)
    return path


def _place(document: Document, path: Path_, fault: Any) -> str:
    if fault["type"] == "extra_forbidden":
        return document.at(path, key=True)
    if fault["type"] == "value_error" and (*path, "value") in document.values:
        return document.at((*path, "value"))
    return document.at(path)


def _sentence(document: Document, path: Path_, fault: Any, schema: type[BaseModel]) -> str:
    name = _dotted(path)
    kind, value = fault["type"], fault.get("input")
    if kind == "missing":
        return f"'{name}' is missing"
    if kind == "extra_forbidden":
        return _unknown_key(document, path, schema)
    if kind == "value_error":
        text = str(fault["ctx"]["error"])
        return f"{name}: {text}" if path else text
    if kind == "literal_error" or kind.startswith("union_tag"):
        expected = fault["ctx"].get("expected") or fault["ctx"].get("expected_tags")
        if expected is None:
            return f"'{name}' needs a 'kind'"
        return f"'{_shown(value, fault)}' is not a {name}; known: {expected}"
    if kind == "string_pattern_mismatch":
        return f"{name}: '{value}' must be lower case letters, digits, '.', '-' and '_' only"
    if kind in ("greater_than", "greater_than_equal", "less_than_equal"):
        limits = fault["msg"].lower().removeprefix("input should be ")
        return f"{name}: {value} is out of range: {limits}"
    wanted = _WANTED.get(kind)
    if wanted:
        return f"{name}: {_shown(value, fault)!r} should be {wanted}"
    return f"{name}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _shown(value: object, fault: Any) -> str:
    if isinstance(value, dict) and "tag" in fault.get("ctx", {}):
        return str(fault["ctx"]["tag"])
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _dotted(path: Path_) -> str:
    return ".".join(f"[{step}]" if isinstance(step, int) else str(step) for step in path).replace(
        ".[", "["
    )


def _unknown_key(document: Document, path: Path_, schema: type[BaseModel]) -> str:
    key = str(path[-1])
    parent: Any = document.data
    for step in path[:-1]:
        parent = parent[step]
    known = sorted(_names(schema) - set(parent))
    near = get_close_matches(key, known, n=1, cutoff=0.6)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    where = f" in {_dotted(path[:-1])}" if path[:-1] else ""
    return f"unknown key '{key}'{where}{hint}"


def _names(schema: type[BaseModel]) -> set[str]:
    """Return every key that the schema knows, at any depth."""
    names, waiting, seen = {"value"}, [schema], set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        names |= set(one.model_fields) - {"si", "text"}
        for field in one.model_fields.values():
            waiting += _classes(field.annotation)
    return names


def _classes(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [cls for part in getattr(annotation, "__args__", ()) for cls in _classes(part)]
