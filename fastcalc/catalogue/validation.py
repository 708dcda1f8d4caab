"""Validation of a document into an entry, with problems by file, line and column."""

import re
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fastcalc.catalogue.corrections import (
    class_at,
    classes_in,
    fitting_renames,
    key_meant,
    keys_of,
    value_meant,
)
from fastcalc.catalogue.faults import MOST, Fault
from fastcalc.catalogue.reader import Document, Path_
from fastcalc.catalogue.schema import Entry
from fastcalc.catalogue.units import QuantityError
from fastcalc.written import shown

AnyEntry = TypeVar("AnyEntry", bound=Entry)

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


def validate(document: Document, schema: type[AnyEntry]) -> tuple[AnyEntry | None, list[Fault]]:
    """Validate a document, and return its entry, or None, with the problems found.

    Unknown keys come first, because a misspelled key also causes a missing key.
    """
    try:
        if schema not in document.entries:
            document.entries[schema] = schema.model_validate(document.data)
        return document.entries[schema], []
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True)[:MOST]
    placed = [
        (path, _fault(document, path, detail, schema))
        for detail in details
        # If a default depends on an invalid field, it is not reported separately.
        if detail["type"] != "default_factory_not_called"
        and not document.is_refused(path := _path_of(document, detail["loc"]))
    ]
    renames = {
        path: key
        for path, fault in placed
        if fault.rule == "ST015" and path in document.keys
        if (key := _key_meant(document, path, schema)) is not None
        if (*path[:-1], key) not in document.keys
    }
    fitting = fitting_renames(document.data, schema, renames) if renames else {}
    faults = [
        replace(fault, replacement=(str(path[-1]), fitting[path])) if path in fitting else fault
        for path, fault in placed
    ]
    faults.sort(key=lambda fault: (fault.rule != "ST015", fault.line, fault.column))
    # Nothing else is reported for the key that a misspelled key stands for.
    misspelt = [_MISSPELT.search(fault.message) for fault in faults if fault.rule == "ST015"]
    keys = [f"{match[1]}.{match[2]}" if match[1] else match[2] for match in misspelt if match]
    meant = {f"'{key}' is missing" for key in keys}
    return None, [fault for fault in faults if fault.message not in meant]


_MISSPELT = re.compile(r"(?: in (\S+))?; did you mean '([^']+)'\?$")


def _path_of(document: Document, steps: tuple[int | str, ...]) -> Path_:
    """Remove the steps that pydantic adds for unions from the path of a problem."""
    path: Path_ = ()
    for step in steps[:-1]:
        longer = (*path, step)
        path = longer if longer in document.values or longer in document.keys else path
    return (*path, *steps[-1:])


def _fault(document: Document, path: Path_, detail: ErrorDetails, schema: type[BaseModel]) -> Fault:
    error_type, cause = detail["type"], detail.get("ctx", {}).get("error")
    rule = _RULES.get(error_type, "ST017" if error_type in _WANTED else "ST018")
    is_of_value = error_type == "value_error" and (*path, "value") in document.values
    location = (*path, "value") if is_of_value else path
    mark = document.mark(location, key=error_type == "extra_forbidden")
    if isinstance(cause, QuantityError):
        rule = cause.rule
    elif error_type == "value_error":
        says = (rule_id for words, rule_id in _OF_SENTENCES if re.search(words, str(cause)))
        rule = next(says, "ST018")
    sentence = " ".join(_sentence(document, path, detail, schema).split())
    value = document.at(*location) if location in document.values else None
    meant = value_meant(value, sentence)
    replacement = None if meant is None else (str(value), meant)
    return Fault(rule, document.file, *mark, sentence, replacement=replacement)


def _key_meant(document: Document, path: Path_, schema: type[BaseModel]) -> str | None:
    """Return the key that an unknown key probably means, even if that key is also present."""
    around = class_at(schema, document.data, path[:-1])
    return key_meant(str(path[-1]), keys_of(around)) if around else None


_RULES = {"missing": "ST016", "extra_forbidden": "ST015", "literal_error": "ST018"}

# Contradictions found by the model schema, recognized by the wording of its messages.
_OF_SENTENCES = (
    (r"kv_heads.* heads|does not divide", "MD001"),
    (r"active_experts.* exceeds", "MD002"),
    (r"active_parameters exceed", "MD003"),
    (r"KV cache", "MD004"),
    (r"missing: a model needs|go together", "ST016"),
    (r"needs the dense", "ST016"),
)


