"""How many of the mistakes of real life the check finds, and how often it cries wolf.

Run ``python -m benchmarks.mutations [FOLDER]``: every hardware file of the catalogue (or of a
folder) is made wrong in every way below, one way at a time, and checked. A mistake is caught
when the check says something that it does not say of the file as it is. With ``--blind SEED``
models, engines and hardware are made wrong without any rule in view (`blind_mutations`), and
checked with ``--strict``.

Three columns, because a mistake comes in three ways. A *slip* changes the value alone: what
the source prints still stands alongside it. A *misreading* leaves no such trace: the number's own
``printed``, ``reading`` and ``note`` are gone, and only plausibility can tell. Of an *unknown*
chip the check does not even know the architecture or the cores: ratios and bands are all there is.
"""

import copy
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from benchmarks.blind_mutations import drawn
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.kinds import Kind
from fastcalc.catalogue.reader import scan
from fastcalc.features.check.document import WrittenNumber, sheet
from fastcalc.features.check.lint import check_document
from fastcalc.features.check.rule import RuleContext

TODAY = date(2026, 11, 21)
GIB = 2.0**30
Data = dict[str, Any]
Mistake = tuple[str, str, Data, str]
"""What kind of mistake, on what, the file with it, and which number."""

FACTORS = {"x2": 2.0, "x8": 8.0, "x1000": 1e3, "/2": 0.5, "/8": 1 / 8, "/1000": 1e-3}
TRACES = ("printed", "reading", "note")


def what(number: WrittenNumber) -> str | None:
    """Return the column that a number belongs to: FLOPs, bandwidth, capacity or links."""
    if number.name.startswith("peak."):
        return "FLOPs"
    if number.name.startswith("links.") and number.dimension == "bandwidth":
        return "links"
    if number.name.startswith("memory["):
        return number.dimension if number.dimension == "bandwidth" else "capacity"
    return None


def scaled(data: Data, numbers: list[WrittenNumber], factor: float, *, traces: bool = True) -> Data:
    """Return a copy of a file with some numbers multiplied, with or without their traces."""
    new = copy.deepcopy(data)
    for number in numbers:
        written, _, unit = number.text.partition(" ")
        value = f"{float(written) * factor:.12g} {unit}" if unit else float(written) * factor
        _put(new, number, value, traces=traces)
    return new


def _put(data: Data, number: WrittenNumber, value: object, *, traces: bool) -> None:
    parent: Any = data
    for step in number.path[:-1]:
        parent = parent[step]
    old = parent[number.path[-1]]
    if not isinstance(old, dict):
        parent[number.path[-1]] = value
        return
    kept = {key: one for key, one in old.items() if traces or key not in TRACES}
    parent[number.path[-1]] = kept | {"value": value}


def one_number(data: Data, numbers: list[WrittenNumber], *, traces: bool) -> Iterator[Mistake]:
    """Yield files with one number too large or too small."""
    for number in numbers:
        column = what(number)
        for kind, factor in FACTORS.items() if column else ():
            new = scaled(data, [number], factor, traces=traces)
            yield kind, str(column), new, f"{number.name} {number.text}"


def whole_file(data: Data, numbers: list[WrittenNumber], *, traces: bool) -> Iterator[Mistake]:
    """Yield files whose numbers are of the wrong thing: sparse, of a superchip, of a node."""
    peaks = [one for one in numbers if one.name.startswith("peak.")]
    chip = [*peaks, *(one for one in numbers if one.name.startswith("memory["))]
    power = [one for one in numbers if one.name == "power.chip"]
    price = [one for one in numbers if one.name.startswith("price.")]
    yield "every rate sparse", "FLOPs", scaled(data, peaks, 2.0, traces=traces), "all"
    yield "per superchip", "file", scaled(data, [*chip, *power], 2.0, traces=traces), "all"
    yield "per node of 8", "file", scaled(data, [*chip, *power, *price], 8.0, traces=traces), "all"


