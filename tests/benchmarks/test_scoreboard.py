"""The scoreboard on made-up points and answers; no calculator is installed or asked here."""

import json
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
import yaml

from benchmarks import frozen
from benchmarks.peers import kept_answers
from benchmarks.peers.install import PEERS, ROWS_ALONE
from benchmarks.peers.kept_answers import answers_of, rows_script, seconds_of
from benchmarks.peers.questions import question_of, value_of
from benchmarks.score_tables import Calculator, Row, by_class, overall, refusals, side_by_side
from benchmarks.scoreboard import written
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import PointDeployments
from fastcalc.evidence.point import COLUMNS, Point
from fastcalc.evidence.predict import gather
from fastcalc.evidence.score import Prediction
from fastcalc.evidence.shipped import shipped
from tests.helpers import ROOT

CELLS = dict.fromkeys(COLUMNS, "") | {
    "id": "a-001",
    "hardware": "h100-sxm",
    "model": "llama-3.1-8b",
    "engine": "vllm",
    "chips": 1,
    "tp": 1,
    "ep": None,
    "pp": 1,
    "dp": 1,
    "concurrency": 8,
    "prompt": 1000.0,
    "output": 100.0,
    "metric": "tpot_s",
    "value": 0.02,
    "tokens_per_pass": 1.0,
    "notes": "kind=decode",
}


def a_point(**changes):
    return Point(**{**CELLS, **changes}, line=2)


def a_row(identity, expected, *, has_experts=False, is_apart=False, **changes):
    point = a_point(id=identity, **changes)
    phase = ("vllm", "datacenter", "served", has_experts)
    return Row(Prediction(point, *phase, expected, None, None, 0.001), is_apart, None)


def question_for(**changes):
    batches, reasons = gather([a_point(**changes)], PointDeployments(Catalogue()))
    assert not reasons
    (batch,) = batches
    return question_of(batch, batch.points[0])


def test_a_question_holds_what_the_row_states_and_the_shape():
    question = question_for()
    assert (question["rule"], question["batch"], question["context"]) == ("decode", 8, 1050)
    assert (question["tp"], question["chips"], question["weights"]) == (1, 1, "bf16")
    # Llama 3.1 8B, as its configuration has it.
    shape = question["shape"]
    assert (shape["layers"], shape["heads"], shape["kv_heads"], shape["width"]) == (
        32,
        32,
        8,
        14336,
    )
    assert (shape["parameters"], shape["active_parameters"]) == (8_030_261_248, 8_030_261_248)
    routed = question_for(model="mixtral-8x7b", chips=2, tp=2)["shape"]
    assert (routed["experts"], routed["active_experts"], routed["alike"]) == (8, 2, True)
    # Its attention has windows in half of the layers: no calculator is asked about that shape.
    assert question_for(model="gpt-oss-20b")["shape"] is None


ANSWER = {"first_s": 0.5, "step_s": 0.02, "rate": 900.0}


@pytest.mark.parametrize(
    ("rule", "metric", "value"),
    [
        ("tpot", "tpot_s", 0.02),
        ("ttft", "ttft_s", 0.5),
        # 8 sequences a step of 20 ms; 8 prompts of 1,000 in half a second.
        ("decode", "tokens_per_s_total", 400.0),
        ("decode", "tokens_per_s_per_user", 50.0),
        ("decode", "tokens_per_s_per_chip", 200.0),
        ("prefill", "prefill_tokens_per_s", 16_000.0),
        # 8 answers of 100 tokens in 0.5 s and 99 steps of 20 ms.
        ("static", "tokens_per_s_total", 800 / 2.48),
        ("e2e_concurrency", "tokens_per_s_total", 900.0),
    ],
)
def test_an_answer_is_in_the_metric_of_the_row(rule, metric, value):
    question = {"rule": rule, "batch": 8, "chips": 2, "prompt": 1000, "output": 100}
    assert value_of(question, metric, ANSWER) == pytest.approx(value)
    assert value_of(question, metric, {}) is None


def test_a_question_is_asked_once(monkeypatch, tmp_path):
    calls = []

    def answered(peer, cache, script, text):
        questions = json.loads(text)
        calls.append(len(questions))
        lines = [{"id": question["id"], "step_s": question["batch"]} for question in questions]
        return "\n".join(map(json.dumps, lines))

    monkeypatch.setattr(kept_answers, "ask", answered)
    questions = [{"id": f"a-{number}", "batch": number} for number in (1, 2, 3)]
    answers = answers_of(PEERS[0], questions, tmp_path, at_once=2)
    assert [answers[f"a-{number}"]["step_s"] for number in (1, 2, 3)] == [1, 2, 3]
    assert calls == [2, 1]
    assert seconds_of(answers.values()) > 0
    renamed = [*questions, {"id": "b-1", "batch": 1}]
    assert answers_of(PEERS[0], renamed, tmp_path)["b-1"]["step_s"] == 1
    assert calls == [2, 1]


