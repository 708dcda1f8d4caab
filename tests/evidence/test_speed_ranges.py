"""80% ranges: what they are learned from, and how wide they are."""

import math

import numpy as np
import pytest

from fastcalc.catalogue.schema import Engine
from fastcalc.catalogue.schema.engines import HalfWidths, RangeWidths
from fastcalc.catalogue.store import Catalogue
from fastcalc.core.speed_range import reach
from fastcalc.evidence import calibrate, left_out
from fastcalc.evidence.score import Prediction
from fastcalc.evidence.shipped import fold_of, role_of, shipped
from fastcalc.evidence.speed_ranges import (
    by_novelty,
    learned,
    publishers_behind,
    ranged,
)
from fastcalc.evidence.validate import validate
from tests.evidence.test_measured import point
from tests.helpers import outcome


def missed(
    by, source="aa", *, bound=99.0, phase="decode", machine="consumer", fitted=0.0, experts=False
):
    """A speed of 100 tokens/s, expected so much too fast in the logarithm."""
    measured = point(id=f"{source}-001", metric="tokens_per_s_per_user", value=100.0)
    expected = 100.0 * math.exp(by)
    return Prediction(
        measured,
        "vllm",
        machine,
        phase,
        experts,
        expected,
        None,
        None,
        bound * expected,
        fitted_share=fitted,
    )


def one_each(phase, errors, sign=1, **where):
    """A point of each of some sources: too fast, or too slow with a sign of -1."""
    side = "fast" if sign > 0 else "slow"
    return [
        missed(sign * error, f"{side}{number}", phase=phase, **where)
        for number, error in enumerate(errors)
    ]


def both(phase, errors, **where):
    """As many points as far off to either side."""
    return [*one_each(phase, errors, **where), *one_each(phase, errors, sign=-1, **where)]


OTHERS = [
    *both("prefill", [0.5] * 5),
    *both("served", [0.2] * 5),
    *both("served", [0.4] * 5, experts=True),
]


def learn(*points, blind=None, behind=1, alone=()):
    """Widths of points, all of which nobody had looked at unless it is said which.

    behind : other publishers that measured the chip, engine and phase of each
    alone : classes of chip on which nobody else measured the engine
    """
    seen = {one.point.id for one in points} if blind is None else blind
    return learned(points, seen, [0 if one.machine in alone else behind for one in points])


def sides(width):
    return width.below, width.above


def test_widths_are_quantiles_of_sources_by_phase_and_side():
    """Ten too fast and ten too slow: a tenth beyond is 18 of 20, and 18.45 for one that follows.

    The middle of the eighth of ten that are too fast lies at 17.5, that of the ninth at 18.5. Of 20
    sources, 0.9 x (1 + 1 / 40) = 0.9225.
    """
    fast = one_each("decode", np.arange(1, 11) / 10)
    slow = one_each("decode", np.arange(1, 11) / 100, sign=-1)
    widths = learn(*fast, *slow, *OTHERS)
    assert sides(widths.decode) == pytest.approx((0.895, 0.0895), abs=6e-4)
    assert [sides(one) for one in (widths.prefill, widths.served, widths.served_experts)] == [
        (0.5, 0.5),
        (0.2, 0.2),
        (0.4, 0.4),
    ]
    assert widths.unseen == 1.0
    assert widths.basis.startswith(
        "50 measurements from 20 sources, each predicted by a fit without its publisher"
    )


def test_a_source_weighs_as_the_root_of_its_points():
    """Sixteen points weigh four: 0.9 x (1 + 1 / 34) of 20 is 18.53, at the 15th of 16 sources.

    The middle of the k-th lies at 3.5 + k. Weighing alike, it would be 29.65 of 32, at the 14.1th.
    """
    many = [missed(0.001, "many") for _ in range(16)]
    few = one_each("decode", np.arange(1, 17) / 100)
    assert learn(*many, *few, *OTHERS).decode.below == pytest.approx(0.15, abs=1e-3)