def units(data: Data, numbers: list[WrittenNumber], *, traces: bool) -> Iterator[Mistake]:
    """Yield files with GB for GiB, bits for bytes, and no unit."""
    for number in numbers:
        written, _, unit = number.text.partition(" ")
        if unit.endswith("iB"):
            new = copy.deepcopy(data)
            _put(new, number, f"{written} {unit.replace('iB', 'B')}", traces=traces)
            yield "GB for GiB", "capacity", new, number.name
        if unit.endswith("b/s"):
            new = copy.deepcopy(data)
            _put(new, number, f"{written} {unit.replace('b/s', 'B/s')}", traces=traces)
            yield "bytes for bits", "links", new, number.name
        if unit:
            new = copy.deepcopy(data)
            _put(new, number, written, traces=traces)
            yield "unit left out", "any", new, number.name


def swaps(data: Data, numbers: list[WrittenNumber], *, traces: bool) -> Iterator[Mistake]:
    """Yield files with two fields swapped."""
    known = {one.name: one for one in numbers}
    pairs = (
        ("memory[0].capacity", "memory[0].bandwidth"),
        ("links.scale_up.bandwidth", "links.scale_out.bandwidth"),
        ("peak.bf16", "peak.fp8"),
        ("peak.fp8", "peak.fp4"),
        ("power.chip", "power.all_in"),
        ("price.offers[0].price", "price.purchase"),
        ("peak.bf16", "vector"),
    )
    for left, right in pairs:
        one, two = known.get(left), known.get(right)
        if one and two and one.si != two.si:
            new = copy.deepcopy(data)
            _put(new, one, two.text, traces=traces)
            _put(new, two, one.text, traces=traces)
            yield "fields swapped", "any", new, f"{left} and {right}"


def typos(data: Data, numbers: list[WrittenNumber], *, traces: bool) -> Iterator[Mistake]:  # noqa: ARG001
    """Yield files with a letter missing in a key."""
    for key in data:
        if len(key) > 3:
            new = {(name[:2] + name[3:] if name == key else name): data[name] for name in data}
            yield "typo in a key", "any", new, key
    for number in numbers:
        new = copy.deepcopy(data)
        parent: Any = new
        for step in number.path[:-1]:
            parent = parent[step]
        key = number.path[-1]
        if isinstance(key, str) and len(key) > 3:
            parent[key[:2] + key[3:]] = parent.pop(key)
            yield "typo in a key", "any", new, number.name


def sources(data: Data, numbers: list[WrittenNumber], *, traces: bool) -> Iterator[Mistake]:  # noqa: ARG001
    """Yield files with a source deleted: on a number, or in the list."""
    for number in numbers:
        if number.said("source"):
            new = copy.deepcopy(data)
            parent: Any = new
            for step in number.path:
                parent = parent[step]
            del parent["source"]
            yield "source deleted", "any", new, number.name
    for name in data.get("sources", {}):
        new = copy.deepcopy(data)
        del new["sources"][name]
        yield "source not listed", "any", new, name


MISTAKES: tuple[Callable[..., Iterator[Mistake]], ...] = (
    one_number,
    whole_file,
    units,
    swaps,
    typos,
    sources,
)


