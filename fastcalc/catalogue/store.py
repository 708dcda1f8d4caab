"""Catalogue entries by name: find the file, merge the files it extends, and validate it."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from fastcalc.catalogue.difference import Change, changed, joined
from fastcalc.catalogue.faults import refuse
from fastcalc.catalogue.kinds import FIELDS, SCHEMAS, SINGULAR, Kind, kind_of
from fastcalc.catalogue.names import Names, is_too_long
from fastcalc.catalogue.once import once
from fastcalc.catalogue.reader import Document, read
from fastcalc.catalogue.schema import Engine, Entry, Hardware, Model, NamedEntry, Parameters
from fastcalc.catalogue.validation import validate
from fastcalc.errors import InputError, placed
from fastcalc.mentions import option
from fastcalc.written import Json, shown


def parts_of(name: str) -> list[str]:
    """Split names joined by '+', variants last, even if file paths contain a '+'.

    >>> parts_of("vllm-0.19+eager"), parts_of("a+b/mine.yaml+eager"), parts_of("a+b.yaml")
    (['vllm-0.19', 'eager'], ['a+b/mine.yaml', 'eager'], ['a+b.yaml'])
    """
    release, plus, variant = name.rpartition("+")
    if not plus or "/" in variant or "\\" in variant or variant.endswith((".yaml", ".yml")):
        return [name]
    if not release:
        raise InputError(
            f"'{shown(name)}': no engine precedes the '+': write for example vllm{shown(name)}, "
            f"or {shown(variant)}"
        )
    if not variant:
        raise InputError(f"'{shown(name)}': no engine follows the '+': write {shown(release)}")
    return [*parts_of(release), variant]


def refuse_unrelated(name: str, variant: Sequence[Document], release: Sequence[Document]) -> None:
    """Raise an error if the engine after a '+' is not a variant of the one before it.

    A variant extends an engine of the same program; the release must be that engine or extend it.

    name : Both engines, as typed.
    variant, release : Each engine's file, followed by the files that it extends.
    """
    own, before = str(variant[0].at("id")), name.rpartition("+")[0]
    files = [document.file for document in release]
    if variant[0].file in files:
        raise InputError(f"{name}: {before} includes {own}: write {before}")
    full_document, *bases = joined(variant)
    program = bases[0].at("program") if bases else None
    if program is None or full_document.at("program") != program:
        raise InputError(f"{name}: {own} is not a variant of {before}: write {own}")
    base = bases[0].at("id")
    if bases[0].file not in files or joined(release)[0].at("program") != program:
        raise InputError(f"{name}: {own} extends {base}, and {before} does not: write {base}+{own}")


LONGEST_CHAIN = 30  # maximum length of a chain of extended entries; longer chains are a mistake

AnyEntry = TypeVar("AnyEntry", Hardware, Model, Engine)
AnyFile = TypeVar("AnyFile", bound=Entry)


@dataclass(frozen=True)
class Catalogue(Names):
    """Access to all chips, models and engines, including those in the folders of the user.

    changes : Values that replace those in files.
    limits : The parameters with which every engine is started, or None for its own.
    """

    changes: tuple[Change, ...] = ()
    limits: Parameters | None = None
    _entries: dict[tuple[Path, Kind], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def hardware(self, name: str | Path | Hardware) -> Hardware:
        """Load a chip by its id, an alias or the path of its file."""
        return name if isinstance(name, Hardware) else self._load(str(name), "hardware", Hardware)

    def model(self, name: str | Path | Model) -> Model:
        """Load a model by its id, an alias or a path, such as that of a ``config.json``."""
        if isinstance(name, Model):
            return name
        name = str(name)
        if self.is_configuration(name):
            from fastcalc.importers.huggingface import import_model

            return import_model(name).model
        return self._load(name, "models", Model)

    def is_configuration(self, name: str | Path | Model) -> bool:
        """Check whether a name refers to a Hugging Face ``config.json`` or a folder with one."""
        if isinstance(name, Model):
            return False
        name = str(name)
        if is_too_long(name):
            return False
        if name.lower().endswith((".json", ".gguf")):
            return True
        if not os.path.isdir(name):
            return False
        if "/" in name or "\\" in name or name in (".", ".."):
            return True
        return os.path.exists(Path(name, "config.json")) and not self.knows(name, "models")

    def engine(self, name: str | Path | Engine) -> Engine:
        """Load an engine by its id, an alias or a path, and apply the limits of the user."""
        if isinstance(name, Engine):
            engine = name
        elif len(parts := parts_of(str(name))) > 1:
            # ``vllm-0.19+eager`` has the values of ``eager``, and all others from ``vllm-0.19``.
            first, *variants = (read(self.find(part, "engines")) for part in parts)
            chain = self._over(self._chain(first, "engines"), parts, variants)
            ids = [str(document.at("id")) for document in (first, *variants)]
            bases = tuple(str(document.at("id")) for document in chain)
            engine = _called(self._merged(chain, "engines", Engine), "+".join(ids), bases)
        else:
            engine = self._load(str(name), "engines", Engine)
        return engine if self.limits is None else _limited(engine, self.limits)

    def refuse_unreachable(self, name: str, extends: str, file: Path) -> None:
        """Raise an error if the engine of a new file cannot be found from the file's folder by id.

        name : The engine as typed in the request: id, alias or path.
        extends : The engine's id, as the file will contain it.
        """
        document = Document(str(file), {"extends": extends})
        for part, written in zip(parts_of(extends), parts_of(name), strict=True):
            path = self.find(written, "engines")
            with suppress(InputError):
                if os.path.samefile(self._beside(document, part, "engines"), path):
                    continue
            hint = f"write both to one folder: {option('out', path.with_name(file.name))}"
            if path.stem != part:
                hint = f"rename {path} to {part}.yaml, which is its id"
            elif self.knows(part, "engines"):
                hint = f"change the id of {path}, because the catalogue has a {part}, too"
            reason = f"'extends: {extends}' in this file would not find {path}"
            raise InputError(f"{option('out', file)}: {reason}; {hint}")

    def engine_files(self) -> list[Engine]:
        """List all engines as in their files, without inherited values."""
        engines = []
        for document in (read(self.find(name, "engines")) for name in self.names("engines")):
            words = {"name": "", "fitted_on": "", **document.mapping()}  # the parent's, if omitted
            engines.append(_valid(replace(document, data=words), Engine))
        return engines

    def made(self, keys: Mapping[str, Json], schema: type[AnyEntry]) -> AnyEntry:
        """Build an entry from the content of a file, given in Python."""
        entry_type = next(entry_type for entry_type in SCHEMAS if SCHEMAS[entry_type] is schema)
        document = Document(f"{SINGULAR[entry_type]} in Python", deepcopy(dict(keys)), {(): (0, 0)})
        return self._entry(Path(), document, entry_type, schema)

    def of_any_kind(self, path: Path) -> Hardware | Model | Engine:
        """Load a YAML file whose keys determine its type, or raise InputError."""
        document = read(path)
        entry_type = kind_of(document) or "models"
        if entry_type == "hardware":
            return self._entry(path, document, entry_type, Hardware)
        if entry_type == "models":
            return self._entry(path, document, entry_type, Model)
        return self._entry(path, document, entry_type, Engine)

    def lineage(self, document: Document, entry_type: Kind) -> list[Document]:
        """List a document and all documents that it extends in turn, with inherited values.

        Raises InputError if an entry is missing, if entries extend each other in a circle, or if
        the chain is longer than `LONGEST_CHAIN`.
        """
        return joined(self._chain(document, entry_type))

    def _load(self, name: str, kind: Kind, schema: type[AnyEntry]) -> AnyEntry:
        return self._load_file(self.find(name, kind), kind, schema)

    def _load_file(self, path: Path, entry_type: Kind, schema: type[AnyEntry]) -> AnyEntry:
        if (path, entry_type) not in self._entries:
            self._entries[path, entry_type] = self._entry(path, read(path), entry_type, schema)
        entry: AnyEntry = self._entries[path, entry_type]
        return entry

    def _entry(
        self, path: Path, document: Document, kind: Kind, schema: type[AnyEntry]
    ) -> AnyEntry:
        """Build an entry from a file that has been read: merge, change and validate it."""
        chain = [document]
        if document.at("extends") and (kind_of(document, kind) or kind) == kind:
            chain = self._chain(document, kind)
        entry = self._merged(chain, kind, schema)
        if path.parent in self.folders(kind) and entry.id != path.stem:
            raise InputError(
                f"{document.place('id')}: the file is called {path.stem} but its id is {entry.id}; "
                f"names are looked up by file: call it {entry.id}.yaml, or write 'id: {path.stem}'"
            )
        return entry

    def _merged(self, chain: list[Document], kind: Kind, schema: type[AnyEntry]) -> AnyEntry:
        document, full_document = chain[0], joined(chain)[0]
        entry, faults = validate(full_document, schema)
        if entry is None:
            is_kind = kind_of(document, kind) or kind
            if is_kind == kind:
                with placed(document.place, "extends"):  # problems of the base come first
                    for base in self._extended_by(document, kind)[1]:
                        self._load_file(base, kind, schema)
                raise refuse(faults)
            goes_with = option(FIELDS[is_kind])
            mismatch = f"this is a file of {is_kind}, not of {kind}: it goes with {goes_with}"
            raise InputError(f"{document.place()}: {mismatch}")
        entry = self._supposing(entry, full_document, schema) if self.changes else entry
        bases = tuple(str(base.at("id")) for base in chain[1:])
        stated_by: dict[str, str] = {}  # the entry that defines each inherited key
        for parent, name in zip(chain[1:], bases, strict=True):
            for key in parent.mapping().keys() - document.mapping().keys():
                stated_by.setdefault(key, name)
        return _inheriting(entry, tuple(stated_by.items()), bases) if bases else entry

    def _supposing(self, entry: AnyEntry, document: Document, schema: type[AnyEntry]) -> AnyEntry:
        what_if = {}
        for change in self.changes:
            applied = changed(document, change) if change.fits((entry.id, *entry.aliases)) else None
            if applied is None or change.path[0] not in schema.model_fields:
                continue
            document, what_if[change.written] = applied
            supposed, faults = validate(document, schema)
            if supposed is None:
                is_list = re.search(r",|[^.]\.\.[^.]", change.written) is not None
                lists = "; several values are for 'fastcalc sweep'" if is_list else ""
                raise InputError(f"{option('set')} {change.written}: {faults[0].message}{lists}")
            entry = supposed
        return entry.supposing(what_if)

    def _chain(
        self, document: Document, entry_type: Kind, within: tuple[str, ...] = ()
    ) -> list[Document]:
        """List a document and those that it extends in turn, each as in its file.

        within : The files whose chains contain this file.
        """
        files = (*within, os.path.realpath(document.file))
        with placed(document.place, "extends"):
            parts, paths = self._extended_by(document, entry_type)
            for path in paths:
                if (file := os.path.realpath(path)) in files:
                    circle = " -> ".join(Path(name).stem for name in (*files, file))
                    raise InputError(f"entries extend each other in a circle: {circle}")
            if paths and len(files) > LONGEST_CHAIN:
                too_long = f"{LONGEST_CHAIN} entries that extend one another are the most"
                raise InputError(f"{too_long}; let {Path(files[0]).stem} extend a nearer one")
            bases = [read(path) for path in paths]
        if not bases:
            return [document]
        chain = self._chain(bases[0], entry_type, files)
        with placed(document.place, "extends"):
            return [document, *self._over(chain, parts, bases[1:], files)]

    def _over(
        self,
        chain: list[Document],
        parts: list[str],
        variants: list[Document],
        within: tuple[str, ...] = (),
    ) -> list[Document]:
        """List the chain of an engine with variants applied to it, the last variant first."""
        for count, variant in enumerate(variants, start=2):
            extended = self._chain(variant, "engines", within)
            refuse_unrelated("+".join(parts[:count]), extended, chain)
            chain = [variant, *chain]
        return chain

    def _extended_by(self, document: Document, kind: Kind) -> tuple[list[str], list[Path]]:
        """Return the names and files that a document extends: none, one, or an engine and variants.

        A file outside the catalogue may only extend files next to it, the user's files, or those in
        the catalogue.
        """
        extends = str(document.at("extends") or "")
        if "/" in extends or "\\" in extends:
            hint = "write the id of an entry, or the name of a .yaml file of this folder"
            raise InputError(f"'{shown(extends)}' is a path, which extends does not take; {hint}")
        parts = parts_of(extends) if kind == "engines" else [extends]
        return parts, [self._beside(document, part, kind) for part in filter(None, parts)]

    def _beside(self, document: Document, name: str, kind: Kind) -> Path:
        """Find the file of a name in the catalogue, or else next to a document."""
        path = Path()
        if not (self.knows(name, kind) or is_too_long(name)):
            path = Path(document.file).with_name(f"{name.removesuffix('.yaml')}.yaml")
        return path if path.is_file() else self.find(name, kind)

    def refuse_idle_changes(self, entry_type: Kind, entries: Iterable[NamedEntry]) -> None:
        """Raise an error for a change that applies to none of the given entries of a type."""
        applied = {written for entry in entries for written in entry.what_if}
        for change in self.changes:
            if change.path[0] in SCHEMAS[entry_type].model_fields and change.written not in applied:
                called = f" and is called {change.entry}" if change.entry else ""
                reason = f"no {SINGULAR[entry_type]} in this request has that key{called}"
                hint = "'fastcalc show NAME' prints its keys"
                raise InputError(f"{option('set')} {change.written}: {reason}; {hint}")


_limited = once(Engine.limited)


@once
def _called(engine: Engine, name: str, bases: tuple[str, ...]) -> Engine:
    return engine.model_copy(update={"id": name}).inheriting(engine.inherited, bases)


@once
def _inheriting(
    entry: AnyEntry, stated_by: tuple[tuple[str, str], ...], bases: tuple[str, ...]
) -> AnyEntry:
    """Return the same object for the same files, so that values cached for it stay valid."""
    return entry.inheriting(dict(stated_by), bases)


def load(path: Path, schema: type[AnyFile]) -> AnyFile:
    """Load a single YAML file, or raise InputError with the first problem in it."""
    return _valid(read(path), schema)


def _valid(document: Document, schema: type[AnyFile]) -> AnyFile:
    entry, faults = validate(document, schema)
    if entry is None:
        raise refuse(faults)
    return entry
