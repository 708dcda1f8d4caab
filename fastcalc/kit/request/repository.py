"""Repository settings, from `.fastcalc.toml` or a table in pyproject.toml."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastcalc.catalogue.inputs import read_bytes
from fastcalc.catalogue.names import nearest
from fastcalc.errors import InputError, placed
from fastcalc.kit.request.fields import Request
from fastcalc.kit.request.given import from_python
from fastcalc.mentions import option
from fastcalc.written import instead_of, shown

OWN_FILE = ".fastcalc.toml"
_SHARED_FILE = "pyproject.toml"
_MOST_BYTES = 10_000_000

_OF_CHECK = ("strict", "require-sources", "fail-on-warnings", "select", "ignore", "baseline")
_KEYS = (*_OF_CHECK, "plugins")
"""Flags that a repository can set."""


@dataclass(frozen=True)
class Settings:
    """The settings of a repository by field, and the folder they come from.

    A baseline path is relative to this folder, regardless of the working directory.
    """

    folder: Path
    values: Mapping[str, Any]


def settings_of(folder: Path, request: Callable[[], type[Request]]) -> Settings:
    """Read the settings that apply to a folder.

    They come from the nearest `.fastcalc.toml` or ``[tool.fastcalc]`` table of a pyproject.toml, in
    the folder or a parent.

    request : Returns the request class whose fields they set; called only if there are settings.

    Raises InputError if the file cannot be read, has an unknown key or an invalid value.
    """
    for home in (folder, *folder.parents):
        for name in (OWN_FILE, _SHARED_FILE):
            table = _table(home / name)
            if table is not None:
                return Settings(home, _validated(table, home / name, request()))
    return Settings(folder, {})


def _table(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        written = read_bytes(path, _MOST_BYTES)
        if path.name == _SHARED_FILE and b"tool.fastcalc" not in written:
            return None
        import tomllib  # imported late, as most folders have no settings

        document = tomllib.loads(written.decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from error
    except (ValueError, RecursionError) as error:
        why = str(error)[:1].lower() + str(error)[1:]
        raise InputError(f"{path}: not readable as TOML: {shown(why, 120)}") from error
    if path.name == OWN_FILE:
        return document
    table = document.get("tool", {}).get("fastcalc")
    return table if table is None or isinstance(table, dict) else {"": table}


def _validated(table: dict[str, Any], path: Path, request: type[Request]) -> dict[str, Any]:
    for key in sorted(table.keys() - set(_KEYS)):
        hint = instead_of(nearest(key, _KEYS, 1), f"known: {', '.join(_KEYS)}")
        raise InputError(f"{path}: unknown key '{shown(key)}'; {hint}")
    with placed(lambda: str(path)):
        written = {key.replace("-", "_"): value for key, value in table.items() if value != []}
        settings = {name: from_python(request, name, value) for name, value in written.items()}
    if "baseline" in settings:
        settings["baseline"] = baseline = path.parent / settings["baseline"]
        if baseline.exists() and not baseline.is_file():
            description = "a folder" if baseline.is_dir() else "a pipe or a device"
            raise InputError(
                f"{path}: baseline {shown(baseline.name)} is {description}; name a file that "
                f"'fastcalc check {option('format', 'json')} {option('out', 'known.json')}' wrote"
            )
    return settings
