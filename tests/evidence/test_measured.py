"""Predictions of measured points: the same evaluator, by hand, and what cannot be predicted."""

import csv
import json
import math
import re
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fastcalc.catalogue.store import Catalogue
from fastcalc.core.chip.machine import machine
from fastcalc.core.chip.tier import OWN_MEMORY
from fastcalc.core.model.workload import workload
from fastcalc.errors import InputError
from fastcalc.evidence import left_out
from fastcalc.evidence import validate as evidence_validate
from fastcalc.evidence.calibrate import fit_of, publishers_of
from fastcalc.evidence.deployments import PointDeployments, UnpredictableError
from fastcalc.evidence.own_engine import MovableValues, fit_own
from fastcalc.evidence.parameters import FittedValue, family_of
from fastcalc.evidence.point import COLUMNS, Point
from fastcalc.evidence.predict import gather, rule_of
from fastcalc.evidence.regression import Fit
from fastcalc.evidence.score import Group, predictions_of
from fastcalc.evidence.shipped import fold_of, shipped
from fastcalc.evidence.stacked import rows_of
from fastcalc.evidence.validate import Validation, validate
from fastcalc.features.measure import validate as show_validate
from fastcalc.features.measure.validation import _weak
from tests.helpers import outcome, run, thorough, words
from tests.strategies import scaled

BASE = Point(
    id="own-001", source="us", url="", date="", hardware="h100-sxm", chips=1,
    model="llama-3.1-8b", engine="vllm", weights="bf16", kv="bf16", tp=1, ep=1, pp=1, dp=1,
    concurrency=16, prompt=1000.0, output=1000.0, metric="tpot_s", value=0.01,
    tokens_per_pass=1.0, measured_by="us", notes="kind=decode", line=2,
)  # fmt: skip


def point(**changes: object) -> Point:
    return replace(BASE, **changes)


def predicted(one: Point):
    return validate([one], Catalogue()).predictions[0]


def by_compare():
    return outcome("llama-3.1-8b", "h100-sxm", batch=(16,), engine="vllm").estimate


@pytest.mark.parametrize(
    ("changes", "field", "scale"),
    [
        ({"metric": "tpot_s"}, "tpot", 1.0),
        ({"metric": "tokens_per_s_per_user"}, "speed", 1.0),
        ({"metric": "tokens_per_s_total"}, "total", 1.0),
        ({"metric": "tokens_per_s_per_chip"}, "total", 1.0),
        ({"metric": "tokens_per_s_total", "notes": "kind=e2e_concurrency"}, "served", 1.0),
        ({"metric": "tokens_per_s_per_user", "notes": "kind=e2e_concurrency"}, "served", 1 / 16),
        ({"metric": "ttft_s", "notes": "kind=e2e_concurrency"}, "ttft", 1.0),
    ],
)
def test_a_point_is_predicted_as_compare_would(changes, field, scale):
    expected = float(getattr(by_compare(), field)[0]) * scale
    assert predicted(point(**changes)).expected == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"metric": "prefill_tokens_per_s"}, "prefill"),
        ({"metric": "ttft_s", "output": 0.0}, "prefill"),
        ({"metric": "ttft_s"}, "ttft"),
        ({"metric": "tokens_per_s_total"}, "e2e_concurrency"),
        ({"metric": "tokens_per_s_per_chip"}, "e2e_concurrency"),
        # Of no lengths, it is a step and no run.
        ({"metric": "tokens_per_s_total", "prompt": None}, "decode"),
        ({"metric": "tokens_per_s_total", "output": None}, "decode"),
        ({"metric": "tokens_per_s_per_user"}, "decode"),
        ({"metric": "tpot_s"}, "decode"),
    ],
)
def test_a_point_that_names_no_kind_is_what_its_metric_can_be(changes, rule):
    one = point(notes="", **changes)
    assert rule_of(one) == rule
    kind = "e2e_concurrency" if rule == "ttft" else rule
    named = replace(one, notes=f"kind={kind}")
    assert predicted(one).expected == pytest.approx(predicted(named).expected, rel=1e-12)


