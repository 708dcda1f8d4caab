"""The map: which part may import which, and where each library lives."""

import ast
from pathlib import Path

import pytest

import fastcalc

PACKAGE = Path(fastcalc.__file__).parent
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parent != PACKAGE or path.stem != "__init__"
]

MAY_IMPORT = {
    "errors": set(),
    "folders": set(),
    "written": set(),
    "inputs": {"errors"},
    "units": {"errors"},
    "formulas": set(),
    "catalogue": {"errors", "folders", "inputs", "units", "written"},
    "layers": {"catalogue", "formulas"},
    "workload": {"catalogue", "formulas", "layers"},
    "machine": {"catalogue", "formulas", "workload"},
    "layout": {"errors", "formulas"},
    "placement": {"catalogue", "errors", "formulas", "layout", "machine", "workload"},
    "load": {"formulas", "machine", "placement", "workload"},
    "step": {"formulas", "load", "machine"},
    "wafer": {"formulas", "load", "machine", "step"},
    "light": {"formulas", "load", "machine", "placement", "step", "workload"},
    "traffic": {"formulas"},
    "passes": {"formulas", "light", "load", "placement", "step", "traffic", "wafer"},
    "evaluate": {
        "catalogue",
        "classes",
        "formulas",
        "light",
        "passes",
        "placement",
        "step",
        "traffic",
    },
    "classes": {"catalogue"},
    "scenario": {
        "classes",
        "catalogue",
        "errors",
        "evaluate",
        "formulas",
        "machine",
        "layout",
        "placement",
        "traffic",
        "workload",
    },
    "explain": {
        "catalogue",
        "formulas",
        "layers",
        "light",
        "load",
        "passes",
        "placement",
        "scenario",
        "step",
        "traffic",
        "workload",
    },
    "columns": {"evaluate", "formulas", "scenario", "step"},
    "sweep": {
        "catalogue",
        "classes",
        "columns",
        "errors",
        "evaluate",
        "formulas",
        "machine",
        "layout",
        "placement",
        "scenario",
        "traffic",
        "workload",
        "written",
    },
    "plan": {
        "catalogue",
        "columns",
        "errors",
        "evaluate",
        "formulas",
        "layout",
        "placement",
        "scenario",
        "sweep",
        "traffic",
    },
    "check": {"catalogue", "errors", "units", "workload"},
    "measured": {
        "catalogue",
        "classes",
        "errors",
        "evaluate",
        "formulas",
        "load",
        "machine",
        "passes",
        "layout",
        "placement",
        "scenario",
        "step",
        "traffic",
        "wafer",
        "workload",
        "folders",
        "written",
        "inputs",
    },
    "claims": {
        "catalogue",
        "errors",
        "evaluate",
        "folders",
        "formulas",
        "scenario",
        "traffic",
        "workload",
    },
    "tasks": {"errors", "formulas"},
    "search": {
        "errors",
        "evaluate",
        "formulas",
        "passes",
        "layout",
        "placement",
        "scenario",
        "traffic",
    },
    "fastmode": {
        "catalogue",
        "classes",
        "errors",
        "formulas",
        "machine",
        "layout",
        "placement",
        "scenario",
        "search",
        "traffic",
        "workload",
    },
    "report": {
        "catalogue",
        "check",
        "claims",
        "classes",
        "columns",
        "evaluate",
        "explain",
        "fastmode",
        "formulas",
        "measured",
        "plan",
        "scenario",
        "search",
        "sweep",
        "tasks",
        "traffic",
        "workload",
        "written",
    },
    "cli": {
        "catalogue",
        "check",
        "claims",
        "errors",
        "evaluate",
        "fastmode",
        "folders",
        "inputs",
        "measured",
        "plan",
        "report",
        "scenario",
        "search",
        "sweep",
        "tasks",
        "traffic",
        "units",
        "written",
    },
    "__main__": {"cli"},
}
HOME = {
    "yaml": {"catalogue"},
    "pydantic": {"catalogue", "check"},
    "rich": {"report"},
    "typer": {"cli"},
    "pyarrow": {"sweep"},
}


def imported(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_map(path):
    here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for name in imported(path):
        top, *rest = name.split(".")
        if top == "fastcalc" and rest and rest[0] != "__version__":
            assert rest[0] in MAY_IMPORT[here] | {here}, name
        assert here in HOME.get(top, {here}), f"{name} has another home"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_can_be_seen_whole(path):
    """Fifty lines of code at most, docstring and signature apart."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            limit = 50
            assert length <= limit, f"{node.name}: {length} lines"
