"""All benchmarks in one run: ``python -m benchmarks``; the parts and options with ``--help``."""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Collection, Iterator
from datetime import date
from pathlib import Path

from benchmarks import evaluator, speed, startup
from benchmarks.clock import in_turn
from benchmarks.peers import compared, rows
from benchmarks.peers.install import AbsentError

PARTS = ("startup", "speed", "search", "peers", "rows")


def machine() -> str:
    """Return the processor, its cores and the versions that timings depend on."""
    name = platform.processor() or platform.machine()
    known = Path("/proc/cpuinfo")
    if known.exists():
        lines = known.read_text().splitlines()
        name = next((line.split(":")[1].strip() for line in lines if "model name" in line), name)
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return f"{name}, {os.cpu_count()} cores{load}, Python {platform.python_version()}"


def sections(parts: Collection[str], cache: Path, *, held_out: bool) -> Iterator[str]:
    """Yield the sections asked for, in Markdown.

    Ours and others' are measured once and in turn, so that all tables have the same numbers.
    """
    peers = compared.ask_all(cache) if "peers" in parts else []
    own_starts = startup.measures() if {"startup", "peers"} & set(parts) else {}
    own_rates = speed.measures() if {"speed", "peers"} & set(parts) else {}
    start = in_turn({**own_starts, **compared.starts(peers, cache)}, startup.RUNS)
    rate = in_turn({**own_rates, **compared.rates(peers, cache)}, speed.RUNS)
    if "startup" in parts:
        yield startup.section({name: start[name] for name in own_starts})
    if "speed" in parts:
        yield speed.section({name: rate[name] for name in own_rates})
    if "search" in parts:
        yield evaluator.section()
    if "peers" in parts:
        yield compared.section(peers, start, rate)
    if "rows" in parts:
        yield rows.section(cache, held_out=held_out)


def main() -> None:
    """Run the parts asked for and print or write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts: {','.join(PARTS)}")
    parser.add_argument("--cache", type=Path, help="folder of the peers' environments, kept")
    parser.add_argument(
        "--held-out", action="store_true", help="rows: score the publishers held out"
    )
    parser.add_argument("-o", "--out", type=Path, help="write to a file")
    asked = parser.parse_args()
    parts = asked.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(
            f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}"
        )
    head = f"Measured on {date.today().isoformat()}: {machine()}."
    with tempfile.TemporaryDirectory() as scratch:
        cache = (asked.cache or Path(scratch)).resolve()
        try:
            lines = list(sections(parts, cache, held_out=asked.held_out))
        except AbsentError as reason:  # of one that had answered before
            parser.exit(1, f"benchmarks: a peer stopped answering: {reason}\n")
    text = "\n\n".join([head, *lines]) + "\n"
    if asked.out is None:
        sys.stdout.write(text)
    else:
        asked.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
