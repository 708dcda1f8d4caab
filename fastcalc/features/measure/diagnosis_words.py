"""The sentences of a diagnosis: verdict, contents of the log, and next measurement."""

from collections.abc import Sequence

import numpy as np

from fastcalc.features.measure.diagnosis.diagnose import Diagnosis
from fastcalc.features.measure.diagnosis.next_point import NextPoint
from fastcalc.features.measure.diagnosis.start import DIFFERS, GIB, Cause, Start
from fastcalc.features.measure.diagnosis.terms import LINKS, RUNNING, SlowdownTerm
from fastcalc.features.measure.term_rows import ends, term_name
from fastcalc.kit.answer.numbers_as_text import capital, number, whole_percent
from fastcalc.written import listed

_SURELY = ((0.95, "almost certainly"), (0.8, "very likely"), (0.5, "likely"), (0.0, "possibly"))
_FASTER = 0.9  # median of measured / predicted time below which a remark is added


def verdict_by_log(start: Start, causes: Sequence[Cause]) -> str:
    """Describe the causes found in the log, and whether the cache is larger than expected."""
    sentences = "; ".join(cause.sentence for cause in causes)
    by_log = (
        f"From the log: {sentences}"
        if sentences
        else "No setting in the log makes the server slower than its defaults"
    )
    if start.tokens and start.log.tokens and start.log.tokens > DIFFERS * start.tokens[2]:
        times_larger = start.log.tokens / start.tokens[1]
        by_log += f"; the KV cache holds {times_larger:.1f} times as many tokens as expected"
    return by_log


def verdict(diagnosis: Diagnosis) -> str:
    """Name the slow terms with probabilities, or say that none is slower or data are too few."""
    slowdown = float(np.median(np.exp(diagnosis.belief.slowdowns.residuals)))
    if diagnosis.verdict == "differs":
        texts = []
        for finding in (finding for finding in diagnosis.findings if finding.is_named):
            surely = next(word for least, word in _SURELY if finding.probability >= least)
            surely = f"{surely} ({whole_percent(finding.probability)})"
            slower = f"{number(finding.slower, 2)} ({ends(finding)})"
            texts.append(
                f"{surely}, {term_name(finding)} {finding.term.worse} by a factor of {slower}"
            )
        return capital("; in addition, ".join(texts))
    count = len(diagnosis.predictions)
    amount = f"measured times are {number(slowdown, 3)} times the predicted ones (median)"
    if diagnosis.verdict == "nothing":
        tail = ", so it is faster than most" if slowdown < _FASTER else ""
        return f"The server is not slower than predicted: {amount}{tail}"
    if count == 1:
        amount = f"its measured time is {number(slowdown, 3)} times the predicted one"
        return f"One measurement is too few to tell what differs: {amount}"
    return f"{count} measurements are too few to tell what differs: {amount}"


def logged(start: Start) -> str:
    """Describe the started deployment and the capacity of its caches."""
    log, scenario = start.log, start.scenario
    name = f"{log.program} {log.version}".strip()
    layout = f"{scenario.model.asked_name} on {start.placement.layout.chips} {scenario.hardware.id}"
    text, cache = f"{name}, {layout}", f"the KV cache ({scenario.work.kv_format})"
    if log.tokens and start.tokens:
        logged, expected = f"{log.tokens:,} tokens", [f"{round(n):,}" for n in start.tokens]
    elif log.available:
        logged = f"{log.available / GIB:.1f} GiB per chip"
        expected = [f"{memory / GIB:.1f}" for memory in start.room]
    else:
        tokens = f"; {cache} holds {log.tokens:,} tokens" if log.tokens else ""
        return f"{text}{tokens}; the log does not say how much memory {cache} has"
    low, middle, high = expected
    within = f" ({low} to {high})" * (low != high)
    return f"{text}; {cache} holds {logged}; expected for these settings: {middle}{within}"


def unnamed(diagnosis: Diagnosis) -> str:
    """Give the probability of terms that are not named, and list untested terms."""
    within = diagnosis.terms_within_named
    not_named = [finding for finding in diagnosis.findings if not finding.is_named]
    likely = [
        f"{f.term.name}{' alone' * (f.term in within)} {whole_percent(f.probability)}"
        for f in not_named
        if f.is_tested
    ]
    has_room = diagnosis.has_room and any(f.term is RUNNING and not f.is_tested for f in not_named)
    excluded = {RUNNING} if has_room else set[SlowdownTerm]()
    if all((one.point.chips or one.point.tp or 1) == 1 for one in diagnosis.predictions):
        excluded.add(LINKS)
    untested = [f.term.name for f in not_named if not f.is_tested and f.term not in excluded]
    sentences = [f"Other possible causes, by probability: {', '.join(likely)}"] if likely else []
    if untested:
        sentences += [f"No measurement tests {listed(untested, 'or')}"]
    if has_room:
        sentences += ["The log shows enough KV cache for all requests"]
    return ". ".join(sentences)


_METRICS = {"ttft_s": "TTFT", "tokens_per_s_total": "tokens/s"}


def measure_next(further: NextPoint) -> str:
    """Describe the most informative next measurement, with the slowdown expected for each cause."""
    point = further.point
    causes = ", ".join(f"{name} {number(slower, 2)}x" for name, slower in further.slower.items())
    return (
        f"to tell the causes apart, measure {_METRICS[point.metric]} at concurrency "
        f"{point.concurrency} (prompt {point.prompt:,.0f}, output {point.output:,.0f}, tp "
        f"{point.tp or 1}); expected slowdown: {causes}"
    )