def test_prompts_of_one_token_are_served_as_compare_would():
    one = point(metric="tokens_per_s_total", notes="kind=e2e_concurrency", prompt=1.0)
    solved = outcome("llama-3.1-8b", "h100-sxm", batch=(16,), engine="vllm", prompt=1.0)
    expected = float(solved.estimate.served[0])
    assert predicted(one).expected == pytest.approx(expected, rel=1e-9)


def test_the_bound_is_that_of_compare():
    assert predicted(point()).bound == pytest.approx(1 / float(by_compare().bound[0]), rel=1e-9)


def test_ranges_keep_the_order_of_the_contract():
    speed = predicted(point(metric="tokens_per_s_per_user"))
    assert speed.low <= speed.expected <= speed.high <= speed.bound
    time = predicted(point(metric="tpot_s"))
    assert time.bound <= time.low <= time.expected <= time.high


def test_a_static_batch_is_its_prefill_and_its_steps():
    """Two prompts of 100 in one pass, then 9 steps at batch 2."""
    one = point(
        concurrency=2, prompt=100.0, output=10.0, metric="tokens_per_s_total",
        notes="kind=e2e_concurrency; static batch",
    )  # fmt: skip
    steps = predicted(replace(one, metric="tpot_s", notes="kind=decode")).expected
    prefill = predicted(replace(one, metric="ttft_s", notes="kind=prefill")).expected
    assert predicted(one).expected == pytest.approx(20 / (prefill + 9 * steps), rel=1e-9)


def test_a_static_batch_beyond_memory_runs_in_waves():
    """236 requests of 2,000 fit; all of 79.18 GiB would hold 262: what was run so was held.

    0.262 GB a request next to 16.06 of weights and 0.03 of rotary tables, in 85.02 GB or 0.92
    of them.

    300 are two waves of 150, 500 three of 166.7: each wave with its own prompts and steps.
    """

    def static(batch):
        return predicted(
            point(
                concurrency=batch, prompt=1000.0, output=1000.0, metric="tokens_per_s_total",
                notes="kind=e2e_concurrency; static batch",
            )
        )  # fmt: skip

    assert static(262).assumed is None
    for batch, waves in ((263, 2), (300, 2), (460, 2), (500, 3)):
        found = static(batch)
        assert found.assumed == f"in {waves} waves: 236 sequences fit in memory"
        if batch % waves == 0:
            assert found.expected == pytest.approx(static(batch // waves).expected, rel=1e-9)


@pytest.mark.thorough
def test_blocks_predict_what_all_at_once_does(monkeypatch):
    """Points of unknown chips hold the longest of all alike, wherever their block ends."""
    points = [
        replace(one, chips=None, tp=None, pp=None, ep=None, dp=None, id=f"a-{n}")
        for n, one in enumerate(shipped().points[::40])
    ]
    whole = validate(points, Catalogue())
    monkeypatch.setattr(evidence_validate, "_AT_ONCE", 3)
    blocks = validate(points, Catalogue())
    assert len(blocks.predictions) == len(whole.predictions) > 20
    for one, other in zip(blocks.predictions, whole.predictions, strict=True):
        assert one.expected == pytest.approx(other.expected, rel=1e-12)
        assert replace(one, expected=1.0, low=None, high=None) == replace(
            other, expected=1.0, low=None, high=None
        )
    assert blocks.skipped == whole.skipped
    for one, other in zip(blocks.groups, whole.groups, strict=True):
        assert one.name == other.name
        assert one.median_factor == pytest.approx(other.median_factor, rel=1e-12)


@pytest.mark.thorough
def test_what_is_kept_of_a_point_does_not_hold_its_passes(monkeypatch):
    """A few numbers each: five of a prediction, five of a score, eight bytes each."""
    points = [point(id=f"a-{n}", concurrency=n % 50 + 1, line=n + 2) for n in range(5000)]
    monkeypatch.setattr(evidence_validate, "_AT_ONCE", 250)
    validate(points[:2500], Catalogue())  # what is looked up once
    tracemalloc.start()
    found = validate(points, Catalogue())
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.predictions) == 5000
    assert size < 5000 * 400


def test_a_static_batch_of_unknown_size_is_not_predicted():
    unknown = point(
        concurrency=None, metric="tokens_per_s_total", notes="kind=e2e_saturated; static batch"
    )
    found = validate([unknown], Catalogue())
    assert len(found.predictions) == 0
    assert found.skipped[0].reason == "a static batch without concurrency: its size is unknown"


def test_a_saturated_machine_holds_what_memory_holds():
    """0.92 of 80 GiB less 16.06 GB of weights, 131,072 B a token: 240 requests of 2,000."""
    one = point(concurrency=None, metric="tokens_per_s_total", notes="kind=e2e_saturated")
    room = math.floor((0.92 * 80 * 2**30 - 16.06e9) / (131_072 * 2000))
    same = replace(one, concurrency=room, notes="kind=e2e_concurrency")
    assert predicted(one).expected == pytest.approx(predicted(same).expected, rel=1e-9)
    limited = replace(one, notes="kind=e2e_slo")
    assert predicted(limited).expected == pytest.approx(0.93 * predicted(one).expected, rel=1e-9)


def test_a_run_that_ends_with_fewer_clients_counts_those():
    """Of ten waves of requests it loses a quarter of one while the last ones end."""
    notes = "kind=e2e_concurrency; requests 80; mean requests in flight 8"
    ending = predicted(point(metric="tokens_per_s_total", notes=notes))
    eight = predicted(
        point(metric="tokens_per_s_total", concurrency=8, notes="kind=e2e_concurrency")
    )
    assert ending.expected * (1 + 0.25 * 8 / 80) == pytest.approx(eight.expected, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"notes": "kind=guess"}, "kind=guess cannot be predicted"),
        ({"notes": "", "concurrency": None}, "neither a concurrency"),
        ({"concurrency": None}, "the batch is unknown"),
        ({"metric": "ttft_s"}, "does not report ttft_s"),
        ({"notes": "kind=prefill", "metric": "tpot_s"}, "does not report tpot_s"),
        ({"notes": "kind=prefill", "metric": "ttft_s", "prompt": None}, "without a prompt length"),
        ({"notes": "kind=e2e_concurrency", "prompt": None}, "without prompt and output lengths"),
        ({"notes": "kind=e2e_saturated", "metric": "ttft_s"}, "queue"),
    ],
)
def test_what_does_not_say_enough_is_skipped_with_the_reason(changes, reason):
    with pytest.raises(UnpredictableError, match=reason):
        rule_of(point(**changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hardware": "h1000"}, "no hardware is called"),
        ({"model": "gpt-9"}, "gpt-9"),
        ({"weights": "fp3"}, "fp3"),
        ({"model": "llama-3.1-405b"}, "do not fit"),
        ({"chips": 3, "tp": 2}, "3 chips are not"),
    ],
)
def test_unknown_names_and_impossible_layouts_are_skipped(changes, reason):
    batches, skipped = gather([point(**changes)], PointDeployments(Catalogue()))
    assert not batches
    assert reason in skipped[0]