def test_errors_of_fitted_time_need_half_the_width_without_it():
    decoded = both("decode", [0.6] * 5, fitted=1.0)
    assert sides(learn(*decoded, *OTHERS).decode) == pytest.approx((0.3, 0.3))


def test_ranges_reach_further_down_where_measurements_lie_further_down():
    """Half of the points of each phase are too fast by a width, the others too slow by a third."""
    points = [*OTHERS]
    for experts in (False, True):
        points += one_each("decode", [0.6] * 5, experts=experts)
        points += one_each("decode", [0.2] * 5, sign=-1, experts=experts)
    widths = learn(*points)
    assert sides(widths.decode) == (0.6, 0.2)
    assert sides(widths.prefill) == (0.5, 0.5)


def test_where_all_points_are_too_fast_a_range_reaches_hardly_up():
    widths = learn(*one_each("decode", [0.6] * 5), *OTHERS)
    assert sides(widths.decode) == (0.6, 0.01)


def test_points_that_nobody_had_looked_at_count_four_times():
    """Eight sources that were looked at and two that were not: 0.945 of 16 is 15.12.

    The middles of the last two lie at 10 and 14; counted once, 0.945 of ten would be 9.45, and they
    at 8.5 and 9.5.
    """
    known = [missed(0.1, f"known{number}") for number in range(8)]
    new = [missed(0.3, "new1"), missed(0.5, "new2")]
    blind = {one.point.id for one in (*new, *OTHERS)}
    assert learn(*known, *new, *OTHERS, blind=blind).decode.below == pytest.approx(0.5)
    assert learn(*known, *new, *OTHERS).decode.below == pytest.approx(0.49)


def test_prefill_that_three_publishers_measured_has_a_width_of_its_own():
    """Errors of 0.5 on chips with none to two publishers, 0.1 on those with three or more."""
    few = [one for one in OTHERS if one.phase == "prefill"]
    many = both("prefill", [0.1] * 5, machine="datacenter")
    others = [*both("decode", [0.3] * 5), *(one for one in OTHERS if one.phase != "prefill")]
    points = [*few, *many, *others]
    behind = [2] * len(few) + [3] * len(many) + [3] * len(others)
    widths = learned(points, {one.point.id for one in points}, behind)
    assert (sides(widths.prefill), sides(widths.prefill_measured)) == ((0.5, 0.5), (0.1, 0.1))
    for publishers, reached in ((2, 0.5), (3, 0.1)):
        found = ranged(many[0], widths, behind=publishers)
        assert math.log(found.expected / found.low) == pytest.approx(reached)


def test_publishers_behind_a_point_are_the_others_of_its_chip_engine_and_phase():
    decoded = one_each("decode", [0.1] * 3)
    points = [*decoded, *one_each("prefill", [0.1] * 2), *one_each("decode", [0.1] * 2)]
    publishers = {"fast0": "one", "fast1": "one", "fast2": "two"}
    counted = publishers_behind(points, lambda one: publishers[one.source_key])
    assert counted == [1, 1, 1, 0, 0, 1, 1]


def test_novelty_counts_publishers_that_were_fitted():
    """Judged points of two chips: three fitted publishers measured the first, none the other."""
    fitted = one_each("decode", [0.1] * 3)
    here, elsewhere = missed(0.2, "judge"), missed(0.2, "judge", phase="prefill")
    behind = publishers_behind([here, elsewhere], lambda one: one.source_key, among=fitted)
    assert behind == [3, 0]
    assert by_novelty([here, elsewhere], behind) == {"none": [elsewhere], "three or more": [here]}


def test_a_number_of_two_sources_is_that_of_everything():
    decoded = both("decode", [0.3] * 8)
    two = one_each("served", [0.9, 0.9])
    assert learn(*decoded, *two).served == learn(*decoded, *two).prefill


