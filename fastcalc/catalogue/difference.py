"""Entries by what differs: a file that extends another, and a what-if from the command line."""

import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from fastcalc.catalogue.reader import Document, Path_, plain
from fastcalc.catalogue.schema import Hardware, Model
from fastcalc.errors import InputError
from fastcalc.written import shown

_NEVER_INHERITED = {"id", "name", "aliases"}
_REPLACED_WHOLE = {"ranges"}  # residuals of one fit
_WRITTEN = re.compile(r"(?:([^.:=]+):)?([^:=]+)=(.+)")


@dataclass(frozen=True)
class Change:
    """A value that an entry is given instead of its file's; without a name, all that hold it."""

    written: str
    entry: str | None
    path: tuple[str, ...]
    value: Any

    def fits(self, names: Iterable[str]) -> bool:
        """Return whether an entry of some names is meant."""
        return self.entry is None or self.entry in names


def change(written: str) -> Change:
    """Return the change of ``memory.SRAM.capacity=60GB``, or of ``wse-3:price.cloud=30 USD/h``.

    Raises InputError if it is not of that form, or nothing has such a key.
    """
    match = _WRITTEN.fullmatch(written.strip())
    if match is None:
        raise InputError(
            f"--set '{shown(written)}' is not PATH=VALUE, such as memory.SRAM.capacity=60GB, or "
            "wse-3:memory.SRAM.capacity=60GB for one chip of several"
        )
    path = tuple(step.strip() for step in match[2].split("."))
    known = (set(Hardware.model_fields) | set(Model.model_fields)) - _NEVER_INHERITED
    if path[0] not in known:
        near = get_close_matches(path[0], known, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'?" if near else "'fastcalc show' prints an entry's keys"
        raise InputError(f"--set {shown(written)}: no file has a key '{shown(path[0])}'; {hint}")
    return Change(written.strip(), match[1], path, plain(match[3].strip()))


def changed(document: Document, what_if: Change) -> tuple[Document, str] | None:
    """Return a document with a value in place of its own and a sentence, or None without it."""
    data = deepcopy(document.data)
    here, last = data, what_if.path[-1]
    for step in what_if.path[:-1]:
        if isinstance(here, list):
            named = (one for one in here if isinstance(one, dict))
            here = next((one for one in named if str(one.get("name")).lower() == step.lower()), {})
        else:
            here = here.get(step) if isinstance(here, dict) else None
        if not here:
            return None
    if not isinstance(here, dict):
        return None
    old = here.get(last)
    here[last] = what_if.value
    before = old.get("value") if isinstance(old, dict) else old
    says = "has none" if before is None else f"says {before}"
    place = ".".join(what_if.path)
    sentence = f"what if: {place} of {data['id']} is {what_if.value}, where its file {says}"
    return replace(document, data=data), sentence


def extended(document: Document, base: Document) -> Document:
    """Return a document with everything that it leaves out taken from another.

    Mappings are joined key by key, and lists of named things by name; ranges and all else stand
    whole. A parameter of an engine stands before what the other says of it for single chips, too.
    Its name is the other's with its own id, unless it has one.
    """
    moved: dict[Path_, Path_] = {}
    inherited = {key: one for key, one in base.data.items() if key not in _NEVER_INHERITED}
    if "name" in base.data and "id" in document.data:
        inherited["name"] = f"{base.data['name']} ({document.data['id']})"
    if isinstance(inherited.get("architectures"), dict):
        groups = inherited["architectures"].items()
        given = document.at("parameters")
        inherited["architectures"] = {name: _without(given, one) for name, one in groups}
    data = dict(inherited)
    for key, own in document.data.items():
        parent = None if key in _REPLACED_WHOLE else inherited.get(key)
        data[key] = _over(parent, own, (key,), moved)

    def places(marks: dict[Path_, Any]) -> dict[Path_, Any]:
        return {(*moved.get(at[:2], at[:2]), *at[2:]): mark for at, mark in marks.items()}

    return replace(document, data=data, values=places(document.values), keys=places(document.keys))


def _without(given: Any, parameters: Any) -> Any:
    """Return the parameters of a group of chips without those given for all chips."""
    if not (isinstance(given, dict) and isinstance(parameters, dict)):
        return parameters
    return {name: value for name, value in parameters.items() if name not in given}


def _over(base: Any, own: Any, path: Path_, moved: dict[Path_, Path_]) -> Any:
    """Return a value over the one it extends; note the lists' items that stand elsewhere now."""
    if isinstance(base, dict) and isinstance(own, dict):
        is_other_kind = own.get("kind", base.get("kind")) != base.get("kind")
        is_source = len(path) == 2 and path[0] == "sources"  # one document or the other
        if is_other_kind or is_source or "value" in base or "value" in own:
            return own
        joined = {key: _over(base.get(key), one, (*path, key), moved) for key, one in own.items()}
        return {**base, **joined}
    if not (_is_named(base) and _is_named(own)):
        return own
    names, found = [one["name"] for one in base], list(base)
    for index, one in enumerate(own):
        at = names.index(one["name"]) if one["name"] in names else len(found)
        moved[*path, index] = (*path, at)
        found[at : at + 1] = [_over(found[at] if at < len(found) else None, one, path, moved)]
    return found


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and "name" in one for one in value)
