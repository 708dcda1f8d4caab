"""Answers of many commands, kept before a change and compared after it.

    python -m benchmarks.answers keep before.jsonl.gz
    python -m benchmarks.answers compare before.jsonl.gz --show 20

Commands are drawn by the fuzzer and taken from the console blocks of README and docs. Each is
asked for text at 80 and 120 columns, JSON, CSV and a page, as far as it has them. A refactoring
leaves all of it as it was; a change of words leaves JSON and CSV. The file keeps the commands
with what they read, so that a comparison asks the same, whatever the pages say by then.
"""

import argparse
import base64
import gzip
import json
import multiprocessing
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.fuzz.grammar import Case, commands, draw
from benchmarks.fuzz.running import fenced, in_process, tidy

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "examples"

FORMS: dict[str, tuple[list[str], str]] = {
    "text 80": ([], "80"),
    "text 120": ([], "120"),
    "json": (["--format", "json"], "100"),
    "csv": (["--format", "csv"], "100"),
    "page": (["--format", "html"], "100"),
}
"""What each answer is asked for as: words, and columns of the terminal."""

OF_PAGES, TOO_SLOW = 0, -99
"""Seed of the commands of pages, and the exit code of what takes too long."""

Answer = dict[str, Any]
"""Words, code and streams of one command in one form."""


def drawn(seed: int, count: int) -> Iterator[Case]:
    """Cases of the fuzzer that stand for themselves: no odd places, nothing written."""
    number = 0
    while count:
        case = draw(seed, number)
        number += 1
        writes = {"-o", "--format", "--output-file"} & set(case.words)
        if not case.places and not writes and case.words[:1] != ["calibrate"]:
            count -= 1
            yield replace(case, env={})


def examples() -> dict[str, bytes]:
    """Files that commands of the pages read, by name."""
    return {
        str(path.relative_to(EXAMPLES)): path.read_bytes()
        for path in EXAMPLES.rglob("*")
        if path.is_file()
    }


def printed() -> Iterator[Case]:
    """Commands of the console blocks of README and docs, with the example files that they read."""
    files, seen = examples(), set()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in re.findall(r"(?ms)^```console\n(.*?)^```", page.read_text(encoding="utf-8")):
            for line in re.findall(r"(?m)^\$ fastcalc ([^\n]+)$", block):
                if line not in seen and not re.search(r"[|><;&]| -o ", line):
                    seen.add(line)
                    yield Case(OF_PAGES, len(seen), shlex.split(line), dict(files))


def kept(case: Case, answers: Sequence[Answer]) -> Answer:
    """A case with its answers as a line of the file keeps them; examples stay where they are."""
    files = (
        None
        if case.seed == OF_PAGES
        else {name: base64.b64encode(content).decode() for name, content in case.files.items()}
    )
    return {"number": case.number, "words": case.words, "files": files, "answers": answers}


def again(line: Answer) -> Case:
    """The case of a line."""
    if line["files"] is None:
        return Case(OF_PAGES, line["number"], line["words"], examples())
    files = {name: base64.b64decode(content) for name, content in line["files"].items()}
    return Case(1, line["number"], line["words"], files)


def in_forms(case: Case) -> list[Answer]:
    """Answers of a case in every form that its command has."""
    flags = {flag for param in commands().get(case.words[0], []) for flag in param.opts}
    answers = []
    for form, (words, columns) in FORMS.items():
        if words and ("--format" not in flags or "--format" in case.words):
            continue
        asked = replace(case, words=[*case.words, *words], env={"COLUMNS": columns})
        outcome = in_process(asked)
        answers.append(
            {
                "command": shlex.join(case.words),
                "form": form,
                "code": outcome.code,
                "out": outcome.out,
                "err": outcome.err,
            }
        )
    tidy()
    return answers


def answered(cases: Iterable[Case], jobs: int) -> Iterator[list[Answer]]:
    """Answers of each of some cases, in order."""
    with fenced(), multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=50) as pool:
        yield from pool.imap(in_forms, cases, chunksize=5)


def differences(before: Iterable[Answer], after: Iterable[Answer]) -> Iterator[tuple[str, Answer]]:
    """Each answer that differs, and in what: its code, its numbers, or its text alone."""
    for old, new in zip(before, after, strict=True):
        if TOO_SLOW in (old["code"], new["code"]):
            yield "too slow to compare", {**new, "before": old}
        elif old["code"] != new["code"]:
            yield "exit code", {**new, "before": old}
        elif old["out"] != new["out"]:
            kind = "records" if new["form"] in ("json", "csv") else "text"
            numbers = (re.findall(r"\d[\d,.]*", answer["out"]) for answer in (old, new))
            is_worded = kind == "text" and len({tuple(found) for found in numbers}) == 1
            yield "words" if is_worded else kind, {**new, "before": old}
        elif old["err"] != new["err"]:
            yield "notes", {**new, "before": old}


def read(path: Path) -> Iterator[Answer]:
    """Answers that were kept."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def shown(kind: str, answer: Answer, lines: int = 14) -> str:
    """A difference as a person reads it."""
    old = answer["before"]
    sides = [f"exit {one['code']}\n{one['out']}{one['err']}".splitlines() for one in (old, answer)]
    found = islice(unified_diff(*sides, "before", "after", lineterm="", n=0), 2, lines)
    text = "\n".join(line[:160] for line in found)
    return f"== {kind}: fastcalc {answer['command']} ({answer['form']})\n{text}\n"


def main() -> None:
    """Keep the answers of today, or say how they differ from kept ones; exit with 1 if they do."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("action", choices=["keep", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--cases", type=int, default=2000, help="commands that are drawn where they are kept"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=10, help="differences shown of each kind")
    asked = parser.parse_args()
    if asked.action == "keep":
        cases = [*printed(), *drawn(asked.seed, asked.cases)]
        with gzip.open(asked.file, "wt", encoding="utf-8") as file:
            for case, answers in zip(cases, answered(cases, asked.jobs), strict=True):
                file.write(json.dumps(kept(case, answers)) + "\n")
        return
    lines = list(read(asked.file))
    before = (answer for line in lines for answer in line["answers"])
    after = (each for answers in answered(map(again, lines), asked.jobs) for each in answers)
    counts: Counter[str] = Counter()
    for kind, answer in differences(before, after):
        counts[kind] += 1
        if counts[kind] <= asked.show:
            sys.stdout.write(shown(kind, answer))
    sys.stdout.write(f"{len(lines):,} commands: {dict(counts) or 'no difference'}\n")
    sys.exit(bool(counts))


if __name__ == "__main__":
    main()
