"""A document to its entry, and the schema's errors to faults with file, line and column."""

import re
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

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
    """Return the entry that a document holds, or None, and what is wrong with it.

    Unknown keys come first: a misspelt key is also a missing one, and is what the user can fix.
    """
    try:
        if schema not in document.entries:
            document.entries[schema] = schema.model_validate(document.data)
        return document.entries[schema], []
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=True)[:MOST]
        placed = []
        for detail in errors:
            kind, cause = detail["type"], detail.get("ctx", {}).get("error")
            # Steps that pydantic adds for unions are dropped: those in the file are kept.
            path: Path_ = ()
            for step in detail["loc"][:-1]:
                longer = (*path, step)
                path = longer if longer in document.values or longer in document.keys else path
            path = (*path, *detail["loc"][-1:])
            # A default that follows from a field which is wrong itself is no other fault.
            if kind == "default_factory_not_called" or document.is_refused(path):
                continue
            rule = _RULES.get(kind, "ST017" if kind in _WANTED else "ST018")
            is_of_value = kind == "value_error" and (*path, "value") in document.values
            place = (*path, "value") if is_of_value else path
            mark = document.mark(place, key=kind == "extra_forbidden")
            if isinstance(cause, QuantityError):
                rule = cause.rule
            elif kind == "value_error":
                says = (rule_id for words, rule_id in _OF_SENTENCES if re.search(words, str(cause)))
                rule = next(says, "ST018")
            sentence = " ".join(_sentence(document, path, detail, schema).split())
            replacement = _replacement(document.at(*place), path, sentence)
            placed.append(Fault(rule, document.file, *mark, sentence, replacement=replacement))
        placed.sort(key=lambda fault: (fault.rule != "ST015", fault.line, fault.column))
        # Of the key that a misspelt one stands for, nothing more is said.
        misspelt = [_MISSPELT.search(fault.message) for fault in placed if fault.rule == "ST015"]
        keys = [f"{match[1]}.{match[2]}" if match[1] else match[2] for match in misspelt if match]
        meant = {f"'{key}' is missing" for key in keys}
        return None, [fault for fault in placed if fault.message not in meant]


_MISSPELT = re.compile(r"(?: in (\S+))?; did you mean '([^']+)'\?$")
_MEANT = re.compile(r"'([^']+)' is .*did you mean '([^']+)'\?$")


def _replacement(value: object, path: Path_, sentence: str) -> tuple[str, str] | None:
    """Return the text in the file that a sentence knows a better one for, and that."""
    if sentence.startswith("unknown key"):
        match = _MISSPELT.search(sentence)
        return (str(path[-1]), match[2]) if match else None
    match = _MEANT.search(sentence)
    if match is None or not isinstance(value, str) or match[1] not in value:
        return None
    return value, value.replace(match[1], match[2])


_RULES = {"missing": "ST016", "extra_forbidden": "ST015", "literal_error": "ST018"}


# What the schema of a model finds contradictory, by the words of its sentences.
_OF_SENTENCES = (
    (r"kv_heads.* heads|does not divide", "MD001"),
    (r"active_experts.* exceeds", "MD002"),
    (r"active_parameters exceed", "MD003"),
    (r"KV cache", "MD004"),
    (r"missing: a model needs|go together", "ST016"),
    (r"needs the dense", "ST016"),
)


def _sentence(document: Document, path: Path_, fault: Any, schema: type[BaseModel]) -> str:
    name = dotted(path)
    kind, value = fault["type"], fault.get("input")
    if kind == "missing":
        return f"'{name}' is missing"
    if kind == "extra_forbidden":
        key, parent = shown(path[-1]), path[:-1]
        stated = set(document.at(*parent))
        near = next(
            (candidate for candidate in _near(key, schema) if candidate not in stated), None
        )
        where = f" in {dotted(parent)}" if parent else ""
        return f"unknown key '{key}'{where}" + (f"; did you mean '{near}'?" if near else "")
    if kind == "value_error":
        text = str(fault["ctx"]["error"])
        return f"{name}: {text}" if path else text
    if kind == "literal_error" or kind.startswith("union_tag"):
        expected = fault["ctx"].get("expected") or fault["ctx"].get("expected_tags")
        if expected is None:
            return f"'{name}' needs a 'kind'"
        return f"'{_shown(value, fault)}' is not a {name}; known: {expected}"
    if kind == "string_pattern_mismatch":
        return f"{name}: '{shown(value)}' must be lower case letters, digits, '.', '-' and '_' only"
    if kind in ("greater_than", "greater_than_equal", "less_than_equal"):
        limits = fault["msg"].lower().removeprefix("input should be ")
        return f"{name}: {shown(value)} is out of range: {limits}"
    type_name = _WANTED.get(kind)
    if type_name:
        is_number = kind == "string_type" and isinstance(value, (int, float))
        hint = f': write it in quotes, "{value}"' if is_number else ""
        if type_name.startswith("a mapping") and isinstance(value, (str, int, float)):
            inside = _inside(value, _class_at(schema, path))
            hint = f": write {{{inside}}}" if inside else ""
        return f"{name}: {_shown(value, fault)!r} should be {type_name}{hint}"
    return f"{name}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _class_at(schema: type[BaseModel] | None, path: Path_) -> type[BaseModel] | None:
    """Return the class of what a path leads to, where it is one alone."""
    for step in path:
        field = schema.model_fields.get(str(step)) if schema else None
        classes = _classes(field.annotation) if field else []
        schema = classes[0] if len(classes) == 1 else None
    return schema


def _inside(value: object, schema: type[BaseModel] | None) -> str | None:
    """Return the first key of a mapping that holds a quantity like this one, with the quantity."""
    from fastcalc.catalogue.entry_numbers import kinds_of  # only where a file is wrong
    from fastcalc.catalogue.schema.quantities import QuantityReader

    if schema is None or not issubclass(schema, Entry):
        return None
    for name, kind in kinds_of(schema).items():
        if kind:
            with suppress(QuantityError):
                QuantityReader(kind).si(value)
                return f"{name}: {shown(value)}"
        for part in [] if kind else _classes(schema.model_fields[name].annotation):
            if inside := _inside(value, part):
                return f"{name}: {{{inside}}}"
    return None


def _shown(value: object, fault: Any) -> str:
    if isinstance(value, dict):
        tag = fault.get("ctx", {}).get("tag")
        return shown(tag) if tag else "a mapping"
    return "a list" if isinstance(value, list) else shown(value)


def dotted(path: Path_) -> str:
    """Return a path as people write it: ``memory[0].bandwidth``."""
    steps = (f"[{step}]" if isinstance(step, int) else step for step in path)
    return ".".join(steps).replace(".[", "[")


@lru_cache(maxsize=1024)
def _near(key: str, schema: type[BaseModel]) -> list[str]:
    """Return the keys of a schema, at any depth, that one is like, nearest first."""
    names, waiting, visited = {"value"}, [schema], set()
    while waiting:
        model = waiting.pop()
        if model in visited:
            continue
        visited.add(model)
        names |= set(model.model_fields) - {"si", "text"}
        for field in model.model_fields.values():
            waiting += _classes(field.annotation)
    return get_close_matches(key, names, n=len(names), cutoff=0.6)


def _classes(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [cls for part in getattr(annotation, "__args__", ()) for cls in _classes(part)]
