"""Stages of open load against what is expected: a request's mean time, the most that is carried.

``python -m benchmarks.load`` predicts the stages of ``evidence/load.csv``. Where prefixes were
cached, the beginning that is said to be shared is taken as found, and nothing of earlier turns, as
no file says how much of them was. At so many arrivals a second as many requests are in flight as
arrive while one is served (J. D. C. Little, "A proof for the queuing formula L = lambda W,"
Operations Research 9, 1961); a server is overloaded beyond what the largest batch serves.
"""

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from benchmarks.table import factor, figure, markdown
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.estimate import Estimate, evaluate
from fastcalc.core.load import SHARES, RandomLoad
from fastcalc.core.placement.layout import Layout
from fastcalc.core.placement.placement import Placement
from fastcalc.core.scenario import Scenario
from fastcalc.core.traffic.request_class import Lengths, RequestClass
from fastcalc.core.traffic.traffic import Speculation, Traffic


class Stage(NamedTuple):
    """A stage of constant load.

    run : the stages of one server share it
    tp, sequences : ranks, and sequences in a step at most [1]
    prompt, output : mean tokens of a request [1]
    prefix_hit : share of the prompt that is taken as cached [1]
    rate, carried : requests asked for and served a second [1/s]
    seconds : mean time of a request, from its arrival to its last token [s]
    is_stable : whether the server kept up
    ttft, request : times to the first token and of whole requests, by the shares of `SHARES` [s]
    """

    id: str
    run: str
    hardware: str
    model: str
    engine: str
    tp: int
    sequences: int
    prompt: float
    output: float
    prefix_hit: float
    rate: float
    carried: float
    seconds: float
    is_stable: bool
    ttft: tuple[float, ...]
    request: tuple[float, ...]


def stages() -> list[Stage]:
    """Read the stages, in order."""
    path = shipped_folder("evidence") / "load.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Stage(
                id=row["id"],
                run=row["url"].rpartition("/")[0],
                hardware=row["hardware"],
                model=row["model"],
                engine=row["engine"],
                tp=int(row["tp"]),
                sequences=int(row["max_num_seqs"]),
                prompt=float(row["input_mean"]),
                output=float(row["output_mean"]),
                prefix_hit=_found(row),
                rate=float(row["rate_req_s"]),
                carried=float(row["achieved_req_s"]),
                seconds=float(row["e2e_mean_ms"]) / 1e3,
                is_stable=row["regime"] == "stable",
                ttft=_percentiles(row, "ttft"),
                request=_percentiles(row, "e2e"),
            )
            for row in csv.DictReader(file)
        ]


def _found(row: dict[str, str]) -> float:
    shared = "0" if row["prefix_caching"] == "off" else row["shared_prefix_tokens"]
    return float(shared or 0.0) / float(row["input_mean"])


def _percentiles(row: dict[str, str], time: str) -> tuple[float, ...]:
    return tuple(float(row[f"{time}_p{share * 100:g}_ms"]) / 1e3 for share in SHARES)


def estimate_of(stage: Stage, catalogue: Catalogue) -> Estimate:
    """Return what the server of a stage does at each batch up to its largest."""
    context = stage.prompt + stage.output / 2.0
    traffic = Traffic(stage.prompt, stage.output, context, stage.prefix_hit)
    hardware, engine = catalogue.hardware(stage.hardware), catalogue.engine(stage.engine)
    work = Scenario(hardware, catalogue.model(stage.model), engine, (1,), traffic).work
    server = machine(hardware, engine, work, OWN_MEMORY)
    server = replace(server, software=replace(server.software, max_sequences=stage.sequences))
    placement = Placement(server, work, Layout(stage.tp, 1, 1, 1), traffic.longest)
    largest = min(float(stage.sequences), float(placement.max_batch))
    return evaluate(placement, batch=np.arange(1.0, largest + 1.0), traffic=traffic)


def most_carried(estimate: Estimate) -> float:
    """Return the requests a second that the best batch serves. [1/s]"""
    return float((estimate.served / estimate.traffic.output).max())


def request_seconds(estimate: Estimate, rate: float) -> float | None:
    """Return a request's mean time at some arrivals a second; None where too many arrive. [s]

    estimate : of batches that grow
    rate : arrivals [1/s]
    """
    answer = np.asarray(estimate.traffic.output) - 1.0
    seconds = estimate.ttft + answer * estimate.tpot_in_traffic
    arrivals = estimate.batch / seconds
    if rate > arrivals.max():
        return None
    return float(np.interp(rate, np.maximum.accumulate(arrivals), seconds))


def table(scored: Iterable[Stage], catalogue: Catalogue) -> str:
    """Return measured and expected times of all stages, and what runs to the limit carry."""
    lines: list[Sequence[str]] = []
    for _, members in groupby(scored, key=lambda stage: stage.run):
        of_run = list(members)
        for stage in of_run:
            seconds = request_seconds(estimate_of(stage, catalogue), stage.rate)
            measured = stage.seconds if stage.is_stable else None
            lines.append(_line(stage, f"at {stage.rate:g}/s [ms]", 1e3, measured, seconds))
        if len({stage.is_stable for stage in of_run}) > 1:
            busiest = max(of_run, key=lambda stage: stage.carried)
            carried = most_carried(estimate_of(busiest, catalogue))
            lines.append(_line(busiest, "throughput [1/s]", 1.0, busiest.carried, carried))
    return markdown(("stage", "load", "measured", "expected", "factor"), lines, left=2)


def percentile_table(scored: Iterable[Stage], catalogue: Catalogue) -> str:
    """Return measured and expected percentiles of stages that are stable, as if at random."""
    lines: list[Sequence[str]] = []
    for stage in scored:
        if not stage.is_stable:
            continue
        lengths = Lengths.fixed(stage.prompt, stage.output)
        load = RandomLoad.of(
            estimate_of(stage, catalogue).placement,
            [RequestClass(stage.id, 1.0, lengths, stage.prefix_hit)],
            speculation=Speculation(),
            slots=stage.sequences,
            rate=stage.rate,
        )
        expected = load.percentiles() if load.is_known else None
        for name, times in (("ttft", stage.ttft), ("request", stage.request)):
            of_shares = (
                zip(times, getattr(expected, name).percentiles, strict=True) if expected else ()
            )
            pairs = [f"{figure(t * 1e3)} / {figure(e * 1e3)}" for t, e in of_shares]
            busy = f"{load.utilization:.0%}"
            lines.append([stage.id, busy, name, *(pairs or ["not said"] * len(SHARES))])
    heads = ("stage", "busy", "time", *(f"p{share * 100:g} [ms]" for share in SHARES))
    return markdown(heads, lines, left=3)


def _line(
    stage: Stage, load: str, unit: float, measured: float | None, expected: float | None
) -> list[str]:
    figures = [
        "overloaded" if time is None else figure(time * unit) for time in (measured, expected)
    ]
    off = f"{factor(expected, measured):.2f}" if expected and measured else ""
    return [stage.id, load, *figures, off]


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__).parse_args()
    scored, catalogue = stages(), Catalogue()
    sys.stdout.write(f"{table(scored, catalogue)}\n\n{percentile_table(scored, catalogue)}\n")


if __name__ == "__main__":
    main()
