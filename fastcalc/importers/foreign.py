"""Measured points from the output of other programs, recognized by what it holds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from re import sub

from fastcalc.catalogue.store import Catalogue
from fastcalc.evidence.point import Point
from fastcalc.evidence.point_cells import beyond
from fastcalc.evidence.points import Points, Skipped, gathered
from fastcalc.evidence.text_files import FileFault, Text
from fastcalc.importers import llama_bench, sglang, vllm
from fastcalc.importers.json_records import NoNumberError, Record, records
from fastcalc.importers.naming import Names
from fastcalc.importers.served_run import points_of
from fastcalc.importers.setup import Unsaid, checked
from fastcalc.written import shown

SERVED = (sglang, vllm)
"""Writers of runs of a server; those whose keys are also another's come first."""

PROGRAMS = "vllm bench serve, SGLang's bench_serving and llama-bench"


def foreign_in(content: Text, *, catalogue: Catalogue, options: Mapping[str, str]) -> Points:
    """Return results of other programs, `PROGRAMS`, as points, ids by the file's name.

    What the file leaves unsaid or gets wrong is in ``options``, by the names of `setup.OPTIONS`; an
    option that is needed and missing is a fault. Raises InputError if a count is not a number.
    """
    stripped = checked(options)
    if content.fault:
        return gathered(content.file, [], [content.fault])
    results, faults = records(content)
    if not results and not faults:
        faults = [FileFault(content.file, 1, 1, "the list is empty: no test was run")]
    reading = _Reading(stripped, Names(catalogue), faults)
    for record in results:
        reading.take(record)
    return gathered(content.file, *reading.named(Path(content.file).stem))


@dataclass
class _Reading:
    """What the records of a file hold so far."""

    options: Mapping[str, str]
    names: Names
    faults: list[FileFault]
    measured: list[tuple[int, Point | str]] = field(default_factory=list)
    unsaid: dict[str, Record] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Add the points of a record, or what is wrong with it."""
        wrong: dict[str, None] = {}
        try:
            for point in self._points(record):
                self.measured.append((record.line, point))
                wrong |= dict.fromkeys(beyond(point) if isinstance(point, Point) else ())
        except Unsaid as error:
            self.unsaid.setdefault(str(error), record)
        except NoNumberError as error:
            self.faults.append(FileFault(record.file, *record.mark(*error.path), str(error)))
        self._note(record, *wrong)

    def _points(self, record: Record) -> Iterator[Point | str]:
        writer = next((program for program in SERVED if program.is_result(record)), None)
        if writer:
            for run in writer.runs(record):
                if isinstance(run, str):
                    yield run
                else:
                    yield from points_of(run, record.line, self.options, self.names)
        elif llama_bench.is_result(record):
            yield from llama_bench.measurements(record, self.options, self.names)
        else:
            keys = ", ".join(shown(key, 20) for key in list(record.data)[:4]) or "none"
            self._note(record, f"no result of {PROGRAMS}; its keys begin with {keys}")

    def _note(self, record: Record, *sentences: str) -> None:
        self.faults += [FileFault(record.file, *record.mark(), words) for words in sentences]

    def named(self, stem: str) -> tuple[list[Point], list[FileFault], list[Skipped]]:
        """Return points, faults and what is skipped, numbered after the name of their file."""
        stem = sub(r"[^\w.-]+", "-", stem).strip("-") or "measured"
        points, skipped = [], []
        for number, (line, point) in enumerate(self.measured, 1):
            name = f"{stem}-{number:03d}"
            if isinstance(point, Point):
                points.append(replace(point, id=name))
            else:
                skipped.append(Skipped(name, line, point))
        for words, record in self.unsaid.items():
            self._note(record, words)
        return points, self.faults, skipped
