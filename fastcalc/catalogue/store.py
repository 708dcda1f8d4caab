"""Find and load entries: shipped ones, a person's own folders, or a path to a file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from fastcalc.catalogue import faults
from fastcalc.catalogue.reader import read
from fastcalc.catalogue.schema import Engine, Entry, Hardware, Model
from fastcalc.errors import InputError

Kind = Literal["hardware", "models", "engines"]
_SCHEMAS: dict[str, type[Entry]] = {"hardware": Hardware, "models": Model, "engines": Engine}
_SINGULAR = {"hardware": "hardware", "models": "model", "engines": "engine"}

AnyEntry = TypeVar("AnyEntry", bound=Entry)


@cache
def shipped(kind: Kind) -> Path:
    """Return the folder of shipped entries: inside an installed package, else beside it."""
    package = Path(__file__).resolve().parent.parent
    inside = package / kind
    return inside if inside.is_dir() else package.parent / kind


@dataclass(frozen=True)
class Catalogue:
    """The folders that names are looked up in, the person's own before the shipped ones.

    Attributes
    ----------
    own : dict of Kind to tuple of Path
        Extra folders by kind.
    """

    own: dict[Kind, tuple[Path, ...]] = field(default_factory=dict)

    def folders(self, kind: Kind) -> list[Path]:
        """Return the folders of a kind in the order they are searched."""
        return [*self.own.get(kind, ()), shipped(kind)]

    def names(self, kind: Kind) -> list[str]:
        """Return every id of a kind, sorted, without opening a file."""
        found: set[str] = set()
        for folder in self.folders(kind):
            if not folder.is_dir():
                raise InputError(f"{folder} is not a folder; it should hold {kind} as YAML files")
            found |= {path.stem for path in folder.glob("*.yaml")}
        return sorted(found)

    def hardware(self, name: str) -> Hardware:
        """Return one chip by id, alias or path."""
        return self._load(name, "hardware", Hardware)

    def model(self, name: str) -> Model:
        """Return one model by id, alias or path."""
        return self._load(name, "models", Model)

    def engine(self, name: str) -> Engine:
        """Return one engine by id, alias or path."""
        return self._load(name, "engines", Engine)

    def _load(self, name: str, kind: Kind, schema: type[AnyEntry]) -> AnyEntry:
        return load(self._find(name, kind), schema)

    def _find(self, name: str, kind: Kind) -> Path:
        if name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name:
            path = Path(name)
            if path.exists():
                return path
            raise InputError(f"{name}: there is no such file")
        if name:
            for folder in self.folders(kind):
                path = folder / f"{name}.yaml"
                if path.is_file():
                    return path
        return self._by_alias(name, kind)

    def _by_alias(self, name: str, kind: Kind) -> Path:
        """Find an entry by another name it goes by, or say which names are near."""
        aliases: dict[str, Path] = {}
        for folder in reversed(self.folders(kind)):
            if not folder.is_dir():
                raise InputError(f"{folder} is not a folder; it should hold {kind} as YAML files")
            for path in folder.glob("*.yaml"):
                aliases |= dict.fromkeys(_aliases(path), path)
        lowered = name.lower()
        if lowered in aliases:
            return aliases[lowered]
        raise InputError(_unknown(name, kind, [*self.names(kind), *aliases]))


def _aliases(path: Path) -> Iterable[str]:
    """Return an entry's id in lower case and its aliases; a broken neighbour has none."""
    try:
        data = read(path).data
    except InputError:
        return [path.stem]
    listed = data.get("aliases")
    names = listed if isinstance(listed, list) else []
    return [path.stem.lower(), *(str(name).lower() for name in names)]


def _unknown(name: str, kind: Kind, known: list[str]) -> str:
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    near += [one for one in known if name and name.lower() in one and one not in near][:3]
    hint = f"did you mean {' or '.join(near[:4])}?" if near else f"'fastcalc list {kind}' names all"
    return f"no {_SINGULAR[kind]} is called '{name}'; {hint}"


def load(path: Path, schema: type[AnyEntry]) -> AnyEntry:
    """Read one file into its schema.

    Parameters
    ----------
    path : Path
        A YAML file.
    schema : type of Entry
        `Hardware`, `Model` or `Engine`.

    Returns
    -------
    Entry
        The validated, frozen record.

    Raises
    ------
    InputError
        With the first fault's file, line, column, what is wrong and what to write.
    """
    document = read(path)
    try:
        return schema.model_validate(document.data)
    except ValidationError as error:
        found = faults.sentences(error, document, schema)
        more = f" (and {len(found) - 1} more in this file)" if len(found) > 1 else ""
        raise InputError(found[0] + more) from error
