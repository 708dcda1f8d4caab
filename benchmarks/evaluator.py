"""How fast points are evaluated in process, a million plans made, and a sweep written to disk.

Run ``python -m benchmarks.evaluator``. Every figure is the median over some runs; the rate of one
core is given by the wall clock and, for machines that are shared, by the processor's own clock.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from fastcalc.catalogue import Catalogue
from fastcalc.placement import Layout
from fastcalc.plan.candidates import candidates, deployments
from fastcalc.plan.decide import decide
from fastcalc.plan.service import Service
from fastcalc.scenario import Pricing, Scenario, engine_for
from fastcalc.sweep.grid import Grid, Requests, solve_grid
from fastcalc.sweep.run import keep_freed_memory
from fastcalc.traffic import Traffic

RUNS = 7
SIZES = (1_000_000, 5_000_000, 20_000_000)
"""Points of the sweeps whose memory is measured."""


def grid(model: str = "llama-3.1-70b", chip: str = "h100-sxm") -> Grid:
    """Return 1.28 million points: 800 kinds of requests, 8 layouts, 200 batches.

    Parameters
    ----------
    model, chip : str
        Names in the catalogue.
    """
    entries = Catalogue()
    hardware = entries.hardware(chip)
    engine, _ = engine_for(entries, hardware)
    prompts, outputs = np.meshgrid(np.linspace(500, 8000, 80), np.linspace(100, 2000, 10))
    prompt, output = prompts.ravel(), outputs.ravel()
    return Grid(
        Scenario(hardware, entries.model(model), engine, (1,), Traffic(1.0, 1.0, 1.0)),
        tuple(Layout(tp, pp) for tp in (1, 2, 4, 8) for pp in (1, 2)),
        Requests(prompt, output, prompt + output / 2),
        np.arange(1.0, 201.0),
    )


def timed(task: Callable[[], object], runs: int = RUNS) -> tuple[float, float]:
    """Return the median wall and processor time of a task, after one run to warm up. [s]

    Parameters
    ----------
    task : callable
        What is timed.
    runs : int
        How often. [1]
    """
    task()
    walls, busy = [], []
    for _ in range(runs):
        wall, processor = time.perf_counter(), time.process_time()
        task()
        walls.append(time.perf_counter() - wall)
        busy.append(time.process_time() - processor)
    return statistics.median(walls), statistics.median(busy)


def evaluator_rate(model: str = "llama-3.1-70b") -> tuple[float, float]:
    """Return points a second of one thread, every number of the record in each. [1/s]

    Parameters
    ----------
    model : str
        A name in the catalogue.

    Returns
    -------
    tuple of float
        By the wall clock and by the processor's.
    """
    points = grid(model)
    keep_freed_memory()

    def every_number() -> None:
        for block in points.blocks():
            solve_grid(block, words=False)

    wall, busy = timed(every_number)
    return points.size / wall, points.size / busy


def plan_time(model: str = "deepseek-r1") -> tuple[int, float, float]:
    """Return how many deployments a plan over the whole catalogue weighs, and how long that takes.

    Parameters
    ----------
    model : str
        A name in the catalogue.

    Returns
    -------
    tuple of int, float and float
        Deployments, all evaluated [1], wall and processor time of one search. [s]
    """
    entries, pricing = Catalogue(), Pricing()
    chips = [
        (chip, *engine_for(entries, chip))
        for chip in (entries.hardware(name) for name in entries.names("hardware"))
    ]
    entry = entries.model(model)
    service = Service(4000.0, 1000.0, ttft=1.0, tpot=0.025, rate=20.0, objective="chips")

    def search() -> int:
        grids = (
            candidates(one, prompt=service.prompt, output=service.output)
            for one in deployments(entry, chips, pricing=pricing)
        )
        return decide((one for one in grids if one is not None), service).candidates

    wall, busy = timed(search)
    return search(), wall, busy


def shell_plan_time(model: str = "deepseek-r1") -> float:
    """Return the wall time of ``fastcalc plan`` over the whole catalogue, Python's start in it. [s]

    Parameters
    ----------
    model : str
        A name in the catalogue.
    """
    asked = ["--prompt", "4000", "--output", "1000", "--ttft", "1s", "--tpot", "25ms"]
    command = [sys.executable, "-m", "fastcalc", "plan", model, *asked, "--rate", "20/s"]
    wall, _ = timed(lambda: subprocess.run(command, check=True, capture_output=True))
    return wall


def sweep_cost(points: int, ending: str = "parquet") -> tuple[int, float, float]:
    """Return what ``fastcalc sweep`` of so many points to disk takes, in a process of its own.

    Parameters
    ----------
    points : int
        Points, a multiple of 2,000. [1]
    ending : str
        ``parquet``, ``csv`` or ``json``.

    Returns
    -------
    tuple of int, float and float
        Points [1], wall time [s] and peak memory. [byte]
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fastcalc", "sweep", "llama-3.1-70b"]
        command += ["--on", "h100-sxm,b200", "--weights", "fp8", "--tp", "1,2,4,8"]
        command += ["--prompt", "1k..50k+1k", "--output", "500..2500+500"]
        command += ["--batch", f"1..{points // 2000}", "-o", str(Path(folder, f"x.{ending}"))]
        start = time.perf_counter()
        child = os.posix_spawn(sys.executable, command, os.environ)
        _, status, usage = os.wait4(child, 0)
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
        kibibytes = usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss / 1024
        return points, time.perf_counter() - start, kibibytes * 1024


def rows() -> list[tuple[str, str]]:
    """Return what was measured, and the figure."""
    found = []
    for model in ("llama-3.1-70b", "deepseek-r1", "deepseek-v3.2"):
        wall, busy = evaluator_rate(model)
        told = f"{wall / 1e6:.2f} million ({busy / 1e6:.2f} million by the processor's clock)"
        found.append((f"points a second on one thread, every number of the record, {model}", told))
    count, wall, busy = plan_time()
    told = f"{wall:.2f} s ({busy:.2f} s), {wall / count * 1e6:.2f} s a million"
    found.append((f"plan over the whole catalogue, {count:,} deployments", told))
    found.append(
        ("`fastcalc plan` over the whole catalogue, deepseek-r1", f"{shell_plan_time():.2f} s")
    )
    if find_spec("pyarrow") is None:
        return [*found, ("sweeps to Parquet", "skipped: pyarrow is not installed")]
    for size in SIZES:
        points, wall, memory = sweep_cost(size)
        told = f"{wall:.1f} s, {memory / 1e6:.0f} MB at most"
        found.append((f"sweep of {points:,} points to Parquet", told))
    return found


def main() -> None:
    """Print every figure."""
    for what, figure in rows():
        print(f"{what}: {figure}")


if __name__ == "__main__":
    main()
