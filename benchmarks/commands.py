"""CPU time of each command by its defaults, and how it grows: ``python -m benchmarks.commands``.

With ``--against`` another checkout runs the same commands in turn, so that ratios are of one run.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.clock import in_turn, seconds_of_cpu
from benchmarks.table import figure, markdown, ratio
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chosen_layouts import layouts_on_offer
from fastcalc.core.outcome import site_of
from fastcalc.core.pricing import Pricing
from fastcalc.core.scenario import Scenario, engine_for
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.errors import InputError
from fastcalc.grid.evaluated_points import EvaluatedPoints
from fastcalc.grid.grid import Grid, solved, solved_all
from fastcalc.grid.request_lists import Requests

RUNS = 5
"""Times of each command; the median counts."""

COMMANDS = {
    "compare llama-3-8b --on h100-sxm": "chips, models",
    "compare deepseek-r1 --on all": "chips, models",
    "fit deepseek-r1 --on h200-sxm": "batches",
    "frontier deepseek-r1": "chips of the largest deployment",
    "fastmode kimi-k2 --on b200 --from-speed 60": "priced chips, smaller models of the family",
    "sensitivity deepseek-r1 --on h100-sxm": "numbers in the files of chip, engine and model",
    "sensitivity deepseek-r1 --on h100-sxm --batch 1..64x2": "batches, of which there are up to 12",
    "sensitivity --prompt 100 deepseek-v4-pro --batch=1..64x2,5,8..24+8": "batches",
    "plan deepseek-r1 --rate 20/s --ttft 1s --tpot 25ms": "chips, request classes, percentiles",
    "claims": "assumptions with a range",
    "claims --format json": "the same, with every break-even",
    "validate": "deployments with data points",
    "infer --speeds 65,170 --prices 25,150": "points that are drawn",
    "check": "files of the catalogue",
    "sweep deepseek-r1 --on all": "chips, models",
    "sweep llama-3.1-8b --on h100-sxm --batch 1..64x2 --prompt 1..1000+1 --format csv -o {file}": (
        "points: 7,000 here"
    ),
}
"""Each command by its defaults, those that take longest with more, and what they grow with."""

TREE = Path(__file__).resolve().parent.parent
_BATCHES = np.round(2.0 ** (0.5 * np.arange(25)))
_NUMBERS = ("tpot", "tpot_in_traffic", "ttft", "prompts_together", "run", "served")


def cpu_seconds(command: str, tree: Path) -> float:
    """Return the CPU time of a command from the shell, children and all. [s]

    Parameters
    ----------
    command : str
        The words behind ``fastcalc``; ``{file}`` is a file that is thrown away.
    tree : Path
        Checkout that is run.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = command.format(file=Path(folder, "out")).split()
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package comes compiled
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "fastcalc", *words],
            check=False,  # claims exits with 1 where a verdict moved
            capture_output=True,
            env=environment,
            cwd=folder,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def of_commands(against: Path | None, runs: int) -> Iterator[str]:
    """Yield the lines of the table of CPU times, with those of another checkout alongside.

    Parameters
    ----------
    against : Path, optional
        That checkout.
    runs : int
        Times of each command that count. [1]
    """
    trees = {"": TREE} if against is None else {"before": against, "": TREE}
    headings = ["", "CPU s", "grows with", *(["CPU s before", "x"] if against else [])]
    yield from markdown(headings, []).splitlines()
    for command, growth in COMMANDS.items():
        measures = {name: partial(cpu_seconds, command, tree) for name, tree in trees.items()}
        taken = in_turn(measures, runs)
        words = [f"`{command.format(file='FILE')}`", f"{taken['']:.2f}", growth]
        if against is not None:
            words += [f"{taken['before']:.2f}", ratio(taken["before"], taken[""])]
        yield f"| {' | '.join(words)} |"


def priced_grids(model: str) -> list[Grid]:
    """Return an open grid of a model on each chip with a price."""
    catalogue, grids = Catalogue(), []
    traffic = Traffic(4000.0, 1000.0, 4500.0)
    requests = Requests(*(np.array([number]) for number in (4000.0, 1000.0, 4500.0)))
    for name in catalogue.names("hardware"):
        try:
            chip = catalogue.hardware(name)
            scenario = Scenario(
                chip, catalogue.model(model), engine_for(catalogue, chip)[0], (1,), traffic
            )
            layouts = layouts_on_offer(site_of(scenario, traffic.reserved))
        except InputError:  # a host, which serves no model alone
            continue
        if layouts and Pricing().per_chip_hour(chip) is not None:
            grids.append(Grid(scenario, tuple(layouts), requests, _BATCHES))
    return grids


def touched(points: Callable[[], Sequence[EvaluatedPoints]]) -> None:
    """Compute the numbers that a plan asks for."""
    for one in points():
        for name in _NUMBERS:
            getattr(one.estimate, name)


def of_grids() -> str:
    """Return the table of grids that are evaluated one by one, and in stacks."""
    rows = []
    for model in ("llama-3.1-8b", "llama-3.1-70b", "deepseek-r1"):
        grids = priced_grids(model)
        measures = {
            "alone": lambda grids=grids: seconds_of_cpu(
                lambda: touched(lambda: [solved(grid) for grid in grids])
            ),
            "together": lambda grids=grids: seconds_of_cpu(
                lambda: touched(lambda: solved_all(grids))
            ),
        }
        taken = in_turn(measures, RUNS)
        points = sum(grid.size for grid in grids)
        rows.append(
            [
                f"{model}, {len(grids)} chips",
                figure(points, 6),
                *(f"{taken[name] * 1e3:.0f}" for name in ("alone", "together")),
                ratio(taken["alone"], taken["together"]),
            ]
        )
    return markdown(["grids of", "points", "one by one, ms", "together, ms", "x"], rows)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands", description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, run in turn")
    parser.add_argument("--runs", type=int, default=RUNS, help="times of each command")
    asked = parser.parse_args()
    sys.stdout.write(f"{of_grids()}\n\n")
    for line in of_commands(asked.against, asked.runs):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
