"""Points a second of the evaluator, one process on one core."""

import numpy as np

from benchmarks.clock import RUNS, rate
from benchmarks.table import figure
from fastcalc.catalogue import Catalogue
from fastcalc.measured.deployments import Deployments
from fastcalc.measured.predict import gather
from fastcalc.measured.rows import rows_of
from fastcalc.measured.shipped import shipped
from fastcalc.scenario import Scenario, engine_for, solve
from fastcalc.traffic import Traffic

BATCHES = 100_000
"""Points of one scenario in a call."""

COPIES = 20
"""How often each measured point is evaluated in a call."""

CASES = (("llama-3.1-8b", "h100-sxm"), ("deepseek-r1", "h200-sxm"), ("llama-3.1-8b", "wse-3"))
"""A dense model and experts on GPUs, and layers in regions of a wafer."""


def scenario(model: str, chip: str, batches: tuple[int, ...]) -> Scenario:
    """Return the common case: prompts of 2,048 tokens, answers of 128, at some batches."""
    catalogue = Catalogue()
    hardware = catalogue.hardware(chip)
    engine, _ = engine_for(catalogue, hardware)
    return Scenario(hardware, catalogue.model(model), engine, batches, Traffic(2048, 128, 2112))


def full_records(model: str, chip: str) -> float:
    """Return points a second with speeds, range, bound, latencies, energy and dollars. [1/s]"""
    asked = scenario(model, chip, tuple(1 + n % 256 for n in range(BATCHES)))

    def work() -> int:
        found = solve(asked)
        return int(np.size(found.estimate.speed)) if found.usd is not None else BATCHES

    return rate(work, RUNS)


def mixed_points() -> float:
    """Return points a second of expected times alone, each on its own model, chip and layout."""
    evidence = shipped()
    points = [point for point in evidence.points if evidence.is_fitted(point)]
    batches, _ = gather(points * COPIES, Deployments(Catalogue()))
    rows = rows_of(batches)
    return rate(lambda: int(rows.seconds().size), RUNS)


def measure() -> list[tuple[str, float]]:
    """Return what was evaluated, and points a second. [1/s]"""
    records = [
        (f"full record, {model} on {chip}", full_records(model, chip)) for model, chip in CASES
    ]
    return [*records, ("expected time, measured points of many kinds", mixed_points())]


def rows() -> list[list[str]]:
    """Return them to print."""
    return [[what, figure(value)] for what, value in measure()]
