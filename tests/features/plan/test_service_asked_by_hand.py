"""What options ask of a plan, and how that reads in a heading."""

from dataclasses import replace
from math import inf
from pathlib import Path
from statistics import NormalDist

import pytest

from fastcalc.errors import InputError
from fastcalc.features.plan.demand import traffic_of
from fastcalc.features.plan.request import FindPlans
from fastcalc.features.plan.service import Service, Tariff
from fastcalc.features.plan.service_asked import _limits_of_file, is_of_fleet, phrase, service_of
from tests.helpers import every, read_or_refusal


def asked(**options):
    return FindPlans(model="m", on="c", **options)


@every(
    "options,field,value",
    [
        ({}, "prompt", 1000.0),
        ({"output": 500}, "output", 500.0),
        ({}, "ttft", inf),
        ({"ttft": "2s"}, "ttft", 2.0),
        ({"tpot": "25ms"}, "tpot", 0.025),
        ({}, "is_speed", False),
        # 50 tokens/s are 20 ms, which may be the stricter.
        ({"min_speed": 50.0}, "tpot", 0.02),
        ({"min_speed": 50.0}, "is_speed", True),
        ({"min_speed": 50.0, "tpot": "25ms"}, "tpot", 0.02),
        ({"min_speed": 50.0, "tpot": "25ms"}, "is_speed", True),
        ({"min_speed": 50.0, "tpot": "10ms"}, "tpot", 0.01),
        ({"min_speed": 50.0, "tpot": "10ms"}, "is_speed", False),
        ({"min_speed": 50.0, "tpot": "20ms"}, "is_speed", False),
        ({"rate": "120/min"}, "rate", 2.0),
        ({}, "rate", None),
        ({}, "max_chips", inf),
        ({"max_chips": 8}, "max_chips", 8),
        ({"budget": "1200/year"}, "budget", 100.0),
        ({}, "budget", inf),
        ({"power": "2kW"}, "power", 2000.0),
        ({}, "power", inf),
        ({"prefix_hit": 0.5}, "prefix_hit", 0.5),
        ({"objective": "watts"}, "objective", "watts"),
        ({"api": "1/2/3", "grid": 400.0}, "tariff", Tariff((1.0, 2.0, 3.0), 400.0)),
        ({}, "in_nodes", True),
        ({"by": "chip"}, "in_nodes", False),
        ({}, "any_weights", False),
        ({"weights": "fp8"}, "any_weights", True),
        ({}, "any_cache", False),
        ({"kv": "fp8"}, "any_cache", True),
        ({}, "deviations", 0.0),
        ({"confidence": 50.0}, "deviations", 0.0),
        ({"confidence": 99.0}, "deviations", NormalDist().inv_cdf(0.99)),
        # Percentiles are of requests that arrive, unless a load says that they come evenly.
        ({}, "share", None),
        ({"rate": "2/s"}, "share", 0.99),
        ({"users": 9.0}, "share", 0.99),
        ({"traffic": "t.yaml"}, "share", 0.99),
        ({"own": "c=8"}, "share", 0.99),
        ({"budget": "9/month"}, "share", 0.99),
        ({"rate": "2/s", "load": 0.8}, "share", 0.99),
        ({"rate": "2/s", "load": 0.81}, "share", None),
        ({"rate": "2/s", "load": 0.9, "percentile": 95.0}, "share", 0.95),
        ({"ttft": "1s", "percentile": 95.0}, "share", 0.95),
        ({"rate": "2/s", "percentile": 99.99}, "share", 0.9999),
        ({}, "utilization", 1.0),
        ({"rate": "2/s"}, "utilization", 0.8),
        ({"rate": "2/s", "load": 0.5}, "utilization", 0.5),
    ],
)
def test_what_options_ask_of_a_service(options, field, value):
    assert getattr(service_of(asked(**options)), field) == pytest.approx(value)


@every(
    "options,sentence",
    [
        ({"percentile": 95.0}, "--percentile needs a TTFT limit or a request rate; give --ttft 1s "
         "or --rate 20/s"),
        ({"rate": "2/s", "percentile": 49.0}, "--percentile 49 is not from 50 to 99.99; write for "
         "example 99"),
        ({"rate": "2/s", "percentile": 99.991}, "--percentile 99.991 is not from 50 to 99.99; "
         "write for example 99"),
        ({"confidence": 99.5}, "--confidence 99.5 is not from 50 to 99; write for example 90"),
        ({"confidence": 49.9}, "--confidence 49.9 is not from 50 to 99; write for example 90"),
        ({"min_speed": 0.0}, "--min-speed 0 is not a number from 1e-12 to 1e+09; write for "
         "example 50"),
        ({"load": 0.0}, "--load 0 is not a share above 0 to 1; write for example 0.5"),
    ],
)  # fmt: skip
def test_what_no_service_may_be(options, sentence):
    assert read_or_refusal(service_of, asked(**options)) == sentence


