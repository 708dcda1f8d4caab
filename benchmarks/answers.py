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
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import unified_diff
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

from benchmarks.fuzz.grammar import Case, commands, draw
from benchmarks.fuzz.running import CODE_LOST, fenced, in_process, tidy

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

OF_PAGES = 0
"""Seed of the commands of pages."""

CHUNK = 50
"""Cases of a process, which keeps what it has computed. [1]"""

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


def forms_of(case: Case) -> Iterator[tuple[str, Case]]:
    """Each form that the command of a case has, and the case as it is asked for in that form."""
    flags = {flag for param in commands().get(case.words[0], []) for flag in param.opts}
    for form, (words, columns) in FORMS.items():
        if not words or ("--format" in flags and "--format" not in case.words):
            yield form, replace(case, words=[*case.words, *words], env={"COLUMNS": columns})


def in_forms(case: Case) -> list[Answer]:
    """Answers of a case in every form that its command has.

    Those after one that was stopped, perhaps in the middle of an import, are lost like it.
    """
    answers: list[Answer] = []
    for form, asked in forms_of(case):
        if is_lost(answers):
            answers.append(answer_of(case, form))
            continue
        outcome = in_process(asked)
        answers.append(answer_of(case, form, outcome.code, outcome.out, outcome.err))
    tidy()
    return answers


def is_lost(answers: Sequence[Answer]) -> bool:
    """Whether a command was stopped in any form, so that its process cannot be relied on."""
    return any(answer["code"] == CODE_LOST for answer in answers)


def answer_of(case: Case, form: str, code: int = CODE_LOST, out: str = "", err: str = "") -> Answer:
    """What a case printed in a form; by default, of a process that died."""
    command = shlex.join(case.words)
    return {"command": command, "form": form, "code": code, "out": out, "err": err}


class _Chunk:
    """Cases that a process of its own answers in turn; it may die of any of them."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.answers: list[list[Answer]] = []
        self._start()

    @property
    def is_done(self) -> bool:
        """Whether all cases have answers."""
        return len(self.answers) == len(self.cases)

    def take(self) -> None:
        """Wait for the next answer; after a lost case another process goes on with the rest."""
        try:
            self.answers.append(self.receive.recv())
        except EOFError:
            case = self.cases[len(self.answers)]
            self.answers.append([answer_of(case, form) for form, _ in forms_of(case)])
        if self.is_done or is_lost(self.answers[-1]):
            self._end()
            if not self.is_done:
                self._start()

    def _start(self) -> None:
        self.receive, send = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        rest = self.cases[len(self.answers) :]
        self.process = context.Process(target=_answer_each, args=(rest, send), daemon=True)
        self.process.start()
        send.close()  # so that the end of the process is the end of the pipe

    def _end(self) -> None:
        self.receive.close()
        self.process.join()


def _answer_each(cases: Sequence[Case], send: Connection) -> None:
    """Send the answers of each case up to one that is lost, in memory that is fenced."""
    with fenced(), suppress(MemoryError):
        for case in cases:
            answers = in_forms(case)
            send.send(answers)
            if is_lost(answers):
                return


def answered(cases: Iterable[Case], jobs: int) -> Iterator[list[Answer]]:
    """Answers of each of some cases, in order."""
    to_come, chunks = iter(cases), deque[_Chunk]()
    while True:
        while sum(not chunk.is_done for chunk in chunks) < jobs:
            if not (chunk_cases := list(islice(to_come, CHUNK))):
                break
            chunks.append(_Chunk(chunk_cases))
        if not chunks:
            return
        open_chunks = {chunk.receive: chunk for chunk in chunks if not chunk.is_done}
        for connection in wait(list(open_chunks)):
            open_chunks[cast(Connection, connection)].take()
        while chunks and chunks[0].is_done:
            yield from chunks.popleft().answers


def differences(before: Iterable[Answer], after: Iterable[Answer]) -> Iterator[tuple[str, Answer]]:
    """Each answer that differs, and in what: its code, its numbers, or its text alone."""
    for old, new in zip(before, after, strict=True):
        if CODE_LOST in (old["code"], new["code"]):
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
