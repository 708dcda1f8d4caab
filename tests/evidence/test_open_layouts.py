"""Layouts that a measurement leaves open, by hand: what they may be, which is taken, its range.

The chip, the model and the engine are those of `tests.made_up`.
"""

import json
from dataclasses import replace
from typing import Any

import pytest

from fastcalc.catalogue.schema import Hardware, Model
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.model.workload import workload
from fastcalc.core.placement.layout import Layout
from fastcalc.core.scenario import Sharding
from fastcalc.errors import InputError
from fastcalc.evidence.deployments import Deployment, PointDeployments
from fastcalc.evidence.own_engine import fit_own
from fastcalc.evidence.point import COLUMNS, Point
from fastcalc.evidence.predict import gather
from fastcalc.evidence.score import Prediction, predictions_of
from fastcalc.evidence.shipped import shipped
from fastcalc.evidence.stacked import rows_of
from fastcalc.evidence.validate import validate, validate_shipped
from tests import made_up
from tests.helpers import run

FEW = made_up.engine(
    decode_layer_floor="1 ms", prefill_layer_floor="2 ms", prompt_chunk=1000, max_sequences=50
)
"""Ten layers of 1 ms, of 2 ms with prompts in the pass; 50 sequences a replica."""


def deployment(model: Model, hardware: Hardware, engine=FEW, **stated: int) -> Deployment:
    return Deployment(hardware, model, engine, workload(model), Sharding(**stated))


def point(**changes: Any) -> Point:
    cells: dict[str, Any] = dict.fromkeys(COLUMNS)
    cells |= {"id": "made-001", "source": "made", "notes": "kind=e2e_saturated", "value": 1.0}
    cells |= {"prompt": 1000.0, "output": 1000.0, "metric": "tokens_per_s_total"}
    return Point(**{**cells, "tokens_per_pass": 1.0, "line": 1, **changes})


def predicted(one: Point, on: Deployment) -> Prediction:
    class Made:
        of = staticmethod(lambda _: on)

    batches, skipped = gather([one], Made())
    assert not skipped
    return predictions_of(rows_of(batches))[0]


def held(on: Deployment) -> set[Layout]:
    return {one.layout for one in on.placements(1.0)}


def small(bytes_: float) -> Hardware:
    memory = {"name": "M", "capacity": f"{bytes_ / 1e9:.10f} GB", "bandwidth": "1 TB/s"}
    return made_up.chip(memory=[memory])


# A chip without a fast link has tensor groups of one. Four of them are four replicas, two of two
# stages, or four stages; each replica holds 50 sequences, and a run is 1,000 passes and a pass
# with a prompt of 1,000, which takes 20 ms more, for each sequence that passes through together.
#
# dp 4:       50 rows, 10 + 0.5;            10,500 + 50 x 20 = 11,500 ms for 200 answers
# dp 2, pp 2: 25 rows, 10 + 0.25 + a hop;   10,350 + 25 x 20 = 10,850 ms for 100 answers
# pp 4:       12.5 rows; four micro-batches in the slowest stage, 3 of the 10 layers:
#             1.2 x 10.125 = 12.15;         more than 12,150 ms for 50 answers
REPLICAS, STAGED = 200_000 / 11.5, 100_000 / 10.85


def test_a_saturated_run_of_so_many_chips_is_that_of_the_layout_that_serves_most():
    found = predicted(point(), deployment(made_up.minimal(), made_up.clocked(), chips=4))
    assert found.expected == pytest.approx(REPLICAS, rel=1e-5)
    assert found.assumed == "dp 4, the layout that serves most"


def test_its_range_holds_that_of_the_middle_layout_too():
    """A quarter down and up: from the middle layout's speed / 1.25 to the best one's x 1.25."""
    open_ = predicted(point(), deployment(made_up.minimal(), made_up.clocked(), chips=4))
    found = open_.within(1.25, 1.25)
    assert found.low == pytest.approx(STAGED / 1.25, rel=1e-5)
    assert found.high == pytest.approx(REPLICAS * 1.25, rel=1e-5)


