"""How many wrong lines the tests notice: ``python -m benchmarks.mutants``; options with ``--help``.

A sample of every mutant that the syntax tree offers is tried in a copy of the repository, each
against the tests that execute its lines, fastest first, until one fails. The exit code is 0 where
the score reaches the aim, 1 where it does not, 2 where there is none.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from typing import Any

import yaml

from benchmarks.mutants.covering import Covering, measure, measured
from benchmarks.mutants.generated import Mutant, mutants_of, sample
from benchmarks.mutants.page import AIM, page, score
from benchmarks.mutants.running import ROOT, NoVerdictError, Verdict, copied, verdict_on

ROOMS = (
    "core", "formulas", "grid", "evidence", "importers", "catalogue", "features", "kit/request",
    "cli",
)  # fmt: skip
EQUIVALENT, SURVIVORS = (
    Path(__file__).with_name(name) for name in ("equivalent.yaml", "survivors.yaml")
)
SIZE, SEED = 200, 1


def sampled_files() -> list[str]:
    """Return the files of the packages that compute something or decide what is computed."""
    files = (file for room in ROOMS for file in sorted((ROOT / "fastcalc" / room).rglob("*.py")))
    return [str(file.relative_to(ROOT)) for file in files]


def all_mutants() -> list[Mutant]:
    """Return every mutant of those files."""
    return [mutant for file in sampled_files() for mutant in mutants_of(ROOT, file)]


def reasons_in(file: Path) -> dict[str, str]:
    """Return the mutants that a file lists by their keys, with the reason of each."""
    listed: list[dict[str, str]] = yaml.safe_load(file.read_text()) or []
    return {row["mutant"]: row["reason"] for row in listed}


def version() -> str:
    """Return a digest of code and tests."""
    digest = hashlib.sha256()
    for part in ("fastcalc", "tests"):
        for file in sorted((ROOT / part).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def covering(folder: Path, jobs: int) -> Covering:
    """Return which tests execute which line, measured anew where code or tests have changed."""
    digest = folder / "version"
    if not digest.exists() or digest.read_text() != version():
        shutil.rmtree(folder, ignore_errors=True)
        measure(folder, jobs)
        digest.write_text(version())
    return measured(folder)


class Kept:
    """Verdicts of earlier runs, in a file: what a test has killed is not tried again.

    Parameters
    ----------
    file : Path
        Of a JSON object a line.
    version : str
        Of code and tests, with which what survived before survives again.
    """

    def __init__(self, file: Path, version: str) -> None:
        self._file, self._version = file, version
        lines = file.read_text().splitlines() if file.exists() else []
        rows = [json.loads(line) for line in lines]
        self._rows = {
            row["mutant"]: row
            for row in rows
            if row["word"] != "survived" or row["version"] == version
        }

    def verdict(self, mutant: Mutant) -> Verdict | None:
        """Return the verdict on a mutant, where there is one that still holds."""
        row = self._rows.get(mutant.key)
        return Verdict(mutant, row["word"], row["seconds"], row["by"]) if row else None

    def add(self, verdict: Verdict) -> None:
        """Write a verdict down."""
        row = {**vars(verdict), "mutant": verdict.mutant.key, "version": self._version}
        with self._file.open("a") as file:
            file.write(json.dumps(row) + "\n")


def verdicts_on(
    chosen: Mapping[Mutant, Mapping[str, float]], jobs: int, kept: Kept
) -> Iterator[Verdict | None]:
    """Yield the verdict on each mutant, or none; `chosen` holds the tests to run against each."""
    with ExitStack() as stack:
        copies: Queue[Path] = Queue()
        for _ in range(jobs):
            copies.put(stack.enter_context(copied(ROOT)))

        def judge(mutant: Mutant) -> Verdict | None:
            if verdict := kept.verdict(mutant):
                return verdict
            copy = copies.get()
            try:
                verdict = verdict_on(mutant, copy, chosen[mutant])
            except NoVerdictError as error:
                print(f"{mutant.key}: {error}", file=sys.stderr)
                return None
            finally:
                copies.put(copy)
            kept.add(verdict)
            print(f"{verdict.word:9}{verdict.seconds:6.1f} s  {mutant.key}", flush=True)
            return verdict

        yield from stack.enter_context(ThreadPoolExecutor(jobs)).map(judge, chosen)


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    size = f"of the sample; {SIZE}, or all that --only names"
    parser.add_argument("--size", type=int, metavar="N", help=size)
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="of the sample")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="at a time")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="mutants with any of these texts")
    parser.add_argument(
        "--tests", nargs="+", metavar="FILE", help="rather than those that execute the lines"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="goes on with an earlier run")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write score and survivors there")
    return parser.parse_args()


def _chosen(mutants: list[Mutant], options: Any) -> list[Mutant]:
    """Return the sample, or all mutants that ``--only`` names, unless a size is asked for, too."""
    if not options.only:
        return sample(mutants, options.size or SIZE, options.seed, ROOT)
    named = [mutant for mutant in mutants if any(text in mutant.key for text in options.only)]
    return sample(named, options.size, options.seed, ROOT) if options.size else named


def _tests(mutants: Iterable[Mutant], options: Any, folder: Path) -> dict[Mutant, dict[str, float]]:
    if options.tests:
        return {mutant: dict.fromkeys(options.tests, 1.0) for mutant in mutants}
    lines = covering(folder / "covering", options.jobs)
    return {mutant: lines.tests(mutant) for mutant in mutants}


def main() -> int:
    """Try the sample and return the exit code."""
    options = _options()
    reasons, mutants = reasons_in(EQUIVALENT), all_mutants()
    for key in reasons.keys() - {mutant.key for mutant in mutants}:
        print(f"listed as equivalent, but not in the code: {key}", file=sys.stderr)
    chosen = _chosen(mutants, options)
    tried = [mutant for mutant in chosen if mutant.key not in reasons]
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        kept = Kept(folder / "verdicts.jsonl", version())
        verdicts = list(verdicts_on(_tests(tried, options, folder), options.jobs, kept))
    judged = [verdict for verdict in verdicts if verdict]
    for verdict in judged:
        if not verdict.is_killed:
            print(f"survived: {verdict.mutant.key}")
    print(f"{sum(verdict.is_killed for verdict in judged)} of {len(judged)} killed")
    if not judged or len(judged) < len(verdicts):
        return 2
    if options.page:
        skipped = {mutant: reasons[mutant.key] for mutant in chosen if mutant.key in reasons}
        of = {"seed": options.seed, "population": len(mutants)}
        options.page.write_text(page(judged, skipped, reasons_in(SURVIVORS), **of))
    return 0 if score(judged) >= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