def test_a_stack_gives_each_measurement_what_its_deployment_gives_alone():
    """One shipped point of each type, metric and chip, together and one deployment at a time."""
    evidence, deployments = shipped(), PointDeployments(Catalogue())
    usable = [
        one
        for one in evidence.points
        if one.hardware in ("h200-sxm", "wse-3") and one.id not in evidence.unpredictable
    ]
    first = {(one.kind, one.metric, one.hardware, one.drafted > 0): one for one in usable}
    batches, _ = gather([*first.values()], deployments)
    together = rows_of(batches)
    alone = [rows_of([batch]) for batch in batches]
    for number in ("bound", "measured", "overhead", "fitted_share"):
        of_each = np.concatenate([getattr(rows, number) for rows in alone])
        np.testing.assert_array_equal(getattr(together, number), of_each, number)
    of_each = np.concatenate([rows.seconds() for rows in alone])
    np.testing.assert_array_equal(together.seconds(), of_each)
    assert len(batches) > 3 * len(together.piles)


def test_speculation_of_unknown_yield_tests_no_bound():
    fast = point(metric="tokens_per_s_per_user", value=1e6)
    assert predicted(fast).beats_bound
    assert not predicted(replace(fast, tokens_per_pass=None)).beats_bound


# -- fitting ----------------------------------------------------------------------------


