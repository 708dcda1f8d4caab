"""Why a deployment is slower: faults put into files are named, and nothing where there is none."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fastcalc
from benchmarks import faults
from fastcalc.catalogue.schema import Parameters
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.traffic.traffic import Speculation
from fastcalc.errors import InputError
from fastcalc.evidence.point import COLUMNS
from fastcalc.evidence.predict import speculation_of
from fastcalc.features.measure.diagnose import drafted
from fastcalc.features.measure.diagnose import run as run_diagnose
from fastcalc.features.measure.diagnosis.diagnose import diagnose
from fastcalc.features.measure.diagnosis.terms import COMPUTE, HOST, LINKS, TERMS
from fastcalc.features.measure.diagnosis_answer import _AXIS, _line
from fastcalc.features.measure.diagnosis_chart import slowdowns
from fastcalc.features.measure.diagnosis_words import unnamed, verdict
from fastcalc.features.measure.request import Diagnose
from fastcalc.formulas.naming_causes import disagreement, log_likelihood, log_mean, posterior
from fastcalc.kit.answer.answer import Screen
from fastcalc.kit.answer.console import render
from fastcalc.written import csv_cell
from tests.helpers import ROOT, every, run

ENTRIES = Catalogue()
MEASURED = Path(__file__).parents[2] / "measured"
LARGE = faults.Case(
    ENTRIES.hardware("h100-sxm"), "vllm", {}, faults.points("h100-sxm", "llama-3.1-70b", "vllm", 4)
)
SMALL = faults.Case(
    ENTRIES.hardware("h100-sxm"), "vllm", {}, faults.points("h100-sxm", "llama-3.1-8b", "vllm", 1)
)
NOISE = np.exp(0.05 * np.array([0.5, -1.2, 0.8, -0.3, 1.1, -0.9]))
"""Of six points: 5%, as large as one standard deviation on average."""


def measured(case, fault=None, noise=NOISE):
    """Return the points of a case as they would be measured with a fault."""
    values = faults.predicted(case, fault.values(case) if fault else {})
    pairs = zip(case.points, values, noise, strict=True)
    return [replace(point, value=value * factor) for point, value, factor in pairs]


def file_of(points, folder):
    path = folder / "runs.csv"
    rows = [COLUMNS, *([csv_cell(getattr(p, key)) for key in COLUMNS] for p in points)]
    path.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
    return path


FAULTS = {fault.name: fault for fault in faults.FAULTS}


@pytest.mark.thorough
@every(
    "case,name",
    [
        (LARGE, "utilization 0.5"),
        (SMALL, "eager"),
        (LARGE, "old release"),
        (LARGE, "PCIe"),
        (LARGE, "half the bandwidth"),
        (LARGE, "power cap"),
    ],
)
def test_a_fault_is_among_those_named(case, name):
    fault = FAULTS[name]
    named = diagnose(measured(case, fault), ENTRIES).named
    assert 1 <= len(named) <= 2
    assert set(named) & set(fault.terms)


@pytest.mark.thorough
@every("case", [SMALL, LARGE])
def test_nothing_is_named_where_nothing_is_wrong(case):
    diagnosis = diagnose(measured(case), ENTRIES)
    assert (diagnosis.verdict, diagnosis.named) == ("nothing", ())
    assert diagnosis.slower.tolist() == [[1.0] * 6] * 3


@pytest.mark.thorough
def test_how_many_times_slower_is_what_was_put_in():
    """Prompts of PCIe 4 take 450/31.5 times as long to exchange, less what the engine reaches."""
    diagnosis = diagnose(measured(LARGE, FAULTS["PCIe"]), ENTRIES)
    finding = next(finding for finding in diagnosis.findings if finding.is_named)
    assert finding.term is LINKS
    assert finding.low < 450.0 / 31.5 * 0.65 / 0.60 < finding.high
    left = np.array([point.value for point in measured(LARGE, FAULTS["PCIe"], np.ones(6))])
    expected = np.array([prediction.expected for prediction in diagnosis.predictions])
    is_time = [point.is_time for point in LARGE.points]
    after = np.where(is_time, expected * diagnosis.slower[1], expected / diagnosis.slower[1])
    assert after == pytest.approx(left, rel=0.15)


@pytest.mark.thorough
def test_what_does_not_show_is_not_tested():
    findings = {f.term: f for f in diagnose(measured(SMALL), ENTRIES).findings}
    assert not findings[LINKS].is_tested  # one chip
    decode = replace(SMALL.points[0], value=faults.predicted(SMALL, {})[0])
    findings = {f.term: f for f in diagnose([decode], ENTRIES).findings}
    assert findings[HOST].is_tested


def test_a_fault_is_on_the_way_to_the_engine_that_has_it():
    """The values of `terms` are those of the engines' files, which fits move a little."""
    towards = {part.name: part.towards for part in HOST.parts if part.towards}
    for name, engine in {"per kernel launch": "eager", "per kernel": "young"}.items():
        parameters = ENTRIES.engine(engine).parameters
        values = {key: getattr(parameters, key).si for key, _ in towards[name]}
        assert values == pytest.approx(dict(towards[name]), rel=0.15)


