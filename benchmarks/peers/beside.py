"""Start-up, rate and numbers of each peer beside ours on the same cases."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from benchmarks.clock import interleaved
from benchmarks.peers.install import PEERS, AbsentError, Peer, answer, install
from benchmarks.speed import scenario
from benchmarks.startup import BARE, commands
from benchmarks.table import figure, markdown, ratio
from fastcalc.scenario import Sharding, solve

CASES = {
    "step-1": "decode step, Llama 3.1 8B bf16, 1 H100 SXM, batch 1, 2,048 in and 128 out",
    "step-64": "the same at batch 64",
    "step-70b": "the same of Llama 3.1 70B on 8 H100 SXM (tp 8)",
    "prompt": "first token, Llama 3.1 8B bf16, 1 H100 SXM, one prompt of 2,048",
}
OURS = "fastcalc --help"
STARTS = 11


@dataclass
class Beside:
    """What a peer does.

    Attributes
    ----------
    peer : Peer
        Who.
    absent : str
        Why it could not be asked; empty where it could.
    start : float
        Median wall time of its shortest command. [s]
    points_per_s : float
        Estimates a second. [1/s]
    cases : dict of str to float
        Its numbers by case. [s]
    """

    peer: Peer
    absent: str = ""
    start: float = 0.0
    points_per_s: float = 0.0
    cases: dict[str, float] = field(default_factory=dict)


def ask_all(cache: Path) -> tuple[list[Beside], dict[str, float]]:
    """Return what each peer does, and start-up of ours in the same run. [s]"""
    found = [_one(peer, cache) for peer in PEERS]
    present = [one for one in found if not one.absent]
    timed = {one.peer.name: (one.peer.starting(cache), {}) for one in present}
    own = {name: command for name, command in commands().items() if name in (BARE, OURS)}
    times = {name: median(values) for name, values in interleaved(own | timed, STARTS).items()}
    for one in present:
        one.start = times[one.peer.name]
    return found, {name: times[name] for name in own}


def _one(peer: Peer, cache: Path) -> Beside:
    print(f"asking {peer.name}", file=sys.stderr)
    try:
        install(peer, cache)
        told = answer(peer, cache)
    except AbsentError as reason:
        return Beside(peer, absent=str(reason))
    return Beside(peer, points_per_s=told["points_per_s"], cases=told["cases"])


def ours() -> dict[str, float]:
    """Return our numbers for the common cases. [s]"""
    small = solve(scenario("llama-3.1-8b", "h100-sxm", (1, 64))).estimate
    large = scenario("llama-3.1-70b", "h100-sxm", (64,))
    eight = replace(large, sharding=Sharding(tp=8))
    return {
        "step-1": float(small.tpot[0]),
        "step-64": float(small.tpot[1]),
        "step-70b": float(solve(eight).estimate.tpot[0]),
        "prompt": float(small.ttft[0]),
    }


def speeds(found: list[Beside], own: dict[str, float], rates: list[tuple[str, float]]) -> str:
    """Return the table of start-up and rate, ratios to ours first."""
    best = rates[0][1]
    rows = [
        ["fastcalc", "1", "1", f"{own[OURS] * 1e3:.0f}", figure(best)],
        *_speed_rows(found, own[OURS], best),
    ]
    heads = ("", "start-up x ours", "ours x its points a second", "start-up ms", "points a second")
    return markdown(heads, rows)


def _speed_rows(found: list[Beside], start: float, best: float) -> Iterator[list[str]]:
    for one in found:
        if one.absent:
            yield [one.peer.package.replace("==", " "), one.absent, "", "", ""]
            continue
        yield [
            one.peer.package.replace("==", " "),
            ratio(one.start, start),
            ratio(best, one.points_per_s),
            f"{one.start * 1e3:,.0f}",
            figure(one.points_per_s),
        ]


def disagreements(found: list[Beside]) -> str:
    """Return the table of numbers over ours, case by case."""
    present, own = [one for one in found if not one.absent], ours()
    rows = [
        [
            CASES[case],
            f"{own[case] * 1e3:.3g} ms",
            *(_over(one.cases.get(case), own[case]) for one in present),
        ]
        for case in CASES
    ]
    return markdown(("", "fastcalc", *(one.peer.name for one in present)), rows)


def _over(value: float | None, own: float) -> str:
    return f"x {value / own:.2f} ({value * 1e3:.3g} ms)" if value else "cannot say"
