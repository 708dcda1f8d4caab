"""Faults put into engines and chips, and how often ``fastcalc diagnose`` names them.

``python -m benchmarks.faults`` draws random deployments: an engine with random values, a chip, a
model that it holds. Each fault changes what a file says, six points are predicted with it and get
5% of noise, and the diagnosis sees the files as they were. What slows no point by `VISIBLE` is no
case: nobody would ask. ``--published`` diagnoses deployments of sources that no engine was fitted
on instead: nobody says of them that anything is wrong.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np

from benchmarks.table import markdown
from fastcalc.catalogue.difference import changes
from fastcalc.catalogue.schema import Hardware
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine_class import class_of
from fastcalc.errors import InputError
from fastcalc.evidence.point import Point
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.validate import validate
from fastcalc.features.measure.diagnosis.diagnose import diagnose
from fastcalc.features.measure.diagnosis.terms import (
    BANDWIDTH,
    COMPUTE,
    HOST,
    LINKS,
    RUNNING,
    SlowdownTerm,
)

NOISE = 0.05
VISIBLE = 1.3
FEWEST_PUBLISHED, SURE = 3, 0.95
ENGINES = ("vllm", "sglang", "tensorrt-llm")
MODELS = (
    "llama-3.1-8b",
    "llama-3.1-70b",
    "qwen3-32b",
    "qwen3-30b-a3b",
    "gpt-oss-120b",
    "gpt-oss-20b",
)
LENGTHS = ((1000, 1000), (2000, 200), (200, 800), (4000, 500))
MEASURED = (
    (1, "tpot_s", 1),
    (16, "tpot_s", 1),
    (64, "tokens_per_s_total", 1),
    (256, "tokens_per_s_total", 1),
    (1, "ttft_s", 1),
    (1, "ttft_s", 4),
)
"""Concurrency, metric and prompt, by that of the case, of the six points."""
BANDS = {
    "bandwidth_fraction": (0.78, 0.93, ""),
    "compute_per_core": (7, 14, "TFLOP/s"),
    "decode_layer_floor": (28, 90, "us"),
    "prefill_layer_floor": (100, 700, "us"),
    "sequence_overhead": (3, 25, "us"),
    "rank_wait": (2, 30, "us"),
}
"""Values of engines that are drawn, evenly in logarithms: the bands of engines/gpu.yaml."""

Values = Mapping[str, object]


@dataclass(frozen=True)
class Case:
    """A deployment before anything is wrong with it, and its points without values."""

    chip: Hardware
    engine: str
    values: Values
    points: Sequence[Point]


@dataclass(frozen=True)
class Fault:
    """Something that is wrong, and the terms of which one is to be named."""

    name: str
    terms: tuple[SlowdownTerm, ...]

    def values(self, case: Case) -> Values:
        """Return what it changes of the files."""
        chip, engine = case.chip, f"{case.engine}:parameters."
        memory = {
            f"{chip.id}:memory.{tier.name}.bandwidth": tier.bandwidth.si / 1e9
            for tier in chip.memory
        }
        peaks = {f"{chip.id}:peak.{name}": peak.si / 1e12 for name, peak in chip.peak.items()}
        links = f"{chip.id}:links.scale_up."
        # engines/eager.yaml and engines/young.yaml; a link of PCIe 4 as of hardware/a100-pcie-80gb.
        return {
            "utilization 0.5": {f"{engine}memory_fraction": 0.5},
            "eager": {
                f"{engine}decode_layer_floor": "148 us",
                f"{engine}collective_latency": "40 us",
                f"{engine}sequence_overhead": "153.7 us",
            },
            "old release": {
                f"{engine}decode_layer_floor": "112.5 us",
                f"{engine}prefill_layer_floor": "4 ms",
                f"{engine}sequence_overhead": "60 us",
            },
            "PCIe": {f"{links}kind": "pcie", f"{links}bandwidth": "31.5 GB/s"},
            "half the bandwidth": {key: f"{value / 2.0:g} GB/s" for key, value in memory.items()},
            "power cap": {key: f"{value * 0.5:g} TFLOP/s" for key, value in peaks.items()}
            | {key: f"{value * 0.8:g} GB/s" for key, value in memory.items()}
            | {f"{engine}compute_per_core": "4 TFLOP/s"},
        }[self.name]


FAULTS = (
    Fault("utilization 0.5", (RUNNING,)),
    Fault("eager", (HOST,)),
    Fault("old release", (HOST,)),
    Fault("PCIe", (LINKS,)),
    Fault("half the bandwidth", (BANDWIDTH, COMPUTE)),
    Fault("power cap", (BANDWIDTH, COMPUTE)),
)


def _drawn(random: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(random.uniform(log(low), log(high))))


def catalogue(values: Values) -> Catalogue:
    """Return the shipped catalogue with some values changed."""
    return Catalogue({}, tuple(changes(values)))


def points(
    chip: str, model: str, engine: str, tp: int, prompt: float = 1000.0, output: float = 500.0
) -> list[Point]:
    """Return the six points of a deployment, without values."""
    return [
        Point(
            id=f"case-{row}",
            source="",
            url="",
            date="2026-11",
            hardware=chip,
            chips=tp,
            model=model,
            engine=engine,
            weights="",
            kv="",
            tp=tp,
            ep=None,
            pp=None,
            dp=None,
            concurrency=concurrency,
            prompt=prompt * longer,
            output=output,
            metric=metric,
            value=1.0,
            tokens_per_pass=1.0,
            measured_by="",
            notes="kind=e2e_concurrency",
            line=row,
        )
        for row, (concurrency, metric, longer) in enumerate(MEASURED, 2)
    ]


def cases(seed: int) -> Iterator[Case]:
    """Yield random deployments that hold their model, and six points of each."""
    random, shipped = np.random.default_rng(seed), Catalogue()
    chips = sorted({shipped.hardware(name).id for name in shipped.known("hardware")})
    chips = [
        name for name in chips if class_of(shipped.hardware(name)) in ("datacenter", "consumer")
    ]
    while True:
        chip = shipped.hardware(str(random.choice(chips)))
        engine, model = str(random.choice(ENGINES)), str(random.choice(MODELS))
        tp, (prompt, output) = (
            int(random.choice([1, 2, 4, 8])),
            LENGTHS[random.integers(len(LENGTHS))],
        )
        values = {
            f"{engine}:parameters.{name}": f"{_drawn(random, low, high):.4g} {unit}".strip()
            for name, (low, high, unit) in BANDS.items()
        }
        measured = points(chip.id, model, engine, tp, prompt, output)
        case = Case(chip, engine, values, measured)
        if len(predicted(case, values)) == len(measured):
            yield case


def predicted(case: Case, values: Values) -> list[float]:
    """Return what the points of a case come to with some values, in the unit of each."""
    predictions = validate(case.points, catalogue(values)).predictions
    return [prediction.expected for prediction in predictions]


def slowdown(case: Case, values: Sequence[float], faulty: Sequence[float]) -> float:
    """Return how many times the point that suffers most is slower. [1]"""
    ratios = np.array(faulty) / np.array(values)
    is_time = np.array([point.is_time for point in case.points])
    return float(np.max(np.where(is_time, ratios, 1.0 / ratios)))


def named(
    case: Case, values: Sequence[float], random: np.random.Generator
) -> tuple[SlowdownTerm, ...]:
    """Return the terms that a diagnosis names, of measurements with noise."""
    noise = np.exp(random.normal(0.0, NOISE, len(values)))
    points = [
        replace(point, value=float(value * factor))
        for point, value, factor in zip(case.points, values, noise, strict=True)
    ]
    return diagnose(points, catalogue(case.values)).named


def score(count: int, seed: int) -> list[tuple[str, int, int]]:
    """Return by fault how often it was named, and in how many cases; nothing is its own."""
    random = np.random.default_rng(seed)
    rows = {fault.name: [0, 0] for fault in FAULTS} | {"nothing": [0, 0]}
    for case, _ in zip(cases(seed), range(count), strict=False):
        values = predicted(case, case.values)
        rows["nothing"][0] += not named(case, values, random)
        rows["nothing"][1] += 1
        for fault in FAULTS:
            if fault.terms == (LINKS,) and not case.chip.links.scale_up:
                continue
            faulty = predicted(case, {**case.values, **fault.values(case)})
            if len(faulty) < len(values) or slowdown(case, values, faulty) < VISIBLE:
                continue
            terms = named(case, faulty, random)
            rows[fault.name][0] += bool(set(terms) & set(fault.terms))
            rows[fault.name][1] += 1
    return [(name, hits, total) for name, (hits, total) in rows.items()]


def published() -> list[tuple[str, int]]:
    """Return how many deployments held out, of three points or more, have each verdict."""
    evidence, catalogue = shipped(), Catalogue()
    apart = {*evidence.unpredictable, *evidence.suspect}
    deployments = defaultdict[tuple[object, ...], list[Point]](list)
    for point in evidence.points:
        if evidence.is_held_out(point) and not (point.is_offloaded or point.id in apart):
            layout = (point.chips, point.tp, point.ep)
            names = (point.hardware, point.model, point.engine, point.weights, point.kv)
            deployments[point.source_key, *names, *layout].append(point)
    verdicts = Counter[str]()
    for points in deployments.values():
        if len(points) < FEWEST_PUBLISHED:
            continue
        try:
            diagnosis = diagnose(points, catalogue)
        except InputError:
            continue
        is_sure = diagnosis.named and diagnosis.findings[0].probability > SURE
        verdicts[diagnosis.verdict + ", surely" * bool(is_sure)] += 1
    return sorted(verdicts.items())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--published", action="store_true")
    arguments = parser.parse_args()
    if arguments.published:
        counts = [(name, str(count)) for name, count in published()]
        print(markdown(("verdict", "deployments"), counts))
    else:
        table = [
            (name, str(total), f"{hits / max(total, 1):.1%}")
            for name, hits, total in score(arguments.cases, arguments.seed)
        ]
        print(markdown(("fault", "cases", "named"), table))