def synthetic(engine: str = "vllm", factor: float = 1.0) -> list[Point]:
    """Points that the engine itself would measure, of three sources."""
    points = [
        point(
            id=f"{source}-{index:03}", concurrency=batch, model=model, value=1.0,
            prompt=float(context), output=2.0, engine=engine,
        )
        for source in ("aa", "bb", "cc")
        for index, (batch, context, model) in enumerate(
            (b, c, m) for b in (1, 8, 64) for c in (100, 4000) for m in ("llama-3.1-8b", "qwen3-4b")
        )
    ]  # fmt: skip
    found = {one.point.id: one.expected for one in validate(points, Catalogue()).predictions}
    return [replace(one, value=found[one.id] * factor) for one in points]


def test_a_fit_finds_the_values_that_made_the_data():
    """Data made with a floor of 100 us and 0.6 of the bandwidth give both back."""
    catalogue = Catalogue()
    rows = rows_of(gather(synthetic(), PointDeployments(catalogue))[0])
    names = ("decode_layer_floor", "bandwidth_fraction")
    truth = np.log([100e-6, 0.6])
    nodes = tuple(
        FittedValue("vllm", "", name, start, start, 2.0)
        for name, start in zip(names, (50e-6, 0.85), strict=True)
    )
    fit = Fit(
        MovableValues(nodes, {(name, "hopper"): index for index, name in enumerate(names)}), rows
    )
    made = replace(rows, measured=rows.seconds(fit.software(truth)))
    found = Fit(fit.family, made).solve(np.ones(len(rows.points), dtype=bool))
    np.testing.assert_allclose(found, truth, atol=0.01)


def test_an_outlier_does_not_carry_the_fit():
    catalogue = Catalogue()
    points = synthetic()
    points[0] = replace(points[0], value=points[0].value * 20)
    fit = fit_own(points, catalogue, catalogue.engine("vllm"))
    assert fit.after.median_factor < 1.02


@pytest.mark.thorough
@pytest.mark.parametrize(("factor", "moved"), [(0.99, 0), (1.01, 0), (0.97, 2), (1.03, 2)])
def test_values_move_by_more_than_two_percent(factor, moved):
    """Of runs as much slower as that, or faster, what data are for: the rate and the floor."""
    catalogue = Catalogue()
    fit = fit_own(synthetic(factor=factor), catalogue, catalogue.engine("vllm"))
    assert len(fit.nodes) == moved


def test_points_that_the_engine_meets_move_nothing():
    catalogue = Catalogue()
    fit = fit_own(synthetic(), catalogue, catalogue.engine("vllm"))
    assert not fit.nodes
    assert fit.before.median_factor == pytest.approx(1.0, abs=1e-9)


@pytest.mark.thorough
def test_runs_twice_as_slow_are_met_by_an_engine_of_ones_own():
    catalogue = Catalogue()
    fit = fit_own(synthetic(factor=1.5), catalogue, catalogue.engine("vllm"))
    assert fit.before.median_factor == pytest.approx(1.5, abs=1e-6)
    assert fit.after.median_factor < 1.15
    assert 0 < len(fit.nodes) <= 10


def test_each_fit_of_a_calibration_is_counted_for_its_progress():
    """The shipped evidence is fitted for more than a minute: a person sees how far it is."""
    fit = SimpleNamespace(
        rows=SimpleNamespace(points=[None] * 3),
        solve=lambda is_used, near=0.0: is_used.sum() + near,
        residuals=lambda solution: np.full(3, solution),
    )
    fits = []
    everything, labels = np.ones(3, dtype=bool), np.array(["a", "b", "a"])
    residuals = Fit.left_out(fit, everything, labels, lambda *counts: fits.append(counts))
    assert fits == [(1, 2), (2, 2)]
    assert residuals.tolist() == [3 + 1, 3 + 2, 3 + 1]


@pytest.mark.thorough
def test_a_source_left_out_is_met_worse_than_the_others_it_disagrees_with():
    """One source alone cannot be left out; of two, each is predicted by a fit on the other.

    Where one is twice as slow, no engine meets both, and neither predicts the other.
    """
    catalogue = Catalogue()
    vllm = catalogue.engine("vllm")
    first, second = (
        [one for one in synthetic(factor=factor) if one.source_key == key]
        for key, factor in (("aa", 1.0), ("bb", 2.0))
    )
    assert fit_own(first, catalogue, vllm).left_out is None
    both = fit_own([*first, *second], catalogue, vllm)
    assert both.left_out.count == both.after.count == len(first) + len(second)
    assert both.left_out.median_factor > 1.3 * both.after.median_factor


