"""Folders and names of the shipped catalogue for shell completion, without opening its files."""

import os
from functools import cache
from pathlib import Path


@cache
def shipped_folder(entry_type: str) -> Path:
    """Return the folder of shipped entries, in an installed package or at the top of a clone."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "data"
    return (inside if inside.is_dir() else package.parent) / entry_type


def names(kind: str) -> list[str]:
    """List the ids of an entry type from file names, including those in the user's folders."""
    user_folders = os.environ.get(f"FASTCALC_{kind.upper()}_DIR", "")
    folders = [
        shipped_folder(kind),
        *(Path(folder) for folder in user_folders.split(os.pathsep) if folder),
    ]
    return sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})
