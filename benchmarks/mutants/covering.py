"""Which tests execute which line, and how long they take."""

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path

from benchmarks.mutants.generated import Mutant
from benchmarks.mutants.running import ROOT, copied, tested

DIRECT, RELATED = 30.0, 3.0
"""Seconds that tests of a line, and others of their files, may take, as they do without it."""

OVERHEAD = 0.02
"""Seconds that any test takes of pytest."""


class Covering:
    """Which tests execute which line of the package.

    Parameters
    ----------
    root : Path
        The repository.
    lines : dict
        By file and line, the tests that execute it; the empty name for what imports execute.
    seconds : dict
        What each test takes.
    """

    def __init__(
        self, root: Path, lines: Mapping[str, dict[int, list[str]]], seconds: dict[str, float]
    ) -> None:
        self._root, self._lines, self._seconds = root, lines, seconds
        self._counts = {
            file: Counter(test for tests in of_file.values() for test in tests)
            for file, of_file in lines.items()
        }
        self._all_lines = sum(self._counts.values(), Counter())

    def tests(self, mutant: Mutant) -> dict[str, float]:
        """Return the tests to run against a mutant with their seconds, nearest and fastest first.

        Those that execute its lines come before the others of their files, which may see what a
        cache keeps of it. A second case of a test comes after the first ones of all others. What is
        executed by an import counts for the lines that name it.
        """
        place = mutant.file, mutant.lines
        direct = self._executing(*place) or self._calling(mutant) or self._importing(*place, set())
        files = {test.partition("::")[0] for test in direct}
        related = {test for test in self._seconds if test.partition("::")[0] in files}
        chosen: dict[str, float] = {}
        for tests, seconds in ((direct, DIRECT), (related - direct, RELATED)):
            left = seconds
            nearest = sorted(tests & self._seconds.keys(), key=partial(self._cost, mutant.file))
            for test in first_cases_first(nearest):
                if self._seconds[test] <= left:
                    chosen[test] = self._seconds[test]
                    left -= chosen[test]
        return chosen

    def _cost(self, file: str, test: str) -> float:
        """Return the seconds of a test over the share of its lines that are in a file.

        What takes long over something else is the least likely to fail soon.
        """
        share = (self._counts[file][test] + 1) / (self._all_lines[test] + 1)
        return (self._seconds[test] + OVERHEAD) / share

    def _executing(self, file: str, lines: tuple[int, int]) -> set[str]:
        """Return the tests that execute some lines of a function."""
        if not any(first <= lines[0] <= last for first, last in self._functions[file]):
            return set()  # the first test that imports the file, whichever that was
        here = range(lines[0], lines[1] + 1)
        return {test for line in here for test in self._lines[file].get(line, ()) if test}

    def _calling(self, mutant: Mutant) -> set[str]:
        """Return the tests that execute the line of a mutant if that is in a ``lambda``."""
        before = (self._root / mutant.file).read_bytes()[: mutant.start]
        line = before.count(b"\n") + 1
        functions = (node for node in ast.walk(self._trees[mutant.file])
                     if isinstance(node, ast.Lambda))  # fmt: skip
        if not any(one.lineno <= line <= (one.end_lineno or 0) for one in functions):
            return set()
        return {test for test in self._lines[mutant.file].get(line, ()) if test}

    def _importing(self, file: str, lines: tuple[int, int], seen: set[str]) -> set[str]:
        """Return the tests that execute a line which names what is computed on import."""
        tests = set()
        for name in _bound(self._trees[file], lines) - seen:
            seen.add(name)
            for user, statement in self._uses.get(name, ()):
                if user != file and not self._is_imported(file, user):
                    continue  # another file's variable of the same name
                where = (statement.lineno, statement.end_lineno or statement.lineno)
                tests |= self._executing(user, where) or self._importing(user, where, seen)
        return tests

    def _is_imported(self, file: str, user: str) -> bool:
        """Tell whether a file names another in an import: the module, or what is in it."""
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return not {module, *self._parents(module)}.isdisjoint(self._imports[user])

    @staticmethod
    def _parents(module: str) -> list[str]:
        """Return the package, from which a module or a name that it passes on is imported."""
        return [module.rpartition(".")[0]] if "." in module else []

    @cached_property
    def _imports(self) -> dict[str, set[str]]:
        """The modules that each file imports, or from which it does."""
        return {
            file: {
                name
                for node in ast.walk(tree)
                for name in (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                    if isinstance(node, ast.ImportFrom)
                    else []
                )
            }
            for file, tree in self._trees.items()
        }

    @cached_property
    def _trees(self) -> dict[str, ast.Module]:
        return {file: ast.parse((self._root / file).read_text()) for file in self._lines}

    @cached_property
    def _functions(self) -> dict[str, list[tuple[int, int]]]:
        """First and last lines of the bodies of functions in each file."""
        return {
            file: [
                (node.body[0].lineno, node.end_lineno or node.lineno)
                for node in ast.walk(tree)
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            ]
            for file, tree in self._trees.items()
        }

    @cached_property
    def _uses(self) -> dict[str, list[tuple[str, ast.stmt]]]:
        """The simple statements in which each name of a variable or an attribute is read."""
        uses: dict[str, list[tuple[str, ast.stmt]]] = {}
        for file, tree in self._trees.items():
            for statement in ast.walk(tree):
                if isinstance(statement, ast.stmt):
                    for name in set(_names(statement)):
                        uses.setdefault(name, []).append((file, statement))
        return uses