def test_the_likelihood_is_that_of_a_normal_distribution():
    """Against the dense covariance, inverted as a whole."""
    random = np.random.default_rng(0)
    residuals, shared = random.normal(size=5), random.normal(size=(5, 2))
    noise = random.uniform(0.1, 0.5, size=5)
    covariance = np.diag(noise**2) + shared @ shared.T
    exponent = residuals @ np.linalg.inv(covariance) @ residuals
    volume = np.linalg.det(2.0 * np.pi * covariance)
    assert log_likelihood(residuals=residuals, shared=shared, noise=noise) == pytest.approx(
        -0.5 * (exponent + np.log(volume))
    )


def test_evidence_is_a_mean_over_the_prior_and_a_posterior_is_by_bayes():
    """(3 + 1) / 2 = 2; odds of 1:3 become even where the evidence is 3:1.

    Of 1 and 3 both are one off their mean.
    """
    mean = log_mean(logs=np.log([3.0, 1.0]), weights=np.array([0.5, 0.5]))
    assert np.exp(mean) == pytest.approx(2.0)
    chances = posterior(log_evidence=np.log([3.0, 1.0]), prior=np.array([0.25, 0.75]))
    assert chances == pytest.approx([0.5, 0.5])
    apart = disagreement(
        predictions=np.array([[1.0, 5.0], [3.0, 5.0]]), weights=np.array([2.0, 2.0])
    )
    assert apart == pytest.approx([1.0, 0.0])


@pytest.mark.thorough
def test_one_point_is_too_few_and_the_next_one_would_tell():
    slow = replace(SMALL.points[0], value=2.0 * faults.predicted(SMALL, {})[0])
    diagnosis = diagnose([slow], ENTRIES)
    assert (diagnosis.verdict, diagnosis.named) == ("few", ())
    assert diagnosis.further is not None
    slower = diagnosis.further.slower
    assert max(slower.values()) > 1.1 * min(slower.values())


@pytest.mark.thorough
def test_a_first_token_of_several_requests_is_off_where_nothing_is_wrong():
    """By half as much again: more than a third of those in the evidence are further off."""
    points = [*SMALL.points[1:3], replace(SMALL.points[4], concurrency=16)]
    case = replace(SMALL, points=points)
    diagnosis = diagnose(measured(case, noise=[1.0, 1.0, 1.5]), ENTRIES)
    assert (diagnosis.verdict, diagnosis.named) == ("nothing", ())
    alone = replace(case, points=[*points[:2], SMALL.points[4]])
    assert diagnose(measured(alone, noise=[1.0, 1.0, 1.5]), ENTRIES).verdict != "nothing"


@pytest.mark.thorough
def test_points_elsewhere_and_beyond_the_bound_are_set_aside_in_sentences():
    points = measured(SMALL)
    foreign = replace(points[0], id="else-1", model="qwen3-8b")
    impossible = replace(points[1], id="fast-1", value=1e-6)
    diagnosis = diagnose([*points, foreign, impossible], ENTRIES)
    assert len(diagnosis.predictions) == 6
    first, second = diagnosis.set_aside
    assert "skipped 1 point of qwen3-8b on h100-sxm under vllm" in first
    assert "skipped fast-1: 1e-06 exceeds the hardware bound" in second
    with pytest.raises(InputError, match="skipped fast-1"):
        diagnose([impossible], ENTRIES)


@pytest.mark.thorough
def test_the_chart_stands_where_measured_and_predicted_do():
    """A server twice as slow as predicted is drawn at 2; with what is named, about at 1."""
    points = measured(LARGE, FAULTS["half the bandwidth"], np.ones(6))
    diagnosis = diagnose(points, ENTRIES)
    decode, served, prefill = slowdowns(diagnosis).panels
    before, after, line = decode.series
    ratios = [
        point.value / value
        for point, value in zip(points, faults.predicted(LARGE, {}), strict=True)
    ]
    assert before.x.tolist() == [1.0, 16.0]
    assert before.y == pytest.approx(ratios[:2])
    assert served.series[0].y == pytest.approx([1.0 / ratio for ratio in ratios[2:4]])
    assert prefill.series[0].x.tolist() == [point.prompt for point in points[4:]]
    assert after.y == pytest.approx(1.0, abs=0.1)
    assert np.all((after.low < after.y) & (after.y < after.high))
    assert line.y.tolist() == [1.0, 1.0]


