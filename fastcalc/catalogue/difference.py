"""Entries defined by differences: files that extend others, and a user's what-if changes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeGuard

from fastcalc.catalogue.once import once
from fastcalc.catalogue.reader import Document, Mark, Path_, inside, plain
from fastcalc.catalogue.schema import Engine, Hardware, Model
from fastcalc.catalogue.schema.engine_parameters import PARAMETERS
from fastcalc.catalogue.schema.hardware import Memory, Price
from fastcalc.errors import InputError
from fastcalc.mentions import option
from fastcalc.written import Json, did_you_mean, shown

_POINT = ("batch", "context", "prompt", "drafted")
"""The keys of a row that identify the operating point measured."""
_RESULTS = {"rows", "file", "date"}


def is_fitted(document: Document) -> bool:
    """Check whether a file has fitted values, on which the predictions of measured rows depend."""
    groups = [document.mapping("parameters")]
    groups += [
        document.mapping("architectures", name) for name in document.mapping("architectures")
    ]
    quantities = [quantity for group in groups for quantity in group.values()]
    return any(isinstance(item, dict) and item.get("source") == "fit" for item in quantities)


def joined_deployments(stated: Json, inherited: Json) -> Json:
    """Combine a file's measured deployments with inherited ones, merging equal deployments.

    The file's own deployments come first. Its rows replace inherited rows at the same batch and
    lengths.
    """
    if not isinstance(stated, list) or not isinstance(inherited, list):
        return stated
    joined, further = list(stated), list[Json]()
    for deployment in inherited:
        matches = (index for index, item in enumerate(stated) if _is_same(item, deployment))
        if (at := next(matches, None)) is None:
            further.append(deployment)
        else:
            joined[at] = _with_rows(joined[at], deployment)
    return [*joined, *further]


def _is_same(first: Json, second: Json) -> bool:
    """Check whether two deployments are equal except for their results."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return False
    keys = (first.keys() | second.keys()) - _RESULTS
    return all(first.get(key) == second.get(key) for key in keys)


def _with_rows(deployment: Json, inherited: Json) -> Json:
    """Add inherited rows at other batches or lengths to a deployment."""
    if not isinstance(deployment, dict) or not isinstance(inherited, dict):
        return deployment
    rows, further = deployment.get("rows"), inherited.get("rows")
    if not isinstance(rows, list) or not isinstance(further, list):
        return deployment
    points = [_point(row) for row in rows]
    return {**deployment, "rows": [*rows, *(row for row in further if _point(row) not in points)]}


def _point(row: Json) -> list[Json]:
    return [row.get(key) for key in _POINT] if isinstance(row, dict) else []


_NEVER_INHERITED = {"id", "name", "aliases"}
_REPLACED_WHOLE = {"ranges", "publishers"}  # values that belong to a single fit
_ROWS = {"cache_formats", "formats", "refused", "widening"}  # of an engine; the first that applies
_NO_MEMORY = Document("", {"memory": []})
_WRITTEN = re.compile(r"(?:([^:=]+):)?([^:=]+)=(.+)")
_POSITION = re.compile(r"\[([0-9]+)\]")


@dataclass(frozen=True)
class Change:
    """A what-if change of one entry, or of all entries that have the key.

    path : The dot-separated words typed by the user; names in a file may also contain dots.
    """

    written: str
    entry: str | None
    path: tuple[str, ...]
    value: Json

    def fits(self, names: Iterable[str]) -> bool:
        """Check whether the change applies to an entry with any of these names."""
        return self.entry is None or self.entry.lower() in map(str.lower, names)


def changes(what_ifs: Iterable[str] | Mapping[str, Json] | None) -> list[Change]:
    """Parse changes from ``PATH=VALUE`` texts, or from a mapping of paths to values."""
    if isinstance(what_ifs, Mapping):
        return [_valued(path, value) for path, value in what_ifs.items()]
    return [change(text) for text in what_ifs or ()]