@pytest.mark.parametrize(
    ("changes", "engine"),
    [
        ({"model": "deepseek-r1", "date": "2025-03"}, "young"),
        ({"model": "deepseek-r1", "date": "2025-11"}, "vllm"),
        ({"model": "deepseek-r1", "date": ""}, "vllm"),
        ({"model": "qwen3-8b", "date": "2025-03"}, "vllm"),
        ({"hardware": "gaudi-3", "model": "qwen3-8b", "date": "2026-03"}, "young"),
        ({"hardware": "tpu-v6e", "model": "qwen3-8b", "date": "2026-03"}, "tpu"),
        ({"hardware": "trainium-2", "model": "qwen3-8b", "date": "2026-03"}, "neuron"),
        ({"hardware": "trainium-2", "engine": "", "date": ""}, "neuron"),
    ],
)
def test_early_and_odd_points_are_predicted_with_young_kernels(changes, engine):
    """DeepSeek before May 2025, and chips of kinds that no engine was fitted on."""
    point = replace(shipped().points[0], hardware="h200-sxm", engine="vllm", chips=8, tp=8)
    point = replace(point, weights="", kv="", **changes)
    assert PointDeployments(Catalogue()).of(point).engine.id == engine


@pytest.mark.parametrize("name", ["apple-m4-pro", "apple-m5-max", "apple-m1-max"])
def test_no_mac_is_held_by_its_cores(name):
    """Apple prints 10 to 15 GB/s a core: the share of the data sheet alone decides."""
    catalogue = Catalogue()
    chip = catalogue.hardware(name)
    work = workload(catalogue.model("llama-3.1-8b"), "q4_0", "bf16")
    chip_and_engine = machine(chip, catalogue.engine("llama-cpp"), work, OWN_MEMORY)
    share = chip_and_engine.software.bandwidth_fraction * chip.memory[0].bandwidth.si
    assert chip_and_engine.software.bandwidth(chip_and_engine.chip) == pytest.approx(
        share, rel=1e-3
    )


def test_overridden_values_hold_before_inherited_ones():
    """An engine's own value stands before that of the engine it extends for an architecture."""
    catalogue = Catalogue()
    llama, gpu = catalogue.engine("llama-cpp"), catalogue.engine("gpu")
    assert llama.on("gpu", "hopper").compute_per_core != gpu.on("gpu", "hopper").compute_per_core
    assert (
        llama.on("gpu", "ampere").bandwidth_fraction == gpu.on("gpu", "ampere").bandwidth_fraction
    )
    assert (
        llama.on("apple", "apple-m2").decode_layer_floor.si > llama.parameters.decode_layer_floor.si
    )
    family = family_of(catalogue.engine_files())
    node = family.nodes[family.node_for("vllm", catalogue.hardware("mi300x"), "compute_fraction")]
    assert (node.engine, node.group) == ("gpu", "cdna3")


# -- the shipped engines ----------------------------------------------------------------


@pytest.fixture(scope="module", name="shipped_fit")
def _shipped_fit():
    return fit_of(shipped(), Catalogue())


def test_an_engine_without_fitted_values_is_named_as_the_user_did(catalogue):
    with pytest.raises(InputError, match=r"^groq\.yaml has no fitted value"):
        fit_own(synthetic(), catalogue, catalogue.engine("groq"), "runs.csv", "groq.yaml")


@pytest.mark.thorough
def test_calibrate_gives_the_shipped_engines(shipped_fit):
    """To three significant digits; a fit starts from the bands, not from the files."""
    everything = np.ones(len(shipped_fit.rows.points), dtype=bool)
    found = np.exp(shipped_fit.solve(everything))
    written = np.array([node.value for node in shipped_fit.family.nodes])
    np.testing.assert_allclose(found, written, rtol=5e-4)


