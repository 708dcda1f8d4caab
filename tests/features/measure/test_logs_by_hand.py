"""What a start-up log says of a deployment, compared with its measurements."""

from types import SimpleNamespace

import pytest

from fastcalc.evidence.start_log import StartLog
from fastcalc.features.measure import diagnose
from tests.helpers import every


def log(**settings):
    return StartLog("vllm", settings={key: str(value) for key, value in settings.items()})


@every(
    "settings,ranks",
    [
        ({}, {"tp": 1, "pp": 1, "ep": 1, "dp": 1}),
        ({"tp": 8, "pp": 2}, {"tp": 8, "pp": 2, "ep": 1, "dp": 1}),
        ({"tp": 8, "dp": 2}, {"tp": 8, "pp": 1, "ep": 1, "dp": 2}),
        # SGLang's tp of 8 is two copies of attention on four chips each, and eight copies on one.
        ({"tp": 8, "dp": 2, "dp_attention": True}, {"tp": 4, "pp": 1, "ep": 1, "dp": 2}),
        ({"tp": 8, "dp": 8, "dp_attention": True}, {"tp": 1, "pp": 1, "ep": 1, "dp": 8}),
        ({"tp": 2, "dp": 8, "dp_attention": True}, {"tp": 1, "pp": 1, "ep": 1, "dp": 8}),
    ],
)
def test_ranks_of_a_log(settings, ranks):
    assert diagnose._ranks(log(**settings)) == {name: ranks[name] for name in diagnose.RANKS}


@every(
    "lengths,traffic",
    [
        ((None, None), (1000.0, 1000.0, 1500.0)),
        ((2000.0, 500.0), (2000.0, 500.0, 2250.0)),
        ((2000.0, None), (2000.0, 1000.0, 2500.0)),
    ],
)
def test_lengths_that_are_not_stated_are_a_thousand(lengths, traffic):
    found = diagnose._traffic(*lengths)
    assert (found.prompt, found.output, found.context) == traffic


def point(**changes):
    usual = {"weights": "fp8", "kv": "", "tokens_per_pass": None, "is_speculation_inferred": False}
    return SimpleNamespace(**usual | changes)


DRAFTED = "the log shows 3 draft tokens per step, but no measurement states how many are accepted"
UNSEEN = "the measurements used speculative decoding, but the log shows none"


@pytest.mark.parametrize(
    ("settings", "points", "sentences"),
    [
        ({}, [point()], []),
        ({"drafted": 3}, [point()], [DRAFTED]),
        ({"drafted": 1}, [point(tokens_per_pass=1.0)], ["the log shows 1 draft token per step"]),
        ({"drafted": 3}, [point(), point(tokens_per_pass=2.5)], []),
        ({"drafted": 3}, [point(), point(is_speculation_inferred=True)], []),
        ({}, [point(), point(tokens_per_pass=2.5)], [UNSEEN]),
        ({"quantization": "fp8"}, [point(), point(weights="")], []),
        ({"quantization": "fp8"}, [point(weights="nvfp4"), point(weights="bf16"), point()],
         ["the measurements state weights in bf16 and nvfp4, but the log has fp8: give "]),
        ({}, [point(kv="fp8")], ["the measurements state a cache in fp8, but the log has bf16"]),
    ],
)  # fmt: skip
def test_measurements_and_log_contradict_each_other(settings, points, sentences, monkeypatch):
    monkeypatch.setattr(diagnose, "cache_format", lambda *_: "bf16")
    start = SimpleNamespace(log=log(**settings), scenario=None)
    said = diagnose.contradictions(start, points)
    assert len(said) == len(sentences)
    for text, beginning in zip(said, sentences, strict=True):
        assert text.startswith(beginning)
