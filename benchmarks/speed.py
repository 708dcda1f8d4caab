"""Points per second of the evaluator, one process on one core."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from benchmarks.peers.answer import OUTPUT, PROMPT, SPAN, rate
from benchmarks.table import figure, markdown, ratio
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Scenario, engine_for
from fastcalc.core.traffic.traffic import Traffic
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.predict import gather
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.stacked import rows_of
from fastcalc.grid.blocks import keep_freed_memory
from fastcalc.library.compiled import numbers_of
from fastcalc.library.deployment import deployment

RUNS = 7
"""Spans of each calculator, ours or another's; the median counts."""

BATCHES = 100_000
"""Points of one scenario in a call."""

COPIES = 20
"""How often each measured point is evaluated in a call."""

CASES = (("llama-3.1-8b", "h100-sxm"), ("deepseek-r1", "h200-sxm"), ("llama-3.1-8b", "wse-3"))
"""A dense model and experts on GPUs, and layers in regions of a wafer."""

FIRST = "full record, llama-3.1-8b on h100-sxm"
SINGLE = f"{FIRST}, a call for each point"
COMPILED = f"{FIRST}, a call of the compiled deployment for each point"


def scenario(model: str, chip: str, batches: tuple[int, ...]) -> Scenario:
    """Return the common case: prompts of 2,048 tokens, answers of 128, at some batches."""
    catalogue = Catalogue()
    hardware = catalogue.hardware(chip)
    engine, _ = engine_for(catalogue, hardware)
    traffic = traffic_of(PROMPT)
    return Scenario(hardware, catalogue.model(model), engine, batches, traffic)


def traffic_of(prompt: int) -> Traffic:
    """Return the traffic of prompts of some length."""
    return Traffic(float(prompt), float(OUTPUT), prompt + OUTPUT / 2)


def record(asked: Scenario) -> object:
    """Every number of a scenario's record: the library computes what is looked at."""
    found = solve(asked)
    return numbers_of(found.estimate, found.usd_per_hour)


def full_records(model: str, chip: str) -> float:
    """Return points per second with speeds, range, bound, latencies, energy and dollars. [1/s]"""
    asked = scenario(model, chip, tuple(1 + n % 256 for n in range(BATCHES)))
    return rate(lambda _: record(asked), points=BATCHES)


def single_records(model: str, chip: str) -> float:
    """Return the same with a call for each point, the prompt different each time. [1/s]"""
    asked = scenario(model, chip, (64,))
    return rate(lambda prompt: record(replace(asked, traffic=traffic_of(prompt))))


def compiled_records(model: str, chip: str) -> float:
    """Return the same with a call of a compiled deployment for each point. [1/s]"""
    compiled = deployment(model, on=chip, batch=64, prompt=PROMPT, output=OUTPUT).compiled()
    return rate(lambda prompt: compiled(64, prompt=prompt, output=OUTPUT))


def mixed_points() -> Callable[[], float]:
    """Return what measures expected times alone, each on its own model, chip and layout. [1/s]"""
    evidence = shipped()
    points = [point for point in evidence.points if evidence.is_fitted(point)]
    batches, _ = gather(points * COPIES, PointDeployments(Catalogue()))
    rows = rows_of(batches)
    return lambda: rate(lambda _: rows.seconds(), points=len(rows.seconds()))


def measures() -> dict[str, Callable[[], float]]:
    """Return what measures points per second over one span, by what is evaluated. [1/s]"""
    keep_freed_memory()  # else a third of the time or more, as it happens, goes into paging
    found: dict[str, Callable[[], float]] = {
        f"full record, {model} on {chip}": partial(full_records, model, chip)
        for model, chip in CASES
    }
    found[SINGLE] = partial(single_records, *CASES[0])
    found[COMPILED] = partial(compiled_records, *CASES[0])
    return {**found, "expected time, measured points of many kinds": mixed_points()}


def section(rates: Mapping[str, float]) -> str:
    """Return the table of points per second, with what it holds.

    Parameters
    ----------
    rates : mapping of str to float
        By what is evaluated. [1/s]
    """
    rows = [[what, ratio(value, rates[FIRST]), figure(value)] for what, value in rates.items()]
    return "\n\n".join(
        [
            "## Points per second",
            f"Medians of {RUNS} alternating spans of {SPAN:g} s of CPU time. A full record "
            "contains speed, range, bound, latencies, throughput, limiters, energy and price. A "
            f"call evaluates {BATCHES:,} batches unless the row says otherwise. Each *measured "
            "point* has its own model, chip and layout. Freed memory is kept, as in `sweep` and "
            "`plan`.",
            markdown(("", "x the first", "points per second"), rows),
        ]
    )
