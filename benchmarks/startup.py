"""Start-up of the command line, alongside the imports it cannot do without, in one run.

Run ``python -m benchmarks.startup``, or all benchmarks with ``python -m benchmarks``.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial

from benchmarks.clock import in_turn, run, seconds
from benchmarks.table import markdown, timings

RUNS = 15
"""Times of each command; the median counts."""

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
FLOORS = {"x python": BARE, "x typer": TYPER, "x imports": LIBRARIES, "x same settings": SET_ALIKE}

COMPLETION = {
    "_FASTCALC_COMPLETE": "complete_bash",
    "COMP_WORDS": "fastcalc comp",
    "COMP_CWORD": "1",
}
"""What bash says when Tab is pressed after ``fastcalc comp``."""

HELP = "fastcalc --help"
"""The shortest of our commands, which others' are held against."""


def imports() -> str:
    """Return a program that imports what a comparison loads of other people's, and ends there."""
    loaded = run([sys.executable, "-c", _LOADED]).decode().split()
    others = [name for name in loaded if name.split(".")[0] not in (OWN, "__main__")]
    return _IMPORT.format(names=" ".join(others))


def executable() -> str:
    """Return the path of the command."""
    found = shutil.which("fastcalc")
    if found is None:
        raise SystemExit("fastcalc is not on the path; install it first: python -m pip install .")
    return found


def commands() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return what is timed, by name, and what its environment holds."""
    others, fastcalc = imports(), executable()
    asked = ("compare", "compare --format json", "fit", "plan llama-3.1-8b")
    return {
        BARE: ([sys.executable, "-c", "pass"], {}),
        TYPER: ([sys.executable, "-c", "import typer"], {}),
        LIBRARIES: ([sys.executable, "-c", others], {}),
        SET_ALIKE: ([sys.executable, "-c", _SETTINGS + others + _END], {}),
        HELP: ([fastcalc, "--help"], {}),
        "shell completion": ([fastcalc], COMPLETION),
        **{f"fastcalc {words}": ([fastcalc, *words.split()], {}) for words in asked},
    }


def measures() -> dict[str, Callable[[], float]]:
    """Return what measures the wall time of each command once, by its name. [s]"""
    return {
        name: partial(seconds, partial(run, command, environment))
        for name, (command, environment) in commands().items()
    }


def section(starts: Mapping[str, float]) -> str:
    """Return the table of start-up, with what it holds.

    Parameters
    ----------
    starts : mapping of str to float
        Wall times by command. [s]
    """
    return "\n\n".join(
        [
            "## Start-up",
            f"Medians of {RUNS} runs, with the commands in alternation. *Imports* is a program "
            "that only imports the modules outside fastcalc that `compare` loads. *Same settings* "
            "also applies the Python settings of fastcalc: one BLAS thread and no cyclic garbage "
            "collection.",
            markdown(("", *FLOORS, "ms"), timings(starts, FLOORS)),
        ]
    )


if __name__ == "__main__":
    print(section(in_turn(measures(), RUNS)))
