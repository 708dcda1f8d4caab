"""Random deployments as functions of plain floats: equal to arrays, how many, and how fast.

``python -m benchmarks.compiled`` compiles 200 and compares each at 50 random points. A refusal is
where several memories are in play, and is computed by arrays.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from random import Random
from time import process_time
from typing import Any

from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.library.compiled import CompiledDeployment, CompiledPoint
from fastcalc.library.deployment import PlacedModel, deployment

DEPLOYMENTS = 200
POINTS = 50
SPAN = 0.3
"""CPU time over which calls are counted. [s]"""

CASES = (
    ("llama-3.1-8b", "h100-sxm"), ("llama-3.1-70b", "h100-sxm"), ("deepseek-r1", "h200-sxm"),
    ("gpt-oss-120b", "h100-sxm"), ("llama-3.1-8b", "wse-3"),
)  # fmt: skip

Point = tuple[float, float, float, float]
"""Batch, prompt, output and context."""


@dataclass(frozen=True)
class Compared:
    """A deployment and how far its compiled points are from those by arrays.

    furthest : largest relative difference of any number of any point [1]
    """

    name: str
    compiled: CompiledDeployment
    furthest: float


def random_deployment(dice: Random, catalogue: Catalogue) -> tuple[str, PlacedModel]:
    """A model on a chip under its engine, some in other formats, speculating or beside a host."""
    models, chips = catalogue.names("models"), catalogue.names("hardware")
    while True:
        model, chip = dice.choice(models), dice.choice(chips)
        flags: dict[str, Any] = {"batch": dice.choice((1, 1, 8, 64))}
        if dice.random() < 0.3:
            flags["weights"] = dice.choice(("fp8", "int4", "bf16", "nvfp4", "q4_k_m"))
        if dice.random() < 0.2:
            flags["speculate"] = dice.choice(("2", "2.5", "3"))
        if dice.random() < 0.2:
            flags["prefix_hit"] = dice.choice((0.3, 0.9))
        if dice.random() < 0.03:
            flags["host"] = "epyc"
        try:
            return f"{model} on {chip} {flags}", deployment(model, on=chip, **flags)
        except InputError:
            continue  # no layout holds it, or the formats do not go together


def random_points(dice: Random) -> Iterator[Point]:
    """Points with lengths over four decades, whole numbers and others."""
    while True:
        batch = float(round(10 ** dice.uniform(0, 3.3)))
        prompt, output = (10 ** dice.uniform(0, power) for power in (5, 4))
        if dice.random() < 0.5:
            prompt, output = float(round(prompt)), float(round(output))
        yield batch, prompt, output, prompt + output * dice.choice((0.5, 0.5, 1.0))


def difference(compiled: CompiledPoint, arrays: CompiledPoint) -> float:
    """Largest relative difference of two points; infinite where one has a number and one none."""
    furthest = 0.0
    for one, other in zip(compiled, arrays, strict=True):
        if one == other or (isnan(one) and isnan(other)):
            continue
        apart = abs(one - other) / abs(other) if other else float("inf")
        furthest = max(furthest, float("inf") if isnan(apart) else apart)
    return furthest


def compared(dice: Random, catalogue: Catalogue, points: int = POINTS) -> Compared:
    """A random deployment at random points, compiled and by arrays."""
    name, placed = random_deployment(dice, catalogue)
    compiled, furthest = placed.compiled(), 0.0
    some = random_points(dice)
    for _ in range(0 if compiled.refusal else points):
        point = next(some)
        furthest = max(furthest, difference(compiled(*point), compiled.by_arrays(*point)))
    return Compared(name, compiled, furthest)


def calls_per_second(call: Any, points: list[Point]) -> float:
    """Full records of single points, each with its own lengths, by CPU time. [1/s]"""
    start, done = process_time(), 0
    while (spent := process_time() - start) < SPAN:
        for point in points:
            call(*point)
        done += len(points)
    return done / spent


def main() -> None:
    """Print how many random deployments compile, how far they are off, and how fast cases are."""
    dice, catalogue = Random(1), Catalogue()
    found = [compared(dice, catalogue) for _ in range(DEPLOYMENTS)]
    refused = [each for each in found if each.compiled.refusal]
    furthest = max(found, key=lambda each: each.furthest)
    print(f"{len(found) - len(refused)} of {len(found)} compile; {POINTS} points of each differ by")
    print(f"{furthest.furthest:.1e} at most ({furthest.name})")
    reasons = Counter(str(each.compiled.refusal).partition(": ")[2] for each in refused)
    for reason, count in reasons.items():
        print(f"  {count} refused: {reason}")
    for model, chip in CASES:
        placed = deployment(model, on=chip)
        compiled, some = placed.compiled(), random_points(dice)
        points = [next(some) for _ in range(100)]
        fast, slow = (calls_per_second(call, points) for call in (compiled, compiled.by_arrays))
        print(f"{model} on {chip}: {fast:,.0f} records/s, {fast / slow:.0f} times arrays")


if __name__ == "__main__":
    main()
