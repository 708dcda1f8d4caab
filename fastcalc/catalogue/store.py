"""Find and load entries: shipped ones, the user's own folders, or a path to a file."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from fastcalc.catalogue.difference import Change, changed, extended
from fastcalc.catalogue.faults import refuse
from fastcalc.catalogue.folders import shipped_folder as shipped
from fastcalc.catalogue.once import once
from fastcalc.catalogue.reader import Document, read
from fastcalc.catalogue.schema import Engine, Entry, Hardware, Model
from fastcalc.catalogue.stand_ins import service
from fastcalc.catalogue.validation import validate
from fastcalc.errors import InputError, placed
from fastcalc.written import shown

LONGEST_CHAIN = 30  # of entries that one extends in turn; more are a slip, and slow to check
LONGEST_NAME = 255  # bytes of one part of a path on the common file systems
Kind = Literal["hardware", "models", "engines"]
_SINGULAR = {"hardware": "hardware", "models": "model", "engines": "engine"}

AnyEntry = TypeVar("AnyEntry", Hardware, Model, Engine)
AnyFile = TypeVar("AnyFile", bound=Entry)


SCHEMAS: dict[Kind, type[Hardware] | type[Model] | type[Engine]] = {
    "hardware": Hardware,
    "models": Model,
    "engines": Engine,
}

_SHARED = {"id", "name", "aliases", "sources", "notes", "excused", "released", "hypothetical"}


_NO_MEMORY = Document("", {"memory": []})


def kind_of(document: Document, preferred: Kind | None = None) -> Kind | None:
    """Return the kind of a document's keys.

    Where several tie, the preferred, that of its folder, or that of the shipped entry it extends.
    """
    keys = set(document.data) if isinstance(document.data, dict) else set()
    telling = keys - _SHARED
    counts = {kind: len(telling & set(schema.model_fields)) for kind, schema in SCHEMAS.items()}
    top_count = max(counts.values())
    likely = [kind for kind, count in counts.items() if count == top_count]
    if top_count and (len(likely) == 1 or preferred in likely):
        return preferred if preferred in likely else likely[0]
    folder = Path(os.path.realpath(document.file)).parent.name
    if not top_count or folder in likely:
        return next((kind for kind in likely if kind == folder), None)
    parent = f"{shown(document.at('extends'))}.yaml"
    return next((kind for kind in likely if (shipped(kind) / parent).is_file()), likely[0])


def is_of_another_program(document: Document) -> bool:
    """Return whether most keys of a document, as far as it could be read, are none of ours."""
    kind = kind_of(document)
    if kind is None and not document.faults:
        return True
    if not isinstance(document.data, dict):
        return isinstance(document.data, list)
    ours = _SHARED if kind is None else SCHEMAS[kind].model_fields.keys()
    our_keys = len(document.data.keys() & ours)
    return 2 * our_keys < len(document.data) or not document.data


@dataclass(frozen=True)
class Catalogue:
    """The folders that names are looked up in, the user's own before the shipped ones."""

    user_folders: dict[Kind, tuple[Path, ...]] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    _entries: dict[tuple[Path, Kind], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for kind, folders in self.user_folders.items():
            for folder in folders:
                if not os.path.isdir(folder):
                    content = f"it should hold {kind} as YAML files"
                    raise InputError(f"{folder} is not a folder; {content}")

    def folders(self, kind: Kind) -> list[Path]:
        """Return the folders of a kind in the order they are searched."""
        return [*self.user_folders.get(kind, ()), shipped(kind)]

    def names(self, kind: Kind) -> list[str]:
        """Return every id of a kind, sorted, without opening a file."""
        return sorted({path.stem for folder in self.folders(kind) for path in files_in(folder)})

    def mentioning(self, kind: Kind, words: Iterable[str]) -> list[str]:
        """Return the ids whose files hold one of some words, sorted, without parsing them."""
        needles = [word.encode() for word in words]
        mentions: dict[str, bool] = {}
        for folder in self.folders(kind):
            for path in files_in(folder):
                if path.stem not in mentions:
                    text = path.read_bytes()
                    mentions[path.stem] = any(word in text for word in needles)
        return sorted(name for name, is_mentioned in mentions.items() if is_mentioned)

    def hardware(self, name: str) -> Hardware:
        """Return one chip by id, alias or path."""
        return self._load(name, "hardware", Hardware)

    def model(self, name: str) -> Model:
        """Return one model by id, alias or path; the path may be a Hugging Face configuration."""
        if self.is_configuration(name):
            from fastcalc.importers.huggingface import import_model

            return import_model(name).model
        return self._load(name, "models", Model)

    def is_configuration(self, name: str) -> bool:
        """Return whether a name means a Hugging Face ``config.json`` or the folder of one."""
        if _is_too_long(name):
            return False
        if name.lower().endswith(".json"):
            return True
        if not os.path.isdir(name):
            return False
        if "/" in name or "\\" in name or name in (".", ".."):
            return True
        return os.path.exists(Path(name, "config.json")) and not self.knows(name, "models")

    def engine(self, name: str) -> Engine:
        """Return one engine by id, alias or path."""
        return self._load(name, "engines", Engine)

    def engine_files(self) -> list[Engine]:
        """Return every engine as its file has it, without the numbers of those it extends."""
        engines = []
        for document in (read(self._find(name, "engines")) for name in self.names("engines")):
            words = {"name": "", "fitted_on": "", **document.data}  # a parent's, where left out
            engines.append(_valid(replace(document, data=words), Engine))
        return engines

    def of_any_kind(self, path: Path) -> Hardware | Model | Engine:
        """Return the entry of a YAML file, whose keys give its kind, or raise InputError."""
        document = read(path)
        kind = kind_of(document) or "models"
        if kind == "hardware":
            return self._entry(path, document, kind, Hardware)
        if kind == "models":
            return self._entry(path, document, kind, Model)
        return self._entry(path, document, kind, Engine)

    def _load(self, name: str, kind: Kind, schema: type[AnyEntry]) -> AnyEntry:
        path = self._find(name, kind)
        if (path, kind) not in self._entries:
            self._entries[path, kind] = self._entry(path, read(path), kind, schema)
        entry: AnyEntry = self._entries[path, kind]
        return entry

    def _entry(
        self, path: Path, document: Document, kind: Kind, schema: type[AnyEntry]
    ) -> AnyEntry:
        is_kind = kind_of(document, kind) or kind
        stated = document
        document = self.whole(document, kind) if is_kind == kind else document
        entry, faults = validate(document, schema)
        if entry is None and is_kind == kind:
            if base := document.at("extends"):  # what is wrong there is said of that file
                with placed(document.place, "extends"):
                    self._load(str(base), kind, schema)
            raise refuse(faults)
        if entry is None:
            mismatch = f"this is a file of {is_kind}, where one of {kind} is asked for"
            raise InputError(f"{document.place()}: {mismatch}")
        if path.parent in self.folders(kind) and entry.id != path.stem:
            raise InputError(
                f"{document.place('id')}: the file is called {path.stem} but its id is {entry.id}; "
                f"names are looked up by file: call it {entry.id}.yaml, or write 'id: {path.stem}'"
            )
        entry = self._supposing(entry, document, schema) if self.changes else entry
        if not stated.at("extends"):
            return entry
        return _inheriting(entry, tuple(self._stated_by(stated, kind).items()))

    def _stated_by(self, document: Document, kind: Kind) -> dict[str, str]:
        """Return the id of the entry that states each key which a document itself does not."""
        stated_by: dict[str, str] = {}
        own_keys = document.data.keys()
        while path := self._extended_by(document, kind):
            document = read(path)
            for key in document.data.keys() - own_keys:
                stated_by.setdefault(key, str(document.at("id")))
        return stated_by

    def _supposing(self, entry: AnyEntry, document: Document, schema: type[AnyEntry]) -> AnyEntry:
        what_if = {}
        for change in self.changes:
            applied = changed(document, change) if change.fits((entry.id, *entry.aliases)) else None
            if applied is None or change.path[0] not in schema.model_fields:
                continue
            document, what_if[change.written] = applied
            supposed, faults = validate(document, schema)
            if supposed is None:
                raise InputError(f"--set {change.written}: {faults[0].message}")
            entry = supposed
        return entry.supposing(what_if)

    def whole(self, document: Document, kind: Kind) -> Document:
        """Return a document with everything that it takes from those it extends.

        Raises InputError if there is no such entry, or entries extend each other in a circle, or
        further than `LONGEST_CHAIN`.
        """
        chain, files = [document], [os.path.realpath(document.file)]
        while path := self._extended_by(chain[-1], kind):
            with placed(chain[-1].place, "extends"):
                files.append(os.path.realpath(path))
                if files[-1] in files[:-1]:
                    circle = " -> ".join(Path(file).stem for file in files)
                    raise InputError(f"entries extend each other in a circle: {circle}")
                if len(chain) > LONGEST_CHAIN:
                    too_long = f"{LONGEST_CHAIN} entries that extend one another are the most"
                    raise InputError(f"{too_long}; let {Path(files[0]).stem} extend a nearer one")
                chain.append(read(path))
        joined = chain.pop()
        if isinstance(joined.at("memory"), dict):  # by name, as a list that joins none
            joined = _extended(joined, _NO_MEMORY)
        while chain:
            joined = _extended(chain.pop(), joined)
        return joined

    def parent(self, document: Document, kind: Kind) -> Document | None:
        """Return the whole document of the entry that one extends, or None.

        Raises InputError where `whole` does.
        """
        path = self._extended_by(document, kind)
        return self.whole(read(path), kind) if path else None

    def _extended_by(self, document: Document, kind: Kind) -> Path | None:
        """Return the file of the entry that a document extends, or None.

        A file that comes from elsewhere opens none but the user's own and the catalogue's.
        """
        base = str(document.at("extends") or "")
        with placed(document.place, "extends"):
            if "/" in base or "\\" in base:
                hint = "write the id of an entry, or the name of a .yaml file of this folder"
                raise InputError(f"'{shown(base)}' is a path, which extends does not take; {hint}")
            return self._find(base, kind) if base else None

    def refuse_idle_changes(self, kind: Kind, entries: Iterable[Entry]) -> None:
        """Refuse a change that none of some entries of a kind has a place for."""
        applied = {written for entry in entries for written in entry.what_if}
        for change in self.changes:
            if change.path[0] in SCHEMAS[kind].model_fields and change.written not in applied:
                called = f" and is called {change.entry}" if change.entry else ""
                reason = f"no {_SINGULAR[kind]} asked about has that place{called}"
                hint = "'fastcalc show NAME' prints what one has"
                raise InputError(f"--set {change.written}: {reason}; {hint}")

    def knows(self, name: str, kind: Kind) -> bool:
        """Return whether a kind has an entry of this id or alias."""
        if _is_too_long(name):
            return False
        return self._named(name, kind) is not None or name.lower() in self._by_alias(kind)

    def owner(self, name: str, kind: Kind) -> str | None:
        """Return the id of the entry that a name finds, or None."""
        path = None
        if not _is_too_long(name):
            path = self._named(name, kind) or self._by_alias(kind).get(name.lower())
        return path.stem if path else None

    def known(self, kind: Kind) -> frozenset[str]:
        """Return every id and alias of a kind in lower case."""
        return frozenset((*map(str.lower, self.names(kind)), *self._by_alias(kind)))

    def _find(self, name: str, kind: Kind) -> Path:
        if _is_too_long(name):
            limit = f"any name of {_SINGULAR[kind]} or file"
            raise InputError(f"'{shown(name)}' is longer than {limit}")
        if name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name:
            if os.path.exists(name):
                return Path(name)
            if kind != "models":
                raise InputError(f"{name}: there is no such file")
            from fastcalc.importers.huggingface import missing_file  # it may be a name on a hub

            last = name.rsplit("/", 1)[-1].lower()
            in_catalogue = f"; the catalogue has '{last}'" if self.knows(last, kind) else ""
            raise InputError(missing_file(name) + in_catalogue)
        if path := self._named(name, kind):
            return path
        aliases = self._by_alias(kind)
        if name.lower() in aliases:
            return aliases[name.lower()]
        if kind == "models" and (unpublished := service(name)):
            raise InputError(unpublished.refusal)
        near = nearest(name, [*self.names(kind), *aliases])
        hint = f"did you mean {' or '.join(near)}?" if near else f"'fastcalc list {kind}' names all"
        places: dict[Kind, str] = {"hardware": "--on", "models": "MODEL", "engines": "--engine"}
        elsewhere = (
            f"; {name} is among the {sibling_kind}: it goes with {flag}"
            for sibling_kind, flag in places.items()
            if sibling_kind != kind and self._named(name, sibling_kind)
        )
        sentence = f"no {_SINGULAR[kind]} is called '{shown(name)}'; {hint}"
        raise InputError(sentence + next(elsewhere, ""))

    def _named(self, name: str, kind: Kind) -> Path | None:
        paths = (folder / f"{name}.yaml" for folder in self.folders(kind))
        return next((path for path in paths if name and path.is_file()), None)

    def _by_alias(self, kind: Kind) -> dict[str, Path]:
        """Return the files of all ids and aliases in lower case, the user's own first."""
        paths: dict[str, Path] = {}
        for folder in reversed(self.folders(kind)):
            for path in files_in(folder):
                state = path.stat()
                paths |= dict.fromkeys(_aliases(path, state.st_mtime_ns, state.st_size), path)
        return paths


_extended = once(extended)


@once
def _inheriting(entry: AnyEntry, stated_by: tuple[tuple[str, str], ...]) -> AnyEntry:
    """Return the same entry for the same files, so that what rests on it is kept, too."""
    return entry.inheriting(dict(stated_by))


def files_in(folder: Path) -> list[Path]:
    """Return the entries of a folder, sorted; a pipe called like one would be waited for."""
    return sorted(path for path in folder.glob("*.yaml") if os.path.isfile(path))


def _is_too_long(name: str) -> bool:
    return max(map(len, os.fsencode(name).split(b"/"))) + len(".yaml") > LONGEST_NAME


@lru_cache(maxsize=4096)  # a file of measurements may hold thousands of names that nobody knows
def _aliases(path: Path, changed: int, size: int) -> Iterable[str]:  # noqa: ARG001  (the key)
    """Return an entry's names in lower case; a broken neighbour has its file's alone."""
    try:
        data = read(path).data
    except InputError:
        return [path.stem]
    listed = data.get("aliases")
    names = [data.get("id", path.stem), *(listed if isinstance(listed, list) else [])]
    return [path.stem.lower(), *(str(name).lower() for name in names)]


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three known names that look like one, or that hold it."""
    distinct, lowered = list(dict.fromkeys(names)), name.lower()
    near = get_close_matches(lowered, distinct, n=3, cutoff=0.5)
    near += [
        candidate
        for candidate in distinct
        if lowered and lowered in candidate and candidate not in near
    ]
    return near[:3]


def load(path: Path, schema: type[AnyFile]) -> AnyFile:
    """Read one YAML file into its schema, or raise InputError with the first fault."""
    return _valid(read(path), schema)


def _valid(document: Document, schema: type[AnyFile]) -> AnyFile:
    entry, faults = validate(document, schema)
    if entry is None:
        raise refuse(faults)
    return entry
