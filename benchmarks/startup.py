"""Start-up of the command line, beside the imports it cannot do without, in one run.

Run ``python -m benchmarks.startup``, or all benchmarks with ``python -m benchmarks``.
"""

import shutil
import subprocess
import sys

from benchmarks.clock import RUNS, interleaved
from benchmarks.table import markdown, timings

IMPORTS = "import typer, numpy, yaml, rich.table, pydantic; from pydantic import BaseModel"
"""The libraries that a comparison needs."""

BARE, TYPER, LIBRARIES = "python -c pass", "import typer", "the imports of compare"
FLOORS = {"x python": BARE, "x typer": TYPER, "x imports": LIBRARIES}

COMPLETION = {
    "_FASTCALC_COMPLETE": "complete_bash",
    "COMP_WORDS": "fastcalc comp",
    "COMP_CWORD": "1",
}
"""What bash says when Tab is pressed after ``fastcalc comp``."""

PLAN = ("plan", "llama-3.1-8b")


def commands() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return what is timed, by name, and what its environment holds."""
    fastcalc = shutil.which("fastcalc")
    if fastcalc is None:
        raise SystemExit("fastcalc is not on the path; install it first: python -m pip install .")
    timed = {
        BARE: ([sys.executable, "-c", "pass"], {}),
        TYPER: ([sys.executable, "-c", "import typer"], {}),
        LIBRARIES: ([sys.executable, "-c", IMPORTS], {}),
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