@pytest.mark.thorough
def test_an_order_of_points_makes_no_difference():
    points = measured(LARGE, FAULTS["power cap"])
    first, second = (diagnose(order, ENTRIES).findings[0] for order in (points, points[::-1]))
    assert first.term is second.term is COMPUTE
    assert first.probability == pytest.approx(second.probability)


@pytest.mark.thorough
@every("is_stated", [True, False])
def test_a_speculative_server_is_predicted_as_in_a_comparison(is_stated, tmp_path):
    """Steps of 5 draft tokens of a separate model, with the acceptance rate of either."""
    server = {"engine": "eager", "speculate": "0.8x5", "draft_model": "llama-3.2-1b"}
    tokens_per_s = [
        row["tokens_per_s_per_user"]
        for row in fastcalc.compare("llama-3.1-70b", on="h100-sxm", tp=8, batch="1,8", **server)
    ]
    accepted = sum(0.8**tokens for tokens in range(6))
    rows = [
        replace(
            LARGE.points[0], id=f"batch-{batch}", concurrency=batch, metric="tpot_s", value=1 / speed, output=1000.0,
            tp=8, chips=8, tokens_per_pass=accepted if is_stated else None, notes="kind=decode",
        )
        for batch, speed in zip((1, 8), tokens_per_s, strict=True)
    ]  # fmt: skip
    request = Diagnose(path=file_of(rows, tmp_path), **server)
    diagnosis = run_diagnose(request).diagnosis
    expected = [prediction.expected for prediction in diagnosis.predictions]
    # Tokens per step are rounded to 0.01.
    assert expected == pytest.approx([row.value for row in rows], rel=2e-3)


def test_a_measurement_without_speculation_stays_one():
    points = drafted(LARGE.points, Speculation.accepting(0.8, 5.0))
    assert {point.tokens_per_pass for point in points} == {1.0}
    assert speculation_of(points[0]) == Speculation()


