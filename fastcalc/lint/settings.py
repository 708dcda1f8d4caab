"""Settings of a repository for `fastcalc check`: `.fastcalc.toml`, or a table of pyproject.toml."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fastcalc.catalogue.inputs import read_bytes
from fastcalc.catalogue.names import nearest
from fastcalc.errors import InputError
from fastcalc.written import shown

OWN_FILE = ".fastcalc.toml"
_SHARED_FILE = "pyproject.toml"
_MOST_BYTES = 10_000_000


class Settings(BaseModel):
    """What a repository asks of every check, by the names of the flags."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    strict: bool = False
    require_sources: bool = Field(default=False, alias="require-sources")
    fail_on_warnings: bool = Field(default=False, alias="fail-on-warnings")
    select: list[str] = []
    ignore: list[str] = []
    baseline: str | None = None


def settings_of(folder: Path) -> tuple[Settings, Path]:
    """Return the settings that count in a folder, and the folder of their file.

    The nearest file counts: `.fastcalc.toml`, or the table ``[tool.fastcalc]`` of pyproject.toml,
    there or in a folder above.
    """
    for home in (folder, *folder.parents):
        for name in (OWN_FILE, _SHARED_FILE):
            table = _table(home / name)
            if table is not None:
                return _validated(table, home / name), home
    return Settings(), folder


def _table(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        document = tomllib.loads(read_bytes(path, _MOST_BYTES).decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from error
    except (ValueError, RecursionError) as error:
        why = str(error)[:1].lower() + str(error)[1:]
        raise InputError(f"{path}: not readable as TOML: {shown(why, 120)}") from error
    if path.name == OWN_FILE:
        return document
    tools = document.get("tool")
    table = tools.get("fastcalc") if isinstance(tools, dict) else None
    return table if table is None or isinstance(table, dict) else {"": table}


def _validated(table: dict[str, Any], path: Path) -> Settings:
    try:
        return Settings.model_validate(table)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            names = [field.alias or name for name, field in Settings.model_fields.items()]
            near = nearest(key, names)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
            raise InputError(f"{path}: unknown key '{shown(key)}'; {hint}") from error
        expected = first["msg"].removeprefix("Input should be ")
        raise InputError(f"{path}: {shown(key)} should be {expected}") from error
