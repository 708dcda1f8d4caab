"""Functions and records can be seen whole, and JSON is written in one place."""

import ast
from pathlib import Path

import fastcalc
from tests.helpers import every, nodes

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
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in ("dumps", "dump", "JSONEncoder")
    ]
    assert set(dumps) == {"written.py"}


@every("path", MODULES)
def test_functions_can_be_seen_whole(path):
    """Fifty lines of code at most, docstring and signature apart."""
    for node in nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            limit = 50
            assert length <= limit, f"{node.name}: {length} lines"


@every("path", [path for path in MODULES if path.is_relative_to(PACKAGE / "core")])
def test_records_of_the_core_can_be_seen_whole(path):
    """Twenty fields at most; those of engine parameters stand in their schema."""
    for node in nodes(path):
        if isinstance(node, ast.ClassDef):
            fields = sum(isinstance(statement, ast.AnnAssign) for statement in node.body)
            assert fields <= 20, f"{node.name}: {fields} fields"


FILLERS = frozenset(
    "one other others found asked made each said known own most rest done both any some such given "
    "tried taken seen kept gone thing it what which who whole more less least best worst much many "
    "few held told named here there then again back apart together wanted got used put".split()
)
"""Words that say nothing of a thing where they are its name."""


def test_names_say_what_things_are():
    """Of all that is assigned or taken, less than one in a hundred has a word for a name."""
    named = [node for path in MODULES for node in nodes(path)]
    names = [node.arg for node in named if isinstance(node, ast.arg)]
    names += [
        node.id for node in named if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    fillers = [name for name in names if name.strip("_") in FILLERS]
    assert len(fillers) < 0.01 * len(names), fillers
