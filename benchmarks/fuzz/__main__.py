"""Run cases and print what broke: ``python -m benchmarks.fuzz --cases 20000 --seed 1``."""

import argparse
import sys
import time
from pathlib import Path

from benchmarks.fuzz.campaign import Broken, again, campaign, summary


def main() -> None:
    """Run the cases asked for; exit with 1 if any broke."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=300, help="cases in process")
    parser.add_argument("--processes", type=int, default=0, help="cases as processes of their own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--case", type=int, help="run one case again and show all of it")
    parser.add_argument("--as-process", action="store_true", help="that case as a process")
    parser.add_argument("--keep", type=Path, help="write that case's files into a folder")
    asked = parser.parse_args()
    if asked.case is not None:
        is_process = asked.as_process
        sys.exit(again(asked.seed, asked.case, is_process=is_process, keep=asked.keep))
    start = time.monotonic()
    broken: list[Broken] = []
    for count, is_process in ((asked.cases, False), (asked.processes, True)):
        for one in campaign(asked.seed, range(count), is_process=is_process, jobs=asked.jobs):
            broken.append(one)
            sys.stderr.write(f"case {one.number}: {ascii(one.name)[1:-1]}\n")
    seconds = time.monotonic() - start
    sys.stdout.write(f"{(asked.cases + asked.processes) / seconds:.0f} cases/s\n")
    sys.stdout.write(summary(broken, asked.cases + asked.processes))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
