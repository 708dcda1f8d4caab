"""Reader of measurements from other programs' output, recognized by its content."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from re import sub

from fastcalc.catalogue.inputs import files_below
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.point import Point
from fastcalc.evidence.point_cells import beyond
from fastcalc.evidence.points import Points, Skipped, gathered
from fastcalc.evidence.text_files import FileFault, Text, opened, text_in
from fastcalc.importers import (
    aiperf,
    evalscope,
    genai_bench,
    guidellm,
    inference_perf,
    inferencex,
    llama_bench,
    llama_benchy,
    llmperf,
    sglang,
    tensorrt_llm,
    vllm,
)
from fastcalc.importers.any_file import csv_points
from fastcalc.importers.json_records import NoNumberError, NoRunError, Record, records
from fastcalc.importers.naming import NameLookup, Options
from fastcalc.importers.served_run import ServedRun, points_of
from fastcalc.importers.setup import Unsaid, checked, option_given
from fastcalc.written import shown

SERVED = (
    sglang,
    vllm,
    tensorrt_llm,
    guidellm,
    aiperf,
    inference_perf,
    inferencex,
    llmperf,
    genai_bench,
    evalscope,
    llama_benchy,
)
"""Modules for server benchmarks. If formats share keys, the more specific one comes first."""

PROGRAMS = (
    "vllm bench serve, SGLang's bench_serving, trtllm-bench, GuideLLM, AIPerf, GenAI-Perf, "
    "genai-bench, inference-perf, InferenceX, evalscope perf, llmperf, llama-bench and llama-benchy"
)


def foreign_in(
    content: Text, *, catalogue: Catalogue, options: Mapping[str, str], fills_gaps: bool = False
) -> Points:
    """Read results of other programs, `PROGRAMS`, as measurements with ids based on the file name.

    Settings missing from the file are taken from ``options``, by the names in `setup.OPTIONS`. A
    missing option that is needed is reported as a problem, as is an option that merely contradicts
    the file, unless options only fill gaps. Raises InputError if a count is not a number.
    """
    results = Results(Options(checked(options), NameLookup(catalogue)), fills_gaps=fills_gaps)
    results.take(content)
    return results.points(content.file, PurePath(content.file).parent)


@dataclass
class Results:
    """Collects results of other programs file by file.

    options : The settings given by the user for all files.
    odd : Values that are not numbers; each invalidates only its own record.
    measured : The file, line, and the measurement or the reason why there is none.
    unsaid : The settings that the user still has to give, with the records that need them.
    contradicting : The first record that contradicts each option.
    fills_gaps : Whether to accept options that are contradicted but not needed.
    """

    options: Options
    faults: list[FileFault] = field(default_factory=list)
    odd: list[FileFault] = field(default_factory=list)
    measured: list[tuple[str, int, Point | str]] = field(default_factory=list)
    unsaid: dict[str, list[Record]] = field(default_factory=dict)
    contradicting: dict[str, Record] = field(default_factory=dict)
    fills_gaps: bool = False

    def take(self, content: Text, *, is_alone: bool = True) -> None:
        """Add the results in a file.

        is_alone : Whether the file was named; files without results are skipped in a folder.
        """
        mappings, faults = ([], [content.fault]) if content.fault else records(content)
        is_known = any(
            aiperf.is_request(record)
            or any(writer.is_result(record) for writer in (*SERVED, llama_bench))
            for record in mappings
        )
        if not (is_alone or faults or is_known):
            self.measured.append((content.file, 1, f"the file is not a result of {PROGRAMS}"))
            return
        if not mappings and not faults:
            faults = [FileFault(content.file, 1, 1, "the list is empty: no test was run")]
        self.faults += faults
        requests = [record for record in mappings if aiperf.is_request(record)]
        for record in mappings if is_known else mappings[:1]:
            if not aiperf.is_request(record):
                self._take(record, lambda: self._runs(record))  # noqa: B023  (called at once)
        summary = Path(content.file).with_name("profile_export_aiperf.json")
        if requests and not is_alone and summary.is_file():
            why = "requests of the run summarized in profile_export_aiperf.json in the same folder"
            self.measured.append((content.file, 1, why))
        elif requests:
            self._take(requests[0], lambda: [aiperf.run_of_requests(requests)])

    def points(self, file: str, folder: PurePath, *, leaves_out: bool = False) -> Points:
        """Build measurements, problems and skipped results, with ids based on file names.

        folder : The folder to which file names are relative.
        leaves_out : Whether incomplete files are skipped if other files are complete.
        """
        points, skipped, numbers = [], [], dict[str, int]()
        for source, line, point in self.measured:
            path = PurePath(source).relative_to(folder)
            stem = sub(r"[^\w.-]+", "-", str(path.with_suffix(""))).strip("-") or "measured"
            number = numbers[stem] = numbers.get(stem, 0) + 1
            name = f"{stem}-{number:03d}"
            if isinstance(point, Point):
                points.append(replace(point, id=name))
            else:
                skipped.append(Skipped(name, line, point))
        unsaid = [] if points else [*self.odd]
        skipped += [Skipped(str(fault), fault.line, str(fault)) for fault in self.odd if points]
        for words, incomplete in self.unsaid.items():
            files = dict.fromkeys(str(PurePath(r.file).relative_to(folder)) for r in incomplete)
            if leaves_out:
                skipped += [Skipped(name, 1, f"{name}: {words}") for name in files]
            else:
                also = f" (also {', '.join([*files][1:])})" * (len(files) > 1)
                unsaid.append(_fault(incomplete[0], f"{words}{also}"))
        for name, record in self.contradicting.items():
            if not (self.faults or self.fills_gaps or name in self.options.used):
                text, value = self.options.texts[name], shown(self.options.contradicted[name])
                words = f"the file states {name} {value}: leave out {option_given(name, text)}"
                unsaid.append(_fault(record, words))
        return gathered(file, points, [*self.faults, *unsaid], skipped)

    def _take(self, record: Record, read: Callable[[], Iterable[ServedRun | Point | str]]) -> None:
        wrong: dict[str, None] = {}
        try:
            for run in read():
                points: Iterable[Point | str] = (
                    points_of(run, record.line, self.options)
                    if isinstance(run, ServedRun)
                    else [run]
                )
                for point in points:
                    beyond_range = [*beyond(point)] if isinstance(point, Point) else []
                    wrong |= dict.fromkeys(beyond_range)
                    if not beyond_range:
                        self.measured.append((record.file, record.line, point))
        except NoRunError as error:
            self.measured.append((record.file, record.line, str(error)))
        except Unsaid as error:
            self.unsaid.setdefault(str(error), []).append(record)
        except NoNumberError as error:
            self.odd.append(FileFault(record.file, *record.mark(*error.path), str(error)))
        self.odd += [_fault(record, words) for words in wrong]
        for name in self.options.contradicted:
            self.contradicting.setdefault(name, record)

    def _runs(self, record: Record) -> Iterable[ServedRun | Point | str]:
        for writer in SERVED:
            if writer.is_result(record):
                runs: Iterable[ServedRun | str] = writer.runs(record)
                return runs
        if llama_bench.is_result(record):
            return llama_bench.measurements(record, self.options)
        keys = ", ".join(shown(key) for key in list(record.data)[:4]) or "none"
        self.faults.append(_fault(record, f"not a result of {PROGRAMS}; its first keys: {keys}"))
        return ()


def _fault(record: Record, words: str) -> FileFault:
    return FileFault(record.file, *record.mark(), words)


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
    names = NameLookup(catalogue)
    results = Results(Options(checked(options), names))
    rows: list[Point] = []
    faults: list[FileFault] = []
    for path in files:
        with opened(path) as stream:
            if path.suffix != ".csv":
                results.take(text_in(str(path), stream), is_alone=False)
                continue
            head = stream.peek(1).decode("utf-8-sig", "replace").split("\n", 1)[0]
            if {"metric", "value", "hardware"} <= {name.strip() for name in head.split(",")}:
                table = csv_points(path, stream, names)
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