def first_cases_first(tests: Iterable[str]) -> list[str]:
    """Return the first case of each parametrized test, then the second of each, and so on.

    >>> first_cases_first(["a[1]", "a[2]", "b", "a[3]", "c[1]"])
    ['a[1]', 'b', 'c[1]', 'a[2]', 'a[3]']
    """
    cases: Counter[str] = Counter()
    rounds: dict[int, list[str]] = {}
    for test in tests:
        function = test.partition("[")[0]
        rounds.setdefault(cases[function], []).append(test)
        cases[function] += 1
    return [test for number in sorted(rounds) for test in rounds[number]]


def _names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names read in a statement itself, not in those inside it."""
    parts = list(ast.iter_child_nodes(statement))
    while parts:
        part = parts.pop()
        if isinstance(part, ast.stmt):
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
        parts += ast.iter_child_nodes(part)


def _bound(tree: ast.Module, lines: tuple[int, int]) -> set[str]:
    """Return the names that the statements around some lines bind at the top of a file."""
    names = set()
    for statement in tree.body:
        if statement.lineno <= lines[0] <= (statement.end_lineno or 0):
            if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
                names.add(statement.name)
            elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
                targets = ast.walk(statement)
                names |= {part.id for part in targets if isinstance(part, ast.Name)
                          and isinstance(part.ctx, ast.Store)}  # fmt: skip
    return names


def measured(folder: Path) -> Covering:
    """Return what `measure` has written to a folder."""
    import coverage

    data = coverage.CoverageData(str(folder / "coverage"))
    data.read()
    files = [str(file.relative_to(ROOT)) for file in sorted((ROOT / "fastcalc").rglob("*.py"))]
    lines = {file: data.contexts_by_lineno(file) for file in files}
    return Covering(ROOT, lines, json.loads((folder / "seconds.json").read_text()))


def test_files(root: Path) -> list[str]:
    """Return the files of tests in all folders, but for those that need a browser."""
    files = (file.relative_to(root) for file in (root / "tests").rglob("test_*.py"))
    return sorted(str(file) for file in files if "browser" not in file.parts)


def measure(folder: Path, jobs: int) -> None:
    """Run every test, and write which lines each executes and what it takes to a folder.

    Each file of tests runs in a process of its own, so that what one keeps in a cache does not
    hide the lines behind it from another. Tests that fail are left out.
    """
    import coverage

    parts = folder / "parts"
    parts.mkdir(parents=True)
    with copied(ROOT) as copy, ThreadPoolExecutor(jobs) as pool:
        files = test_files(copy)

        def run(file: str) -> None:
            result = tested(copy, [file], {"MUTANTS_COVERAGE": str(parts)}, 3600.0)
            print(f"{file}: exit code {result.code}, {result.last}", file=sys.stderr, flush=True)

        list(pool.map(run, files))
    seconds: dict[str, float] = {}
    for part in parts.glob("*.json"):
        seconds |= json.loads(part.read_text())
    data = coverage.CoverageData(str(folder / "coverage"))
    for part in parts.glob("*.coverage"):
        measured = coverage.CoverageData(str(part))
        measured.read()
        data.update(measured)
    data.write()
    (folder / "seconds.json").write_text(json.dumps(seconds))