def _sentence(document: Document, path: Path_, fault: ErrorDetails, schema: type[BaseModel]) -> str:
    name = dotted(path)
    error_type, value = fault["type"], fault.get("input")
    if error_type == "missing":
        return f"'{name}' is missing"
    if error_type == "extra_forbidden":
        key, parent = shown(path[-1]), path[:-1]
        where = f" in {dotted(parent)}" if parent else ""
        return f"unknown key '{key}'{where}" + _hint_of_key(document, path, schema)
    if error_type == "value_error":
        text = str(fault["ctx"]["error"])
        return f"{name}: {text}" if path else text
    if error_type == "literal_error" or error_type.startswith("union_tag"):
        expected = fault["ctx"].get("expected") or fault["ctx"].get("expected_tags")
        if expected is None:
            return f"'{name}' needs a 'kind'"
        return f"'{_shown(value, fault)}' is not a {name}; known: {expected}"
    if error_type == "string_pattern_mismatch":
        return f"{name}: '{shown(value)}' must be lower case letters, digits, '.', '-' and '_' only"
    if error_type in ("greater_than", "greater_than_equal", "less_than_equal"):
        limits = fault["msg"].lower().removeprefix("input should be ")
        return f"{name}: {shown(value)} is out of range: {limits}"
    type_name = _WANTED.get(error_type)
    if type_name:
        is_number = error_type == "string_type" and isinstance(value, (int, float))
        hint = f': write it in quotes, "{value}"' if is_number else ""
        if type_name.startswith("a mapping") and isinstance(value, (str, int, float)):
            inside = _inside(value, class_at(schema, document.data, path))
            hint = f": write {{{inside}}}" if inside else ""
        return f"{name}: {_shown(value, fault)!r} should be {type_name}{hint}"
    return f"{name}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _inside(value: object, schema: type[BaseModel] | None) -> str | None:
    """Return the first key that contains a quantity of the same dimension, with the quantity."""
    from fastcalc.catalogue.entry_numbers import kinds_of  # only for invalid files
    from fastcalc.catalogue.schema.quantities import QuantityReader

    if schema is None or not issubclass(schema, Entry):
        return None
    for name, error_type in kinds_of(schema).items():
        if error_type:
            with suppress(QuantityError):
                QuantityReader(error_type).si(value)
                return f"{name}: {shown(value)}"
        for item in [] if error_type else classes_in(schema.model_fields[name].annotation):
            if inside := _inside(value, item):
                return f"{name}: {{{inside}}}"
    return None


def _hint_of_key(document: Document, path: Path_, schema: type[BaseModel]) -> str:
    """Return a suggestion for an unknown key, as the end of a sentence."""
    parent, meant = path[:-1], _key_meant(document, path, schema)
    given = document.keys if path in document.keys else ()  # a what-if replaces existing values
    if meant is not None and (*parent, meant) in given:
        return f"; '{meant}' is given, too: take one of them out"
    likely = [meant] if meant else _near(shown(path[-1]), schema)
    near = next((name for name in likely if (*parent, name) not in given), None)
    return f"; did you mean '{near}'?" if near else ""


def _shown(value: object, fault: ErrorDetails) -> str:
    if isinstance(value, dict):
        tag = fault.get("ctx", {}).get("tag")
        return shown(tag) if tag else "a mapping"
    return "a list" if isinstance(value, list) else shown(value)


def dotted(path: Path_) -> str:
    """Format a path in users' notation: ``memory[0].bandwidth``."""
    steps = (f"[{step}]" if isinstance(step, int) else step for step in path)
    return ".".join(steps).replace(".[", "[")


@lru_cache(maxsize=1024)
def _near(key: str, schema: type[BaseModel]) -> list[str]:
    """List the schema keys, at any depth, that resemble a key, most similar first."""
    names, waiting, visited = {"value"}, [schema], set()
    while waiting:
        model = waiting.pop()
        if model in visited:
            continue
        visited.add(model)
        names |= set(model.model_fields) - {"si", "text"}
        for field in model.model_fields.values():
            waiting += classes_in(field.annotation)
    return get_close_matches(key, names, n=len(names), cutoff=0.6)
