"""Stages of open load: rows that can be traced, and Little's law on times that a head can follow."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.load import most_carried, request_seconds, stages
from fastcalc.catalogue.folders import shipped_folder
from fastcalc.catalogue.schema.evidence import Provenance
from fastcalc.catalogue.store import Catalogue, load

FOLDER = shipped_folder("evidence")
SOURCES = load(FOLDER / "load_sources.yaml", Provenance).sources


def rows():
    with (FOLDER / "load.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ROWS = rows()


def test_rows_have_sources_that_no_fit_sees():
    assert {row["id"].rpartition("-")[0] for row in ROWS} == set(SOURCES)
    assert len({row["id"] for row in ROWS}) == len(ROWS) == 27


def test_names_are_in_the_catalogue():
    catalogue = Catalogue()
    for row in ROWS:
        for column, kind in (("hardware", "hardware"), ("model", "models"), ("engine", "engines")):
            assert catalogue.knows(row[column], kind), row["id"]


def test_the_time_of_a_token_is_what_is_left_of_a_request():
    """Half of it, which the files of one program print, would halve every answer."""
    for row in ROWS:
        ttft, tpot, whole, output = (
            float(row[column])
            for column in ("ttft_mean_ms", "tpot_mean_ms", "e2e_mean_ms", "output_mean")
        )
        assert ttft + (output - 1.0) * tpot == pytest.approx(whole, rel=0.01), row["id"]


def test_stable_stages_serve_what_arrives():
    for row in ROWS:
        carried = float(row["achieved_req_s"]) / float(row["rate_req_s"])
        assert row["regime"] == "overload" or carried == pytest.approx(1.0, abs=0.04), row["id"]


def test_all_stages_are_scored_with_the_beginnings_that_they_share():
    scored = {stage.id: stage for stage in stages()}
    assert list(scored) == [row["id"] for row in ROWS]
    assert scored["blis-001"].prefix_hit == pytest.approx(100 / 591.6)
    assert scored["kubecon-001"].prefix_hit == 0.0  # shared, and not cached


def test_as_many_requests_are_in_flight_as_arrive_while_one_is_served():
    """Requests of 1, 2 and 3 s at batches of 1, 2 and 4 leave at 1, 1 and 4/3 a second."""
    estimate = SimpleNamespace(
        batch=np.array([1.0, 2.0, 4.0]),
        ttft=np.array([0.0, 1.0, 1.0]),
        tpot_in_traffic=np.array([0.1, 0.1, 0.2]),
        served=np.array([11.0, 16.5, 22.0]),
        traffic=SimpleNamespace(output=11.0),
    )
    assert request_seconds(estimate, 1.2) == pytest.approx(2.6)
    assert request_seconds(estimate, 1.4) is None
    assert most_carried(estimate) == pytest.approx(2.0)
