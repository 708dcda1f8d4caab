"""Whether the tests notice when the arithmetic is wrong: one wrong line at a time.

Run ``python benchmarks/code_mutants.py``: each row of ``code_mutants.yaml`` is applied to a copy of
the repository, never to the repository itself, and the tests that the row names run against it.
A mutant is killed where one of them fails, and survives where all pass. The exit code is 0 where
all are killed, 1 where any survived, 2 where a row does not apply or a test fails without it.

``mutations.py`` is something else: it makes hardware *files* wrong, for ``fastcalc check``.
"""

import argparse
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_suffix(".yaml")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__")

_FAILED, _NOT_COLLECTED, _NO_MUTANT = 1, 2, 70
"""Exit codes of pytest for failed tests and for files that raise on import; and our own."""

_RUN = f"""
import importlib, sys, traceback
try:
    module = importlib.import_module(sys.argv[1])
except Exception:  # whatever a wrong line may raise: code that does not load tells nothing of tests
    traceback.print_exc()
    sys.exit({_NO_MUTANT})
if module.__file__ != sys.argv[2]:
    print("imported from", module.__file__)
    sys.exit({_NO_MUTANT})
import pytest
sys.exit(pytest.main(sys.argv[3:]))
"""
"""Import the mutated module, and go on only if it is the copy's."""


class WrongRowError(Exception):
    """A row of the list, or a test that it names, cannot say anything; the text says why."""


