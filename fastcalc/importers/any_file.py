"""Reader of measurements from a file or folder in any supported format."""

from collections.abc import Mapping
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from fastcalc.errors import InputError
from fastcalc.evidence.point import COLUMNS, Point
from fastcalc.evidence.points import Points, Skipped, points_in
from fastcalc.evidence.text_files import lines_of, opened, text_in
from fastcalc.importers.naming import NameLookup, checkpoint_format
from fastcalc.importers.setup import option_given, unclear_format
from fastcalc.written import listed, shown

if TYPE_CHECKING:
    from fastcalc.catalogue.store import Catalogue


def is_foreign(path: Path) -> bool:
    """Check whether a file contains results of another program, which may omit settings."""
    with opened(path, is_kept=True) as stream:
        return _is_foreign(_head(stream), path)


def _head(stream: BufferedReader) -> str:
    return stream.peek(1).decode("utf-8-sig", "replace").lstrip()


def _is_foreign(head: str, path: Path) -> bool:
    return head[:1] in ("{", "[") or path.suffix in (".json", ".jsonl")


def read(
    path: Path,
    *,
    catalogue: "Catalogue",
    options: Mapping[str, str] | None = None,
    fills_gaps: bool = False,
) -> Points:
    """Read a CSV of measurements or another program's JSON, recognized by content or name.

    In a folder, all such files are read. Settings missing from the results are taken from
    ``options``. An option that contradicts a file is an error, or is ignored if options only fill
    gaps, as in a folder. Raises InputError if a file cannot be read, or if an option is given for a
    CSV, whose rows are complete.
    """
    if path.is_dir():
        from fastcalc.importers.foreign import points_in_folder

        return points_in_folder(path, catalogue=catalogue, options=options or {})
    with opened(path, is_kept=True) as stream:
        head = _head(stream)
        if _is_foreign(head, path):
            from fastcalc.importers.foreign import foreign_in  # needs pydantic, unlike a CSV

            content = text_in(str(path), stream)
            return foreign_in(
                content, catalogue=catalogue, options=options or {}, fills_gaps=fills_gaps
            )
        names = {name.strip() for name in head.split("\n", 1)[0].split(",")}
        given = [option_given(name, text) for name, text in (options or {}).items() if text]
        if given and names & set(COLUMNS):
            raise InputError(
                f"{shown(path, 200)} is a CSV, whose rows state all settings; leave out "
                f"{listed(given)}; only results of other programs take settings"
            )
        return csv_points(path, stream, NameLookup(catalogue))


def csv_points(path: Path, stream: BufferedReader, names: NameLookup) -> Points:
    """Read a CSV of measurements, with names of repositories and of drivers for chips."""
    measured = points_in(str(path), lines_of(str(path), stream), names.ranks)
    points, skipped = list[Point](), [*measured.skipped]
    for point in measured.points:
        chip = names.id("hardware", point.hardware) or point.hardware
        is_listed = names.owners("models")(point.model)
        model = None if is_listed else names.id("models", point.model)  # of a repository's name
        stored = point.weights or (checkpoint_format(point.model) if model else "")
        if stored is None:
            why = unclear_format(point.model, "it in the column weights")
            skipped.append(Skipped(point.id, point.line, why))
        else:
            called = model or point.model
            points.append(replace(point, hardware=chip, model=called, weights=stored))
    return replace(measured, points=points, skipped=tuple(skipped))
