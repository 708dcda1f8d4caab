"""All benchmarks in one run: ``python -m benchmarks``; the parts and options with ``--help``."""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from benchmarks import speed, startup
from benchmarks.peers import beside, rows
from benchmarks.peers.install import AbsentError
from benchmarks.table import markdown
from fastcalc.errors import InputError

PARTS = ("startup", "speed", "peers", "rows")


def machine() -> str:
    """Return the processor, its cores and the versions that timings depend on."""
    name = platform.processor() or platform.machine()
    known = Path("/proc/cpuinfo")
    if known.exists():
        lines = known.read_text().splitlines()
        name = next((line.split(":")[1].strip() for line in lines if "model name" in line), name)
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return f"{name}, {os.cpu_count()} cores{load}, Python {platform.python_version()}"


def evaluator() -> list[list[str]]:
    """Return the rows of the search benchmark where there is one: what, and the figure."""
    if find_spec("benchmarks.evaluator") is None:
        return []
    from benchmarks import evaluator as search

    return [list(row) for row in search.rows()]


def sections(parts: Sequence[str], cache: Path, *, set_aside: bool) -> list[str]:
    """Return the sections asked for, in Markdown."""
    found = []
    if "startup" in parts:
        found += ["## Start-up, medians", startup.report()]
    rates = speed.measure() if {"speed", "peers"} & set(parts) else []
    if "speed" in parts:
        lines = [[what, f"{value:,.0f}"] for what, value in rates]
        found += ["## Points a second, one process", markdown(("", "points a second"), lines)]
        if searched := evaluator():
            found += ["## Search", markdown(("", ""), searched)]
    if "peers" in parts:
        peers, own = beside.ask_all(cache)
        found += ["## Beside other calculators", beside.speeds(peers, own, rates)]
        found += ["## The same case: theirs over ours", beside.disagreements(peers)]
    if "rows" in parts:
        found += ["## Beside aiconfigurator on measured points"]
        try:
            contest = rows.compete(cache, set_aside)
        except (AbsentError, InputError) as reason:
            return [*found, f"Skipped: {reason}."]
        found += [rows.table(contest), rows.refusals(contest)]
    return found


def main() -> None:
    """Run the parts asked for and print or write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts: {','.join(PARTS)}")
    parser.add_argument("--cache", type=Path, help="folder of the peers' environments, kept")
    parser.add_argument(
        "--set-aside", action="store_true", help="rows: score the sources set aside"
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
        told = sections(parts, cache, set_aside=asked.set_aside)
    text = "\n\n".join([head, *told]) + "\n"
    if asked.out is None:
        sys.stdout.write(text)
    else:
        asked.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
