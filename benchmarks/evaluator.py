"""How fast grids are evaluated in process, deployments weighed, and a sweep written to disk.

Run ``python -m benchmarks.evaluator``, or all benchmarks with ``python -m benchmarks``.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.clock import in_turn, run, seconds
from benchmarks.peers.answer import SPAN, rate
from benchmarks.startup import executable
from benchmarks.table import figure, markdown, ratio
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Scenario, engine_for
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.features.plan import run as plan
from fastcalc.features.plan.cheapest_plans import decide_surely
from fastcalc.features.plan.decision import REASONS
from fastcalc.features.plan.demand import Deployments, traffic_of
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Objective
from fastcalc.features.plan.service_asked import service_of
from fastcalc.grid.blocks import keep_freed_memory
from fastcalc.grid.columns import COLUMNS
from fastcalc.grid.grid import Grid, Requests, solve_grid

RUNS = 7
"""Times of each; the median counts."""

MODELS = ("llama-3.1-70b", "deepseek-r1", "deepseek-v3.2")
"""Whose grids are evaluated: dense, with experts, and with attention to chosen tokens."""

NUMBERS = [column for column in COLUMNS if column.unit not in ("text", "list")]
"""The columns that take no time to put into words."""

PLANS: tuple[tuple[str, Objective], ...] = (
    ("deepseek-r1", "chips"),
    ("gpt-oss-120b", "chips"),
    ("llama-3.1-8b", "chips"),
    ("deepseek-r1", "usd"),
)
"""The fewest chips are sought among all deployments, the least dollars among those with a price."""

MIX = "docs/examples/my-mix.yaml"
"""Classes of traffic that are planned for, too."""

SWEEPS = {1_000_000: 3, 5_000_000: 3, 20_000_000: 1}
"""Points of the sweeps to disk, and times of each."""


def grid(model: str = MODELS[0], chip: str = "h100-sxm") -> Grid:
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


def evaluation(model: str) -> Callable[[], float]:
    """Return what measures points per second on one thread, every number of the record. [1/s]

    Parameters
    ----------
    model : str
        A name in the catalogue.
    """
    points = grid(model)
    keep_freed_memory()

    def every_number(_: int) -> None:
        for block in points.blocks():
            solve_grid(block, NUMBERS)

    return lambda: rate(every_number, points=points.size)


def grids() -> str:
    """Return the table of points per second."""
    rates = in_turn({model: evaluation(model) for model in MODELS}, RUNS)
    rows = [[name, ratio(value, rates[MODELS[0]]), figure(value)] for name, value in rates.items()]
    return markdown(("grid of", "x the first", "points per second"), rows)


def asked(model: str, objective: Objective) -> FindPlans:
    """Return what is planned for.

    Parameters
    ----------
    model : str
        A name in the catalogue.
    objective : str
        What is to be least.
    """
    return FindPlans(
        model=model,
        prompt=4000,
        output=1000,
        ttft="1s",
        tpot="25ms",
        rate="20/s",
        objective=objective,
    )


def search(request: FindPlans) -> int:
    """Plan over the whole catalogue in process, and return the deployments evaluated. [1]

    Parameters
    ----------
    request : FindPlans
        For requests that are alike.
    """
    service = service_of(request)
    deployments = Deployments(request, service, [], traffic_of(request, service))
    decision = decide_surely(deployments.search.grids, service, shown=5)
    return decision.candidates - decision.reasons["unknown"]


def shell_plan(model: str, objective: Objective) -> list[str]:
    """Return the command that makes the same plan.

    Parameters
    ----------
    model : str
        A name in the catalogue.
    objective : str
        What is to be least.
    """
    flags = ["--prompt", "4000", "--output", "1000", "--ttft", "1s", "--tpot", "25ms"]
    flags += ["--rate", "20/s", "--objective", objective, "--format", "json"]
    return [executable(), "plan", model, *flags]


def evaluated(printed: bytes) -> int:
    """Return how many deployments a plan evaluated, by what its command printed. [1]

    Parameters
    ----------
    printed : bytes
        JSON. Deployments without a price are among its candidates, but not evaluated.
    """
    printed_plan = json.loads(printed)
    return int(printed_plan["candidates"] - printed_plan["lost"].get(REASONS["unknown"], 0))


def plans() -> str:
    """Return the table of plans over the whole catalogue."""
    counts, shells, processes = {}, {}, {}
    for model, objective in PLANS:
        command, weigh = shell_plan(model, objective), partial(search, asked(model, objective))
        name = f"`plan {model} --objective {objective}`"
        counts[name] = evaluated(run(command))
        if weigh() != counts[name]:
            raise SystemExit(f"{name} evaluates other deployments in process than from the shell")
        shells[f"{name} from the shell"] = partial(seconds, partial(run, command))
        processes[name] = partial(seconds, weigh)
    return plan_table(counts, in_turn({**shells, **processes}, RUNS))


def plan_table(counts: Mapping[str, int], times: Mapping[str, float]) -> str:
    """Return the table of plans, ratios first.

    Parameters
    ----------
    counts : mapping of str to int
        Deployments evaluated, by plan. [1]
    times : mapping of str to float
        By plan, and by plan ``from the shell``. [s]
    """
    rows = []
    for name, count in counts.items():
        shell, process = times[f"{name} from the shell"], times[name]
        millions = [f"{value / count * 1e6:.2f}" for value in (shell, process)]
        rows.append(
            [name, ratio(shell, process), *millions, f"{count:,}", f"{shell:.2f}", f"{process:.2f}"]
        )
    heads = ("shell x process", "shell, s per million", "process, s per million")
    return markdown(("", *heads, "deployments", "shell, s", "process, s"), rows)


def classes() -> str:
    """Return how much longer a plan for classes of traffic takes than for requests alike."""
    requests = {"mix": FindPlans(model="deepseek-r1", traffic=MIX), "alike": asked(*PLANS[-1])}
    plans = {name: partial(plan.run, request) for name, request in requests.items()}
    times = in_turn({name: partial(seconds, planned) for name, planned in plans.items()}, RUNS)
    return (
        f"A plan of deepseek-r1 for the three classes of `{MIX}`, which share replicas or not, "
        f"takes {ratio(times['mix'], times['alike'])} times as long in process as the last of "
        "these."
    )


def sweep_cost(points: int) -> tuple[float, float]:
    """Return what ``fastcalc sweep`` of so many points to Parquet takes.

    Parameters
    ----------
    points : int
        Points, a multiple of 4,000. [1]

    Returns
    -------
    tuple of float
        Wall time [s] and peak memory. [byte]
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [executable(), "sweep", "llama-3.1-70b"]
        command += ["--on", "h100-sxm,b200", "--weights", "fp8", "--tp", "1,2,4,8"]
        command += ["--prompt", f"1000..{999 + points // 4000}", "--output", "500..2500+500"]
        command += ["--batch", "1..100", "-o", str(Path(folder, "x.parquet"))]
        start = time.perf_counter()
        child = os.posix_spawn(command[0], command, os.environ)
        _, status, usage = os.wait4(child, 0)
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
        kibibytes = usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss / 1024
        return time.perf_counter() - start, kibibytes * 1024