def _valued(path: str, value: Json) -> Change:
    if isinstance(value, (list, tuple)):
        raise InputError(
            f"{option('set')} {shown(path)} has {len(value)} values; several are for "
            "'fastcalc sweep', others take one"
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return replace(change(f"{path}={value}"), value=plain(value) if type(value) is str else value)


def change(written: str) -> Change:
    """Parse a change such as ``memory.SRAM.capacity=60GB`` or ``wse-3:price.cloud=30 USD/h``."""
    match = _WRITTEN.fullmatch(written.strip())
    if match is None:
        raise InputError(
            f"{option('set')} '{shown(written)}' is not PATH=VALUE, such as "
            "memory.SRAM.capacity=60GB, or wse-3:memory.SRAM.capacity=60GB for one chip of several"
        )
    path = tuple(step.strip() for step in _POSITION.sub(r".\1", match[2]).split("."))
    fields = (set(schema.model_fields) for schema in (Hardware, Model, Engine))
    keys = set[str]().union(*fields) - _NEVER_INHERITED - {"extends"}
    if path[0] in _NEVER_INHERITED | {"extends"}:
        reason = (
            f"'{path[0]}' says which file it is, and {option('set')} changes what a file says of it"
        )
        raise InputError(
            f"{option('set')} {shown(written)}: {reason}; write it in a file of your own"
        )
    if path[0] not in keys:
        parents = (("memory.NAME", Memory.model_fields), ("price", Price.model_fields))
        paths = {key: f"{parent}.{key}" for parent, within in parents for key in within}
        hint = did_you_mean(
            path[0],
            (paths | {key: f"parameters.{key}" for key in PARAMETERS} | {key: key for key in keys}),
            "'fastcalc show' prints an entry's keys",
            0.7,
        )
        raise InputError(
            f"{option('set')} {shown(written)}: no file has a key '{shown(path[0])}'; {hint}"
        )
    return Change(written.strip(), match[1], path, plain(match[3].strip()))


def changed(document: Document, what_if: Change) -> tuple[Document, str] | None:
    """Replace a value in a document and describe the change, or return None if it is missing."""
    path = _located(document.data, what_if.path)
    if path is None:
        return None
    supposed = replace(document, data=deepcopy(document.data))
    around, step = supposed.at(*path[:-1]), path[-1]
    if isinstance(around, list) and isinstance(step, int):
        around[step] = what_if.value
    elif isinstance(around, dict):
        around[str(step)] = what_if.value
    old = document.at(*path)
    before = old.get("value") if isinstance(old, dict) else old
    says = "has none" if before is None else f"says {before}"
    location = ".".join(what_if.path)
    id_ = document.at("id")
    sentence = f"what if: {location} of {id_} is {what_if.value}, where its file {says}"
    groups = document.mapping("architectures") if path[0] == "parameters" else {}
    overriding = [
        name
        for name in groups
        if path[1:] and document.mapping("architectures", name).keys() & {path[1]}
    ]
    if overriding:  # core prefers these to the engine's values
        sentence += f"; {', '.join(overriding)} has its own under architectures"
    return supposed, sentence


def _located(node: Json, path: tuple[str, ...]) -> Path_ | None:
    """Locate a user's path in a document. The last key may be new in its mapping.

    Several words may form a single key (``architectures.rdna3.5``); list items have a name or
    index.
    """
    for count in range(len(path), 0, -1):
        word, below = ".".join(path[:count]), path[count:]
        if isinstance(node, list):
            step: str | int = _position(node, word.lower())
            is_there = step != len(node)
        else:
            step, is_there = word, isinstance(node, dict) and word in node
        if is_there and not below:
            return (step,)
        if is_there and (steps := _located(inside(node, step), below)) is not None:
            return (step, *steps)
    return path if isinstance(node, dict) and len(path) == 1 else None


def _position(members: list[Json], word: str) -> int:
    """Return the index of a list item by name or index, or the list's length if it is new."""
    names = [
        str(member.get("name")).lower() if isinstance(member, dict) else None for member in members
    ]
    positions = list(map(str, range(len(members))))
    return next(
        (labels.index(word) for labels in (names, positions) if word in labels), len(members)
    )


def joined(chain: Sequence[Document]) -> list[Document]:
    """Merge a chain of documents, each extending the next. Each result has all inherited values."""
    *documents, last = chain
    if isinstance(last.at("memory"), dict):  # by name, in a list that extends nothing
        last = extended(last, _NO_MEMORY)
    wholes = [last]
    for document in reversed(documents):
        wholes.insert(0, extended(document, wholes[0]))
    return wholes


@once
def extended(document: Document, base: Document) -> Document:
    """Fill in a document's missing values from the document that it extends.

    Mappings are merged key by key, and lists of named items by name. A mapping merges into a list
    by item name or index; ranges and all other values are replaced as a whole. Format rows of an
    engine precede inherited rows, unless the list is empty. An engine parameter also overrides
    inherited values for individual chips. Measured deployments are combined, unless the document
    has fitted values, which change the predictions behind measured rows. Without a name of its own,
    the document gets the inherited name with its own id. Inherited values keep their sources; one
    whose name the document gives to another source is renamed.
    """
    moved: dict[Path_, Path_] = {}
    parents, own = base.mapping(), document.mapping()
    inherited = {key: item for key, item in parents.items() if key not in _NEVER_INHERITED}
    if "name" in parents and "id" in own:
        inherited["name"] = f"{parents['name']} ({own['id']})"
    inherited = _with_sources_apart(inherited, own.get("sources"), str(parents.get("id")))
    if isinstance(groups := inherited.get("architectures"), dict):
        parameters = document.mapping("parameters")  # specified for all chips
        inherited["architectures"] = {
            name: {key: value for key, value in group.items() if key not in parameters}
            if isinstance(group, dict)
            else group
            for name, group in groups.items()
        }
    if is_fitted(document):
        inherited.pop("own_deployments", None)
    data = dict(inherited)
    for key, stated in own.items():
        parent = None if key in _REPLACED_WHOLE else inherited.get(key)
        data[key] = _over(parent, stated, (key,), moved)
        if key in _ROWS and isinstance(stated, list) and isinstance(parent, list) and stated:
            data[key] = [*(_ended_last(stated) if key == "refused" else stated), *parent]
        elif key == "own_deployments":
            data[key] = joined_deployments(stated, parent)

    def places(marks: dict[Path_, Mark]) -> dict[Path_, Mark]:
        merged: dict[Path_, Mark] = {}  # by path in the merged document
        for at, mark in marks.items():
            length = next((length for length in range(len(at), 0, -1) if at[:length] in moved), 0)
            merged[(*moved[at[:length]], *at[length:]) if length else at] = mark
        return merged

    return replace(document, data=data, values=places(document.values), keys=places(document.keys))


def _with_sources_apart(inherited: dict[str, Json], own: Json, base: str) -> dict[str, Json]:
    """Rename inherited sources whose names a document gives to other sources."""
    sources = inherited.get("sources")
    if not (isinstance(sources, dict) and isinstance(own, dict)):
        return inherited
    renamed = {
        name: f"{name} of {base}"
        for name, source in sources.items()
        if name in own and own[name] != source
    }

    def cited(value: Json) -> Json:
        if isinstance(value, list):
            return [cited(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: renamed.get(item, item)
            if key in ("source", "shape_source") and isinstance(item, str)
            else cited(item)
            for key, item in value.items()
        }

    if not renamed:
        return inherited
    kept = {renamed.get(name, name): source for name, source in sources.items()}
    return {key: cited(value) for key, value in inherited.items()} | {"sources": kept}


def _ended_last(rows: list[Json]) -> list[Json]:
    """Order an engine's refusals before its empty lists, which end inherited refusals."""
    lists = ("weights", "caches")
    mappings = [row for row in rows if isinstance(row, dict)]
    ends = [{k: v for k, v in row.items() if k not in lists or v == []} for row in mappings]
    own = [{k: v for k, v in row.items() if k not in lists or v != []} for row in mappings]
    return [*own, *ends] if len(mappings) == len(rows) else rows


def _over(base: Json, stated: Json, path: Path_, moved: dict[Path_, Path_]) -> Json:
    """Merge a value with the one it extends, and record list items whose index changes."""
    if isinstance(base, dict) and isinstance(stated, dict):
        is_other_kind = stated.get("kind", base.get("kind")) != base.get("kind")
        is_source = len(path) == 2 and path[0] == "sources"  # from one document or the other
        if is_other_kind or is_source or "value" in base or "value" in stated:
            return stated
        joined = {
            key: _over(base.get(key), item, (*path, key), moved) for key, item in stated.items()
        }
        return {**base, **joined}
    if not isinstance(base, list):
        return stated
    pieces: Iterable[tuple[str | int, Json]] = ()
    if _is_named(base) and _is_named(stated):
        pieces = enumerate(stated)
    elif isinstance(stated, dict) and all(isinstance(item, dict) for item in stated.values()):
        pieces = stated.items()
        if not _is_named(base) and any(_position(base, key.lower()) == len(base) for key in stated):
            return stated  # items without a name have an index that exists
    joined_list = list(base)
    for step, item in pieces:
        name = str(inside(item, "name")) if isinstance(step, int) else step
        at = _position(joined_list, name.lower())
        moved[*path, step] = (*path, at)
        parent: Json = joined_list[at] if at < len(joined_list) else {"name": name}
        joined_list[at : at + 1] = [_over(parent, item, (*path, step), moved)]
    return joined_list if pieces else stated


def _is_named(value: Json) -> TypeGuard[list[dict[str, Json]]]:
    return isinstance(value, list) and all(
        isinstance(member, dict) and "name" in member for member in value
    )