def reported(
    data: Data, name: str, folder: Path, *, strict: bool = False, kind: Kind = "hardware"
) -> set[tuple[str, int, int]]:
    """Return what a check says of some data: rules and places, errors and warnings."""
    path = folder / f"{name}.yaml"
    path.write_text(yaml.dump(data, sort_keys=False, allow_unicode=True, Dumper=_DUMPER))
    faults = check_document(scan(path), kind, RuleContext(TODAY, strict))
    return {
        (fault.rule, fault.line, fault.column)
        for fault in faults
        if not fault.excuse and fault.severity != "note"
    }


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Score:
    """How many mistakes of a kind there were and how many were caught, by column."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], dict[str, list[bool]]] = defaultdict(
            lambda: {"slip": [], "misread": [], "unknown": []}
        )
        self.missed: list[str] = []

    def add(self, mistake: Mistake, column: str, name: str, *, caught: bool) -> None:
        """Count one."""
        kind, on, _, which = mistake
        self.counts[kind, on][column].append(caught)
        if not caught:
            self.missed.append(f"{column}: {kind} on {on} in {name}: {which}")


def run(folder: Path) -> tuple[Score, dict[str, int], int]:
    """Check every file in every wrong way; also count what is said of the files as they are."""
    score, alarms = Score(), {"default": 0, "strict": 0}
    files = sorted(folder.glob("*.yaml"))
    with tempfile.TemporaryDirectory() as scratch:
        for file in files:
            _one_file(file, Path(scratch), score, alarms)
    return score, alarms, len(files)


def _one_file(file: Path, scratch: Path, score: Score, alarms: dict[str, int]) -> None:
    data = scan(file).data
    alarms["strict"] += len(reported(data, file.stem, scratch, strict=True))
    for column, known, traces in (
        ("slip", data, True),
        ("misread", data, False),
        ("unknown", unknown(data), False),
    ):
        path = scratch / file.name
        right = reported(known, file.stem, scratch)
        alarms["default"] += len(right) if column == "slip" else 0
        numbers = list(sheet(scan(path), "hardware").numbers.values())
        for mistakes in MISTAKES if traces else MISTAKES[:-2]:
            for mistake in mistakes(known, numbers, traces=traces):
                found = reported(mistake[2], file.stem, scratch)
                score.add(mistake, column, file.stem, caught=bool(found - right))


def unknown(data: Data) -> Data:
    """Return a chip of which only its numbers are known: no architecture, cores or provenance."""
    new = {key: value for key, value in data.items() if key not in ("architecture", "cores")}
    return new | {"name": "A chip", "vendor": "Somebody"}


def blind(seed: int, count: int = 100) -> Iterator[tuple[Kind, str, str, bool]]:
    """Yield catalogue, kind, file with path, and whether it was caught, of mistakes drawn blindly.

    Shipped files are clean, so whatever is said of a wrong one is said of the mistake.
    """
    kinds: tuple[Kind, ...] = ("models", "engines", "hardware")
    with tempfile.TemporaryDirectory() as scratch:
        for kind in kinds:
            files = {
                path.stem: scan(path).data for path in sorted(shipped_folder(kind).glob("*.yaml"))
            }
            folder = Path(scratch, kind)
            folder.mkdir()
            for mistake, name, data, path in drawn(files, seed, count):
                found = reported(data, name, folder, strict=True, kind=kind)
                Path(folder, f"{name}.yaml").unlink()  # others may extend the shipped one
                yield kind, mistake, f"{name}: {path}", bool(found)


def print_blind(seed: int, *, missed: bool) -> None:
    """Print the share of blind mistakes that the check finds."""
    counts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for catalogue, mistake, where, caught in blind(seed):
        for row in (mistake, "all"):
            counts[row][catalogue].append(caught)
        if missed and not caught:
            print(f"{catalogue}: {mistake} in {where}")
    print("| mistake | models | engines | hardware |\n|---|---|---|---|")
    for row in (*(name for name in counts if name != "all"), "all"):
        cells = (share(counts[row][kind]) for kind in ("models", "engines", "hardware"))
        print(f"| {row} | {' | '.join(cells)} |")


def share(caught: list[bool]) -> str:
    """Return a share and its count."""
    return f"{percent(caught)} of {len(caught):,}" if caught else ""


def percent(caught: list[bool]) -> str:
    """Per cent of mistakes that were caught; empty where none was tried."""
    return f"{100 * sum(caught) / len(caught):.0f}%" if caught else ""


def main() -> None:
    """Print the table that stands in docs/check.md, and what was missed where asked."""
    if "--blind" in sys.argv:
        seed = int(sys.argv[sys.argv.index("--blind") + 1])
        print_blind(seed, missed="--missed" in sys.argv)
        return
    arguments = [one for one in sys.argv[1:] if one != "--missed"]
    score, alarms, files = run(Path(arguments[0]) if arguments else shipped_folder("hardware"))
    print("| mistake | on | times | slip | misread | unknown |")
    print("|---|---|---:|---|---|---|")
    for (kind, on), columns in score.counts.items():
        cells = (percent(columns[name]) for name in ("slip", "misread", "unknown"))
        print(f"| {kind} | {on} | {len(columns['slip']):,} | {' | '.join(cells)} |")
    for column in ("slip", "misread", "unknown"):
        wanted = [
            caught
            for (kind, on), columns in score.counts.items()
            if kind in ("x2", "x8", "x1000")
            for caught in columns[column]
        ]
        print(f"\nx2, x8 and x1000 together, {column}: {share(wanted)}")
    print(f"False alarms on the {files} files as they are: {alarms['default']}", end="")
    print(f" ({alarms['strict']} with --strict)")
    if "--missed" in sys.argv:
        print("\n".join(score.missed))


if __name__ == "__main__":
    main()
