"""Functions can be seen whole, and JSON is written in one place."""

import ast
from pathlib import Path

import fastcalc
from tests.helpers import every

PACKAGE = Path(fastcalc.__file__).parent
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parent != PACKAGE or path.stem != "__init__"
]


def test_json_is_written_in_one_place_which_refuses_nan():
    dumps = [
        path.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("dumps", "dump", "JSONEncoder")
    ]
    assert set(dumps) == {"written.py"}


@every("path", MODULES)
def test_functions_can_be_seen_whole(path):
    """Fifty lines of code at most, docstring and signature apart."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            limit = 50
            assert length <= limit, f"{node.name}: {length} lines"