def test_a_time_is_longer_on_the_middle_layout():
    """Four replicas decode 100 sequences in 10.25 ms, two of two stages in 10.35.

    Four stages of 25 rows take 1.2 x 10.25 = 12.3, so the replicas are the fastest.
    """
    one = point(notes="kind=decode", metric="tpot_s", concurrency=100)
    found = predicted(one, deployment(made_up.minimal(), made_up.clocked(), chips=4))
    assert found.expected * 1e3 == pytest.approx(10.25, rel=1e-5)
    assert found.assumed == "dp 4, the layout that decodes fastest"
    assert found.within(2.0, 1.0).high * 1e3 == pytest.approx(2 * 10.35, rel=1e-5)


def test_sequences_that_memory_does_not_hold_decode_nowhere():
    """Each of two chips holds 2 MB: 1 MB of weights and five caches of 200 kB.

    Two replicas hold ten, two stages of 0.5 MB and half a cache thirty. Of thirty sequences the
    replicas would decode in 10.15 ms a third, the stages all in 10.25.
    """
    model = made_up.minimal(kv_bytes_per_token=100)
    memory = {"name": "M", "capacity": "0.002 GB", "bandwidth": "1000 TB/s"}
    on = deployment(model, made_up.clocked(memory=[memory]), chips=2)
    found = predicted(point(notes="kind=decode", metric="tpot_s", concurrency=30), on)
    assert found.assumed == "pp 2, the layout that decodes fastest"


def test_experts_go_over_all_chips_where_attention_has_replicas():
    """100 parameters of 2 bytes that all pass, and ten experts of 200 bytes: 2,200 in one copy.

    Over four chips the fullest holds three experts, so 800 bytes.
    """
    on = deployment(made_up.EXPERTS, small(1000), tp=1, pp=1, dp=4, chips=4)
    (place,) = on.placements(1.0)
    assert place.layout == Layout(tp=1, pp=1, dp=4, ep=4)
    assert place.weights_per_chip == 800
    assert on.assumed(place.layout, "", 1) == "ep 4, experts over all chips of a stage"
    with pytest.raises(InputError, match="do not fit made-up-chip's M"):
        replace(on, stated=replace(on.stated, ep=1)).placements(1.0)


@pytest.mark.parametrize(
    ("stated", "layouts"),
    [
        # A megabyte of weights: a quarter on a chip of 0.3 MB, an eighth, but not a half.
        ({"chips": 8, "pp": 1}, {Layout(tp=4, dp=2), Layout(tp=8)}),
        ({"chips": 8, "pp": 1, "dp": 1}, {Layout(tp=8)}),
        # Of four stages the fullest has three of ten layers, 0.3 MB and no room for a cache.
        ({"chips": 8, "tp": 1}, {Layout(pp=8)}),
        # Four chips hold it in groups of two only as two stages.
        ({"tp": 2}, {Layout(tp=2, pp=2)}),
        ({"pp": 1}, {Layout(tp=4)}),
        ({"tp": 5, "chips": 10}, {Layout(tp=5, dp=2)}),
        ({"dp": 1, "tp": 1, "pp": 10}, {Layout(pp=10)}),
    ],
)
def test_ranks_that_are_not_stated_are_those_that_hold_the_model(stated, layouts):
    assert held(deployment(made_up.minimal(), small(300_000), **stated)) == layouts


@pytest.mark.parametrize(
    ("stated", "assumed"),
    [
        ({"chips": 8, "pp": 1, "dp": 1}, None),
        ({"tp": 4, "pp": 2, "dp": 1}, None),
        ({"tp": 8, "chips": 8}, None),
        ({"tp": 2}, "tp 2 pp 2, the fewest chips that suffice"),
        ({}, "tp 4, the fewest chips that suffice"),
        ({"chips": 4, "dp": 1, "tp": 4}, None),
    ],
)
def test_what_was_not_stated_and_could_be_otherwise_is_said(stated, assumed):
    on = deployment(made_up.minimal(), small(300_000), **stated)
    assert predicted(point(), on).assumed == assumed


def test_chips_that_no_legal_layout_has_are_refused():
    """Ten experts of a model of ten layers are on no more than eight chips of each stage."""
    with pytest.raises(InputError, match="do not fit"):
        deployment(made_up.EXPERTS, made_up.chip(), chips=99).placements(1.0)