def test_chips_that_nobody_else_measured_say_how_many_times_as_wide():
    """Errors of 0.6 and 1.0 where the phases have 0.3 and 0.5."""
    elsewhere = [
        *both("decode", [0.6] * 5, machine="tpu"),
        *both("prefill", [1.0] * 5, machine="tpu"),
    ]
    widths = learn(*both("decode", [0.3] * 5), *OTHERS, *elsewhere, alone={"tpu"})
    assert (sides(widths.decode), sides(widths.prefill)) == ((0.3, 0.3), (0.5, 0.5))
    assert widths.unseen == 2.0


@pytest.mark.thorough
def test_widths_learned_from_some_sources_hold_as_much_of_others():
    """Of normal errors a tenth lies beyond 1.2816 deviations to either side."""
    random = np.random.default_rng(1)

    def normal(phase, spread, **where):
        return one_each(phase, random.normal(0.0, spread, 4000), **where)

    traffic = [*normal("served", 0.1), *normal("served", 0.3, experts=True)]
    decoded, others = normal("decode", 0.2), normal("decode", 0.2)
    found = sides(learn(*decoded, *normal("prefill", 0.4), *traffic).decode)
    assert found == pytest.approx((1.2816 * 0.2, 1.2816 * 0.2), rel=0.06)
    held = [-found[1] <= math.log(prediction.bias) <= found[0] for prediction in others]
    assert np.mean(held) == pytest.approx(0.80, abs=0.02)


def widths_of(half):
    """Reaching 1.5 times as far down, and half as far up."""
    return HalfWidths(below=1.5 * half, above=0.5 * half)


WIDTHS = RangeWidths(
    decode=widths_of(0.2),
    prefill=widths_of(0.4),
    served=widths_of(0.1),
    served_experts=widths_of(0.3),
    unseen=2.0,
    basis="made up",
)


def test_a_range_reaches_further_down_than_up_and_ends_at_the_bound():
    """Half-widths of 0.2 times 1.5 and 0.5, twice that where all time is fitted."""
    prediction = ranged(missed(0.0, fitted=1.0), WIDTHS, behind=1)
    assert (prediction.low, prediction.high) == pytest.approx(
        (100 / math.exp(0.6), 100 * math.exp(0.2))
    )
    wide = ranged(missed(0.0, fitted=1.0), WIDTHS, behind=0)
    assert wide.low == pytest.approx(100 / math.exp(1.2))
    near = ranged(missed(0.0, bound=1.1), WIDTHS, behind=1)
    assert near.high == pytest.approx(110.0)


def test_models_with_routed_experts_have_a_width_of_their_own_in_traffic():
    for experts, width in ((False, 0.1), (True, 0.3)):
        found = ranged(missed(0.0, phase="served", experts=experts), WIDTHS, behind=1)
        assert found.low == pytest.approx(100 / math.exp(1.5 * width))


@pytest.mark.parametrize(
    ("machine", "experts", "width"),
    [
        ("datacenter", False, 0.1),
        ("datacenter", True, 0.2),
        ("consumer", False, 0.2),
        ("unified", False, 0.05),
        ("unified", True, 0.05),
        ("apple", False, 0.05),
    ],
)
def test_decode_has_widths_of_its_own_on_datacenter_gpus_and_unified_memory(
    machine, experts, width
):
    """On datacenter GPUs only for dense models."""
    own = {"decode_datacenter": widths_of(0.1), "decode_unified": widths_of(0.05)}
    narrower = WIDTHS.model_copy(update=own)
    found = ranged(missed(0.0, machine=machine, experts=experts), narrower, behind=1)
    assert found.low == pytest.approx(100 / math.exp(1.5 * width))


def test_they_are_learned_from_their_points():
    cards = both("decode", [0.3] * 5)
    servers = both("decode", [0.1] * 5, machine="datacenter")
    desktops = both("decode", [0.2] * 5, machine="unified")
    widths = learn(*cards, *servers, *desktops, *OTHERS)
    assert sides(widths.decode) == (0.3, 0.3)
    assert sides(widths.decode_datacenter) == (0.1, 0.1)
    assert sides(widths.decode_unified) == (0.2, 0.2)