@pytest.mark.thorough
def test_publishers_behind_a_value_are_those_of_points_that_depend_on_it(shipped_fit):
    """Splitwise alone measured its engine; no value has more than measured the chips and engines."""
    evidence, nodes = shipped(), shipped_fit.family.nodes
    counts = publishers_of(shipped_fit, np.log([node.value for node in nodes]), evidence)
    by_node = {
        (node.engine, node.group, node.name): of for node, of in zip(nodes, counts, strict=True)
    }
    assert by_node["splitwise-2023", "", "link_fraction"] == 1
    apple = {
        evidence.publisher(point)
        for point, deployment in zip(
            shipped_fit.rows.points, shipped_fit.rows.deployments, strict=True
        )
        if deployment.hardware.id.startswith("apple")
        and deployment.engine.id in ("llama-cpp", "mlx")  # which takes it over
    }
    assert 1 < by_node["llama-cpp", "apple", "bandwidth_fraction"] <= len(apple)


@pytest.fixture(scope="module")
def honest(shipped_fit):
    return {one.point.id: one for one in left_out.applied(predictions_of(shipped_fit.rows))}


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["sily", "sglcook", "anl"][: scaled(1)])
def test_the_shipped_table_leaves_publishers_out(shipped_fit, honest, source):
    rows, evidence = shipped_fit.rows, shipped()
    folds = np.array([fold_of(evidence.publisher(point)) for point in rows.points])
    (fold,) = set(folds[rows.sources == source])
    # As calibrate does: a start elsewhere ends up to 0.3% away where the loss is flat.
    near = np.log([node.value for node in shipped_fit.family.nodes])
    residuals = shipped_fit.residuals(shipped_fit.solve(folds != fold, near))[folds == fold]
    own = [point.id for point, of in zip(rows.points, folds, strict=True) if of == fold]
    ratios = [
        honest[name].expected / honest[name].point.value
        if honest[name].point.is_time
        else honest[name].point.value / honest[name].expected
        for name in own
    ]
    np.testing.assert_allclose(np.log(ratios), residuals, atol=2e-3)


def test_no_measurement_beats_its_bound():
    evidence = shipped()
    both = show_validate.validate_shipped(evidence, Catalogue())
    parts = (both.fitted, both.held_out, both.suspect)
    found = [one for part in parts for one in part.predictions]
    known = {one.point.id for one in found} | {one.id for part in parts for one in part.skipped}
    assert known == {point.id for point in evidence.points}
    assert {one.point.id for one in found if one.beats_bound} <= set(evidence.suspect)


def test_engines_have_few_values_of_their_own():
    """At most eleven fitted values an engine, those for groups of chips apart; most have two or three."""
    own = Counter(
        node.engine for node in family_of(Catalogue().engine_files()).nodes if not node.group
    )
    assert max(own.values()) <= 11
    assert sum(count <= 3 for count in own.values()) > len(own) / 2


@pytest.fixture(name="fastcalc")
def _fastcalc(capsys, monkeypatch):
    return lambda *args: run(*args, capsys=capsys, monkeypatch=monkeypatch)


# -- the command ------------------------------------------------------------------------


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def row(**changes: object) -> dict[str, object]:
    made = {name: getattr(BASE, name) for name in COLUMNS}
    return {**made, **changes}


def test_json_is_the_contract(tmp_path, fastcalc):
    file = write(tmp_path / "mine.csv", [row(), row(id="own-002", hardware="nothing")])
    assert fastcalc("validate", str(file), "--format", "json").code == 0
    found = json.loads(fastcalc("validate", str(file), "--format", "json").out)
    assert found["schema"] == "fastcalc-validate/1"
    assert list(found["points"][0])[:11] == [
        "id", "hardware", "model", "engine", "metric", "measured", "expected", "low", "high",
        "bound", "factor",
    ]  # fmt: skip
    assert found["skipped"][0]["id"] == "own-002"
    names = [group["group"] for group in found["groups"]]
    for name in ("all", "class:datacenter", "hardware:h100-sxm", "model:llama-3.1-8b",
                 "engine:vllm", "metric:tpot_s", "kind:decode"):  # fmt: skip
        assert name in names


