"""What a diagnosis says: what differs, what the log of a start has, and what to measure next."""

from collections.abc import Sequence

import numpy as np

from fastcalc.features.measure.diagnosis.diagnose import Diagnosis, TermFinding
from fastcalc.features.measure.diagnosis.next_point import NextPoint
from fastcalc.features.measure.diagnosis.start import DIFFERS, GIB, Cause, Start
from fastcalc.features.measure.diagnosis.terms import RUNNING, TERMS
from fastcalc.features.measure.term_rows import ends, term_name
from fastcalc.kit.answer.numbers_as_text import number, whole_percent

_SURELY = ((0.95, "almost certainly"), (0.8, "very likely"), (0.5, "likely"), (0.0, "perhaps"))
_FASTER = 0.9  # median of measured over predicted time below which that is said


def verdict_by_log(start: Start, causes: Sequence[Cause]) -> str:
    """Say what the log of a start names as causes, and whether its cache holds more than usual."""
    sentences = "; ".join(cause.sentence for cause in causes)
    by_log = (
        f"According to the log, {sentences}"
        if sentences
        else "Nothing in the log is slower than by default"
    )
    if start.tokens and start.log.tokens and start.log.tokens > DIFFERS * start.tokens[2]:
        times_larger = start.log.tokens / start.tokens[1]
        by_log += f"; the cache holds {times_larger:.1f} times more tokens than expected"
    return by_log


def verdict(diagnosis: Diagnosis) -> str:
    """Return what differs and how surely, that nothing does, or that the points are too few."""
    slowdown = float(np.median(np.exp(diagnosis.belief.slowdowns.residuals)))
    if diagnosis.verdict == "differs":
        named_findings = (finding for finding in diagnosis.findings if finding.is_named)
        text = "; ".join(f"{_surely(f.probability)}, {_slower(f)}" for f in named_findings)
        return text[0].upper() + text[1:]
    count = len(diagnosis.predictions)
    amount = f"measured times are {number(slowdown, 3)} of those predicted in the median"
    if diagnosis.verdict == "nothing":
        tail = ", so it is faster than most" if slowdown < _FASTER else ""
        return f"Nothing differs from what is normal: {amount}{tail}"
    if count == 1:
        amount = f"its measured time is {number(slowdown, 3)} of that predicted"
        return f"One point is too few to tell what differs: {amount}"
    return f"{count} points are too few to tell what differs: {amount}"


def _slower(finding: TermFinding) -> str:
    amount = f"{number(finding.slower, 2)} times {finding.term.worse} ({ends(finding)})"
    return f"{term_name(finding)} {amount}"


def _surely(probability: float) -> str:
    word = next(word for threshold, word in _SURELY if probability >= threshold)
    return f"{word} ({whole_percent(probability)})"


def logged(start: Start) -> str:
    """Return what was started, and how much its caches hold."""
    log, scenario = start.log, start.scenario
    name = f"{log.program} {log.version}".strip()
    layout = f"{scenario.model.id} on {start.placement.layout.chips} {scenario.hardware.id}"
    text = f"{name}, {layout}, cache {scenario.work.kv_format}"
    if log.tokens and start.tokens:
        logged, expected, unit = (
            f"{log.tokens:,}",
            [f"{round(n):,}" for n in start.tokens],
            "tokens",
        )
    elif log.available:
        logged, expected, unit = (
            f"{log.available / GIB:.1f}",
            [f"{memory / GIB:.1f}" for memory in start.room],
            "GiB a chip",
        )
    else:
        tokens = f" of {log.tokens:,} tokens" if log.tokens else ""
        return f"{text}{tokens}; it does not say how much memory that has"
    low, middle, high = expected
    within = f" ({low} to {high})" * (low != high)
    return f"{text} of {logged} {unit}, {middle} expected{within} with its settings"


def unnamed(diagnosis: Diagnosis) -> str:
    """Return how likely each term is that is not named, and which no point tests."""
    unseen = dict.fromkeys(TERMS, "not tested")
    if diagnosis.has_room:
        unseen[RUNNING] = "as logged"
    within = diagnosis.terms_within_named
    terms = [
        f"{f.term.name}{' alone' * (f.term in within)} "
        f"{whole_percent(f.probability) if f.is_tested else unseen[f.term]}"
        for f in diagnosis.findings
        if not f.is_named
    ]
    return f"not named: {', '.join(terms)}"


_METRICS = {"ttft_s": "TTFT", "tokens_per_s_total": "tokens/s"}


def measure_next(further: NextPoint) -> str:
    """The most informative next measurement, and how much slower each cause makes it."""
    point = further.point
    causes = ", ".join(f"{number(slower, 2)}x by {name}" for name, slower in further.slower.items())
    return (
        f"most informative next measurement: {_METRICS[point.metric]} at concurrency "
        f"{point.concurrency}, prompt {point.prompt:,.0f}, output {point.output:,.0f}, tp "
        f"{point.tp or 1} (slower {causes})"
    )
