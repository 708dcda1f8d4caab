"""The page of fitted values, from a fit of three of them."""

import re
from math import log
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.errors import InputError
from fastcalc.features.measure import calibrate, calibration
from fastcalc.features.measure.request import Calibrate
from fastcalc.kit.answer.parts import sentence
from fastcalc.mentions import as_flags
from tests.helpers import every


def node(name, group="", band=None, spread=1.0, value=1.0):
    return SimpleNamespace(
        name=name, engine="vllm", group=group, band=band, spread=spread, value=value
    )


NODES = [
    node("floor", "hopper", (1e-5, 4e-5), spread=2.0),
    node("share", band=(0.5, 0.9)),
    node("latency", spread=0.5),
]
FIT = SimpleNamespace(
    family=SimpleNamespace(nodes=NODES),
    values=np.array([2e-5, 0.8, 5e-6]),
    uncertainty=np.array([log(1.1), log(1.25), 0.5]),
    publishers=[3, 1, 1],
)


def test_each_value_has_its_band_its_uncertainty_and_what_data_determine_of_it():
    """A deviation of 1.1 and 1.25 times; 1 - (log 1.1 / 2)^2, 1 - log(1.25)^2, and 0 if no less."""
    page = calibration.values_page(FIT)
    assert "3 fitted values" in page
    assert re.search(r"\b2 values\b", page)
    assert page.splitlines()[-3:] == [
        "| `floor` | vllm | hopper | 2e-05 | 10% | 1e-05 to 4e-05 | 100% | 3 |",
        "| `share` | vllm | all | 0.8000 | 25% | 0.5000 to 0.9000 | 95% | 1 |",
        "| `latency` | vllm | all | 5e-06 | 65% | inherited | 0% | 1 |",
    ]


def test_fitted_values_stand_next_to_those_in_the_files(monkeypatch):
    monkeypatch.setattr(calibration.validation, "scores", lambda *_: ["scores"])
    was = [node("floor", "hopper", value=3e-5), node("share", value=0.75)]
    fit = SimpleNamespace(family=SimpleNamespace(nodes=was), values=np.array([2e-5, 0.8]))
    _, _, table, *rest = calibration.shipped_parts(fit, None, 100)
    assert table.rows == [
        ["floor", "vllm", "hopper", "3e-05", "2e-05"], ["share", "vllm", "all", "0.7500", "0.8000"]
    ]  # fmt: skip
    assert rest == ["", "Held-out sources (cross-validation)", "", "scores"]


def group(count):
    return SimpleNamespace(median_factor=1.25, p90_factor=1.5, count=count)


SCORE = "median error 1.25x, 90th percentile 1.50x"


@every(
    "left_out,nodes,lines",
    [
        (None, [], ["all measurements are from one source, so the fit could not be tested on another",
                    "these runs change no value of mine, only the deployments above"]),
        (3, [node("share", value=0.7)], [f"held-out sources: {SCORE}",
                                         "share: 0.7000 -> 0.8000"]),
        (3, [node("share", "hopper", value=0.7)], [f"held-out sources: {SCORE}",
                                                   "share on hopper: 0.7000 -> 0.8000"]),
    ],
)  # fmt: skip
def test_a_fit_to_own_runs_says_what_moved(left_out, nodes, lines, monkeypatch):
    monkeypatch.setattr(calibration.own_rows, "parts", lambda *_: [])
    fit = SimpleNamespace(
        base=SimpleNamespace(id="mine"), nodes=nodes, values=np.array([0.8] * len(nodes)),
        before=group(9), after=group(9), left_out=left_out and group(left_out),
    )  # fmt: skip
    rows = SimpleNamespace(engine=SimpleNamespace(id="mine", own_deployments=[]), left_aside={})
    *_, notes = calibration.own_parts(rows, fit, "runs.csv", None, 100)
    first, *others = notes.lines
    assert first == f"Predictions for runs.csv by mine: {SCORE}; after the fit: {SCORE}."
    assert others == [sentence(line) for line in lines]


@every(
    "value,text",
    [
        (1e-3, "0.001000"),
        (9.9e-4, "0.00099"),
        (999_999.0, "999,999"),
        (1e6, "1e+06"),
        (2.5e12, "2.5e+12"),
    ],
)
def test_numbers_of_any_size_have_four_digits(value, text):
    assert calibration._si(value) == text


SPELLING = (
    "an engine is called after its file, in lower case letters, digits, '.', '-' and '_'; for "
    "example our-vllm.yaml"
)


@every(
    "out,refusal",
    [
        ("our engine.yaml", f"-o our engine.yaml: {SPELLING}"),
        ("-our.yaml", f"-o -our.yaml: {SPELLING}"),
        ("vllm.yaml", "-o vllm.yaml: vllm is an engine of the catalogue already; call the file something else, for example our-vllm.yaml"),
        ("VLLM.yaml", "-o VLLM.yaml: vllm is an engine of the catalogue already; call the file something else, for example our-vllm.yaml"),
    ],
)  # fmt: skip
def test_an_engine_is_called_after_its_file(out, refusal, monkeypatch):
    monkeypatch.setattr(calibrate, "points_of", lambda *_: SimpleNamespace(points=[]))
    with pytest.raises(InputError) as error:
        calibrate.run(Calibrate(path=Path("runs.csv"), out=Path(out)))
    assert as_flags(error.value.args[0]) == refusal
