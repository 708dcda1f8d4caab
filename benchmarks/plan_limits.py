"""Random plans and mixes, each replica simulated: whether percentiles and limits hold.

``python -m benchmarks.plan_limits 100`` plans 100 random demands, simulates a replica of each pool
under Poisson arrivals at the plan's load, and prints closed form over simulation, and how many
plans have all their limits held by the simulation. ``--closed``
prints rates of random closed loops over those of the simulation, users divided among replicas.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fastcalc as fc
from benchmarks.replica_simulation import Arrivals, Simulated, simulate
from benchmarks.table import markdown
from fastcalc.errors import InputError
from fastcalc.features.plan.random_load import HeldLimits, held_limits

MODELS = ("llama-3.1-8b", "llama-3.1-70b", "gpt-oss-120b", "qwen3-32b", "mistral-small-3.1-24b")
MODELS += ("deepseek-r1", "qwen3-235b-a22b")
CHIPS = ("h100-sxm", "h200-sxm", "b200", "mi300x", "l40s", "a100-sxm-80gb", "mi355x", "l4")
PROMPTS = (200, 500, 1000, 2000, 4000, 8000, 16000)
OUTPUTS = (50, 100, 300, 500, 1000)
REQUESTS = 24_000
"""Requests of a replica that are simulated. [1]"""

_SPREAD = 0.5
"""Of outputs in closed loops. Answers of one length that begin together end together, and users who
think for less time than they wait ask together again: rates are up to 7% off. [1]"""


def demand(dice: random.Random) -> dict[str, Any]:
    """Draw the options of a plan of one class."""
    prompt, output = dice.choice(PROMPTS), dice.choice(OUTPUTS)
    return {
        "model": dice.choice(MODELS),
        "on": dice.choice(CHIPS),
        "prompt": prompt,
        "output": output,
        "rate": f"{dice.choice((0.5, 2, 5, 20, 60))}/s",
        **_limits(dice, prompt),
    }


def _limits(dice: random.Random, prompt: float) -> dict[str, str]:
    limits = {}
    if dice.random() < 0.85:
        limits["ttft"] = (
            f"{dice.choice((0.3, 0.5, 1.0, 2.0, 5.0)) * (4 if prompt > 4000 else 1):g}s"
        )
    if dice.random() < 0.7 or not limits:
        limits["tpot"] = f"{dice.choice((15, 25, 40, 60, 100))}ms"
    return limits


def mix(dice: random.Random, folder: Path) -> dict[str, Any]:
    """Draw the options of a plan of several classes, whose file is written."""
    lines = ['version: "2"', f"aggregate_rate: {dice.choice((1, 5, 20))}", "clients:"]
    for place in range(dice.choice((2, 3))):
        prompt = dice.choice(PROMPTS)
        lines += [
            f"  - id: class{place}",
            f"    rate_fraction: {dice.choice((0.2, 0.5, 1.0))}",
            f"    input_distribution: {prompt}",
            f"    output_distribution: {dice.choice(OUTPUTS)}",
        ]
        lines += [f"    {name}: {value}" for name, value in _limits(dice, prompt).items()]
    path = folder / "mix.yaml"
    path.write_text("\n".join(lines) + "\n")
    return {"model": dice.choice(MODELS), "on": dice.choice(CHIPS), "traffic": str(path)}


class Compared(NamedTuple):
    """A percentile or a mean of a class as said, as simulated, and its limit."""

    what: str
    said: float
    simulated: float
    limit: float


def held(asked: dict[str, Any]) -> Iterator[HeldLimits] | None:
    """Yield the limits of each pool of a plan with a closed form; None of what is refused."""
    try:
        table: Any = fc.plan(**asked)
    except InputError:
        return None
    answer = table._answer
    if not hasattr(answer, "fleet") or not table.found:
        return None
    pools = (pool for _, pool in answer.pools)
    limits = (held_limits(pool.plan, pool.decision.service) for pool in pools)
    return (each for each in limits if each is not None)


def compared(limits: HeldLimits, seed: int, requests: int = REQUESTS) -> list[Compared]:
    """Compare what is said of each class with a simulation."""
    dice = np.random.default_rng(seed)
    load = limits.load
    simulated = simulate(load, Arrivals(requests, dice, rate=load.rate), dice)
    rows: list[Compared] = []
    for place, (kind, times) in enumerate(zip(limits.classes, limits.times, strict=True)):
        among = load.mix.kinds.places[simulated.kind] == place
        rows += _of_class(times, kind, limits.part, simulated, among)
    return rows


def _of_class(
    times: Any, kind: Any, part: float, simulated: Simulated, among: Any
) -> Iterator[Compared]:
    for name in ("ttft", "tpot", "request"):
        if name == "tpot" and kind.output <= 1:
            continue
        values = getattr(simulated, name)[among]
        limit = getattr(kind, name, np.inf)
        yield Compared(f"{name} mean", getattr(times, f"{name}_mean"), float(values.mean()), np.inf)
        slowest = float(np.quantile(values, part))
        yield Compared(f"{name} p{part * 100:g}", getattr(times, name)(part), slowest, limit)


def closed(count: int, seed: int) -> list[float]:
    """Return rates of random closed loops as said over those simulated."""
    factors: list[float] = []
    number = 0
    while len(factors) < count:
        number += 1
        dice = random.Random(seed * 10_000 + number)
        think, users = dice.choice((1, 5, 30)), dice.choice((50, 200, 600))
        asked = {key: value for key, value in demand(dice).items() if key not in ("rate", "tpot")}
        found = [*(held({**asked, "users": users, "think": f"{think}s", "by": "chip"}) or ())]
        if not found or not found[0].load.is_known:
            continue
        load = found[0].load
        # Of one replica: N / k users make the rate; between whole numbers it is a straight line.
        cycle = think + load.times().request_mean
        each = load.rate * cycle
        rng, whole = np.random.default_rng(number), sorted({int(each), int(np.ceil(each))} - {0})
        rates = [
            simulate(
                load, Arrivals(6_000, rng, users=n, think=think, cycle=cycle), rng, spread=_SPREAD
            ).rate
            for n in whole
        ]
        factors.append(load.rate / float(np.interp(each, whole, rates)))
    return factors


def main(arguments: list[str] | None = None) -> None:
    """Print closed form over simulation of random plans."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--closed", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.closed:
        factors_of_loops = np.array(closed(chosen.count, chosen.seed))
        near = int((np.abs(factors_of_loops - 1.0) <= 0.03).sum())
        least, most = factors_of_loops.min(), factors_of_loops.max()
        sys.stdout.write(
            f"{near} of {chosen.count} closed loops within 3% ({least:.3f} to {most:.3f})\n"
        )
        return
    factors: dict[str, list[float]] = {}
    kept = plans = 0
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        while plans < chosen.count:
            number += 1
            dice = random.Random(chosen.seed * 10_000 + number)
            asked = demand(dice) if dice.random() < 0.6 else mix(dice, Path(folder))
            found = held(asked)
            every = (
                [] if found is None else [(limits, compared(limits, number)) for limits in found]
            )
            if not every:
                continue
            plans += 1
            rows = [row for limits, of_pool in every for row in of_pool if limits.load.is_known]
            is_met = all(row.simulated <= row.limit for _, of_pool in every for row in of_pool)
            kept += is_met
            for row in rows:
                factors.setdefault(row.what, []).append(row.said / row.simulated)
            off = [row for row in rows if not _is_close(row)]
            if chosen.verbose and (off or not is_met):
                _show(number, asked, every, off)
    table = [
        [
            name,
            f"{len(values)}",
            *(f"{value:.2f}" for value in np.quantile(values, (0, 0.05, 0.5, 0.95, 1))),
            f"{sum(abs(value - 1.0) > _error(name) for value in values)}",
        ]
        for name, values in factors.items()
    ]
    heads = ("time", "classes", "least", "p5", "median", "p95", "most", "beyond")
    sys.stdout.write(markdown(heads, table, left=1) + "\n")
    sys.stdout.write(
        f"{kept} of {plans} plans and mixes are within their limits in the simulation\n"
    )


def _is_close(row: Compared) -> bool:
    return abs(row.said / row.simulated - 1.0) <= _error(row.what)


def _error(what: str) -> float:
    """Share by which a mean, or a percentile, may be off. [1]"""
    return 0.1 if "mean" in what else 0.25


def _show(number: int, asked: Any, every: Any, off: Any) -> None:
    sys.stdout.write(f"{number} {asked}\n")
    for limits, rows in every:
        load = limits.load
        layout = load.passes.placement.layout
        sys.stdout.write(
            f"   {layout} slots {int(load.passes.batch[-1])} busy {load.utilization:.2f} "
            f"prompts {load.prompt_share:.2f} queued {load.queued:.4f} known {load.is_known}\n"
        )
        for row in rows:
            marks = "*" * (row in off) + "!" * (row.simulated > row.limit)
            if marks:
                sys.stdout.write(
                    f"      {row.what} said {row.said:.4g} simulated {row.simulated:.4g} "
                    f"limit {row.limit:.4g} {marks}\n"
                )


if __name__ == "__main__":
    main()