def test_the_gate(tmp_path, fastcalc):
    file = write(tmp_path / "mine.csv", [row(value=predicted(point()).expected * 1.2)])
    assert fastcalc("validate", str(file), "--max-median-factor", "1.3").code == 0
    failed = fastcalc("validate", str(file), "--max-median-factor", "1.1")
    assert failed.code == 1
    assert "1.200" in failed.err
    assert fastcalc("validate", str(file), "--max-median-factor", "0.5").code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a,b\n1,2\n", "id"),
        (",".join(COLUMNS) + "\n", "no point"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path, fastcalc, text, said):
    file = tmp_path / "bad.csv"
    file.write_text(text)
    found = fastcalc("validate", str(file))
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize("value", ["-1", "0", "fast", "nan"])
def test_bad_values_get_a_sentence(tmp_path, fastcalc, value):
    found = fastcalc("validate", str(write(tmp_path / "bad.csv", [row(value=value)])))
    assert found.code == 2
    assert "bad.csv:2:" in found.err


def test_only_unknown_ids_is_a_wrong_request(tmp_path, fastcalc):
    names = ("first-chip", "second-chip", "third-chip", "fourth-chip")  # three reasons are enough
    rows = [row(hardware=name, id=f"own-{name}") for name in names]
    found = fastcalc("validate", str(write(tmp_path / "mine.csv", rows)))
    assert found.code == 2
    assert "mine.csv:2:1: nothing can be predicted: " in found.err
    assert [name in found.err for name in names] == [True, True, True, False]


@pytest.mark.thorough
def test_an_engine_that_moves_no_value_answers_as_the_one_it_extends(tmp_path, fastcalc):
    """TensorRT-LLM keeps the cache of fp8 weights in fp8; so does what is fitted from it."""
    rows = [{name: getattr(one, name) for name in COLUMNS} for one in synthetic(factor=1.0)]
    target = tmp_path / "mine.yaml"
    fit = ("calibrate", str(write(tmp_path / "runs.csv", rows)), "--engine", "tensorrt-llm")
    assert fastcalc(*fit, "-o", str(target)).code == 0
    target.write_text(re.split(r"\n(?:sources|parameters|own_deployments):", target.read_text())[0])
    asked = "compare llama-3.3-70b --on h100-sxm --chips 2 --weights fp8 --batch 32 --format json"
    mine, theirs = (
        json.loads(fastcalc(*asked.split(), "--engine", engine).out)["records"]
        for engine in (str(target), "tensorrt-llm")
    )
    assert [{**one, "engine": "tensorrt-llm"} for one in mine] == theirs
    assert mine[0]["kv_format"] == "fp8"


@pytest.mark.thorough
def test_an_engine_of_ones_own_serves_compare(tmp_path, fastcalc):
    slow = synthetic(factor=1.5)
    rows = [{name: getattr(one, name) for name in COLUMNS} for one in slow]
    file = write(tmp_path / "runs.csv", rows)
    target = tmp_path / "our-vllm.yaml"
    assert fastcalc("calibrate", str(file), "--engine", "vllm", "-o", str(target)).code == 0
    assert "extends: vllm" in target.read_text()
    assert fastcalc("check", str(target)).code == 0
    checked = fastcalc(
        "validate", str(file), "--engine", str(target), "--max-median-factor", "1.15"
    )
    assert checked.code == 0
    assert (
        fastcalc("compare", "llama-3.1-8b", "--on", "h100-sxm", "--engine", str(target)).code == 0
    )


def test_the_evaluator_is_one():
    """A stack of many deployments gives what each gives alone."""
    points = [
        point(id=f"x-{i:03}", model=model, hardware=chip, concurrency=batch)
        for i, (model, chip, batch) in enumerate(
            (m, c, b)
            for m in ("llama-3.1-8b", "qwen3-30b-a3b")
            for c in ("h100-sxm", "b200", "mi300x")
            for b in (1, 32)
        )
    ]
    found = validate(points, Catalogue()).predictions
    for one in found:
        alone = outcome(
            one.point.model, one.point.hardware, batch=(one.point.concurrency,), engine="vllm",
            weights="bf16", kv="bf16",
        )  # fmt: skip
        assert one.expected == pytest.approx(float(alone.estimate.tpot[0]), rel=1e-9)


def test_a_measurement_shows_that_a_refused_format_ran(tmp_path, fastcalc):
    """A build of one's own may have kernels that releases of vLLM lack, such as of 8-bit integers."""
    path = write(tmp_path / "mine.csv", [row(id="own-001", engine="vllm", kv="int8")])
    found = fastcalc("validate", str(path), "--format", "json")
    said = json.loads(found.out)
    assert found.code == 0
    assert [one["id"] for one in said["points"]] == ["own-001"]
    assert said["skipped"] == []