def sweeps() -> str:
    """Return the table of sweeps to disk."""
    if find_spec("pyarrow") is None:
        return "Sweeps to Parquet: skipped, pyarrow is not installed."
    rows = []
    for points, runs in SWEEPS.items():
        found = [sweep_cost(points) for _ in range(runs)]
        wall, memory = median(wall for wall, _ in found), max(memory for _, memory in found)
        figures = (f"{wall / points * 1e6:.2f}", f"{wall:.1f}", f"{memory / 1e6:.0f}")
        rows.append([f"{points:,}", *figures, str(runs)])
    heads = ("points to Parquet", "s per million", "s", "MB at most", "runs")
    return markdown(heads, rows)


def section() -> str:
    """Return the tables of grids, plans and sweeps, with what they hold."""
    return "\n\n".join(
        [
            "## Search",
            f"Grids of {grid().size / 1e6:g} million layouts, batches and lengths on H100 "
            "SXM. All numbers of a record are computed, block by block on one thread. Medians of "
            f"{RUNS} alternating spans of {SPAN:g} s of CPU time.",
            grids(),
            "`fastcalc plan` over the whole catalogue, with prompts of 4,000 and outputs of 1,000 "
            "tokens, TTFT up to 1 s, TPOT up to 25 ms and 20 requests/s, as JSON. Medians of "
            f"{RUNS} alternating runs; only those from the shell include start-up. `--objective "
            "chips` evaluates every deployment; `usd` evaluates only those with a price, which "
            "are counted here.",
            plans(),
            classes(),
            "`fastcalc sweep` from the shell, with all record keys, including strings. If there "
            "is more than one run, seconds are medians.",
            sweeps(),
        ]
    )


if __name__ == "__main__":
    print(section())
