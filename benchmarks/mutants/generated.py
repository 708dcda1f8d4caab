"""Every way to make one place of a file wrong, from its syntax tree.

Left alone is what says something to readers and type checkers only: docstrings, annotations,
decorators, text and the numbers inside it, what is raised, ``__all__``, assertions. So are
``strict`` of `zip`, which is an assertion, and ``maxsize`` of `lru_cache`, which costs time alone.
"""

import ast
import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_FUNCTIONS = {
    name: opposite
    for pair in (
        ("min", "max"),
        ("any", "all"),
        ("floor", "ceil"),
        ("minimum", "maximum"),
        ("argmin", "argmax"),
    )
    for name, opposite in (pair, pair[::-1])
}
_SILENT = (ast.JoinedStr, ast.Assert, ast.Raise)
_WITHOUT_EFFECT = {"zip": "strict", "lru_cache": "maxsize"}
"""Arguments that change no answer, by function."""


@dataclass(frozen=True)
class Mutant:
    """One place of a file made wrong.

    Attributes
    ----------
    file : str
        Path from the top of the repository.
    scope : str
        Class and function that it is in, such as ``Plan.score``; empty at the top of a file.
    kind : str
        What is changed: ``comparison``, ``constant`` ...
    before, after : str
        What stands there, and what it becomes.
    nth : int
        Which of several that are alike in this scope, from 0.
    start, end : int
        Where `before` stands [byte of the file].
    lines : tuple of int
        First and last line of the statement around it, or of the header of a compound one.
    """

    file: str
    scope: str
    kind: str
    before: str
    after: str
    nth: int
    start: int
    end: int
    lines: tuple[int, int]

    @property
    def key(self) -> str:
        """What it is called, whatever moves around it."""
        count = f" (#{self.nth + 1})" if self.nth else ""
        return f"{self.file} {self.scope or '-'}: {self.before} -> {self.after}{count}"

    def text(self, root: Path) -> str:
        """Return the whole file with the mutant in it."""
        source = (root / self.file).read_bytes()
        return (source[: self.start] + self.after.encode() + source[self.end :]).decode()

    def rank(self, seed: int) -> str:
        """Return its place in the sample of a seed: changes elsewhere do not move it."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()


def mutants_of(root: Path, file: str) -> list[Mutant]:
    """Return every mutant of a file."""
    source = (root / file).read_bytes()
    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    counts: Counter[tuple[str, str, str]] = Counter()
    mutants = []
    for place in _places(ast.parse(source), "", (1, 1)):
        at = place.node.__dict__
        start = starts[at["lineno"] - 1] + at["col_offset"]
        end = starts[at["end_lineno"] - 1] + at["end_col_offset"]
        before = source[start:end].decode()
        alike = (place.scope, before, place.after)
        where = (counts[alike], start, end, place.lines)
        mutants.append(Mutant(file, place.scope, place.kind, before, place.after, *where))
        counts[alike] += 1
    return mutants


def sample(mutants: list[Mutant], size: int, seed: int, root: Path) -> list[Mutant]:
    """Return as many mutants at random, no two of one place; the same seed gives the same ones."""
    chosen: dict[tuple[str, int], Mutant] = {}
    for mutant in sorted(mutants, key=lambda mutant: mutant.rank(seed)):
        if len(chosen) < size and _compiles(mutant.text(root)):
            chosen.setdefault((mutant.file, mutant.start), mutant)
    return list(chosen.values())


@dataclass(frozen=True)
class _Place:
    node: ast.AST
    after: str
    kind: str
    scope: str
    lines: tuple[int, int]


def _places(node: ast.AST, scope: str, lines: tuple[int, int]) -> Iterator[_Place]:
    if isinstance(node, _SILENT):
        yield from _whole(node, scope)
        return
    if isinstance(node, ast.stmt):
        lines = _lines(node)
    for changed, after, kind in _changes(node):
        yield _Place(changed, after, kind, scope, lines)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        scope = f"{scope}.{node.name}".removeprefix(".")
    for child in _children(node):
        yield from _places(child, scope, lines)


def _whole(node: ast.AST, scope: str) -> Iterator[_Place]:
    if isinstance(node, ast.Raise):
        yield _Place(node, "pass", "statement", scope, _lines(node))


def _lines(node: ast.stmt) -> tuple[int, int]:
    body = getattr(node, "body", None)
    return node.lineno, (body[0].lineno - 1 if body else node.end_lineno) or node.lineno


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that compute something."""
    silent = {"annotation", "returns", "decorator_list", "type_params"}
    if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    for name, part in ast.iter_fields(node):
        if name in silent:
            continue
        if isinstance(node, ast.Call) and name == "func":
            part = part.value if isinstance(part, ast.Attribute) else []
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST) and not _has_no_effect(node, child):
                yield child


def _has_no_effect(node: ast.AST, child: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(child, ast.keyword):
        return False
    return child.arg is not None and _WITHOUT_EFFECT.get(ast.unparse(node.func)) == child.arg


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield what may be replaced at a node, by what, and the kind of change."""
    match node:
        case ast.Constant() | ast.UnaryOp():
            yield from ((node, after, "constant") for after in _constants(node))
        case ast.Compare(ops=[operator]):
            for swapped in _COMPARISONS[type(operator)]:
                changed = ast.Compare(node.left, [swapped()], node.comparators)
                yield node, f"({ast.unparse(changed)})", "comparison"
        case ast.BinOp() if type(node.op) in _ARITHMETIC and not _is_text(node):
            result = ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
            yield node, f"({ast.unparse(result)})", "arithmetic"
        case ast.BoolOp():
            opposite = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(opposite, node.values))})", "and, or"
            if len(node.values) == 2:
                for kept in node.values:
                    yield node, f"({ast.unparse(kept)})", "condition dropped"
        case ast.IfExp():
            yield node, f"({ast.unparse(node.body)})", "other branch"
            yield node, f"({ast.unparse(node.orelse)})", "other branch"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _FUNCTIONS:
            prefix = ast.unparse(node.func).removesuffix(name)
            yield node.func, prefix + _FUNCTIONS[name], "min, max"
        case ast.If() | ast.While() if "TYPE_CHECKING" not in ast.unparse(node.test):
            yield node.test, f"(not ({ast.unparse(node.test)}))", "negation"
        case ast.comprehension():
            for condition in node.ifs:
                yield condition, "True", "condition dropped"
        case ast.Slice():
            yield from ((end, "", "slice") for end in (node.lower, node.upper) if end)
        case _:
            yield from _dropped(node)


def _dropped(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    match node:
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield node, "return None", "return"
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield node, "pass", "statement"
        case ast.AugAssign():
            yield node, "pass", "statement"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield node, "pass", "statement"
        case ast.Continue():
            yield node, "break", "statement"
        case ast.Break():
            yield node, "continue", "statement"


def _constants(node: ast.Constant | ast.UnaryOp) -> Iterator[str]:
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, (ast.Not, ast.USub)):
            yield f"({ast.unparse(node.operand)})"
    elif isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node.value, int | float):
        yield from (f"({node.value!r} + 1)", f"({node.value!r} - 1)")
        if node.value:
            yield f"({node.value!r} * 2)"


def _is_text(node: ast.BinOp) -> bool:
    """Tell whether text is joined or filled in."""
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _compiles(text: str) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True
