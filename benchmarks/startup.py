"""Start-up of the command line, beside the imports it cannot do without, in one run.

Run ``python benchmarks/startup.py``: medians over interleaved runs, and ratios to two floors: bare
Python, and the imports of the libraries that every comparison needs.
"""

import shutil
import statistics
import subprocess
import sys
import time

RUNS = 21
IMPORTS = "import typer, numpy, yaml, rich.table, pydantic; from pydantic import BaseModel"


def commands() -> dict[str, list[str]]:
    """Return what is timed, by name."""
    fastcalc = shutil.which("fastcalc")
    if fastcalc is None:
        raise SystemExit("fastcalc is not on the path; install it first: python -m pip install .")
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "the imports": [sys.executable, "-c", IMPORTS],
        "import typer": [sys.executable, "-c", "import typer"],
        "fastcalc --help": [fastcalc, "--help"],
        "fastcalc compare": [fastcalc, "compare"],
        "fastcalc compare, json": [fastcalc, "compare", "--format", "json"],
        "fastcalc fit": [fastcalc, "fit"],
    }


def seconds(command: list[str]) -> float:
    """Return the wall time of one run. [s]"""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    """Time all commands in turn, so that a drifting machine drifts for all, and print medians."""
    timed: dict[str, list[float]] = {name: [] for name in commands()}
    for _ in range(RUNS + 1):
        for name, command in commands().items():
            timed[name].append(seconds(command))
    medians = {name: statistics.median(values[1:]) for name, values in timed.items()}
    floor, imports = medians["python -c pass"], medians["the imports"]
    print(f"{'':24}{'ms':>8}{'x python':>10}{'x imports':>11}")
    for name, value in medians.items():
        print(f"{name:24}{value * 1e3:8.0f}{value / floor:10.1f}{value / imports:11.2f}")


if __name__ == "__main__":
    main()
