"""Reader of measurements from all files in a folder, as one table."""

from collections.abc import Mapping
from pathlib import Path

from fastcalc.catalogue.inputs import files_below
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.point import Point
from fastcalc.evidence.points import Points, gathered, points_in
from fastcalc.evidence.text_files import FileFault, lines_of, opened, text_in
from fastcalc.importers.foreign import PROGRAMS, Results
from fastcalc.importers.naming import NameLookup, Options
from fastcalc.importers.setup import checked, ranks_in
from fastcalc.written import shown

SUFFIXES = (".json", ".jsonl", ".csv")
MOST_FILES = 10_000


def points_in_folder(folder: Path, *, catalogue: Catalogue, options: Mapping[str, str]) -> Points:
    """Read measurements from all files below a folder: other programs' results, and CSVs.

    Settings missing from the results are taken from ``options``, except for CSVs. Other files are
    skipped; hidden files and files without one of the `SUFFIXES` are not read. Raises InputError if
    a file cannot be read, or if there are no files or too many.
    """
    below = files_below(folder, "name a folder of results in it")
    files = sorted(path for path in below if path.suffix in SUFFIXES and path.is_file())
    if not files:
        raise InputError(f"{shown(folder, 200)} contains no {', '.join(SUFFIXES)}")
    if len(files) > MOST_FILES:
        raise InputError(f"{shown(folder, 200)} contains more than {MOST_FILES:,} result files")
    results = Results(Options(checked(options), NameLookup(catalogue)))
    rows: list[Point] = []
    faults: list[FileFault] = []
    ranks = ranks_in(catalogue)
    for path in files:
        with opened(path) as stream:
            if path.suffix != ".csv":
                results.take(text_in(str(path), stream), is_alone=False)
                continue
            head = stream.peek(1).decode("utf-8-sig", "replace").split("\n", 1)[0]
            if {"metric", "value", "hardware"} <= {name.strip() for name in head.split(",")}:
                table = points_in(str(path), lines_of(str(path), stream), ranks)
                rows += table.points
                faults += table.faults
    has_points = any(isinstance(point, Point) for _, _, point in results.measured)
    foreign = results.points(str(folder), folder, leaves_out=bool(rows or has_points))
    points, faults = [*rows, *foreign.points], [*faults, *foreign.faults]
    if not points and not faults and all(PROGRAMS in skip.reason for skip in foreign.skipped):
        raise InputError(
            f"{shown(folder, 200)}: none of its {', '.join(SUFFIXES)} is a CSV of points or a "
            f"result of {PROGRAMS}"
        )
    return gathered(str(folder), points, faults, foreign.skipped, uncounted=foreign.unlisted)
