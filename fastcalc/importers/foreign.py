"""Measured points from the output of other programs, recognized by what it holds."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from re import sub

from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.point import Point
from fastcalc.evidence.point_cells import beyond
from fastcalc.evidence.points import Points, Skipped, gathered
from fastcalc.evidence.text_files import FileFault, Text
from fastcalc.importers import llama_bench, vllm
from fastcalc.importers.json_records import BeyondError, Record, records
from fastcalc.importers.naming import Names
from fastcalc.importers.setup import Unsaid, checked
from fastcalc.written import shown


def foreign_in(content: Text, *, catalogue: Catalogue, options: Mapping[str, str]) -> Points:
    """Return results of ``vllm bench serve`` or ``llama-bench`` as points, ids by the file's name.

    What the file leaves unsaid or gets wrong is in ``options``, by the names of `setup.OPTIONS`; an
    option that is needed and missing is a fault. Raises InputError if a count is not a number.
    """
    stripped, names = checked(options), Names(catalogue)
    if content.fault:
        return gathered(content.file, [], [content.fault])
    results, faults = records(content)
    if not results and not faults:
        faults = [FileFault(content.file, 1, 1, "the list is empty: no test was run")]
    unsaid: dict[str, Record] = {}
    points: list[Point] = []
    skipped: list[Skipped] = []
    stem = sub(r"[^\w.-]+", "-", Path(content.file).stem).strip("-") or "measured"
    for record in results:
        readers = [
            program.measurements for program in (vllm, llama_bench) if program.is_result(record)
        ]
        if not readers:
            keys = ", ".join(shown(key, 20) for key in list(record.data)[:4]) or "none"
            why = (
                "neither a result of 'vllm bench serve --save-result' nor of "
                f"'llama-bench -o json'; its keys begin with {keys}"
            )
            faults.append(FileFault(content.file, *record.mark(), why))
            continue
        try:
            read = readers[0](record, stripped, names)
        except Unsaid as error:
            unsaid.setdefault(str(error), record)
        except BeyondError as error:
            faults.append(FileFault(content.file, *record.mark(error.key), str(error)))
        else:
            wrong: dict[str, None] = {}
            for point in read:
                name = f"{stem}-{len(points) + len(skipped) + 1:03d}"
                if isinstance(point, Point):
                    points.append(replace(point, id=name))
                    wrong |= dict.fromkeys(beyond(point))
                else:
                    skipped.append(Skipped(name, record.line, point))
            faults += [FileFault(content.file, *record.mark(), words) for words in wrong]
    faults += [FileFault(content.file, *record.mark(), words) for words, record in unsaid.items()]
    return gathered(content.file, points, faults, skipped)
