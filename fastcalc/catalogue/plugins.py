"""Folders of entries in installed packages, found through their entry points."""

from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from fastcalc.catalogue.kinds import SCHEMAS, Kind
from fastcalc.errors import InputError
from fastcalc.written import shown

GROUP = "fastcalc.catalogue"
"""The group of entry points, each with the plugin's name and the package with its folders."""


@cache
def plugin_folders(names: tuple[str, ...]) -> dict[Kind, tuple[Path, ...]]:
    """Return the folders for each entry type in installed packages, in the order of the names.

    The packages are not imported.

    Raises InputError if no installed package has a given name, or if one has no folder.
    """
    installed = {plugin.name: plugin for plugin in entry_points(group=GROUP)}
    folders: dict[Kind, tuple[Path, ...]] = dict.fromkeys(SCHEMAS, ())
    for name in names:
        if name not in installed:
            listed = ", ".join(sorted(installed)) or "none is"
            raise InputError(f"no plugin called '{shown(name)}' is installed; installed: {listed}")
        package, *inner = installed[name].value.split(".")
        spec = None
        with suppress(ValueError):  # the value is not a package name
            spec = find_spec(package)  # finding a subpackage would execute the package
        roots = (spec.submodule_search_locations if spec else None) or ()
        paths = ((kind, Path(root, *inner, kind)) for root in roots for kind in SCHEMAS)
        existing = {kind: path for kind, path in paths if path.is_dir()}
        if not existing:
            why = f"its package {shown(installed[name].value)} has none of the folders"
            raise InputError(f"plugin '{shown(name)}': {why} {', '.join(SCHEMAS)}; reinstall it")
        for kind, path in existing.items():
            folders[kind] += (path,)
    return folders