def test_a_million_stated_ranks_are_not_multiplied_until_they_hold():
    """A megabyte on chips of a kilobyte: one look at so many chips, not a hundred."""
    with pytest.raises(InputError, match="do not fit"):
        deployment(made_up.minimal(), small(1000), dp=1_000_000).placements(1.0)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"chips": 3, "tp": 2}, "3 chips are not a multiple of tp 2"),
        ({"chips": 8, "tp": 2, "pp": 2, "dp": 1}, "8 chips are not tp 2 x pp 2 x dp 1"),
    ],
)
def test_ranks_multiply_to_the_chips(stated, said):
    with pytest.raises(InputError, match=said):
        deployment(made_up.minimal(), made_up.chip(), **stated).placements(1.0)


def test_points_of_one_run_have_one_layout():
    """The rate, the time between tokens and the time to the first one: four replicas, as above."""
    on = deployment(made_up.minimal(), made_up.clocked(), chips=4)
    for metric in ("tokens_per_s_total", "tpot_s", "ttft_s"):
        one = point(notes="kind=e2e_concurrency", metric=metric, concurrency=100)
        assert predicted(one, on).assumed == "dp 4, the layout that serves most"


# -- part of the model on a host ----------------------------------------------------------

HOST = "host=dram=256GiB@100GB/s,link=10GB/s; use=stream; place=weights=DRAM"
OFFLOADED = point(
    notes=f"kind=decode_batch1; {HOST}", metric="tokens_per_s_per_user", hardware="h100-sxm",
    model="llama-3.1-8b", weights="bf16", kv="bf16", chips=1, tp=1, pp=1, dp=1, engine="vllm",
)  # fmt: skip


def test_weights_on_a_host_come_over_its_link():
    """8,030,261,248 parameters of 2 bytes but the table of 128,256 x 4,096, at 10 GB/s."""
    catalogue = Catalogue()
    (found,) = validate([OFFLOADED], catalogue, engine=catalogue.engine("ideal")).predictions
    seconds = 2 * (8_030_261_248 - 128_256 * 4_096) / 10e9
    assert found.expected == pytest.approx(1 / seconds, rel=1e-4)


def test_points_with_part_of_the_model_on_a_host_are_a_class_of_their_own():
    names = [one.name for one in validate([OFFLOADED], Catalogue()).groups]
    assert "class:offload" in names
    assert not {"class:datacenter", "part:decode, datacenter"} & set(names)


def test_no_engine_is_fitted_on_them():
    evidence = shipped()
    first = next(one for one in evidence.points if evidence.is_fitted(one))
    notes = f"{first.notes}; {HOST}"
    assert not evidence.is_fitted(replace(first, notes=notes))
    catalogue = Catalogue()
    with pytest.raises(InputError, match="nothing to fit on"):
        fit_own([OFFLOADED], catalogue, catalogue.engine("vllm"))


def test_shipped_ones_are_scored_apart():
    evidence = shipped()
    moved = replace(evidence.points[0], notes=f"{evidence.points[0].notes}; {HOST}")
    found = validate_shipped(replace(evidence, points=(moved, evidence.points[1])), Catalogue())
    assert moved.id not in {one.point.id for one in found.fitted.predictions}
    assert moved.id in {one.point.id for one in found.held_out.predictions}
    (group,) = [one for one in found.fitted.groups if one.name == "class:offload"]
    assert group.count == 1


def test_a_host_that_nobody_knows_skips_its_point():
    batches, skipped = gather(
        [replace(OFFLOADED, notes="kind=decode_batch1; host=nowhere")],
        PointDeployments(Catalogue()),
    )
    assert not batches
    assert "nowhere" in skipped[0]


def test_each_point_says_what_was_assumed(tmp_path, capsys, monkeypatch):
    cells = dict.fromkeys(COLUMNS, "") | {
        "id": "a-1", "hardware": "h100-sxm", "model": "llama-3.1-8b", "weights": "bf16", "chips": 8,
        "prompt": 1000, "output": 1000, "metric": "tokens_per_s_total", "value": 10000,
        "notes": "kind=e2e_saturated",
    }  # fmt: skip
    file = tmp_path / "mine.csv"
    file.write_text(",".join(cells) + "\n" + ",".join(map(str, cells.values())) + "\n")
    ran = run("validate", str(file), "--format", "json", capsys=capsys, monkeypatch=monkeypatch)
    (found,) = json.loads(ran.out)["points"]
    assert list(found)[-1] == "assumed"
    assert found["assumed"].endswith(", the layout that serves most")
