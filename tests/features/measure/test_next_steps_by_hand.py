"""What a diagnosis suggests next, and where fitted engines are written."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.errors import InputError
from fastcalc.features.measure import calibrate
from fastcalc.features.measure.diagnosis import next_point as nexts
from fastcalc.features.measure.diagnosis.next_point import next_point
from fastcalc.features.measure.diagnosis.terms import PARTS
from fastcalc.features.measure.diagnosis_answer import DiagnosisAnswer, _of_start
from fastcalc.features.measure.request import Calibrate, Diagnose
from fastcalc.mentions import as_flags

POINT = SimpleNamespace(model="my-model", hardware="h100-sxm")


def test_a_file_of_measurements_is_compared_next_with_its_settings():
    diagnosis = SimpleNamespace(predictions=[SimpleNamespace(point=POINT)])
    request = Diagnose(path=Path("my runs.csv"), engine="vllm")
    answer = DiagnosisAnswer(request=request, diagnosis=diagnosis)
    line = as_flags(answer.next_command())
    assert line.startswith("fastcalc compare my-model --on h100-sxm --like 'my runs.csv'")
    assert "--engine vllm" in line
    assert "--tp" not in line
    ranked = replace(answer, ranks={"tp": "4", "dp": "2"})
    assert "--like 'my runs.csv' --tp 4 --dp 2" in as_flags(ranked.next_command())


def test_without_measurements_the_next_command_measures_what_the_log_states():
    start = SimpleNamespace(
        log=SimpleNamespace(settings={}, program="vllm", version=""),
        scenario=SimpleNamespace(model=SimpleNamespace(asked_name="shipped-model"), hardware=SimpleNamespace(id="h200-sxm")),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "fastcalc.features.measure.diagnosis_answer.stated_settings", lambda *_: {"tp": 8}
        )
        for model, said in ((None, "shipped-model"), ("org/mine", "org/mine")):
            answer = DiagnosisAnswer(request=Diagnose(model=model), start=start)
            line = as_flags(answer.next_command())
            assert line.startswith(f"fastcalc measure {said} --on h200-sxm --tp 8")


def test_memory_of_a_start_is_in_decimal_gigabytes():
    log = SimpleNamespace(
        program="vllm", version="0.11", settings={}, weights=None, available=8e9, tokens=5,
        at_once=2.5, graphs=None, backend="FLASH",
    )  # fmt: skip
    start = SimpleNamespace(
        log=log, tokens=None, causes=[],
        scenario=SimpleNamespace(work=SimpleNamespace(kv_format="fp8")),
        placement=SimpleNamespace(weights_per_chip=np.array(3e9)),
    )  # fmt: skip
    record = _of_start(start)
    assert (record["available_kv_gb_per_chip"], record["expected_weights_gb_per_chip"]) == (8, 3)
    assert (record["weights_gb_per_chip"], record["cuda_graphs_gb_per_chip"]) == (None, None)
    assert [record[f"expected_kv_cache_tokens{key}"] for key in ("", "_low", "_high")] == [None] * 3
    assert (record["version"], record["attention_backend"]) == ("0.11", "FLASH")
    assert (record["kv_cache_tokens"], record["max_concurrency"]) == (5, 2.5)


FIRST = [
    [term for term, _ in PARTS].index(term) for term in dict.fromkeys(term for term, _ in PARTS)
]
A, B, C, D = FIRST[:4]
"""The first part of each of four terms."""


@pytest.fixture
def searched(monkeypatch):
    """Two terms with a grid of one slowdown: e^spread of the second at the second candidate."""

    def search(of_terms, nothing=0.25, spread=0.5, tried=(1, 8, 64)):
        points = [SimpleNamespace(concurrency=count) for count in tried]
        monkeypatch.setattr(nexts, "_candidates", lambda _: points)
        monkeypatch.setattr(nexts, "_is_the_same", lambda one, other: one is other)
        seen = []

        def gather(candidates, _):
            seen.append(candidates)
            return candidates, None

        def slowdowns(candidates):
            effects = {B: np.array([[0.0, spread, 0.2 * spread][: len(candidates)]])}
            return SimpleNamespace(
                residuals=np.zeros(len(candidates)),
                rows=SimpleNamespace(points=candidates),
                at=lambda index, _: effects.get(index, np.zeros((1, len(candidates)))),
            )

        monkeypatch.setattr(nexts, "gather", gather)
        monkeypatch.setattr(nexts, "slowdowns_of", slowdowns)
        belief = SimpleNamespace(
            nothing=nothing,
            of_any=lambda indices: of_terms.get(indices[0], 0.0),
            grid_of=lambda _: np.array([1.0]),
        )
        measured = [SimpleNamespace(concurrency=2), *points[len(points) :]]
        return next_point(measured, None, belief), points, seen

    return search


def test_the_next_measurement_is_where_the_remaining_causes_differ_most(searched):
    found, points, _ = searched({A: 0.25, B: 0.5})
    assert found.point is points[1]
    names = [PARTS[index][0].name for index in (A, B)]
    assert found.slower[names[1]] == pytest.approx(np.exp(0.5))
    assert found.slower[names[0]] == 1.0
    assert found.slower["nothing"] == 1.0
    assert [*found.slower][-1] == names[1]  # the likeliest is last
    # The three likeliest of four: the fourth term is left out.
    four, *_ = searched({A: 0.1, B: 0.5, C: 0.2, D: 0.15}, nothing=0.05)
    assert [*four.slower] == [PARTS[index][0].name for index in (D, C, B)]


def test_causes_that_differ_little_or_are_ruled_out_need_no_measurement(searched):
    """Where the cause of the difference has no probability, all predictions are alike."""
    assert searched({A: 0.25, B: 0.5}, spread=0.0)[0] is None
    assert searched({A: 0.5})[0] is None
    assert searched({A: 0.25, B: 0.5}, tried=())[0] is None


@pytest.fixture
def fitted(monkeypatch):
    """A fit of no engine, whose files hold their names."""
    family = SimpleNamespace(engines={})
    made = SimpleNamespace(left_out=(), family=family)
    monkeypatch.setattr(calibrate, "calibrate", lambda *_: made)
    monkeypatch.setattr(calibrate, "groups_of", lambda _: [])
    monkeypatch.setattr(calibrate, "page", lambda *_: None)
    monkeypatch.setattr(calibrate.left_out, "to_csv", lambda _: "rows\n")
    monkeypatch.setattr(calibrate.report, "values_page", lambda _: "values\n")
    return made


def test_fitted_engines_go_into_a_folder_that_is_new_or_has_some(fitted, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fitted-values.md").write_text("old")
    calibrate.run(Calibrate(out=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "engines", "evidence"]
    assert (tmp_path / "evidence" / "left_out.csv").read_text() == "rows\n"
    assert (tmp_path / "docs" / "fitted-values.md").read_text() == "values\n"
    (tmp_path / "evidence" / "left_out.csv").unlink()  # only its own files are written again
    calibrate.run(Calibrate(out=tmp_path))
    with pytest.raises(InputError, match="is not a folder"):
        calibrate.run(Calibrate(out=tmp_path / "none"))
    with pytest.raises(InputError, match="needs no options"):
        calibrate.run(Calibrate(out=tmp_path, engine="vllm"))
