"""Sentences of a diagnosis from made-up findings."""

from types import SimpleNamespace

import numpy as np

from fastcalc.features.measure import diagnosis_words as say
from fastcalc.features.measure.diagnosis.terms import LINKS, RUNNING, TERMS
from tests.helpers import every

GIB = 2**30
HOST, OTHER = TERMS[0], next(term for term in TERMS[1:] if term not in (LINKS, RUNNING))


def finding(term=HOST, probability=0.5, *, is_tested=True, is_named=False):
    return SimpleNamespace(
        term=term, probability=probability, part=0, low=1.2, slower=1.5, high=2.0,
        is_tested=is_tested, is_named=is_named,
    )  # fmt: skip


def diagnosis(verdict, slowdowns=(1.0,), findings=(), **changes):
    points = [SimpleNamespace(point=SimpleNamespace(chips=None, tp=changes.pop("tp", None)))]
    return SimpleNamespace(
        verdict=verdict, findings=findings, terms_within_named=changes.pop("within", ()),
        predictions=points * len(slowdowns), has_room=changes.pop("has_room", False),
        belief=SimpleNamespace(slowdowns=SimpleNamespace(residuals=np.log(slowdowns))),
    )  # fmt: skip


@every(
    "probability,word",
    [(0.96, "Almost certainly"), (0.95, "Almost certainly"), (0.94, "Very likely"), (0.8, "Very likely"),
     (0.79, "Likely"), (0.5, "Likely"), (0.49, "Possibly"), (0.0, "Possibly")],
)  # fmt: skip
def test_how_sure_a_cause_is(probability, word):
    named = finding(probability=probability, is_named=True)
    said = say.verdict(diagnosis("differs", findings=[finding(), named]))
    assert said.startswith(f"{word} ({100 * probability:.0f}%), ")
    assert said.endswith(f" {HOST.worse} by a factor of 1.5 (1.2 to 2.0)")
    assert ";" not in said


@every(
    "slowdowns,sentence",
    [
        ((1.0, 1.1, 5.0), "The server is not slower than predicted: measured times are 1.10 times the predicted ones (median)"),
        ((0.91,), "The server is not slower than predicted: measured times are 0.910 times the predicted ones (median)"),
        ((0.89,), "The server is not slower than predicted: measured times are 0.890 times the predicted ones (median), so it is faster than most"),
    ],
)  # fmt: skip
def test_nothing_is_slower(slowdowns, sentence):
    assert say.verdict(diagnosis("nothing", slowdowns)) == sentence


def test_too_few_points_are_counted():
    one = say.verdict(diagnosis("open", (1.5,)))
    assert (
        one
        == "One measurement is too few to tell what differs: its measured time is 1.50 times the predicted one"
    )
    two = say.verdict(diagnosis("open", (1.5, 1.5)))
    assert two.startswith(
        "2 measurements are too few to tell what differs: measured times are 1.50 times "
    )


def test_causes_that_are_not_named():
    findings = [finding(), finding(OTHER, 0.25), finding(RUNNING, 0.0, is_tested=False)]
    said = say.unnamed(diagnosis("differs", findings=findings, within=[OTHER]))
    likely = f"Other possible causes, by probability: {HOST.name} 50%, {OTHER.name} alone 25%"
    assert said == f"{likely}. No measurement tests {RUNNING.name}"
    # Memory that a log shows to be enough needs no test, and one chip has no links.
    said = say.unnamed(diagnosis("differs", findings=findings, has_room=True))
    assert said.endswith(". The log shows enough KV cache for all requests")
    assert "No measurement tests" not in said
    links = [finding(LINKS, 0.0, is_tested=False)]
    assert say.unnamed(diagnosis("differs", findings=links)) == ""
    assert (
        say.unnamed(diagnosis("differs", findings=links, tp=2))
        == f"No measurement tests {LINKS.name}"
    )
    assert say.unnamed(diagnosis("differs", findings=[finding(is_named=True)])) == ""


def start(*, tokens=None, logged=None, available=None, room=None):
    return SimpleNamespace(
        tokens=tokens, room=room, log=SimpleNamespace(program="vllm", version="0.9", tokens=logged, available=available),
        scenario=SimpleNamespace(
            model=SimpleNamespace(asked_name="m"), hardware=SimpleNamespace(id="h"), work=SimpleNamespace(kv_format="fp8")
        ),
        placement=SimpleNamespace(layout=SimpleNamespace(chips=2)),
    )  # fmt: skip


@every(
    "found,sentence",
    [
        (start(tokens=(900.4, 1000.0, 1100.6), logged=2000), " holds 2,000 tokens; expected for these settings: 1,000 (900 to 1,101)"),
        (start(tokens=(1000.0, 1000.0, 1000.0), logged=2000), " holds 2,000 tokens; expected for these settings: 1,000"),
        (start(available=1.5 * GIB, room=(1.0 * GIB, 2.0 * GIB, 3.0 * GIB)), " holds 1.5 GiB per chip; expected for these settings: 2.0 (1.0 to 3.0)"),
    ],
)  # fmt: skip
def test_what_a_log_says_of_the_cache(found, sentence):
    assert say.logged(found) == f"vllm 0.9, m on 2 h; the KV cache (fp8){sentence}"


def test_a_log_without_its_memory_says_so():
    silent = "; the log does not say how much memory the KV cache (fp8) has"
    assert say.logged(start()) == f"vllm 0.9, m on 2 h{silent}"
    assert (
        say.logged(start(logged=5000))
        == f"vllm 0.9, m on 2 h; the KV cache (fp8) holds 5,000 tokens{silent}"
    )


def test_a_cache_far_above_its_range_is_remarked():
    """More than 5% above the largest of 1,100 tokens; 1,156 are 1.2 times the expected 1,000."""
    causes = [SimpleNamespace(sentence="a"), SimpleNamespace(sentence="b")]
    usual = start(tokens=(900.0, 1000.0, 1100.0), logged=1155)
    assert say.verdict_by_log(usual, causes) == "From the log: a; b"
    assert (
        say.verdict_by_log(usual, [])
        == "No setting in the log makes the server slower than its defaults"
    )
    large = start(tokens=(900.0, 1000.0, 1100.0), logged=1156)
    assert say.verdict_by_log(large, causes[:1]).endswith(
        "a; the KV cache holds 1.2 times as many tokens as expected"
    )


def test_the_next_measurement_in_words():
    point = SimpleNamespace(metric="ttft_s", concurrency=8, prompt=2000.4, output=300.0, tp=None)
    said = say.measure_next(SimpleNamespace(point=point, slower={"nothing": 1.0, "host": 1.25}))
    assert said == (
        "to tell the causes apart, measure TTFT at concurrency 8 (prompt 2,000, output 300, tp 1); "
        "expected slowdown: nothing 1.0x, host 1.2x"
    )