@dataclass(frozen=True)
class Mutant:
    """One wrong line.

    Attributes
    ----------
    name, file : str
        Of the row, and where the line is.
    code, becomes : str
        What stands there once, and what it becomes.
    wrong : str
        Why that would be wrong.
    tests : tuple of str
        Those nearest to it, as pytest names them.
    survives : str
        Why no test can kill it; empty where one should.
    """

    name: str
    file: str
    code: str
    becomes: str
    wrong: str
    tests: tuple[str, ...]
    survives: str = ""

    @property
    def module(self) -> str:
        """Name by which the file is imported."""
        return ".".join(Path(self.file).with_suffix("").parts).removesuffix(".__init__")

    def text(self, root: Path) -> str:
        """Return the file with the line made wrong.

        Raises
        ------
        WrongRowError
            If the file does not hold the line exactly once.
        """
        path = root / self.file
        text = path.read_text() if path.is_file() else ""
        if text.count(self.code) != 1 or self.code == self.becomes:
            raise WrongRowError(f"{self.name}: {self.file} holds {text.count(self.code)} times "
                                f"what is to be replaced: {self.code}")  # fmt: skip
        return text.replace(self.code, self.becomes)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: killed, survived, timeout (killed, too), or error: no verdict."""

    mutant: Mutant
    word: str
    seconds: float

    @property
    def is_killed(self) -> bool:
        """True where a test noticed."""
        return self.word in ("killed", "timeout")


def mutants_of(path: Path) -> list[Mutant]:
    """Return the rows of a list.

    Raises
    ------
    WrongRowError
        If two have one name.
    """
    listed = yaml.load(path.read_text(), _LOADER)  # noqa: S506  (safe, both)
    rows = [Mutant(**{**row, "tests": tuple(row["tests"])}) for row in listed]
    names = [row.name for row in rows]
    if twice := {name for name in names if names.count(name) > 1}:
        raise WrongRowError(f"names given twice: {', '.join(sorted(twice))}")
    return rows


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Yield a copy of a repository that is deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="code-mutants-") as folder:
        copy = Path(folder).resolve() / "tree"
        shutil.copytree(root, copy, ignore=LEFT_OUT, symlinks=True)
        yield copy


@contextmanager
def applied(mutant: Mutant, copy: Path) -> Iterator[None]:
    """Make a line of a copy wrong for a while; no byte code of either version outlives its text."""
    path = copy / mutant.file
    after = mutant.text(copy)
    before = path.read_text()

    def write(text: str) -> None:
        path.write_text(text)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    try:
        write(after)
        yield
    finally:
        write(before)


def tested(copy: Path, module: str, tests: tuple[str, ...], timeout: float) -> tuple[int, str]:
    """Return the exit code of tests run in a copy, and what they printed; -1 after a timeout."""
    path = copy / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    options = ("-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--assert=plain")
    unset = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""}
    environment = {**os.environ, **unset, "PYTHONPATH": str(copy)}
    command = [sys.executable, "-c", _RUN, module, str(file), *options, *tests]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, timeout=timeout, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return -1, ""
    return done.returncode, done.stdout + done.stderr


def verdict_on(mutant: Mutant, copy: Path, tests: tuple[str, ...], timeout: float) -> Verdict:
    """Return what tests say of a mutant.

    Raises
    ------
    WrongRowError
        If the line does not apply, or the code with it cannot be imported from the copy.
    """
    start = time.monotonic()
    with applied(mutant, copy):
        code, said = tested(copy, mutant.module, tests, timeout)
    words = {0: "survived", _FAILED: "killed", _NOT_COLLECTED: "killed", -1: "timeout"}
    if code not in words:
        raise WrongRowError(f"{mutant.name}: no verdict, exit code {code}\n{said[-2000:]}")
    return Verdict(mutant, words[code], time.monotonic() - start)


def check_tests(mutants: list[Mutant], copy: Path, timeout: float) -> None:
    """Demand that the tests of all mutants pass without any.

    Raises
    ------
    WrongRowError
        If one does not, or there is none of its name.
    """
    tests = tuple(dict.fromkeys(test for one in mutants for test in one.tests))
    code, said = tested(copy, "fastcalc", tests, timeout)
    if code != 0:
        raise WrongRowError(f"the tests do not pass without a mutant\n{said[-4000:]}")


def verdicts_on(mutants: list[Mutant], *, jobs: int, timeout: float, whole: bool) -> list[Verdict]:
    """Return the verdict on each mutant, one copy of the repository for each job."""
    with ExitStack() as stack:
        copies: Queue[Path] = Queue()
        for _ in range(min(jobs, len(mutants))):
            copies.put(stack.enter_context(copied(ROOT)))

        def judge(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                found = verdict_on(mutant, copy, mutant.tests, timeout)
                if whole and not found.is_killed:
                    found = verdict_on(mutant, copy, (), 10 * timeout)
            except WrongRowError as error:
                print(error, file=sys.stderr)
                found = Verdict(mutant, "error", 0.0)
            finally:
                copies.put(copy)
            print(f"{found.word:9} {found.seconds:5.1f} s  {mutant.name}", flush=True)
            return found

        for mutant in mutants:
            mutant.text(ROOT)
        first = copies.get()
        check_tests(mutants, first, 10 * timeout)
        copies.put(first)
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(judge, mutants))


def page(verdicts: list[Verdict]) -> str:
    """Return the score and the survivors as a page."""
    killed = sum(one.is_killed for one in verdicts)
    files = sorted({one.mutant.file for one in verdicts})
    lines = [
        "# Do the tests notice?",
        "",
        "Written by `python benchmarks/code_mutants.py --page docs/code-mutants.md`: each row of",
        "`benchmarks/code_mutants.yaml` makes the arithmetic wrong in one",
        "place, and the tests nearest to that place run against it.",
        "",
        f"**{killed} of {len(verdicts)} killed ({killed / len(verdicts):.0%}).**",
        "",
        "| file | mutants | killed |",
        "|---|---:|---:|",
    ]
    for file in files:
        here = [one.is_killed for one in verdicts if one.mutant.file == file]
        lines.append(f"| `{file}` | {len(here)} | {sum(here)} |")
    survivors = [one.mutant for one in verdicts if not one.is_killed]
    lines += ["", "## Survivors", ""]
    lines += [
        f"- **{one.name}** (`{one.file}`): `{one.code.strip()}` becomes `{one.becomes.strip()}`. "
        f"{one.survives or 'No reason is known.'}"
        for one in survivors
    ]
    return "\n".join([*lines, *([] if survivors else ["None."]), ""])


def main() -> int:
    """Run the list and return the exit code."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument(
        "--only", nargs="+", default=["*"], metavar="PATTERN", help="such as 'plan-*'"
    )
    asked.add_argument("--whole", action="store_true", help="survivors against the whole suite")
    asked.add_argument("--jobs", type=int, default=1, metavar="N", help="at a time")
    asked.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="for a mutant's tests"
    )
    asked.add_argument("--page", type=Path, metavar="FILE", help="write score and survivors there")
    options = asked.parse_args()
    try:
        mutants = [
            one
            for one in mutants_of(LIST)
            if any(fnmatch.fnmatch(one.name, pattern) for pattern in options.only)
        ]
        if not mutants:
            raise WrongRowError(f"no mutant is called {' or '.join(options.only)}")
        verdicts = verdicts_on(
            mutants, jobs=max(options.jobs, 1), timeout=options.timeout, whole=options.whole
        )
    except WrongRowError as error:
        print(error, file=sys.stderr)
        return 2
    killed = sum(one.is_killed for one in verdicts)
    print(f"{killed} of {len(verdicts)} killed ({killed / len(verdicts):.0%})")
    if any(one.word == "error" for one in verdicts):
        return 2
    if options.page is not None:
        options.page.write_text(page(verdicts))
    return 0 if killed == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
