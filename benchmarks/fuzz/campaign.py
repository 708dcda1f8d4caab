"""Many cases in turn, what broke in them, and the shortest way to see it again."""

import gc
import multiprocessing
import resource
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from pathlib import Path

from benchmarks.fuzz.grammar import NEEDS_A_FILE, Case, draw
from benchmarks.fuzz.judge import faults
from benchmarks.fuzz.running import Outcome, as_process, fenced, in_process, tidy

TIDY_EVERY = 300
"""Cases between collections of what cases leave in memory."""
MOST_LINES = 40
MOST_TRIES = 20


@dataclass(frozen=True)
class Broken:
    """A case that broke: in what way, and whether as a process of its own."""

    name: str
    seed: int
    number: int
    is_process: bool = False


def peak() -> int:
    """Return the most memory that this process has had. [B]"""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def judged(case: Case, base: int, *, is_process: bool) -> tuple[Outcome, list[str]]:
    """Run a case and return what it did and what is wrong with that."""
    run = as_process if is_process else in_process
    in_memory = replace(case, ends="plain")
    outcome = run(case if is_process else in_memory)
    found = faults(case if is_process else in_memory, outcome, base, run)
    if is_process and case.ends.startswith("stderr") and not found:
        plain = run(in_memory).code
        if plain != outcome.code:
            found.append(f"{case.ends}: exit code {outcome.code} instead of {plain}")
    return outcome, found


def _some(numbers: Sequence[int], seed: int, *, is_process: bool) -> Iterator[Broken]:
    with fenced():
        base = 0 if is_process else peak()
        for done, number in enumerate(numbers):
            _, found = judged(draw(seed, number), base, is_process=is_process)
            yield from (Broken(name, seed, number, is_process) for name in found)
            if done % TIDY_EVERY == TIDY_EVERY - 1:
                tidy()
                gc.collect()
            base = max(base, peak()) if any(name.startswith("memory") for name in found) else base


def _part(numbers: Sequence[int], seed: int, *, is_process: bool) -> list[Broken]:
    return list(_some(numbers, seed, is_process=is_process))


def campaign(
    seed: int, numbers: Iterable[int], *, is_process: bool = False, jobs: int = 1
) -> Iterator[Broken]:
    """Run cases and yield those that broke, in order.

    Parameters
    ----------
    seed : int
        What cases are drawn from.
    numbers : iterable of int
        Which cases.
    is_process : bool
        Whether each is a process of its own.
    jobs : int
        How many at a time. [1]
    """
    wanted = list(numbers)
    if jobs == 1:
        yield from _some(wanted, seed, is_process=is_process)
        return
    run = partial(_part, seed=seed, is_process=is_process)
    parts = [wanted[start : start + 100] for start in range(0, len(wanted), 100)]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for part in pool.imap(run, parts):
            yield from part


def shortest(broken: Broken) -> Case:
    """Return the case with as few words as show the same fault."""
    case = draw(broken.seed, broken.number)
    if broken.name.startswith(("slow", "hangs", "memory")):
        return case  # to shorten it takes as long as it takes, many times
    with fenced():
        return _less(broken, case)


def _less(broken: Broken, case: Case) -> Case:
    """Return a case without what is not needed to show the fault."""
    place, tries = 1, MOST_TRIES
    while place < len(case.words) and tries:
        for count in (2, 1):
            words = case.words[:place] + case.words[place + count :]
            less = replace(case, words=words)
            if words[:1] == case.words[:1] and not (set(words) & NEEDS_A_FILE and len(words) < 2):
                tries -= 1
                if _shows(broken, less):
                    case = less
                    break
        else:
            place += 1
    for kind in ("files", "places", "env"):
        for name in list(getattr(case, kind)):
            rest = {key: value for key, value in getattr(case, kind).items() if key != name}
            less = replace(case, **{kind: rest})
            case = less if _shows(broken, less) else case
    return case


def _shows(broken: Broken, case: Case) -> bool:
    """Return whether a case shows the same fault as another."""
    base = 0 if broken.is_process else peak()
    return broken.name in judged(case, base, is_process=broken.is_process)[1]


def shown(case: Case, *, is_process: bool = False) -> str:
    """Return what it takes to see a case again: files, places, streams and the command line."""
    lines = [f"--seed {case.seed} --case {case.number}{' --as-process' if is_process else ''}"]
    for name, raw in case.files.items():
        lines += [f"file {name!r}, {len(raw)} bytes", *_content(case, name, raw)]
    lines += [f"{place} at {name!r}" for name, place in case.places.items()]
    lines += [case.ends] if is_process and case.ends != "plain" else []
    words = [f"{name}={shlex.quote(value)}" for name, value in case.env.items()]
    words += ["fastcalc", *(shlex.quote(word) for word in case.words)]
    return "\n".join(f"    {line[:400]}" for line in [*lines, ascii(" ".join(words))]) + "\n"


def _content(case: Case, name: str, raw: bytes) -> list[str]:
    """Return what is other in a damaged file than it was."""
    if name != case.culprit or case.meant is None:
        return ["| as it is meant to be"]
    before, after = (one.decode("utf-8", "backslashreplace") for one in (case.meant, raw))
    lines = unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
    return [f"| {ascii(line)[1:-1][:160]}" for line in list(lines)[2 : MOST_LINES + 2]]


def summary(broken: Sequence[Broken], cases: int) -> str:
    """Return the ways in which cases broke, most frequent first, each with its shortest case."""
    ways: dict[str, list[Broken]] = defaultdict(list)
    for one in broken:
        ways[one.name].append(one)
    lines = [f"{cases} cases, {len({(one.number, one.is_process) for one in broken})} broke\n"]
    for name, ones in sorted(ways.items(), key=lambda item: -len(item[1])):
        lines.append(f"\n{len(ones)} x {ascii(name)[1:-1]}\n")
        lines.append(shown(shortest(ones[0]), is_process=ones[0].is_process))
    return "".join(lines)


def again(seed: int, number: int, *, is_process: bool, keep: Path | None) -> bool:
    """Run one case again, show all of it, and return whether it broke."""
    case = draw(seed, number)
    for name, raw in case.files.items() if keep else ():
        path = Path(keep or "", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    with fenced():
        outcome, found = judged(case, 0 if is_process else peak(), is_process=is_process)
    sys.stdout.write(shown(case, is_process=is_process))
    lines = [f"exit code {outcome.code}, {outcome.seconds:.2f} s", *outcome.crash, *outcome.warned]
    lines += ["standard error:", outcome.err[:4000], "standard output:", outcome.out[:2000]]
    lines += [f"broken: {name}" for name in found] or ["nothing is wrong"]
    sys.stdout.write(ascii("\n".join(lines)).replace("\\n", "\n")[1:-1] + "\n")
    return bool(found)
