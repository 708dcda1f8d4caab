"""Start-up of the command line, beside the imports it cannot do without, in one run.

Run ``python -m benchmarks.startup``, or all benchmarks with ``python -m benchmarks``.
"""

import os
import shutil
import subprocess
import sys

from benchmarks.clock import RUNS, interleaved
from benchmarks.table import markdown, timings

BARE, TYPER, LIBRARIES = "python -c pass", "import typer", "the imports of compare"
SET_ALIKE = f"{LIBRARIES}, set as fastcalc sets Python"
"""The same imports with what fastcalc does to Python itself: one thread for BLAS, no search for
cycles. What is above it is our own."""

OWN = "fastcalc"
_LOADED = f"""
import sys
from fastcalc.cli import main
sys.argv, out, sys.stdout = ["fastcalc", "compare"], sys.stdout, open({os.devnull!r}, "w")
try:
    main()
except SystemExit:
    named = ((name, getattr(module, "__spec__", None)) for name, module in sys.modules.items())
    print(*(name for name, spec in named if spec and spec.name == name), file=out)
"""
_IMPORT = """
import sys
from importlib import import_module
for name in {names!r}.split():
    if name not in sys.modules:
        import_module(name)
"""
_SETTINGS = """
import gc, os
gc.disable()
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["PYDANTIC_DISABLE_PLUGINS"] = "1"
"""
_END = """
gc.freeze()
"""
FLOORS = {"x python": BARE, "x typer": TYPER, "x imports": LIBRARIES, "x set alike": SET_ALIKE}

COMPLETION = {
    "_FASTCALC_COMPLETE": "complete_bash",
    "COMP_WORDS": "fastcalc comp",
    "COMP_CWORD": "1",
}
"""What bash says when Tab is pressed after ``fastcalc comp``."""

PLAN = ("plan", "llama-3.1-8b")


def imports() -> str:
    """Return a program that imports what a comparison loads of other people's, and ends there."""
    loaded = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True
    ).stdout.split()
    others = [name for name in loaded if name.split(".")[0] not in (OWN, "__main__")]
    return _IMPORT.format(names=" ".join(others))


def commands() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return what is timed, by name, and what its environment holds."""
    fastcalc = shutil.which("fastcalc")
    if fastcalc is None:
        raise SystemExit("fastcalc is not on the path; install it first: python -m pip install .")
    others = imports()
    timed = {
        BARE: ([sys.executable, "-c", "pass"], {}),
        TYPER: ([sys.executable, "-c", "import typer"], {}),
        LIBRARIES: ([sys.executable, "-c", others], {}),
        SET_ALIKE: ([sys.executable, "-c", _SETTINGS + others + _END], {}),
        "fastcalc --help": ([fastcalc, "--help"], {}),
        "shell completion": ([fastcalc], COMPLETION),
        "fastcalc compare": ([fastcalc, "compare"], {}),
        "fastcalc compare --format json": ([fastcalc, "compare", "--format", "json"], {}),
        "fastcalc fit": ([fastcalc, "fit"], {}),
    }
    if subprocess.run([fastcalc, *PLAN], capture_output=True, check=False).returncode == 0:
        timed[f"fastcalc {' '.join(PLAN)}"] = ([fastcalc, *PLAN], {})
    return timed


def report(runs: int = RUNS) -> str:
    """Time all commands in turn and return the table."""
    return markdown(("", *FLOORS, "ms"), timings(interleaved(commands(), runs), FLOORS))


if __name__ == "__main__":
    print(report())