@pytest.mark.parametrize("column", ["hardware", "model", "engine"])
def test_a_name_that_no_file_system_takes_skips_its_point_alone(tmp_path, fastcalc, column):
    rows = [row(id="own-001"), row(id="own-002", **{column: "x" * 300})]
    found = fastcalc("validate", str(write(tmp_path / "mine.csv", rows)), "--format", "json")
    assert found.code == 0
    said = json.loads(found.out)
    assert {one["id"] for one in said["points"]} >= {"own-001"}
    if column != "engine":  # an engine that nobody knows is the default of the chip's class
        assert "longer than any name" in said["skipped"][0]["reason"]


def test_points_above_their_bound_are_counted_and_not_all_listed(tmp_path, fastcalc):
    rows = [row(id=f"own-{i:03}", metric="tpot_s", value=f"1e-{9 + i % 3}") for i in range(100)]
    found = fastcalc("validate", str(write(tmp_path / "mine.csv", rows)), "--wide")
    assert found.code == 0
    assert found.out.count("above its bound") == 5 + 20
    assert re.search(r"(?m)^all +100 .* 100$", found.out)


def test_a_first_screen_says_how_far_off_and_what_is_furthest(tmp_path, fastcalc):
    """Of one point the median, the 90% mark and the furthest are the same."""
    file = write(tmp_path / "mine.csv", [row(id="own-001")])
    (one,) = json.loads(fastcalc("validate", str(file), "--format", "json").out)["points"]
    out = words(fastcalc("validate", str(file)).out)
    factor = f"{one['factor']:.2f}"
    assert out.startswith(
        f"Median error {factor}x and 90th percentile {factor}x over 1 measurement"
    )
    assert " from 1 source in mine.csv. " in out
    assert f"Largest error: own-001, {one['model']} on {one['hardware']}" in out
    assert "next: fastcalc plot validate" in out


def test_classes_of_few_sources_are_weak():
    """Under four sources is few."""

    def group(name, sources, factor):
        return Group(f"part:{name}", 9, sources, 1.1, factor, 1.0, 0.8, 0)

    groups = [group("a", 3, 9.0), group("b", 4, 1.71), group("c", 4, 1.7), group("d", 1, 1.0)]
    assert _weak(Validation((), (), groups), 4) == (
        'Too few sources for reliable figures: "a" (3 sources) and "d" (1 source).'
    )


@pytest.mark.parametrize(
    ("name", "date"),
    [
        thorough("my: runs #1.csv", "2026-01"),
        ('my "runs".csv', 'July "26'),
        thorough("runs.csv", "5/6/26"),
    ],
)
def test_an_engine_of_ones_own_loads_whatever_its_runs_are_called(tmp_path, fastcalc, name, date):
    rows = [{column: getattr(one, column) for column in COLUMNS} for one in synthetic(factor=1.5)]
    file = write(tmp_path / name, [{**each, "date": date} for each in rows])
    target = tmp_path / "ours.yaml"
    assert fastcalc("calibrate", str(file), "-o", str(target)).code == 0
    assert fastcalc("check", "--strict", str(target)).code == 0


def test_an_engine_that_no_run_moves_names_no_source_of_numbers(tmp_path, fastcalc):
    rows = [{column: getattr(one, column) for column in COLUMNS} for one in synthetic(factor=1.0)]
    target = tmp_path / "ours.yaml"
    assert fastcalc("calibrate", str(write(tmp_path / "a.csv", rows)), "-o", str(target)).code == 0
    assert "\nsources:" not in target.read_text()
    assert fastcalc("check", "--strict", str(target)).out.startswith("1 file checked: clean")


def test_an_engine_of_ones_own_is_not_called_like_one_that_it_extends(tmp_path, fastcalc):
    target = tmp_path / "vllm.yaml"
    found = fastcalc("calibrate", str(write(tmp_path / "a.csv", [row()])), "-o", str(target))
    assert found.code == 2
    assert "vllm is an engine of the catalogue already" in found.err
    assert not target.exists()