@pytest.mark.thorough
def test_the_library_and_the_command_line_say_the_same(tmp_path, capsys, monkeypatch):
    path = file_of(measured(SMALL, FAULTS["eager"]), tmp_path)
    table = fastcalc.diagnose(path)
    assert next(row["term"] for row in table if row["named"]) == HOST.name
    assert {row["term"] for row in table} == {term.name for term in TERMS}
    ran = run("diagnose", path, "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    document = json.loads(ran.out)
    assert ran.code == 0
    assert document["records"] == [dict(row) for row in table]
    assert document["verdict"] == "differs"
    assert len(document["points"]) == 6
    assert "host time per kernel launch" in document["sentence"]
    eager, usual = (
        ENTRIES.engine(name).parameters.decode_layer_floor.si for name in ("eager", "vllm")
    )
    cause = document["records"][0]
    assert 0.85 * cause["slower_low"] < eager / usual < 1.15 * cause["slower_high"]


@pytest.mark.thorough
@every("case", [SMALL, LARGE])
def test_what_to_measure_next_was_not_measured(case):
    """Whatever is slower: no row that is given, nor another rate of its run, is asked for again."""
    for fault in FAULTS.values():
        points = measured(case, fault)
        further = diagnose(points, ENTRIES).further
        if further is None:
            continue
        asked = further.point
        for given in points:
            is_of_prompts = given.metric == "ttft_s"
            assert (is_of_prompts, given.concurrency, given.prompt, given.tp) != (
                asked.metric == "ttft_s",
                asked.concurrency,
                asked.prompt,
                asked.tp,
            )


@pytest.mark.thorough
def test_what_is_named_is_not_calledunnamed():
    """Lower clocks slow products and reads; of bandwidth, what is left is that it is alone."""
    noise = np.exp(0.05 * np.random.default_rng(0).normal(size=len(LARGE.points)))
    diagnosis = diagnose(measured(LARGE, FAULTS["power cap"], noise), ENTRIES)
    assert "compute (and memory) is slower" in verdict(diagnosis)
    assert "memory bandwidth alone" in unnamed(diagnosis)
    other = diagnose(measured(LARGE, FAULTS["eager"]), ENTRIES)
    assert "memory bandwidth " in unnamed(other)
    assert "alone" not in unnamed(other)


@pytest.mark.thorough
@every("engine", [None, ENTRIES.engine("vllm"), ENTRIES.engine("ideal")])
def test_a_server_of_four_sequences_is_predicted_as_one_whoever_names_its_engine(engine):
    """Of 64 requests sixty wait: the throughput is about that of four, not that of 64."""
    served = replace(
        SMALL.points[0], metric="tokens_per_s_total", notes="kind=e2e_concurrency", prompt=1000.0,
        output=500.0, value=400.0,
    )  # fmt: skip
    points = [replace(served, id=f"at-{count}", concurrency=count) for count in (4, 64)]
    limits = Parameters.model_validate({"max_sequences": 4})
    four, all_ = (one.expected for one in diagnose(points, ENTRIES, engine, limits).predictions)
    assert all_ == pytest.approx(four, rel=0.05)
    alone, many = (one.expected for one in diagnose(points, ENTRIES, engine).predictions)
    assert four == pytest.approx(alone, rel=0.01), "by the engine that is named"
    assert many > 5 * four


@pytest.mark.thorough
def test_times_have_a_unit(tmp_path):
    """Half a second to the first token, by the file: 500 ms, next to its name."""
    first = replace(SMALL.points[4], value=0.5)
    assert first.metric == "ttft_s"
    path = file_of([*measured(SMALL)[:4], first], tmp_path)
    text = render(fastcalc.diagnose(path)._answer.page(Screen(100)), 100)
    line = next(line for line in text.splitlines() if line.startswith("TTFT ms at 1 "))
    assert line.split()[4] == "500"
    assert "TPOT ms at 1 " in text


@pytest.mark.thorough
def test_points_of_two_prompts_are_told_apart():
    """The last two rows of the example differ in their prompts alone: 1,000 and 4,000 tokens."""
    page = fastcalc.diagnose(ROOT / "docs/examples/my-slow-runs.csv")._answer.page
    for width in (80, 100):
        lines = render(page(Screen(width)), width).splitlines()
        assert [line[:20].strip() for line in lines if line.startswith("TTFT")] == [
            "TTFT ms at 1, 1,000",
            "TTFT ms at 1, 4,000",
        ]
        assert max(map(len, lines[: lines.index("Settings to check")])) <= width


def test_a_picture_stands_below_its_axis():
    """Each doubling has its mark on the axis, and 0.5 and 8 are the ends of the picture."""
    for times in (0.5, 1.0, 2.0, 4.0, 8.0):
        assert _line(times, times).index("*") == _AXIS.index(f"{times:g}x")
    assert _line(0.1, 99.0) == f"o    |{'*':>15}"


def test_all_that_a_log_leaves_out_is_asked_for_at_once(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(
        "non-default args: {'model': 'x/nothing-7b-int4'}\nGPU KV cache size: 100 tokens\n"
    )
    with pytest.raises(InputError) as refused:
        fastcalc.diagnose(log=path)
    assert all(f"give {name}" in str(refused.value) for name in ("model", "hardware", "weights"))


@every(
    "key,reason",
    [("strategy", "how requests arrived"), ("prompt_token_count", "prompt and output lengths")],
)
def test_a_report_of_which_nothing_is_diagnosed_names_its_line(tmp_path, key, reason):
    """The report is one document, which begins on its first line."""
    text = (MEASURED / "guidellm-xpu.json").read_text(encoding="utf-8")
    path = tmp_path / "result.json"
    path.write_text(text.replace(f'"{key}"', '"other"'), encoding="utf-8")
    with pytest.raises(InputError, match=reason) as refused:
        fastcalc.diagnose(path, hardware="h100-sxm", model="llama-3.1-8b", tp=1)
    assert f"{path}:1: nothing can be diagnosed" in str(refused.value)


@pytest.mark.thorough
def test_one_measurement_that_is_surely_slow_names_no_cause(tmp_path):
    """Kimi K2.5 on two M3 Ultra at 14.52 tokens/s: no cause is named, and none makes it faster.

    That nothing is slower has a probability of less than a thousandth.
    """
    head, *rows = (ROOT / "evidence" / "measured.csv").read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join([head, *(r for r in rows if "guru-043," in r)]))
    (record,) = fastcalc.diagnose(tmp_path / "one.csv")._answer.details()["points"]
    assert record["expected_as_named"] == pytest.approx(record["expected_by_default"], rel=1e-6)
