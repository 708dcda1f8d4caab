"""Start-up, rate and numbers of each peer alongside ours on the same cases."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks import speed, startup
from benchmarks.clock import run, seconds
from benchmarks.peers.answer import SPAN
from benchmarks.peers.install import PEERS, AbsentError, Peer, answer, install
from benchmarks.table import figure, markdown, ratio
from fastcalc.core.outcome import solve
from fastcalc.core.scenario import Sharding

CASES = {
    "step-1": "decode step, Llama 3.1 8B bf16, 1 H100 SXM, batch 1, 2,048 in and 128 out",
    "step-64": "the same, batch 64",
    "step-70b": "the same, Llama 3.1 70B on 8 H100 SXM (tp 8)",
    "prompt": "first token, Llama 3.1 8B bf16, 1 H100 SXM, one prompt of 2,048",
}


@dataclass(frozen=True)
class Compared:
    """What a peer says.

    Attributes
    ----------
    peer : Peer
        Who.
    absent : str
        Why it could not be asked; empty where it could.
    cases : dict of str to float
        Its numbers by case. [s]
    """

    peer: Peer
    absent: str = ""
    cases: dict[str, float] = field(default_factory=dict)


def ask_all(cache: Path) -> list[Compared]:
    """Return what each peer says, installed where it is not there yet.

    Parameters
    ----------
    cache : Path
        Where their virtual environments are.
    """
    return [_one(peer, cache) for peer in PEERS]


def _one(peer: Peer, cache: Path) -> Compared:
    print(f"asking {peer.name}", file=sys.stderr)
    try:
        install(peer, cache)
        return Compared(peer, cases=answer(peer, cache)["cases"])
    except AbsentError as reason:
        return Compared(peer, absent=str(reason))


def starts(found: Sequence[Compared], cache: Path) -> dict[str, Callable[[], float]]:
    """Return what measures the start-up of each peer that is there once, by its name. [s]"""
    return {
        one.peer.name: partial(seconds, partial(run, one.peer.starting(cache)))
        for one in found
        if not one.absent
    }


def rates(found: Sequence[Compared], cache: Path) -> dict[str, Callable[[], float]]:
    """Return what measures points per second of each peer over one span, by its name. [1/s]"""

    def measure(peer: Peer) -> float:
        return float(answer(peer, cache)["points_per_s"])

    return {one.peer.name: partial(measure, one.peer) for one in found if not one.absent}


def ours() -> dict[str, float]:
    """Return our numbers for the common cases. [s]"""
    small = solve(speed.scenario("llama-3.1-8b", "h100-sxm", (1, 64))).estimate
    large = speed.scenario("llama-3.1-70b", "h100-sxm", (64,))
    eight = replace(large, sharding=Sharding(tp=8))
    return {
        "step-1": float(small.tpot[0]),
        "step-64": float(small.tpot[1]),
        "step-70b": float(solve(eight).estimate.tpot[0]),
        "prompt": float(small.ttft[0]),
    }


def speeds(found: Sequence[Compared], start: Mapping[str, float], rate: Mapping[str, float]) -> str:
    """Return the table of start-up and rate, ratios to ours first.

    Parameters
    ----------
    found : sequence of Compared
        The peers.
    start, rate : mapping of str to float
        Start-up [s] and points per second [1/s] by peer, and ours among them, all of one run.
    """
    ours, best = start[startup.HELP], rate[speed.FIRST]
    rows = [
        ["fastcalc", "1", "1", f"{ours * 1e3:.0f}", figure(best)],
        *(
            [f"fastcalc, {how}", "", ratio(best, rate[name]), "", figure(rate[name])]
            for how, name in (
                ("a call for each point", speed.SINGLE),
                ("a compiled deployment, a call for each point", speed.COMPILED),
            )
        ),
        *_speed_rows(found, start, rate),
    ]
    heads = (
        "",
        "start-up x ours",
        "ours x its points per second",
        "start-up ms",
        "points per second",
    )
    return markdown(heads, rows)


def _speed_rows(
    found: Sequence[Compared], start: Mapping[str, float], rate: Mapping[str, float]
) -> Iterator[list[str]]:
    ours, best = start[startup.HELP], rate[speed.FIRST]
    for one in found:
        name, package = one.peer.name, one.peer.package.replace("==", " ")
        if one.absent:
            yield [package, one.absent, "", "", ""]
            continue
        yield [
            package,
            ratio(start[name], ours),
            ratio(best, rate[name]),
            f"{start[name] * 1e3:,.0f}",
            figure(rate[name]),
        ]


def disagreements(found: Sequence[Compared]) -> str:
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
    return f"x {value / own:.2f} ({value * 1e3:.3g} ms)" if value else "not supported"


def section(
    found: Sequence[Compared], start: Mapping[str, float], rate: Mapping[str, float]
) -> str:
    """Return the tables of speeds and of numbers, with what they hold.

    Parameters
    ----------
    found : sequence of Compared
        The peers.
    start, rate : mapping of str to float
        Start-up [s] and points per second [1/s] by peer, and ours among them, all of one run.
    """
    return "\n\n".join(
        [
            "## Compared with other calculators",
            "Each calculator is installed from the package index into its own environment, and "
            f"runs alternate. Start-up is the median of {startup.RUNS} runs of the shortest "
            "command (`fastcalc --help` for fastcalc; the import for llm-analysis and genz-llm, "
            "which have no command). Points per second of CPU time are full estimates, medians of "
            f"{speed.RUNS} spans of {SPAN:g} s. Other calculators are called once per point, each "
            "time with a different prompt, through their fastest documented interface (the Rust "
            "core of ridgepoint, one open session of aiconfigurator). fastcalc is called once with "
            f"{speed.BATCHES:,} points, then once per point, and then as a function that "
            "`deployment(...).compiled()` returns.",
            speeds(found, start, rate),
            "## Where they disagree",
            "A factor is their result divided by ours; above 1, they predict a longer time.",
            disagreements(found),
        ]
    )
