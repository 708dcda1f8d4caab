"""The tables of the benchmarks, on made-up timings and answers; nothing is timed here."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks import evaluator, speed, startup
from benchmarks.clock import in_turn, run, seconds
from benchmarks.peers import answer
from benchmarks.peers.compared import CASES, Compared, disagreements, speeds
from benchmarks.peers.install import PEERS, AbsentError, ask, install
from benchmarks.peers.jobs import InexpressibleError, Job, job_of
from benchmarks.peers.rows import Contest, Scored, refusals, table
from benchmarks.table import factor, figure, markdown, ratio, spread, timings
from fastcalc.catalogue.store import Catalogue
from fastcalc.cli.lazy_commands import _unless_default
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.predict import gather
from fastcalc.evidence.shipped import shipped
from fastcalc.library.compiled import CompiledPoint
from tests.helpers import ROOT


def test_a_table_begins_with_what_is_at_the_left():
    assert markdown(("what", "ms"), [["import", "80"]]) == (
        "| what | ms |\n| --- | ---: |\n| import | 80 |"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0123, "0.0123"),
        (1.234, "1.23"),
        (0, "0"),
        (98.76, "98.8"),
        (315_123, "315,000"),
        (4_561_000, "4,560,000"),
    ],
)
def test_figures_have_three_digits(value, text):
    assert figure(value) == text


def test_ratios_over_a_hundred_are_whole():
    assert (ratio(1.234, 1.0), ratio(12_345.0, 10.0)) == ("1.23", "1,234")


def test_timings_are_over_those_of_the_floor():
    timed = {"floor": 0.2, "command": 0.3}
    assert timings(timed, {"x floor": "floor"}) == [
        ["floor", "1", "200"],
        ["command", "1.5", "300"],
    ]


def test_measures_are_taken_in_turn_and_the_first_round_is_not_counted():
    order = []

    def measure(name, values):
        def once():
            order.append(name)
            return next(values)

        return once

    values = {"a": iter([100.0, 1.0, 9.0, 2.0]), "b": iter([0.0, 5.0, 4.0, 6.0])}
    found = in_turn({name: measure(name, each) for name, each in values.items()}, runs=3)
    assert found == {"a": 2.0, "b": 5.0}
    assert order == ["a", "b"] * 4


def test_commands_are_timed_with_what_is_added_to_their_environment(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    answered = run(["sh", "-c", "echo $ADDED$PYTHONDONTWRITEBYTECODE"], {"ADDED": "here"})
    assert answered == b"here\n"
    assert seconds(lambda: run(["sleep", "0.05"])) > 0.05


def test_a_rate_is_of_all_points_and_no_prompt_comes_twice(monkeypatch):
    """Eleven calls of a hundred points each until a second is over; before them one to warm up."""
    clock = iter(n / 10 for n in range(100))
    monkeypatch.setattr(answer.time, "process_time", lambda: next(clock))
    prompts = []
    assert answer.rate(prompts.append, points=100) == pytest.approx(1000 * 11 / 12)
    assert len(prompts) == len({*prompts}) == 12


def test_a_factor_is_the_same_either_way():
    assert (factor(2.0, 1.0), factor(1.0, 2.0)) == (2.0, 2.0)


def test_the_90th_percentile_of_eleven_is_the_tenth():
    assert spread([float(n) for n in range(11, 0, -1)]) == (6.0, 10.0)


def test_of_one_factor_both_are_it():
    assert spread([1.5]) == (1.5, 1.5)


@cache
def known(key):
    """A measured point by its id, with the batch it is predicted in."""
    (point,) = (point for point in shipped().points if point.id == key)
    (batch,), _ = gather([point], PointDeployments(Catalogue()))
    return batch, point


@pytest.mark.thorough
def test_saturated_load_asks_for_the_best_batch_of_a_rank(tmp_path):
    # evidence/measured.csv: tp 1, ep 4, dp 4, 3,000 requests of 1,024 in and 1,024 out, nvfp4
    question = job_of(*known("trtllm12-001"), tmp_path).question
    assert question["layout"] == {
        "tp_size": 1,
        "pp_size": 1,
        "attention_dp_size": 4,
        "moe_ep_size": 4,
        "moe_tp_size": 1,
    }
    assert (question["mode"], question["batch"], question["most"]) == ("agg", None, 750)
    assert question["lengths"] == {"isl": 1024, "osl": 1024}
    assert question["options"][0]["gemm_quant_mode"] == "nvfp4"
    assert question["options"][0]["kvcache_quant_mode"] == "fp8"


def test_a_decode_step_is_asked_for_at_its_context(tmp_path):
    # evidence/measured.csv: vLLM, batch 4, 128 in and 1,024 out, time per output token
    question = job_of(*known("sily-027"), tmp_path).question
    assert (question["mode"], question["batch"]) == ("static_gen", 4)
    assert question["lengths"] == {"isl": 128, "osl": 1024}


def test_a_plain_dense_model_is_reported_by_its_shape(tmp_path):
    # evidence/measured.csv: Llama 2 7B, whose published shape models/llama-2-7b.yaml has
    question = job_of(*known("trtllm06-003"), tmp_path).question
    shape = json.loads((Path(question["model"]) / "config.json").read_text())
    assert (shape["hidden_size"], shape["num_hidden_layers"]) == (4096, 32)
    assert shape["num_key_value_heads"] == 32


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("gptfast-001", "engine gpt-fast"),
        ("trtllm06-001", "model gpt-j-6b"),
        ("oracle-001", "chip mi300x"),
    ],
)
def test_what_it_cannot_express_is_said(tmp_path, key, why):
    with pytest.raises(InexpressibleError, match=why):
        job_of(*known(key), tmp_path)


def job(rule, metric, replicas=2, chips=4, isl=1000, osl=50):
    point = known("sily-027")[1]
    measured = type(point)(**{name: getattr(point, name) for name in point.__slots__})
    object.__setattr__(measured, "metric", metric)
    return Job({"lengths": {"isl": isl, "osl": osl}}, measured, rule, replicas, chips)


def test_fp8_is_asked_for_in_both_kinds_and_the_nearer_counts(tmp_path):
    """By tensors it takes twice as long as measured, by blocks a tenth longer."""
    key = next(
        point.id
        for point in shipped().points
        if point.weights == "fp8" and expressible(point.id, tmp_path)
    )
    question = job_of(*known(key), tmp_path).question
    assert question["options"][-1]["gemm_quant_mode"] == "fp8"
    assert question["other_options"][-2]["gemm_quant_mode"] == "fp8_block"
    one = job("ttft", "ttft_s")
    slow, near = ({"ttft_ms": times * 1e3 * one.point.value} for times in (2.0, 1.1))
    assert one.value(slow | {"other": near}) == pytest.approx(1.1 * one.point.value)
    assert one.value(slow | {"other": {"reason": "none"}}) == pytest.approx(2.0 * one.point.value)


def expressible(key, folder):
    try:
        job_of(*known(key), folder)
    except (InexpressibleError, ValueError):  # or it is skipped
        return False
    return True


@pytest.mark.parametrize(
    ("rule", "metric", "answer", "value"),
    [
        # 8 x 2 sequences a step of 10 ms: 1,600 tokens a second, of 16 users on 4 chips
        ("decode", "tokens_per_s_total", {"batch": 8, "tpot_ms": 10.0}, 1600.0),
        ("decode", "tokens_per_s_per_user", {"batch": 8, "tpot_ms": 10.0}, 100.0),
        ("decode", "tokens_per_s_per_chip", {"batch": 8, "tpot_ms": 10.0}, 400.0),
        # 2 x 2 prompts of 1,000 in half a second
        ("prefill", "prefill_tokens_per_s", {"batch": 2, "ttft_ms": 500.0}, 8000.0),
        # 4 x 2 answers of 50 in two seconds
        ("static", "tokens_per_s_total", {"batch": 4, "request_ms": 2000.0}, 200.0),
        # 3 answers of 50 a second
        ("e2e_concurrency", "tokens_per_s_total", {"batch": 4, "seq_per_s": 3.0}, 150.0),
        ("ttft", "ttft_s", {"batch": 4, "ttft_ms": 250.0}, 0.25),
        ("tpot", "tpot_s", {"batch": 4, "tpot_ms": 20.0}, 0.02),
    ],
)
def test_answers_come_in_the_unit_of_the_point(rule, metric, answer, value):
    assert job(rule, metric).value(answer) == pytest.approx(value)


def test_points_are_scored_by_kind():
    point = known("sily-027")[1]  # a time
    twice = Scored(point, "decode", 2 * point.value, point.value / 1.25, None)
    lines = table(Contest([twice], Counter())).splitlines()
    assert lines[2] == "| all | 1 | 2.000 | 2.00 |  |  | 1.250 | 1.25 | 0.50 | 1.25 |"
    assert [line.split(" | ")[0] for line in lines[3:]] == [
        "| dense",
        "| kind: decode",
    ]


def test_what_was_not_compared_is_counted():
    answered = refusals(Contest([], Counter({"chip h20": 20, "engine groq": 3})))
    assert answered.splitlines()[2:] == ["| chip h20 | 20 |", "| engine groq | 3 |"]


def test_a_peer_that_is_absent_has_its_reason_in_the_table():
    present = Compared(PEERS[0], cases={"step-1": 0.008})
    absent = Compared(PEERS[1], absent="not installable: no such package")
    start = {startup.HELP: 0.1, "ridgepoint": 0.2}
    rate = {speed.FIRST: 1e6, speed.SINGLE: 500.0, speed.COMPILED: 1e5, "ridgepoint": 50_000.0}
    lines = speeds([present, absent], start, rate).splitlines()
    assert lines[2:] == [
        "| fastcalc | 1 | 1 | 100 | 1,000,000 |",
        "| fastcalc, a call for each point |  | 2,000 |  | 500 |",
        "| fastcalc, a compiled deployment, a call for each point |  | 10 |  | 100,000 |",
        "| ridgepoint 0.1.2 | 2 | 20 | 200 | 50,000 |",
        "| berth-placement 0.8.0 | not installable: no such package |  |  |  |",
    ]


def test_a_record_that_is_timed_has_every_number():
    numbers = speed.record(speed.scenario("llama-3.1-8b", "h100-sxm", (1, 64)))
    point = CompiledPoint._make(np.broadcast_to(number, 2)[1] for number in numbers)
    assert all(np.isfinite(number) and number >= 0.0 for number in point)
    assert point.low < point.speed < point.high


def test_a_case_that_a_peer_lacks_is_said():
    present = Compared(PEERS[0], cases={"step-1": 0.008})
    rows = disagreements([present]).splitlines()[2:]
    assert len(rows) == len(CASES)
    assert "(8 ms)" in rows[0]
    assert all("not supported" in row for row in rows[1:])


def test_what_fails_under_a_peer_is_one_sentence(tmp_path):
    python = PEERS[0].python(tmp_path)
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 'ModuleNotFoundError: no ridgepoint' >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(AbsentError, match="not callable: ModuleNotFoundError: no ridgepoint"):
        ask(PEERS[0], tmp_path)


def test_an_environment_is_made_once(tmp_path):
    (tmp_path / "ridgepoint").mkdir()
    (tmp_path / "ridgepoint" / "installed-ridgepoint==0.1.2").touch()
    install(PEERS[0], tmp_path)
    assert not PEERS[0].python(tmp_path).exists()


def test_plans_are_held_against_the_deployments_they_evaluate():
    """Two million of three have a price: 4 s from the shell are 2 a million, 1 s is a half."""
    lost = {"have no known price or power": 1_000_000, "need too many chips": 5}
    count = evaluator.evaluated(json.dumps({"candidates": 3_000_000, "lost": lost}).encode())
    times = {"plan": 1.0, "plan from the shell": 4.0}
    lines = evaluator.plan_table({"plan": count}, times).splitlines()
    assert lines[2:] == ["| plan | 4 | 2.00 | 0.50 | 2,000,000 | 4.00 | 1.00 |"]


def test_the_page_has_a_place_for_every_table():
    """So that what a run writes can be pasted in whole."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    written = "".join(
        (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
        for name in ("startup.py", "speed.py", "evaluator.py", "peers/compared.py", "peers/rows.py")
    )
    headings = re.findall(r'"(## [^"]+)"', written)
    assert len(headings) == 6
    places = [page.index(f"\n{heading}\n") for heading in headings]
    assert places == sorted(places)
    assert page.index("\nMeasured on ") < places[0]


class Option:
    """What typer makes of an option, as far as defaults go."""

    def __init__(self, default, callback=None, required=False):
        self.default, self.callback, self.required = default, callback, required


def test_a_default_is_taken_as_it_is_and_what_is_typed_is_checked():
    def check(context, value):
        return f"checked {value}"

    assert _unless_default(Option("1,8"), check, None, "".join(["1,", "8"])) == "checked 1,8"
    assert _unless_default(Option(None), check, None, None) is None
    assert _unless_default(Option(None, required=True), check, None, None) == "checked None"

    def called(context, option, value):
        return "called"

    assert _unless_default(Option(None, callback=called), check, None, None) == "called"