def test_no_range_is_so_wide_that_a_faster_part_would_lower_its_end():
    """0.4 x 1.5 x 2 is more than 1, beyond which the widening outweighs the time saved."""
    below, _ = reach(
        WIDTHS,
        "prefill",
        has_experts=False,
        machine="consumer",
        publishers=0,
        fitted_share=0.5,
    )
    assert float(below) == pytest.approx(math.exp(1.5))


def engine(**stated):
    return Engine.model_validate(
        {"id": "mine", "name": "", "fitted_on": "", "range_widths": WIDTHS.model_dump(), **stated}
    )


def test_compare_takes_the_width_of_its_chip_or_what_is_stated():
    stated = {"unseen": {"below": 3.0, "above": 1.01, "basis": "made up"}}
    for under, multiple in (
        (engine(publishers={"decode": {"h100-sxm": 1}}), 1.5),
        (engine(publishers={"decode": {"h200-sxm": 4}, "served": {"h100-sxm": 2}}), 3.0),
    ):
        found = outcome("llama-3.1-8b", "h100-sxm", engine=under, batch=(8,)).estimate
        parts = {part.name: part for part in found.step.components}
        printed = sum(float(parts[name].work_time[0]) for name in ("dense weights", "attention"))
        head = float(parts["head and norms"].seconds[0])
        half = 0.2 * multiple * (2 - printed / (float(found.step.seconds[0]) - head))
        assert float(found.low[0]) == pytest.approx(found.speed[0] / math.exp(half))
    found = outcome("llama-3.1-8b", "h100-sxm", engine=engine(ranges=stated), batch=(8,)).estimate
    assert float(found.speed[0] / found.low[0]) == pytest.approx(3.0)


@pytest.mark.thorough
def test_the_shipped_widths_are_learned_from_publishers_left_out():
    """As `fastcalc calibrate` writes them, but for the digits that its table rounds."""
    catalogue, evidence = Catalogue(), shipped()
    fitted, later = (
        validate([one for one in evidence.points if chosen(one)], catalogue).predictions
        for chosen in (evidence.is_fitted, evidence.is_awaiting)
    )
    predictions = left_out.applied(fitted)
    widths = calibrate.widths_of(predictions, later, evidence)
    written = catalogue.engine("gpu").range_widths
    assert widths.basis == written.basis
    assert widths.unseen == pytest.approx(written.unseen, rel=0.02)
    for name, width in written:
        if isinstance(width, HalfWidths):
            assert sides(getattr(widths, name)) == pytest.approx(sides(width), rel=0.02)
    behind = publishers_behind(predictions, evidence.publisher)
    for one, count in zip(predictions, behind, strict=True):
        publishers = catalogue.engine(one.engine_used).publishers
        # An engine with stated ranges has no use for the number of its publishers.
        if publishers:
            assert publishers[one.phase][one.point.hardware] == count + 1


def test_ranges_are_learned_from_what_arrived_after_the_fit_but_not_from_what_judges():
    evidence = shipped()
    later = [one for one in evidence.points if evidence.is_awaiting(one)]
    assert later
    assert not any(evidence.is_fitted(one) or evidence.role(one) == "judge" for one in later)


def test_the_name_of_a_publisher_says_what_its_points_are_for():
    """By SHA-256, as ``printf NAME | sha256sum`` has it: its last bits decide, modulo 5."""
    assert {name: role_of(name) for name in ("Qwen", "NVIDIA", "AMD")} == {
        "Qwen": "judge",
        "NVIDIA": "choose",
        "AMD": "fit",
    }


def test_no_engine_is_fitted_on_publishers_that_judge():
    evidence = shipped()
    judges = {evidence.publisher(one) for one in evidence.points if evidence.role(one) == "judge"}
    fitted = {evidence.publisher(one) for one in evidence.points if evidence.is_fitted(one)}
    assert len(judges) >= 10
    assert not judges & fitted
    assert {fold_of(name) for name in fitted} == set(range(10))