def test_each_calculator_has_a_script_for_points():
    missing = {peer.name for peer in (*PEERS, *ROWS_ALONE) if not rows_script(peer).exists()}
    assert missing == {"kv-planner"}  # not on the package index


ROWS = [
    a_row("a-001", 0.02),  # right
    a_row("a-002", 0.04),  # half the speed
    a_row("b-001", 0.01, has_experts=True, is_apart=True),  # twice the speed
]
PEER = Calculator(
    "peer 1.0", speeds={"a-002": 1.25, "b-001": 4.0}, refused=Counter({"chip h20": 3})
)
ABSENT = Calculator("other", absent="not installable: no such package")


def test_a_calculator_stands_next_to_fastcalc_on_its_own_points():
    _, _, ours, peer, absent = overall(ROWS, [PEER, ABSENT]).splitlines()
    # Factors 1, 2 and 2; nine in ten within 2.
    assert ours.endswith("| 3 | 100% | 2.000 | 2.00 | 1.00 |  |  |  |")
    # Its factors are 1.25 and 4, ours on those two 2 and 2, one either way.
    assert peer == "| peer 1.0 | 2 | 67% | 2.625 | 3.73 | 2.62 | 2.000 | 2.00 | 1.25 |"
    assert absent.startswith("| other | not installable: no such package |")


def test_a_class_with_few_answers_has_no_line_of_the_calculator():
    text = by_class(ROWS, [PEER])
    assert "| served, MoE | fastcalc | 1 |" in text
    assert "peer" not in text


def test_dense_models_and_experts_stand_apart():
    lines = side_by_side(ROWS, PEER).splitlines()
    assert "| dense, all sources | 1 | 1 | 1.250 | 1.25 | 1.25 | 2.000 | 2.00 | 0.50 |" in lines
    assert (
        "| experts, not used for fitting | 1 | 1 | 4.000 | 4.00 | 4.00 | 2.000 | 2.00 | 2.00 |"
        in lines
    )
    assert "| peer | chip h20 (3) |" in refusals([PEER])


def test_a_page_keeps_its_words_and_changes_its_tables(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Words\n\n---\n\nold\n\n---\n\nmore words\n")
    assert written("new\n", page) == "# Words\n\n---\n\nnew\n\n---\n\nmore words\n"
    assert written("new\n", tmp_path / "none.md") == "new\n"


def test_the_shipped_page_has_two_rules():
    assert (ROOT / "docs" / "scoreboard.md").read_text().count("\n---\n") == 2


def frozen_in(folder: Path, name: str):
    measured = ROOT / "docs" / "examples" / "my-runs.csv"
    return frozen.freeze(measured, name, "our runs", folder, date(2026, 12, 1))


def test_predictions_are_kept_once(tmp_path):
    (tmp_path / frozen.INDEX).write_text("")
    file = frozen_in(tmp_path, "fourth")
    head, first, *_ = file.read_text().splitlines()
    assert head == "id,metric,measured,expected,low,high"
    assert len(first.split(",")) == 6
    (score,) = frozen.kept(tmp_path)
    assert (score.file, score.date, len(score.rows)) == ("fourth_score.csv", "2026-12-01", 26)
    assert "| `fourth_score.csv` | our runs |" in frozen.table([score])
    before = file.read_text()
    with pytest.raises(InputError, match=r"fourth_score\.csv exists"):
        frozen_in(tmp_path, "fourth")
    assert file.read_text() == before


def test_every_score_has_its_version_and_date():
    folder = ROOT / "evidence"
    index = yaml.safe_load((folder / frozen.INDEX).read_text())
    assert {entry["file"] for entry in index} == {path.name for path in folder.glob("*_score.csv")}
    for score in frozen.kept(folder):
        assert score.version
        assert date.fromisoformat(score.date)
    known = {point.id for point in shipped().points}
    *earlier, newest = ({row["id"] in known for row in one.rows} for one in frozen.kept(folder))
    assert all(entered == {True} for entered in earlier)
    assert len(newest) == 1  # sources enter the evidence together, before the next fit