@every(
    "options,is_fleet",
    [
        ({}, False),
        ({"own": "c=8"}, True),
        ({"own": "c=8", "rate": "2/s"}, True),
        ({"budget": "9/month"}, True),
        ({"power": "9kW"}, True),
        ({"budget": "9/month", "rate": "2/s"}, False),
        ({"power": "9kW", "users": 9.0}, False),
        ({"max_chips": 8}, False),
    ],
)
def test_which_means_are_to_sustain_what_they_can(options, is_fleet):
    assert is_of_fleet(asked(**options)) is is_fleet


SERVICE = Service(1000.0, 500.0, rate=2.0)
LOOP = {"users": 100.0, "think": "30s"}


@every(
    "options,changes,words",
    [
        ({}, {}, "m: prompt 1,000, output 500 tokens"),
        ({}, {"output": 1.0}, "m: prompt 1,000, output 1 token"),
        ({}, {"prefix_hit": 0.25}, "m: prompt 1,000 (25% cached), output 500 tokens"),
        # 100 users at 2 requests/s ask every 50 s, of which they think 30.
        (LOOP, {}, "(2.00 requests/s, mean latency 20.0 s)"),
        (LOOP | {"active_fraction": 0.5, "peak_multiplier": 3.0}, {},
         "(2.00 requests/s, mean latency 45.0 s)"),
        (LOOP | {"active_fraction": 0.8}, {}, "(2.00 requests/s, mean latency 10.0 s)"),
        (LOOP, {"rate": None}, "(0 requests/s)"),
        ({"users": 100.0, "requests_per_active_user_per_min": 1.2}, {}, "(2.00 requests/s)"),
    ],
)  # fmt: skip
def test_what_is_asked_in_words(options, changes, words):
    said = phrase(asked(**options), replace(SERVICE, **changes))
    assert said.startswith("m: prompt 1,000")
    assert words in said


@every(
    "share,variation,says",
    [(0.95, 1.0, "p95 "), (None, 1.0, ""), (0.95, 3.0, "")],
)
def test_a_percentile_stands_before_the_limit_that_it_is_of(share, variation, says):
    service = replace(SERVICE, share=share, variation=variation)
    plain = phrase(asked(ttft="2s"), replace(SERVICE, share=None))
    (limit,) = [part for part in plain.split(", ") if "TTFT" in part]
    assert f"{says}{limit}" in phrase(asked(ttft="2s"), service)
    assert ("p95" in phrase(asked(ttft="2s"), service)) is bool(says)


@every(
    "options,changes,words",
    [
        ({}, {}, []),
        ({}, {"ttft": 1.5, "tpot": 0.02}, ["TTFT up to 1,500 ms", "TPOT up to 20.0 ms"]),
        ({}, {"ttft": 1.5, "share": 0.99}, ["p99 TTFT up to 1,500 ms"]),
        # Options that say a limit say it in the heading.
        ({"ttft": "1s"}, {"ttft": 1.0}, []),
        ({"tpot": "20ms"}, {"tpot": 0.02}, []),
        ({"min_speed": 50.0}, {"tpot": 0.02}, []),
    ],
)  # fmt: skip
def test_limits_of_a_file_in_words(options, changes, words):
    request = asked(traffic="t.yaml", **options)
    assert [*_limits_of_file(request, replace(SERVICE, **changes))] == words


@every(
    "options,changes,models,words",
    [
        ({"traffic": "t.yaml"}, {}, "a and b", "a and b: 2.00 requests/s of t.yaml"),
        ({"traffic": "t.yaml"}, {"rate": None}, "a", "a: t.yaml"),
        ({"traffic": "t.yaml", "rate": "2/s"}, {}, "a", "a: t.yaml, 2 requests/s"),
        # A limit of each class is in their table, and a rate is that of the users.
        ({"traffic": "t.yaml", "budget": "600k/year"}, {"ttft": 1.5}, "a",
         "a: 2.00 requests/s of t.yaml, at most $50,000 per month"),
        ({"traffic": "t.yaml", "users": 90, "think": "30s"}, {}, "a",
         "a: t.yaml, 90 users (2.00 requests/s, mean latency 15.0 s), think time 30s"),
    ],
)  # fmt: skip
def test_the_heading_of_a_mix(options, changes, models, words):
    """90 users at 2 requests/s are 45 s per request, 30 of which they think."""
    assert phrase(asked(**options), replace(SERVICE, **changes), models) == words


@every(
    "flags,name",
    [
        ({"prompt": 500}, "prompt"),
        ({"output": 5}, "output"),
        ({"prefix_hit": 0.9}, "prefix-hit"),
        ({"ttft": "100ms"}, "ttft"),
        ({"tpot": "5ms"}, "tpot"),
        ({"min_speed": 200.0}, "min-speed"),
    ],
)
def test_a_workload_file_is_not_overridden(flags, name):
    """Its three classes state lengths and both limits."""
    mix = Path(__file__).parents[3] / "docs" / "examples" / "my-mix.yaml"
    request = FindPlans(model="llama-3.1-8b", traffic=str(mix), **flags)
    with pytest.raises(InputError, match=name.replace("-", ".")):
        traffic_of(request, service_of(request))
